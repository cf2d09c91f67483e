//! LEFT JOIN and FULL JOIN: the condition, taken apart into columns that are equal and conditions on the second table.

use sqlparser::ast::JoinConstraint;
use sqlparser::tokenizer::Span;

use super::from::From;
use super::resolver::Resolver;
use super::scope::place;
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr, Node};
use crate::relation::{Info, Operation, Relation};

/// A condition, taken apart.
#[derive(Default)]
struct Parts {
    /// What is equal: an expression of the first table, and one of the second.
    equal: Vec<(Expr, Expr)>,
    /// Conditions on the second table.
    second: Vec<Expr>,
}

impl Resolver<'_> {
    /// Each row of `left` with the rows of `right` that fit it, or with nulls.
    pub(super) fn left(
        &self,
        left: From,
        right: From,
        constraint: &JoinConstraint,
        span: Span,
    ) -> Result<From> {
        let at = place(span);
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
        let parts = taken_apart(condition, shift, &right.relation, at)?;
        let mut kept = right.relation;
        if let Some(condition) = Expr::all(parts.second) {
            kept = kept.filter(condition);
        }
        for visible in &mut scope.0 {
            visible.nullable |= visible.index >= shift;
        }
        let relation = left.relation.left_join(kept, parts.equal, at);
        Ok(From { relation, scope })
    }
}

impl Resolver<'_> {
    /// The same, and then each row of `right` that fits none, with nulls before it.
    pub(super) fn full(
        &self,
        left: From,
        right: From,
        constraint: &JoinConstraint,
        span: Span,
    ) -> Result<From> {
        let at = place(span);
        let JoinConstraint::On(_) = constraint else {
            let what =
                "write ON a.key = b.key after FULL JOIN, and COALESCE(a.key, b.key) for the key of both";
            return Err(Error::query(at, what));
        };
        let (first, second) = (left.relation.clone(), right.relation.clone());
        let (before, after) = (first.columns.len(), second.columns.len());
        for relation in [&first, &second] {
            self.work.make(2 * relation.parts(), at)?;
            self.use_tables(relation.tables(), at)?;
        }
        let mut joined = self.left(left, right, constraint, span)?;
        let Operation::Left { right: kept, on, .. } = &joined.relation.operation else {
            unreachable!("it is a LEFT JOIN");
        };
        if matches!(kept.operation, Operation::Filter(..))
            && !matches!(second.operation, Operation::Filter(..))
        {
            let what = "a FULL JOIN can compare columns of both tables for equality only";
            return Err(Error::query(at, what));
        }
        let (keys, own): (Vec<Expr>, Vec<Expr>) = on.iter().cloned().unzip();
        let named = |keys: Vec<Expr>| keys.into_iter().map(|key| (String::new(), key)).collect();
        let keys = first.clone().project(named(keys)).distinct();
        let marker = Expr::column(after, keys.columns[0].kind, true);
        let on = own.into_iter().zip(keys.all()).collect();
        let unmatched = second.clone().left_join(keys, on, at);
        let none = first
            .columns
            .iter()
            .map(|info| (info.name.clone(), Expr::null(info.kind)));
        let own = second.columns.iter().zip(second.all());
        let own = own.map(|(info, column)| (info.name.clone(), column));
        let unmatched = unmatched
            .filter(marker.missing())
            .project(none.chain(own).collect());
        for visible in &mut joined.scope.0 {
            visible.nullable = true;
        }
        let columns: Vec<Info> = joined.relation.columns.iter().map(Info::or_null).collect();
        debug_assert_eq!(columns.len(), before + after);
        Ok(From {
            relation: Relation {
                columns,
                at,
                operation: Operation::Union(vec![joined.relation, unmatched]),
            },
            scope: joined.scope,
        })
    }
}

/// Takes the condition of a LEFT JOIN apart; the columns of `right` come after the first `shift`.
fn taken_apart(condition: Expr, shift: usize, right: &Relation, at: Option<Place>) -> Result<Parts> {
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
            let what = "a LEFT JOIN can compare columns of both tables for equality, and test columns of the second; other conditions are not supported there";
            return Err(Error::query(at, what));
        }
        parts.second.push(moved(&condition));
    }
    if parts.equal.is_empty() {
        return Err(Error::query(
            at,
            "a LEFT JOIN needs a condition such as a.key = b.key",
        ));
    }
    Ok(parts)
}
