//! A catalogue that is made up, and jobs of it.

use std::collections::BTreeMap;

use cenote_service::live::*;
use cenote_service::{Error, Result, Timestamp};

/// What two of three parties publish.
pub(super) fn published() -> Catalogue {
    let party = |party, name: &str, tables| CatalogueParty {
        party,
        name: name.into(),
        own: party == 0,
        version: if party == 2 { 0 } else { 3 },
        digest: if party == 2 {
            String::new()
        } else {
            "cd".repeat(32)
        },
        at: (party != 2).then(Timestamp::now),
        connected: party != 1,
        tables,
    };
    let table = |name: &str, own: bool| CatalogueTable {
        name: name.into(),
        data: own.then(|| "people-2026.csv".into()),
        to: if own {
            vec!["South Bank".into()]
        } else {
            Vec::new()
        },
        max_rows: 1000,
        columns: vec![CatalogueColumn {
            name: "id".into(),
            kind: "u64 not null".into(),
            promises: vec!["unique".into()],
        }],
        promises: Vec::new(),
        rules: vec!["an answer may not single out fewer than 10 rows".into()],
        declaration: format!("[[table]]\nname = \"{name}\"\n"),
    };
    Catalogue {
        parties: vec![
            party(0, "North Bank", vec![table("people", true)]),
            party(1, "South Bank", vec![table("orders", false)]),
            party(2, "West Bank", Vec::new()),
        ],
    }
}

/// A job that begins as queries do.
pub(super) fn compose(wanted: Compose) -> Result<Composed> {
    if !wanted.sql.starts_with("SELECT") {
        return Err(Error::Query {
            place: Some(Place { line: 1, column: 1 }),
            what: "a query begins with SELECT or WITH".into(),
        });
    }
    Ok(Composed {
        job: format!("query = {:?}\n", wanted.sql),
        data: BTreeMap::from([("people".into(), "people-2026.csv".into())]),
        deadline_seconds: wanted.deadline_seconds,
    })
}
