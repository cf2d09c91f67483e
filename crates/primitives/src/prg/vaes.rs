//! The keystream by VAES on 512-bit registers: one register is one [`Block512`], four AES blocks.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Cipher, MOST_BITS, Position, Prg, aesni};
use crate::{Block, Block512};

/// Registers in flight: enough to hide the latency of one round, few enough that the round keys stay in registers.
const GROUP: usize = 8;

/// The expanded key. It exists only on a CPU with AES-NI, AVX-512 F and VAES.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Key([Block; 11]);

impl Key {
    #[target_feature(enable = "aes,avx512f,vaes")]
    pub(super) fn new(key: Block) -> Key {
        Key(aesni::expand(key))
    }

    pub(super) fn run<const XOR: bool>(&self, at: Position, out: &mut [Block512]) {
        // SAFETY: a key exists only on a CPU with AVX-512 F and VAES.
        unsafe { run::<XOR>(&self.0, at, out) }
    }

    pub(super) fn gather(&self, at: &[Position], out: &mut [Block512]) {
        // SAFETY: a key exists only on a CPU with AVX-512 F and VAES.
        unsafe { gather(&self.0, at, out) }
    }
}

#[target_feature(enable = "avx512f,vaes")]
fn run<const XOR: bool>(keys: &[Block; 11], at: Position, out: &mut [Block512]) {
    let mut counter = inputs(at);
    let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let mut next = || {
        let now = counter;
        counter = _mm512_add_epi64(counter, four);
        now
    };
    let (groups, tail) = out.as_chunks_mut::<GROUP>();
    for group in groups {
        store::<XOR>(group, &encrypt(keys, std::array::from_fn(|_| next())));
    }
    if !tail.is_empty() {
        // A whole group takes hardly longer than one register, so the tail computes one and keeps what it needs.
        store::<XOR>(tail, &encrypt(keys, std::array::from_fn(|_| next())));
    }
}

#[target_feature(enable = "avx512f,vaes")]
fn gather(keys: &[Block; 11], at: &[Position], out: &mut [Block512]) {
    let (groups, tail) = out.as_chunks_mut::<GROUP>();
    let (at_groups, at_tail) = at.as_chunks::<GROUP>();
    for (at, group) in at_groups.iter().zip(groups) {
        store::<false>(group, &encrypt(keys, std::array::from_fn(|i| inputs(at[i]))));
    }
    if !tail.is_empty() {
        let mut last = [at_tail[0]; GROUP];
        last[..at_tail.len()].copy_from_slice(at_tail);
        store::<false>(tail, &encrypt(keys, std::array::from_fn(|i| inputs(last[i]))));
    }
}

/// Generators of this path.
pub(super) struct Keys<'a>(&'a [Prg]);

impl<'a> Keys<'a> {
    /// Nothing, unless all are, and there are some.
    pub(super) fn of(seeds: &'a [Prg]) -> Option<Self> {
        let all = seeds.iter().all(|seed| matches!(seed.0, Cipher::Vaes(_)));
        (all && !seeds.is_empty()).then_some(Self(seeds))
    }

    /// See [`Prg::sums`].
    pub(super) fn sums(self, first: usize, at: Position, columns: &mut [Block512], sum: &mut [Block512]) {
        let mut scratch = [[Block512::ZERO; GROUP]; 1 + MOST_BITS];
        // SAFETY: a key exists only on a CPU with AVX-512 F and VAES, and there is one.
        unsafe { sums(self.0, first, at, columns, sum, bytemuck::cast_mut(&mut scratch)) };
        scratch.as_flattened_mut().zeroize();
    }
}

/// The sum of all and that of column 0 stay in registers while the generators are gone through, those of other columns in `scratch`, which
/// the caller wipes; its first row is for the sum of all.
#[target_feature(enable = "avx512f,vaes")]
fn sums(
    seeds: &[Prg],
    first: usize,
    at: Position,
    columns: &mut [Block512],
    sum: &mut [Block512],
    scratch: &mut [[__m512i; GROUP]; 1 + MOST_BITS],
) {
    let zero = _mm512_setzero_si512();
    let units = sum.len();
    let (sum_of_all, of_columns) = scratch.split_at_mut(1);
    let of_columns = &mut of_columns[..columns.len() / units];
    for start in (0..units).step_by(GROUP) {
        let inputs: [__m512i; GROUP] = std::array::from_fn(|i| inputs(at.advance(start + i)));
        let (mut total, mut lowest) = ([zero; GROUP], [zero; GROUP]);
        of_columns.fill([zero; GROUP]);
        for (x, seed) in (first..first + seeds.len()).zip(seeds).rev() {
            let Cipher::Vaes(Key(keys)) = &seed.0 else {
                unreachable!("all are of this path");
            };
            add(&mut total, &encrypt(keys, inputs));
            if x == 0 {
                continue;
            }
            add(&mut lowest, &total);
            for column in &mut of_columns[1..1 + x.trailing_zeros() as usize] {
                add(column, &total);
            }
        }
        sum_of_all[0] = total;
        if let Some(column) = of_columns.first_mut() {
            *column = lowest;
        }
        let end = units.min(start + GROUP);
        store::<false>(&mut sum[start..end], &sum_of_all[0]);
        for (column, sums) in columns.chunks_exact_mut(units).zip(&*of_columns) {
            store::<false>(&mut column[start..end], sums);
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(to: &mut [__m512i; GROUP], from: &[__m512i; GROUP]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = _mm512_xor_si512(*to, from);
    }
}

/// The four AES inputs of the block at `at`.
#[target_feature(enable = "avx512f")]
#[inline]
fn inputs(at: Position) -> __m512i {
    let first = _mm_set_epi64x(at.stream as i64, at.counter() as i64);
    _mm512_add_epi64(
        _mm512_broadcast_i32x4(first),
        _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0),
    )
}

/// Encrypts [`GROUP`] registers side by side.
#[target_feature(enable = "avx512f,vaes")]
#[inline]
fn encrypt(keys: &[Block; 11], mut state: [__m512i; GROUP]) -> [__m512i; GROUP] {
    let keys: &[__m128i; 11] = bytemuck::cast_ref(keys);
    let key = _mm512_broadcast_i32x4(keys[0]);
    for x in &mut state {
        *x = _mm512_xor_si512(*x, key);
    }
    for &key in &keys[1..10] {
        let key = _mm512_broadcast_i32x4(key);
        for x in &mut state {
            *x = _mm512_aesenc_epi128(*x, key);
        }
    }
    let key = _mm512_broadcast_i32x4(keys[10]);
    for x in &mut state {
        *x = _mm512_aesenclast_epi128(*x, key);
    }
    state
}

/// Writes or adds the first registers of `stream` to `out`.
#[target_feature(enable = "avx512f")]
#[inline]
fn store<const XOR: bool>(out: &mut [Block512], stream: &[__m512i; GROUP]) {
    let out: &mut [__m512i] = bytemuck::cast_slice_mut(out);
    for (out, &stream) in out.iter_mut().zip(stream) {
        *out = if XOR {
            _mm512_xor_si512(*out, stream)
        } else {
            stream
        };
    }
}
