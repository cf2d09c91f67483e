//! Random draws from a stock of triples that is refilled in step.

use crate::{Block512, Position};

/// Draws entries from a stock in a given order and replaces each at once, so that an index drawn twice gives first the
/// old entry, then its replacement.
///
/// The stock is a struct of arrays: `names` (where the factors are derived from) and both components of the products,
/// `c0` and `c1`. Draw `k` takes entry `draws[k]` into `out[k]` and puts `fresh[k]` in its place.
///
/// # Panics
/// If the arrays of the stock, or `draws`, `out` and `fresh`, differ in length, or a draw is beyond the stock.
pub fn take_and_replace(
    stock: (&mut [Position], &mut [Block512], &mut [Block512]),
    draws: &[u32],
    fresh: (&[Position], &[Block512], &[Block512]),
    out: (&mut [Position], &mut [Block512], &mut [Block512]),
) {
    let (names, c0, c1) = stock;
    let n = draws.len();
    let fresh = (&fresh.0[..n], &fresh.1[..n], &fresh.2[..n]);
    let out = (&mut out.0[..n], &mut out.1[..n], &mut out.2[..n]);
    for (k, &draw) in draws.iter().enumerate() {
        // The draws are public coins, so the address may depend on them.
        if let Some(&ahead) = draws.get(k + PREFETCH_DISTANCE) {
            prefetch(c0, ahead);
            prefetch(c1, ahead);
        }
        let draw = draw as usize;
        out.0[k] = std::mem::replace(&mut names[draw], fresh.0[k]);
        out.1[k] = std::mem::replace(&mut c0[draw], fresh.1[k]);
        out.2[k] = std::mem::replace(&mut c1[draw], fresh.2[k]);
    }
}

/// Draws ahead of the current one whose cache lines are asked for.
const PREFETCH_DISTANCE: usize = 12;

#[inline(always)]
fn prefetch(blocks: &[Block512], index: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(block) = blocks.get(index as usize) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a live element, and a prefetch does not access it architecturally.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(block).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (blocks, index);
}
