//! A sum over a public set of neighbours, for each of a row of blocks: the product with a polynomial over GF(2) whose
//! coefficients stand in different blocks, 512 products at once.

use crate::Block512;
use crate::cpu::multiversion;

multiversion! {
    /// `out[j]` = the sum of `blocks[j + t]` over all `t` of `taps`. Time and memory access depend on the taps, which
    /// are public, and on nothing else.
    ///
    /// # Panics
    /// If a sum needs a block beyond the last.
    pub fn sum_taps(blocks: &[Block512], taps: &[usize], out: &mut [Block512]) {
        for (j, out) in out.iter_mut().enumerate() {
            let window = &blocks[j..];
            let mut sum = [0; crate::BLOCK_WORDS];
            for &tap in taps {
                for (sum, word) in sum.iter_mut().zip(&window[tap].0) {
                    *sum ^= word;
                }
            }
            *out = Block512(sum);
        }
    }
}
