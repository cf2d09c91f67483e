use std::path::{Path, PathBuf};

use super::*;
use crate::query::Policy;

pub(super) const PEOPLE: &str = r#"
[[table]]
name = "people"
columns = { id = "U64 NOT NULL", "a b" = "char(3)", age = "u8", region = "char(2) not null" }
max_rows = 50
unique = ["id", ["id", "age"]]
at_most = { region = 20 }
distinct = { age = 12 }
below = { age = 99 }
values = { region = ["N", "\"x"] }
data = "people-2026.csv"
"#;

pub(super) fn names() -> Vec<String> {
    ["north", "south", "east"].map(String::from).to_vec()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

pub(super) fn load(text: &str) -> Result<OwnCatalogue, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "catalogue.toml", text);
    OwnCatalogue::load(&path, 0, &names()).map_err(|error| error.to_string())
}

pub(super) fn published(text: &str) -> Published {
    load(text).unwrap().whole(None)
}

#[test]
fn what_is_published_comes_back_as_it_was() {
    let own = published(PEOPLE);
    assert_eq!(own.tables[0].columns[0], ("id".into(), "u64 not null".into()));
    assert_eq!(Published::parse(&own.text(), 0), Ok(own.clone()));
    assert!(!own.text().contains("people-2026"), "{}", own.text());
    assert_eq!(published(""), Published::default());
    assert_eq!(Published::parse("{\"tables\":[]}", 1), Ok(Published::default()));
    let none = OwnCatalogue::load(Path::new("/nowhere/at/all.toml"), 0, &names()).unwrap();
    assert_eq!(none.whole(None), Published::default());
}

#[test]
fn each_party_gets_its_own_part() {
    let table = |name: &str, to: &str| {
        format!(
            "[[table]]\nname = \"{name}\"\ncolumns = {{ a = \"u8\" }}\nmax_rows = 5\ndata = \"x\"\n{to}\n"
        )
    };
    let own = load(
        &[
            table("c", "to = [\"south\"]"),
            table("b", "to = \"all\""),
            table("a", "to = []"),
        ]
        .concat(),
    )
    .unwrap();
    let seen = |published: Published| -> Vec<String> {
        published.tables.into_iter().map(|table| table.name).collect()
    };
    assert_eq!(seen(own.whole(None)), ["a", "b", "c"]);
    assert_eq!(seen(own.for_party(1, None)), ["b", "c"]);
    assert_eq!(seen(own.for_party(2, None)), ["b"]);
    for (to, part) in [
        (
            "to = [\"west\"]",
            "no other party called \"west\"; there is south and east",
        ),
        ("to = [\"north\"]", "no other party called \"north\""),
        ("to = \"south\"", "write to = \"all\""),
        ("party = 1", "this party's own tables"),
        ("file = \"a.csv\"", "unknown field"),
    ] {
        let error = load(&table("a", to)).unwrap_err();
        assert!(error.contains(part) && error.contains("line "), "{to}: {error}");
    }
}

#[test]
fn faults_of_the_file_have_their_line() {
    let table = |change: (&str, &str)| PEOPLE.replacen(change.0, change.1, 1);
    for (change, part) in [
        (("\"people\"", "\"peo<b>ple\""), "a name has 1 to 63 bytes"),
        (("\"people\"", "\"north.people\""), "a name has 1 to 63 bytes"),
        (("\"people\"", "\"peo\u{3164}ple\""), "a name has 1 to 63 bytes"),
        (("\"people\"", "\"peo\u{ad}ple\""), "a name has 1 to 63 bytes"),
        (("\"a b\"", "\"a\\u202eb\""), "a name has 1 to 128 bytes"),
        (("data = \"people", "data = \"../people"), "a name of data has"),
        (("u8", "u9"), "is not a type"),
        (("[\"id\",", "[\"di\","), "no such column"),
        (("max_rows = 50", "max_rows = 0"), "`max_rows` is 1 to"),
        (("max_rows = 50", ""), "missing field"),
    ] {
        let error = load(&table(change)).unwrap_err();
        assert!(
            error.contains(part) && error.contains("line "),
            "{change:?}: {error}"
        );
    }
    let twice = load(&format!("{PEOPLE}{}", PEOPLE.replace("people", "PEOPLE"))).unwrap_err();
    assert!(twice.contains("comes twice"), "{twice}");
}

/// A catalogue with one text in the place of another.
fn changed(own: &Published, from: &str, to: &str) -> String {
    let text = own.text().replacen(from, to, 1);
    assert_ne!(text, own.text(), "{from}");
    text
}

/// A catalogue of so many tables with so many columns each.
fn many(own: &Published, tables: usize, columns: usize) -> String {
    let mut all = Published::default();
    for table in 0..tables {
        let mut next = own.tables[0].clone();
        next.name = format!("t{table:05}");
        next.columns = (0..columns)
            .map(|column| (format!("c{column}"), "u8".into()))
            .collect();
        next.unique.clear();
        next.at_most.clear();
        next.distinct.clear();
        next.below.clear();
        next.values.clear();
        all.tables.push(next);
    }
    all.text()
}

/// What a peer may send instead of this catalogue, and the check that it does not pass.
fn attacks(own: &Published) -> Vec<(String, Check)> {
    let change = |from: &str, to: &str| changed(own, from, to);
    let many = |tables, columns| many(own, tables, columns);
    let long = format!("{}{}", own.text(), " ".repeat(MAX_BYTES));
    let control = change("\"people\"", "\"peo\\u0007ple\"");
    vec![
        (long, Check::Length),
        (String::new(), Check::Form),
        ("null".into(), Check::Form),
        ("[".repeat(100_000), Check::Form),
        (change("\"max_rows\":50", "\"max_rows\":-50"), Check::Form),
        (
            change("\"max_rows\":50", "\"max_rows\":50,\"rows\":[[1]]"),
            Check::Form,
        ),
        (change("{\"tables\"", "{ \"tables\""), Check::Form),
        (change("\"people\"", "\"peopl\\u0065\""), Check::Form),
        (
            change("\"region\":20", "\"region\":20,\"region\":20"),
            Check::Form,
        ),
        (change("\"limits\":\"free\"", "\"limits\":\"none\""), Check::Form),
        (many(257, 1), Check::Size),
        (many(11, 100), Check::Size),
        (change("\"people\"", "\"<script>\""), Check::Names),
        (control, Check::Names),
        (change("\"people\"", "\"people\u{202e}\""), Check::Names),
        (change("\"people\"", "\"north.people\""), Check::Names),
        (change("\"people\"", "\"\""), Check::Names),
        (change("\"people\"", "\" people\""), Check::Names),
        (
            change("\"people\"", &format!("\"{}\"", "x".repeat(64))),
            Check::Names,
        ),
        (change("\"a b\"", "\"a\u{2066}b\""), Check::Names),
        (change("\"a b\"", "\"a<b\""), Check::Names),
        (
            change("\"a b\"", &format!("\"{}\"", "x".repeat(129))),
            Check::Names,
        ),
        (change("\"N\"", "\"N\u{202e}\""), Check::Names),
        (
            change("\"same_rows_as\":null", "\"same_rows_as\":\"a<b\""),
            Check::Names,
        ),
        (
            change("\"u64 not null\"", "\"u64  not null\""),
            Check::Declarations,
        ),
        (change("\"u64 not null\"", "\"text\""), Check::Declarations),
        (change("\"max_rows\":50", "\"max_rows\":0"), Check::Declarations),
        (
            change("\"max_rows\":50", "\"max_rows\":18446744073709551615"),
            Check::Declarations,
        ),
        (
            change("\"unique\":[[\"id\"]", "\"unique\":[[\"di\"]"),
            Check::Declarations,
        ),
        (change("\"age\":99", "\"age\":257"), Check::Declarations),
    ]
}

/// A peer that sends anything else than a catalogue that it could publish is told from one that does.
#[test]
fn each_check_refuses_what_it_is_for() {
    let own = published(PEOPLE);
    let change = |from: &str, to: &str| changed(&own, from, to);
    let refused = |text: &str| Published::parse(text, 0).expect_err(text);
    for (tables, columns) in [(256, 3), (10, 100)] {
        assert!(Published::parse(&many(&own, tables, columns), 0).is_ok());
    }
    let attacks = attacks(&own);
    for (text, check) in &attacks {
        let refused = refused(text);
        assert_eq!(
            refused.check,
            *check,
            "{refused}: {}",
            &text[..text.len().min(200)]
        );
        let told = refused.to_string();
        assert!(
            told.len() < 1000
                && !told
                    .chars()
                    .any(|letter| letter.is_control() || letter == '\u{202e}'),
            "{told}"
        );
    }
    let mut two = published(&format!("{PEOPLE}{}", PEOPLE.replace("people", "cards")));
    two.tables.reverse();
    assert_eq!(refused(&two.text()).check, Check::Form, "not in order");
    let twice = change(
        "{\"tables\":[",
        &format!(
            "{{\"tables\":[{},",
            serde_json::to_string(&own.tables[0]).unwrap()
        ),
    );
    assert_eq!(refused(&twice).check, Check::Names, "a name that comes twice");
    let hides = change(
        "\"free\"",
        "{\"rule\":{\"min_group\":5,\"hidden\":[\"salary\"],\"aggregates_only\":false,\"answers_per_day\":null}}",
    );
    assert_eq!(refused(&hides).check, Check::Declarations);
    let most = change(
        "\"free\"",
        "{\"rule\":{\"min_group\":9223372036854775808,\"hidden\":[],\"aggregates_only\":false,\"answers_per_day\":null}}",
    );
    let most = refused(&most);
    assert!(
        most.check == Check::Declarations && most.what.contains("no job file"),
        "{most}"
    );
    // Those of versions are in the service, which alone knows them.
    let tripped = |check: &Check| *check == Check::Version || attacks.iter().any(|(_, by)| by == check);
    assert!(Check::ALL.iter().all(tripped));
}

#[test]
fn rules_are_those_that_are_enforced() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "[[table]]\nname = \"people\"\nmin_group = 10\nhidden = [\"age\"]\nanswers_per_day = 5\naggregates_only = true\n";
    let policy = Policy::load(&write(folder.path(), "tables.toml", rules)).unwrap();
    let own = load(&format!("{PEOPLE}{}", PEOPLE.replace("people", "cards"))).unwrap();
    let [cards, people] = &own.for_party(1, Some(&policy)).tables[..] else {
        panic!("two tables");
    };
    assert_eq!(cards.limits, Limits::Closed);
    assert!(cards.limits.words()[0].contains("nothing may be asked"));
    let words = people.limits.words().join("; ");
    for part in [
        "fewer than 10 rows",
        "groups only",
        "sums and counts of age",
        "5 times a day",
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(own.for_party(1, None).tables[1].limits, Limits::Free);
    let warnings = own.warnings(Some(&policy), &|_| Some("people-2026.csv".into()));
    assert!(
        warnings.len() == 1 && warnings[0].contains("table cards"),
        "{warnings:?}"
    );
    let narrow = load(
        &PEOPLE
            .replace("age = \"u8\", ", "")
            .replace(", [\"id\", \"age\"]", "")
            .replace("age = 12", "")
            .replace("age = 99", ""),
    )
    .unwrap();
    assert!(narrow.warnings(Some(&policy), &|_| Some("people-2026.csv".into()))[0].contains("without age"));
    let Limits::Rule(rule) = &narrow.whole(Some(&policy)).tables[0].limits else {
        panic!("a rule");
    };
    assert!(rule.hidden.is_empty(), "what is not published is not named");
}

#[test]
fn what_is_declared_as_published_has_its_data() {
    let own = load(PEOPLE).unwrap();
    let mut declared = own.tables()[0].declared.clone();
    assert_eq!(own.data_for(&declared), Some("people-2026.csv"));
    declared.name = "north.people".into();
    assert_eq!(own.data_for(&declared), Some("people-2026.csv"));
    let changes: [fn(&mut crate::query::Declared); 5] = [
        |declared| declared.max_rows -= 1,
        |declared| declared.name = "persons".into(),
        |declared| declared.party.0 = 1,
        |declared| {
            declared.below.remove("age");
        },
        |declared| declared.fields[2].nullable = false,
    ];
    for change in changes {
        let mut other = declared.clone();
        change(&mut other);
        assert_eq!(own.data_for(&other), None, "{other:?}");
    }
}

#[test]
fn a_draft_can_be_published_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..100).map(|row| format!("{row},{}.50,N\n", row % 7)).collect();
    let path = write(
        folder.path(),
        "my-loans.2026.csv",
        &format!("id,owed,a<b\n{rows}"),
    );
    let draft = suggest(&path).unwrap();
    assert!(draft.starts_with("# left out, a<b"), "{draft}");
    let own = load(&draft).expect(&draft);
    let table = &own.tables()[0];
    assert_eq!(
        (table.declared.name.as_str(), table.data.as_str()),
        ("my_loans", "my-loans.2026.csv")
    );
    assert_eq!((table.declared.max_rows, table.to.len()), (200, 2));
    assert_eq!(table.declared.unique, [["id"]]);
    assert_eq!(table.misfit(&path), None);
    let error = suggest(&folder.path().join("none.csv")).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
}

#[test]
fn data_that_does_not_fit_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let own = load("[[table]]\nname = \"t\"\ncolumns = { id = \"u8 not null\" }\nmax_rows = 3\nunique = [\"id\"]\ndata = \"t.csv\"\n").unwrap();
    for (rows, part) in [
        ("1\n2\n3\n", None),
        ("1\n2\n3\n4\n", Some("more than 3 rows")),
        ("1\n300\n", Some("out of range")),
        ("1\n1\n", Some("unique")),
    ] {
        let path = write(folder.path(), "t.csv", &format!("id\n{rows}"));
        let told = own.tables()[0].misfit(&path);
        assert_eq!(told.is_some(), part.is_some(), "{told:?}");
        assert!(
            told.is_none_or(|told| part.is_some_and(|part| told.contains(part))),
            "{rows}"
        );
    }
}
