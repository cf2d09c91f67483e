//! What is on record against a peer.

use std::fmt;

use serde::Serialize;

/// What is on record against a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unsettled {
    /// The peer.
    pub peer: u8,
    /// How often sessions with it have begun and not ended in agreement.
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
