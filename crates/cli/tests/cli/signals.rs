//! What interrupts and termination signals do: sessions end in order, and peers learn who stopped.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::common::{Ended, cenote, finish, start, wait_until, without_waits, write};
use crate::others::{Process, children, interrupts_are_ignored, kill, written};
use crate::world::{World, paths};

/// Long enough that no machine is done before it is stopped.
const LONG_THREE: &str = "circuit = \"lib:mult64\"\nlanes = 1000000";
const LONG_LEGO: &str = "circuit = \"lib:mult64\"\nlanes = 300";
const LONG_JIMU: &str = "circuit = \"lib:mult64\"\nlanes = 300";

/// A job that takes as long, all of whose parties are on this machine.
fn long_job(folder: &Path, protocol: &str) -> PathBuf {
    let (header, to) = match protocol {
        "three" => (LONG_THREE, 2),
        "jimu" => (LONG_JIMU, 1),
        _ => (LONG_LEGO, 1),
    };
    let job = format!(
        "protocol = \"{protocol}\"\n{header}\n[[input]]\nparty = 0\nhex = \"3\"\n[[input]]\nparty = 1\nhex = \"5\"\n\
         [[output]]\nto = [{to}]\nfile = \"product.csv\"\n"
    );
    write(folder, "job.toml", &job)
}

/// The signals to try: none that this test's own starter wants ignored.
fn signals() -> Vec<(&'static str, &'static str)> {
    let all = [("-INT", "SIGINT"), ("-TERM", "SIGTERM")];
    let skipped = usize::from(interrupts_are_ignored());
    if skipped > 0 {
        println!("interrupts are ignored by who runs this test, and so by what it runs: skipped");
    }
    all[skipped..].to_vec()
}

/// When a party is stopped.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as the session has started.
    Start,
    /// Once it has sent so many bytes.
    Sent(u64),
}

/// Waits for the moment. The rest of what the child logs is read away, so that it is not held up.
fn wait_for(child: &mut Child, moment: Moment) -> std::thread::JoinHandle<String> {
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut read = String::new();
    match moment {
        Moment::Start => wait_until("the session", || {
            let from = read.len();
            log.read_line(&mut read).unwrap();
            read[from..].contains("connected to all peers")
        }),
        Moment::Sent(bytes) => wait_until("the work", || written(child.id()) > bytes),
    }
    std::thread::spawn(move || {
        // An error ends it as the end of the log does.
        let _ = std::io::Read::read_to_string(&mut log, &mut read);
        read
    })
}

/// What it said, and how it ended.
fn ended(child: Child, log: std::thread::JoinHandle<String>) -> Ended {
    let mut ended = finish(child);
    ended.stderr = log.join().unwrap();
    ended
}

/// Stops one after another of these parties, each at its moment, by the signals in turn, and sees what it and the others say.
fn stop_each<const N: usize>(world: &World<N>, start: impl Fn(usize) -> Child, victims: &[(usize, Moment)]) {
    for ((victim, moment), signal) in victims.iter().zip(signals().into_iter().cycle()) {
        let stopped = stop_by(signal, world, &start, *victim, *moment);
        assert!(stopped, "the parties were done before the signal");
    }
}

/// Stops a party by a signal. Says `false` if a party was done before the signal came.
fn stop_by<const N: usize>(
    (signal, name): (&str, &str),
    world: &World<N>,
    start: impl Fn(usize) -> Child,
    victim: usize,
    moment: Moment,
) -> bool {
    let mut parties: Vec<Child> = (0..N).map(start).collect();
    let log = wait_for(&mut parties[victim], moment);
    kill(parties[victim].id(), signal);
    let stopped = Instant::now();
    let child = ended(parties.remove(victim), log);
    let others: Vec<Ended> = parties.into_iter().map(finish).collect();
    if others.iter().chain([&child]).any(|party| party.code == Some(0)) {
        return false;
    }
    child.failed(
        7,
        &[
            &format!("{name}: ending in order"),
            &format!("error: stopped by its operator ({name})"),
        ],
    );
    for other in others {
        other.failed(3, &[&format!("party {victim}"), "its operator stopped it"]);
    }
    assert!(
        stopped.elapsed() < Duration::from_secs(55),
        "nobody waits in vain: {moment:?}"
    );
    assert!(!world.folder.path().join("product.csv").exists());
    true
}

#[test]
fn a_stopped_party_of_three_tells_its_peers() {
    let world = World::three();
    let jobs = world.jobs([LONG_THREE; 3]);
    let victims = [
        (0, Moment::Start),
        (1, Moment::Sent(300_000)),
        (2, Moment::Sent(3_000_000)),
    ];
    stop_each(
        &world,
        |party| world.start(party, &jobs[party], &["-v"]),
        &victims,
    );
}

#[test]
fn a_stopped_party_of_two_tells_its_peer() {
    let world = World::two();
    let jobs = world.jobs([LONG_LEGO; 2]);
    let victims = [
        (0, Moment::Start),
        (0, Moment::Sent(3_000_000)),
        (1, Moment::Sent(60_000)),
    ];
    stop_each(
        &world,
        |party| world.start(party, &jobs[party], &["-v"]),
        &victims,
    );
}

/// While it fills its pool, and while it computes.
#[test]
fn a_stopped_party_over_a_pool_tells_its_peer() {
    let world = World::two();
    let jobs = world.jobs_of("jimu", [LONG_JIMU; 2]);
    let victims = [
        (0, Moment::Start),
        (0, Moment::Sent(3_000_000)),
        (1, Moment::Sent(60_000)),
        (1, Moment::Sent(300_000)),
    ];
    stop_each(
        &world,
        |party| world.start(party, &jobs[party], &["-v"]),
        &victims,
    );
}

/// A party that has not met its peers has nobody to tell.
#[test]
fn a_party_that_waits_for_its_peers_ends_at_once() {
    let world = World::three();
    let jobs = world.jobs([LONG_THREE; 3]);
    for (signal, name) in signals() {
        let mut party = world.start(1, &jobs[1], &["-v", "--json"]);
        let mut log = BufReader::new(party.stderr.take().unwrap());
        let mut line = String::new();
        wait_until("the wait", || {
            line.clear();
            log.read_line(&mut line).unwrap();
            line.contains("waiting for the peers")
        });
        kill(party.id(), signal);
        let ended = finish(party);
        assert_eq!(ended.code, Some(7));
        let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(
            (&error["error"]["kind"], &error["error"]["exit_code"]),
            (&"stopped".into(), &7.into())
        );
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("stopped by its operator ({name})"))
                && message.contains("no stock was touched"),
            "{message}"
        );
    }
}

#[test]
fn stopping_the_making_of_stock_tells_the_peers() {
    let three = World::three();
    three.add_stock();
    let with_triples = format!("variant = \"on-demand\"\n{LONG_THREE}");
    let jobs = three.jobs([with_triples.as_str(); 3]);
    stop_each(
        &three,
        |party| three.start_stock(party, &jobs[party], &["-v", "--runs", "3"]),
        &[(1, Moment::Sent(3_000_000)); 2],
    );
    let two = World::two();
    two.add_stock();
    let jobs = two.jobs([LONG_LEGO; 2]);
    stop_each(
        &two,
        |party| two.start_stock(party, &jobs[party], &["-v"]),
        &[(1, Moment::Sent(60_000)); 2],
    );
}

/// Runs of a job in stock: one for each signal, one for the end, and five for jobs that are done before the signal comes.
const RUNS: u64 = 8;

/// What a stopped job has not taken stays in stock, at both parties, and serves the next one.
#[test]
fn stock_outlives_a_stopped_job() {
    let world = World::two();
    world.add_stock();
    let jobs = world.jobs(["circuit = \"lib:mult64\"\nlanes = 10"; 2]);
    for ended in world.make_stock(&jobs, &["--runs", &RUNS.to_string()]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let gates = |party: usize| {
        let shown = world.show_stock(party).json();
        let gates = shown["lots"][0]["and_gates"].as_u64();
        gates.unwrap_or_else(|| panic!("party {party}: {shown}"))
    };
    let made = [0, 1].map(gates);
    let online = |party: usize| world.start(party, &jobs[party], &["-v", "--online"]);
    let mut used = 0;
    for signal in signals() {
        // On a busy machine the job may be done before the signal comes.
        let stopped = (used + 1..RUNS).any(|_| {
            used += 1;
            stop_by(signal, &world, online, 0, Moment::Start)
        });
        assert!(stopped, "the jobs were done before the signal");
    }
    for party in 0..2 {
        let (left, made) = (gates(party), made[party]);
        assert!(
            left >= made - used * made / RUNS,
            "party {party}: {left} of {made}"
        );
    }
    for ended in world.run(paths(&jobs), &["--online"]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// Starts a job of all parties on this machine, and waits until they compute.
fn computing(protocol: &str, more: &[&str]) -> (tempfile::TempDir, Child, Vec<Process>) {
    let folder = tempfile::tempdir().unwrap();
    let job = long_job(folder.path(), protocol);
    let run = start(cenote().arg("run").arg(job).args(["--timeout", "10"]).args(more));
    let parties = if protocol == "three" { 3 } else { 2 };
    let at_work = |party: &Process| written(party.id) > 100_000;
    wait_until("computing", || {
        let children = children(run.id());
        children.len() == parties && children.iter().all(at_work)
    });
    let children = children(run.id());
    (folder, run, children)
}

#[test]
fn a_stopped_run_ends_all_its_parties() {
    let protocols = ["three", "lego", "jimu"];
    for (protocol, (signal, name)) in protocols.into_iter().zip(signals().into_iter().cycle()) {
        let (folder, run, parties) = computing(protocol, &[]);
        kill(run.id(), signal);
        let ended = finish(run);
        let told = format!("error: stopped by its operator ({name}): all parties were told to end");
        ended.failed(7, &[&told]);
        assert_eq!(without_waits(&ended.stderr).len(), 2, "{}", ended.stderr);
        assert!(!parties.iter().any(|party| party.alive()));
        assert!(!folder.path().join("product.csv").exists());
    }
}

#[test]
fn a_stopped_party_of_a_run_is_the_cause() {
    for protocol in ["three", "lego", "jimu"] {
        let (_folder, run, parties) = computing(protocol, &["--json"]);
        kill(parties[1].id, "-TERM");
        let ended = finish(run);
        ended.failed(7, &["error: party 1: stopped by its operator (SIGTERM)"]);
        let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(error["error"]["kind"], "stopped");
    }
}

#[test]
fn the_demonstration_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let demo = start(cenote().args(["demo", "--dir"]).arg(folder.path()));
    wait_until("the banks", || children(demo.id()).len() == 3);
    kill(demo.id(), "-TERM");
    finish(demo).failed(7, &["stopped by its operator (SIGTERM)"]);
}

#[test]
fn a_benchmark_ends_all_its_parties() {
    let measured = ["bench", "three", "--seconds", "100", "--transport", "tcp"];
    let bench = start(cenote().args(measured));
    wait_until("the parties at work", || {
        let children = children(bench.id());
        children.len() == 3 && children.iter().all(|party| written(party.id) > 100_000)
    });
    let parties = children(bench.id());
    kill(bench.id(), "-TERM");
    finish(bench).failed(
        7,
        &["stopped by its operator (SIGTERM): all parties were told to end"],
    );
    assert!(!parties.iter().any(|party| party.alive()));
}

/// The parties do not answer, so that the first signal alone would take a while.
#[test]
fn a_second_signal_ends_at_once() {
    use std::os::unix::process::ExitStatusExt;
    let (_folder, mut run, parties) = computing("three", &[]);
    parties.iter().for_each(|party| kill(party.id, "-STOP"));
    let log = BufReader::new(run.stderr.take().unwrap());
    kill(run.id(), "-TERM");
    let mut said = log.lines().map(Result::unwrap);
    let line = said.find(|line| !without_waits(line).is_empty());
    assert_eq!(
        line.as_deref(),
        Some("SIGTERM: ending in order; a second signal ends at once")
    );
    kill(run.id(), "-TERM");
    assert_eq!(run.wait().unwrap().signal(), Some(15));
    parties.iter().for_each(|party| kill(party.id, "-CONT"));
    wait_until("the parties' end", || !parties.iter().any(|party| party.alive()));
}
