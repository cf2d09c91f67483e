//! Authenticated bits from few others (Ferret: Yang, Weng, Lan, Zhang, Wang, CCS 2020): how large an iteration is, what it costs, and how much work breaks the assumption
//! that its bits are random: learning parity with noise, primal, over bits, with noise in blocks ("regular") and a matrix of sparse rows.
//!
//! An iteration has `n` samples As ⊕ e: a secret s of `k` bits, a public matrix A with [`WEIGHT`] ones in each row, a vector e of `t` blocks of `n/t` bits with one 1 each.
//!
//! **Attacks on any matrix.** Those of the estimator by Yu, Yang, Wang et al. (lpnestimator.com, 2025), computed here anew:
//! guessing samples without noise and solving for s, also with the search for few wrong guesses and with as many guesses in each block
//! (Liu, Wang, Yang, Yu, EUROCRYPT 2024, ePrint 2022/712; Esser and Santini, CRYPTO 2024); parity checks ("statistical decoding", ibidem); equations of low degree that
//! say that a block has one 1 only (Briaud and Øygarden, EUROCRYPT 2023), also together with guesses (ePrint 2025/1284). Of the blocks' parity each takes `t` bits of the secret.
//!
//! **Sparse rows.** A set of ρk bits of the secret has all ones of about ρ^10 n rows. Once these are ρk, guessing that they have no noise finds that part of the secret,
//! with fewer guesses than k of them: this is how Chen, Shu and Zhou (2024) attack sparse LPN, and the estimator does not count it. Random sets need
//! ρ = (k/n)^(1/9), and taking away bits of few rows one by one does better. [`Samples::smallest_core`] is the least ρ for which such sets exist at all (first
//! moment), and the attack is counted as if one was known, with guesses that solve their equations ([`Guess::Solved`]). What it takes with cheaper guesses is
//! in [`Samples::core_guesses`]. This attack
//! decides on the sizes: k t/n is 128 in both sets, where 64, as in sets that count the other attacks only, leaves less than 100 bits.

mod attacks;

use serde::Serialize;

use crate::LogProb;
use crate::computational::Primitive;
use crate::cot::SoftSpoken;

/// Ones in a row of the matrix.
pub const WEIGHT: u32 = 10;

/// Bits of an iteration that hide what its check tells.
pub const HIDING: u64 = 128;

/// The sizes of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lpn {
    /// The base-2 logarithm of k, the bits of the secret.
    pub secret: u32,
    /// The base-2 logarithm of the bits of a block of noise.
    pub block: u32,
    /// t, the blocks.
    pub blocks: u32,
}

/// For tens of thousands of bits.
pub const SMALL: Lpn = Lpn {
    secret: 14,
    block: 7,
    blocks: 1024,
};

/// For millions.
pub const LARGE: Lpn = Lpn {
    secret: 15,
    block: 8,
    blocks: 2048,
};

/// All sets.
pub const ALL: [Lpn; 2] = [SMALL, LARGE];

pub use attacks::{Guess, Samples};

/// An attack, and the base-2 logarithm of its work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attack {
    /// What it does.
    pub name: &'static str,
    /// Operations.
    pub bits: f64,
    /// Where its cost is from.
    pub source: &'static str,
}

impl Lpn {
    /// Bits of an iteration.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.blocks) << self.block
    }

    /// Bits that an iteration takes of the one before.
    #[must_use]
    pub fn seed(&self) -> u64 {
        (1 << self.secret) + u64::from(self.blocks * self.block) + HIDING
    }

    /// Bits that are left of an iteration.
    #[must_use]
    pub fn yields(&self) -> u64 {
        self.bits() - self.seed()
    }

    /// Bytes that each party sends in an iteration.
    #[must_use]
    pub fn iteration_bytes(&self) -> u64 {
        16 * (u64::from(self.blocks * (self.block - 1)) + 1) + 64
    }

    /// Iterations that make so many bits.
    #[must_use]
    pub fn iterations(&self, bits: u64) -> u64 {
        bits.div_ceil(self.yields())
    }

    /// Bytes that each party sends for so many bits of both, the first seed by SoftSpoken included.
    #[must_use]
    pub fn bytes(&self, bits: u64, cot: &SoftSpoken) -> f64 {
        match self.iterations(bits) {
            0 => 0.0,
            iterations => {
                let seed = self.seed() as f64 * f64::from(cot.sent_bits()) / 8.0;
                seed + iterations as f64 * self.iteration_bytes() as f64
            }
        }
    }

    /// The set that takes the fewest bytes for so many bits.
    #[must_use]
    pub fn cheapest(bits: u64, cot: &SoftSpoken) -> Self {
        let [small, large] = ALL;
        match small.bytes(bits, cot) <= large.bytes(bits, cot) {
            true => small,
            false => large,
        }
    }

    /// The fewest bits that take fewer bytes than by SoftSpoken alone.
    #[must_use]
    pub fn worth_it_from(cot: &SoftSpoken) -> u64 {
        let each = f64::from(cot.sent_bits()) / 8.0;
        let first = ALL.map(|set| (set.bytes(1, cot) / each) as u64 + 1);
        first[0].min(first[1])
    }

    /// The probability that a party ever learns more of the noise than its guesses say, in a session of so many iterations.
    ///
    /// Wrong trees are answered for with one hash, which is right for places that have the same leaves, and for others where hashes meet: any two with
    /// probability `n/2^128`. Of all that it is right for let the likeliest have probability p, and the others r: then pr is at most `n/2^128`, and r at most
    /// `sqrt(2 n)/2^64`, on average. Where p is below 1/2 the session goes on half as often as before; elsewhere r is below `2 n/2^128`.
    #[must_use]
    pub fn check_error(&self, iterations: f64) -> LogProb {
        let n = f64::from(self.block) + f64::from(self.blocks).log2();
        let caught = LogProb::from_log2((n + 1.0) / 2.0 - 64.0 + 1.0);
        caught + LogProb::from_log2(n + 1.0 - 128.0 + iterations.log2())
    }

    /// What an attacker has of an iteration.
    #[must_use]
    pub fn samples(&self) -> Samples {
        Samples {
            n: self.bits() as f64,
            k: f64::from(self.secret).exp2(),
            t: self.blocks.into(),
        }
    }

    /// All attacks.
    #[must_use]
    pub fn attacks(&self) -> [Attack; 6] {
        self.samples().attacks()
    }

    /// The least work of them.
    #[must_use]
    pub fn security(&self) -> f64 {
        self.attacks()
            .iter()
            .map(|attack| attack.bits)
            .fold(f64::INFINITY, f64::min)
    }

    /// As a primitive of a session. Every try at it is at one iteration, however many there are.
    #[must_use]
    pub fn primitive(&self) -> Primitive {
        Primitive {
            protects: "authenticated bits",
            construction: "learning parity with noise, primal, noise in blocks, sparse rows",
            bits: self.security(),
            advantage: None,
            formula: "the best of the attacks that params::lpn counts",
            source: "Yang, Weng, Lan, Zhang, Wang, CCS 2020; attacks as listed in params::lpn",
        }
    }
}

#[cfg(test)]
mod tests;
