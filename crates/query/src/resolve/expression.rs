//! Expressions: names become columns, and every part gets its type.

use cenote_tables::MAX_CHARS;
use sqlparser::ast::{self, BinaryOperator, Spanned, UnaryOperator};

use super::literal;
use super::scope::{Scope, place};
use crate::error::{Error, Place, Result};
use crate::expr::{Arithmetic, Comparison, Expr, Kind, Node, Together, balanced};
use crate::relation::Aggregate;
use crate::work::{MAX_LEVELS, MAX_PARTS, Work};

/// What is grouped, and what is made of the groups so far.
pub(super) struct Grouping {
    pub(super) keys: Vec<Expr>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) grouped: bool,
    /// The most rows of a group.
    pub(super) rows: u64,
}

impl Grouping {
    /// The column of the grouped relation that is this aggregate.
    pub(super) fn add(&mut self, aggregate: Aggregate) -> Expr {
        let (kind, nullable) = aggregate.kind(self.rows, self.grouped);
        let at = self.aggregates.iter().position(|other| *other == aggregate);
        let at = at.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        });
        Expr::column(self.keys.len() + at, kind, nullable)
    }
}

/// How many operators may stand within one another.
const MAX_NESTED: usize = 100;

/// What an expression is resolved with.
pub(super) struct Context<'a> {
    scope: &'a Scope,
    work: &'a Work,
    pub(super) grouping: Option<&'a mut Grouping>,
    /// In how many others the expression is.
    nested: usize,
}

impl<'a> Context<'a> {
    pub(super) fn new(scope: &'a Scope, work: &'a Work) -> Self {
        Context {
            scope,
            work,
            grouping: None,
            nested: 0,
        }
    }

    /// Where aggregates may stand, if there is a grouping.
    pub(super) fn grouped(scope: &'a Scope, work: &'a Work, grouping: Option<&'a mut Grouping>) -> Self {
        Context {
            grouping,
            ..Context::new(scope, work)
        }
    }

    pub(super) fn scope(&self) -> &'a Scope {
        self.scope
    }

    /// The same where no aggregates may stand.
    pub(super) fn plain(&self) -> Context<'a> {
        Context {
            scope: self.scope,
            work: self.work,
            grouping: None,
            nested: self.nested,
        }
    }
}

impl Context<'_> {
    /// The expression, which is a truth value.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let condition = self.expression(expr)?;
        match (condition.kind, &condition.node) {
            (Kind::Bool, _) => Ok(condition),
            (_, Node::Null) => Ok(Expr::null(Kind::Bool)),
            (kind, _) => Err(Error::query(
                at(expr),
                format!(
                    "a condition stands here, and this is {}; compare it with something",
                    kind.name()
                ),
            )),
        }
    }

    pub(super) fn expression(&mut self, expr: &ast::Expr) -> Result<Expr> {
        if let Some(grouping) = &self.grouping {
            // What is grouped by stands for itself.
            if let Ok(found) = self.plain().expression(expr)
                && let Some(key) = grouping.keys.iter().position(|key| *key == found)
            {
                return Ok(Expr::column(key, found.kind, found.nullable));
            }
        }
        if self.nested == MAX_NESTED {
            let what = format!("this stands within {MAX_NESTED} others; write a part of it in a subquery");
            return Err(Error::query(at(expr), what));
        }
        self.nested += 1;
        let result = self.resolved(expr);
        self.nested -= 1;
        let result = self.fitting(expr, result?)?;
        if self.nested == 0 {
            self.work.make(result.extent().parts, at(expr))?;
        }
        Ok(result)
    }

    /// The expression, if it is neither too large nor too deep.
    pub(super) fn fitting(&self, whole: &ast::Expr, expr: Expr) -> Result<Expr> {
        let extent = expr.extent();
        self.work.look(extent.parts, at(whole))?;
        let what = if extent.parts > MAX_PARTS {
            format!("this has more than {MAX_PARTS} parts; write a part of it in a subquery")
        } else if extent.levels > MAX_LEVELS {
            format!(
                "the parts of this stand within one another more than {MAX_LEVELS} deep; write it with fewer cases"
            )
        } else {
            return Ok(expr);
        };
        Err(Error::query(at(whole), what))
    }

    fn resolved(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Identifier(name) => self.column(None, name),
            E::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] => self.column(Some(table), name),
                _ => Err(Error::query(
                    at(expr),
                    "a column is written as column or table.column",
                )),
            },
            E::Nested(inner) => self.expression(inner),
            E::Value(value) => literal::constant(value),
            E::TypedString(string) => literal::typed(string),
            E::IsNull(x) => Ok(self.expression(x)?.missing()),
            E::IsNotNull(x) => Ok(self.expression(x)?.missing().not()),
            E::IsTrue(x) => Ok(or_else(self.condition(x)?, false)),
            E::IsNotTrue(x) => Ok(or_else(self.condition(x)?, false).not()),
            E::IsFalse(x) => Ok(or_else(self.condition(x)?, true).not()),
            E::IsNotFalse(x) => Ok(or_else(self.condition(x)?, true)),
            E::Between {
                expr: x,
                negated,
                low,
                high,
            } => {
                let (x, low, high) = (self.expression(x)?, self.expression(low)?, self.expression(high)?);
                let above = self.compared(expr, Comparison::Less, x.clone(), low)?.not();
                let below = self.compared(expr, Comparison::Less, high, x)?.not();
                Ok(negated_if(*negated, above.and(below)))
            }
            E::InList {
                expr: x,
                list,
                negated,
            } => {
                let x = self.expression(x)?;
                let parts = x.extent().parts;
                self.work.make(parts.saturating_mul(list.len()), at(expr))?;
                let same = list.iter().map(|item| {
                    let value = self.expression(item)?;
                    self.compared(item, Comparison::Equal, x.clone(), value)
                });
                let any = balanced(same.collect::<Result<_>>()?, &Expr::or);
                Ok(negated_if(*negated, any.unwrap_or_else(|| Expr::bool(false))))
            }
            E::Like {
                negated,
                any: false,
                expr: x,
                pattern,
                escape_char: None,
            } => {
                let x = self.expression(x)?;
                Ok(negated_if(*negated, self.like(x, pattern)?))
            }
            E::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            E::UnaryOp { op, expr: x } => self.unary(expr, *op, x),
            E::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let operand = operand
                    .as_ref()
                    .map(|operand| self.expression(operand))
                    .transpose()?;
                let mut result = match else_result {
                    Some(other) => self.expression(other)?,
                    None => Expr::null(Kind::Bool),
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
            E::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr: x,
                data_type,
                format: None,
                ..
            } => {
                let value = self.expression(x)?;
                self.cast(at(expr), value, data_type)
            }
            E::Function(function) => self.function(expr, function),
            E::InSubquery { .. } | E::Exists { .. } | E::Subquery(_) | E::AnyOp { .. } | E::AllOp { .. } => {
                Err(Error::query(
                    at(expr),
                    "a subquery stands in FROM only: write JOIN (SELECT DISTINCT key FROM …) AS s ON s.key = …",
                ))
            }
            E::Like { .. } | E::ILike { .. } | E::SimilarTo { .. } | E::RLike { .. } => Err(Error::query(
                at(expr),
                "only LIKE with a fixed beginning is there: name LIKE 'abc%'",
            )),
            E::Extract { .. } => Err(Error::query(
                at(expr),
                "EXTRACT is not there; compare with dates instead: d >= date '1995-01-01' AND d < date '1996-01-01'",
            )),
            E::Interval(_) => Err(Error::query(
                at(expr),
                "an interval is added to a constant date: date '1994-01-01' + interval '1' year",
            )),
            other => Err(Error::query(
                at(expr),
                format!(
                    "`{}` is not there; docs/sql.md lists what is",
                    shortened(&other.to_string())
                ),
            )),
        }
    }

    fn column(&mut self, table: Option<&ast::Ident>, name: &ast::Ident) -> Result<Expr> {
        let found = self.scope.find(table, name)?;
        if self.grouping.is_some() {
            let what =
                format!("{name} is not grouped by: write it in GROUP BY, or in SUM, COUNT, MIN, MAX or AVG");
            return Err(Error::query(place(name.span), what));
        }
        Ok(found.expr())
    }

    pub(super) fn compared(
        &self,
        whole: &ast::Expr,
        comparison: Comparison,
        x: Expr,
        y: Expr,
    ) -> Result<Expr> {
        let (x, y) = literal::meeting(x, y).map_err(|what| Error::query(at(whole), what))?;
        let (one, other) = (x.kind.name(), y.kind.name());
        Expr::compare(comparison, x, y).ok_or_else(|| {
            Error::query(
                at(whole),
                format!("{one} is compared with {other}; both must be alike"),
            )
        })
    }

    pub(super) fn choice(&self, whole: &ast::Expr, condition: Expr, yes: Expr, no: Expr) -> Result<Expr> {
        let (yes, no) = literal::meeting(yes, no).map_err(|what| Error::query(at(whole), what))?;
        let (one, other) = (yes.kind.name(), no.kind.name());
        Expr::choice(condition, yes, no).ok_or_else(|| {
            let what = format!("this would be {one} in one case and {other} in another; all must be alike");
            Error::query(at(whole), what)
        })
    }

    pub(super) fn number(&self, whole: &ast::Expr, x: Expr) -> Result<Expr> {
        match (x.kind, &x.node) {
            (Kind::Number { .. }, _) => Ok(x),
            (_, Node::Null) => Ok(Expr::null(Kind::exactly(0, 0))),
            (kind, _) => Err(Error::query(
                at(whole),
                format!("a number stands here, and this is {}", kind.name()),
            )),
        }
    }

    fn binary(
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
            B::Minus if x.kind == Kind::Date && y.kind == Kind::Date => {
                return Ok(Expr::arithmetic(Arithmetic::Subtract, x, y));
            }
            B::Plus => Arithmetic::Add,
            B::Minus => Arithmetic::Subtract,
            B::Multiply => Arithmetic::Multiply,
            B::Modulo => Arithmetic::Remainder,
            B::Divide => Arithmetic::Divide { rounded: false },
            _ => {
                let what =
                    format!("there is no operator {op}; there are + - * / % = <> < <= > >= AND OR NOT");
                return Err(Error::query(at(whole), what));
            }
        };
        let (x, y) = (self.number(left, x)?, self.number(right, y)?);
        if x.kind.scale() + y.kind.scale() > 30 {
            return Err(Error::query(
                at(whole),
                "this has more than 30 places behind the point",
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

    fn unary(&mut self, whole: &ast::Expr, op: UnaryOperator, x: &ast::Expr) -> Result<Expr> {
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
                format!("there is no operator {op}; there are - and NOT"),
            )),
        }
    }

    fn like(&self, x: Expr, pattern: &ast::Expr) -> Result<Expr> {
        let wrong = || {
            Error::query(
                at(pattern),
                "LIKE takes a fixed beginning and then one %, such as 'abc%', without _ or another %",
            )
        };
        let ast::Expr::Value(value) = pattern else {
            return Err(wrong());
        };
        let ast::Value::SingleQuotedString(text) = &value.value else {
            return Err(wrong());
        };
        if !matches!(x.kind, Kind::Text(_)) {
            return Err(Error::query(at(pattern), "LIKE is for text"));
        }
        let fixed = text.strip_suffix('%');
        if fixed.unwrap_or(text).contains(['%', '_', '\\', '\0']) {
            return Err(wrong());
        }
        match fixed {
            Some(prefix) if prefix.len() > MAX_CHARS.into() => {
                let what = format!("text has at most {MAX_CHARS} bytes");
                Err(Error::query(at(pattern), what))
            }
            Some(prefix) => Ok(x.starts_with(prefix.as_bytes().to_vec())),
            None => self.compared(pattern, Comparison::Equal, x, literal::constant(value)?),
        }
    }

    fn cast(&self, at: Option<Place>, x: Expr, to: &ast::DataType) -> Result<Expr> {
        let wrong = |x: &Expr| Error::query(at, format!("{} cannot be cast to {to}", x.kind.name()));
        let kind = Kind::of(literal::named(to).ok_or_else(|| wrong(&x))?);
        match (x.kind, kind) {
            _ if matches!(x.node, Node::Null) => Ok(Expr::null(kind)),
            (Kind::Number { scale, .. }, Kind::Number { scale: wanted, .. }) => Ok(if wanted >= scale {
                x.with_places(wanted)
            } else {
                rounded(x, wanted)
            }),
            (Kind::Bool, Kind::Number { scale, .. }) => {
                let (nullable, missing) = (x.nullable, x.clone().missing());
                let number = Expr::choice(x, Expr::number(1, 0), Expr::number(0, 0));
                let number = number.expect("both are numbers").with_places(scale);
                let none = Expr::null(number.kind);
                Ok(match nullable {
                    true => Expr::choice(missing, none, number).expect("both are numbers"),
                    false => number,
                })
            }
            (Kind::Text(own), Kind::Text(wanted)) if own <= wanted => Ok(x.into_kind(kind)),
            (own, kind) if own == kind => Ok(x),
            (Kind::Text(_), Kind::Date | Kind::Timestamp) => {
                let none = Expr::column(0, kind, false);
                let (x, _) = literal::meeting(x, none).map_err(|what| Error::query(at, what))?;
                if x.kind == kind { Ok(x) } else { Err(wrong(&x)) }
            }
            _ => Err(wrong(&x)),
        }
    }
}

pub(super) fn negative(value: Expr) -> Expr {
    match value.node {
        Node::Number(number) => Expr::number(number.saturating_neg(), value.kind.scale()),
        _ => Expr::arithmetic(Arithmetic::Subtract, Expr::number(0, value.kind.scale()), value),
    }
}

/// A number with fewer places: the nearest one, halves away from zero.
pub(super) fn rounded(value: Expr, places: u8) -> Expr {
    let fewer = value.kind.scale() - places;
    let unit = i128::try_from(cenote_tables::ten_to(fewer)).unwrap_or(i128::MAX);
    let mut result = Expr::arithmetic(Arithmetic::Divide { rounded: true }, value, Expr::number(unit, 0));
    if let Kind::Number { scale, .. } = &mut result.kind {
        *scale = places;
    }
    result
}

/// A truth value with `other` for null.
fn or_else(x: Expr, other: bool) -> Expr {
    if !x.nullable {
        return x;
    }
    let missing = x.clone().missing();
    let mut result = Expr::choice(missing, Expr::bool(other), x).expect("both are truth values");
    result.nullable = false;
    result
}

fn negated_if(negated: bool, x: Expr) -> Expr {
    if negated { x.not() } else { x }
}

pub(super) fn at(expr: &ast::Expr) -> Option<Place> {
    place(expr.span())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
