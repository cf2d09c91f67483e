//! Binary BCH codes of length 511, and that of designed distance 41: generator polynomials, computed from their roots.
//!
//! The narrow-sense code of designed distance `d` has the roots α, α^2, …, α^(d-1), with α a primitive element of
//! GF(2^9) = GF(2)\[x\] modulo x^9 + x^4 + 1. By the BCH bound (Bose and Ray-Chaudhuri 1960; Hocquenghem 1959) its
//! distance is at least `d`. Its generator polynomial is the least common multiple of the roots' minimal polynomials.
//! Conjugates are squares of one another, so the odd powers represent all roots, and α^33 is a conjugate of α^17
//! besides: for `d` = 41 there are 19 polynomials of degree 9, and the code is \[511, 340, ≥ 41\] with 171 parity bits.
//! (With 20 polynomials, 180 parity bits, the designed distance is 43.) Leaving out the highest information bits
//! (shortening) keeps the distance: \[299, 128, ≥ 41\], \[298, 127, ≥ 41\].

/// The codes' length.
pub const LENGTH: usize = 511;
/// The designed distance, a lower bound on the number of positions in which two codewords differ.
pub const DISTANCE: usize = 41;
/// Parity bits of a codeword: the degree of the generator polynomial.
pub const PARITY_BITS: usize = 171;

/// x^9 + x^4 + 1, which is primitive.
const MODULUS: u16 = 1 << 9 | 1 << 4 | 1;

/// The generator polynomial for designed distance [`DISTANCE`]: bit `i % 64` of word `i / 64` is the coefficient of x^i.
/// Its degree is [`PARITY_BITS`], its constant term 1.
pub const fn generator_polynomial() -> [u64; 3] {
    generator(DISTANCE)
}

/// The generator polynomial for any designed distance up to 43, packed like [`generator_polynomial`].
///
/// # Panics
/// If the distance is above 43, whose polynomial, of degree 180, is the last to fit.
pub const fn generator(distance: usize) -> [u64; 3] {
    assert!(distance <= 43, "a polynomial of at most 192 coefficients");
    let mut product = [1, 0, 0];
    let mut power = 1;
    while power < distance {
        if is_least_conjugate(power) {
            product = multiply(product, minimal_polynomial(power));
        }
        power += 2;
    }
    product
}

/// Whether no conjugate of α^power is a lower power.
const fn is_least_conjugate(power: usize) -> bool {
    let mut conjugate = 2 * power % LENGTH;
    while conjugate > power {
        conjugate = 2 * conjugate % LENGTH;
    }
    conjugate == power
}

/// The minimal polynomial of α^power over GF(2), of degree 9: the product of x - β over the conjugates β of α^power.
/// Bit `i` is the coefficient of x^i.
///
/// For powers with nine conjugates, which all but the multiples of 73 have.
const fn minimal_polynomial(power: usize) -> u16 {
    let mut coefficients = [0u16; 10];
    coefficients[0] = 1;
    let mut root = 1;
    let mut i = 0;
    while i < power {
        root = product(root, 2);
        i += 1;
    }
    let mut degree = 0;
    while degree < 9 {
        // times x + root
        let mut i = degree + 1;
        while i > 0 {
            coefficients[i] = coefficients[i - 1] ^ product(coefficients[i], root);
            i -= 1;
        }
        coefficients[0] = product(coefficients[0], root);
        root = product(root, root);
        degree += 1;
    }
    let mut polynomial = 0;
    let mut i = 0;
    while i < 10 {
        // A product over all conjugates has its coefficients in GF(2).
        assert!(coefficients[i] <= 1);
        polynomial |= coefficients[i] << i;
        i += 1;
    }
    polynomial
}

/// The product in GF(2^9).
const fn product(a: u16, b: u16) -> u16 {
    let mut sum = 0;
    let mut i = 9;
    while i > 0 {
        i -= 1;
        sum <<= 1;
        sum ^= (sum >> 9) * MODULUS;
        sum ^= (b >> i & 1) * a;
    }
    sum
}

/// The product of two polynomials over GF(2), of degree at most 191.
const fn multiply(a: [u64; 3], b: u16) -> [u64; 3] {
    let mut sum = [0; 3];
    let mut shift = 0;
    while shift < 16 {
        if b >> shift & 1 == 1 {
            let mut word = 0;
            while word < 3 {
                sum[word] ^= a[word] << shift;
                if word > 0 && shift > 0 {
                    sum[word] ^= a[word - 1] >> (64 - shift);
                }
                word += 1;
            }
        }
        shift += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coefficient(polynomial: [u64; 3], i: usize) -> bool {
        polynomial[i / 64] >> (i % 64) & 1 == 1
    }

    fn degree(polynomial: [u64; 3]) -> usize {
        (0..192).rev().find(|&i| coefficient(polynomial, i)).unwrap()
    }

    /// The powers of α by another way than the code's: shifting.
    fn powers() -> Vec<u16> {
        let next = |&a: &u16| Some(if a & 256 != 0 { a << 1 ^ MODULUS } else { a << 1 });
        std::iter::successors(Some(1), next).take(LENGTH).collect()
    }

    /// The powers of α that are roots.
    fn roots(polynomial: [u64; 3]) -> Vec<usize> {
        let powers = powers();
        let value = |root: usize| {
            (0..192)
                .filter(|&i| coefficient(polynomial, i))
                .fold(0, |sum, i| sum ^ powers[root * i % LENGTH])
        };
        (0..LENGTH).filter(|&root| value(root) == 0).collect()
    }

    #[test]
    fn alpha_is_primitive() {
        let mut powers = powers();
        powers.sort_unstable();
        assert!(
            powers.iter().copied().eq(1..512),
            "its powers are all non-zero elements"
        );
    }

    #[test]
    fn the_roots_are_those_of_the_designed_distance_and_their_conjugates() {
        const GENERATOR: [u64; 3] = generator_polynomial();
        assert_eq!(degree(GENERATOR), PARITY_BITS);
        assert!(coefficient(GENERATOR, 0));
        for distance in 2..=43 {
            let polynomial = generator(distance);
            let roots = roots(polynomial);
            assert!((1..distance).all(|root| roots.contains(&root)), "{distance}");
            assert!(
                roots.iter().all(|root| roots.contains(&(2 * root % LENGTH))),
                "{distance}"
            );
            assert_eq!(
                roots.len(),
                degree(polynomial),
                "no root occurs twice: {distance}"
            );
        }
        assert!(!roots(GENERATOR).contains(&41), "no more roots than asked for");
        assert_eq!(degree(generator(43)), 180);
    }

    #[test]
    fn it_divides_x_to_the_511_plus_1() {
        for distance in [41, 43] {
            let generator = generator(distance);
            let degree = degree(generator);
            // The remainder of x^511, by the shift register that the polynomial describes.
            let mut remainder = [1, 0, 0];
            for _ in 0..LENGTH {
                remainder = multiply(remainder, 2);
                if coefficient(remainder, degree) {
                    (0..3).for_each(|word| remainder[word] ^= generator[word]);
                }
            }
            assert_eq!(remainder, [1, 0, 0]);
        }
    }

    #[test]
    fn minimal_polynomials_are_the_known_ones() {
        // Peterson and Weldon, "Error-Correcting Codes", table C.2, degree 9, in octal: 1021, 1131, 1461.
        assert_eq!(minimal_polynomial(1), MODULUS);
        assert_eq!(minimal_polynomial(1), 0o1021);
        assert_eq!(minimal_polynomial(3), 0o1131);
        assert_eq!(minimal_polynomial(5), 0o1461);
    }
}
