//! Columns of bits become elements of the field.

use crate::kernels::swap_three;
use crate::{BLOCK_BITS, Block, Block512, Simd, gf128};

use super::grid::VARIABLES;

/// Rows that are taken together: the bits of a byte.
pub(super) const GROUP: usize = 8;

/// Bytes of an element.
pub(super) const BYTES: usize = 16;

/// The map from the `K` bits of a column to an element, the sum of the weights of bits that are one.
///
/// The weights are public.
pub struct Fold {
    weights: Vec<Block>,
    /// For each group of rows and each byte of the element the 8 × 8 matrix from the group's bits to that byte's, as GF2P8AFFINEQB takes it.
    matrices: Vec<[u64; BYTES]>,
    /// The same as two tables of 16 bytes, by the lower and the upper half of the group's bits.
    tables: Vec<[[[u8; 16]; 2]; BYTES]>,
}

/// Elements of a quarter of a tile.
pub const QUARTER: usize = BLOCK_BITS / 4;

/// The elements of a tile, in four quarters.
pub type TileMut<'a> = [&'a mut [Block; QUARTER]; 4];

/// The column whose element has this place in a tile, as [`Fold::apply`] writes it: in quarter `element / QUARTER`.
pub fn column_of(element: usize) -> usize {
    let (bit, rest) = (element / 64, element % 64);
    128 * (rest % 4) + GROUP * (rest / 4) + bit
}

/// The weights by which [`Fold::new`] gives the value of each column's polynomial at a point: for each row the product of `t` or `1 + t` over the
/// coordinates `t` of the point, as the row's number, highest bit first, has ones or zeros.
pub fn fold_weights(point: &[Block]) -> Vec<Block> {
    let mut weights = vec![gf128::ONE];
    for &at in point {
        weights = weights
            .into_iter()
            .flat_map(|weight| {
                let at_one = gf128::mul(weight, at);
                [weight ^ at_one, at_one]
            })
            .collect();
    }
    weights
}

impl Fold {
    /// The map with a weight for each row of a tile.
    ///
    /// # Panics
    /// If the rows are not those of a grid in [`VARIABLES`] variables.
    pub fn new(weights: Vec<Block>) -> Self {
        let count = weights.len();
        assert!(
            count.is_power_of_two() && VARIABLES.contains(&count.trailing_zeros()),
            "{count} rows"
        );
        let groups = weights.as_chunks::<GROUP>().0;
        let bytes = groups.iter().map(|group| group.map(Block::to_bytes));
        // Of the group's bits `pattern`, the sum of weights.
        let sum = |group: &[[u8; BYTES]; GROUP], byte: usize, pattern: usize| {
            let chosen = group
                .iter()
                .enumerate()
                .filter(|(bit, _)| pattern >> bit & 1 == 1);
            chosen.fold(0, |sum, (_, weight)| sum ^ weight[byte])
        };
        let matrix = |group: &[[u8; BYTES]; GROUP], byte: usize| {
            // Row 7 - bit of the matrix says which bits of the group go into `bit`.
            (0..64)
                .filter(|at| group[at % 8][byte] >> (7 - at / 8) & 1 == 1)
                .fold(0, |matrix, at| matrix | 1 << at)
        };
        Self {
            matrices: bytes
                .clone()
                .map(|group| std::array::from_fn(|byte| matrix(&group, byte)))
                .collect(),
            tables: bytes
                .map(|group| {
                    std::array::from_fn(|byte| {
                        [0, 4].map(|shift| std::array::from_fn(|half| sum(&group, byte, half << shift)))
                    })
                })
                .collect(),
            weights,
        }
    }

    /// Writes the element of each column of a tile: at which place, [`column_of`] says.
    ///
    /// # Panics
    /// If there are not as many rows as weights.
    pub fn apply(&self, rows: &[Block512], elements: TileMut<'_>) {
        self.apply_on(Simd::detect(), rows, elements);
    }

    /// [`Fold::apply`] on a given level.
    pub(super) fn apply_on(&self, level: Simd, rows: &[Block512], elements: TileMut<'_>) {
        assert_eq!(rows.len(), self.weights.len(), "a weight for each row");
        match level.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX-512 F and BW and GFNI.
            Simd::Avx512 => unsafe { super::x86::fold_tile_512(rows, &self.matrices, elements) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX2.
            Simd::Avx2 => unsafe { super::x86::fold_tile_256(rows, &self.tables, elements) },
            _ => self.fold_tile(rows, elements),
        }
    }

    fn fold_tile(&self, rows: &[Block512], mut elements: TileMut<'_>) {
        elements.iter_mut().for_each(|quarter| quarter.fill(Block::ZERO));
        let groups = rows.as_chunks::<GROUP>().0;
        for (rows, weights) in groups.iter().zip(self.weights.as_chunks::<GROUP>().0) {
            let bytes = bytes_of_columns(rows);
            for place in 0..BLOCK_BITS {
                let column = column_of(place);
                let bits = bytes[column % GROUP][column / GROUP];
                let element = &mut elements[place / QUARTER][place % QUARTER];
                for (row, weight) in weights.iter().enumerate() {
                    let mask = u64::from(bits >> row & 1).wrapping_neg();
                    element.0[0] ^= weight.0[0] & mask;
                    element.0[1] ^= weight.0[1] & mask;
                }
            }
        }
    }
}

/// The bits of each column in eight rows: those of column `8 p + i` are byte `p` of block `i`, the first row's bit lowest.
#[inline(always)]
pub(super) fn bytes_of_columns(rows: &[Block512; GROUP]) -> [[u8; 64]; GROUP] {
    let mut rows = rows.map(|row| Block512(row.0.map(u64::from_le)));
    swap_three::<4>(&mut rows);
    rows.map(|row| bytemuck::cast(row.0.map(u64::to_le)))
}
