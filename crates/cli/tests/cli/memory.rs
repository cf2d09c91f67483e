//! Jobs that do not fit this machine's memory: refused with what they need, before anything is allocated or anybody met.

use crate::common::{cenote, run, write};

fn job(protocol: &str, circuit: &str, lanes: u64) -> String {
    format!(
        "protocol = \"{protocol}\"\ncircuit = \"lib:{circuit}\"\nlanes = {lanes}\n[[input]]\nparty = 0\nhex = \"12\"\n\
         [[input]]\nparty = 1\nhex = \"34\"\n[[output]]\nto = [0, 1]\n"
    )
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for protocol in ["three", "lego", "jimu", "authenticated"] {
        for lanes in [400_000_000, 1 << 34] {
            let job = write(folder.path(), "job.toml", &job(protocol, "add8", lanes));
            run(cenote().arg("run").arg(&job).args(["--memory", "4000"])).failed(
                2,
                &[
                    "of memory are needed",
                    "4.0 GB is the limit",
                    "--memory",
                    "fewer lanes",
                ],
            );
        }
        let job = write(folder.path(), "job.toml", &job(protocol, "add8", 1 << 34));
        run(cenote().arg("run").arg(&job)).failed(2, &["of memory are needed", "this machine"]);
    }
}

#[test]
fn a_limit_that_is_kept_refuses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (protocol, circuit, lanes) in [
        ("lego", "add8", 3),
        ("jimu", "add8", 3),
        ("jimu", "mult32", 400),
        ("authenticated", "add8", 3),
        ("authenticated", "mult32", 400),
    ] {
        let job = write(folder.path(), "job.toml", &job(protocol, circuit, lanes));
        let report = run(cenote().arg("run").arg(&job).args(["--memory", "2000", "--json"])).json();
        for (peak, party) in report["peak_memory_bytes"]
            .as_array()
            .unwrap()
            .iter()
            .zip(report["parties"].as_array().unwrap())
        {
            let bound = party["memory_bound_bytes"].as_u64().unwrap();
            assert!(
                peak.as_u64().is_none_or(|peak| peak <= bound),
                "{protocol}, {circuit}: {peak} of {bound}"
            );
            // Besides what the session takes there are queues to the peer and the process, which are hardly used.
            let around = 160 << 20;
            assert!(
                protocol != "jimu" || peak.as_u64().is_none_or(|peak| bound <= peak + peak / 3 + around),
                "{protocol}, {circuit}: {peak} of {bound}"
            );
        }
    }
}
