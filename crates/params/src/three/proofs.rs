//! Proofs instead of triples: each party proves to the two others that its products are right (Boneh et al., CRYPTO 2019), batch by batch.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::BLOCK_BITS;
use crate::{LogProb, Refusal};

/// Blocks of gates in a full batch: 2^24 gates.
const BATCH: u64 = 1 << 15;

/// The same of a job that has few: 2^19 gates.
const FEW: u64 = 1 << 10;

/// How many variables the polynomials of a column have, at least and at most: a tile has two to that power rows.
const VARIABLES: (u32, u32) = (3, 7);

/// What the values of the first message may add to the one bit of a gate. One more variable takes three times as many values, and leaves half as many elements
/// to later steps.
const FIRST_MESSAGE: f64 = 0.13;

/// The most bits of security for which weights of 64 bits do.
const NARROW: u32 = 60;

/// Steps of the largest batch, of a layer of 2^32 blocks.
const MOST_STEPS: u32 = 20;

/// Bytes of an element of the field, and of a hash.
const ELEMENT: u64 = 16;
const HASH: u64 = 32;

/// How gates are proved: the size of batches, and the bits of the random weights with which all gates of a batch become one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proofs {
    weight_bits: u32,
    batch: u64,
}

impl Proofs {
    /// Batches that are proved or wait for it while another is filled.
    pub const BATCHES_UNDER_WAY: usize = 2;

    /// The most bits of security: with weights of 128 bits the error is about `2^-121.4`.
    pub const MOST_SECURITY: u32 = 120;

    /// For an error of at most `2^-security`.
    ///
    /// # Errors
    /// A security level outside 1 to [`Proofs::MOST_SECURITY`].
    pub fn new(security: u32) -> Result<Self, Refusal> {
        Refusal::unless_within(
            "proofs",
            "security",
            1..=Self::MOST_SECURITY.into(),
            security.into(),
        )?;
        Ok(Self {
            weight_bits: if security <= NARROW { 64 } else { 128 },
            batch: BATCH,
        })
    }

    /// The same for a worker that proves about `blocks` blocks of gates, which takes less memory if they are few.
    ///
    /// # Errors
    /// As [`Proofs::new`].
    pub fn for_job(security: u32, blocks: u64) -> Result<Self, Refusal> {
        let batch = blocks.min(BATCH).next_power_of_two().clamp(FEW, BATCH);
        Self::new(security)?.with_batch(batch)
    }

    /// The same with batches of `blocks` blocks of gates, for tests and measurements.
    ///
    /// # Errors
    /// If that is nothing, or more than 2^24.
    pub fn with_batch(self, blocks: u64) -> Result<Self, Refusal> {
        match blocks {
            1..=0x100_0000 => Ok(Self {
                batch: blocks,
                ..self
            }),
            _ => Err(Refusal::new("proofs").because("1 <= blocks of a batch <= 2^24", blocks.to_string())),
        }
    }

    /// The same with weights of so few bits that a wrong product passes often, for tests that count how often.
    ///
    /// # Errors
    /// If that is nothing, or more than 63.
    #[doc(hidden)]
    pub fn with_weights(self, weight_bits: u32) -> Result<Self, Refusal> {
        match weight_bits {
            1..64 => Ok(Self { weight_bits, ..self }),
            _ => Err(Refusal::new("proofs").because("1 <= bits of a weight <= 63", weight_bits.to_string())),
        }
    }

    /// Bits of a weight: 64 or 128, except in tests.
    #[must_use]
    pub fn weight_bits(&self) -> u32 {
        self.weight_bits
    }

    /// Blocks of gates that are proved together, at most; a single layer of more gates is proved as a whole.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// How many variables the polynomials of a batch of `blocks` blocks have: as many as keep its first message short beside its gates.
    #[must_use]
    pub fn variables(&self, blocks: u64) -> u32 {
        let (least, most) = VARIABLES;
        let is_short = |&variables: &u32| {
            128.0 * values(variables) as f64 <= FIRST_MESSAGE * blocks as f64 * f64::from(BLOCK_BITS)
        };
        (least..=most).rev().find(is_short).unwrap_or(least)
    }

    /// Blocks of a batch with those that complete its last tile.
    #[must_use]
    pub fn padded(&self, blocks: u64) -> u64 {
        blocks.next_multiple_of(1 << self.variables(blocks))
    }

    /// Steps in which the elements of a batch become two at most.
    #[must_use]
    pub fn steps(&self, blocks: u64) -> u32 {
        let mut elements = 2 * u64::from(BLOCK_BITS) * (self.padded(blocks) >> self.variables(blocks));
        let mut steps = 0;
        while elements > 2 {
            elements = elements.div_ceil(4);
            steps += 1;
        }
        steps
    }

    /// Bytes that a party sends to prove a batch of `blocks` blocks, and to verify the two others' proofs, besides its gates'.
    #[must_use]
    pub fn proof_bytes(&self, blocks: u64) -> u64 {
        let steps = u64::from(self.steps(blocks));
        // With the value of each half.
        let proof = (values(self.variables(blocks)) + 8 * steps + 4 + 2) * ELEMENT;
        let digests = (2 + steps) * HASH;
        // Barrier, coin, word on the challenge, and what is opened, each to both others.
        proof + digests + 2 * (8 + ELEMENT + HASH + 2 * ELEMENT + HASH)
    }

    /// Bytes that a party sends for `blocks` blocks of gates, of which it opens something `openings` times.
    #[must_use]
    pub fn job_bytes(&self, blocks: u64, openings: u64) -> u64 {
        let of_gates = blocks.saturating_mul(u64::from(BLOCK_BITS) / 8);
        let full = (blocks / self.batch).saturating_mul(self.proof_bytes(self.batch));
        let last = match blocks % self.batch {
            0 => 0,
            more => self.proof_bytes(more),
        };
        // At worst, what is opened before is proved in a batch of its own.
        let others = openings.saturating_sub(1).saturating_mul(self.proof_bytes(1));
        of_gates
            .saturating_add(full)
            .saturating_add(last)
            .saturating_add(others)
    }

    /// Bits that a party sends for each gate of full batches, proofs included.
    #[must_use]
    pub fn bits_per_and(&self) -> f64 {
        1.0 + (8 * self.proof_bytes(self.batch)) as f64 / (self.batch * u64::from(BLOCK_BITS)) as f64
    }

    /// The probability that something wrong passes, over the whole life of the session: the first batch with something wrong passes or ends it.
    ///
    /// The weights hide it with `2^-w`, a little more since they are a block cipher's; the first challenge with `2 n / 2^128`, that of each later step with
    /// `4 / 2^128`, and the last with `4 / (2^128 - 2)`.
    #[must_use]
    pub fn error(&self) -> LogProb {
        let weights = 2f64.powi(-(self.weight_bits as i32)) * (1.0 + 1e-9);
        let degrees = f64::from(2 * VARIABLES.1 + 4 * MOST_STEPS + 4);
        LogProb::from_probability(weights + degrees * 2f64.powi(-128))
    }

    /// How much work finds a challenge that hides something wrong, in bits: each hash tried wins with `14 / 2^128` at most, 14 being the most that a
    /// polynomial of the first message has in all of its variables together.
    #[must_use]
    pub fn challenge_bits(&self) -> f64 {
        128.0 - f64::from(2 * VARIABLES.1).log2()
    }

    /// The tiles of the batch that has most: one of a few blocks less than would have polynomials of more variables has more than a full one.
    fn most_tiles(&self) -> u64 {
        let tiles = |blocks: u64| self.padded(blocks) >> self.variables(blocks);
        let (least, most) = VARIABLES;
        let largest = |variables: u32| {
            let end = 128.0 * values(variables + 1) as f64 / (FIRST_MESSAGE * f64::from(BLOCK_BITS));
            self.batch.min(end as u64)
        };
        let ends = (least..most).map(largest).chain([self.batch]);
        ends.map(|blocks| tiles(blocks.max(1))).max().unwrap_or(1)
    }

    /// The most bytes that one worker takes, if no layer is larger than a batch: batches of gates of six bits each, one that is filled while others wait or
    /// are proved, and of the one that is proved the elements of four vectors and copies of them.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes_for(0)
    }

    /// The same if a layer has up to `layer` blocks: a larger one than a batch is proved as a whole.
    #[must_use]
    pub fn memory_bytes_for(&self, layer: u64) -> u64 {
        let largest = Self {
            batch: self.batch.max(layer),
            ..*self
        };
        let log = largest.batch.saturating_mul(6 * u64::from(BLOCK_BITS) / 8);
        let logs = log.saturating_mul(1 + Self::BATCHES_UNDER_WAY as u64);
        let columns = largest.most_tiles().saturating_mul(u64::from(BLOCK_BITS));
        let elements = columns.saturating_mul(8 * ELEMENT);
        // Sums of the first message, and rows' sums.
        let sums = (values(VARIABLES.1) + 5 * (1 << VARIABLES.1)) * 64;
        logs.saturating_add(elements).saturating_add(sums)
    }
}

/// Values of a grid's first message.
fn values(variables: u32) -> u64 {
    3u64.pow(variables) - (1 << variables)
}

impl Serialize for Proofs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Proofs", 6)?;
        s.serialize_field("variant", "proofs")?;
        s.serialize_field("gates_per_batch", &(self.batch * u64::from(BLOCK_BITS)))?;
        s.serialize_field("weight_bits", &self.weight_bits)?;
        s.serialize_field("bits_per_and", &self.bits_per_and())?;
        s.serialize_field("error_log2", &self.error())?;
        s.serialize_field("memory_bytes", &self.memory_bytes())?;
        s.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_add_little_to_the_bit_of_a_gate() {
        let proofs = Proofs::new(40).unwrap();
        assert_eq!((proofs.weight_bits(), proofs.variables(proofs.batch())), (64, 7));
        let bits = |log_gates: u32| {
            let blocks = 1u64 << (log_gates - 9);
            (8 * proofs.job_bytes(blocks, 1)) as f64 / (blocks * 512) as f64
        };
        assert!(bits(24) < 1.02, "{}", bits(24));
        assert!(bits(20) < 1.10, "{}", bits(20));
        // The first message grows with the gates, so it is never much.
        for log_gates in 17..30 {
            assert!(bits(log_gates) < 1.17, "2^{log_gates}: {}", bits(log_gates));
        }
        assert!(proofs.bits_per_and() < 1.02);
        assert!(proofs.memory_bytes() < 80 << 20);
    }

    #[test]
    fn weights_are_wide_where_security_is() {
        assert_eq!(Proofs::new(60).unwrap().weight_bits(), 64);
        for (security, log2) in [(40, -64.0), (60, -64.0), (61, -121.4), (120, -121.4)] {
            let proofs = Proofs::new(security).unwrap();
            assert!(proofs.error().meets(security));
            assert!((proofs.error().log2() - log2).abs() < 0.2, "{}", proofs.error());
        }
        assert!(Proofs::new(120).unwrap().challenge_bits() > 120.0);
        for security in [0, 121] {
            assert!(Proofs::new(security).is_err());
        }
        assert!(Proofs::new(40).unwrap().with_batch(0).is_err());
    }

    #[test]
    fn small_jobs_take_little_memory() {
        let batch = |blocks| Proofs::for_job(40, blocks).unwrap().batch();
        assert_eq!(
            [0, 1, 1000, 1500, 1 << 20].map(batch),
            [FEW, FEW, FEW, 2048, BATCH]
        );
        assert!(Proofs::for_job(40, 1).unwrap().memory_bytes() < 6 << 20);
    }

    #[test]
    fn memory_is_that_of_the_batch_with_most_tiles() {
        for blocks in [1, 100, 5000, 1 << 14, 1 << 15] {
            let proofs = Proofs::new(40).unwrap().with_batch(blocks).unwrap();
            let tiles = (1..=blocks).map(|blocks| proofs.padded(blocks) >> proofs.variables(blocks));
            assert_eq!(proofs.most_tiles(), tiles.max().unwrap(), "{blocks}");
        }
    }

    #[test]
    fn a_job_of_whole_batches_has_no_proof_besides() {
        let proofs = Proofs::new(40).unwrap().with_batch(64).unwrap();
        let gates = 2 * 64 * 64;
        assert_eq!(proofs.job_bytes(128, 1), gates + 2 * proofs.proof_bytes(64));
        assert_eq!(
            proofs.job_bytes(129, 3),
            gates + 64 + 2 * proofs.proof_bytes(64) + 3 * proofs.proof_bytes(1)
        );
    }

    #[test]
    fn the_smallest_batch_is_one_tile() {
        let proofs = Proofs::new(40).unwrap();
        assert_eq!(
            (proofs.variables(1), proofs.padded(1), proofs.steps(1)),
            (3, 8, 5)
        );
        assert_eq!(proofs.proof_bytes(1), 1504, "{}", proofs.proof_bytes(1));
    }
}
