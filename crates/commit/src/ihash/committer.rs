//! The side that makes labels.

use std::fmt;

use cenote_primitives::kernels::{SymbolMap, rows_to_vectors, vectors_to_rows};
use cenote_primitives::{Block, Block512, Position, Prg, as_bytes};

use super::batch::{Batch, UNIT, UNITS};
use super::code::Code;
use crate::scratch::Scratch;

/// The committer: the seeds of all positions. They are wiped on drop.
pub struct Committer {
    code: Code,
    parity: SymbolMap,
    seeds: Vec<Prg>,
    scratch: Scratch,
}

/// Writes units of the streams of `seeds`, each as one row for each seed.
pub(super) fn expand(seeds: &[Prg], (first, units): (u64, usize), tiles: &mut [Block512]) {
    // Seeds are used for nothing else, so there is one stream.
    let position = Position {
        stream: 0,
        index: first,
    };
    let mut row = [Block512::ZERO; UNITS];
    for (i, seed) in seeds.iter().enumerate() {
        seed.fill(position, &mut row[..units]);
        for (unit, &block) in row[..units].iter().enumerate() {
            tiles[unit * seeds.len() + i] = block;
        }
    }
}

/// The rows of a unit of vectors, of which the last unit may have fewer than [`UNIT`]. `padded` has room for a unit.
pub(super) fn to_rows(vectors: &[Block], rows: &mut [Block512], padded: &mut [Block512]) {
    let blocks = UNIT * rows.len() / size_of::<Block>();
    if vectors.len() == blocks {
        return vectors_to_rows(vectors, rows);
    }
    let padded: &mut [Block] = &mut bytemuck::cast_slice_mut(padded)[..blocks];
    padded[..vectors.len()].copy_from_slice(vectors);
    padded[vectors.len()..].fill(Block::ZERO);
    vectors_to_rows(padded, rows);
}

/// The inverse of [`to_rows`].
pub(super) fn to_vectors(rows: &[Block512], vectors: &mut [Block], padded: &mut [Block512]) {
    let blocks = UNIT * rows.len() / size_of::<Block>();
    if vectors.len() == blocks {
        return rows_to_vectors(rows, vectors);
    }
    let padded: &mut [Block] = &mut bytemuck::cast_slice_mut(padded)[..blocks];
    rows_to_vectors(rows, padded);
    vectors.copy_from_slice(&padded[..vectors.len()]);
}

impl Committer {
    /// With the seed of each position.
    ///
    /// # Panics
    /// If there are not as many seeds as positions.
    pub fn new(code: &Code, seeds: &[Block]) -> Self {
        assert_eq!(seeds.len(), code.length(), "a seed for each position");
        Self {
            code: code.clone(),
            parity: code.code.parity(),
            seeds: seeds.iter().map(|&seed| Prg::new(seed)).collect(),
            scratch: Scratch::new(UNITS * code.length() + 2 * code.message()),
        }
    }

    /// Makes uniform labels, of [`Code::label_blocks`] blocks each, and the message of [`Code::random_bytes`] for the watcher.
    ///
    /// # Panics
    /// If an array does not fit the batch.
    pub fn random(&self, batch: Batch, labels: &mut [Block], message: &mut [u8]) {
        let (n, k) = (self.code.length(), self.code.message());
        self.check(batch, labels.len(), message.len(), self.code.random_bytes(batch));
        let labels = labels.chunks_mut(UNIT * self.code.label_blocks());
        let messages = message.chunks_exact_mut((n - k) * size_of::<Block512>());
        let mut outputs = labels.zip(messages);
        self.scratch.lend(|scratch| {
            let (tiles, padded) = scratch.split_at_mut(UNITS * n);
            for piece in batch.pieces() {
                expand(&self.seeds, piece, tiles);
                // The outputs come last, lest one is lost when there is no tile left.
                for (tile, (labels, message)) in tiles.chunks_exact_mut(n).take(piece.1).zip(outputs.by_ref())
                {
                    let (label_rows, parity_rows) = tile.split_at_mut(k);
                    self.parity.add(label_rows, parity_rows);
                    message.copy_from_slice(as_bytes(parity_rows));
                    to_vectors(label_rows, labels, padded);
                }
            }
        });
    }

    /// The message of [`Code::chosen_bytes`] that gives the watcher the hashes of `labels`.
    ///
    /// # Panics
    /// If an array does not fit the batch.
    pub fn chosen(&self, batch: Batch, labels: &[Block], message: &mut [u8]) {
        let (n, k) = (self.code.length(), self.code.message());
        self.check(batch, labels.len(), message.len(), self.code.chosen_bytes(batch));
        let labels = labels.chunks(UNIT * self.code.label_blocks());
        let messages = message.chunks_exact_mut(n * size_of::<Block512>());
        let mut units = labels.zip(messages);
        self.scratch.lend(|scratch| {
            let (tiles, scratch) = scratch.split_at_mut(UNITS * n);
            let (rows, padded) = scratch.split_at_mut(k);
            for piece in batch.pieces() {
                expand(&self.seeds, piece, tiles);
                for (tile, (labels, message)) in tiles.chunks_exact_mut(n).take(piece.1).zip(units.by_ref()) {
                    to_rows(labels, rows, padded);
                    let (label_rows, parity_rows) = tile.split_at_mut(k);
                    self.parity.add(rows, parity_rows);
                    label_rows
                        .iter_mut()
                        .zip(&*rows)
                        .for_each(|(mask, &row)| *mask ^= row);
                    message.copy_from_slice(as_bytes(tile));
                }
            }
        });
    }

    fn check(&self, batch: Batch, blocks: usize, bytes: usize, right: usize) {
        assert_eq!(
            blocks,
            batch.labels * self.code.label_blocks(),
            "a label for each of the batch"
        );
        assert_eq!(bytes, right, "bytes of the message");
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Committer")
    }
}
