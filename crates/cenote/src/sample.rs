//! Made-up data for demonstrations and benchmarks. Nothing secret hangs on it.

use cenote_primitives::BitMatrix;

/// A fixed mixing of 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
pub(crate) fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Bits without a pattern, the same for the same seed.
pub(crate) fn bits(seed: u64, rows: usize, lanes: usize) -> BitMatrix {
    let mut bits = BitMatrix::zeros(rows, lanes);
    for (index, word) in bits.words_mut().iter_mut().enumerate() {
        *word = scramble(scramble(seed) ^ index as u64);
    }
    bits.mask_padding();
    bits
}
