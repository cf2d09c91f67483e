//! What is known of the rows that a step gives, because owners promise it or the step makes it so. Whatever relies on it verifies it.

use std::collections::{BTreeMap, BTreeSet};

use super::physical::{Join, values};
use crate::expr::Expr;

/// Most dependencies that are kept of a step.
const MAX_DEPENDENCIES: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Columns whose values together come at most so many times, nulls aside.
    pub(crate) at_most: Vec<(Vec<usize>, usize)>,
    /// How many different values, nulls included, each column has at most.
    pub(crate) distinct: Vec<Option<u64>>,
    dependencies: Vec<Dependency>,
}

/// Rows that are alike in some columns, nulls included, are alike in others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dependency {
    on: Vec<usize>,
    columns: BTreeSet<usize>,
    /// Whether secret steps have made it so, or seen to it, whatever owners give.
    verified: bool,
}

impl Facts {
    pub(crate) fn new(at_most: Vec<(Vec<usize>, usize)>, distinct: Vec<Option<u64>>) -> Self {
        Facts {
            at_most,
            distinct,
            dependencies: Vec::new(),
        }
    }

    /// Columns depend on others.
    pub(crate) fn depend(
        &mut self,
        on: Vec<usize>,
        columns: impl IntoIterator<Item = usize>,
        verified: bool,
    ) {
        if self.dependencies.len() < MAX_DEPENDENCIES {
            self.dependencies.push(Dependency {
                on,
                columns: columns.into_iter().collect(),
                verified,
            });
        }
    }

    /// What else is known of the same rows, because other steps would give them.
    pub(super) fn also(&mut self, other: &Facts) {
        let more = other.at_most.iter().filter(|fact| !self.at_most.contains(fact));
        let more: Vec<_> = more.cloned().collect();
        self.at_most.extend(more);
        for (own, other) in self.distinct.iter_mut().zip(&other.distinct) {
            *own = own.iter().chain(other).copied().min();
        }
        for one in other.given().dependencies {
            self.depend(one.on, one.columns, false);
        }
    }

    /// The same of rows that an owner gives, who may break them.
    pub(crate) fn given(&self) -> Self {
        let mut facts = self.clone();
        facts
            .dependencies
            .iter_mut()
            .for_each(|dependency| dependency.verified = false);
        facts
    }

    /// Of each column whether it is one of `on` or depends on them, by these dependencies.
    fn closure(
        &self,
        on: impl IntoIterator<Item = usize>,
        counts: impl Fn(&Dependency) -> bool,
    ) -> Vec<bool> {
        let mut known = vec![false; self.distinct.len()];
        on.into_iter().for_each(|column| known[column] = true);
        let mut left: Vec<&Dependency> = self.dependencies.iter().filter(|one| counts(one)).collect();
        while let Some(next) = left
            .iter()
            .position(|one| one.on.iter().all(|&column| known[column]))
        {
            let one = left.swap_remove(next);
            one.columns.iter().for_each(|&column| known[column] = true);
        }
        known
    }

    /// Whether a column is the same in rows that are alike in these: of secret rows, whatever owners give.
    pub(super) fn depends(&self, column: usize, on: impl IntoIterator<Item = usize>, secret: bool) -> bool {
        self.closure(on, |dependency| dependency.verified || !secret)[column]
    }

    /// Of these columns those on which the others depend, which is to be verified. A column of many bits, of which `bits` says how many, is more readily left out.
    pub(crate) fn independent(&self, columns: usize, bits: impl Fn(usize) -> u32) -> Vec<usize> {
        let mut kept: BTreeSet<usize> = (0..columns).collect();
        let mut widest_first: Vec<usize> = (0..columns).collect();
        widest_first.sort_by_key(|&column| std::cmp::Reverse(bits(column)));
        for column in widest_first {
            kept.remove(&column);
            if kept.is_empty() || !self.closure(kept.iter().copied(), |_| true)[column] {
                kept.insert(column);
            }
        }
        kept.into_iter().collect()
    }

    /// Of rows that are made of each row.
    pub(super) fn of_exprs(&self, exprs: &[Expr]) -> Facts {
        let mut places = BTreeMap::new();
        let mut alike = Vec::new();
        for (at, expr) in exprs.iter().enumerate() {
            if let Some(old) = expr.as_column() {
                let first = *places.entry(old).or_insert(at);
                alike.extend((first != at).then_some([first, at]));
            }
        }
        let moved =
            |of: &[usize]| -> Option<Vec<usize>> { of.iter().map(|old| places.get(old).copied()).collect() };
        let at_most = self.at_most.iter();
        let at_most = at_most.filter_map(|(of, count)| Some((moved(of)?, *count)));
        let distinct = exprs.iter().map(|expr| match expr.as_column() {
            Some(old) => self.distinct[old],
            None => values(expr.kind, expr.nullable),
        });
        let mut facts = Facts::new(at_most.collect(), distinct.collect());
        for [one, other] in alike {
            facts.depend(vec![one], [other], true);
            facts.depend(vec![other], [one], true);
        }
        for Dependency { on, verified, .. } in &self.dependencies {
            let Some(new) = moved(on) else {
                continue;
            };
            let known = self.closure(on.iter().copied(), |other| other.verified || !verified);
            let depends = |expr: &Expr| {
                let mut all = true;
                expr.columns(&mut |column| all &= known[column]);
                all
            };
            let columns = (0..exprs.len()).filter(|&at| depends(&exprs[at]));
            facts.depend(new, columns, *verified);
        }
        facts
    }

    /// Of rows that come several times, each with a number behind its columns.
    pub(super) fn of_copies(&self) -> Facts {
        let mut facts = self.clone();
        facts.at_most.clear();
        facts.distinct.push(None);
        facts
    }

    /// Of groups by the first `keys` columns; what is made of each comes after these.
    pub(super) fn of_groups(&self, keys: usize, distinct: Vec<Option<u64>>, verified: bool) -> Facts {
        let of_keys = |of: &[usize]| of.iter().all(|&column| column < keys);
        let at_most = self.at_most.iter().filter(|(of, _)| of_keys(of)).cloned();
        let all = (0..keys).collect();
        let columns = distinct.len();
        let mut facts = Facts::new(at_most.chain([(all, 1)]).collect(), distinct);
        facts.depend((0..keys).collect(), 0..columns, verified);
        for one in self.dependencies.iter().filter(|one| of_keys(&one.on)) {
            let columns = one.columns.iter().copied().filter(|&column| column < keys);
            facts.depend(one.on.clone(), columns, one.verified);
        }
        facts
    }

    /// Of the rows of a join, which is done secretly, or by one party.
    pub(super) fn of_join(join: &Join, secretly: bool) -> Facts {
        let [probe, lookup] = [&join.probe, &join.lookup].map(|side| match side.owner {
            Some(_) if secretly => side.facts.given(),
            _ => side.facts.clone(),
        });
        let (slots, outer, rest) = (join.slots, join.outer, join.rest);
        let count = probe.distinct.len();
        let later = |column: &usize| column + count;
        let repeated = |(of, count): &(Vec<usize>, usize)| (of.clone(), count.saturating_mul(slots));
        let with_null = |of: &[Option<u64>], lacks: bool| {
            let more = |distinct: &Option<u64>| distinct.map(|distinct| distinct + u64::from(lacks));
            of.iter().map(more).collect::<Vec<_>>()
        };
        let distinct = [
            with_null(&probe.distinct, rest),
            with_null(&lookup.distinct, outer),
        ];
        // Rows that lack one side are others, though all of them are null there.
        let at_most = probe.at_most.iter().filter(|(of, _)| !rest || !of.is_empty());
        let mut facts = Facts::new(at_most.map(repeated).collect(), distinct.concat());
        if slots == 1 && !rest {
            let columns = (0..lookup.distinct.len()).map(|at| at + count);
            facts.depend(join.probe_keys.clone(), columns, secretly);
        }
        if !outer && !rest {
            for (probe, lookup) in join.probe_keys.iter().zip(join.lookup_keys.iter().map(later)) {
                facts.depend(vec![*probe], [lookup], secretly);
                facts.depend(vec![lookup], [*probe], secretly);
            }
        }
        // Rows that lack one side are null in all of its columns, and must not meet others in these.
        for one in &probe.dependencies {
            if !rest || one.on.iter().any(|&column| !join.probe.columns[column].nullable) {
                facts.depend(one.on.clone(), one.columns.iter().copied(), one.verified);
            }
        }
        let found = |column: &usize| {
            !join.lookup.columns[*column].nullable || !rest && join.lookup_keys.contains(column)
        };
        for one in &lookup.dependencies {
            if !outer || one.on.iter().any(found) {
                let on = one.on.iter().map(later).collect();
                facts.depend(on, one.columns.iter().map(later), one.verified);
            }
        }
        facts
    }
}
