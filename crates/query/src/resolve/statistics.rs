//! Variances and what is made of them: formulas of counts and sums.

use sqlparser::ast;

use super::expression::{Context, at};
use super::function::Values;
use crate::error::{Error, Result};
use crate::expr::{Arithmetic, Expr, Node, ValueKind};
use crate::formula::{Divisor, Formula, has_places, kind};
use crate::relation::Function;

/// What a function makes of one value of each row, or of two.
fn formula(name: &str) -> Option<(Formula, usize)> {
    Some(match name {
        "VARIANCE" | "VAR_SAMP" => (Formula::Variance(Divisor::Sample), 1),
        "VAR_POP" => (Formula::Variance(Divisor::All), 1),
        "STDDEV" | "STDDEV_SAMP" => (Formula::Deviation(Divisor::Sample), 1),
        "STDDEV_POP" => (Formula::Deviation(Divisor::All), 1),
        "COVAR_SAMP" => (Formula::Covariance(Divisor::Sample), 2),
        "COVAR_POP" => (Formula::Covariance(Divisor::All), 2),
        "CORR" => (Formula::Correlation, 2),
        _ => return None,
    })
}

/// Whether a function is such an aggregate.
pub(super) fn is_statistic(name: &str) -> bool {
    formula(name).is_some()
}

impl Context<'_> {
    /// A variance or the like, if `name` is one of such arguments.
    pub(super) fn statistic(
        &mut self,
        whole: &ast::Expr,
        name: &str,
        arguments: &[Option<&ast::Expr>],
        values: Values<'_>,
    ) -> Result<Option<Expr>> {
        let Some((formula, _)) = formula(name).filter(|(_, count)| *count == arguments.len()) else {
            return Ok(None);
        };
        let Some(of) = arguments.iter().copied().collect::<Option<Vec<&ast::Expr>>>() else {
            return Ok(None);
        };
        if values.distinct {
            let what = format!(
                "{name} takes the value of every row; to take each value once, group by it in a subquery in FROM"
            );
            return Err(Error::query(at(whole), what));
        }
        let numbers = of.iter().map(|of| self.of_rows(name, of, values.filter));
        let numbers = numbers.collect::<Result<Vec<Expr>>>()?;
        let scales: Vec<u8> = numbers.iter().map(|number| number.kind.scale()).collect();
        let (x, y) = (&numbers[0], numbers.last().expect("there is one"));
        let pairs = if of.len() == 1 {
            [scales[0]; 2]
        } else {
            [scales[0], scales[1]]
        };
        let needed = match formula {
            Formula::Correlation => [2 * scales[0].max(scales[1]), 0],
            _ => pairs,
        };
        if !has_places(&needed) {
            let what = format!(
                "{name} would need more than 30 decimal places for products of its values; use ROUND on them first"
            );
            return Err(Error::query(at(whole), what));
        }
        let kind = kind(formula, x.kind, y.kind);
        let mut parts = self.sums(whole, formula, (x.clone(), y.clone()))?;
        for part in &mut parts {
            *part = self.fitting(whole, part.clone())?;
        }
        Ok(Some(Expr::formula(formula, kind, parts)))
    }

    /// A number of each row, null where the filter does not hold.
    fn of_rows(&self, name: &str, of: &ast::Expr, filter: Option<&ast::Expr>) -> Result<Expr> {
        let mut plain = self.plain();
        let number = plain.expression(of)?;
        let number = match (&number.node, number.kind) {
            (Node::Null, _) => Expr::null(ValueKind::exactly(0, 0)),
            (_, ValueKind::Number { .. }) => number,
            (_, kind) => {
                let what = format!("{name} needs numbers, but this is {}", kind.name());
                return Err(Error::query(at(of), what));
            }
        };
        match filter {
            None => Ok(number),
            Some(filter) => {
                let (condition, none) = (plain.condition(filter)?, Expr::null(number.kind));
                let chosen = plain.choice(filter, condition, number, none)?;
                plain.fitting(filter, chosen)
            }
        }
    }

    /// What a formula is of.
    fn sums(&mut self, whole: &ast::Expr, formula: Formula, (x, y): (Expr, Expr)) -> Result<Vec<Expr>> {
        let mut made = |function, of: Expr| {
            let of = self.fitting(whole, of)?;
            self.made(at(whole), function, of)
        };
        if matches!(formula, Formula::Variance(_) | Formula::Deviation(_)) {
            return [
                (Function::Count, x.clone()),
                (Function::Sum, x.clone()),
                (Function::Sum, x.square()),
            ]
            .into_iter()
            .map(|(function, of)| made(function, of))
            .collect();
        }
        // Of rows that have both.
        let with = |own: &Expr, other: &Expr| match other.nullable {
            false => own.clone(),
            true => {
                let none = Expr::null(own.kind);
                Expr::choice(other.clone().missing(), none, own.clone()).expect("both are numbers")
            }
        };
        let (x, y) = match x == y {
            true => (x, y),
            false => (with(&x, &y), with(&y, &x)),
        };
        let both = Expr::arithmetic(Arithmetic::Multiply, x.clone(), y.clone());
        let mut parts = vec![
            made(Function::Count, x.clone())?,
            made(Function::Sum, x.clone())?,
            made(Function::Sum, y.clone())?,
            made(Function::Sum, both)?,
        ];
        if formula == Formula::Correlation {
            parts.push(made(Function::Sum, x.square())?);
            parts.push(made(Function::Sum, y.square())?);
        }
        Ok(parts)
    }
}
