//! `cenote plan`, and programs that are measured.

use crate::common::{cenote, run, write};

/// Two parties with `lanes` instances of AES, in a job of `protocol`.
fn job(protocol: &str, owner: u8, lanes: u64) -> String {
    format!(
        "protocol = \"{protocol}\"\ncircuit = \"lib:aes128\"\nlanes = {lanes}\n[[input]]\nparty = 0\n[[input]]\nparty = {owner}\n\
         [[output]]\nto = [0]\n"
    )
}

#[test]
#[ignore = "takes long: samples of every protocol are run (`.ci/soak` does)"]
fn what_a_job_takes_is_told_for_every_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "job.toml", &job("lego", 1, 8));
    let plan = run(cenote()
        .arg("plan")
        .arg(&file)
        .args(["--json", "--transport", "tcp", "--link", "20,1"]))
    .json();
    assert_eq!(plan["and_gates"], 51_200);
    let protocols = plan["protocols"].as_array().unwrap();
    assert_eq!(protocols[0]["protocol"], "lego");
    assert_eq!(protocols[1]["protocol"], "three");
    assert_eq!(protocols[2]["protocol"], "jimu");
    assert_eq!(protocols[3]["protocol"], "authenticated");
    for (protocol, parties) in protocols.iter().zip([2, 3, 2, 2]) {
        assert!(protocol["refused"].is_null(), "{protocol}");
        let estimate = &protocol["estimate"];
        assert_eq!(estimate["memory_bytes"].as_array().unwrap().len(), parties);
        // A round trip takes that long.
        assert!(estimate["seconds"].as_f64().unwrap() > 0.02, "{protocol}");
        assert!(estimate["bytes_sent"].as_u64().unwrap() > 100_000, "{protocol}");
    }
    // Jobs of the same kind send about what was said.
    let values = "00000000000000000000000000000000\n".repeat(8);
    let values = write(folder.path(), "values", &values);
    let with_values = format!("\nfile = {:?}\n[[", values.display().to_string());
    for (protocol, estimated) in [("lego", 0), ("jimu", 2), ("authenticated", 3)] {
        let text = job(protocol, 1, 8).replacen(
            "\n[[input]]\nparty = 1\n[[",
            &format!("\n[[input]]\nparty = 1{with_values}"),
            1,
        );
        let text = text.replacen(
            "party = 0\n",
            &format!("party = 0\nfile = {:?}\n", values.display().to_string()),
            1,
        );
        let file = write(folder.path(), "run.toml", &text);
        let report = run(cenote()
            .arg("run")
            .arg(&file)
            .args(["--json", "--transport", "tcp"]))
        .json();
        let sent = report["bytes_sent"]
            .as_array()
            .unwrap()
            .iter()
            .map(|bytes| bytes.as_u64().unwrap())
            .max()
            .unwrap();
        let said = protocols[estimated]["estimate"]["bytes_sent"].as_u64().unwrap();
        assert!(
            (0.6..1.6).contains(&(said as f64 / sent as f64)),
            "{protocol}: {said} {sent}"
        );
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "job.toml", &job("three", 2, 1));
    let plan = run(cenote().arg("plan").arg(&file).args(["--transport", "tcp"]));
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    for part in [
        "lego cannot run it: it has 2 parties",
        "jimu cannot run it",
        "authenticated cannot run it",
    ] {
        assert!(plan.stdout.contains(part), "{}", plan.stdout);
    }

    let huge = write(folder.path(), "huge.toml", &job("three", 2, 1 << 30));
    let plan = run(cenote().arg("plan").arg(&huge));
    plan.failed(2, &["the job cannot be run as it is", "of memory are needed"]);
    assert!(plan.stdout.contains("three cannot run it"), "{}", plan.stdout);
}

#[test]
fn programs_are_measured_on_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("apps.svg");
    let report = run(cenote()
        .args([
            "bench",
            "apps",
            "--app",
            "oram,aes",
            "--engine",
            "clear,three",
            "--transport",
            "tcp",
            "--json",
            "--plot",
        ])
        .arg(&plot))
    .json();
    let rows = report["rows"].as_array().unwrap();
    let named: Vec<_> = rows
        .iter()
        .map(|row| (row["app"].as_str().unwrap(), row["engine"].as_str().unwrap()))
        .collect();
    assert_eq!(
        named,
        [
            ("oram", "clear"),
            ("oram", "three"),
            ("aes", "clear"),
            ("aes", "three")
        ]
    );
    for row in rows {
        assert!(
            row["seconds"].as_f64().unwrap() > 0.0 && row["and_gates"].as_u64().unwrap() > 0,
            "{row}"
        );
    }
    assert_eq!(rows[2]["and_gates"], 6400 * 1024);
    assert!(rows[1]["speedup"].as_f64().unwrap() > 0.0 && rows[0]["speedup"].is_null());
    assert!(std::fs::read_to_string(plot).unwrap().contains("oram"));
}

/// The steps of a query are drawn; a circuit has none.
#[test]
fn the_steps_of_a_query_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, party: u8| {
        format!(
            "[[table]]\nname = \"{name}\"\nparty = {party}\nmax_rows = 10\nunique = [\"id\"]\ncolumns = {{ id = \"u8\", x = \"u8\" }}\n"
        )
    };
    let query = "SELECT SUM(a.x) AS s FROM a JOIN b USING (id) WHERE b.x < 7";
    let text = format!(
        "protocol = \"three\"\nquery = \"{query}\"\n{}{}[answer]\nmax_rows = 1\n",
        table("a", 0),
        table("b", 1)
    );
    let file = write(folder.path(), "job.toml", &text);
    for (name, start) in [("plan.svg", &b"<svg"[..]), ("plan.png", b"\x89PNG")] {
        let plot = folder.path().join(name);
        let plan = run(cenote().arg("plan").arg(&file).arg("--plot").arg(&plot));
        assert_eq!(plan.code, Some(0), "{}", plan.stderr);
        assert!(plan.stderr.contains("wrote the plot to"), "{}", plan.stderr);
        let drawn = std::fs::read(&plot).unwrap();
        assert!(drawn.starts_with(start));
        if name.ends_with("svg") {
            let svg = String::from_utf8(drawn).unwrap();
            for part in [
                "join on",
                "party 1, in the clear",
                "all parties, secretly",
                "rows of",
                "the answer, to ",
                " ANDs, ",
                "ANDs of the step alone",
            ] {
                assert!(svg.contains(part), "{part}: {svg}");
            }
        }
    }
    let circuit = write(folder.path(), "circuit.toml", &job("three", 2, 1));
    let plan = run(cenote().arg("plan").arg(&circuit).args(["--plot", "plan.svg"]));
    plan.failed(2, &["--plot draws the steps of a query"]);
}
