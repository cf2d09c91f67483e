//! CSV: what is read, and what is said of what is not.

use cenote_tables::{Problem, Values, read};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Folder, cells, field, fields, message};

fn read_cells(contents: &str, texts: &[&str]) -> Vec<Vec<String>> {
    let folder = Folder::new();
    let table = read(&folder.file("a.csv", contents), &fields(texts), 1000).unwrap();
    cells(&table)
}

fn said(contents: impl AsRef<[u8]>, texts: &[&str]) -> String {
    let folder = Folder::new();
    message(&folder.file("a.csv", contents), &fields(texts), 3)
}

#[test]
fn columns_are_found_by_name_and_others_are_not_looked_at() {
    let contents =
        "\u{feff}ID, Owed ,\"no\"\"te\",id2\r\n1,12.5,\"\"\"x\",\u{1}\r\n\r\n2,-3,\"a,\nb\",z\r\n3,.25,,";
    let read = read_cells(
        contents,
        &["owed decimal(12,2)", "id u64", "no\"te char(9)?", "id u8"],
    );
    assert_eq!(
        read,
        [
            ["12.50", "1", "\"x", "1"],
            ["-3.00", "2", "a,\nb", "2"],
            ["0.25", "3", "", "3"]
        ]
    );
    let exact = read_cells("id,ID\n1,2\n", &["ID u8", "id u8"]);
    assert_eq!(exact, [["2", "1"]], "the very name wins");
    let none: [[String; 0]; 2] = [[], []];
    assert_eq!(read_cells("id\n1\n2\n", &[]), none, "rows count without columns");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one list of cases")]
fn cells_are_read_as_their_types() {
    for (kind, cells) in [
        (
            "bool",
            &[
                ("true", "true"),
                (" T ", "true"),
                ("YES", "true"),
                ("1", "true"),
                ("False", "false"),
                ("f", "false"),
                ("no", "false"),
                ("0", "false"),
            ][..],
        ),
        (
            "i8",
            &[
                ("-128", "-128"),
                ("+127", "127"),
                ("\t007 ", "7"),
                ("-0", "0"),
                ("7.0", "7"),
                ("-1.2e1", "-12"),
                ("1200E-2", "12"),
                ("0e9", "0"),
            ],
        ),
        (
            "u64",
            &[
                ("18446744073709551615", "18446744073709551615"),
                ("00000000000000000000000000000000000000000000000000001", "1"),
            ],
        ),
        ("i64", &[("-9223372036854775808", "-9223372036854775808")]),
        (
            "decimal(12,2)",
            &[
                ("1250", "1250.00"),
                ("-0.5", "-0.50"),
                ("5.", "5.00"),
                (".05", "0.05"),
                ("1.2500", "1.25"),
                ("1.25e3", "1250.00"),
                ("-5e-1", "-0.50"),
                (".5E+01", "5.00"),
                ("12500.e-2", "125.00"),
                ("\"9999999999.99\"", "9999999999.99"),
            ],
        ),
        ("decimal(3,3)", &[("-.999", "-0.999"), ("0", "0.000")]),
        (
            "decimal(38,0)",
            &[(
                "-99999999999999999999999999999999999999",
                "-99999999999999999999999999999999999999",
            )],
        ),
        (
            "date",
            &[
                ("2024-02-29", "2024-02-29"),
                (" 0000-01-01 ", "0000-01-01"),
                ("-0044-03-15", "-0044-03-15"),
                ("2024-02-29 00:00:00", "2024-02-29"),
                ("2024-02-29T00:00:00.000Z", "2024-02-29"),
                ("+12024-12-31", "+12024-12-31"),
            ],
        ),
        (
            "timestamp",
            &[
                ("2024-01-31 12:30", "2024-01-31 12:30:00"),
                ("2024-01-31T12:30:05Z", "2024-01-31 12:30:05"),
                ("2024-01-31", "2024-01-31 00:00:00"),
                ("2020-01-01 00:00:00+00", "2020-01-01 00:00:00"),
                ("2020-01-01T00:00:00+0000", "2020-01-01 00:00:00"),
                ("2020-01-01 00:00:00 UTC", "2020-01-01 00:00:00"),
                ("2020-01-01 02:00:00+02", "2020-01-01 00:00:00"),
                ("2020-01-01T02:00:00+02:00", "2020-01-01 00:00:00"),
                ("2019-12-31 18:30:00.25-05:30", "2020-01-01 00:00:00.250000"),
                ("1969-12-31 23:59:59.5+00:00", "1969-12-31 23:59:59.500000"),
                ("2024-01-31T00:00:00.123456000", "2024-01-31 00:00:00.123456"),
            ],
        ),
        (
            "char(4)",
            &[
                (" a ", " a "),
                ("\"\"\"\"\"\"", "\"\""),
                ("é", "é"),
                ("a\"b", "a\"b"),
            ],
        ),
    ] {
        for (text, expected) in cells {
            let contents = format!("x,y\n{text},\n");
            assert_eq!(
                read_cells(&contents, &[&format!("x {kind}")]),
                [[*expected]],
                "{kind}: {text}"
            );
        }
    }
}

#[test]
fn empty_cells_are_null() {
    for kind in ["bool", "u8", "decimal(4,2)", "date", "timestamp", "char(3)"] {
        let folder = Folder::new();
        let path = folder.file("a.csv", "x,y\n,1\n\"\",1\n");
        let table = read(&path, &[field(&format!("x {kind}?"))], 2).unwrap();
        // Of text, two quotes are the empty text.
        let quotes_are_null = !kind.starts_with("char");
        assert_eq!(
            table.columns[0].nulls,
            Some(vec![true, quotes_are_null]),
            "{kind}"
        );
        let said = message(&path, &[field(&format!("x {kind}"))], 2);
        assert!(
            said.starts_with(
                "row 1 (line 2), column x: is empty, but the column is declared `not null`; fill it in"
            ),
            "{said}"
        );
    }
    let folder = Folder::new();
    let path = folder.file("a.csv", "x,y\n  ,1\n");
    let blank = read(&path, &[field("x u8?")], 2).unwrap();
    assert!(blank.columns[0].is_null(0));
    let text = read(&path, &[field("x char(4)?")], 2).unwrap();
    assert_eq!(text.columns[0].values, Values::Text(4, b"  \0\0".to_vec()));
    assert_eq!(text.columns[0].nulls, None);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one list of cases")]
fn wrong_cells_are_named_and_not_quoted() {
    for (kind, cell, what) in [
        ("bool", "4711", "is not a value of type bool; write true or false"),
        ("u8", "4711", "is out of range for u8, which holds 0 to 255"),
        (
            "u64",
            "-4711",
            "is out of range for u64, which holds 0 to 18446744073709551615",
        ),
        (
            "i64",
            "4711.5",
            "has more than 0 decimal places, the most that i64 holds; round it",
        ),
        (
            "i64",
            "4711e",
            "is not a value of type i64; write a whole number, such as 42",
        ),
        ("i64", "e2", "is not a value of type i64"),
        ("i64", ".e2", "is not a value of type i64"),
        ("i64", "4711e-2", "has more than 0 decimal places"),
        ("i64", "4711e2.5", "is not a value of type i64"),
        ("i64", "4711e99999999999", "is not a value of type i64"),
        ("i64", "4711e300000", "is out of range for i64"),
        (
            "date",
            "2024-01-31 12:30",
            "has a time of day, but is declared date; declare timestamp",
        ),
        ("u8", "+", "is not a value of type u8"),
        (
            "decimal(12,2)",
            "4711.123",
            "has more than 2 decimal places, the most that decimal(12,2) holds; round it",
        ),
        ("decimal(12,2)", "4,711", "is not a value of type decimal(12,2)"),
        (
            "decimal(12,2)",
            "4.7.11",
            "is not a value of type decimal(12,2); write digits with at most 2 decimal places, such as 1250.00",
        ),
        (
            "decimal(12,2)",
            "4711.123x",
            "is not a value of type decimal(12,2)",
        ),
        ("decimal(12,2)", ".", "is not a value of type decimal(12,2)"),
        (
            "decimal(2,2)",
            "4711",
            "is out of range for decimal(2,2), which holds -0.99 to 0.99",
        ),
        (
            "decimal(3,0)",
            "4711x",
            "is not a value of type decimal(3,0); write digits without a point, such as 1",
        ),
        (
            "decimal(38,2)",
            "471147114711471147114711471147114711471147114711",
            "is out of range for decimal(38,2)",
        ),
        (
            "date",
            "2023-02-30",
            "is not a valid date: there is no such day or time",
        ),
        (
            "date",
            "4711/01/31",
            "is not a value of type date; write it as 2024-01-31",
        ),
        ("date", "4711-1-31", "is not a value of type date; write it"),
        ("date", "14711-01-31", "is not a value of type date; write it"),
        (
            "timestamp",
            "4711-01",
            "is not a value of type timestamp; write it as 2024-01-31 12:30:00 in UTC, or with an offset such as +02:00 at the end",
        ),
        (
            "timestamp",
            "4711-01-31 24:00",
            "is not a valid timestamp: there is no such day or time",
        ),
        (
            "timestamp",
            "4711-01-31 12:30 CET",
            "is not a value of type timestamp; write it",
        ),
        (
            "timestamp",
            "4711-01-31 12:30:00.1234567",
            "has more than 6 decimal places",
        ),
        (
            "timestamp",
            "+471147-01-31 12:30",
            "is out of range for timestamp, which holds ",
        ),
        (
            "char(3)",
            "4711",
            "is longer than 3 bytes, the most that char(3) holds; shorten it",
        ),
        ("char(9)", "4711\0", "contains a zero byte"),
    ] {
        // The row before has two lines, so that rows and lines are not the same.
        let good = match kind.chars().next() {
            Some('d') if kind != "date" => "0",
            Some('d') => "2024-01-31",
            Some('t') => "2024-01-31 00:00",
            _ => "1",
        };
        let contents = format!("id,x\n\"a\nb\",{good}\n1,\"{cell}\"\n");
        let said = said(&contents, &[&format!("x {kind}")]);
        let expected = format!("row 2 (line 4), column x: {what}");
        assert!(said.starts_with(&expected), "{kind}: {cell}: {said}");
        assert!(!said.contains("4711"), "{kind}: {said}");
    }
    let not_utf8 = said(b"id,x\n1,\xe9\n", &["x char(9)"]);
    assert_eq!(
        not_utf8,
        "row 1 (line 2), column x: is not UTF-8 text; save the file as UTF-8"
    );
}

#[test]
fn wrong_headers_are_explained() {
    assert_eq!(
        said("", &["id u8"]),
        "is empty; its first line must name the columns"
    );
    assert_eq!(
        said("\n\r\n", &["id u8"]),
        "is empty; its first line must name the columns"
    );
    let missing = said("id,name\u{1b}[2J,since\n", &["ID u8", "owed u8"]);
    assert_eq!(
        missing,
        "has no column owed; its columns are id, name\u{fffd}[2J, since"
    );
    let no_header = said("4711,12.50\n4712,13.50\n", &["id u64", "owed decimal(4,2)"]);
    assert!(
        no_header.starts_with(
            "has none of the columns id, owed; its first line must list the names of the columns"
        ),
        "{no_header}"
    );
    assert!(!no_header.contains("47"), "{no_header}");
    assert_eq!(
        said("id,id,a\n", &["id u8"]),
        "has 2 columns named id; keep one of them, or rename the others"
    );
    assert_eq!(
        said("ID,Id,a\n", &["id u8"]),
        "has no column id, but several that differ from it in capitals only: ID, Id; use the exact name of one"
    );
    assert_eq!(
        said(b"id,\xff\n", &["id u8"]),
        "line 1: is not UTF-8 text; save the file as UTF-8"
    );
    let many: Vec<String> = (0..50).map(|number| format!("c{number}")).collect();
    let said = said(many.join(","), &["c0 u8", "x u8"]);
    assert!(said.ends_with("c38, c39 and 10 more"), "{said}");
}

#[test]
fn wrong_rows_are_named() {
    let three = "has 3 fields, but the header has 2; put quotes around text with a comma in it";
    assert_eq!(
        said("a,b\n1,2\n1,2,3\n", &["a u8"]),
        format!("row 2 (line 3): {three}")
    );
    assert!(said("a,b\n1\n", &["a u8"]).starts_with("row 1 (line 2): has 1 fields"));
    assert_eq!(
        said("a,b\n1,2\n1,\"2\n3,4\n", &["a u8"]),
        "row 2 (line 3): opens a quote that is never closed; add the closing quote"
    );
    assert_eq!(
        said("a,b\n1,\"2\"3\n", &["a u8"]),
        "row 1 (line 2): has text after a closing quote; write a quote inside quoted text twice"
    );
    assert_eq!(
        said("\"a", &["a u8"]),
        "line 1: opens a quote that is never closed; add the closing quote"
    );
    assert_eq!(
        said("a\n1\n2\n3\n4\n", &["a u8"]),
        "row 4 (line 5): there are more than 3 rows, which is `max_rows` of the job; leave rows out, or agree on more"
    );
    let long = "x".repeat(40 << 20);
    assert!(
        said(format!("a,b\n1,\"{long}\n"), &["a u8"]).starts_with("row 1 (line 2): is longer than 16 MiB")
    );
}

#[test]
fn rows_may_lie_across_what_is_read_at_once() {
    let text = |row: usize| "\"y\"\"\r\n,".repeat(row % 17) + "é";
    let mut contents = "a,b,c\r\n".to_owned();
    for row in 0..20_000 {
        contents += &format!(
            "{row},\"{}\",{}\r\n",
            text(row).replace('"', "\"\""),
            row % 2 == 0
        );
    }
    let folder = Folder::new();
    let table = read(
        &folder.file("a.csv", contents),
        &fields(&["c bool", "b char(200)", "a u16"]),
        20_000,
    )
    .unwrap();
    for (row, cells) in cells(&table).into_iter().enumerate() {
        assert_eq!(cells, [(row % 2 == 0).to_string(), text(row), row.to_string()]);
    }
}

#[test]
fn what_is_no_file_is_not_opened() {
    let folder = Folder::new();
    let said = |name: &str| message(&folder.path(name), &fields(&["a u8"]), 1);
    assert_eq!(said("gone.csv"), "there is no such file");
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    assert_eq!(
        said("folder.csv"),
        "is not a regular file; name a file that holds a table"
    );
    #[cfg(unix)]
    {
        let pipe = folder.path("pipe.parquet");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(
            said("pipe.parquet"),
            "is not a regular file; name a file that holds a table"
        );
        std::os::unix::fs::symlink(folder.file("real.csv", "a\n1\n"), folder.path("link.csv")).unwrap();
        assert!(read(&folder.path("link.csv"), &fields(&["a u8"]), 1).is_ok());
        let device = read(std::path::Path::new("/dev/zero"), &fields(&["a u8"]), 1).unwrap_err();
        assert!(matches!(*device.problem, Problem::NotAFile));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_come_to_a_table_or_an_error(
        pieces in vec(prop::sample::select(vec!["a", "1", ",", "\"", "\n", "\r", " ", "-", ".", "\0", "é"]), 0..60),
        byte in any::<u8>(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut bytes = [b"a,b\n", pieces.concat().as_bytes()].concat();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let folder = Folder::new();
        let path = folder.file("a.csv", bytes);
        for kind in ["char(9)?", "decimal(3,1)?", "date?", "bool?"] {
            if let Ok(table) = read(&path, &[field(&format!("a {kind}"))], 20) {
                prop_assert!(table.rows <= 20 && table.columns[0].values.rows() == table.rows);
            }
        }
    }
}

/// In a file with one column a blank line is a row, as programs write a null there.
#[test]
fn blank_lines_of_one_column_are_nulls() {
    let folder = Folder::new();
    for kind in ["i32", "char(3)"] {
        let path = folder.file("a.csv", "score\n5\n\r\n7\n\n");
        let table = read(&path, &[field(&format!("score {kind}?"))], 9).unwrap();
        assert_eq!(
            table.columns[0].nulls,
            Some(vec![false, true, false, true]),
            "{kind}"
        );
        let said = message(&path, &[field(&format!("score {kind}"))], 9);
        assert!(
            said.starts_with("row 2 (line 3), column score: is empty"),
            "{said}"
        );
    }
    let path = folder.file("a.csv", "\nx\n\"\"");
    let table = read(&path, &[field("x char(3)")], 9).unwrap();
    assert_eq!((table.rows, &table.columns[0].nulls), (1, &None));
}

#[test]
fn gzip_is_read() {
    let folder = Folder::new();
    let mut parts = Vec::new();
    // Files that are put together are read to the end.
    for text in ["x,y\n1,a\n", "2,b\n"] {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        parts.extend(packed.finish().unwrap());
    }
    let path = folder.file("a.csv.gz", &parts);
    let table = read(&path, &[field("y char(1)"), field("x u8")], 9).unwrap();
    assert_eq!(cells(&table).concat(), ["a", "1", "b", "2"]);
    let path = folder.file("a.csv.gz", &parts[..parts.len() - 9]);
    let said = message(&path, &[field("x u8")], 9);
    assert!(said.contains("cannot be read"), "{said}");
}
