//! What a party's process takes is no more than it was said to take before it began, for a small job and where there is much to open; what is
//! said of a small job is of its size; and of a larger one, for the party that takes the most, it is at most a fifth more than what it takes, besides what each
//! process has.
//!
//! Parties are processes, started from this program, so it has a `main` of its own.

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use cenote::local::{Setting, child_main, run_job};
use cenote::{Job, PartyId, Transport};

/// Bytes that a job of a few gates is said to take, at most.
const MOST_OF_SMALL: u64 = 120_000_000;

/// Bytes that each process is said to take whatever the job, or for material of which a small job uses little.
const OF_EACH: u64 = 72_000_000;

/// Outputs of a circuit of one AND gate: much is opened, and little computed.
const WIDE: usize = 4096;

/// Each protocol, and on how many lanes it opens so many outputs: fewer where each takes more.
const PROTOCOLS: [(&str, usize); 4] = [
    ("three", 8192),
    ("lego", 64),
    ("jimu", 64),
    ("authenticated", 1024),
];

/// As the programs that people run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("child") {
        return match child_main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    for (protocol, lanes) in PROTOCOLS {
        let small = run(protocol, "lib:add8", 1);
        assert!(
            small.iter().all(|taken| taken.stated < MOST_OF_SMALL),
            "{protocol}: {small:?} are not what a small job takes"
        );
        let wide = run(protocol, "wide.txt", lanes);
        println!("{protocol}: {small:?}, with much to open {wide:?}");
        for taken in small.iter().chain(&wide) {
            assert!(
                taken.peak <= taken.stated,
                "{protocol} takes more than was said: {taken:?}"
            );
        }
        let most = wide.iter().max_by_key(|taken| taken.peak).expect("parties");
        assert!(
            most.stated <= most.peak + most.peak / 5 + OF_EACH,
            "{protocol} takes much less than was said: {most:?}"
        );
    }
    ExitCode::SUCCESS
}

/// Bytes of a party's process: what it took at the most, and what was said ahead.
#[derive(Debug)]
struct Taken {
    peak: u64,
    stated: u64,
}

/// A circuit of one AND gate, which gives its bit so many times.
fn wide(outputs: usize) -> String {
    let mut text = format!(
        "{} {}\n2 1 1\n1 {outputs}\n\n2 1 0 1 2 AND\n",
        outputs + 1,
        outputs + 3
    );
    (3..outputs + 3).for_each(|wire| writeln!(text, "1 1 2 {wire} EQW").expect("a string"));
    text
}

/// Runs so many lanes of a circuit with two values, with a process for each party.
fn run(protocol: &str, circuit: &str, lanes: usize) -> Vec<Taken> {
    let folder = tempfile::tempdir().expect("a folder");
    let job = folder.path().join("job.toml");
    let text = format!(
        "protocol = \"{protocol}\"\ncircuit = \"{circuit}\"\nlanes = {lanes}\n\
         [[input]]\nparty = 0\nhex = \"0x1\"\n[[input]]\nparty = 1\nhex = \"0x1\"\n[[output]]\nto = [0]\n"
    );
    std::fs::write(folder.path().join("wide.txt"), wide(WIDE)).expect("the circuit is written");
    std::fs::write(&job, text).expect("the job is written");
    let setting = Setting {
        transport: Transport::Tls,
        timeout: Duration::from_secs(60),
        phase_timeout: None,
    };
    let command = || {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("child");
        command
    };
    let report = run_job(&job, setting, command, &mut |_, _| ()).expect("the job runs");
    let job = Job::load(&job).expect("the job is there");
    let program = job.program(lanes).expect("a program");
    let prepared = job.protocol().prepare(&program.demand()).expect("parameters");
    let peaks = report.peak_memory_bytes.iter().flatten();
    let taken = peaks.zip(0..).map(|(&peak, party)| Taken {
        peak,
        stated: prepared.memory_bytes(&program, PartyId(party)),
    });
    taken.collect()
}
