//! `cenote soak`. What is asserted is counted, never timed.

use serde_json::Value;

use crate::common::{cenote, finish, run, start, wait_until};

#[test]
fn every_protocol_computes_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    for protocol in cenote::Protocol::all() {
        let file = folder.path().join(protocol.name());
        let ended = run(cenote()
            .args([
                "soak",
                "--minutes",
                "0.01",
                "--largest",
                "200",
                "--every",
                "0.001",
            ])
            .args([
                "--transport",
                "tcp",
                "--protocol",
                protocol.name(),
                "--json",
                file.to_str().unwrap(),
            ]));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let count = usize::from(protocol.parties());
        assert!(ended.stdout.contains(" 0 wrong values"), "{}", ended.stdout);
        assert!(ended.stdout.contains("between computations"), "{}", ended.stdout);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (report, moments) = lines.split_last().unwrap();
        assert!(moments.len() > 1, "{text}");
        for moment in moments.iter().chain([&report["last"]]) {
            let parties = moment["parties"].as_array().unwrap();
            assert_eq!(parties.len(), count, "{moment}");
            for party in parties {
                assert_eq!(
                    (&party["wrong"], &party["warm"]),
                    (&0.into(), &true.into()),
                    "{party}"
                );
                assert!(
                    party["memory_bytes"].as_u64() <= party["peak_memory_bytes"].as_u64(),
                    "{party}"
                );
                assert!(party["in_use_bytes"].as_u64() > Some(1 << 10), "{party}");
                assert!(party["error_log2"].as_f64().unwrap() <= -30.0, "{party}");
            }
        }
        assert_eq!(report["soak"]["protocol"]["protocol"], protocol.name());
        assert_eq!(
            (&report["stopped"], report["least"].as_array().unwrap().len()),
            (&Value::Null, count)
        );
        let computations = |moment: &Value| moment["parties"][0]["computations"].as_u64().unwrap();
        assert_eq!(computations(&moments[0]), 4 + count as u64);
        assert!(computations(&report["last"]) > computations(&moments[0]));
        let of_first = |field: &str| moments[0]["parties"][0][field].as_f64().unwrap();
        assert_eq!(report["first_error_log2"], of_first("error_log2"), "{report}");
        assert!(
            ended.stdout.contains("the error bound is 2^-"),
            "{}",
            ended.stdout
        );
    }
    run(cenote().args(["soak", "--protocol", "none"])).failed(2, &["possible values"]);
    run(cenote().args(["soak", "--protocol", "three", "--minutes", "0"])).failed(2, &["thirty years"]);
    let small = [
        "soak",
        "--protocol",
        "lego",
        "--largest",
        "9",
        "--minutes",
        "0.01",
    ];
    run(cenote().args(small)).failed(2, &["10 to 2^32 AND gates"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_stream_ends_with_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let mut command = cenote();
    command.args([
        "soak",
        "--protocol",
        "three",
        "--hours",
        "1",
        "--largest",
        "2K",
        "--every",
        "0.01",
    ]);
    let child = start(command.args(["--transport", "tcp", "--json", file.to_str().unwrap()]));
    // A first line is written before the interrupt.
    wait_until("a line", || {
        !std::fs::read_to_string(&file).unwrap_or_default().is_empty()
    });
    crate::others::kill(child.id(), "-TERM");
    let ended = finish(child);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("ended by SIGTERM"), "{}", ended.stdout);
    assert!(ended.stdout.contains(" 0 wrong values"), "{}", ended.stdout);
}

/// A stream over `protocol` in which each party is killed once, soon after both have used something, as the seed has it.
fn goes_on(protocol: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (stock, lines) = (folder.path().join("stock"), folder.path().join("lines"));
    let ended = run(cenote()
        .args(["soak", "--protocol", protocol, "--kill", "2", "--seed", "90588"])
        .args(["--largest", "200", "--transport", "tcp", "--stock"])
        .arg(&stock)
        .arg("--json")
        .arg(&lines));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("2 kills"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains(" 0 twice; 0 wrong outputs"),
        "{}",
        ended.stdout
    );
    let text = std::fs::read_to_string(&lines).unwrap();
    let told: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [lives @ .., report] = &told[..] else {
        panic!("{text}")
    };
    let used = |of: &Value, party: usize| of["used"][party].as_u64().unwrap();
    for party in 0..2 {
        assert!(used(report, party) > 1000, "{report}");
        assert!(report["items"][party].as_u64().unwrap() >= 1, "{report}");
        assert!(stock.join(format!("stock-{party}")).is_dir());
        let mut killed = lives.iter().filter(|life| life["killed"] == party);
        let (life, none) = (killed.next().unwrap(), killed.next());
        assert_eq!((&life["from_use"], none), (&true.into(), None), "{text}");
    }
    assert!(
        lives.iter().all(|life| used(life, 0) > 0 && used(life, 1) > 0),
        "{text}"
    );
}

/// Parties that are killed go on with what they have on disk.
#[test]
fn a_killed_party_goes_on_with_its_pool() {
    for protocol in ["jimu", "authenticated"] {
        goes_on(protocol);
    }
    run(cenote().args(["soak", "--protocol", "lego", "--kill", "1"])).failed(2, &["nothing to go on with"]);
}
