//! Input buckets from which a cheating garbler's input is extracted: their good gadgets must be the majority.

use serde::Serialize;

use super::attack::{Attack, Draw};
use super::search::{Parameters, Request};
use crate::{LogProb, Refusal, Setting};

/// The size of the input buckets of a pool, and their error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extraction {
    /// Gadgets in an input bucket; odd.
    pub bucket: u32,
    /// The probability that the bad ones ever have the majority in one, over the pool's life.
    #[serde(rename = "error_log2")]
    pub error: LogProb,
}

/// The smallest odd number of gadgets in an input bucket, drawn from the pool with parameters `pool`, such that in none of them,
/// over the pool's life, half or more are bad except with probability `2^-security_bits`.
///
/// A bucket of `2m - 1` fails with `m` bad ones; the same recurrence as for ordinary buckets counts it. Ordinary buckets
/// drawn in between only take bad gadgets away. The two errors add up, so give each kind its share of the budget. The strategies
/// counted are those of [`super::Guard::Paper`] and of [`super::Guard::Adaptive`], whichever wins more.
///
/// # Errors
/// If no size below 200 suffices, with the check rate as what to raise.
pub fn extraction(pool: &Parameters, security_bits: f64) -> Result<Extraction, Refusal> {
    let request = Request {
        security_bits,
        pool_size: pool.pool_size(),
        detection: pool.detection(),
        guard: super::Guard::Paper,
    };
    let (r_c, r_d) = (pool.check_rate(), pool.detection());
    let paper = 1.0 - r_c * r_d;
    let adaptive = (1.0 - r_c) / (1.0 - r_c * (1.0 - r_d));
    let most = (-request.security_bits / paper.log2())
        .ceil()
        .clamp(1.0, (1u64 << 22) as f64) as u64
        + 1;
    for half in 1..=100u64 {
        let size = 2 * half - 1;
        let Ok(attack) = Attack::new(request.pool_size, Draw::threshold(size, half)?, most.max(half)) else {
            break;
        };
        let error = attack
            .insert_at_once(paper)
            .1
            .max(attack.keep_inserting(adaptive).1);
        if error.meets_log2(-security_bits) {
            return Ok(Extraction {
                bucket: size as u32,
                error,
            });
        }
    }
    Err(Refusal::new("pool")
        .because(
            format!("some input bucket reaches 2^-{security_bits}"),
            format!("r_c = {r_c}, n = {}", request.pool_size),
        )
        .nearest(vec![Setting::new("r_c", (2.0 * r_c).min(0.5))]))
}
