//! Expressions: names become columns, and every part gets its type.

use sqlparser::ast::{self, Spanned};

use super::literal;
use super::moment::field_name;
use super::percentile::Ranked;
use super::scope::{Scope, place};
use super::subquery::{AROUND, Subqueries, misplaced};
use super::window::Windows;
use crate::error::{Error, Place, Result};
use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind};
use crate::relation::Aggregate;
use crate::work::{MAX_LEVELS, MAX_PARTS, Work};

/// What is grouped, and what is made of the groups so far.
pub(super) struct Grouping {
    /// What is grouped by. With sets, whether each of them is left out follows.
    pub(super) keys: Vec<Expr>,
    /// The sets of keys that are grouped by, if it is not by all: by their places.
    pub(super) sets: Option<Vec<Vec<usize>>>,
    /// Each of all values, or of each value once.
    pub(super) aggregates: Vec<(Aggregate, bool)>,
    pub(super) grouped: bool,
    /// The most rows of a group.
    pub(super) rows: u64,
    /// How many columns there are before rows are grouped.
    pub(super) columns: usize,
    /// What is put in order in each group: two columns more for each.
    pub(super) ranked: Vec<Ranked>,
}

impl Grouping {
    /// The column of the grouped relation that is this aggregate.
    pub(super) fn add(&mut self, aggregate: Aggregate, distinct: bool) -> Expr {
        let (kind, nullable) = aggregate.kind(self.rows, self.grouped);
        let aggregate = (aggregate, distinct);
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
    /// What the query around this one is of, whose columns may be named too.
    around: Option<&'a Scope>,
    /// What subqueries become, where they may stand.
    subqueries: Option<&'a Subqueries<'a>>,
    /// What window functions become, where they may stand.
    pub(super) windows: Option<&'a Windows<'a>>,
    /// In how many others the expression is.
    nested: usize,
}

impl<'a> Context<'a> {
    pub(super) fn new(scope: &'a Scope, work: &'a Work) -> Self {
        Context {
            scope,
            work,
            grouping: None,
            around: None,
            subqueries: None,
            windows: None,
            nested: 0,
        }
    }

    /// Where columns of the query around this one may be named, if there is one.
    pub(super) fn within(self, around: Option<&'a Scope>) -> Self {
        Context { around, ..self }
    }

    /// Where subqueries may stand.
    pub(super) fn with(self, subqueries: Option<&'a Subqueries<'a>>) -> Self {
        Context { subqueries, ..self }
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

    pub(super) fn work(&self) -> &'a Work {
        self.work
    }

    /// The same where no aggregates may stand.
    pub(super) fn plain(&self) -> Context<'a> {
        Context {
            scope: self.scope,
            work: self.work,
            grouping: None,
            around: None,
            subqueries: None,
            windows: None,
            nested: self.nested,
        }
    }
}

impl Context<'_> {
    /// The expression, which is a truth value.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let condition = self.expression(expr)?;
        match (condition.kind, &condition.node) {
            (ValueKind::Bool, _) => Ok(condition),
            (_, Node::Null) => Ok(Expr::null(ValueKind::Bool)),
            (kind, _) => Err(Error::query(
                at(expr),
                format!(
                    "a condition is needed here, but this is {}; compare it with something",
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
                return Ok(Expr::column(
                    key,
                    found.kind,
                    found.nullable || grouping.sets.is_some(),
                ));
            }
        }
        if self.nested == MAX_NESTED {
            let what = format!("this is nested {MAX_NESTED} deep; move a part of it into a subquery");
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
            format!(
                "this has more than {MAX_PARTS} parts, counting what is computed twice; move a part of it into a subquery"
            )
        } else if extent.levels > MAX_LEVELS {
            format!("this takes more than {MAX_LEVELS} calculations one inside the other; use fewer cases")
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
                _ => Err(Error::query(at(expr), "write a column as column or table.column")),
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
            } => Ok(negated_if(*negated, self.between(expr, [x, low, high])?)),
            E::InList {
                expr: x,
                list,
                negated,
            } => Ok(negated_if(*negated, self.one_of(expr, x, list)?)),
            E::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            E::UnaryOp { op, expr: x } => self.unary(expr, *op, x),
            E::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            E::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr: x,
                data_type,
                format: None,
                ..
            } => {
                let value = self.expression(x)?;
                self.cast(expr, value, data_type)
            }
            E::Function(function) => self.function(expr, function),
            other => self.special(other),
        }
    }

    /// Functions and operators that have a form of their own.
    fn special(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Exists { .. } | E::InSubquery { .. } | E::Subquery(_) => self.subquery(expr),
            E::IsDistinctFrom(x, y) => {
                let (x, y) = (self.expression(x)?, self.expression(y)?);
                self.distinct(expr, x, y)
            }
            E::IsNotDistinctFrom(x, y) => {
                let (x, y) = (self.expression(x)?, self.expression(y)?);
                Ok(self.distinct(expr, x, y)?.not())
            }
            E::Like {
                negated,
                any: false,
                expr: x,
                pattern,
                escape_char,
            }
            | E::ILike {
                negated,
                any: false,
                expr: x,
                pattern,
                escape_char,
            } => {
                let any_case = matches!(expr, E::ILike { .. });
                let like = self.like(expr, (x, pattern), (escape_char.as_deref(), any_case))?;
                Ok(negated_if(*negated, like))
            }
            E::Extract { field, expr: of, .. } => self.part(expr, &field_name(field), of),
            E::Interval(interval) => self.interval(interval),
            E::Position { expr: part, r#in } => self.named(expr, "POSITION", &[part, r#in]),
            E::Floor { expr: of, field } => self.nearest_whole(expr, "FLOOR", (of, field)),
            E::Ceil { expr: of, field } => self.nearest_whole(expr, "CEIL", (of, field)),
            E::Substring {
                expr: of,
                substring_from,
                substring_for,
                ..
            } => {
                let one = ast::Expr::value(ast::Value::Number("1".into(), false));
                let from = substring_from.as_deref().unwrap_or(&one);
                let of: Vec<&ast::Expr> = [of, from].into_iter().chain(substring_for.as_deref()).collect();
                self.named(expr, "SUBSTRING", &of)
            }
            E::Trim {
                expr: of,
                trim_where,
                trim_what,
                trim_characters,
            } => {
                let listed = trim_characters.as_ref().and_then(|those| those.first());
                self.trimmed(expr, *trim_where, (of, trim_what.as_deref().or(listed)))
            }
            // The parser does not know where this stands.
            E::RLike { expr: x, .. } => Err(Error::query(at(x), instead_of(expr))),
            other => Err(Error::query(at(expr), instead_of(other))),
        }
    }

    /// A function that has a form of its own.
    fn named(&mut self, whole: &ast::Expr, name: &str, of: &[&ast::Expr]) -> Result<Expr> {
        match self.of_number(whole, name, of)? {
            Some(found) => Ok(found),
            None => Ok(self.of_text(whole, name, of)?.expect("it has these arguments")),
        }
    }

    fn nearest_whole(
        &mut self,
        whole: &ast::Expr,
        name: &str,
        (of, field): (&ast::Expr, &ast::CeilFloorKind),
    ) -> Result<Expr> {
        match field {
            ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                self.named(whole, name, &[of])
            }
            _ => Err(Error::query(at(whole), format!("{name} takes one number"))),
        }
    }

    /// What a subquery stands for.
    fn subquery(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let Some(subqueries) = self.subqueries else {
            return Err(misplaced(expr));
        };
        let tested = match expr {
            ast::Expr::InSubquery { expr: tested, .. } => Some(self.expression(tested)?),
            _ => None,
        };
        subqueries.resolved(expr, tested)
    }

    fn column(&mut self, table: Option<&ast::Ident>, name: &ast::Ident) -> Result<Expr> {
        let found = match (self.scope.find(table, name), self.around) {
            (Err(error), Some(around)) => {
                let found = around.find(table, name).map_err(|_| error)?;
                return Ok(Expr::column(found.index + AROUND, found.kind, found.nullable));
            }
            (found, _) => found?,
        };
        if self.grouping.is_some() {
            let what = format!(
                "{name} is not in GROUP BY; add it there, or use it inside SUM, COUNT, MIN, MAX or AVG"
            );
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
                format!("{one} is compared with {other}; compare values of the same type"),
            )
        })
    }

    pub(super) fn choice(&self, whole: &ast::Expr, condition: Expr, yes: Expr, no: Expr) -> Result<Expr> {
        let (yes, no) = literal::meeting(yes, no).map_err(|what| Error::query(at(whole), what))?;
        let (one, other) = (yes.kind.name(), no.kind.name());
        Expr::choice(condition, yes, no).ok_or_else(|| {
            let what =
                format!("this is {one} in one case and {other} in another; give all cases the same type");
            Error::query(at(whole), what)
        })
    }

    pub(super) fn number(&self, whole: &ast::Expr, x: Expr) -> Result<Expr> {
        match (x.kind, &x.node) {
            (ValueKind::Number { .. }, _) => Ok(x),
            (_, Node::Null) => Ok(Expr::null(ValueKind::exactly(0, 0))),
            (kind, _) => Err(Error::query(
                at(whole),
                format!("a number is needed here, but this is {}", kind.name()),
            )),
        }
    }
}

pub(super) fn negative(value: Expr) -> Expr {
    match value.node {
        Node::Number(number) => Expr::number(number.saturating_neg(), value.kind.scale()),
        _ => Expr::arithmetic(Arithmetic::Subtract, Expr::number(0, value.kind.scale()), value),
    }
}

/// A truth value with `other` for null.
pub(super) fn or_else(x: Expr, other: bool) -> Expr {
    x.with_default(Expr::bool(other))
}

fn negated_if(negated: bool, x: Expr) -> Expr {
    if negated { x.not() } else { x }
}

/// What to write instead of an expression that there is not.
fn instead_of(expr: &ast::Expr) -> String {
    use ast::Expr as E;
    match expr {
        E::AnyOp { .. } | E::AllOp { .. } => {
            "ANY and ALL are not supported; compare with (SELECT MIN(x) FROM …) or (SELECT MAX(x) FROM …)"
                .into()
        }
        E::Like { .. } | E::ILike { .. } | E::SimilarTo { .. } | E::RLike { .. } => {
            "only LIKE and ILIKE with one pattern are supported, such as name LIKE 'a%b_'".into()
        }
        other => format!(
            "`{}` is not supported; docs/sql-reference.md lists what is",
            shortened(&other.to_string())
        ),
    }
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
