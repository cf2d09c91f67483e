//! `cenote bench`. What is asserted is counted, never timed.

use serde_json::Value;

use crate::common::{bench, cenote, number, run};

#[test]
fn one_job_runs_over_every_transport() {
    for (transport, peaks) in [("memory", 1), ("tcp", 3), ("tls", 3)] {
        let report = bench(&[
            "three",
            "--one-job",
            "--json",
            "--circuit",
            "lib:mult32",
            "--and-gates",
            "300000",
            "--transport",
            transport,
        ])
        .json();
        assert!(number(&report, "and_gates") >= 300_000.0);
        assert!(number(&report, "and_gates_per_second") > 0.0);
        assert_eq!(report["transport"], transport);
        assert_eq!(report["bytes_sent"].as_array().unwrap().len(), 3);
        assert_eq!(report["peak_memory_bytes"].as_array().unwrap().len(), peaks);
        assert_eq!(report["outputs"][0]["values"], Value::Null);
    }
}

#[test]
fn one_job_takes_its_settings() {
    for variant in ["baseline", "cache-efficient", "on-demand"] {
        let report = bench(&[
            "three",
            "--json",
            "--circuit",
            "lib:add64",
            "--lanes",
            "1000",
            "--variant",
            variant,
            "--view-check",
            "sha256",
            "--security",
            "50",
            "--transport",
            "memory",
        ])
        .json();
        assert_eq!(
            (number(&report, "lanes"), number(&report, "and_gates")),
            (1000.0, 63_000.0)
        );
        assert_eq!(
            (report["variant"].as_str(), report["security"].as_u64()),
            (Some(variant), Some(50))
        );
        assert!(number(&report, "error_log2") <= -50.0 + 1e-9);
    }
    let text = bench(&[
        "three",
        "--one-job",
        "--circuit",
        "lib:add64",
        "--and-gates",
        "1000",
    ])
    .stdout;
    assert!(text.contains("ANDs per second"), "{text}");
}

/// What is timed of proofs has whole batches too, and costs what is declared.
#[test]
fn sections_of_proofs_cost_what_is_declared() {
    let report = bench(&[
        "three",
        "--json",
        "--transport",
        "memory",
        "--n",
        "16384",
        "--batches",
        "3",
    ])
    .json();
    assert_eq!(
        (&report["variant"], &report["mode"]),
        (&"proofs".into(), &"full".into())
    );
    assert_eq!(report["parameters"]["gates_per_batch"], 16384 * 512, "{report}");
    assert!(
        number(&report, "batches") >= 3.0 && number(&report, "error_log2") <= -40.0,
        "{report}"
    );
    let (declared, bits) = (
        number(&report, "declared_bits_per_and"),
        number(&report, "bits_per_and"),
    );
    assert!((1.0..1.04).contains(&declared), "{report}");
    // Inputs and outputs add 384 bits to 6400 gates, and the last batch of a section is not full.
    assert!((declared..declared + 0.1).contains(&bits), "{report}");
}

/// Bits per AND and counts of every variant in every mode, at a size where a batch is small.
#[test]
fn sections_use_whole_batches_and_cost_what_is_declared() {
    for variant in ["baseline", "cache-efficient", "reshuffle", "on-demand"] {
        for mode in ["full", "offline", "online"] {
            let report = bench(&[
                "three",
                "--json",
                "--transport",
                "memory",
                "--variant",
                variant,
                "--mode",
                mode,
                "--n",
                "16384",
                "--batches",
                "3",
            ])
            .json();
            let context = format!("{variant} {mode}: {report}");
            assert_eq!(
                (&report["variant"], &report["mode"]),
                (&variant.into(), &mode.into())
            );
            assert_eq!(report["parameters"]["N"], 16384, "{context}");
            let batch = 16384.0 * 512.0;
            let (batches, gates) = (number(&report, "batches"), number(&report, "and_gates"));
            assert!((3.0..=6.0).contains(&batches), "{context}");
            // Whole instances of 6400 gates in 512 lanes each fit batches but for less than one, and inputs and outputs add
            // their bits: 128 of each owner's, 128 opened.
            let declared = number(&report, "declared_bits_per_and");
            let bits = number(&report, "bits_per_and");
            let (most, expected) = match (mode, variant) {
                ("offline", _) => (1.001, (0.0, 5.0)),
                // Verification by whole batches leaves up to a layer of each unused.
                (_, "reshuffle") => (1.10, (5.0, 0.0)),
                ("full", _) => (1.02 + 6400.0 / (3.0 * 16384.0), (5.0, 5.0)),
                _ => (1.02, (5.0, 0.0)),
            };
            assert!(
                bits >= declared * 0.999 && bits <= declared * most,
                "{bits} {context}"
            );
            assert_eq!(gates > 0.0, expected.0 > 0.0, "{context}");
            assert!(
                gates <= batches * batch && (gates == 0.0 || gates > 0.5 * batches * batch),
                "{context}"
            );
            let triples = number(&report, "triples");
            match mode {
                "online" => assert_eq!(triples, 0.0, "{context}"),
                // As many are made as are used, and more only where one begins in between.
                "full" => assert!(triples >= gates, "{context}"),
                _ => assert!(triples >= 2.0 * batch, "{context}"),
            }
            assert_eq!(
                report["and_gates_per_second"].is_null(),
                mode == "offline",
                "{context}"
            );
            assert_eq!(
                report["triples_per_second"].is_null(),
                mode == "online",
                "{context}"
            );
            assert_eq!(
                report["latency_ms"].is_null(),
                mode == "offline" || variant == "reshuffle",
                "{context}"
            );
            assert!(number(&report["cpu"], "percent") > 0.0 && number(&report["cpu"], "ns_per_gate") > 0.0);
            assert!(number(&report, "gbit_per_second") > 0.0 && number(&report, "memory_bound_bytes") > 0.0);
            assert!(report["ring"].is_null());
        }
    }
}

#[test]
fn sections_run_as_processes_with_workers_and_the_wire_beside() {
    for transport in ["tcp", "tls"] {
        let report = bench(&[
            "three",
            "--json",
            "--transport",
            transport,
            "--workers",
            "2",
            "--circuit",
            "lib:add64",
            "--n",
            "1024",
            "--and-gates",
            "500000",
            "--with-ring",
            "--ring-seconds",
            "0.05",
        ])
        .json();
        assert!(number(&report, "and_gates") >= 0.9 * 5e5, "{report}");
        assert_eq!(report["workers"], 2);
        assert_eq!(report["peak_memory_bytes"].as_array().unwrap().len(), 3);
        assert_eq!(report["cpu"]["seconds"].as_array().unwrap().len(), 3);
        assert_eq!(report["ring"]["channels"], 4);
        assert_eq!(report["ring"]["transport"], transport);
        assert!(number(&report, "ring_share") > 0.0);
    }
}

/// Batches that a single unit of the circuit does not fit, in cycle after cycle.
#[test]
fn circuits_larger_than_a_batch_are_measured() {
    for mode in ["full", "offline", "online"] {
        let report = bench(&[
            "three",
            "--json",
            "--transport",
            "memory",
            "--variant",
            "on-demand",
            "--mode",
            mode,
            "--n",
            "4096",
            "--batches",
            "3",
        ])
        .json();
        assert!(number(&report, "batches") >= 3.0, "{report}");
        if mode == "full" {
            assert!(
                number(&report, "triples") >= number(&report, "and_gates"),
                "{report}"
            );
        }
    }
}

#[test]
fn memory_decides_the_parameters() {
    let report = bench(&[
        "three",
        "--json",
        "--transport",
        "memory",
        "--memory",
        "64Mi",
        "--batches",
        "2",
    ])
    .json();
    let parameters = &report["parameters"];
    assert!(
        parameters["memory_bytes"].as_u64().unwrap() <= 64 << 20,
        "{report}"
    );
    assert!(parameters["B"].as_u64().unwrap() > 2 && number(&report, "error_log2") <= -40.0 + 1e-9);
}

#[test]
fn one_instance_takes_its_rounds() {
    let report = bench(&[
        "three",
        "latency",
        "--json",
        "--circuit",
        "lib:aes128,lib:add64",
        "--transport",
        "memory,tcp",
        "--n",
        "1024",
        "--repeat",
        "2",
        "--link-rtt",
        "2",
    ])
    .json();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(
        (&runs[0]["transport"], &runs[1]["transport"]),
        (&"memory".into(), &"tcp".into())
    );
    for run in runs {
        for circuit in run["circuits"].as_array().unwrap() {
            let depth = number(&circuit["circuit"], "and_depth");
            let rounds = number(circuit, "rounds");
            // Two owners' inputs, the verification's five, the opening.
            assert_eq!(rounds, depth + 8.0, "{circuit}");
            // The link's delay alone takes a part of that: not every round is on the path between the parties' clocks.
            assert!((number(circuit, "delay_seconds") - rounds * 1e-3).abs() < 1e-9);
            assert!(number(circuit, "seconds") >= depth * 1e-3, "{circuit}");
            assert!(number(circuit, "ratio") > 0.0);
        }
    }
    let text = bench(&[
        "three",
        "latency",
        "--circuit",
        "lib:add64",
        "--transport",
        "memory",
        "--n",
        "1024",
        "--repeat",
        "1",
    ])
    .stdout;
    assert!(
        text.contains("lib:add64") && text.contains("one instance, three, proofs"),
        "{text}"
    );
}

#[test]
fn the_wire_is_measured_over_every_transport() {
    for transport in ["memory", "tcp", "tls"] {
        let report = bench(&[
            "ring",
            "--json",
            "--transport",
            transport,
            "--seconds",
            "0.05",
            "--message",
            "32Ki",
        ])
        .json();
        assert_eq!(
            (
                &report["transport"],
                &report["channels"],
                &report["message_bytes"]
            ),
            (&transport.into(), &2.into(), &32_768.into())
        );
        assert!(number(&report, "bytes") >= 2.0 * 32_768.0 && number(&report, "gbit_per_second") > 0.0);
    }
    let text = bench(&[
        "ring",
        "--transport",
        "memory",
        "--seconds",
        "0.01",
        "--workers",
        "2",
    ])
    .stdout;
    assert!(text.contains("Gbit/s") && text.contains("4 channels"), "{text}");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
fn table_2_has_every_row_of_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("table2.svg");
    let args = [
        "three",
        "table2",
        "--transport",
        "memory",
        "--n",
        "16384",
        "--batches",
        "2",
        "--ring-seconds",
        "0.01",
        "--repeat",
        "2",
    ];
    let report = run(cenote()
        .arg("bench")
        .args(args)
        .arg("--json")
        .arg("--plot")
        .arg(&plot))
    .json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let expected = [
        ("baseline", "sha256", "full", 503_766_615.0),
        ("cache-efficient", "sha256", "full", 765_448_459.0),
        ("on-demand", "sha256", "full", 988_216_830.0),
        ("on-demand", "mac", "full", 1_152_751_967.0),
        ("on-demand", "mac", "online", 1_726_737_312.0),
        ("cache-efficient", "mac", "online", 2_132_197_567.0),
    ];
    for (row, (variant, check, mode, paper)) in rows.iter().zip(expected) {
        assert_eq!(
            (&row["variant"], &row["view_check"], &row["mode"]),
            (&variant.into(), &check.into(), &mode.into())
        );
        assert_eq!(number(&row["paper"], "and_gates_per_second"), paper);
        for field in [
            "and_gates_per_second",
            "cpu_percent",
            "gbit_per_second",
            "latency_ms",
            "per_core_over_paper",
            "ring_share",
        ] {
            assert!(number(row, field) > 0.0, "{field} {row}");
        }
        let bits = number(row, "bits_per_and");
        let most = match (mode, variant) {
            ("online", _) => 3.1,
            (_, "on-demand") => 7.5,
            _ => 10.7,
        };
        assert!(bits <= most, "{row}");
        let runs = row["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        assert!(
            runs.iter()
                .all(|run| run["variant"] == variant && run["view_check"] == check && run["mode"] == mode)
        );
    }
    // 2.3 times the baseline, 1.5 times, 1.8 times: as the paper says.
    let ratio = |of: &str, over: &str| {
        let ratios = report["ratios"].as_array().unwrap();
        let ratio = ratios
            .iter()
            .find(|ratio| ratio["of"] == of && ratio["over"] == over);
        (10.0 * number(ratio.unwrap(), "paper")).round() / 10.0
    };
    assert_eq!(ratio("on-demand, MAC", "baseline, SHA"), 2.3);
    assert_eq!(ratio("cache-efficient, SHA", "baseline, SHA"), 1.5);
    assert_eq!(ratio("online: cache-eff., MAC", "on-demand, MAC"), 1.8);
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.matches("<rect").count() == 1 + 2 + 12,
        "{svg}"
    );
    let text = bench(&[&args[..10], &["--repeat", "1"]].concat()).stdout;
    assert!(
        text.contains("1152.8") && text.contains("online: cache-eff., MAC") && text.contains("the wire"),
        "{text}"
    );
}

#[test]
fn benchmarks_refuse_what_does_not_go_together() {
    let three = |args: &[&str]| bench(&[&["three"], args].concat());
    three(&["--variant", "fastest"]).failed(2, &["baseline, cache-efficient"]);
    three(&["--security", "500"]).failed(2, &["500"]);
    three(&["--mode", "half"]).failed(2, &["full, offline or online"]);
    three(&["--lanes", "1", "--and-gates", "5"]).failed(2, &["cannot be used with"]);
    three(&["--one-job", "--mode", "online"]).failed(2, &["cannot be used with"]);
    three(&["--batches", "2", "--seconds", "5"]).failed(2, &["cannot be used with"]);
    three(&["--memory", "12 bananas"]).failed(2, &["512Mi"]);
    let on_demand = |args: &[&str]| three(&[&["--variant", "on-demand"], args].concat());
    three(&["--memory", "1000"]).failed(2, &["triple storage <= 1000 bytes", "at least"]);
    three(&["--circuit", "/nowhere.txt"]).failed(5, &["/nowhere.txt"]);
    three(&["--circuit", "lib:add1"]).failed(2, &["no AND gates"]);
    on_demand(&["--n", "7"]).failed(2, &["no batches of 7 blocks"]);
    three(&[
        "--variant",
        "reshuffle",
        "--n",
        "64",
        "--transport",
        "memory",
        "--batches",
        "1",
    ])
    .failed(2, &["a layer of this circuit"]);
    let proofs = |args: &[&str]| three(&[&["--variant", "proofs"], args].concat());
    proofs(&["--memory", "64Mi"]).failed(2, &["--variant on-demand"]);
    proofs(&["--mode", "offline"]).failed(2, &["--variant on-demand"]);
    proofs(&["--security", "121"]).failed(2, &["1 <= security <= 120"]);
    three(&["--link", "lan", "--with-ring"]).failed(2, &["cannot be used with"]);
    three(&["latency", "--variant", "reshuffle"]).failed(2, &["spends a whole batch"]);
    three(&["latency", "--link-rtt", "99999"]).failed(2, &["from 0 to 10000"]);
    three(&["table2", "--repeat", "0"]).failed(2, &["--repeat"]);
    bench(&["ring", "--message", "0"]).failed(2, &["1 byte to 16 MiB"]);
    bench(&["ring", "--transport", "carrier pigeon"]).failed(2, &["memory, tcp or tls"]);
    let report = three(&["--json", "--circuit", "lib:nothing"]);
    report.failed(2, &["no circuit \"nothing\""]);
    assert!(report.stdout.contains("\"exit_code\": 2"), "{}", report.stdout);
}
