//! Game 4: buckets of different sizes (Section V of the paper).
//!
//! Here all `M = sum B_i + C` balls are shuffled as one array, `C` are opened, and the rest fill the buckets. The adversary
//! wins if some bucket is all bad and none is mixed. Unlike in Games 1 to 3, no array stays in place, so the error for
//! equal buckets is smaller than Game 1's by about `B!/B^B`.

use crate::combinatorics::log2_binomial;
use crate::{LogProb, Refusal, Setting};

/// Game 4 with its multiset of bucket sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unequal {
    /// (size, how many buckets have it), by increasing size, all counts positive.
    sizes: Vec<(u64, u64)>,
    c: u64,
}

impl Unequal {
    /// The game with the given bucket sizes, in any order, and `c` balls opened.
    ///
    /// # Errors
    /// If there is no bucket, or an empty one.
    pub fn new(buckets: &[u64], c: u64) -> Result<Self, Refusal> {
        if buckets.is_empty() || buckets.contains(&0) {
            let refusal =
                Refusal::new("game 4").because("every bucket holds a ball", format!("sizes = {buckets:?}"));
            return Err(refusal.nearest(vec![
                Setting::new("N", buckets.len().max(1) as f64),
                Setting::new("B", 1.0),
            ]));
        }
        let mut sorted = buckets.to_vec();
        sorted.sort_unstable();
        let sizes = sorted
            .chunk_by(|a, b| a == b)
            .map(|group| (group[0], group.len() as u64))
            .collect();
        Ok(Self { sizes, c })
    }

    /// `k` buckets of size `b` and `n - k` of size `b + 1` (Section V-B).
    ///
    /// # Errors
    /// Unless `1 <= k <= n`, `b >= 1` and there are at most `2^40` balls.
    pub fn two_sizes(n: u64, b: u64, k: u64, c: u64) -> Result<Self, Refusal> {
        let mut refusal = Refusal::new("game 4");
        if k < 1 || k > n {
            refusal = refusal.because("1 <= k <= N (Lemma 5.7)", format!("k = {k}, N = {n}"));
        }
        if b < 1
            || n.checked_mul(b + 1)
                .is_none_or(|balls| balls.saturating_add(c) > 1 << 40)
        {
            refusal = refusal.because(
                "B >= 1 and at most 2^40 balls",
                format!("N = {n}, B = {b}, C = {c}"),
            );
        }
        if !refusal.violated.is_empty() {
            let b = b.clamp(1, 1 << 20);
            let n = n.clamp(1, (1 << 39) / (b + 1));
            let settings = [("N", n), ("B", b), ("k", k.clamp(1, n)), ("C", c.min(1 << 39))];
            return Err(refusal.nearest(settings.map(|(name, v)| Setting::new(name, v as f64)).into()));
        }
        let sizes = [(b, k), (b + 1, n - k)]
            .into_iter()
            .filter(|&(_, count)| count > 0)
            .collect();
        Ok(Self { sizes, c })
    }

    /// `N`: how many buckets.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.sizes.iter().map(|&(_, count)| count).sum()
    }

    /// The sizes, smallest first, one entry per bucket.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.sizes
            .iter()
            .flat_map(|&(size, count)| (0..count).map(move |_| size))
    }

    /// Balls opened.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.c
    }

    /// `M`: all balls.
    #[must_use]
    pub fn balls(&self) -> u64 {
        self.c + self.sizes.iter().map(|&(size, count)| size * count).sum::<u64>()
    }

    /// `log2 n(t)` for `t = 0 ..= t_max`: in how many ways a set of buckets holds `t` balls, by dynamic programming over the
    /// sizes. Negative infinity where there is none.
    #[must_use]
    pub fn log2_subsets(&self, t_max: u64) -> Vec<f64> {
        let mut ways = vec![LogProb::ZERO; t_max as usize + 1];
        ways[0] = LogProb::ONE;
        for &(size, count) in &self.sizes {
            let mut next = vec![LogProb::ZERO; ways.len()];
            for (t, slot) in next.iter_mut().enumerate() {
                let most = count.min(t as u64 / size);
                *slot = (0..=most)
                    .map(|m| ways[t - (m * size) as usize] * LogProb::from_log2(log2_binomial(count, m)))
                    .sum();
            }
            ways = next;
        }
        ways.into_iter().map(LogProb::log2).collect()
    }

    /// The probability that `t` bad balls win: `n(t)/C(M,t)` (Lemma 5.2); 0 for `t = 0`.
    #[must_use]
    pub fn win(&self, t: u64) -> LogProb {
        if t == 0 || t > self.balls() - self.c {
            return LogProb::ZERO;
        }
        let ways = self.log2_subsets(t)[t as usize];
        LogProb::from_log2(ways - log2_binomial(self.balls(), t))
    }

    /// The best number of bad balls and its probability.
    ///
    /// With `C >= B_min` that is one bucket of minimal size (Theorem 5.3). Otherwise every `t` is tried, in time quadratic in
    /// the number of balls.
    #[must_use]
    pub fn best(&self) -> (u64, LogProb) {
        let smallest = self.sizes[0];
        if self.c >= smallest.0 {
            let win = (smallest.1 as f64).log2() - log2_binomial(self.balls(), smallest.0);
            return (smallest.0, LogProb::from_log2(win));
        }
        let ways = self.log2_subsets(self.balls() - self.c);
        let wins = ways.iter().enumerate().skip(1).map(|(t, w)| {
            let t = t as u64;
            (t, LogProb::from_log2(w - log2_binomial(self.balls(), t)))
        });
        wins.fold(
            (0, LogProb::ZERO),
            |best, next| if next.1 > best.1 { next } else { best },
        )
    }

    /// Lemma 5.7: with `k` of `N` buckets one smaller, the adversary wins at most `k/N` times what it wins when all are.
    /// `None` unless the sizes are `B` and `B + 1` and `C >= B`, as Theorem 5.3 requires.
    #[must_use]
    pub fn lemma_5_7(&self) -> Option<LogProb> {
        let (b, k) = self.sizes[0];
        let two = self.sizes.len() == 1 || (self.sizes.len() == 2 && self.sizes[1].0 == b + 1);
        if !two || self.c < b {
            return None;
        }
        let n = self.buckets();
        let equal = (n as f64).log2() - log2_binomial(n * b + self.c, b);
        Some(LogProb::from_log2((k as f64 / n as f64).log2() + equal))
    }
}

/// The fewest balls with which `n` buckets reach `2^-security`: sizes `B` and `B + 1`, as many of the smaller as the target
/// allows, `C = B` opened (what Theorem 5.3 needs).
///
/// # Errors
/// A security level outside 1 to 128, no bucket, or no size up to 130 that reaches the level (a single bucket).
pub fn fewest_balls(n: u64, security: u32) -> Result<Unequal, Refusal> {
    let refusal = Refusal::new("game 4");
    if !(1..=128).contains(&security) || !(1..=1 << 32).contains(&n) {
        return Err(refusal
            .because(
                "1 <= security <= 128 and 1 <= N <= 2^32",
                format!("security = {security}, N = {n}"),
            )
            .nearest(vec![
                Setting::new("security", f64::from(security.clamp(1, 128))),
                Setting::new("N", n.clamp(1, 1 << 32) as f64),
            ]));
    }
    for b in 1..=130 {
        let meets = |k: u64| Unequal::two_sizes(n, b, k, b).is_ok_and(|g| g.best().1.meets(security));
        if !meets(1) {
            continue;
        }
        let (mut low, mut high) = (1, n + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if meets(middle) {
                low = middle
            } else {
                high = middle
            }
        }
        return Unequal::two_sizes(n, b, low, b);
    }
    let refusal = refusal.because(
        format!("error <= 2^-{security}"),
        format!("N = {n} buckets of up to 131 balls miss it"),
    );
    Err(refusal.nearest(vec![Setting::new("N", (n + 1) as f64)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts, over all placements of `t` bad balls into opened, bucket 1, bucket 2 .., those that win.
    fn enumerate(buckets: &[u64], c: u64, t: u32) -> f64 {
        let m = c + buckets.iter().sum::<u64>();
        let (mut wins, mut all) = (0u64, 0u64);
        for bad in (0u64..1 << m).filter(|set| set.count_ones() == t) {
            all += 1;
            let mut at = c;
            let mut clean = bad & ((1 << c) - 1) == 0;
            for &size in buckets {
                let mask = ((1u64 << size) - 1) << at;
                clean &= bad & mask == 0 || bad & mask == mask;
                at += size;
            }
            wins += u64::from(clean && t > 0);
        }
        wins as f64 / all as f64
    }

    #[test]
    fn lemma_5_2_is_what_enumeration_counts() {
        for (buckets, c) in [
            (vec![2, 2, 3], 2),
            (vec![1, 3, 3, 4], 1),
            (vec![2, 3, 5], 3),
            (vec![4, 4, 4], 0),
        ] {
            let game = Unequal::new(&buckets, c).unwrap();
            for t in 1..=game.balls() as u32 {
                let exact = enumerate(&buckets, c, t);
                assert!(
                    (game.win(u64::from(t)).probability() - exact).abs() < 1e-13,
                    "{buckets:?} C={c} t={t}"
                );
            }
        }
    }

    #[test]
    fn one_bucket_of_minimal_size_is_best_when_c_is_at_least_as_large() {
        for buckets in [vec![2, 2, 3], vec![2, 3, 4, 4], vec![3, 3, 3, 5], vec![1, 1, 2]] {
            let b_min = *buckets.iter().min().unwrap();
            for c in b_min..b_min + 3 {
                let game = Unequal::new(&buckets, c).unwrap();
                let highest = (1..=game.balls())
                    .map(|t| game.win(t))
                    .fold(LogProb::ZERO, LogProb::max);
                let (t, best) = game.best();
                assert_eq!(t, b_min);
                assert!((best.log2() - highest.log2()).abs() < 1e-12, "{buckets:?} C={c}");
            }
        }
    }

    #[test]
    fn without_opening_enough_another_number_can_be_best() {
        let game = Unequal::new(&[2, 2], 0).unwrap();
        assert_eq!(game.best(), (4, LogProb::ONE));
    }

    #[test]
    fn levelling_sizes_never_helps_the_adversary() {
        // Theorem 5.6: a ball moved from a bucket larger by two or more, with C = B_min + 1 so that 5.3 covers both.
        for buckets in [vec![1, 3, 3], vec![2, 2, 4], vec![2, 5, 5], vec![1, 1, 6, 6]] {
            let c = buckets.iter().min().unwrap() + 1;
            let mut level = buckets.clone();
            level[0] += 1;
            *level.last_mut().unwrap() -= 1;
            let (before, after) = (
                Unequal::new(&buckets, c).unwrap(),
                Unequal::new(&level, c).unwrap(),
            );
            assert!(
                after.best().1.log2() <= before.best().1.log2() + 1e-12,
                "{buckets:?}"
            );
        }
    }

    #[test]
    fn lemma_5_7_bounds_and_nearly_equals_the_value() {
        for k in [1, 1 << 17, 1 << 19] {
            let game = Unequal::two_sizes(1 << 19, 3, k, 3).unwrap();
            let (value, bound) = (game.best().1.log2(), game.lemma_5_7().unwrap().log2());
            assert!(
                value <= bound + 1e-12 && value > bound - 1.3,
                "k = {k}: {value} {bound}"
            );
        }
    }

    #[test]
    fn a_target_between_two_sizes_is_met_with_the_fewest_balls() {
        let game = fewest_balls(1 << 18, 40).unwrap();
        assert!(game.best().1.meets(40));
        let sizes = &game.sizes;
        assert_eq!((sizes.len(), sizes[0].0, sizes[1].0), (2, 3, 4));
        let one_more = Unequal::two_sizes(1 << 18, 3, sizes[0].1 + 1, 3).unwrap();
        assert!(!one_more.best().1.meets(40));
        // All balls shuffled together, three per bucket are enough for 2^19 buckets; one of them may even be smaller.
        assert!(
            Unequal::two_sizes(1 << 19, 3, 1 << 19, 3)
                .unwrap()
                .best()
                .1
                .meets(40)
        );
        let game = fewest_balls(1 << 19, 40).unwrap();
        assert_eq!(
            (game.sizes.as_slice(), game.c),
            (&[(2, 1), (3, (1 << 19) - 1)][..], 2)
        );
        for (buckets, security, why) in [(0, 40, "1 <= N"), (10, 0, "1 <= security")] {
            let refusal = fewest_balls(buckets, security).unwrap_err();
            assert!(refusal.to_string().contains(why), "{refusal}");
        }
    }
}
