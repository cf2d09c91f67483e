use proptest::prelude::*;

use super::*;

/// a·b bit by bit, from the definition of the field.
fn naive(a: u64, b: u64) -> u64 {
    (0..64).rev().fold(0, |product: u64, i| {
        (product << 1) ^ ((product >> 63) * TAIL) ^ ((b >> i & 1) * a)
    })
}

fn words(seed: u64, len: usize) -> Vec<u64> {
    let mut sampler = crate::Sampler::new(crate::Block([seed, 64]));
    (0..len).map(|_| sampler.next_u64()).collect()
}

fn mul_on(simd: Simd, a: u64, b: u64) -> u64 {
    let mut product = [0];
    add_row_products_on(simd, &[a], &[b], &mut product);
    product[0]
}

#[test]
fn known_products() {
    for &simd in Simd::supported() {
        let mul = |a, b| mul_on(simd, a, b);
        assert_eq!(mul(1 << 32, 1 << 32), TAIL, "{simd}");
        assert_eq!(mul(1 << 63, 2), TAIL, "{simd}");
        // x^126 = x^62 (x^4 + x^3 + x + 1) = x^66 + x^65 + x^63 + x^62, and so on.
        let expected = TAIL << 2 ^ TAIL << 1 ^ 1 << 63 ^ 1 << 62;
        assert_eq!(mul(1 << 63, 1 << 63), expected, "{simd}");
        assert_eq!(mul(99, 1), 99, "{simd}");
    }
}

#[test]
fn the_modulus_is_irreducible() {
    // a^(2^64) = a for all, and x^(2^32) differs from x: the only proper subfields of 2^64 elements lie in that of 2^32.
    for &simd in Simd::supported() {
        let power = |a: u64, log: u32| (0..log).fold(a, |x, _| mul_on(simd, x, x));
        for a in words(1, 3) {
            assert_eq!(power(a, 64), a, "{simd}");
        }
        assert_eq!(power(2, 64), 2, "{simd}");
        assert_ne!(power(2, 32), 2, "{simd}");
    }
}

proptest! {
    #[test]
    fn sums_on_every_level_are_those_of_the_definition(seed: u64, count in 0usize..20, width in 0usize..11) {
        let (rows, by_column, by_row) = (words(seed, count * width), words(!seed, width), words(seed / 2, count));
        for &simd in Simd::supported() {
            let mut sums = words(7, count);
            add_row_products_on(simd, &rows, &by_column, &mut sums);
            for (r, (sum, start)) in sums.iter().zip(words(7, count)).enumerate() {
                let expected = (0..width).fold(start, |sum, c| sum ^ naive(rows[r * width + c], by_column[c]));
                prop_assert_eq!(*sum, expected);
            }
            let mut sums = words(8, width);
            add_weighted_rows_on(simd, &rows, &by_row, &mut sums);
            for (c, (sum, start)) in sums.iter().zip(words(8, width)).enumerate() {
                let expected = (0..count).fold(start, |sum, r| sum ^ naive(rows[r * width + c], by_row[r]));
                prop_assert_eq!(*sum, expected);
            }
        }
    }
}
