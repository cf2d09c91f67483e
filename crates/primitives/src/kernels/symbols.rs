//! Linear maps over GF(2^8) applied to rows of symbols: encoders of Reed–Solomon codes.
//!
//! A row is 64 symbols, one of each of 64 vectors, and a [`Block512`].

use std::fmt;

use zeroize::Zeroizing;

use super::groups::{Coefficients, GROUP, Products};
use crate::cpu::multiversion;
use crate::gf256::{self, TAIL};
use crate::{BLOCK_WORDS, Block, Block512, Simd};

/// A linear map over GF(2^8), from `inputs` rows of symbols to `outputs` rows. It is wiped on drop.
///
/// Neither the map nor the rows decide about branches or addresses: both may be secret.
pub struct SymbolMap {
    inputs: usize,
    outputs: usize,
    /// For each group of outputs, for each input. Outputs that fill up the last group have zeros.
    coefficients: Zeroizing<Vec<Coefficients>>,
    /// As the coefficients.
    products: Zeroizing<Vec<Products>>,
}

impl SymbolMap {
    /// The map with this matrix, in which the `inputs` coefficients of each output follow one another.
    ///
    /// # Panics
    /// If there is no input, or the matrix is not whole rows.
    pub fn new(inputs: usize, matrix: &[u8]) -> Self {
        assert!(
            inputs > 0 && matrix.len().is_multiple_of(inputs),
            "{} coefficients of {inputs} inputs",
            matrix.len()
        );
        let outputs = matrix.len() / inputs;
        let groups = outputs.div_ceil(GROUP);
        let mut coefficients = Zeroizing::new(vec![[0; GROUP]; groups * inputs]);
        let mut products = Zeroizing::new(vec![[[[0; 16]; 2]; GROUP]; groups * inputs]);
        for (output, row) in matrix.chunks_exact(inputs).enumerate() {
            for (input, &coefficient) in row.iter().enumerate() {
                let (place, lane) = (output / GROUP * inputs + input, output % GROUP);
                coefficients[place][lane] = u32::from_ne_bytes([coefficient; 4]);
                products[place][lane] =
                    [0, 4].map(|shift| std::array::from_fn(|i| gf256::mul(coefficient, (i as u8) << shift)));
            }
        }
        Self {
            inputs,
            outputs,
            coefficients,
            products,
        }
    }

    /// Rows that go in.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Rows that come out.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds the image of `inputs` to `outputs`.
    ///
    /// # Panics
    /// If either has another number of rows.
    #[inline]
    pub fn add(&self, inputs: &[Block512], outputs: &mut [Block512]) {
        self.add_on(Simd::detect(), inputs, outputs);
    }

    /// [`Self::add`] on a given level (for tests and measurements); all compute the same bytes.
    ///
    /// # Panics
    /// As [`Self::add`], and if this CPU lacks the level.
    pub fn add_on(&self, level: Simd, inputs: &[Block512], outputs: &mut [Block512]) {
        assert_eq!(inputs.len(), self.inputs, "rows of the input");
        assert_eq!(outputs.len(), self.outputs, "rows of the output");
        let groups = outputs.chunks_mut(GROUP).enumerate();
        for (group, outputs) in groups {
            let range = group * self.inputs..(group + 1) * self.inputs;
            let mut sums = [Block512::ZERO; GROUP];
            sums[..outputs.len()].copy_from_slice(outputs);
            match level.assert_supported() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level is supported, so the CPU has AVX-512 F and BW and GFNI.
                Simd::Avx512 => unsafe {
                    super::gfni::add_products(inputs, &self.coefficients[range], &mut sums)
                },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level is supported, so the CPU has AVX2.
                Simd::Avx2 => unsafe { super::avx2::add_products(inputs, &self.products[range], &mut sums) },
                _ => add_products(inputs, &self.coefficients[range], &mut sums),
            }
            outputs.copy_from_slice(&sums[..outputs.len()]);
        }
    }
}

impl fmt::Debug for SymbolMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SymbolMap({} -> {})", self.inputs, self.outputs)
    }
}

/// Adds all inputs, times their coefficients, to a group's sums.
fn add_products(inputs: &[Block512], coefficients: &[Coefficients], sums: &mut [Block512; GROUP]) {
    for (&input, coefficients) in inputs.iter().zip(coefficients) {
        // Input times x^bit.
        let mut multiple = input;
        for bit in 0..8 {
            for (sum, coefficient) in sums.iter_mut().zip(coefficients) {
                let mask = u64::from(coefficient >> bit & 1).wrapping_neg();
                *sum ^= multiple & Block512([mask; BLOCK_WORDS]);
            }
            multiple = Block512(multiple.0.map(times_x));
        }
    }
}

/// Each of eight symbols times x.
#[inline(always)]
fn times_x(symbols: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let carries = symbols >> 7 & ONES;
    // The product of a carry and the tail stays within its byte.
    let tails = carries * u64::from(TAIL);
    (symbols << 1) & (ONES * 0xfe) ^ tails
}

/// Turns 64 vectors of bytes, which follow one another, into rows: byte `i` of vector `l` becomes byte `l` of `rows[i]`. Vectors
/// are whole blocks.
///
/// # Panics
/// If the rows are not a multiple of 16, or the vectors are not 64 of one byte for each row.
#[inline]
pub fn vectors_to_rows(vectors: &[Block], rows: &mut [Block512]) {
    vectors_to_rows_on(Simd::detect(), vectors, rows);
}

/// The inverse of [`vectors_to_rows`].
///
/// # Panics
/// As there.
#[inline]
pub fn rows_to_vectors(rows: &[Block512], vectors: &mut [Block]) {
    rows_to_vectors_on(Simd::detect(), rows, vectors);
}

/// Vectors of a row.
const VECTORS: usize = 64;
/// Bytes of a block, and vectors transposed together.
const TILE: usize = 16;

type Bytes = [u8; TILE];

fn check_shapes(rows: usize, blocks: usize) {
    assert!(rows.is_multiple_of(TILE), "{rows} rows are no whole blocks");
    assert_eq!(blocks, VECTORS * rows / TILE, "64 vectors of {rows} bytes");
}

/// [`vectors_to_rows`] on a given level.
pub(super) fn vectors_to_rows_on(level: Simd, vectors: &[Block], rows: &mut [Block512]) {
    check_shapes(rows.len(), vectors.len());
    match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW.
        Simd::Avx512 => unsafe { super::gfni::vectors_to_rows(vectors, rows) },
        _ => spread::on(level, vectors, rows),
    }
}

/// [`rows_to_vectors`] on a given level.
pub(super) fn rows_to_vectors_on(level: Simd, rows: &[Block512], vectors: &mut [Block]) {
    check_shapes(rows.len(), vectors.len());
    match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW.
        Simd::Avx512 => unsafe { super::gfni::rows_to_vectors(rows, vectors) },
        _ => join::on(level, rows, vectors),
    }
}

multiversion! {
    #[allow(dead_code, reason = "called for a given level only")]
    fn spread(vectors: &[Block], rows: &mut [Block512]) {
        let blocks = rows.len() / TILE;
        let vectors: &[Bytes] = bytemuck::cast_slice(vectors);
        for (block, rows) in rows.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
            for part in 0..VECTORS / TILE {
                let mut tile = [[0; TILE]; TILE];
                for i in 0..TILE {
                    tile[i] = vectors[(TILE * part + i) * blocks + block];
                }
                let tile = transposed(tile);
                for i in 0..TILE {
                    let row: &mut [Bytes; VECTORS / TILE] = bytemuck::cast_mut(&mut rows[i]);
                    row[part] = tile[i];
                }
            }
        }
    }

    #[allow(dead_code, reason = "called for a given level only")]
    fn join(rows: &[Block512], vectors: &mut [Block]) {
        let blocks = rows.len() / TILE;
        let vectors: &mut [Bytes] = bytemuck::cast_slice_mut(vectors);
        for (block, rows) in rows.as_chunks::<TILE>().0.iter().enumerate() {
            for part in 0..VECTORS / TILE {
                let mut tile = [[0; TILE]; TILE];
                for i in 0..TILE {
                    let row: &[Bytes; VECTORS / TILE] = bytemuck::cast_ref(&rows[i]);
                    tile[i] = row[part];
                }
                let tile = transposed(tile);
                for i in 0..TILE {
                    vectors[(TILE * part + i) * blocks + block] = tile[i];
                }
            }
        }
    }
}

/// The transpose of a 16 × 16 matrix of bytes.
///
/// Written as eight bits, row and column number of a byte, one after the other, are rotated by one in each step; four steps exchange
/// them.
#[inline(always)]
fn transposed(mut rows: [Bytes; TILE]) -> [Bytes; TILE] {
    for _ in 0..4 {
        let mut next = [[0; TILE]; TILE];
        for i in 0..TILE / 2 {
            let (a, b) = (rows[i], rows[i + TILE / 2]);
            for j in 0..TILE / 2 {
                next[2 * i][2 * j] = a[j];
                next[2 * i][2 * j + 1] = b[j];
                next[2 * i + 1][2 * j] = a[j + TILE / 2];
                next[2 * i + 1][2 * j + 1] = b[j + TILE / 2];
            }
        }
        rows = next;
    }
    rows
}
