//! What a given attack on LEGO buckets achieves exactly; Theorem 2 only bounds it.

use super::bounds::Buckets;
use crate::combinatorics::ln_binomial;
use crate::{LogProb, Refusal, Setting};

/// The probability that checking a bad half gate finds it, at least: two of four input pairs show the fault.
///
/// Let `A`, `B`, `C` be the committed 0-labels of a gate's wires, `D` their difference with `lsb(D) = 1`, and `T_G`, `T_E`
/// *any* table. On bits `a`, `b` the evaluator computes, with labels `A_a = A ^ aD` and `B_b = B ^ bD`,
/// `H(A_a) ^ lsb(A_a) T_G ^ H'(B_b) ^ lsb(B_b) (T_E ^ A_a)`. Since `lsb(B_b) = lsb(B) ^ b`, the one product of both bits in this
/// is `abD`; everything else depends on `a` alone or on `b` alone. So the sum of this and of the right label `C ^ abD` is
/// `u(a) ^ v(b)`, whose four values add up to 0: one of them alone cannot be wrong. The evaluator checks a pair `(a, b)` that is
/// uniform and independent of everything that the garbler has fixed.
pub const GATE_FOUND: f64 = 0.5;

/// The probability that checking a bad authenticator finds it, at least: one of two keys shows the fault.
pub const AUTHENTICATOR_FOUND: f64 = 0.5;

/// A polynomial in two variables, truncated: coefficient `(i, j)` counts (scaled) ways to place `i` bad gates and `j` bad
/// authenticators.
#[derive(Clone)]
struct Poly {
    rows: usize,
    columns: usize,
    coefficients: Vec<f64>,
}

impl Poly {
    fn from_fn(rows: usize, columns: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let coefficients = (0..rows * columns)
            .map(|at| f(at / columns, at % columns))
            .collect();
        Self {
            rows,
            columns,
            coefficients,
        }
    }

    fn one(rows: usize, columns: usize) -> Self {
        Self::from_fn(rows, columns, |i, j| if i + j == 0 { 1.0 } else { 0.0 })
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.coefficients[i * self.columns + j]
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = Self::from_fn(self.rows, self.columns, |_, _| 0.0);
        for i in 0..self.rows {
            for j in 0..self.columns {
                let a = self.at(i, j);
                if a == 0.0 {
                    continue;
                }
                for k in 0..self.rows - i {
                    let from = k * self.columns;
                    let to = (i + k) * self.columns + j;
                    for m in 0..self.columns - j {
                        product.coefficients[to + m] += a * other.coefficients[from + m];
                    }
                }
            }
        }
        product
    }

    fn plus(mut self, other: &Self) -> Self {
        self.coefficients
            .iter_mut()
            .zip(&other.coefficients)
            .for_each(|(a, b)| *a += b);
        self
    }
}

/// Placements of bad components into some buckets: all, those without a bad bucket, and the difference, which is carried along
/// because subtracting would lose it.
#[derive(Clone)]
struct Placements {
    all: Poly,
    good: Poly,
    bad: Poly,
}

impl Placements {
    fn none(rows: usize, columns: usize) -> Self {
        let one = Poly::one(rows, columns);
        Self {
            all: one.clone(),
            good: one,
            bad: Poly::from_fn(rows, columns, |_, _| 0.0),
        }
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            all: self.all.times(&other.all),
            good: self.good.times(&other.good),
            bad: self.bad.times(&other.all).plus(&self.good.times(&other.bad)),
        }
    }

    fn repeated(&self, mut times: u64) -> Self {
        let mut result = Self::none(self.all.rows, self.all.columns);
        let mut power = self.clone();
        while times > 0 {
            if times & 1 == 1 {
                result = result.and(&power);
            }
            times >>= 1;
            if times > 0 {
                power = power.and(&power);
            }
        }
        result
    }
}

/// The probability that an adversary with `bad_gates` bad garbled gates and `bad_authenticators` bad authenticators gets some bad
/// bucket and is not caught, when checks find faults no better than [`GATE_FOUND`] and [`AUTHENTICATOR_FOUND`] and all that
/// survive are used.
///
/// An AND bucket is bad when at least half of its `beta + alpha` components are, with a bad gate among them; an input bucket or
/// input authenticator when more than half are. Time grows with the square of the product of the two numbers.
///
/// # Errors
/// If either number exceeds 1500, or the product of both, each plus one, 4096: what is computed within a second.
pub fn attack(buckets: &Buckets, bad_gates: u32, bad_authenticators: u32) -> Result<LogProb, Refusal> {
    let states = (u64::from(bad_gates) + 1) * (u64::from(bad_authenticators) + 1);
    if bad_gates.max(bad_authenticators) > 1500 || states > 4096 {
        let found = format!("{bad_gates} bad gates, {bad_authenticators} bad authenticators");
        let nearest = [
            ("bad gates", bad_gates),
            ("bad authenticators", bad_authenticators),
        ];
        return Err(Refusal::new("lego attack")
            .because(
                "each at most 1500 and (gates + 1)(authenticators + 1) <= 4096",
                found,
            )
            .nearest(
                nearest
                    .map(|(name, n)| Setting::new(name, f64::from(n.min(63))))
                    .into(),
            ));
    }
    let (rows, columns) = (bad_gates as usize + 1, bad_authenticators as usize + 1);
    let (gates, authenticators) = (buckets.gates_needed(), buckets.authenticators_needed());
    // A weight of (total/e)/places per bad component keeps the coefficients that matter near 1: C(places, total) is about
    // places^total/total!.
    let scaled = |places: u32, bad: usize, total: u32, of: u64| {
        let weight = f64::from(total.max(1)).ln() - 1.0 - (of as f64).ln();
        (ln_binomial(u64::from(places), bad as u64) + bad as f64 * weight).exp()
    };
    let kind = |beta: u32, alpha: u32, is_bad: &dyn Fn(usize, usize) -> bool| {
        let ways = |i: usize, j: usize| {
            scaled(beta, i, bad_gates, gates) * scaled(alpha, j, bad_authenticators, authenticators)
        };
        let part = |bad: bool| {
            Poly::from_fn(
                rows,
                columns,
                |i, j| if is_bad(i, j) == bad { ways(i, j) } else { 0.0 },
            )
        };
        Placements {
            all: Poly::from_fn(rows, columns, ways),
            good: part(false),
            bad: part(true),
        }
    };
    let (beta, alpha) = (buckets.beta as usize, buckets.alpha as usize);
    let (beta_input, alpha_input) = (buckets.beta_input as usize, buckets.alpha_input as usize);
    let and_buckets = kind(buckets.beta, buckets.alpha, &|i, j| {
        i > 0 && 2 * (i + j) >= beta + alpha
    });
    let input_buckets = kind(buckets.beta_input, 0, &|i, _| 2 * i > beta_input);
    let input_authenticators = kind(0, buckets.alpha_input, &|_, j| 2 * j > alpha_input);
    let inputs = input_buckets
        .repeated(buckets.input_buckets)
        .and(&input_authenticators.repeated(buckets.inputs));
    let placed = and_buckets.repeated(buckets.gates).and(&inputs);

    let unchecked = |total: u32, left: usize, p: f64, found: f64| {
        let checked = f64::from(total) - left as f64;
        let ways = ln_binomial(u64::from(total), left as u64);
        (ways + left as f64 * (-p).ln_1p() + checked * (p * (1.0 - found)).ln()).exp()
    };
    let mut sum = 0.0;
    for i in 0..rows {
        for j in 0..columns {
            let all = placed.all.at(i, j);
            if all > 0.0 {
                sum += unchecked(bad_gates, i, buckets.p_gate, GATE_FOUND)
                    * unchecked(bad_authenticators, j, buckets.p_auth, AUTHENTICATOR_FOUND)
                    * placed.bad.at(i, j)
                    / all;
            }
        }
    }
    Ok(LogProb::from_probability(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to place the bad components, one by one.
    fn enumerate(b: &Buckets, bad_gates: u32, bad_authenticators: u32) -> f64 {
        let (gates, auths) = (b.gates_needed(), b.authenticators_needed());
        let bits = |set: u64, from: u64, size: u32| (set >> from & ((1 << size) - 1)).count_ones();
        let (mut bad, mut all) = (0u64, 0u64);
        for g in (0u64..1 << gates).filter(|set| set.count_ones() == bad_gates) {
            for a in (0u64..1 << auths).filter(|set| set.count_ones() == bad_authenticators) {
                let and = (0..b.gates).any(|k| {
                    let i = bits(g, k * u64::from(b.beta), b.beta);
                    let j = bits(a, k * u64::from(b.alpha), b.alpha);
                    i > 0 && 2 * (i + j) >= b.beta + b.alpha
                });
                let (from_g, from_a) = (b.gates * u64::from(b.beta), b.gates * u64::from(b.alpha));
                let input = (0..b.input_buckets)
                    .any(|k| 2 * bits(g, from_g + k * u64::from(b.beta_input), b.beta_input) > b.beta_input)
                    || (0..b.inputs).any(|k| {
                        2 * bits(a, from_a + k * u64::from(b.alpha_input), b.alpha_input) > b.alpha_input
                    });
                all += 1;
                bad += u64::from(and || input);
            }
        }
        bad as f64 / all as f64
    }

    #[test]
    fn bucketing_is_what_enumeration_counts() {
        for (q, n, beta) in [(2, 1, 2), (3, 1, 2), (2, 1, 3)] {
            // With almost nothing checked only the bucketing is left.
            let tiny = 1e-15;
            let all = Buckets::new(q, n, beta, tiny, tiny).unwrap();
            let without = Buckets {
                input_buckets: 0,
                ..all
            };
            let b = if beta == 2 { all } else { without };
            for g in 0..=4 {
                for a in 0..=3 {
                    let (exact, counted) = (attack(&b, g, a).unwrap().probability(), enumerate(&b, g, a));
                    assert!(
                        (exact - counted).abs() < 1e-12,
                        "{q} {n} {beta} {g} {a}: {exact} {counted}"
                    );
                }
            }
        }
    }

    #[test]
    fn theorem_2_bounds_every_attack_at_real_sizes() {
        let b = Buckets::new(7_094_272, 262_144, 4, 1.0 / 32.0, 1.0 / 64.0).unwrap();
        let bound = b.errors().sum();
        let single = attack(&b, 4, 0).unwrap();
        assert!(single < bound && single.log2() > -80.0, "{single}");
        for (g, a) in [(1, 3), (2, 2), (8, 0), (100, 0), (20, 10), (0, 4), (5, 0)] {
            assert!(attack(&b, g, a).unwrap() < bound, "{g} {a}");
        }
        assert_eq!(attack(&b, 0, 3), Ok(LogProb::ZERO));
        for (gates, authenticators) in [(64, 63), (0, 1501)] {
            let refusal = attack(&b, gates, authenticators).unwrap_err();
            assert!(refusal.violated[0].condition.contains("<= 4096"), "{refusal}");
        }
        // The coefficients neither vanish nor overflow at the largest numbers.
        let many = attack(&b, 1500, 0).unwrap();
        assert!(many.log2().is_finite() && many < bound, "{many}");
        let best = attack(&b, 250, 0).unwrap();
        assert!(best > many && best > single && best.log2() > -52.0, "{best}");
    }
}
