//! `cenote params proofs`

use cenote::Result;
use cenote::text::{bytes, grouped, quantity};
use cenote_console::args::Form;
use cenote_params::LogProb;
use cenote_params::three::{BLOCK_BITS, Proofs as Found};
use serde::Serialize;

use super::output::Lines;

#[derive(Debug, clap::Args)]
pub(crate) struct Proofs {
    /// Over the session's life, a wrong output passes with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
    /// AND gates in one job [default: a run that never ends]
    #[arg(long, value_name = "GATES", value_parser = quantity)]
    and_gates: Option<u64>,
    #[command(flatten)]
    pub(super) form: Form,
}

/// The answer for machines.
#[derive(Serialize)]
struct Answer {
    variant: &'static str,
    security: u32,
    gates_per_batch: u64,
    weight_bits: u32,
    variables: u32,
    steps: u32,
    proof_bytes: u64,
    bits_per_and: f64,
    error_log2: LogProb,
    challenge_bits: f64,
    memory_bytes: u64,
    job: Option<Job>,
}

/// The cost of one job for each party.
#[derive(Serialize)]
struct Job {
    and_gates: u64,
    batches: u64,
    bits_per_and: f64,
    bytes_sent: u64,
}

pub(super) fn run(options: &Proofs) -> Result<()> {
    let block = u64::from(BLOCK_BITS);
    let blocks = options.and_gates.map(|gates| gates.div_ceil(block));
    let found = match blocks {
        Some(blocks) => Found::for_job(options.security, blocks)?,
        None => Found::new(options.security)?,
    };
    let job = options.and_gates.zip(blocks).map(|(and_gates, blocks)| {
        let bytes_sent = found.job_bytes(blocks, 1);
        Job {
            and_gates,
            batches: blocks.div_ceil(found.batch()),
            bits_per_and: 8.0 * bytes_sent as f64 / and_gates.max(1) as f64,
            bytes_sent,
        }
    });
    let answer = Answer {
        variant: "proofs",
        security: options.security,
        gates_per_batch: found.batch() * block,
        weight_bits: found.weight_bits(),
        variables: found.variables(found.batch()),
        steps: found.steps(found.batch()),
        proof_bytes: found.proof_bytes(found.batch()),
        bits_per_and: found.bits_per_and(),
        error_log2: found.error(),
        challenge_bits: found.challenge_bits(),
        memory_bytes: found.memory_bytes(),
        job,
    };
    lines(&answer).print(&options.form, &answer)
}

fn lines(a: &Answer) -> Lines {
    let mut lines = Lines::new(format!(
        "Three parties that prove their AND gates, at most 2^-{}",
        a.security
    ));
    lines.row("gates", grouped(a.gates_per_batch), "proved together, at most");
    lines.row("w", a.weight_bits, "bits of a random weight");
    lines.row("n", a.variables, "variables of a full batch's first step");
    lines.row("t", a.steps, "later steps");
    lines.row(
        "proof",
        bytes(a.proof_bytes as f64),
        "sent by each party for a full batch, besides its gates",
    );
    lines.row(
        "error",
        format!("{:.3}", a.error_log2),
        "no adversary's chance over the session's life is higher",
    );
    lines.row(
        "work",
        format!("2^{:.1}", a.challenge_bits),
        "hashes to find a challenge that hides a wrong gate",
    );
    lines.row(
        "bits per AND",
        format!("{:.3}", a.bits_per_and),
        "payload sent by each party in a long run",
    );
    lines.row(
        "memory",
        bytes(a.memory_bytes as f64),
        "stored by one worker, at most",
    );
    if let Some(job) = &a.job {
        lines.row("job", grouped(job.and_gates), "AND gates");
        lines.row("batches", grouped(job.batches), "proved for this job, at least");
        lines.sent(job.bits_per_and, job.bytes_sent);
    }
    lines
}
