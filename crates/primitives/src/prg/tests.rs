use std::collections::HashSet;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

use super::*;
use crate::as_bytes;

const KEY: Block = Block([0x0706_0504_0302_0100u64.to_le(), 0x0f0e_0d0c_0b0a_0908u64.to_le()]);

/// The keystream block at `at` from its definition, one AES call at a time.
fn reference(key: Block, at: Position) -> Block512 {
    let cipher = aes::Aes128::new(&key.to_bytes().into());
    let mut bytes = [0; 64];
    for (j, chunk) in bytes.chunks_exact_mut(16).enumerate() {
        let input = u128::from(at.stream) << 64 | u128::from(4 * at.index + j as u64);
        let mut block = input.to_le_bytes().into();
        cipher.encrypt_block(&mut block);
        chunk.copy_from_slice(&block);
    }
    bytemuck::cast(bytes)
}

fn hex(blocks: &[Block512]) -> String {
    as_bytes(blocks)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn matches_the_example_of_the_standard() {
    // FIPS 197, appendix C.1: key 00..0f, input 00112233445566778899aabbccddeeff, which as a little-endian counter is
    // block 0x7766554433221100 = 4 · index of stream 0xffeeddccbbaa9988.
    let at = Position {
        stream: 0xffee_ddcc_bbaa_9988,
        index: 0x7766_5544_3322_1100 / 4,
    };
    for &simd in Simd::supported() {
        let mut out = [Block512::ZERO];
        Prg::with_simd(KEY, simd).fill(at, &mut out);
        assert_eq!(hex(&out)[..32], *"69c4e0d86a7b0430d8cdb78070b4c55a", "{simd}");
    }
}

#[test]
fn every_path_gives_the_recorded_bytes() {
    // Computed with OpenSSL (aes-128-ecb of the eight inputs).
    let golden = concat!(
        "51de6c0f46e682ddb3461a0fe60ed20b4fdc602cabd923601ad7c466f8bc60fa",
        "fe2801d96f26c24684d3171a8ea48c172527491eff6008ef020c4b9258867846",
        "12e04a5ba53628bfc427ada2ff7672d803c42238081f491b844c6f3896803752",
        "07bacb1ddd1aeb233a55daeffb76e78685f6dfe7aa9085c427775f3735526875",
    );
    for &simd in Simd::supported() {
        let mut out = [Block512::ZERO; 2];
        Prg::with_simd(KEY, simd).fill(
            Position {
                stream: 5,
                index: 0x1_2345_6789,
            },
            &mut out,
        );
        assert_eq!(hex(&out), golden, "{simd}");
    }
}

#[test]
fn every_length_around_the_groups_is_right() {
    // Starts where the low half of the 64-bit counter is about to overflow.
    let at = Position {
        stream: u64::MAX,
        index: (1 << 30) - 9,
    };
    let expected: Vec<Block512> = (0..40).map(|k| reference(KEY, at.advance(k))).collect();
    let positions: Vec<Position> = (0..40).map(|k| at.advance(k)).collect();
    for &simd in Simd::supported() {
        let prg = Prg::with_simd(KEY, simd);
        for len in 0..=40 {
            let mut out = vec![Block512([7; 8]); 40];
            prg.fill(at, &mut out[..len]);
            assert_eq!(out[..len], expected[..len], "{simd}, {len}");
            assert!(
                out[len..].iter().all(|block| *block == Block512([7; 8])),
                "{simd}, {len}: wrote too far"
            );
            let mut out = vec![Block512([7; 8]); 40];
            prg.gather(&positions[..len], &mut out[..len]);
            assert_eq!(out[..len], expected[..len], "{simd}, {len}");
            assert!(
                out[len..].iter().all(|block| *block == Block512([7; 8])),
                "{simd}, {len}: wrote too far"
            );
        }
    }
}

#[test]
fn the_last_blocks_of_a_stream_can_be_read() {
    let at = Position {
        stream: 1,
        index: (1 << 62) - 3,
    };
    for &simd in Simd::supported() {
        let mut out = [Block512::ZERO; 3];
        Prg::with_simd(KEY, simd).fill(at, &mut out);
        assert_eq!(out[2], reference(KEY, at.advance(2)), "{simd}");
    }
}

#[test]
fn keys_streams_and_indices_all_matter() {
    let mut seen = HashSet::new();
    for key in [KEY, Block([1, 2]), Block([2, 1])] {
        let prg = Prg::new(key);
        for stream in [0, 1, 4, 1 << 32, 1 << 63] {
            for index in [0, 1, 4, 1 << 32, 1 << 61] {
                let mut out = [Block512::ZERO];
                prg.fill(Position { stream, index }, &mut out);
                for block in out[0].0.chunks_exact(2) {
                    assert!(
                        seen.insert(block.to_vec()),
                        "keystream repeats at {stream}, {index}"
                    );
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "one position per block")]
fn a_gather_needs_one_position_per_block() {
    Prg::new(KEY).gather(&[Position { stream: 0, index: 0 }; 2], &mut [Block512::ZERO; 3]);
}

#[test]
#[cfg(debug_assertions)]
fn positions_past_the_end_of_a_stream_are_noticed() {
    let at = Position {
        stream: 1,
        index: (1 << 62) - 1,
    };
    let prg = Prg::new(KEY);
    let panics = |read: &dyn Fn(&mut [Block512])| {
        let read = std::panic::AssertUnwindSafe(|| read(&mut [Block512::ZERO; 2]));
        std::panic::catch_unwind(read).is_err()
    };
    assert!(panics(&|out| prg.fill(at, out)));
    assert!(panics(&|out| prg.xor_into(at, out)));
    assert!(panics(&|out| prg.gather(&[at, at.advance(1)], out)));
    assert!(!panics(&|out| prg.gather(&[at, at], out)));
}

#[test]
fn sums_are_those_of_the_streams_with_each_bit_in_their_number() {
    let at = Position {
        stream: 3,
        index: (1 << 30) - 9,
    };
    for (bits, seeds, first) in [
        (1, 2, 0),
        (1, 1, 1),
        (3, 8, 0),
        (5, 31, 1),
        (6, 64, 0),
        (8, 255, 1),
        (2, 0, 0),
    ] {
        for units in [1, 7, 8, 9, 31] {
            let keys: Vec<Block> = (0..seeds).map(|x| Block([x, 77])).collect();
            let mut expected = vec![Block512::ZERO; (1 + bits) * units];
            for (x, &key) in (first..).zip(&keys) {
                for unit in 0..units {
                    let stream = reference(key, at.advance(unit));
                    expected[unit] ^= stream;
                    for bit in (0..bits).filter(|bit| x >> bit & 1 == 1) {
                        expected[(1 + bit) * units + unit] ^= stream;
                    }
                }
            }
            for &simd in Simd::supported() {
                let seeds: Vec<Prg> = keys.iter().map(|&key| Prg::with_simd(key, simd)).collect();
                let mut sum = vec![Block512([7; 8]); units];
                let mut columns = vec![Block512([7; 8]); bits * units];
                Prg::sums(&seeds, first, at, &mut columns, &mut sum);
                assert_eq!(sum, expected[..units], "{simd}: {bits} bits, {units} units");
                assert_eq!(columns, expected[units..], "{simd}: {bits} bits, {units} units");
            }
        }
    }
}

#[test]
#[should_panic(expected = "numbers below 9 and 3 columns")]
fn a_sum_needs_a_column_for_each_bit() {
    let seeds: Vec<Prg> = (0..8).map(|x| Prg::new(Block([x, 1]))).collect();
    Prg::sums(
        &seeds,
        1,
        Position { stream: 0, index: 0 },
        &mut [Block512::ZERO; 3],
        &mut [Block512::ZERO],
    );
}

#[test]
fn debug_hides_the_key() {
    assert_eq!(format!("{:?}", Prg::new(KEY)), "Prg");
}

proptest! {
    #[test]
    fn all_paths_match_the_definition(
        key in any::<[u64; 2]>(),
        stream in any::<u64>(),
        index in 0..(1u64 << 62) - 64,
        jumps in prop::collection::vec((any::<u64>(), 0..1u64 << 62), 0..40),
        len in 0..40usize,
    ) {
        let key = Block(key);
        let at = Position { stream, index };
        let places: Vec<Position> = jumps.iter().map(|&(stream, index)| Position { stream, index }).collect();
        let filled: Vec<Block512> = (0..len).map(|k| reference(key, at.advance(k))).collect();
        let gathered: Vec<Block512> = places.iter().map(|&at| reference(key, at)).collect();
        let noise = Block512([stream, index, 3, 4, 5, 6, 7, 8]);
        for &simd in Simd::supported() {
            let prg = Prg::with_simd(key, simd);

            let mut out = vec![noise; len];
            prg.fill(at, &mut out);
            prop_assert_eq!(&out, &filled);
            out.fill(noise);
            prg.xor_into(at, &mut out);
            prop_assert!(out.iter().zip(&filled).all(|(out, &stream)| *out == stream ^ noise));

            let mut out = vec![noise; places.len()];
            prg.gather(&places, &mut out);
            prop_assert_eq!(&out, &gathered);
        }
    }
}
