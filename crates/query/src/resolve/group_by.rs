//! GROUP BY: what is grouped by, and what is made of the groups.

use sqlparser::ast::{self, SelectItem, Spanned};

use super::expression::{Context, Grouping};
use super::from::few_steps;
use super::function::is_aggregate;
use super::grouping_sets::{Sets, left_out, of_sets};
use super::order::numbered;
use super::percentile::ranked;
use super::resolver::Resolver;
use super::scope::{Scope, means, place};
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, ValueKind};
use crate::relation::{Aggregate, Operation, Relation};
use crate::work::{Work, few_columns};

impl Resolver<'_> {
    /// What is grouped of the rows of `relation`; nothing if SELECT has neither GROUP BY nor aggregates.
    pub(super) fn grouping(
        &self,
        select: &ast::Select,
        by: &[ast::OrderByExpr],
        scope: &Scope,
        relation: &Relation,
    ) -> Result<Option<Grouping>> {
        let keys = match &select.group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
            other => {
                let at = place(other.span()).or(place(select.span()));
                return Err(Error::query(at, "write columns or expressions after GROUP BY"));
            }
        };
        few_columns(keys.len(), place(select.span()))?;
        if keys.is_empty() && !has_aggregates(select, by) {
            return Ok(None);
        }
        let rows = relation.most_rows(self.schema);
        let all = Sets::of(keys, self.work, |key| self.key(key, select, scope))?;
        few_columns(2 * all.keys.len(), place(select.span()))?;
        let plain = all.is_plain();
        let flags = (0..all.keys.len()).filter(|_| !plain).map(left_out);
        Ok(Some(Grouping {
            grouped: all.sets.iter().all(|set| !set.is_empty()),
            sets: (!plain).then_some(all.sets),
            keys: all.keys.iter().cloned().chain(flags).collect(),
            aggregates: Vec::new(),
            rows,
            columns: relation.columns.len(),
            ranked: Vec::new(),
        }))
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
}

/// Groups of the rows, of each set of keys: the columns are the keys, and then what is made of each group.
pub(super) fn grouped(
    relation: Relation,
    grouping: Grouping,
    (work, at): (&Work, Option<Place>),
) -> Result<Relation> {
    match &grouping.sets {
        None => by_keys(relation, grouping, at),
        Some(sets) => of_sets(&relation, &grouping, sets, (work, at)),
    }
}

/// Groups by all keys.
pub(super) fn by_keys(relation: Relation, mut grouping: Grouping, at: Option<Place>) -> Result<Relation> {
    few_columns(grouping.keys.len() + grouping.aggregates.len() + 2, at)?;
    few_columns(grouping.columns + 2 * grouping.ranked.len(), at)?;
    let relation = ranked(relation, &mut grouping);
    few_steps(&relation, at)?;
    let mut distinct = grouping.aggregates.iter().filter(|(_, distinct)| *distinct);
    let relation = match distinct.next() {
        None => {
            let aggregates = grouping.aggregates.into_iter().map(|(aggregate, _)| aggregate);
            relation.grouped(grouping.keys, aggregates.collect(), grouping.rows)
        }
        Some((first, _)) if distinct.all(|(other, _)| other.of == first.of) => {
            let value = first.of.clone();
            each_once(relation, grouping, value)
        }
        Some(_) => {
            let what =
                "aggregates with DISTINCT must all be of the same values here; make the others in a subquery";
            return Err(Error::query(at, what));
        }
    };
    Ok(Relation { at, ..relation })
}

/// The same where some aggregates take each value once: of groups by the keys and these values.
fn each_once(relation: Relation, grouping: Grouping, value: Expr) -> Relation {
    let Grouping {
        keys,
        aggregates,
        rows,
        ..
    } = grouping;
    let count = keys.len();
    let all = aggregates
        .iter()
        .filter(|(_, distinct)| !distinct)
        .map(|(aggregate, _)| aggregate.clone());
    let parts = relation.grouped(
        keys.into_iter().chain([value]).collect(),
        all.chain([Aggregate::rows()]).collect(),
        rows,
    );
    let columns = parts.all();
    let mut others = columns[count + 1..].iter();
    let told = aggregates.iter().map(|(aggregate, distinct)| {
        if *distinct {
            return Aggregate {
                function: aggregate.function,
                of: columns[count].clone(),
            };
        }
        Aggregate {
            function: aggregate.function.of_parts(),
            of: others.next().expect("it is one of the parts").clone(),
        }
    });
    let told = told.collect();
    // Of the kinds that they have if they are made at once.
    let kinds = aggregates
        .iter()
        .map(|(aggregate, _)| aggregate.kind(rows, count > 0));
    let kinds: Vec<(ValueKind, bool)> = kinds.collect();
    let mut groups = parts.grouped(columns[..count].to_vec(), told, rows);
    for (info, kind) in groups.columns[count..].iter_mut().zip(kinds) {
        (info.kind, info.nullable) = kind;
    }
    if let Operation::Group { made_of, .. } = &mut groups.operation {
        *made_of = Some(columns.len() - 1);
    }
    groups
}

/// Whether SELECT, HAVING or ORDER BY asks for something made of groups.
pub(super) fn has_aggregates(select: &ast::Select, by: &[ast::OrderByExpr]) -> bool {
    let of_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => aggregates(expr),
        _ => false,
    };
    let of_window = |window: &ast::NamedWindowDefinition| match &window.1 {
        ast::NamedWindowExpr::WindowSpec(spec) => of_spec(spec).any(aggregates),
        ast::NamedWindowExpr::NamedWindow(_) => false,
    };
    select.having.is_some()
        || select.projection.iter().any(of_item)
        || select.qualify.as_ref().is_some_and(aggregates)
        || select.named_window.iter().any(of_window)
        || by.iter().any(|by| aggregates(&by.expr))
}

/// Whether an expression is made of aggregates.
fn aggregates(expr: &ast::Expr) -> bool {
    let mut found = false;
    each(expr, &mut |expr| {
        if let ast::Expr::Function(function) = expr
            && function.over.is_none()
        {
            let name = function.name.to_string().to_ascii_uppercase();
            found |= is_aggregate(&name);
        }
    });
    found
}

/// What a window is made of.
fn of_spec(spec: &ast::WindowSpec) -> impl Iterator<Item = &ast::Expr> {
    spec.partition_by
        .iter()
        .chain(spec.order_by.iter().map(|by| &by.expr))
}

/// Calls `visit` with an expression and all that it is made of, as far as aggregates can stand there.
pub(super) fn each(expr: &ast::Expr, visit: &mut impl FnMut(&ast::Expr)) {
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
        E::Like { expr, pattern, .. } | E::ILike { expr, pattern, .. } => vec![expr, pattern],
        E::BinaryOp { left, right, .. } => vec![left, right],
        E::IsDistinctFrom(x, y) | E::IsNotDistinctFrom(x, y) => vec![x, y],
        E::Tuple(parts) => parts.iter().collect(),
        E::Extract { expr, .. } | E::Floor { expr, .. } | E::Ceil { expr, .. } => vec![expr],
        E::Position { expr, r#in } => vec![expr, r#in],
        E::Trim { expr, trim_what, .. } => [expr].into_iter().chain(trim_what).map(|part| &**part).collect(),
        E::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            let others = substring_from.iter().chain(substring_for);
            [expr].into_iter().chain(others).map(|part| &**part).collect()
        }
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
        E::Function(function) => {
            let arguments = match &function.args {
                ast::FunctionArguments::List(list) => &list.args[..],
                _ => &[],
            };
            let arguments = arguments.iter().filter_map(|argument| match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            let over = match &function.over {
                Some(ast::WindowType::WindowSpec(spec)) => Some(of_spec(spec)),
                _ => None,
            };
            arguments.chain(over.into_iter().flatten()).collect()
        }
        _ => Vec::new(),
    };
    parts.into_iter().for_each(|part| each(part, visit));
}
