use polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use proptest::prelude::*;

use super::*;
use crate::as_bytes;

const H: Block = Block([0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]);

fn value(h: Block, simd: Simd, data: &[Block512]) -> Block {
    let mut mac = PolyMac::with_simd(h, simd);
    mac.update(data);
    mac.finish()
}

/// The value from its definition by another implementation of POLYVAL.
fn reference(h: Block, data: &[Block512]) -> Block {
    let mut polyval = Polyval::new(&h.to_bytes().into());
    for block in as_bytes(data).as_chunks::<16>().0 {
        polyval.update(&[(*block).into()]);
    }
    polyval.update(&[u128::to_le_bytes(512 * data.len() as u128).into()]);
    Block::from_bytes(polyval.finalize().into())
}

/// A message of no particular structure.
fn message(len: usize) -> Vec<Block512> {
    let mut sampler = crate::Sampler::new(Block([len as u64, 11]));
    (0..len)
        .map(|_| Block512(std::array::from_fn(|_| sampler.next_u64())))
        .collect()
}

/// a·b·x^-128 bit by bit, from the definition of the field.
fn naive_dot(a: Block, b: Block) -> Block {
    const MODULUS: u128 = 1 | 1 << 121 | 1 << 126 | 1 << 127;
    let (a, b): (u128, u128) = (
        u128::from_le_bytes(a.to_bytes()),
        u128::from_le_bytes(b.to_bytes()),
    );
    let mut product = 0u128;
    for i in (0..128).rev() {
        // times x, modulo the modulus (whose x^128 falls off), plus a if b has the coefficient
        let (carry, coefficient) = (product >> 127, b >> i & 1);
        product = (product << 1) ^ (carry * MODULUS) ^ (coefficient * a);
    }
    for _ in 0..128 {
        // divided by x: the modulus has constant term 1, so adding it makes an odd polynomial divisible
        let odd = product & 1;
        product = (product ^ (odd * MODULUS)) >> 1 | odd << 127;
    }
    Block::from_bytes(product.to_le_bytes())
}

#[test]
fn matches_the_example_of_the_rfc() {
    // RFC 8452, appendix A: POLYVAL(H, X_1, X_2).
    let parse = |hex: &str| {
        Block::from_bytes(std::array::from_fn(|i| {
            u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()
        }))
    };
    let h = parse("25629347589242761d31f826ba4b757b");
    let x1 = parse("4f4f95668c83dfb6401762bb2d01a262");
    let x2 = parse("d1a24ddd2721d006bbe45f20d3c9f362");
    assert_eq!(
        field::absorb(h, Block::ZERO, &[x1, x2]),
        parse("f7a3b47b846119fae5b7866cf5e5b77e")
    );
}

#[test]
fn every_length_around_the_batches_matches_another_implementation() {
    for len in (0..=40).chain([100, 255, 256, 257]) {
        let data = message(len);
        let expected = reference(H, &data);
        for &simd in Simd::supported() {
            assert_eq!(value(H, simd, &data), expected, "{simd}, {len} blocks");
        }
    }
}

#[test]
fn any_flipped_bit_changes_the_value() {
    for &simd in Simd::supported() {
        let mut data = message(9);
        let original = value(H, simd, &data);
        for bit in 0..9 * 512 {
            let (block, word, mask) = (bit / 512, bit % 512 / 64, 1 << (bit % 64));
            data[block].0[word] ^= mask;
            assert_ne!(value(H, simd, &data), original, "{simd}, bit {bit}");
            data[block].0[word] ^= mask;
        }
    }
}

#[test]
fn zeros_before_after_and_alone_change_the_value() {
    for &simd in Simd::supported() {
        for len in [0, 1, 7, 8, 9, 31] {
            let data = message(len);
            let mut after = data.clone();
            after.push(Block512::ZERO);
            let mut before = vec![Block512::ZERO];
            before.extend(&data);
            let values = [&data, &after, &before].map(|message| value(H, simd, message));
            assert_ne!(values[0], values[1], "{simd}, {len}");
            assert_ne!(values[0], values[2], "{simd}, {len}");
            assert_eq!(values[1] == values[2], len == 0, "{simd}, {len}");
        }
    }
}

#[test]
fn finishing_starts_a_new_message() {
    for &simd in Simd::supported() {
        let mut mac = PolyMac::with_simd(H, simd);
        mac.update(&message(13));
        mac.finish();
        mac.update(&message(5));
        assert_eq!(mac.finish(), value(H, simd, &message(5)), "{simd}");
        assert_eq!(
            mac.finish(),
            Block::ZERO,
            "{simd}: the empty message has no blocks and length zero"
        );
    }
}

#[test]
fn debug_hides_the_key() {
    assert_eq!(format!("{:?}", PolyMac::new(H)), "PolyMac");
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
    fn the_field_product_matches_its_definition(a in block(), b in block(), c in block()) {
        prop_assert_eq!(field::dot(a, b), naive_dot(a, b));
        prop_assert_eq!(field::dot(a, b), field::dot(b, a));
        prop_assert_eq!(field::dot(a, b ^ c), field::dot(a, b) ^ field::dot(a, c));
        prop_assert_eq!(field::dot(a, field::dot(b, c)), field::dot(field::dot(a, b), c));
        #[cfg(target_arch = "x86_64")]
        if Simd::Avx2.is_supported() {
            // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
            prop_assert_eq!(unsafe { clmul::dot(a, b) }, naive_dot(a, b));
        }
    }

    #[test]
    fn all_paths_agree_and_cuts_do_not_matter(
        h in block(), len in 0..120usize, cuts in prop::collection::vec(0..120usize, 0..6),
    ) {
        let data = message(len);
        let expected = reference(h, &data);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(len)).chain([0, len]).collect();
        cuts.sort_unstable();
        for &simd in Simd::supported() {
            let mut mac = PolyMac::with_simd(h, simd);
            for cut in cuts.windows(2) {
                mac.update(&data[cut[0]..cut[1]]);
            }
            prop_assert_eq!(mac.finish(), expected, "{}", simd);
        }
    }
}
