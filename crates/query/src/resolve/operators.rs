//! Operators: what they are of, and what comes of them.

use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::expression::{Context, at, negative, or_else};
use super::literal;
use super::moment::{moved, to_date, to_timestamp};
use super::number::rounded;
use super::parse::OPERATORS;
use super::text::width;
use crate::call::{Call, Named};
use crate::error::{Error, Result};
use crate::expr::{Arithmetic, Comparison, Expr, Node, Together, ValueKind, balanced};

impl Context<'_> {
    /// Whether `x` is between `low` and `high`.
    pub(super) fn between(&mut self, whole: &ast::Expr, [x, low, high]: [&ast::Expr; 3]) -> Result<Expr> {
        let (x, low, high) = (self.expression(x)?, self.expression(low)?, self.expression(high)?);
        let above = self.compared(whole, Comparison::Less, x.clone(), low)?.not();
        let below = self.compared(whole, Comparison::Less, high, x)?.not();
        Ok(above.and(below))
    }

    /// Whether `x` is one of a list.
    pub(super) fn one_of(&mut self, whole: &ast::Expr, x: &ast::Expr, list: &[ast::Expr]) -> Result<Expr> {
        if let ast::Expr::Tuple(x) = x {
            let same = list.iter().map(|item| match item {
                ast::Expr::Tuple(y) => self.same_tuples(item, x, y),
                _ => Err(Error::query(
                    at(item),
                    "write as many values in brackets as stand before IN",
                )),
            });
            let any = balanced(same.collect::<Result<_>>()?, &Expr::or);
            return Ok(any.unwrap_or_else(|| Expr::bool(false)));
        }
        let x = self.expression(x)?;
        let parts = x.extent().parts;
        self.work().make(parts.saturating_mul(list.len()), at(whole))?;
        let same = list.iter().map(|item| {
            let value = self.expression(item)?;
            self.compared(item, Comparison::Equal, x.clone(), value)
        });
        let any = balanced(same.collect::<Result<_>>()?, &Expr::or);
        Ok(any.unwrap_or_else(|| Expr::bool(false)))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        other: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let operand = operand.map(|operand| self.expression(operand)).transpose()?;
        let mut result = match other {
            Some(other) => self.expression(other)?,
            None => Expr::null(ValueKind::Bool),
        };
        for when in conditions.iter().rev() {
            let condition = match &operand {
                None => self.condition(&when.condition)?,
                Some(operand) => {
                    let value = self.expression(&when.condition)?;
                    self.compared(&when.condition, Comparison::Equal, operand.clone(), value)?
                }
            };
            let value = self.expression(&when.result)?;
            result = self.choice(&when.result, condition, value, result)?;
            result = self.fitting(&when.result, result)?;
        }
        Ok(result)
    }

    pub(super) fn binary(
        &mut self,
        whole: &ast::Expr,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Expr> {
        use BinaryOperator as B;
        match op {
            B::And => return self.all(whole, op, &Expr::and),
            B::Or => return self.all(whole, op, &Expr::or),
            _ => (),
        }
        let sign = if *op == B::Minus { -1 } else { 1 };
        if matches!(op, B::Plus | B::Minus)
            && let Some(later) = self.with_interval(left, sign, right)?
        {
            return Ok(later);
        }
        if let (ast::Expr::Tuple(x), ast::Expr::Tuple(y), B::Eq | B::NotEq) = (left, right, op) {
            let same = self.same_tuples(whole, x, y)?;
            return Ok(if *op == B::Eq { same } else { same.not() });
        }
        let (x, y) = (self.expression(left)?, self.expression(right)?);
        if matches!(op, B::Plus | B::Minus)
            && let Some(moved) = moved(&x, *op == B::Plus, &y, at(whole))?
        {
            return Ok(moved);
        }
        let arithmetic = match op {
            B::Eq => return self.compared(whole, Comparison::Equal, x, y),
            B::NotEq => return Ok(self.compared(whole, Comparison::Equal, x, y)?.not()),
            B::Lt => return self.compared(whole, Comparison::Less, x, y),
            B::Gt => return self.compared(whole, Comparison::Less, y, x),
            B::LtEq => return Ok(self.compared(whole, Comparison::Less, y, x)?.not()),
            B::GtEq => return Ok(self.compared(whole, Comparison::Less, x, y)?.not()),
            B::StringConcat => return self.joined(whole, x, y),
            B::Spaceship => return self.distinct(whole, x, y).map(Expr::not),
            B::Plus => Arithmetic::Add,
            B::Minus => Arithmetic::Subtract,
            B::Multiply => Arithmetic::Multiply,
            B::Modulo => Arithmetic::Remainder,
            B::Divide => Arithmetic::Divide { rounded: false },
            _ => {
                let what = format!("the operator {op} is not supported; use {OPERATORS}");
                return Err(Error::query(at(whole), what));
            }
        };
        let (x, y) = (self.number(left, x)?, self.number(right, y)?);
        if x.kind.scale() + y.kind.scale() > 30 {
            return Err(Error::query(
                at(whole),
                "this would need more than 30 decimal places; use ROUND on its parts first",
            ));
        }
        let whole_numbers = x.kind.scale() == 0 && y.kind.scale() == 0;
        Ok(match arithmetic {
            Arithmetic::Divide { .. } if !whole_numbers => Expr::quotient(x, y),
            arithmetic => Expr::arithmetic(arithmetic, x, y),
        })
    }

    /// All conditions that `op` joins, one after the other, put together.
    fn all(&mut self, whole: &ast::Expr, op: &BinaryOperator, together: &Together) -> Result<Expr> {
        let (mut conditions, mut rest) = (Vec::new(), whole);
        while let ast::Expr::BinaryOp { left, op: own, right } = rest
            && own == op
        {
            conditions.push(self.condition(right)?);
            rest = left;
        }
        conditions.push(self.condition(rest)?);
        conditions.reverse();
        Ok(balanced(conditions, together).expect("there are two"))
    }

    pub(super) fn unary(&mut self, whole: &ast::Expr, op: UnaryOperator, x: &ast::Expr) -> Result<Expr> {
        match op {
            UnaryOperator::Not => Ok(self.condition(x)?.not()),
            UnaryOperator::Plus => {
                let value = self.expression(x)?;
                self.number(x, value)
            }
            UnaryOperator::Minus => {
                let value = self.expression(x)?;
                let value = self.number(x, value)?;
                Ok(negative(value))
            }
            _ => Err(Error::query(
                at(whole),
                format!("the operator {op} is not supported; use - or NOT"),
            )),
        }
    }

    /// Whether all parts of two tuples are equal.
    fn same_tuples(&mut self, whole: &ast::Expr, x: &[ast::Expr], y: &[ast::Expr]) -> Result<Expr> {
        if x.len() != y.len() {
            let what = format!(
                "these have {} and {} parts; compare as many with as many",
                x.len(),
                y.len()
            );
            return Err(Error::query(at(whole), what));
        }
        let same = x.iter().zip(y).map(|(x, y)| {
            let (one, other) = (self.expression(x)?, self.expression(y)?);
            self.compared(y, Comparison::Equal, one, other)
        });
        let same = Expr::all(same.collect::<Result<_>>()?);
        same.ok_or_else(|| Error::query(at(whole), "a tuple has at least one part"))
    }

    /// Whether two values differ, where a null is a value like others.
    pub(super) fn distinct(&self, whole: &ast::Expr, x: Expr, y: Expr) -> Result<Expr> {
        let both = x.clone().missing().and(y.clone().missing());
        let same = self.compared(whole, Comparison::Equal, x, y)?;
        Ok(or_else(same, false).or(both).not())
    }

    pub(super) fn cast(&self, whole: &ast::Expr, x: Expr, to: &ast::DataType) -> Result<Expr> {
        let at = at(whole);
        if let Some(width) = width(to) {
            let width = width.map_err(|what| Error::query(at, what))?;
            return self.cast_to_text(whole, x, width);
        }
        let wrong = |x: &Expr| Error::query(at, format!("{} cannot be cast to {to}", x.kind.name()));
        let to_type = literal::named(to).ok_or_else(|| wrong(&x))?;
        let kind = ValueKind::of(to_type);
        match (x.kind, kind) {
            _ if matches!(x.node, Node::Null) => Ok(Expr::null(kind)),
            (ValueKind::Number { scale, .. }, ValueKind::Number { scale: wanted, .. }) => {
                Ok(if wanted >= scale {
                    x.with_places(wanted)
                } else {
                    rounded(x, wanted)
                })
            }
            (ValueKind::Bool, ValueKind::Number { scale, .. }) => {
                let (nullable, missing) = (x.nullable, x.clone().missing());
                let number = Expr::choice(x, Expr::number(1, 0), Expr::number(0, 0));
                let number = number.expect("both are numbers").with_places(scale);
                let none = Expr::null(number.kind);
                Ok(match nullable {
                    true => Expr::choice(missing, none, number).expect("both are numbers"),
                    false => number,
                })
            }
            (ValueKind::Number { .. }, ValueKind::Bool) => {
                let zero = Expr::number(0, 0);
                Ok(self.compared(whole, Comparison::Equal, x, zero)?.not())
            }
            (ValueKind::Date, ValueKind::Timestamp) => Ok(to_timestamp(x)),
            (ValueKind::Timestamp, ValueKind::Date) => Ok(to_date(x)),
            (own, kind) if own == kind => Ok(x),
            (ValueKind::Text(_), _) => {
                let named = Named { name: "CAST", at };
                let read = Expr::call(Call::Read(to_type), named, vec![x.clone()]);
                match read.node {
                    // A constant that is no such value.
                    Node::Call(..) if read.has_no_columns() => Err(match literal::no_moment(to_type) {
                        Some(what) => Error::query(at, what),
                        None => wrong(&x),
                    }),
                    _ => Ok(read),
                }
            }
            _ => Err(wrong(&x)),
        }
    }
}
