use proptest::prelude::*;

use super::*;

/// a·b bit by bit, from the definition of the field.
fn naive(a: Block, b: Block) -> Block {
    let [a, b] = [a, b].map(|x| u128::from_le_bytes(x.to_bytes()));
    let product = (0..128).rev().fold(0u128, |product, i| {
        (product << 1) ^ ((product >> 127) * u128::from(TAIL)) ^ ((b >> i & 1) * a)
    });
    Block::from_bytes(product.to_le_bytes())
}

fn blocks(seed: u64, len: usize) -> Vec<Block> {
    let mut sampler = crate::Sampler::new(Block([seed, 17]));
    (0..len)
        .map(|_| Block([sampler.next_u64(), sampler.next_u64()]))
        .collect()
}

#[test]
fn known_products() {
    let power = |i: u32| Block::from_bytes((1u128 << i).to_le_bytes());
    for &simd in Simd::supported() {
        assert_eq!(
            mul_on(simd, power(64), power(64)),
            Block([TAIL.to_le(), 0]),
            "{simd}"
        );
        assert_eq!(
            mul_on(simd, power(127), power(1)),
            Block([TAIL.to_le(), 0]),
            "{simd}"
        );
        // x^254 = x^126 (x^7 + x^2 + x + 1) = x^133 + x^128 + x^127 + x^126, and so on.
        let expected = 0x87u128 << 5 ^ 0x87 ^ 1 << 127 ^ 1 << 126;
        assert_eq!(
            mul_on(simd, power(127), power(127)),
            Block::from_bytes(expected.to_le_bytes()),
            "{simd}"
        );
        assert_eq!(mul_on(simd, power(99), ONE), power(99), "{simd}");
    }
}

#[test]
fn every_element_is_a_root_of_frobenius() {
    // a^(2^128) = a holds in GF(2^128), and for no quotient ring by another polynomial of this degree that this could
    // be mistaken for, where it would fail for most elements.
    for &simd in Simd::supported() {
        for a in blocks(1, 3) {
            assert_eq!((0..128).fold(a, |x, _| mul_on(simd, x, x)), a, "{simd}");
        }
    }
}

#[test]
fn inverses_are_inverse() {
    for a in blocks(4, 5) {
        assert_eq!(mul(a, inverse(a)), ONE);
    }
    assert_eq!(inverse(Block::ZERO), Block::ZERO);
}

#[test]
fn powers_are_repeated_products() {
    let alpha = blocks(2, 1)[0];
    for &simd in Simd::supported() {
        for len in (0..=2 * CHAINS + 3).chain([100]) {
            let mut out = vec![Block::ZERO; len];
            powers_on(simd, alpha, &mut out);
            let mut expected = ONE;
            for (k, power) in out.iter().enumerate() {
                expected = naive(expected, alpha);
                assert_eq!(*power, expected, "{simd}, power {} of {len}", k + 1);
            }
        }
    }
}

#[test]
fn inner_products_of_every_length_are_sums_of_products() {
    for len in (0..=20).chain([127, 128, 129, 1000]) {
        let (a, b) = (blocks(3, len), blocks(4, len));
        let expected = a
            .iter()
            .zip(&b)
            .fold(Block::ZERO, |sum, (&a, &b)| sum ^ naive(a, b));
        for &simd in Simd::supported() {
            assert_eq!(inner_product_on(simd, &a, &b), expected, "{simd}, {len}");
        }
    }
}

#[test]
fn inner_products_of_rows_are_those_of_each_row() {
    for (count, len) in [(0, 5), (5, 0), (1, 1), (3, 4), (7, 33)] {
        let (rows, b, before) = (blocks(5, count * len), blocks(6, len), blocks(7, count));
        for &simd in Simd::supported() {
            let mut sums = before.clone();
            add_inner_products_on(simd, &rows, &b, &mut sums);
            for (i, sum) in sums.iter().enumerate() {
                let row = &rows[i * len..][..len];
                assert_eq!(*sum, before[i] ^ inner_product_on(simd, row, &b), "{simd}, {i}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "one factor for each factor")]
fn inner_products_need_equal_lengths() {
    inner_product(&[ONE], &[ONE, ONE]);
}

fn block() -> impl Strategy<Value = Block> {
    // Sparse and dense words find different mistakes in carry handling.
    let word = prop_oneof![
        any::<u64>(),
        Just(0),
        Just(u64::MAX),
        (0..64u32).prop_map(|i| 1 << i)
    ];
    [word.clone(), word].prop_map(|words| Block(words.map(u64::to_le)))
}

proptest! {
    #[test]
    fn products_match_the_definition_on_every_path(a in block(), b in block()) {
        for &simd in Simd::supported() {
            prop_assert_eq!(mul_on(simd, a, b), naive(a, b), "{}", simd);
        }
    }
}
