//! The answer, from the bits that were opened to a table.

use cenote_primitives::BitMatrix;
use cenote_tables::{Column, Numbers, Table, Values};

use crate::expr::ValueKind;
use crate::local::compare;
use crate::plan::physical::Ordered;
use crate::query::Query;

impl Query {
    /// The answer, in its order.
    pub(crate) fn answer(&self, bits: &BitMatrix) -> Table {
        let table = self.table(bits);
        if self.is_ordered() && self.order().is_empty() {
            return table;
        }
        // Where the order leaves rows equal, all columns count.
        let all = (0..self.fields().len()).map(|column| Ordered {
            column,
            descending: false,
            nulls_first: true,
        });
        let order: Vec<Ordered> = self.order().iter().copied().chain(all).collect();
        let mut places: Vec<usize> = (0..table.rows).collect();
        places.sort_by(|&one, &other| compare(&table.columns, &order, one, other));
        table.gather(&places)
    }

    /// The rows that were opened and count.
    pub(crate) fn table(&self, bits: &BitMatrix) -> Table {
        let rows = bits.transpose();
        let live: Vec<usize> = (0..rows.rows()).filter(|&row| rows.get(row, 0)).collect();
        let mut at = 1;
        let columns = self.physical().columns.iter().map(|column| {
            let width = column.kind.width() as usize;
            let from = at;
            at += width + usize::from(column.nullable);
            let nulls: Option<Vec<bool>> = column
                .nullable
                .then(|| live.iter().map(|&row| rows.get(row, from + width)).collect());
            Column {
                values: values(&rows, &live, column.kind, from),
                nulls,
            }
        });
        Table {
            columns: columns.collect(),
            fields: self.fields().to_vec(),
            rows: live.len(),
        }
    }
}

/// The values of a kind whose bits begin at `from` in these rows.
fn values(rows: &BitMatrix, live: &[usize], kind: ValueKind, from: usize) -> Values {
    if let ValueKind::Text(bytes) = kind {
        let byte = |row: usize, byte: usize| {
            (0..8).fold(0, |all, bit| {
                all | u8::from(rows.get(row, from + 8 * byte + bit)) << bit
            })
        };
        let text = |&row: &usize| (0..usize::from(bytes)).rev().map(move |at| byte(row, at));
        return Values::Text(bytes.into(), live.iter().flat_map(text).collect());
    }
    let width = kind.width() as usize;
    let number = |row: usize| {
        let low = (0..width).fold(0u128, |all, bit| {
            all | u128::from(rows.get(row, from + bit)) << bit
        });
        match kind.is_signed() && low >> (width - 1) == 1 {
            true => (low | u128::MAX.checked_shl(width as u32).unwrap_or(0)) as i128,
            false => low as i128,
        }
    };
    let (least, most) = kind.range().unwrap_or_default();
    let mut numbers = Numbers::within(least, most);
    live.iter().for_each(|&row| numbers.push(number(row)));
    Values::Numbers(numbers)
}
