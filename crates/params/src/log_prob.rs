//! Probabilities as base-2 logarithms.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul};

use serde::{Serialize, Serializer};

/// A probability `p`, kept as `log2 p` so that `2^-128` and far smaller keep all their digits.
///
/// `*` multiplies probabilities, `+` adds them. Serialises as the logarithm; prints as `2^-41.3`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LogProb(f64);

impl LogProb {
    /// The impossible event.
    pub const ZERO: Self = Self(f64::NEG_INFINITY);
    /// The certain event.
    pub const ONE: Self = Self(0.0);

    /// The probability (or bound on one) whose base-2 logarithm is `log2`. Bounds may exceed 1.
    ///
    /// # Panics
    /// If `log2` is not a number.
    #[must_use]
    pub fn from_log2(log2: f64) -> Self {
        assert!(!log2.is_nan(), "a probability's logarithm is a number");
        Self(log2)
    }

    /// The probability `p`.
    ///
    /// # Panics
    /// If `p` is negative or not a number.
    #[must_use]
    pub fn from_probability(p: f64) -> Self {
        assert!(p >= 0.0, "a probability is not negative");
        Self(p.log2())
    }

    /// The base-2 logarithm: `-40.0` for `2^-40`.
    #[must_use]
    pub fn log2(self) -> f64 {
        self.0
    }

    /// The probability itself, 0 when it underflows.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.0.exp2()
    }

    /// Whether this is at most `2^-bits`, but for the last digits that a sum of a few terms may round away (`1e-13` bits).
    #[must_use]
    pub fn meets(self, bits: u32) -> bool {
        self.meets_log2(-f64::from(bits))
    }

    /// Whether this is at most `2^log2`, as [`Self::meets`].
    #[must_use]
    pub fn meets_log2(self, log2: f64) -> bool {
        self.0 <= log2 + 1e-13
    }

    /// `self` raised to `exponent`: that many independent events all happen.
    #[must_use]
    pub fn pow(self, exponent: f64) -> Self {
        if exponent == 0.0 {
            Self::ONE
        } else {
            Self(self.0 * exponent)
        }
    }

    /// The likelier of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl Mul for LogProb {
    type Output = Self;
    #[allow(
        clippy::suspicious_arithmetic_impl,
        reason = "logarithms are added where probabilities are multiplied"
    )]
    fn mul(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Add for LogProb {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = if self.0 >= other.0 {
            (self.0, other.0)
        } else {
            (other.0, self.0)
        };
        if low == f64::NEG_INFINITY {
            Self(high)
        } else {
            Self(high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2)
        }
    }
}

impl Sum for LogProb {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for LogProb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == f64::NEG_INFINITY {
            return f.write_str("0");
        }
        match f.precision() {
            Some(digits) => write!(f, "2^{:.digits$}", self.0),
            None => write!(f, "2^{:.1}", self.0),
        }
    }
}

impl Serialize for LogProb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_probabilities() {
        let quarter = LogProb::from_probability(0.25);
        assert_eq!((quarter + quarter).log2(), -1.0);
        assert_eq!((quarter * quarter).log2(), -4.0);
        assert_eq!((quarter + LogProb::ZERO).log2(), -2.0);
        assert!([quarter; 4].into_iter().sum::<LogProb>().log2().abs() < 1e-15);
        assert_eq!(LogProb::ZERO.pow(0.0), LogProb::ONE);
        let tiny = LogProb::from_log2(-3000.0);
        assert_eq!((tiny + tiny).log2(), -2999.0);
    }

    #[test]
    fn prints_as_a_power_of_two() {
        assert_eq!(LogProb::from_log2(-41.29).to_string(), "2^-41.3");
        assert_eq!(format!("{:.3}", LogProb::from_log2(-41.29)), "2^-41.290");
        assert_eq!(LogProb::ZERO.to_string(), "0");
    }

    #[test]
    fn meeting_a_level_tolerates_only_rounding() {
        assert!(LogProb::from_log2(-40.0).meets(40));
        assert!(!LogProb::from_log2(-39.999_999).meets(40));
    }
}
