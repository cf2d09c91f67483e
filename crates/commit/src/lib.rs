//! XOR-homomorphic commitments to 128-bit strings (Frederiksen, Jakobsen, Nielsen, Trifiletti 2016; Section V-A of
//! Nielsen, Schneider, Trifiletti 2017), and in [`ihash`] those to longer labels that the label itself opens.
//!
//! **Scheme.** Of each position `i` of a linear code C with distance at least 41 (see `code`) the committer holds two seeds
//! and the receiver the one that its secret choice bit `b_i` says. Expanded, they give for every commitment bits `s^0_i`
//! and `s^1_i`, of which the receiver *watches* one. The message is what `s^0 ⊕ s^1` is in the first 128 positions; the
//! committer sends the correction that turns the other positions into its parity. The receiver adds it where it watches
//! `s^1`, and so holds `w = s^0 ⊕ b∧C(m)`. An opening is `(m, s^0)`. All of this is linear, so sums of commitments are
//! commitments to sums; and adding `b∧C(d)` to `w` makes it a commitment to `m ⊕ d` ([`Receiver::adjust`]).
//!
//! **Hiding.** In each position one bit of `s^0`, `s^1` is unknown to the receiver: for every message there is an opening
//! that fits what it has.
//!
//! **Binding.** Openings of one `w` to two messages differ in all positions in which the codewords do and which are
//! watched in the other share, so the committer must guess 41 choice bits. Positions with wrong corrections bind to
//! nothing, but [`ConsistencyCheck`] lets a committer with `e` of them pass with probability `2^-e` only: guesses count
//! towards the 41 either way.
//!
//! **Folds.** Many columns are checked at once by 128 random combinations of them: row by row, 128 columns are an element of
//! GF(2^128), and block `k` of a row is multiplied by `α^(k+1)` of a challenge α, and all are added. A difference in some
//! column vanishes from such a fold for at most as many α as there are blocks. Rows are folded, so the fold of the code's
//! rows is again a matrix of codewords.

mod code;
mod committer;
mod consistency;
mod fold;
pub mod ihash;
mod opening;
mod receiver;
mod scratch;
#[cfg(test)]
mod tests;

use cenote_primitives::bch;
use zeroize::DefaultIsZeroes;

pub use committer::Committer;
pub use consistency::ConsistencyCheck;
pub use opening::{Opener, Verifier, proof_bytes};
pub use receiver::Receiver;

/// Bits of a message.
pub const MESSAGE_BITS: usize = 128;
/// Bits of parity.
pub const PARITY_BITS: usize = bch::PARITY_BITS;
/// Bits of a codeword: the message and its parity.
pub const CODE_BITS: usize = MESSAGE_BITS + PARITY_BITS;
/// Bytes of a proof of many openings: the folded rows of the shares.
pub const PROOF_BYTES: usize = CODE_BITS * 16;
/// Bytes of the answer to the consistency check: the folded rows of the shares, then those of the messages.
pub const ANSWER_BYTES: usize = (CODE_BITS + MESSAGE_BITS) * 16;
/// Bytes of a share in a proof of few openings.
pub const OPENING_BYTES: usize = CODE_BITS.div_ceil(8);
/// Most openings in a piece: the challenge of a fold is a root of a wrong one with probability `MAX_PIECE / 128 / 2^128`.
pub const MAX_PIECE: usize = 8192;
/// Commitments are made in multiples of this.
pub const BATCH_UNIT: usize = 512;

const SHARE_WORDS: usize = CODE_BITS.div_ceil(64);

/// A share of a committed string: one bit for each position of the code, message first, bit `i` at bit `i % 64` of word
/// `i / 64`; the bits after the code's are zero. It is `s^0` at the committer, the watched bits at the receiver. Shares of a
/// sum are sums of shares.
#[derive(Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Share(pub [u64; SHARE_WORDS]);

impl DefaultIsZeroes for Share {}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Share")
    }
}

impl std::ops::BitXor for Share {
    type Output = Share;
    #[inline(always)]
    fn bitxor(self, other: Share) -> Share {
        Share(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
}

impl std::ops::BitXorAssign for Share {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Share) {
        *self = *self ^ other;
    }
}

/// Where a run of commitments lies in the streams of the seeds: `columns` from 512 times `first` on. No two runs of one
/// set-up may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// In units of [`BATCH_UNIT`] commitments.
    pub first: u64,
    /// Number of commitments: a multiple of [`BATCH_UNIT`].
    pub columns: usize,
}

impl Batch {
    /// Bytes of the corrections of the batch: for each unit of [`BATCH_UNIT`] commitments the [`PARITY_BITS`] rows of its
    /// correction, of a bit for each commitment.
    pub fn correction_bytes(self) -> usize {
        self.columns / 8 * PARITY_BITS
    }

    /// Number of units.
    ///
    /// # Panics
    /// If the columns are not whole units.
    fn units(self) -> usize {
        assert!(
            self.columns.is_multiple_of(BATCH_UNIT),
            "{} commitments are no whole units",
            self.columns
        );
        self.columns / BATCH_UNIT
    }
}

/// An opening, or a commitment, is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not what was committed to")]
pub struct Mismatch;
