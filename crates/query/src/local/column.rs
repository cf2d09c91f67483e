//! Columns in the clear: as they are calculated with, and as they are kept.

use std::cmp::Ordering;
use std::ops::Range;

use cenote_tables::{Column as TableColumn, Numbers, Values as TableValues};

use crate::expr::ValueKind;
use crate::listed::List;

/// Values that are calculated with.
#[derive(Clone)]
pub(crate) enum Values {
    Numbers(Vec<i128>),
    Text(usize, Vec<u8>),
}

impl Values {
    /// None, of a kind.
    pub(crate) fn none(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Text(width) => Values::Text(width.into(), Vec::new()),
            _ => Values::Numbers(Vec::new()),
        }
    }

    /// How many there are.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Text(width, bytes) => bytes.len() / width,
        }
    }
}

/// Some rows of a column: their values, zero where they are null, and which are null if any is.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) values: Values,
    pub(crate) nulls: Option<Vec<bool>>,
}

impl Column {
    /// Some rows of a column that is kept.
    pub(crate) fn of(kept: &TableColumn, rows: Range<usize>) -> Self {
        Column {
            values: match &kept.values {
                TableValues::Numbers(numbers) => Values::Numbers(numbers.range(rows.clone())),
                TableValues::Text(width, bytes) => {
                    Values::Text(*width, bytes[rows.start * width..rows.end * width].to_vec())
                }
            },
            nulls: kept.nulls.as_ref().map(|nulls| nulls[rows].to_vec()),
        }
    }

    /// The rows of a column that is kept in these places, and nulls where none is named.
    pub(crate) fn at(kept: &TableColumn, places: &[Option<usize>]) -> Self {
        let values = match &kept.values {
            TableValues::Numbers(numbers) => {
                let number = |place: &Option<usize>| place.map_or(0, |place| numbers.get(place));
                Values::Numbers(places.iter().map(number).collect())
            }
            TableValues::Text(width, bytes) => {
                let empty = vec![0; *width];
                let text = |place: &Option<usize>| {
                    place.map_or(&empty[..], |place| &bytes[place * width..][..*width])
                };
                Values::Text(*width, places.iter().flat_map(text).copied().collect())
            }
        };
        let null = |place: &Option<usize>| place.is_none_or(|place| kept.is_null(place));
        let nullable = kept.nulls.is_some() || places.iter().any(Option::is_none);
        Column {
            values,
            nulls: nullable.then(|| places.iter().map(null).collect()),
        }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls[row])
    }

    /// Where each text stands in a list.
    pub(super) fn places(self, list: &List) -> Self {
        let Values::Text(width, bytes) = &self.values else {
            return self;
        };
        // What it does not list is refused before, where that is looked at.
        let place = |text: &[u8]| list.place(text).map_or(0, |place| place as i128);
        let places = bytes.chunks(*width).map(place).enumerate();
        let places = places.map(|(row, place)| if self.is_null(row) { 0 } else { place });
        Column {
            values: Values::Numbers(places.collect()),
            nulls: self.nulls.clone(),
        }
    }

    /// The rows in these places.
    pub(crate) fn gather(&self, places: &[usize]) -> Self {
        let values = match &self.values {
            Values::Numbers(numbers) => Values::Numbers(places.iter().map(|&place| numbers[place]).collect()),
            Values::Text(width, bytes) => {
                let row = |&place: &usize| &bytes[place * width..][..*width];
                Values::Text(*width, places.iter().flat_map(row).copied().collect())
            }
        };
        let nulls = self.nulls.as_ref();
        Column {
            values,
            nulls: nulls.map(|nulls| places.iter().map(|&place| nulls[place]).collect()),
        }
    }

    /// How a value that is there compares with one of a column that is kept.
    pub(crate) fn compare(&self, row: usize, kept: &TableColumn, other: usize) -> Ordering {
        match (&self.values, &kept.values) {
            (Values::Numbers(own), TableValues::Numbers(numbers)) => own[row].cmp(&numbers.get(other)),
            (Values::Text(width, own), TableValues::Text(other_width, bytes)) => {
                own[row * width..][..*width].cmp(&bytes[other * other_width..][..*other_width])
            }
            _ => Ordering::Equal,
        }
    }

    /// Adds a value to `bytes`, so that other values, and nulls, are other bytes.
    pub(crate) fn write(&self, row: usize, bytes: &mut Vec<u8>) {
        bytes.push(self.is_null(row).into());
        match &self.values {
            Values::Numbers(numbers) => bytes.extend(numbers[row].to_le_bytes()),
            Values::Text(width, text) => bytes.extend(&text[row * width..][..*width]),
        }
    }
}

/// An empty column that keeps values of a kind.
pub(crate) fn none(kind: ValueKind) -> TableColumn {
    let values = match (kind, kind.range()) {
        (ValueKind::Text(width), _) => TableValues::Text(width.into(), Vec::new()),
        (_, range) => {
            let (least, most) = range.unwrap_or_default();
            TableValues::Numbers(Numbers::within(least, most))
        }
    };
    TableColumn { values, nulls: None }
}

/// Adds rows to a column that is kept.
pub(crate) fn keep(kept: &mut TableColumn, more: &Column) {
    let before = kept.values.rows();
    match (&mut kept.values, &more.values) {
        (TableValues::Numbers(all), Values::Numbers(numbers)) => {
            numbers.iter().for_each(|&number| all.push(number));
        }
        (TableValues::Text(width, all), Values::Text(own, bytes)) => {
            for text in bytes.chunks(*own) {
                all.extend(text.iter().copied().take(*width));
                all.resize(all.len() + width.saturating_sub(*own), 0);
            }
        }
        _ => (),
    }
    let count = more.values.rows();
    if more.nulls.is_some() || kept.nulls.is_some() {
        let nulls = kept.nulls.get_or_insert_with(|| vec![false; before]);
        match &more.nulls {
            Some(more) => nulls.extend(more),
            None => nulls.resize(before + count, false),
        }
    }
}
