//! A query as operations on relations, before it is decided where each is done.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::error::Place;
use crate::expr::{Comparison, Expr, Node, ValueKind};
use crate::schema::{MAX_ROWS, Schema};
use crate::window::Window;

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) name: String,
    pub(crate) kind: ValueKind,
    pub(crate) nullable: bool,
}

/// What is made of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Function {
    Rows,
    /// How many values there are.
    Count,
    Sum,
    Least,
    Greatest,
    /// The value that all rows of a group have, of which that is verified.
    Same,
}

impl Function {
    /// What puts its values of parts of a group together.
    pub(crate) fn of_parts(self) -> Self {
        match self {
            Function::Rows | Function::Count | Function::Sum => Function::Sum,
            function => function,
        }
    }

    /// What it is called in SQL, made of what has this name.
    pub(crate) fn told(self, of: &str) -> String {
        match self {
            Function::Rows => "COUNT(*)".into(),
            Function::Count => format!("COUNT({of})"),
            Function::Sum => format!("SUM({of})"),
            Function::Least => format!("MIN({of})"),
            Function::Greatest => format!("MAX({of})"),
            Function::Same => of.to_owned(),
        }
    }
}

/// A function of the values of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aggregate {
    pub(crate) function: Function,
    /// What it is made of; nothing matters for [`Function::Rows`].
    pub(crate) of: Expr,
}

/// An order: by what, and which come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) by: Expr,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Scan(usize),
    Project(Box<Relation>, Vec<Expr>),
    Filter(Box<Relation>, Expr),
    /// All combinations for which all conditions hold. The columns are those of all inputs.
    Inner(Vec<Relation>, Vec<Expr>),
    /// Each row of the first with the rows of the second where these are equal, or with nulls; if it is `full`, also each row of the second that has none of the first, with
    /// nulls before it.
    Outer {
        left: Box<Relation>,
        right: Box<Relation>,
        on: Vec<(Expr, Expr)>,
        full: bool,
    },
    Union(Vec<Relation>),
    /// The columns are the keys, and then the aggregates. Without keys there is one row; `grouped` says whether there are.
    Group {
        input: Box<Relation>,
        keys: Vec<Expr>,
        aggregates: Vec<Aggregate>,
        grouped: bool,
        /// The column of the input that says of how many rows each of its rows was made, if they are not rows that were there.
        made_of: Option<usize>,
        /// Whether its owner must show that rows of its could give such groups, because they are taken for rows of more than one party.
        shown: bool,
    },
    /// Some rows in an order, from one place up to another.
    First(Box<Relation>, Vec<Order>, Range<usize>),
    /// Each row, with what is made of the rows around it behind its own columns.
    Window(Box<Relation>, Window),
    /// What shards have kept.
    Kept(Kept),
}

/// Rows that shards have kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Which of the relations that each shard keeps they are of.
    pub(crate) relation: usize,
    /// How many shards there are, and how many rows each has kept.
    pub(crate) shards: usize,
    pub(crate) rows: usize,
    /// How many different values, nulls included, each column has at most.
    pub(crate) distinct: Vec<Option<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    pub(crate) operation: Operation,
    pub(crate) columns: Vec<Info>,
    /// Where it stands in the query.
    pub(crate) at: Option<Place>,
}

impl Relation {
    /// Another operation that gives the same columns.
    pub(crate) fn with(&self, operation: Operation) -> Self {
        Relation {
            operation,
            columns: self.columns.clone(),
            at: self.at,
        }
    }

    /// Its columns as expressions.
    pub(crate) fn all(&self) -> Vec<Expr> {
        let column = |(at, info): (usize, &Info)| Expr::column(at, info.kind, info.nullable);
        self.columns.iter().enumerate().map(column).collect()
    }

    /// Whether a column is nothing but NULL as it is written, which has no type of its own.
    pub(crate) fn is_null(&self, column: usize) -> bool {
        match &self.operation {
            Operation::Project(input, exprs) => match exprs[column].node {
                Node::Null => true,
                Node::Column(column) => input.is_null(column),
                _ => false,
            },
            Operation::Filter(input, _) | Operation::First(input, ..) => input.is_null(column),
            Operation::Union(inputs) => inputs.iter().all(|input| input.is_null(column)),
            Operation::Group { input, keys, .. } => match keys.get(column).map(|key| &key.node) {
                Some(Node::Null) => true,
                Some(Node::Column(column)) => input.is_null(*column),
                _ => false,
            },
            Operation::Window(input, _) => column < input.columns.len() && input.is_null(column),
            Operation::Scan(_) | Operation::Kept(_) | Operation::Inner(..) | Operation::Outer { .. } => false,
        }
    }

    /// How many tables it is of, those that come several times counted as often.
    pub(crate) fn tables(&self) -> usize {
        match &self.operation {
            Operation::Scan(_) => 1,
            Operation::Kept(_) => 0,
            _ => self.inputs().into_iter().map(Relation::tables).sum(),
        }
    }

    /// The places of the tables that it is of.
    pub(crate) fn scanned(&self) -> BTreeSet<usize> {
        match self.operation {
            Operation::Scan(table) => BTreeSet::from([table]),
            _ => self.inputs().into_iter().flat_map(Relation::scanned).collect(),
        }
    }

    /// The relations that it is made of.
    pub(crate) fn inputs(&self) -> Vec<&Relation> {
        match &self.operation {
            Operation::Scan(_) | Operation::Kept(_) => Vec::new(),
            Operation::Project(input, _) | Operation::Filter(input, _) | Operation::First(input, ..) => {
                vec![input]
            }
            Operation::Group { input, .. } | Operation::Window(input, _) => vec![input],
            Operation::Outer { left, right, .. } => vec![left, right],
            Operation::Inner(inputs, _) | Operation::Union(inputs) => inputs.iter().collect(),
        }
    }

    pub(crate) fn inputs_mut(&mut self) -> Vec<&mut Relation> {
        match &mut self.operation {
            Operation::Scan(_) | Operation::Kept(_) => Vec::new(),
            Operation::Project(input, _) | Operation::Filter(input, _) | Operation::First(input, ..) => {
                vec![input]
            }
            Operation::Group { input, .. } | Operation::Window(input, _) => vec![input],
            Operation::Outer { left, right, .. } => vec![left, right],
            Operation::Inner(inputs, _) | Operation::Union(inputs) => inputs.iter_mut().collect(),
        }
    }

    /// The most rows that it may have.
    pub(crate) fn most_rows(&self, schema: &Schema) -> u64 {
        let rows = match &self.operation {
            Operation::Scan(table) => schema.tables[*table].max_rows as u64,
            Operation::Kept(kept) => (kept.shards * kept.rows) as u64,
            Operation::Project(input, _) | Operation::Filter(input, _) => input.most_rows(schema),
            Operation::Inner(inputs, _) => inputs.iter().fold(1, |rows, input| {
                u64::saturating_mul(rows, input.most_rows(schema))
            }),
            Operation::Outer {
                left, right, full, ..
            } => {
                let (left, right) = (left.most_rows(schema), right.most_rows(schema));
                let rest = if *full { right } else { 0 };
                left.saturating_mul(right.max(1)).saturating_add(rest)
            }
            Operation::Union(inputs) => inputs
                .iter()
                .map(|input| input.most_rows(schema))
                .fold(0, u64::saturating_add),
            Operation::Group { grouped: false, .. } => 1,
            Operation::Group { input, .. } | Operation::Window(input, _) => input.most_rows(schema),
            Operation::First(input, _, rows) => {
                let most = input.most_rows(schema).min(rows.end as u64);
                most.saturating_sub(rows.start as u64)
            }
        };
        rows.min(MAX_ROWS as u64)
    }

    /// How many columns and parts of expressions all of it has.
    pub(crate) fn parts(&self) -> usize {
        let size = |expr: &Expr| expr.extent().parts;
        let own: usize = match &self.operation {
            Operation::Scan(_) | Operation::Kept(_) | Operation::Union(_) => 0,
            Operation::Project(_, exprs) | Operation::Inner(_, exprs) => exprs.iter().map(size).sum(),
            Operation::Filter(_, condition) => size(condition),
            Operation::Outer { on, .. } => on.iter().map(|(x, y)| size(x) + size(y)).sum(),
            Operation::Group { keys, aggregates, .. } => {
                let aggregates = aggregates.iter().map(|aggregate| size(&aggregate.of));
                keys.iter().map(size).chain(aggregates).sum()
            }
            Operation::First(_, order, _) => order.iter().map(|order| size(&order.by)).sum(),
            Operation::Window(_, window) => window.exprs().map(size).sum(),
        };
        let inputs: usize = self.inputs().into_iter().map(Relation::parts).sum();
        self.columns.len() + own + inputs
    }

    /// How many operations follow from one another.
    pub(crate) fn steps(&self) -> usize {
        1 + self.inputs().into_iter().map(Relation::steps).max().unwrap_or(0)
    }

    /// Each of its rows once.
    pub(crate) fn distinct(self) -> Self {
        let (columns, all) = (self.columns.clone(), self.all());
        Relation {
            columns,
            ..self.grouped(all, Vec::new(), 0)
        }
    }

    /// Groups of its rows, of which a group has so many at most: the columns, which have no names, are the keys, and then what is made of each group. Without keys
    /// there is one.
    pub(crate) fn grouped(self, keys: Vec<Expr>, aggregates: Vec<Aggregate>, rows: u64) -> Self {
        let grouped = !keys.is_empty();
        let of_keys = keys.iter().map(|key| (key.kind, key.nullable));
        let of_aggregates = aggregates.iter().map(|aggregate| aggregate.kind(rows, grouped));
        let columns = of_keys.chain(of_aggregates).map(|(kind, nullable)| Info {
            name: String::new(),
            kind,
            nullable,
        });
        Relation {
            columns: columns.collect(),
            at: self.at,
            operation: Operation::Group {
                input: Box::new(self),
                keys,
                aggregates,
                grouped,
                made_of: None,
                shown: false,
            },
        }
    }

    /// Groups of groups, with the kinds and names of the groups of the query.
    pub(crate) fn promised_by(self, of: &Relation) -> Self {
        let told = self.all().into_iter().zip(&of.columns);
        let told = told.map(|(column, info)| {
            // More rows than any table may have are a failure, and not another number.
            let fits = info.kind == column.kind || info.kind.holds(column.kind);
            let column = match fits {
                true => column.into_kind(info.kind),
                false => column.within(info.kind),
            };
            // A sum of no counts is null.
            let column = match info.nullable {
                true => column,
                false => column.with_default(Expr::number(0, 0).into_kind(info.kind)),
            };
            (info.name.clone(), column)
        });
        let told = told.collect();
        Relation {
            at: of.at,
            ..self.project(told)
        }
    }

    /// Each of its rows, of which there are so many at most, with what a window adds.
    pub(crate) fn windowed(self, window: Window, rows: u64) -> Self {
        let added = window.columns.iter().map(|column| column.kind(rows));
        let added = added.map(|(kind, nullable)| Info {
            name: String::new(),
            kind,
            nullable,
        });
        Relation {
            columns: self.columns.iter().cloned().chain(added).collect(),
            at: self.at,
            operation: Operation::Window(Box::new(self), window),
        }
    }

    /// Its rows and those of `right` for which these, which can be compared, are equal.
    pub(crate) fn inner_join(self, right: Relation, on: Vec<(Expr, Expr)>) -> Self {
        let (first, all) = (self.columns.len(), right.all());
        let same = |(x, y): (Expr, Expr)| {
            let y = y.over(&|column| Expr::column(first + column, all[column].kind, all[column].nullable));
            Expr::compare(Comparison::Equal, x, y).expect("they can be compared")
        };
        let on = on.into_iter().map(same).collect();
        Relation {
            columns: [&self.columns[..], &right.columns[..]].concat(),
            at: self.at,
            operation: Operation::Inner(vec![self, right], on),
        }
    }

    /// Each of its rows with the rows of `right` where these are equal, or with nulls.
    pub(crate) fn left_join(self, right: Relation, on: Vec<(Expr, Expr)>, at: Option<Place>) -> Self {
        self.outer_join(right, on, false, at)
    }

    /// The same, and if it is `full` the other rows of `right` too, with nulls before them.
    pub(crate) fn outer_join(
        self,
        right: Relation,
        on: Vec<(Expr, Expr)>,
        full: bool,
        at: Option<Place>,
    ) -> Self {
        let of_left = self.columns.iter().map(|info| match full {
            true => info.or_null(),
            false => info.clone(),
        });
        let of_right = right.columns.iter().map(Info::or_null);
        Relation {
            columns: of_left.chain(of_right).collect(),
            at,
            operation: Operation::Outer {
                left: Box::new(self),
                right: Box::new(right),
                on,
                full,
            },
        }
    }

    pub(crate) fn filter(self, condition: Expr) -> Self {
        Relation {
            columns: self.columns.clone(),
            at: self.at,
            operation: Operation::Filter(Box::new(self), condition),
        }
    }

    pub(crate) fn project(self, columns: Vec<(String, Expr)>) -> Self {
        let info = |(name, expr): &(String, Expr)| Info {
            name: name.clone(),
            kind: expr.kind,
            nullable: expr.nullable,
        };
        Relation {
            columns: columns.iter().map(info).collect(),
            at: self.at,
            operation: Operation::Project(
                Box::new(self),
                columns.into_iter().map(|(_, expr)| expr).collect(),
            ),
        }
    }
}

impl Info {
    /// The same column where it may be null.
    pub(crate) fn or_null(&self) -> Self {
        Info {
            nullable: true,
            ..self.clone()
        }
    }
}

impl Aggregate {
    /// How many rows there are.
    pub(crate) fn rows() -> Self {
        Aggregate {
            function: Function::Rows,
            of: Expr::bool(true),
        }
    }

    /// The kind of its values, for groups of at most `rows` rows, and whether it may be null.
    pub(crate) fn kind(&self, rows: u64, grouped: bool) -> (ValueKind, bool) {
        let rows = i128::from(rows);
        let maybe_empty = self.of.nullable || !grouped;
        match (self.function, self.of.kind) {
            (Function::Rows | Function::Count, _) => (
                ValueKind::Number {
                    least: 0,
                    most: rows,
                    scale: 0,
                },
                false,
            ),
            (Function::Sum, ValueKind::Number { least, most, scale }) => {
                let kind = ValueKind::Number {
                    least: least.min(0).saturating_mul(rows),
                    most: most.max(0).saturating_mul(rows),
                    scale,
                };
                (kind, maybe_empty)
            }
            (_, kind) => (kind, maybe_empty),
        }
    }
}
