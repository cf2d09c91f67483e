//! The keystreams of proofs: what masks messages, and what keeps their digests from being guessed.
//!
//! A prover shares one component of the keys with its left verifier, and the other with its right one. Under the first are the nonces of digests and the mask of
//! the first half, under the second the pads of messages and the mask of the second half. Of each kind a worker has a counter, so that none is used twice.

use cenote_primitives::sumcheck::{QUARTER_POINTS, at_infinity};
use cenote_primitives::{Block, Block512, Position, SecretBlocks, as_bytes, as_quarters};
use zeroize::Zeroizing;

use super::algebra::LAST_VALUES;
use super::transcript::Hash;
use crate::setup::keys::{Counter, Keys, Purpose};

pub(super) struct Streams {
    keys: Keys,
    pads: Counter,
    nonces: Counter,
    masks: [Counter; 2],
}

/// Where the keystreams of a batch are, for each message in turn.
pub(super) struct Places {
    /// With how many values the message has.
    pads: Vec<(Position, usize)>,
    nonces: Vec<Position>,
    masks: [Position; 2],
}

impl Streams {
    pub(super) fn new(keys: Keys, worker: u8) -> Self {
        let counter = |purpose| Counter::new(purpose, worker);
        Self {
            keys,
            pads: counter(Purpose::ProofPad),
            nonces: counter(Purpose::ProofNonce),
            masks: [Purpose::ProofLeftMask, Purpose::ProofRightMask].map(counter),
        }
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What the messages of a batch take.
    pub(super) fn take(&mut self, variables: u32, steps: usize) -> Places {
        let values = |step: usize| match step {
            0 => at_infinity(variables),
            _ if step <= steps => QUARTER_POINTS,
            _ => LAST_VALUES,
        };
        let counts: Vec<usize> = (0..steps + 2).map(values).collect();
        Places {
            nonces: counts.iter().map(|_| self.nonces.take(1)).collect(),
            pads: counts
                .into_iter()
                .map(|count| (self.pads.take(count.div_ceil(4)), count))
                .collect(),
            masks: self.masks.each_mut().map(|counter| counter.take(1)),
        }
    }

    /// The share of a message that its right verifier derives, under this party's component of the keys.
    pub(super) fn pads(&self, places: &Places, component: usize, step: usize) -> Zeroizing<Vec<Block>> {
        let (at, count) = places.pads[step];
        self.stretch(component, at, count)
    }

    /// The nonce of a message's digest.
    pub(super) fn nonce(&self, places: &Places, component: usize, step: usize) -> Zeroizing<Hash> {
        let mut block = Zeroizing::new([Block512::ZERO]);
        self.keys.component(component, places.nonces[step], &mut *block);
        Zeroizing::new(std::array::from_fn(|i| as_bytes(&*block)[i]))
    }

    /// The mask of the first half (side 0) or of the second.
    pub(super) fn mask(&self, places: &Places, side: usize, component: usize) -> Block {
        self.stretch(component, places.masks[side], 1)[0]
    }

    fn stretch(&self, component: usize, at: Position, count: usize) -> Zeroizing<Vec<Block>> {
        let mut blocks = SecretBlocks::zeroed(count.div_ceil(4));
        self.keys.component(component, at, &mut blocks);
        Zeroizing::new(as_quarters(&blocks)[..count].to_vec())
    }
}

impl Places {
    /// How many values a message has.
    pub(super) fn values(&self, step: usize) -> usize {
        self.pads[step].1
    }

    /// How many values the messages have after the first.
    pub(super) fn later_values(&self) -> usize {
        self.pads[1..].iter().map(|(_, count)| count).sum()
    }
}
