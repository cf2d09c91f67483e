//! Functions, and what is made of groups.

use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::expression::{Context, Grouping, at};
use super::moment::{last_day, to_date, unit_name};
use super::percentile::is_percentile;
use super::statistics::is_statistic;
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr, Node, ValueKind};
use crate::relation::{Aggregate, Function};

impl Context<'_> {
    pub(super) fn function(&mut self, whole: &ast::Expr, function: &ast::Function) -> Result<Expr> {
        let at = at(whole);
        let name = function.name.to_string().to_ascii_uppercase();
        if is_percentile(&name) {
            return self.percentile(whole, function, &name);
        }
        if let Some(over) = &function.over {
            return self.windowed(whole, function, over);
        }
        let arguments = arguments(function, &name, at)?;
        let values = Values::of(function);
        if let Some(statistic) = self.statistic(whole, &name, &arguments, values)? {
            return Ok(statistic);
        }
        if name == "GROUPING" {
            return self.grouping_of(whole, &arguments);
        }
        if let ("AVG", [Some(of)]) = (name.as_str(), arguments.as_slice()) {
            return self.average(at, of, values);
        }
        if let Some(aggregate) = aggregate_of(&name, &arguments, values) {
            if let ("BOOL_AND" | "BOOL_OR" | "EVERY", Some(of)) = (name.as_str(), arguments[0]) {
                self.plain().condition(of)?;
            }
            return self.aggregate(at, aggregate, arguments[0], values);
        }
        if values.distinct {
            let what = format!("DISTINCT can follow COUNT, SUM, MIN, MAX and AVG only, not {name}");
            return Err(Error::query(at, what));
        }
        if values.filter.is_some() {
            let what = format!("FILTER can follow SUM, COUNT, MIN, MAX and AVG only, not {name}");
            return Err(Error::query(at, what));
        }
        let arguments: Option<Vec<&ast::Expr>> = arguments.into_iter().collect();
        match (name.as_str(), arguments.as_deref()) {
            ("COALESCE", Some([firsts @ .., last])) => self.coalesce(firsts, last),
            ("IFNULL" | "NVL", Some([x, y])) => self.coalesce(&[x], y),
            ("IF" | "IIF", Some([condition, yes, no])) => {
                let condition = self.condition(condition)?;
                let (yes, no) = (self.expression(yes)?, self.expression(no)?);
                self.choice(whole, condition, yes, no)
            }
            ("NULLIF", Some([x, y])) => {
                let (x, y) = (self.expression(x)?, self.expression(y)?);
                let same = self.compared(whole, Comparison::Equal, x.clone(), y)?;
                let none = Expr::null(x.kind);
                self.choice(whole, same, none, x)
            }
            ("GREATEST" | "LEAST", Some(of)) if !of.is_empty() => self.best(of, name == "LEAST"),
            (_, Some(values)) => match self.scalar(whole, &name, values)? {
                Some(found) => Ok(found),
                None => Err(Error::query(at, no_function(&name))),
            },
            _ => Err(Error::query(at, no_function(&name))),
        }
    }

    /// A function of a row's values, if `name` is one with such arguments.
    fn scalar(&mut self, whole: &ast::Expr, name: &str, values: &[&ast::Expr]) -> Result<Option<Expr>> {
        let part = match (name, values) {
            ("DATE_PART" | "DATEPART", [part, of]) => unit_name(part).map(|part| (part, of)),
            ("DATE_TRUNC" | "DATETRUNC", [unit, of]) => match unit_name(unit) {
                Some(unit) => return self.truncated(whole, &unit, of).map(Some),
                None => None,
            },
            (
                "YEAR" | "QUARTER" | "MONTH" | "WEEK" | "WEEKOFYEAR" | "DAY" | "DAYOFMONTH" | "DAYOFWEEK"
                | "ISODOW" | "DAYOFYEAR" | "HOUR" | "MINUTE" | "SECOND" | "EPOCH",
                [of],
            ) => Some((name.to_ascii_lowercase(), of)),
            ("DATE_DIFF" | "DATEDIFF", [unit, from, to]) => match unit_name(unit) {
                Some(unit) => return self.difference(whole, &unit, (from, to)).map(Some),
                None => None,
            },
            ("LAST_DAY", [of]) => {
                let first = self.truncated(whole, "month", of)?;
                return last_day(to_date(first), at(whole)).map(Some);
            }
            ("DATE", [of]) => {
                let value = self.expression(of)?;
                return self.cast(whole, value, &ast::DataType::Date).map(Some);
            }
            _ => None,
        };
        if let Some((part, of)) = part {
            return self.part(whole, &part, of).map(Some);
        }
        match self.of_number(whole, name, values)? {
            None => self.of_text(whole, name, values),
            found => Ok(found),
        }
    }

    /// The first of some values that is not null.
    fn coalesce(&mut self, firsts: &[&ast::Expr], last: &ast::Expr) -> Result<Expr> {
        let mut result = self.expression(last)?;
        for first in firsts.iter().rev() {
            let value = self.expression(first)?;
            let (missing, nullable) = (value.clone().missing(), value.nullable && result.nullable);
            let chosen = self.choice(first, missing, result, value)?;
            result = self.fitting(first, Expr { nullable, ..chosen })?;
        }
        Ok(result)
    }

    fn average(&mut self, at: Option<Place>, of: &ast::Expr, values: Values<'_>) -> Result<Expr> {
        let sum = self.aggregate(at, Function::Sum, Some(of), values)?;
        let count = self.aggregate(at, Function::Count, Some(of), values)?;
        quotient_of(sum, count, at)
    }

    /// The greatest or the least of those values that are not null, as in PostgreSQL and DuckDB.
    fn best(&mut self, of: &[&ast::Expr], least: bool) -> Result<Expr> {
        if let [one] = of {
            return self.expression(one);
        }
        let (first, second) = of.split_at(of.len() / 2);
        let (x, y) = (self.best(first, least)?, self.best(second, least)?);
        let whole = second[0];
        let (one, other) = if least {
            (y.clone(), x.clone())
        } else {
            (x.clone(), y.clone())
        };
        let mut better = self.compared(whole, Comparison::Less, one, other)?;
        // Where the second is null it is not better.
        if x.nullable {
            better = x.clone().missing().or(better);
        }
        let best = self.choice(whole, better, y, x)?;
        self.fitting(whole, best)
    }

    /// An aggregate of the rows of a group.
    fn aggregate(
        &mut self,
        at: Option<Place>,
        function: Function,
        of: Option<&ast::Expr>,
        values: Values<'_>,
    ) -> Result<Expr> {
        self.groups(at)?;
        let mut plain = self.plain();
        let (aggregate, distinct) = plain.made_of(at, function, of, values)?;
        Ok(self.groups(at)?.add(aggregate, distinct))
    }

    /// An aggregate of values, and whether it takes each once.
    pub(super) fn made_of(
        &mut self,
        at: Option<Place>,
        function: Function,
        of: Option<&ast::Expr>,
        values: Values<'_>,
    ) -> Result<(Aggregate, bool)> {
        let of = match of {
            None => Expr::bool(true),
            Some(of) => self.expression(of)?,
        };
        let of = match (function, &of.node) {
            (Function::Sum, Node::Null) => Expr::null(ValueKind::exactly(0, 0)),
            _ => of,
        };
        if function == Function::Sum && !matches!(of.kind, ValueKind::Number { .. }) {
            let what = format!("SUM and AVG need a number, but this is {}", of.kind.name());
            return Err(Error::query(at, what));
        }
        // Of the least and the greatest it does not matter how often they come.
        let distinct = values.distinct && matches!(function, Function::Count | Function::Sum);
        let (function, of) = match values.filter {
            None => (function, of),
            Some(filter) => {
                let (condition, kind) = (self.condition(filter)?, of.kind);
                let of = self.choice(filter, condition, of, Expr::null(kind))?;
                let of = self.fitting(filter, of)?;
                match function {
                    Function::Rows => (Function::Count, of),
                    function => (function, of),
                }
            }
        };
        Ok((as_rows(function, of, distinct), distinct))
    }

    /// An aggregate of an expression of each row.
    pub(super) fn made(&mut self, at: Option<Place>, function: Function, of: Expr) -> Result<Expr> {
        Ok(self.groups(at)?.add(as_rows(function, of, false), false))
    }

    /// What is grouped, where aggregates may stand.
    fn groups(&mut self, at: Option<Place>) -> Result<&mut Grouping> {
        self.grouping.as_deref_mut().ok_or_else(|| misplaced(at))
    }
}

/// Where an aggregate may not stand.
pub(super) fn misplaced(at: Option<Place>) -> Error {
    let what = "aggregates such as SUM and COUNT can be used in SELECT, HAVING and ORDER BY only, and not inside one another";
    Error::query(at, what)
}

/// A sum divided by how many values it is of.
pub(super) fn quotient_of(sum: Expr, count: Expr, at: Option<Place>) -> Result<Expr> {
    // Without values there is no average, and nothing is divided.
    let some = Expr::compare(Comparison::Less, Expr::number(0, 0), count.clone());
    let (Some(some), ValueKind::Number { most, scale, .. }) = (some, count.kind) else {
        return Err(Error::query(at, "AVG needs numbers"));
    };
    let divisor = ValueKind::Number {
        least: 1,
        most: most.max(1),
        scale,
    };
    let divisor = Expr {
        kind: divisor,
        ..Expr::choice(some, count, Expr::number(1, 0)).expect("both are numbers")
    };
    Ok(Expr::quotient(sum, divisor))
}

/// What an aggregate with such arguments makes of values, if `name` is one.
pub(super) fn aggregate_of(
    name: &str,
    arguments: &[Option<&ast::Expr>],
    values: Values<'_>,
) -> Option<Function> {
    match (name, arguments) {
        ("COUNT", [None]) if !values.distinct => Some(Function::Rows),
        ("COUNT", [Some(_)]) => Some(Function::Count),
        ("SUM", [Some(_)]) => Some(Function::Sum),
        // Of truth values, false is the least.
        ("MIN" | "ANY_VALUE" | "BOOL_AND" | "EVERY", [Some(_)]) => Some(Function::Least),
        ("MAX" | "BOOL_OR", [Some(_)]) => Some(Function::Greatest),
        _ => None,
    }
}

/// An aggregate, where what is never null is counted as rows.
fn as_rows(function: Function, of: Expr, distinct: bool) -> Aggregate {
    match function {
        Function::Count if !of.nullable && !distinct => Aggregate::rows(),
        Function::Rows => Aggregate::rows(),
        function => Aggregate { function, of },
    }
}

/// The aggregates that there are.
const AGGREGATES: &str =
    "COUNT, SUM, MIN, MAX, AVG, STDDEV, VARIANCE, MEDIAN and others that docs/sql-reference.md lists";

/// Whether a function is an aggregate.
pub(super) fn is_aggregate(name: &str) -> bool {
    let is_plain = matches!(
        name,
        "COUNT" | "SUM" | "MIN" | "MAX" | "AVG" | "ANY_VALUE" | "BOOL_AND" | "BOOL_OR" | "EVERY"
    );
    is_plain || is_percentile(name) || is_statistic(name)
}

/// What is said of a function that there is not.
fn no_function(name: &str) -> String {
    match name {
        "NOW" | "CURRENT_DATE" | "CURRENT_TIMESTAMP" | "TODAY" | "GETDATE" | "LOCALTIMESTAMP" => {
            format!(
                "{name} is not supported, because the parties have no common clock; write date 'YYYY-MM-DD'"
            )
        }
        "REGEXP_MATCHES" | "REGEXP_LIKE" | "REGEXP_REPLACE" | "REGEXP_EXTRACT" => {
            format!("{name} is not supported; use LIKE, REPLACE, POSITION or SUBSTRING")
        }
        "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE" => {
            format!("{name} is a window function; write {name}(…) OVER (PARTITION BY … ORDER BY …)")
        }
        "MODE" | "STRING_AGG" | "LIST" | "ARRAY_AGG" | "GROUP_CONCAT" => {
            format!("{name} is not supported; the aggregates are {AGGREGATES}")
        }
        "LN" | "LOG" | "EXP" | "RANDOM" => format!("{name} is not supported: all numbers are exact"),
        _ => format!(
            "there is no function {name} with these arguments; docs/sql-reference.md lists the functions"
        ),
    }
}

/// Which values an aggregate is of.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    /// Those of rows for which this holds.
    pub(super) filter: Option<&'a ast::Expr>,
    /// Whether each is taken once.
    pub(super) distinct: bool,
}

impl<'a> Values<'a> {
    pub(super) fn of(function: &'a ast::Function) -> Self {
        Values {
            filter: function.filter.as_deref(),
            distinct: is_distinct(function),
        }
    }

    /// Whether not simply all are meant.
    pub(super) fn is_some(self) -> bool {
        self.filter.is_some() || self.distinct
    }
}

/// Whether a function takes each value once.
fn is_distinct(function: &ast::Function) -> bool {
    match &function.args {
        FunctionArguments::List(list) => {
            matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct))
        }
        _ => false,
    }
}

/// What a function is called with: expressions, and `None` for *.
pub(super) fn arguments<'a>(
    function: &'a ast::Function,
    name: &str,
    at: Option<Place>,
) -> Result<Vec<Option<&'a ast::Expr>>> {
    let values_only = || format!("{name} takes values only; remove the other words");
    if !function.within_group.is_empty() {
        let what = format!("{name} takes no WITHIN GROUP; PERCENTILE_CONT and PERCENTILE_DISC do");
        return Err(Error::query(at, what));
    }
    if function.null_treatment.is_some() || !matches!(function.parameters, FunctionArguments::None) {
        return Err(Error::query(at, values_only()));
    }
    let FunctionArguments::List(list) = &function.args else {
        let what = format!("there is no function {name} without arguments");
        return Err(Error::query(at, what));
    };
    if !list.clauses.is_empty() {
        return Err(Error::query(at, values_only()));
    }
    let argument = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(Some(expr)),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(None),
        _ => Err(Error::query(at, format!("{name} takes values without names"))),
    };
    list.args.iter().map(argument).collect()
}
