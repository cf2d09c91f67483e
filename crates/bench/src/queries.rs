//! Queries over made-up tables, from reading files to the answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cenote::local::Setting;
use cenote::query::{Instead, run_here};
use cenote::text::{Table, grouped, megabytes};
use cenote::{Error, Report, Result, demo};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use serde::Serialize;

use crate::usage::{Machine, median};

/// Rows of each side of the join.
const JOINED: usize = 1 << 16;
/// Rows of the sums, unless others are asked for.
pub const ROWS: usize = 1_000_000;

/// A query that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// The demonstration: three tables of 20,000 rows that go together one by one.
    Demo,
    /// The pattern of TPC-H's sixth query: a sum over rows whose columns lie with two parties.
    Q6,
    /// The pattern of TPC-H's first query: six groups of rows, which lie in parts with three parties.
    Q1,
    /// Tables of 2^16 rows joined by their keys, filtered, and added up by group.
    Join,
}

impl Asked {
    /// All of them.
    pub const ALL: [Asked; 4] = [Asked::Demo, Asked::Q6, Asked::Q1, Asked::Join];

    pub fn name(self) -> &'static str {
        match self {
            Asked::Demo => "demo",
            Asked::Q6 => "q6",
            Asked::Q1 => "q1",
            Asked::Join => "join",
        }
    }

    /// Writes the job and its tables, with so many `rows` of the sums, and gives the first column of the answer's first row as it must be, where that is computed.
    fn write(self, folder: &Path, rows: usize) -> std::io::Result<Option<String>> {
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
        let random = StdRng::seed_from_u64(1);
        match self {
            Asked::Demo => {
                demo::write_samples(folder).map_err(std::io::Error::other)?;
                Ok(None)
            }
            Asked::Q6 => write_q6(rows, random, &write).map(Some),
            Asked::Q1 => write_q1(rows, random, &write).map(Some),
            Asked::Join => write_join(random, &write).map(Some),
        }
    }
}

/// Writes a file of some name.
type Write<'a> = &'a dyn Fn(&str, &str) -> std::io::Result<()>;

fn write_q6(rows: usize, mut random: StdRng, write: Write<'_>) -> std::io::Result<String> {
    let (mut a, mut b) = (
        "id,shipdate,quantity\n".to_owned(),
        "id,price,discount\n".to_owned(),
    );
    let mut revenue = 0u64;
    for row in 0..rows {
        let (year, month, day) = (
            random.random_range(1992..1999u32),
            random.random_range(1..13u32),
            random.random_range(1..29u32),
        );
        let (quantity, price, discount) = (
            random.random_range(1..51u32),
            random.random_range(100_000..10_000_000u64),
            random.random_range(0..11u64),
        );
        let id = 7 * row + 3;
        let _ = writeln!(a, "{id},{year}-{month:02}-{day:02},{quantity}");
        let _ = writeln!(b, "{id},{}.{:02},0.{discount:02}", price / 100, price % 100);
        if year == 1994 && (5..=7).contains(&discount) && quantity < 24 {
            revenue += price * discount;
        }
    }
    write("a.csv", &a)?;
    write("b.csv", &b)?;
    write("job.toml", &Q6.replace("ROWS", &rows.to_string()))?;
    Ok(format!("{}.{:04}", revenue / 10_000, revenue % 10_000))
}

fn write_q1(rows: usize, mut random: StdRng, write: Write<'_>) -> std::io::Result<String> {
    let mut tables = String::new();
    for party in 0..3 {
        let mut text = "flag,status,quantity,price,discount,tax,shipdate\n".to_owned();
        for _ in 0..rows.div_ceil(3) {
            let price = random.random_range(100_000..10_000_000u64);
            let _ = writeln!(
                text,
                "{},{},{},{}.{:02},0.{:02},0.{:02},{}-{:02}-{:02}",
                ["A", "N", "R"][random.random_range(0..3usize)],
                ["F", "O"][random.random_range(0..2usize)],
                random.random_range(1..51u32),
                price / 100,
                price % 100,
                random.random_range(0..11u32),
                random.random_range(0..9u32),
                random.random_range(1992..1999u32),
                random.random_range(1..13u32),
                random.random_range(1..29u32),
            );
        }
        write(&format!("l{party}.csv"), &text)?;
        tables += &Q1_TABLE
            .replace('#', &party.to_string())
            .replace("ROWS", &(rows.div_ceil(3) * 6 / 5).to_string());
    }
    write("job.toml", &format!("{Q1}{tables}"))?;
    Ok("A".into())
}

/// The tables of the join.
pub(crate) struct JoinTables {
    /// Their files.
    a: String,
    b: String,
    /// Of each region that the answer has: the cents, and how many payments.
    pub(crate) regions: BTreeMap<u32, (u64, u64)>,
}

/// Tables of so many rows each. No key has more than `at_most` rows of the second one.
fn join_tables(rows: usize, at_most: u32, mut random: StdRng) -> JoinTables {
    let (mut a, mut b) = ("id,region,score\n".to_owned(), "id,amount\n".to_owned());
    let (mut owners, mut payments, mut times) = (Vec::new(), Vec::new(), vec![0; rows]);
    for row in 0..rows {
        let (region, score) = (random.random_range(0..100u32), random.random_range(0..1000u32));
        let _ = writeln!(a, "{},{region},{score}", row * 15_013 + 11);
        owners.push((region, score));
        let other = loop {
            let other = random.random_range(0..rows);
            if times[other] < at_most {
                break other;
            }
        };
        times[other] += 1;
        let cents = random.random_range(0..1_000_000u32);
        let _ = writeln!(b, "{},{}.{:02}", other * 15_013 + 11, cents / 100, cents % 100);
        payments.push((other, cents));
    }
    let mut regions = BTreeMap::new();
    for (other, cents) in payments {
        let (region, score) = owners[other];
        if score > 500 && cents > 1000 {
            let (total, count) = regions.entry(region).or_insert((0, 0));
            *total += u64::from(cents);
            *count += 1;
        }
    }
    JoinTables { a, b, regions }
}

fn write_join(random: StdRng, write: Write<'_>) -> std::io::Result<String> {
    let tables = join_tables(JOINED, u32::MAX, random);
    write("a.csv", &tables.a)?;
    write("b.csv", &tables.b)?;
    write("job.toml", &JOIN.replace("ROWS", &JOINED.to_string()))?;
    Ok("0".into())
}

/// The most rows of the second table with one key, in [`join_in_shards`].
pub(crate) const ROWS_OF_KEY: u32 = 4;

/// The same join of tables of so many rows, as a job that is cut into `shards`, if it is. It promises what a job in shards needs to be cut well.
pub(crate) fn join_in_shards(rows: [u64; 2], shards: Option<u32>) -> String {
    let cut = shards.map_or_else(String::new, |shards| format!("shards = {shards}\n"));
    let join = rows.iter().fold(JOIN.to_owned(), |join, rows| {
        join.replacen("ROWS", &rows.to_string(), 1)
    });
    let join = join.replace("unique =", "distinct = { region = 100 }\nunique =");
    format!("{cut}{join}at_most = {{ id = {ROWS_OF_KEY} }}\n")
}

/// Writes the job and its tables into a folder.
pub(crate) fn write_join_in_shards(folder: &Path, rows: u64, shards: u32) -> std::io::Result<JoinTables> {
    std::fs::create_dir_all(folder)?;
    let tables = join_tables(rows as usize, ROWS_OF_KEY, StdRng::seed_from_u64(1));
    std::fs::write(folder.join("a.csv"), &tables.a)?;
    std::fs::write(folder.join("b.csv"), &tables.b)?;
    std::fs::write(demo::job_file(folder), join_in_shards([rows; 2], Some(shards)))?;
    Ok(tables)
}

const Q6: &str = r#"protocol = "three"
query = """
SELECT SUM(price * discount) AS revenue FROM a JOIN b USING (id)
WHERE shipdate >= date '1994-01-01' AND shipdate < date '1994-01-01' + interval '1' year AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24
"""
[answer]
max_rows = 1
[[table]]
name = "a"
party = 0
file = "a.csv"
columns = { id = "u64 not null", shipdate = "date not null", quantity = "u8 not null" }
max_rows = ROWS
unique = ["id"]
[[table]]
name = "b"
party = 1
file = "b.csv"
columns = { id = "u64 not null", price = "decimal(12,2) not null", discount = "decimal(4,2) not null" }
max_rows = ROWS
unique = ["id"]
same_rows_as = "a"
"#;

const Q1: &str = r#"protocol = "three"
query = """
SELECT flag, status, SUM(quantity) AS quantity, SUM(price) AS price, SUM(price * (1 - discount)) AS paid,
  SUM(price * (1 - discount) * (1 + tax)) AS charge, AVG(quantity) AS average_quantity, AVG(price) AS average_price, AVG(discount) AS average_discount,
  COUNT(*) AS items
FROM (SELECT * FROM l0 UNION ALL SELECT * FROM l1 UNION ALL SELECT * FROM l2) AS items
WHERE shipdate <= date '1998-12-01' - interval '90' day GROUP BY flag, status ORDER BY flag, status
"""
[answer]
max_rows = 10
"#;

const Q1_TABLE: &str = r##"[[table]]
name = "l#"
party = #
file = "l#.csv"
columns = { flag = "char(1) not null", status = "char(1) not null", quantity = "u8 not null", price = "decimal(12,2) not null", discount = "decimal(4,2) not null", tax = "decimal(4,2) not null", shipdate = "date not null" }
max_rows = ROWS
distinct = { flag = 3, status = 2 }
"##;

const JOIN: &str = r#"protocol = "three"
query = """
SELECT region, SUM(amount) AS total, COUNT(*) AS payments FROM a JOIN b USING (id)
WHERE score > 500 AND amount > 10 GROUP BY region ORDER BY region
"""
[answer]
max_rows = 100
[[table]]
name = "a"
party = 0
file = "a.csv"
columns = { id = "u64 not null", region = "u16 not null", score = "u16 not null" }
max_rows = ROWS
unique = ["id"]
[[table]]
name = "b"
party = 1
file = "b.csv"
columns = { id = "u64 not null", amount = "decimal(10,2) not null" }
max_rows = ROWS
"#;

/// A query and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct QueryRow {
    pub query: Asked,
    pub and_gates: u64,
    pub rounds: u64,
    /// Seconds from reading the job and the tables to the answer, with all that is planned; the median of some runs.
    pub seconds: f64,
    /// The most bytes that a party sent.
    pub bytes_sent: u64,
    /// The most memory that a party's process had.
    pub peak_memory_bytes: Option<u64>,
    /// The most that it was said to take.
    pub memory_bound_bytes: u64,
}

/// Queries and what they took.
#[derive(Clone, Debug, Serialize)]
pub struct QueriesReport {
    /// Runs of each.
    pub repeat: u32,
    /// In the order that was asked for.
    pub rows: Vec<QueryRow>,
    /// The machine that all parties ran on.
    pub machine: Machine,
}

/// Says that a party took more memory than was stated, if one did.
pub(crate) fn too_much(costs: &Report) -> Option<String> {
    let peak = costs.peak_memory_bytes.iter().flatten().copied().max()?;
    let stated = costs.memory_bound_bytes;
    (peak > stated).then(|| {
        format!(
            "a party took {} MB of memory, and {} MB were stated",
            megabytes(peak),
            megabytes(stated)
        )
    })
}

/// Runs `asked` with three parties, the sums over `rows_asked` rows, in folders below `folder`. `command` starts a child of [`cenote::local`]; `about` is told what comes next.
///
/// # Errors
/// As [`run_here`]; [`Error::Local`] if tables cannot be written, or an answer is wrong.
pub fn run_queries(
    asked: &[Asked],
    rows_asked: usize,
    repeat: u32,
    folder: &Path,
    setting: Setting,
    command: &impl Fn() -> Command,
    about: &mut dyn FnMut(&str),
) -> Result<QueriesReport> {
    let machine = Machine::now();
    let mut rows = Vec::new();
    for &query in asked {
        about(&format!("writing the tables of {}", query.name()));
        let folder = folder.join(query.name());
        let local = |error| Error::local("writing tables", error);
        std::fs::create_dir_all(&folder).map_err(local)?;
        let expected = query.write(&folder, rows_asked).map_err(local)?;
        let (mut times, mut last) = (Vec::new(), None);
        for _ in 0..repeat.max(1) {
            about(&format!("asking {}", query.name()));
            let start = Instant::now();
            let report = run_here(
                &demo::job_file(&folder),
                &Instead::default(),
                setting,
                command,
                &mut |_, _| (),
            )?;
            times.push(start.elapsed().as_secs_f64());
            let first = report
                .answer
                .as_ref()
                .and_then(|answer| answer.rows.as_ref()?.first()?.first()?.clone());
            if expected.is_some() && first != expected {
                let what = format!(
                    "{} was answered with another first value than it should",
                    query.name()
                );
                return Err(Error::local("comparing answers", std::io::Error::other(what)));
            }
            if let Some(what) = too_much(&report.report) {
                let what = format!("{}: {what}", query.name());
                return Err(Error::local("comparing memory", std::io::Error::other(what)));
            }
            last = Some(report.report);
        }
        let Some(report) = last else { continue };
        rows.push(QueryRow {
            query,
            and_gates: report.and_gates,
            rounds: report.rounds,
            seconds: median(&times),
            bytes_sent: report.bytes_sent.iter().copied().max().unwrap_or(0),
            peak_memory_bytes: report.peak_memory_bytes.iter().flatten().copied().max(),
            memory_bound_bytes: report.memory_bound_bytes,
        });
    }
    Ok(QueriesReport {
        repeat,
        rows,
        machine,
    })
}

impl QueriesReport {
    pub fn table(&self) -> String {
        let mut table = Table::new("lrrrrrr");
        table.row(&[
            &"query",
            &"ANDs",
            &"rounds",
            &"seconds",
            &"MB sent",
            &"peak MB",
            &"MB at most",
        ]);
        for row in &self.rows {
            table.row(&[
                &row.query.name(),
                &grouped(row.and_gates),
                &grouped(row.rounds),
                &format_args!("{:.2}", row.seconds),
                &megabytes(row.bytes_sent),
                &row.peak_memory_bytes.map_or_else(|| "-".into(), megabytes),
                &megabytes(row.memory_bound_bytes),
            ]);
        }
        format!(
            "{table}\nThree parties on {}; medians of {}, from reading the files to the answer.\n",
            self.machine.line(),
            self.repeat
        )
    }
}
