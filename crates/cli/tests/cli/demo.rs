//! The demonstration.

use std::path::Path;

use crate::common::{Ended, cenote, run, write};

fn bank(folder: &Path, bank: u8, text: &str) {
    write(folder, &format!("bank-{bank}.csv"), text);
}

fn demo(folder: &Path, more: &[&str]) -> Ended {
    run(cenote()
        .args(["demo", "--dir"])
        .arg(folder)
        .args(["--limit", "100", "--timeout", "20"])
        .args(more))
}

/// Five customers at three banks; the joint exposures are 100, 101, 300, 0 and 99.
fn good(folder: &Path) {
    bank(
        folder,
        0,
        "id,exposure_cents\nanna7,50\nbob7,50\ncid7,100\ndan7,0\newe7,99\n",
    );
    bank(folder, 1, "anna7,50\nbob7,50\ncid7,100\ndan7,0\newe7,0\n");
    bank(
        folder,
        2,
        "id,exposure_cents\r\nanna7,0\r\nbob7,1\r\ncid7,100\r\ndan7,0\r\newe7,0\r\n",
    );
}

#[test]
fn only_the_ids_over_the_limit_come_out() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path());
    for transport in ["tls", "tcp"] {
        let report = demo(folder.path(), &["--json", "--transport", transport]).json();
        assert_eq!(report["over_limit"], serde_json::json!(["bob7", "cid7"]));
        assert_eq!(
            (report["customers"].as_u64(), report["limit"].as_u64()),
            (Some(5), Some(100))
        );
        assert_eq!(report["transport"], transport);
        assert!(
            report["bytes_sent"]
                .as_array()
                .unwrap()
                .iter()
                .all(|bytes| bytes.as_u64().unwrap() > 0)
        );
    }
    let text = demo(folder.path(), &[]).stdout;
    assert!(
        text.contains("  bob7\n  cid7\n") && !text.contains("anna") && !text.contains("ewe"),
        "{text}"
    );
}

#[test]
fn samples_are_written_once_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new");
    let first = run(cenote().args(["demo", "--json", "--dir"]).arg(&folder));
    assert!(first.stderr.contains("wrote sample data"), "{}", first.stderr);
    let first = first.json();
    let mut joint = std::collections::BTreeMap::<String, u64>::new();
    for party in 0..3 {
        let text = std::fs::read_to_string(folder.join(format!("bank-{party}.csv"))).unwrap();
        assert_eq!(text.lines().count(), 20_001);
        for line in text.lines().skip(1) {
            let (id, cents) = line.split_once(',').unwrap();
            *joint.entry(id.to_owned()).or_default() += cents.parse::<u64>().unwrap();
        }
    }
    let expected: Vec<&String> = joint
        .iter()
        .filter(|(_, cents)| **cents > 100_000_000)
        .map(|(id, _)| id)
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(first["over_limit"], serde_json::json!(expected));

    let again = run(cenote().args(["demo", "--dir"]).arg(&folder));
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
}

/// What one bank has wrong is told with its file and lines, and quotes nobody's customers.
#[test]
fn a_bank_whose_rows_differ_is_told_where() {
    let cases: &[(&str, &str)] = &[
        // A missing customer, one too many, another id, another order.
        (
            "anna7,50\nbob7,50\ncid7,100\ndan7,0\n",
            "bank-1.csv, line 4: the file ends here, but party 0 lists more",
        ),
        (
            "anna7,50\nbob7,50\ncid7,100\ndan7,0\newe7,0\nfay7,0\n",
            "bank-1.csv, line 6: the id differs",
        ),
        (
            "anna7,50\nbob7,50\nsid7,100\ndan7,0\newe7,0\n",
            "bank-1.csv, line 3: the id differs",
        ),
        (
            "bob7,50\nanna7,50\ncid7,100\ndan7,0\newe7,0\n",
            "bank-1.csv, line 1: the id differs",
        ),
    ];
    for (text, place) in cases {
        let folder = tempfile::tempdir().unwrap();
        good(folder.path());
        bank(folder.path(), 1, text);
        let ended = demo(folder.path(), &[]);
        ended.failed(5, &["error: party 1: ", place, "same ids in the same order"]);
        for id in ["anna7", "bob7", "cid7", "sid7", "dan7", "ewe7", "fay7"] {
            assert!(!ended.stderr.contains(id), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_malformed_file_is_told_with_its_line() {
    let cases = [
        (
            "anna7,50\nbob7,12.5\n",
            "bank-2.csv, line 2: the exposure is no whole number of cents",
        ),
        (
            "anna7,50\nbob7,-1\n",
            "bank-2.csv, line 2: the exposure is no whole number",
        ),
        (
            "anna7,50\nbob7\n",
            "bank-2.csv, line 2: is not `id,exposure in cents`",
        ),
        (
            "anna7,1099511627776\n",
            "bank-2.csv, line 1: the exposure is no whole number",
        ),
        (
            "anna7,50\nbob7,50\nanna7,1\n",
            "bank-2.csv, line 3: the id stands in line 1 already",
        ),
        ("anna7,50\n\nbob7,50\n", "bank-2.csv, line 2: is empty"),
        ("", "bank-2.csv: lists no customers"),
    ];
    for (text, message) in cases {
        let folder = tempfile::tempdir().unwrap();
        good(folder.path());
        bank(folder.path(), 2, text);
        let ended = demo(folder.path(), &[]);
        ended.failed(5, &["party 2: ", message]);
        assert!(
            !ended.stderr.contains("anna7") && !ended.stderr.contains("12.5"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn one_customer_missing_among_many_is_found() {
    let folder = tempfile::tempdir().unwrap();
    run(cenote().args(["demo", "--dir"]).arg(folder.path())).failed(0, &["wrote sample data"]);
    let file = folder.path().join("bank-2.csv");
    let lines: Vec<String> = std::fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let without = [&lines[..12_344], &lines[12_345..]].concat().join("\n");
    std::fs::write(&file, without).unwrap();
    let ended = demo(folder.path(), &[]);
    ended.failed(
        5,
        &[
            "error: party 2: ",
            "bank-2.csv, line 12345: the id differs",
            "bank-0.csv, line 12345",
        ],
    );
    assert!(!ended.stderr.contains("customer-"), "{}", ended.stderr);
}
