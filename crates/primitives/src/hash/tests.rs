use std::collections::HashSet;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

use super::*;
use crate::lanes::FIXED_KEY;

fn reference(x: Block, tweak: u64) -> Block {
    let pi = |x: Block| {
        let mut block = x.to_bytes().into();
        aes::Aes128::new(&FIXED_KEY.to_bytes().into()).encrypt_block(&mut block);
        Block::from_bytes(block.into())
    };
    let once = pi(x);
    pi(once ^ Block([tweak.to_le(), 0])) ^ once
}

/// Block `k` has the bytes `16 k..16 k + 16`.
fn counting(count: usize) -> Vec<Block> {
    (0..count)
        .map(|k| Block::from_bytes(std::array::from_fn(|i| (16 * k + i) as u8)))
        .collect()
}

#[test]
fn every_level_gives_the_recorded_bytes() {
    // Computed with OpenSSL's AES.
    let golden = [
        (0, 0xe0af_66a4_8861_2add_ede5_a84b_a4ce_1c6f_u128),
        (1, 0x8122_0774_1610_cce6_114f_8d5c_6dec_7f6a),
        (0x0123_4567_89ab_cdef, 0x0b0b_4833_e9cc_a98d_5e9e_e309_0892_016a),
        (1 << 63, 0x9bd1_4871_5936_83a7_cfc3_cc72_06d8_149e),
    ];
    for &simd in Simd::supported() {
        let mut blocks = counting(4);
        each_on(simd, &golden.map(|(tweak, _)| tweak), &mut blocks);
        for (block, (tweak, bytes)) in blocks.iter().zip(golden) {
            assert_eq!(u128::from_be_bytes(block.to_bytes()), bytes, "{tweak} on {simd}");
        }
    }
}

#[test]
fn every_length_around_the_groups_is_right() {
    let tweaks: Vec<u64> = (0..100).map(|k| k * k * 0x1234_5678_9abc).collect();
    let blocks = counting(100);
    let expected: Vec<Block> = blocks
        .iter()
        .zip(&tweaks)
        .map(|(&x, &tweak)| reference(x, tweak))
        .collect();
    for &simd in Simd::supported() {
        for len in 0..=100 {
            let mut out = blocks.clone();
            each_on(simd, &tweaks[..len], &mut out[..len]);
            assert!(out[..len] == expected[..len], "{simd}, {len}");
            assert!(out[len..] == blocks[len..], "{simd}, {len}: wrote too far");
        }
    }
}

#[test]
fn block_and_tweak_both_matter() {
    let mut seen = HashSet::new();
    for tweak in [0, 1, 2, 1 << 32, 1 << 63, u64::MAX] {
        let mut blocks = [
            Block::ZERO,
            Block([1, 0]),
            Block([2, 0]),
            Block([0, 1]),
            Block([1, 1]),
        ];
        hash_run(tweak, 0, &mut blocks);
        for block in blocks {
            assert!(seen.insert(block.to_bytes()), "hashes repeat at tweak {tweak}");
        }
    }
}

#[test]
#[should_panic(expected = "one tweak per block")]
fn every_block_needs_a_tweak() {
    hash_each(&[1, 2], &mut [Block::ZERO; 3]);
}

proptest! {
    #[test]
    fn a_run_of_tweaks_is_these_tweaks(
        first in any::<u64>(),
        stride in any::<u64>(),
        blocks in prop::collection::vec(any::<[u64; 2]>().prop_map(Block), 0..100),
    ) {
        let tweaks: Vec<u64> =
            (0..blocks.len() as u64).map(|k| first.wrapping_add(stride.wrapping_mul(k))).collect();
        let expected: Vec<Block> = blocks.iter().zip(&tweaks).map(|(&x, &tweak)| reference(x, tweak)).collect();
        for &simd in Simd::supported() {
            let mut out = blocks.clone();
            run_of_tweaks_on(simd, first, stride, &mut out);
            prop_assert!(out == expected, "{} run", simd);
            let mut out = blocks.clone();
            each_on(simd, &tweaks, &mut out);
            prop_assert!(out == expected, "{} each", simd);
        }
    }
}
