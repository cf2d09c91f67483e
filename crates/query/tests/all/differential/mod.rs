//! Random queries over random tables, compared with what SQLite says.
//!
//! `CENOTE_DIFFERENTIAL=5000` runs so many instead of six hundred, and `CENOTE_SEED=17` the one with this seed.

mod expressions;
mod from;
mod functions;
mod queries;
mod random;
mod statistics;
mod tables;
mod totals;
mod windows;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cenote_query::{Count, Query};
use cenote_tables::{Column, Field, Table, Type, Values, cell};
use rusqlite::Connection;
use rusqlite::types::Value;

pub(crate) use self::expressions::Sort;
pub(crate) use self::queries::Asked;
use self::queries::Queries;
pub(crate) use self::random::Random;
pub(crate) use self::tables::in_sqlite;
use self::tables::world;
pub(crate) use self::windows::small as small_windows;
use crate::common::{Outcome, World, rows};

/// Queries in a run that is not told how many.
const FEW: u64 = 600;

/// A random query over random tables.
pub(crate) struct Case {
    pub(crate) world: World,
    pub(crate) asked: Asked,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut world = world(&mut random);
        // Whole tables, or a few rows at a time.
        world.segments = (seed % 2 == 1).then_some(1 + seed as usize / 2 % 4);
        // What most joins of a few rows fit.
        world.schema.max_join_rows = (seed % 5 == 2 && world.schema.answer.min_group < 2).then_some(3000);
        // Seldom, as not all queries can do without owners.
        world.schema.secret_only = seed % 16 == 5;
        let asked = Queries::new(&mut random, &world).query();
        Case { world, asked }
    }

    /// A query in which what is made of some groups meets what is made of others.
    pub(crate) fn with_totals(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut world = world(&mut random);
        world.segments = (seed % 2 == 1).then_some(1 + seed as usize / 2 % 4);
        world.schema.answer.min_group = 0;
        world.schema.max_join_rows = Some(3000);
        world.schema.secret_only = seed % 8 == 5;
        let asked = Queries::new(&mut random, &world).with_totals();
        Case { world, asked }
    }

    /// What there is to see of it.
    pub(crate) fn told(&self) -> String {
        format!(
            "{}ours: {}\nSQLite: {}",
            self.world.told(),
            self.asked.ours,
            self.asked.lite
        )
    }

    /// The rows that SQLite gives.
    fn right(&self) -> Vec<Vec<Value>> {
        right(
            &in_sqlite(&self.world),
            &self.asked.lite,
            self.asked.columns.len(),
        )
    }

    /// Whether a join may have more rows than is allowed: if the tables that the query names have more rows together.
    fn joins_many(&self) -> bool {
        let Some(most) = self.world.schema.max_join_rows else {
            return false;
        };
        let tables = self.world.schema.tables.iter().zip(&self.world.tables);
        let rows = tables.map(|(declared, table)| {
            let named = self.asked.ours.matches(&format!("{} ", declared.name)).count();
            table.rows.max(1).pow(named as u32)
        });
        rows.product::<usize>() > most
    }

    /// Why `outcome` is wrong, if it is.
    pub(crate) fn wrong(&self, outcome: &Outcome) -> Option<String> {
        let right = self.right();
        let too_many = matches!(self.world.schema.answer.count, Count::AtMost(most) if right.len() > most);
        match outcome {
            Outcome::Refused(_) => None,
            Outcome::NoAnswer if too_many => None,
            Outcome::NoAnswer if self.joins_many() => None,
            Outcome::Rows(what) if what.contains("`max_join_rows`") && self.joins_many() => None,
            Outcome::Answer(table) if !too_many => {
                let same = same(table, &right, &self.asked.columns);
                (!same).then(|| format!("answer: {}\nright: {right:?}", rows(table)))
            }
            other => Some(format!("{other:?}\nright: {right:?}")),
        }
    }
}

fn right(sqlite: &Connection, sql: &str, columns: usize) -> Vec<Vec<Value>> {
    let mut statement = sqlite
        .prepare(sql)
        .unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let rows = statement.query_map((), |row| (0..columns).map(|at| row.get(at)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Whether a table has these rows, in their order if all of it is exact.
fn same(table: &Table, right: &[Vec<Value>], columns: &[(Sort, bool)]) -> bool {
    if table.rows != right.len() {
        return false;
    }
    let equal = |row: usize, right: &Vec<Value>| {
        let cells = table.fields.iter().zip(&table.columns);
        let cells = cells.zip(columns.iter().zip(right));
        cells
            .into_iter()
            .all(|((field, column), ((sort, exact), value))| is(field, column, row, value, *sort, *exact))
    };
    if columns.iter().all(|(_, exact)| *exact) {
        return right.iter().enumerate().all(|(row, right)| equal(row, right));
    }
    let mut left: Vec<usize> = (0..table.rows).collect();
    right.iter().all(|right| {
        let found = left.iter().position(|&row| equal(row, right));
        found.map(|at| left.swap_remove(at)).is_some()
    })
}

/// Whether a cell is what SQLite says.
fn is(field: &Field, column: &Column, row: usize, right: &Value, sort: Sort, exact: bool) -> bool {
    if column.is_null(row) || *right == Value::Null {
        return column.is_null(row) && *right == Value::Null;
    }
    let number = match right {
        Value::Integer(number) => *number as f64,
        Value::Real(number) => *number,
        Value::Text(text) => return cell(column, field, row) == *text,
        _ => return false,
    };
    let Values::Numbers(numbers) = &column.values else {
        return false;
    };
    match (field.kind, right, sort) {
        (Type::Bool | Type::Int { .. }, Value::Integer(right), _) => numbers.get(row) == i128::from(*right),
        (Type::Decimal { scale, .. }, ..) => {
            let own = numbers.get(row) as f64 / 10f64.powi(scale.into());
            match exact {
                true => own == number,
                // Half a unit of the last place, and what floating-point numbers lose.
                false => {
                    let unit = 0.5 * 10f64.powi(-i32::from(scale));
                    (own - number).abs() <= unit * 1.001 + 1e-9 * number.abs()
                }
            }
        }
        (Type::Int { .. }, _, Sort::Decimal(_)) => numbers.get(row) as f64 == number,
        _ => false,
    }
}

/// What the cases of some seeds came to.
#[derive(Default)]
struct Found {
    run: AtomicU64,
    refused: Mutex<Vec<(u64, String)>>,
    wrong: Mutex<Vec<String>>,
}

fn check(seed: u64, found: &Found) {
    let case = Case::new(seed);
    let wrong = catch_unwind(AssertUnwindSafe(|| {
        let outcome = case.world.run(&case.asked.ours);
        if let Outcome::Refused(what) = &outcome {
            found.refused.lock().unwrap().push((seed, what.clone()));
        }
        case.wrong(&outcome)
    }));
    let wrong = wrong.unwrap_or_else(|_| Some("a panic".into()));
    found.run.fetch_add(1, Ordering::Relaxed);
    if let Some(wrong) = wrong {
        let text = format!("seed {seed}\n{}\n{wrong}\n", case.told());
        found.wrong.lock().unwrap().push(text);
    }
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn answers_are_those_of_sqlite() {
    let found = Found::default();
    let count = number("CENOTE_DIFFERENTIAL").unwrap_or(FEW);
    let start = Instant::now();
    if let Some(seed) = number("CENOTE_SEED") {
        check(seed, &found);
        println!("{}\n{:?}", Case::new(seed).told(), found.refused.lock().unwrap());
    } else {
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        let enough = found.wrong.lock().unwrap().len() >= 20;
                        if seed >= count || enough {
                            break;
                        }
                        check(seed, &found);
                    }
                });
            }
        });
    }
    let (refused, wrong) = (
        found.refused.into_inner().unwrap(),
        found.wrong.into_inner().unwrap(),
    );
    let run = found.run.into_inner();
    let mut reasons: Vec<&str> = refused.iter().map(|(_, what)| what.as_str()).collect();
    reasons.sort_unstable();
    println!(
        "{run} queries, {} refused, {} wrong, in {:?}",
        refused.len(),
        wrong.len(),
        start.elapsed()
    );
    if number("CENOTE_REFUSED").is_some() {
        refused.iter().for_each(|(seed, what)| println!("{seed}: {what}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        number("CENOTE_SEED").is_some() || refused.len() as u64 * 5 < run,
        "too many are refused: {reasons:?}"
    );
}

/// Random queries are planned with every kind of step.
#[test]
fn queries_take_all_steps() {
    let steps = [
        ("sorted by", 300),
        ("become secrets", 300),
        ("put rows together one by one", 25),
        ("join on", 300),
        ("left join on", 100),
        ("right join on", 20),
        ("full join on", 20),
        ("rows each", 100),
        ("join with the only row", 30),
        ("all rows of (all, secretly", 100),
        ("group by", 300),
        ("the first", 100),
        ("compute", 300),
        ("keep rows where", 300),
        ("for each row", 100),
        ("for each row among rows with the same", 50),
        (" times, at most ", 20),
        ("in whose order rows come", 3),
    ];
    let mut counts = [0; 18];
    for seed in 0..2000 {
        let case = Case::new(seed);
        let Ok(query) = Query::new(&case.asked.ours, case.world.schema.clone()) else {
            continue;
        };
        let tree = query.explained().tree();
        let counted = counts.iter_mut().zip(steps);
        counted.for_each(|(count, (step, _))| *count += usize::from(tree.contains(step)));
    }
    for (count, (step, least)) in counts.into_iter().zip(steps) {
        println!("{step}: in {count} queries");
        assert!(count >= least, "{step}: in {count} queries");
    }
}
