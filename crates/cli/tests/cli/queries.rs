//! Queries: the demonstration, jobs, and what is asked on the command line.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Ended, cenote, run, without_waits, write};
use crate::world::{World, paths};

pub(crate) const TABLES: &str = r#"
[answer]
max_rows = 10

[[table]]
name = "people"
party = 0
file = "people.csv"
columns = { id = "u32 not null", name = "char(8)", born = "date" }
max_rows = 8
unique = ["id"]

[[table]]
name = "loans"
party = 1
file = "loans.csv"
columns = { id = "u32 not null", owed = "decimal(8,2)" }
max_rows = 8
"#;

pub(crate) const QUERY: &str = "SELECT name, SUM(owed) AS owed, COUNT(*) AS loans FROM people JOIN loans USING (id) WHERE born < date '1990-01-01' GROUP BY name";

pub(crate) fn files(folder: &Path) {
    write(
        folder,
        "people.csv",
        "id,name,born\n1,anna,1980-02-29\n2,bob,1995-01-01\n3,,1970-12-31\n4,dan,1989-12-31\n",
    );
    write(
        folder,
        "loans.csv",
        "id,owed\n1,10.50\n1,2.25\n3,7\n4,\n2,99\n9,1\n",
    );
}

fn job(folder: &Path, head: &str) -> std::path::PathBuf {
    files(folder);
    write(folder, "job.toml", &format!("{head}{TABLES}"))
}

fn answer(ended: &Ended) -> Value {
    ended.json()["answer"]["rows"].clone()
}

pub(crate) fn expected() -> Value {
    json!([[null, "7.00", "1"], ["anna", "12.75", "2"], ["dan", null, "1"]])
}

#[test]
fn a_query_is_answered_with_two_and_three_parties() {
    let folder = tempfile::tempdir().unwrap();
    for protocol in ["three", "lego", "jimu", "authenticated"] {
        let job = job(
            folder.path(),
            &format!("protocol = \"{protocol}\"\nquery = \"\"\"{QUERY}\"\"\"\n"),
        );
        let ended = run(cenote().args(["run", "--json"]).arg(&job));
        assert_eq!(answer(&ended), expected(), "{protocol}");
        assert_eq!(
            ended.json()["answer"]["types"],
            json!(["char(8)", "decimal(10,2)", "i64"])
        );
    }
    let text = run(cenote().arg("run").arg(folder.path().join("job.toml"))).stdout;
    assert!(
        text.contains("anna") && text.contains("12.75") && text.contains("3 rows"),
        "{text}"
    );
    // A file that names no protocol is answered too, and small amounts are told as such.
    job(folder.path(), "");
    let text = run(cenote()
        .args(["query", QUERY, "--tables"])
        .arg(folder.path().join("job.toml")))
    .stdout;
    assert!(text.contains("anna") && text.contains("authenticated"), "{text}");
    assert!(!text.contains("0.0 MB"), "{text}");
}

#[test]
fn a_query_is_asked_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let tables = job(folder.path(), "protocol = \"three\"\n");
    let ask = |query: &str| run(cenote().args(["query", "--json", query, "--tables"]).arg(&tables));
    assert_eq!(answer(&ask(QUERY)), expected());
    assert_eq!(
        answer(&ask("SELECT COUNT(*) FROM loans WHERE owed IS NULL")),
        json!([["1"]])
    );
    ask("SELECT COUNT(*)\nFROM loans WHERE owned > 1")
        .failed(2, &["line 2, column 18", "no column owned", "loans.owed"]);
    ask("DELETE FROM loans").failed(2, &["line 1, column 1", "begins with SELECT"]);
    ask("SELECT * FROM people, loans").failed(2, &["cannot be joined"]);
}

#[test]
fn a_query_takes_the_values_of_its_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let head = "query = \"SELECT COUNT(*) AS n FROM people JOIN loans USING (id) WHERE owed >= :least AND born < :before\"\n\
                [parameters]\nleast = \"decimal(8,2)\"\nbefore = \"date\"\n";
    let job = job(folder.path(), head);
    let with = |command: &str, values: &[&str]| {
        let values = values.iter().flat_map(|value| ["--parameter", value]);
        run(cenote().args([command, "--json"]).arg(&job).args(values))
    };
    for (least, before, count) in [
        ("7", "1990-01-01", "2"),
        ("2.25", "1990-01-01", "3"),
        ("0", "1975-01-01", "1"),
    ] {
        let values = [format!("least={least}"), format!("before={before}")];
        let ended = with("run", &[&values[0], &values[1]]);
        assert_eq!(answer(&ended), json!([[count]]), "{least} {before}");
    }
    // A plan needs no values.
    assert!(
        with("plan", &[]).json()["and_gates"]
            .as_u64()
            .is_some_and(|gates| gates > 0)
    );
    for (values, part) in [
        (vec!["least=1"], "give its value with --parameter before=VALUE"),
        (vec!["least=1", "before=soon"], "must be of type date"),
        (
            vec!["least=1", "before=1990-01-01", "more=1"],
            "which [parameters] does not declare",
        ),
        (vec!["least"], "give NAME=VALUE"),
    ] {
        let ended = with("run", &values);
        assert!(
            ended.code != Some(0) && ended.stderr.contains(part),
            "{part}: {}",
            ended.stderr
        );
    }
}

#[test]
fn answers_are_written_to_files() {
    let folder = tempfile::tempdir().unwrap();
    for (name, query) in [
        ("answer.csv", QUERY),
        (
            "answer.parquet",
            "SELECT id, owed FROM loans ORDER BY owed DESC, id",
        ),
    ] {
        let head = format!("protocol = \"three\"\nquery = \"\"\"{query}\"\"\"\n");
        let tables = TABLES.replace(
            "max_rows = 10\n",
            &format!("max_rows = 10\nto = [1]\nfile = \"{name}\"\n"),
        );
        files(folder.path());
        let job = write(folder.path(), "job.toml", &format!("{head}{tables}"));
        let report = run(cenote().args(["run", "--json"]).arg(&job)).json();
        assert_eq!(report["answer"]["rows"], Value::Null, "they are in the file");
        assert!(report["file"].as_str().unwrap().ends_with(name));
    }
    let text = std::fs::read_to_string(folder.path().join("answer.csv")).unwrap();
    assert_eq!(text, "name,owed,loans\n,7.00,1\nanna,12.75,2\ndan,,1\n");
    let bytes = std::fs::read(folder.path().join("answer.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1"));
}

#[test]
fn what_is_wrong_with_a_table_its_owner_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = job(
        folder.path(),
        &format!("protocol = \"three\"\nquery = \"\"\"{QUERY}\"\"\"\n"),
    );
    let cases = [
        ("people.csv", "id,name,born\n1,anna,1980-02-30\n", "row 1"),
        ("people.csv", "id,name\n1,anna\n", "born"),
        (
            "people.csv",
            "id,name,born\n1,anna,\n1,anna,\n",
            "which is declared `unique`",
        ),
        ("loans.csv", "id,owed\n1,10.501\n", "row 1"),
        ("loans.csv", "id,owed\n,10.50\n", "row 1"),
        (
            "loans.csv",
            "id,owed\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n",
            "max_rows",
        ),
    ];
    for (name, text, message) in cases {
        files(folder.path());
        write(folder.path(), name, text);
        let ended = run(cenote().arg("run").arg(&path));
        ended.failed(5, &[message, name.strip_suffix(".csv").unwrap()]);
        assert!(
            !ended.stderr.contains("anna") && !ended.stderr.contains("10.5"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_query_without_an_answer_says_so_and_not_why() {
    let folder = tempfile::tempdir().unwrap();
    let tables = job(folder.path(), "protocol = \"three\"\n");
    for query in [
        "SELECT owed / (owed - owed) FROM loans JOIN people USING (id)",
        "SELECT a.id FROM loans a JOIN people USING (id) UNION ALL SELECT id FROM loans UNION ALL SELECT id FROM loans",
    ] {
        let ended = run(cenote().args(["query", query, "--tables"]).arg(&tables));
        ended.failed(5, &["the query has no answer"]);
    }
}

#[test]
fn a_plan_tells_what_is_done_where_and_what_is_learnt() {
    let folder = tempfile::tempdir().unwrap();
    let path = job(
        folder.path(),
        &format!("protocol = \"three\"\nquery = \"\"\"{QUERY}\"\"\"\n"),
    );
    std::fs::remove_file(folder.path().join("people.csv")).unwrap();
    let text = run(cenote().args(["plan", "--transport", "tcp"]).arg(&path)).stdout;
    for part in [
        "join on loans.id = people.id (all, secretly; 8 rows",
        "keep rows where people.born < date '1990-01-01' (party 0, in the clear",
        "the answer, to all parties (all, secretly",
        " ANDs, ",
        "AND gates",
        "party 2 learns the answer: the columns name, owed, loans.",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

/// Each party has the tables of its own only.
#[test]
fn parties_on_machines_of_their_own_answer_a_query() {
    let world = World::three();
    let head = format!("protocol = \"three\"\nquery = \"\"\"{QUERY}\"\"\"\n");
    let jobs = [0, 1, 2].map(|party| {
        let folder = world.folder.path().join(format!("of-{party}"));
        std::fs::create_dir(&folder).unwrap();
        files(&folder);
        for (owner, name) in [(0, "people.csv"), (1, "loans.csv")] {
            if owner != party {
                std::fs::remove_file(folder.join(name)).unwrap();
            }
        }
        let tables = TABLES.replace(
            "max_rows = 10\n",
            "max_rows = 10\nto = [2]\nfile = \"answer.csv\"\n",
        );
        write(&folder, "job.toml", &format!("{head}{tables}"))
    });
    for ended in world.run(paths(&jobs), &[]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    for (party, job) in jobs.iter().enumerate() {
        assert_eq!(
            job.with_file_name("answer.csv").exists(),
            party == 2,
            "party {party}"
        );
    }
    let text = std::fs::read_to_string(jobs[2].with_file_name("answer.csv")).unwrap();
    assert_eq!(text, "name,owed,loans\n,7.00,1\nanna,12.75,2\ndan,,1\n");
    // Parties that were told different queries do not compute.
    let other = std::fs::read_to_string(&jobs[1]).unwrap().replace("1990", "1991");
    std::fs::write(&jobs[1], other).unwrap();
    for ended in world.run(paths(&jobs), &[]) {
        ended.failed(2, &["query"]);
    }
}

#[test]
fn the_demonstration_finds_who_owes_the_banks_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new");
    let first = run(cenote().args(["demo", "--json", "--dir"]).arg(&folder));
    assert!(first.stderr.contains("wrote "), "{}", first.stderr);
    let mut joint = BTreeMap::<String, u64>::new();
    for party in 0..3 {
        let text = std::fs::read_to_string(folder.join(format!("bank-{party}.csv"))).unwrap();
        assert_eq!(text.lines().count(), 20_001);
        for line in text.lines().skip(1) {
            let (id, owed) = line.split_once(',').unwrap();
            *joint.entry(id.to_owned()).or_default() += owed.replace('.', "").parse::<u64>().unwrap();
        }
    }
    let mut expected: Vec<(u64, String)> = joint.into_iter().map(|(id, cents)| (cents, id)).collect();
    expected.retain(|(cents, _)| *cents > 100_000_000);
    expected.sort_by(|one, other| other.cmp(one));
    assert!(!expected.is_empty());
    let rows: Vec<Value> = expected
        .iter()
        .map(|(cents, id)| json!([id, format!("{}.{:02}", cents / 100, cents % 100)]))
        .collect();
    assert_eq!(answer(&first), Value::Array(rows));

    let again = run(cenote().args(["demo", "--dir"]).arg(&folder));
    assert_eq!(again.code, Some(0));
    assert!(without_waits(&again.stderr).is_empty(), "{}", again.stderr);
    // The query is there to be edited.
    let job = folder.join("job.toml");
    let text = std::fs::read_to_string(&job).unwrap();
    let query = text.split("\"\"\"").nth(1).unwrap();
    std::fs::write(
        &job,
        text.replace(query, "SELECT COUNT(*) AS customers FROM bank_b"),
    )
    .unwrap();
    let edited = run(cenote().args(["demo", "--json", "--dir"]).arg(&folder));
    assert_eq!(answer(&edited), json!([["20000"]]));

    // A bank whose customers are others breaks its promise, and nobody learns anything.
    std::fs::write(&job, text).unwrap();
    let file = folder.join("bank-2.csv");
    let other = std::fs::read_to_string(&file)
        .unwrap()
        .replacen("customer-00007", "customer-99999", 1);
    std::fs::write(&file, other).unwrap();
    run(cenote().args(["demo", "--dir"]).arg(&folder)).failed(5, &["the query has no answer"]);
}
