//! Sharings of rows: the bits of a lane one after the other, and behind them the tag.

use cenote_primitives::records::{lanes_to_rows, rows_to_lanes};
use cenote_primitives::{SecretBlocks, as_words, as_words_mut};
use cenote_session::{Result, WireVector, room};

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
        let mut rows = Self::zeroed(wires.width() + 1, wires.lanes())?;
        let width = rows.width;
        for (index, component) in rows.components.iter_mut().enumerate() {
            let rows = as_words_mut(component);
            match wires.records() {
                Some(records) => {
                    let records = records[index].chunks_exact(width - 1);
                    let rows = rows.chunks_exact_mut(width);
                    rows.zip(records)
                        .for_each(|(row, record)| row[..width - 1].copy_from_slice(record));
                }
                None => {
                    let words = &wires.components()?[index];
                    let lanes = wires.lanes();
                    rows_to_lanes(
                        &cenote_primitives::Rows { words, lanes },
                        0..wires.stride(),
                        width,
                        rows,
                    );
                }
            }
        }
        Ok(rows)
    }

    /// The rows as wires.
    pub(super) fn wires(&self, wires: usize) -> Result<ThreeWires> {
        let (width, count) = (self.width, self.count);
        let is_dense = ThreeWires::fill_records(wires);
        let mut shares = match is_dense {
            true => ThreeWires::zero_records(wires, count)?,
            false => ThreeWires::zeros(wires, count)?,
        };
        let stride = shares.stride();
        for (index, component) in self.components.iter().enumerate() {
            let rows = &as_words(component)[..count * width];
            if is_dense {
                let records = shares.records_mut()[index].chunks_exact_mut(width - 1);
                records
                    .zip(rows.chunks_exact(width))
                    .for_each(|(record, row)| record.copy_from_slice(&row[..width - 1]));
            } else {
                let words = &mut shares.components_mut()[index];
                lanes_to_rows(rows, width, 0..wires, |wire, first, part| {
                    words[wire * stride + first..][..part.len()].copy_from_slice(part);
                });
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

/// Writes the sum of the rows of all `from` to `to` in this order, or `back` from it.
pub(super) fn permute<const K: usize>(
    order: &[u32],
    back: bool,
    width: usize,
    from: [&SecretBlocks; K],
    to: &mut SecretBlocks,
) {
    let (from, to) = (from.map(|from| as_words(from)), as_words_mut(to));
    match width {
        2 => permute_words::<2, K>(order, back, from, to),
        3 => permute_words::<3, K>(order, back, from, to),
        4 => permute_words::<4, K>(order, back, from, to),
        5 => permute_words::<5, K>(order, back, from, to),
        _ => {
            let row = |at: usize| at * width..(at + 1) * width;
            for (at, other) in order.iter().enumerate() {
                let (from_row, to_row) = if back {
                    (at, *other as usize)
                } else {
                    (*other as usize, at)
                };
                let to = &mut to[row(to_row)];
                to.copy_from_slice(&from[0][row(from_row)]);
                for more in &from[1..] {
                    to.iter_mut()
                        .zip(&more[row(from_row)])
                        .for_each(|(to, more)| *to ^= more);
                }
            }
        }
    }
}

/// The same of rows of so many words.
fn permute_words<const N: usize, const K: usize>(
    order: &[u32],
    back: bool,
    from: [&[u64]; K],
    to: &mut [u64],
) {
    let (from, to) = (
        from.map(|from| from.as_chunks::<N>().0),
        to.as_chunks_mut::<N>().0,
    );
    let sum = |at: usize| {
        let mut sum = from[0][at];
        for more in &from[1..] {
            sum.iter_mut().zip(&more[at]).for_each(|(sum, more)| *sum ^= more);
        }
        sum
    };
    match back {
        false => to
            .iter_mut()
            .zip(order)
            .for_each(|(to, at)| *to = sum(*at as usize)),
        true => (0..)
            .zip(order)
            .for_each(|(from, at)| to[*at as usize] = sum(from)),
    }
}
