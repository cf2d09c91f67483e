//! Sharings of rows: the bits of a lane one after the other, and behind them the tag.

use std::ops::Range;

use cenote_primitives::{SecretBlocks, as_words, as_words_mut, transpose64};
use cenote_session::{Result, WireVector, room};
use zeroize::Zeroizing;

use crate::triple_check::Pair;
use crate::wires::ThreeWires;

/// Rows of so many words, their tags among them, as one party holds them.
pub(super) struct Rows {
    /// Words of a row: its bits, and the tag in the last one.
    pub(super) width: usize,
    pub(super) count: usize,
    pub(super) components: Pair,
}

impl Rows {
    /// Room for so many rows.
    ///
    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is none.
    fn zeroed(width: usize, count: usize) -> Result<Self> {
        let words = count.saturating_mul(width);
        Ok(Self {
            width,
            count,
            components: [secret_blocks(words)?, secret_blocks(words)?],
        })
    }

    /// Room for as many rows as these.
    pub(super) fn alike(&self) -> Result<Self> {
        Self::zeroed(self.width, self.count)
    }

    /// The lanes of `wires`, without tags.
    pub(super) fn of(wires: &ThreeWires) -> Result<Self> {
        let mut rows = Self::zeroed(wires.wires().div_ceil(64) + 1, wires.lanes())?;
        let (width, stride) = (rows.width, wires.stride());
        for (component, words) in rows.components.iter_mut().zip(&wires.components) {
            let rows = as_words_mut(component);
            for Tiles { limb, blocks, lanes } in tiles(wires) {
                let mut tiles = Zeroizing::new([[0; 64]; LINE]);
                let columns = words[limb * 64 * stride..].chunks_exact(stride);
                for (wire, column) in columns.take(64).enumerate() {
                    for (tile, word) in tiles.iter_mut().zip(&column[blocks.clone()]) {
                        tile[wire] = *word;
                    }
                }
                let rows = rows[lanes.start * width..lanes.end * width].chunks_exact_mut(width);
                tiles[..blocks.len()].iter_mut().for_each(transpose64);
                for (row, word) in rows.zip(tiles.as_flattened()) {
                    row[limb] = *word;
                }
            }
        }
        Ok(rows)
    }

    /// The rows as wires.
    pub(super) fn wires(&self, wires: usize) -> Result<ThreeWires> {
        let mut shares = ThreeWires::zeros(wires, self.count)?;
        let (width, stride) = (self.width, shares.stride());
        let all: Vec<Tiles> = tiles(&shares).collect();
        for (words, component) in shares.components.iter_mut().zip(&self.components) {
            let rows = as_words(component);
            for Tiles { limb, blocks, lanes } in all.iter().cloned() {
                let mut tiles = Zeroizing::new([[0; 64]; LINE]);
                let rows = rows[lanes.start * width..lanes.end * width].chunks_exact(width);
                for (slot, row) in tiles.as_flattened_mut().iter_mut().zip(rows) {
                    *slot = row[limb];
                }
                tiles[..blocks.len()].iter_mut().for_each(transpose64);
                let columns = words[limb * 64 * stride..].chunks_exact_mut(stride);
                for (wire, column) in columns.take(64).enumerate() {
                    for (word, tile) in column[blocks.clone()].iter_mut().zip(tiles.iter()) {
                        *word = tile[wire];
                    }
                }
            }
        }
        Ok(shares)
    }

    /// Words of a component.
    pub(super) fn words(&self) -> usize {
        self.count * self.width
    }

    /// Bytes of both components.
    pub(super) fn bytes(&self) -> usize {
        2 * size_of_val(&*self.components[0])
    }

    /// Writes the tags of both components, which are the first words of `tags`.
    pub(super) fn set_tags(&mut self, tags: &Pair) {
        for (component, tags) in self.components.iter_mut().zip(tags) {
            let rows = as_words_mut(component).chunks_exact_mut(self.width);
            for (row, tag) in rows.zip(&as_words(tags)[..self.count]) {
                row[self.width - 1] = *tag;
            }
        }
    }
}

/// Room for so many secret words.
pub(super) fn secret_blocks(words: usize) -> Result<SecretBlocks> {
    room::blocks("rows that are moved", words.div_ceil(8))
}

/// Words of a wire that are moved together: a line of the cache.
const LINE: usize = 8;

/// Up to 64 wires in up to as many lanes as a line has.
#[derive(Clone)]
struct Tiles {
    /// Which 64 wires.
    limb: usize,
    /// Words of a wire.
    blocks: Range<usize>,
    lanes: Range<usize>,
}

fn tiles(wires: &ThreeWires) -> impl Iterator<Item = Tiles> {
    let (limbs, stride, lanes) = (wires.wires().div_ceil(64), wires.stride(), wires.lanes());
    (0..stride).step_by(LINE).flat_map(move |first| {
        let blocks = first..stride.min(first + LINE);
        (0..limbs).map(move |limb| Tiles {
            limb,
            blocks: blocks.clone(),
            lanes: 64 * blocks.start..lanes.min(64 * blocks.end),
        })
    })
}

/// Writes the rows of `from` to `to` in this order, or `back` from it.
pub(super) fn permute(order: &[u32], back: bool, width: usize, from: &SecretBlocks, to: &mut SecretBlocks) {
    let (from, to) = (as_words(from), as_words_mut(to));
    match width {
        2 => permute_words::<2>(order, back, from, to),
        3 => permute_words::<3>(order, back, from, to),
        4 => permute_words::<4>(order, back, from, to),
        5 => permute_words::<5>(order, back, from, to),
        _ => {
            let row = |at: usize| at * width..(at + 1) * width;
            for (at, other) in order.iter().enumerate() {
                let (from_row, to_row) = if back {
                    (at, *other as usize)
                } else {
                    (*other as usize, at)
                };
                to[row(to_row)].copy_from_slice(&from[row(from_row)]);
            }
        }
    }
}

/// The same of rows of so many words.
fn permute_words<const N: usize>(order: &[u32], back: bool, from: &[u64], to: &mut [u64]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    match back {
        false => to
            .iter_mut()
            .zip(order)
            .for_each(|(to, at)| *to = from[*at as usize]),
        true => from
            .iter()
            .zip(order)
            .for_each(|(from, at)| to[*at as usize] = *from),
    }
}
