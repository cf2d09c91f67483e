//! Conditions: each is asked as early as it can be.

use super::combine::union;
use super::physical::Physical;
use super::planner::Planner;
use crate::error::Result;
use crate::expr::Expr;
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
            Operation::Left { left, right, on } => {
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
                let operation = Operation::Left {
                    left,
                    right: right.clone(),
                    on: on.clone(),
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
        let parts = wanted.iter().chain([&condition]).filter(|expr| expr.may_fail());
        let parts: usize = parts.map(|expr| expr.extent().parts).sum();
        let places = wanted.len() + input.columns.len().min(parts);
        self.work
            .look((wanted.len() + parts).saturating_mul(places), input.at)?;
        // What may go wrong is computed of rows that are kept only.
        let mut needed: Vec<Expr> = Vec::new();
        let place = |needed: &mut Vec<Expr>, expr: &Expr| {
            needed.iter().position(|other| other == expr).unwrap_or_else(|| {
                needed.push(expr.clone());
                needed.len() - 1
            })
        };
        let at = |needed: &mut Vec<Expr>, expr: &Expr| -> Expr {
            if expr.may_fail() {
                let mut columns = Vec::new();
                expr.columns(&mut |column| columns.push(column));
                let all = input.all();
                columns.iter().for_each(|&column| {
                    place(needed, &all[column]);
                });
                let needed = &*needed;
                expr.over(&|column| {
                    let at = needed
                        .iter()
                        .position(|other| *other == all[column])
                        .expect("it was added");
                    Expr::column(at, all[column].kind, all[column].nullable)
                })
            } else {
                Expr::column(place(needed, expr), expr.kind, expr.nullable)
            }
        };
        let wanted: Vec<Expr> = wanted.iter().map(|expr| at(&mut needed, expr)).collect();
        let condition = at(&mut needed, &condition);
        let input = self.plan(input, &needed)?;
        Ok(input.filter(condition).project(wanted))
    }
}
