//! A Circuit ORAM: a tree of blocks, and where each of them is.

use cenote_primitives::Entropy;

use super::index::{IndexKind, clamp};
use super::plan::Plan;
use super::positions::{Coins, Positions, reveal_leaf};
use super::tree::Tree;
use crate::error::{Error, Result};
use crate::function::call;
use crate::op::Op;
use crate::session::Session;
use crate::value::Value;

/// Blocks in a tree, their labels in a position map.
pub(super) struct Oram {
    plan: Plan,
    tree: Tree,
    positions: Positions,
    coins: Coins,
    lost: bool,
}

/// What is done with a block: its value from then on, and the result.
type Use<'a> = dyn Fn(&Value, &Value) -> (Value, Option<Value>) + 'a;

impl Oram {
    /// By `plan`, all zeros.
    pub(super) fn new(session: &Session, plan: Plan, entropy: Entropy) -> Self {
        let mut coins = Coins::new(session, plan.coins(), entropy);
        Self {
            tree: Tree::new(session, plan.tree),
            positions: Positions::new(session, &plan, &mut coins),
            plan,
            coins,
            lost: false,
        }
    }

    /// By `plan`, with the blocks of `row`.
    ///
    /// # Errors
    /// Those of [`Session::reveal`].
    pub(super) fn of_row(row: &Value, plan: Plan, entropy: Entropy) -> Result<Self> {
        let mut coins = Coins::new(row.session(), plan.coins(), entropy);
        let labels = coins.row(plan.tree.height, row.lanes());
        Ok(Self {
            tree: Tree::of_row(plan.tree, row, &labels)?,
            positions: Positions::of_row(labels, &plan.maps, plan.factor_bits, &mut coins)?,
            plan,
            coins,
            lost: false,
        })
    }

    /// The leaves revealed so far: of the tree, and of those of labels.
    #[cfg(test)]
    pub(super) fn revealed(&self) -> Vec<(u32, Vec<u64>)> {
        let mut all = vec![(self.plan.tree.height, self.tree.revealed.clone())];
        self.positions.revealed(&mut all);
        all
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The block at `index`, zeros if there is none.
    pub(super) fn read(&mut self, index: &Value, kind: IndexKind) -> Result<Value> {
        let width = self.plan.tree.data;
        let old = self.block(index, kind, &|within, old| {
            let nothing = old.session().constant(width, 0);
            (
                old.clone(),
                Some(Value::apply(Op::Select, &[within, old, &nothing], width)),
            )
        })?;
        Ok(old.expect("reading has a result"))
    }

    /// Makes `value` the block at `index`, if there is one.
    pub(super) fn write(&mut self, index: &Value, kind: IndexKind, value: &Value) -> Result<()> {
        let width = self.plan.tree.data;
        self.block(index, kind, &|within, old| {
            (Value::apply(Op::Select, &[within, value, old], width), None)
        })?;
        Ok(())
    }

    /// As [`Oram::read`], and then, where `write` is set, as [`Oram::write`].
    pub(super) fn access(
        &mut self,
        write: &Value,
        index: &Value,
        kind: IndexKind,
        value: &Value,
    ) -> Result<Value> {
        let width = self.plan.tree.data;
        let old = self.block(index, kind, &|within, old| {
            let nothing = old.session().constant(width, 0);
            let writes = Value::apply(Op::And, &[within, write], 1);
            (
                Value::apply(Op::Select, &[&writes, value, old], width),
                Some(Value::apply(Op::Select, &[within, old, &nothing], width)),
            )
        })?;
        Ok(old.expect("an access has a result"))
    }

    /// Tells whether a block has been lost.
    pub(super) fn check(&mut self) -> Result<()> {
        self.told(|oram| {
            oram.tree.check()?;
            oram.positions.check()
        })
    }

    /// Uses the block at `index`, or block 0 if there is none.
    fn block(&mut self, index: &Value, kind: IndexKind, what: &Use<'_>) -> Result<Option<Value>> {
        self.told(|oram| {
            let shape = oram.plan.tree;
            let clamped = call(
                &clamp(kind, oram.plan.blocks).called,
                &[index],
                &[shape.address, 1],
            );
            index.session().flush();
            oram.coins.next();
            let label = oram.coins.take(shape.height);
            let old = oram.positions.exchange(&mut oram.coins, &clamped[0], &label)?;
            let leaf = reveal_leaf(&old, &oram.tree)?;
            let (_, data) = oram.tree.find(leaf, &clamped[0]);
            let (data, result) = what(&clamped[1], &data);
            oram.tree.insert(&clamped[0], &label, &data);
            oram.positions.put_back();
            oram.tree.settle();
            oram.positions.settle();
            Ok(result)
        })
    }

    /// Does nothing more once a block has been lost.
    fn told<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.lost {
            return Err(Error::MemoryLost);
        }
        let result = work(self);
        self.lost = matches!(result, Err(Error::MemoryLost));
        result
    }
}
