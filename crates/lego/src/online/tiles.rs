//! How a circuit and its lanes are gone through: tiles of lanes, in each of them level by level.
//!
//! Both sides of `build`, and `eval`, go through the same gates in the same order, so that solderings and buckets are
//! streamed: those of a tile lie one behind the other, in it those of a level, in it those of an AND gate.

use std::ops::Range;

use cenote_circuit::Plan;
use cenote_primitives::Block;
use cenote_session::{Flips, Result};

use crate::material::Run;
use crate::online::opening::PIECE;
use crate::room::CIRCUITS;

/// Bytes of slots that stay in a core's own cache.
const WORKING_SET: usize = 640 << 10;
/// Bytes of a slot and lane at the garbler: label and share.
const SLOT: usize = 56;

/// A plan, and where negations and constants end up.
///
/// Labels of negated wires are sums like all others, plus the difference `Δ`: which of them is known ahead, and so slots
/// hold labels without it.
pub(crate) struct Circuit {
    pub(crate) plan: Plan,
    /// For each AND gate, whether `Δ` is to be added to the 0-labels of its operands.
    pub(crate) operand_flips: Vec<[bool; 2]>,
    /// The same for the outputs.
    pub(crate) output_flips: Vec<bool>,
}

impl Circuit {
    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for it.
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let Flips { operands, outputs } = Flips::of(plan, CIRCUITS)?;
        Ok(Self {
            plan: plan.clone(),
            operand_flips: operands,
            output_flips: outputs,
        })
    }

    /// The tiles of `lanes` lanes: as wide as the working set allows, and four or more if there are as many lanes, so that
    /// threads can share them.
    pub(crate) fn tiles(&self, lanes: usize) -> impl ExactSizeIterator<Item = Tile> + use<> {
        let widest = (WORKING_SET / SLOT / self.plan.slots().max(1)).clamp(1, PIECE / 2);
        let count = lanes.div_ceil(widest).max(lanes.min(4));
        let ands = self.plan.and_count();
        (0..count).map(move |tile| {
            let (start, end) = (tile * lanes / count, (tile + 1) * lanes / count);
            Tile {
                start,
                width: end - start,
                ands,
            }
        })
    }
}

/// Bytes that `build` takes, and for each thread `eval`, besides results: the slots of the widest tile, one level's labels,
/// and a piece of openings. A circuit whose slots exceed the working set in a single lane takes what that lane takes.
pub(crate) fn slot_bytes(plan: &Plan) -> u64 {
    let width = (WORKING_SET / SLOT / plan.slots().max(1)).clamp(1, PIECE / 2);
    let level = 3 * size_of::<Block>() * plan.max_level_ands();
    ((SLOT * plan.slots() + level) * width + SLOT * PIECE) as u64
}

/// Some lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// The first lane.
    pub(crate) start: usize,
    /// Number of lanes.
    pub(crate) width: usize,
    ands: usize,
}

impl Tile {
    pub(crate) fn lanes(&self) -> Range<usize> {
        self.start..self.start + self.width
    }

    /// The bucket of AND gate number `gate` of the plan in the first lane, those of the other lanes following.
    pub(crate) fn bucket(&self, gate: usize) -> usize {
        self.start * self.ands + gate * self.width
    }
}

/// The AND buckets of one circuit: items of one or more runs, counted through.
pub(crate) struct Lot<T> {
    runs: Vec<Run<T>>,
}

/// Consecutive items of one run.
pub(crate) struct Segment<'a, T> {
    /// The array that has them.
    pub(crate) items: &'a T,
    /// Where in the array.
    pub(crate) range: Range<usize>,
    /// The first of them, counted from the first that was asked for.
    pub(crate) at: usize,
}

impl<T> Lot<T> {
    pub(crate) fn new(runs: Vec<Run<T>>) -> Self {
        Self { runs }
    }

    /// Calls `each` with the segments of items `first..first + count`, in order.
    pub(crate) fn segments(&self, first: usize, count: usize, mut each: impl FnMut(Segment<'_, T>)) {
        let mut skip = first;
        let mut at = 0;
        for run in &self.runs {
            if at == count {
                return;
            }
            if skip >= run.len() {
                skip -= run.len();
                continue;
            }
            let start = run.range().start + skip;
            let length = (run.len() - skip).min(count - at);
            each(Segment {
                items: run.items(),
                range: start..start + length,
                at,
            });
            skip = 0;
            at += length;
        }
        assert!(at == count, "a lot has the buckets of its circuit");
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{BitOrder, Builder, library};

    use super::*;
    use crate::material::{EvaluatorEpoch, EvaluatorStock};

    #[test]
    fn tiles_cover_lanes_and_buckets_once() {
        let circuit = Circuit::new(&Plan::new(&library::by_name("aes128").unwrap())).unwrap();
        let ands = circuit.plan.and_count();
        for lanes in [0, 1, 2, 5, 17, 128, 1000] {
            let (mut lane, mut bucket) = (0, 0);
            for tile in circuit.tiles(lanes) {
                assert_eq!(tile.lanes().start, lane);
                for gate in 0..ands {
                    assert_eq!(tile.bucket(gate), bucket);
                    bucket += tile.width;
                }
                lane += tile.width;
                assert!((SLOT * tile.width * circuit.plan.slots() <= WORKING_SET) && tile.width <= PIECE / 2);
            }
            assert_eq!((lane, bucket), (lanes, lanes * ands));
        }
        assert_eq!(circuit.tiles(8).len(), 4);
        // However large a circuit or many its lanes are.
        let tiny = Circuit::new(&Plan::new(&library::by_name("lt4").unwrap())).unwrap();
        assert!(tiny.tiles(1 << 20).all(|tile| tile.width <= PIECE / 2));
    }

    #[test]
    fn negations_end_up_where_they_matter() {
        let mut b = Builder::new();
        let x = b.input("x", 2, BitOrder::Lsb);
        let both = b.and(!x[0], x[1]);
        let odd = b.xor(!x[0], !x[1]);
        b.output("out", &[!both, both, !odd, !x[1]], BitOrder::Lsb);
        let circuit = Circuit::new(&Plan::new(&b.finish())).unwrap();
        let op = circuit.plan.and_ops()[0];
        let inputs = circuit.plan.input_slots();
        let mut flips = circuit.operand_flips[0];
        // The plan may have exchanged the operands.
        if op.a == inputs[1] {
            flips.reverse();
        }
        assert_eq!(flips, [true, false]);
        assert_eq!(circuit.output_flips, [true, false, true, true]);
    }

    #[test]
    fn segments_go_through_all_runs() {
        let mut stock = EvaluatorStock::default();
        for ports in [3, 1, 4] {
            let shares = (0..ports).map(|_| Default::default()).collect::<Vec<_>>();
            let mut epoch = EvaluatorEpoch::default();
            epoch.garbler_inputs.shares = shares.into();
            stock.push(epoch);
        }
        let lot = Lot::new(stock.take_garbler_inputs(8).unwrap());
        let segments = |first, count| {
            let mut all = Vec::new();
            lot.segments(first, count, |segment| all.push((segment.range, segment.at)));
            all
        };
        assert_eq!(segments(0, 8), [(0..3, 0), (0..1, 3), (0..4, 4)]);
        assert_eq!(segments(1, 2), [(1..3, 0)]);
        assert_eq!(segments(3, 1), [(0..1, 0)]);
        assert_eq!(segments(2, 4), [(2..3, 0), (0..1, 1), (0..2, 2)]);
        assert_eq!(segments(8, 0), []);
    }
}
