//! What known attacks on learning parity with noise in blocks cost.

use super::{Attack, WEIGHT};
use crate::combinatorics::log2_binomial;

/// `n` samples with a secret of `k` bits and `t` blocks of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// Samples.
    pub n: f64,
    /// Bits of the secret.
    pub k: f64,
    /// Blocks of the noise, with one 1 each.
    pub t: f64,
}

/// What a guess at a core of sparse rows costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Its `u` equations are solved as sparse ones are (Wiedemann 1986), with `u` products of the rows with a vector: `10 u^2`. An entry of a list has
    /// `u` bits. This is what [`Samples::attacks`] counts.
    Solved,
    /// The same, with an entry of a list given up when 128 of its bits have been looked at.
    EarlyAbort,
    /// Its rows are read once, `10 u`, and an entry of a list is for nothing: no attack is known that does with so little.
    Read,
}

/// Bits of an entry that are looked at before it is given up.
const LOOKED_AT: f64 = 128.0;

/// The most wrong guesses that are searched for.
const MOST_WRONG: u64 = 60;

/// The most blocks in which the place of the 1 is guessed.
const MOST_WHOLE: u32 = 30;

impl Samples {
    /// All attacks.
    #[must_use]
    pub fn attacks(&self) -> [Attack; 6] {
        let attack = |name, bits, source| Attack { name, bits, source };
        let whole = self.whole();
        let solve = 2.0 * (whole.n - whole.k + whole.t).log2();
        [
            attack("guesses", self.guesses(), "pooled Gauss, ePrint 2022/712"),
            attack(
                "guesses in each block",
                whole.block_guesses(whole.k - whole.t, |list, pairs| {
                    whole.n.log2() + solve.max(list).max(pairs)
                }),
                "Esser and Santini, CRYPTO 2024",
            ),
            attack(
                "parity checks",
                self.parity_checks(),
                "statistical decoding, ePrint 2022/712",
            ),
            attack(
                "equations",
                self.equations(),
                "Briaud and Øygarden, EUROCRYPT 2023",
            ),
            attack("guesses and equations", whole.hybrid(), "ePrint 2025/1284"),
            attack(
                "guesses in a core of sparse rows",
                self.core_guesses(Guess::Solved),
                "Chen, Shu and Zhou 2024, counted as in params::lpn",
            ),
        ]
    }

    /// Without the samples that are too few for a bit in each block.
    fn whole(self) -> Self {
        let n = self.block() * self.t;
        let k = self.k - (self.n - n);
        Self { n, k, ..self }
    }

    /// Samples of a block.
    pub(super) fn block(&self) -> f64 {
        (self.n / self.t).floor()
    }

    /// `k - t` samples, the parities of blocks known, are guessed to have no noise.
    fn guesses(&self) -> f64 {
        let [n, k, t] = [self.n - self.t, self.k - self.t, self.t].map(|count| count as u64);
        2.8 * (k.min(n - k) as f64).log2() + log2_binomial(n, t) - log2_binomial(n - k, t)
    }

    /// `unknown` samples, as many of each block, are guessed to have no noise but for a few, for which two lists are searched. `work` says what a guess takes, of
    /// the entries of both lists and the pairs of them that fit, all as base-2 logarithms.
    fn block_guesses(&self, unknown: f64, work: impl Fn(f64, f64) -> f64) -> f64 {
        let (t, block) = (self.t, self.block());
        let half = t as u64 / 2;
        let of = |wrong: u64, spare: f64| {
            let each = (unknown + spare) / t;
            let list = log2_binomial(half, wrong / 2) + wrong as f64 / 2.0 * each.log2();
            let work = work(1.0 + list, 2.0 * list - spare);
            let chance = 2.0 * log2_binomial(half, wrong / 2)
                + wrong as f64 * (each / block).log2()
                + (t - wrong as f64) * (1.0 - each / block).log2();
            work - chance
        };
        let wrong = (0..=MOST_WRONG).step_by(2);
        let tried = wrong.flat_map(|wrong| (0..=60).map(move |step| (wrong, 8.0 * f64::from(step))));
        tried
            .filter(|(_, spare)| (unknown + spare) / t < block)
            .map(|(wrong, spare)| of(wrong, spare))
            .fold(f64::INFINITY, f64::min)
    }

    /// Parity checks of `k + 1` samples, and what correlation is left of their noise.
    fn parity_checks(&self) -> f64 {
        let (n, k, t) = (self.n - self.t, self.k - self.t, self.t);
        (k + 1.0).log2() + 2.0 * t * ((n - t + 1.0) / (n - k - t)).log2()
    }

    /// In `f` blocks `mu` samples are guessed to have no noise. The others' unknown bits satisfy linear equations, those that `k` leaves, and products in a block are 0: the
    /// system is solved in the least degree, up to 4, in which there are as many equations as unknown monomials.
    fn equations(&self) -> f64 {
        let (n, k, t, block) = (self.n, self.k, self.t, self.block());
        let rows = n - k - 1.0;
        // 1/(1 + x)^rows.
        let c = [
            1.0,
            -rows,
            (rows + 1.0) * rows / 2.0,
            -(rows + 2.0) * (rows + 1.0) * rows / 6.0,
            (rows + 3.0) * (rows + 2.0) * (rows + 1.0) * rows / 24.0,
        ];
        let powers = |unknown: f64, blocks: f64| {
            let choose = [
                1.0,
                blocks,
                blocks * (blocks - 1.0) / 2.0,
                blocks * (blocks - 1.0) * (blocks - 2.0) / 6.0,
                blocks * (blocks - 1.0) * (blocks - 2.0) * (blocks - 3.0) / 24.0,
            ];
            let mut power = 1.0;
            choose.map(|choose| {
                let term = choose * power;
                power *= unknown;
                term
            })
        };
        let mut least = f64::INFINITY;
        let step = (t as usize / 256).max(1);
        for f in (0..t as u64).step_by(step).map(|f| f as f64) {
            let rest = powers(block - 1.0, t - f);
            for mu in (0..block as u64).map(|mu| mu as f64) {
                if f * mu > k {
                    break;
                }
                let guessed = powers(block - mu - 1.0, f);
                let monomials = product(&guessed, &rest);
                let mut left = product(&monomials, &c);
                left[2] += left[1];
                let Some(degree) = (2..=4).find(|&degree| left[degree] < 1.0) else {
                    continue;
                };
                let unknown: f64 = monomials[1..=degree].iter().sum();
                let work = 2.0 * unknown.log2() + (3.0 * (k + 1.0 - f * mu)).log2();
                least = least.min(work - f * (1.0 - mu / block).log2());
            }
        }
        least
    }

    /// In all blocks `u` samples, in some one more, are guessed to have no noise, and in `whole` blocks where the 1 is. What is left of the secret satisfies
    /// equations of degree 2, one for each two samples of a block, and is found by taking all monomials for unknowns.
    fn hybrid(&self) -> f64 {
        let (n, k, t, block) = (self.n, self.k, self.t, self.block());
        let mut least = f64::INFINITY;
        for u in (0..block as u64 - 2).map(|u| u as f64) {
            for more in (0..t as u64).step_by((t as usize / 32).max(1)) {
                for whole in (0..=MOST_WHOLE).map(f64::from) {
                    let more = (more as f64).min(t - whole);
                    let fewer = t - whole - more;
                    let chance = more * (1.0 - (u + 1.0) / block).log2() + fewer * (1.0 - u / block).log2();
                    let left = k - t - (u + 1.0) * more - u * fewer;
                    let known = ((n - k) / (block - 1.0)).floor() * (block - u - 2.0);
                    let linear = ((n - k - known) * (n - k) * (n - k - known + left)).max(1.0);
                    let work = if left <= 0.0 {
                        linear
                    } else {
                        let quadratic = fewer * (block - u - 2.0) * (block - u - 1.0) / 2.0
                            + more * (block - u - 2.0) * (block - u - 3.0) / 2.0;
                        let of_whole = (block - 1.0) * whole;
                        let rest = left - of_whole;
                        if rest < 0.0 || rest > ((2.0 * quadratic).sqrt() - 2.0).max(0.0) {
                            continue;
                        }
                        let monomials =
                            rest.powi(4) * left * left / 8.0 / (rest * rest / 2.0).max(2.0).log2();
                        let each = 1.25 * (2.0 * rest * rest * of_whole + rest * of_whole * of_whole)
                            + (2.5 * rest).powi(3) / (2.5 * rest).max(2.0).log2();
                        linear + monomials.max(1.0) + each.max(1.0) * block.powf(whole)
                    };
                    least = least.min(work.log2() - chance);
                }
            }
        }
        least
    }

    /// The least part of the secret of which there is a set with as many rows inside it, but for an expectation below 1.
    #[must_use]
    pub fn smallest_core(&self) -> f64 {
        let ratio = self.n / self.k;
        let exists = |part: f64| {
            let (rows, inside) = (part / ratio, part.powi(WEIGHT as i32));
            rows <= inside || entropy(part) >= ratio * divergence(rows, inside)
        };
        let (mut low, mut high) = (0.01, 1.0);
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            match exists(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        low
    }

    /// Guesses in the smallest core, as if it was known, each of which costs as much as `guess` says.
    #[must_use]
    pub fn core_guesses(&self, guess: Guess) -> f64 {
        let unknown = self.smallest_core() * self.k;
        let (each, read) = (unknown.log2(), (f64::from(WEIGHT) * unknown).log2());
        self.block_guesses(unknown, |list, pairs| match guess {
            Guess::Solved => each + read.max(list).max(pairs),
            Guess::EarlyAbort => (each + read).max(LOOKED_AT.log2() + list.max(pairs)),
            Guess::Read => read.max(list).max(pairs),
        })
    }
}

/// The first five coefficients of a product of two power series.
fn product(a: &[f64; 5], b: &[f64; 5]) -> [f64; 5] {
    std::array::from_fn(|i| (0..=i).map(|j| a[j] * b[i - j]).sum())
}

fn entropy(p: f64) -> f64 {
    -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
}

/// Of a coin with probability `a` from one with `p`, in bits.
fn divergence(a: f64, p: f64) -> f64 {
    a * (a / p).log2() + (1.0 - a) * ((1.0 - a) / (1.0 - p)).log2()
}
