//! Lanes as four 128-bit registers.

use std::arch::x86_64::*;

use super::{Kernel, Lanes, ROTATED_WORD, ROUND_CONSTANTS};
use crate::Block;
use crate::gf128::x86;

/// Lanes that exist only on a CPU with AES-NI, AVX2 and PCLMULQDQ: every `unsafe` below relies on that.
struct Aesni(());

/// Runs `kernel` compiled for AES-NI, AVX2 and PCLMULQDQ.
#[target_feature(enable = "aes,avx2,pclmulqdq")]
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(&Aesni(()))
}

/// Applies an intrinsic lane by lane.
macro_rules! each {
    (|$($name:ident),+| $body:expr) => {{
        let mut lane = 0;
        let mut out = [each!(@first $($name),+)[0]; 4];
        while lane < 4 {
            $(let $name = $name[lane];)+
            // SAFETY: the lanes exist only on a CPU that has the instructions.
            out[lane] = unsafe { $body };
            lane += 1;
        }
        out
    }};
    (@first $name:ident $(, $rest:ident)*) => { $name };
}

impl Lanes for Aesni {
    type V = [__m128i; 4];

    #[inline(always)]
    fn load(&self, blocks: &[Block; 4]) -> Self::V {
        bytemuck::cast(*blocks)
    }

    #[inline(always)]
    fn store(&self, value: Self::V, blocks: &mut [Block; 4]) {
        *blocks = bytemuck::cast(value);
    }

    #[inline(always)]
    fn load_pairs(&self, pairs: &[[Block; 2]; 4]) -> [Self::V; 2] {
        let all: &[__m128i; 8] = bytemuck::cast_ref(pairs);
        [[all[0], all[2], all[4], all[6]], [all[1], all[3], all[5], all[7]]]
    }

    #[inline(always)]
    fn store_pairs(&self, [a, b]: [Self::V; 2], pairs: &mut [[Block; 2]; 4]) {
        *pairs = bytemuck::cast([a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]]);
    }

    #[inline(always)]
    fn gather(&self, [a, b, c, d]: [&Block; 4]) -> Self::V {
        bytemuck::cast([*a, *b, *c, *d])
    }

    #[inline(always)]
    fn scatter(&self, value: Self::V, blocks: [&mut Block; 4]) {
        for (block, value) in blocks.into_iter().zip(value) {
            *block = bytemuck::cast(value);
        }
    }

    #[inline(always)]
    fn splat(&self, block: Block) -> Self::V {
        [bytemuck::cast(block); 4]
    }

    #[inline(always)]
    fn numbers(&self, n: [u64; 4]) -> Self::V {
        bytemuck::cast([n[0], 0, n[1], 0, n[2], 0, n[3], 0])
    }

    #[inline(always)]
    fn sums(&self, base: u64, n: &[u32; 4]) -> Self::V {
        let base = self.numbers([base; 4]);
        let n = self.numbers([n[0].into(), n[1].into(), n[2].into(), n[3].into()]);
        each!(|base, n| _mm_add_epi64(base, n))
    }

    #[inline(always)]
    fn xor(&self, a: Self::V, b: Self::V) -> Self::V {
        each!(|a, b| _mm_xor_si128(a, b))
    }

    #[inline(always)]
    fn or(&self, a: Self::V, b: Self::V) -> Self::V {
        each!(|a, b| _mm_or_si128(a, b))
    }

    #[inline(always)]
    fn xor_if(&self, sum: Self::V, chooser: Self::V, addend: Self::V) -> Self::V {
        each!(|sum, chooser, addend| {
            let low = _mm_slli_epi32::<31>(_mm_shuffle_epi32::<0>(chooser));
            _mm_xor_si128(sum, _mm_and_si128(_mm_srai_epi32::<31>(low), addend))
        })
    }

    #[inline(always)]
    fn sort(&self, a: Self::V, b: Self::V) -> [Self::V; 2] {
        let swap = each!(|a, b| {
            // SSE compares signed numbers; unsigned ones compare alike once their top bits are flipped.
            let top = _mm_set1_epi64x(i64::MIN);
            let more = _mm_cmpgt_epi64(_mm_xor_si128(a, top), _mm_xor_si128(b, top));
            let same = _mm_cmpeq_epi64(a, b);
            // The upper halves decide, unless they are the same.
            let lower = _mm_and_si128(_mm_unpackhi_epi64(same, same), _mm_unpacklo_epi64(more, more));
            let more = _mm_or_si128(_mm_unpackhi_epi64(more, more), lower);
            _mm_and_si128(more, _mm_xor_si128(a, b))
        });
        [self.xor(a, swap), self.xor(b, swap)]
    }

    #[inline(always)]
    fn sigma(&self, value: Self::V) -> Self::V {
        each!(|value| {
            let swapped = _mm_shuffle_epi32::<0b0100_1110>(value);
            _mm_xor_si128(swapped, _mm_unpackhi_epi64(_mm_setzero_si128(), value))
        })
    }

    #[inline(always)]
    fn inner_product<const N: usize>(&self, a: [Self::V; N], b: [Self::V; N]) -> Self::V {
        let mut sums = [a[0][0]; 4];
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the lanes exist only on a CPU that has the instructions.
            *sum = unsafe { x86::inner_product(a.map(|a| a[lane]), b.map(|b| b[lane])) };
        }
        sums
    }

    #[inline(always)]
    fn encrypt<const N: usize, const M: usize>(
        &self,
        keys: [Self::V; N],
        mut values: [[Self::V; M]; N],
    ) -> [[Self::V; M]; N] {
        for (key, values) in keys.iter().zip(&mut values) {
            // Keys and blocks that hide the latency of a round; more would not fit the registers.
            if M > 2 {
                under_keys::<2, M>(key, values);
            } else {
                under_keys::<4, M>(key, values);
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

/// Encrypts all lanes, `L` side by side. For lanes of a CPU that has the instructions.
#[inline(always)]
fn under_keys<const L: usize, const M: usize>(keys: &[__m128i; 4], values: &mut [[__m128i; 4]; M]) {
    for first in (0..4).step_by(L) {
        let mut keys: [__m128i; L] = std::array::from_fn(|lane| keys[first + lane]);
        let mut state: [[__m128i; L]; M] =
            std::array::from_fn(|i| std::array::from_fn(|lane| values[i][first + lane]));
        // SAFETY: the lanes exist only on a CPU that has the instructions.
        unsafe {
            for x in &mut state {
                for lane in 0..L {
                    x[lane] = _mm_xor_si128(x[lane], keys[lane]);
                }
            }
            for (round, constant) in ROUND_CONSTANTS.into_iter().enumerate() {
                for key in &mut keys {
                    *key = next_round_key(*key, constant);
                }
                for x in &mut state {
                    for lane in 0..L {
                        x[lane] = if round < 9 {
                            _mm_aesenc_si128(x[lane], keys[lane])
                        } else {
                            _mm_aesenclast_si128(x[lane], keys[lane])
                        };
                    }
                }
            }
        }
        for (value, x) in values.iter_mut().zip(state) {
            value[first..first + L].copy_from_slice(&x);
        }
    }
}

/// The next round key (FIPS 197, Section 5.2). The last word, rotated, in all columns, is the same after a round's shift of
/// rows, so that the last round of AES substitutes it and adds the constant.
#[target_feature(enable = "aes,ssse3")]
#[inline]
fn next_round_key(key: __m128i, constant: i32) -> __m128i {
    let word = _mm_shuffle_epi8(key, _mm_set1_epi32(ROTATED_WORD));
    let word = _mm_aesenclast_si128(word, _mm_set1_epi32(constant));
    let sum = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    let sum = _mm_xor_si128(sum, _mm_slli_si128::<8>(sum));
    _mm_xor_si128(sum, word)
}
