//! Conditions with subqueries, and conditions of subqueries, taken apart.

use sqlparser::ast;

use super::{AROUND, JOINED, Subqueries};
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr, Node};
use crate::relation::Relation;
use crate::resolve::expression::{Context, at};
use crate::resolve::group_by::each;
use crate::resolve::resolver::{Named, Resolver};
use crate::resolve::scope::Scope;

/// Pairs of an expression of the query around and one of the rows of a subquery.
#[derive(Default)]
pub(in crate::resolve) struct Compared {
    pub(super) equal: Vec<(Expr, Expr)>,
    pub(super) unequal: Vec<(Expr, Expr)>,
}

impl Resolver<'_> {
    /// The rows of a relation for which a condition holds, and how it compares their columns with those of the query around.
    pub(in crate::resolve) fn kept(
        &self,
        condition: Option<&ast::Expr>,
        (relation, scope): (Relation, &Scope),
        named: &[Named<'_>],
        around: Option<&Scope>,
    ) -> Result<(Relation, Compared)> {
        let mut compared = Compared::default();
        let Some(condition) = condition else {
            return Ok((relation, compared));
        };
        let subqueries = Subqueries::new(self, named, Some(scope));
        let mut context = Context::new(scope, self.work)
            .within(around)
            .with(Some(&subqueries));
        if around.is_none() && !has_subquery(condition) {
            let condition = context.condition(condition)?;
            return Ok((filtered(relation, vec![condition]), compared));
        }
        let (mut own, mut joined) = (Vec::new(), Vec::new());
        for part in conjuncts(condition) {
            let before = subqueries.count();
            subqueries.strict.set(is_strict(part));
            let condition = context.condition(part)?;
            if subqueries.count() > before {
                joined.push(condition);
                continue;
            }
            for condition in condition.conjuncts() {
                match around {
                    Some(around) if is_of(&condition, true) => compared.add(&condition, around, at(part))?,
                    _ => own.push(condition),
                }
            }
        }
        let relation = filtered(relation, own);
        let (relation, joined) = subqueries.joined(relation, joined)?;
        Ok((filtered(relation, joined), compared))
    }
}

/// The rows for which all conditions hold.
fn filtered(relation: Relation, conditions: Vec<Expr>) -> Relation {
    let is_true = |condition: &Expr| matches!(condition.node, Node::Number(1));
    let conditions: Vec<Expr> = conditions.into_iter().filter(|one| !is_true(one)).collect();
    match Expr::all(conditions) {
        Some(condition) => relation.filter(condition),
        None => relation,
    }
}

impl Compared {
    /// Adds what a condition compares of the query around and of rows.
    fn add(&mut self, condition: &Expr, around: &Scope, at: Option<Place>) -> Result<()> {
        let (pairs, same) = match &condition.node {
            Node::Not(inner) => (&mut self.unequal, &inner.node),
            node => (&mut self.equal, node),
        };
        let Node::Compare(Comparison::Equal, x, y) = same else {
            return Err(only_equal(at));
        };
        let (outer, own) = match [x, y].map(|side| (is_of(side, true), is_of(side, false))) {
            [(true, false), (false, true)] => (x, y),
            [(false, true), (true, false)] => (y, x),
            _ => return Err(only_equal(at)),
        };
        let outer = outer.over(&|column| {
            let visible = around.0.iter().find(|visible| visible.index + AROUND == column);
            visible.expect("it was found there").expr()
        });
        pairs.push((outer, (**own).clone()));
        Ok(())
    }

    /// Sees that nothing is compared.
    pub(super) fn refused(&self, at: Option<Place>) -> Result<()> {
        match self.equal.is_empty() && self.unequal.is_empty() {
            true => Ok(()),
            false => Err(Error::query(
                at,
                "a subquery with GROUP BY or aggregates can stand here only if it uses no columns of the query around it",
            )),
        }
    }
}

/// Whether an expression has columns of the query around it, or of its own.
fn is_of(expr: &Expr, around: bool) -> bool {
    let mut found = false;
    expr.columns(&mut |column| found |= (AROUND..JOINED).contains(&column) == around);
    found
}

pub(super) fn only_equal(at: Option<Place>) -> Error {
    let what = "a subquery can compare its columns with those of the query around it by = only (and by one <> in EXISTS), joined by AND in its WHERE";
    Error::query(at, what)
}

/// Whether an expression has a subquery.
fn has_subquery(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    let mut found = false;
    each(expr, &mut |part| {
        found |= matches!(part, E::Exists { .. } | E::InSubquery { .. } | E::Subquery(_));
    });
    found
}

/// The conditions that one is the conjunction of.
fn conjuncts(condition: &ast::Expr) -> Vec<&ast::Expr> {
    let (mut rest, mut all) = (vec![condition], Vec::new());
    while let Some(expr) = rest.pop() {
        match expr {
            ast::Expr::BinaryOp {
                left,
                op: ast::BinaryOperator::And,
                right,
            } => rest.extend([&**right, &**left]),
            ast::Expr::Nested(inner) if is_conjunction(inner) => rest.push(inner),
            other => all.push(other),
        }
    }
    all
}

fn is_conjunction(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::BinaryOp { op, .. } => *op == ast::BinaryOperator::And,
        ast::Expr::Nested(inner) => is_conjunction(inner),
        _ => false,
    }
}

/// Whether a condition holds only where each of its subqueries finds something: EXISTS, IN, and comparisons of what is calculated with values.
fn is_strict(condition: &ast::Expr) -> bool {
    use ast::BinaryOperator as B;
    use ast::Expr as E;
    match condition {
        E::Nested(inner) => is_strict(inner),
        E::Exists { negated, .. } => !negated,
        E::InSubquery { negated, expr, .. } => !negated && is_calculated(expr),
        E::BinaryOp { left, op, right } => {
            matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
                && is_calculated(left)
                && is_calculated(right)
        }
        _ => false,
    }
}

/// Whether an expression is null where a value in it is.
fn is_calculated(expr: &ast::Expr) -> bool {
    use ast::BinaryOperator as B;
    use ast::Expr as E;
    match expr {
        E::Identifier(_) | E::CompoundIdentifier(_) | E::Value(_) | E::TypedString(_) | E::Subquery(_) => {
            true
        }
        E::Nested(inner) | E::UnaryOp { expr: inner, .. } => is_calculated(inner),
        E::BinaryOp { left, op, right } => {
            matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide)
                && is_calculated(left)
                && is_calculated(right)
        }
        _ => false,
    }
}
