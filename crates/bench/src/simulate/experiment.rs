//! A game with one adversary, and what a simulation of it measures.

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Serialize;

use cenote_params::LogProb;

/// One trial of a game: whether the adversary wins.
pub(super) type Trial = Box<dyn Fn(&mut StdRng) -> bool + Send + Sync>;

/// A game and an adversary.
pub struct Experiment {
    pub(super) game: &'static str,
    pub(super) adversary: String,
    pub(super) exact: Option<LogProb>,
    pub(super) bound: LogProb,
    pub(super) trial: Trial,
}

/// What a simulation measured, beside the values expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub game: &'static str,
    pub adversary: String,
    /// Seed of the random numbers: the same seed gives the same estimate.
    pub seed: u64,
    /// Trials played.
    pub trials: u64,
    /// Trials that the adversary won.
    pub wins: u64,
    /// `wins/trials`.
    pub measured: f64,
    /// One standard error of `measured`: of the exact probability where it is known, else of the measured one.
    pub standard_error: f64,
    /// The probability with which this adversary wins, where the game has a closed form.
    #[serde(rename = "exact_log2")]
    pub exact: Option<LogProb>,
    /// What no adversary exceeds, by the game's theorem.
    #[serde(rename = "bound_log2")]
    pub bound: LogProb,
}

impl Experiment {
    /// The game's name.
    #[must_use]
    pub fn game(&self) -> &'static str {
        self.game
    }

    /// What the adversary does, in a few words.
    #[must_use]
    pub fn adversary(&self) -> &str {
        &self.adversary
    }

    /// The probability with which this adversary wins, where the game has a closed form.
    #[must_use]
    pub fn exact(&self) -> Option<LogProb> {
        self.exact
    }

    /// What no adversary exceeds.
    #[must_use]
    pub fn bound(&self) -> LogProb {
        self.bound
    }

    /// Plays `trials` times with random numbers from `seed`.
    #[must_use]
    pub fn run(&self, trials: u64, seed: u64) -> Estimate {
        let mut rng = StdRng::seed_from_u64(seed);
        let wins = (0..trials).filter(|_| (self.trial)(&mut rng)).count() as u64;
        let tries = trials.max(1) as f64;
        let measured = wins as f64 / tries;
        // Where nothing was won and nothing is known, one win is the measure of doubt.
        let p = self
            .exact
            .map_or(measured.max(1.0 / tries), LogProb::probability)
            .min(1.0);
        Estimate {
            game: self.game,
            adversary: self.adversary.clone(),
            seed,
            trials,
            wins,
            measured,
            standard_error: (p * (1.0 - p) / tries).sqrt(),
            exact: self.exact,
            bound: self.bound,
        }
    }
}

impl Estimate {
    /// Whether measured and exact value agree within `sigmas` standard errors. Where no exact value is known, the bound may be
    /// exceeded by as many.
    #[must_use]
    pub fn agrees(&self, sigmas: f64) -> bool {
        let doubt = sigmas * self.standard_error + 1e-12;
        match self.exact {
            Some(exact) => (self.measured - exact.probability()).abs() <= doubt,
            None => self.measured <= self.bound.probability() + doubt,
        }
    }
}
