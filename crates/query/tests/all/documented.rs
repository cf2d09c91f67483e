//! What the document about queries shows and states.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cenote_net::PartyId;
use cenote_program::Abilities;
use cenote_query::{Count, Declared};
use cenote_session::Parties;
use cenote_tables::Field;
use serde::Deserialize;

use crate::common::{Outcome, World};
use crate::differential::{Asked, Case, Sort, in_sqlite};

const DOCUMENT: &str = include_str!("../../../../docs/sql.md");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/loans");

/// Words that SQLite does not know: queries with them are only run.
const UNKNOWN: [&str; 9] = [
    "interval",
    "EXTRACT",
    "STDDEV",
    "MEDIAN",
    "PERCENTILE",
    "ROLLUP",
    "CUBE",
    "GROUPING SETS",
    "QUALIFY",
];

#[derive(Deserialize)]
struct Job {
    answer: AnswerEntry,
    table: Vec<Entry>,
}

#[derive(Deserialize)]
struct AnswerEntry {
    to: Vec<u8>,
    max_rows: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    party: u8,
    file: PathBuf,
    columns: toml::Table,
    max_rows: usize,
    #[serde(default)]
    unique: Vec<String>,
    #[serde(default)]
    distinct: BTreeMap<String, usize>,
    #[serde(default)]
    below: BTreeMap<String, u64>,
    #[serde(default)]
    values: BTreeMap<String, Vec<String>>,
}

impl Entry {
    fn declared(self) -> Declared {
        let field = |(name, kind): (String, toml::Value)| {
            let kind = kind.as_str().expect("a type");
            let not_null = kind.strip_suffix(" not null");
            Field {
                name,
                kind: not_null.unwrap_or(kind).parse().expect("a type"),
                nullable: not_null.is_none(),
            }
        };
        Declared {
            name: self.name,
            party: PartyId(self.party),
            fields: self.columns.into_iter().map(field).collect(),
            max_rows: self.max_rows,
            unique: self.unique.into_iter().map(|column| vec![column]).collect(),
            at_most: BTreeMap::new(),
            distinct: self.distinct,
            below: self.below,
            values: self.values,
            same_rows_as: None,
        }
    }
}

/// The tables that the document declares, with the rows of the example.
fn world() -> World {
    let job: Job = toml::from_str(blocks("toml")[0]).expect("a job");
    let mut world = World::new(3);
    world.schema.answer.to = job.answer.to.into_iter().map(PartyId).collect::<Parties>();
    world.schema.answer.count = Count::AtMost(job.answer.max_rows);
    for entry in job.table {
        let path = Path::new(EXAMPLE).join(&entry.file);
        let declared = entry.declared();
        let table = cenote_tables::read(&path, &declared.fields, declared.max_rows).expect("a table");
        world.schema.tables.push(declared);
        world.tables.push(table);
    }
    world
}

/// The blocks of the document in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let rest = DOCUMENT.split(&start).skip(1);
    rest.map(|block| block.split_once("```").expect("the end of a block").0)
        .collect()
}

#[test]
fn the_job_is_that_of_the_examples() {
    let job = std::fs::read_to_string(Path::new(EXAMPLE).join("job.toml")).expect("the job");
    assert_eq!(blocks("toml")[0], job);
}

/// Each query of the document has an answer, which is that of SQLite if SQLite can read the query.
#[test]
fn queries_have_the_answers_of_sqlite() {
    let world = world();
    let sqlite = in_sqlite(&world);
    let queries: Vec<&str> = blocks("sql")
        .iter()
        .flat_map(|block| block.split("\n\n"))
        .collect();
    let mut compared = 0;
    for sql in &queries {
        let outcome = world.run(sql);
        let Outcome::Answer(table) = &outcome else {
            panic!("{sql}: {outcome:?}")
        };
        assert_ne!(table.rows, 0, "{sql}");
        let lite = sql.replace("date '", "'");
        if sqlite.prepare(&lite).is_err() {
            let is_known = UNKNOWN.iter().all(|word| !sql.contains(word));
            assert!(!is_known, "SQLite cannot read {sql}");
            continue;
        }
        compared += 1;
        // In their order, if the query asks for one.
        let exact = sql.contains("\nORDER BY");
        let asked = Asked {
            ours: (*sql).to_owned(),
            lite,
            columns: vec![(Sort::Decimal(0), exact); table.fields.len()],
        };
        let case = Case {
            world: world.clone(),
            asked,
        };
        assert_eq!(case.wrong(&outcome), None, "{sql}");
    }
    println!("{} queries, {compared} of them compared", queries.len());
    assert!(
        compared * 3 > queries.len() * 2,
        "SQLite reads {compared} queries"
    );
}

/// The AND gates that are stated of queries over tables of ten thousand rows are right to a tenth.
#[test]
fn costs_are_as_stated() {
    let mut world = world();
    for table in &mut world.schema.tables {
        table.max_rows = 10_000;
    }
    let mut count = 0;
    for row in DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("| `SELECT "))
    {
        let (sql, rest) = row.split_once("` | ").expect("a query");
        let (stated, _) = rest.split_once(" | ").expect("a number");
        let query = world
            .plan(&format!("SELECT {sql}"))
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
        let millions = query.tally(Abilities::THREE).unwrap().and_gates as f64 / 1e6;
        println!("{millions:.2} | {sql}");
        let stated: f64 = stated.parse().expect("a number");
        assert!(
            (millions - stated).abs() <= (0.1 * stated).max(0.01),
            "{sql}: {millions} million ANDs"
        );
        count += 1;
    }
    assert_eq!(count, 9);
}
