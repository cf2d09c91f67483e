//! Elements of GF(2^128), as many as a register has.

use crate::mac::field::product;
use crate::{Block, gf128};

/// Elements side by side.
pub(super) trait Elements: Copy {
    /// How many.
    const WIDTH: usize;

    /// Sums of products before reduction.
    type Sum: Copy;

    /// The first elements of `from`.
    ///
    /// # Safety
    /// For this as for the others the CPU must have the register's instructions.
    unsafe fn load(from: &[Block]) -> Self;

    /// Writes them over the first of `to`.
    unsafe fn store(self, to: &mut [Block]);

    /// An element in each place.
    unsafe fn each(element: Block) -> Self;

    /// The sum of both, in each place.
    unsafe fn xor(self, other: Self) -> Self;

    /// Sums of nothing.
    unsafe fn zero() -> Self::Sum;

    /// Adds the product of `a` and `b`.
    unsafe fn add_product(sum: &mut Self::Sum, a: Self, b: Self);

    /// Sums, reduced.
    unsafe fn reduce(sum: Self::Sum) -> Self;

    /// The sum of the elements.
    unsafe fn total(self) -> Block;
}

impl Elements for Block {
    const WIDTH: usize = 1;
    type Sum = (u128, u128);

    #[inline(always)]
    unsafe fn load(from: &[Block]) -> Self {
        from[0]
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [Block]) {
        to[0] = self;
    }

    #[inline(always)]
    unsafe fn each(element: Block) -> Self {
        element
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        (0, 0)
    }

    #[inline(always)]
    unsafe fn add_product(sum: &mut Self::Sum, a: Self, b: Self) {
        let (low, high) = product(a, b);
        sum.0 ^= low;
        sum.1 ^= high;
    }

    #[inline(always)]
    unsafe fn reduce((low, high): Self::Sum) -> Self {
        gf128::reduce(low, high)
    }

    #[inline(always)]
    unsafe fn total(self) -> Block {
        self
    }
}
