//! Transposition between rows of bits, as generators make them and codes are applied to them, and columns of whole
//! words, as protocols address them.
//!
//! A tile is 64 rows of 512 columns: eight 64 × 64 bit matrices side by side, which are transposed all at once, one in
//! each 64-bit lane of the CPU's registers.

use crate::cpu::multiversion;
use crate::{BLOCK_BITS, Block512, Simd};

/// Turns rows into columns: bit `r % 64` of word `r / 64` of `columns[c]` becomes bit `c` of `rows[r]`, for up to
/// `64 W` rows, `W` being at most 8. Rows that are not given are zero.
///
/// # Panics
/// If there are more than `64 W` rows, or the columns are not 512.
pub fn rows_to_columns<const W: usize>(rows: &[Block512], columns: &mut [[u64; W]]) {
    rows_to_columns_on(Simd::detect(), rows, 1, columns);
}

/// The same for rows `0, stride, 2 stride, …` of `rows`.
///
/// # Panics
/// As [`rows_to_columns`], and if the stride is 0.
pub fn strided_rows_to_columns<const W: usize>(rows: &[Block512], stride: usize, columns: &mut [[u64; W]]) {
    rows_to_columns_on(Simd::detect(), rows, stride, columns);
}

/// The inverse of [`rows_to_columns`]. Of up to 512 columns those that are not given are zero.
///
/// # Panics
/// If there are more than `64 W` rows or more than 512 columns.
pub fn columns_to_rows<const W: usize>(columns: &[[u64; W]], rows: &mut [Block512]) {
    columns_to_rows_on(Simd::detect(), columns, rows);
}

/// [`strided_rows_to_columns`] on a given level.
pub(super) fn rows_to_columns_on<const W: usize>(
    level: Simd,
    rows: &[Block512],
    stride: usize,
    columns: &mut [[u64; W]],
) {
    let count = rows.len().div_ceil(stride);
    assert!(count <= 64 * W, "{count} rows in {W} words");
    let columns = columns.try_into().expect("a column for every bit of a row");
    match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW.
        Simd::Avx512 => unsafe { super::avx512::rows_to_columns(rows, stride, columns) },
        _ => scatter::on(level, rows, stride, columns),
    }
}

/// [`columns_to_rows`] on a given level.
pub(super) fn columns_to_rows_on<const W: usize>(level: Simd, columns: &[[u64; W]], rows: &mut [Block512]) {
    assert!(rows.len() <= 64 * W, "{} rows in {W} words", rows.len());
    assert!(
        columns.len() <= BLOCK_BITS,
        "{} columns in a block",
        columns.len()
    );
    let Ok(columns) = <&[[u64; W]; BLOCK_BITS]>::try_from(columns) else {
        let mut padded = [[0; W]; BLOCK_BITS];
        padded[..columns.len()].copy_from_slice(columns);
        return columns_to_rows_on(level, &padded, rows);
    };
    match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW.
        Simd::Avx512 => unsafe { super::avx512::columns_to_rows(columns, rows) },
        _ => gather::on(level, columns, rows),
    }
}

multiversion! {
    #[allow(dead_code, reason = "called for a given level only")]
    fn scatter<const W: usize>(rows: &[Block512], stride: usize, columns: &mut [[u64; W]; BLOCK_BITS]) {
        for word in 0..W {
            let rows = &rows[rows.len().min(64 * word * stride)..];
            let mut tile = [Block512::ZERO; 64];
            for (slot, &row) in tile.iter_mut().zip(rows.iter().step_by(stride)) {
                *slot = row;
            }
            transpose_tile(&mut tile);
            for (lane, columns) in columns.as_chunks_mut::<64>().0.iter_mut().enumerate() {
                for (column, row) in columns.iter_mut().zip(&tile) {
                    column[word] = row.0[lane];
                }
            }
        }
    }

    #[allow(dead_code, reason = "called for a given level only")]
    fn gather<const W: usize>(columns: &[[u64; W]; BLOCK_BITS], rows: &mut [Block512]) {
        for (word, rows) in (0..W).zip(rows.chunks_mut(64)) {
            let mut tile = [Block512::ZERO; 64];
            for (lane, columns) in columns.as_chunks::<64>().0.iter().enumerate() {
                for (row, column) in tile.iter_mut().zip(columns) {
                    row.0[lane] = column[word];
                }
            }
            transpose_tile(&mut tile);
            rows.copy_from_slice(&tile[..rows.len()]);
        }
    }
}

/// Transposes the eight matrices of a tile: bit `j` of word `l` of block `i` changes places with bit `i` of word `l` of
/// block `j`.
#[inline(always)]
fn transpose_tile(tile: &mut [Block512; 64]) {
    // Swaps the off-diagonal quarters of the matrices, then of their quarters, and so on (Hacker's Delight, 7-3), in two
    // passes of three steps, between which eight rows stay in registers.
    for first in 0..8 {
        let mut rows: [Block512; 8] = std::array::from_fn(|i| tile[8 * i + first]);
        swap_three::<32>(&mut rows);
        for i in 0..8 {
            tile[8 * i + first] = rows[i];
        }
    }
    for rows in tile.as_chunks_mut::<8>().0 {
        swap_three::<4>(rows);
    }
}

/// The steps of widths `WIDTH`, `WIDTH / 2` and `WIDTH / 4`.
#[inline(always)]
pub(crate) fn swap_three<const WIDTH: u32>(rows: &mut [Block512; 8]) {
    for (step, distance) in [4, 2, 1].into_iter().enumerate() {
        let width = WIDTH >> step;
        // Ones in the lower half of every 2·width bits.
        let mask = u64::MAX / ((1 << width) + 1);
        for i in (0..8).filter(|i| i & distance == 0) {
            for lane in 0..8 {
                let (a, b) = (rows[i].0[lane], rows[i + distance].0[lane]);
                let swap = (a >> width ^ b) & mask;
                rows[i].0[lane] = a ^ swap << width;
                rows[i + distance].0[lane] = b ^ swap;
            }
        }
    }
}
