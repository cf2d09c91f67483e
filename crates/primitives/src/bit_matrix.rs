//! Clear bits of many instances of a circuit.

use std::fmt;

use crate::{LaneRun, Rows, arrange_rows, transpose64};

/// 64 × 64 bit tiles along each side of the square of tiles that is transposed at once: a cache line of words per
/// row, so that every line of both matrices is used whole while it is in the fastest cache.
const SQUARE: usize = 8;

/// A matrix of bits, `rows` wires × `lanes` instances: bit `(row, lane)` is the value of that wire in that instance.
///
/// Rows are contiguous and padded to whole 64-bit words; lane `l` is bit `l % 64` of word `l / 64` of its row, and the
/// padding bits are always zero. `Debug` prints the shape only, since the bits may be private.
#[derive(Clone, PartialEq, Eq)]
pub struct BitMatrix {
    rows: usize,
    lanes: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// A matrix of zeros.
    ///
    /// # Panics
    /// If there is no memory for it; what a job or a peer sizes is made by [`BitMatrix::try_zeros`].
    pub fn zeros(rows: usize, lanes: usize) -> Self {
        Self::try_zeros(rows, lanes).unwrap_or_else(|| panic!("no memory for {rows} rows of {lanes} bits"))
    }

    /// A matrix of zeros, if there is memory for it.
    pub fn try_zeros(rows: usize, lanes: usize) -> Option<Self> {
        let count = rows.checked_mul(lanes.div_ceil(64))?;
        let words = bytemuck::allocation::try_zeroed_vec(count).ok()?;
        Some(Self { rows, lanes, words })
    }

    /// The matrix whose bit `(row, lane)` is `bit(row, lane)`.
    pub fn from_fn(rows: usize, lanes: usize, mut bit: impl FnMut(usize, usize) -> bool) -> Self {
        let mut matrix = Self::zeros(rows, lanes);
        for row in 0..rows {
            for lane in 0..lanes {
                matrix.set(row, lane, bit(row, lane));
            }
        }
        matrix
    }

    /// Number of rows (wires).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of lanes (instances).
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// 64-bit words in a row.
    pub fn stride(&self) -> usize {
        self.lanes.div_ceil(64)
    }

    /// Bit `(row, lane)`.
    pub fn get(&self, row: usize, lane: usize) -> bool {
        assert!(lane < self.lanes, "lane {lane} of {}", self.lanes);
        self.row(row)[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// Sets bit `(row, lane)`.
    pub fn set(&mut self, row: usize, lane: usize, bit: bool) {
        assert!(lane < self.lanes, "lane {lane} of {}", self.lanes);
        let word = &mut self.row_mut(row)[lane / 64];
        *word = *word & !(1 << (lane % 64)) | u64::from(bit) << (lane % 64);
    }

    /// The words of one row.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride()..][..self.stride()]
    }

    /// The words of one row, writable. The caller keeps the padding bits zero (see [`BitMatrix::mask_padding`]).
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        let stride = self.stride();
        &mut self.words[row * stride..][..stride]
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words, row after row, writable. The caller keeps the padding bits zero (see [`BitMatrix::mask_padding`]).
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The bits, a row's lanes after the other's.
    pub fn bits(&self) -> impl Iterator<Item = bool> {
        (0..self.rows).flat_map(|row| {
            let words = self.row(row);
            (0..self.lanes).map(move |lane| words[lane / 64] >> (lane % 64) & 1 == 1)
        })
    }

    /// The matrix whose lanes are those of `runs`, one run after the other, of `parts`, which all have the same rows.
    ///
    /// # Panics
    /// If rows differ, or a run is not within its part.
    pub fn arrange(parts: &[&BitMatrix], runs: &[LaneRun]) -> BitMatrix {
        let rows = parts.first().map_or(0, |part| part.rows);
        assert!(
            parts.iter().all(|part| part.rows == rows),
            "all parts have the same rows"
        );
        let mut arranged = BitMatrix::zeros(rows, runs.iter().map(LaneRun::lanes).sum());
        let parts: Vec<Rows<'_>> = parts
            .iter()
            .map(|part| Rows {
                words: part.words(),
                lanes: part.lanes,
            })
            .collect();
        arrange_rows(&mut arranged.words, rows, runs, &parts);
        arranged.mask_padding();
        arranged
    }

    /// The matrix whose bit `(lane, row)` is bit `(row, lane)` of this one. Rows must have zero padding.
    pub fn transpose(&self) -> BitMatrix {
        let mut transposed = BitMatrix::zeros(self.lanes, self.rows);
        let (stride, transposed_stride) = (self.stride(), transposed.stride());
        for first_row in (0..transposed_stride).step_by(SQUARE) {
            for first_lane in (0..stride).step_by(SQUARE) {
                for tile_row in first_row..transposed_stride.min(first_row + SQUARE) {
                    for tile_lane in first_lane..stride.min(first_lane + SQUARE) {
                        self.transpose_tile(&mut transposed, tile_row, tile_lane);
                    }
                }
            }
        }
        transposed
    }

    /// Writes the transpose of the tile at rows `64·tile_row ..` and lanes `64·tile_lane ..` to its place.
    fn transpose_tile(&self, transposed: &mut BitMatrix, tile_row: usize, tile_lane: usize) {
        let rows = (self.rows - 64 * tile_row).min(64);
        let lanes = (self.lanes - 64 * tile_lane).min(64);
        let (stride, transposed_stride) = (self.stride(), transposed.stride());
        let mut tile = [0; 64];
        let source = self.words[64 * tile_row * stride + tile_lane..]
            .iter()
            .step_by(stride);
        for (word, &source) in tile[..rows].iter_mut().zip(source) {
            *word = source;
        }
        transpose64(&mut tile);
        let target = transposed.words[64 * tile_lane * transposed_stride + tile_row..].iter_mut();
        for (target, &word) in target.step_by(transposed_stride).zip(&tile[..lanes]) {
            *target = word;
        }
    }

    /// Sets the padding bits of every row to zero.
    pub fn mask_padding(&mut self) {
        let used = self.lanes % 64;
        if used != 0 {
            let stride = self.stride();
            for word in self.words.iter_mut().skip(stride - 1).step_by(stride) {
                *word &= (1 << used) - 1;
            }
        }
    }
}

impl fmt::Debug for BitMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitMatrix({} × {})", self.rows, self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_swaps_rows_and_lanes_at_all_shapes() {
        for (rows, lanes) in [
            (0, 5),
            (5, 0),
            (1, 1),
            (1, 64),
            (64, 1),
            (63, 65),
            (64, 64),
            (130, 7),
            (200, 1100),
            (1030, 515),
        ] {
            let bit = |row: usize, lane: usize| {
                (row * 0x9e37 + lane * 0x79b9 + (row ^ lane) * 0x7f4a) >> 7 & 1 == 1
            };
            let matrix = BitMatrix::from_fn(rows, lanes, bit);
            let transposed = BitMatrix::from_fn(lanes, rows, |lane, row| bit(row, lane));
            assert!(
                matrix
                    .bits()
                    .eq((0..rows * lanes).map(|at| bit(at / lanes, at % lanes)))
            );
            assert!(matrix.transpose() == transposed, "{rows} × {lanes}");
            assert!(transposed.transpose() == matrix, "{lanes} × {rows}");
        }
    }
}
