//! Refusals as callers see them.

use serde::{Deserialize, Serialize};

use crate::view::Place;

/// Why a call was refused. No text holds a secret or a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A word for programs.
    #[cfg_attr(feature = "schema", schema(example = "no-job"))]
    pub code: String,
    /// What is wrong, in words.
    pub message: String,
    /// What to do about it, in words.
    pub advice: String,
    /// Where it is wrong, if it is a query that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}
