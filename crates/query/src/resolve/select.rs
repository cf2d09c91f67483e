//! SELECT: what it is from, what is kept, grouped, and told.

use sqlparser::ast::{
    self, JoinConstraint, JoinOperator, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, Spanned,
    TableFactor, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::expression::{Context, Grouping};
use super::scope::{Scope, Visible, means, place};
use super::{MAX_TABLES, Named, Resolved, Resolver, first, known, most_rows, ordered_by, refuse, rename};
use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr};
use crate::relation::{Info, Operation, Relation};

/// What FROM gives.
struct From {
    relation: Relation,
    scope: Scope,
}

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
            let condition = Context::new(&scope).condition(condition)?;
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
        let mut context = Context::grouped(&scope, grouping.as_mut());
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
        let mut context = Context::new(scope);
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
                _ => Ok(found),
            }
        };
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    ast::Expr::Identifier(name) => name.value.clone(),
                    ast::Expr::CompoundIdentifier(names) => {
                        names.last().map_or_else(String::new, |name| name.value.clone())
                    }
                    other => other.to_string().to_lowercase(),
                };
                columns.push((name, context.expression(expr)?));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                columns.push((alias.value.clone(), context.expression(expr)?))
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

    fn from(&self, tables: &[ast::TableWithJoins], named: &[Named<'_>]) -> Result<From> {
        let mut all: Option<From> = None;
        for table in tables {
            let next = self.joined(table, named)?;
            all = Some(match all {
                None => next,
                Some(all) => self.combined(all, next)?,
            });
        }
        all.ok_or_else(|| Error::query(None, "it needs FROM and a table"))
    }

    fn joined(&self, table: &ast::TableWithJoins, named: &[Named<'_>]) -> Result<From> {
        let mut all = self.factor(&table.relation, named)?;
        for join in &table.joins {
            let next = self.factor(&join.relation, named)?;
            let span = join.relation.span();
            all = match &join.join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                    let left = all.relation.columns.len();
                    let mut all = self.combined(all, next)?;
                    let condition = self.constraint(constraint, &mut all.scope, left, span)?;
                    all.relation = all.relation.filter(condition);
                    all
                }
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    self.left(all, next, constraint, span)?
                }
                JoinOperator::CrossJoin(JoinConstraint::None) => self.combined(all, next)?,
                _ => {
                    let what = "of joins there are JOIN and LEFT JOIN; a RIGHT JOIN is a LEFT JOIN with the tables exchanged";
                    return Err(Error::query(place(span), what));
                }
            };
        }
        Ok(all)
    }

    /// All combinations of the rows of both.
    fn combined(&self, left: From, right: From) -> Result<From> {
        let shift = left.relation.columns.len();
        let mut scope = left.scope;
        let before = scope.0.len();
        for visible in right.scope.0 {
            if let Some(table) = &visible.table
                && scope.0[..before]
                    .iter()
                    .any(|other| other.table.as_ref() == Some(table))
            {
                let what = format!("two tables are called {table} in FROM; give one another name with AS");
                return Err(Error::query(right.relation.at, what));
            }
            scope.0.push(Visible {
                index: visible.index + shift,
                ..visible
            });
        }
        let columns = [&left.relation.columns[..], &right.relation.columns[..]].concat();
        let at = left.relation.at;
        let relation = Relation {
            operation: Operation::Inner(vec![left.relation, right.relation], Vec::new()),
            columns,
            at,
        };
        Ok(From { relation, scope })
    }

    /// The condition of a join whose first table has `left` columns; what is joined by its name is then found by it once.
    fn constraint(
        &self,
        constraint: &JoinConstraint,
        scope: &mut Scope,
        left: usize,
        span: Span,
    ) -> Result<Expr> {
        match constraint {
            JoinConstraint::On(condition) => Context::new(scope).condition(condition),
            JoinConstraint::Using(names) => {
                let mut all: Option<Expr> = None;
                for name in names {
                    let Some(name) = name.0.last().and_then(|part| part.as_ident()) else {
                        return Err(Error::query(place(span), "USING names columns"));
                    };
                    let (first, second): (Vec<_>, Vec<_>) =
                        scope.0.iter().cloned().partition(|visible| visible.index < left);
                    let one = Scope(first).find(None, name)?.clone();
                    let other = Scope(second).find(None, name)?.clone();
                    for visible in &mut scope.0 {
                        if visible.index == other.index {
                            visible.alone = false;
                        }
                    }
                    let same =
                        Expr::compare(Comparison::Equal, one.expr(), other.expr()).ok_or_else(|| {
                            let what = format!(
                                "{name} is {} in one table and {} in the other",
                                one.kind.name(),
                                other.kind.name()
                            );
                            Error::query(place(name.span), what)
                        })?;
                    all = Some(match all {
                        None => same,
                        Some(all) => all.and(same),
                    });
                }
                all.ok_or_else(|| Error::query(place(span), "USING names columns"))
            }
            JoinConstraint::Natural => Err(Error::query(
                place(span),
                "NATURAL JOIN is not there; write USING and the columns",
            )),
            JoinConstraint::None => Err(Error::query(
                place(span),
                "a join needs ON and a condition, or USING and columns",
            )),
        }
    }

    fn left(&self, left: From, right: From, constraint: &JoinConstraint, span: Span) -> Result<From> {
        let shift = left.relation.columns.len();
        let combined = self.combined(
            From {
                relation: left.relation.clone(),
                scope: left.scope,
            },
            From {
                relation: right.relation.clone(),
                scope: right.scope,
            },
        )?;
        let mut scope = combined.scope;
        let condition = self.constraint(constraint, &mut scope, shift, span)?;
        let mut on = Vec::new();
        let mut kept = right.relation;
        for condition in condition.conjuncts() {
            let side = |expr: &Expr| {
                let (mut left, mut right) = (false, false);
                expr.columns(&mut |column| if column < shift { left = true } else { right = true });
                (left, right)
            };
            let moved = |expr: &Expr| {
                expr.over(&|column| {
                    let info = &kept.columns[column - shift];
                    Expr::column(column - shift, info.kind, info.nullable)
                })
            };
            if let crate::expr::Node::Compare(Comparison::Equal, x, y) = &condition.node {
                match (side(x), side(y)) {
                    ((true, false), (false, true)) => {
                        on.push(((**x).clone(), moved(y)));
                        continue;
                    }
                    ((false, true), (true, false)) => {
                        on.push(((**y).clone(), moved(x)));
                        continue;
                    }
                    _ => (),
                }
            }
            if side(&condition).0 {
                let what = "the condition of a LEFT JOIN is that columns of both are equal, and conditions on the second table alone";
                return Err(Error::query(place(span), what));
            }
            let condition = moved(&condition);
            kept = kept.filter(condition);
        }
        if on.is_empty() {
            return Err(Error::query(
                place(span),
                "a LEFT JOIN needs a column of each table that are equal",
            ));
        }
        for visible in &mut scope.0 {
            visible.nullable |= visible.index >= shift;
        }
        let mut columns = combined.relation.columns;
        columns[shift..]
            .iter_mut()
            .for_each(|column| column.nullable = true);
        let relation = Relation {
            columns,
            at: place(span),
            operation: Operation::Left {
                left: Box::new(left.relation),
                right: Box::new(kept),
                on,
            },
        };
        Ok(From { relation, scope })
    }

    fn factor(&self, factor: &TableFactor, named: &[Named<'_>]) -> Result<From> {
        let (mut relation, name) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                let Some(ident) = name
                    .0
                    .first()
                    .and_then(|part| part.as_ident())
                    .filter(|_| name.0.len() == 1)
                else {
                    return Err(Error::query(
                        place(name.span()),
                        "a table is called by its name alone",
                    ));
                };
                let relation = self.table(ident, named)?;
                let called = alias.as_ref().map_or(ident, |alias| &alias.name).value.clone();
                (relation, called)
            }
            TableFactor::Derived {
                lateral: false,
                subquery,
                alias,
                sample: None,
            } => {
                let relation = self.query(subquery, named)?.relation;
                let called = alias
                    .as_ref()
                    .map_or_else(String::new, |alias| alias.name.value.clone());
                (relation, called)
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => return self.joined(table_with_joins, named),
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "a table, or a subquery in brackets, stands in FROM",
                ));
            }
        };
        if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } = factor
        {
            rename(&mut relation, alias)?;
        }
        relation.at = place(factor.span());
        let visible = |(index, info): (usize, &Info)| Visible {
            table: (!name.is_empty()).then(|| name.clone()),
            name: info.name.clone(),
            index,
            kind: info.kind,
            nullable: info.nullable,
            alone: true,
        };
        let scope = Scope(relation.columns.iter().enumerate().map(visible).collect());
        Ok(From { relation, scope })
    }

    fn table(&self, name: &ast::Ident, named: &[Named<'_>]) -> Result<Relation> {
        let known = named.iter().rev().find(|known| means(name, &known.name.value));
        let tables = self.tables.get() + known.map_or(1, |known| known.relation.tables());
        if tables > MAX_TABLES {
            let what = format!(
                "with subqueries put in wherever they are named, it is of more than {MAX_TABLES} tables"
            );
            return Err(Error::query(place(name.span), what));
        }
        self.tables.set(tables);
        if let Some(known) = known {
            return Ok(known.relation.clone());
        }
        let at = self
            .schema
            .tables
            .iter()
            .position(|table| means(name, &table.name));
        let Some(at) = at else {
            let names: Vec<&str> = self
                .schema
                .tables
                .iter()
                .map(|table| table.name.as_str())
                .collect();
            let what = format!("there is no table {name}; there are {}", names.join(", "));
            return Err(Error::query(place(name.span), what));
        };
        let table = &self.schema.tables[at];
        let info = |field: &cenote_tables::Field| Info {
            name: field.name.clone(),
            kind: crate::expr::Kind::of(field.kind),
            nullable: field.nullable,
        };
        Ok(Relation {
            operation: Operation::Scan(at),
            columns: table.fields.iter().map(info).collect(),
            at: place(name.span),
        })
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
