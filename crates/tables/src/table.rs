//! Tables in the clear: what an owner has, and what an answer is.

use crate::types::Type;

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Numbers as [`Type`] says that they are kept: a bool is 0 or 1.
    Numbers(Vec<i128>),
    /// Text of so many bytes each, one after the other, filled up with zero bytes.
    Text(usize, Vec<u8>),
}

impl Values {
    /// None, of a type.
    pub fn none(kind: Type) -> Self {
        match kind {
            Type::Char(bytes) => Values::Text(bytes.into(), Vec::new()),
            _ => Values::Numbers(Vec::new()),
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
            Values::Numbers(numbers) => Values::Numbers(places.iter().map(|&place| numbers[place]).collect()),
            Values::Text(width, bytes) => {
                let row = |&place: &usize| &bytes[place * width..][..*width];
                Values::Text(*width, places.iter().flat_map(row).copied().collect())
            }
        }
    }

    /// How two of them compare.
    pub fn compare(&self, one: usize, other: usize) -> std::cmp::Ordering {
        match self {
            Values::Numbers(numbers) => numbers[one].cmp(&numbers[other]),
            Values::Text(width, bytes) => {
                bytes[one * width..][..*width].cmp(&bytes[other * width..][..*width])
            }
        }
    }
}

/// A column: its values, and where there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The places of it that are named, in this order, and nulls where none is.
    pub fn gather_or_null(&self, places: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let found: Vec<usize> = places.clone().flatten().collect();
        let mut found = self.gather(&found);
        if places.clone().all(|place| place.is_some()) {
            return found;
        }
        let mut next = 0;
        let mut row = |place: Option<usize>| {
            let here = next;
            next += usize::from(place.is_some());
            place.map(|_| here)
        };
        let rows: Vec<Option<usize>> = places.map(&mut row).collect();
        found.nulls = Some(
            rows.iter()
                .map(|row| row.is_none_or(|row| found.is_null(row)))
                .collect(),
        );
        found.values = match found.values {
            Values::Numbers(numbers) => {
                Values::Numbers(rows.iter().map(|row| row.map_or(0, |row| numbers[row])).collect())
            }
            Values::Text(width, bytes) => {
                let empty = vec![0; width];
                let text = |row: &Option<usize>| row.map_or(&empty[..], |row| &bytes[row * width..][..width]);
                Values::Text(width, rows.iter().flat_map(text).copied().collect())
            }
        };
        found
    }

    /// All of several columns of one type, one after the other.
    ///
    /// # Panics
    /// If there is none.
    pub fn concat<'a>(parts: impl Iterator<Item = &'a Column> + Clone) -> Self {
        let nullable = parts.clone().any(|part| part.nulls.is_some());
        let nulls = parts
            .clone()
            .flat_map(|part| (0..part.values.rows()).map(|row| part.is_null(row)));
        let nulls = nullable.then(|| nulls.collect());
        let values = parts.map(|part| part.values.clone());
        let values = values.reduce(|mut all, part| {
            match (&mut all, part) {
                (Values::Numbers(all), Values::Numbers(more)) => all.extend(more),
                (Values::Text(_, all), Values::Text(_, more)) => all.extend(more),
                _ => (),
            }
            all
        });
        Column {
            values: values.expect("there is at least one"),
            nulls,
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

/// The name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be null.
    pub nullable: bool,
}

/// A table in the clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What its columns are.
    pub fields: Vec<Field>,
    /// Its columns, one for each field, all of as many rows.
    pub columns: Vec<Column>,
    /// Its rows.
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
