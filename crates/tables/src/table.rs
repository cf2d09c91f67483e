//! Tables in the clear: what an owner has, and what an answer is.

use std::fmt;

use crate::bytes;
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

    /// Makes room for so many more, if there is any.
    pub(crate) fn make_room(&mut self, rows: usize) {
        match self {
            Values::Numbers(numbers) => numbers.make_room(rows),
            Values::Text(width, bytes) => drop(bytes.try_reserve_exact(rows.saturating_mul(*width))),
        }
    }

    /// Gives back room for more.
    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Values::Numbers(numbers) => numbers.shrink_to_fit(),
            Values::Text(_, bytes) => bytes.shrink_to_fit(),
        }
    }

    /// Adds those in these places of `other`, which are of the same type.
    fn append(&mut self, other: &Values, places: &[usize]) {
        match (self, other) {
            (Values::Numbers(own), Values::Numbers(numbers)) => {
                own.append(numbers, places.iter().copied());
            }
            (Values::Text(_, own), Values::Text(width, bytes)) => {
                for &place in places {
                    own.extend_from_slice(&bytes[place * width..][..*width]);
                }
            }
            _ => debug_assert!(false, "one type"),
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
    /// A column of a type that has no values.
    fn none(kind: Type) -> Self {
        Column {
            values: Values::none(kind),
            nulls: None,
        }
    }

    /// Adds the `places` of `other`, which is of the same type.
    fn append(&mut self, other: &Column, places: &[usize]) {
        let before = self.values.rows();
        self.values.append(&other.values, places);
        match (&mut self.nulls, &other.nulls) {
            (None, None) => (),
            (nulls, others) => {
                let own = nulls.get_or_insert_with(|| vec![false; before]);
                own.extend(
                    places
                        .iter()
                        .map(|&place| others.as_ref().is_some_and(|nulls| nulls[place])),
                );
            }
        }
    }

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
    /// A table of these fields without rows.
    pub fn none(fields: &[Field]) -> Self {
        Table {
            fields: fields.to_vec(),
            columns: fields.iter().map(|field| Column::none(field.kind)).collect(),
            rows: 0,
        }
    }

    /// The most bytes that a row of these fields takes, in memory or [as bytes](Table::to_bytes).
    pub fn bytes_of_row(fields: &[Field]) -> usize {
        let of = |field: &Field| {
            let in_memory = match Values::none(field.kind) {
                Values::Numbers(numbers) => numbers.bytes(),
                Values::Text(width, _) => width,
            };
            // Whether it is null.
            1 + in_memory.max(bytes::width(field).0)
        };
        fields.iter().map(of).sum()
    }

    /// Makes room for so many rows more, if there is any: a table that grew would leave twice as much behind.
    pub fn make_room(&mut self, rows: usize) {
        for column in &mut self.columns {
            column.values.make_room(rows);
        }
    }

    /// Gives back the room that it has for more rows.
    pub fn shrink_to_fit(&mut self) {
        for column in &mut self.columns {
            column.values.shrink_to_fit();
            if let Some(nulls) = &mut column.nulls {
                nulls.shrink_to_fit();
            }
        }
    }

    /// These columns of it.
    pub fn project(&self, columns: &[usize]) -> Self {
        Table {
            fields: columns.iter().map(|&at| self.fields[at].clone()).collect(),
            columns: columns.iter().map(|&at| self.columns[at].clone()).collect(),
            rows: self.rows,
        }
    }

    /// Adds the rows in these places of `other`, which has the same fields.
    pub fn append(&mut self, other: &Table, places: &[usize]) {
        for (own, column) in self.columns.iter_mut().zip(&other.columns) {
            own.append(column, places);
        }
        self.rows += places.len();
    }

    /// The table with these rows, in this order.
    pub fn gather(&self, places: &[usize]) -> Self {
        Table {
            fields: self.fields.clone(),
            columns: self.columns.iter().map(|column| column.gather(places)).collect(),
            rows: places.len(),
        }
    }
}
