//! Made-up data. Nothing secret hangs on it.

use cenote_primitives::BitMatrix;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};

/// Pseudorandom bits, the same for the same seed.
pub(crate) fn bits(seed: u64, rows: usize, lanes: usize) -> BitMatrix {
    let mut bits = BitMatrix::zeros(rows, lanes);
    StdRng::seed_from_u64(seed).fill(bits.words_mut());
    bits.mask_padding();
    bits
}

/// The rows `range` of `bits`.
pub(crate) fn rows(bits: &BitMatrix, range: std::ops::Range<usize>) -> BitMatrix {
    let mut part = BitMatrix::zeros(range.len(), bits.lanes());
    for (to, from) in range.enumerate() {
        part.row_mut(to).copy_from_slice(bits.row(from));
    }
    part
}
