//! `cenote params`

mod game;
mod lego;
mod output;
mod pool;
mod three;
mod triples;

use cenote::Result;
use clap::Subcommand;

/// One command per protocol, and the games behind them.
#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// The three-party protocol: batches, buckets, openings
    Three(three::Three),
    /// The two-party protocol with LEGO buckets
    Lego(lego::Lego),
    /// The two-party protocol with a pool of garbled gates
    Pool(pool::Pool),
    /// Pools of authenticated triples
    Triples(triples::Triples),
    /// Play a cut-and-choose game many times: measured against exact
    #[command(subcommand)]
    Game(game::Game),
}

impl Params {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Params::Three(options) => options.output.json,
            Params::Lego(options) => options.output.json,
            Params::Pool(options) => options.output.json,
            Params::Triples(options) => options.output.json,
            Params::Game(game) => game.play().json,
        }
    }
}

pub(crate) fn run(command: &Params) -> Result<()> {
    match command {
        Params::Three(options) => three::run(options),
        Params::Lego(options) => lego::run(options),
        Params::Pool(options) => pool::run(options),
        Params::Triples(options) => triples::run(options),
        Params::Game(game) => game::run(game),
    }
}
