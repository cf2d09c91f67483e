//! The kernels for AVX2 with PCLMULQDQ, and for AVX-512 with VPCLMULQDQ and GFNI.

use std::arch::x86_64::*;

use super::elements::Elements;
use super::fold::{BYTES, GROUP, QUARTER, TileMut, bytes_of_columns};
use super::grid::{Node, Row, each_row, visit};
use super::tail::column_weight;
use super::tail::{QUARTER_POINTS, fold, quarter_grid};
use crate::kernels::{rows_to_vectors, transpose_bytes, transposed_bytes};
use crate::mac::clmul::Wide;
use crate::mac::vclmul::Wide4;
use crate::{Block, Block512, gf128};

/// x ⊕ y ⊕ z as a truth table.
const SUM: i32 = 0x96;

impl Row for __m512i {
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as promised.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as promised.
        unsafe { _mm512_and_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn add_weighted(self, values: Self, weights: Self) -> Self {
        // SAFETY: as promised.
        unsafe {
            let low = _mm512_clmulepi64_epi128::<0x00>(values, weights);
            let high = _mm512_clmulepi64_epi128::<0x11>(values, weights);
            _mm512_ternarylogic_epi64::<SUM>(self, low, high)
        }
    }
}

/// A row in two registers.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Halves([__m256i; 2]);

impl Row for Halves {
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: as promised.
        unsafe { Self([_mm256_xor_si256(a, c), _mm256_xor_si256(b, d)]) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: as promised.
        unsafe { Self([_mm256_and_si256(a, c), _mm256_and_si256(b, d)]) }
    }

    #[inline(always)]
    unsafe fn add_weighted(self, values: Self, weights: Self) -> Self {
        let mut sums: [__m128i; 4] = bytemuck::cast(self);
        let (values, weights): ([__m128i; 4], [__m128i; 4]) =
            (bytemuck::cast(values), bytemuck::cast(weights));
        for ((sum, value), weight) in sums.iter_mut().zip(values).zip(weights) {
            // SAFETY: as promised.
            unsafe {
                let low = _mm_clmulepi64_si128::<0x00>(value, weight);
                let high = _mm_clmulepi64_si128::<0x11>(value, weight);
                *sum = _mm_xor_si128(*sum, _mm_xor_si128(low, high));
            }
        }
        bytemuck::cast(sums)
    }
}

/// The sums of a tile, on 512-bit registers.
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub(super) fn add_tile_512(
    rows: [&[Block512]; 4],
    weights: &Block512,
    sums: &mut [Block512],
    scratch: &mut [Block512],
) {
    visit_512(Node {
        rows: rows.map(bytemuck::cast_slice),
        weights: bytemuck::cast(*weights),
        is_at_infinity: false,
        sums: bytemuck::cast_slice_mut(sums),
        scratch: bytemuck::cast_slice_mut(scratch),
    });
}

#[target_feature(enable = "avx512f,vpclmulqdq")]
fn visit_512(node: Node<'_, __m512i>) {
    // SAFETY: this function's instructions are those of the registers.
    unsafe { visit(node, |node| visit_512(node)) }
}

/// The sums of a tile, on 256-bit registers.
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn add_tile_256(
    rows: [&[Block512]; 4],
    weights: &Block512,
    sums: &mut [Block512],
    scratch: &mut [Block512],
) {
    visit_256(Node {
        rows: rows.map(bytemuck::cast_slice),
        weights: bytemuck::cast(*weights),
        is_at_infinity: false,
        sums: bytemuck::cast_slice_mut(sums),
        scratch: bytemuck::cast_slice_mut(scratch),
    });
}

#[target_feature(enable = "avx2,pclmulqdq")]
fn visit_256(node: Node<'_, Halves>) {
    // SAFETY: this function's instructions are those of the registers.
    unsafe { visit(node, |node| visit_256(node)) }
}

/// The sums of a tile's rows, on 512-bit registers.
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub(super) fn add_rows_512(
    products: Option<[&[Block512]; 2]>,
    z: &[Block512],
    weights: &Block512,
    sums: &mut [Block512],
) {
    let products = products.map(|[x, y]| [bytemuck::cast_slice(x), bytemuck::cast_slice(y)]);
    let (z, sums) = (bytemuck::cast_slice(z), bytemuck::cast_slice_mut(sums));
    // SAFETY: this function's instructions are those of the registers.
    unsafe { each_row::<__m512i>(products, z, bytemuck::cast(*weights), sums) }
}

/// The sums of a tile's rows, on 256-bit registers.
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn add_rows_256(
    products: Option<[&[Block512]; 2]>,
    z: &[Block512],
    weights: &Block512,
    sums: &mut [Block512],
) {
    let products = products.map(|[x, y]| [bytemuck::cast_slice(x), bytemuck::cast_slice(y)]);
    let (z, sums) = (bytemuck::cast_slice(z), bytemuck::cast_slice_mut(sums));
    // SAFETY: this function's instructions are those of the registers.
    unsafe { each_row::<Halves>(products, z, bytemuck::cast(*weights), sums) }
}

/// The elements of a tile's columns, by GFNI.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn fold_tile_512(rows: &[Block512], matrices: &[[u64; BYTES]], elements: TileMut<'_>) {
    const MOST: usize = 1 << (*super::grid::VARIABLES.end() as usize) >> 3;
    let mut bytes = [[_mm512_setzero_si512(); MOST]; GROUP];
    let groups = matrices.len();
    for (group, rows) in rows.as_chunks::<GROUP>().0.iter().enumerate() {
        let mut rows: [__m512i; GROUP] = bytemuck::cast(*rows);
        transpose_bytes(&mut rows);
        for (bytes, row) in bytes.iter_mut().zip(rows) {
            bytes[group] = row;
        }
    }
    let out = elements
        .into_iter()
        .flat_map(|quarter| quarter.as_chunks_mut::<64>().0);
    for (out, bytes) in out.zip(&bytes) {
        let mut values = [_mm512_setzero_si512(); BYTES];
        for first in (0..groups).step_by(8) {
            match groups - first {
                1 => add_images::<1>(&bytes[first..], &matrices[first..], &mut values),
                2 => add_images::<2>(&bytes[first..], &matrices[first..], &mut values),
                4 => add_images::<4>(&bytes[first..], &matrices[first..], &mut values),
                _ => add_images::<8>(&bytes[first..], &matrices[first..], &mut values),
            }
        }
        *out = bytemuck::cast(transposed_bytes(values));
    }
}

/// Adds to each byte of elements the images of `GROUPS` bytes of columns.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
fn add_images<const GROUPS: usize>(
    bytes: &[__m512i],
    matrices: &[[u64; BYTES]],
    values: &mut [__m512i; BYTES],
) {
    let bytes: &[__m512i; GROUPS] = bytes.first_chunk().expect("bytes of all groups");
    let matrices: &[[u64; BYTES]; GROUPS] = matrices.first_chunk().expect("matrices of all groups");
    for (byte, value) in values.iter_mut().enumerate() {
        for (bytes, matrices) in bytes.iter().zip(matrices) {
            let matrix = _mm512_set1_epi64(matrices[byte] as i64);
            *value = _mm512_xor_si512(*value, _mm512_gf2p8affine_epi64_epi8::<0>(*bytes, matrix));
        }
    }
}

/// The elements of a tile's columns, by tables within a register.
#[target_feature(enable = "avx2")]
pub(super) fn fold_tile_256(rows: &[Block512], tables: &[[[[u8; 16]; 2]; BYTES]], elements: TileMut<'_>) {
    let mask = _mm256_set1_epi8(0x0f);
    // Byte `byte` of the elements of columns `8 p + i`, for each `i`, each `p` after the other.
    let mut values = [[Block512::ZERO; BYTES]; GROUP];
    for (rows, tables) in rows.as_chunks::<GROUP>().0.iter().zip(tables) {
        for (values, bytes) in values.iter_mut().zip(bytes_of_columns(rows)) {
            let bytes: [__m256i; 2] = bytemuck::cast(bytes);
            for (value, [low, high]) in values.iter_mut().zip(tables) {
                let mut sums: [__m256i; 2] = bytemuck::cast(*value);
                let low = _mm256_broadcastsi128_si256(bytemuck::cast(*low));
                let high = _mm256_broadcastsi128_si256(bytemuck::cast(*high));
                for (sum, bytes) in sums.iter_mut().zip(bytes) {
                    let of_low = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, mask));
                    let of_high =
                        _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), mask));
                    *sum = _mm256_xor_si256(*sum, _mm256_xor_si256(of_low, of_high));
                }
                *value = bytemuck::cast(sums);
            }
        }
    }
    let elements = elements
        .into_iter()
        .flat_map(|quarter| quarter.as_chunks_mut::<64>().0);
    for (elements, values) in elements.zip(&values) {
        let mut in_order = [Block::ZERO; 64];
        rows_to_vectors(values, &mut in_order);
        for (place, element) in elements.iter_mut().enumerate() {
            *element = in_order[BYTES * (place % 4) + place / 4];
        }
    }
}

impl Elements for __m512i {
    const WIDTH: usize = 4;
    type Sum = Wide4;

    #[inline(always)]
    unsafe fn load(from: &[Block]) -> Self {
        bytemuck::cast(*from.first_chunk::<4>().expect("four elements"))
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [Block]) {
        *to.first_chunk_mut::<4>().expect("four elements") = bytemuck::cast(self);
    }

    #[inline(always)]
    unsafe fn each(element: Block) -> Self {
        bytemuck::cast([element; 4])
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as promised.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn zero() -> Wide4 {
        // SAFETY: as promised.
        unsafe { Wide4::zero() }
    }

    #[inline(always)]
    unsafe fn add_product(sum: &mut Wide4, a: Self, b: Self) {
        // SAFETY: as promised.
        unsafe { sum.add_products(a, b) }
    }

    #[inline(always)]
    unsafe fn reduce(sum: Wide4) -> Self {
        // SAFETY: as promised.
        unsafe { gf128::x86::reduce_4(sum) }
    }

    #[inline(always)]
    unsafe fn total(self) -> Block {
        let elements: [Block; 4] = bytemuck::cast(self);
        elements
            .into_iter()
            .fold(Block::ZERO, |total, element| total ^ element)
    }
}

impl Elements for __m128i {
    const WIDTH: usize = 1;
    type Sum = Wide;

    #[inline(always)]
    unsafe fn load(from: &[Block]) -> Self {
        bytemuck::cast(from[0])
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [Block]) {
        to[0] = bytemuck::cast(self);
    }

    #[inline(always)]
    unsafe fn each(element: Block) -> Self {
        bytemuck::cast(element)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as promised.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn zero() -> Wide {
        // SAFETY: as promised.
        unsafe { Wide::zero() }
    }

    #[inline(always)]
    unsafe fn add_product(sum: &mut Wide, a: Self, b: Self) {
        // SAFETY: as promised.
        unsafe { sum.add_product(a, b) }
    }

    #[inline(always)]
    unsafe fn reduce(sum: Wide) -> Self {
        // SAFETY: as promised.
        unsafe { gf128::x86::reduce(sum) }
    }

    #[inline(always)]
    unsafe fn total(self) -> Block {
        bytemuck::cast(self)
    }
}

/// Multiplies the elements of a tile's quarter with their columns' weights.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(super) fn weigh_quarter_512(elements: &mut [Block; QUARTER], quarter: usize, weights: &Block512) {
    let words: __m512i = bytemuck::cast(*weights);
    // Of the columns of element `64 i + 4 r + l`, word `2 l + r / 8`, in both halves of lane `l`.
    let words = [
        _mm512_unpacklo_epi64(words, words),
        _mm512_unpackhi_epi64(words, words),
    ];
    let elements: &mut [[[[Block; 4]; 8]; 2]; 2] = bytemuck::cast_mut(elements);
    for (bit, elements) in (2 * quarter..).zip(elements) {
        for (elements, words) in elements.iter_mut().zip(words) {
            for (byte, elements) in elements.iter_mut().enumerate() {
                let shift = (GROUP * byte + bit) as u64;
                let low = _mm512_sll_epi64(words, _mm_set_epi64x(0, shift as i64));
                let high = _mm512_srl_epi64(words, _mm_set_epi64x(0, 64 - shift as i64));
                let weights = _mm512_mask_blend_epi64(0xaa, low, high);
                let product = gf128::x86::inner_products([bytemuck::cast(*elements)], [weights]);
                *elements = bytemuck::cast(product);
            }
        }
    }
}

/// [`weigh_quarter_512`], element by element.
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn weigh_quarter_128(elements: &mut [Block; QUARTER], quarter: usize, weights: &Block512) {
    for (place, element) in (QUARTER * quarter..).zip(elements) {
        let weight = column_weight(weights, place);
        *element = gf128::x86::mul(*element, weight);
    }
}

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,avx2,pclmulqdq")]
pub(super) fn quarter_grid_512(u: [&[Block]; 4], v: [&[Block]; 4]) -> [Block; QUARTER_POINTS] {
    let whole = u[0].len() / 4 * 4;
    // SAFETY: this function's instructions are those of the registers.
    let (most, rest) = unsafe {
        (
            quarter_grid::<__m512i>(u, v, 0),
            quarter_grid::<__m128i>(u, v, whole),
        )
    };
    std::array::from_fn(|point| most[point] ^ rest[point])
}

#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn quarter_grid_128(u: [&[Block]; 4], v: [&[Block]; 4]) -> [Block; QUARTER_POINTS] {
    // SAFETY: this function's instructions are those of the registers.
    unsafe { quarter_grid::<__m128i>(u, v, 0) }
}

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,avx2,pclmulqdq")]
pub(super) fn fold_quarters_512(elements: &mut [Block], weights: &[Block; 4]) {
    let whole = elements.len() / 4 / 4 * 4;
    // SAFETY: this function's instructions are those of the registers.
    unsafe {
        fold::<__m512i>(elements, weights, 0);
        fold::<__m128i>(elements, weights, whole);
    }
}

#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn fold_quarters_128(elements: &mut [Block], weights: &[Block; 4]) {
    // SAFETY: this function's instructions are those of the registers.
    unsafe { fold::<__m128i>(elements, weights, 0) }
}
