//! `cenote params`

mod lego;
mod output;
mod pool;
mod proofs;
mod three;
mod triples;

use cenote::Result;
use cenote_console::{Command, Forwarded, Sibling};
use clap::Subcommand;

/// One command per protocol, and the games behind them.
#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// The three-party protocol with proofs: batches, weights, error
    Proofs(proofs::Proofs),
    /// The three-party protocol with triples: batches, buckets, openings
    Three(three::Three),
    /// The two-party protocol with LEGO buckets
    Lego(lego::Lego),
    /// The two-party protocol with a pool of garbled gates
    Pool(pool::Pool),
    /// Pools of authenticated triples
    Triples(triples::Triples),
    /// Play a cut-and-choose game many times, and compare with the exact probability
    #[command(disable_help_flag = true)]
    Game(Forwarded),
}

impl Command for Params {
    fn run(&self, verbose: u8) -> Result<()> {
        match self {
            Params::Proofs(options) => proofs::run(options),
            Params::Three(options) => three::run(options),
            Params::Lego(options) => lego::run(options),
            Params::Pool(options) => pool::run(options),
            Params::Triples(options) => triples::run(options),
            Params::Game(rest) => Sibling::Bench.become_it(Some("game"), rest, verbose),
        }
    }

    fn json(&self) -> bool {
        match self {
            Params::Proofs(options) => options.form.json,
            Params::Three(options) => options.output.form.json,
            Params::Lego(options) => options.output.form.json,
            Params::Pool(options) => options.output.form.json,
            Params::Triples(options) => options.output.form.json,
            Params::Game(_) => false,
        }
    }
}
