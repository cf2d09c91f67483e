//! What the challenges of a proof are hashes of.

use cenote_primitives::{Block, as_bytes};
use sha2::{Digest, Sha256};

use super::algebra::is_masked;

/// A hash.
pub(super) type Hash = [u8; 32];

/// What a batch is, which all of its hashes begin with.
#[derive(Clone, Copy)]
pub(super) struct Header(Hash);

impl Header {
    pub(super) fn new(
        worker: u8,
        batch: u64,
        blocks: usize,
        variables: u32,
        weight_bits: u32,
        coin: Block,
    ) -> Self {
        Self(hash(
            b"batch",
            &[
                &[worker],
                &batch.to_le_bytes(),
                &(blocks as u64).to_le_bytes(),
                &variables.to_le_bytes(),
                &weight_bits.to_le_bytes(),
                &coin.to_bytes(),
            ],
        ))
    }

    /// The digest of message `step` of a prover's. The nonce is known to whoever may know the message: so nobody else tests guesses of it.
    pub(super) fn message(&self, prover: u8, step: usize, nonce: &Hash, message: &[Block]) -> Hash {
        let step = (step as u64).to_le_bytes();
        hash(b"message", &[&self.0, &[prover], &step, nonce, as_bytes(message)])
    }

    /// What the first challenge, which all proofs have in common, is made of: the digests of all first messages.
    pub(super) fn common(&self, digests: &[Hash; 3]) -> Hash {
        hash(b"challenge", &[&self.0, digests.as_flattened()])
    }
}

/// What was told in a proof so far.
#[derive(Clone, Copy)]
pub(super) struct Transcript(Hash);

impl Transcript {
    /// Of `prover`'s proof, after the first message of all.
    pub(super) fn new(common: &Hash, prover: u8) -> Self {
        Self(hash(b"proof", &[common, &[prover]]))
    }

    /// Adds the digest of a message.
    pub(super) fn add(&mut self, digest: &Hash) {
        self.0 = hash(b"step", &[&self.0, digest]);
    }

    pub(super) fn digest(&self) -> &Hash {
        &self.0
    }

    /// The challenge that follows.
    pub(super) fn challenge<const N: usize>(&self) -> [Block; N] {
        std::array::from_fn(|at| element(&self.0, at as u64))
    }

    /// The last challenge, at which the masks count.
    pub(super) fn last_challenge(&self) -> Block {
        let mut challenges = (0..).map(|at| element(&self.0, at));
        challenges
            .find(|&at| is_masked(at))
            .expect("nearly all elements are such")
    }
}

/// The first challenge, of as many elements as the polynomials have variables.
pub(super) fn first_challenge(common: &Hash, variables: u32) -> Vec<Block> {
    (0..u64::from(variables)).map(|at| element(common, at)).collect()
}

fn element(seed: &Hash, at: u64) -> Block {
    let digest = hash(b"element", &[seed, &at.to_le_bytes()]);
    Block::from_bytes(std::array::from_fn(|i| digest[i]))
}

/// The hash of parts of known lengths.
fn hash(what: &[u8], parts: &[&[u8]]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(b"cenote three: proofs, version 1: ");
    hash.update((what.len() as u64).to_le_bytes());
    hash.update(what);
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
