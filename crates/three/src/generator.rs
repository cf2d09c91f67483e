//! Making triples by cut and choose (S&P 2017, Protocol A.1 with the shuffle of Protocol 3.1; spec `three-party`,
//! Section 9).
//!
//! Of a triple only the product is stored; its factors are derived again from their position whenever they are needed.

use cenote_engine::{Check, Result};
use cenote_net::PartyId;
use cenote_params::three::Parameters;
use cenote_primitives::{Block512, Position, Sampler, as_words, as_words_mut, kernels};

use crate::coin;
use crate::keys::{Counter, Keys, Purpose, position};
use crate::ring::{Ring, cheated};
use crate::steps;
use crate::stock::Batch;
use crate::triple_check::{CheckScratch, CheckWindow, LAG, Pair, WINDOW, part, zero_pair};
use crate::view::{ViewSteps, Views};

const VIEW_STEPS: ViewSteps = ViewSteps {
    opened: steps::TRIPLE_VIEW,
    products: steps::TRIPLE_PRODUCTS,
};

/// Blocks per message of products.
const CHUNK: usize = 1024;

/// Blocks whose randomness is expanded at once, in the first-level cache.
const TILE: usize = 64;

/// The shape of a batch: `B` arrays, the first of `N` triples, the others of `L` subarrays of `X`, of which `C` are
/// opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) n: usize,
    pub(crate) b: usize,
    pub(crate) c: usize,
    pub(crate) l: usize,
    pub(crate) x: usize,
}

impl Shape {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let size = |value: u64| usize::try_from(value).expect("parameters fit this machine's memory");
        Self {
            n: size(parameters.n()),
            b: size(parameters.b().into()),
            c: size(parameters.c().into()),
            l: size(parameters.l()),
            x: size(parameters.x()),
        }
    }

    /// Triples in array `array` (from 0).
    fn len(self, array: usize) -> usize {
        if array == 0 {
            self.n
        } else {
            self.n + self.l * self.c
        }
    }

    /// The number in the batch of the first triple of array `array`.
    fn first(self, array: usize) -> u64 {
        (0..array).map(|array| self.len(array) as u64).sum()
    }

    /// Bytes of the generator's arrays.
    pub(crate) fn bytes(self) -> u64 {
        let products: usize = (0..self.b).map(|array| self.len(array)).sum();
        (products * 2 * size_of::<Block512>() + (self.x + self.l) * size_of::<u32>()) as u64
    }
}

/// Makes one batch of triples after another.
pub(crate) struct Generator {
    me: PartyId,
    worker: u8,
    shape: Shape,
    pub(crate) ring: Ring,
    keys: Keys,
    coins: Counter,
    views: Views,
    next_batch: u32,
    /// The products of the arrays beyond the first, which are spent within a batch.
    partners: Vec<Pair>,
    windows: Vec<CheckWindow>,
    scratch: CheckScratch,
}

impl Generator {
    pub(crate) fn new(me: PartyId, worker: u8, shape: Shape, ring: Ring, keys: Keys, views: Views) -> Self {
        Self {
            me,
            worker,
            shape,
            ring,
            keys,
            coins: Counter::new(Purpose::GeneratorCoin, worker),
            views,
            next_batch: 0,
            partners: Vec::new(),
            windows: (0..LAG).map(|_| CheckWindow::new()).collect(),
            scratch: CheckScratch::new(),
        }
    }

    /// Makes a batch of `N` checked triples, settled by view comparison. `spare` is a pair of arrays to use again.
    pub(crate) fn batch(&mut self, spare: Option<Pair>) -> Result<Batch> {
        let serial = self.next_batch;
        self.next_batch = serial
            .checked_add(1)
            .expect("fewer than 2^32 batches in a session");
        let mut products = spare.unwrap_or_else(|| zero_pair(self.shape.n));
        if self.partners.is_empty() {
            self.partners = (1..self.shape.b)
                .map(|array| zero_pair(self.shape.len(array)))
                .collect();
        }

        // Steps 1 and 2: random sharings and their products.
        self.multiply(serial, 0, &mut products)?;
        let mut partners = std::mem::take(&mut self.partners);
        for (array, partner) in partners.iter_mut().enumerate() {
            self.multiply(serial, array + 1, partner)?;
        }

        // Step 3: the coin is tossed only now that all of them are fixed at both honest parties.
        let received = coin::barrier(&mut self.ring, u64::from(serial))?;
        let coin = coin::toss(&mut self.ring, &self.keys, &mut self.coins, received)?;

        // Steps 3 and 4: cut, open, and check the buckets.
        let mut sampler = Sampler::new(coin);
        for (array, partner) in partners.iter().enumerate() {
            self.check_array(serial, &products, array + 1, partner, &mut sampler)?;
        }
        self.partners = partners;
        self.views.compare(&mut self.ring, &VIEW_STEPS)?;
        Ok(Batch { serial, products })
    }

    /// Multiplies the random sharings of one array (Araki et al. 2016, Section 3), passing one bit per product.
    fn multiply(&mut self, serial: u32, array: usize, products: &mut Pair) -> Result<()> {
        let first = self.shape.first(array);
        let len = products[0].len();
        let [ours, theirs] = products;
        let chunks = len.div_ceil(CHUNK);
        let mut tile = Tile::default();
        for chunk in 0..chunks + LAG {
            if chunk < chunks {
                let start = chunk * CHUNK;
                let ours = &mut ours[start..len.min(start + CHUNK)];
                for (index, z) in ours.chunks_mut(TILE).enumerate() {
                    let at = first + (start + index * TILE) as u64;
                    tile.expand(&self.keys, self.worker, serial, at, z.len());
                    self.keys
                        .zero(position(Purpose::TripleZero, self.worker, serial, at), z);
                    let ([a0, a1], [b0, b1]) = tile.factors(z.len());
                    kernels::multiply_into(
                        as_words(a0),
                        as_words(a1),
                        as_words(b0),
                        as_words(b1),
                        as_words_mut(z),
                    );
                }
                self.ring.pass(steps::MULTIPLY_TRIPLE, [ours])?;
            }
            if let Some(chunk) = chunk.checked_sub(LAG) {
                let start = chunk * CHUNK;
                let theirs = &mut theirs[start.min(len)..len.min(start + CHUNK)];
                if !theirs.is_empty() {
                    self.ring.take(steps::MULTIPLY_TRIPLE, [theirs])?;
                }
            }
        }
        Ok(())
    }

    /// Shuffles one partner array in two levels, opens `C` triples of each subarray, and checks every triple of the
    /// first array with the triple that fell into its bucket.
    fn check_array(
        &mut self,
        serial: u32,
        products: &Pair,
        array: usize,
        partner: &Pair,
        sampler: &mut Sampler,
    ) -> Result<()> {
        let Shape { c, l, x, .. } = self.shape;
        let per_subarray = x - c;
        let windows_each = per_subarray.div_ceil(WINDOW);
        let mut order = vec![0u32; l];
        sampler.permutation(&mut order);
        let mut within = vec![0u32; x];
        let mut positions = (Vec::new(), Vec::new());
        let mut tile = Tile::default();
        // The openings in flight: at most one per window.
        let mut opened: Vec<Option<Opened>> = (0..LAG).map(|_| None).collect();
        let tasks = l * windows_each;
        for task in 0..tasks + LAG {
            let slot = task % LAG;
            if let Some(task) = task.checked_sub(LAG) {
                let (subarray, window) = (task / windows_each, task % windows_each);
                let start = subarray * per_subarray + window * WINDOW;
                let end = (start + WINDOW).min((subarray + 1) * per_subarray);
                if let Some(opened) = opened[slot].take() {
                    opened.check(&mut self.ring, &mut self.views)?;
                }
                self.windows[slot].check_products(
                    self.me,
                    part(products, start..end),
                    &mut self.scratch,
                    &mut self.ring,
                    steps::CHECK_TRIPLE,
                    &mut self.views,
                )?;
            }
            if task >= tasks {
                continue;
            }
            let (subarray, window) = (task / windows_each, task % windows_each);
            // Subarray number `order[subarray]` of the partner array moves to place `subarray`.
            let from = order[subarray] as usize * x;
            if window == 0 {
                sampler.permutation(&mut within);
                let chosen = within[..c].iter().map(|&i| from + i as usize);
                self.name(&mut positions, serial, array, chosen.clone());
                let mut triple = Opened::new(c);
                self.keys.random_at(&positions.0, triple.factor_mut(0));
                self.keys.random_at(&positions.1, triple.factor_mut(1));
                triple.copy_products(partner, chosen);
                triple.send(&mut self.ring)?;
                opened[slot] = Some(triple);
            }
            let bucketed = &within[c + window * WINDOW..x.min(c + (window + 1) * WINDOW)];
            let start = subarray * per_subarray + window * WINDOW;
            let blocks = bucketed.len();
            self.name(
                &mut positions,
                serial,
                array,
                bucketed.iter().map(|&i| from + i as usize),
            );
            let check = &mut self.windows[slot];
            check.resize(blocks);
            let [a0, a1] = &mut check.a;
            self.keys.random_at(&positions.0, [a0, a1]);
            let [b0, b1] = &mut check.b;
            self.keys.random_at(&positions.1, [b0, b1]);
            for (spent, partner) in check.c.iter_mut().zip(partner) {
                for (spent, &i) in spent.iter_mut().zip(bucketed) {
                    *spent = partner[from + i as usize];
                }
            }
            tile.expand(&self.keys, self.worker, serial, start as u64, blocks);
            let (x, y) = tile.factors(blocks);
            check.open_factors(x, y, &mut self.scratch, &mut self.ring, steps::CHECK_TRIPLE)?;
        }
        Ok(())
    }

    /// The positions of the factors of the triples `indices` of array `array`.
    fn name(
        &self,
        positions: &mut (Vec<Position>, Vec<Position>),
        serial: u32,
        array: usize,
        indices: impl Iterator<Item = usize> + Clone,
    ) {
        let first = self.shape.first(array);
        let named = |purpose| {
            let base = position(purpose, self.worker, serial, first);
            indices.clone().map(move |index| base.advance(index))
        };
        positions.0.clear();
        positions.0.extend(named(Purpose::FactorA));
        positions.1.clear();
        positions.1.extend(named(Purpose::FactorB));
    }
}

/// The factors of consecutive triples, expanded.
struct Tile {
    a: Pair,
    b: Pair,
}

impl Default for Tile {
    fn default() -> Self {
        Self {
            a: zero_pair(WINDOW),
            b: zero_pair(WINDOW),
        }
    }
}

impl Tile {
    fn expand(&mut self, keys: &Keys, worker: u8, serial: u32, first: u64, blocks: usize) {
        for (purpose, factor) in [(Purpose::FactorA, &mut self.a), (Purpose::FactorB, &mut self.b)] {
            let [first_component, second_component] = factor;
            keys.random(
                position(purpose, worker, serial, first),
                [&mut first_component[..blocks], &mut second_component[..blocks]],
            );
        }
    }

    fn factors(&self, blocks: usize) -> ([&[Block512]; 2], [&[Block512]; 2]) {
        (part(&self.a, 0..blocks), part(&self.b, 0..blocks))
    }
}

/// Triples being opened by cut and choose.
struct Opened {
    /// First factors, second factors, products.
    values: [Pair; 3],
}

impl Opened {
    fn new(blocks: usize) -> Self {
        Self {
            values: std::array::from_fn(|_| zero_pair(blocks)),
        }
    }

    fn factor_mut(&mut self, index: usize) -> [&mut [Block512]; 2] {
        let [first, second] = &mut self.values[index];
        [first, second]
    }

    fn copy_products(&mut self, products: &Pair, indices: impl Iterator<Item = usize> + Clone) {
        for (value, products) in self.values[2].iter_mut().zip(products) {
            for (value, index) in value.iter_mut().zip(indices.clone()) {
                *value = products[index];
            }
        }
    }

    fn send(&self, ring: &mut Ring) -> Result<()> {
        ring.pass(
            steps::OPEN_TRIPLE,
            self.values.each_ref().map(|value| value[1].as_slice()),
        )
    }

    /// Receives the missing components; the values opened must be triples, at this party and in both peers' views.
    fn check(self, ring: &mut Ring, views: &mut Views) -> Result<()> {
        let blocks = self.values[0][0].len();
        let mut open: [Vec<Block512>; 3] = std::array::from_fn(|_| vec![Block512::ZERO; blocks]);
        ring.take(steps::OPEN_TRIPLE, open.each_mut().map(Vec::as_mut_slice))?;
        for (open, held) in open.iter_mut().zip(&self.values) {
            kernels::xor_into(open, &held[0]);
            kernels::xor_into(open, &held[1]);
            views.add_opened(open);
        }
        let [a, b, c] = &open;
        if a.iter().zip(b).zip(c).any(|((&a, &b), &c)| a & b != c) {
            let detail = "an opened triple is not a product";
            return Err(cheated(Check::TripleOpening, None, steps::OPEN_TRIPLE, detail));
        }
        Ok(())
    }
}
