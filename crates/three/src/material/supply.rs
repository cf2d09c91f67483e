//! Which triple checks which gate: what tells the variants apart once triples are made (spec `three-party`, Section 10).

use std::collections::VecDeque;

use cenote_params::three::{Parameters, Variant};
use cenote_primitives::{Position, Sampler, SecretBlocks, kernels};
use cenote_session::Result;

use crate::coin::Fixed;
use crate::material::batch::Batch;
use crate::material::stock::Stock;
use crate::setup::keys::{Keys, Purpose, position};
use crate::triple_check::{CheckWindow, part};

/// Checked triples on their way to gates.
pub(crate) struct Supply {
    n: usize,
    choice: Choice,
    /// The batches whose triples are next: `d2` of the on-demand variant.
    batches: VecDeque<Batch>,
    /// How many triples of the first batch are spent.
    gone: usize,
    /// How many triples are in hand for gates that have not met them.
    promised: usize,
    /// What the factors of stored triples are derived from; those of fresh ones are derived from the session's keys.
    pub(crate) factors: Option<Keys>,
    /// Blocks of gates served so far.
    used: u64,
}

/// The right to as many triples, in blocks, and the proof that all triples that these gates may meet are made and settled.
/// Spending them consumes it.
#[must_use]
pub(crate) struct InHand(usize);

impl InHand {
    /// Takes the right to the first `blocks` away from the rest.
    ///
    /// # Panics
    /// If there are fewer.
    pub(crate) fn split_off(&mut self, blocks: usize) -> InHand {
        self.0 = self
            .0
            .checked_sub(blocks)
            .expect("no more is spent than is in hand");
        InHand(blocks)
    }
}

/// The gates' products are received by the time their triples are taken, since the log holds them.
impl Fixed for &InHand {}

/// How a triple is chosen for a gate.
enum Choice {
    /// Gate `k` uses triple `k` (`baseline`, `cache-efficient`).
    InOrder,
    /// Gate `k` uses triple `order[k]` of a whole batch, permuted once the gates are fixed (`reshuffle`, Section III-B).
    ///
    /// A batch always meets `N` gates, the last of them padding that is known to be good. Used for fewer gates it would
    /// not be safe: with `C = 1`, a whole subarray of bad triples would meet a single bad gate with probability `1/L`,
    /// and the bad triples left over would go unnoticed.
    Reshuffle { order: Vec<u32> },
    /// Each gate draws a random triple of `d1`, which is replaced by the next of `d2` (`on-demand`, Protocol 3.9).
    OnDemand {
        names: Vec<Position>,
        /// Both components of each product side by side.
        products: SecretBlocks,
        draws: Vec<u32>,
    },
}

/// Batches of `n` blocks that serve `blocks` blocks of gates from the start on; the on-demand variant draws from one more.
pub(crate) fn batches(blocks: u64, n: usize, on_demand: bool) -> u64 {
    let spent = blocks.div_ceil(n as u64);
    spent + u64::from(on_demand && spent > 0)
}

impl Supply {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let n = parameters.n() as usize;
        let choice = match parameters.variant() {
            Variant::OnDemand => Choice::OnDemand {
                names: Vec::new(),
                products: SecretBlocks::default(),
                draws: Vec::new(),
            },
            Variant::Reshuffle => Choice::Reshuffle { order: vec![0; n] },
            Variant::Baseline | Variant::CacheEfficient => Choice::InOrder,
        };
        Self {
            n,
            choice,
            batches: VecDeque::new(),
            gone: 0,
            promised: 0,
            factors: None,
            used: 0,
        }
    }

    /// The number of gate blocks that are served together.
    pub(crate) fn unit(&self) -> usize {
        if matches!(self.choice, Choice::Reshuffle { .. }) {
            self.n
        } else {
            1
        }
    }

    /// Blocks of gates served so far.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Whether triples are assigned to gates by a coin, tossed when the gates are fixed.
    pub(crate) fn needs_coin(&self) -> bool {
        !matches!(self.choice, Choice::InOrder)
    }

    /// Batches needed since the start to serve `blocks` more blocks of gates than so far.
    pub(crate) fn batches_for(&self, blocks: u64) -> u64 {
        batches(
            self.used + blocks,
            self.n,
            matches!(self.choice, Choice::OnDemand { .. }),
        )
    }

    /// Takes all triples into hand that the next `blocks` gate blocks may meet.
    ///
    /// This comes before the coin that assigns them: a batch that a corrupted party could still make once it knows the
    /// coin would be made to match its bad gates, and the shuffle or draw would add nothing to the error.
    pub(crate) fn stock_up(&mut self, blocks: usize, stock: &Stock) -> Result<InHand> {
        if let Choice::OnDemand { names, products, .. } = &mut self.choice
            && names.is_empty()
        {
            let batch = stock.take()?;
            let base = position(Purpose::FactorA, batch.worker, batch.serial, 0);
            names.extend((0..self.n).map(|index| base.advance(index)));
            products.resize(2 * self.n);
            for (component, products_of_batch) in batch.products.iter().enumerate() {
                for (entry, product) in products.chunks_exact_mut(2).zip(products_of_batch.iter()) {
                    entry[component] = *product;
                }
            }
            stock.recycle(batch.products);
        }
        while self.batches.len() * self.n - self.gone < self.promised + blocks {
            self.batches.push_back(stock.take()?);
        }
        self.promised += blocks;
        Ok(InHand(blocks))
    }

    /// Moves the triples for the next gates into `window`.
    pub(crate) fn spend(
        &mut self,
        InHand(blocks): InHand,
        window: &mut CheckWindow,
        mut sampler: Option<&mut Sampler>,
        stock: &Stock,
    ) {
        window.resize(blocks);
        if let (Choice::OnDemand { draws, .. }, Some(sampler)) = (&mut self.choice, &mut sampler) {
            draws.resize(blocks, 0);
            sampler.fill_below(self.n as u32, draws);
        }
        let mut filled = 0;
        while filled < blocks {
            if self.gone == 0
                && let (Choice::Reshuffle { order }, Some(sampler)) = (&mut self.choice, &mut sampler)
            {
                sampler.permutation(order);
            }
            let batch = self
                .batches
                .front()
                .expect("`InHand` is given for triples that are there");
            let count = (blocks - filled).min(self.n - self.gone);
            let [c0, c1] = &mut window.c;
            let to = filled..filled + count;
            let out = (
                &mut window.names[to.clone()],
                &mut c0[to.clone()],
                &mut c1[to.clone()],
            );
            let from = self.gone..self.gone + count;
            let base = position(Purpose::FactorA, batch.worker, batch.serial, 0);
            match &mut self.choice {
                Choice::InOrder => {
                    let fresh = part(&batch.products, from.clone());
                    out.0
                        .iter_mut()
                        .zip(from)
                        .for_each(|(name, index)| *name = base.advance(index));
                    out.1.copy_from_slice(fresh[0]);
                    out.2.copy_from_slice(fresh[1]);
                }
                Choice::Reshuffle { order } => {
                    for (k, &index) in order[from].iter().enumerate() {
                        let index = index as usize;
                        out.0[k] = base.advance(index);
                        out.1[k] = batch.products[0][index];
                        out.2[k] = batch.products[1][index];
                    }
                }
                Choice::OnDemand {
                    names,
                    products,
                    draws,
                } => {
                    let fresh = part(&batch.products, from.clone());
                    let fresh_names: Vec<_> = from.map(|index| base.advance(index)).collect();
                    let stock = (names.as_mut_slice(), &mut products[..]);
                    kernels::take_and_replace(stock, &draws[to], (&fresh_names, fresh[0], fresh[1]), out);
                }
            }
            self.gone += count;
            filled += count;
            if self.gone == self.n {
                self.gone = 0;
                let spent = self.batches.pop_front();
                spent.into_iter().for_each(|batch| stock.recycle(batch.products));
            }
        }
        self.promised -= blocks;
        self.used += blocks as u64;
    }

    /// Overwrites the triples with zeros.
    pub(crate) fn wipe(&mut self) {
        if let Choice::OnDemand { products, .. } = &mut self.choice {
            products.wipe();
        }
        for batch in &mut self.batches {
            batch.products.iter_mut().for_each(|component| component.wipe());
        }
        self.batches.clear();
        self.promised = 0;
        self.factors = None;
    }
}
