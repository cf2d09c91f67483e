//! Each kernel against its definition, on every level of this CPU.

use super::fold::Fold;
use super::grid::{GridSums, RowSums, add_grid_on, add_rows_on, at_infinity};
use super::tail::{add_quarter_grid_on, fold_quarters_on, weigh_on};
use super::*;
use crate::{BLOCK_BITS, Block, Block512, Entropy, Simd, as_bytes_mut, gf128};

fn random<T: bytemuck::Pod>(entropy: &mut Entropy, count: usize) -> Vec<T> {
    let mut out = vec![T::zeroed(); count];
    entropy.fill(as_bytes_mut(&mut out));
    out
}

fn bit(row: &Block512, column: usize) -> bool {
    u64::from_le(row.0[column / 64]) >> (column % 64) & 1 == 1
}

/// The quarters of a tile's elements.
fn tile(elements: &mut [Block]) -> TileMut<'_> {
    let (quarters, _) = elements.as_chunks_mut::<QUARTER>();
    let quarters: &mut [[Block; QUARTER]; 4] = quarters.try_into().unwrap();
    quarters.each_mut()
}

/// The weight of a column, and the product of all its factors.
fn weight(weights: &Block512, column: usize) -> Block {
    let weight = u128::from(u64::from_le(weights.0[column / 64])) << (column % 64);
    Block([weight as u64, (weight >> 64) as u64].map(u64::to_le))
}

/// All points of the grid, the first coordinate slowest; 2 is ∞.
fn points(variables: u32) -> Vec<Vec<u8>> {
    (0..3usize.pow(variables))
        .map(|number| {
            let digit = |at: u32| (number / 3usize.pow(variables - 1 - at) % 3) as u8;
            (0..variables).map(digit).collect()
        })
        .collect()
}

/// Whether the row of this number is in the sum at a point.
fn counts(row: usize, point: &[u8]) -> bool {
    let coordinate = |at: usize| (row >> (point.len() - 1 - at) & 1) as u8;
    (0..point.len()).all(|at| point[at] == 2 || point[at] == coordinate(at))
}

#[test]
fn the_grid_has_the_weighted_products() {
    let mut entropy = Entropy::for_tests(1);
    for (variables, tiles) in [(3, 2), (4, 1), (5, 1), (6, 2), (7, 1)] {
        let rows = 1usize << variables;
        let operands: [Vec<Block512>; 4] = std::array::from_fn(|_| random(&mut entropy, rows * tiles));
        let weights: Vec<Block512> = random(&mut entropy, tiles);
        let mut expected = Vec::new();
        for point in points(variables).iter().filter(|point| point.contains(&2)) {
            let mut sum = Block::ZERO;
            for (tile, weights) in weights.iter().enumerate() {
                let at = operands.each_ref().map(|operand| {
                    let chosen = (0..rows).filter(|&row| counts(row, point));
                    chosen.fold(Block512::ZERO, |sum, row| sum ^ operand[tile * rows + row])
                });
                let products = (at[0] & at[2]) ^ (at[1] & at[3]);
                for column in (0..BLOCK_BITS).filter(|&column| bit(&products, column)) {
                    sum ^= weight(weights, column);
                }
            }
            expected.push(sum);
        }
        assert_eq!(expected.len(), at_infinity(variables));
        for &level in Simd::supported() {
            let mut sums = GridSums::new(variables);
            let slices = operands.each_ref().map(Vec::as_slice);
            add_grid_on(level, slices, &weights, &mut sums);
            assert!(sums.totals().eq(expected.iter().copied()), "{level}");
            // Twice is nothing.
            add_grid_on(level, slices, &weights, &mut sums);
            assert!(sums.totals().all(|sum| sum == Block::ZERO), "{level}");
        }
    }
}

#[test]
fn rows_have_their_weighted_values() {
    let mut entropy = Entropy::for_tests(5);
    for variables in [3, 5] {
        let (rows, tiles) = (1 << variables, 2);
        let [x, y, z]: [Vec<Block512>; 3] = std::array::from_fn(|_| random(&mut entropy, rows * tiles));
        let weights: Vec<Block512> = random(&mut entropy, tiles);
        for products in [None, Some([&x[..], &y[..]])] {
            let expected: Vec<Block> = (0..rows)
                .map(|row| {
                    let mut sum = Block::ZERO;
                    for (tile, weights) in weights.iter().enumerate() {
                        let at = tile * rows + row;
                        let value = products.map_or(z[at], |[x, y]| (x[at] & y[at]) ^ z[at]);
                        for column in (0..BLOCK_BITS).filter(|&column| bit(&value, column)) {
                            sum ^= weight(weights, column);
                        }
                    }
                    sum
                })
                .collect();
            for &level in Simd::supported() {
                let mut sums = RowSums::new(variables);
                add_rows_on(level, products, &z, &weights, &mut sums);
                assert!(sums.totals().eq(expected.iter().copied()), "{level}");
            }
        }
    }
}

#[test]
fn every_place_is_of_one_column() {
    let mut seen = [false; BLOCK_BITS];
    (0..BLOCK_BITS).for_each(|place| seen[column_of(place)] = true);
    assert_eq!(seen, [true; BLOCK_BITS]);
}

#[test]
fn columns_fold_to_sums_of_weights() {
    let mut entropy = Entropy::for_tests(2);
    for variables in VARIABLES {
        let (rows, tiles) = (1 << variables, 2);
        let bits: Vec<Block512> = random(&mut entropy, rows * tiles);
        let weights: Vec<Block> = random(&mut entropy, rows);
        let columns: Vec<Block512> = random(&mut entropy, tiles);
        let fold = Fold::new(weights.clone());
        for &level in Simd::supported() {
            let mut elements = vec![Block::ZERO; BLOCK_BITS * tiles];
            for (bits, elements) in bits.chunks_exact(rows).zip(elements.chunks_exact_mut(BLOCK_BITS)) {
                fold.apply_on(level, bits, tile(elements));
            }
            let mut weighted = elements.clone();
            for (weights, elements) in columns.iter().zip(weighted.chunks_exact_mut(BLOCK_BITS)) {
                weigh_on(level, tile(elements), weights);
            }
            for (tile, bits) in bits.chunks_exact(rows).enumerate() {
                for place in 0..BLOCK_BITS {
                    let column = column_of(place);
                    let ones = (0..rows).filter(|&row| bit(&bits[row], column));
                    let expected = ones.fold(Block::ZERO, |sum, row| sum ^ weights[row]);
                    let at = BLOCK_BITS * tile + place;
                    assert!(elements[at] == expected, "{level}, {rows} rows, column {column}");
                    let expected = gf128::mul(expected, weight(&columns[tile], column));
                    assert!(weighted[at] == expected, "{level}, weight of column {column}");
                }
            }
        }
    }
}

/// The value at a point is what the grid's values give there.
#[test]
fn a_fold_gives_the_value_of_the_polynomial() {
    let mut entropy = Entropy::for_tests(3);
    let point: Vec<Block> = random(&mut entropy, 3);
    let weights = fold_weights(&point);
    let values: Vec<Block> = random(&mut entropy, 8);
    let value = gf128::inner_product(&weights, &values);
    // Coordinate by coordinate.
    let mut left = values;
    for &at in &point {
        let half = left.len() / 2;
        left = (0..half)
            .map(|i| left[i] ^ gf128::mul(at, left[i] ^ left[half + i]))
            .collect();
    }
    assert!(left == [value]);
}

#[test]
fn quarters_have_the_products_of_elements() {
    let mut entropy = Entropy::for_tests(4);
    for quarter in [1, 3, 4, 6, 16, 17] {
        let (u, v): (Vec<Block>, Vec<Block>) = (
            random(&mut entropy, 4 * quarter),
            random(&mut entropy, 4 * quarter),
        );
        let weights: [Block; 4] = random(&mut entropy, 4).try_into().unwrap();
        let mut expected = Vec::new();
        for point in points(2).iter().skip(1) {
            let at = |vector: &[Block]| -> Vec<Block> {
                let sum = |at: usize| {
                    let parts = (0..4).filter(|&part| counts(part, point));
                    parts.fold(Block::ZERO, |sum, part| sum ^ vector[part * quarter + at])
                };
                (0..quarter).map(sum).collect()
            };
            expected.push(gf128::inner_product(&at(&u), &at(&v)));
        }
        for &level in Simd::supported() {
            let mut sums = [Block([7, 8]); QUARTER_POINTS];
            add_quarter_grid_on(level, quarters(&u), quarters(&v), &mut sums);
            for (sum, expected) in sums.iter().zip(&expected) {
                assert!(
                    *sum == *expected ^ Block([7, 8]),
                    "{level}, quarters of {quarter}"
                );
            }
            let mut folded = u.clone();
            fold_quarters_on(level, &mut folded, &weights);
            for at in 0..quarter {
                let values = [0, 1, 2, 3].map(|part| u[part * quarter + at]);
                assert!(folded[at] == gf128::inner_product(&values, &weights), "{level}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "rows of all tiles")]
fn rows_that_are_no_tile_are_refused() {
    let rows = [Block512::ZERO; 9];
    add_grid([&rows; 4], &[Block512::ZERO], &mut GridSums::new(3));
}
