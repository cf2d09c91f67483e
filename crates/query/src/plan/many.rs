//! Joins in which a key may come several times on both sides.

use std::sync::Arc;

use super::combine::{join, join_of_at_most};
use super::group::own_groups;
use super::moments::Moments;
use super::order::cost;
use super::physical::{Column, Join, Physical, Step};
use super::window::numbered;
use crate::error::{Place, Result};
use crate::expr::{Arithmetic, Comparison, Expr, ValueKind};
use crate::relation::Function;

/// A join of these sides by these keys, of at most so many rows.
pub(super) struct ManyToMany<'a> {
    pub(super) probe: &'a Physical,
    pub(super) lookup: &'a Physical,
    pub(super) probe_keys: Vec<usize>,
    pub(super) lookup_keys: Vec<usize>,
    pub(super) most: usize,
    /// Whether a row of `probe` without any counts too, with nulls.
    pub(super) outer: bool,
    pub(super) at: Option<Place>,
}

impl ManyToMany<'_> {
    /// Each row of `probe` with those of `lookup`, which has an owner, that have its keys: the columns of both, and about how many ANDs that takes. More rows than `most`
    /// are a failure.
    pub(super) fn joined(self, in_orders: bool) -> Result<(Physical, f64)> {
        if self.probe.owner == self.lookup.owner {
            return Ok((self.together()?, 0.0));
        }
        self.secretly(in_orders)
    }

    /// By the owner of both.
    fn together(self) -> Result<Physical> {
        let join = Join {
            probe: self.probe.clone(),
            lookup: self.lookup.clone(),
            probe_keys: self.probe_keys,
            lookup_keys: self.lookup_keys,
            slots: self.lookup.rows,
            outer: self.outer,
            rest: false,
        };
        let mut joined = join_of_at_most(join, self.most, self.at)?;
        // How often keys come was not promised, and is no reason to join by it.
        joined.facts.at_most.clear();
        Ok(joined)
    }

    /// The owner numbers the rows of `lookup` in the order of their keys. Each row of `probe` finds how many have its keys, and the first of their numbers. It comes as often as
    /// that, each time with the next number, and looks up the row with that number.
    ///
    /// The owner may give other rows the second time, so what is found must have the keys; if rows without any count, what has not is as if it was not found. All that the owner
    /// can do is as if it had given rows of which some are not shown, with how often each key comes: as many as it may have.
    fn secretly(self, in_orders: bool) -> Result<(Physical, f64)> {
        let (probe, lookup) = (self.probe, self.lookup);
        let (probe_width, lookup_width) = (probe.columns.len(), lookup.columns.len());
        let rows = numbered(lookup.clone(), &self.lookup_keys);
        let counted = self.counted(&rows);
        let own_keys: Vec<usize> = (0..self.lookup_keys.len()).collect();
        let keys = (&self.probe_keys[..], &own_keys[..]);
        let mut takes = cost((probe, &counted), keys, 1, in_orders);
        let count = probe_width + own_keys.len();
        let found = self.looked_up(probe.clone(), counted, self.probe_keys.clone(), own_keys)?;
        let mut all = found.all();
        if self.outer {
            // That there is a row in each group is verified.
            all[count] = all[count].clone().with_default(Expr::number(1, 0));
        }
        let told = all[..probe_width].iter().chain(&all[count..]).cloned();
        let copies = repeated(found.project(told.collect()), probe_width, self.most);
        takes += of_copies(&copies);
        let all = copies.all();
        let (first, number) = (&all[probe_width + 1], &all[probe_width + 2]);
        let next = Expr::arithmetic(Arithmetic::Add, first.clone(), number.clone());
        let kind = next.kind;
        let copies = copies.project(all[..probe_width].iter().cloned().chain([next]).collect());
        let mut all = rows.all();
        all[lookup_width] = all[lookup_width].clone().into_kind(kind);
        let rows = rows.project(all);
        takes += cost((&copies, &rows), (&[probe_width], &[lookup_width]), 1, in_orders);
        let both = self.looked_up(copies, rows, vec![probe_width], vec![lookup_width])?;
        Ok((self.told(both), takes))
    }

    /// Of the keys of numbered rows, how many rows have each, and the least of their numbers.
    fn counted(&self, rows: &Physical) -> Physical {
        let all = rows.all();
        let keys = self.lookup_keys.iter().map(|&key| all[key].clone());
        let made = [Expr::bool(true), all[all.len() - 1].clone()];
        let keyed = rows.clone().project(keys.chain(made).collect());
        let functions = [Function::Rows, Function::Least];
        let made = (&functions[..], &Moments::of(&[]));
        own_groups(keyed, self.lookup_keys.len(), made, true, true)
    }

    /// The columns of both sides, where what was found has the keys.
    fn told(&self, both: Physical) -> Physical {
        let probe_width = self.probe.columns.len();
        let all = both.all();
        let of_lookup = &all[probe_width + 1..all.len() - 1];
        let pairs = || self.probe_keys.iter().zip(&self.lookup_keys);
        let same = pairs().filter_map(|(&probe, &lookup)| {
            Expr::compare(Comparison::Equal, all[probe].clone(), of_lookup[lookup].clone())
        });
        let same = Expr::all(same.collect()).expect("a join has keys");
        let own = all[..probe_width].iter().cloned();
        if self.outer {
            let or_null = |expr: &Expr| {
                let null = Expr::null(expr.kind);
                Expr::choice(same.clone(), expr.clone(), null).expect("both are of one kind")
            };
            let told = own.chain(of_lookup.iter().map(or_null)).collect();
            return both.project(told);
        }
        let told = own.chain(of_lookup.iter().cloned());
        let mut both = both.filter(same).project(told.collect());
        for (&probe, &lookup) in pairs() {
            both.facts.depend(vec![probe], [probe_width + lookup], true);
            both.facts.depend(vec![probe_width + lookup], [probe], true);
        }
        both
    }

    /// Each row of `probe` with the one of `lookup` that has its keys, if there is one.
    fn looked_up(
        &self,
        probe: Physical,
        lookup: Physical,
        probe_keys: Vec<usize>,
        lookup_keys: Vec<usize>,
    ) -> Result<Physical> {
        let own = Join {
            probe,
            lookup,
            probe_keys,
            lookup_keys,
            slots: 1,
            outer: self.outer,
            rest: false,
        };
        join(own, self.at)
    }
}

/// Each row as often as its column `count` says, at most `most` in all, and behind its columns which of its copies it is.
fn repeated(input: Physical, count: usize, most: usize) -> Physical {
    let times = match input.columns[count].kind.range() {
        Some((_, times)) => times.clamp(1, most as i128),
        None => most as i128,
    };
    let number = Column {
        kind: ValueKind::Number {
            least: 0,
            most: times - 1,
            scale: 0,
        },
        nullable: false,
    };
    Physical {
        columns: input.columns.iter().copied().chain([number]).collect(),
        rows: most,
        owner: input.owner,
        facts: input.facts.of_copies(),
        step: Arc::new(Step::Repeat {
            input: Box::new(input),
            count,
        }),
    }
}

/// About how many ANDs it takes to repeat rows: they are merged with the places of their copies, and filled in.
fn of_copies(copies: &Physical) -> f64 {
    let input: usize = copies.inputs().into_iter().map(|input| input.rows).sum();
    let all = (input + copies.rows) as f64;
    let levels = all.log2().max(1.0);
    all * (1.5 * levels * levels + 3.0 * copies.width() as f64 + 100.0)
}
