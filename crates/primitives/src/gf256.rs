//! The field GF(2^8) = GF(2)\[x\] modulo x^8 + x^4 + x^3 + x + 1, an element being a byte whose bit `i` is the coefficient of x^i.
//!
//! Scalars only, for what is computed once; rows of symbols are the work of [`crate::kernels::SymbolMap`].

/// x^4 + x^3 + x + 1: what x^8 is.
pub(crate) const TAIL: u8 = 0x1b;

/// The product, without a branch or an address that depends on the factors.
pub const fn mul(a: u8, b: u8) -> u8 {
    let mut product = 0u8;
    let mut bit = 8;
    while bit > 0 {
        bit -= 1;
        let carry = (product >> 7).wrapping_neg();
        product = (product << 1) ^ (carry & TAIL) ^ ((b >> bit & 1).wrapping_neg() & a);
    }
    product
}

/// The inverse; zero for zero.
pub const fn inverse(a: u8) -> u8 {
    // a^254, whose binary digits are seven ones and a zero.
    let mut power = 1;
    let mut digit = 0;
    while digit < 7 {
        power = mul(mul(power, power), a);
        digit += 1;
    }
    mul(power, power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_products() {
        // FIPS 197, Section 4.2 and 4.2.1.
        assert_eq!(mul(0x57, 0x83), 0xc1);
        assert_eq!(mul(0x57, 0x13), 0xfe);
        assert_eq!(
            [0x02, 0x04, 0x08, 0x10].map(|b| mul(0x57, b)),
            [0xae, 0x47, 0x8e, 0x07]
        );
    }

    #[test]
    fn all_elements_but_zero_have_inverses() {
        assert_eq!(inverse(0), 0);
        for a in 1..=255 {
            assert_eq!(mul(a, inverse(a)), 1, "{a}");
        }
    }

    #[test]
    fn products_commute_and_distribute() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                assert_eq!(mul(a, b), mul(b, a));
                assert_eq!(mul(a, b ^ 0x35), mul(a, b) ^ mul(a, 0x35));
                assert_eq!(mul(mul(a, b), 0x9c), mul(a, mul(b, 0x9c)));
            }
        }
    }
}
