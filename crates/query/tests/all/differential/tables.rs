//! Random tables, and the same in SQLite.

use std::collections::{BTreeMap, BTreeSet};

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, Schema};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Type, Values, cell, parse_date};
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;

use super::random::Random;
use crate::common::World;

const TYPES: [&str; 17] = [
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "decimal(4,2)",
    "decimal(12,2)",
    "decimal(20,4)",
    "decimal(9,0)",
    "date",
    "timestamp",
    "char(1)",
    "char(4)",
];
const KEYS: [&str; 10] = [
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u32",
    "char(2)",
    "char(5)",
    "date",
    "decimal(6,2)",
];
const TEXTS: [&str; 9] = ["", "a", "b", "c", "ab", "abc", "ba", "B", "zz"];

/// Microseconds of a minute, and of a day.
const MINUTE: i128 = 60_000_000;
const DAY: i128 = 24 * 60 * MINUTE;

/// A value of a type that comes again and again.
fn value(random: &mut Random, kind: Type) -> Vec<u8> {
    if let Type::Char(width) = kind {
        loop {
            let text = random.pick(&TEXTS).as_bytes().to_vec();
            if text.len() <= width.into() {
                let mut text = text;
                text.resize(width.into(), 0);
                return text;
            }
        }
    }
    let (least, most) = kind.range().unwrap();
    let wide = random.chance(15);
    let number = match kind {
        Type::Bool => random.below(2) as i128,
        Type::Date => i128::from(parse_date("2023-12-30").unwrap()) + random.within(0, 9) as i128,
        Type::Timestamp => {
            let day = i128::from(parse_date("2024-02-28").unwrap());
            day * DAY + i128::from(random.within(0, 3)) * DAY + i128::from(random.within(0, 3)) * 90 * MINUTE
        }
        // Multiples of a quarter, so that floating-point numbers have them.
        Type::Decimal {
            scale: scale @ 2.., ..
        } => {
            let most = if wide { 300 } else { 12 };
            i128::from(random.within(-most, most)) * 25 * 10i128.pow(u32::from(scale) - 2)
        }
        _ => i128::from(if wide {
            random.within(-70_000, 70_000)
        } else {
            random.within(-4, 6)
        }),
    };
    number.clamp(least, most).to_le_bytes().to_vec()
}

/// A column of so many cells, of which none comes more than `most` times.
fn column(random: &mut Random, field: &Field, rows: usize, most: usize) -> Column {
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let nulls = if field.nullable {
        random.pick(&[0, 10, 25, 60])
    } else {
        0
    };
    let mut cells: Vec<Option<Vec<u8>>> = Vec::new();
    let mut tries = 0;
    while cells.len() < rows && tries < 1000 {
        tries += 1;
        if random.chance(nulls) {
            cells.push(None);
            continue;
        }
        let value = value(random, field.kind);
        let count = counts.entry(value.clone()).or_default();
        if *count < most {
            *count += 1;
            cells.push(Some(value));
        }
    }
    of_cells(field.kind, &cells)
}

fn of_cells(kind: Type, cells: &[Option<Vec<u8>>]) -> Column {
    let nulls: Vec<bool> = cells.iter().map(Option::is_none).collect();
    let values = match kind {
        Type::Char(width) => {
            let none = vec![0; width.into()];
            let text = |cell: &Option<Vec<u8>>| cell.clone().unwrap_or_else(|| none.clone());
            Values::Text(width.into(), cells.iter().flat_map(text).collect())
        }
        _ => {
            let number = |cell: &Option<Vec<u8>>| {
                cell.as_ref()
                    .map_or(0, |cell| i128::from_le_bytes(cell[..].try_into().unwrap()))
            };
            Values::Numbers(cells.iter().map(number).collect::<Vec<_>>().into())
        }
    };
    Column {
        values,
        nulls: nulls.contains(&true).then_some(nulls),
    }
}

fn kind(random: &mut Random, of: &[&str]) -> Type {
    random.pick(of).parse().unwrap()
}

/// Random tables. Their first column, `id`, is what they are mostly joined by.
pub(crate) fn world(random: &mut Random) -> World {
    let parties = random.pick(&[2, 2, 3]);
    let mut world = World {
        schema: Schema {
            parties,
            tables: Vec::new(),
            answer: Answer {
                to: Parties::all(parties.into()),
                count: random.pick(&[Count::AtMost(1000), Count::AtMost(1000), Count::Revealed]),
                min_group: random.pick(&[0, 0, 0, 0, 0, 0, 1, 2, 3]),
            },
            max_join_rows: None,
            parameters: Vec::new(),
            secret_only: false,
        },
        tables: Vec::new(),
        segments: None,
    };
    if random.chance(20) {
        world.schema.answer.to = Parties::one(PartyId(random.below(parties.into()) as u8));
    }
    let key = kind(random, &KEYS[..8]);
    for at in 0..random.pick(&[1, 2, 2, 3, 3, 4]) {
        let twin = at > 0 && random.chance(25);
        let (declared, table) = match twin {
            true => twin_of(random, &world, at),
            false => table(random, &world, at, key),
        };
        world.schema.tables.push(declared);
        world.tables.push(table);
    }
    world
}

fn table(random: &mut Random, world: &World, at: usize, key: Type) -> (Declared, Table) {
    let key = if random.chance(80) {
        key
    } else {
        kind(random, &KEYS)
    };
    let mut fields = vec![Field {
        name: "id".into(),
        kind: key,
        nullable: random.chance(60),
    }];
    for other in 0..1 + random.below(4) {
        // Some have names that other tables have too.
        let name = if random.chance(60) {
            format!("v{other}")
        } else {
            format!("{}{other}", ["p", "q", "r", "s"][at])
        };
        let kind = if other == 0 && random.chance(40) {
            kind(random, &KEYS)
        } else {
            kind(random, &TYPES)
        };
        fields.push(Field {
            name,
            kind,
            nullable: random.chance(70),
        });
    }
    let mut declared = Declared {
        name: format!("t{at}"),
        party: match random.chance(80) {
            true => PartyId(at as u8 % world.schema.parties),
            false => PartyId(random.below(world.schema.parties.into()) as u8),
        },
        fields,
        max_rows: 0,
        unique: Vec::new(),
        at_most: BTreeMap::new(),
        distinct: BTreeMap::new(),
        below: BTreeMap::new(),
        values: BTreeMap::new(),
        same_rows_as: None,
    };
    fill(random, &mut declared, None)
}

/// A table of another party that has the same rows as one of those that are there.
fn twin_of(random: &mut Random, world: &World, at: usize) -> (Declared, Table) {
    let other = random.below(world.tables.len());
    let (theirs, ids) = (
        &world.schema.tables[other],
        world.tables[other].columns[0].clone(),
    );
    let (mut declared, _) = table(random, world, at, theirs.fields[0].kind);
    declared.fields[0] = theirs.fields[0].clone();
    declared.unique.clear();
    declared.at_most.clear();
    declared.distinct.clear();
    declared.below.clear();
    declared.values.clear();
    declared.max_rows = theirs.max_rows;
    if theirs.unique.first().is_some_and(|unique| unique == &["id"]) {
        let others = world.schema.parties - 1;
        declared.party =
            PartyId((theirs.party.0 + 1 + random.below(others.into()) as u8) % world.schema.parties);
        declared.same_rows_as = Some(theirs.name.clone());
        declared.unique.push(vec!["id".into()]);
    }
    fill(random, &mut declared, Some(ids))
}

/// Rows for a table, and promises that hold of them.
fn fill(random: &mut Random, declared: &mut Declared, ids: Option<Column>) -> (Declared, Table) {
    let fresh = ids.is_none();
    let mut rows = match &ids {
        Some(ids) => ids.values.rows(),
        None => random.pick(&[0, 1, 2, 3, 5, 7, 8, 10, 11, 12, 12]),
    };
    let mut columns = Vec::new();
    for (at, field) in declared.fields.iter().enumerate() {
        if let (0, Some(ids)) = (at, &ids) {
            let mut places: Vec<usize> = (0..rows).collect();
            random.shuffle(&mut places);
            columns.push(ids.gather(&places));
            continue;
        }
        let promise = if at == 0 { 75 } else { 25 };
        let (most, name) = match random.below(100) {
            roll if roll < promise * 2 / 3 && fresh => (1, Some("unique")),
            roll if roll < promise && fresh => (random.pick(&[2, 2, 3, 4]), Some("at_most")),
            _ => (usize::MAX, None),
        };
        let column = column(random, field, rows, most);
        rows = rows.min(column.values.rows());
        columns.push(column);
        match name {
            Some("unique") => declared.unique.push(vec![field.name.clone()]),
            Some(_) => {
                declared.at_most.insert(field.name.clone(), most);
            }
            None => (),
        }
    }
    let places: Vec<usize> = (0..rows).collect();
    let columns: Vec<Column> = columns.iter().map(|column| column.gather(&places)).collect();
    promise_values(random, declared, &columns, rows);
    if fresh {
        declared.max_rows = (rows + random.pick(&[0, 1, 2, 3])).max(1);
    }
    let table = Table {
        fields: declared.fields.clone(),
        columns,
        rows,
    };
    (declared.clone(), table)
}

/// Promises that hold of the values of these columns.
fn promise_values(random: &mut Random, declared: &mut Declared, columns: &[Column], rows: usize) {
    for (field, column) in declared.fields.iter().zip(columns) {
        let there = (0..rows).filter(|&row| !column.is_null(row));
        let mut seen: Vec<String> = there.clone().map(|row| cell(column, field, row)).collect();
        seen.sort();
        seen.dedup();
        if random.chance(20) {
            let count = seen.len().max(1) + random.below(2);
            declared.distinct.insert(field.name.clone(), count);
        }
        match (field.kind, &column.values) {
            (Type::Char(_), _) if random.chance(40) => {
                let more = ["", "a", "zz"].map(str::to_owned);
                let more = more
                    .into_iter()
                    .filter(|value| !seen.contains(value) && random.chance(40));
                let mut values: Vec<String> = more.chain(seen.iter().cloned()).collect();
                random.shuffle(&mut values);
                if !values.is_empty() {
                    declared.values.insert(field.name.clone(), values);
                }
            }
            (Type::Int { .. }, Values::Numbers(numbers)) if random.chance(30) => {
                let most = there.clone().map(|row| numbers.get(row)).max().unwrap_or(0);
                let least = there.map(|row| numbers.get(row)).min().unwrap_or(0);
                let (_, last) = field.kind.range().unwrap();
                let end = (most + 1 + random.below(3) as i128).min(last + 1);
                if let (0.., Ok(end @ 1..)) = (least, u64::try_from(end)) {
                    declared.below.insert(field.name.clone(), end);
                }
            }
            _ => (),
        }
    }
    let pair = [0, 1].map(|_| random.below(columns.len()));
    let written = |row: usize| pair.map(|at| cell(&columns[at], &declared.fields[at], row));
    let there = (0..rows).filter(|&row| !pair.iter().any(|&at| columns[at].is_null(row)));
    let mut seen = BTreeSet::new();
    if pair[0] != pair[1] && random.chance(30) && there.clone().all(|row| seen.insert(written(row))) {
        let names = pair.map(|at| declared.fields[at].name.clone());
        declared.unique.push(names.to_vec());
    }
}

/// What SQLite holds for a cell: dates and timestamps as text, decimals with places as floating-point numbers.
fn held(field: &Field, column: &Column, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match (field.kind, &column.values) {
        (
            Type::Decimal {
                scale: scale @ 1.., ..
            },
            Values::Numbers(numbers),
        ) => Value::Real(numbers.get(row) as f64 / 10f64.powi(scale.into())),
        (Type::Date | Type::Timestamp | Type::Char(_), _) => Value::Text(cell(column, field, row)),
        (_, Values::Numbers(numbers)) => Value::Integer(numbers.get(row).try_into().unwrap()),
        _ => unreachable!("text has a width"),
    }
}

/// The tables in SQLite.
pub(crate) fn in_sqlite(world: &World) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("PRAGMA case_sensitive_like = ON")
        .unwrap();
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let root = |of: &Context<'_>| Ok(of.get::<Option<f64>>(0)?.map(f64::sqrt));
    connection.create_scalar_function("sqrt", 1, flags, root).unwrap();
    for (declared, table) in world.schema.tables.iter().zip(&world.tables) {
        let columns: Vec<String> = declared
            .fields
            .iter()
            .map(|field| {
                let kind = match field.kind {
                    Type::Decimal { scale: 1.., .. } => "REAL",
                    Type::Date | Type::Timestamp | Type::Char(_) => "TEXT",
                    _ => "INTEGER",
                };
                format!("{} {kind}", field.name)
            })
            .collect();
        let create = format!("CREATE TABLE {} ({})", declared.name, columns.join(", "));
        connection.execute(&create, ()).unwrap();
        let marks = vec!["?"; declared.fields.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({marks})", declared.name);
        let mut insert = connection.prepare(&insert).unwrap();
        for row in 0..table.rows {
            let cells = declared.fields.iter().zip(&table.columns);
            let cells = cells.map(|(field, column)| held(field, column, row));
            insert.execute(rusqlite::params_from_iter(cells)).unwrap();
        }
    }
    connection
}
