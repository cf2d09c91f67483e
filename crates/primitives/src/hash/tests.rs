use std::collections::HashSet;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

use super::*;

const START: Block = Block([
    0x0123_4567_89ab_cdef_u64.to_le(),
    0xfedc_ba98_7654_3210_u64.to_le(),
]);

fn reference(x: Block, start: Block, tweak: u64) -> Block {
    let Block([low, high]) = x;
    let sigma = Block([high, low ^ high]);
    let key = start ^ Block([tweak.to_le(), 0]);
    let mut block = sigma.to_bytes().into();
    aes::Aes128::new(&key.to_bytes().into()).encrypt_block(&mut block);
    Block::from_bytes(block.into()) ^ sigma
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
        (0, 0xe3cd_7ca7_80c0_d23e_2ed5_bd5d_8d17_e201_u128),
        (1, 0xf8da_a01a_ad28_1426_a4e0_1fcb_1768_002a),
        (0x0123_4567_89ab_cdef, 0x5c66_d30a_62f1_712f_8e82_338f_0864_4967),
        (1 << 63, 0x80f4_2250_aefa_4a8c_08f6_8f28_1f5b_5edd),
    ];
    for &simd in Simd::supported() {
        let mut blocks = counting(4);
        each_on(simd, START, &golden.map(|(tweak, _)| tweak), &mut blocks);
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
        .map(|(&x, &tweak)| reference(x, START, tweak))
        .collect();
    for &simd in Simd::supported() {
        for len in 0..=100 {
            let mut out = blocks.clone();
            each_on(simd, START, &tweaks[..len], &mut out[..len]);
            assert!(out[..len] == expected[..len], "{simd}, {len}");
            assert!(out[len..] == blocks[len..], "{simd}, {len}: wrote too far");
        }
    }
}

#[test]
fn start_tweak_and_block_all_matter() {
    let mut seen = HashSet::new();
    for start in [Block::ZERO, START, Block([0, 1])] {
        for tweak in [0, 1, 2, 1 << 32, 1 << 63, u64::MAX] {
            let mut blocks = [
                Block::ZERO,
                Block([1, 0]),
                Block([2, 0]),
                Block([0, 1]),
                Block([1, 1]),
            ];
            hash_each(start, &[tweak; 5], &mut blocks);
            for block in blocks {
                assert!(seen.insert(block.to_bytes()), "hashes repeat at tweak {tweak}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "one tweak per block")]
fn every_block_needs_a_tweak() {
    hash_each(START, &[1, 2], &mut [Block::ZERO; 3]);
}

proptest! {
    #[test]
    fn hashes_are_those_of_the_definition(
        start in any::<[u64; 2]>().prop_map(Block),
        items in prop::collection::vec((any::<u64>(), any::<[u64; 2]>().prop_map(Block)), 0..100),
    ) {
        let (tweaks, blocks): (Vec<u64>, Vec<Block>) = items.into_iter().unzip();
        let expected: Vec<Block> =
            blocks.iter().zip(&tweaks).map(|(&x, &tweak)| reference(x, start, tweak)).collect();
        for &simd in Simd::supported() {
            let mut out = blocks.clone();
            each_on(simd, start, &tweaks, &mut out);
            prop_assert!(out == expected, "{}", simd);
        }
    }
}
