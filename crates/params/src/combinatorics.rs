//! Logarithms of factorials and binomial coefficients, accurate where it matters.
//!
//! Subtracting log-gammas of 10^12 would lose all digits that a security level needs, so binomials are never computed that
//! way: few factors are multiplied out, and for many the leading terms of Stirling's series are cancelled on paper first.
//! The absolute error is below `1e-9` bits for results up to about a million bits; beyond, `4` units in the last place.

use std::f64::consts::{LN_2, TAU};

/// Below this many factors a binomial is summed factor by factor.
const FACTORS: u64 = 64;

/// The tail of Stirling's series: `ln n! - (n ln n - n + ln(2 pi n)/2)`.
fn stirling_tail(n: u64) -> f64 {
    if n <= 16 {
        let n_f = n as f64;
        let exact: f64 = (2..=n).map(|i| (i as f64).ln()).sum();
        return if n == 0 {
            0.0
        } else {
            exact - (n_f * n_f.ln() - n_f + (TAU * n_f).ln() / 2.0)
        };
    }
    let x = n as f64;
    let y = 1.0 / (x * x);
    // Bernoulli numbers B_2 .. B_14 over j(j-1): the first term left out is below 1e-17 for n > 16.
    (1.0 / 12.0
        - y * (1.0 / 360.0
            - y * (1.0 / 1260.0
                - y * (1.0 / 1680.0 - y * (1.0 / 1188.0 - y * (691.0 / 360_360.0 - y * (1.0 / 156.0)))))))
        / x
}

/// `ln(n/(n-k))` without cancellation for `k` small against `n`.
fn ln_ratio(n: f64, k: f64) -> f64 {
    -(-k / n).ln_1p()
}

/// `ln C(n, k)`; negative infinity when `k > n`.
#[must_use]
pub fn ln_binomial(n: u64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    let k = k.min(n - k);
    if k <= FACTORS {
        return compensated((0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()));
    }
    let (nf, kf, rest) = (n as f64, k as f64, (n - k) as f64);
    let tails = stirling_tail(n) - stirling_tail(k) - stirling_tail(n - k);
    compensated([
        kf * (nf / kf).ln(),
        rest * ln_ratio(nf, kf),
        (nf / (TAU * kf * rest)).ln() / 2.0,
        tails,
    ])
}

/// `log2 C(n, k)`, in bits.
#[must_use]
pub fn log2_binomial(n: u64, k: u64) -> f64 {
    ln_binomial(n, k) / LN_2
}

/// `log2 n!`, in bits.
#[must_use]
pub fn log2_factorial(n: u64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let x = n as f64;
    compensated([x * x.ln(), -x, (TAU * x).ln() / 2.0, stirling_tail(n)]) / LN_2
}

/// Neumaier's compensated sum.
pub(crate) fn compensated(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() {
            (sum - next) + term
        } else {
            (term - next) + sum
        };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use num_traits::{One, ToPrimitive};

    use super::*;

    fn exact_binomial(n: u64, k: u64) -> BigUint {
        (0..k).fold(BigUint::one(), |acc, i| acc * (n - i) / (i + 1))
    }

    /// log2 of a big integer: its top 64 bits and its length.
    fn log2_big(x: &BigUint) -> f64 {
        let shift = x.bits().saturating_sub(64);
        (x >> shift).to_f64().unwrap().log2() + shift as f64
    }

    #[test]
    fn binomials_agree_with_big_integers_to_1e_9_bits() {
        for (n, k) in [
            (5, 2),
            (40, 20),
            (1000, 1),
            (1000, 63),
            (1000, 65),
            (1000, 500),
            (1000, 999),
            (6144, 3000),
        ] {
            let exact = log2_big(&exact_binomial(n, k.min(n - k)));
            assert!(
                (log2_binomial(n, k) - exact).abs() < 1e-9,
                "C({n},{k}): {} {exact}",
                log2_binomial(n, k)
            );
        }
        for (n, k) in [
            (1_000_000_007, 3),
            (501_856_100_646, 5),
            (1 << 40, 70),
            (1 << 50, 100),
            (1_000_000, 2500),
        ] {
            let exact = log2_big(&exact_binomial(n, k));
            assert!((log2_binomial(n, k) - exact).abs() < 1e-9, "C({n},{k})");
        }
        assert_eq!(log2_binomial(3, 4), f64::NEG_INFINITY);
        assert_eq!(log2_binomial(0, 0), 0.0);
    }

    #[test]
    fn both_ways_of_computing_agree_at_the_seam() {
        for n in [130u64, 1000, 1 << 20, 1 << 40] {
            let product: f64 = compensated((0..FACTORS + 1).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()));
            assert!((ln_binomial(n, FACTORS + 1) - product).abs() < 1e-10);
        }
    }

    #[test]
    fn factorials_agree_with_big_integers() {
        let mut exact = BigUint::one();
        for n in 1..=600u64 {
            exact *= n;
            assert!((log2_factorial(n) - log2_big(&exact)).abs() < 1e-9, "{n}!");
        }
    }
}
