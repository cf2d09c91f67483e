//! Sums of products at the points of the grid `{0, 1, ∞}^n`, of packed bits.

use std::ops::RangeInclusive;

use crate::{Block, Block512, SecretBlocks, Simd};

/// How many variables a column's polynomial may have.
pub const VARIABLES: RangeInclusive<u32> = 3..=8;

/// Points of the grid in so many variables.
const POWERS_OF_3: [usize; 9] = [1, 3, 9, 27, 81, 243, 729, 2187, 6561];

/// Points of the grid in `variables` variables of which a coordinate is ∞.
pub const fn at_infinity(variables: u32) -> usize {
    POWERS_OF_3[variables as usize] - (1 << variables)
}

/// Sums for each point of the grid of which a coordinate is ∞, in the points' order: 0 before 1 before ∞, the first variable slowest.
///
/// They are wiped on drop.
pub struct GridSums {
    variables: u32,
    /// Four sums for each point, which together are its own.
    sums: SecretBlocks,
    /// Sums of rows.
    scratch: SecretBlocks,
}

impl GridSums {
    /// Zeros.
    ///
    /// # Panics
    /// If so many variables are not in [`VARIABLES`].
    pub fn new(variables: u32) -> Self {
        assert!(VARIABLES.contains(&variables), "{variables} variables");
        Self {
            variables,
            sums: SecretBlocks::zeroed(at_infinity(variables)),
            scratch: SecretBlocks::zeroed(4 << variables),
        }
    }

    /// Rows of a tile.
    pub fn rows(&self) -> usize {
        1 << self.variables
    }

    /// The sum of each point. All are of degree 126 at most.
    pub fn totals(&self) -> impl Iterator<Item = Block> {
        self.sums.iter().map(total)
    }
}

fn total(sums: &Block512) -> Block {
    let lanes: [Block; 4] = bytemuck::cast(*sums);
    lanes.into_iter().fold(Block::ZERO, |total, lane| total ^ lane)
}

/// Sums for each row of a tile, which are those of the grid's other points. They are wiped on drop.
pub struct RowSums(SecretBlocks);

impl RowSums {
    /// Zeros.
    ///
    /// # Panics
    /// As [`GridSums::new`].
    pub fn new(variables: u32) -> Self {
        assert!(VARIABLES.contains(&variables), "{variables} variables");
        Self(SecretBlocks::zeroed(1 << variables))
    }

    /// The sum of each row. All are of degree 126 at most.
    pub fn totals(&self) -> impl Iterator<Item = Block> {
        self.0.iter().map(total)
    }
}

/// Adds, for each row of a tile, the sum over all its columns of `weight · (x·y ⊕ z)`, or of `weight · z` without `x` and `y`. `weights` has a
/// block for each tile.
///
/// # Panics
/// If the operands are not as many tiles as there are weights.
pub fn add_rows(
    products: Option<[&[Block512]; 2]>,
    z: &[Block512],
    weights: &[Block512],
    sums: &mut RowSums,
) {
    add_rows_on(Simd::detect(), products, z, weights, sums);
}

/// [`add_rows`] on a given level.
pub(super) fn add_rows_on(
    level: Simd,
    products: Option<[&[Block512]; 2]>,
    z: &[Block512],
    weights: &[Block512],
    sums: &mut RowSums,
) {
    let rows = sums.0.len();
    for operand in products.into_iter().flatten().chain([z]) {
        assert_eq!(operand.len(), rows * weights.len(), "rows of all tiles");
    }
    for (tile, weights) in weights.iter().enumerate() {
        let tile = tile * rows..(tile + 1) * rows;
        let products = products.map(|[x, y]| [&x[tile.clone()], &y[tile.clone()]]);
        let (z, sums) = (&z[tile], &mut sums.0[..]);
        match level.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX-512 F and VPCLMULQDQ.
            Simd::Avx512 => unsafe { super::x86::add_rows_512(products, z, weights, sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX2 and PCLMULQDQ.
            Simd::Avx2 => unsafe { super::x86::add_rows_256(products, z, weights, sums) },
            // SAFETY: words are all that is needed.
            _ => unsafe { each_row(products, z, *weights, sums) },
        }
    }
}

/// [`add_rows`] for a tile.
///
/// # Safety
/// The CPU must have the instructions of `R`.
#[inline(always)]
pub(super) unsafe fn each_row<R: Row>(products: Option<[&[R]; 2]>, z: &[R], weights: R, sums: &mut [R]) {
    for (row, sum) in sums.iter_mut().enumerate() {
        // SAFETY: as promised.
        unsafe {
            let value = match products {
                Some([x, y]) => x[row].and(y[row]).xor(z[row]),
                None => z[row],
            };
            *sum = sum.add_weighted(value, weights);
        }
    }
}

/// Adds, for each point `s` of which a coordinate is ∞, the sum over all columns of `weight · (a_s·c_s ⊕ b_s·d_s)`. `operands` are `a`,
/// `b`, `c` and `d`, tile after tile, and `weights` has a block for each tile: its κ_0 … κ_7.
///
/// # Panics
/// If the operands are not as many tiles as there are weights.
pub fn add_grid(operands: [&[Block512]; 4], weights: &[Block512], sums: &mut GridSums) {
    add_grid_on(Simd::detect(), operands, weights, sums);
}

/// [`add_grid`] on a given level.
pub(super) fn add_grid_on(
    level: Simd,
    operands: [&[Block512]; 4],
    weights: &[Block512],
    sums: &mut GridSums,
) {
    let rows = sums.rows();
    for operand in operands {
        assert_eq!(operand.len(), rows * weights.len(), "rows of all tiles");
    }
    let (all, scratch) = (&mut sums.sums[..], &mut sums.scratch[..]);
    for (tile, weights) in weights.iter().enumerate() {
        let rows = operands.map(|operand| &operand[tile * rows..][..rows]);
        match level.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX-512 F and VPCLMULQDQ.
            Simd::Avx512 => unsafe { super::x86::add_tile_512(rows, weights, all, scratch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX2 and PCLMULQDQ.
            Simd::Avx2 => unsafe { super::x86::add_tile_256(rows, weights, all, scratch) },
            _ => portable(Node {
                rows,
                weights: *weights,
                is_at_infinity: false,
                sums: all,
                scratch,
            }),
        }
    }
}

/// A row's 512 bits in registers.
pub(super) trait Row: Copy {
    /// # Safety
    /// The CPU must have the registers' instructions.
    unsafe fn xor(self, other: Self) -> Self;

    /// # Safety
    /// As [`Row::xor`].
    unsafe fn and(self, other: Self) -> Self;

    /// `self`, and in each 128 bits the carry-less products of the two words there of `values` and of `weights`.
    ///
    /// # Safety
    /// As [`Row::xor`].
    unsafe fn add_weighted(self, values: Self, weights: Self) -> Self;
}

/// Some first coordinates of a point: the sums of rows at them, as values of the remaining variables, and the sums of all points that begin
/// so.
pub(super) struct Node<'a, R> {
    pub(super) rows: [&'a [R]; 4],
    pub(super) weights: R,
    pub(super) is_at_infinity: bool,
    pub(super) sums: &'a mut [R],
    pub(super) scratch: &'a mut [R],
}

/// Adds to the sums of a node: by `visit`, which calls this, for each value of the next coordinate, until three are left.
///
/// # Safety
/// The CPU must have the instructions of `R`.
#[inline(always)]
pub(super) unsafe fn visit<R: Row>(node: Node<'_, R>, visit: impl Fn(Node<'_, R>)) {
    let Node {
        rows,
        weights,
        is_at_infinity,
        sums,
        scratch,
    } = node;
    let half = rows[0].len() / 2;
    if half == 4 {
        // SAFETY: as promised.
        return unsafe { last_three(rows, weights, is_at_infinity, sums) };
    }
    let all = POWERS_OF_3[half.trailing_zeros() as usize];
    let each = if is_at_infinity { all } else { all - half };
    let (at_zero, sums) = sums.split_at_mut(each);
    let (at_one, at_infinity) = sums.split_at_mut(each);
    let (own, scratch) = scratch.split_at_mut(4 * half);
    let [a, b, c, d] = rows;
    for (operand, rows) in rows.into_iter().enumerate() {
        let own = &mut own[operand * half..][..half];
        let (zero, one) = (&rows[..half], &rows[half..][..half]);
        for i in 0..half {
            // SAFETY: as promised.
            own[i] = unsafe { zero[i].xor(one[i]) };
        }
    }
    visit(Node {
        rows: [&a[..half], &b[..half], &c[..half], &d[..half]],
        weights,
        is_at_infinity,
        sums: at_zero,
        scratch,
    });
    visit(Node {
        rows: [&a[half..], &b[half..], &c[half..], &d[half..]],
        weights,
        is_at_infinity,
        sums: at_one,
        scratch,
    });
    visit(Node {
        rows: [
            &own[..half],
            &own[half..2 * half],
            &own[2 * half..3 * half],
            &own[3 * half..],
        ],
        weights,
        is_at_infinity: true,
        sums: at_infinity,
        scratch,
    });
}

/// The last three coordinates.
///
/// # Safety
/// As [`visit`].
#[inline(always)]
unsafe fn last_three<R: Row>(rows: [&[R]; 4], weights: R, is_at_infinity: bool, sums: &mut [R]) {
    let each = if is_at_infinity { 9 } else { 5 };
    let (at_zero, sums) = sums.split_at_mut(each);
    let (at_one, at_infinity) = sums.split_at_mut(each);
    let zero = [
        first_four(rows[0]),
        first_four(rows[1]),
        first_four(rows[2]),
        first_four(rows[3]),
    ];
    let one = [
        first_four(&rows[0][4..]),
        first_four(&rows[1][4..]),
        first_four(&rows[2][4..]),
        first_four(&rows[3][4..]),
    ];
    // SAFETY: as promised.
    unsafe {
        let mut all: [[R; 4]; 4] = [*zero[0], *zero[1], *zero[2], *zero[3]];
        for (own, one) in all.iter_mut().zip(one) {
            for (own, one) in own.iter_mut().zip(one) {
                *own = own.xor(*one);
            }
        }
        last_two(zero, weights, is_at_infinity, at_zero);
        last_two(one, weights, is_at_infinity, at_one);
        last_two([&all[0], &all[1], &all[2], &all[3]], weights, true, at_infinity);
    }
}

#[inline(always)]
fn first_four<R>(rows: &[R]) -> &[R; 4] {
    rows.first_chunk().expect("four rows")
}

/// The last two coordinates, for which rows stay in registers.
///
/// # Safety
/// As [`visit`].
#[inline(always)]
unsafe fn last_two<R: Row>(rows: [&[R; 4]; 4], weights: R, is_at_infinity: bool, sums: &mut [R]) {
    // SAFETY: as promised.
    unsafe {
        let (zero, one) = (Row4::sum(rows, 0, 1), Row4::sum(rows, 2, 3));
        if is_at_infinity {
            let sums: &mut [R; 9] = sums.try_into().expect("nine points");
            Row4::of(rows, 0).add(weights, &mut sums[0]);
            Row4::of(rows, 1).add(weights, &mut sums[1]);
            zero.add(weights, &mut sums[2]);
            Row4::of(rows, 2).add(weights, &mut sums[3]);
            Row4::of(rows, 3).add(weights, &mut sums[4]);
            one.add(weights, &mut sums[5]);
            Row4::sum(rows, 0, 2).add(weights, &mut sums[6]);
            Row4::sum(rows, 1, 3).add(weights, &mut sums[7]);
            zero.xor(one).add(weights, &mut sums[8]);
        } else {
            let sums: &mut [R; 5] = sums.try_into().expect("five points");
            zero.add(weights, &mut sums[0]);
            one.add(weights, &mut sums[1]);
            Row4::sum(rows, 0, 2).add(weights, &mut sums[2]);
            Row4::sum(rows, 1, 3).add(weights, &mut sums[3]);
            zero.xor(one).add(weights, &mut sums[4]);
        }
    }
}

/// A row of each operand. Its functions have no closures, which would not be compiled for the registers.
#[derive(Clone, Copy)]
struct Row4<R>(R, R, R, R);

impl<R: Row> Row4<R> {
    #[inline(always)]
    fn of([a, b, c, d]: [&[R; 4]; 4], i: usize) -> Self {
        Self(a[i], b[i], c[i], d[i])
    }

    /// # Safety
    /// As [`visit`].
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as promised.
        unsafe {
            Self(
                self.0.xor(other.0),
                self.1.xor(other.1),
                self.2.xor(other.2),
                self.3.xor(other.3),
            )
        }
    }

    /// # Safety
    /// As [`visit`].
    #[inline(always)]
    unsafe fn sum(rows: [&[R; 4]; 4], i: usize, j: usize) -> Self {
        // SAFETY: as promised.
        unsafe { Self::of(rows, i).xor(Self::of(rows, j)) }
    }

    /// Adds the weighted products to `sum`.
    ///
    /// # Safety
    /// As [`visit`].
    #[inline(always)]
    unsafe fn add(self, weights: R, sum: &mut R) {
        // SAFETY: as promised.
        unsafe { *sum = sum.add_weighted(self.0.and(self.2).xor(self.1.and(self.3)), weights) }
    }
}

fn portable(node: Node<'_, Block512>) {
    // SAFETY: words are all that is needed.
    unsafe { visit(node, portable) }
}

impl Row for Block512 {
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self & other
    }

    #[inline(always)]
    unsafe fn add_weighted(self, values: Self, weights: Self) -> Self {
        let mut sum: [Block; 4] = bytemuck::cast(self);
        for (word, (value, weight)) in values.0.iter().zip(weights.0).enumerate() {
            let product = crate::mac::field::carryless(u64::from_le(*value), u64::from_le(weight));
            sum[word / 2] ^= Block([product as u64, (product >> 64) as u64].map(u64::to_le));
        }
        bytemuck::cast(sum)
    }
}
