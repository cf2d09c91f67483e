//! Parameters of the three-party protocols (Araki et al., S&P 2017): variants, the check of a set, its error and its cost.
//!
//! The unit is the *block* (the paper's "ball"): a vector of triples that is good or bad as a whole. `N` blocks leave a
//! batch; to make them, `D_1` holds `N` blocks and `D_2 .. D_B` hold `L` subarrays of `X = N/L + C` each, of which `C` per
//! subarray are opened.

pub mod exhaustive;
pub mod games;
mod parameters;
mod proofs;
mod search;
mod shape;
pub mod unequal;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Refusal;

pub use parameters::{BLOCK_BITS, ErrorKind, JobCost, LOG_BLOCKS, NAME_BYTES, Parameters};
pub use proofs::Proofs;
pub use search::{Workload, search};
pub use shape::{check, check_level, check_mixed, preferred};

/// How AND gates are verified with triples; the papers' four protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Full shuffle (`L = 1`), gate `k` uses triple `k` (Section II-A, Appendix A). Error of Game 1.
    Baseline,
    /// Two-level shuffle, gate `k` uses triple `k` (Section III-A, Protocol 3.1). Error of Game 1.
    CacheEfficient,
    /// The whole array is shuffled again after exactly `N` gates (Section III-B, Protocol 3.6). Error of Game 2.
    Reshuffle,
    /// A random triple per gate, replaced at once, for ever (Section III-C, Protocol 3.9). Error of continuous Game 3.
    OnDemand,
}

impl Variant {
    /// All four, in the papers' order.
    pub const ALL: [Self; 4] = [
        Self::Baseline,
        Self::CacheEfficient,
        Self::Reshuffle,
        Self::OnDemand,
    ];

    /// The name on command lines, in files and in handshakes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::CacheEfficient => "cache-efficient",
            Self::Reshuffle => "reshuffle",
            Self::OnDemand => "on-demand",
        }
    }

    /// The exponent that the variant's theorem gives: error at most `N^-(B-1)` or `N^-B`.
    #[must_use]
    pub fn exponent(self, b: u32) -> u32 {
        match self {
            Self::Baseline | Self::CacheEfficient => b - 1,
            Self::Reshuffle | Self::OnDemand => b,
        }
    }

    /// The theorem that bounds the error.
    #[must_use]
    pub fn theorem(self) -> &'static str {
        match self {
            Self::Baseline | Self::CacheEfficient => "Theorem 3.4",
            Self::Reshuffle => "Theorem 3.7",
            Self::OnDemand => "Theorem 3.11",
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Variant {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        Self::ALL.into_iter().find(|v| v.name() == name).ok_or_else(|| {
            Refusal::new("three").because(
                "the variant is baseline, cache-efficient, reshuffle or on-demand",
                name,
            )
        })
    }
}
