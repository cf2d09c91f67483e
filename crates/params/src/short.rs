//! Short leaky ANDs: the blocks that parties send for a leaky AND, and the sums that they compare, are the lowest `t` bits of what they
//! compute. How many these are, and what that lets through.
//!
//! The *window* is the lowest `t` bits of an honest party's difference. Bits 0 and 1 are public, so `h = t - 2` are hidden.
//!
//! **Claim.** Whatever a cheater does in all lots and sessions under one difference, the chance that a leaky AND with a wrong product is ever
//! accepted, or that a guess which depends on the window ever passes a test, is at most `2^-h`, but for what breaks the hash or the test itself.
//! Otherwise the cheater learns x of `b` leaky ANDs unnoticed with probability at most `2^-b`, and all products are right.
//!
//! **Proof**, for tests that are made one after the other, of which the first that is not passed is the last under its difference.
//! 1. *One AND.* All that a cheater can do is to add e to its block, and a to the bit that it tells. With e1 bit 1 of e, D its own difference and
//!    x the honest party's bit, the error of the product is `f = a + x e1`, and the honest sum is `known + x (e + e1 D) + f W`, W the window.
//!    That is linear, so it holds on the lowest `t` bits as on all.
//! 2. *A test* tells whether one guess at all sums of a lot is right, by the PAKE; or nothing, if it ends before the honest party confirms.
//! 3. *The window.* Fix all coins but the difference; with a test that fails, also the honest share and tag. As long as all tests pass with f = 0 in
//!    all ANDs, what the cheater sees does not depend on W: it says `x = a` where e1 is 1, and what `x (e + e1 D)` is. So there is one first
//!    test in which some f is 1, the same for all differences that survive the OTs, and it passes for one value of W only, `g + x (e + e1 D)`.
//!    If it does not pass, nothing comes after it. So of `2^126` differences at most `2^(126-h)` are ever fit for a success.
//! 4. *Leaks.* A pass with all f = 0 fixes x in each AND with `a`, `e1` or `e + e1 D` other than 0, and these x are uniform before.
//!
//! Buckets do not make up for a wrong product, as they do for a known x: so this is a term of its own beside that of the triples.
//!
//! The exhaustive game is in the tests; `docs/parameters.md` says what the proof rests on.

use crate::LogProb;

/// Bits of the window that are public.
pub const PUBLIC: u32 = 2;

/// The fewest bits.
const LEAST: u32 = 48;

/// Bits of margin: what a window lets through is so much less than what the triples do.
const MARGIN: u32 = 6;

/// `t` at a statistical security: the least multiple of 8 from 48 on with which [`windows`] is at most `2^-(security + 6)`.
#[must_use]
pub const fn bits(security: u32) -> u32 {
    let needed = (security + MARGIN + PUBLIC).next_multiple_of(8);
    if needed > LEAST { needed } else { LEAST }
}

/// What short blocks of `bits` bits let through, in all that is ever made under one difference.
#[must_use]
pub fn windows(bits: u32) -> LogProb {
    LogProb::from_log2(f64::from(PUBLIC) - f64::from(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaky_bits_leave_six_bits() {
        for (security, expected) in [
            (1, 48),
            (40, 48),
            (41, 56),
            (46, 56),
            (48, 56),
            (49, 64),
            (64, 72),
            (80, 88),
            (87, 96),
        ] {
            assert_eq!(bits(security), expected, "{security}");
        }
        for security in 1..=120 {
            let bits = bits(security);
            assert!(bits.is_multiple_of(8) && windows(bits).meets(security + MARGIN));
            assert!(bits == LEAST || !windows(bits - 8).meets(security + MARGIN));
        }
    }

    /// What `docs/parameters.md` states.
    #[test]
    fn lengths_are_as_stated() {
        let stated = include_str!("../../../docs/parameters.md");
        let securities = [40, 48, 56, 64, 72, 80, 87];
        let row = |what: &str, cells: [String; 7]| format!("| {what} | {} |", cells.join(" | "));
        let all = securities.map(bits);
        for row in [
            row("`s` up to", securities.map(|s| s.to_string())),
            row(
                "`t`, the least multiple of 8, from 48 on, that is at least `s + 8`",
                all.map(|t| t.to_string()),
            ),
            row(
                "bytes of a leaky AND, both ways, besides its authenticated bits",
                all.map(|t| (f64::from(t + 1) / 4.0).to_string()),
            ),
        ] {
            assert!(stated.contains(&row), "{row}");
        }
    }

    /// What a cheater chooses for one AND: e, a, and its guess at what the honest sum has beside what is known. The last two may depend on the
    /// bits that it is told, which are uniform whatever it does.
    type Choice = [u32; 3];

    /// Whether a test of these ANDs passes, and whether a product is wrong then. Of the cheater's difference only bit 1 counts: with other
    /// bits it chooses another e.
    fn outcome(choices: &[Choice], own: u32, x: u32, window: u32) -> (bool, bool) {
        let mut wrong = false;
        let passes = choices.iter().enumerate().all(|(at, &[e, a, guess])| {
            let x = x >> at & 1;
            let e1 = e >> 1 & 1;
            let f = a ^ (x & e1);
            wrong |= f == 1;
            (x * (e ^ (e1 * own))) ^ (f * window) == guess
        });
        (passes, passes && wrong)
    }

    /// All windows of `t` bits: bit 0 is 1, and bit 1 is not the cheater's.
    fn all_windows(t: u32, own: u32) -> impl Iterator<Item = u32> {
        (0..1u32 << (t - PUBLIC)).map(move |hidden| hidden << PUBLIC | (own ^ 2) | 1)
    }

    /// The best that a cheater does with one test of some ANDs: it passes with a wrong product with `2^-h` at most, and that and a pass
    /// without one, after which it tries again, add up to no more. With `bad` ANDs that are not honest it passes otherwise with `2^-bad`.
    fn play(t: u32, own: u32, ands: usize, each: impl Iterator<Item = Vec<Choice>>) -> f64 {
        let h = f64::from(t - PUBLIC);
        let all = f64::from(1u32 << ands) * h.exp2();
        let mut best = 0.0f64;
        for choices in each {
            let [mut wrong, mut right] = [0u32; 2];
            for window in all_windows(t, own) {
                for x in 0..1 << ands {
                    let (passes, is_wrong) = outcome(&choices, own, x, window);
                    wrong += u32::from(is_wrong);
                    right += u32::from(passes && !is_wrong);
                }
            }
            let bad = choices.iter().filter(|[e, a, _]| *e != 0 || *a != 0).count();
            let [wrong, right] = [wrong, right].map(|count| f64::from(count) / all);
            assert!(wrong <= (-h).exp2(), "{choices:?}");
            assert!(right <= (-(bad as f64)).exp2(), "{choices:?}");
            // An honest test tells nothing and gains nothing.
            assert!(
                bad == 0 || wrong + right * (-h).exp2() <= (-h).exp2() + 1e-12,
                "{choices:?}"
            );
            best = best.max(wrong);
        }
        best
    }

    #[test]
    fn windows_are_guessed_as_rarely_as_is_reckoned() {
        let choices = |t: u32| {
            let values = 1 << t;
            (0..values * values * 2).map(move |n| [n % values, n / values % 2, n / values / 2])
        };
        for own in [0, 2] {
            for t in [3, 4, 5] {
                let best = play(t, own, 1, choices(t).map(|choice| vec![choice]));
                assert_eq!(best, windows(t).probability(), "{t}");
            }
            let both = choices(3).flat_map(|first| choices(3).map(move |second| vec![first, second]));
            assert_eq!(play(3, own, 2, both), windows(3).probability());
        }
    }
}
