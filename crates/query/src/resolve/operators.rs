//! Operators: what they are of, and what comes of them.

use cenote_tables::MAX_CHARS;
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::expression::{Context, at, negative, rounded};
use super::literal;
use super::parse::OPERATORS;
use crate::error::{Error, Place, Result};
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
        let x = self.expression(left)?;
        if let (B::Plus | B::Minus, ast::Expr::Interval(interval)) = (op, right) {
            return literal::later(&x, interval, if *op == B::Plus { 1 } else { -1 });
        }
        let y = self.expression(right)?;
        let arithmetic = match op {
            B::Eq => return self.compared(whole, Comparison::Equal, x, y),
            B::NotEq => return Ok(self.compared(whole, Comparison::Equal, x, y)?.not()),
            B::Lt => return self.compared(whole, Comparison::Less, x, y),
            B::Gt => return self.compared(whole, Comparison::Less, y, x),
            B::LtEq => return Ok(self.compared(whole, Comparison::Less, y, x)?.not()),
            B::GtEq => return Ok(self.compared(whole, Comparison::Less, x, y)?.not()),
            B::Minus if x.kind == ValueKind::Date && y.kind == ValueKind::Date => {
                return Ok(Expr::arithmetic(Arithmetic::Subtract, x, y));
            }
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

    pub(super) fn like(&self, x: Expr, pattern: &ast::Expr) -> Result<Expr> {
        let wrong = || {
            Error::query(
                at(pattern),
                "LIKE takes a fixed beginning and one % at the end, such as 'abc%'; _ and other % are not supported",
            )
        };
        let ast::Expr::Value(value) = pattern else {
            return Err(wrong());
        };
        let ast::Value::SingleQuotedString(text) = &value.value else {
            return Err(wrong());
        };
        if !matches!(x.kind, ValueKind::Text(_)) {
            return Err(Error::query(at(pattern), "LIKE needs text on its left"));
        }
        let fixed = text.strip_suffix('%');
        if fixed.unwrap_or(text).contains(['%', '_', '\\', '\0']) {
            return Err(wrong());
        }
        match fixed {
            Some(prefix) if prefix.len() > MAX_CHARS.into() => {
                let what = format!("text may be at most {MAX_CHARS} bytes long");
                Err(Error::query(at(pattern), what))
            }
            Some(prefix) => Ok(x.starts_with(prefix.as_bytes().to_vec())),
            None => self.compared(pattern, Comparison::Equal, x, literal::constant(value)?),
        }
    }

    pub(super) fn cast(&self, at: Option<Place>, x: Expr, to: &ast::DataType) -> Result<Expr> {
        let wrong = |x: &Expr| Error::query(at, format!("{} cannot be cast to {to}", x.kind.name()));
        let kind = ValueKind::of(literal::named(to).ok_or_else(|| wrong(&x))?);
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
            (ValueKind::Text(own), ValueKind::Text(wanted)) if own <= wanted => Ok(x.into_kind(kind)),
            (own, kind) if own == kind => Ok(x),
            (ValueKind::Text(_), ValueKind::Date | ValueKind::Timestamp) => {
                let none = Expr::column(0, kind, false);
                let (x, _) = literal::meeting(x, none).map_err(|what| Error::query(at, what))?;
                if x.kind == kind { Ok(x) } else { Err(wrong(&x)) }
            }
            _ => Err(wrong(&x)),
        }
    }
}
