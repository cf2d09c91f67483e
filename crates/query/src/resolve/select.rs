//! SELECT: what it is from, what is kept, grouped, and told.

use sqlparser::ast::{
    self, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::expression::{Context, Grouping};
use super::from::From;
use super::scope::{Scope, means, place};
use super::{Named, Resolved, Resolver, first, known, most_rows, ordered_by, refuse, short};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::relation::{Info, Operation, Relation};
use crate::schema::MAX_NAME;
use crate::work::few_columns;

impl Resolver<'_> {
    pub(super) fn select(
        &self,
        select: &ast::Select,
        by: &[ast::OrderByExpr],
        limit: Option<usize>,
        named: &[Named<'_>],
    ) -> Result<Resolved> {
        let refused = [
            (select.top.is_some(), "TOP is not there; write LIMIT"),
            (
                select.into.is_some(),
                "INTO is not there; the job says where the answer goes",
            ),
            (!select.lateral_views.is_empty(), "LATERAL VIEW is not there"),
            (select.prewhere.is_some(), "PREWHERE is not there; write WHERE"),
            (select.qualify.is_some(), "QUALIFY is not there"),
            (!select.named_window.is_empty(), "window functions are not there"),
            (
                !select.cluster_by.is_empty()
                    || !select.distribute_by.is_empty()
                    || !select.sort_by.is_empty(),
                "CLUSTER BY, DISTRIBUTE BY and SORT BY are not there",
            ),
            (!select.connect_by.is_empty(), "CONNECT BY is not there"),
            (
                matches!(select.distinct, Some(ast::Distinct::On(_))),
                "DISTINCT ON is not there; use GROUP BY",
            ),
            (
                select.exclude.is_some() || select.value_table_mode.is_some(),
                "after SELECT there are columns and nothing else",
            ),
            (
                select.select_modifiers.is_some(),
                "of words after SELECT, DISTINCT is there",
            ),
            (
                select.flavor != SelectFlavor::Standard || select.projection.is_empty(),
                "SELECT and columns come first",
            ),
            (select.from.is_empty(), "it needs FROM and a table"),
        ];
        refuse(place(select.span()), &refused)?;
        let From { mut relation, scope } = self.from(&select.from, named)?;
        if let Some(condition) = &select.selection {
            let condition = Context::new(&scope, self.work).condition(condition)?;
            if known(&condition) != Some(true) {
                relation = relation.filter(condition);
            }
        }
        let keys = match &select.group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "GROUP BY names what is grouped by",
                ));
            }
        };
        let has_aggregates = select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => aggregates(expr),
            _ => false,
        }) || select.having.is_some()
            || by.iter().any(|by| aggregates(&by.expr));
        few_columns(keys.len().max(by.len()), place(select.span()))?;
        let mut grouping = if keys.is_empty() && !has_aggregates {
            None
        } else {
            let keys = keys
                .iter()
                .map(|key| self.key(key, select, &scope))
                .collect::<Result<Vec<_>>>()?;
            Some(Grouping {
                grouped: !keys.is_empty(),
                keys,
                aggregates: Vec::new(),
                rows: most_rows(&relation, self.schema),
            })
        };
        let mut context = Context::grouped(&scope, self.work, grouping.as_mut());
        let mut columns: Vec<(String, Expr)> = Vec::new();
        for item in &select.projection {
            self.item(item, &mut context, &mut columns)?;
        }
        let having = select
            .having
            .as_ref()
            .map(|having| context.condition(having))
            .transpose()?;
        // What the answer is ordered by, which may be none of its columns.
        let mut order = Vec::new();
        let told = columns.len();
        for by in by {
            let expr = match Self::own(&columns[..told], &by.expr)? {
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
        if let Some(Grouping {
            keys,
            aggregates,
            grouped,
            rows,
        }) = grouping
        {
            let info = |kind, nullable| Info {
                name: String::new(),
                kind,
                nullable,
            };
            few_columns(keys.len() + aggregates.len(), place(select.span()))?;
            let of_keys = keys.iter().map(|key| info(key.kind, key.nullable));
            let of_aggregates = aggregates.iter().map(|aggregate| {
                let (kind, nullable) = aggregate.kind(rows, grouped);
                info(kind, nullable)
            });
            relation = Relation {
                columns: of_keys.chain(of_aggregates).collect(),
                at: place(select.span()),
                operation: Operation::Group {
                    input: Box::new(relation),
                    keys,
                    aggregates,
                    grouped,
                },
            };
        }
        if let Some(having) = having {
            relation = relation.filter(having);
        }
        let hidden = columns.len() > told;
        let names: Vec<String> = columns[..told].iter().map(|(name, _)| name.clone()).collect();
        let mut relation = relation.project(columns);
        if matches!(select.distinct, Some(ast::Distinct::Distinct)) {
            if hidden {
                let what = "with DISTINCT, ORDER BY names columns of the answer";
                return Err(Error::query(place(select.span()), what));
            }
            relation = distinct(relation);
        }
        if !hidden {
            return Ok(first(relation, order, limit));
        }
        let mut resolved = first(relation, order, Some(limit.unwrap_or(usize::MAX)));
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

    /// What is grouped by: an expression, or the name or number of a column of the answer.
    fn key(&self, key: &ast::Expr, select: &ast::Select, scope: &Scope) -> Result<Expr> {
        let mut context = Context::new(scope, self.work);
        let item = match key {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(number, _) => {
                    let at = numbered(number, value.span, select.projection.len())?;
                    Some(&select.projection[at])
                }
                _ => None,
            },
            ast::Expr::Identifier(name) if scope.find(None, name).is_err() => select.projection.iter().find(
                |item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if means(name, &alias.value)),
            ),
            _ => None,
        };
        match item {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
                context.expression(expr)
            }
            _ => context.expression(key),
        }
    }

    fn item(
        &self,
        item: &SelectItem,
        context: &mut Context<'_>,
        columns: &mut Vec<(String, Expr)>,
    ) -> Result<()> {
        let at = place(item.span());
        let whole = |context: &mut Context<'_>, table: Option<&ast::Ident>, span| {
            if context.grouping.is_some() {
                return Err(Error::query(
                    place(span),
                    "with GROUP BY, write the columns instead of *",
                ));
            }
            let mut found = Vec::new();
            for visible in &context.scope().0 {
                let wanted = match (table, &visible.table) {
                    (None, _) => visible.alone,
                    (Some(wanted), Some(table)) => means(wanted, table),
                    (Some(_), None) => false,
                };
                if wanted {
                    found.push((visible.name.clone(), visible.expr()));
                }
            }
            match (found.is_empty(), table) {
                (true, Some(table)) => Err(Error::query(
                    place(span),
                    format!("there is no table {table} in FROM"),
                )),
                _ => {
                    few_columns(columns.len() + found.len(), at)?;
                    self.work.make(found.len(), at)?;
                    Ok(found)
                }
            }
        };
        few_columns(columns.len() + 1, at)?;
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    ast::Expr::Identifier(name) => name.value.clone(),
                    ast::Expr::CompoundIdentifier(names) => {
                        names.last().map_or_else(String::new, |name| name.value.clone())
                    }
                    other => other.to_string().to_lowercase().chars().take(MAX_NAME).collect(),
                };
                columns.push((name, context.expression(expr)?));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                short(alias)?;
                columns.push((alias.value.clone(), context.expression(expr)?));
            }
            SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)
                if *options != WildcardAdditionalOptions::default() =>
            {
                let what = "after * there is nothing; write the columns";
                return Err(Error::query(place(item.span()), what));
            }
            SelectItem::Wildcard(options) => {
                columns.extend(whole(context, None, options.wildcard_token.0.span)?)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let table = name.0.last().and_then(|part| part.as_ident());
                columns.extend(whole(context, table, name.span())?);
            }
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "columns and expressions stand after SELECT",
                ));
            }
        }
        Ok(())
    }
}

/// The place of the column of the answer that has this number.
pub(super) fn numbered(number: &str, span: Span, columns: usize) -> Result<usize> {
    let at = number.parse().ok().and_then(|at: usize| at.checked_sub(1));
    at.filter(|&at| at < columns).ok_or_else(|| {
        let what = format!("there is no column {number} of the answer: it has {columns}");
        Error::query(place(span), what)
    })
}

/// Each row once.
pub(super) fn distinct(relation: Relation) -> Relation {
    Relation {
        columns: relation.columns.clone(),
        at: relation.at,
        operation: Operation::Group {
            keys: relation.all(),
            input: Box::new(relation),
            aggregates: Vec::new(),
            grouped: true,
        },
    }
}

/// Whether an expression is made of aggregates.
fn aggregates(expr: &ast::Expr) -> bool {
    let mut found = false;
    each(expr, &mut |expr| {
        if let ast::Expr::Function(function) = expr {
            let name = function.name.to_string().to_ascii_uppercase();
            found |= matches!(name.as_str(), "COUNT" | "SUM" | "MIN" | "MAX" | "AVG");
        }
    });
    found
}

/// Calls `visit` with an expression and all that it is made of, as far as aggregates can stand there.
fn each(expr: &ast::Expr, visit: &mut impl FnMut(&ast::Expr)) {
    use ast::Expr as E;
    visit(expr);
    let parts: Vec<&ast::Expr> = match expr {
        E::Nested(x)
        | E::IsNull(x)
        | E::IsNotNull(x)
        | E::IsTrue(x)
        | E::IsNotTrue(x)
        | E::IsFalse(x)
        | E::IsNotFalse(x) => vec![x],
        E::Between { expr, low, high, .. } => vec![expr, low, high],
        E::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
        E::Like { expr, .. } => vec![expr],
        E::BinaryOp { left, right, .. } => vec![left, right],
        E::UnaryOp { expr, .. } | E::Cast { expr, .. } => vec![expr],
        E::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            let cases = conditions.iter().flat_map(|when| [&when.condition, &when.result]);
            operand
                .as_deref()
                .into_iter()
                .chain(cases)
                .chain(else_result.as_deref())
                .collect()
        }
        E::Function(function) => match &function.args {
            ast::FunctionArguments::List(list) => list
                .args
                .iter()
                .filter_map(|argument| match argument {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    parts.into_iter().for_each(|part| each(part, visit));
}
