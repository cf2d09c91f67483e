//! Measurements over pools: `cenote bench jimu` and `cenote bench authenticated`.

use crate::common::{bench, number};

#[test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
fn pools_are_filled_and_used_beside_the_papers() {
    for (transport, processes) in [("memory", 1), ("tls", 2)] {
        let report = bench(&[
            "jimu",
            "--pool",
            "1000,10K",
            "--buffer",
            "4096",
            "--circuit",
            "lib:add64=3",
            "--seconds",
            "0.05",
            "--security",
            "20",
            "--json",
            "--transport",
            transport,
        ])
        .json();
        assert_eq!(
            (number(&report, "rows.0.pool"), number(&report, "rows.1.pool")),
            (1000.0, 10_000.0)
        );
        assert_eq!(number(&report, "rows.1.fill.paper_seconds"), 0.34);
        assert_eq!(number(&report, "stored.0.paper.1"), 240.0);
        for row in report["rows"].as_array().unwrap() {
            assert_eq!(
                row["peak_memory_bytes"].as_array().unwrap().len(),
                processes,
                "{row}"
            );
            assert!(number(row, "error_log2") <= -17.0, "{row}");
            // Half gates, labels and hashes of each gate, and what is checked.
            assert!(number(row, "fill.bytes.0") > 150.0 * number(row, "pool"), "{row}");
            let rate = &row["rates"][0];
            assert_eq!(rate["lanes"], 3);
            assert_eq!(number(rate, "and_gates") % 189.0, 0.0, "{rate}");
            assert!(number(rate, "and_gates_per_second") > 0.0 && number(rate, "busy_ns_per_and.1") > 0.0);
            assert!(
                number(rate, "bytes_per_and.0") > 60.0 * number(row, "fill.bucket"),
                "{row}"
            );
            // Exactly a bucket for each gate, as the garbler gets no outputs.
            let theory = number(row, "gates_per_and");
            assert!(
                (number(rate, "gadgets_per_and") / theory - 1.0).abs() < 1e-6,
                "{row}"
            );
        }
    }
    let plot = tempfile::NamedTempFile::new().unwrap();
    let file = plot.path().to_str().unwrap();
    let text = bench(&[
        "jimu",
        "--pool",
        "1000",
        "--buffer",
        "1024",
        "--security",
        "20",
        "--seconds",
        "0.01",
        "--circuit",
        "lib:add64",
        "--plot",
        file,
        "--transport",
        "memory",
    ])
    .stdout;
    assert!(
        text.contains("Table 3") && text.contains("MUXCORE-8") && text.contains("Figure 5"),
        "{text}"
    );
    assert!(std::fs::read_to_string(file).unwrap().contains("B/(1 - r_c)"));
    let text = bench(&[
        "jimu",
        "--pool",
        "1000",
        "--buffer",
        "1024",
        "--security",
        "20",
        "--fill-only",
    ])
    .stdout;
    assert!(text.contains("Table 3") && !text.contains("Figure 5"), "{text}");
    let report = bench(&[
        "jimu",
        "--pool",
        "1000",
        "--buffer",
        "1024",
        "--security",
        "20",
        "--seconds",
        "0.01",
        "--circuit",
        "mux7",
        "--mux",
        "--json",
        "--transport",
        "memory",
    ])
    .json();
    assert_eq!(report["rows"][0]["rates"].as_array().unwrap().len(), 1);
    let mux = &report["rows"][0]["mux"];
    assert!(
        number(mux, "fill.bytes.0") > 1000.0 * number(&report, "stored.1.bytes.1"),
        "{mux}"
    );
    for row in mux["rows"].as_array().unwrap() {
        let [without, with] = [0, 1].map(|at| number(row, &format!("bytes_per_and.{at}")));
        assert!(with < without && number(row, "gain") > 0.0, "{row}");
    }
    bench(&["jimu", "--pool", "999"]).failed(2, &["1000 to 100000000 gates"]);
    bench(&["jimu", "--buffer", "100"]).failed(2, &["multiple of 64"]);
    bench(&["jimu", "--circuit", "lib:add64=0"]).failed(2, &["1 to 2^20"]);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
fn authenticated_garbling_is_measured_all_in_and_over_full_pools() {
    for (transport, processes) in [("memory", 1), ("tls", 2)] {
        let report = bench(&[
            "authenticated",
            "--pool",
            "1000,10K",
            "--lot",
            "4096",
            "--circuit",
            "lib:add64=3",
            "--seconds",
            "0.05",
            "--security",
            "20",
            "--symbols",
            "16",
            "--json",
            "--transport",
            transport,
        ])
        .json();
        assert_eq!(number(&report, "symbols"), 16.0);
        assert_eq!(
            (
                number(&report, "table.0.pool"),
                number(&report, "table.0.paper_pool")
            ),
            (478_610.0, 479_000.0)
        );
        for row in report["rows"].as_array().unwrap() {
            assert_eq!(
                row["peak_memory_bytes"].as_array().unwrap().len(),
                processes,
                "{row}"
            );
            assert!(number(row, "error_log2") <= -19.9, "{row}");
            // A short block of each leaky AND, and three authenticated bits.
            assert!(number(row, "fill_bytes.0") > 11.0 * number(row, "pool"), "{row}");
            let rate = &row["rates"][0];
            assert_eq!(number(rate, "and_gates") % 189.0, 0.0, "{rate}");
            assert!(number(rate, "all_in_per_second") > 0.0 && number(rate, "full_pool_ms") > 0.0);
            assert!(number(rate, "all_in_busy_ns.1") > 0.0 && number(rate, "full_pool_busy_ns.0") > 0.0);
            // Tables go one way; leaky ANDs go both ways.
            let sum = |what: &str| number(rate, &format!("{what}.0")) + number(rate, &format!("{what}.1"));
            assert!(sum("full_pool_bytes") > 32.0, "{rate}");
            assert!(
                sum("all_in_bytes") > sum("full_pool_bytes") + 2.0 * 6.0 * number(row, "bucket"),
                "{rate}"
            );
        }
    }
    let plot = tempfile::NamedTempFile::new().unwrap();
    let file = plot.path().to_str().unwrap();
    let small = [
        "authenticated",
        "--pool",
        "1000",
        "--lot",
        "1024",
        "--security",
        "20",
        "--transport",
        "memory",
    ];
    let text = bench(
        &[
            &small[..],
            &["--seconds", "0.01", "--circuit", "lib:add64", "--plot", file],
        ]
        .concat(),
    )
    .stdout;
    assert!(text.contains("Table 6") && text.contains("full pool"), "{text}");
    assert!(
        std::fs::read_to_string(file)
            .unwrap()
            .contains("leaky ANDs of a triple")
    );
    let text = bench(&[&small[..], &["--fill-only"]].concat()).stdout;
    assert!(text.contains("fill s") && !text.contains("full pool"), "{text}");
    // A block of each leaky AND, next to nothing for its bits, and what an iteration takes.
    let fill = |pool: &str, cot: &str| {
        let report = bench(
            &[
                &small[..],
                &["--pool", pool, "--fill-only", "--cot", cot, "--json"],
            ]
            .concat(),
        )
        .json();
        assert_eq!(report["cot"], cot);
        number(&report, "rows.1.fill_bytes.0")
    };
    let [few, more] = ["100K", "200K"].map(|pool| fill(pool, "pcg"));
    assert!(
        more - few < 18.0 * 100e3 && fill("200K", "softspoken") > more,
        "{few} {more}"
    );
    bench(&["authenticated", "--cot", "kos"]).failed(2, &["softspoken or pcg"]);
    bench(&["authenticated", "--pool", "3"]).failed(2, &["n = 3"]);
    bench(&["authenticated", "--lot", "10"]).failed(2, &["64 to 2^22"]);
}
