//! Lanes as one 512-bit register.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Kernel, Lanes, ROTATED_WORD, ROUND_CONSTANTS};
use crate::Block;
use crate::gf128::x86;

/// Lanes that exist only on a CPU with AVX-512 F, DQ, VAES and VPCLMULQDQ: every `unsafe` below relies on that.
struct Vaes(());

/// Runs `kernel` compiled for AVX-512, VAES and VPCLMULQDQ.
#[target_feature(enable = "aes,avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq")]
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(&Vaes(()))
}

impl Lanes for Vaes {
    type V = __m512i;

    #[inline(always)]
    fn load(&self, blocks: &[Block; 4]) -> __m512i {
        bytemuck::cast(*blocks)
    }

    #[inline(always)]
    fn store(&self, value: __m512i, blocks: &mut [Block; 4]) {
        *blocks = bytemuck::cast(value);
    }

    #[inline(always)]
    fn load_pairs(&self, pairs: &[[Block; 2]; 4]) -> [__m512i; 2] {
        let [a, b]: [__m512i; 2] = bytemuck::cast(*pairs);
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let (first, second) = (
                _mm512_set_epi64(13, 12, 9, 8, 5, 4, 1, 0),
                _mm512_set_epi64(15, 14, 11, 10, 7, 6, 3, 2),
            );
            [
                _mm512_permutex2var_epi64(a, first, b),
                _mm512_permutex2var_epi64(a, second, b),
            ]
        }
    }

    #[inline(always)]
    fn store_pairs(&self, [a, b]: [__m512i; 2], pairs: &mut [[Block; 2]; 4]) {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        let halves = unsafe {
            let (low, high) = (
                _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4),
            );
            [
                _mm512_permutex2var_epi64(a, low, b),
                _mm512_permutex2var_epi64(a, high, b),
            ]
        };
        *pairs = bytemuck::cast(halves);
    }

    #[inline(always)]
    fn gather(&self, [a, b, c, d]: [&Block; 4]) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let low = _mm256_set_m128i(bytemuck::cast(*b), bytemuck::cast(*a));
            let high = _mm256_set_m128i(bytemuck::cast(*d), bytemuck::cast(*c));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    fn scatter(&self, value: __m512i, [a, b, c, d]: [&mut Block; 4]) {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            *a = bytemuck::cast(_mm512_extracti32x4_epi32::<0>(value));
            *b = bytemuck::cast(_mm512_extracti32x4_epi32::<1>(value));
            *c = bytemuck::cast(_mm512_extracti32x4_epi32::<2>(value));
            *d = bytemuck::cast(_mm512_extracti32x4_epi32::<3>(value));
        }
    }

    #[inline(always)]
    fn splat(&self, block: Block) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe { _mm512_broadcast_i32x4(bytemuck::cast(block)) }
    }

    #[inline(always)]
    fn numbers(&self, n: [u64; 4]) -> __m512i {
        bytemuck::cast([n[0], 0, n[1], 0, n[2], 0, n[3], 0])
    }

    #[inline(always)]
    fn sums(&self, base: u64, n: &[u32; 4]) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let spread = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
            let n = _mm512_broadcast_i32x4(bytemuck::cast(*n));
            let n = _mm512_maskz_permutexvar_epi32(0x1111, spread, n);
            let base = _mm512_maskz_set1_epi64(0x55, base as i64);
            _mm512_add_epi64(n, base)
        }
    }

    #[inline(always)]
    fn xor(&self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    fn or(&self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe { _mm512_or_si512(a, b) }
    }

    #[inline(always)]
    fn xor_if(&self, sum: __m512i, chooser: __m512i, addend: __m512i) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let low = _mm512_shuffle_epi32::<0>(chooser);
            let chosen = _mm512_test_epi32_mask(low, _mm512_set1_epi32(1));
            _mm512_mask_xor_epi32(sum, chosen, sum, addend)
        }
    }

    #[inline(always)]
    fn sort(&self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let more = _mm512_cmpgt_epu64_mask(a, b);
            let same = _mm512_cmpeq_epi64_mask(a, b);
            // The upper halves, which are the odd bits, decide, unless they are the same.
            let more = (more | (same & (more << 1))) & 0xaa;
            let more = more | (more >> 1);
            [
                _mm512_mask_blend_epi64(more, a, b),
                _mm512_mask_blend_epi64(more, b, a),
            ]
        }
    }

    #[inline(always)]
    fn sigma(&self, value: __m512i) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            let swapped = _mm512_shuffle_epi32::<0b0100_1110>(value);
            _mm512_mask_xor_epi64(swapped, 0xaa, swapped, value)
        }
    }

    #[inline(always)]
    fn inner_product<const N: usize>(&self, a: [__m512i; N], b: [__m512i; N]) -> __m512i {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe { x86::inner_products(a, b) }
    }

    #[inline(always)]
    fn encrypt<const N: usize, const M: usize>(
        &self,
        mut keys: [__m512i; N],
        mut values: [[__m512i; M]; N],
    ) -> [[__m512i; M]; N] {
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            for (key, values) in keys.iter().zip(&mut values) {
                for x in values {
                    *x = _mm512_xor_si512(*x, *key);
                }
            }
            for (round, constant) in ROUND_CONSTANTS.into_iter().enumerate() {
                for key in &mut keys {
                    *key = next_round_key(*key, constant);
                }
                in_step(&mut keys);
                for (key, values) in keys.iter().zip(&mut values) {
                    for x in values {
                        *x = if round < 9 {
                            _mm512_aesenc_epi128(*x, *key)
                        } else {
                            _mm512_aesenclast_epi128(*x, *key)
                        };
                    }
                }
                in_step(values.as_flattened_mut());
            }
        }
        values
    }

    #[inline(always)]
    fn prefetch<T>(&self, address: *const T) {
        // SAFETY: a prefetch has no effect but on the caches, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

/// The next round keys (FIPS 197, Section 5.2). The last word, rotated, in all columns, is the same after a round's shift of
/// rows, so that the last round of AES substitutes it and adds the constant.
#[target_feature(enable = "aes,avx512f,avx512bw,vaes")]
#[inline]
fn next_round_key(key: __m512i, constant: i32) -> __m512i {
    let word = _mm512_shuffle_epi8(key, _mm512_set1_epi32(ROTATED_WORD));
    let word = _mm512_aesenclast_epi128(word, _mm512_set1_epi32(constant));
    let sum = _mm512_xor_si512(key, _mm512_bslli_epi128::<4>(key));
    // The sum of all three.
    _mm512_ternarylogic_epi64::<0x96>(sum, _mm512_bslli_epi128::<8>(sum), word)
}

/// Makes the compiler finish all values before it goes on with any. To save registers, it would otherwise encrypt one value
/// after another, each round waiting for the one before.
#[target_feature(enable = "avx512f")]
#[inline]
fn in_step(values: &mut [__m512i]) {
    macro_rules! claim {
        ($($x:ident),*) => {
            // SAFETY: there are no instructions, only a comment that names the registers.
            unsafe {
                asm!(
                    concat!("/*" $(, " {", stringify!($x), "}")*, " */"),
                    $($x = inout(zmm_reg) *$x,)*
                    options(pure, nomem, nostack, preserves_flags)
                )
            }
        };
    }
    match values {
        [a] => claim!(a),
        [a, b] => claim!(a, b),
        [a, b, c] => claim!(a, b, c),
        [a, b, c, d] => claim!(a, b, c, d),
        [a, b, c, d, e] => claim!(a, b, c, d, e),
        [a, b, c, d, e, f] => claim!(a, b, c, d, e, f),
        [a, b, c, d, e, f, g, h] => claim!(a, b, c, d, e, f, g, h),
        [a, b, c, d, e, f, g, h, i, j] => claim!(a, b, c, d, e, f, g, h, i, j),
        [a, b, c, d, e, f, g, h, i, j, k, l] => claim!(a, b, c, d, e, f, g, h, i, j, k, l),
        // More would not fit the registers beside the keys.
        _ => {}
    }
}
