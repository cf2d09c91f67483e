//! What a party's process takes for a small job is no more than it was said to take before it began, and what is said is of a small job's size.
//!
//! Parties are processes, started from this program, so it has a `main` of its own.

use std::process::{Command, ExitCode};
use std::time::Duration;

use cenote::local::{Setting, child_main, run_job};
use cenote::{Report, Transport};

/// Bytes that a job of a few gates is said to take, at most.
const MOST_OF_SMALL: u64 = 120_000_000;

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
    for protocol in ["three", "lego", "jimu", "authenticated"] {
        let report = run(protocol, "add8", 1);
        let stated = report.memory_bound_bytes;
        let peaks = || report.peak_memory_bytes.iter().flatten().copied();
        println!("{protocol}: {:?} of {stated} bytes", peaks().collect::<Vec<_>>());
        assert!(
            peaks().all(|peak| peak <= stated),
            "{protocol} takes more than was said"
        );
        assert!(
            stated < MOST_OF_SMALL,
            "{protocol}: {stated} bytes are not what a small job takes"
        );
    }
    ExitCode::SUCCESS
}

/// Runs so many lanes of a circuit with two values, with a process for each party.
fn run(protocol: &str, circuit: &str, lanes: usize) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let job = folder.path().join("job.toml");
    let text = format!(
        "protocol = \"{protocol}\"\ncircuit = \"lib:{circuit}\"\nlanes = {lanes}\n\
         [[input]]\nparty = 0\nhex = \"0x5\"\n[[input]]\nparty = 1\nhex = \"0x6\"\n[[output]]\nto = [0]\n"
    );
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
    run_job(&job, setting, command, &mut |_, _| ()).expect("the job runs")
}
