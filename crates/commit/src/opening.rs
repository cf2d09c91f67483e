//! Openings of many sums of commitments with one proof.
//!
//! The messages are sent in the clear, and the proof is of all of them. There are two forms, and the number of openings says
//! which one it is ([`proof_bytes`]), so both sides know it without a word:
//!
//! - **Few openings: their shares**, one by one. The receiver compares each with what it watches, as the definition of an
//!   opening says, so nothing else has to be proved, and there is no challenge. It learns nothing from them either: with
//!   the message it can compute the share itself.
//! - **Many openings: the fold of their shares.** The challenge of a piece, which is what one call opens, is a hash of the
//!   transcript and all messages up to the piece's end (Fiat and Shamir 1986), so that openings are one message. A fold
//!   combines 128 times, and a wrong message escapes it for few of the 2^128 challenges, so trying many messages offline gains
//!   little; what remains is guessing choice bits, which only the receiver's verdict confirms.
//!
//! A committer that could still choose *commitments* when it knows the challenge could choose wrong ones that vanish from
//! the fold. Hence the rule on the transcript at [`Opener::new`].
//!
//! In numbers: a piece of `K` blocks of 128 openings is a polynomial of degree `K` in the challenge, so a wrong piece vanishes
//! from the fold with probability at most `K / 2^128` for each hash that the committer tries. `K` is at most [`MAX_PIECE`] / 128.

use std::fmt;

use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use zeroize::Zeroizing;

use super::fold::{FOLD_COLUMNS, Fold, Powers};
use super::{
    BATCH_UNIT, CODE_BITS, MAX_PIECE, MESSAGE_BITS, Mismatch, OPENING_BYTES, PROOF_BYTES, Receiver,
    SHARE_WORDS, Share,
};

/// Most openings whose shares are sent: those of more have more bytes than a fold.
const FEW: usize = (PROOF_BYTES - 1) / OPENING_BYTES;

/// Bytes of the proof of `count` openings.
pub const fn proof_bytes(count: usize) -> usize {
    if count <= FEW {
        count * OPENING_BYTES
    } else {
        PROOF_BYTES
    }
}

/// The bytes of shares: [`OPENING_BYTES`] each. The receiver verifies them by [`Receiver::verify_each`].
pub(super) fn open_each(shares: &[Share]) -> Vec<u8> {
    let parts = shares
        .iter()
        .map(|share| &bytemuck::bytes_of(share)[..OPENING_BYTES]);
    parts.collect::<Vec<_>>().concat()
}

/// The openings so far, as long as they are few, and the challenges that they make.
struct Opened {
    challenger: Challenger,
    count: usize,
    messages: Vec<Block>,
    shares: Zeroizing<Vec<Share>>,
}

impl Opened {
    fn new(transcript: &[u8]) -> Self {
        Self {
            challenger: Challenger::new(transcript),
            count: 0,
            messages: Vec::with_capacity(FEW),
            // With room for all from the start: a vector that grows leaves its old place unwiped.
            shares: Zeroizing::new(Vec::with_capacity(FEW)),
        }
    }

    /// Adds a piece, whose challenge it gives.
    fn add(&mut self, messages: &[Block], shares: &[Share]) -> Block {
        assert_eq!(messages.len(), shares.len(), "a share for each message");
        assert!(messages.len() <= MAX_PIECE, "pieces of at most {MAX_PIECE}");
        self.count += messages.len();
        if self.are_few() {
            self.messages.extend_from_slice(messages);
            self.shares.extend_from_slice(shares);
        }
        self.challenger.challenge(messages)
    }

    fn are_few(&self) -> bool {
        self.count <= FEW
    }
}

/// A chain of hashes: of the transcript and all pieces so far.
pub(super) struct Challenger([u8; 32]);

impl Challenger {
    pub(super) fn new(transcript: &[u8]) -> Self {
        Self(blake3::derive_key("cenote two commit: openings", transcript))
    }

    /// Makes all further challenges depend on `something`.
    fn bind(&mut self, something: &[u8]) {
        // In a mode of its own, so that this is no piece.
        let mut hasher = blake3::Hasher::new_derive_key("cenote two commit: bound in between");
        self.0 = *hasher.update(&self.0).update(something).finalize().as_bytes();
    }

    /// The challenge of a piece.
    pub(super) fn challenge(&mut self, messages: &[Block]) -> Block {
        // Each piece is a message of its own under the chain's last value as key, so where pieces end is hashed too.
        let mut output = blake3::Hasher::new_keyed(&self.0)
            .update(as_bytes(messages))
            .finalize_xof();
        output.fill(&mut self.0);
        let mut alpha = [0; 16];
        output.fill(&mut alpha);
        Block::from_bytes(alpha)
    }
}

/// Calls `absorb` with the powers and the range of each run of `columns` columns.
fn runs(alpha: Block, columns: usize, mut absorb: impl FnMut(&[Block], std::ops::Range<usize>)) {
    let mut powers = Powers::new(alpha);
    for first in (0..columns).step_by(FOLD_COLUMNS) {
        let end = columns.min(first + FOLD_COLUMNS);
        absorb(powers.next((end - first).div_ceil(BATCH_UNIT)), first..end);
    }
}

/// The committer's side of opening a sequence of sums of commitments with one proof.
pub struct Opener {
    opened: Opened,
    fold: Fold<SHARE_WORDS>,
}

impl Opener {
    /// Starts; `transcript` as at the receiver ([`Receiver::verify`]).
    ///
    /// It names the session, the phase and what else tells this proof from others. And it must contain something of the
    /// receiver's that the committer could not foresee when it sent the last corrections and differences of what is opened
    /// (the seed of the cut-and-choose, for one): a committer that knows a challenge while it can still choose differences
    /// can open to what it did not commit to. Where commitments are made between openings, the same goes for
    /// [`Opener::bind`].
    pub fn new(transcript: &[u8]) -> Self {
        Self {
            opened: Opened::new(transcript),
            fold: Fold::new(CODE_BITS),
        }
    }

    /// Makes the challenges of what is opened from now on depend on `something` too: of the receiver's, unforeseen when what is
    /// opened next was committed to.
    pub fn bind(&mut self, something: &[u8]) {
        self.opened.challenger.bind(something);
    }

    /// Opens sums of commitments; the messages are sent by the caller.
    ///
    /// # Panics
    /// If the lengths differ, or there are more than [`MAX_PIECE`].
    pub fn open(&mut self, messages: &[Block], shares: &[Share]) {
        let alpha = self.opened.add(messages, shares);
        runs(alpha, messages.len(), |powers, run| {
            self.fold.absorb(powers, bytemuck::cast_slice(&shares[run]));
        });
    }

    /// The proof of everything opened, of [`proof_bytes`].
    pub fn finish(self) -> Vec<u8> {
        if self.opened.are_few() {
            return open_each(&self.opened.shares);
        }
        as_bytes(self.fold.rows()).to_vec()
    }
}

/// The receiver's side of [`Opener`].
pub struct Verifier<'a> {
    receiver: &'a Receiver,
    opened: Opened,
    shares: Fold<SHARE_WORDS>,
    messages: Fold<2>,
}

impl Receiver {
    /// Starts the verification of openings. `transcript` is as at the committer ([`Opener::new`]).
    pub fn verify(&self, transcript: &[u8]) -> Verifier<'_> {
        Verifier {
            receiver: self,
            opened: Opened::new(transcript),
            shares: Fold::new(CODE_BITS),
            messages: Fold::new(MESSAGE_BITS),
        }
    }
}

impl Verifier<'_> {
    /// As [`Opener::bind`], at the same places.
    pub fn bind(&mut self, something: &[u8]) {
        self.opened.challenger.bind(something);
    }

    /// The messages as received, in the same pieces as opened, with this side's shares of the sums.
    ///
    /// # Panics
    /// If the lengths differ, or there are more than [`MAX_PIECE`].
    pub fn absorb(&mut self, messages: &[Block], shares: &[Share]) {
        let alpha = self.opened.add(messages, shares);
        runs(alpha, messages.len(), |powers, run| {
            self.shares
                .absorb(powers, bytemuck::cast_slice(&shares[run.clone()]));
            self.messages.absorb(powers, bytemuck::cast_slice(&messages[run]));
        });
    }

    /// Bytes of the proof of everything absorbed so far.
    pub fn proof_bytes(&self) -> usize {
        proof_bytes(self.opened.count)
    }

    /// Whether all messages were those committed to.
    ///
    /// # Errors
    /// If one was not, or the proof is wrong or not of [`proof_bytes`].
    pub fn finish(self, proof: &[u8]) -> Result<(), Mismatch> {
        if self.opened.are_few() {
            return self
                .receiver
                .verify_each(&self.opened.messages, proof, &self.opened.shares);
        }
        if proof.len() != PROOF_BYTES {
            return Err(Mismatch);
        }
        let mut zeros = vec![Block::ZERO; CODE_BITS];
        as_bytes_mut(&mut zeros).copy_from_slice(proof);
        self.receiver
            .fold_matches(self.shares.rows(), &zeros, self.messages.rows())
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

impl fmt::Debug for Verifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}
