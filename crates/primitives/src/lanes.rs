//! Four blocks side by side, for code that is written once and compiled for each instruction set.
//!
//! A [`Kernel`] is a function over some [`Lanes`]: with AVX-512, VAES and VPCLMULQDQ its values are 512-bit registers, with
//! AES-NI and PCLMULQDQ four 128-bit ones, otherwise arrays. It is ordinary safe code. [`run`] chooses among the copies at run time.
//!
//! **How to write one.** The instructions of a level are used only where the code is inlined into the copy for this
//! level: mark [`Kernel::run`] and all that it calls with lanes `#[inline(always)]`, and use loops instead of closures.
//! Code that breaks this rule is correct but slow.
//!
//! No operation branches on, or takes an address from, what the lanes hold.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vaes;

use crate::{Block, Simd};

/// Operations on four blocks at once. A value of the type exists only on a CPU that can execute them.
pub trait Lanes {
    /// Four blocks.
    type V: Copy;

    /// Four blocks from memory.
    fn load(&self, blocks: &[Block; 4]) -> Self::V;

    /// Four blocks to memory.
    fn store(&self, value: Self::V, blocks: &mut [Block; 4]);

    /// Four pairs from memory: the first blocks and the second blocks.
    fn load_pairs(&self, pairs: &[[Block; 2]; 4]) -> [Self::V; 2];

    /// Four pairs to memory.
    fn store_pairs(&self, values: [Self::V; 2], pairs: &mut [[Block; 2]; 4]);

    /// Four blocks from places of their own.
    fn gather(&self, blocks: [&Block; 4]) -> Self::V;

    /// Four blocks to places of their own.
    fn scatter(&self, value: Self::V, blocks: [&mut Block; 4]);

    /// The same block four times.
    fn splat(&self, block: Block) -> Self::V;

    /// The numbers as blocks: the lower 64 bits, little-endian; the upper are zero.
    fn numbers(&self, numbers: [u64; 4]) -> Self::V;

    /// The sum of `base` and each number (modulo 2^64), as blocks.
    fn sums(&self, base: u64, numbers: &[u32; 4]) -> Self::V;

    /// `a ^ b`
    fn xor(&self, a: Self::V, b: Self::V) -> Self::V;

    /// `a | b`
    fn or(&self, a: Self::V, b: Self::V) -> Self::V;

    /// In each lane, `sum ^ addend` if bit 0 of `chooser` is 1, else `sum`.
    fn xor_if(&self, sum: Self::V, chooser: Self::V, addend: Self::V) -> Self::V;

    /// In each lane, the smaller and the larger block as little-endian numbers of 128 bits.
    fn sort(&self, a: Self::V, b: Self::V) -> [Self::V; 2];

    /// A linear orthomorphism of the 128 bits: of the halves (low, high) it makes (high, low ^ high). It is linear and one to one,
    /// and so is its sum with the identity.
    fn sigma(&self, value: Self::V) -> Self::V;

    /// In each lane, the sum of all `a[k] · b[k]` in the field of [`gf128`](crate::gf128), with one reduction.
    fn inner_product<const N: usize>(&self, a: [Self::V; N], b: [Self::V; N]) -> Self::V;

    /// AES-128 of `M` values under each of `N` keys, lane by lane: `values[k]` under `keys[k]`. The keys are expanded side by
    /// side, in step with the rounds.
    fn encrypt<const N: usize, const M: usize>(
        &self,
        keys: [Self::V; N],
        values: [[Self::V; M]; N],
    ) -> [[Self::V; M]; N];

    /// Asks for the cache line at `address`, which need not be one of the program's, to be fetched.
    fn prefetch<T>(&self, address: *const T);
}

/// A function that is compiled for every kind of [`Lanes`], with its arguments.
pub trait Kernel {
    /// What it returns.
    type Output;

    /// Runs it. Mark the implementation `#[inline(always)]`.
    fn run<L: Lanes>(self, lanes: &L) -> Self::Output;
}

/// Runs `kernel` on the fastest lanes of this CPU.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    run_on(Simd::detect(), kernel)
}

/// Runs `kernel` on the lanes of a given level (for tests and benchmarks).
///
/// # Panics
/// If this CPU lacks the level.
#[inline]
pub fn run_on<K: Kernel>(simd: Simd, kernel: K) -> K::Output {
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F, BW, DQ and VL, VAES, AES-NI and VPCLMULQDQ.
        Simd::Avx512 => unsafe { vaes::run(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX2, AES-NI and PCLMULQDQ.
        Simd::Avx2 => unsafe { aesni::run(kernel) },
        _ => kernel.run(&portable::Portable),
    }
}

/// The constants of the key schedule, one for each round.
#[cfg(target_arch = "x86_64")]
const ROUND_CONSTANTS: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Byte numbers that put the last word of a round key, rotated, in all four words.
#[cfg(target_arch = "x86_64")]
const ROTATED_WORD: i32 = 0x0c0f_0e0d;

#[cfg(test)]
mod tests;
