//! Making triples by cut and choose (S&P 2017, Protocol A.1 with the shuffle of Protocol 3.1; spec `three-party`,
//! Section 9).
//!
//! Of a triple only the product is stored; its factors are derived again from their position whenever they are needed.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::{Block512, Position, Sampler, as_words, as_words_mut, kernels};
use cenote_session::Result;

use crate::material::batch::Batch;
use crate::material::shape::Shape;
use crate::offline::cut_and_choose::Buckets;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose, factor_b, position};
use crate::steps;
use crate::triple_check::{Pair, part, part_mut, zero_pair};
use crate::view::{ViewSteps, Views};
use crate::{checks, coin};

const VIEW_STEPS: ViewSteps = ViewSteps {
    opened: steps::TRIPLE_VIEW,
    products: steps::TRIPLE_PRODUCTS,
    product: checks::PRODUCT_COMPARISON,
};

/// Most blocks per message of products.
const CHUNK: usize = 4096;

/// Blocks whose randomness is expanded at once: they fit the first-level cache.
const TILE: usize = 64;

/// Makes one batch of triples after another.
pub(crate) struct Generator {
    pub(crate) ring: Ring,
    shape: Shape,
    source: Factors,
    coins: Counter,
    views: Views,
    next_batch: u32,
    /// The products of the arrays beyond the first, which are spent within a batch.
    partners: Vec<Pair>,
    buckets: Buckets,
    /// Messages in flight: how far sending runs ahead of receiving.
    lag: usize,
}

impl Generator {
    /// `lag` messages are in flight at most.
    pub(crate) fn new(
        me: PartyId,
        worker: u8,
        shape: Shape,
        ring: Ring,
        keys: Keys,
        views: Views,
        lag: usize,
    ) -> Self {
        Self {
            ring,
            shape,
            source: Factors {
                keys,
                worker,
                serial: 0,
            },
            coins: Counter::new(Purpose::GeneratorCoin, worker),
            views,
            next_batch: 0,
            partners: Vec::new(),
            buckets: Buckets::new(me, shape, lag),
            lag,
        }
    }

    /// Makes a batch of `N` checked triples, settled by view comparison. `spare` is a pair of arrays to use again. `fixed` is
    /// called when all products have been received, before any peer can learn the batch's coin. After a failure, the
    /// triples are wiped.
    pub(crate) fn batch(&mut self, spare: Option<Pair>, fixed: impl FnOnce()) -> Result<Batch> {
        let mut products = spare.unwrap_or_else(|| zero_pair(self.shape.n));
        match self.fill(&mut products, fixed) {
            Ok(serial) => Ok(Batch {
                worker: self.source.worker,
                serial,
                products,
            }),
            Err(error) => {
                self.partners.clear();
                Err(error)
            }
        }
    }

    /// Fills `products` with those of a new batch, whose number is returned.
    fn fill(&mut self, products: &mut Pair, fixed: impl FnOnce()) -> Result<u32> {
        let serial = self.next_batch;
        self.next_batch = serial
            .checked_add(1)
            .expect("fewer than 2^32 batches in a session");
        self.source.serial = serial;
        let arrays = self.shape.partners();
        if self.partners.is_empty() {
            self.partners = arrays.iter().map(|array| zero_pair(array.len())).collect();
        }

        // Steps 1 and 2: random sharings and their products.
        let multiplied = self.multiply_all(products)?;
        fixed();

        // Step 3: the coin is tossed when both honest parties have received all products.
        let received = coin::barrier(&mut self.ring, u64::from(serial), multiplied)?;
        let coin = coin::toss(&mut self.ring, &self.source.keys, &mut self.coins, received)?;

        // Steps 3 and 4: cut, open, and check the buckets.
        let mut sampler = Sampler::new(coin);
        let partners = arrays.iter().copied().zip(&self.partners);
        self.buckets.check(
            (&self.source, products),
            partners,
            &mut sampler,
            &mut self.ring,
            &mut self.views,
        )?;
        self.views.compare(&mut self.ring, &VIEW_STEPS)?;
        Ok(serial)
    }

    /// Multiplies the random sharings of all arrays. Each party sends one bit for each product (Araki et al. 2016, Section 3),
    /// and runs ahead of what it receives by `lag` full messages.
    fn multiply_all(&mut self, products: &mut Pair) -> Result<Multiplied> {
        let partners = self.shape.partners();
        let firsts = std::iter::once(0).chain(partners.iter().map(|array| array.first));
        let arrays = std::iter::once(products).chain(&mut self.partners);
        let (mut awaited, mut in_flight) = (VecDeque::new(), 0);
        let mut factors = [zero_pair(TILE), zero_pair(TILE)];
        for (first, [ours, theirs]) in firsts.zip(arrays) {
            let chunks = ours.chunks_mut(CHUNK).zip(theirs.chunks_mut(CHUNK));
            for (first, (ours, theirs)) in (first..).step_by(CHUNK).zip(chunks) {
                multiply(&self.source, first, ours, &mut factors);
                self.ring.pass(steps::MULTIPLY_TRIPLE, [ours])?;
                in_flight += theirs.len();
                awaited.push_back(theirs);
                while in_flight > self.lag * CHUNK
                    && let Some(theirs) = awaited.pop_front()
                {
                    in_flight -= theirs.len();
                    self.ring.take(steps::MULTIPLY_TRIPLE, [theirs])?;
                }
            }
        }
        for theirs in awaited {
            self.ring.take(steps::MULTIPLY_TRIPLE, [theirs])?;
        }
        Ok(Multiplied(()))
    }
}

/// Proof that the products of all arrays of a batch have been received.
struct Multiplied(());

impl coin::Fixed for Multiplied {}

/// This party's part of the products of the triples from number `first` of the batch on. `factors` is scratch.
fn multiply(source: &Factors, first: u64, products: &mut [Block512], [a, b]: &mut [Pair; 2]) {
    for (number, z) in (first..).step_by(TILE).zip(products.chunks_mut(TILE)) {
        let name = source.name(number);
        source.keys.random(name, part_mut(a, 0..z.len()));
        source.keys.random(factor_b(name), part_mut(b, 0..z.len()));
        source.keys.zero(
            position(Purpose::TripleZero, source.worker, source.serial, number),
            z,
        );
        let ([a0, a1], [b0, b1]) = (part(a, 0..z.len()), part(b, 0..z.len()));
        let [a0, a1, b0, b1] = [a0, a1, b0, b1].map(as_words);
        kernels::multiply_into(a0, a1, b0, b1, as_words_mut(z));
    }
}

/// Where a batch's factors come from.
pub(crate) struct Factors {
    pub(crate) keys: Keys,
    worker: u8,
    serial: u32,
}

impl Factors {
    /// The position of the first factor of triple `number`.
    pub(crate) fn name(&self, number: u64) -> Position {
        position(Purpose::FactorA, self.worker, self.serial, number)
    }
}
