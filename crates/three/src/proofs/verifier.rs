//! A party's part as the verifier of the two other parties' proofs.

use cenote_primitives::sumcheck::QUARTER_POINTS;
use cenote_primitives::{Block, gf128};
use cenote_session::{Check, Error, Result};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::algebra::{last_claim, next_claim, through};
use super::buffers::Half;
use super::prover::{Batch, Prover};
use super::transcript::{Hash, Transcript};
use crate::{checks, steps};

/// What the two others told of their proofs after the first message.
pub(super) struct Told {
    /// Their words on the common challenge: the previous party's, and the next one's.
    pub(super) words: [Hash; 2],
    /// The next party's values, masked, and then the value of its first half.
    pub(super) values: Vec<Block>,
    /// The digests of the previous party's values.
    pub(super) digests: Vec<Hash>,
    /// The value of its second half.
    pub(super) value: [u8; 16],
}

/// What a verifier opens of a proof, or hears of the other verifier.
pub(super) struct Opening {
    /// Of the half of the statement that it knows, at the last challenge.
    value: Block,
    /// This verifier's share of the product of both halves' values.
    product: Block,
    transcript: Hash,
}

/// Both others have the same challenge, and the same operands as far as this party has them: only now may anything be opened.
pub(super) struct Agreed(());

impl Opening {
    const BYTES: usize = 64;

    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.value.to_bytes());
        bytes[16..32].copy_from_slice(&self.product.to_bytes());
        bytes[32..].copy_from_slice(&self.transcript);
        bytes
    }

    fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let block = |from: usize| Block::from_bytes(std::array::from_fn(|i| bytes[from + i]));
        Self {
            value: block(0),
            product: block(16),
            transcript: std::array::from_fn(|i| bytes[32 + i]),
        }
    }
}

impl Prover {
    /// Follows the next party's proof as its left verifier, from its share of the first claim on.
    pub(super) fn follow_next(&mut self, batch: &Batch, common: &Hash, claim: Block, told: &Told) -> Opening {
        let Self {
            me, streams, halves, ..
        } = self;
        let prover = (*me + 1) % 3;
        let values = |step: usize| {
            let first = QUARTER_POINTS * (step - 1);
            let values = &told.values[first..][..batch.places.values(step)];
            let nonce = streams.nonce(&batch.places, 1, step);
            let digest = batch.header.message(prover, step, &nonce, values);
            (digest, Zeroizing::new(values.to_vec()))
        };
        let mask = streams.mask(&batch.places, 0, 1);
        follow(
            batch,
            Transcript::new(common, prover),
            claim,
            (&mut halves.next, mask),
            values,
        )
    }

    /// Follows the previous party's proof as its right verifier, who derives its share of the values.
    pub(super) fn follow_previous(
        &mut self,
        batch: &Batch,
        common: &Hash,
        claim: Block,
        told: &Told,
    ) -> Opening {
        let Self {
            me, streams, halves, ..
        } = self;
        let values = |step: usize| {
            let pads = streams.pads(&batch.places, 0, step);
            (told.digests[step - 1], pads)
        };
        let mask = streams.mask(&batch.places, 1, 0);
        let transcript = Transcript::new(common, (*me + 2) % 3);
        follow(batch, transcript, claim, (&mut halves.previous, mask), values)
    }

    /// Makes sure of what must be so before anything is opened.
    pub(super) fn agree(
        &self,
        common: &Hash,
        told: &Told,
        next: &Opening,
        previous: &Opening,
    ) -> Result<Agreed> {
        if told.words != [*common; 2] {
            let detail = "the parties heard different first messages of proofs";
            return Err(failed(checks::PROOF_TRANSCRIPT, detail, steps::PROOF_CHALLENGE));
        }
        let of_next = told.values[told.values.len() - 1].to_bytes();
        let same = of_next.ct_eq(&next.value.to_bytes()) & told.value.ct_eq(&previous.value.to_bytes());
        if !bool::from(same) {
            let detail =
                "two parties have different operands of gates: one deviated, or they run different programs";
            return Err(failed(checks::PROOF_OPERANDS, detail, steps::PROOF_TAIL));
        }
        Ok(Agreed(()))
    }

    /// Opens what this party found to the other verifier of each proof: the previous party is the next one's other verifier, and the next one the previous
    /// one's.
    pub(super) fn open(&mut self, _agreed: Agreed, next: &Opening, previous: &Opening) -> Result<()> {
        self.ring
            .tell(steps::PROOF_OPENING, &next.to_bytes(), &previous.to_bytes())
    }

    /// Hears what the other verifiers found, and decides.
    pub(super) fn decide(&mut self, next: &Opening, previous: &Opening) -> Result<()> {
        let (from_previous, from_next) = self.ring.hear(steps::PROOF_OPENING)?;
        for (ours, theirs, prover) in [
            (next, from_previous, self.me + 1),
            (previous, from_next, self.me + 2),
        ] {
            let theirs = Opening::from_bytes(&theirs);
            let prover = cenote_net::PartyId(prover % 3);
            if ours.transcript != theirs.transcript {
                let detail = format!("the verifiers of {prover} heard different proofs");
                return Err(failed(checks::PROOF_TRANSCRIPT, &detail, steps::PROOF_OPENING));
            }
            let product = gf128::mul(ours.value, theirs.value).to_bytes();
            let claimed = (ours.product ^ theirs.product).to_bytes();
            if !bool::from(product.ct_eq(&claimed)) {
                let detail = format!("a proof of the products of {prover} does not hold");
                return Err(failed(checks::PROOF, &detail, steps::PROOF_OPENING));
            }
        }
        Ok(())
    }
}

/// Follows a proof from a verifier's share of the first claim on. `told` gives the digest of a step's values, and the verifier's share of these.
fn follow(
    batch: &Batch,
    mut transcript: Transcript,
    mut claim: Block,
    (half, mask): (&mut Half, Block),
    told: impl Fn(usize) -> (Hash, Zeroizing<Vec<Block>>),
) -> Opening {
    for step in 1..=batch.steps {
        let (digest, values) = told(step);
        transcript.add(&digest);
        let challenge = transcript.challenge();
        claim = next_claim(challenge, claim, values.first_chunk().expect("values of a step"));
        half.fold(&challenge);
    }
    let (digest, values) = told(batch.steps + 1);
    transcript.add(&digest);
    let at = transcript.last_challenge();
    Opening {
        value: through(&half.end(mask), at),
        product: last_claim(at, claim, values.first_chunk().expect("values of the last step")),
        transcript: *transcript.digest(),
    }
}

/// Who deviated cannot be told: the prover, or the other verifier.
fn failed(check: Check, detail: &str, step: cenote_net::Step) -> Error {
    Error::cheated(check, None, step, detail)
}
