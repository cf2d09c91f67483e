//! Queries and tables that are wrong: their owner is told what and where, before anybody is met, and nobody else is.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{cenote, finish, run, write};
use crate::world::World;

const TABLES: &str = r#"
[answer]
max_rows = 10

[[table]]
name = "people"
party = 0
file = "people.csv"
columns = { id = "u32 not null", name = "char(8)", born = "date", owed = "decimal(8,2)", vip = "bool" }
max_rows = 1000
unique = ["id"]

[[table]]
name = "loans"
party = 1
file = "loans.csv"
columns = { id = "u32 not null", paid = "decimal(8,2)" }
max_rows = 1000
"#;

const QUERY: &str = "SELECT COUNT(*) FROM people JOIN loans USING (id)";

fn job(folder: &Path, query: &str, change: impl Fn(String) -> String) -> PathBuf {
    write(
        folder,
        "people.csv",
        "id,name,born,owed,vip\n1,anna,1980-02-29,10.50,true\n",
    );
    write(folder, "loans.csv", "id,paid\n1,10.50\n");
    let text = format!("protocol = \"three\"\nquery = \"\"\"{query}\"\"\"\n{TABLES}");
    write(folder, "job.toml", &change(text))
}

#[test]
fn cells_that_are_not_of_their_type() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), QUERY, |text| text);
    let cases = [
        ("seven,anna,,,", "column id", "u32"),
        ("4294967296,anna,,,", "column id", "out of range for u32"),
        ("-1,anna,,,", "column id", "out of range for u32"),
        ("1.5,anna,,,", "column id", "u32"),
        ("2,anna,1981-02-29,,", "column born", "date"),
        ("2,anna,1981-13-01,,", "column born", "date"),
        ("2,anna,tomorrow,,", "column born", "date"),
        ("2,anna,,10.505,", "column owed", "more than 2 decimal places"),
        (
            "2,anna,,1000000.00,",
            "column owed",
            "out of range for decimal(8,2)",
        ),
        (
            "2,anna,,999999999999999999999999999999999999999999,",
            "column owed",
            "out of range",
        ),
        ("2,anna,,1e9,", "column owed", "out of range for decimal(8,2)"),
        ("2,annabella,,,", "column name", "longer than 8 bytes"),
        ("2,anna,,,maybe", "column vip", "bool"),
        (",anna,,,", "column id", "declared `not null`"),
        ("2,anna", "2 fields", "header has 5"),
    ];
    for (row, column, what) in cases {
        let text = format!("id,name,born,owed,vip\n1,,,,\n{row}\n");
        write(folder.path(), "people.csv", &text);
        let ended = run(cenote().arg("run").arg(&job));
        ended.failed(5, &["people.csv: row 2 (line 3)", column, what]);
        let value = row.split(',').find(|cell| cell.len() > 3).unwrap_or("anna");
        assert!(!ended.stderr.contains(value), "{}", ended.stderr);
    }
}

#[test]
fn queries_that_are_wrong_are_told_where() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str]); 7] = [
        (
            "SELECT COUNT(*)\nFROM people JOIN loans USING (id) WHERE owned > 1",
            &["line 2, column 41", "no column owned"],
        ),
        (
            "SELECT id FROM people JOIN loans ON people.id = loans.id",
            &["line 1, column 8", "id"],
        ),
        (
            "SELECT COUNT(*) FROM people JOIN loans ON people.id < loans.id",
            &["line 1, column", "equal"],
        ),
        (
            "SELECT COUNT(*) FROM loan",
            &["line 1, column 22", "no table loan"],
        ),
        (
            "SELECT name + 1 FROM people",
            &["line 1, column", "text", "number"],
        ),
        ("SELECT COUNT(*) FROM people WHERE", &["line 1, column"]),
        (
            "SELECT id FROM people WHERE born > '1980-02-30'",
            &["line 1, column", "date"],
        ),
    ];
    for (query, parts) in cases {
        let job = job(folder.path(), query, |text| text);
        run(cenote().arg("run").arg(&job)).failed(2, parts);
    }
}

/// A file of Parquet, as an answer is written.
fn parquet(folder: &Path) -> Vec<u8> {
    let job = job(folder, "SELECT id, paid FROM loans", |text| {
        text.replace("max_rows = 10\n", "max_rows = 10\nfile = \"answer.parquet\"\n")
    });
    assert_eq!(run(cenote().arg("run").arg(&job)).code, Some(0));
    std::fs::read(folder.join("answer.parquet")).unwrap()
}

#[test]
fn parquet_that_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let whole = parquet(folder.path());
    let job = job(folder.path(), QUERY, |text| {
        text.replace("loans.csv", "loans.parquet")
    });
    let with = |bytes: &[u8]| {
        std::fs::write(folder.path().join("loans.parquet"), bytes).unwrap();
        run(cenote().arg("run").arg(&job))
    };
    assert_eq!(with(&whole).code, Some(0));
    let end = whole.len();
    let huge = |bytes: [u8; 4]| {
        let mut broken = whole.clone();
        broken[end - 8..end - 4].copy_from_slice(&bytes);
        broken
    };
    let broken = [
        ("nothing", Vec::new()),
        ("the first half", whole[..end / 2].to_vec()),
        ("all but the last byte", whole[..end - 1].to_vec()),
        ("another mark at its end", [&whole[..end - 4], b"PAR2"].concat()),
        ("a footer of 4 GB", huge([0xff; 4])),
        ("a footer as long as the file", huge((end as u32).to_le_bytes())),
        ("an empty footer", huge([0; 4])),
        (
            "no pages",
            [&whole[..4], &vec![0; end / 4][..], &whole[4 + end / 4..]].concat(),
        ),
    ];
    for (what, bytes) in broken {
        let ended = with(&bytes);
        assert_eq!(ended.code, Some(5), "{what}: {}", ended.stderr);
        assert!(ended.stderr.contains("loans.parquet"), "{what}: {}", ended.stderr);
    }
    // The columns are there, and of another type.
    let job = write(
        folder.path(),
        "job.toml",
        &std::fs::read_to_string(&job)
            .unwrap()
            .replace("paid = \"decimal(8,2)\"", "paid = \"date\""),
    );
    std::fs::write(folder.path().join("loans.parquet"), &whole).unwrap();
    run(cenote().arg("run").arg(&job)).failed(5, &["loans.parquet", "column paid", "decimal(9,2)", "date"]);
}

/// Ten million rows where a thousand are announced are not read any further than that.
#[test]
fn more_rows_than_announced() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), QUERY, |text| text);
    let mut file = std::fs::File::create(folder.path().join("loans.csv")).unwrap();
    file.write_all(b"id,paid\n").unwrap();
    let rows = b"7,1\n".repeat(100_000);
    (0..100).for_each(|_| file.write_all(&rows).unwrap());
    run(cenote().arg("run").arg(&job)).failed(
        5,
        &[
            "loans.csv: row 1001 (line 1002)",
            "more than 1000 rows, which is `max_rows`",
        ],
    );
}

/// What is sorted is in memory at once; what is added up is not.
#[test]
fn ten_million_rows() {
    let folder = tempfile::tempdir().unwrap();
    let large = |text: String| text.replace("max_rows = 1000\n", "max_rows = 10_000_000\n");
    let job = job(folder.path(), QUERY, large);
    for command in ["run", "plan"] {
        run(cenote().arg(command).arg(&job)).failed(
            2,
            &[
                "the query takes at least",
                "MB of memory at a party",
                "2147.5 MB is the most unless a limit is set",
                "make `max_rows` of the tables that are joined or grouped smaller",
                "`--memory`",
            ],
        );
    }
    run(cenote().args(["run", "--memory", "500"]).arg(&job))
        .failed(2, &["of memory are needed", "500 MB is the limit", "`max_rows`"]);
    let sum = "SELECT SUM(owed) FROM (SELECT owed FROM people UNION ALL SELECT paid FROM loans) all_of_them";
    let text = std::fs::read_to_string(&job).unwrap().replace(QUERY, sum);
    let job = write(folder.path(), "job.toml", &text);
    assert_eq!(
        run(cenote().args(["run", "--json"]).arg(&job)).json()["answer"]["rows"],
        serde_json::json!([["21.00"]])
    );
}

/// The others learn that it is not there, and not why.
#[test]
fn peers_are_not_told_what_is_wrong() {
    let world = World::three();
    let jobs = [0, 1, 2].map(|party| {
        let folder = world.folder.path().join(format!("of-{party}"));
        std::fs::create_dir(&folder).unwrap();
        let path = job(&folder, QUERY, |text| text);
        if party == 1 {
            write(&folder, "loans.csv", "id,paid\n1,10.50\n1,unpaid\n");
        }
        (0..2)
            .filter(|owner| *owner != party)
            .for_each(|owner| std::fs::remove_file(folder.join(["people.csv", "loans.csv"][owner])).unwrap());
        path
    });
    (0..3).for_each(|party| world.configure(party, &world.fingerprints, 8.0));
    let children = [0, 1, 2].map(|party| world.start(party, &jobs[party], &[]));
    for (party, ended) in children.map(finish).into_iter().enumerate() {
        if party == 1 {
            ended.failed(5, &["loans.csv: row 2 (line 3), column paid"]);
            continue;
        }
        ended.failed(3, &["party 1"]);
        for word in ["loans", "row 2", "paid", "decimal"] {
            assert!(!ended.stderr.contains(word), "{}", ended.stderr);
        }
    }
}
