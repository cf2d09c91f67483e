//! Whether two secret tables are the same, without ANDs for their rows: a digest of their difference.
//!
//! The digest is `Σ β_w·(x_w ⊕ y_w)` over GF(2^64), where `x_w` and `y_w` are all words of both tables: 64 lanes of a wire, the last word of a wire without
//! what is beyond its lanes. Each word has a weight `β_w` of its own, from the keystream of one coin. The sum is linear, so each party computes its
//! components of it alone. It is a secret as the tables are: it is not opened and is in no view. What a program makes of it, such as the bit that says
//! whether it is zero, it makes with ANDs, which are verified before anything is revealed.
//!
//! **Nobody can make a difference to fit the weights.** The coin is tossed after a barrier, by which each honest party has said that it has its shares of both
//! tables. Both honest parties together hold all three components of everything, so the tables are fixed by then: what a cheating owner has given, what a
//! cheater has added to a product or to rows that were moved. Whatever it sends later changes no component of a table at an honest party. That
//! products and moved rows are not verified yet does no harm: their errors are fixed as well, and end the session before anything is revealed.
//!
//! **The error.** Let the tables differ. The coin's keystream is AES in counter mode, so the blocks of 128 bits, two words each, are those of
//! a permutation that nobody knew when the tables were fixed. Take a block that meets a difference. Given all others, it is uniform among
//! `2^128 - q` values for the `q` others, and `2^64` values at most make the sum zero. So the digest of tables that differ is zero with
//! probability `2^-64` (times `1 + q·2^-128`), whatever the tables, their sizes and the number of words that differ. Each digest has a coin of its own, so
//! in a session the probabilities add up.
//!
//! **No selective failure.** A digest sends nothing that depends on a secret: a word that all is received, and shares of a random coin. If one of
//! these is wrong, the session ends whatever the tables are. Whether the tables are the same is what the program asks, and it alone tells it.

use std::slice::from_mut;

use cenote_params::LogProb;
use cenote_primitives::{Block, Block512, Position, Prg, as_words, gf64};
use cenote_session::{Result, WireVector};
use zeroize::Zeroizing;

use crate::coin::{self, Fixed};
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::wires::ThreeWires;

/// What sets the barriers of digests apart from those of gates and of moved rows, which are on the same channels.
const BARRIERS: u64 = 1 << 62;

/// Words whose weights are expanded at once.
const TILE: usize = 512;

/// Bits of a digest.
const BITS: usize = 64;

/// Makes digests, each with a coin of its own.
pub(crate) struct Digester {
    coins: Counter,
    digests: u64,
}

/// A party has its shares of both tables.
struct Held;

impl Fixed for Held {}

impl Digester {
    pub(crate) fn new() -> Self {
        Self {
            coins: Counter::new(Purpose::DigestCoin, 0),
            digests: 0,
        }
    }

    /// The digest of the difference of two tables of one shape.
    pub(crate) fn digest(
        &mut self,
        these: &ThreeWires,
        those: &ThreeWires,
        ring: &mut Ring,
        keys: &Keys,
    ) -> Result<ThreeWires> {
        let received = coin::barrier(ring, BARRIERS | self.digests, Held)?;
        self.digests += 1;
        let coin = coin::toss(ring, keys, &mut self.coins, received)?;
        let digest = weighted_difference(coin, these, those)?;
        let mut wires = ThreeWires::zeros(BITS, 1)?;
        for (component, sum) in wires.components_mut().iter_mut().zip(digest.iter()) {
            for (bit, word) in component.iter_mut().enumerate() {
                *word = sum >> bit & 1;
            }
        }
        Ok(wires)
    }

    /// The probability that tables that differ have had a digest of zero, at most.
    pub(crate) fn error(&self) -> LogProb {
        match self.digests {
            0 => LogProb::ZERO,
            digests => LogProb::from_probability(digests as f64 * 2f64.powi(-64)),
        }
    }

    /// Blocks of keystream that were used.
    pub(crate) fn blocks(&self) -> u64 {
        self.coins.taken()
    }
}

/// Of each component the sum of the differences of all words, each times its weight.
fn weighted_difference(coin: Block, these: &ThreeWires, those: &ThreeWires) -> Result<Zeroizing<[u64; 2]>> {
    let (weights, stride) = (Prg::new(coin), these.stride());
    // What is beyond the lanes means nothing, and may differ between the tables.
    let within = match these.lanes() % 64 {
        0 => u64::MAX,
        lanes => (1 << lanes) - 1,
    };
    let mut at = Position { stream: 0, index: 0 };
    let mut of_words = [Block512::ZERO; TILE / 8];
    let mut differences = Zeroizing::new([0; TILE]);
    let mut sums = Zeroizing::new([0; 2]);
    let (wires, these, those) = (these.wires(), these.components()?, those.components()?);
    for wire in 0..wires {
        let (row, end) = (wire * stride, (wire + 1) * stride);
        for first in (row..end).step_by(TILE) {
            let words = first..end.min(first + TILE);
            let blocks = words.len().div_ceil(8);
            weights.fill(at, &mut of_words[..blocks]);
            at = at.advance(blocks);
            let components = these.iter().zip(those);
            for (sum, (x, y)) in sums.iter_mut().zip(components) {
                let differences = &mut differences[..words.len()];
                let pairs = x[words.clone()].iter().zip(&y[words.clone()]);
                for (difference, (x, y)) in differences.iter_mut().zip(pairs) {
                    *difference = x ^ y;
                }
                if let Some(last) = differences.last_mut().filter(|_| words.end == end) {
                    *last &= within;
                }
                let weights = &as_words(&of_words)[..words.len()];
                gf64::add_row_products(differences, weights, from_mut(sum));
            }
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of wires whose first component has these words, and whose second has none.
    fn wires(wires: usize, lanes: usize, words: &[u64]) -> ThreeWires {
        let mut shares = ThreeWires::zeros(wires, lanes).expect("there is room");
        shares.components_mut()[0].copy_from_slice(words);
        shares
    }

    fn digest(coin: u64, these: &ThreeWires, those: &ThreeWires) -> u64 {
        let [first, second] = *weighted_difference(Block([coin, 1]), these, those).expect("there is room");
        assert_eq!(second, 0, "each component has its own sum");
        first
    }

    /// The low four bits of the digest are one of 16 values each time: zero as often as any other, whatever the difference. So all 64 are zero with
    /// probability 2^-64.
    #[test]
    fn a_difference_is_missed_as_often_as_said() {
        const COINS: u64 = 1 << 14;
        let nothing = wires(3, 1300, &[0; 63]);
        let differences = [
            [(0, 1)].as_slice(),
            &[(62, 1 << 19)],
            // Without weights these would cancel: in one wire, in two, and beyond what is expanded at once.
            &[(3, 5), (4, 5)],
            &[(20, u64::MAX), (41, u64::MAX)],
        ];
        for difference in differences {
            let mut words = [0; 63];
            difference.iter().for_each(|(at, word)| words[*at] = *word);
            let other = wires(3, 1300, &words);
            let mut times = [0.0; 16];
            for coin in 0..COINS {
                times[(digest(coin, &nothing, &other) & 15) as usize] += 1.0;
            }
            let expected = COINS as f64 / 16.0;
            let squares: f64 = times
                .iter()
                .map(|times: &f64| (times - expected).powi(2) / expected)
                .sum();
            // 15 degrees of freedom: one set of coins in a thousand would exceed it.
            assert!(squares < 37.7, "{difference:?}: {squares}");
        }
    }

    #[test]
    fn each_word_has_a_weight_of_its_own() {
        let count = 3 * 1100;
        let nothing = wires(3, 64 * 1100, &vec![0; count]);
        let mut weights = std::collections::HashSet::new();
        for at in 0..count {
            let mut words = vec![0; count];
            words[at] = 1;
            assert!(weights.insert(digest(7, &nothing, &wires(3, 64 * 1100, &words))));
        }
    }

    #[test]
    fn what_is_beyond_the_lanes_does_not_count() {
        let (these, those) = (wires(2, 65, &[1, 2, 3, 5]), wires(2, 65, &[1, 4, 3, !0]));
        assert_eq!(digest(7, &these, &those), 0);
        let those = wires(2, 65, &[1, 4, 3, 4]);
        assert_ne!(digest(7, &these, &those), 0);
    }

    #[test]
    fn the_error_of_a_session_is_that_of_all_its_digests() {
        let mut digester = Digester::new();
        assert_eq!(digester.error().log2(), f64::NEG_INFINITY);
        digester.digests = 8;
        assert!((digester.error().log2() + 61.0).abs() < 1e-9);
    }
}
