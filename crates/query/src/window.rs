//! Windows: what is made for each row of the rows around it.

use crate::expr::{Expr, ValueKind};
use crate::relation::{Aggregate, Function, Order};

/// How far the rows of a frame reach, of which all begin with the first row of the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// To the row itself.
    Row,
    /// To the last of the rows that are equal to it in order.
    Peers,
    /// To the last row of the partition.
    Partition,
}

/// What is made for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Made {
    /// The number of the first of the rows that are equal to it in order.
    Rank,
    /// How many different values of the order have come.
    DenseRank,
    /// The value of the row so many places before it, or after it if there are fewer than none.
    Shifted(i64),
    /// The value of the first row of the partition.
    First,
    Last(Reach),
    Total(Function, Reach),
}

/// A column that a window adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowColumn {
    pub(crate) made: Made,
    /// What it is made of; nothing if that does not matter.
    pub(crate) of: Option<Expr>,
}

/// Rows that have the same values of `partition`, in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<Order>,
    /// Whether it matters which of several rows comes first that are equal in order.
    pub(crate) is_exact: bool,
    pub(crate) columns: Vec<WindowColumn>,
}

impl Made {
    /// What its values are, for at most `rows` rows, and whether it may be null: made of values of this kind.
    pub(crate) fn kind(self, of: Option<(ValueKind, bool)>, rows: u64) -> (ValueKind, bool) {
        let (kind, nullable) = of.unwrap_or((ValueKind::Bool, false));
        let total = |function| {
            let of = Expr::column(0, kind, nullable);
            Aggregate { function, of }.kind(rows, true)
        };
        match self {
            Made::Rank | Made::DenseRank => total(Function::Rows),
            Made::Shifted(_) => (kind, true),
            Made::First | Made::Last(_) => (kind, nullable),
            Made::Total(function, _) => total(function),
        }
    }

    /// Whether it is the value of one of the rows.
    pub(crate) fn is_value(self) -> bool {
        match self {
            Made::Rank | Made::DenseRank => false,
            Made::Shifted(_) | Made::First | Made::Last(_) => true,
            Made::Total(function, _) => {
                matches!(function, Function::Least | Function::Greatest | Function::Same)
            }
        }
    }

    /// Whether it is the same for all rows of a partition, and in any order of them.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(self, Made::Total(_, Reach::Partition))
    }

    /// Whether it depends on which of several rows comes first that are equal in order.
    pub(crate) fn is_exact(self) -> bool {
        match self {
            Made::Rank | Made::DenseRank => false,
            Made::Shifted(_) | Made::First | Made::Last(_) => true,
            Made::Total(_, reach) => reach == Reach::Row,
        }
    }

    /// What it is called in SQL, made of what has this name.
    pub(crate) fn told(self, of: &str) -> String {
        match self {
            Made::Rank => "RANK()".into(),
            Made::DenseRank => "DENSE_RANK()".into(),
            Made::Shifted(places) if places > 0 => format!("LAG({of}, {places})"),
            Made::Shifted(places) => format!("LEAD({of}, {})", places.unsigned_abs()),
            Made::First => format!("FIRST_VALUE({of})"),
            Made::Last(_) => format!("LAST_VALUE({of})"),
            Made::Total(Function::Rows, Reach::Row) => "ROW_NUMBER()".into(),
            Made::Total(function, _) => function.told(of),
        }
    }
}

impl WindowColumn {
    /// What its values are, for at most `rows` rows, and whether it may be null.
    pub(crate) fn kind(&self, rows: u64) -> (ValueKind, bool) {
        let of = self.of.as_ref().map(|of| (of.kind, of.nullable));
        self.made.kind(of, rows)
    }
}

impl Window {
    /// All expressions that it is made of.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|order| &order.by);
        let of = self.columns.iter().filter_map(|column| column.of.as_ref());
        self.partition.iter().chain(order).chain(of)
    }

    /// The same, to be changed.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order.iter_mut().map(|order| &mut order.by);
        let of = self.columns.iter_mut().filter_map(|column| column.of.as_mut());
        self.partition.iter_mut().chain(order).chain(of)
    }
}
