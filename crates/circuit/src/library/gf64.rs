//! GF(2^64), modulo `X^64 + X^4 + X^3 + X + 1`: an element is 64 bits, the coefficient of `X^i` at place `i`.

use super::integer::xor;
use crate::{Bit, Builder};

/// Bits of an element.
pub const GF64_BITS: usize = 64;

/// AND gates of a product.
pub const GF64_PRODUCT: u64 = 729;

/// The places that `X^64` comes back to.
const TAPS: [usize; 4] = [0, 1, 3, 4];

/// `x · y`, by Karatsuba's method: 729 ANDs, at an AND depth of 1.
///
/// # Panics
/// If one has not 64 bits.
pub fn gf64_multiply(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    assert_eq!((x.len(), y.len()), (GF64_BITS, GF64_BITS), "elements of GF(2^64)");
    let mut product = karatsuba(b, x, y);
    reduce(b, &mut product)
}

/// `x²`, which is linear: no AND.
///
/// # Panics
/// If it has not 64 bits.
pub fn gf64_square(b: &mut Builder, x: &[Bit]) -> Vec<Bit> {
    assert_eq!(x.len(), GF64_BITS, "an element of GF(2^64)");
    let mut product = vec![Bit::FALSE; 2 * GF64_BITS - 1];
    for (place, &bit) in x.iter().enumerate() {
        product[2 * place] = bit;
    }
    reduce(b, &mut product)
}

/// The product of two polynomials of one length, a power of two.
fn karatsuba(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    if let ([x], [y]) = (x, y) {
        return vec![b.and(*x, *y)];
    }
    let half = x.len() / 2;
    let ((x0, x1), (y0, y1)) = (x.split_at(half), y.split_at(half));
    let (low, high) = (karatsuba(b, x0, y0), karatsuba(b, x1, y1));
    let (x_sum, y_sum) = (xor(b, x0, x1), xor(b, y0, y1));
    let mut middle = karatsuba(b, &x_sum, &y_sum);
    for (bit, (low, high)) in middle.iter_mut().zip(low.iter().zip(&high)) {
        let both = b.xor(*low, *high);
        *bit = b.xor(*bit, both);
    }
    let mut product = vec![Bit::FALSE; 2 * x.len() - 1];
    for (first, part) in [(0, low), (half, middle), (2 * half, high)] {
        for (place, bit) in part.into_iter().enumerate() {
            product[first + place] = b.xor(product[first + place], bit);
        }
    }
    product
}

/// What a polynomial of 127 bits is modulo the field's.
fn reduce(b: &mut Builder, product: &mut [Bit]) -> Vec<Bit> {
    for place in (GF64_BITS..product.len()).rev() {
        for tap in TAPS {
            let to = place - GF64_BITS + tap;
            product[to] = b.xor(product[to], product[place]);
        }
    }
    product[..GF64_BITS].to_vec()
}

/// `pad ⊕ Σ mⱼ·key^(j+1)` for the blocks `mⱼ` of `message`: one product a block, at an AND depth of the logarithm of their number. Squares cost nothing.
pub fn polynomial_mac(b: &mut Builder, key: &[Bit], pad: &[Bit], message: &[Bit]) -> Vec<Bit> {
    let mut blocks: Vec<Vec<Bit>> = message
        .chunks(GF64_BITS)
        .map(|block| {
            let mut block = block.to_vec();
            block.resize(GF64_BITS, Bit::FALSE);
            block
        })
        .collect();
    let mut power = key.to_vec();
    while blocks.len() > 1 {
        blocks = blocks
            .chunks(2)
            .map(|pair| match pair {
                [low, high] => {
                    let high = gf64_multiply(b, high, &power);
                    xor(b, low, &high)
                }
                _ => pair.concat(),
            })
            .collect();
        power = gf64_square(b, &power);
    }
    let sum = blocks.pop().unwrap_or_else(|| vec![Bit::FALSE; GF64_BITS]);
    let product = gf64_multiply(b, &sum, key);
    xor(b, &product, pad)
}

#[cfg(test)]
mod tests {
    use cenote_primitives::BitMatrix;

    use super::*;
    use crate::{BitOrder, Circuit};

    /// `x · y`, one bit after the other.
    fn clear(x: u64, y: u64) -> u64 {
        (0..64).rev().fold(0, |sum, place| {
            let doubled = (sum << 1) ^ if sum >> 63 == 1 { 0b11011 } else { 0 };
            doubled ^ if y >> place & 1 == 1 { x } else { 0 }
        })
    }

    fn output(circuit: &Circuit, words: &[u64]) -> u64 {
        let inputs = BitMatrix::from_fn(64 * words.len(), 1, |row, _| {
            words[row / 64] >> (row % 64) & 1 == 1
        });
        let out = circuit.evaluate(&inputs).unwrap();
        (0..64).fold(0, |word, row| word | u64::from(out.get(row, 0)) << row)
    }

    #[test]
    fn products_and_squares_are_those_of_the_field() {
        let mut b = Builder::new();
        let (x, y) = (b.input("x", 64, BitOrder::Lsb), b.input("y", 64, BitOrder::Lsb));
        let product = gf64_multiply(&mut b, &x, &y);
        b.output("product", &product, BitOrder::Lsb);
        let multiply = b.finish();
        assert_eq!(multiply.statistics().ands, 729);

        let mut b = Builder::new();
        let x = b.input("x", 64, BitOrder::Lsb);
        let square = gf64_square(&mut b, &x);
        b.output("square", &square, BitOrder::Lsb);
        let square = b.finish();
        assert_eq!(square.statistics().ands, 0);

        let mut x: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut pairs = vec![(0, 1), (1, 1), (1 << 63, 2), (u64::MAX, u64::MAX)];
        for _ in 0..50 {
            let y = x.rotate_left(23).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            pairs.push((x, y));
            x = y;
        }
        for (x, y) in pairs {
            assert_eq!(output(&multiply, &[x, y]), clear(x, y), "{x:#x} {y:#x}");
            assert_eq!(output(&square, &[x]), clear(x, x), "{x:#x}");
        }
        // The field's own polynomial, and that it has no zero divisors among a few.
        assert_eq!(clear(1 << 63, 2), 0b11011);
    }

    #[test]
    fn tags_are_those_of_the_polynomial() {
        for bits in [1, 63, 64, 65, 128, 129, 300, 320] {
            let mut b = Builder::new();
            let (key, pad) = (
                b.input("key", 64, BitOrder::Lsb),
                b.input("pad", 64, BitOrder::Lsb),
            );
            let message = b.input("message", bits, BitOrder::Lsb);
            let tag = polynomial_mac(&mut b, &key, &pad, &message);
            b.output("tag", &tag, BitOrder::Lsb);
            let circuit = b.finish();
            let mut words: Vec<u64> = (0..2 + u64::from(bits.div_ceil(64)))
                .map(|word| {
                    (word + u64::from(bits))
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .rotate_left(17)
                })
                .collect();
            if bits % 64 != 0 {
                *words.last_mut().unwrap() &= (1 << (bits % 64)) - 1;
            }
            let (mut expected, mut power) = (words[1], 1);
            for &block in &words[2..] {
                power = clear(power, words[0]);
                expected ^= clear(block, power);
            }
            let inputs = BitMatrix::from_fn(128 + bits as usize, 1, |row, _| {
                words[row / 64] >> (row % 64) & 1 == 1
            });
            let out = circuit.evaluate(&inputs).unwrap();
            let tag = (0..64).fold(0, |word, row| word | u64::from(out.get(row, 0)) << row);
            assert_eq!(tag, expected, "{bits} bits");
            let blocks = (bits as usize).div_ceil(64);
            assert!(circuit.statistics().ands <= GF64_PRODUCT as usize * blocks);
            assert!(
                circuit.statistics().and_depth <= 1 + blocks.next_power_of_two().trailing_zeros() as usize
            );
        }
    }
}
