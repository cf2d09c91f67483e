//! Kernels of the sumcheck protocol over GF(2^128) for products of bits (small values, as in Gruen 2024 and Binius64).
//!
//! The statement is a sum over many gates of `weight · (a·c ⊕ b·d)`, in which `a`, `b`, `c` and `d` are bits. Gates come in
//! *tiles* of `K = 2^n` rows of 512 columns, a [`Block512`](crate::Block512) for each row. All rows of a tile have the same weights: that of column
//! `64 q + b` is `X^b · κ_q`, for 64-bit words `κ_0 … κ_7` of the tile.
//!
//! 1. [`add_grid`] takes the rows of a column as the values of a multilinear polynomial in `n` variables, and sums the weighted products at
//!    the points of `{0, 1, ∞}^n` (at ∞ is the sum of the values at 0 and 1, the highest coefficient).
//!    [`add_rows`] gives the sums at the other points, which somebody else may have to find otherwise.
//! 2. [`Fold`] replaces the bits of each column by the value of its polynomial at a point, an element of the field, and [`weigh`] multiplies
//!    such elements with their columns' weights.
//! 3. [`add_quarter_grid`] and [`fold_quarters`] do the same with vectors of elements, four quarters at a time.
//!
//! Neither branches nor addresses depend on bits or elements.

mod elements;
mod fold;
mod grid;
mod tail;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use fold::{Fold, QUARTER, TileMut, column_of, fold_weights};
pub use grid::{GridSums, RowSums, VARIABLES, add_grid, add_rows, at_infinity};
pub use tail::{QUARTER_POINTS, add_quarter_grid, fold_quarters, quarters, weigh};
