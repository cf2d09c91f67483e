//! Groups: each party makes those of its own rows first.

use std::sync::Arc;

use super::combine::union;
use super::moments::Moments;
use super::physical::{Column, Physical, Step, values};
use crate::error::{Place, Result};
use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind, may_fail};
use crate::relation::Function;

/// Groups by the first `keys` columns.
pub(super) fn grouped_by(
    input: Physical,
    keys: usize,
    (functions, moments): (&[Function], &Moments),
    grouped: bool,
    at: Option<Place>,
) -> Result<Physical> {
    match &*input.step {
        // Each party groups its own rows first.
        Step::Union(parts) if input.owner.is_none() => {
            let parts: Vec<Physical> = parts
                .iter()
                .cloned()
                .map(|part| match part.owner {
                    Some(_) => own_groups(part, keys, (functions, moments), grouped, false),
                    None => in_parts(part, keys, functions),
                })
                .collect();
            let parts = alike(parts);
            let together: Vec<Function> = functions.iter().map(|function| function.of_parts()).collect();
            let group = group(union(parts, at)?, keys, &together, grouped);
            // A sum of counts is never null.
            let exprs = group.all().into_iter().enumerate().map(|(at, column)| {
                let counts = at >= keys && matches!(functions[at - keys], Function::Rows | Function::Count);
                match counts {
                    true => column.with_default(Expr::number(0, 0)),
                    false => column,
                }
            });
            let exprs = exprs.collect();
            Ok(group.project(exprs))
        }
        _ if grouped && input.owner.is_none() => Ok(by_independent(input, keys, functions)),
        _ => Ok(group(input, keys, functions, grouped)),
    }
}

/// Groups by those of the first `keys` columns on which the others depend: these are the same in all rows of a group. If rows are ordered by some of them, it is these.
fn by_independent(input: Physical, keys: usize, functions: &[Function]) -> Physical {
    let columns = &input.columns;
    let bits = |column: usize| columns[column].kind.width() + u32::from(columns[column].nullable);
    let mut kept = match input.in_order_of_groups(keys, functions) {
        Some(order) => order,
        None => input.facts.independent(keys, bits),
    };
    kept.sort_unstable();
    let others = (0..keys).filter(|column| !kept.contains(column));
    let order: Vec<usize> = kept
        .iter()
        .copied()
        .chain(others)
        .chain(keys..columns.len())
        .collect();
    let same = std::iter::repeat_n(Function::Same, keys - kept.len());
    let functions: Vec<Function> = same.chain(functions.iter().copied()).collect();
    let all = input.all();
    let moved = order.iter().map(|&column| all[column].clone()).collect();
    let groups = group(input.project(moved), kept.len(), &functions, true);
    let all = groups.all();
    let mut back: Vec<(usize, Expr)> = order.into_iter().zip(all).collect();
    back.sort_by_key(|&(column, _)| column);
    groups.project(back.into_iter().map(|(_, expr)| expr).collect())
}

/// The groups that a party makes of its own rows, of which it is verified that rows could give them: without that, it could add groups that cancel
/// those of others, or make small groups seem large. They may come in the order of their keys.
pub(super) fn own_groups(
    part: Physical,
    keys: usize,
    (functions, moments): (&[Function], &Moments),
    grouped: bool,
    sorted: bool,
) -> Physical {
    let most = part.rows;
    let values = part.columns[keys..].to_vec();
    let (mut functions, mut exprs) = (functions.to_vec(), part.all());
    let told = exprs.len();
    let rows_at = functions.iter().position(|function| *function == Function::Rows);
    let rows_at = rows_at.unwrap_or_else(|| {
        functions.push(Function::Rows);
        exprs.push(Expr::bool(true));
        functions.len() - 1
    });
    let by: Vec<usize> = (0..if sorted { keys } else { 0 }).collect();
    let groups = group(part.project(exprs), keys, &functions, grouped).shared(&by);
    let all = groups.all();
    let count = &all[keys + rows_at];
    let made = &all[keys..];
    let less = |x: Expr, y: Expr| Expr::compare(Comparison::Less, x, y).expect("both are numbers");
    let mut conditions = Vec::new();
    if grouped {
        conditions.push(less(count.clone(), Expr::number(1, 0)).not());
    }
    for (at, ((function, value), total)) in functions.iter().zip(&values).zip(made).enumerate() {
        match (function, value.kind) {
            (Function::Count, _) => conditions.push(less(count.clone(), total.clone()).not()),
            (Function::Sum, ValueKind::Number { least, most, scale }) => {
                let count = moments.count(at, made, count).unwrap_or(count);
                let bound = |of: i128| {
                    let of = Expr::number(of, scale);
                    let fits = !may_fail(Arithmetic::Multiply, count.kind, of.kind);
                    fits.then(|| Expr::arithmetic(Arithmetic::Multiply, count.clone(), of))
                };
                let low = bound(least.min(0)).map(|low| less(total.clone(), low).not());
                let high = bound(most.max(0)).map(|high| less(high, total.clone()).not());
                for within in low.into_iter().chain(high) {
                    conditions.push(match total.nullable {
                        true => total.clone().missing().or(within),
                        false => within,
                    });
                }
            }
            _ => (),
        }
    }
    conditions.extend(moments.conditions(made, count));
    let told = all[..told].to_vec();
    Physical {
        columns: groups.columns.clone(),
        rows: groups.rows,
        owner: None,
        facts: groups.facts.clone(),
        step: Arc::new(Step::Verify {
            input: Box::new(groups),
            conditions,
            count: keys + rows_at,
            most,
        }),
    }
    .project(told)
}

/// The same rows, with columns of one kind each.
fn alike(parts: Vec<Physical>) -> Vec<Physical> {
    let kinds: Vec<ValueKind> = (0..parts[0].columns.len())
        .map(|column| {
            let kinds = parts.iter().map(|part| part.columns[column].kind);
            kinds
                .reduce(|one, other| one.unified(other).unwrap_or(one))
                .unwrap_or(ValueKind::Bool)
        })
        .collect();
    let cast = |part: Physical| {
        let exprs = part
            .all()
            .into_iter()
            .zip(&kinds)
            .map(|(column, kind)| column.into_kind(*kind));
        let exprs = exprs.collect();
        part.project(exprs)
    };
    parts.into_iter().map(cast).collect()
}

/// Rows as groups of one.
fn in_parts(input: Physical, keys: usize, functions: &[Function]) -> Physical {
    let mut exprs = input.all();
    for (column, function) in exprs[keys..].iter_mut().zip(functions) {
        let one = Expr::number(1, 0).into_kind(ValueKind::Number {
            least: 0,
            most: 1,
            scale: 0,
        });
        match function {
            Function::Rows => *column = one,
            Function::Count => {
                let none = Expr::number(0, 0).into_kind(one.kind);
                *column = Expr::choice(column.clone().missing(), none, one).expect("both are numbers");
            }
            _ => (),
        }
    }
    input.project(exprs)
}

fn group(input: Physical, keys: usize, functions: &[Function], grouped: bool) -> Physical {
    let of = |(column, function): (&Column, &Function)| {
        let of = Expr {
            node: Node::Column(0),
            kind: column.kind,
            nullable: column.nullable,
        };
        let aggregate = crate::relation::Aggregate {
            function: *function,
            of,
        };
        let (kind, nullable) = aggregate.kind(input.rows as u64, grouped);
        Column { kind, nullable }
    };
    let of_keys = input.columns[..keys].iter().copied();
    let columns: Vec<Column> = of_keys
        .chain(input.columns[keys..].iter().zip(functions).map(of))
        .collect();
    let rows = match grouped {
        false => 1,
        true => {
            let groups = input
                .distinct(keys)
                .and_then(|groups| usize::try_from(groups).ok());
            // To put a few rows fewer together takes more than they do.
            let is_worth_it = |groups: &usize| input.owner.is_some() || *groups < input.rows - input.rows / 8;
            groups
                .filter(is_worth_it)
                .map_or(input.rows, |groups| groups.min(input.rows))
        }
    };
    let mut distinct: Vec<Option<u64>> = input.facts.distinct[..keys].to_vec();
    distinct.extend(
        columns[keys..]
            .iter()
            .map(|column| values(column.kind, column.nullable)),
    );
    // Rows that are not sorted by the keys alone may have a key in two places, where what depends on it is not compared.
    let verified = input.owner.is_none() && !input.is_in_groups(keys, functions);
    let facts = input.facts.of_groups(keys, distinct, verified);
    Physical {
        rows,
        owner: input.owner,
        facts,
        columns,
        step: Arc::new(Step::Group {
            input: Box::new(input),
            keys,
            functions: functions.to_vec(),
            grouped,
        }),
    }
}
