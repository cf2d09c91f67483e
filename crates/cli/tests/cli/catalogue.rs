//! `cenote catalogue`, over the interface of a service that the test makes up, and drafts from files.

use crate::common::{run, write};
use crate::services::{Place, plain, private, well};

#[test]
fn all_that_is_known_is_shown_in_words() {
    let place = Place::new();
    place.world.fake.shown.lock().expect("whole").catalogue.parties[1].tables[0].name =
        "ord\u{202e}ers".into();
    let shown = place.run(&["catalogue"]);
    for part in [
        "0 North Bank (this party): version 3, digest cdcdcdcdcdcdcdcd…, as of ",
        "  people, at most 1000 rows\n    data people-2026.csv, published to South Bank\n    id  u64 not null  (unique)\n",
        "    rules: an answer may not single out fewer than 10 rows\n",
        "; it is not connected\n  ord\u{fffd}ers, at most 1000 rows\n    id",
        "2 West Bank: has published nothing to this party\n",
    ] {
        assert!(well(&shown).contains(part), "{part}\n{}", shown.stdout);
    }
    let json = place.run(&["catalogue", "--json"]).json();
    assert_eq!(
        json["parties"][0]["tables"][0]["columns"][0]["type"],
        "u64 not null"
    );
}

#[test]
fn a_job_is_made_of_a_query() {
    let place = Place::new();
    let made = place.run(&["catalogue", "compose", "SELECT 1", "--to", "North Bank"]);
    assert_eq!(well(&made), "query = \"SELECT 1\"\n");
    let wrong = place.run(&["catalogue", "compose", "DROP x", "--to", "North Bank"]);
    wrong.failed(
        2,
        &[
            "the query, line 1, column 1: a query begins with SELECT",
            "what to do",
        ],
    );
    place
        .run(&["catalogue", "compose", "SELECT 1"])
        .failed(2, &["--to"]);
}

#[test]
fn a_draft_of_a_catalogue_is_made_of_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String = (1..50).map(|id| format!("{id},car,{id}.25\n")).collect();
    let loans = write(folder.path(), "loans.csv", &format!("id,kind,owed\n{rows}"));
    let draft = run(plain(&["catalogue", "suggest"]).arg(&loans));
    for part in [
        "# A draft.",
        "name = \"loans\"\ncolumns = { id = \"u8 not null\", kind = \"char(4) not null\", owed = \"decimal(4,2) not null\" }\n",
        "max_rows = 100\nunique = [\"id\", \"owed\"]\ndata = \"loans.csv\"\nto = \"all\"\n",
    ] {
        assert!(well(&draft).contains(part), "{part}\n{}", draft.stdout);
    }
    run(plain(&["catalogue", "suggest"]).arg(folder.path().join("none.csv")))
        .failed(5, &["none.csv", "no such file"]);
    run(&mut plain(&["catalogue", "suggest"])).failed(2, &["FILES"]);
}

#[test]
fn the_doctor_looks_at_what_is_published() {
    let place = Place::new();
    let doctor = || place.run(&["doctor"]).stdout;
    assert!(doctor().contains("nothing is published"), "{}", doctor());
    let publish = |text: &str| write(place.folder.path(), "catalogue.toml", text);
    let table =
        "[[table]]\nname = \"loans\"\ncolumns = { id = \"u8 not null\" }\nmax_rows = 5\nunique = [\"id\"]\n";
    publish(&format!("{table}data = \"loans.csv\"\n"));
    let data = |text: &str| {
        private(
            &write(&place.folder.path().join("data"), "loans.csv", text),
            0o600,
        )
    };
    for (rows, part) in [
        ("id\n1\n2\n", "1 table in "),
        ("id\n1\n1\n", "the data of table loans does not fit"),
        ("id\n1\n999\n", "out of range"),
        ("id\n1\n2\n3\n4\n5\n6\n", "more than 5 rows"),
    ] {
        data(rows);
        let told = doctor();
        assert!(told.contains(part), "{part}: {told}");
    }
    publish(&format!("{table}data = \"loans.csv\"\nto = [\"nobody\"]\n"));
    let told = doctor();
    assert!(
        told.contains("FAULT  catalogue") && told.contains("catalogue.toml, line 7"),
        "{told}"
    );
}
