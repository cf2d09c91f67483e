//! Rows in the clear: some at a time, or all of a step.

use std::cmp::Ordering;

use cenote_tables::Column as TableColumn;

use super::column::Column;
use crate::plan::physical::Ordered;

/// Some rows in the clear.
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) count: usize,
}

/// All rows of a step.
pub(crate) struct AllRows {
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) count: usize,
}

impl Rows {
    pub(super) fn gather(&self, places: &[usize]) -> Self {
        Rows {
            columns: self.columns.iter().map(|column| column.gather(places)).collect(),
            count: places.len(),
        }
    }
}

impl AllRows {
    /// The rows in these places.
    pub(super) fn at(&self, places: &[usize]) -> Rows {
        let places: Vec<Option<usize>> = places.iter().map(|&place| Some(place)).collect();
        Rows {
            columns: self
                .columns
                .iter()
                .map(|column| Column::at(column, &places))
                .collect(),
            count: places.len(),
        }
    }

    /// Whether two rows have the same keys.
    pub(crate) fn same(&self, keys: &[usize], one: usize, other: usize) -> bool {
        keys.iter()
            .all(|&key| self.columns[key].compare(one, other).is_eq())
    }

    /// The places of the rows in the order of these columns, those with a null in one of them last; and how many have none.
    pub(crate) fn sorted(&self, keys: &[usize]) -> (Vec<u32>, usize) {
        let columns: Vec<&TableColumn> = keys.iter().map(|&key| &self.columns[key]).collect();
        let is_null = |row: u32| columns.iter().any(|column| column.is_null(row as usize));
        // No table has more rows.
        let all = 0..u32::try_from(self.count).unwrap_or(u32::MAX);
        let (mut places, nulls): (Vec<u32>, Vec<u32>) = all.partition(|&row| !is_null(row));
        let whole = places.len();
        let compared = |one, other| compare_values(&columns, one, other);
        if !places.is_sorted_by(|&one, &other| compared(one, other).is_le()) {
            places.sort_by(|&one, &other| compared(one, other));
        }
        places.extend(nulls);
        (places, whole)
    }
}

/// How two rows without nulls compare, the first column counting most.
pub(super) fn compare_values(columns: &[&TableColumn], one: u32, other: u32) -> Ordering {
    let each = columns
        .iter()
        .map(|column| column.values.compare(one as usize, other as usize));
    each.fold(Ordering::Equal, Ordering::then)
}

/// How two rows come after one another.
pub(crate) fn compare(columns: &[TableColumn], order: &[Ordered], one: usize, other: usize) -> Ordering {
    for by in order {
        let column = &columns[by.column];
        let nulls = (column.is_null(one), column.is_null(other));
        let found = match nulls {
            (false, false) if by.descending => column.values.compare(other, one),
            (false, false) => column.values.compare(one, other),
            (one, other) if by.nulls_first => other.cmp(&one),
            (one, other) => one.cmp(&other),
        };
        if found.is_ne() {
            return found;
        }
    }
    Ordering::Equal
}
