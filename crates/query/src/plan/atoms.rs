//! Parts of expressions that are asked of one relation alone.

use std::rc::Rc;

use super::planner::Planner;
use crate::error::{Place, Result};
use crate::expr::{Expr, Node};

/// A column of what is joined, and the expression that stands there.
pub(super) type Placed = (usize, Rc<Expr>);

impl Planner<'_> {
    /// `a AND b OR a AND c` as `a AND (b OR c)`.
    pub(super) fn factored(&self, condition: Expr, at: Option<Place>) -> Result<Expr> {
        let Node::Or(x, y) = condition.node else {
            return Ok(condition);
        };
        let (x, y) = (
            self.factored(*x, at)?.conjuncts(),
            self.factored(*y, at)?.conjuncts(),
        );
        self.work.look(x.len().saturating_mul(y.len()), at)?;
        let (common, x): (Vec<Expr>, Vec<Expr>) = x.into_iter().partition(|part| y.contains(part));
        let y: Vec<Expr> = y.into_iter().filter(|part| !common.contains(part)).collect();
        let rest = match (Expr::all(x), Expr::all(y)) {
            (Some(x), Some(y)) => Some(x.or(y)),
            // One of them is no more than what is common.
            _ => None,
        };
        let all = Expr::all(common.into_iter().chain(rest).collect());
        Ok(all.unwrap_or_else(|| Expr::bool(true)))
    }

    /// Adds what is not there yet, and gives its place.
    pub(super) fn add(&self, atoms: &mut Vec<Expr>, expr: Expr, at: Option<Place>) -> Result<usize> {
        self.work.look(atoms.len(), at)?;
        let known = atoms.iter().position(|atom| *atom == expr);
        Ok(known.unwrap_or_else(|| {
            atoms.push(expr);
            atoms.len() - 1
        }))
    }

    /// Adds the largest parts of an expression that are of one input alone to what is wanted of that input: columns, what `whole` allows unless more
    /// might go wrong then, and functions without a circuit that it allows.
    pub(super) fn atoms(
        &self,
        expr: &Expr,
        (input_of, whole): (&impl Fn(usize) -> usize, &impl Fn(usize, &Expr) -> bool),
        into: &mut [Vec<Expr>],
        at: Option<Place>,
    ) -> Result<()> {
        let is_column = matches!(expr.node, Node::Column(_));
        match of_inputs(expr, input_of)[..] {
            [] => Ok(()),
            // What stands in a list is looked up in the end.
            [input]
                if is_column
                    || (expr.as_place().is_none()
                        && whole(input, expr)
                        && (expr.is_call() || !expr.is_fragile())) =>
            {
                self.add(&mut into[input], expr.clone(), at).map(drop)
            }
            _ => expr
                .parts()
                .into_iter()
                .try_for_each(|part| self.atoms(part, (input_of, whole), into, at)),
        }
    }

    /// Expressions over columns that are what `places` says.
    pub(super) fn placed(&self, exprs: &[Expr], places: &[Placed], at: Option<Place>) -> Result<Vec<Expr>> {
        self.work.keep(exprs, at)?;
        let parts: usize = exprs.iter().map(|expr| expr.extent().parts).sum();
        self.work.look(parts.saturating_mul(places.len()), at)?;
        Ok(exprs.iter().map(|expr| placed(expr, places)).collect())
    }
}

/// The inputs that an expression is of.
pub(crate) fn of_inputs(expr: &Expr, input_of: &impl Fn(usize) -> usize) -> Vec<usize> {
    let mut inputs = Vec::new();
    expr.columns(&mut |column| inputs.push(input_of(column)));
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

/// An expression over columns that are what `places` says.
fn placed(expr: &Expr, places: &[Placed]) -> Expr {
    expr.placed(&|part| {
        let (at, _) = places.iter().find(|(_, known)| **known == *part)?;
        Some(Expr::column(*at, part.kind, part.nullable))
    })
}
