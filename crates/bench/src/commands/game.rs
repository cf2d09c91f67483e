//! `cenote params game`

use crate::simulate::{self, Estimate, Experiment};
use cenote::text::{Table, grouped, quantity};
use cenote::{Error, Result};
use cenote_params::LogProb;
use cenote_params::lego::Buckets;
use cenote_params::three::games;
use cenote_params::three::unequal::Unequal;
use clap::Subcommand;
use serde::Serialize;

use cenote_console::Command;
use cenote_console::args::Form;

/// Limits within which a simulation fits a machine's memory and its trials fit a day.
const MOST_BALLS: u64 = 1 << 24;
const MOST_GADGETS: u64 = 4096;
const LARGEST_DRAW: u64 = 16;
const LEAST_RATE: f64 = 0.01;

#[derive(Debug, Subcommand)]
pub(super) enum Game {
    /// Game 1, triple generation (three parties)
    #[command(name = "1")]
    Generation(Arrays),
    /// Game 2, triples reshuffled after the gates
    #[command(name = "2")]
    Reshuffle(Arrays),
    /// Game 3, triples on demand
    #[command(name = "3")]
    OnDemand(Arrays),
    /// Game 4, buckets of different sizes
    #[command(name = "4")]
    Unequal(Sizes),
    /// A pool of gadgets over its whole life
    Pool(PoolGame),
    /// A pool of authenticated triples over its whole life
    Triples(TripleGame),
    /// LEGO cut-and-choose and bucketing
    Lego(LegoGame),
}

#[derive(Debug, clap::Args)]
pub(super) struct Play {
    /// Trials for every adversary
    #[arg(long, value_parser = trials, default_value = "100K")]
    trials: u64,
    /// The seed: the same seed, the same result
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    form: Form,
}

fn trials(text: &str) -> std::result::Result<u64, String> {
    quantity(text).and_then(|n| {
        if n == 0 {
            Err("at least one trial".into())
        } else {
            Ok(n)
        }
    })
}

/// Arrays of subarrays, as Games 1 to 3 have them.
#[derive(Debug, clap::Args)]
pub(super) struct Arrays {
    /// Balls in a subarray, the opened ones included
    #[arg(long, value_parser = quantity, default_value = "4")]
    x: u64,
    /// Subarrays
    #[arg(long, value_parser = quantity, default_value = "2")]
    l: u64,
    /// Bucket size
    #[arg(long, default_value_t = 2)]
    b: u32,
    /// Balls opened per subarray
    #[arg(long, value_parser = quantity, default_value = "1")]
    c: u64,
    #[command(flatten)]
    play: Play,
}

#[derive(Debug, clap::Args)]
pub(super) struct Sizes {
    /// Sizes of the buckets
    #[arg(long, value_delimiter = ',', value_parser = quantity, default_value = "2,2,3,3")]
    sizes: Vec<u64>,
    /// Balls opened
    #[arg(long, value_parser = quantity, default_value = "2")]
    c: u64,
    #[command(flatten)]
    play: Play,
}

#[derive(Debug, clap::Args)]
pub(super) struct PoolGame {
    /// Gadgets in the pool
    #[arg(long, value_parser = quantity, default_value = "20")]
    pool_size: u64,
    /// Gadgets in a bucket
    #[arg(long, value_parser = quantity, default_value = "2")]
    bucket: u64,
    /// The probability that a fresh gadget is checked
    #[arg(long, default_value_t = 0.1)]
    check_rate: f64,
    /// The probability that a check of a bad gadget detects it
    #[arg(long, default_value_t = 0.5)]
    reveal_rate: f64,
    #[command(flatten)]
    play: Play,
}

#[derive(Debug, clap::Args)]
pub(super) struct TripleGame {
    /// Leaky triples in the pool
    #[arg(long, value_parser = quantity, default_value = "20")]
    pool_size: u64,
    /// Leaky triples combined into one
    #[arg(long, value_parser = quantity, default_value = "2")]
    bucket: u64,
    #[command(flatten)]
    play: Play,
}

#[derive(Debug, clap::Args)]
pub(super) struct LegoGame {
    /// AND gates
    #[arg(long, value_parser = quantity, default_value = "6")]
    and_gates: u64,
    /// Input wires
    #[arg(long, value_parser = quantity, default_value = "2")]
    inputs: u64,
    /// Garbled gates in an AND bucket
    #[arg(long, default_value_t = 2)]
    beta: u32,
    /// The probability that a garbled gate is checked
    #[arg(long, default_value_t = 0.3)]
    p_gate: f64,
    /// The probability that an authenticator is checked
    #[arg(long, default_value_t = 0.3)]
    p_auth: f64,
    #[command(flatten)]
    play: Play,
}

impl Game {
    fn play(&self) -> &Play {
        match self {
            Game::Generation(game) | Game::Reshuffle(game) | Game::OnDemand(game) => &game.play,
            Game::Unequal(game) => &game.play,
            Game::Pool(game) => &game.play,
            Game::Triples(game) => &game.play,
            Game::Lego(game) => &game.play,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Game::Generation(_) => "game 1",
            Game::Reshuffle(_) => "game 2",
            Game::OnDemand(_) => "game 3",
            Game::Unequal(_) => "game 4",
            Game::Pool(_) => "pool",
            Game::Triples(_) => "triple pool",
            Game::Lego(_) => "lego",
        }
    }

    /// The game's parameters in a line, and one experiment for each adversary.
    fn set_up(&self) -> Result<(String, Vec<Experiment>)> {
        match self {
            Game::Generation(arrays) => arrays.set_up(simulate::triple_generation),
            Game::Reshuffle(arrays) => arrays.set_up(simulate::reshuffle),
            Game::OnDemand(arrays) => arrays.set_up(simulate::on_demand),
            Game::Unequal(game) => {
                let balls = game
                    .sizes
                    .iter()
                    .fold(game.c, |sum, &size| sum.saturating_add(size));
                // The adversaries' exact values take time quadratic in the balls.
                fits(balls, MOST_GADGETS, "balls")?;
                let sizes: Vec<String> = game.sizes.iter().map(u64::to_string).collect();
                let line = format!("buckets of {}, {} opened", sizes.join(", "), game.c);
                Ok((line, simulate::unequal(&Unequal::new(&game.sizes, game.c)?)))
            }
            Game::Pool(game) => {
                fits(game.pool_size, MOST_GADGETS, "gadgets in the pool")?;
                fits(game.bucket, LARGEST_DRAW, "gadgets in a bucket")?;
                if game.check_rate < LEAST_RATE {
                    return Err(Error::Usage(format!(
                        "a check rate of {} makes trials endless: take {LEAST_RATE} or more",
                        game.check_rate
                    )));
                }
                let line = format!(
                    "n = {}, B = {}, r_c = {}, r_d = {}",
                    game.pool_size, game.bucket, game.check_rate, game.reveal_rate
                );
                let list = simulate::pool(game.pool_size, game.bucket, game.check_rate, game.reveal_rate)?;
                Ok((line, list))
            }
            Game::Triples(game) => {
                fits(game.pool_size, MOST_GADGETS, "triples in the pool")?;
                fits(game.bucket, LARGEST_DRAW, "triples in a bucket")?;
                let line = format!("n = {}, B = {}", game.pool_size, game.bucket);
                Ok((line, simulate::triple_pool(game.pool_size, game.bucket)?))
            }
            Game::Lego(game) => {
                let buckets = Buckets::new(game.and_gates, game.inputs, game.beta, game.p_gate, game.p_auth)?;
                fits(buckets.gates_needed(), MOST_BALLS, "garbled gates")?;
                let line = format!(
                    "q = {}, n = {}, beta = {}, p_g = {}, p_a = {}",
                    game.and_gates, game.inputs, game.beta, game.p_gate, game.p_auth
                );
                Ok((line, simulate::lego(buckets)))
            }
        }
    }
}

impl Arrays {
    fn set_up(&self, game: fn(games::Game) -> Vec<Experiment>) -> Result<(String, Vec<Experiment>)> {
        let shape = games::Game::new(self.x, self.l, self.b, self.c)?;
        fits(
            (self.x * self.l).saturating_mul(self.b.into()),
            MOST_BALLS,
            "balls",
        )?;
        let line = format!(
            "X = {}, L = {}, B = {}, C = {}, so N = {}",
            self.x,
            self.l,
            self.b,
            self.c,
            shape.n()
        );
        Ok((line, game(shape)))
    }
}

fn fits(found: u64, most: u64, what: &str) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "a simulation is for small games: at most {} {what}, not {}",
        grouped(most),
        grouped(found)
    )))
}

/// The report for machines.
#[derive(Serialize)]
struct Report {
    game: &'static str,
    parameters: String,
    trials: u64,
    seed: u64,
    /// No adversary wins more often.
    bound_log2: LogProb,
    adversaries: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    adversary: String,
    seed: u64,
    wins: u64,
    measured: f64,
    /// The probability itself; `null` where there is no closed form.
    exact: Option<f64>,
    standard_error: f64,
    /// Measured less exact, in standard errors; `null` where nothing is exact, or certain.
    deviation: Option<f64>,
    /// Whether measured and exact value (or bound) agree within three standard errors.
    agrees: bool,
}

impl Line {
    fn new(estimate: Estimate) -> Self {
        let exact = estimate.exact.map(LogProb::probability);
        let deviation = exact
            .filter(|_| estimate.standard_error > 0.0)
            .map(|exact| (estimate.measured - exact) / estimate.standard_error);
        Line {
            agrees: estimate.agrees(3.0),
            adversary: estimate.adversary,
            seed: estimate.seed,
            wins: estimate.wins,
            measured: estimate.measured,
            exact,
            standard_error: estimate.standard_error,
            deviation,
        }
    }
}

impl Command for Game {
    fn run(&self, _: u8) -> Result<()> {
        let (parameters, experiments) = self.set_up()?;
        let play = self.play();
        let bounds = experiments.iter().map(Experiment::bound);
        let bound_log2 = bounds.fold(LogProb::ZERO, LogProb::max);
        // Each adversary has luck of its own.
        let seeds = (0..).map(|i| play.seed.wrapping_add(i));
        let adversaries = experiments
            .iter()
            .zip(seeds)
            .map(|(experiment, seed)| Line::new(experiment.run(play.trials, seed)))
            .collect();
        let report = Report {
            game: self.name(),
            parameters,
            trials: play.trials,
            seed: play.seed,
            bound_log2,
            adversaries,
        };
        play.form.print(&report, || table(&report))
    }

    fn json(&self) -> bool {
        self.play().form.json
    }
}

fn table(report: &Report) -> String {
    let lines = &report.adversaries;
    let mut table = Table::new("lrrrrrl");
    table.row(&[
        &"  adversary",
        &"wins",
        &"measured",
        &"exact",
        &"std error",
        &"deviation",
    ]);
    for line in lines {
        let exact = line.exact.map_or("unknown".into(), probability);
        let deviation = line
            .deviation
            .map_or("-".into(), |deviation| format!("{deviation:+.1}"));
        table.row(&[
            &format_args!("  {}", line.adversary),
            &grouped(line.wins),
            &probability(line.measured),
            &exact,
            &probability(line.standard_error),
            &deviation,
            &if line.agrees { "" } else { "!" },
        ]);
    }
    let apart = lines.iter().filter(|line| !line.agrees).count();
    format!(
        "{}: {}; {} trials each, seed {}\n\n{table}\n  bound for every adversary: {} ({:.3})\n  {} of {} differ by more than 3 standard errors (by chance, 1 in 370 does)\n",
        report.game,
        report.parameters,
        grouped(report.trials),
        report.seed,
        probability(report.bound_log2.probability()),
        report.bound_log2,
        apart,
        lines.len()
    )
}

/// Digits enough to compare, without an exponent where few zeros come first.
fn probability(p: f64) -> String {
    if p == 0.0 || p >= 1e-3 {
        format!("{p:.6}")
    } else {
        format!("{p:.4e}")
    }
}
