//! How many to generate so that enough survive a check whose size is binomial.

use crate::LogProb;
use crate::combinatorics::log2_binomial;

/// The fewest gadgets to generate so that, when each is checked (and spent) with probability `p`, at least `needed` survive
/// except with probability `2^-security`.
///
/// # Panics
/// If `p` is not in `[0, 1)`.
#[must_use]
pub fn generated(needed: u64, p: f64, security: u32) -> u64 {
    assert!((0.0..1.0).contains(&p), "a check rate is in [0, 1)");
    if p == 0.0 || needed == 0 {
        return needed;
    }
    let enough = |total: u64| too_many_checked(total, total - needed, p).meets(security);
    let mean = needed as f64 / (1.0 - p);
    let step = (mean * p).sqrt() + f64::from(security);
    let (mut low, mut high) = (needed.saturating_sub(1), mean.ceil() as u64);
    let mut distance = step.ceil() as u64;
    while !enough(high) {
        low = high;
        high += distance;
        distance *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

/// The probability that a binomial(`total`, `p`) exceeds `spare`.
fn too_many_checked(total: u64, spare: u64, p: f64) -> LogProb {
    if spare >= total {
        return LogProb::ZERO;
    }
    if spare as f64 <= total as f64 * p {
        // About half or more: no level is met here, and the sum below would be long.
        return LogProb::ONE;
    }
    let first = spare + 1;
    let log2_first = log2_binomial(total, first)
        + first as f64 * p.log2()
        + (total - first) as f64 * (-p).ln_1p() / std::f64::consts::LN_2;
    // Above the mean the terms fall ever faster: sum until the rest is below rounding.
    let (mut sum, mut term) = (1.0f64, 1.0f64);
    for j in first..total {
        term *= (total - j) as f64 / (j + 1) as f64 * p / (1.0 - p);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    LogProb::from_log2(log2_first + sum.log2())
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, ToPrimitive, Zero};

    use super::*;

    /// Pr[Bin(total, num/2^shift) > spare], exactly.
    fn exact(total: u64, spare: u64, num: u64, shift: u32) -> f64 {
        let (p, one) = (
            BigRational::new(num.into(), BigInt::one() << shift),
            BigRational::one(),
        );
        let mut binomial = BigInt::one();
        let mut sum = BigRational::zero();
        for j in 0..=total {
            if j > spare {
                let power = p.pow(j as i32) * (&one - &p).pow((total - j) as i32);
                sum += power * BigRational::from(binomial.clone());
            }
            binomial = binomial * (total - j) / (j + 1);
        }
        sum.to_f64().unwrap()
    }

    #[test]
    fn tails_agree_with_rationals() {
        for (total, spare, num, shift) in [(100, 30, 1, 3), (60, 45, 1, 2), (200, 40, 3, 5), (30, 29, 1, 1)] {
            let p = num as f64 / f64::from(1u32 << shift);
            let exact = exact(total, spare, num, shift).log2();
            assert!((too_many_checked(total, spare, p).log2() - exact).abs() < 1e-9);
        }
    }

    #[test]
    fn the_answer_is_the_fewest() {
        for (needed, p, s) in [
            (1, 0.5, 40),
            (100, 0.125, 40),
            (52_336, 0.0625, 40),
            (28_000_000, 0.03, 64),
            (5, 0.9, 20),
        ] {
            let total = generated(needed, p, s);
            assert!(too_many_checked(total, total - needed, p).meets(s));
            assert!(!too_many_checked(total - 1, total - 1 - needed, p).meets(s));
        }
        assert_eq!(generated(7, 0.0, 40), 7);
    }
}
