//! Functions of numbers.

use sqlparser::ast;

use super::expression::{Context, at, negative};
use crate::error::{Error, Result};
use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind};

/// Most decimal places of a number.
pub(super) const MAX_PLACES: u8 = 30;

impl Context<'_> {
    fn a_number(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let value = self.expression(expr)?;
        self.number(expr, value)
    }

    /// A function of numbers, if `name` is one with such arguments.
    pub(super) fn of_number(
        &mut self,
        whole: &ast::Expr,
        name: &str,
        of: &[&ast::Expr],
    ) -> Result<Option<Expr>> {
        Ok(Some(match (name, of) {
            ("ABS", [x]) => {
                let value = self.a_number(x)?;
                let below = self.compared(whole, Comparison::Less, value.clone(), Expr::number(0, 0))?;
                self.choice(whole, below, negative(value.clone()), value)?
            }
            ("ROUND", [x]) => self.with_fewer(whole, (x, None), rounded)?,
            ("ROUND", [x, places]) => self.with_fewer(whole, (x, Some(places)), rounded)?,
            ("TRUNC", [x]) => self.with_fewer(whole, (x, None), cut)?,
            ("TRUNC", [x, places]) => self.with_fewer(whole, (x, Some(places)), cut)?,
            ("FLOOR", [x]) => floor(self.a_number(x)?),
            ("CEIL" | "CEILING", [x]) => {
                let value = self.a_number(x)?;
                match value.kind.scale() {
                    0 => value,
                    _ => negative(floor(negative(value))),
                }
            }
            ("SIGN", [x]) => {
                let value = self.a_number(x)?;
                let zero = || Expr::number(0, 0);
                let below = self.compared(whole, Comparison::Less, value.clone(), zero())?;
                let above = self.compared(whole, Comparison::Less, zero(), value.clone())?;
                let other = match value.nullable {
                    true => self.choice(
                        whole,
                        value.missing(),
                        Expr::null(ValueKind::exactly(0, 0)),
                        zero(),
                    )?,
                    false => zero(),
                };
                let other = self.choice(whole, above, Expr::number(1, 0), other)?;
                self.choice(whole, below, Expr::number(-1, 0), other)?
            }
            ("SQRT", [x]) => {
                let value = self.a_number(x)?;
                if value.kind.scale() > MAX_PLACES {
                    let what =
                        format!("SQRT takes numbers of at most {MAX_PLACES} decimal places; use ROUND first");
                    return Err(Error::query(at(whole), what));
                }
                value.root()
            }
            ("MOD", [x, y]) => Expr::arithmetic(Arithmetic::Remainder, self.a_number(x)?, self.a_number(y)?),
            ("POWER" | "POW", [x, exponent]) => {
                let (value, exponent) = (self.a_number(x)?, self.expression(exponent)?);
                let Node::Number(exponent @ 0..=16) = exponent.node else {
                    let what = "POWER takes a constant whole exponent, 0 to 16";
                    return Err(Error::query(at(whole), what));
                };
                self.power(whole, value, exponent)?
            }
            _ => return Ok(None),
        }))
    }

    fn power(&mut self, whole: &ast::Expr, value: Expr, exponent: i128) -> Result<Expr> {
        let places = i128::from(value.kind.scale()) * exponent;
        if places > MAX_PLACES.into() {
            let what = format!(
                "this would need more than {MAX_PLACES} decimal places; use ROUND on the number first"
            );
            return Err(Error::query(at(whole), what));
        }
        if exponent == 0 {
            let one = Expr::number(1, 0);
            return match value.nullable {
                true => self.choice(whole, value.missing(), Expr::null(one.kind), one),
                false => Ok(one),
            };
        }
        let mut power = value.clone();
        for _ in 1..exponent {
            power = Expr::arithmetic(Arithmetic::Multiply, power, value.clone());
        }
        self.fitting(whole, power)
    }

    /// A number with fewer places, if it has more than are wanted.
    fn with_fewer(
        &mut self,
        whole: &ast::Expr,
        (x, places): (&ast::Expr, Option<&&ast::Expr>),
        fewer: fn(Expr, u8) -> Expr,
    ) -> Result<Expr> {
        let value = self.a_number(x)?;
        let places = match places {
            None => 0,
            Some(places) => match self.expression(places)?.node {
                Node::Number(places @ 0..=30) => places as u8,
                _ => {
                    let what = format!(
                        "ROUND and TRUNC take a constant number of decimal places, 0 to {MAX_PLACES}"
                    );
                    return Err(Error::query(at(whole), what));
                }
            },
        };
        Ok(if places >= value.kind.scale() {
            value
        } else {
            fewer(value, places)
        })
    }
}

/// A number with fewer places: the nearest one, halves away from zero.
pub(super) fn rounded(value: Expr, places: u8) -> Expr {
    divided(value, places, true)
}

/// A number with fewer places: the others are left out.
fn cut(value: Expr, places: u8) -> Expr {
    divided(value, places, false)
}

fn divided(value: Expr, places: u8, rounded: bool) -> Expr {
    let unit = unit(value.kind.scale() - places);
    let mut result = Expr::arithmetic(Arithmetic::Divide { rounded }, value, Expr::number(unit, 0));
    if let ValueKind::Number { scale, .. } = &mut result.kind {
        *scale = places;
    }
    result
}

fn unit(places: u8) -> i128 {
    i128::try_from(cenote_tables::ten_to(places)).unwrap_or(i128::MAX)
}

/// The greatest whole number that is not greater.
fn floor(value: Expr) -> Expr {
    let scale = value.kind.scale();
    if scale == 0 {
        return value;
    }
    let unit = unit(scale);
    let (least, most) = value.kind.range().unwrap_or_default();
    // So many units more, and it is not below zero, where cutting is rounding down.
    let units = -least.div_euclid(unit).min(0);
    let raised = units
        .checked_mul(unit)
        .filter(|shift| most.checked_add(*shift).is_some());
    if let Some(shift) = raised {
        let raised = match shift {
            0 => value,
            shift => Expr::arithmetic(Arithmetic::Add, value, Expr::number(shift, scale)),
        };
        return Expr::arithmetic(Arithmetic::Subtract, cut(raised, 0), Expr::number(units, 0));
    }
    let whole = cut(value.clone(), 0);
    let below = Expr::compare(Comparison::Less, value, whole.clone()).expect("both are numbers");
    let less = Expr::arithmetic(Arithmetic::Subtract, whole.clone(), Expr::number(1, 0));
    Expr::choice(below, less, whole).expect("both are numbers")
}
