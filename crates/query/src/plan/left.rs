//! LEFT JOIN: what is asked of each table, and which looks the other up.

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
        // Of the first table what is wanted, of the second what is null where its columns are.
        let side = |column: usize| usize::from(column >= count);
        let mut atoms = [Vec::new(), Vec::new()];
        for expr in wanted {
            self.atoms(
                expr,
                (&side, &|input, part: &Expr| {
                    input == 0 || part.is_null_with_columns()
                }),
                &mut atoms,
                at,
            )?;
        }
        let (mut probe_keys, mut lookup_keys) = (Vec::new(), Vec::new());
        for (x, y) in on {
            let kind = x
                .kind
                .unified(y.kind)
                .ok_or_else(|| Error::query(at, "join columns of the same type"))?;
            probe_keys.push(self.add(&mut atoms[0], x.clone().into_kind(kind), at)?);
            lookup_keys.push(self.add(&mut atoms[1], moved(y).into_kind(kind), at)?);
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

/// Expressions over the columns of both tables that are of the second alone, which comes after `count` columns, over its own.
fn over_second(exprs: &[Expr], count: usize, second: &Relation) -> Vec<Expr> {
    let own = |column: usize| {
        let info = &second.columns[column - count];
        Expr::column(column - count, info.kind, info.nullable)
    };
    exprs.iter().map(|expr| expr.over(&own)).collect()
}
