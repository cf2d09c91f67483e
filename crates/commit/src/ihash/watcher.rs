//! The side that hashes labels.

use std::fmt;

use cenote_primitives::kernels::SymbolMap;
use cenote_primitives::{BLOCK_WORDS, Block, Block512, Prg, as_bytes, as_bytes_mut};
use zeroize::Zeroizing;

use super::batch::{Batch, UNIT, UNITS};
use super::code::Code;
use super::committer::{expand, to_rows, to_vectors};
use crate::scratch::Scratch;

/// A message or labels are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The message has another length.
    #[error("a message of {found} bytes, where {expected} are right")]
    Length {
        /// Bytes of a message for this batch.
        expected: usize,
        /// Bytes of this one.
        found: usize,
    },
    /// Labels do not have their hashes.
    #[error("{count} labels do not have their hashes, the first of them label {first}")]
    Labels {
        /// How many do not.
        count: usize,
        /// The least of their numbers.
        first: usize,
    },
}

/// The watcher: its watch list and the seeds of the watched positions. They are wiped on drop.
///
/// No branch, address or time depends on the watch list or on labels.
pub struct Watcher {
    code: Code,
    seeds: Vec<Prg>,
    /// From labels to their hashes.
    hash: SymbolMap,
    /// From the parity rows that are sent of random labels to those that are watched, and zero for the other watched positions.
    random: SymbolMap,
    /// From all rows that are sent of chosen labels to those that are watched.
    chosen: SymbolMap,
    scratch: Scratch,
}

impl Watcher {
    /// With a watch list, ascending from 0, and the seeds of its positions. No branch depends on the list here either, but which rows of the
    /// code are read does, once.
    ///
    /// # Panics
    /// If there are not as many positions or seeds as the code's watched ones, or the positions are not increasing and within the code.
    pub fn new(code: &Code, positions: &[usize], seeds: &[Block]) -> Self {
        let (n, k, w) = (code.length(), code.message(), code.watched());
        assert_eq!(
            (positions.len(), seeds.len()),
            (w, w),
            "a seed for each watched position"
        );
        assert!(
            positions.is_sorted_by(|a, b| a < b) && positions[w - 1] < n,
            "watched positions increase and are within the code"
        );
        let select = |first: usize| {
            let mut rows = Zeroizing::new(Vec::with_capacity(w * (n - first)));
            for &position in positions {
                rows.extend((first..n).map(|i| u8::from(i == position)));
            }
            SymbolMap::new(n - first, &rows)
        };
        Self {
            code: code.clone(),
            seeds: seeds.iter().map(|&seed| Prg::new(seed)).collect(),
            hash: code.code.symbols(positions),
            random: select(k),
            chosen: select(0),
            // Of the watched streams, of what was sent or of labels and hashes, and of a unit to pad.
            scratch: Scratch::new(UNITS * w + n + w + k),
        }
    }

    /// Receives the [`Code::random_bytes`] of a batch of random labels: writes their hashes, of [`Code::hash_blocks`] blocks each.
    ///
    /// # Errors
    /// If the message has another length.
    ///
    /// # Panics
    /// If the hashes do not fit the batch.
    pub fn random(&self, batch: Batch, message: &[u8], hashes: &mut [Block]) -> Result<(), Mismatch> {
        self.receive(
            batch,
            &self.random,
            message,
            self.code.random_bytes(batch),
            hashes,
        )
    }

    /// Receives the [`Code::chosen_bytes`] of a batch of chosen labels: writes their hashes.
    ///
    /// # Errors
    /// If the message has another length.
    ///
    /// # Panics
    /// If the hashes do not fit the batch.
    pub fn chosen(&self, batch: Batch, message: &[u8], hashes: &mut [Block]) -> Result<(), Mismatch> {
        self.receive(
            batch,
            &self.chosen,
            message,
            self.code.chosen_bytes(batch),
            hashes,
        )
    }

    fn receive(
        &self,
        batch: Batch,
        select: &SymbolMap,
        message: &[u8],
        expected: usize,
        hashes: &mut [Block],
    ) -> Result<(), Mismatch> {
        let w = self.code.watched();
        assert_eq!(
            hashes.len(),
            batch.labels * self.code.hash_blocks(),
            "a hash for each label"
        );
        if message.len() != expected {
            let found = message.len();
            return Err(Mismatch::Length { expected, found });
        }
        let messages = message.chunks_exact(select.inputs() * size_of::<Block512>());
        let mut units = messages.zip(hashes.chunks_mut(UNIT * self.code.hash_blocks()));
        self.scratch.lend(|scratch| {
            let (tiles, scratch) = scratch.split_at_mut(UNITS * w);
            let (sent, padded) = scratch.split_at_mut(self.code.length());
            let sent = &mut sent[..select.inputs()];
            for piece in batch.pieces() {
                expand(&self.seeds, piece, tiles);
                // The units come last, lest one is lost when there is no tile left.
                for (tile, (message, hashes)) in tiles.chunks_exact_mut(w).take(piece.1).zip(units.by_ref()) {
                    as_bytes_mut(sent).copy_from_slice(message);
                    select.add(sent, tile);
                    to_vectors(tile, hashes, padded);
                }
            }
        });
        Ok(())
    }

    /// Writes the hashes of `labels`.
    ///
    /// # Panics
    /// If there is not a hash for each label.
    pub fn hash(&self, labels: &[Block], hashes: &mut [Block]) {
        self.count(labels, hashes);
        let units = labels
            .chunks(UNIT * self.code.label_blocks())
            .zip(hashes.chunks_mut(UNIT * self.code.hash_blocks()));
        self.scratch.lend(|scratch| {
            let (rows, images, padded) = self.split(scratch);
            for (labels, hashes) in units {
                to_rows(labels, rows, padded);
                images.fill(Block512::ZERO);
                self.hash.add(rows, images);
                to_vectors(images, hashes, padded);
            }
        });
    }

    /// Whether all `labels` have the hashes `expected`.
    ///
    /// # Errors
    /// If one has not.
    ///
    /// # Panics
    /// If there is not a hash for each label.
    pub fn verify(&self, labels: &[Block], expected: &[Block]) -> Result<(), Mismatch> {
        let mut wrong = Wrong::default();
        self.compare(labels, expected, |_, differences, used| {
            wrong.add(nonzero(differences.iter().copied()) & used, used);
        });
        wrong.result()
    }

    /// Which of `L` and `L ⊕ Δ` each of `labels` is, given the hashes of all `L` and that of `Δ`: bit `i % 64` of word `i / 64` of
    /// `colours` becomes 0 for `L`, 1 for `L ⊕ Δ`.
    ///
    /// # Errors
    /// If one is neither, or both, which it is if the hash of `Δ` is zero. The colours are then undefined.
    ///
    /// # Panics
    /// If there is not a hash and a colour for each label, or `delta_hash` is not one hash.
    pub fn which(
        &self,
        labels: &[Block],
        hashes: &[Block],
        delta_hash: &[Block],
        colours: &mut [u64],
    ) -> Result<(), Mismatch> {
        assert_eq!(delta_hash.len(), self.code.hash_blocks(), "the hash of one label");
        assert_eq!(
            colours.len(),
            self.count(labels, hashes).div_ceil(UNIT),
            "a word of colours for each unit"
        );
        let delta: &[u8] = as_bytes(delta_hash);
        let mut wrong = Wrong::default();
        self.compare(labels, hashes, |unit, differences, used| {
            let zero = !nonzero(differences.iter().copied());
            let one = !nonzero(
                differences
                    .iter()
                    .zip(delta)
                    .map(|(&row, &symbol)| row ^ Block512([u64::from_ne_bytes([symbol; 8]); BLOCK_WORDS])),
            );
            colours[unit] = one & used;
            wrong.add(!(zero ^ one) & used, used);
        });
        wrong.result()
    }

    /// Calls `each` for every unit with its number, the rows in which its labels' hashes differ from `expected`, and ones for the labels
    /// that there are.
    fn compare(&self, labels: &[Block], expected: &[Block], mut each: impl FnMut(usize, &[Block512], u64)) {
        self.count(labels, expected);
        let units = labels
            .chunks(UNIT * self.code.label_blocks())
            .zip(expected.chunks(UNIT * self.code.hash_blocks()));
        self.scratch.lend(|scratch| {
            let (rows, images, padded) = self.split(scratch);
            for (unit, (labels, expected)) in units.enumerate() {
                to_rows(labels, rows, padded);
                to_rows(expected, images, padded);
                self.hash.add(rows, images);
                let count = labels.len() / self.code.label_blocks();
                each(unit, images, u64::MAX >> (UNIT - count));
            }
        });
    }

    /// Room for the rows of labels, those of hashes, and a unit to pad.
    fn split<'a>(
        &self,
        scratch: &'a mut [Block512],
    ) -> (&'a mut [Block512], &'a mut [Block512], &'a mut [Block512]) {
        let (rows, scratch) = scratch.split_at_mut(self.code.message());
        let (images, padded) = scratch.split_at_mut(self.code.watched());
        (rows, images, padded)
    }

    /// The number of labels.
    fn count(&self, labels: &[Block], hashes: &[Block]) -> usize {
        let count = labels.len() / self.code.label_blocks();
        assert_eq!(labels.len(), count * self.code.label_blocks(), "whole labels");
        assert_eq!(
            hashes.len(),
            count * self.code.hash_blocks(),
            "a hash for each label"
        );
        count
    }
}

/// For each of the 64 symbols of rows, whether it is not zero in some row.
fn nonzero(rows: impl Iterator<Item = Block512>) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let all = rows.fold(Block512::ZERO, |all, row| {
        Block512(std::array::from_fn(|word| all.0[word] | row.0[word]))
    });
    let mut bits = 0;
    for (i, word) in all.0.into_iter().enumerate() {
        let word = u64::from_le(word);
        // The highest bit of each byte, then all of them side by side.
        let high = (((word & (ONES * 0x7f)) + ONES * 0x7f) | word) >> 7 & ONES;
        bits |= (high.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

/// Labels found wrong, by unit.
#[derive(Default)]
struct Wrong {
    seen: usize,
    count: usize,
    first: Option<usize>,
}

impl Wrong {
    /// Of the labels `used` of the next unit, those in `wrong` are.
    fn add(&mut self, wrong: u64, used: u64) {
        // That labels are wrong, and which, is what the caller learns.
        if wrong != 0 {
            self.count += wrong.count_ones() as usize;
            self.first
                .get_or_insert(self.seen + wrong.trailing_zeros() as usize);
        }
        self.seen += used.count_ones() as usize;
    }

    fn result(self) -> Result<(), Mismatch> {
        match self.first {
            None => Ok(()),
            Some(first) => Err(Mismatch::Labels {
                count: self.count,
                first,
            }),
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}
