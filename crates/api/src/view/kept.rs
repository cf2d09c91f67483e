//! Kept values.

use serde::{Deserialize, Serialize};

use crate::{JobId, Timestamp};

/// A value that is kept here: an output that nobody has learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// The job that kept it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub job: JobId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Bytes of this party's sealed share.
    pub bytes: u64,
    /// Since when it is kept, in milliseconds since 1970.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub kept_at: Timestamp,
    /// Until when, likewise.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub expires_at: Timestamp,
}

/// A kept value that a job takes as an input. Nobody learns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Take {
    /// The input's name.
    pub input: String,
    /// The kept value's name.
    pub name: String,
    /// The job that kept it.
    pub job: String,
}

/// An output that a job keeps instead of opening it. Nobody learns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Keep {
    /// The output's name.
    pub output: String,
    /// The name under which it is kept.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// For how many days it is kept.
    pub days: u16,
}
