//! What is on record against a peer.

use std::fmt;

use cenote_api::view;
use serde::Serialize;

use super::JobId;

/// Times that are counted, at most, so that no policy allows as many or more.
pub(crate) const MOST_TIMES: u64 = 1000;

/// What is on record against peers is of one of these. No name of one is that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// The session of a job.
    Job(JobId),
    /// A session that made stock, by its run.
    Stock(JobId),
    /// A session of these peers had a bound that left so few bits of security, where a policy demanded `floor`.
    Bound {
        /// Bits that it left.
        bits: u16,
        /// Bits that were demanded.
        floor: u16,
    },
}

impl Tried {
    /// The job, if it is one.
    pub fn job(self) -> Option<JobId> {
        match self {
            Tried::Job(job) => Some(job),
            Tried::Stock(_) | Tried::Bound { .. } => None,
        }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tried::Job(job) => write!(f, "{job}"),
            Tried::Stock(run) => write!(f, "stock {run}"),
            Tried::Bound { floor, .. } => write!(f, "bound {floor}"),
        }
    }
}

/// What is on record against a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unsettled {
    /// The peer.
    pub peer: u8,
    /// How often sessions with it have begun and not ended in agreement; 1000 also stands for more.
    pub times: u64,
    /// Whether one of them is enough for a person to be asked: a check found that the peer deviated, or a bound was passed.
    pub grave: bool,
}

impl Unsettled {
    /// Whether that is too much for a rule, where so many times are.
    pub fn is_too_much(&self, most: u64) -> bool {
        self.grave || self.times >= most
    }
}

impl From<Unsettled> for view::Unsettled {
    fn from(known: Unsettled) -> Self {
        view::Unsettled {
            party: known.peer,
            times: known.times,
            grave: known.grave,
        }
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsettled { peer, times, grave } = self;
        match grave {
            true => write!(
                f,
                "party {peer} was found to have deviated from a protocol, or the bound of a session with it was passed"
            ),
            false => write!(
                f,
                "{times} times sessions with party {peer} have begun and not ended in agreement"
            ),
        }
    }
}
