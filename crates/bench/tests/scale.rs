//! `cenote bench scale`, with few rows and few shards.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the benchmark as small as it may be, with `more` arguments.
fn scale(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cenote-bench"))
        .args([
            "scale",
            "--rows",
            "64",
            "--shards",
            "40",
            "--repeat",
            "1",
            "--small-shards",
            "3",
        ])
        .args(["--attempts", "20", "--transport", "tcp", "--dir"])
        .arg(folder)
        .args(more)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Each job that ran is made of its pieces.
fn check_runs(runs: &[Value]) {
    let shards: Vec<u64> = runs.iter().filter_map(|run| run["shards"].as_u64()).collect();
    assert_eq!(shards, [3, 1, 2, 4]);
    for run in runs {
        let pieces = run["shard_seconds"].as_array().unwrap();
        assert_eq!(pieces.len() as u64, run["shards"].as_u64().unwrap());
        let sum: f64 = pieces.iter().map(number).sum();
        let rest = ["start_seconds", "merge_seconds", "end_seconds"].map(|part| number(&run[part]));
        let all = sum + rest.iter().sum::<f64>();
        assert!((all / number(&run["seconds"]) - 1.0).abs() < 1e-6, "{run}");
        assert!(
            number(&run["and_gates"]) > 1000.0 && number(&run["bytes_sent"]) > 1000.0,
            "{run}"
        );
    }
}

#[test]
fn a_report_has_measurements_their_check_and_the_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("scale.svg");
    let output = scale(
        folder.path(),
        &[
            "--json",
            "--machines",
            "1,10,100",
            "--cores",
            "2",
            "--plot",
            plot.to_str().unwrap(),
        ],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    for (name, value) in [
        ("rows_of_shard", 64.0),
        ("shards", 40.0),
        ("cores", 2.0),
        ("site_gbit", 100.0),
    ] {
        assert_eq!(number(&report[name]), value, "{name}");
    }
    assert!(report["machine"]["cores"].is_u64() && report["link"]["rtt_ms"].is_number());
    let measured = &report["measured"];
    assert!(number(&measured["shard"]["and_gates"]) > 1000.0, "{measured}");
    for positive in [
        "shard_seconds",
        "merge_seconds",
        "setup_seconds",
        "attempt_seconds",
        "bytes_ratio",
        "rounds_ratio",
        "core_share",
    ] {
        assert!(number(&measured[positive]) > 0.0, "{positive}: {measured}");
    }
    check_runs(measured["runs"].as_array().unwrap());
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 3);
    for check in checks {
        let ratio = number(&check["predicted_seconds"]) / number(&check["measured_seconds"]);
        assert!((number(&check["ratio"]) - ratio).abs() < 1e-9, "{check}");
        assert!(number(&check["sessions_ratio"]) > 0.0);
    }
    let rows = report["machines"].as_array().unwrap();
    let machines: Vec<u64> = rows.iter().filter_map(|row| row["machines"].as_u64()).collect();
    assert_eq!(machines, [1, 10, 100]);
    for row in rows {
        let rate = number(&row["ands_per_second"]);
        assert!(
            rate < number(&row["network_bound"]) && rate < number(&row["coordinator_bound"]),
            "{row}"
        );
        assert!(number(&row["seconds"]) > number(&row["merge_seconds"]));
        assert!(number(&row["rows_per_second"]) > 0.0 && number(&row["seconds_if_placed"]) > 0.0);
    }
    drawn(&plot);
}

/// The plot has the rates and both bounds.
fn drawn(plot: &Path) {
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(svg.starts_with("<svg"));
    for name in [
        "coordinators place all rows",
        "bound by the network",
        "bound by the coordinators",
    ] {
        assert!(svg.contains(name), "{name}");
    }
}

#[test]
fn a_report_for_people_names_the_processor_and_the_links() {
    let folder = tempfile::tempdir().unwrap();
    let output = scale(
        folder.path(),
        &["--machines", "3", "--link", "wan", "--site-gbit", "none"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    let machine = cenote_bench::Machine::now();
    let processor = machine.processor.unwrap_or_else(|| "unknown processor".into());
    for part in [
        &processor,
        "round trips of 81 ms and 3 Gbit/s, no limit",
        "one shard",
        "s predicted",
        "busy %",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (more, why) in [
        (&["--machines", "0"][..], "1..=1000"),
        (&["--machines", "1001"], "1..=1000"),
        (&["--site-gbit", "0"], "Gbit/s above 0"),
        (&["--site-gbit", "fast"], "Gbit/s above 0"),
        (&["--link", "fast"], "none, lan, wan"),
        (&["--cores", "0"], "1..=1024"),
    ] {
        let output = scale(folder.path(), more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(
            text(&output.stderr).contains(why),
            "{more:?}: {}",
            text(&output.stderr)
        );
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cenote-bench"))
        .args(["scale", "--rows", "2^20", "--shards", "257"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("1 to 256 shards"),
        "{}",
        text(&output.stderr)
    );
}
