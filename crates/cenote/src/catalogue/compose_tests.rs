use std::collections::BTreeMap;

use super::tests::{PEOPLE, load, names, published};
use super::*;
use crate::Bundle;
use crate::query::{QueryJob, Values};

struct Parties(Vec<Published>);

impl Parties {
    fn new() -> Self {
        let orders = "[[table]]\nname = \"orders\"\ncolumns = { id = \"u64 not null\", total = \"u32 not null\" }\nmax_rows = 9\nunique = [\"id\"]\ndata = \"o\"\n";
        let banks = |same: &str| {
            format!(
                "[[table]]\nname = \"bank\"\ncolumns = {{ id = \"u64 not null\", owed = \"u32 not null\" }}\nmax_rows = 9\nunique = [\"id\"]\ndata = \"o\"\n{same}"
            )
        };
        Parties(vec![
            published(&format!("{PEOPLE}{orders}")),
            published(&format!("{orders}{}", banks(""))),
            published(&banks("same_rows_as = \"south.bank\"\n").replace("\"bank\"", "\"third\"")),
        ])
    }

    fn compose(&self, sql: &str, change: impl Fn(&mut Wanted<'_>)) -> Result<Composed, Unfit> {
        let known: Vec<Known<'_>> = (0..)
            .zip(&self.0)
            .map(|(party, published)| Known { party, published })
            .collect();
        let receivers = ["south".to_owned()];
        let mut wanted = Wanted {
            sql,
            receivers: &receivers,
            protocol: None,
            name: None,
            min_group: None,
            max_rows: None,
        };
        change(&mut wanted);
        compose(0, &names(), &known, &wanted)
    }
}

fn read(composed: &Composed) -> QueryJob {
    let bundle = Bundle {
        job: composed.job.clone(),
        files: [].into(),
    };
    QueryJob::from_bundle(&bundle, Values::Given(&BTreeMap::new())).expect(&composed.job)
}

#[test]
fn a_job_declares_the_tables_that_its_query_names() {
    let parties = Parties::new();
    let sql = "SELECT region, SUM(total) AS t\nFROM People p JOIN south.orders o USING (id) GROUP BY region";
    let made = parties
        .compose(sql, |wanted| wanted.name = Some("who\nbuys"))
        .unwrap();
    let names: Vec<(&str, u8)> = made
        .tables
        .iter()
        .map(|table| (table.name.as_str(), table.party))
        .collect();
    assert_eq!(names, [("people", 0), ("south.orders", 1)]);
    assert!(
        made.job
            .starts_with("# who buys\nprotocol = \"authenticated\"\nquery = \"\"\"\nSELECT region"),
        "{}",
        made.job
    );
    let job = read(&made);
    assert_eq!(job.text().trim_end(), sql);
    let declared = &job.query().schema().tables;
    let own = load(PEOPLE).unwrap();
    assert_eq!(
        own.data_for(&declared[0]),
        Some("people-2026.csv"),
        "{}",
        made.job
    );
    assert_eq!(job.query().schema().parties, 2);
    // Names of WITH, aliases and subqueries are no tables of anybody's.
    let sql = "WITH orders AS (SELECT id FROM bank) SELECT COUNT(*) AS n FROM people WHERE id IN (SELECT id FROM orders)";
    let made = parties.compose(sql, |_| ()).unwrap();
    assert_eq!(
        made.tables
            .iter()
            .map(|table| table.published.as_str())
            .collect::<Vec<_>>(),
        ["bank", "people"]
    );
    read(&made);
    let odd = parties
        .compose(
            "SELECT COUNT(*) AS n FROM people WHERE \"a b\" = 'a\\b\"\"\"'",
            |_| (),
        )
        .unwrap();
    assert!(read(&odd).text().contains("'a\\b\"\"\"'"), "{}", odd.job);
}

#[test]
fn tables_with_the_same_rows_promise_so_where_both_are_there() {
    let parties = Parties::new();
    let sql = "SELECT SUM(t.owed) AS n FROM third t JOIN south.bank b USING (id)";
    let both = parties.compose(sql, |_| ()).unwrap();
    assert!(both.job.contains("same_rows_as = \"south.bank\""), "{}", both.job);
    assert_eq!(read(&both).query().schema().parties, 3);
    let alone = parties
        .compose("SELECT SUM(owed) AS n FROM third", |_| ())
        .unwrap();
    assert!(!alone.job.contains("same_rows_as"), "{}", alone.job);
    // Another party's table of that name is another table.
    let mut parties = parties;
    let bank = parties.0[1].tables.iter().find(|table| table.name == "bank");
    let bank = bank.cloned().unwrap();
    parties.0[0].tables.insert(0, bank);
    let other = sql.replace("south.bank", "north.bank");
    let other = parties.compose(&other, |_| ()).unwrap();
    assert!(!other.job.contains("same_rows_as"), "{}", other.job);
}

#[test]
fn the_rules_of_tables_set_the_least_group() {
    let mut parties = Parties::new();
    parties.0[0].tables[1].limits = Limits::Rule(TableRule {
        min_group: 7,
        ..TableRule::default()
    });
    let sql = "SELECT region, COUNT(*) AS n FROM people GROUP BY region";
    assert!(
        parties
            .compose(sql, |_| ())
            .unwrap()
            .job
            .contains("min_group = 7")
    );
    let stated = parties.compose(sql, |wanted| wanted.min_group = Some(9)).unwrap();
    assert!(stated.job.contains("min_group = 9"));
    let rows = parties.compose("SELECT id FROM people", |_| ()).unwrap_err();
    assert!(
        rows.what.contains("the rules of its tables want min_group = 7"),
        "{rows}"
    );
}

#[test]
fn what_cannot_be_meant_is_told_with_its_place() {
    let parties = Parties::new();
    let told = |sql: &str| {
        let unfit = parties.compose(sql, |_| ()).expect_err(sql);
        let place = unfit.place.map(|place| (place.line, place.column));
        (place, unfit.what)
    };
    for (sql, place, parts) in [
        (
            "SELECT 1 FROM people,\n orders",
            (2, 2),
            &[
                "several parties publish a table orders",
                "north.orders or south.orders",
            ][..],
        ),
        (
            "SELECT 1 FROM poeple",
            (1, 15),
            &["did you mean people?", "north.people", "east.third"],
        ),
        (
            "SELECT 1 FROM east.people",
            (1, 15),
            &["no party publishes a table east.people", "did you mean people?"],
        ),
        ("SELECT 1 FROM a.b.people", (1, 15), &["party.table"]),
        ("SELECT regoin FROM people", (1, 8), &["did you mean region?"]),
        ("SELECT id FROM people WHERE", (1, 28), &["cannot be read"]),
        (
            "SELECT p.id FROM people p JOIN bank b ON p.id > b.id",
            (1, 18),
            &["cannot be joined"],
        ),
    ] {
        let (at, what) = told(sql);
        assert_eq!(at, Some(place), "{sql}: {what}");
        assert!(parts.iter().all(|part| what.contains(part)), "{what}");
    }
    let unfit = |change: &dyn Fn(&mut Wanted<'_>)| {
        parties
            .compose("SELECT COUNT(*) AS n FROM third", change)
            .unwrap_err()
            .what
    };
    let nobody = ["sout".to_owned()];
    let other = unfit(&|wanted| wanted.receivers = &[]);
    assert!(other.contains("at least one receiver"), "{other}");
    let strange = parties
        .compose("SELECT 1 FROM third", |wanted| wanted.protocol = Some("four"))
        .unwrap_err();
    assert!(strange.what.contains("no protocol four"), "{strange}");
    let two = unfit(&|wanted| wanted.protocol = Some("lego"));
    assert!(two.contains("lego has 2 parties, and 3 take part"), "{two}");
    let known: Vec<Known<'_>> = Vec::new();
    let wanted = Wanted {
        sql: "SELECT 1 FROM x",
        receivers: &nobody,
        protocol: None,
        name: None,
        min_group: None,
        max_rows: None,
    };
    assert!(
        compose(0, &names(), &known, &wanted)
            .unwrap_err()
            .what
            .contains("did you mean south?")
    );
}
