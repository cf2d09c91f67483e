//! Authenticated bits under one Δ of 128 bits from SoftSpoken OT (Roy, CRYPTO 2022): what a bit costs, and what guesses of Δ are worth.
//!
//! Δ is cut into n symbols, as evenly as it goes. For each, of k bits, there is a tree of 2^k seeds. A bit takes a bit on the wire for each symbol
//! but one, and 2^k pseudorandom bits for each.
//!
//! **Guesses.** Who is to learn nothing of Δ may guess in a call that it is in some set L, a product of sets of symbols, and goes on with
//! probability |L|/2^u, where `u` bits of Δ are unknown to begin with. One bit of risk, the least there is, may tell a part of a whole symbol.
//!
//! - *Extracted.* If nothing may be known of Δ, however many of s guesses were right, Δ is the image of more symbols under a linear map such that any s
//!   symbols of them tell nothing: the generator of a code of 2^k-ary symbols with distance s + 1, since the symbols that are not known still
//!   determine any sum of rows. Distance counts in symbols, and a binary code does for k = 1 alone. Reed–Solomon codes
//!   [128/k + s, 128/k, s + 1] exist where 128/k + s is at most 2^k: for s = 40 and whole symbols, k = 8 alone.
//! - *As it is.* If it matters only that Δ is not guessed, no code is needed. For who forges, all guesses must be right, as the session must go
//!   on: with L it goes on with probability |L|/2^u, and one more guess is right with 1/|L|, together 2^-u whatever L. For who wants to know what
//!   was computed, a wrong guess is not the end: it ends the session, but what was sent before opens under Δ, which is in a
//!   smaller set then. A guess that cuts |L| elements down to |L'| fails with probability (|L| - |L'|)/2^u, and `q` tests find Δ with q/(|L| - |L'|)
//!   then: `q/2^u` at most for each guess, and for the case that none fails. Each guess halves L at least, so there are u at most:
//!   `(u + 1) q/2^u` in all, [`LOST`] bits less than without guesses.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::{LogProb, Refusal, Setting};

/// Bits of Δ.
pub const DELTA: u32 = 128;

/// Bits of Δ that are unknown: bits 0 and 1 are public.
pub const UNKNOWN: u32 = DELTA - 2;

/// The largest symbols, in bits.
pub const MAX_SYMBOL: u32 = 8;

/// How many symbols Δ may be cut into: of [`MAX_SYMBOL`] bits to 1.
pub const SYMBOLS: RangeInclusive<u32> = DELTA / MAX_SYMBOL..=DELTA;

/// How bits are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SoftSpoken {
    /// Symbols.
    pub symbols: u32,
    /// Seeds of all their trees.
    pub seeds: u32,
}

impl SoftSpoken {
    /// With Δ as it is, in so many symbols.
    ///
    /// # Errors
    /// Unless these are [`SYMBOLS`].
    pub fn new(symbols: u32) -> Result<Self, Refusal> {
        if !SYMBOLS.contains(&symbols) {
            let (least, most) = (*SYMBOLS.start(), *SYMBOLS.end());
            return Err(Refusal::new("authenticated bits")
                .because(format!("{least} <= n <= {most}"), format!("n = {symbols}"))
                .nearest(vec![Setting::new("n", f64::from(symbols.clamp(least, most)))]));
        }
        Ok(Self {
            symbols,
            seeds: seeds(symbols),
        })
    }

    /// With a Δ of which `security` guesses of a bit of risk each tell nothing, in symbols of so many bits.
    ///
    /// # Errors
    /// Unless there is a Reed–Solomon code, and symbols have [`MAX_SYMBOL`] bits at most.
    pub fn extracted(symbol: u32, security: u32) -> Result<Self, Refusal> {
        let message = DELTA / symbol.max(1);
        let length = message + security;
        if !DELTA.is_multiple_of(symbol.max(1)) || symbol > MAX_SYMBOL || length > 1 << symbol {
            return Err(Refusal::new("authenticated bits")
                .because(
                    "128/k + s <= 2^k, and k divides 128",
                    format!("k = {symbol}, s = {security}"),
                )
                .nearest(vec![Setting::new("k", f64::from(MAX_SYMBOL))]));
        }
        Ok(Self {
            symbols: length,
            seeds: length << symbol,
        })
    }

    /// Bits on the wire for an authenticated bit.
    #[must_use]
    pub fn sent_bits(&self) -> u32 {
        self.symbols - 1
    }

    /// Blocks of 128 pseudorandom bits for an authenticated bit, at each side.
    #[must_use]
    pub fn streams(&self) -> f64 {
        f64::from(self.seeds) / 128.0
    }
}

/// The bits of each of so many symbols of Δ.
pub(crate) fn bits(symbols: u32) -> impl Iterator<Item = u32> {
    (0..symbols).map(move |symbol| DELTA * (symbol + 1) / symbols - DELTA * symbol / symbols)
}

/// Seeds of the trees of so many symbols, if these are [`SYMBOLS`].
pub(crate) fn seeds(symbols: u32) -> u32 {
    bits(symbols)
        .map(|bits| 1u32.checked_shl(bits).unwrap_or(0))
        .sum()
}

/// Bits of work that guesses may save who looks for Δ: log2 of one more than there are guesses of a bit of risk.
pub const LOST: f64 = 6.988_684_686_772_166;

/// The probability that Δ, as it is, is found by `2^work` tests of values for it, in a session in which guesses with these risks, in bits of 1 at
/// least, are made one after the other until one fails.
#[must_use]
pub fn found(risks: &[f64], work: f64) -> LogProb {
    let unknown = f64::from(UNKNOWN);
    // Going on so far, and tests of what is left then.
    let tested = |log2: f64| LogProb::from_log2(log2.min(work - unknown));
    let mut risk = 0.0;
    let mut all = LogProb::ZERO;
    for more in risks {
        let failing = (1.0 - (-more).exp2()).log2();
        all = all + tested(failing - risk);
        risk += more;
    }
    all + tested(-risk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_symbols_are_fewer_bits_and_longer_streams() {
        let of = |symbols| {
            let found = SoftSpoken::new(symbols).unwrap();
            (found.sent_bits(), found.streams())
        };
        assert_eq!(of(128), (127, 2.0));
        assert_eq!(of(32), (31, 4.0));
        // 16 symbols of 5 bits and 8 of 6.
        assert_eq!(of(24), (23, 8.0));
        assert_eq!(of(16), (15, 32.0));
        for refused in [0, 15, 129] {
            assert!(SoftSpoken::new(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_code_for_40_guesses_has_56_symbols() {
        let code = SoftSpoken::extracted(8, 40).unwrap();
        assert_eq!((code.symbols, code.sent_bits().div_ceil(8)), (56, 7));
        let refused = SoftSpoken::extracted(4, 40).unwrap_err().to_string();
        assert!(refused.contains("k = 4, s = 40"), "{refused}");
        assert!(SoftSpoken::extracted(6, 40).is_err());
        assert!(SoftSpoken::extracted(8, 128).is_ok());
    }

    #[test]
    fn guesses_make_the_difference_easier_to_find_by_seven_bits_at_most() {
        let unknown = f64::from(UNKNOWN);
        assert!((LOST - (unknown + 1.0).log2()).abs() < 1e-15);
        for work in [0.0f64, 40.0, 100.0] {
            let without = found(&[], work);
            assert_eq!(without.log2(), work - unknown);
            let bound = LogProb::from_log2(without.log2() + LOST);
            for each in [1.0, 2.0, 8.0, 63.0, 126.0] {
                let guesses = vec![each; (unknown / each) as usize];
                let all = found(&guesses, work);
                assert!(
                    all >= without && all.log2() <= bound.log2() + 1e-9,
                    "{each}: {all}"
                );
            }
        }
        // A bit at a time, each guess that fails is worth as much as none, as long as more is left than is tested.
        let each = vec![1.0; UNKNOWN as usize];
        assert!((found(&each, 0.0).log2() - (LOST - unknown)).abs() < 1e-9);
        assert!((found(&each[..60], 60.0).log2() - (61f64.log2() + 60.0 - unknown)).abs() < 1e-9);
        // With more work than is left the rest is found anyhow.
        assert!(found(&[40.0], 120.0) < found(&[1.0], 120.0));
    }
}
