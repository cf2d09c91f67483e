//! What SQLite answers to the same queries of the same tables.

use cenote_tables::{Table, Type, cell};
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};

/// Tables in SQLite.
pub(crate) struct Sqlite(Connection);

impl Sqlite {
    /// Copies of `tables`, each with its name.
    pub(crate) fn new<'a>(tables: impl IntoIterator<Item = (&'a str, &'a Table)>) -> Result<Self> {
        let sqlite = Connection::open_in_memory()?;
        for (name, table) in tables {
            let names: Vec<&str> = table.fields.iter().map(|field| field.name.as_str()).collect();
            sqlite.execute_batch(&format!("CREATE TABLE {name} ({}); BEGIN", names.join(", ")))?;
            let places = vec!["?"; names.len()].join(", ");
            let mut insert = sqlite.prepare(&format!("INSERT INTO {name} VALUES ({places})"))?;
            for row in 0..table.rows {
                let values = table.fields.iter().zip(&table.columns).map(|(field, column)| {
                    let text = cell(column, field, row);
                    match field.kind {
                        Type::Int { .. } => text.parse().map_or(Value::Null, Value::Integer),
                        Type::Decimal { .. } => text.parse().map_or(Value::Null, Value::Real),
                        _ => Value::Text(text),
                    }
                });
                insert.execute(params_from_iter(values))?;
            }
            sqlite.execute_batch("COMMIT")?;
            for key in names.iter().filter(|column| column.ends_with("key")) {
                sqlite.execute_batch(&format!("CREATE INDEX {name}_{key} ON {name} ({key})"))?;
            }
        }
        sqlite.execute_batch("ANALYZE")?;
        Ok(Sqlite(sqlite))
    }

    /// The rows of the answer to `sql`.
    pub(crate) fn answer(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        let mut statement = self.0.prepare(&in_its_words(sql))?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
        rows.collect()
    }
}

/// The query as SQLite takes it, which has no type for dates.
fn in_its_words(sql: &str) -> String {
    let mut parts = sql.split("DATE '");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (day, rest) = part.split_once('\'').unwrap_or((part, ""));
        match later(rest) {
            Some((step, rest)) => text += &format!("DATE('{day}', '{step}'){rest}"),
            None => text += &format!("'{day}'{rest}"),
        }
    }
    text.replace("EXTRACT(YEAR FROM ", "0 + STRFTIME('%Y', ")
        .replace(" FROM 1 FOR 2)", ", 1, 2)")
}

/// What is added to a date, and what stands behind it: `+3 MONTH` of ` + INTERVAL '3' MONTH AND …`.
fn later(text: &str) -> Option<(String, &str)> {
    let (sign, text) = text
        .split_once(" INTERVAL '")
        .filter(|(sign, _)| [" +", " -"].contains(sign))?;
    let (count, text) = text.split_once("' ")?;
    let end = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (unit, rest) = text.split_at(end);
    Some((format!("{}{count} {unit}", sign.trim()), rest))
}

/// How the rows that were found differ from the right ones, if they do.
pub(crate) fn difference(found: &[Vec<Option<String>>], right: &[Vec<Value>]) -> Option<String> {
    if found.len() != right.len() {
        return Some(format!(
            "it has {} rows where SQLite has {}",
            found.len(),
            right.len()
        ));
    }
    let mut pairs = (1..).zip(found.iter().zip(right));
    pairs.find_map(|(row, (found, right))| {
        let is_same = found.len() == right.len()
            && found
                .iter()
                .zip(right)
                .all(|(found, right)| same(found.as_deref(), right));
        (!is_same).then(|| format!("its row {row} is {found:?} where SQLite has {right:?}"))
    })
}

/// Numbers of SQLite have some 15 digits.
fn same(found: Option<&str>, right: &Value) -> bool {
    let right_number = match right {
        Value::Null => return found.is_none(),
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Text(text) => text.parse().ok(),
        Value::Blob(_) => None,
    };
    let Some(found) = found else { return false };
    match (found.parse::<f64>().ok(), right_number) {
        (Some(found), Some(right)) => (found - right).abs() <= 1e-5 + 1e-9 * right.abs(),
        _ => matches!(right, Value::Text(text) if text == found),
    }
}
