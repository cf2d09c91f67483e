//! A draft of what the columns of a file are, by what is in it: for a person to read and to change.

use std::path::Path;

use crate::error::{Error, Fault};
use crate::file::{Format, each_record, open, read};
use crate::inferred::{Inferred, chars, read_parquet};
use crate::table::{Field, Table};
use crate::text::parse;
use crate::types::{MAX_DIGITS, Type};

/// Reads the file at `path`, CSV or Parquet, with the narrowest type for each column that holds what is in it. Columns that no type fits are left out.
///
/// # Errors
/// As [`read`].
pub fn guess(path: &Path, max_rows: usize) -> Result<Inferred, Error> {
    let of = |fault: Fault| fault.of(path);
    let mut file = open(path).map_err(|problem| of(problem.into()))?;
    if Format::of(&mut file, path).is_ok_and(|format| matches!(format, Format::Parquet)) {
        return read_parquet(path, max_rows);
    }
    let mut columns: Vec<Seen> = Vec::new();
    let header = each_record(&mut file, path, &mut |cells| {
        columns.resize_with(cells.len().max(columns.len()), Seen::default);
        for ((cell, quoted), seen) in cells.iter().zip(&mut columns) {
            seen.note(cell, *quoted);
        }
    })
    .map_err(of)?;
    columns.resize_with(header.len(), Seen::default);
    let (mut fields, mut left_out) = (Vec::new(), Vec::new());
    for (name, seen) in header.into_iter().zip(&columns) {
        match seen.kind() {
            _ if name.is_empty() => left_out.push((name, "it has no name".into())),
            Ok(kind) => fields.push(Field {
                name,
                kind,
                nullable: seen.nulls > 0,
            }),
            Err(why) => left_out.push((name, why)),
        }
    }
    let table = match fields.is_empty() {
        true => Table::none(&[]),
        false => read(path, &fields, max_rows)?,
    };
    Ok(Inferred { table, left_out })
}

/// The columns of a table in which no value comes twice and none is null.
pub fn unique_columns(table: &Table) -> Vec<&str> {
    let columns = table.fields.iter().zip(&table.columns);
    let unique = columns.filter(|(_, column)| {
        let mut places: Vec<usize> = (0..table.rows).collect();
        places.sort_unstable_by(|one, other| column.compare(*one, *other));
        let comes_twice = |pair: &[usize]| column.compare(pair[0], pair[1]).is_eq();
        column.nulls.is_none() && table.rows > 1 && !places.windows(2).any(comes_twice)
    });
    unique.map(|(field, _)| field.name.as_str()).collect()
}

/// What was seen of the cells of a column.
struct Seen {
    nulls: usize,
    values: usize,
    longest: usize,
    is_text: bool,
    /// Whether all are words for true and false.
    words: bool,
    date: bool,
    timestamp: bool,
    /// The least and the greatest whole number, if all are such.
    whole: Option<(i128, i128)>,
    /// Digits before and after the point, if all are numbers.
    digits: Option<(usize, usize)>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            nulls: 0,
            values: 0,
            longest: 0,
            is_text: true,
            words: true,
            date: true,
            timestamp: true,
            whole: Some((0, 0)),
            digits: Some((1, 0)),
        }
    }
}

impl Seen {
    fn note(&mut self, cell: &[u8], quoted: bool) {
        if cell.trim_ascii().is_empty() && !quoted {
            self.nulls += 1;
            return;
        }
        self.values += 1;
        self.longest = self.longest.max(cell.len());
        self.is_text &= std::str::from_utf8(cell).is_ok() && !cell.contains(&0);
        let is = |kind| matches!(parse(kind, cell), Ok(Some(_)));
        self.words &= is(Type::Bool) && cell.iter().any(u8::is_ascii_alphabetic);
        self.date &= is(Type::Date);
        self.timestamp &= is(Type::Timestamp);
        let whole = Type::Int {
            signed: true,
            bits: 64,
        };
        self.whole = self.whole.and_then(|(least, most)| {
            let number = parse(whole, cell).ok().flatten()?;
            Some((least.min(number), most.max(number)))
        });
        self.digits = self.digits.and_then(|(before, after)| {
            let (whole, fraction) = digits(cell.trim_ascii())?;
            Some((before.max(whole), after.max(fraction)))
        });
    }

    /// The narrowest type.
    fn kind(&self) -> Result<Type, String> {
        if self.values == 0 {
            return Err("it has no values".into());
        }
        if self.words {
            return Ok(Type::Bool);
        }
        if let Some((least, most)) = self.whole {
            let types = [8, 16, 32, 64]
                .into_iter()
                .flat_map(|bits| [false, true].map(|signed| Type::Int { signed, bits }));
            let holds = |kind: &Type| {
                kind.range()
                    .is_some_and(|(low, high)| low <= least && most <= high)
            };
            if let Some(kind) = types.into_iter().find(holds) {
                return Ok(kind);
            }
        }
        if let Some((before, after)) = self.digits
            && before + after <= usize::from(MAX_DIGITS)
        {
            // Other rows may have larger numbers.
            let precision = (before + after).max(if after > 0 { after + 1 } else { 1 }) as u8;
            return Ok(Type::Decimal {
                precision,
                scale: after as u8,
            });
        }
        match (self.date, self.timestamp, self.is_text) {
            (true, ..) => Ok(Type::Date),
            (_, true, _) => Ok(Type::Timestamp),
            (_, _, true) => chars(self.longest.max(1)),
            (_, _, false) => Err("it has text that is not UTF-8, or has zero bytes".into()),
        }
    }
}

/// The digits of a plain number before and after its point.
fn digits(text: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    (all(whole) && all(fraction) && !whole.is_empty())
        .then(|| (whole.trim_start_matches('0').len().max(1), fraction.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let guess = guess(&path, 100).unwrap();
        let kind = |field: &Field| {
            let null = if field.nullable { "" } else { " not null" };
            format!("{} {}{null}", field.name, field.kind)
        };
        (
            guess.table.fields.iter().map(kind).collect(),
            unique_columns(&guess.table)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            guess.left_out.into_iter().map(|(name, _)| name).collect(),
        )
    }

    #[test]
    fn each_column_has_the_narrowest_type_that_holds_it() {
        let (fields, unique, left_out) = guessed(
            "id,small,owed,on,at,ok,name,code,none,signed\n1,255,1.50,2024-01-31,2024-01-31 10:00:00,yes,\"a,b\",007,,-1\n\
             300,0,-22.5,2024-02-01,2024-02-01,f,äö,12,,5\n3,,0.25,,2024-02-01,no,äö,x,,5\n",
        );
        assert_eq!(
            fields,
            [
                "id u16 not null",
                "small u8",
                "owed decimal(4,2) not null",
                "on date",
                "at timestamp not null",
                "ok bool not null",
                "name char(4) not null",
                "code char(4) not null",
                "signed i8 not null",
            ]
        );
        assert_eq!(unique, ["id", "owed", "code"]);
        assert_eq!(left_out, ["none"]);
        let (fields, unique, _) = guessed("a,b\n99999999999999999999,18446744073709551615\n1,2\n");
        assert_eq!(fields, ["a decimal(20,0) not null", "b u64 not null"]);
        assert_eq!(unique, ["a", "b"]);
    }
}
