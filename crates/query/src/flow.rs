//! What columns of which tables an answer tells of, and how: what owners' policies are about.

use std::collections::BTreeSet;

use crate::expr::Expr;
use crate::query::Query;
use crate::relation::{Function, Operation, Relation};

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
type Told = BTreeSet<(usize, usize, FlowKind)>;

/// What the columns of a relation tell of, and what it is that there is a row.
struct Tells {
    columns: Vec<Told>,
    rows: Told,
}

impl Query {
    /// What the answer tells of: values of its columns, and what decides which rows there are.
    pub fn flows(&self) -> Vec<Flow> {
        let Tells { columns, rows } = tells(self.relation());
        let all: Told = columns.into_iter().flatten().chain(rows).collect();
        let flow = |(table, column, kind): (usize, usize, FlowKind)| Flow {
            table,
            column: self.schema().tables[table].fields[column].name.clone(),
            kind,
        };
        all.into_iter().map(flow).collect()
    }

    /// The places of the tables that it is asked of.
    pub fn tables(&self) -> BTreeSet<usize> {
        let mut tables = BTreeSet::new();
        scanned(self.relation(), &mut tables);
        tables
    }
}

fn scanned(relation: &Relation, tables: &mut BTreeSet<usize>) {
    let mut all = |inputs: &[&Relation]| inputs.iter().for_each(|input| scanned(input, tables));
    match &relation.operation {
        Operation::Scan(table) => {
            tables.insert(*table);
        }
        Operation::Project(input, _) | Operation::Filter(input, _) | Operation::First(input, ..) => {
            all(&[input])
        }
        Operation::Group { input, .. } => all(&[input]),
        Operation::Left { left, right, .. } => all(&[left, right]),
        Operation::Inner(inputs, _) | Operation::Union(inputs) => all(&inputs.iter().collect::<Vec<_>>()),
    }
}

/// What an expression over columns tells of.
fn of(expr: &Expr, columns: &[Told]) -> Told {
    let mut told = Told::new();
    expr.columns(&mut |column| told.extend(columns[column].iter().copied()));
    told
}

fn lessened(told: &Told, least: FlowKind) -> Told {
    told.iter()
        .map(|&(table, column, kind)| (table, column, kind.max(least)))
        .collect()
}

fn tells(relation: &Relation) -> Tells {
    match &relation.operation {
        Operation::Scan(table) => Tells {
            columns: (0..relation.columns.len())
                .map(|column| Told::from([(*table, column, FlowKind::Rows)]))
                .collect(),
            rows: Told::new(),
        },
        Operation::Project(input, exprs) => {
            let Tells { columns, rows } = tells(input);
            Tells {
                columns: exprs.iter().map(|expr| of(expr, &columns)).collect(),
                rows,
            }
        }
        Operation::Filter(input, condition) => {
            let Tells { columns, mut rows } = tells(input);
            rows.extend(of(condition, &columns));
            Tells { columns, rows }
        }
        Operation::First(input, order, _) => {
            let Tells { columns, mut rows } = tells(input);
            order
                .iter()
                .for_each(|order| rows.extend(of(&order.by, &columns)));
            Tells { columns, rows }
        }
        Operation::Inner(inputs, conditions) => {
            let (mut columns, mut rows) = (Vec::new(), Told::new());
            for input in inputs {
                let told = tells(input);
                columns.extend(told.columns);
                rows.extend(told.rows);
            }
            for condition in conditions {
                rows.extend(of(condition, &columns));
            }
            Tells { columns, rows }
        }
        Operation::Left { left, right, on } => {
            let (left, right) = (tells(left), tells(right));
            // That a column is null tells that there was no row with these keys.
            let mut found = right.rows.clone();
            for (x, y) in on {
                found.extend(of(x, &left.columns));
                found.extend(of(y, &right.columns));
            }
            let of_right = right
                .columns
                .into_iter()
                .map(|column| column.union(&found).copied().collect());
            let columns = left.columns.into_iter().chain(of_right).collect();
            // With several rows for a key, there are as many.
            let rows = left.rows.union(&found).copied().collect();
            Tells { columns, rows }
        }
        Operation::Union(inputs) => {
            let mut parts = inputs.iter().map(tells);
            let mut all = parts.next().unwrap_or(Tells {
                columns: Vec::new(),
                rows: Told::new(),
            });
            for part in parts {
                for (column, more) in all.columns.iter_mut().zip(part.columns) {
                    column.extend(more);
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
        } => {
            let Tells { columns, rows } = tells(input);
            let keys = keys
                .iter()
                .map(|key| lessened(&of(key, &columns), FlowKind::Values));
            let aggregates = aggregates.iter().map(|aggregate| {
                let least = match aggregate.function {
                    Function::Least | Function::Greatest => FlowKind::Values,
                    _ => FlowKind::Totals,
                };
                let mut told = lessened(&of(&aggregate.of, &columns), least);
                told.extend(lessened(&rows, FlowKind::Totals));
                told
            });
            Tells {
                columns: keys.chain(aggregates).collect(),
                rows: lessened(&rows, FlowKind::Totals),
            }
        }
    }
}
