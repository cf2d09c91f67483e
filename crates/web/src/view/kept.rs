//! Kept values.

use cenote_service::job;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A value that is kept here: an output that nobody has learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// The job that kept it.
    pub job: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Bytes of this party's sealed share.
    pub bytes: u64,
    /// Since when it is kept, in milliseconds since 1970.
    pub kept_at: u64,
    /// Until when, likewise.
    pub expires_at: u64,
}

impl From<job::Kept> for Kept {
    fn from(kept: job::Kept) -> Self {
        Kept {
            name: kept.name,
            job: kept.job.to_string(),
            kind: kept.kind,
            bytes: kept.bytes,
            kept_at: kept.kept_at.millis(),
            expires_at: kept.expires_at.millis(),
        }
    }
}

/// A kept value that a job takes as an input. Nobody learns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Take {
    /// The input's name.
    pub input: String,
    /// The kept value's name.
    pub name: String,
    /// The job that kept it.
    pub job: String,
}

impl From<job::Take> for Take {
    fn from(take: job::Take) -> Self {
        Take {
            input: take.input,
            name: take.name,
            job: take.job.to_string(),
        }
    }
}

/// An output that a job keeps instead of opening it. Nobody learns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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

impl From<job::Keep> for Keep {
    fn from(keep: job::Keep) -> Self {
        Keep {
            output: keep.output,
            name: keep.name,
            kind: keep.kind,
            days: keep.days,
        }
    }
}
