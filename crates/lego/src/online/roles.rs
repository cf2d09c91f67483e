//! Who garbles.

use cenote_net::PartyId;
use cenote_session::Parties;

use crate::settings::Config;

/// The garbler, where roles are meant: in a [`crate::Config`]'s session it may be either party.
pub(crate) const GARBLER: PartyId = PartyId(0);
/// The evaluator, likewise.
pub(crate) const EVALUATOR: PartyId = PartyId(1);

/// Who garbles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    /// The party that does.
    pub(crate) garbler: PartyId,
}

impl Roles {
    /// Those of sessions with this configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            garbler: config.garbler,
        }
    }

    /// What role `party` has, or the other way round; [`GARBLER`] or [`EVALUATOR`] for the two parties.
    pub(crate) fn role(self, party: PartyId) -> PartyId {
        PartyId(party.0 ^ self.garbler.0)
    }

    /// The roles of a set of the two parties; others do not matter.
    pub(crate) fn roles(self, parties: Parties) -> Parties {
        let both = [GARBLER, EVALUATOR].into_iter();
        both.filter(|&party| parties.contains(party))
            .map(|party| self.role(party))
            .collect()
    }
}
