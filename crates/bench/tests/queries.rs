//! The benchmarks of queries: those of TPC-H at a tiny scale, and the others with few rows.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cenote::local::Setting;
use cenote::{Protocol, Transport};
use cenote_bench::queries::{self, run_queries};
use cenote_bench::tpch::{Asked, Tpch, TpchReport, run_tpch};

/// Runs some queries with this protocol, with `about` called before each.
fn run(
    protocol: &str,
    numbers: &[u8],
    secret_only: bool,
    folder: &Path,
    about: &mut dyn FnMut(&str),
) -> TpchReport {
    let tpch = Tpch {
        protocol: Protocol::named(protocol).unwrap(),
        scale: 0.0005,
        secret_only,
        queries: numbers
            .iter()
            .map(|&number| Asked::numbered(number).unwrap())
            .collect(),
    };
    run_tpch(&tpch, folder, SETTING, &child, about).unwrap()
}

const SETTING: Setting = Setting {
    transport: Transport::Tcp,
    timeout: Duration::from_secs(60),
    phase_timeout: None,
};

fn child() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cenote-bench"));
    command.arg("child");
    command
}

#[test]
fn answers_are_those_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let local = run("three", &[1, 6, 13], false, folder.path(), &mut |_| ());
    let secret = run("three", &[6], true, folder.path(), &mut |_| ());
    let of_two = run("authenticated", &[6, 15], false, folder.path(), &mut |_| ());
    for report in [&local, &secret, &of_two] {
        report.check().unwrap();
    }
    let ands = |report: &TpchReport, at: usize| report.rows[at].outcome.as_ref().unwrap().and_gates;
    // The sum of one owner's rows is its own affair, unless nothing is.
    assert!(ands(&secret, 0) > 10 * ands(&local, 1));
}

#[test]
fn a_wrong_answer_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let items = folder.path().join("lineitem.csv");
    let report = run("three", &[1], false, folder.path(), &mut |what| {
        if what == "asking q1" {
            // The parties' tables lack a row that SQLite has.
            let text = std::fs::read_to_string(&items).unwrap();
            let (rest, _) = text.trim_end().rsplit_once('\n').unwrap();
            std::fs::write(&items, rest).unwrap();
        }
    });
    let error = report.check().unwrap_err().to_string();
    assert!(error.contains("q1: the answer is wrong: its row "), "{error}");
    assert!(report.table().contains("0 of 1"));
}

/// Each benchmark fails if a party takes more than was said before it began.
#[test]
fn no_query_takes_more_memory_than_is_stated() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [3_000, 100_000] {
        let asked = [queries::Asked::Q6, queries::Asked::Q1];
        let report = run_queries(&asked, rows, 1, folder.path(), SETTING, &child, &mut |_| ()).unwrap();
        for row in report.rows {
            let peak = row.peak_memory_bytes.unwrap_or(0);
            assert!(peak <= row.memory_bound_bytes, "{row:?}");
        }
    }
    run("three", &[3, 18, 21], true, folder.path(), &mut |_| ())
        .check()
        .unwrap();
}
