//! Stocks: what is left of the material, and taking from it.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use cenote_primitives::Block;
use cenote_session as session;
use zeroize::Zeroizing;

use super::{
    AnchorWires, AndBuckets, Commitments, Epoch, EvaluatorInputs, GarblerAnds, GarblerInputs, GarblerStrings,
    Holder, Masks,
};
use crate::order::{Order, Short};
use crate::room::{self, INPUTS};
use crate::setup::{EvaluatorKeys, GarblerKeys};
use cenote_commit::Share;

/// Some items of an epoch's array, moved out of a stock. The array lives as long as any run of it.
pub struct Run<T> {
    items: Arc<T>,
    range: Range<usize>,
}

impl<T> Run<T> {
    /// The epoch's array; only the items of [`Run::range`] are this run's.
    pub fn items(&self) -> &T {
        &self.items
    }

    /// Which items of [`Run::items`] are this run's.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it has no items.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Takes the first `count` items out.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_front(&mut self, count: usize) -> Run<T> {
        assert!(count <= self.len(), "{count} items of {}", self.len());
        let middle = self.range.start + count;
        let front = self.range.start..middle;
        self.range.start = middle;
        Run {
            items: self.items.clone(),
            range: front,
        }
    }
}

/// Prints how many items there are.
impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({:?})", self.range)
    }
}

impl Run<GarblerAnds> {
    /// The 0-labels of left, right and output wire.
    pub fn messages(&self) -> &[[Block; 3]] {
        &self.items.messages[self.range.clone()]
    }

    /// The shares of these.
    pub fn shares(&self) -> &[[Share; 3]] {
        &self.items.shares[self.range.clone()]
    }
}

impl Run<AndBuckets> {
    /// The shares of the 0-labels of left, right and output wire.
    pub fn shares(&self) -> &[[Share; 3]] {
        &self.items.shares[self.range.clone()]
    }
}

/// Runs in the order in which they are used.
struct Queue<T> {
    runs: VecDeque<Run<T>>,
    left: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            runs: VecDeque::new(),
            left: 0,
        }
    }
}

impl<T> Queue<T> {
    /// Adds the items of `range`.
    fn push(&mut self, items: T, range: Range<usize>) {
        if !range.is_empty() {
            self.left += range.len() as u64;
            let items = Arc::new(items);
            self.runs.push_back(Run { items, range });
        }
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.left = 0;
    }

    fn take(&mut self, kind: &'static str, count: usize) -> Result<Vec<Run<T>>, Short> {
        if self.left < count as u64 {
            return Err(Short {
                kind,
                wanted: count as u64,
                left: self.left,
            });
        }
        self.left -= count as u64;
        let mut taken = Vec::new();
        let mut missing = count;
        while missing > 0 {
            let Some(front) = self.runs.front_mut() else { break };
            let run = front.split_front(missing.min(front.len()));
            missing -= run.len();
            taken.push(run);
            if front.is_empty() {
                self.runs.pop_front();
            }
        }
        Ok(taken)
    }
}

impl Queue<Commitments> {
    fn take_copy(&mut self, kind: &'static str, count: usize) -> session::Result<Commitments> {
        let runs = self.take(kind, count)?;
        let mut all = Commitments::with_room(count)?;
        for run in runs {
            all.copy(&run.items, run.range.clone());
        }
        Ok(all)
    }
}

/// A party's material.
pub struct Stock<H: Holder> {
    ands: Queue<H::Ands>,
    garbler_inputs: Queue<H::GarblerInputs>,
    evaluator_inputs: Queue<H::EvaluatorInputs>,
    anchors: Queue<H::Anchors>,
    masks: Queue<H::Masks>,
    ports: Queue<H::Ports>,
}

/// The garbler's.
pub type GarblerStock = Stock<GarblerKeys>;
/// The evaluator's.
pub type EvaluatorStock = Stock<EvaluatorKeys>;

/// No material.
impl<H: Holder> Default for Stock<H> {
    fn default() -> Self {
        Self {
            ands: Queue::default(),
            garbler_inputs: Queue::default(),
            evaluator_inputs: Queue::default(),
            anchors: Queue::default(),
            masks: Queue::default(),
            ports: Queue::default(),
        }
    }
}

impl<H: Holder> Stock<H> {
    /// Adds an epoch's material, to be used after what is there.
    pub fn push(&mut self, epoch: Epoch<H>) {
        let all = epoch.counts().map(|count| 0..count);
        self.push_some(epoch, all);
    }

    /// Adds some of an epoch's material: of each kind the items of a range.
    pub(crate) fn push_some(&mut self, epoch: Epoch<H>, ranges: [Range<usize>; 6]) {
        let [ands, garbler_inputs, evaluator_inputs, anchors, masks, ports] = ranges;
        self.ands.push(epoch.ands, ands);
        self.garbler_inputs.push(epoch.garbler_inputs, garbler_inputs);
        self.evaluator_inputs
            .push(epoch.evaluator_inputs, evaluator_inputs);
        self.anchors.push(epoch.anchors, anchors);
        self.masks.push(epoch.masks, masks);
        self.ports.push(epoch.ports, ports);
    }

    /// What is left.
    pub fn left(&self) -> Order {
        Order {
            ands: self.ands.left,
            garbler_inputs: self.garbler_inputs.left,
            evaluator_inputs: self.evaluator_inputs.left,
            anchors: self.anchors.left,
            masks: self.masks.left,
            ports: self.ports.left,
        }
    }

    /// The next `count` AND buckets.
    ///
    /// # Errors
    /// If fewer are left; so with all of these calls, and then nothing is taken.
    pub fn take_ands(&mut self, count: usize) -> Result<Vec<Run<H::Ands>>, Short> {
        self.ands.take("AND gates", count)
    }

    /// Throws all AND buckets away.
    pub(crate) fn forget_ands(&mut self) {
        self.ands.clear();
    }
}

/// Prints what is left.
impl<H: Holder> fmt::Debug for Stock<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stock({})", self.left())
    }
}

impl GarblerStock {
    /// The next `count` input wires of the garbler: their 0-labels.
    pub fn take_garbler_inputs(&mut self, count: usize) -> session::Result<Commitments> {
        self.garbler_inputs.take_copy("garbler inputs", count)
    }

    /// The next `count` input wires of the evaluator.
    pub fn take_evaluator_inputs(&mut self, count: usize) -> session::Result<GarblerStrings> {
        let runs = self.evaluator_inputs.take("evaluator inputs", count)?;
        let mut all = GarblerStrings {
            labels: Commitments::with_room(count)?,
            strings: Commitments::with_room(count)?,
        };
        for run in runs {
            all.labels.copy(&run.items.labels, run.range.clone());
            all.strings.copy(&run.items.strings, run.range.clone());
        }
        Ok(all)
    }

    /// The next `count` anchors: the 0-labels of their wires.
    pub fn take_anchors(&mut self, count: usize) -> session::Result<Commitments> {
        self.anchors.take_copy("garbler outputs", count)
    }

    /// The next `count` masks.
    pub fn take_masks(&mut self, count: usize) -> session::Result<Commitments> {
        self.masks.take_copy("evaluator outputs", count)
    }

    /// The next `count` ports: their 0-labels.
    pub fn take_ports(&mut self, count: usize) -> session::Result<Commitments> {
        self.ports.take_copy("circuit inputs", count)
    }
}

impl EvaluatorStock {
    /// The next `count` input wires of the garbler.
    pub fn take_garbler_inputs(&mut self, count: usize) -> Result<Vec<Run<GarblerInputs>>, Short> {
        self.garbler_inputs.take("garbler inputs", count)
    }

    /// The next `count` input wires of the evaluator.
    pub fn take_evaluator_inputs(&mut self, count: usize) -> Result<Vec<Run<EvaluatorInputs>>, Short> {
        self.evaluator_inputs.take("evaluator inputs", count)
    }

    /// The next `count` anchors.
    pub fn take_anchors(&mut self, count: usize) -> Result<Vec<Run<AnchorWires>>, Short> {
        self.anchors.take("garbler outputs", count)
    }

    /// The next `count` masks.
    pub fn take_masks(&mut self, count: usize) -> session::Result<Masks> {
        let runs = self.masks.take("evaluator outputs", count)?;
        let mut all = Masks {
            shares: room::empty(INPUTS, count)?,
            bits: room::empty(INPUTS, count)?,
        };
        for run in runs {
            all.shares.extend_from_slice(&run.items.shares[run.range.clone()]);
            all.bits.extend_from_slice(&run.items.bits[run.range.clone()]);
        }
        Ok(all)
    }

    /// The next `count` ports: the shares of their 0-labels.
    pub fn take_ports(&mut self, count: usize) -> session::Result<Zeroizing<Vec<Share>>> {
        let runs = self.ports.take("circuit inputs", count)?;
        let mut all = room::empty(INPUTS, count)?;
        for run in runs {
            all.extend_from_slice(&run.items[run.range.clone()]);
        }
        Ok(all)
    }
}
