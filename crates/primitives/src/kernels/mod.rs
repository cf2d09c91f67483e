//! Bit-vector kernels: one body each, compiled for every level of [`crate::Simd`] and chosen at run time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod gfni;
mod groups;
mod linear;
mod replicated;
mod rows;
mod stock;
mod symbols;
mod taps;
#[cfg(test)]
mod tests;
mod transpose;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::transpose_bytes;
#[cfg(target_arch = "x86_64")]
pub(crate) use gfni::transposed as transposed_bytes;
pub use linear::{LINEAR_SCRATCH, LinearMap, add_image};
pub use replicated::{ProductCheck, check_product, mask, multiply_into, xor_into, xor_words_into};
pub use rows::{LocalOp, run_local_ops};
pub use stock::take_and_replace;
pub use symbols::{SymbolMap, rows_to_vectors, vectors_to_rows};
pub use taps::sum_taps;
pub(crate) use transpose::swap_three;
pub use transpose::{columns_to_rows, rows_to_columns, strided_rows_to_columns};
