//! The check that what was committed to are codewords.

use std::fmt;

use cenote_primitives::{Block, as_bytes_mut};

use super::fold::{FOLD_COLUMNS, Fold, Powers};
use super::{ANSWER_BYTES, BATCH_UNIT, CODE_BITS, MESSAGE_BITS, Mismatch, Receiver, SHARE_WORDS, Share};

/// The check that commitments are to codewords (Section V-A of Nielsen et al. 2017): the committer's answer opens 128
/// random combinations of them, each blinded by a commitment used for nothing else.
///
/// The challenge must be drawn after the corrections were received.
pub struct ConsistencyCheck<'a> {
    receiver: &'a Receiver,
    powers: Powers,
    fold: Fold<SHARE_WORDS>,
}

impl Receiver {
    /// Starts the check of commitments that were received, as they were before [`Receiver::adjust`]. `alpha` is a uniform
    /// element of GF(2^128) that the committer could not foresee when it sent the corrections.
    pub fn check(&self, alpha: Block) -> ConsistencyCheck<'_> {
        ConsistencyCheck {
            receiver: self,
            powers: Powers::new(alpha),
            fold: Fold::new(CODE_BITS),
        }
    }
}

impl ConsistencyCheck<'_> {
    /// Takes the shares of the batches in order, all columns of all of them, the blinding ones last.
    ///
    /// # Panics
    /// If they are not whole units of [`BATCH_UNIT`] columns.
    pub fn absorb(&mut self, shares: &[Share]) {
        assert!(
            shares.len().is_multiple_of(BATCH_UNIT),
            "{} shares are no whole units",
            shares.len()
        );
        for shares in shares.chunks(FOLD_COLUMNS) {
            let powers = self.powers.next(shares.len() / BATCH_UNIT);
            self.fold.absorb(powers, bytemuck::cast_slice(shares));
        }
    }

    /// Compares with the committer's answer, and gives the [`MESSAGE_BITS`] folded rows of the messages: row `i`, with the
    /// `i`-th bits of all messages in turn as elements `x_1, x_2, …` of GF(2^128), is the sum of all `x_k α^k`.
    ///
    /// # Errors
    /// If the answer does not fit, or its length is not [`ANSWER_BYTES`].
    pub fn finish(self, answer: &[u8]) -> Result<Vec<Block>, Mismatch> {
        if answer.len() != ANSWER_BYTES {
            return Err(Mismatch);
        }
        let mut zeros = vec![Block::ZERO; CODE_BITS + MESSAGE_BITS];
        as_bytes_mut(&mut zeros).copy_from_slice(answer);
        let messages = zeros.split_off(CODE_BITS);
        self.receiver.fold_matches(self.fold.rows(), &zeros, &messages)?;
        Ok(messages)
    }
}

impl fmt::Debug for ConsistencyCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsistencyCheck")
    }
}
