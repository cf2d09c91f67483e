//! Systematic Reed–Solomon codes over GF(2^8) (Reed and Solomon 1960), of any length and dimension.
//!
//! A codeword of `k` symbols is what the polynomial of degree below `k` that takes these values at the elements 0, 1, …, k-1 takes
//! at the elements 0, 1, …, n-1, an element being the byte of that number. Two polynomials of degree below `k` agree in at most
//! `k - 1` elements, so two codewords differ in at least `n - k + 1` of the `n` positions, and any `k` symbols of a codeword
//! determine it.

use crate::gf256::{inverse, mul};
use crate::kernels::SymbolMap;

/// The longest code.
pub const LONGEST: usize = 255;

/// A code: `k` symbols become `n`, of which they are the first `k`.
#[derive(Clone)]
pub struct ReedSolomon {
    length: usize,
    message: usize,
    /// For each position, what each symbol of the message is multiplied by.
    generator: Vec<u8>,
}

impl ReedSolomon {
    /// The code of length `length` and dimension `message`.
    ///
    /// # Panics
    /// Unless `1 <= message < length <= 255`.
    pub fn new(length: usize, message: usize) -> Self {
        assert!(
            1 <= message && message < length && length <= LONGEST,
            "no code of length {length} and dimension {message}"
        );
        // Lagrange: the value at x is the sum of m_j ∏ (x - i) / (j - i), over all i ≠ j below k. For x beyond them, with A(x) the
        // product of (x - i) over all i below k, that of j is A(x) / (x - j) divided by ∏ (j - i).
        let product = |x: usize| {
            let others = (0..message).filter(|&i| i != x);
            others.fold(1, |product, i| mul(product, (x ^ i) as u8))
        };
        let weights: Vec<u8> = (0..message).map(|j| inverse(product(j))).collect();
        let mut generator = Vec::with_capacity(length * message);
        for x in 0..length {
            let all = product(x);
            generator.extend((0..message).map(|j| match x < message {
                true => u8::from(x == j),
                false => mul(mul(all, inverse((x ^ j) as u8)), weights[j]),
            }));
        }
        Self {
            length,
            message,
            generator,
        }
    }

    /// `n`: symbols of a codeword.
    pub fn length(&self) -> usize {
        self.length
    }

    /// `k`: symbols of a message.
    pub fn message(&self) -> usize {
        self.message
    }

    /// The map from messages to the `n - k` symbols that follow them in their codewords.
    pub fn parity(&self) -> SymbolMap {
        SymbolMap::new(self.message, &self.generator[self.message * self.message..])
    }

    /// The map from messages to the symbols in some positions of their codewords, in that order. Its time does not depend on the
    /// positions.
    ///
    /// # Panics
    /// If a position is not within the code.
    pub fn symbols(&self, positions: &[usize]) -> SymbolMap {
        let mut rows = zeroize::Zeroizing::new(Vec::with_capacity(positions.len() * self.message));
        for &position in positions {
            rows.extend_from_slice(&self.generator[position * self.message..][..self.message]);
        }
        SymbolMap::new(self.message, &rows)
    }
}

#[cfg(test)]
mod tests;
