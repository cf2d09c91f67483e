//! Rows of bits at arbitrary bit offsets of a buffer of words, and transposition.

use crate::cpu::multiversion;

/// Writes the low `bits` bits of `src` to `dst` from bit `at_bit` on.
///
/// The bits of `dst` from `at_bit` on must be zero, since the row is ORed in; bits of `src` beyond `bits` are ignored.
/// Rows appended one after another make a dense message of their total length.
///
/// # Panics
/// If `src` has fewer than `bits` bits, or `dst` fewer than `at_bit + bits`.
#[inline]
pub fn pack_bits(dst: &mut [u64], at_bit: usize, src: &[u64], bits: usize) {
    if bits == 0 {
        return;
    }
    let src = &src[..bits.div_ceil(64)];
    let dst = &mut dst[at_bit / 64..(at_bit + bits).div_ceil(64)];
    let shift = at_bit % 64;
    let (&last, whole) = src.split_last().expect("a row of at least one bit");
    let last = last & low_mask(bits);
    if shift == 0 {
        dst[..whole.len()].copy_from_slice(whole);
        dst[whole.len()] |= last;
        return;
    }
    pack_shifted(dst, shift as u32, whole);
    dst[whole.len()] |= last << shift;
    if let Some(next) = dst.get_mut(whole.len() + 1) {
        *next |= last >> (64 - shift);
    }
}

/// Reads `bits` bits of `src` from bit `at_bit` on to `dst`, whose padding in the last word becomes zero.
///
/// # Panics
/// If `dst` is not `bits` rounded up to words long, or `src` has fewer than `at_bit + bits` bits.
#[inline]
pub fn unpack_bits(dst: &mut [u64], src: &[u64], at_bit: usize, bits: usize) {
    assert_eq!(dst.len(), bits.div_ceil(64), "a row of {bits} bits");
    if bits == 0 {
        return;
    }
    let src = &src[at_bit / 64..(at_bit + bits).div_ceil(64)];
    let shift = at_bit % 64;
    let last = dst.len() - 1;
    if shift == 0 {
        dst.copy_from_slice(src);
    } else {
        unpack_shifted(&mut dst[..last], shift as u32, src);
        let high = src.get(last + 1).map_or(0, |next| next << (64 - shift));
        dst[last] = src[last] >> shift | high;
    }
    dst[last] &= low_mask(bits);
}

/// The mask of the bits used in the last word of a row of `bits` bits, at least one.
#[inline(always)]
fn low_mask(bits: usize) -> u64 {
    u64::MAX >> (bits.wrapping_neg() % 64)
}

multiversion! {
    /// ORs `src`, shifted up by `shift` (1 to 63) bits, to the first `src.len() + 1` words of `dst`.
    fn pack_shifted(dst: &mut [u64], shift: u32, src: &[u64]) {
        let Some((&first, _)) = src.split_first() else { return };
        dst[0] |= first << shift;
        for (slot, pair) in dst[1..].iter_mut().zip(src.windows(2)) {
            *slot |= pair[0] >> (64 - shift) | pair[1] << shift;
        }
        dst[src.len()] |= src[src.len() - 1] >> (64 - shift);
    }

    /// `dst[i]` = bits `64·i + shift ..` (`shift` from 1 to 63) of `src`, which is at least a word longer.
    pub(crate) fn unpack_shifted(dst: &mut [u64], shift: u32, src: &[u64]) {
        for (slot, pair) in dst.iter_mut().zip(src.windows(2)) {
            *slot = pair[0] >> shift | pair[1] << (64 - shift);
        }
    }

    /// Transposes a 64 × 64 bit matrix: bit `j` of word `i` changes places with bit `i` of word `j`.
    pub fn transpose64(tile: &mut [u64; 64]) {
        // Swaps the off-diagonal quarters of the matrix, then of its quarters, and so on (Hacker's Delight, 7-3).
        let mut mask = u64::from(u32::MAX);
        let mut width = 32;
        while width != 0 {
            for pairs in tile.chunks_exact_mut(2 * width) {
                let (upper, lower) = pairs.split_at_mut(width);
                for (a, b) in upper.iter_mut().zip(lower) {
                    let swap = (*a >> width ^ *b) & mask;
                    *a ^= swap << width;
                    *b ^= swap;
                }
            }
            width /= 2;
            mask ^= mask << width;
        }
    }
}

#[cfg(test)]
mod tests;
