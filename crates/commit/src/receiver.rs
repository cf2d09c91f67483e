//! The side that is committed to.

use std::fmt;

use cenote_primitives::kernels::rows_to_columns;
use cenote_primitives::{BLOCK_WORDS, Block, Block512, Prg, mask_of};
use zeroize::Zeroizing;

use super::code::{ENCODE_SCRATCH, encode_columns, encode_rows};
use super::committer::{UNITS, position};
use super::scratch::Scratch;
use super::{
    BATCH_UNIT, Batch, CODE_BITS, MESSAGE_BITS, Mismatch, OPENING_BYTES, PARITY_BITS, SHARE_WORDS, Share,
};

/// The receiver: one seed of every position, and which of the two it is. They are wiped on drop.
pub struct Receiver {
    seeds: Vec<Prg>,
    /// The choice bits: ones where the seed is that of `s^1`.
    choices: Zeroizing<Share>,
    scratch: Scratch,
}

impl Receiver {
    /// From [`CODE_BITS`] random OTs: choice bits packed in words, and the strings received.
    ///
    /// # Panics
    /// If there are fewer choices, or the number of seeds is another.
    pub fn new(choices: &[u64], seeds: &[Block]) -> Self {
        assert_eq!(seeds.len(), CODE_BITS, "a seed for each position");
        assert!(choices.len() >= SHARE_WORDS, "a choice for each position");
        let mut packed = Zeroizing::new(Share::default());
        packed.0.copy_from_slice(&choices[..SHARE_WORDS]);
        packed.0[SHARE_WORDS - 1] &= u64::MAX >> (64 * SHARE_WORDS - CODE_BITS);
        Self {
            seeds: seeds.iter().map(|&seed| Prg::new(seed)).collect(),
            choices: packed,
            scratch: Scratch::new((UNITS * CODE_BITS).max(ENCODE_SCRATCH)),
        }
    }

    /// All ones if the seed of position `i` is that of `s^1`, else zero.
    fn mask(&self, i: usize) -> u64 {
        mask_of(self.choices.0[i / 64] >> (i % 64) & 1 == 1)
    }

    /// The bits of a codeword that `s^1` is off `s^0`, where `s^1` is watched.
    fn chosen(&self, codeword: Share) -> Share {
        Share(std::array::from_fn(|i| self.choices.0[i] & codeword.0[i]))
    }

    /// Receives commitments to unknown uniform strings: writes `shares`, one for each column.
    ///
    /// # Panics
    /// If the batch is not whole units or an array does not fit it.
    pub fn receive(&self, batch: Batch, corrections: &[u8], shares: &mut [Share]) {
        let units = batch.units();
        assert_eq!(shares.len(), batch.columns, "a share for each column");
        assert_eq!(corrections.len(), batch.correction_bytes(), "corrections");
        let shares: &mut [[u64; SHARE_WORDS]] = bytemuck::cast_slice_mut(shares);
        let mut shares = shares.chunks_exact_mut(BATCH_UNIT);
        let mut corrections = corrections.chunks_exact(size_of::<Block512>() * PARITY_BITS);
        self.scratch.lend(|tiles| {
            let mut row = [Block512::ZERO; UNITS];
            for first in (0..units).step_by(UNITS) {
                let row = &mut row[..UNITS.min(units - first)];
                for (i, seed) in self.seeds.iter().enumerate() {
                    seed.fill(position(batch.first + first as u64), row);
                    for (unit, &block) in row.iter().enumerate() {
                        tiles[unit * CODE_BITS + i] = block;
                    }
                }
                let tiles = tiles.chunks_exact_mut(CODE_BITS).take(row.len());
                for (tile, (shares, corrections)) in tiles.zip(shares.by_ref().zip(corrections.by_ref())) {
                    self.correct(corrections, &mut tile[MESSAGE_BITS..]);
                    rows_to_columns::<SHARE_WORDS>(tile, shares);
                }
            }
        });
    }

    /// Adds the corrections to the parity rows in which `s^1` is watched.
    fn correct(&self, corrections: &[u8], rows: &mut [Block512]) {
        let corrections = corrections.as_chunks::<8>().0.as_chunks::<BLOCK_WORDS>().0;
        for (i, (row, correction)) in rows.iter_mut().zip(corrections).enumerate() {
            let mask = self.mask(MESSAGE_BITS + i);
            for (word, bytes) in row.0.iter_mut().zip(correction) {
                *word ^= mask & u64::from_ne_bytes(*bytes);
            }
        }
    }

    /// Turns commitments to strings `m` into commitments to `m ^ difference`. (The committer's shares stay; its messages
    /// become the chosen ones.)
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn adjust(&self, shares: &mut [Share], differences: &[Block]) {
        assert_eq!(shares.len(), differences.len(), "a difference for each share");
        self.scratch.lend(|scratch| {
            encode_columns(differences, scratch, |i, codeword| {
                shares[i] ^= self.chosen(codeword)
            });
        });
    }

    /// Whether `openings`, the bytes of [`super::opening::open_each`], open commitments with these shares to `messages`.
    ///
    /// # Errors
    /// If one does not, or `openings` is of another length.
    ///
    /// # Panics
    /// If `messages` and `shares` have different lengths.
    pub(super) fn verify_each(
        &self,
        messages: &[Block],
        openings: &[u8],
        shares: &[Share],
    ) -> Result<(), Mismatch> {
        assert_eq!(messages.len(), shares.len(), "a share for each message");
        let (theirs, rest) = openings.as_chunks::<OPENING_BYTES>();
        if !rest.is_empty() || theirs.len() != messages.len() {
            return Err(Mismatch);
        }
        let mut wrong = Share::default();
        self.scratch.lend(|scratch| {
            encode_columns(messages, scratch, |i, codeword| {
                let mut zeros = Share::default();
                bytemuck::bytes_of_mut(&mut zeros)[..OPENING_BYTES].copy_from_slice(&theirs[i]);
                let difference = zeros ^ self.chosen(codeword) ^ shares[i];
                wrong = Share(std::array::from_fn(|w| wrong.0[w] | difference.0[w]));
            });
        });
        if wrong == Share::default() {
            Ok(())
        } else {
            Err(Mismatch)
        }
    }

    /// Whether the folded rows of this side's shares are what the committer's make them: `zeros` are its folded rows,
    /// `messages` the folded rows of the messages.
    pub(super) fn fold_matches(
        &self,
        shares: &[Block],
        zeros: &[Block],
        messages: &[Block],
    ) -> Result<(), Mismatch> {
        let mut wrong = [0; 2];
        for (i, code) in encode_rows(messages).iter().enumerate() {
            let (mask, difference) = (self.mask(i), shares[i] ^ zeros[i]);
            for (word, wrong) in wrong.iter_mut().enumerate() {
                *wrong |= difference.0[word] ^ (mask & code.0[word]);
            }
        }
        // Only the final yes or no depends on the choice bits.
        if wrong == [0; 2] { Ok(()) } else { Err(Mismatch) }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}
