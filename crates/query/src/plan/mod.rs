//! From operations on relations to steps: what depends on one party's rows alone is done by that party, and the rest secretly.

mod atoms;
mod before_join;
mod calls;
mod combine;
mod facts;
mod filter;
mod group;
mod inner;
mod late;
mod many;
mod moments;
mod order;
mod outer;
mod paired;
pub(crate) mod physical;
mod planner;
mod scan;
pub(crate) mod window;

use std::sync::Arc;

pub(crate) use self::atoms::of_inputs;
use self::combine::{first, union};
use self::facts::Facts;
use self::group::{grouped_by, own_groups};
pub(crate) use self::inner::flatten;
use self::moments::Moments;
use self::physical::{Column, Physical, Step};
pub(crate) use self::planner::Planner;
use crate::error::Result;
use crate::expr::Expr;
use crate::relation::{Aggregate, Function, Info, Kept, Operation, Order, Relation};
use crate::schema::Count;

/// Most exchanges of records of a query: some minutes of planning, and hours of computing.
pub(crate) const MAX_EXCHANGES: u64 = 1 << 33;

/// The same steps, whose rows are in the end no more than `most`, or there is no answer: what is computed of groups is computed of so many.
fn bounded(steps: Physical, most: usize) -> Physical {
    if most >= steps.rows || steps.owner.is_some() {
        return steps;
    }
    match &*steps.step {
        Step::Project(input, exprs) => {
            let input = bounded((**input).clone(), most);
            Physical {
                rows: input.rows,
                step: Arc::new(Step::Project(Box::new(input), exprs.clone())),
                ..steps
            }
        }
        Step::Group { grouped: true, .. } => Physical { rows: most, ..steps },
        _ => steps,
    }
}

impl Planner<'_> {
    /// Steps whose columns are all of those of `relation`, wherever they are done.
    pub(crate) fn all(&self, relation: &Relation) -> Result<Physical> {
        self.plan(relation, &relation.all())
    }

    /// Steps whose columns are all of those of `relation`, done secretly in the end.
    pub(crate) fn steps(&self, relation: &Relation) -> Result<Physical> {
        let steps = self.all(relation)?.shared(&[]);
        let steps = match self.schema.answer.count {
            Count::AtMost(most) => bounded(steps, most),
            Count::Revealed => steps,
        };
        calls::refuse_secret(&steps, relation.at)?;
        Ok(steps)
    }

    /// Steps whose columns are `wanted`, which are of the columns of `relation`.
    fn plan(&self, relation: &Relation, wanted: &[Expr]) -> Result<Physical> {
        self.work.keep(wanted, relation.at)?;
        if wanted.iter().any(|expr| expr.as_place().is_some()) {
            let steps = self.plan(relation, &as_places(wanted))?;
            return Ok(with_values(steps, wanted));
        }
        // A step is within another as often as the query says: each kind keeps what it needs on the stack in a function of its own.
        match &relation.operation {
            Operation::Scan(table) => Ok(self.scan(*table, wanted)),
            Operation::Project(input, exprs) => self.plan(input, &self.composed(wanted, exprs, relation.at)?),
            Operation::Filter(input, condition) => self.filter(input, condition, wanted),
            Operation::Inner(..) => self.inner(relation, Vec::new(), wanted),
            Operation::Outer { .. } => self.outer(relation, wanted),
            Operation::Union(inputs) => union(self.each(inputs, wanted)?, relation.at),
            Operation::Group { .. } => self.groups(relation, wanted),
            Operation::Window(input, window) => self.windowed(relation, (input, window), wanted),
            Operation::Kept(kept) => Ok(of_shards(relation, kept).project(wanted.to_vec())),
            Operation::First(input, order, rows) => {
                let input = self.plan(input, &with_order(wanted, order))?;
                Ok(first(input, wanted.len(), order, rows.clone()))
            }
        }
    }

    fn each(&self, inputs: &[Relation], wanted: &[Expr]) -> Result<Vec<Physical>> {
        inputs.iter().map(|input| self.plan(input, wanted)).collect()
    }

    fn groups(&self, relation: &Relation, wanted: &[Expr]) -> Result<Physical> {
        let Operation::Group {
            input,
            keys,
            aggregates,
            grouped,
            ..
        } = &relation.operation
        else {
            unreachable!("it is called for groups");
        };
        if let Some(earlier) = self.grouped_before_join(relation)? {
            self.work.make(earlier.parts(), relation.at)?;
            return self.plan(&earlier, wanted);
        }
        let (aggregates, made) = match self.is_of_one(input) {
            true => (aggregates.clone(), wanted.to_vec()),
            false => calls::of_keys(keys, aggregates, wanted),
        };
        let steps = self.plan(input, &with_arguments(keys, &aggregates))?;
        self.work.keep(&made, relation.at)?;
        let groups = of_groups(relation, (steps, keys.len(), *grouped), &aggregates, &made)?;
        self.cheaper_groups(groups, relation, wanted)
    }
}

/// The rows that shards have kept.
fn of_shards(relation: &Relation, kept: &Kept) -> Physical {
    let column = |info: &Info| Column {
        kind: info.kind,
        nullable: info.nullable,
    };
    Physical {
        columns: relation.columns.iter().map(column).collect(),
        rows: kept.shards * kept.rows,
        owner: None,
        facts: Facts::new(Vec::new(), kept.distinct.clone()),
        step: Arc::new(Step::Kept {
            relation: kept.relation,
            shards: kept.shards,
            rows: kept.rows,
        }),
    }
}

/// The places of listed values.
fn as_places(wanted: &[Expr]) -> Vec<Expr> {
    let place = |expr: &Expr| expr.as_place().map_or(expr, |(place, _)| place).clone();
    wanted.iter().map(place).collect()
}

/// The listed values, where steps give their places.
fn with_values(steps: Physical, wanted: &[Expr]) -> Physical {
    let made = steps.all().into_iter().zip(wanted);
    let made = made.map(|(column, expr)| match expr.as_place() {
        Some((_, list)) => column.listed(list.clone(), expr.kind),
        None => column,
    });
    let made = made.collect();
    steps.project(made)
}

fn with_order(wanted: &[Expr], order: &[Order]) -> Vec<Expr> {
    let by = order.iter().map(|order| order.by.clone());
    wanted.iter().cloned().chain(by).collect()
}

fn with_arguments(keys: &[Expr], aggregates: &[Aggregate]) -> Vec<Expr> {
    let arguments = aggregates.iter().map(|aggregate| aggregate.of.clone());
    keys.iter().cloned().chain(arguments).collect()
}

/// What is wanted of the groups of `input`, whose columns are the keys and what `aggregates` are of.
fn of_groups(
    relation: &Relation,
    (input, keys, grouped): (Physical, usize, bool),
    aggregates: &[Aggregate],
    wanted: &[Expr],
) -> Result<Physical> {
    let functions: Vec<Function> = aggregates.iter().map(|aggregate| aggregate.function).collect();
    let made = (functions.as_slice(), &Moments::of(aggregates));
    let shown = matches!(relation.operation, Operation::Group { shown: true, .. });
    let group = match shown && input.owner.is_some() {
        true => own_groups(input, keys, made, grouped, true),
        false => grouped_by(input, keys, made, grouped, relation.at)?,
    };
    // As many bits as are promised to whatever comes next.
    let promised = relation.columns.iter().map(|info| (info.kind, info.nullable));
    let added = aggregates.iter().skip(relation.columns.len() - keys);
    let added = added.map(|aggregate| (aggregate.of.kind, aggregate.of.nullable));
    let exact = group.all().into_iter().zip(promised.chain(added));
    let exact: Vec<Expr> = exact
        .map(|(column, (kind, nullable))| Expr {
            nullable,
            ..column.into_kind(kind)
        })
        .collect();
    let wanted = wanted
        .iter()
        .map(|expr| expr.over(&|at| exact[at].clone()))
        .collect();
    Ok(group.project(wanted))
}
