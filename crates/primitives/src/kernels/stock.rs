//! Random draws from a stock of triples that is refilled in step.

use crate::{Block512, Position, prefetch};

/// Draws entries from a stock in a given order and replaces each at once, so that an index drawn twice gives first the
/// old entry, then its replacement.
///
/// The stock has for each entry a name (where the factors are derived from) and, side by side, the two components of the
/// product: entry `i` has `products[2 * i]` and `products[2 * i + 1]`. Draw `k` takes entry `draws[k]` into `out[k]` and
/// puts `fresh[k]` in its place; these have an array per component.
///
/// # Panics
/// If the arrays of the stock, or `draws`, `out` and `fresh`, do not fit each other, or a draw is beyond the stock.
pub fn take_and_replace(
    (names, products): (&mut [Position], &mut [Block512]),
    draws: &[u32],
    fresh: (&[Position], &[Block512], &[Block512]),
    out: (&mut [Position], &mut [Block512], &mut [Block512]),
) {
    let n = draws.len();
    let fresh = (&fresh.0[..n], &fresh.1[..n], &fresh.2[..n]);
    let out = (&mut out.0[..n], &mut out.1[..n], &mut out.2[..n]);
    for (k, &draw) in draws.iter().enumerate() {
        // The draws are public coins, so the address may depend on them.
        if let Some(&ahead) = draws.get(k + PREFETCH_DISTANCE) {
            let ahead = ahead as usize;
            prefetch(names, ahead);
            prefetch(products, 2 * ahead);
            prefetch(products, 2 * ahead + 1);
        }
        let draw = draw as usize;
        out.0[k] = std::mem::replace(&mut names[draw], fresh.0[k]);
        let entry = &mut products[2 * draw..2 * draw + 2];
        out.1[k] = std::mem::replace(&mut entry[0], fresh.1[k]);
        out.2[k] = std::mem::replace(&mut entry[1], fresh.2[k]);
    }
}

/// Draws ahead of the current one whose cache lines are asked for.
const PREFETCH_DISTANCE: usize = 12;
