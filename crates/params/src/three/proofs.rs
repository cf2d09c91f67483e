//! Proofs instead of triples: each party proves to the two others that its products are right (Boneh et al., CRYPTO 2019), batch by batch.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::BLOCK_BITS;
use crate::{LogProb, Refusal};

/// Blocks of gates in a full batch: 2^23 gates.
const BATCH: u64 = 1 << 14;

/// How many variables the polynomials of a column have, at least and at most: a tile has two to that power rows.
const VARIABLES: (u32, u32) = (3, 7);

/// What the values of the first message may add to the one bit of a gate.
const FIRST_MESSAGE: f64 = 0.04;

/// The most bits of security for which weights of 64 bits do.
const NARROW: u32 = 60;

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
    /// For an error of at most `2^-security`.
    ///
    /// # Errors
    /// A security level outside 1 to 120: a challenge of a hash has 128 bits, of which an attacker who tries many grinds some off.
    pub fn new(security: u32) -> Result<Self, Refusal> {
        if !(1..=120).contains(&security) {
            return Err(Refusal::new("proofs").because("1 <= security <= 120", security.to_string()));
        }
        Ok(Self {
            weight_bits: if security <= NARROW { 64 } else { 128 },
            batch: BATCH,
        })
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

    /// Bits of a weight: 64 or 128.
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
        let proof = (values(self.variables(blocks)) + 8 * steps + 4) * ELEMENT;
        let digests = (2 + steps) * HASH;
        // Barrier, coin, word on the challenge, and what is opened, each to both others.
        proof + digests + 2 * (8 + ELEMENT + HASH + 2 * ELEMENT + HASH)
    }

    /// Bytes that a party sends for `blocks` blocks of gates, of which it opens something `openings` times.
    #[must_use]
    pub fn job_bytes(&self, blocks: u64, openings: u64) -> u64 {
        let of_gates = blocks.saturating_mul(u64::from(BLOCK_BITS) / 8);
        let full = (blocks / self.batch).saturating_mul(self.proof_bytes(self.batch));
        let last = self.proof_bytes((blocks % self.batch).max(1));
        of_gates
            .saturating_add(full)
            .saturating_add(last.saturating_mul(openings.max(1)))
    }

    /// Bits that a party sends for each gate of full batches, proofs included.
    #[must_use]
    pub fn bits_per_and(&self) -> f64 {
        1.0 + (8 * self.proof_bytes(self.batch)) as f64 / (self.batch * u64::from(BLOCK_BITS)) as f64
    }

    /// The probability that something wrong passes, over the whole life of the session: the first batch with something wrong passes or ends it.
    #[must_use]
    pub fn error(&self) -> LogProb {
        LogProb::from_log2(-f64::from(self.weight_bits))
    }

    /// How much work finds a challenge that hides something wrong, in bits: each hash tried wins with `14 / 2^128` at most, 14 being the most that a
    /// polynomial of the first message has in all of its variables together.
    #[must_use]
    pub fn challenge_bits(&self) -> f64 {
        128.0 - f64::from(2 * VARIABLES.1).log2()
    }

    /// The most bytes that one worker takes: two batches of gates of six bits each, one that is filled while the other is proved, and of that the elements
    /// of four vectors and copies of them.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let logs = 2 * 6 * self.batch * u64::from(BLOCK_BITS) / 8;
        let columns = self.padded(self.batch) >> self.variables(self.batch);
        let elements = 8 * columns * u64::from(BLOCK_BITS) * ELEMENT;
        // Sums of the first message, and rows' sums.
        let sums = (values(VARIABLES.1) + 5 * (1 << VARIABLES.1)) * 64;
        logs + elements + sums
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
        assert!(bits(24) < 1.05, "{}", bits(24));
        assert!(bits(20) < 1.06, "{}", bits(20));
        assert!(proofs.bits_per_and() < 1.05);
        assert!(proofs.memory_bytes() < 40 << 20);
    }

    #[test]
    fn weights_are_wide_where_security_is() {
        assert_eq!(Proofs::new(60).unwrap().weight_bits(), 64);
        assert!(Proofs::new(61).unwrap().error().meets(61));
        assert!(Proofs::new(120).unwrap().challenge_bits() > 120.0);
        for security in [0, 121] {
            assert!(Proofs::new(security).is_err());
        }
        assert!(Proofs::new(40).unwrap().with_batch(0).is_err());
    }

    #[test]
    fn the_smallest_batch_is_one_tile() {
        let proofs = Proofs::new(40).unwrap();
        assert_eq!(
            (proofs.variables(1), proofs.padded(1), proofs.steps(1)),
            (3, 8, 5)
        );
        assert!(proofs.proof_bytes(1) < 1500, "{}", proofs.proof_bytes(1));
    }
}
