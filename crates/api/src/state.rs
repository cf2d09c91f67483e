//! Names of the states of jobs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the states are described where they are")]
pub enum StateName {
    Proposed,
    Approved,
    Queued,
    Running,
    Done,
    Declined,
    Failed,
    Cancelled,
}

impl StateName {
    /// All of them, in the order of a job's life.
    pub const ALL: [StateName; 8] = [
        StateName::Proposed,
        StateName::Approved,
        StateName::Queued,
        StateName::Running,
        StateName::Done,
        StateName::Declined,
        StateName::Failed,
        StateName::Cancelled,
    ];

    /// Whether a job in this state may come into another one.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            StateName::Proposed | StateName::Approved | StateName::Queued | StateName::Running
        )
    }

    /// Its name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            StateName::Proposed => "proposed",
            StateName::Approved => "approved",
            StateName::Queued => "queued",
            StateName::Running => "running",
            StateName::Done => "done",
            StateName::Declined => "declined",
            StateName::Failed => "failed",
            StateName::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
