//! Blocks in a row, of which every access reads all: the best for few blocks.

use cenote_primitives::LaneRun;

use super::counted::Counted;
use super::index::{Grid, IndexKind};
use super::settings::Access;
use super::wires::{part, sum};
use crate::function::call;
use crate::op::Op;
use crate::value::Value;

/// A block in each lane.
pub(super) struct Scan {
    rows: Value,
    grid: Grid,
}

impl Scan {
    pub(super) fn new(rows: Value) -> Self {
        let grid = Grid::new(rows.lanes());
        Self { rows, grid }
    }

    fn width(&self) -> u32 {
        self.rows.width()
    }

    /// The block at `index`, zeros if there is none.
    pub(super) fn read(&self, index: &Value, kind: IndexKind) -> Value {
        let places = self.places(index, &self.grid.of_index(kind));
        self.pick(&places)
    }

    /// Makes `value` the block at `index`, if there is one.
    pub(super) fn write(&mut self, index: &Value, kind: IndexKind, value: &Value) {
        let places = self.places(index, &self.grid.of_index(kind));
        self.rows = Value::apply(Op::Select, &[&places, value, &self.rows], self.width());
    }

    /// As [`Scan::read`], and then, where `write` is set, as [`Scan::write`].
    pub(super) fn access(&mut self, write: &Value, index: &Value, kind: IndexKind, value: &Value) -> Value {
        let width = self.width();
        let places = self.places(index, &self.grid.of_index(kind));
        let old = self.pick(&places);
        let change = Value::apply(Op::Xor, &[&old, value], width);
        let nothing = old.session().constant(width, 0);
        let change = Value::apply(Op::Select, &[write, &change, &nothing], width);
        let changed = Value::apply(Op::Xor, &[&self.rows, &change], width);
        self.rows = Value::apply(Op::Select, &[&places, &changed, &self.rows], width);
        old
    }

    /// The block at `address`, which is that of one, and `value` in its stead.
    pub(super) fn exchange(&mut self, address: &Value, value: &Value) -> Value {
        let width = self.width();
        let places = self.places(address, &self.grid.of_address());
        let operands = [&places, &self.rows, value];
        let results = call(&swap(width).called, &operands, &[width, width]);
        self.rows = results[0].clone();
        let change = sum(results[1].clone());
        Value::apply(Op::Xor, &[value, &change], width)
    }

    fn pick(&self, places: &Value) -> Value {
        let width = self.width();
        let nothing = places.session().constant(width, 0);
        sum(Value::apply(Op::Select, &[places, &self.rows, &nothing], width))
    }

    /// In each lane whether it is the one.
    fn places(&self, index: &Value, one_hot: &Counted) -> Value {
        let Grid { places, low, high } = self.grid;
        let pairs = Value::apply(Op::Call(one_hot.called.clone()), &[index], (low + high) as u32);
        pairs.session().flush();
        let bits: Vec<Value> = (0..low + high).map(|at| part(&pairs, at as u32, 1)).collect();
        let bits: Vec<&Value> = bits.iter().collect();
        let times = |run: LaneRun, times: usize| LaneRun {
            times: times as u32,
            ..run
        };
        let rest = places - (high - 1) * low;
        let high_runs: Vec<LaneRun> = (0..high)
            .map(|at| {
                times(
                    LaneRun::new(at as u32, 0, 1),
                    if at + 1 < high { low } else { rest },
                )
            })
            .collect();
        let high_row = Value::arrange(&bits[..high], &high_runs);
        let low_runs: Vec<LaneRun> = (0..low).map(|at| LaneRun::new(at as u32, 0, 1)).collect();
        let low_row = Value::arrange(&bits[high..], &low_runs);
        let whole = times(LaneRun::new(0, 0, low as u32), high - 1);
        let mut low_runs = vec![whole, LaneRun::new(0, 0, rest as u32)];
        low_runs.retain(|run| run.lanes() > 0);
        let low_row = Value::arrange(&[&low_row], &low_runs);
        Value::apply(Op::And, &[&high_row, &low_row], 1)
    }
}

/// From whether it is the place, what is there and what is to be there: what is there after, and the change.
fn swap(width: u32) -> Counted {
    Counted::new(
        format!("memory exchange {width}"),
        &[1, width, width],
        Box::new(|b, operands, _| {
            let [here, old, new] = operands else {
                unreachable!("three operands are given")
            };
            let change: Vec<_> = old
                .iter()
                .zip(*new)
                .map(|(&old, &new)| {
                    let differ = b.xor(old, new);
                    b.and(here[0], differ)
                })
                .collect();
            let mut all: Vec<_> = old
                .iter()
                .zip(&change)
                .map(|(&old, &change)| b.xor(old, change))
                .collect();
            all.extend(change);
            all
        }),
    )
}

/// ANDs of an access by an index to `blocks` blocks of `width` bits.
pub(super) fn ands(blocks: usize, width: u32, access: Access, kind: IndexKind) -> u64 {
    let (n, w) = (blocks as u64, u64::from(width));
    let places = Grid::new(blocks).of_index(kind).ands + n;
    match access {
        Access::Read | Access::Write => places + n * w,
        Access::Secret => places + 2 * n * w + w,
    }
}

/// ANDs of [`Scan::exchange`].
pub(super) fn exchange_ands(blocks: usize, width: u32) -> u64 {
    let n = blocks as u64;
    Grid::new(blocks).of_address().ands + n + n * u64::from(width)
}
