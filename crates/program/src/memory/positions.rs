//! Where each block of a tree is: its label, kept in a row or, many to a block, in a smaller tree.

use cenote_primitives::Entropy;

use super::bucket::Shape;
use super::entry::entry;
use super::plan::Plan;
use super::scan::Scan;
use super::tree::Tree;
use super::wires::{joined, lane, part};
use crate::error::{Error, Result};
use crate::function::call;
use crate::secret::Secret;
use crate::session::Session;
use crate::value::Value;

/// Accesses for which random bits are made at a time.
const BATCH: usize = 64;

/// Random bits, some for each access.
pub(super) struct Coins {
    session: Session,
    entropy: Entropy,
    width: u32,
    row: Option<Value>,
    used: usize,
    word: Option<Value>,
    taken: u32,
}

impl Coins {
    /// `width` bits for each access.
    pub(super) fn new(session: &Session, width: u32, entropy: Entropy) -> Self {
        Self {
            session: session.clone(),
            entropy,
            width,
            row: None,
            used: BATCH,
            word: None,
            taken: 0,
        }
    }

    /// Random bits of any shape.
    pub(super) fn row(&mut self, width: u32, lanes: usize) -> Value {
        self.session.random_bits(width, lanes, &mut self.entropy)
    }

    /// Begins an access.
    pub(super) fn next(&mut self) {
        if self.used == BATCH {
            self.row = Some(self.row(self.width, BATCH));
            self.used = 0;
        }
        self.word = self.row.as_ref().map(|row| lane(row, self.used));
        self.used += 1;
        self.taken = 0;
    }

    /// The next bits of the access.
    pub(super) fn take(&mut self, width: u32) -> Value {
        let word = self.word.as_ref().expect("an access has begun");
        let taken = part(word, self.taken, width);
        self.taken += width;
        taken
    }
}

/// The labels of the blocks of a tree.
pub(super) enum Positions {
    /// A label in each lane.
    Row(Scan),
    /// Several labels to a block.
    Tree(Box<Deeper>),
}

/// Labels in a tree, whose own labels are elsewhere.
pub(super) struct Deeper {
    tree: Tree,
    labels: Positions,
    /// Labels to a block, as a power of 2.
    factor_bits: u32,
    /// The block that was taken out: its address, its new label and what is in it.
    taken: Option<(Value, Value, Value)>,
}

impl Positions {
    /// Random labels for the blocks of a tree, by `plan`. Those that are in trees are drawn when they are needed first.
    pub(super) fn new(session: &Session, plan: &Plan, coins: &mut Coins) -> Self {
        let rows = coins.row(plan.row_bits, plan.row);
        let mut labels = Positions::Row(Scan::new(rows));
        for &shape in plan.maps.iter().rev() {
            labels = Positions::Tree(Box::new(Deeper {
                tree: Tree::new(session, shape),
                labels,
                factor_bits: plan.factor_bits,
                taken: None,
            }));
        }
        labels
    }

    /// The labels of `row`, one in each lane, in trees of the shapes `maps`.
    ///
    /// # Errors
    /// Those of [`Session::reveal`].
    pub(super) fn of_row(row: Value, maps: &[Shape], factor_bits: u32, coins: &mut Coins) -> Result<Self> {
        let Some((&shape, rest)) = maps.split_first() else {
            return Ok(Positions::Row(Scan::new(row)));
        };
        let blocks = joined(&row, 1 << factor_bits);
        let labels = coins.row(shape.height, blocks.lanes());
        Ok(Positions::Tree(Box::new(Deeper {
            tree: Tree::of_row(shape, &blocks, &labels)?,
            labels: Self::of_row(labels, rest, factor_bits, coins)?,
            factor_bits,
            taken: None,
        })))
    }

    /// The label at `address`, and `fresh` in its stead. What was taken out is put back by [`Positions::put_back`].
    ///
    /// # Errors
    /// Those of [`reveal_leaf`].
    pub(super) fn exchange(&mut self, coins: &mut Coins, address: &Value, fresh: &Value) -> Result<Value> {
        match self {
            Positions::Row(scan) => Ok(scan.exchange(address, fresh)),
            Positions::Tree(deeper) => {
                let factor_bits = deeper.factor_bits;
                let block = part(address, factor_bits, address.width() - factor_bits);
                let place = part(address, 0, factor_bits);
                let shape = *deeper.tree.shape();
                let label = coins.take(shape.height);
                let fill = coins.take(shape.data);
                let old = deeper.labels.exchange(coins, &block, &label)?;
                let leaf = reveal_leaf(&old, &deeper.tree)?;
                let (found, data) = deeper.tree.find(leaf, &block);
                let entry = entry(factor_bits, fresh.width());
                let operands = [&found, &data, &fill, &place, fresh];
                let results = call(&entry.called, &operands, &[fresh.width(), shape.data]);
                deeper.taken = Some((block, label, results[1].clone()));
                Ok(results[0].clone())
            }
        }
    }

    /// Records the evictions of all trees, after which [`Positions::settle`] ends them.
    pub(super) fn put_back(&mut self) {
        if let Positions::Tree(deeper) = self {
            if let Some((address, label, data)) = deeper.taken.take() {
                deeper.tree.insert(&address, &label, &data);
            }
            deeper.labels.put_back();
        }
    }

    #[cfg(test)]
    pub(super) fn revealed(&self, all: &mut Vec<(u32, Vec<u64>)>) {
        if let Positions::Tree(deeper) = self {
            all.push((deeper.tree.shape().height, deeper.tree.revealed.clone()));
            deeper.labels.revealed(all);
        }
    }

    /// See [`Tree::check`].
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Positions::Row(_) => Ok(()),
            Positions::Tree(deeper) => {
                deeper.tree.check()?;
                deeper.labels.check()
            }
        }
    }

    /// See [`Tree::settle`].
    pub(super) fn settle(&mut self) {
        if let Positions::Tree(deeper) = self {
            deeper.tree.settle();
            deeper.labels.settle();
        }
    }
}

/// Reveals a label of a tree, and with it whether the tree has lost a block.
///
/// # Errors
/// [`Error::MemoryLost`] if it has; those of [`Session::reveal`].
pub(super) fn reveal_leaf(label: &Value, tree: &Tree) -> Result<u64> {
    let session = label.session();
    let label = Secret::<u64>::of(label.clone());
    let leaf = match tree.lost() {
        None => session.open(&label)?,
        Some(lost) => {
            let (leaf, lost) = session.open(&(label, Secret::<bool>::of(lost.clone())))?;
            if lost[0] {
                return Err(Error::MemoryLost);
            }
            leaf
        }
    };
    Ok(leaf[0])
}
