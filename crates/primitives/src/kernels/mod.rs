//! Bit-vector kernels: one body each, compiled for every level of [`crate::Simd`] and chosen at run time.

mod replicated;
mod rows;
mod stock;
mod taps;
#[cfg(test)]
mod tests;

pub use replicated::{ProductCheck, check_product, mask, multiply_into, xor_into};
pub use rows::{LocalOp, run_local_ops};
pub use stock::take_and_replace;
pub use taps::sum_taps;
