//! The processes of `cenote run`: what happens when one of them, or their parent, is killed.
#![cfg(target_os = "linux")]

use std::process::Child;
use std::time::{Duration, Instant};

use crate::common::{cenote, finish, start, wait_until, write};
use crate::others::{Process, children, kill, written};

/// A run that takes long, whose parties wait so many seconds for a silent one, and its folder.
fn long_run(timeout: u32, more: &[&str]) -> (tempfile::TempDir, Child) {
    let folder = tempfile::tempdir().unwrap();
    let job = "protocol = \"three\"\ncircuit = \"lib:mult64\"\nlanes = 1000000\n\
               [[input]]\nparty = 0\nhex = \"3\"\n[[input]]\nparty = 1\nhex = \"5\"\n[[output]]\nto = [2]\n";
    let job = write(folder.path(), "job.toml", job);
    let timeout = timeout.to_string();
    let child = start(
        cenote()
            .arg("run")
            .arg(job)
            .args(["--timeout", &timeout])
            .args(more),
    );
    (folder, child)
}

/// Waits until the parties compute, and gives their processes.
fn computing(parent: u32) -> Vec<Process> {
    wait_until("computing", || {
        let parties = children(parent);
        parties.len() == 3 && parties.iter().all(|party| written(party.id) > 2_000_000)
    });
    children(parent)
}

#[test]
fn a_killed_party_is_told_as_the_cause() {
    // On a busy machine the others may be ended before they have said why they stop.
    let others_told = (0..5).any(|_| {
        let (_folder, run) = long_run(60, &[]);
        let parties = computing(run.id());
        kill(parties[1].id, "-9");
        let killed = Instant::now();
        let ended = finish(run);
        let cause = "error: party 1: its process ended without a word";
        ended.failed(3, &[cause, "signal: 9", "party 1"]);
        assert!(killed.elapsed() < Duration::from_secs(50));
        assert!(!parties.iter().any(|party| party.alive()));
        ended.stderr.contains("party 0 then stopped")
    });
    assert!(others_told);
}

#[test]
fn a_silent_party_is_named_within_the_timeout() {
    let (_folder, run) = long_run(6, &["--json"]);
    let parties = computing(run.id());
    kill(parties[2].id, "-STOP");
    let stopped = Instant::now();
    let ended = finish(run);
    ended.failed(3, &["error: party 2: did not answer", "waiting for party 2"]);
    let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(error["error"]["kind"], "network");
    assert!(stopped.elapsed() < Duration::from_secs(50));
    assert!(!parties.iter().any(|party| party.alive()));
}

/// Nothing tells the parties of the end of a parent that is killed, but that nobody speaks to them any more.
#[test]
fn the_parties_end_with_their_parent() {
    let (_folder, run) = long_run(60, &[]);
    let parties = computing(run.id());
    kill(run.id(), "-9");
    assert_eq!(finish(run).code, None);
    wait_until("the parties' end", || !parties.iter().any(|party| party.alive()));
}
