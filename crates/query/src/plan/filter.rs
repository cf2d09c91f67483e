//! Conditions: each is asked as early as it can be.

use std::cell::RefCell;

use super::combine::union;
use super::physical::Physical;
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Expr, Node};
use crate::relation::{Operation, Relation};

impl Planner<'_> {
    /// Plans `input`, and keeps rows for which the condition holds: what can be asked of its inputs is asked of them.
    pub(super) fn filter(&self, input: &Relation, condition: &Expr, wanted: &[Expr]) -> Result<Physical> {
        self.work.keep([condition], input.at)?;
        let rebuilt = |inner: &Relation, condition: &Expr| -> Result<Relation> {
            let parts = inner.parts().saturating_add(condition.extent().parts);
            self.work.make(parts, inner.at)?;
            Ok(inner.clone().filter(condition.clone()))
        };
        match &input.operation {
            Operation::Filter(inner, other) => {
                self.filter(inner, &other.clone().and(condition.clone()), wanted)
            }
            Operation::Project(inner, exprs) => {
                let wanted = self.composed(wanted, exprs, input.at)?;
                let condition = self.composed(std::slice::from_ref(condition), exprs, input.at)?;
                self.filter(inner, &condition[0], &wanted)
            }
            Operation::Inner(..) => self.inner(input, condition.clone().conjuncts(), wanted),
            Operation::Union(inputs) => {
                let inputs = inputs
                    .iter()
                    .map(|part| self.plan(&rebuilt(part, condition)?, wanted))
                    .collect::<Result<Vec<_>>>()?;
                union(inputs, input.at)
            }
            Operation::Outer {
                left,
                right,
                on,
                full: false,
            } => {
                // What is of the first table alone is asked of it alone.
                let count = left.columns.len();
                let (own, others): (Vec<Expr>, Vec<Expr>) =
                    condition.clone().conjuncts().into_iter().partition(|part| {
                        let mut own = true;
                        part.columns(&mut |column| own &= column < count);
                        own
                    });
                self.work.make(input.parts(), input.at)?;
                let left = match Expr::all(own) {
                    Some(own) => Box::new(rebuilt(left, &own)?),
                    None => left.clone(),
                };
                let operation = Operation::Outer {
                    left,
                    right: right.clone(),
                    on: on.clone(),
                    full: false,
                };
                let joined = Relation {
                    operation,
                    ..input.clone()
                };
                self.filtered(&joined, Expr::all(others), wanted)
            }
            _ => self.filtered(input, Some(condition.clone()), wanted),
        }
    }

    /// Plans `input`, and keeps rows for which the condition holds.
    fn filtered(&self, input: &Relation, condition: Option<Expr>, wanted: &[Expr]) -> Result<Physical> {
        let Some(condition) = condition else {
            return self.plan(input, wanted);
        };
        self.work.keep(wanted, input.at)?;
        // What may go wrong is computed of rows that are kept only. What has no circuit cannot wait for that, unless one party does all of it.
        let alone = self.is_of_one(input);
        let waits = |expr: &Expr| if alone { expr.may_fail() } else { expr.is_fragile() };
        let parts = wanted.iter().chain([&condition]).filter(|expr| waits(expr));
        let parts: usize = parts.map(|expr| expr.extent().parts).sum();
        let places = wanted.len() + parts;
        self.work
            .look((wanted.len() + parts).saturating_mul(places), input.at)?;
        let needed: RefCell<Vec<Expr>> = RefCell::default();
        let place = |expr: &Expr| {
            let mut needed = needed.borrow_mut();
            let known = needed.iter().position(|other| other == expr);
            let at = known.unwrap_or_else(|| {
                needed.push(expr.clone());
                needed.len() - 1
            });
            Expr::column(at, expr.kind, expr.nullable)
        };
        let all = input.all();
        let at = |expr: &Expr| match waits(expr) {
            false => place(expr),
            true => expr.placed(&|part| match part.node {
                Node::Column(column) => Some(place(&all[column])),
                _ if part.is_call() && !alone => Some(place(part)),
                _ => None,
            }),
        };
        let wanted: Vec<Expr> = wanted.iter().map(&at).collect();
        let condition = at(&condition);
        let input = self.plan(input, &needed.borrow())?;
        Ok(input.filter(condition).project(wanted))
    }
}
