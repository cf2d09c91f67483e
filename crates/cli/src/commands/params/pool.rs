//! `cenote params pool`

use cenote::Result;
use cenote::text::{grouped, quantity};
use cenote_console::{Drawing, PoolCurve};
use cenote_params::pool::{Guard, Parameters, Request, check, search};
use clap::ValueEnum;
use serde::Serialize;

use super::output::{Lines, Output, percent};

#[derive(Debug, clap::Args)]
pub(crate) struct Pool {
    /// Over the pool's life, some bucket is bad with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
    /// Gadgets in the pool
    #[arg(long, value_name = "GADGETS", value_parser = quantity, default_value = "1M")]
    pool_size: u64,
    /// The probability that a check of a bad gadget detects it (the paper's r_d)
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.5)]
    reveal_rate: f64,
    /// Which analysis of the error must meet --security
    #[arg(long, value_enum, default_value_t = GuardName::Paper)]
    guard: GuardName,
    /// Check given parameters instead of searching: gadgets in a bucket
    #[arg(long, value_name = "SIZE", requires = "check_rate")]
    bucket: Option<u32>,
    /// With --bucket: the probability that a fresh gadget is checked (the paper's r_c)
    #[arg(long, value_name = "PROBABILITY", requires = "bucket")]
    check_rate: Option<f64>,
    /// The curve that --plot draws
    #[arg(long, value_enum, default_value_t = PoolCurve::Parameters, requires = "plot")]
    curve: PoolCurve,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GuardName {
    /// As published: bad gadgets are inserted at once
    Paper,
    /// Exact, against a garbler that watches the draws and inserts new bad gadgets
    Adaptive,
}

impl From<GuardName> for Guard {
    fn from(name: GuardName) -> Guard {
        match name {
            GuardName::Paper => Guard::Paper,
            GuardName::Adaptive => Guard::Adaptive,
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    security: u32,
    guard: Guard,
    #[serde(flatten)]
    parameters: &'a Parameters,
    check_threshold: u32,
}

pub(super) fn run(options: &Pool) -> Result<()> {
    let request = Request {
        security_bits: f64::from(options.security),
        pool_size: options.pool_size,
        detection: options.reveal_rate,
        guard: options.guard.into(),
    };
    let parameters = match (options.bucket, options.check_rate) {
        (Some(bucket), Some(check_rate)) => check(&request, bucket, check_rate)?,
        _ => search(&request)?,
    };
    let answer = Answer {
        security: options.security,
        guard: request.guard,
        parameters: &parameters,
        check_threshold: parameters.check_threshold(),
    };
    options.output.answer(&answer, &table(&answer), || Drawing::Pool {
        curve: options.curve,
        request,
        bucket: parameters.bucket(),
        gates_per_and: parameters.gates_per_and(),
    })
}

fn table(answer: &Answer<'_>) -> Lines {
    let p = answer.parameters;
    let (title, held) = match answer.guard {
        Guard::Paper => ("by the paper's analysis", ["  (held to the level)", ""]),
        Guard::Adaptive => ("against every strategy", ["", "  (held to the level)"]),
    };
    let mut table = Lines::new(format!(
        "Pool of {} gadgets, at most 2^-{} {title}",
        grouped(p.pool_size()),
        answer.security
    ));
    table.row("bucket", p.bucket().to_string(), "gadgets drawn for one gate (B)");
    table.row(
        "check rate",
        percent(p.check_rate()),
        format!(
            "of fresh gadgets are checked (r_c): coins below {} of 2^32",
            grouped(p.check_threshold().into())
        ),
    );
    table.row(
        "reveal rate",
        percent(p.detection()),
        "of checks show a bad gadget (r_d)",
    );
    table.row(
        "cost",
        format!("{:.4}", p.gates_per_and()),
        "gadgets generated per gate, B/(1 - r_c)",
    );
    table.row(
        "error",
        format!("{:.3}", p.error()),
        format!("all bad gadgets at once, as published{}", held[0]),
    );
    table.row(
        "",
        format!("{:.3}", p.adaptive_error()),
        format!("bad gadgets replaced when drawn, exactly{}", held[1]),
    );
    table
}
