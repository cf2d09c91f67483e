//! Choices that all parties make alike.

use cenote_primitives::BitMatrix;

/// A stream of numbers that a seed decides (SplitMix64). Nothing secret hangs on it.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// What all numbers from here on depend on.
    pub(super) fn state(&self) -> u64 {
        self.0
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `bound`, or 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    /// A number from `from` to `to`, both included, each magnitude as likely as any other.
    pub(super) fn magnitude(&mut self, from: u64, to: u64) -> u64 {
        let (from, to) = (from.max(1), to.max(from).max(1));
        let share = self.word() as f64 / u64::MAX as f64;
        let number = from as f64 * (to as f64 / from as f64).powf(share);
        (number as u64).clamp(from, to)
    }

    /// True once in so many times.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn bits(&mut self, rows: usize, lanes: usize) -> BitMatrix {
        let mut bits = BitMatrix::zeros(rows, lanes);
        bits.words_mut().fill_with(|| self.word());
        bits.mask_padding();
        bits
    }
}
