//! AES-128 in counter mode, addressable by 512-bit block: the expansion of every seed in the protocols.
//!
//! In comes a secret key and positions that are never reused for different purposes; out comes keystream. Stream `s`
//! is the concatenation of AES(key, s ‖ 0), AES(key, s ‖ 1), …, where the AES input has the block number in its low
//! 64 bits and the stream in its high 64 bits, both little-endian. Block512 number `index` of the stream holds AES
//! blocks `4·index .. 4·index + 4`, so equal keystream at two positions means equal positions.

#[cfg(target_arch = "x86_64")]
pub(crate) mod aesni;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vaes;

use std::fmt;

use crate::kernels::xor_into;
use crate::{Block, Block512, Simd};

/// Names one [`Block512`] of keystream: number `index` (below 2^62) of stream `stream`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    /// The stream: any 64-bit number that the caller gives one meaning.
    pub stream: u64,
    /// The number of the 512-bit block in the stream, below 2^62.
    pub index: u64,
}

impl Position {
    /// The position `blocks` 512-bit blocks later in the same stream.
    #[inline(always)]
    pub fn advance(self, blocks: usize) -> Position {
        Position {
            index: self.index + blocks as u64,
            ..self
        }
    }

    /// The number of the first of the block's four AES inputs.
    #[inline(always)]
    fn counter(self) -> u64 {
        debug_assert!(
            self.index < 1 << 62,
            "position {} beyond the stream's 2^62 blocks",
            self.index
        );
        self.index.wrapping_mul(4)
    }
}

/// Bits of the numbers of generators in [`Prg::sums`], at most.
const MOST_BITS: usize = 8;

/// A pseudorandom generator under one key: AES-128 in counter mode, readable at any [`Position`].
///
/// The key schedule is wiped on drop, and `Debug` prints the type only.
pub struct Prg(Cipher);

enum Cipher {
    Portable(portable::Key),
    #[cfg(target_arch = "x86_64")]
    Aesni(aesni::Key),
    #[cfg(target_arch = "x86_64")]
    Vaes(vaes::Key),
}

/// Runs a method of the key on the path that the generator was made for. A `Key` of a path exists only where its
/// instruction set does, which is what makes its methods safe to call.
macro_rules! dispatch {
    ($prg:expr, $method:ident$(::<$xor:literal>)?($($arg:expr),*)) => {
        match &$prg.0 {
            Cipher::Portable(key) => key.$method$(::<$xor>)?($($arg),*),
            #[cfg(target_arch = "x86_64")]
            Cipher::Aesni(key) => key.$method$(::<$xor>)?($($arg),*),
            #[cfg(target_arch = "x86_64")]
            Cipher::Vaes(key) => key.$method$(::<$xor>)?($($arg),*),
        }
    };
}

impl Prg {
    /// The generator with this key, on the fastest path of this CPU.
    pub fn new(key: Block) -> Prg {
        Prg::with_simd(key, Simd::detect())
    }

    /// The generator with this key on a given path (for tests and benchmarks); every path gives the same bytes.
    ///
    /// # Panics
    /// If this CPU lacks the level.
    pub fn with_simd(key: Block, simd: Simd) -> Prg {
        Prg(match simd.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AES-NI.
            Simd::Avx2 => Cipher::Aesni(unsafe { aesni::Key::new(key) }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AES-NI, AVX-512 F and VAES.
            Simd::Avx512 => Cipher::Vaes(unsafe { vaes::Key::new(key) }),
            _ => Cipher::Portable(portable::Key::new(key)),
        })
    }

    /// Writes the keystream from `at` on to `out`.
    pub fn fill(&self, at: Position, out: &mut [Block512]) {
        debug_assert!(out.len() as u64 <= 1 << 62 && at.index <= (1 << 62) - out.len() as u64);
        dispatch!(self, run::<false>(at, out));
    }

    /// Adds (XOR) the keystream from `at` on to `inout`.
    pub fn xor_into(&self, at: Position, inout: &mut [Block512]) {
        debug_assert!(inout.len() as u64 <= 1 << 62 && at.index <= (1 << 62) - inout.len() as u64);
        dispatch!(self, run::<true>(at, inout));
    }

    /// Writes the keystream at each position: `out[k]` becomes the block at `at[k]`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn gather(&self, at: &[Position], out: &mut [Block512]) {
        assert_eq!(at.len(), out.len(), "one position per block");
        dispatch!(self, gather(at, out));
    }

    /// Sums of the keystreams of generators that are numbered from `first`, 0 or 1, on, by the bits of their numbers: `columns` become one column
    /// after the other, each as long as `sum`, column `j` the sum of the keystreams from `at` on of all that have bit `j` in their number;
    /// `sum` becomes that of all. It is fastest where all are of one path.
    ///
    /// # Panics
    /// If there are more than 8 columns, or none for a bit of a number, or one that is not as long as `sum`; if the first is greater; if `sum` is empty.
    pub fn sums(seeds: &[Prg], first: usize, at: Position, columns: &mut [Block512], sum: &mut [Block512]) {
        let end = first + seeds.len();
        let bits = columns.len() / sum.len();
        assert!(
            first <= 1 && bits <= MOST_BITS && end <= 1 << bits && columns.len() == bits * sum.len(),
            "numbers below {end} and {bits} columns"
        );
        debug_assert!(sum.len() as u64 <= 1 << 62 && at.index <= (1 << 62) - sum.len() as u64);
        #[cfg(target_arch = "x86_64")]
        if let Some(keys) = vaes::Keys::of(seeds) {
            return keys.sums(first, at, columns, sum);
        }
        columns.fill(Block512::ZERO);
        sum.fill(Block512::ZERO);
        for (x, seed) in (first..end).zip(seeds).rev() {
            // With S(x) = G(x) + G(x + 1) + …, column j is the sum of all S(m 2^j) but S(0): G(x) is in ⌊x/2^j⌋ of them.
            seed.xor_into(at, sum);
            if x > 0 {
                for column in columns
                    .chunks_exact_mut(sum.len())
                    .take(1 + x.trailing_zeros() as usize)
                {
                    xor_into(column, sum);
                }
            }
        }
    }
}

impl fmt::Debug for Prg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prg")
    }
}

#[cfg(test)]
mod tests;
