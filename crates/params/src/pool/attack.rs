//! What an adversary achieves against a pool of given size.

use crate::{LogProb, Refusal, Setting};

/// One kind of draw from a pool: `size` gadgets, which fail when at least `bad` of them are bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    size: u64,
    bad: u64,
}

impl Draw {
    /// A bucket of `b` gadgets of which one good one suffices ("SingleCut").
    ///
    /// # Errors
    /// Unless `B >= 1`.
    pub fn bucket(b: u64) -> Result<Self, Refusal> {
        Self::threshold(b, b)
    }

    /// A draw of `size` gadgets that fails when at least `bad` are bad.
    ///
    /// # Errors
    /// Unless `1 <= bad <= size`.
    pub fn threshold(size: u64, bad: u64) -> Result<Self, Refusal> {
        if (1..=size).contains(&bad) {
            return Ok(Self { size, bad });
        }
        let size = size.max(1);
        Err(Refusal::new("pool")
            .because("1 <= bad <= size", format!("bad = {bad}, size = {size}"))
            .nearest(vec![
                Setting::new("size", size as f64),
                Setting::new("bad", bad.clamp(1, size) as f64),
            ]))
    }

    /// Gadgets drawn.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The fewest bad ones that make it fail.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.bad
    }
}

/// `P_B(n, k)` for all `k` up to a limit, and what follows from it.
///
/// Only draws that take a bad gadget change anything, so the probabilities are conditioned on that: the recurrence of
/// Section 4, in which `P_B(n,k)` stands on both sides (`i = 0`), is solved for it by dividing by the probability that
/// `i >= 1`.
#[derive(Clone, Debug)]
pub struct Attack {
    draw: Draw,
    /// `p[k] = P_B(n, k)`, at least the smallest normal number where it is positive.
    p: Vec<f64>,
    /// `fail[k]`: the probability that a draw from `k` bad ones that takes any fails.
    fail: Vec<f64>,
    /// `take[k (bad-1) + i-1]`: the probability that it takes exactly `i < bad`, and so does not fail.
    take: Vec<f64>,
}

impl Attack {
    /// The attack on a pool of `n` gadgets with up to `most` bad ones in it (the pool's size, if that is less).
    ///
    /// Time and memory are `O(most * size)`.
    ///
    /// # Errors
    /// If a draw takes more gadgets than the pool holds, or the pool is larger than [`super::MAX_POOL`].
    pub fn new(n: u64, draw: Draw, most: u64) -> Result<Self, Refusal> {
        if draw.size > n || n > super::MAX_POOL {
            let refusal =
                Refusal::new("pool").because("B <= n <= 2^50", format!("B = {}, n = {n}", draw.size));
            let (b, nearest) = (
                draw.size.min(super::MAX_POOL),
                n.clamp(draw.size.min(super::MAX_POOL), super::MAX_POOL),
            );
            return Err(refusal.nearest(vec![
                Setting::new("n", nearest as f64),
                Setting::new("B", b as f64),
            ]));
        }
        let (most, survivable) = (most.min(n) as usize, draw.bad as usize - 1);
        let mut p = vec![0.0; most + 1];
        let mut fail = vec![0.0; most + 1];
        let mut take = vec![0.0; (most + 1) * survivable];
        let mut weights = vec![0.0; draw.size as usize];
        for k in 1..=most {
            conditional_hypergeometric(n, k as u64, &mut weights);
            let (harmless, failing) = weights.split_at(survivable);
            take[k * survivable..(k + 1) * survivable].copy_from_slice(harmless);
            if k as u64 >= draw.bad {
                let fails: f64 = failing.iter().rev().sum();
                let later: f64 = harmless.iter().enumerate().map(|(i, w)| w * p[k - (i + 1)]).sum();
                fail[k] = fails.max(f64::MIN_POSITIVE);
                p[k] = (fails + later).max(f64::MIN_POSITIVE);
            }
        }
        Ok(Self { draw, p, fail, take })
    }

    /// The largest `k` that this knows.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.p.len() as u64 - 1
    }

    /// `P_B(n, k)`: with `k` bad gadgets in the pool and none added, the probability that a draw ever fails.
    ///
    /// # Panics
    /// If `k` is more than [`Self::most`].
    #[must_use]
    pub fn ever_fails(&self, k: u64) -> LogProb {
        LogProb::from_probability(self.p[k as usize])
    }

    /// Formula (1): the best of inserting `b` bad gadgets at once when each gets past the guard with probability `slip`, for
    /// `b` from 1 to [`Self::most`]: that `b` and its probability.
    #[must_use]
    pub fn insert_at_once(&self, slip: f64) -> (u64, LogProb) {
        self.best(slip, |k| self.p[k].log2())
    }

    /// The best adversary that watches the draws and inserts again when its bad gadgets are used up: it keeps `k` in the
    /// pool; that `k` and its probability.
    ///
    /// The best strategy of this Markov decision process decides by the number of bad gadgets alone, and starting from none
    /// inserts up to the first number at which it waits; so it is "keep `k`" for some `k`. With `W` its chance once
    /// they are in, a draw that takes `i` costs `slip^i` to make good: `W = fail(k) + sum_i take(k,i) slip^i W`.
    #[must_use]
    pub fn keep_inserting(&self, slip: f64) -> (u64, LogProb) {
        self.best(slip, self.kept(slip))
    }

    /// Of the numbers `among`, in ascending order, those that are worth more than `2^log2_target` to an adversary that keeps so many bad
    /// gadgets in the pool. The larger `slip`, the more they are.
    pub(super) fn worth_keeping(&self, slip: f64, log2_target: f64, among: &[u64]) -> Vec<u64> {
        let (kept, inserted) = (self.kept(slip), slip.log2());
        among
            .iter()
            .copied()
            .take_while(|&k| k as f64 * inserted > log2_target)
            .filter(|&k| kept(k as usize) + k as f64 * inserted > log2_target)
            .collect()
    }

    /// All numbers of bad gadgets that can do harm.
    pub(super) fn harmful(&self) -> std::ops::Range<u64> {
        self.draw.bad..self.p.len() as u64
    }

    /// `log2 W`, by the number kept.
    fn kept(&self, slip: f64) -> impl Fn(usize) -> f64 {
        let survivable = self.draw.bad as usize - 1;
        // 1 - sum take slip^i, as a sum of positive terms.
        let price: Vec<f64> = (1..=survivable)
            .map(|i| -(i as f64 * slip.ln()).exp_m1())
            .collect();
        move |k| {
            let take = &self.take[k * survivable..(k + 1) * survivable];
            let lost: f64 = take.iter().zip(&price).map(|(w, price)| w * price).sum();
            (self.fail[k] / (self.fail[k] + lost)).log2()
        }
    }

    /// The best `k`, of which `log2_chance` is the logarithm of what it gives once all have slipped in.
    fn best(&self, slip: f64, log2_chance: impl Fn(usize) -> f64) -> (u64, LogProb) {
        let inserted = slip.log2();
        let mut best = (0, f64::NEG_INFINITY);
        for k in self.harmful() {
            let slipped = k as f64 * inserted;
            // Chances are at most 1, so more are worth no more.
            if slipped < best.1 {
                break;
            }
            let value = log2_chance(k as usize) + slipped;
            if value > best.1 {
                best = (k, value);
            }
        }
        (best.0, LogProb::from_log2(best.1))
    }

    /// The smallest probability `d` of being found that holds formula (1) to `2^log2_target`: a bad gadget gets past
    /// with `1 - d`. Closed form: `1 - (target/P_B(n,k))^(1/k)`, the largest over `k`.
    #[must_use]
    pub fn needed_detection(&self, log2_target: f64) -> f64 {
        self.harmful()
            .map(|k| {
                -((log2_target - self.p[k as usize].log2()) / k as f64 * std::f64::consts::LN_2).exp_m1()
            })
            .fold(0.0, f64::max)
    }
}

/// The probabilities of `i = 1, 2 ..` bad among as many drawn as there are `weights`, from `n` of which `k` are bad, given that
/// `i >= 1`.
pub(super) fn conditional_hypergeometric(n: u64, k: u64, weights: &mut [f64]) {
    let (good, size) = (n - k, weights.len() as u64);
    // At least this many must be bad, if the good ones do not suffice.
    let least = size.saturating_sub(good).max(1);
    let most = size.min(k);
    weights.fill(0.0);
    // Start from the likeliest so that nothing overflows; neighbours differ by simple ratios.
    let likeliest = ((size + 1) as f64 * (k + 1) as f64 / (n + 2) as f64).floor();
    let mode = likeliest.clamp(least as f64, most as f64) as u64;
    weights[mode as usize - 1] = 1.0;
    let ratio = |i: u64| (k - i) as f64 * (size - i) as f64 / ((i + 1) as f64 * (good + i + 1 - size) as f64);
    for i in mode..most {
        weights[i as usize] = weights[i as usize - 1] * ratio(i);
    }
    for i in (least..mode).rev() {
        weights[i as usize - 1] = weights[i as usize] / ratio(i);
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
}
