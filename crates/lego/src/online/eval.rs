//! Eval (Figure 2, step 5): the evaluator goes through a soldered circuit with the labels of its inputs.
//!
//! All gates of every bucket are evaluated. If they agree, as they do with an honest garbler, that is the output; if not,
//! [`Suspicion`] chooses among what they gave, and evaluation goes on: it never fails, since whether gates agree depends on
//! the inputs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_primitives::Block;
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::material::AndBuckets;
use crate::online::build::Slots;
use crate::online::recover::Suspicion;
use crate::online::tiles::{Circuit, Lot, Tile};
use crate::room::{self, CIRCUITS};

/// AND gates times lanes for which a further thread is worth starting.
const GATES_PER_THREAD: usize = 1 << 14;

/// A circuit that is ready to be evaluated, once.
pub(crate) struct Ready<'a> {
    pub(crate) circuit: &'a Circuit,
    pub(crate) lanes: usize,
    pub(crate) solderings: &'a [Block],
    pub(crate) lot: &'a Lot<AndBuckets>,
}

impl Ready<'_> {
    /// The labels of the outputs, row by row, from those of the inputs, a row of lanes for each wire; by up to `threads`
    /// threads.
    pub(crate) fn evaluate(
        &self,
        inputs: &[&[Block]],
        threads: usize,
        suspicion: &Suspicion,
    ) -> Result<Zeroizing<Vec<Block>>> {
        let outputs = self.circuit.plan.output_wires();
        let mut labels = room::secret(CIRCUITS, outputs * self.lanes)?;
        let tiles: Vec<Tile> = self.circuit.tiles(self.lanes).collect();
        let gates = self.circuit.plan.and_count() * self.lanes;
        let threads = threads.min(tiles.len()).min(gates / GATES_PER_THREAD).max(1);
        let next = AtomicUsize::new(0);
        let rows = Mutex::new(&mut labels);
        let workers = (0..threads)
            .map(|_| Worker::new(self))
            .collect::<Result<Vec<_>>>()?;
        let work = |mut worker: Worker| {
            while let Some(&tile) = tiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                worker.evaluate(self, tile, inputs, suspicion);
                let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
                for (row, &slot) in self.circuit.plan.output_slots().iter().enumerate() {
                    rows[row * self.lanes..][tile.lanes()].copy_from_slice(worker.slots.get(slot));
                }
            }
        };
        std::thread::scope(|scope| {
            let mut workers = workers.into_iter();
            let own = workers.next();
            for worker in workers {
                scope.spawn(move || work(worker));
            }
            own.map(work)
        });
        Ok(labels)
    }
}

/// What one thread works with.
struct Worker {
    slots: Slots<Block>,
    /// Labels of the operands of one level's gates, and of their outputs.
    left: Zeroizing<Vec<Block>>,
    right: Zeroizing<Vec<Block>>,
    outputs: Zeroizing<Vec<Block>>,
}

impl Worker {
    fn new(ready: &Ready<'_>) -> Result<Self> {
        let slots = Slots::new(ready.circuit, ready.lanes)?;
        let gates = ready.circuit.plan.max_level_ands() * slots.width;
        let room = || room::secret(CIRCUITS, gates);
        Ok(Self {
            slots,
            left: room()?,
            right: room()?,
            outputs: room()?,
        })
    }

    fn evaluate(&mut self, ready: &Ready<'_>, tile: Tile, inputs: &[&[Block]], suspicion: &Suspicion) {
        let plan = &ready.circuit.plan;
        let width = tile.width;
        let slots = &mut self.slots;
        slots.width = width;
        for (&slot, labels) in plan.input_slots().iter().zip(inputs) {
            slots.get_mut(slot).copy_from_slice(&labels[tile.lanes()]);
        }
        for level in plan.levels() {
            // A label of a negated wire is that of the wire, and all constants have the label 0: see `Circuit`.
            let local = &plan.local_ops()[level.local.clone()];
            slots.run(local);
            let gates = level.ands.len() * width;
            let [left, right, outputs] =
                [&mut self.left, &mut self.right, &mut self.outputs].map(|labels| &mut labels[..gates]);
            let first = tile.bucket(level.ands.start);
            let solderings = ready.solderings[2 * first..][..2 * gates].chunks_exact(2 * width);
            let ands = &plan.and_ops()[level.ands.clone()];
            let operands = left.chunks_exact_mut(width).zip(right.chunks_exact_mut(width));
            for ((op, (left, right)), solderings) in ands.iter().zip(operands).zip(solderings) {
                let (for_left, for_right) = solderings.split_at(width);
                add(left, slots.get(op.a), for_left);
                add(right, slots.get(op.b), for_right);
            }
            ready.lot.segments(first, gates, |segment| {
                let at = segment.at..segment.at + segment.range.len();
                let (left, right) = (&left[at.clone()], &right[at.clone()]);
                let outputs = &mut outputs[at];
                if !segment
                    .items
                    .gates
                    .evaluate(segment.range.start, left, right, outputs)
                {
                    suspicion.choose(segment.items, segment.range.start, left, right, outputs);
                }
            });
            for (op, outputs) in ands.iter().zip(outputs.chunks_exact(width)) {
                slots.get_mut(op.dst).copy_from_slice(outputs);
            }
        }
    }
}

#[inline(always)]
fn add(to: &mut [Block], a: &[Block], b: &[Block]) {
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = *a ^ *b;
    }
}
