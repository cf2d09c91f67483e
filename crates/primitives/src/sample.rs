//! Unbiased sampling from a coin: numbers below a bound, shuffles and permutations.
//!
//! In comes a coin that all parties know, out come the same samples at each. Coins are public, so running time and
//! memory access may depend on them; a sampler must not expand a secret.

use std::fmt;

use crate::{Block, Block512, Position, Prg, SecretBlocks};

/// 512-bit blocks expanded at once: 4 KiB, which stays in the fastest cache.
const BUFFER: usize = 64;
/// 32-bit words in the buffer.
const WORDS: usize = BUFFER * 16;

/// A sequence of uniform samples, determined by a coin.
///
/// The samples are computed from the 32-bit little-endian words of one stream of a [`Prg`], taken in order.
pub struct Sampler {
    prg: Prg,
    /// Where the keystream after the buffer starts.
    at: Position,
    buffer: Box<[Block512; BUFFER]>,
    /// The next word to take from the buffer.
    next: usize,
}

impl Sampler {
    /// The sampler that expands `coin`.
    pub fn new(coin: Block) -> Sampler {
        Sampler::from_stream(Prg::new(coin), 0)
    }

    /// The sampler over stream `stream` of `prg`.
    pub fn from_stream(prg: Prg, stream: u64) -> Sampler {
        Sampler {
            prg,
            at: Position { stream, index: 0 },
            buffer: Box::new([Block512::ZERO; BUFFER]),
            next: WORDS,
        }
    }

    /// A uniform 32-bit number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.next == WORDS {
            self.refill();
        }
        let words: &[u32; WORDS] = bytemuck::cast_ref(&*self.buffer);
        let word = words[self.next];
        self.next += 1;
        u32::from_le(word)
    }

    /// A uniform 64-bit number: two words, low one first.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(self.next_u32()) << 32 | u64::from(low)
    }

    /// A uniform number below `n`, without bias: Lemire, "Fast random integer generation in an interval" (2019),
    /// algorithm 5.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n != 0, "no number is below 0");
        self.multiply(n, || threshold(n))
    }

    /// Fills `out` with uniform numbers below `n`, the same as by calling [`Sampler::below`] for each.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn fill_below(&mut self, n: u32, out: &mut [u32]) {
        assert!(n != 0, "no number is below 0");
        let threshold = threshold(n);
        for slot in out {
            *slot = self.multiply(n, || threshold);
        }
    }

    /// Puts `items` in a uniformly random order (Fisher–Yates).
    ///
    /// # Panics
    /// If there are 2^32 items or more.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let n = u32::try_from(items.len()).expect("fewer than 2^32 items");
        for i in (1..n).rev() {
            let j = self.below(i + 1);
            items.swap(i as usize, j as usize);
        }
    }

    /// Makes `out` a uniformly random permutation of 0, 1, …, `out.len() - 1` (as `u16`, `u32` or another integer).
    ///
    /// # Panics
    /// If the largest of these numbers is not a `T`, or there are 2^32 or more of them.
    pub fn permutation<T: TryFrom<usize>>(&mut self, out: &mut [T]) {
        for (i, slot) in out.iter_mut().enumerate() {
            let Ok(number) = T::try_from(i) else {
                panic!("the item type cannot number {i} items")
            };
            *slot = number;
        }
        self.shuffle(out);
    }

    /// The high half of word × `n`, for the first word whose low half is not below the threshold. The threshold is
    /// below `n`, so the division that it costs is seldom needed.
    #[inline(always)]
    fn multiply(&mut self, n: u32, threshold: impl Fn() -> u32) -> u32 {
        loop {
            let product = u64::from(self.next_u32()) * u64::from(n);
            let low = product as u32;
            if low >= n || low >= threshold() {
                return (product >> 32) as u32;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.prg.fill(self.at, &mut self.buffer[..]);
        self.at = self.at.advance(BUFFER);
        self.next = 0;
    }
}

/// 2^32 modulo `n`: how many words must be refused for the others to fall evenly on the numbers below `n`.
fn threshold(n: u32) -> u32 {
    n.wrapping_neg() % n
}

/// Makes `out` a permutation of 0, 1, …, `out.len() - 1` that a secret `seed` decides (Fisher–Yates). No branch depends on the seed; the addresses that
/// it touches do, which a program on the same processor may see by its cache. Each of `n` numbers is drawn from 128 bits without rejection, so that the order is at
/// a statistical distance of at most `n^2 / 2^128` from uniform.
///
/// # Panics
/// If there are 2^32 numbers or more.
pub fn hidden_permutation(seed: Block, out: &mut [u32]) {
    let n = u32::try_from(out.len()).expect("fewer than 2^32 numbers");
    out.iter_mut().zip(0..).for_each(|(slot, number)| *slot = number);
    let prg = Prg::new(seed);
    let mut at = Position { stream: 0, index: 0 };
    let mut words = SecretBlocks::zeroed(BUFFER);
    let mut next = 4 * BUFFER;
    for i in (1..n).rev() {
        if next == 4 * BUFFER {
            prg.fill(at, &mut words);
            (at, next) = (at.advance(BUFFER), 0);
        }
        let [low, high] = [0, 1].map(|half| u128::from(u64::from_le(words[next / 4].0[next % 4 * 2 + half])));
        let below = u128::from(i) + 1;
        // The high part of a number of 128 bits times `below`.
        let j = (high * below + ((low * below) >> 64)) >> 64;
        out.swap(i as usize, j as usize);
        next += 1;
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}

#[cfg(test)]
mod tests;
