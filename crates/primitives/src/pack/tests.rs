use proptest::prelude::*;

use super::*;
use crate::Simd;

fn bit(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 == 1
}

#[test]
fn every_offset_and_length_lands_bit_by_bit() {
    let src: Vec<u64> = (1..=5u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    for at in (0..=65).chain([127, 128, 191]) {
        for bits in 0..=src.len() * 64 {
            let mut dst = vec![0; (at + bits).div_ceil(64) + 1];
            // Bits below the row are there already and must stay.
            for i in 0..at {
                dst[i / 64] |= 1 << (i % 64);
            }
            pack_bits(&mut dst, at, &src, bits);
            for i in 0..dst.len() * 64 {
                let expected = if i < at {
                    true
                } else {
                    i < at + bits && bit(&src, i - at)
                };
                assert_eq!(bit(&dst, i), expected, "{bits} bits at {at}, bit {i}");
            }

            let mut row = vec![u64::MAX; bits.div_ceil(64)];
            unpack_bits(&mut row, &dst[..(at + bits).div_ceil(64)], at, bits);
            for i in 0..row.len() * 64 {
                assert_eq!(
                    bit(&row, i),
                    i < bits && bit(&src, i),
                    "{bits} bits from {at}, bit {i}"
                );
            }
        }
    }
}

#[test]
fn bits_beyond_the_row_are_neither_written_nor_read() {
    let mut dst = [0; 2];
    pack_bits(&mut dst, 60, &[u64::MAX], 10);
    assert_eq!(dst, [0xf << 60, 0x3f]);
    let mut row = [0];
    unpack_bits(&mut row, &[u64::MAX; 2], 60, 10);
    assert_eq!(row, [0x3ff]);
    // A row that ends within the buffer's last word needs no word after it.
    unpack_bits(&mut row, &[u64::MAX], 60, 4);
    assert_eq!(row, [0xf]);
    let mut dst = [0];
    pack_bits(&mut dst, 60, &[u64::MAX], 4);
    assert_eq!(dst, [0xf << 60]);
}

#[test]
#[should_panic]
fn a_row_past_the_end_of_the_buffer_is_refused() {
    unpack_bits(&mut [0], &[u64::MAX], 60, 5);
}

#[test]
#[should_panic(expected = "a row of 65 bits")]
fn a_row_of_the_wrong_length_is_refused() {
    unpack_bits(&mut [0], &[u64::MAX; 4], 0, 65);
}

#[test]
fn every_bit_of_a_tile_changes_places_on_every_level() {
    for &level in Simd::supported() {
        for i in 0..64 {
            for j in 0..64 {
                let mut tile = [0; 64];
                tile[i] = 1 << j;
                transpose64::on(level, &mut tile);
                let mut expected = [0; 64];
                expected[j] = 1 << i;
                assert_eq!(tile, expected, "{level}, bit ({i}, {j})");
            }
        }
    }
}

proptest! {
    #[test]
    fn rows_packed_one_after_another_come_back(
        rows in prop::collection::vec((prop::collection::vec(any::<u64>(), 6), 0..=384usize), 0..20),
    ) {
        let total: usize = rows.iter().map(|(_, bits)| bits).sum();
        let mut buffer = vec![0; total.div_ceil(64)];
        let mut at = 0;
        for (row, bits) in &rows {
            pack_bits(&mut buffer, at, row, *bits);
            at += bits;
        }
        at = 0;
        for (row, bits) in &rows {
            let mut back = vec![0; bits.div_ceil(64)];
            unpack_bits(&mut back, &buffer, at, *bits);
            prop_assert!((0..*bits).all(|i| bit(&back, i) == bit(row, i)));
            at += bits;
        }
    }

    #[test]
    fn transposing_a_tile_is_linear_and_its_own_inverse(words in prop::collection::vec(any::<u64>(), 64)) {
        let tile: [u64; 64] = words.try_into().unwrap();
        for &level in Simd::supported() {
            let mut transposed = tile;
            transpose64::on(level, &mut transposed);
            prop_assert!((0..4096).all(|k| bit(&transposed, k) == bit(&tile, k % 64 * 64 + k / 64)));
            transpose64::on(level, &mut transposed);
            prop_assert_eq!(transposed, tile);
        }
    }

    #[test]
    fn shifting_copies_agree_on_every_level(
        src in prop::collection::vec(any::<u64>(), 1..40), old in any::<u64>(), shift in 1..64u32,
    ) {
        let mut packed = vec![old; src.len() + 2];
        pack_shifted::on(Simd::Portable, &mut packed, shift, &src);
        let mut unpacked = vec![old; src.len() - 1];
        unpack_shifted::on(Simd::Portable, &mut unpacked, shift, &src);
        for &level in Simd::supported() {
            let mut other = vec![old; src.len() + 2];
            pack_shifted::on(level, &mut other, shift, &src);
            prop_assert_eq!(&other, &packed);
            let mut other = vec![old; src.len() - 1];
            unpack_shifted::on(level, &mut other, shift, &src);
            prop_assert_eq!(&other, &unpacked);
        }
    }
}
