//! Building blocks of every protocol: 128-bit and 512-bit blocks, clear bit matrices, a counter-mode PRG, a
//! polynomial MAC, unbiased sampling and the bit-vector kernels.
//!
//! This is the only crate with `unsafe` code: the SIMD kernels. Each has a safe wrapper, a portable twin and a
//! test that both agree; the CPU's features are detected at run time.

mod bit_matrix;
mod block;

pub use bit_matrix::BitMatrix;
pub use block::{BLOCK_BITS, BLOCK_WORDS, Block, Block512, as_bytes, as_bytes_mut, as_words, as_words_mut};
