//! SELECT: what it is from, what is kept, grouped, and told.

use std::ops::Range;

use sqlparser::ast::{self, SelectFlavor, Spanned};

use super::expression::Context;
use super::from::From;
use super::group_by::grouped;
use super::order::{first, numbered, ordered_by};
use super::resolver::{Named, Resolved, Resolver};
use super::scope::{means, place, refuse};
use super::subquery::Subqueries;
use super::window::{Windows, in_place};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::relation::{Order, Relation};
use crate::work::few_columns;

/// What SELECT gives, by name: the columns that are told, and then others that ORDER BY needs.
struct Chosen {
    columns: Vec<(String, Expr)>,
    told: usize,
    order: Vec<Order>,
}

impl Resolver<'_> {
    pub(super) fn select(
        &self,
        select: &ast::Select,
        by: &[ast::OrderByExpr],
        limit: Option<Range<usize>>,
        named: &[Named<'_>],
    ) -> Result<Resolved> {
        only_what_is_there(select)?;
        let From { relation, scope } = self.from(&select.from, named)?;
        let (mut relation, _) = self.kept(select.selection.as_ref(), (relation, &scope), named, None)?;
        few_columns(by.len(), place(select.span()))?;
        let mut grouping = self.grouping(select, by, &scope, &relation)?;
        // What is made of groups cannot be compared with columns of single rows.
        let around = grouping.is_none().then_some(&scope);
        let subqueries = Subqueries::new(self, named, around);
        let sets = grouping
            .as_ref()
            .and_then(|grouping| grouping.sets.as_ref())
            .map_or(1, Vec::len);
        let windows = Windows::new(
            select,
            relation.most_rows(self.schema).saturating_mul(sets as u64),
        );
        let mut context = Context::grouped(&scope, self.work, grouping.as_mut()).with(Some(&subqueries));
        let condition = |context: &mut Context<'_>, of: &Option<ast::Expr>| {
            let condition = of.as_ref().map(|condition| context.condition(condition));
            condition.transpose()
        };
        context.windows = Some(&windows);
        let columns = self.projection(&select.projection, &mut context)?;
        context.windows = None;
        let having = condition(&mut context, &select.having)?;
        context.windows = Some(&windows);
        let qualify = condition(&mut context, &select.qualify)?;
        let mut chosen = chosen(columns, by, &mut context)?;
        if let Some(grouping) = grouping {
            relation = grouped(relation, grouping, (self.work, place(select.span())))?;
        }
        let told_of = chosen.columns.iter().map(|(_, column)| column);
        let exprs = told_of
            .chain(&having)
            .chain(&qualify)
            .cloned()
            .chain(windows.exprs());
        let (mut relation, placed) = subqueries.joined(relation, exprs.collect())?;
        let mut placed = placed.into_iter();
        let told_of: Vec<Expr> = placed.by_ref().take(chosen.columns.len()).collect();
        if having.is_some() {
            relation = relation.filter(placed.next().expect("it was placed"));
        }
        let qualify = qualify.map(|_| placed.next().expect("it was placed"));
        let (mut relation, added) = windows.over(relation, placed)?;
        for ((_, column), told) in chosen.columns.iter_mut().zip(told_of) {
            *column = in_place(&told, &added);
        }
        if let Some(qualify) = qualify {
            relation = relation.filter(in_place(&qualify, &added));
        }
        told(select, relation, chosen, limit)
    }
}

/// Adds what the answer is ordered by, which may be none of its columns.
fn chosen(
    mut columns: Vec<(String, Expr)>,
    by: &[ast::OrderByExpr],
    context: &mut Context<'_>,
) -> Result<Chosen> {
    let mut order = Vec::new();
    let told = columns.len();
    for by in by {
        let expr = match own(&columns[..told], &by.expr)? {
            Some(at) => columns[at].1.clone(),
            None => context.expression(&by.expr)?,
        };
        let at = columns
            .iter()
            .position(|(_, column)| *column == expr)
            .unwrap_or_else(|| {
                columns.push((String::new(), expr.clone()));
                columns.len() - 1
            });
        order.push(ordered_by(by, Expr::column(at, expr.kind, expr.nullable))?);
    }
    Ok(Chosen { columns, told, order })
}

/// The rows with the columns that are told, each once with DISTINCT, in their order and only those in `limit`.
fn told(
    select: &ast::Select,
    relation: Relation,
    chosen: Chosen,
    limit: Option<Range<usize>>,
) -> Result<Resolved> {
    let Chosen { columns, told, order } = chosen;
    let hidden = columns.len() > told;
    let names: Vec<String> = columns[..told].iter().map(|(name, _)| name.clone()).collect();
    let mut relation = relation.project(columns);
    if matches!(select.distinct, Some(ast::Distinct::Distinct)) {
        if hidden {
            let what = "with DISTINCT, ORDER BY takes columns of the answer only";
            return Err(Error::query(place(select.span()), what));
        }
        relation = relation.distinct();
    }
    if !hidden {
        return Ok(first(relation, order, limit));
    }
    let mut resolved = first(relation, order, Some(limit.unwrap_or(0..usize::MAX)));
    let all = resolved.relation.all();
    resolved.relation = resolved.relation.project(names.into_iter().zip(all).collect());
    resolved.order = Vec::new();
    Ok(resolved)
}

/// The column of the answer that an expression of ORDER BY names.
fn own(columns: &[(String, Expr)], by: &ast::Expr) -> Result<Option<usize>> {
    match by {
        ast::Expr::Identifier(name) => Ok(columns.iter().position(|(column, _)| means(name, column))),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(number, _) => numbered(number, value.span, columns.len()).map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Refuses parts of SELECT that other dialects have.
fn only_what_is_there(select: &ast::Select) -> Result<()> {
    let refused = [
        (select.top.is_some(), "TOP is not supported; write LIMIT"),
        (
            select.into.is_some(),
            "INTO is not supported; the job says where the answer goes",
        ),
        (!select.lateral_views.is_empty(), "LATERAL VIEW is not supported"),
        (
            select.prewhere.is_some(),
            "PREWHERE is not supported; write WHERE",
        ),
        (
            !select.cluster_by.is_empty() || !select.distribute_by.is_empty() || !select.sort_by.is_empty(),
            "CLUSTER BY, DISTRIBUTE BY and SORT BY are not supported",
        ),
        (!select.connect_by.is_empty(), "CONNECT BY is not supported"),
        (
            matches!(select.distinct, Some(ast::Distinct::On(_))),
            "DISTINCT ON is not supported; use GROUP BY",
        ),
        (
            select.exclude.is_some() || select.value_table_mode.is_some(),
            "write columns only after SELECT",
        ),
        (
            select.select_modifiers.is_some(),
            "only DISTINCT may stand between SELECT and the columns",
        ),
        (
            select.flavor != SelectFlavor::Standard || select.projection.is_empty(),
            "begin with SELECT and the columns",
        ),
        (select.from.is_empty(), "FROM and a table are missing"),
    ];
    refuse(place(select.span()), &refused)
}
