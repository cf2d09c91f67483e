//! The processes of `cenote run`: what happens when one of them, or their parent, is killed.
#![cfg(target_os = "linux")]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::common::{cenote, finish, start, wait_until, write};

/// A run that takes long, and its folder.
fn long_run(more: &[&str]) -> (tempfile::TempDir, Child) {
    let folder = tempfile::tempdir().unwrap();
    let job = "protocol = \"three\"\ncircuit = \"lib:mult64\"\nlanes = 1000000\n\
               [[input]]\nparty = 0\nhex = \"3\"\n[[input]]\nparty = 1\nhex = \"5\"\n[[output]]\nto = [2]\n";
    let job = write(folder.path(), "job.toml", job);
    let child = start(cenote().arg("run").arg(job).args(["--timeout", "5"]).args(more));
    (folder, child)
}

/// The children of a process, in the order in which they were started.
fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// Whether a process is there and has not ended.
fn alive(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with(['Z', 'X']));
        state == Some(false)
    })
}

/// Bytes that a process has written, to sockets too.
fn written(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

fn kill(id: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([signal, &id.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits until the parties compute, and gives their processes.
fn computing(parent: u32) -> Vec<u32> {
    wait_until("computing", || {
        let parties = children(parent);
        parties.len() == 3 && parties.iter().all(|&party| written(party) > 2_000_000)
    });
    children(parent)
}

#[test]
fn a_killed_party_is_told_as_the_cause() {
    let (_folder, run) = long_run(&[]);
    let parties = computing(run.id());
    kill(parties[1], "-9");
    let killed = Instant::now();
    let ended = finish(run);
    ended.failed(
        3,
        &[
            "error: party 1: its process ended without a word",
            "signal: 9",
            "party 0 then stopped",
            "party 1",
        ],
    );
    assert!(killed.elapsed() < Duration::from_secs(15));
    assert!(!parties.iter().any(|&party| alive(party)));
}

#[test]
fn a_silent_party_is_named_within_the_timeout() {
    let (_folder, run) = long_run(&["--json"]);
    let parties = computing(run.id());
    kill(parties[2], "-STOP");
    let stopped = Instant::now();
    let ended = finish(run);
    ended.failed(3, &["party 2", "in step \""]);
    let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(error["error"]["kind"], "network");
    assert!(stopped.elapsed() < Duration::from_secs(25));
    assert!(!parties.iter().any(|&party| alive(party)));
}

/// Whether this process was started with interrupts ignored, as shells start what runs in the background.
fn interrupts_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (2 - 1) != 0)
}

#[test]
fn the_parties_end_with_their_parent() {
    for signal in ["-9", "-TERM", "-INT"] {
        if signal == "-INT" && interrupts_are_ignored() {
            println!("interrupts are ignored by who runs this test, and so by what it runs: skipped");
            continue;
        }
        let (_folder, run) = long_run(&[]);
        let parties = computing(run.id());
        kill(run.id(), signal);
        assert_eq!(finish(run).code, None);
        wait_until("the parties' end", || !parties.iter().any(|&party| alive(party)));
    }
}
