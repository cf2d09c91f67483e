//! `cenote bench service`.

use serde_json::Value;

use crate::common::{bench, number};

#[test]
fn standing_services_are_measured() {
    for (parties, protocol) in [("3", "three"), ("2", "authenticated")] {
        let report = bench(&[
            "service",
            "--parties",
            parties,
            "--jobs",
            "2",
            "--small",
            "6",
            "--in-flight",
            "3",
            "--calls",
            "3",
            "--many-calls",
            "8",
            "--together",
            "2",
            "--large",
            "20000",
            "--repeat",
            "1",
            "--soak",
            "8",
            "--json",
        ])
        .json();
        assert_eq!(report["protocol"], protocol);
        assert_eq!(number(&report["latency"], "jobs"), 2.0);
        assert_eq!(number(&report["rate"], "jobs"), 6.0);
        let calls = report["calls"].as_array().unwrap();
        let counts: Vec<f64> = calls.iter().map(|called| number(called, "calls")).collect();
        assert_eq!(counts, [3.0, 8.0, 80.0]);
        assert!(
            calls
                .iter()
                .all(|called| number(called, "calls_per_second") > 0.0)
        );
        assert!(number(&report["large"], "and_gates") >= 20_000.0);
        assert!(number(&report["large"], "percent") > 0.0);
        assert_eq!(report["memory"]["looks"].as_array().unwrap().len(), 8);
        // With those before the first that is timed.
        assert_eq!(
            number(&report["restart"], "jobs"),
            10.0 + 2.0 + 6.0 + 2.0 + 1.0 + 8.0
        );
        assert_eq!(
            report["restart"]["seconds"].as_array().unwrap().len(),
            parties.parse::<usize>().unwrap()
        );
    }
}

#[test]
fn jobs_end_while_services_are_killed() {
    let report = bench(&[
        "service",
        "--kill",
        "40",
        "--every",
        "0.2",
        "--in-flight",
        "2",
        "--json",
    ])
    .json();
    assert_eq!(number(&report, "jobs"), 40.0);
    assert!(number(&report, "kills") >= 1.0, "{report}");
    assert_eq!(report["wrong"], Value::Array(Vec::new()));
    let failed = report["failed"].as_object().unwrap().values();
    let failed: f64 = failed.map(|count| count.as_f64().unwrap()).sum();
    assert_eq!(number(&report, "done") + number(&report, "split") + failed, 40.0);
}
