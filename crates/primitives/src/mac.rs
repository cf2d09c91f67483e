//! A polynomial MAC over GF(2^128): the field and chaining of POLYVAL (RFC 8452, section 3), of which many blocks
//! are taken per reduction.
//!
//! **Field.** GF(2)\[x\] modulo x^128 + x^127 + x^126 + x^121 + 1. Bit `i` of a [`Block`] is the coefficient of x^i.
//! The product used is dot(a, b) = a·b·x^-128, which is the ordinary product up to a fixed unit.
//!
//! **Value.** For blocks X_1 … X_n (a [`Block512`] is four, lowest words first) and the length block
//! L = 128·n (the number of bits, in the low 64 bits), finish gives
//! X_1•H^{n+1} + … + X_n•H^2 + L•H, with • and powers by dot: POLYVAL(H, X_1, …, X_n, L).
//!
//! **Bound.** Two different messages of at most n blocks have polynomials in H that differ, in an X if the lengths
//! are equal and in L if they are not, and whose constant terms are zero; so for any c, their values differ by
//! exactly c for at most n + 1 of the 2^128 keys H. Masked with a fresh one-time pad per message, which is the
//! caller's part, a value is a one-time MAC with forgery probability (n + 1) / 2^128.

#[cfg(target_arch = "x86_64")]
pub(crate) mod clmul;
pub(crate) mod field;
#[cfg(target_arch = "x86_64")]
pub(crate) mod vclmul;

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{Block, Block512, Simd};

/// 512-bit blocks per reduction on the paths with carry-less multiplication instructions.
#[cfg(target_arch = "x86_64")]
const BATCH: usize = 8;

/// Computes values of the polynomial MAC under one key. See [`Prg`](crate::Prg) for the pad.
///
/// The key and the running value are wiped on drop, and `Debug` prints the type only. No branch or memory access
/// depends on key or data on any path.
#[derive(ZeroizeOnDrop)]
pub struct PolyMac {
    key: Key,
    /// The running value: the polynomial's over the blocks so far, times H.
    value: Block,
    /// Bits so far.
    #[zeroize(skip)]
    bits: u64,
}

#[derive(Zeroize, ZeroizeOnDrop)]
enum Key {
    Portable(Block),
    #[cfg(target_arch = "x86_64")]
    Clmul(clmul::Key),
    #[cfg(target_arch = "x86_64")]
    Vclmul(vclmul::Key),
}

impl PolyMac {
    /// The MAC with key `h`, on the fastest path of this CPU. The key must be uniformly random and secret until the
    /// last value under it is fixed.
    pub fn new(h: Block) -> PolyMac {
        PolyMac::with_simd(h, Simd::detect())
    }

    /// The MAC with key `h` on a given path (for tests and benchmarks); every path gives the same values.
    ///
    /// # Panics
    /// If this CPU lacks the level.
    pub fn with_simd(h: Block, simd: Simd) -> PolyMac {
        let key = match simd.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
            Simd::Avx2 => Key::Clmul(unsafe { clmul::Key::new(h) }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has PCLMULQDQ, AVX2, AVX-512 F and VPCLMULQDQ.
            Simd::Avx512 => Key::Vclmul(unsafe { vclmul::Key::new(h) }),
            _ => Key::Portable(h),
        };
        PolyMac {
            key,
            value: Block::ZERO,
            bits: 0,
        }
    }

    /// Appends `data` to the message. How a message is cut into updates does not matter.
    pub fn update(&mut self, data: &[Block512]) {
        self.value = match &self.key {
            Key::Portable(h) => field::absorb(*h, self.value, bytemuck::cast_slice(data)),
            #[cfg(target_arch = "x86_64")]
            Key::Clmul(key) => key.absorb(self.value, data),
            #[cfg(target_arch = "x86_64")]
            Key::Vclmul(key) => key.absorb(self.value, data),
        };
        self.bits += size_of_val(data) as u64 * 8;
    }

    /// The value of the message since the last finish; the next update starts a new message.
    pub fn finish(&mut self) -> Block {
        let length = Block([self.bits, 0].map(u64::to_le));
        let sum = std::mem::take(&mut self.value) ^ length;
        self.bits = 0;
        match &self.key {
            Key::Portable(h) => field::dot(*h, sum),
            #[cfg(target_arch = "x86_64")]
            Key::Clmul(key) => key.times_h(sum),
            #[cfg(target_arch = "x86_64")]
            Key::Vclmul(key) => key.times_h(sum),
        }
    }
}

impl fmt::Debug for PolyMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolyMac")
    }
}

#[cfg(test)]
mod tests;
