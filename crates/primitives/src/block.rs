//! The two units of data: [`Block`], 128 bits, the unit of ciphers, labels and MACs; and [`Block512`], 512 bits,
//! one cache line, the unit that the three-party protocol shuffles and checks (the papers' "ball").

use std::fmt;
use std::ops::{BitAnd, BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

/// Bits in a [`Block512`].
pub const BLOCK_BITS: usize = 512;
/// 64-bit words in a [`Block512`].
pub const BLOCK_WORDS: usize = BLOCK_BITS / 64;

/// 128 bits, little-endian: bit 0 is the lowest bit of byte 0.
///
/// `Debug` prints the type only, since most blocks are secret.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Block(pub [u64; 2]);

/// 512 bits: 8 little-endian words, aligned to a cache line. Bit `i` is bit `i % 64` of word `i / 64`.
///
/// `Debug` prints the type only, since most blocks are secret.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Block512(pub [u64; BLOCK_WORDS]);

impl Block {
    /// All bits zero.
    pub const ZERO: Block = Block([0; 2]);

    /// The block whose 16 bytes are `bytes`.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        bytemuck::cast(bytes)
    }

    /// The block's 16 bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        bytemuck::cast(self)
    }

    /// A block of fresh randomness from the operating system.
    ///
    /// # Panics
    /// If the operating system has no randomness to give; nothing secure can be done then.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system's random source failed");
        Self::from_bytes(bytes)
    }
}

impl Block512 {
    /// All bits zero.
    pub const ZERO: Block512 = Block512([0; BLOCK_WORDS]);
}

macro_rules! bitwise {
    ($ty:ident) => {
        // Of which follows that slices of it can be wiped.
        impl DefaultIsZeroes for $ty {}

        impl BitXor for $ty {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, rhs: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] ^ rhs.0[i]))
            }
        }
        impl BitXorAssign for $ty {
            #[inline(always)]
            fn bitxor_assign(&mut self, rhs: Self) {
                *self = *self ^ rhs;
            }
        }
        impl BitAnd for $ty {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, rhs: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] & rhs.0[i]))
            }
        }
        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($ty))
            }
        }
    };
}
bitwise!(Block);
bitwise!(Block512);

/// The bytes of `blocks`, without copying (for messages and hashing).
pub fn as_bytes<T: Pod>(blocks: &[T]) -> &[u8] {
    bytemuck::cast_slice(blocks)
}

/// The bytes of `blocks`, writable, without copying (to receive messages into).
pub fn as_bytes_mut<T: Pod>(blocks: &mut [T]) -> &mut [u8] {
    bytemuck::cast_slice_mut(blocks)
}

/// Four blocks of 128 bits for each of 512, without copying.
pub fn as_quarters(blocks: &[Block512]) -> &[Block] {
    bytemuck::cast_slice(blocks)
}

/// Four blocks of 128 bits for each of 512, writable, without copying.
pub fn as_quarters_mut(blocks: &mut [Block512]) -> &mut [Block] {
    bytemuck::cast_slice_mut(blocks)
}

/// The 64-bit words of `blocks`, without copying.
pub fn as_words(blocks: &[Block512]) -> &[u64] {
    bytemuck::cast_slice(blocks)
}

/// The 64-bit words of `blocks`, writable, without copying.
pub fn as_words_mut(blocks: &mut [Block512]) -> &mut [u64] {
    bytemuck::cast_slice_mut(blocks)
}
