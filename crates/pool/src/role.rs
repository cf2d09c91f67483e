//! The sides of a session.

use cenote_net::PartyId;

/// A side of a session of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The party that garbles.
    Garbler,
    /// The party that evaluates.
    Evaluator,
}

impl Role {
    /// That of `party`, if `garbler` garbles.
    pub fn of(party: PartyId, garbler: PartyId) -> Self {
        match party == garbler {
            true => Role::Garbler,
            false => Role::Evaluator,
        }
    }

    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Role::Garbler => Role::Evaluator,
            Role::Evaluator => Role::Garbler,
        }
    }
}
