//! What a fake service knows of queries: a catalogue, jobs that are made of them, and plans.

use std::collections::BTreeMap;

use cenote_api::view::{
    AskedQuery, Catalogue, CatalogueColumn, CatalogueParty, CatalogueTable, Compose, Composed,
};
use cenote_service::job::Input;
use cenote_service::live::{Computes, Place, PlanFault, PlanStep, Planned, Revealed};
use cenote_service::{Error, Timestamp};

/// A column that there is not.
pub(crate) const WRONG: &str = "wrong_column";
/// A table that nobody publishes.
pub(crate) const NOWHERE: &str = "nowhere";

fn table(name: &str, data: Option<&str>, columns: &[(&str, &str, &[&str])]) -> CatalogueTable {
    let columns = columns.iter().map(|(name, kind, promises)| CatalogueColumn {
        name: (*name).into(),
        kind: (*kind).into(),
        promises: promises.iter().map(|one| (*one).into()).collect(),
    });
    CatalogueTable {
        name: name.into(),
        data: data.map(str::to_owned),
        to: Vec::new(),
        max_rows: 10_000,
        columns: columns.collect(),
        promises: vec!["at most 12 different values of region".into()],
        rules: vec!["an answer tells of groups of 10 rows or more only".into()],
        declaration: format!("[[table]]\nname = \"{name}\"\n"),
    }
}

/// Whether a catalogue is that of these tests.
pub(crate) fn is_of(catalogue: &Catalogue) -> bool {
    catalogue
        .parties
        .iter()
        .any(|party| party.tables.iter().any(|table| table.name == "loans"))
}

/// `loans` of party 0, `people` of party 1, and `visits` of both.
pub(crate) fn catalogue(names: &[String]) -> Catalogue {
    let visits = |data| table("visits", data, &[("day", "date not null", &[])]);
    let loans = table(
        "loans",
        Some("loans.csv"),
        &[
            ("id", "u32 not null", &["unique"]),
            ("owed", "decimal(9,2) not null", &["less than 100000"]),
        ],
    );
    let people = table(
        "people",
        None,
        &[
            ("id", "u32 not null", &["unique"]),
            ("region", "char(8) not null", &[]),
        ],
    );
    let tables = [
        vec![loans, visits(Some("visits.csv"))],
        vec![people, visits(None)],
        Vec::new(),
    ];
    let party = |(party, tables): (usize, Vec<CatalogueTable>)| CatalogueParty {
        party: party as u8,
        name: names[party].clone(),
        own: party == 0,
        version: 3,
        digest: "ab".repeat(32),
        at: Some(Timestamp::now()),
        connected: party != 1,
        tables,
    };
    Catalogue {
        parties: tables.into_iter().enumerate().map(party).collect(),
    }
}

/// The job of a query that does not name [`NOWHERE`]. Whatever else it names, it is one of `loans` and `people`.
pub(crate) fn composed(compose: &Compose) -> Result<Composed, Error> {
    if compose.sql.contains(NOWHERE) {
        return Err(Error::Query {
            place: place(&compose.sql, NOWHERE),
            what: format!("nobody publishes a table {NOWHERE}"),
        });
    }
    let sql = serde_json::to_string(&compose.sql).expect("JSON");
    let to = serde_json::to_string(&compose.receivers).expect("JSON");
    Ok(Composed {
        job: format!("query = {sql}\n# to {to}\n"),
        data: BTreeMap::from([("loans".into(), "loans.csv".into())]),
        deadline_seconds: compose.deadline_seconds,
    })
}

/// Where a word stands.
fn place(sql: &str, word: &str) -> Option<Place> {
    let before = &sql[..sql.find(word)?];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Some(Place {
        line: before.matches('\n').count() as u64 + 1,
        column: line.chars().count() as u64 + 1,
    })
}

/// The query of a job, if it is one.
pub(crate) fn sql(job: &str) -> Option<String> {
    let line = job.lines().find_map(|line| line.strip_prefix("query = "))?;
    serde_json::from_str(line).ok()
}

/// What a job that has no query or this one computes.
pub(crate) fn computes(job: &str) -> Computes {
    match sql(job) {
        Some(sql) => Computes::new(&sql, false),
        None => Computes::new("add32", !job.contains(".txt")),
    }
}

pub(crate) fn inputs() -> Vec<Input> {
    let input = |name: &str, owner| Input {
        name: name.into(),
        kind: "a table of up to 10000 rows".into(),
        owner,
    };
    vec![input("loans", 0), input("people", 1)]
}

pub(crate) fn learnt(sql: &str) -> Vec<String> {
    vec![
        format!("Everybody learns the query {sql}."),
        "party 0 learns the answer: the columns region, total, and gives loans.".into(),
        "party 1 learns nothing of the answer, and gives people.".into(),
    ]
}

pub(crate) fn asked(job: &str) -> Option<AskedQuery> {
    let sql = sql(job)?;
    Some(AskedQuery {
        learnt: learnt(&sql),
        sql,
        min_group: 10,
        max_rows: Some(500),
    })
}

/// The plan of a query that has no column [`WRONG`].
pub(crate) fn planned(job: &str) -> Result<Planned, PlanFault> {
    let sql = sql(job).ok_or_else(|| PlanFault::from("the job names no query".to_owned()))?;
    if let Some(at) = place(&sql, WRONG) {
        return Err(PlanFault {
            message: format!("there is no column {WRONG}; <b>write</b> id"),
            at: Some(at),
        });
    }
    let step = |depth, what: &str, owner, ands| PlanStep {
        depth,
        what: what.into(),
        owner,
        rows: 10_000,
        ands,
    };
    let given = inputs().into_iter().map(|input| cenote_api::view::Input {
        name: input.name,
        kind: input.kind,
        owner: input.owner,
        data: None,
    });
    Ok(Planned {
        program_kind: "query".into(),
        steps: vec![
            step(0, "joined by id", None, 4_200_000),
            step(1, "loans, as they are", Some(0), 0),
        ],
        learnt: learnt(&sql),
        outputs: vec![Revealed {
            name: "total".into(),
            bits: 64,
            values: 12,
            to: vec![0],
        }],
        inputs: given.collect(),
        protocol: "three".into(),
        statistical: 40,
        computational: 128,
        ands: 4_200_000,
        levels: Some(320),
        bytes: 1_050_000,
        memory: 52_000_000,
        seconds: Some(3.2),
    })
}
