//! Checking one triple with another, without opening either (Furukawa et al. 2017, Protocol 2.24; spec `three-party`,
//! Section 7): `ρ = x ⊕ a` and `σ = y ⊕ b` are opened; then `[z] ⊕ [c] ⊕ σ[a] ⊕ ρ[b] ⊕ ρσ` must be a sharing of zero,
//! which the comparison of views establishes. The triple `(a, b, c)` is spent. If exactly one of the two is bad, the check
//! always fails.
//!
//! Openings are deferred: each party sends one component to the previous party, which lacks it, and the opened values go
//! into the views.
//!
//! A message carries a *window* of checks; computation goes through it in *tiles* that stay in the first-level cache. The
//! spent triples' factors are derived twice, before and after the message, since that is cheaper than keeping them.

use std::ops::Range;

use cenote_net::{PartyId, Step};
use cenote_primitives::{Block512, Position, SecretBlocks, kernels};
use cenote_session::Result;

use crate::ring::Ring;
use crate::setup::keys::{Keys, factor_b};
use crate::view::Views;

/// Most checks per message, in blocks.
pub(crate) const WINDOW: usize = 1024;

/// Blocks that are computed on at once.
const TILE: usize = 32;

/// Both components of a vector of sharings.
pub(crate) type Pair = [SecretBlocks; 2];

/// Two components of zeros.
pub(crate) fn zero_pair(blocks: usize) -> Pair {
    [SecretBlocks::zeroed(blocks), SecretBlocks::zeroed(blocks)]
}

/// Both components of the part `range` of `pair`, borrowed.
pub(crate) fn part(pair: &Pair, range: Range<usize>) -> [&[Block512]; 2] {
    [&pair[0][range.clone()], &pair[1][range]]
}

/// Both components of the part `range` of `pair`, borrowed writable.
pub(crate) fn part_mut(pair: &mut Pair, range: Range<usize>) -> [&mut [Block512]; 2] {
    let [first, second] = pair;
    [&mut first[range.clone()], &mut second[range]]
}

/// Which of the two components that a party holds is component 0, to which public constants are added.
pub(crate) fn constant_holder(me: PartyId) -> [bool; 2] {
    [me.0 == 0, me.0 == 2]
}

/// Where the factors `x` and `y` of the products under test are found.
#[derive(Clone, Copy)]
pub(crate) enum Operands<'a> {
    /// In memory.
    Held {
        /// First factors.
        x: [&'a [Block512]; 2],
        /// Second factors.
        y: [&'a [Block512]; 2],
    },
    /// Derived, from this position of first factors on.
    Consecutive(Position),
    /// Derived, from these positions of first factors.
    Scattered(&'a [Position]),
}

/// The most bytes of a window of `blocks` checks.
pub(crate) fn window_bytes(blocks: usize) -> usize {
    blocks.min(WINDOW) * (size_of::<Position>() + 6 * size_of::<Block512>())
}

/// Checks in flight: spent triples, and what was opened with them.
#[derive(Default)]
pub(crate) struct CheckWindow {
    /// Where the spent triples' first factors are derived from, to be set by the caller.
    pub(crate) names: Vec<Position>,
    /// The spent triples' products, to be set by the caller.
    pub(crate) c: Pair,
    /// Copies of the products under test, where they do not lie in one piece elsewhere.
    pub(crate) z: Pair,
    rho: SecretBlocks,
    sigma: SecretBlocks,
}

/// Buffers that windows use in turn.
pub(crate) struct CheckScratch {
    rho: SecretBlocks,
    sigma: SecretBlocks,
    x: Pair,
    y: Pair,
    a: Pair,
    b: Pair,
    next: SecretBlocks,
    previous: SecretBlocks,
    names: Vec<Position>,
}

impl CheckScratch {
    pub(crate) fn new() -> Self {
        let tile = || SecretBlocks::zeroed(TILE);
        Self {
            rho: SecretBlocks::default(),
            sigma: SecretBlocks::default(),
            x: zero_pair(TILE),
            y: zero_pair(TILE),
            a: zero_pair(TILE),
            b: zero_pair(TILE),
            next: tile(),
            previous: tile(),
            names: Vec::new(),
        }
    }
}

/// Derives both factors at scattered positions.
fn derive(keys: &Keys, at: &[Position], names: &mut Vec<Position>, a: &mut Pair, b: &mut Pair) {
    keys.random_at(at, part_mut(a, 0..at.len()));
    names.clear();
    names.extend(at.iter().map(|&name| factor_b(name)));
    keys.random_at(names, part_mut(b, 0..at.len()));
}

impl CheckWindow {
    /// Makes room for `blocks` spent triples, to be set by the caller.
    pub(crate) fn resize(&mut self, blocks: usize) {
        self.names.resize(blocks, Position { stream: 0, index: 0 });
        for component in self.c.iter_mut().chain([&mut self.rho, &mut self.sigma]) {
            component.resize(blocks);
        }
    }

    /// Sends the previous party the component of `ρ = x ⊕ a` and `σ = y ⊕ b` that it lacks.
    pub(crate) fn open_factors(
        &mut self,
        operands: Operands<'_>,
        keys: &Keys,
        scratch: &mut CheckScratch,
        ring: &mut Ring,
        step: Step,
    ) -> Result<()> {
        let blocks = self.names.len();
        let CheckScratch {
            rho,
            sigma,
            x,
            y,
            a,
            b,
            names,
            ..
        } = scratch;
        rho.resize(blocks);
        sigma.resize(blocks);
        for tile in tiles(blocks) {
            let count = tile.len();
            derive(keys, &self.names[tile.clone()], names, a, b);
            let (x, y) = match operands {
                Operands::Held { x, y } => (
                    x.map(|component| &component[tile.clone()]),
                    y.map(|component| &component[tile.clone()]),
                ),
                Operands::Consecutive(first) => {
                    let at = first.advance(tile.start);
                    keys.random(at, part_mut(x, 0..count));
                    keys.random(factor_b(at), part_mut(y, 0..count));
                    (part(x, 0..count), part(y, 0..count))
                }
                Operands::Scattered(at) => {
                    derive(keys, &at[tile.clone()], names, x, y);
                    (part(x, 0..count), part(y, 0..count))
                }
            };
            let (a, b) = (part(a, 0..count), part(b, 0..count));
            kernels::mask(
                x[0],
                x[1],
                a[0],
                a[1],
                &mut rho[tile.clone()],
                &mut self.rho[tile.clone()],
            );
            kernels::mask(
                y[0],
                y[1],
                b[0],
                b[1],
                &mut sigma[tile.clone()],
                &mut self.sigma[tile],
            );
        }
        ring.pass(step, [rho, sigma])
    }

    /// Receives the missing component of `ρ` and `σ`, and adds to the views what shows whether `z = xy`, where `z` is
    /// the window's own copy if none is given.
    #[allow(clippy::too_many_arguments, reason = "the parts of a worker, borrowed apart")]
    pub(crate) fn check_products(
        &mut self,
        me: PartyId,
        z: Option<[&[Block512]; 2]>,
        keys: &Keys,
        scratch: &mut CheckScratch,
        ring: &mut Ring,
        step: Step,
        views: &mut Views,
    ) -> Result<()> {
        let blocks = self.names.len();
        let CheckScratch {
            rho,
            sigma,
            a,
            b,
            next,
            previous,
            names,
            ..
        } = scratch;
        rho.resize(blocks);
        sigma.resize(blocks);
        ring.take(step, [&mut *rho, &mut *sigma])?;
        let z = z.unwrap_or([&self.z[0], &self.z[1]]);
        for tile in tiles(blocks) {
            let count = tile.len();
            derive(keys, &self.names[tile.clone()], names, a, b);
            let (rho, sigma) = (&mut rho[tile.clone()], &mut sigma[tile.clone()]);
            kernels::xor_into(rho, &self.rho[tile.clone()]);
            kernels::xor_into(sigma, &self.sigma[tile.clone()]);
            let operands = kernels::ProductCheck {
                z: z.map(|component| &component[tile.clone()]),
                a: part(a, 0..count),
                b: part(b, 0..count),
                c: part(&self.c, tile.clone()),
                rho,
                sigma,
                constant: constant_holder(me),
            };
            let (next, previous) = (&mut next[..count], &mut previous[..count]);
            kernels::check_product(&operands, next, previous);
            views.add_opened(rho);
            views.add_opened(sigma);
            views.add_products(previous, next);
        }
        Ok(())
    }
}

/// The tiles of a window.
fn tiles(blocks: usize) -> impl Iterator<Item = Range<usize>> {
    (0..blocks)
        .step_by(TILE)
        .map(move |start| start..blocks.min(start + TILE))
}
