//! Tables as bytes, which another process of the same owner reads: each number in as many bytes as its type needs, each text in its own.

use crate::numbers::Numbers;
use crate::table::{Column, Field, Table, Values};

/// Bytes that say how many rows there are.
const ROWS: usize = size_of::<u64>();

/// How many bytes a number of a field has, and whether it may be negative; of a text, its own.
pub(crate) fn width(field: &Field) -> (usize, bool) {
    match (Values::none(field.kind), field.kind.range()) {
        (Values::Text(width, _), _) => (width, false),
        (Values::Numbers(_), range) => {
            let (least, most) = range.unwrap_or((i128::MIN, i128::MAX));
            // The sign takes one bit more.
            let bits = match least < 0 {
                true => 129 - most.max(!least).leading_zeros(),
                false => 128 - most.leading_zeros(),
            };
            (bits.div_ceil(8).max(1) as usize, least < 0)
        }
    }
}

impl Table {
    /// How many bytes tables of these fields are made that have so many rows at most.
    pub fn byte_count(fields: &[Field], max_rows: usize) -> usize {
        let row: usize = fields.iter().map(|field| 1 + width(field).0).sum();
        max_rows.saturating_mul(row).saturating_add(ROWS + fields.len())
    }

    /// It as bytes, as many as of any table of its fields with at most `max_rows` rows: they are filled up with zeros.
    pub fn to_bytes(&self, max_rows: usize) -> Vec<u8> {
        let count = Self::byte_count(&self.fields, max_rows.max(self.rows));
        let mut bytes = Vec::with_capacity(count);
        bytes.extend_from_slice(&(self.rows as u64).to_le_bytes());
        for (field, column) in self.fields.iter().zip(&self.columns) {
            bytes.push(column.nulls.is_some().into());
            bytes.extend(column.nulls.iter().flatten().map(|&null| u8::from(null)));
            column.put_values(field, &mut bytes);
        }
        bytes.resize(count, 0);
        bytes
    }

    /// The table of these fields that `bytes` are of; nothing if they are of none with at most so many rows.
    pub fn from_bytes(fields: &[Field], max_rows: usize, bytes: &[u8]) -> Option<Self> {
        let (rows, mut bytes) = bytes.split_first_chunk::<ROWS>()?;
        let rows = usize::try_from(u64::from_le_bytes(*rows)).ok()?;
        if rows > max_rows {
            return None;
        }
        let mut columns = Vec::with_capacity(fields.len());
        for field in fields {
            columns.push(column(field, rows, &mut bytes)?);
        }
        bytes.iter().all(|&byte| byte == 0).then(|| Table {
            fields: fields.to_vec(),
            columns,
            rows,
        })
    }
}

impl Column {
    /// Adds its values to `bytes`, each in as many as those of the field have.
    pub fn put_values(&self, field: &Field, bytes: &mut Vec<u8>) {
        match &self.values {
            Values::Numbers(numbers) => {
                let (width, _) = width(field);
                for number in numbers.iter() {
                    bytes.extend_from_slice(&number.to_le_bytes()[..width]);
                }
            }
            Values::Text(_, text) => bytes.extend_from_slice(text),
        }
    }
}

/// The next column in `bytes`.
fn column(field: &Field, rows: usize, bytes: &mut &[u8]) -> Option<Column> {
    let nulls = match take(bytes, 1)? {
        [0] => None,
        [1] if field.nullable => {
            let nulls = take(bytes, rows)?;
            let nulls = nulls.iter().map(|&null| (null < 2).then_some(null == 1));
            Some(nulls.collect::<Option<Vec<bool>>>()?)
        }
        _ => return None,
    };
    let (width, is_signed) = width(field);
    let own = take(bytes, rows.checked_mul(width)?)?;
    let values = match Values::none(field.kind) {
        Values::Text(width, _) => Values::Text(width, own.to_vec()),
        Values::Numbers(mut numbers) => {
            numbers.make_room(rows);
            fill(&mut numbers, field, own.chunks_exact(width), is_signed)?;
            Values::Numbers(numbers)
        }
    };
    Some(Column { values, nulls })
}

fn fill<'a>(
    numbers: &mut Numbers,
    field: &Field,
    own: impl Iterator<Item = &'a [u8]>,
    is_signed: bool,
) -> Option<()> {
    let (least, most) = field.kind.range()?;
    let own = own.map(|number| {
        let is_negative = is_signed && number.last().is_some_and(|last| last >> 7 == 1);
        let mut whole = [if is_negative { 0xff } else { 0 }; size_of::<i128>()];
        whole[..number.len()].copy_from_slice(number);
        let number = i128::from_le_bytes(whole);
        (least..=most).contains(&number).then_some(number).ok_or(())
    });
    numbers.extend(own).ok()
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = bytes.split_at_checked(count)?;
    *bytes = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Builder;
    use crate::types::Type;

    fn field(kind: Type, nullable: bool) -> Field {
        Field {
            name: kind.to_string(),
            kind,
            nullable,
        }
    }

    /// The least and the greatest value of each type, and none where there may be none.
    fn table(rows: usize) -> Table {
        let kinds = [
            "bool",
            "u8",
            "i8",
            "u16",
            "i32",
            "u64",
            "i64",
            "decimal(5,2)",
            "decimal(38,0)",
            "date",
            "char(3)",
        ];
        let kinds = kinds.map(|kind| kind.parse::<Type>().unwrap());
        let fields: Vec<Field> = kinds
            .iter()
            .flat_map(|&kind| [field(kind, false), field(kind, true)])
            .collect();
        let column = |field: &Field| {
            let mut column = Builder::new(field, rows);
            for row in 0..rows {
                match (field.kind.range(), field.nullable && row % 3 == 0) {
                    (_, true) => column.null().unwrap(),
                    (None, _) => column.text(&b"abc"[..row % 4]).unwrap(),
                    (Some((least, _)), _) if row % 2 == 0 => column.number(least).unwrap(),
                    (Some((_, most)), _) => column.number(most).unwrap(),
                }
            }
            column.finish()
        };
        Table {
            columns: fields.iter().map(column).collect(),
            fields,
            rows,
        }
    }

    #[test]
    fn tables_are_what_they_were() {
        for rows in [0, 1, 7] {
            let table = table(rows);
            for most in [rows, 9] {
                let bytes = table.to_bytes(most);
                assert_eq!(bytes.len(), Table::byte_count(&table.fields, most));
                let read = Table::from_bytes(&table.fields, most, &bytes);
                assert_eq!(read.as_ref(), Some(&table));
            }
        }
    }

    #[test]
    fn bytes_of_other_tables_are_refused() {
        let whole = table(7);
        let bytes = whole.to_bytes(7);
        let end = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        let read = |fields: &[Field], most: usize, bytes: &[u8]| Table::from_bytes(fields, most, bytes);
        assert_eq!(read(&whole.fields, 6, &bytes), None, "too many rows");
        for length in 0..end {
            assert_eq!(read(&whole.fields, 7, &bytes[..length]), None, "cut to {length}");
        }
        let longer = [&bytes[..], &[0, 0, 0, 1]].concat();
        assert_eq!(read(&whole.fields, 7, &longer), None);
        assert_eq!(read(&whole.fields[1..], 7, &bytes), None);
        let mut huge = bytes.clone();
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&whole.fields, usize::MAX, &huge), None);
        // A bool that is 2, and a column of nulls that may have none.
        for at in [8, 9] {
            let mut changed = bytes.clone();
            changed[at] = 2 - u8::from(at == 8);
            assert_eq!(read(&whole.fields, 7, &changed), None, "{at}");
        }
    }
}
