//! From operations on relations to steps: what depends on one party's rows alone is done by that party, and the rest secretly.

mod group;
mod inner;
mod order;
pub(crate) mod physical;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use self::group::grouped_by;
use self::physical::{Column, Facts, Join, Ordered, Physical, Step, values};
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, Kind};
use crate::relation::{Function, Operation, Order, Relation};
use crate::schema::{MAX_ROWS, Schema};
use crate::work::{Extent, Work, within};

/// Most exchanges of records of a query: some minutes of planning, and hours of computing.
const MAX_EXCHANGES: u64 = 1 << 33;

/// The steps of a query.
pub(crate) struct Planner<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) work: &'a Work,
}

impl Planner<'_> {
    /// Steps whose columns are all of those of `relation`.
    pub(crate) fn steps(&self, relation: &Relation) -> Result<Physical> {
        let steps = self.plan(relation, &relation.all())?.shared(&[]);
        let exchanges = steps.exchanges();
        if exchanges > MAX_EXCHANGES {
            let what = format!(
                "it sorts so many rows secretly that it would take {exchanges} exchanges, and {MAX_EXCHANGES} is the most: make `max_rows` of the tables \
                 smaller, or promise with `distinct` that there are few groups"
            );
            return Err(Error::query(relation.at, what));
        }
        Ok(steps)
    }

    /// Steps whose columns are `wanted`, which are of the columns of `relation`.
    fn plan(&self, relation: &Relation, wanted: &[Expr]) -> Result<Physical> {
        self.work.keep(wanted, relation.at)?;
        match &relation.operation {
            Operation::Scan(table) => Ok(self.scan(*table, wanted)),
            Operation::Project(input, exprs) => self.plan(input, &self.composed(wanted, exprs, relation.at)?),
            Operation::Filter(input, condition) => self.filter(input, condition, wanted),
            Operation::Inner(..) => self.inner(relation, Vec::new(), wanted),
            Operation::Left { left, right, on } => self.left(relation.at, (left, right), on, wanted),
            Operation::Union(inputs) => {
                let inputs = inputs
                    .iter()
                    .map(|input| self.plan(input, wanted))
                    .collect::<Result<Vec<_>>>()?;
                union(inputs, relation.at)
            }
            Operation::Group {
                input,
                keys,
                aggregates,
                grouped,
            } => {
                let arguments = aggregates.iter().map(|aggregate| aggregate.of.clone());
                let needed: Vec<Expr> = keys.iter().cloned().chain(arguments).collect();
                let input = self.plan(input, &needed)?;
                self.work.keep(wanted, relation.at)?;
                let functions: Vec<Function> =
                    aggregates.iter().map(|aggregate| aggregate.function).collect();
                let group = grouped_by(input, keys.len(), &functions, *grouped, relation.at)?;
                // As many bits as are promised to whatever comes next.
                let exact = group.all().into_iter().zip(&relation.columns);
                let exact: Vec<Expr> = exact
                    .map(|(column, info)| Expr {
                        nullable: info.nullable,
                        ..column.into_kind(info.kind)
                    })
                    .collect();
                let wanted = wanted
                    .iter()
                    .map(|expr| expr.over(&|at| exact[at].clone()))
                    .collect();
                Ok(group.project(wanted))
            }
            Operation::First(input, order, count) => {
                let by = order.iter().map(|order| order.by.clone());
                let needed: Vec<Expr> = wanted.iter().cloned().chain(by).collect();
                let input = self.plan(input, &needed)?;
                Ok(first(input, wanted.len(), order, *count))
            }
        }
    }

    fn scan(&self, table: usize, wanted: &[Expr]) -> Physical {
        let declared = &self.schema.tables[table];
        let mut used = BTreeSet::new();
        wanted.iter().for_each(|expr| {
            expr.columns(&mut |column| {
                used.insert(column);
            })
        });
        let columns: Vec<usize> = used.into_iter().collect();
        let places: BTreeMap<usize, usize> = columns
            .iter()
            .enumerate()
            .map(|(at, &column)| (column, at))
            .collect();
        let place = |old: usize| places.get(&old).copied();
        let promised = |name: &str| place(declared.column(name)?);
        let unique = declared.unique.iter().map(|name| (name, 1));
        let at_most = declared.at_most.iter().map(|(name, &count)| (name, count));
        let mut distinct: Vec<Option<u64>> = columns
            .iter()
            .map(|&column| {
                let field = &declared.fields[column];
                let own = declared
                    .distinct
                    .get(&field.name)
                    .map(|&count| count as u64 + u64::from(field.nullable));
                own.or_else(|| values(Kind::of(field.kind), field.nullable))
            })
            .collect();
        distinct
            .iter_mut()
            .for_each(|own| *own = own.map(|own| own.min(declared.max_rows as u64)));
        let info = |&column: &usize| {
            let field = &declared.fields[column];
            Column {
                kind: Kind::of(field.kind),
                nullable: field.nullable,
            }
        };
        let moved = wanted
            .iter()
            .map(|expr| {
                expr.over(&|old| {
                    let at = place(old).expect("it is used");
                    let field = &declared.fields[old];
                    Expr::column(at, Kind::of(field.kind), field.nullable)
                })
            })
            .collect();
        Physical {
            columns: columns.iter().map(info).collect(),
            rows: declared.max_rows,
            owner: Some(declared.party),
            facts: Facts {
                at_most: unique
                    .chain(at_most)
                    .filter_map(|(name, count)| Some((vec![promised(name)?], count)))
                    .collect(),
                distinct,
            },
            step: Arc::new(Step::Scan { table, columns }),
        }
        .project(moved)
    }

    fn filter(&self, input: &Relation, condition: &Expr, wanted: &[Expr]) -> Result<Physical> {
        self.work.keep([condition], input.at)?;
        let rebuilt = |inner: &Relation, condition: &Expr| -> Result<Relation> {
            let parts = inner.parts().saturating_add(condition.extent().parts);
            self.work.make(parts, inner.at)?;
            Ok(inner.clone().filter(condition.clone()))
        };
        match &input.operation {
            Operation::Filter(inner, other) => {
                self.filter(inner, &other.clone().and(condition.clone()), wanted)
            }
            Operation::Project(inner, exprs) => {
                let wanted = self.composed(wanted, exprs, input.at)?;
                let condition = self.composed(std::slice::from_ref(condition), exprs, input.at)?;
                self.filter(inner, &condition[0], &wanted)
            }
            Operation::Inner(..) => self.inner(input, condition.clone().conjuncts(), wanted),
            Operation::Union(inputs) => {
                let inputs = inputs
                    .iter()
                    .map(|part| self.plan(&rebuilt(part, condition)?, wanted))
                    .collect::<Result<Vec<_>>>()?;
                union(inputs, input.at)
            }
            Operation::Left { left, right, on } => {
                // What is of the first table alone is asked of it alone.
                let count = left.columns.len();
                let (own, others): (Vec<Expr>, Vec<Expr>) =
                    condition.clone().conjuncts().into_iter().partition(|part| {
                        let mut own = true;
                        part.columns(&mut |column| own &= column < count);
                        own
                    });
                self.work.make(input.parts(), input.at)?;
                let left = match Expr::all(own) {
                    Some(own) => Box::new(rebuilt(left, &own)?),
                    None => left.clone(),
                };
                let operation = Operation::Left {
                    left,
                    right: right.clone(),
                    on: on.clone(),
                };
                let joined = Relation {
                    operation,
                    ..input.clone()
                };
                self.filtered(&joined, Expr::all(others), wanted)
            }
            _ => self.filtered(input, Some(condition.clone()), wanted),
        }
    }

    /// Plans `input`, and keeps rows for which the condition holds.
    fn filtered(&self, input: &Relation, condition: Option<Expr>, wanted: &[Expr]) -> Result<Physical> {
        let Some(condition) = condition else {
            return self.plan(input, wanted);
        };
        self.work.keep(wanted, input.at)?;
        let parts = wanted.iter().chain([&condition]).filter(|expr| expr.may_fail());
        let parts: usize = parts.map(|expr| expr.extent().parts).sum();
        let places = wanted.len() + input.columns.len().min(parts);
        self.work
            .look((wanted.len() + parts).saturating_mul(places), input.at)?;
        // What may go wrong is computed of rows that are kept only.
        let mut needed: Vec<Expr> = Vec::new();
        let place = |needed: &mut Vec<Expr>, expr: &Expr| {
            needed.iter().position(|other| other == expr).unwrap_or_else(|| {
                needed.push(expr.clone());
                needed.len() - 1
            })
        };
        let at = |needed: &mut Vec<Expr>, expr: &Expr| -> Expr {
            if expr.may_fail() {
                let mut columns = Vec::new();
                expr.columns(&mut |column| columns.push(column));
                let all = input.all();
                columns.iter().for_each(|&column| {
                    place(needed, &all[column]);
                });
                let needed = &*needed;
                expr.over(&|column| {
                    let at = needed
                        .iter()
                        .position(|other| *other == all[column])
                        .expect("it was added");
                    Expr::column(at, all[column].kind, all[column].nullable)
                })
            } else {
                Expr::column(place(needed, expr), expr.kind, expr.nullable)
            }
        };
        let wanted: Vec<Expr> = wanted.iter().map(|expr| at(&mut needed, expr)).collect();
        let condition = at(&mut needed, &condition);
        let input = self.plan(input, &needed)?;
        Ok(input.filter(condition).project(wanted))
    }

    fn left(
        &self,
        at: Option<Place>,
        (left, right): (&Relation, &Relation),
        on: &[(Expr, Expr)],
        wanted: &[Expr],
    ) -> Result<Physical> {
        let count = left.columns.len();
        // Of the first table what is wanted, of the second columns alone: an expression may not be null where its columns are.
        let side = |column: usize| usize::from(column >= count);
        let moved =
            |expr: &Expr| expr.over(&|column| Expr::column(column + count, right.columns[column].kind, true));
        let mut atoms = [Vec::new(), Vec::new()];
        for expr in wanted {
            self.atoms(expr, (&side, &|input| input == 0), &mut atoms, at)?;
        }
        let (mut probe_keys, mut lookup_keys) = (Vec::new(), Vec::new());
        for (x, y) in on {
            let kind = x
                .kind
                .unified(y.kind)
                .ok_or_else(|| Error::query(at, "columns of a join must be alike"))?;
            probe_keys.push(self.add(&mut atoms[0], x.clone().into_kind(kind), at)?);
            lookup_keys.push(self.add(&mut atoms[1], moved(y).into_kind(kind), at)?);
        }
        let [left_atoms, right_atoms] = &atoms;
        let own: Vec<Expr> = right_atoms
            .iter()
            .map(|expr| {
                expr.over(&|column| {
                    let info = &right.columns[column - count];
                    Expr::column(column - count, info.kind, info.nullable)
                })
            })
            .collect();
        let probe = self.plan(left, left_atoms)?;
        let lookup = self.plan(right, &own)?;
        let Some(slots) = slots(&lookup, &lookup_keys) else {
            let what = "of a LEFT JOIN, the job must say how often a key comes in the second table: add `unique` or `at_most` for the column \
                        that it is joined by";
            return Err(Error::query(at, what));
        };
        let places: Vec<inner::At> = left_atoms
            .iter()
            .cloned()
            .chain(right_atoms.iter().cloned())
            .enumerate()
            .map(|(at, atom)| (at, Rc::new(atom)))
            .collect();
        let joined = join(
            Join {
                probe,
                lookup,
                probe_keys,
                lookup_keys,
                slots,
                outer: true,
            },
            at,
        )?;
        Ok(joined.project(self.placed(wanted, &places, at)?))
    }

    /// Expressions over the columns that a projection gives, as those over what it takes.
    fn composed(&self, exprs: &[Expr], projection: &[Expr], at: Option<Place>) -> Result<Vec<Expr>> {
        let extents: Vec<Extent> = projection.iter().map(Expr::extent).collect();
        for expr in exprs {
            let extent = expr.extent_over(&|column| extents[column]);
            within(extent, at)?;
            self.work.make(extent.parts, at)?;
        }
        let over = |expr: &Expr| expr.over(&|column| projection[column].clone());
        Ok(exprs.iter().map(over).collect())
    }
}

/// How often a key comes among the rows that are looked up, if that can be relied on.
fn slots(lookup: &Physical, keys: &[usize]) -> Option<usize> {
    let count = lookup.at_most(keys)?.min(lookup.rows);
    // Only its owner can put rows with the same key together.
    (count == 1 || lookup.owner.is_some()).then_some(count)
}

fn too_many(at: Option<Place>, rows: usize) -> Error {
    let what = format!(
        "this has up to {rows} rows, and {MAX_ROWS} is the most: make `max_rows` or `at_most` of the tables smaller"
    );
    Error::query(at, what)
}

/// A join, done by the party that has both, or secretly.
fn join(join: Join, at: Option<Place>) -> Result<Physical> {
    let Join {
        probe,
        lookup,
        slots,
        outer,
        ..
    } = &join;
    let rows = probe.rows.saturating_mul(*slots);
    if rows > MAX_ROWS {
        return Err(too_many(at, rows));
    }
    let owner = if probe.owner == lookup.owner {
        probe.owner
    } else {
        None
    };
    let first = probe.columns.len();
    let own = probe
        .facts
        .at_most
        .iter()
        .map(|(of, count)| (of.clone(), count.saturating_mul(*slots)));
    let of_both = |column: &Column| Column {
        nullable: column.nullable || *outer,
        ..*column
    };
    let more = |distinct: &Option<u64>| distinct.map(|distinct| distinct + u64::from(*outer));
    let columns = probe
        .columns
        .iter()
        .copied()
        .chain(lookup.columns.iter().map(of_both))
        .collect();
    let facts = Facts {
        at_most: own.collect(),
        distinct: probe
            .facts
            .distinct
            .iter()
            .copied()
            .chain(lookup.facts.distinct.iter().map(more))
            .collect(),
    };
    debug_assert_eq!(facts.distinct.len(), first + lookup.columns.len());
    let join = match owner {
        Some(_) => join,
        None => Join {
            probe: join.probe.shared(&join.probe_keys),
            // What comes several times is put together before it is shared.
            lookup: if join.slots > 1 {
                join.lookup
            } else {
                join.lookup.shared(&join.lookup_keys)
            },
            ..join
        },
    };
    Ok(Physical {
        columns,
        rows,
        owner,
        facts,
        step: Arc::new(Step::Join(Box::new(join))),
    })
}

fn union(inputs: Vec<Physical>, at: Option<Place>) -> Result<Physical> {
    let rows = inputs
        .iter()
        .map(|input| input.rows)
        .fold(0, usize::saturating_add);
    if rows > MAX_ROWS {
        return Err(too_many(at, rows));
    }
    let owner = inputs[0]
        .owner
        .filter(|_| inputs.iter().all(|input| input.owner == inputs[0].owner));
    let columns: Vec<Column> = (0..inputs[0].columns.len())
        .map(|column| Column {
            kind: inputs[0].columns[column].kind,
            nullable: inputs.iter().any(|input| input.columns[column].nullable),
        })
        .collect();
    let distinct = (0..columns.len()).map(|column| {
        let all = inputs.iter().try_fold(0u64, |all, input| {
            Some(all.saturating_add(input.facts.distinct[column]?))
        });
        match (all, values(columns[column].kind, columns[column].nullable)) {
            (Some(all), Some(values)) => Some(all.min(values)),
            (all, values) => all.or(values),
        }
    });
    let facts = Facts {
        at_most: Vec::new(),
        distinct: distinct.collect(),
    };
    Ok(Physical {
        columns,
        rows,
        owner,
        facts,
        step: Arc::new(Step::Union(inputs)),
    })
}

/// The first `count` rows by the columns after the first `told`, which are the columns that remain.
fn first(input: Physical, told: usize, order: &[Order], count: usize) -> Physical {
    let by = order.iter().enumerate().map(|(at, order)| Ordered {
        column: told + at,
        descending: order.descending,
        nulls_first: order.nulls_first,
    });
    // Which of several equal rows come first is told by what is told of them, and by nothing else.
    let others = (0..told).map(|column| Ordered {
        column,
        descending: false,
        nulls_first: true,
    });
    let order = by.chain(others).collect();
    let all = input.all();
    Physical {
        columns: input.columns.clone(),
        rows: input.rows.min(count),
        owner: input.owner,
        facts: input.facts.clone(),
        step: Arc::new(Step::First {
            input: Box::new(input),
            order,
            count,
        }),
    }
    .project(all[..told].to_vec())
}
