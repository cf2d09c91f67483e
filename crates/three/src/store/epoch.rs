//! Epochs: what was made by one offline run, under keys of its own.

use cenote_net::PartyId;
use cenote_params::three::Parameters;
use cenote_primitives::BLOCK_BITS;
use cenote_session::{Error, Result};
use cenote_store::{Item, ItemId, Keys, Run, Stored};
use zeroize::Zeroizing;

use super::PROTOCOL;
use crate::material::shape::Shape;
use crate::settings::ViewCheck;
use crate::setup::keys::{FactorSeeds, Keys as Generators};

/// The number of a batch in its epoch: the worker that made it, and how many that worker had made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNumber {
    /// The worker that made it, from 0.
    pub worker: u8,
    /// How many batches that worker had made before.
    pub serial: u32,
}

impl BatchNumber {
    /// The part that holds it.
    pub(super) fn part(self) -> Run {
        let serial = u64::from(self.serial);
        Run::new(self.worker, serial..serial + 1)
    }

    pub(super) fn of((worker, serial): (u8, u64)) -> Option<Self> {
        let serial = u32::try_from(serial).ok()?;
        Some(Self { worker, serial })
    }
}

/// What must be equal for a session to use an epoch's batches.
pub(crate) fn settings(parameters: &Parameters, view_check: ViewCheck) -> String {
    format!(
        "{}, {}, blocks of {BLOCK_BITS} bits, views by {view_check}",
        parameters.variant(),
        Shape::of(parameters)
    )
}

/// What an epoch's description keeps for the protocol: triples of a batch, in blocks, and the seeds that the factors of all triples are derived from.
pub(super) fn encode(n: u64, seeds: &FactorSeeds) -> Keys {
    let mut bytes = Zeroizing::new(Vec::with_capacity(8 + 2 * 16));
    bytes.extend_from_slice(&n.to_le_bytes());
    seeds.iter().for_each(|seed| bytes.extend_from_slice(&seed[..]));
    Keys(bytes)
}

/// The inverse of [`encode`].
fn decode(keys: &Keys) -> Option<(u64, FactorSeeds)> {
    let (n, seeds) = keys.0.split_first_chunk()?;
    let ([first, second], []) = seeds.as_chunks() else {
        return None;
    };
    Some((u64::from_le_bytes(*n), [*first, *second].map(Zeroizing::new)))
}

/// The generators of the factors of an epoch's triples.
pub(super) fn factors(item: &Item) -> Result<Generators> {
    let (n, seeds) = decode(&item.keys)
        .ok_or_else(|| Error::Storage(format!("the description of epoch {} is garbled", item.id)))?;
    Ok(Generators::from_seeds(&seeds, n))
}

/// An epoch in stock, for people and programs to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEpoch {
    /// Its name in the stores of all parties.
    pub id: ItemId,
    /// When it was made, in milliseconds since 1970.
    pub made: u64,
    /// The parameters that sessions must have to use it.
    pub settings: String,
    /// AND gates that one batch serves.
    pub gates_per_batch: u64,
    /// The batches that are left, in order.
    pub batches: Vec<BatchNumber>,
    /// The parties that said they had none of it when a session last compared. No job can use it then.
    pub lacked_by: Vec<PartyId>,
}

impl StoredEpoch {
    /// What `stored` is, if it is an epoch.
    pub fn of(stored: &Stored) -> Option<Self> {
        let item = &stored.item;
        let (n, _) = decode(&item.keys).filter(|_| item.protocol == PROTOCOL)?;
        Some(Self {
            id: item.id,
            made: item.made,
            settings: item.settings.clone(),
            gates_per_batch: n.saturating_mul(BLOCK_BITS as u64),
            batches: stored.left.numbers().filter_map(BatchNumber::of).collect(),
            lacked_by: stored.lacked_by.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_read_strictly() {
        let seeds = [[1; 16], [2; 16]].map(Zeroizing::new);
        let keys = encode(999, &seeds);
        assert!(decode(&keys) == Some((999, seeds)));
        for length in (0..50).filter(|length| *length != keys.0.len()) {
            let mut other = keys.clone();
            other.0.resize(length, 3);
            assert!(decode(&other).is_none(), "{length}");
        }
    }
}
