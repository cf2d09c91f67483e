//! `cenote params lego`

use cenote::Result;
use cenote::text::{bytes, grouped, quantity};
use cenote_console::Drawing;
use cenote_params::computational::{self, Computational, LegoUse};
use cenote_params::lego::{Cheater, Parameters, Request, Soundness, check, search, soundness};
use clap::ValueEnum;
use serde::Serialize;

use super::output::{Lines, Output, percent};

#[derive(Debug, clap::Args)]
pub(crate) struct Lego {
    /// A bad bucket of each kind passes with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
    /// AND gates of one copy of the circuit; the default is AES-128 as in the paper's Table V
    #[arg(long, value_name = "GATES", value_parser = quantity, default_value = "6928")]
    and_gates: u64,
    /// Input wires of one copy, both parties' together
    #[arg(long, value_name = "WIRES", value_parser = quantity, default_value = "256")]
    inputs: u64,
    /// Wires of one copy with an input bucket; only the garbler's inputs and outputs need one [default: all inputs, as in the paper]
    #[arg(long, value_name = "WIRES", value_parser = quantity)]
    input_buckets: Option<u64>,
    /// Copies of the circuit that are preprocessed together
    #[arg(long, value_parser = quantity, default_value = "1")]
    copies: u64,
    /// What to minimise
    #[arg(long, value_enum, default_value_t = Goal::Bytes)]
    goal: Goal,
    /// The largest share of the gates to check [default: 0.95, or 0.5 for --goal online]
    #[arg(long, value_name = "FRACTION")]
    most_checked: Option<f64>,
    /// Check given parameters instead of searching: garbled gates in an AND bucket
    #[arg(long, value_name = "SIZE", requires_all = ["p_gate", "p_auth"], conflicts_with_all = ["goal", "most_checked"])]
    beta: Option<u32>,
    /// With --beta: the probability that a garbled gate is checked
    #[arg(long, value_name = "PROBABILITY", requires = "beta")]
    p_gate: Option<f64>,
    /// With --beta: the probability that an authenticator is checked
    #[arg(long, value_name = "PROBABILITY", requires = "beta")]
    p_auth: Option<f64>,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Goal {
    /// Bytes of preprocessing
    Bytes,
    /// Online work: the smallest bucket
    Online,
}

#[derive(Serialize)]
struct Answer<'a> {
    security: u32,
    copies: u64,
    #[serde(flatten)]
    parameters: &'a Parameters,
    bytes_per_copy: f64,
    soundness: Soundness,
    computational: Computational,
}

pub(super) fn run(options: &Lego) -> Result<()> {
    // Products too large to count are too large to answer, and are refused as such.
    let gates = options.and_gates.saturating_mul(options.copies);
    let inputs = options.inputs.saturating_mul(options.copies);
    let mut request = match options.goal {
        Goal::Bytes => Request::new(options.security, gates, inputs),
        Goal::Online => Request::online(options.security, gates, inputs),
    };
    if let Some(buckets) = options.input_buckets {
        request.input_buckets = buckets.saturating_mul(options.copies);
    }
    if let Some(limit) = options.most_checked {
        request.most_checked = limit;
    }
    let parameters = match (options.beta, options.p_gate, options.p_auth) {
        (Some(beta), Some(p_gate), Some(p_auth)) => check(&request, beta, p_gate, p_auth)?,
        _ => search(&request)?,
    };
    let answer = Answer {
        security: options.security,
        copies: options.copies,
        parameters: &parameters,
        bytes_per_copy: (parameters.bytes() / options.copies as f64).round(),
        soundness: soundness(options.security, &parameters),
        computational: computational::lego(&LegoUse::of(&parameters)),
    };
    options.output.answer(&answer, &table(&answer), || Drawing::Lego {
        request,
        gates: parameters.buckets().gates,
        bytes_per_gate: parameters.bytes() / parameters.buckets().gates as f64,
    })
}

fn table(answer: &Answer<'_>) -> Lines {
    let (p, b) = (answer.parameters, answer.parameters.buckets());
    let copies = if answer.copies == 1 {
        String::new()
    } else {
        format!(" in {} copies", grouped(answer.copies))
    };
    let mut table = Lines::new(format!(
        "LEGO, {} AND gates and {} inputs{copies}, each bound at most 2^-{}",
        grouped(b.gates),
        grouped(b.inputs),
        answer.security
    ));
    table.row("beta", b.beta.to_string(), "garbled gates in an AND bucket");
    table.row("alpha", b.alpha.to_string(), "authenticators in an AND bucket");
    table.row(
        "beta input",
        b.beta_input.to_string(),
        "garbled gates in an input bucket",
    );
    table.row(
        "alpha input",
        b.alpha_input.to_string(),
        "authenticators for an input wire",
    );
    table.row("p gate", percent(b.p_gate), "of the garbled gates are checked");
    table.row("p auth", percent(b.p_auth), "of the authenticators are checked");
    table.row("garbled gates", grouped(p.garbled_gates()), "to generate");
    table.row("authenticators", grouped(p.authenticators()), "to generate");
    let total = format!(
        "sent in preprocessing, {:.0} bytes per AND gate",
        p.bytes() / b.gates as f64
    );
    table.row("bytes", bytes(p.bytes()), total);
    if answer.copies > 1 {
        table.row("bytes per copy", bytes(answer.bytes_per_copy), "");
    }
    for (i, term) in answer.soundness.terms.iter().enumerate() {
        let name = if i == 0 { "error" } else { "" };
        let cheater = match term.cheater {
            Cheater::Garbler => "garbler",
            Cheater::Evaluator => "evaluator",
        };
        let what = format!("{}, at most ({cheater}; {})", term.event, term.source);
        table.row(name, format!("{:.3}", term.error), what);
    }
    let sums = [
        (answer.soundness.garbler, "sum for a cheating garbler"),
        (answer.soundness.evaluator, "sum for a cheating evaluator"),
    ];
    for (sum, what) in sums {
        table.row("", format!("{sum:.3}"), what);
    }
    for (i, primitive) in answer.computational.primitives.iter().enumerate() {
        let name = if i == 0 { "work" } else { "" };
        let what = format!(
            "{}: {}; {}",
            primitive.protects, primitive.construction, primitive.formula
        );
        table.row(name, format!("2^{:.1}", primitive.bits), what);
    }
    table
}
