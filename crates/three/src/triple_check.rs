//! Checking one triple with another, without opening either (Furukawa et al. 2017, Protocol 2.24; spec `three-party`,
//! Section 7): `ρ = x ⊕ a` and `σ = y ⊕ b` are opened; then `[z] ⊕ [c] ⊕ σ[a] ⊕ ρ[b] ⊕ ρσ` must be a sharing of zero,
//! which the comparison of views establishes. The triple `(a, b, c)` is spent. If exactly one of the two is bad, the check
//! always fails.
//!
//! Openings are deferred: each party sends one component the wrong way round the ring, and the opened values go into
//! the views.

use cenote_engine::Result;
use cenote_net::{PartyId, Step};
use cenote_primitives::{Block512, kernels};

use crate::ring::Ring;
use crate::view::Views;

/// Most checks per message, in blocks: the working set of the windows in flight stays in the second-level cache.
pub(crate) const WINDOW: usize = 256;

/// Windows in flight: how far sending runs ahead of receiving.
pub(crate) const LAG: usize = 4;

/// Both components of a vector of sharings.
pub(crate) type Pair = [Vec<Block512>; 2];

/// Two empty components.
pub(crate) fn zero_pair(blocks: usize) -> Pair {
    [vec![Block512::ZERO; blocks], vec![Block512::ZERO; blocks]]
}

/// Both components of `pair`, borrowed.
pub(crate) fn both(pair: &Pair) -> [&[Block512]; 2] {
    [&pair[0], &pair[1]]
}

/// Both components of the part `range` of `pair`, borrowed.
pub(crate) fn part(pair: &Pair, range: std::ops::Range<usize>) -> [&[Block512]; 2] {
    [&pair[0][range.clone()], &pair[1][range]]
}

/// Which of a party's components is component 0, to which public constants are added.
pub(crate) fn constant_holder(me: PartyId) -> [bool; 2] {
    [me.0 == 0, me.0 == 2]
}

/// Checks in flight: spent triples, and what was opened with them.
pub(crate) struct CheckWindow {
    /// The spent triples' first factors, filled by the caller before [`CheckWindow::open_factors`].
    pub(crate) a: Pair,
    /// The spent triples' second factors.
    pub(crate) b: Pair,
    /// The spent triples' products.
    pub(crate) c: Pair,
    /// Copies of the products under test, where they do not lie in one piece elsewhere.
    pub(crate) z: Pair,
    rho: Vec<Block512>,
    sigma: Vec<Block512>,
}

/// Buffers that windows use in turn.
pub(crate) struct CheckScratch {
    first: Vec<Block512>,
    second: Vec<Block512>,
}

impl CheckScratch {
    pub(crate) fn new() -> Self {
        Self {
            first: Vec::with_capacity(WINDOW),
            second: Vec::with_capacity(WINDOW),
        }
    }

    fn resize(&mut self, blocks: usize) -> (&mut [Block512], &mut [Block512]) {
        self.first.resize(blocks, Block512::ZERO);
        self.second.resize(blocks, Block512::ZERO);
        (&mut self.first, &mut self.second)
    }
}

impl CheckWindow {
    pub(crate) fn new() -> Self {
        Self {
            a: zero_pair(0),
            b: zero_pair(0),
            c: zero_pair(0),
            z: zero_pair(0),
            rho: Vec::new(),
            sigma: Vec::new(),
        }
    }

    /// Makes room for `blocks` spent triples, whose contents are to be written by the caller.
    pub(crate) fn resize(&mut self, blocks: usize) {
        for pair in [&mut self.a, &mut self.b, &mut self.c] {
            for component in pair {
                component.resize(blocks, Block512::ZERO);
            }
        }
        self.rho.resize(blocks, Block512::ZERO);
        self.sigma.resize(blocks, Block512::ZERO);
    }

    /// Sends the previous party the component of `ρ = x ⊕ a` and `σ = y ⊕ b` that it lacks.
    pub(crate) fn open_factors(
        &mut self,
        x: [&[Block512]; 2],
        y: [&[Block512]; 2],
        scratch: &mut CheckScratch,
        ring: &mut Ring,
        step: Step,
    ) -> Result<()> {
        let (rho, sigma) = scratch.resize(self.rho.len());
        kernels::mask(x[0], x[1], &self.a[0], &self.a[1], rho, &mut self.rho);
        kernels::mask(y[0], y[1], &self.b[0], &self.b[1], sigma, &mut self.sigma);
        ring.pass(step, [rho, sigma])
    }

    /// Receives the missing component of `ρ` and `σ`, and adds to the views what shows whether `z = xy`, where `z` is
    /// the window's own copy if none is given.
    pub(crate) fn check_products(
        &mut self,
        me: PartyId,
        z: Option<[&[Block512]; 2]>,
        scratch: &mut CheckScratch,
        ring: &mut Ring,
        step: Step,
        views: &mut Views,
    ) -> Result<()> {
        let (first, second) = scratch.resize(self.rho.len());
        ring.take(step, [&mut *first, &mut *second])?;
        kernels::xor_into(&mut self.rho, first);
        kernels::xor_into(&mut self.sigma, second);
        let operands = kernels::ProductCheck {
            z: z.unwrap_or(both(&self.z)),
            a: both(&self.a),
            b: both(&self.b),
            c: both(&self.c),
            rho: &self.rho,
            sigma: &self.sigma,
            constant: constant_holder(me),
        };
        kernels::check_product(&operands, first, second);
        views.add_opened(&self.rho);
        views.add_opened(&self.sigma);
        views.add_products(second, first);
        Ok(())
    }
}
