//! Pools, gadget by gadget.

use rand::RngExt;
use rand::rngs::StdRng;

use super::experiment::Experiment;
use cenote_params::pool::{Attack, Draw};
use cenote_params::{LogProb, Refusal, Setting};

/// How a fresh gadget is treated.
#[derive(Clone, Copy)]
enum Guard {
    /// Checked with the rate `r_c` and thrown away, or put into the pool.
    Sample { check_rate: f64, detection: f64 },
    /// Always checked and always used (authenticated triples).
    CheckAll { detection: f64 },
}

impl Guard {
    /// Brings one bad gadget into the pool, however many tries it takes. False if a try was detected.
    fn insert(self, rng: &mut StdRng) -> bool {
        match self {
            Self::CheckAll { detection } => !rng.random_bool(detection),
            Self::Sample {
                check_rate,
                detection,
            } => loop {
                if !rng.random_bool(check_rate) {
                    return true;
                }
                if rng.random_bool(detection) {
                    return false;
                }
            },
        }
    }

    /// The probability of that.
    fn slip(self) -> f64 {
        match self {
            Self::CheckAll { detection } => 1.0 - detection,
            Self::Sample {
                check_rate,
                detection,
            } => (1.0 - check_rate) / (1.0 - check_rate * (1.0 - detection)),
        }
    }
}

/// When the adversary inserts bad gadgets.
#[derive(Clone, Copy)]
enum Strategy {
    AtOnce(u64),
    Keep(u64),
}

/// A pool of `n` gadgets with buckets of `bucket`, check rate `r_c` and detection `r_d`, over its whole life.
///
/// The bound is that of the adversary that replaces its gadgets ([`cenote_params::pool::Guard::Adaptive`]), which is exact.
///
/// # Errors
/// If the pool is smaller than a bucket, or a probability is not in (0, 1) (`r_d` may be 1).
pub fn pool(n: u64, bucket: u64, check_rate: f64, detection: f64) -> Result<Vec<Experiment>, Refusal> {
    experiments(
        "pool",
        n,
        bucket,
        check_rate,
        detection,
        Guard::Sample {
            check_rate,
            detection,
        },
    )
}

/// A pool of leaky authenticated triples: all checked, all used, a bad one found with probability 1/2.
///
/// # Errors
/// If the pool is smaller than a bucket.
pub fn triple_pool(n: u64, bucket: u64) -> Result<Vec<Experiment>, Refusal> {
    experiments(
        "triple pool",
        n,
        bucket,
        0.5,
        0.5,
        Guard::CheckAll { detection: 0.5 },
    )
}

fn experiments(
    game: &'static str,
    n: u64,
    bucket: u64,
    check_rate: f64,
    detection: f64,
    guard: Guard,
) -> Result<Vec<Experiment>, Refusal> {
    let probable = check_rate > 0.0 && check_rate < 1.0 && detection > 0.0 && detection <= 1.0;
    if !probable {
        let found = format!("r_c = {check_rate}, r_d = {detection}");
        return Err(Refusal::new(game)
            .because("0 < r_c < 1 and 0 < r_d <= 1", found)
            .nearest(vec![Setting::new("r_c", 0.1), Setting::new("r_d", 0.5)]));
    }
    let slip = guard.slip();
    // Beyond a few hundred times the expected number of survivors nothing is won.
    let most = (200.0 / -slip.ln()).ceil().clamp(bucket as f64 + 4.0, 1e5) as u64;
    let attack = Attack::new(n, Draw::bucket(bucket)?, most)?;
    let (at_once, keep) = (attack.insert_at_once(slip), attack.keep_inserting(slip));
    let capped = |k: u64| k.min(attack.most());
    let strategies = [
        (format!("keeps {} bad", keep.0), Strategy::Keep(keep.0)),
        (format!("{} bad at once", at_once.0), Strategy::AtOnce(at_once.0)),
        (
            format!("{} bad at once", capped(bucket)),
            Strategy::AtOnce(capped(bucket)),
        ),
        (
            format!("{} bad at once", capped(at_once.0 + 3)),
            Strategy::AtOnce(capped(at_once.0 + 3)),
        ),
    ];
    let list = strategies.into_iter().map(|(adversary, strategy)| Experiment {
        game,
        adversary,
        exact: Some(match strategy {
            Strategy::Keep(_) => keep.1,
            Strategy::AtOnce(b) => attack.ever_fails(b) * LogProb::from_probability(slip).pow(b as f64),
        }),
        bound: keep.1,
        trial: Box::new(move |rng| trial(n, bucket, guard, strategy, rng)),
    });
    Ok(list.collect())
}

fn trial(n: u64, bucket: u64, guard: Guard, strategy: Strategy, rng: &mut StdRng) -> bool {
    let target = match strategy {
        Strategy::AtOnce(b) | Strategy::Keep(b) => b,
    };
    let mut bad = 0;
    let mut refill = true;
    loop {
        while refill && bad < target {
            if !guard.insert(rng) {
                return false;
            }
            bad += 1;
        }
        refill = matches!(strategy, Strategy::Keep(_));
        if bad < bucket {
            return false;
        }
        // Draw without replacement; only how many are bad matters.
        let drawn = (0..bucket).fold(0, |drawn, i| {
            drawn + u64::from(rng.random_range(0..n - i) < bad - drawn)
        });
        if drawn == bucket {
            return true;
        }
        bad -= drawn;
    }
}
