//! What columns of which tables an answer tells of, and how: what owners' policies are about.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::expr::{Expr, Node};
use crate::query::Query;
use crate::relation::{Aggregate, Function, Operation, Relation};

/// A column of a table that an answer tells of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The place of the table.
    pub table: usize,
    /// The column.
    pub column: String,
    /// How the answer tells of it.
    pub kind: FlowKind,
}

/// How an answer tells of a column, from the most to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowKind {
    /// By values of single rows, or by which rows there are.
    Rows,
    /// By values that groups are made by, or that are the least or greatest of a group.
    Values,
    /// By sums and counts of groups only.
    Totals,
}

/// What a relation tells of, by its place: table and column.
type ColumnFlows = BTreeSet<(usize, usize, FlowKind)>;

/// What the columns of a relation tell of, and what it is that there is a row.
struct RelationFlows {
    /// Columns that are the same one share it: a query may name one a thousand times.
    columns: Vec<Rc<ColumnFlows>>,
    rows: ColumnFlows,
}

impl Query {
    /// What the answer tells of: values of its columns, and what decides which rows there are.
    pub fn flows(&self) -> Vec<Flow> {
        let RelationFlows { columns, rows } = flows_of(self.relation());
        let all: ColumnFlows = columns
            .iter()
            .flat_map(|told| told.iter())
            .chain(&rows)
            .copied()
            .collect();
        let flow = |(table, column, kind): (usize, usize, FlowKind)| Flow {
            table,
            column: self.schema().tables[table].fields[column].name.clone(),
            kind,
        };
        all.into_iter().map(flow).collect()
    }

    /// The places of the tables that it is asked of.
    pub fn tables(&self) -> BTreeSet<usize> {
        let relations = self.roots().iter().map(|root| root.relation.scanned());
        relations.flatten().collect()
    }
}

/// What an expression over columns tells of.
fn of(expr: &Expr, columns: &[Rc<ColumnFlows>]) -> Rc<ColumnFlows> {
    if let Node::Column(column) = expr.node {
        return Rc::clone(&columns[column]);
    }
    let (mut told, mut seen) = (ColumnFlows::new(), BTreeSet::new());
    expr.columns(&mut |column| {
        if seen.insert(Rc::as_ptr(&columns[column])) {
            told.extend(columns[column].iter().copied());
        }
    });
    Rc::new(told)
}

/// What becomes of what columns tell, where those that share it go on to.
fn each(
    columns: impl IntoIterator<Item = Rc<ColumnFlows>>,
    change: impl Fn(&ColumnFlows) -> ColumnFlows,
) -> Vec<Rc<ColumnFlows>> {
    let mut known: BTreeMap<*const ColumnFlows, (Rc<ColumnFlows>, Rc<ColumnFlows>)> = BTreeMap::new();
    let changed = |told: Rc<ColumnFlows>| {
        let (_, changed) = known
            .entry(Rc::as_ptr(&told))
            .or_insert_with(|| (Rc::clone(&told), Rc::new(change(&told))));
        Rc::clone(changed)
    };
    columns.into_iter().map(changed).collect()
}

fn lessened(told: &ColumnFlows, least: FlowKind) -> ColumnFlows {
    told.iter()
        .map(|&(table, column, kind)| (table, column, kind.max(least)))
        .collect()
}

fn flows_of(relation: &Relation) -> RelationFlows {
    match &relation.operation {
        Operation::Scan(table) => RelationFlows {
            columns: (0..relation.columns.len())
                .map(|column| Rc::new(ColumnFlows::from([(*table, column, FlowKind::Rows)])))
                .collect(),
            rows: ColumnFlows::new(),
        },
        Operation::Kept(_) => of_nothing(relation),
        Operation::Project(input, exprs) => {
            let RelationFlows { columns, rows } = flows_of(input);
            RelationFlows {
                columns: exprs.iter().map(|expr| of(expr, &columns)).collect(),
                rows,
            }
        }
        Operation::Filter(input, condition) => {
            let RelationFlows { columns, mut rows } = flows_of(input);
            rows.extend(of(condition, &columns).iter().copied());
            RelationFlows { columns, rows }
        }
        Operation::First(input, order, _) => {
            let RelationFlows { columns, mut rows } = flows_of(input);
            order
                .iter()
                .for_each(|order| rows.extend(of(&order.by, &columns).iter().copied()));
            RelationFlows { columns, rows }
        }
        Operation::Window(input, window) => {
            // By what a row is told of others, it tells of all that decides which they are.
            let RelationFlows { mut columns, rows } = flows_of(input);
            let keys = window
                .partition
                .iter()
                .chain(window.order.iter().map(|order| &order.by));
            let keys: Vec<Rc<ColumnFlows>> = keys.map(|key| of(key, &columns)).collect();
            let made: Vec<Rc<ColumnFlows>> = (window.columns.iter())
                .map(|made| {
                    let own = made.of.iter().map(|own| of(own, &columns));
                    let told = keys.iter().cloned().chain(own);
                    let mut told: ColumnFlows = told.flat_map(|told| (*told).clone()).collect();
                    told.extend(rows.iter().copied());
                    Rc::new(told)
                })
                .collect();
            columns.extend(made);
            RelationFlows { columns, rows }
        }
        Operation::Inner(inputs, conditions) => {
            let (mut columns, mut rows) = (Vec::new(), ColumnFlows::new());
            for input in inputs {
                let told = flows_of(input);
                columns.extend(told.columns);
                rows.extend(told.rows);
            }
            for condition in conditions {
                rows.extend(of(condition, &columns).iter().copied());
            }
            RelationFlows { columns, rows }
        }
        Operation::Outer { .. } => of_outer_join(relation),
        Operation::Union(inputs) => {
            let mut parts = inputs.iter().map(flows_of);
            let mut all = parts.next().unwrap_or(RelationFlows {
                columns: Vec::new(),
                rows: ColumnFlows::new(),
            });
            for part in parts {
                for (column, more) in all.columns.iter_mut().zip(part.columns) {
                    Rc::make_mut(column).extend(more.iter().copied());
                }
                all.rows.extend(part.rows);
            }
            all
        }
        Operation::Group {
            input,
            keys,
            aggregates,
            ..
        } => of_groups(&flows_of(input), keys, aggregates),
    }
}

/// Of what shards have kept: what it tells of is told of the whole query.
fn of_nothing(relation: &Relation) -> RelationFlows {
    RelationFlows {
        columns: vec![Rc::default(); relation.columns.len()],
        rows: ColumnFlows::new(),
    }
}

fn of_outer_join(relation: &Relation) -> RelationFlows {
    let Operation::Outer {
        left,
        right,
        on,
        full,
    } = &relation.operation
    else {
        unreachable!("it is called for outer joins");
    };
    let (left, right) = (flows_of(left), flows_of(right));
    // That a column is null tells that there was no row with these keys.
    let mut found = right.rows.clone();
    if *full {
        found.extend(left.rows.iter().copied());
    }
    for (x, y) in on {
        found.extend(of(x, &left.columns).iter().copied());
        found.extend(of(y, &right.columns).iter().copied());
    }
    let with_found = |columns: Vec<_>| each(columns, |column| column.union(&found).copied().collect());
    let of_left = match full {
        true => with_found(left.columns),
        false => left.columns,
    };
    RelationFlows {
        columns: of_left.into_iter().chain(with_found(right.columns)).collect(),
        // With several rows for a key, there are as many.
        rows: left.rows.union(&found).copied().collect(),
    }
}

fn of_groups(
    RelationFlows { columns, rows }: &RelationFlows,
    keys: &[Expr],
    aggregates: &[Aggregate],
) -> RelationFlows {
    let keys = keys.iter().map(|key| of(key, columns));
    let keys = each(keys, |key| lessened(key, FlowKind::Values)).into_iter();
    let aggregates = aggregates.iter().map(|aggregate| {
        let least = match aggregate.function {
            Function::Least | Function::Greatest | Function::Same => FlowKind::Values,
            _ => FlowKind::Totals,
        };
        let mut told = lessened(&of(&aggregate.of, columns), least);
        told.extend(lessened(rows, FlowKind::Totals));
        Rc::new(told)
    });
    RelationFlows {
        columns: keys.chain(aggregates).collect(),
        rows: lessened(rows, FlowKind::Totals),
    }
}
