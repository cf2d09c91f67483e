//! The data that this party gives.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::Timestamp;

/// Which data of this party an input is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The input's name in the proposal.
    pub input: String,
    /// The data.
    pub source: Source,
    /// The file of that data as it was when a person approved, or when the job began if a rule had. Another one is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileMark>,
    /// The digest of the sealed file in which the values lie that were posted with the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<Digest>,
}

impl Binding {
    /// Of a file that nobody has looked at.
    pub fn new(input: impl Into<String>, source: Source) -> Self {
        Binding {
            input: input.into(),
            source,
            file: None,
            posted: None,
        }
    }
}

/// By what it is noticed that a file has changed. It tells nothing of what is in it but the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its bytes.
    pub bytes: u64,
    /// When it was changed last.
    pub changed: Timestamp,
}

impl fmt::Display for FileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, changed at {}", self.bytes, self.changed)
    }
}

/// Where the values of an input come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The data of this name, whose disclosures are counted.
    Data(String),
    /// Values that were posted for this job alone.
    Posted,
}
