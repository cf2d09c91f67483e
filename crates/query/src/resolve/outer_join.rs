//! LEFT JOIN and FULL JOIN: the condition, taken apart into columns that are equal and conditions on the second table.

use sqlparser::ast::JoinConstraint;
use sqlparser::tokenizer::Span;

use super::from::From;
use super::resolver::Resolver;
use super::scope::place;
use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr, Node};
use crate::relation::Relation;

/// A condition, taken apart.
#[derive(Default)]
struct Parts {
    /// What is equal: an expression of the first table, and one of the second.
    equal: Vec<(Expr, Expr)>,
    /// Conditions on the second table.
    second: Vec<Expr>,
}

impl Resolver<'_> {
    /// Each row of the first with the rows of the second that fit it, or with nulls; if it is `full`, then each row of the second that fits none, with nulls before it.
    pub(super) fn outer(
        &self,
        (left, right): (From, From),
        constraint: &JoinConstraint,
        full: bool,
        span: Span,
    ) -> Result<From> {
        let at = place(span);
        if full && !matches!(constraint, JoinConstraint::On(_)) {
            let what =
                "write ON a.key = b.key after FULL JOIN, and COALESCE(a.key, b.key) for the key of both";
            return Err(Error::query(at, what));
        }
        let shift = left.relation.columns.len();
        for side in [&left, &right] {
            self.work.make(side.relation.parts(), at)?;
        }
        let copy = |side: &From, scope| From {
            relation: side.relation.clone(),
            scope,
        };
        let combined = self.combined(copy(&left, left.scope.clone()), copy(&right, right.scope.clone()))?;
        let mut scope = combined.scope;
        let condition = self.constraint(constraint, &mut scope, shift, span)?;
        let refused = match full {
            true => "a FULL JOIN can compare columns of both tables for equality only",
            false => {
                "a LEFT JOIN can compare columns of both tables for equality, and test columns of the second; other conditions are not supported there"
            }
        };
        let refused = || Error::query(at, refused);
        let parts = taken_apart(condition, shift, &right.relation).ok_or_else(refused)?;
        if parts.equal.is_empty() {
            let kind = if full { "FULL" } else { "LEFT" };
            let what = format!("a {kind} JOIN needs a condition such as a.key = b.key");
            return Err(Error::query(at, what));
        }
        let mut kept = right.relation;
        if let Some(condition) = Expr::all(parts.second) {
            if full {
                return Err(refused());
            }
            kept = kept.filter(condition);
        }
        for visible in &mut scope.0 {
            visible.nullable |= full || visible.index >= shift;
        }
        let relation = left.relation.outer_join(kept, parts.equal, full, at);
        Ok(From { relation, scope })
    }
}

/// Takes the condition of an outer join apart, if it can be; the columns of `right` come after the first `shift`.
fn taken_apart(condition: Expr, shift: usize, right: &Relation) -> Option<Parts> {
    let sides = |expr: &Expr| {
        let (mut first, mut second) = (false, false);
        expr.columns(&mut |column| {
            if column < shift {
                first = true
            } else {
                second = true
            }
        });
        (first, second)
    };
    let moved = |expr: &Expr| {
        expr.over(&|column| {
            let info = &right.columns[column - shift];
            Expr::column(column - shift, info.kind, info.nullable)
        })
    };
    let mut parts = Parts::default();
    for condition in condition.conjuncts() {
        if let Node::Compare(Comparison::Equal, x, y) = &condition.node {
            let equal = match (sides(x), sides(y)) {
                ((true, false), (false, true)) => Some((x, y)),
                ((false, true), (true, false)) => Some((y, x)),
                _ => None,
            };
            if let Some((first, second)) = equal {
                parts.equal.push(((**first).clone(), moved(second)));
                continue;
            }
        }
        if sides(&condition).0 {
            return None;
        }
        parts.second.push(moved(&condition));
    }
    Some(parts)
}
