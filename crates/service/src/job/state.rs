//! States of jobs.

use serde::{Deserialize, Serialize};

use super::StateName;

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Some parties have not decided.
    Proposed,
    /// All parties have approved.
    Approved,
    /// It fits, and waits for its turn.
    Queued,
    /// It runs; this party's data may have been used.
    Running,
    /// All parties ended in agreement, and those entitled learnt its outputs.
    Done,
    /// A party declined; nothing was computed.
    Declined {
        /// The party.
        by: u8,
        /// Its reason.
        reason: String,
    },
    /// It ran, or was to run, and gave nothing.
    Failed(Failure),
    /// A party took it back.
    Cancelled {
        /// The party.
        by: u8,
    },
}

impl State {
    /// Its name.
    pub fn name(&self) -> StateName {
        match self {
            State::Proposed => StateName::Proposed,
            State::Approved => StateName::Approved,
            State::Queued => StateName::Queued,
            State::Running => StateName::Running,
            State::Done => StateName::Done,
            State::Declined { .. } => StateName::Declined,
            State::Failed(_) => StateName::Failed,
            State::Cancelled { .. } => StateName::Cancelled,
        }
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The party that said so.
    pub by: u8,
    /// The kind.
    pub kind: FailKind,
    /// The reason.
    pub reason: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailKind {
    /// This party's service was restarted while the job was running.
    Restarted,
    /// The deadline passed.
    Deadline,
    /// The job does not fit in what it may take.
    Refused,
    /// A peer's cheating was detected here.
    Cheating,
    /// A peer was lost.
    PeerLost,
    /// A wait took too long.
    Timeout,
    /// The parties differ in what must be equal.
    Mismatch,
    /// This party's data does not fit the program.
    BadInput,
    /// Material ran out.
    Exhausted,
    /// A peer says that the job failed there; the reason holds its words, which prove nothing.
    Peer,
    /// Something else.
    Internal,
}

impl FailKind {
    /// Its name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            FailKind::Restarted => "restarted",
            FailKind::Deadline => "deadline",
            FailKind::Refused => "refused",
            FailKind::Cheating => "cheating",
            FailKind::PeerLost => "peer-lost",
            FailKind::Timeout => "timeout",
            FailKind::Mismatch => "mismatch",
            FailKind::BadInput => "bad-input",
            FailKind::Exhausted => "exhausted",
            FailKind::Peer => "peer",
            FailKind::Internal => "internal",
        }
    }
}
