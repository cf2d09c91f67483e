//! A whole query: WITH, UNION, and the order and number of the rows that it asks for.

use std::ops::Range;
use std::rc::Rc;

use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, Spanned};

use super::expression;
use super::moment::to_timestamp;
use super::order::{first, numbered, ordered_by};
use super::resolver::{Named, Resolved, Resolver};
use super::scope::{means, place, refuse, rename};
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, ValueKind};
use crate::relation::{Aggregate, Function, Info, Operation, Relation};
use crate::work::few_columns;

impl Resolver<'_> {
    pub(super) fn query(&self, query: &ast::Query, outer: &[Named<'_>]) -> Result<Resolved> {
        let mut named: Vec<Named<'_>> = outer
            .iter()
            .map(|known| Named {
                name: known.name,
                relation: Rc::clone(&known.relation),
            })
            .collect();
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(Error::query(
                    place(with.with_token.0.span),
                    "WITH RECURSIVE is not supported",
                ));
            }
            for cte in &with.cte_tables {
                let mut relation = self.query(&cte.query, &named)?.relation;
                rename(&mut relation, &cte.alias)?;
                named.push(Named {
                    name: &cte.alias.name,
                    relation: Rc::new(relation),
                });
            }
        }
        let refused = [
            (query.fetch.is_some(), "FETCH is not supported; write LIMIT"),
            (!query.locks.is_empty(), "FOR UPDATE is not supported"),
            (query.for_clause.is_some(), "FOR is not supported"),
            (
                query.settings.is_some() || query.format_clause.is_some(),
                "SETTINGS and FORMAT are not supported",
            ),
            (!query.pipe_operators.is_empty(), "|> is not supported"),
        ];
        refuse(place(query.span()), &refused)?;
        let limit = self.limit(query.limit_clause.as_ref())?;
        let by = match &query.order_by {
            None => &[][..],
            Some(ast::OrderBy {
                kind: ast::OrderByKind::Expressions(by),
                interpolate: None,
            }) => by,
            Some(_) => return Err(Error::query(place(query.span()), "ORDER BY takes columns")),
        };
        match &*query.body {
            SetExpr::Select(select) => self.select(select, by, limit, &named),
            SetExpr::Query(query) if by.is_empty() && limit.is_none() => self.query(query, &named),
            body => {
                let relation = self.body(body, &named)?;
                self.ordered(relation, by, limit)
            }
        }
    }

    /// A relation ordered by columns of its own.
    fn ordered(
        &self,
        relation: Relation,
        by: &[ast::OrderByExpr],
        limit: Option<Range<usize>>,
    ) -> Result<Resolved> {
        few_columns(by.len(), relation.at)?;
        let order = by
            .iter()
            .map(|by| {
                let column = self.output(&relation, &by.expr)?.ok_or_else(|| {
                    Error::query(
                        expression::at(&by.expr),
                        "after UNION, ORDER BY takes columns of the answer only",
                    )
                })?;
                ordered_by(by, column)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(first(relation, order, limit))
    }

    /// The column of the answer that is meant by its name or number.
    fn output(&self, relation: &Relation, expr: &ast::Expr) -> Result<Option<Expr>> {
        let all = relation.all();
        match expr {
            ast::Expr::Identifier(name) => {
                let at = relation
                    .columns
                    .iter()
                    .position(|column| means(name, &column.name));
                Ok(at.map(|at| all[at].clone()))
            }
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(number, _) => {
                    let at = numbered(number, value.span, all.len())?;
                    Ok(Some(all[at].clone()))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The places of the rows that LIMIT and OFFSET leave.
    fn limit(&self, clause: Option<&ast::LimitClause>) -> Result<Option<Range<usize>>> {
        let (limit, offset) = match clause {
            None => return Ok(None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) if limit_by.is_empty() => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            Some(clause) => return Err(Error::query(place(clause.span()), "LIMIT BY is not supported")),
        };
        let wrong = |expr: &ast::Expr| {
            let what = "LIMIT takes a whole number of rows, 1 or more, and OFFSET 0 or more";
            Error::query(expression::at(expr), what)
        };
        let count = |expr: &ast::Expr| match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(number, _) => number.parse().map_err(|_| wrong(expr)),
                _ => Err(wrong(expr)),
            },
            _ => Err(wrong(expr)),
        };
        let first = offset.map_or(Ok(0), count)?;
        match limit {
            None if first == 0 => Ok(None),
            None => Ok(Some(first..usize::MAX)),
            Some(limit) => match count(limit)? {
                0 => Err(wrong(limit)),
                more => Ok(Some(first..first.saturating_add(more))),
            },
        }
    }

    fn body(&self, body: &SetExpr, named: &[Named<'_>]) -> Result<Relation> {
        match body {
            SetExpr::Select(select) => Ok(self.select(select, &[], None, named)?.relation),
            SetExpr::Query(query) => Ok(self.query(query, named)?.relation),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let at = place(body.span());
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::None | SetQuantifier::Distinct => false,
                    _ => return Err(Error::query(at, "BY NAME is not supported")),
                };
                let both = [self.body(left, named)?, self.body(right, named)?];
                match op {
                    SetOperator::Union if all => union(both, at),
                    SetOperator::Union => Ok(union(both, at)?.distinct()),
                    _ if all => Err(Error::query(
                        at,
                        "EXCEPT ALL and INTERSECT ALL are not supported, only EXCEPT and INTERSECT",
                    )),
                    SetOperator::Intersect => in_first(both, true, at),
                    SetOperator::Except | SetOperator::Minus => in_first(both, false, at),
                }
            }
            other => Err(Error::query(place(other.span()), "SELECT is expected here")),
        }
    }
}

/// The rows of the first, each once, that are also in the second or, if they are not to be, are not.
fn in_first(both: [Relation; 2], in_second: bool, at: Option<Place>) -> Result<Relation> {
    let marked = |relation: Relation, second: bool| {
        let names = relation.columns.iter().map(|info| info.name.clone());
        let columns: Vec<(String, Expr)> = names
            .zip(relation.all())
            .chain([(String::new(), Expr::bool(second))])
            .collect();
        few_columns(columns.len(), at).map(|()| relation.project(columns))
    };
    let [first, second] = both;
    let (names, count): (Vec<String>, usize) = (
        first.columns.iter().map(|info| info.name.clone()).collect(),
        first.columns.len(),
    );
    if count != second.columns.len() {
        return Err(other_columns(
            "EXCEPT or INTERSECT",
            count,
            second.columns.len(),
            at,
        ));
    }
    let all = union([marked(first, false)?, marked(second, true)?], at)?;
    let mut keys = all.all();
    let mark = keys.remove(count);
    let bounds = [Function::Least, Function::Greatest].map(|function| Aggregate {
        function,
        of: mark.clone(),
    });
    let groups = all.grouped(keys, bounds.to_vec(), 0);
    let columns = groups.all();
    let (least, greatest) = (columns[count].clone(), columns[count + 1].clone());
    let kept = match in_second {
        true => least.not().and(greatest),
        false => greatest.not(),
    };
    Ok(groups
        .filter(kept)
        .project(names.into_iter().zip(columns).collect()))
}

fn other_columns(of: &str, one: usize, other: usize, at: Option<Place>) -> Error {
    let what = format!("the parts of {of} have {one} and {other} columns; give them the same number");
    Error::query(at, what)
}

/// The rows of both, whose columns go together.
fn union(both: [Relation; 2], at: Option<Place>) -> Result<Relation> {
    let [left, right] = both;
    if left.columns.len() != right.columns.len() {
        return Err(other_columns(
            "UNION",
            left.columns.len(),
            right.columns.len(),
            at,
        ));
    }
    let mut columns = Vec::new();
    for (place, (one, other)) in left.columns.iter().zip(&right.columns).enumerate() {
        let kind = match (left.is_null(place), right.is_null(place)) {
            (true, _) => Some(other.kind),
            (_, true) => Some(one.kind),
            _ if is_date_and_timestamp(one.kind, other.kind) => Some(ValueKind::Timestamp),
            _ => one.kind.unified(other.kind),
        };
        let kind = kind.ok_or_else(|| {
            let what = format!(
                "column {} is {} in one part of the UNION and {} in another; give both the same type",
                one.name,
                one.kind.name(),
                other.kind.name()
            );
            Error::query(at, what)
        })?;
        columns.push(Info {
            name: one.name.clone(),
            kind,
            nullable: one.nullable || other.nullable,
        });
    }
    let mut inputs = Vec::new();
    for part in [left, right] {
        let same = part
            .columns
            .iter()
            .zip(&columns)
            .all(|(own, all)| own.kind == all.kind);
        let converted = |(place, (own, all)): (usize, (Expr, &Info))| {
            let own = match all.kind {
                kind if part.is_null(place) => Expr::null(kind),
                ValueKind::Timestamp => to_timestamp(own),
                kind => own.into_kind(kind),
            };
            (all.name.clone(), own)
        };
        let exprs = part.all().into_iter().zip(&columns).enumerate();
        let exprs = exprs.map(converted).collect();
        let part = if same { part } else { part.project(exprs) };
        // Parts of parts are parts.
        match part.operation {
            Operation::Union(parts) => inputs.extend(parts),
            _ => inputs.push(part),
        }
    }
    Ok(Relation {
        operation: Operation::Union(inputs),
        columns,
        at,
    })
}

fn is_date_and_timestamp(one: ValueKind, other: ValueKind) -> bool {
    matches!(
        (one, other),
        (ValueKind::Date, ValueKind::Timestamp) | (ValueKind::Timestamp, ValueKind::Date)
    )
}
