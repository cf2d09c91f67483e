//! Refusals as callers see them.

use serde::{Deserialize, Serialize};

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
}
