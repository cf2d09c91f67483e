//! Epochs: what was made by one offline run, under keys of its own.

use std::fmt;

use cenote_net::PartyId;
use cenote_params::three::Parameters;
use cenote_primitives::BLOCK_BITS;
use zeroize::Zeroizing;

use crate::material::shape::Shape;
use crate::settings::ViewCheck;
use crate::setup::keys::{FactorSeeds, Keys};

/// The version of an epoch's file.
const VERSION: u8 = 1;

/// The name of an epoch: a hash of what all three parties contributed to it, so that none of them can make one twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochId(pub(crate) [u8; 32]);

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EpochId({self})")
    }
}

impl EpochId {
    /// The epoch of the folder called `name`, if it is one's.
    pub(super) fn of_folder(name: &str) -> Option<Self> {
        let digits = name.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut id = [0; 32];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        // One name for each epoch.
        (Self(id).to_string() == name).then_some(Self(id))
    }
}

/// The number of a batch in its epoch: the worker that made it, and how many that worker had made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNumber {
    /// The worker of the offline run.
    pub worker: u8,
    /// Its batches before this one.
    pub serial: u32,
}

impl BatchNumber {
    pub(super) fn file_name(self) -> String {
        format!("batch-{:03}-{:010}", self.worker, self.serial)
    }

    pub(super) fn of_file(name: &str) -> Option<Self> {
        let (worker, serial) = name.strip_prefix("batch-")?.split_once('-')?;
        let number = Self {
            worker: worker.parse().ok()?,
            serial: serial.parse().ok()?,
        };
        (number.file_name() == name).then_some(number)
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

/// An epoch, as its file tells it.
pub(crate) struct Epoch {
    pub(crate) id: EpochId,
    pub(crate) party: PartyId,
    /// Milliseconds since 1970 by the median of the parties' clocks, the same at all of them.
    pub(crate) made: u64,
    /// Triples of a batch, in blocks.
    pub(crate) n: u64,
    pub(crate) settings: String,
    /// The keys that the factors of its triples are derived from.
    pub(crate) seeds: FactorSeeds,
}

impl Epoch {
    /// The generators of its triples' factors.
    pub(crate) fn factors(&self) -> Keys {
        Keys::from_seeds(&self.seeds, self.n)
    }

    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(64 + self.settings.len()));
        bytes.extend_from_slice(&[VERSION, self.party.0]);
        bytes.extend_from_slice(&self.made.to_le_bytes());
        bytes.extend_from_slice(&self.n.to_le_bytes());
        self.seeds
            .iter()
            .for_each(|seed| bytes.extend_from_slice(&seed[..]));
        bytes.extend_from_slice(self.settings.as_bytes());
        bytes
    }

    /// The inverse of [`Epoch::encode`].
    pub(super) fn decode(id: EpochId, bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "is too short";
        fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], &'static str> {
            let (first, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
            *bytes = rest;
            Ok(*first)
        }
        let mut rest = bytes;
        let [version, party] = take(&mut rest)?;
        if version != VERSION {
            return Err("is of another version");
        }
        if party > 2 {
            return Err("names a party that there is not");
        }
        Ok(Self {
            id,
            party: PartyId(party),
            made: u64::from_le_bytes(take(&mut rest)?),
            n: u64::from_le_bytes(take(&mut rest)?),
            seeds: [take(&mut rest)?, take(&mut rest)?].map(Zeroizing::new),
            settings: std::str::from_utf8(rest).map_err(|_| "is garbled")?.to_owned(),
        })
    }
}

/// An epoch in stock, for people and programs to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEpoch {
    /// Its name.
    pub id: EpochId,
    /// The party whose part of it this is.
    pub party: PartyId,
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

/// What a stock folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// The epochs that can be used, the oldest first.
    pub epochs: Vec<StoredEpoch>,
    /// The epochs that cannot, by their names.
    pub unusable: Vec<Unusable>,
}

/// Something in a stock folder that is called as an epoch is, and is none that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What it is called.
    pub id: EpochId,
    /// What is wrong with which file.
    pub why: String,
}
