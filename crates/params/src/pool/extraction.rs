//! Input buckets from which a cheating garbler's input is extracted: their good gadgets must be the majority.

use serde::Serialize;

use super::attack::conditional_hypergeometric;
use super::search::{Guard, Parameters};
use crate::combinatorics::log2_binomial;
use crate::{LogProb, Refusal, Remembered, Setting};

/// The size of the input buckets of a pool, and their error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extraction {
    /// Gadgets in an input bucket; odd.
    pub bucket: u32,
    /// The probability that the bad ones ever have the majority in one, over the pool's life.
    #[serde(rename = "error_log2")]
    pub error: LogProb,
}

/// The smallest odd number of gadgets in an input bucket, taken from the draws of the pool with parameters `pool`, such that in none of
/// them, over the pool's life, half or more are bad except with probability `2^-security_bits`.
///
/// The pool's draws are all of `B` gadgets. They make one long row, and an input bucket is `size` that follow one another in it.
/// *Which* the adversary may choose when it knows what was drawn: it has a say in what is computed. So what is counted is that *any*
/// `size` neighbours in the row have `m` bad ones, `size = 2m - 1`; see `window_error`. The errors of both kinds of
/// bucket add up, so give each kind its share of the budget.
///
/// # Errors
/// If no size below 200 suffices, with the check rate as what to raise.
pub fn extraction(pool: &Parameters, security_bits: f64) -> Result<Extraction, Refusal> {
    static FOUND: Remembered<(Parameters, f64), Result<Extraction, Refusal>> = Remembered::new();
    FOUND.get((pool.clone(), security_bits), || search_anew(pool, security_bits))
}

fn search_anew(pool: &Parameters, security_bits: f64) -> Result<Extraction, Refusal> {
    let (r_c, r_d, n) = (pool.check_rate(), pool.detection(), pool.pool_size());
    let slip = Guard::Adaptive.slip(r_c, r_d);
    // More than these get past the checks too seldom.
    let most = (-security_bits / slip.log2())
        .ceil()
        .clamp(1.0, (1u64 << 22) as f64) as u64;
    let sizes = (1..=100u64).take_while(|half| 2 * half <= n);
    let found = sizes.map(|half| Extraction {
        bucket: 2 * half as u32 - 1,
        error: window_error(n, pool.bucket(), slip, 2 * half - 1, half, most),
    });
    let enough = |extraction: &Extraction| extraction.error.meets_log2(-security_bits);
    found.into_iter().find(enough).ok_or_else(|| {
        Refusal::new("pool")
            .because(
                format!("some input bucket reaches 2^-{security_bits}"),
                format!("r_c = {r_c}, n = {n}"),
            )
            .nearest(vec![Setting::new("r_c", (2.0 * r_c).min(0.5))])
    })
}

/// The probability, at most, that some `size` neighbours in the row of all that is ever drawn from a pool of `n` have `bad` bad gadgets or
/// more. Draws are of `together`; a bad gadget gets into the pool with probability `slip`; at most `most` are in it.
///
/// Of such neighbours take the first bad gadget: `bad - 1` of the `size - 1` after it are bad too. For any that were drawn
/// and any `bad - 1` places after it, all of these are bad with probability `((k-1)/(n-together+1))^(bad-1)` at most if there are
/// never more than `k` bad ones in the pool meanwhile, the first one included. An adversary that has inserted `I` gadgets up to then, of which
/// `d` were drawn before that first one, has `k <= I - d`, and has got as far with probability `slip^I`: to insert some only when
/// the first places have turned out well costs as much as to have them there before, and helps less. So the expected number of such
/// neighbours, counted once for each bad gadget drawn, is highest if a certain number `k` is kept in the pool: `slip^k` to insert
/// them, and of each draw that takes `i >= 1` of them `i` gadgets to count from, at the price of `slip^i` to go on.
fn window_error(n: u64, together: u32, slip: f64, size: u64, bad: u64, most: u64) -> LogProb {
    let places = log2_binomial(size - 1, bad - 1);
    let mut weights = vec![0.0; together as usize];
    let value = |k: u64| {
        conditional_hypergeometric(n, k, &mut weights);
        let (mut drawn, mut lost) = (0.0, 0.0);
        for (i, weight) in (1..).zip(&weights) {
            drawn += f64::from(i) * weight;
            lost -= weight * (f64::from(i) * slip.ln()).exp_m1();
        }
        let other = (k - 1).max(1) as f64 / (n - u64::from(together) + 1) as f64;
        k as f64 * slip.log2() + (drawn / lost).log2() + places + (bad - 1) as f64 * other.log2()
    };
    let values = (bad..=most.max(bad).min(n)).map(value);
    LogProb::from_log2(values.fold(f64::NEG_INFINITY, f64::max).min(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best adversary, by value iteration: it sees every draw, inserts when it likes, and wins when any `size` neighbours in the row
    /// have `bad` bad ones. A state is how many bad ones are in the pool, and which of the last `size - 1` that were drawn are bad.
    fn best(n: usize, together: usize, slip: f64, size: usize, bad: u32, most: usize) -> f64 {
        let patterns = 1usize << (size - 1);
        let mut value = vec![vec![0.0f64; patterns]; most + 1];
        // What a draw does to such a pattern with the chance of each: `None` if it is won.
        let draws = |k: usize, pattern: usize| {
            let mut outcomes = vec![(1.0, k, Some(pattern))];
            for place in 0..together {
                let next = outcomes.into_iter().flat_map(|(chance, left, pattern)| {
                    let hit = left as f64 / (n - place) as f64;
                    [(1, chance * hit), (0, chance * (1.0 - hit))].map(|(taken, chance)| {
                        let row = pattern.map(|pattern| pattern << 1 | taken);
                        let row = row.filter(|row| row.count_ones() < bad);
                        (chance, left - taken.min(left), row.map(|row| row % patterns))
                    })
                });
                outcomes = next.filter(|(chance, ..)| *chance > 0.0).collect();
            }
            outcomes
        };
        for _ in 0..3000 {
            for k in (0..=most).rev() {
                for pattern in 0..patterns {
                    let of = |(chance, left, row): (f64, usize, Option<usize>)| {
                        chance * row.map_or(1.0, |row| value[left][row])
                    };
                    let wait: f64 = draws(k, pattern).into_iter().map(of).sum();
                    let insert = value.get(k + 1).map_or(0.0, |more| slip * more[pattern]);
                    value[k][pattern] = wait.max(insert);
                }
            }
        }
        value[0][0]
    }

    /// Also against an adversary that inserts in the middle, and chooses neighbours wherever they are.
    #[test]
    fn no_adversary_wins_more_often_than_bounded() {
        for (n, together, slip, size, bad, most) in [
            (60, 2, 0.7, 3, 2, 14),
            (80, 3, 0.6, 5, 3, 14),
            (50, 4, 0.5, 3, 2, 10),
            (90, 2, 0.75, 5, 3, 20),
            (40, 1, 0.6, 3, 2, 12),
        ] {
            let exact = best(n, together, slip, size, bad, most).log2();
            let bound = window_error(n as u64, together as u32, slip, size as u64, bad.into(), 100).log2();
            assert!(exact <= bound, "{n} {together} {size}: {exact} {bound}");
            assert!(bound < exact + 1.5, "{n} {together} {size}: {exact} {bound}");
        }
    }
}
