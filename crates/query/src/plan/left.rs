//! LEFT JOIN: what is asked of each table, and which looks the other up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::atoms::Placed;
use super::combine::{join, slots};
use super::physical::{Join, Physical};
use super::planner::Planner;
use crate::error::{Error, Place, Result};
use crate::expr::Expr;
use crate::relation::Relation;

impl Planner<'_> {
    /// Each row of `left` with those of `right` that have its keys, or with nulls.
    pub(super) fn left(
        &self,
        at: Option<Place>,
        (left, right): (&Relation, &Relation),
        on: &[(Expr, Expr)],
        wanted: &[Expr],
    ) -> Result<Physical> {
        let count = left.columns.len();
        let moved =
            |expr: &Expr| expr.over(&|column| Expr::column(column + count, right.columns[column].kind, true));
        let (mut probe_keys, mut lookup_keys) = (Vec::new(), Vec::new());
        let mut atoms = [Vec::new(), Vec::new()];
        let mut key = None;
        for (x, y) in on {
            let kind = x
                .kind
                .unified(y.kind)
                .ok_or_else(|| Error::query(at, "join columns of the same type"))?;
            probe_keys.push(self.add(&mut atoms[0], x.clone().into_kind(kind), at)?);
            let own = Expr {
                nullable: true,
                ..moved(y).into_kind(kind)
            };
            lookup_keys.push(self.add(&mut atoms[1], own.clone(), at)?);
            key.get_or_insert(own);
        }
        // Of the first table what is wanted, of the second what is null where its columns are.
        let side = |column: usize| usize::from(column >= count);
        let (wanted, calls) = match &key {
            Some(key) => with_defaults(wanted, count, key),
            None => (wanted.to_vec(), Vec::new()),
        };
        let wanted = &wanted[..];
        for call in &calls {
            self.add(&mut atoms[1], call.clone(), at)?;
        }
        let whole =
            |input: usize, part: &Expr| input == 0 || part.is_null_with_columns() || calls.contains(part);
        for expr in wanted {
            self.atoms(expr, (&side, &whole), &mut atoms, at)?;
        }
        let [left_atoms, right_atoms] = &atoms;
        let probe = self.plan(left, left_atoms)?;
        let lookup = self.plan(right, &over_second(right_atoms, count, right))?;
        let Some(slots) = slots(&lookup, &lookup_keys) else {
            let what = "the job must say how often a key occurs in the second table of this LEFT JOIN; add `unique` or `at_most` for the column \
                        that the tables are joined by";
            return Err(Error::query(at, what));
        };
        let both = left_atoms.iter().chain(right_atoms).cloned();
        let places: Vec<Placed> = (0..).zip(both.map(Rc::new)).collect();
        let joined = join(
            Join {
                probe,
                lookup,
                probe_keys,
                lookup_keys,
                slots,
                outer: true,
            },
            at,
        )?;
        Ok(joined.project(self.placed(wanted, &places, at)?))
    }
}

/// What is wanted, where functions without a circuit of the second table's columns, which come after `count` others, are computed before the join,
/// though they may not be null where the columns are: where `key` is null no row was found, and they are what they are of nulls. Also these functions.
fn with_defaults(wanted: &[Expr], count: usize, key: &Expr) -> (Vec<Expr>, Vec<Expr>) {
    let calls = RefCell::new(Vec::new());
    let place = |part: &Expr| {
        let mut of_second = true;
        part.columns(&mut |column| of_second &= column >= count);
        if !part.is_call() || !of_second || part.is_null_with_columns() {
            return None;
        }
        let mut kinds = BTreeMap::new();
        part.each_column(&mut |column, kind| {
            kinds.insert(column, kind);
        });
        let default = part.over(&|column| Expr::null(kinds[&column]));
        let call = Expr {
            nullable: true,
            ..part.clone()
        };
        calls.borrow_mut().push(call.clone());
        let missing = key.clone().missing();
        Some(Expr {
            nullable: part.nullable,
            ..Expr::choice(missing, default, call)?
        })
    };
    let wanted = wanted.iter().map(|expr| expr.placed(&place)).collect();
    (wanted, calls.into_inner())
}

/// Expressions over the columns of both tables that are of the second alone, which comes after `count` columns, over its own.
fn over_second(exprs: &[Expr], count: usize, second: &Relation) -> Vec<Expr> {
    let own = |column: usize| {
        let info = &second.columns[column - count];
        Expr::column(column - count, info.kind, info.nullable)
    };
    exprs.iter().map(|expr| expr.over(&own)).collect()
}
