//! Verification of the gates that were evaluated: every AND is checked with a triple before anything that depends on it
//! is opened (S&P 2017, Protocol A.2, step 3, and Protocol 3.9, step 3).

use cenote_engine::Result;
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Variant};
use cenote_primitives::{Block512, Position, Sampler, as_words_mut, kernels};

use crate::coin;
use crate::keys::{Counter, Keys, Purpose, position};
use crate::ring::Ring;
use crate::steps;
use crate::stock::{Batch, Stock};
use crate::triple_check::{CheckScratch, CheckWindow, LAG, Pair, WINDOW, part, zero_pair};
use crate::view::{ViewSteps, Views};

const VIEW_STEPS: ViewSteps = ViewSteps {
    opened: steps::GATE_VIEW,
    products: steps::GATE_PRODUCTS,
};

/// Most blocks of gates that wait for verification, unless a single AND layer has more.
pub(crate) const LOG_BLOCKS: usize = 1 << 14;

/// The AND gates evaluated since the last verification: operands and results, as shared.
pub(crate) struct GateLog {
    pub(crate) x: Pair,
    pub(crate) y: Pair,
    pub(crate) z: Pair,
    /// 64-bit words in use.
    words: usize,
}

/// A stretch of the log: the words of both components of `x`, `y` and `z`.
pub(crate) struct Segment<'a> {
    pub(crate) x: [&'a mut [u64]; 2],
    pub(crate) y: [&'a mut [u64]; 2],
    pub(crate) z: [&'a mut [u64]; 2],
}

impl GateLog {
    pub(crate) fn new() -> Self {
        Self {
            x: zero_pair(0),
            y: zero_pair(0),
            z: zero_pair(0),
            words: 0,
        }
    }

    /// Whether `words` more would exceed the limit, so that verification is due first.
    pub(crate) fn is_full_for(&self, words: usize) -> bool {
        self.words > 0 && self.words + words > LOG_BLOCKS * 8
    }

    /// The next `words` words, which hold leftovers and must be overwritten.
    pub(crate) fn extend(&mut self, words: usize) -> Segment<'_> {
        let range = self.words..self.words + words;
        self.words = range.end;
        let blocks = range.end.div_ceil(8);
        let segment = |pair| segment_of(pair, blocks, range.clone());
        Segment {
            x: segment(&mut self.x),
            y: segment(&mut self.y),
            z: segment(&mut self.z),
        }
    }

    /// Completes the last block with gates whose operands and results are all zero; gives the number of blocks.
    fn pad(&mut self) -> usize {
        let missing = self.words.next_multiple_of(8) - self.words;
        let padding = self.extend(missing);
        for component in padding.x.into_iter().chain(padding.y).chain(padding.z) {
            component.fill(0);
        }
        self.words / 8
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words == 0
    }

    fn clear(&mut self) {
        self.words = 0;
    }

    /// Overwrites everything with zeros.
    pub(crate) fn wipe(&mut self) {
        for component in self.x.iter_mut().chain(&mut self.y).chain(&mut self.z) {
            component.fill(Block512::ZERO);
        }
        self.words = 0;
    }
}

fn segment_of(pair: &mut Pair, blocks: usize, range: std::ops::Range<usize>) -> [&mut [u64]; 2] {
    pair.each_mut().map(|component| {
        if component.len() < blocks {
            // Grow in steps, but not beyond the limit unless a single layer needs it.
            let grown = (component.len() * 2).min(LOG_BLOCKS).max(blocks);
            component.resize(grown, Block512::ZERO);
        }
        &mut as_words_mut(component)[range.clone()]
    })
}

/// Where triples for gates come from.
enum Supply {
    /// Gate `k` uses triple `k` (`baseline`, `cache-efficient`).
    InOrder,
    /// Each gate draws a random triple from `d1`, which is replaced by the next of `d2` (`on-demand`, Protocol 3.9).
    OnDemand {
        names: Vec<Position>,
        products: Pair,
        draws: Vec<u32>,
    },
}

/// Checks logged gates.
pub(crate) struct Verifier {
    me: PartyId,
    worker: u8,
    n: u64,
    supply: Supply,
    /// The batch whose triples are next: `d2` of the on-demand variant.
    current: Option<(Batch, usize)>,
    coins: Counter,
    /// Verifications so far, which number the barriers.
    serial: u64,
    /// Blocks of gates checked so far.
    used: u64,
    views: Views,
    windows: Vec<CheckWindow>,
    scratch: CheckScratch,
}

impl Verifier {
    pub(crate) fn new(me: PartyId, worker: u8, parameters: &Parameters, views: Views) -> Self {
        let supply = match parameters.variant() {
            Variant::OnDemand => Supply::OnDemand {
                names: Vec::new(),
                products: zero_pair(0),
                draws: Vec::new(),
            },
            _ => Supply::InOrder,
        };
        Self {
            me,
            worker,
            n: parameters.n(),
            supply,
            current: None,
            coins: Counter::new(Purpose::EvaluatorCoin, worker),
            serial: 0,
            used: 0,
            views,
            windows: (0..LAG).map(|_| CheckWindow::new()).collect(),
            scratch: CheckScratch::new(),
        }
    }

    /// Batches needed since the start to check `blocks` more blocks of gates than so far.
    pub(crate) fn batches_for(&self, blocks: u64) -> u64 {
        let spent = (self.used + blocks).div_ceil(self.n);
        match self.supply {
            Supply::InOrder => spent,
            Supply::OnDemand { .. } if spent == 0 => 0,
            Supply::OnDemand { .. } => 1 + spent,
        }
    }

    /// Bytes of the stock in use.
    pub(crate) fn bytes(parameters: &Parameters) -> u64 {
        let block = size_of::<Block512>() as u64;
        let on_demand = match parameters.variant() {
            Variant::OnDemand => parameters.n() * (2 * block + size_of::<Position>() as u64),
            _ => 0,
        };
        // The batch in use and the one waiting.
        on_demand + 2 * parameters.n() * 2 * block
    }

    /// Checks every gate in the log, compares views, and empties the log. Returns the number of rounds.
    pub(crate) fn verify(
        &mut self,
        log: &mut GateLog,
        ring: &mut Ring,
        keys: &Keys,
        stock: &Stock,
    ) -> Result<u64> {
        if log.is_empty() {
            return Ok(0);
        }
        let blocks = log.pad();
        stock.want(self.batches_for(blocks as u64));
        let mut rounds = 3;
        let mut sampler = None;
        if let Supply::OnDemand { names, products, .. } = &mut self.supply {
            if names.is_empty() {
                let Batch {
                    serial,
                    products: first,
                } = stock.take()?;
                let base = position(Purpose::FactorA, self.worker, serial, 0);
                names.extend((0..first[0].len()).map(|index| base.advance(index)));
                *products = first;
            }
            // Which triple checks which gate is tossed only now that all results are fixed.
            let received = coin::barrier(ring, self.serial)?;
            sampler = Some(Sampler::new(coin::toss(ring, keys, &mut self.coins, received)?));
            rounds += 2;
        }
        self.serial += 1;

        let windows = blocks.div_ceil(WINDOW);
        let range = |window: usize| window * WINDOW..blocks.min((window + 1) * WINDOW);
        for window in 0..windows + LAG {
            let slot = window % LAG;
            if let Some(window) = window.checked_sub(LAG).filter(|&window| window < windows) {
                self.windows[slot].check_products(
                    self.me,
                    part(&log.z, range(window)),
                    &mut self.scratch,
                    ring,
                    steps::CHECK_GATE,
                    &mut self.views,
                )?;
            }
            if window < windows {
                let range = range(window);
                self.spend(slot, range.len(), sampler.as_mut(), keys, stock)?;
                self.windows[slot].open_factors(
                    part(&log.x, range.clone()),
                    part(&log.y, range),
                    &mut self.scratch,
                    ring,
                    steps::CHECK_GATE,
                )?;
            }
        }
        self.used += blocks as u64;
        log.clear();
        self.views.compare(ring, &VIEW_STEPS)?;
        Ok(rounds)
    }

    /// Moves `blocks` triples out of the stock into a window.
    fn spend(
        &mut self,
        slot: usize,
        blocks: usize,
        sampler: Option<&mut Sampler>,
        keys: &Keys,
        stock: &Stock,
    ) -> Result<()> {
        let mut spent_names = vec![Position { stream: 0, index: 0 }; blocks];
        let window = &mut self.windows[slot];
        window.resize(blocks);
        if let (Supply::OnDemand { draws, .. }, Some(sampler)) = (&mut self.supply, sampler) {
            draws.resize(blocks, 0);
            sampler.fill_below(self.n as u32, draws);
        }
        let mut filled = 0;
        while filled < blocks {
            let (batch, next) = match &mut self.current {
                Some((batch, next)) if *next < batch.products[0].len() => (batch, next),
                current => {
                    if let Some((batch, _)) = current.take() {
                        stock.recycle(batch.products);
                    }
                    let (batch, next) = current.insert((stock.take()?, 0));
                    (batch, next)
                }
            };
            let count = (blocks - filled).min(batch.products[0].len() - *next);
            let base = position(Purpose::FactorA, self.worker, batch.serial, *next as u64);
            let fresh = part(&batch.products, *next..*next + count);
            let range = filled..filled + count;
            let [c0, c1] = &mut window.c;
            let out = (
                &mut spent_names[range.clone()],
                &mut c0[range.clone()],
                &mut c1[range.clone()],
            );
            let fresh_names = (0..count).map(|index| base.advance(index));
            match &mut self.supply {
                Supply::InOrder => {
                    out.0
                        .iter_mut()
                        .zip(fresh_names)
                        .for_each(|(name, fresh)| *name = fresh);
                    out.1.copy_from_slice(fresh[0]);
                    out.2.copy_from_slice(fresh[1]);
                }
                Supply::OnDemand {
                    names,
                    products,
                    draws,
                } => {
                    let fresh_names: Vec<_> = fresh_names.collect();
                    let [p0, p1] = products;
                    kernels::take_and_replace(
                        (names, p0, p1),
                        &draws[range],
                        (&fresh_names, fresh[0], fresh[1]),
                        out,
                    );
                }
            }
            *next += count;
            filled += count;
        }
        let [a0, a1] = &mut window.a;
        keys.random_at(&spent_names, [a0, a1]);
        for name in &mut spent_names {
            *name = position(Purpose::FactorB, self.worker, name.stream as u32, name.index);
        }
        let [b0, b1] = &mut window.b;
        keys.random_at(&spent_names, [b0, b1]);
        Ok(())
    }

    /// Overwrites the stock with zeros.
    pub(crate) fn wipe(&mut self) {
        if let Supply::OnDemand { products, .. } = &mut self.supply {
            products
                .iter_mut()
                .for_each(|component| component.fill(Block512::ZERO));
        }
        if let Some((batch, _)) = &mut self.current {
            batch
                .products
                .iter_mut()
                .for_each(|component| component.fill(Block512::ZERO));
        }
        self.current = None;
    }
}
