//! Tables in the clear: what an owner has, and what an answer is.

use std::fmt;

use crate::numbers::Numbers;
use crate::types::Type;

/// The values of a column. `Debug` tells their shape only, since they may be private.
#[derive(Clone, PartialEq, Eq)]
pub enum Values {
    /// Numbers as [`Type`] says that they are kept: a bool is 0 or 1.
    Numbers(Numbers),
    /// Text of so many bytes each, one after the other, filled up with zero bytes.
    Text(usize, Vec<u8>),
}

impl Values {
    /// None, of a type.
    pub fn none(kind: Type) -> Self {
        match (kind, kind.range()) {
            (Type::Char(bytes), _) => Values::Text(bytes.into(), Vec::new()),
            (_, range) => {
                let (least, most) = range.unwrap_or_default();
                Values::Numbers(Numbers::within(least, most))
            }
        }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Text(width, bytes) => bytes.len() / width,
        }
    }

    /// Those in these places.
    pub fn gather(&self, places: &[usize]) -> Self {
        match self {
            Values::Numbers(numbers) => Values::Numbers(numbers.gather(places.iter().copied())),
            Values::Text(width, bytes) => {
                let row = |&place: &usize| &bytes[place * width..][..*width];
                Values::Text(*width, places.iter().flat_map(row).copied().collect())
            }
        }
    }

    /// How two of them compare.
    pub fn compare(&self, one: usize, other: usize) -> std::cmp::Ordering {
        match self {
            Values::Numbers(numbers) => numbers.get(one).cmp(&numbers.get(other)),
            Values::Text(width, bytes) => {
                bytes[one * width..][..*width].cmp(&bytes[other * width..][..*width])
            }
        }
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Numbers(numbers) => numbers.fmt(f),
            Values::Text(width, _) => write!(f, "{} texts of {width} bytes", self.rows()),
        }
    }
}

/// A column: its values, and where there are none. `Debug` tells its shape only.
#[derive(Clone, PartialEq, Eq)]
pub struct Column {
    /// The values; zero where there is none.
    pub values: Values,
    /// Whether each place is null; nothing if none is.
    pub nulls: Option<Vec<bool>>,
}

impl Column {
    /// Whether the value in this place is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls[row])
    }

    /// The places of it that are named, in this order.
    pub fn gather(&self, places: &[usize]) -> Self {
        Column {
            values: self.values.gather(places),
            nulls: self
                .nulls
                .as_ref()
                .map(|nulls| places.iter().map(|&place| nulls[place]).collect()),
        }
    }

    /// How two places compare: nulls are equal, and come first.
    pub fn compare(&self, one: usize, other: usize) -> std::cmp::Ordering {
        match (self.is_null(one), self.is_null(other)) {
            (false, false) => self.values.compare(one, other),
            (one, other) => other.cmp(&one),
        }
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nulls = if self.nulls.is_some() { ", some null" } else { "" };
        write!(f, "{:?}{nulls}", self.values)
    }
}

/// The name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What the query calls it.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be null.
    pub nullable: bool,
}

/// A table in the clear. `Debug` tells its shape only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What its columns are.
    pub fields: Vec<Field>,
    /// Its columns, one for each field, all of as many rows.
    pub columns: Vec<Column>,
    /// Rows in each of its columns.
    pub rows: usize,
}

impl Table {
    /// The table with these rows, in this order.
    pub fn gather(&self, places: &[usize]) -> Self {
        Table {
            fields: self.fields.clone(),
            columns: self.columns.iter().map(|column| column.gather(places)).collect(),
            rows: places.len(),
        }
    }
}
