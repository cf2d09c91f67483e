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
type Told = BTreeSet<(usize, usize, FlowKind)>;

/// What the columns of a relation tell of, and what it is that there is a row.
struct Tells {
    /// Columns that are the same one share it: a query may name one a thousand times.
    columns: Vec<Rc<Told>>,
    rows: Told,
}

impl Query {
    /// What the answer tells of: values of its columns, and what decides which rows there are.
    pub fn flows(&self) -> Vec<Flow> {
        let Tells { columns, rows } = tells(self.relation());
        let all: Told = columns
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
        let mut tables = BTreeSet::new();
        scanned(self.relation(), &mut tables);
        tables
    }
}

fn scanned(relation: &Relation, tables: &mut BTreeSet<usize>) {
    if let Operation::Scan(table) = relation.operation {
        tables.insert(table);
    }
    relation
        .inputs()
        .into_iter()
        .for_each(|input| scanned(input, tables));
}

/// What an expression over columns tells of.
fn of(expr: &Expr, columns: &[Rc<Told>]) -> Rc<Told> {
    if let Node::Column(column) = expr.node {
        return Rc::clone(&columns[column]);
    }
    let (mut told, mut seen) = (Told::new(), BTreeSet::new());
    expr.columns(&mut |column| {
        if seen.insert(Rc::as_ptr(&columns[column])) {
            told.extend(columns[column].iter().copied());
        }
    });
    Rc::new(told)
}

/// What becomes of what columns tell, where those that share it go on to.
fn each(columns: impl IntoIterator<Item = Rc<Told>>, change: impl Fn(&Told) -> Told) -> Vec<Rc<Told>> {
    let mut known: BTreeMap<*const Told, (Rc<Told>, Rc<Told>)> = BTreeMap::new();
    let changed = |told: Rc<Told>| {
        let (_, changed) = known
            .entry(Rc::as_ptr(&told))
            .or_insert_with(|| (Rc::clone(&told), Rc::new(change(&told))));
        Rc::clone(changed)
    };
    columns.into_iter().map(changed).collect()
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
                .map(|column| Rc::new(Told::from([(*table, column, FlowKind::Rows)])))
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
            rows.extend(of(condition, &columns).iter().copied());
            Tells { columns, rows }
        }
        Operation::First(input, order, _) => {
            let Tells { columns, mut rows } = tells(input);
            order
                .iter()
                .for_each(|order| rows.extend(of(&order.by, &columns).iter().copied()));
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
                rows.extend(of(condition, &columns).iter().copied());
            }
            Tells { columns, rows }
        }
        Operation::Left { left, right, on } => of_left_join(tells(left), tells(right), on),
        Operation::Union(inputs) => {
            let mut parts = inputs.iter().map(tells);
            let mut all = parts.next().unwrap_or(Tells {
                columns: Vec::new(),
                rows: Told::new(),
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
        } => of_groups(&tells(input), keys, aggregates),
    }
}

fn of_left_join(left: Tells, right: Tells, on: &[(Expr, Expr)]) -> Tells {
    // That a column is null tells that there was no row with these keys.
    let mut found = right.rows.clone();
    for (x, y) in on {
        found.extend(of(x, &left.columns).iter().copied());
        found.extend(of(y, &right.columns).iter().copied());
    }
    let of_right = each(right.columns, |column| column.union(&found).copied().collect());
    Tells {
        columns: left.columns.into_iter().chain(of_right).collect(),
        // With several rows for a key, there are as many.
        rows: left.rows.union(&found).copied().collect(),
    }
}

fn of_groups(Tells { columns, rows }: &Tells, keys: &[Expr], aggregates: &[Aggregate]) -> Tells {
    let keys = keys.iter().map(|key| of(key, columns));
    let keys = each(keys, |key| lessened(key, FlowKind::Values)).into_iter();
    let aggregates = aggregates.iter().map(|aggregate| {
        let least = match aggregate.function {
            Function::Least | Function::Greatest => FlowKind::Values,
            _ => FlowKind::Totals,
        };
        let mut told = lessened(&of(&aggregate.of, columns), least);
        told.extend(lessened(rows, FlowKind::Totals));
        Rc::new(told)
    });
    Tells {
        columns: keys.chain(aggregates).collect(),
        rows: lessened(rows, FlowKind::Totals),
    }
}
