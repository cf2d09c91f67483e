//! `cenote params triples`

use cenote::Result;
use cenote::text::{grouped, quantity};
use cenote_console::Drawing;
use cenote_params::pool::{TripleParameters, check_triples, smallest_pool, triples};
use serde::Serialize;

use super::output::{Lines, Output};

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("size").args(["pool_size", "bucket"]).required(true).multiple(true)))]
pub(crate) struct Triples {
    /// Over the pool's life, some triple is bad with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
    /// Leaky triples in the pool; finds the smallest bucket
    #[arg(long, value_name = "TRIPLES", value_parser = quantity)]
    pool_size: Option<u64>,
    /// Leaky triples combined into one; finds the smallest pool, or checks the one given
    #[arg(long, value_name = "SIZE")]
    bucket: Option<u32>,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer<'a> {
    security: u32,
    #[serde(flatten)]
    parameters: &'a TripleParameters,
}

pub(super) fn run(options: &Triples) -> Result<()> {
    let parameters = match (options.pool_size, options.bucket) {
        (Some(n), Some(bucket)) => check_triples(options.security, n, bucket)?,
        (None, Some(bucket)) => smallest_pool(options.security, bucket)?,
        (n, None) => triples(options.security, n.unwrap_or(0))?,
    };
    let answer = Answer {
        security: options.security,
        parameters: &parameters,
    };
    options
        .output
        .answer(&answer, &table(&answer), || Drawing::Triples {
            security: options.security,
            pool_size: parameters.pool_size,
            bucket: parameters.bucket,
        })
}

fn table(answer: &Answer<'_>) -> Lines {
    let p = answer.parameters;
    let mut table = Lines::new(format!(
        "Authenticated triples from a pool, at most 2^-{}",
        answer.security
    ));
    table.row(
        "bucket",
        p.bucket.to_string(),
        "leaky triples combined into one (B)",
    );
    table.row("pool size", grouped(p.pool_size), "leaky triples in the pool (n)");
    table.row(
        "error",
        format!("{:.3}", p.error),
        "all bad triples at once, as published (held to the level)",
    );
    table.row(
        "",
        format!("{:.3}", p.adaptive_error),
        "bad triples replaced when drawn, exactly",
    );
    table
}
