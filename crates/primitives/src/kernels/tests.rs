//! Each kernel against the definition, bit by bit, on every level of this CPU.

use super::*;
use crate::{Block, Block512, Entropy, Position, Simd, as_bytes, as_bytes_mut, as_words, as_words_mut};

const N: usize = 37;

fn blocks(entropy: &mut Entropy) -> Vec<Block512> {
    let mut out = vec![Block512::ZERO; N];
    entropy.fill(as_bytes_mut(&mut out));
    out
}

fn random<const K: usize>(seed: u64) -> [Vec<Block512>; K] {
    let mut entropy = Entropy::for_tests(seed);
    std::array::from_fn(|_| blocks(&mut entropy))
}

#[test]
fn multiplication_is_its_definition() {
    let [x0, x1, y0, y1, alpha] = random(1);
    for &level in Simd::supported() {
        let mut z = alpha.clone();
        let words = [&x0, &x1, &y0, &y1].map(|blocks| as_words(blocks));
        replicated::multiply_into::on(
            level,
            words[0],
            words[1],
            words[2],
            words[3],
            as_words_mut(&mut z),
        );
        for i in 0..N {
            let expected = alpha[i] ^ (x0[i] & y0[i]) ^ (x0[i] & y1[i]) ^ (x1[i] & y0[i]);
            assert_eq!(z[i].0, expected.0, "{level}, block {i}");
        }
    }
}

#[test]
fn three_parties_products_share_the_product() {
    let x: [Vec<Block512>; 3] = random(2);
    let y: [Vec<Block512>; 3] = random(3);
    let mut sum = vec![Block512::ZERO; N];
    for party in 0..3 {
        let next = (party + 1) % 3;
        let mut z = vec![Block512::ZERO; N];
        let words = [&x[party], &x[next], &y[party], &y[next]].map(|blocks| as_words(blocks));
        multiply_into(words[0], words[1], words[2], words[3], as_words_mut(&mut z));
        xor_into(&mut sum, &z);
    }
    for i in 0..N {
        let open = |v: &[Vec<Block512>; 3]| v[0][i] ^ v[1][i] ^ v[2][i];
        assert_eq!(sum[i].0, (open(&x) & open(&y)).0);
    }
}

#[test]
fn masking_opens_to_the_sum() {
    let [x0, x1, a0, a1] = random(4);
    for &level in Simd::supported() {
        let (mut theirs, mut ours) = (vec![Block512::ZERO; N], vec![Block512::ZERO; N]);
        let operands = [&x0, &x1, &a0, &a1].map(|blocks| as_words(blocks));
        let [p, q, r, s] = operands;
        replicated::mask_words::on(
            level,
            p,
            q,
            r,
            s,
            as_words_mut(&mut theirs),
            as_words_mut(&mut ours),
        );
        for i in 0..N {
            assert_eq!(theirs[i].0, (x1[i] ^ a1[i]).0, "{level}");
            assert_eq!(ours[i].0, (x0[i] ^ a0[i] ^ x1[i] ^ a1[i]).0, "{level}");
        }
    }
}

/// The words of the three parties on shared triples: equal at the two ends of every pair iff both triples are good.
fn words_of_pairs(level: Simd, good: bool) -> bool {
    let mut entropy = Entropy::for_tests(5);
    let mut share = |value: &[Block512]| -> [Vec<Block512>; 3] {
        let (first, second) = (blocks(&mut entropy), blocks(&mut entropy));
        let mut third = value.to_vec();
        xor_into(&mut third, &first);
        xor_into(&mut third, &second);
        [first, second, third]
    };
    let [x, y, a, b] = random(6);
    let product = |u: &[Block512], v: &[Block512]| u.iter().zip(v).map(|(&u, &v)| u & v).collect::<Vec<_>>();
    let mut z = product(&x, &y);
    if !good {
        z[11].0[3] ^= 1 << 17;
    }
    let (a_shares, b_shares) = (share(&a), share(&b));
    let (c_shares, z_shares) = (share(&product(&a, &b)), share(&z));
    let (mut rho, mut sigma) = (x.clone(), y.clone());
    xor_into(&mut rho, &a);
    xor_into(&mut sigma, &b);
    let words: Vec<_> = (0..3usize)
        .map(|party| {
            let held =
                |shares: &'_ [Vec<Block512>; 3]| [shares[party].clone(), shares[(party + 1) % 3].clone()];
            let [z, a, b, c] = [&z_shares, &a_shares, &b_shares, &c_shares].map(held);
            let operands = ProductCheck {
                z: [&z[0], &z[1]],
                a: [&a[0], &a[1]],
                b: [&b[0], &b[1]],
                c: [&c[0], &c[1]],
                rho: &rho,
                sigma: &sigma,
                constant: [party == 0, party == 2],
            };
            let (mut next, mut previous) = (vec![Block512::ZERO; N], vec![Block512::ZERO; N]);
            let (to_next, to_previous) = (as_words_mut(&mut next), as_words_mut(&mut previous));
            replicated::check_product_words::on(level, &operands.words(), to_next, to_previous);
            (next, previous)
        })
        .collect();
    let equal: Vec<bool> = (0..3)
        .map(|party| words[party].0 == words[(party + 1) % 3].1)
        .collect();
    assert!(
        equal.iter().all(|&e| e == equal[0]),
        "a bad triple shows between every pair"
    );
    equal[0]
}

#[test]
fn product_check_accepts_products_only() {
    for &level in Simd::supported() {
        assert!(words_of_pairs(level, true), "{level}");
        assert!(!words_of_pairs(level, false), "{level}");
    }
}

#[test]
fn an_entry_drawn_twice_gives_its_replacement() {
    let name = |index| Position { stream: 1, index };
    let mut names: Vec<_> = (0..4).map(name).collect();
    let [mut products, fresh0, fresh1] = random(7);
    products.truncate(8);
    let old = products.clone();
    let draws = [2, 0, 2, 2, 3];
    let fresh_names: Vec<_> = (10..15).map(name).collect();
    let mut out = (vec![name(0); 5], vec![Block512::ZERO; 5], vec![Block512::ZERO; 5]);
    take_and_replace(
        (&mut names, &mut products),
        &draws,
        (&fresh_names, &fresh0[..5], &fresh1[..5]),
        (&mut out.0, &mut out.1, &mut out.2),
    );
    assert_eq!(out.0, [name(2), name(0), name(10), name(12), name(3)]);
    assert_eq!(out.1, [old[4], old[0], fresh0[0], fresh0[2], old[6]]);
    assert_eq!(out.2, [old[5], old[1], fresh1[0], fresh1[2], old[7]]);
    assert_eq!(names, [name(11), name(1), name(13), name(14)]);
    let left = [
        fresh0[1], fresh1[1], old[2], old[3], fresh0[3], fresh1[3], fresh0[4], fresh1[4],
    ];
    assert_eq!(products, left);
}

#[test]
fn local_operations_are_their_definition() {
    use LocalOp::{Const, Copy, Not, Xor};
    let [seed] = random(8);
    let ops = [
        Xor { dst: 3, a: 0, b: 1 },
        Xor { dst: 3, a: 3, b: 2 },
        Xor { dst: 1, a: 0, b: 1 },
        Xor { dst: 4, a: 2, b: 2 },
        Not { dst: 5, a: 0 },
        Not { dst: 0, a: 0 },
        Const { dst: 6, bit: true },
        Const { dst: 2, bit: false },
        Copy { dst: 7, a: 3 },
    ];
    for &level in Simd::supported() {
        for stride in [1, 2, 4, 7, 8, 9, 33] {
            for constants in [true, false] {
                let words = &as_words(&seed)[..8 * stride];
                let mut slots = words.to_vec();
                rows::run_local_ops::on(level, &mut slots, stride, &ops, constants);
                let ones = if constants { u64::MAX } else { 0 };
                for i in 0..stride {
                    let [a, b, c] = [0, 1, 2].map(|slot| words[slot * stride + i]);
                    let expected = [a ^ ones, a ^ b, 0, a ^ b ^ c, 0, a ^ ones, ones, a ^ b ^ c];
                    for (slot, expected) in expected.into_iter().enumerate() {
                        assert_eq!(
                            slots[slot * stride + i],
                            expected,
                            "{level}, stride {stride}, slot {slot}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn sums_over_taps_are_their_definition() {
    let [blocks] = random(17);
    let taps = [0, 1, 5, 6, 20];
    for &level in Simd::supported() {
        let mut out = [Block512([7; 8]); N - 20];
        taps::sum_taps::on(level, &blocks, &taps, &mut out);
        for (j, out) in out.into_iter().enumerate() {
            let expected = taps.iter().fold(Block512::ZERO, |sum, tap| sum ^ blocks[j + tap]);
            assert_eq!(out, expected, "{level}, block {j}");
        }
    }
}

fn assert_columns<const W: usize>(matrix: &[Block512]) {
    for &level in Simd::supported() {
        let mut columns = vec![[7; W]; 512];
        transpose::rows_to_columns_on::<W>(level, matrix, 1, &mut columns);
        for (c, column) in columns.iter().enumerate() {
            for r in 0..64 * W {
                let expected = matrix
                    .get(r)
                    .is_some_and(|row| row.0[c / 64] >> (c % 64) & 1 == 1);
                let found = column[r / 64] >> (r % 64) & 1 == 1;
                assert_eq!(found, expected, "{level}: bit {r} of column {c} of {W} words");
            }
        }
    }
}

#[test]
fn columns_of_any_width_are_rows_transposed() {
    let mut entropy = Entropy::for_tests(12);
    let mut matrix = vec![Block512::ZERO; 512];
    entropy.fill(as_bytes_mut(&mut matrix));
    for missing in [0, 1, 63] {
        assert_columns::<1>(&matrix[..64 - missing]);
        assert_columns::<2>(&matrix[..128 - missing]);
        assert_columns::<3>(&matrix[..192 - missing]);
        assert_columns::<4>(&matrix[..256 - missing]);
        assert_columns::<8>(&matrix[..512 - missing]);
    }
}

#[test]
fn rows_that_are_apart_are_those_that_are_not() {
    let mut entropy = Entropy::for_tests(13);
    let mut matrix = vec![Block512::ZERO; 128 * 7];
    entropy.fill(as_bytes_mut(&mut matrix));
    for &level in Simd::supported() {
        for (stride, first, count) in [
            (1, 0, 128),
            (7, 0, 128),
            (7, 6, 128),
            (3, 1, 100),
            (2, 0, 65),
            (5, 4, 0),
        ] {
            let apart: Vec<Block512> = matrix
                .iter()
                .skip(first)
                .step_by(stride)
                .take(count)
                .copied()
                .collect();
            let end = if count == 0 {
                first
            } else {
                first + stride * (count - 1) + 1
            };
            let [mut columns, mut expected] = [(); 2].map(|()| vec![[7; 2]; 512]);
            transpose::rows_to_columns_on::<2>(level, &matrix[first..end], stride, &mut columns);
            transpose::rows_to_columns_on::<2>(level, &apart, 1, &mut expected);
            assert!(
                columns == expected,
                "{level}: {count} rows from {first}, {stride} apart"
            );
        }
    }
}

#[test]
fn columns_are_rows_transposed() {
    let mut entropy = Entropy::for_tests(11);
    for rows in [0, 1, 63, 64, 65, 171, 299, 320] {
        let mut matrix = vec![Block512::ZERO; rows];
        entropy.fill(as_bytes_mut(&mut matrix));
        for &level in Simd::supported() {
            let mut columns = vec![[7; 5]; 512];
            transpose::rows_to_columns_on::<5>(level, &matrix, 1, &mut columns);
            for (c, column) in columns.iter().enumerate() {
                for r in 0..320 {
                    let expected = r < rows && matrix[r].0[c / 64] >> (c % 64) & 1 == 1;
                    assert_eq!(
                        column[r / 64] >> (r % 64) & 1 == 1,
                        expected,
                        "{level}: bit {r} of column {c}"
                    );
                }
            }
            for used in [0, 1, 64, 100, 511, 512] {
                let mut back = vec![Block512([9; 8]); rows];
                transpose::columns_to_rows_on::<5>(level, &columns[..used], &mut back);
                for (back, row) in back.iter().zip(&matrix) {
                    for (word, (back, word_of_row)) in back.0.iter().zip(row.0).enumerate() {
                        let bits = used.saturating_sub(64 * word).min(64);
                        let mask = u64::MAX.checked_shr(64 - bits as u32).unwrap_or(0);
                        assert_eq!(*back, word_of_row & mask, "{level}: {used} columns");
                    }
                }
            }
        }
    }
}

#[test]
fn linear_maps_are_their_matrices() {
    let mut entropy = Entropy::for_tests(12);
    for (inputs, outputs) in [(0, 3), (3, 0), (1, 1), (5, 2), (128, 171), (130, 40), (307, 127)] {
        let mut matrix = crate::BitMatrix::zeros(outputs, inputs);
        matrix.words_mut().fill_with(|| entropy.block().0[0]);
        matrix.mask_padding();
        let mut rows = vec![Block512::ZERO; inputs + outputs];
        entropy.fill(as_bytes_mut(&mut rows));
        let (rows, before) = rows.split_at(inputs);
        let mut expected = before.to_vec();
        for (output, sum) in expected.iter_mut().enumerate() {
            for (input, row) in rows.iter().enumerate() {
                if matrix.get(output, input) {
                    *sum ^= *row;
                }
            }
        }
        let map = LinearMap::new(&matrix);
        for &level in Simd::supported() {
            let (mut found, mut scratch) = (before.to_vec(), [Block512([3; 8]); LINEAR_SCRATCH]);
            linear::add_image_on(level, &map, rows, &mut found, &mut scratch);
            assert!(found == expected, "{level}: {inputs} to {outputs}");
        }
    }
}

#[test]
fn vectors_of_bytes_become_rows_and_back() {
    let mut entropy = Entropy::for_tests(12);
    for blocks in [1, 2, 3, 15] {
        let mut vectors = vec![Block::ZERO; 64 * blocks];
        entropy.fill(as_bytes_mut(&mut vectors));
        for &level in Simd::supported() {
            let mut rows = vec![Block512::ZERO; 16 * blocks];
            symbols::vectors_to_rows_on(level, &vectors, &mut rows);
            for (vector, bytes) in as_bytes(&vectors).chunks(16 * blocks).enumerate() {
                for (row, &byte) in bytes.iter().enumerate() {
                    assert_eq!(
                        as_bytes(&rows)[64 * row + vector],
                        byte,
                        "{level}: byte {row} of {vector}"
                    );
                }
            }
            let mut back = vec![Block::ZERO; 64 * blocks];
            symbols::rows_to_vectors_on(level, &rows, &mut back);
            assert!(back == vectors, "{level}");
        }
    }
}
