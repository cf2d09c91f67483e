//! The names under which messages, meters and errors are kept: a party, and a step.

use std::fmt;

/// A party of a computation, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartyId(pub u8);

impl PartyId {
    /// The index as a `usize`.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for PartyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {}", self.0)
    }
}

/// A step of a protocol: the name under which messages, meters and errors are kept. Both ends name the step of each
/// message, and a receiver refuses a message of a step that it does not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The number on the wire, unique within a protocol.
    pub code: u16,
    /// The name in errors and traces.
    pub name: &'static str,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
