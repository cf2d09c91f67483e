//! The field in portable, constant-time code: integer multiplications only, no tables.

use crate::Block;

/// x^63 + x^62 + x^57: the modulus without x^128 and 1, over x^64.
pub(super) const MODULUS: u64 = 0xc200_0000_0000_0000;

/// `value` after `data`, one block at a time.
pub(super) fn absorb(h: Block, value: Block, data: &[Block]) -> Block {
    data.iter().fold(value, |value, &block| dot(h, value ^ block))
}

/// dot(a, b) = a·b·x^-128.
pub(super) fn dot(a: Block, b: Block) -> Block {
    let (low, high) = product(a, b);
    // Adding a multiple of the modulus clears the lowest 64 bits, which are then shifted out; twice.
    let fold = |low: u128| low.rotate_right(64) ^ carryless(low as u64, MODULUS);
    let product = high ^ fold(fold(low));
    Block([product as u64, (product >> 64) as u64].map(u64::to_le))
}

/// The carry-less product of two polynomials: its low and its high 128 coefficients.
pub(crate) fn product(a: Block, b: Block) -> (u128, u128) {
    let ([a0, a1], [b0, b1]) = (a.0.map(u64::from_le), b.0.map(u64::from_le));
    let low = carryless(a0, b0);
    let high = carryless(a1, b1);
    let middle = carryless(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    (low ^ middle << 64, high ^ middle >> 64)
}

/// The carry-less product of two 64-bit polynomials.
pub(crate) fn carryless(a: u64, b: u64) -> u128 {
    let low = carryless_low(a, b);
    // Reversing both factors reverses the product, which has 127 coefficients.
    let high = carryless_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(high) << 64 | u128::from(low)
}

/// The low 64 bits of the carry-less product, by integer multiplication of factors with three zeros between their
/// bits: a sum of at most 15 such products does not carry into the next coefficient of the same residue, and the
/// 16th can occur only in the topmost, whose carry falls off.
fn carryless_low(a: u64, b: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
    let part = |x: u64, residue: usize| x & EVERY_FOURTH << residue;
    (0..4).fold(0, |product, residue| {
        let sum = (0..4).fold(0, |sum, i| {
            sum ^ part(a, i).wrapping_mul(part(b, (residue + 4 - i) % 4))
        });
        product | part(sum, residue)
    })
}
