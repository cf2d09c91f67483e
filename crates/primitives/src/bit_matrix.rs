//! Clear bits of many instances of a circuit.

use std::fmt;

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
    pub fn zeros(rows: usize, lanes: usize) -> Self {
        Self {
            rows,
            lanes,
            words: vec![0; rows * lanes.div_ceil(64)],
        }
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
