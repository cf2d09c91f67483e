//! Build and Eval at one party, its calls as the engine makes them: inputs are put in, circuits built and attached, and all of
//! Figure 2's Eval happens when something is revealed.
//!
//! Nothing waits for the peer before it must, so that a whole job costs the two messages of Eval: the evaluator's masked
//! inputs leave with the first thing that it waits for; solderings, which need no answer, are on their way as soon as the
//! garbler knows them, and are received when the evaluator needs them or something after them.

mod accept;
mod build;
mod circuits;
mod eval;
mod evaluator;
mod garbler;
mod opening;
pub(crate) mod provenance;
mod reaper;
mod recover;
mod shares;
mod side;
mod supply;
pub(crate) mod tiles;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Parties, Result};
use zeroize::{Zeroize, Zeroizing};

use crate::room::{self, INPUTS};
use crate::settings::Config;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;
pub(crate) use side::Side;
pub(crate) use supply::{Supplies, Supply};

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

/// `items`, of which there are `count`, one for each bit of some wires.
fn secret<T: Zeroize>(count: usize, items: impl Iterator<Item = T>) -> Result<Zeroizing<Vec<T>>> {
    room::collected(INPUTS, count, items)
}

/// Eight bits in a byte, first one lowest.
fn pack(bits: impl Iterator<Item = bool>, count: usize) -> Result<Vec<u8>> {
    let mut bytes = room::zeroed::<u8>(INPUTS, count.div_ceil(8))?;
    for (at, bit) in bits.enumerate() {
        bytes[at / 8] |= u8::from(bit) << (at % 8);
    }
    Ok(bytes)
}

/// Bit `at` of what [`pack`] gave.
fn packed(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 == 1
}

/// The inverse of [`BitMatrix::bits`].
fn unpack(wires: usize, lanes: usize, bit: impl Fn(usize) -> bool) -> Result<BitMatrix> {
    let mut bits = room::bits(INPUTS, wires, lanes)?;
    (0..wires).for_each(|wire| (0..lanes).for_each(|lane| bits.set(wire, lane, bit(wire * lanes + lane))));
    Ok(bits)
}
