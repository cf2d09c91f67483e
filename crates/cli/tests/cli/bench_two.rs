//! `cenote bench lego`, `commit` and `ot`. What is asserted is counted, or is no shorter than a delay that was asked for; that something is
//! shorter is asked of the best of several measurements only.

use serde_json::{Value, json};

use crate::common::{bench, number};

#[test]
fn transfers_are_counted_on_both_sides() {
    for transport in ["memory", "tls"] {
        let report = bench(&[
            "ot",
            "--strings",
            "20000",
            "--repeat",
            "1",
            "--json",
            "--transport",
            transport,
        ])
        .json();
        let kinds: Vec<&str> = report["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["base OTs", "correlated", "random"]);
        for row in report["rows"].as_array().unwrap() {
            assert!(number(row, "ns_each") > 0.0);
        }
        // A column for each base OT, of which there are more than 128 bits' worth in either direction.
        assert!(number(&report, "rows.0.bytes_sent.0") > 128.0 * 32.0);
        for row in ["rows.1", "rows.2"] {
            let bytes = number(&report, &format!("{row}.bytes_each.1"));
            assert!((16.0..60.0).contains(&bytes), "{report}");
            assert!(number(&report, &format!("{row}.bytes_each.0")) < 1.0, "{report}");
        }
    }
    let text = bench(&["ot", "--strings", "1000", "--repeat", "1"]).stdout;
    assert!(text.contains("correlated") && text.contains("ns each"), "{text}");
    bench(&["ot", "--strings", "0"]).failed(2, &["at once"]);
}

#[test]
fn commitments_stand_beside_the_papers() {
    let report = bench(&[
        "commit",
        "--strings",
        "500,9000",
        "--workers",
        "2",
        "--repeat",
        "2",
        "--json",
        "--transport",
        "tcp",
    ])
    .json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["paper"]["threads"], 1);
    assert_eq!(number(&rows[0], "paper.commit_with_setup_us"), 2815.28);
    assert_eq!(rows[1]["paper"], Value::Null);
    assert_eq!(
        (report["workers"].as_u64(), report["repeat"].as_u64()),
        (Some(2), Some(2))
    );
    for row in rows {
        assert!(number(row, "commit_us") > 0.0 && number(row, "decommit_us") > 0.0);
        assert!(number(row, "commit_with_setup_us") > number(row, "commit_us"));
        // 180 bits of correction and 128 of message for each string and those that fill up and blind.
        assert!(number(row, "commit_bytes.0") > 22.5, "{row}");
        assert!(number(row, "decommit_bytes.0") > 16.0, "{row}");
    }
    let many = number(&rows[1], "decommit_bytes.0");
    assert!(
        many < 16.0 * 10240.0 / 9000.0 + 2.0 * 5000.0 / 9000.0 + 1.0,
        "{many}"
    );
    let text = bench(&["commit", "--strings", "1000", "--repeat", "1"]).stdout;
    assert!(text.contains("1401.83") && text.contains("decommit"), "{text}");
    bench(&["commit", "--strings", "0"]).failed(2, &["committed to at once"]);
}

#[test]
fn phases_stand_beside_the_papers() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("lego.svg");
    for (transport, peaks) in [("memory", 1), ("tcp", 2), ("tls", 2)] {
        let report = bench(&[
            "lego",
            "--circuit",
            "lib:aes128",
            "--latencies",
            "2",
            "--json",
            "--transport",
            transport,
            "--plot",
            plot.to_str().unwrap(),
        ])
        .json();
        for field in [
            "setup_ms",
            "independent_ms",
            "dependent_ms",
            "online_latency_ms",
            "online_throughput_ms",
        ] {
            assert!(number(&report, field) > 0.0, "{field}");
        }
        assert_eq!(report["transport"], transport);
        assert_eq!(report["circuit"]["and_gates"], 6400);
        assert_eq!(report["online_rounds"], 2);
        assert_eq!(report["peak_memory_bytes"].as_array().unwrap().len(), peaks);
        assert!(number(&report, "parameters.beta") >= 2.0);
        assert!(number(&report, "error_log2") < -37.8);
        assert_eq!(number(&report, "paper_timing.independent_ms"), 89.61);
        assert_eq!(number(&report, "paper_data.independent"), 14.94e6);
        // Two solderings of 16 bytes a gate; one label of 16 bytes for each input and output bit, one bit for each of the
        // evaluator's inputs back.
        assert!(number(&report, "bytes.dependent.0") > 32.0 * 6400.0);
        assert!(number(&report, "bytes.online.0") > 16.0 * 384.0);
        assert!(
            (16.0..100.0).contains(&number(&report, "bytes.online.1")),
            "{report}"
        );
        for phase in ["independent", "dependent", "online"] {
            let here = number(&report, &format!("bytes.{phase}.0"));
            let paper = number(&report, &format!("paper_data.{phase}"));
            assert!(here < paper, "{phase}: {here} {paper}");
        }
        let svg = std::fs::read_to_string(&plot).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        assert!(
            svg.contains("Table IV: AWS LAN") && svg.contains("latency"),
            "{svg}"
        );
    }
}

#[test]
fn outputs_to_the_garbler_take_a_third_round_over_a_slow_link() {
    let measured = |to: &str, rounds: u64, trip: f64| {
        let report = bench(&[
            "lego",
            "--circuit",
            "lib:add16",
            "--instances",
            "3",
            "--latencies",
            "3",
            "--json",
            "--transport",
            "memory",
            "--link",
            &format!("{trip},1"),
            "--to",
            to,
        ])
        .json();
        assert_eq!(report["online_rounds"], rounds, "{report}");
        assert_eq!(report["paper_timing"], Value::Null);
        assert_eq!(report["link"], json!({"rtt_ms": trip, "gbit_per_second": 1.0}));
        for field in ["online_latency_ms", "setup_ms"] {
            assert!(number(&report, field) >= trip, "{field}: {report}");
        }
        assert!(number(&report, "online_throughput_ms") >= trip / 3.0, "{report}");
        number(&report, "online_latency_ms")
    };
    for (to, rounds) in [("evaluator", 2), ("both", 3), ("garbler", 3)] {
        // The evaluator is done when the garbler's answer has come; what it then sends travels alone. On a busy machine computing takes
        // long, too: a slower link leaves more room for it.
        let soon = [80.0, 160.0, 320.0, 640.0, 1280.0]
            .into_iter()
            .any(|trip| measured(to, rounds, trip) < 2.0 * trip);
        assert!(soon, "to {to}: no measurement took less than two round trips");
    }
}

#[test]
fn settings_of_a_measurement_are_used() {
    let report = bench(&[
        "lego",
        "--circuit",
        "lib:add8",
        "--instances",
        "100",
        "--latencies",
        "1",
        "--security",
        "30",
        "--workers",
        "2",
        "--garbler",
        "1",
        "--repeat",
        "2",
        "--json",
    ])
    .json();
    let error = number(&report, "error_log2");
    assert!((-30.0..-27.9).contains(&error), "{error}");
    assert_eq!(
        (&report["workers"], &report["garbler"], &report["repeat"]),
        (&json!(2), &json!(1), &json!(2))
    );
    assert_eq!(report["instances"], 100);
    // It is the garbler that sends the most, whichever party that is.
    assert!(number(&report, "bytes.independent.0") > 10.0 * number(&report, "bytes.independent.1"));
    let text = bench(&["lego", "--circuit", "lib:add8", "--latencies", "1"]).stdout;
    assert!(
        text.contains("1 instance of lib:add8") && text.contains("online in 2 rounds"),
        "{text}"
    );
}

#[test]
fn what_makes_no_measurement_is_refused() {
    bench(&["lego", "--link", "fast"]).failed(2, &["none, lan, wan"]);
    bench(&["lego", "--to", "nobody"]).failed(2, &["evaluator, garbler or both"]);
    bench(&["lego", "--circuit", "lib:add1"]).failed(2, &["no AND gates"]);
    bench(&["lego", "--circuit", "nowhere.txt"]).failed(5, &["nowhere.txt"]);
    bench(&["lego", "tables", "--circuit", "lib:add8", "--strings", "500"])
        .failed(2, &["no circuit of the paper"]);
}

#[test]
fn all_tables_come_from_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("tables.svg");
    let args = [
        "lego",
        "tables",
        "--instances",
        "1,32",
        "--circuit",
        "lib:aes128",
        "--strings",
        "500,1000",
        "--link",
        "none",
        "20,5",
        "--latencies",
        "1",
        "--memory",
        "100M",
        "--transport",
        "memory",
        "--plot",
        plot.to_str().unwrap(),
    ];
    let text = bench(&args).stdout;
    for part in [
        "Table II: ms per circuit",
        "Table III: commitments",
        "Table IV: ms per circuit",
        "Table V: kB per circuit",
        "(89.6)",
        "(1881.6)",
        "left out",
        "32 × lib:aes128, round trips of 20 ms and 5 Gbit/s: it may need",
    ] {
        assert!(text.contains(part), "no \"{part}\" in {text}");
    }
    let svg = std::fs::read_to_string(&plot).unwrap();
    roxmltree::Document::parse(&svg).unwrap();
    assert!(svg.contains("1 × lib:aes128, 20 ms"), "{svg}");
    let report = bench(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(report["rows"].as_array().unwrap().len(), 2);
    assert_eq!(report["commitments"]["rows"].as_array().unwrap().len(), 2);
    assert_eq!(report["left_out"].as_array().unwrap().len(), 2);
}
