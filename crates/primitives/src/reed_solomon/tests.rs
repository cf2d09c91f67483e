use super::*;
use crate::{Block512, Sampler, Simd, as_bytes};

/// The codeword of one message, symbol by symbol.
fn codeword(code: &ReedSolomon, message: &[u8]) -> Vec<u8> {
    let rows = code.generator.chunks_exact(code.message);
    rows.map(|row| {
        let products = row.iter().zip(message).map(|(&a, &m)| mul(a, m));
        products.fold(0, |sum, product| sum ^ product)
    })
    .collect()
}

/// The rank of the rows.
fn rank(mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows.first().map_or(0, Vec::len) {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else {
            continue;
        };
        rows.swap(rank, pivot);
        let scale = inverse(rows[rank][column]);
        let pivot: Vec<u8> = rows[rank].iter().map(|&a| mul(a, scale)).collect();
        for row in &mut rows[rank + 1..] {
            let factor = row[column];
            row.iter_mut()
                .zip(&pivot)
                .for_each(|(a, &p)| *a ^= mul(factor, p));
        }
        rank += 1;
    }
    rank
}

#[test]
fn codewords_are_values_of_a_polynomial() {
    // Of x^3 + 5 x + 9, by Horner's rule.
    let value = |x: u8| mul(mul(mul(x, x) ^ 5, x), 1) ^ 9;
    for message in 4..20 {
        let code = ReedSolomon::new(255, message);
        let values: Vec<u8> = (0..255).map(value).collect();
        assert_eq!(codeword(&code, &values[..message]), values, "k = {message}");
    }
}

#[test]
fn small_codes_have_their_minimum_distance() {
    // All messages but for a factor: the first symbol that is not zero is one.
    for (length, message) in [(2, 1), (3, 2), (6, 2), (255, 2), (5, 3), (9, 3)] {
        let code = ReedSolomon::new(length, message);
        let mut least = length;
        for number in 1..256usize.pow(message as u32) {
            let digits: Vec<u8> = (0..message).map(|i| (number >> (8 * i)) as u8).collect();
            if digits.iter().find(|&&digit| digit != 0) != Some(&1) {
                continue;
            }
            let weight = codeword(&code, &digits)
                .iter()
                .filter(|&&symbol| symbol != 0)
                .count();
            least = least.min(weight);
        }
        assert_eq!(least, length - message + 1, "[{length}, {message}]");
    }
}

#[test]
fn any_k_symbols_determine_a_codeword() {
    let mut sampler = Sampler::new(crate::Block([1, 2]));
    for (length, message) in [(88, 48), (63, 32), (142, 64)] {
        let code = ReedSolomon::new(length, message);
        let rows: Vec<Vec<u8>> = code.generator.chunks_exact(message).map(<[u8]>::to_vec).collect();
        let mut places: Vec<u32> = (0..length as u32).collect();
        for _ in 0..20 {
            sampler.shuffle(&mut places);
            let chosen = places[..message].iter().map(|&i| rows[i as usize].clone());
            assert_eq!(rank(chosen.collect()), message);
        }
        // The test can fail.
        let twice = places[..message - 1].iter().chain(&places[..1]);
        assert_eq!(
            rank(twice.map(|&i| rows[i as usize].clone()).collect()),
            message - 1
        );
    }
}

#[test]
fn maps_encode_on_every_level() {
    let mut sampler = Sampler::new(crate::Block([3, 4]));
    for (length, message) in [(2, 1), (88, 48), (255, 128), (40, 7)] {
        let code = ReedSolomon::new(length, message);
        let positions: Vec<usize> = (0..length).rev().step_by(3).collect();
        let mut rows = vec![Block512::ZERO; message];
        rows.iter_mut()
            .for_each(|row| row.0 = std::array::from_fn(|_| sampler.next_u64()));
        let before = vec![Block512([0x5a; 8]); length];
        for &level in Simd::supported() {
            let (mut parity, mut chosen) = (before[message..].to_vec(), before[..positions.len()].to_vec());
            code.parity().add_on(level, &rows, &mut parity);
            code.symbols(&positions).add_on(level, &rows, &mut chosen);
            for symbol in 0..64 {
                let at = |rows: &[Block512], row: usize| as_bytes(&rows[row..=row])[symbol];
                let values: Vec<u8> = (0..message).map(|i| at(&rows, i)).collect();
                let expected = codeword(&code, &values);
                assert_eq!(expected[..message], values);
                for (i, &expected) in expected[message..].iter().enumerate() {
                    let sum = at(&parity, i) ^ at(&before, i);
                    assert_eq!(sum, expected, "{level}: parity {i} of symbol {symbol}");
                }
                for (i, &position) in positions.iter().enumerate() {
                    let sum = at(&chosen, i) ^ at(&before, i);
                    assert_eq!(sum, expected[position], "{level}: position {position}");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "no code of length 48 and dimension 48")]
fn a_code_has_parity() {
    ReedSolomon::new(48, 48);
}
