//! A Circuit ORAM tree: blocks under labels that somebody else keeps.

use cenote_circuit::library::Goal;
use cenote_circuit::{Bit, Builder};
use cenote_primitives::LaneRun;

use super::bucket::Shape;
use super::counted::Counted;
use super::evict::evict;
use super::fill::filled;
use super::find::find;
use super::wires::{lane, part, zeros};
use crate::error::{Error, Result};
use crate::function::call;
use crate::secret::Secret;
use crate::session::Session;
use crate::value::Value;

/// Buckets that are kept together: a bucket changes at the price of copying so many.
const TOGETHER: usize = 64;

/// The buckets of a level, [`TOGETHER`] in a row; a row that was never written is not there.
struct Level {
    rows: Vec<Option<Value>>,
    lanes: usize,
    empty: Value,
}

impl Level {
    fn new(session: &Session, buckets: usize, width: u32) -> Self {
        let lanes = buckets.min(TOGETHER);
        Self {
            rows: vec![None; buckets / lanes],
            lanes,
            empty: zeros(session, width, 1),
        }
    }

    /// With `buckets`, one in each lane.
    fn of(buckets: &Value) -> Self {
        let lanes = buckets.lanes().min(TOGETHER);
        Self {
            rows: (0..buckets.lanes() / lanes)
                .map(|row| Some(buckets.slice(row * lanes, lanes)))
                .collect(),
            lanes,
            empty: buckets.clone(),
        }
    }

    fn get(&self, bucket: usize) -> Value {
        match &self.rows[bucket / self.lanes] {
            Some(row) => lane(row, bucket % self.lanes),
            None => lane(&self.empty, 0),
        }
    }

    fn set(&mut self, bucket: usize, value: &Value) {
        let (row, at) = (&mut self.rows[bucket / self.lanes], (bucket % self.lanes) as u32);
        let after = self.lanes as u32 - at - 1;
        let old = row.as_ref().unwrap_or(&self.empty);
        let copies = |start: u32, lanes: u32| match row {
            Some(_) => LaneRun::new(0, start, lanes),
            None => LaneRun {
                times: lanes,
                ..LaneRun::new(0, 0, 1)
            },
        };
        let mut runs = vec![copies(0, at), LaneRun::new(1, 0, 1), copies(at + 1, after)];
        runs.retain(|run| run.lanes() > 0);
        *row = Some(Value::arrange(&[old, value], &runs));
    }
}

/// A tree of buckets and a stash.
pub(super) struct Tree {
    session: Session,
    shape: Shape,
    stash: Value,
    /// From the root on; after the leaves the bins, if there are some.
    levels: Vec<Level>,
    /// Evictions so far.
    turn: u64,
    /// Buckets to be put back once they have been computed: their levels and places.
    due: Vec<(usize, usize, Value)>,
    /// Whether the last access lost a block.
    lost: Option<Value>,
    #[cfg(test)]
    pub(super) revealed: Vec<u64>,
}

impl Tree {
    /// A tree without blocks.
    pub(super) fn new(session: &Session, shape: Shape) -> Self {
        let levels = (0..=shape.height)
            .map(|level| Level::new(session, 1 << level, shape.bucket_bits(level)))
            .collect();
        Self {
            session: session.clone(),
            shape,
            stash: zeros(session, shape.stash_bits(), 1),
            levels,
            turn: 0,
            due: Vec::new(),
            lost: None,
            #[cfg(test)]
            revealed: Vec::new(),
        }
    }

    /// A tree without blocks, and bins with those of a row, each under its place as address and the label in the same place.
    ///
    /// # Errors
    /// Those of [`Session::reveal`].
    pub(super) fn of_row(shape: Shape, blocks: &Value, labels: &Value) -> Result<Self> {
        let mut tree = Self::new(blocks.session(), shape);
        if let Some(bins) = shape.bins {
            let (bins, lost) = filled(&shape, bins, blocks, labels)?;
            tree.levels.push(Level::of(&bins));
            tree.lost = Some(lost);
        }
        Ok(tree)
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether the last access lost a block; nothing before the first.
    pub(super) fn lost(&self) -> Option<&Value> {
        self.lost.as_ref()
    }

    /// Reveals whether the last access lost a block.
    ///
    /// # Errors
    /// [`Error::MemoryLost`] if it has; those of [`Session::reveal`].
    pub(super) fn check(&self) -> Result<()> {
        match &self.lost {
            Some(lost) if self.session.open(&Secret::<bool>::of(lost.clone()))?[0] => Err(Error::MemoryLost),
            _ => Ok(()),
        }
    }

    /// Takes the block at `address` off the path to `leaf`: whether it was there, and the block. What is recorded of them before
    /// [`Tree::insert`] is computed with them.
    pub(super) fn find(&mut self, leaf: u64, address: &Value) -> (Value, Value) {
        #[cfg(test)]
        self.revealed.push(leaf);
        let mut places: Vec<usize> = (0..=self.shape.height)
            .map(|level| self.place(leaf, level))
            .collect();
        places.extend(self.shape.bins.map(|bins| self.place(leaf, bins.bits)));
        let mut operands = vec![self.stash.clone()];
        operands.extend(
            self.levels
                .iter()
                .zip(&places)
                .map(|(level, &place)| level.get(place)),
        );
        operands.push(address.clone());
        let mut widths = path_widths(&self.shape);
        widths.extend([1, self.shape.data]);
        let operands: Vec<&Value> = operands.iter().collect();
        let mut results = call(&finding(self.shape).called, &operands, &widths);
        let (data, found) = (results.pop(), results.pop());
        let mut results = results.into_iter();
        self.stash = results.next().expect("the stash comes first");
        self.due = results
            .zip(places)
            .enumerate()
            .map(|(level, (bucket, place))| (level, place, bucket))
            .collect();
        let both = found.zip(data);
        both.expect("whether it was found, and the block, come last")
    }

    /// Puts a block in, which belongs on the path to the leaf `label`, and records two evictions, which [`Tree::settle`] ends.
    pub(super) fn insert(&mut self, address: &Value, label: &Value, data: &Value) {
        self.settle();
        let height = self.shape.height;
        let leaves = [self.next_leaf(), self.next_leaf()];
        let below = |leaf: u64| (1..=height).map(move |level| (level as usize, leaf));
        let mut places = vec![(0, 0)];
        places.extend(leaves.iter().flat_map(|&leaf| below(leaf)));
        let places: Vec<(usize, usize)> = places
            .into_iter()
            .map(|(level, leaf)| (level, self.place(leaf, level as u32)))
            .collect();
        let mut operands = vec![self.stash.clone()];
        operands.extend(places.iter().map(|&(level, place)| self.levels[level].get(place)));
        let both = u128::from(leaves[0] | leaves[1] << height);
        let both = self.session.constant_row(2 * height, &[both]);
        operands.extend([part(&both, 0, height), part(&both, height, height)]);
        operands.extend([address.clone(), label.clone(), data.clone()]);
        let mut widths = vec![self.shape.stash_bits()];
        widths.extend(
            places
                .iter()
                .map(|&(level, _)| self.shape.bucket_bits(level as u32)),
        );
        widths.push(1);
        let operands: Vec<&Value> = operands.iter().collect();
        let mut results = call(&eviction(self.shape).called, &operands, &widths);
        self.lost = results.pop();
        let mut results = results.into_iter();
        self.stash = results.next().expect("the stash comes first");
        self.due = results
            .zip(places)
            .map(|(bucket, (level, place))| (level, place, bucket))
            .collect();
    }

    /// Puts back what is due.
    pub(super) fn settle(&mut self) {
        for (level, place, bucket) in std::mem::take(&mut self.due) {
            self.levels[level].set(place, &bucket);
        }
    }

    /// The bucket of `level` on the path to `leaf`.
    fn place(&self, leaf: u64, level: u32) -> usize {
        (leaf >> (self.shape.height - level)) as usize
    }

    /// The leaves in reverse-lexicographic order, over and over.
    fn next_leaf(&mut self) -> u64 {
        let leaf = self.turn.reverse_bits() >> (64 - self.shape.height);
        self.turn += 1;
        leaf
    }

    #[cfg(test)]
    pub(super) fn contents(&self) -> (Value, Vec<Vec<Value>>) {
        let levels = self.levels[..=self.shape.height as usize].iter().map(|level| {
            let buckets = level.rows.len() * level.lanes;
            (0..buckets).map(|bucket| level.get(bucket)).collect()
        });
        (self.stash.clone(), levels.collect())
    }
}

/// Bits of the stash, of the buckets of a path, and of a bin.
fn path_widths(shape: &Shape) -> Vec<u32> {
    let mut widths = vec![shape.stash_bits()];
    widths.extend((0..=shape.height).map(|level| shape.bucket_bits(level)));
    widths.extend(shape.bins.map(|bins| shape.bin_bits(bins)));
    widths
}

/// [`find`].
pub(super) fn finding(shape: Shape) -> Counted {
    let mut operands = path_widths(&shape);
    operands.push(shape.address);
    let gates = move |b: &mut Builder, operands: &[&[Bit]], _: Goal| find(b, &shape, operands);
    Counted::new(format!("memory find {shape}"), &operands, Box::new(gates))
}

/// [`evict`].
pub(super) fn eviction(shape: Shape) -> Counted {
    let mut operands = vec![shape.stash_bits(), shape.bucket_bits(0)];
    for _ in 0..2 {
        operands.extend((1..=shape.height).map(|level| shape.bucket_bits(level)));
    }
    operands.extend([
        shape.height,
        shape.height,
        shape.address,
        shape.height,
        shape.data,
    ]);
    let gates = move |b: &mut Builder, operands: &[&[Bit]], goal: Goal| evict(b, &shape, operands, goal);
    Counted::new(format!("memory evict {shape}"), &operands, Box::new(gates))
}
