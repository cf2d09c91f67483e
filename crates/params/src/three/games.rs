//! The combinatorial games of Section III and their exact values.
//!
//! Each game is described by `X`, `L`, `B`, `C`, with `1 <= C < X`. A *profile* says how many bad balls each subarray of
//! every array holds; an adversary whose arrays have different profiles always loses (Lemma 3.2). A *single-valued* profile
//! puts `t` bad balls into each of `S` subarrays and none into the others.

use crate::combinatorics::log2_binomial;
use crate::{LogProb, Refusal, Setting, Violation};

/// The parameters of Games 1, 2 and 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Game {
    pub(super) x: u64,
    pub(super) l: u64,
    pub(super) b: u32,
    pub(super) c: u64,
}

/// The largest number of buckets that is reckoned with; indices, products and logarithms are exact up to here.
pub const MAX_N: u64 = 1 << 48;

impl Game {
    /// The game with `L = l` subarrays of `X = x` balls, of which `C = c` are opened, and buckets of `B = b`.
    ///
    /// # Errors
    /// Unless `B >= 2`, `L >= 1`, `1 <= C < X` and `X L <= 2^48`.
    pub fn new(x: u64, l: u64, b: u32, c: u64) -> Result<Self, Refusal> {
        let mut refusal = Refusal::new("game");
        let mut require = |holds: bool, condition: &str, found: String| {
            if !holds {
                refusal.violated.push(Violation {
                    condition: condition.into(),
                    found,
                });
            }
        };
        require(b >= 2, "B >= 2", format!("B = {b}"));
        require(l >= 1, "L >= 1", format!("L = {l}"));
        require(c >= 1 && c < x, "0 < C < X", format!("C = {c}, X = {x}"));
        require(
            x.checked_mul(l).is_some_and(|xl| xl <= MAX_N),
            "X L <= 2^48",
            format!("X = {x}, L = {l}"),
        );
        if refusal.violated.is_empty() {
            return Ok(Self { x, l, b, c });
        }
        let (b, l, c) = (b.max(2), l.clamp(1, MAX_N / 2), c.clamp(1, MAX_N / 2));
        let settings = [
            ("X", x.clamp(c + 1, (MAX_N / l).max(c + 1)) as f64),
            ("L", l as f64),
            ("B", f64::from(b)),
            ("C", c as f64),
        ];
        Err(refusal.nearest(
            settings
                .into_iter()
                .map(|(name, value)| Setting::new(name, value))
                .collect(),
        ))
    }

    /// Balls in a subarray before opening.
    #[must_use]
    pub fn x(&self) -> u64 {
        self.x
    }

    /// Subarrays.
    #[must_use]
    pub fn l(&self) -> u64 {
        self.l
    }

    /// Bucket size.
    #[must_use]
    pub fn b(&self) -> u32 {
        self.b
    }

    /// Balls opened per subarray.
    #[must_use]
    pub fn c(&self) -> u64 {
        self.c
    }

    /// Buckets: `N = (X - C) L`.
    #[must_use]
    pub fn n(&self) -> u64 {
        (self.x - self.c) * self.l
    }

    fn log2_n(&self) -> f64 {
        (self.n() as f64).log2()
    }

    fn repetitions(&self) -> f64 {
        f64::from(self.b - 1)
    }

    /// Game 1 for a single-valued profile (Eq. 3): `C(L,S)^-(B-1) C(X,t)^-S(B-1)`, and 0 when `t > X - C`, since an opening
    /// then always meets a bad ball, or when no ball is bad, since nothing is won.
    #[must_use]
    pub fn game1(&self, s: u64, t: u64) -> LogProb {
        if s == 0 || t == 0 || s > self.l || t > self.x - self.c {
            return LogProb::ZERO;
        }
        let choices = log2_binomial(self.l, s) + s as f64 * log2_binomial(self.x, t);
        LogProb::from_log2(-self.repetitions() * choices)
    }

    /// Game 1 for any profile: one entry per subarray, in any order, the same for every array.
    ///
    /// Equal entries can be matched in any order, so the subarrays fall into place with probability one over the
    /// multinomial coefficient of the entries' multiplicities. [`Self::game1`] is the single-valued case.
    #[must_use]
    pub fn game1_profile(&self, profile: &[u64]) -> LogProb {
        let mut sorted: Vec<u64> = profile.iter().copied().filter(|&t| t > 0).collect();
        sorted.sort_unstable();
        if sorted.is_empty() || profile.len() as u64 > self.l || sorted.iter().any(|&t| t > self.x - self.c) {
            return LogProb::ZERO;
        }
        let (mut places, mut choices) = (self.l, 0.0);
        for group in sorted.chunk_by(|a, b| a == b) {
            let size = group.len() as u64;
            choices += log2_binomial(places, size) + size as f64 * log2_binomial(self.x, group[0]);
            places -= size;
        }
        LogProb::from_log2(-self.repetitions() * choices)
    }

    /// The exact value of Game 1: the maximum of Eq. 3 over `(S, t)`, which is `max((LX)^-(B-1), X^-L(B-1))`.
    ///
    /// `C(X,t) >= X` for `1 <= t <= X - C`, and `C(L,S) >= L` unless `S = L`, so only one bad ball in one subarray or
    /// in every subarray can be best; more values in a profile only help to lose (Lemma 3.3).
    #[must_use]
    pub fn game1_value(&self) -> LogProb {
        self.game1(1, 1).max(self.game1(self.l, 1))
    }

    /// Theorem 3.4: Game 1 is won with probability at most `N^-(B-1)`.
    #[must_use]
    pub fn theorem_3_4(&self) -> LogProb {
        LogProb::from_log2(-self.repetitions() * self.log2_n())
    }

    /// Game 2 for a single-valued profile (Eq. 4): Game 1 times `C(N, S t)^-1`.
    #[must_use]
    pub fn game2(&self, s: u64, t: u64) -> LogProb {
        let first = self.game1(s, t);
        if first == LogProb::ZERO {
            first
        } else {
            first * LogProb::from_log2(-log2_binomial(self.n(), s * t))
        }
    }

    /// Game 2 for any profile.
    #[must_use]
    pub fn game2_profile(&self, profile: &[u64]) -> LogProb {
        let first = self.game1_profile(profile);
        let bad: u64 = profile.iter().sum();
        if first == LogProb::ZERO {
            first
        } else {
            first * LogProb::from_log2(-log2_binomial(self.n(), bad))
        }
    }

    /// The exact value of Game 2.
    ///
    /// Unless all `N` buckets are bad, the reshuffle matches with probability at most `1/N` and Game 1 is won with at most
    /// its value; one bad ball attains both. All `N` bad is the one other case, `(S, t) = (L, X - C)`.
    #[must_use]
    pub fn game2_value(&self) -> LogProb {
        self.game2(1, 1)
            .max(self.game2(self.l, 1))
            .max(self.game2(self.l, self.x - self.c))
    }

    /// Theorem 3.7: Game 2 is won with probability at most `N^-B`, where [`Self::condition_3_7`] holds.
    #[must_use]
    pub fn theorem_3_7(&self) -> LogProb {
        LogProb::from_log2(-f64::from(self.b) * self.log2_n())
    }

    /// The condition of Theorem 3.7: `X^L >= (X L)^2`.
    #[must_use]
    pub fn condition_3_7(&self) -> bool {
        let (x, l) = ((self.x as f64).log2(), self.l as f64);
        // Exact in small numbers, where equality occurs (L = 4, X = 4).
        if l * x < 100.0 {
            return u128::from(self.x).pow(self.l as u32) >= u128::from(self.x * self.l).pow(2);
        }
        l * x >= 2.0 * (x + l.log2())
    }

    /// Game 3, one round or continuous, for a single-valued profile in one of the arrays: Game 1 times `S t / N`.
    ///
    /// The adversary makes its first gate bad while all its bad buckets lie in `d_1`.
    #[must_use]
    pub fn game3(&self, s: u64, t: u64) -> LogProb {
        let first = self.game1(s, t);
        if first == LogProb::ZERO {
            return first;
        }
        first * LogProb::from_log2(((s * t) as f64).log2() - self.log2_n())
    }

    /// Game 3 for any profile in one of the arrays.
    #[must_use]
    pub fn game3_profile(&self, profile: &[u64]) -> LogProb {
        let first = self.game1_profile(profile);
        let bad: u64 = profile.iter().sum();
        if first == LogProb::ZERO {
            return first;
        }
        first * LogProb::from_log2((bad as f64).log2() - self.log2_n())
    }

    /// The exact value of Game 3 and of its continuous version, whatever `C`, `L` and `X`.
    ///
    /// When the first bad gate is thrown, at most as many buckets of `d_1` are bad as were ever made bad, so the adversary
    /// wins with at most Game 1 times (bad buckets)/N, and attains it by corrupting one array and the next gate. Further
    /// arrays, or further values in the profile, each cost a factor of at most 1/2 in Game 1, and `k` of them raise the
    /// number of bad buckets at most `k`-fold; `k <= 2^(k-1)`, so they gain nothing. Between `S = 1` and `S = L` the
    /// factor `C(L,S) X^(S-1) / L >= S` decides for `S = 1`. What is left is a maximum over `t` for `S = 1` and `S = L`.
    #[must_use]
    pub fn game3_value(&self) -> LogProb {
        let last = self.x - self.c;
        // From t to t+1 the value grows by ((t+1)/(X-t))^(S(B-1)) (t+1)/t, which increases with t: the ends are best.
        let candidates = [(1, 1), (1, last), (self.l, 1), (self.l, last)];
        candidates
            .into_iter()
            .map(|(s, t)| self.game3(s, t))
            .fold(LogProb::ZERO, LogProb::max)
    }

    /// Theorems 3.10 and 3.11: Game 3, one round or continuous, is won with probability at most `N^-B`, where
    /// [`Self::conditions_3_10`] is empty.
    #[must_use]
    pub fn theorem_3_10(&self) -> LogProb {
        self.theorem_3_7()
    }

    /// The conditions of Theorems 3.10 and 3.11 that fail, each as (condition, what was found).
    #[must_use]
    pub fn conditions_3_10(&self) -> Vec<(&'static str, String)> {
        let mut failed = Vec::new();
        let mut require = |holds: bool, condition, found: String| {
            if !holds {
                failed.push((condition, found));
            }
        };
        require(self.b >= 2, "B >= 2", format!("B = {}", self.b));
        require(self.l >= 5, "L >= 5", format!("L = {}", self.l));
        require(self.c >= 3, "C >= 3", format!("C = {}", self.c));
        require(
            self.x >= self.c + 6,
            "X - C >= 6",
            format!("X - C = {}", self.x - self.c),
        );
        require(
            self.x > self.l + self.c,
            "X > L + C",
            format!("X = {}, L + C = {}", self.x, self.l + self.c),
        );
        failed
    }

    /// The attack that makes `C >= 3` necessary (end of Section III-C): with `C = 2` and `B = 2`, all but two balls of one
    /// subarray are bad in both arrays, and the first gate is bad. Won with about `2/N^2`, twice what the theorem allows.
    ///
    /// For any other `C` this is the same attack with `X - C` bad balls.
    #[must_use]
    pub fn whole_subarray_attack(&self) -> LogProb {
        self.game3(1, self.x - self.c)
    }
}
