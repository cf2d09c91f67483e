//! Building blocks of every protocol: 128-bit and 512-bit blocks, clear bit matrices, a counter-mode PRG, a
//! polynomial MAC, the fields GF(2^128), GF(2^64) and GF(2^8), BCH and Reed–Solomon codes, a tweakable hash, unbiased sampling and the bit-vector kernels.
//!
//! This is the only crate with `unsafe` code: the SIMD kernels. Each has a safe wrapper, a portable twin and a
//! test that both agree; the CPU's features are detected at run time.

#![deny(unsafe_op_in_unsafe_fn)]

mod arrange;
pub mod bch;
mod bit_matrix;
mod block;
mod coins;
mod cpu;
pub mod gf128;
pub mod gf256;
pub mod gf64;
pub mod hash;
pub mod kernels;
pub mod lanes;
mod mac;
mod mask;
mod pack;
mod pages;
mod prefetch;
mod prg;
mod random;
pub mod records;
pub mod reed_solomon;
mod sample;
mod secret;
pub mod sumcheck;

pub use arrange::{LaneRun, Rows, are_short, arrange_rows, copy_bits};
pub use bit_matrix::BitMatrix;
pub use block::{
    BLOCK_BITS, BLOCK_WORDS, Block, Block512, as_bytes, as_bytes_mut, as_quarters, as_quarters_mut, as_words,
    as_words_mut,
};
pub use coins::Coins;
pub use cpu::Simd;
pub use mac::PolyMac;
pub use mask::mask_of;
pub use pack::{pack_bits, transpose64, unpack_bits};
pub use pages::prefer_huge_pages;
pub use prefetch::prefetch;
pub use prg::{Position, Prg};
pub use random::{Entropy, random_bytes};
pub use sample::{Sampler, hidden_permutation};
pub use secret::{SecretBlocks, wipe};
