//! `cenote run`: reports, secrecy, and what is wrong with a job.

use std::path::Path;

use crate::common::{cenote, run, write};

const ADD: &str = "protocol = \"three\"\ncircuit = \"lib:add16\"\n";

fn inputs(x: &str, y: &str) -> String {
    format!(
        "{ADD}[[input]]\nparty = 0\nhex = \"{x}\"\n[[input]]\nparty = 1\nhex = \"{y}\"\n[[output]]\nto = [2]\n"
    )
}

fn run_text(folder: &Path, text: &str, more: &[&str]) -> crate::common::Ended {
    run(cenote()
        .arg("run")
        .arg(write(folder, "job.toml", text))
        .args(more))
}

#[test]
fn json_has_every_promised_field() {
    let folder = tempfile::tempdir().unwrap();
    for transport in ["tls", "tcp"] {
        let report = run_text(
            folder.path(),
            &inputs("1234", "0x0fff"),
            &["--json", "--transport", transport],
        )
        .json();
        assert_eq!(report["outputs"][0]["values"], serde_json::json!(["0x2233"]));
        assert_eq!(report["outputs"][0]["to"], serde_json::json!([2]));
        assert_eq!(
            (
                report["protocol"].as_str(),
                report["parameters"]["variant"].as_str()
            ),
            (Some("three"), Some("proofs"))
        );
        assert_eq!(
            (report["view_check"].as_str(), report["security"].as_u64()),
            (Some("mac"), Some(40))
        );
        assert_eq!(report["transport"], transport);
        assert_eq!(report["and_gates"].as_u64(), Some(15));
        assert!(report["rounds"].as_u64().unwrap() >= 15);
        let seconds = report["seconds"].as_object().unwrap();
        for phase in ["connect", "run", "total", "input", "evaluate", "verify"] {
            assert!(seconds[phase].as_f64().unwrap() >= 0.0, "{phase}");
        }
        for list in ["bytes_sent", "peak_memory_bytes", "parties"] {
            assert_eq!(report[list].as_array().unwrap().len(), 3, "{list}");
        }
        assert!(
            report["bytes_sent"]
                .as_array()
                .unwrap()
                .iter()
                .all(|bytes| bytes.as_u64().unwrap() > 0)
        );
        assert!(report["bits_per_and"].as_f64().unwrap() > 7.0);
        assert!(report["error_log2"].as_f64().unwrap() <= -40.0 + 1e-9);
        assert!(report["computational_bits"].as_f64().unwrap() > 120.0);
        assert!(report["memory_bound_bytes"].as_u64().unwrap() > 0);
        assert!(report["and_gates_per_second"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn settings_are_used() {
    let folder = tempfile::tempdir().unwrap();
    for variant in ["baseline", "cache-efficient", "on-demand"] {
        let settings = format!("variant = \"{variant}\"\nview_check = \"sha256\"\nsecurity = 60\n");
        let report = run_text(folder.path(), &(settings + &inputs("ff", "01")), &["--json"]).json();
        assert_eq!(report["outputs"][0]["values"], serde_json::json!(["0x0100"]));
        assert_eq!(
            (report["variant"].as_str(), report["view_check"].as_str()),
            (Some(variant), Some("sha256"))
        );
        assert!(report["error_log2"].as_f64().unwrap() <= -60.0 + 1e-9);
    }
}

#[test]
fn lanes_come_from_files_and_single_values_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..100).map(|lane| format!("{lane}\n")).collect();
    write(folder.path(), "x.csv", &lines);
    let job = format!(
        "{ADD}[[input]]\nparty = 2\nfile = \"x.csv\"\n[[input]]\nparty = 1\nhex = \"3\"\n[[output]]\nto = [0]\n"
    );
    let report = run_text(folder.path(), &job, &["--json"]).json();
    let expected: Vec<String> = (0..100).map(|lane| format!("0x{:04x}", lane + 3)).collect();
    assert_eq!(report["outputs"][0]["values"], serde_json::json!(expected));
    let text = run_text(folder.path(), &job, &[]).stdout;
    assert!(
        text.contains("100 lanes") && text.contains("92 more") && text.contains("0x0003  3"),
        "{text}"
    );
}

#[test]
fn inputs_do_not_appear_in_the_log_or_the_report() {
    let folder = tempfile::tempdir().unwrap();
    // So long that no count, time or port has them in it by chance.
    let (x, y) = (0x93d0_c6f5_a1be_ef27_u64, 0x0dad_4c81_7e3b_95a6_u64);
    let job = inputs(&format!("{x:x}"), &format!("{y:x}")).replace("add16", "add64");
    let ended = run_text(folder.path(), &job, &["--json", "-vv"]);
    assert!(ended.stderr.contains("session started"), "{}", ended.stderr);
    let sum = format!("{:#x}", x.wrapping_add(y));
    assert_eq!(ended.json()["outputs"][0]["values"], serde_json::json!([sum]));
    let parts = [x, y]
        .map(|secret| [format!("{secret:016x}"), secret.to_string()].map(|text| text[..10].to_string()));
    for secret in parts.as_flattened() {
        assert!(
            !ended.stderr.contains(secret) && !ended.stdout.contains(secret),
            "{secret}"
        );
    }
}

#[test]
fn failures_have_their_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let job = |text: &str, more: &[&str]| run_text(folder.path(), text, more);
    job("protocol = 3\n", &[]).failed(2, &["job.toml, line 1:"]);
    job(&inputs("1", "2").replace("to = [2]", "to = [3]"), &[])
        .failed(2, &["job.toml, line 10: there is no party 3"]);
    job(&inputs("12345", "2"), &[]).failed(5, &["job.toml, line 5: `hex` of x"]);
    job(&inputs("1", "2").replace("lib:add16", "nowhere.txt"), &[])
        .failed(5, &["nowhere.txt: the circuit cannot be read"]);
    job(&inputs("1", "2").replace("lib:add16", "lib:nothing"), &[])
        .failed(2, &["job.toml, line 2", "no circuit \"nothing\""]);
    run(cenote().args(["run", "/nowhere/job.toml"])).failed(2, &["/nowhere/job.toml: cannot be read"]);
    run(cenote().args(["run", "--transport", "memory", "job.toml"])).failed(2, &["joined by tls or tcp"]);
    run(cenote().args(["run"])).failed(2, &["Usage"]);
    let ended = job(&inputs("12345", "2"), &["--json"]);
    assert_eq!(ended.code, Some(5));
    let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (
            error["error"]["kind"].as_str(),
            error["error"]["exit_code"].as_u64()
        ),
        (Some("bad-input"), Some(5))
    );
    assert!(!ended.stdout.contains("12345") && !ended.stderr.contains("12345"));
}

/// The job in the README, which is FIPS 197, Appendix C.1.
#[test]
fn the_job_in_the_readme_runs() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let job = readme
        .split_once("```toml\n")
        .unwrap()
        .1
        .split_once("```")
        .unwrap()
        .0;
    let folder = tempfile::tempdir().unwrap();
    let ended = run_text(folder.path(), job, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("0x69c4e0d86a7b0430d8cdb78070b4c55a"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_phase_has_the_limit_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let job = write(
        folder.path(),
        "job.toml",
        "protocol = \"lego\"\ncircuit = \"lib:add8\"\n[[input]]\nparty = 0\nhex = \"1\"\n[[input]]\nparty = 1\nhex = \"2\"\n\
         [[output]]\nto = [0]\n",
    );
    let ended = run(cenote().arg("run").arg(job).args(["--phase-timeout", "0.001"]));
    ended.failed(3, &["the time for the ", "is over", "phase_timeout"]);
}
