use cenote_primitives::Entropy;

use super::*;

/// The codeword of `message` as a polynomial of 512 coefficients, by long division.
fn by_division(message: u128) -> [bool; 512] {
    let generator = bch::generator_polynomial();
    let mut remainder = [false; 512];
    for i in 0..128 {
        remainder[PARITY_BITS + i] = message >> i & 1 == 1;
    }
    let mut codeword = remainder;
    for top in (PARITY_BITS..512).rev() {
        if remainder[top] {
            for i in 0..=PARITY_BITS {
                remainder[top - PARITY_BITS + i] ^= generator[i / 64] >> (i % 64) & 1 == 1;
            }
        }
    }
    for (bit, &rest) in codeword.iter_mut().zip(&remainder) {
        *bit ^= rest;
    }
    codeword
}

/// Bit `i` of a share.
fn bit(share: &Share, i: usize) -> bool {
    share.0[i / 64] >> (i % 64) & 1 == 1
}

fn encode(messages: &[Block]) -> Vec<Share> {
    let mut codewords = vec![Share::default(); messages.len()];
    let mut scratch = vec![Block512([5; 8]); ENCODE_SCRATCH];
    encode_columns(messages, &mut scratch, |i, codeword| codewords[i] = codeword);
    codewords
}

fn random(seed: u64, count: usize) -> Vec<Block> {
    let mut entropy = Entropy::for_tests(seed);
    (0..count).map(|_| entropy.block()).collect()
}

/// The codewords of the messages with one bit each.
fn basis() -> Vec<Share> {
    let bits: Vec<Block> = (0..128)
        .map(|i| Block::from_bytes((1u128 << i).to_le_bytes()))
        .collect();
    encode(&bits)
}

#[test]
fn parameters() {
    assert_eq!((CODE_BITS, MESSAGE_BITS, PARITY_BITS), (299, 128, 171));
}

#[test]
fn codewords_are_those_of_the_definition() {
    let mut messages = random(1, 600);
    messages.extend([
        Block::ZERO,
        Block([1, 0]),
        Block([0, 1 << 63]),
        Block([u64::MAX; 2]),
    ]);
    for (message, codeword) in messages.iter().zip(encode(&messages)) {
        let expected = by_division(u128::from_le_bytes(message.to_bytes()));
        assert_eq!(codeword.0[..2], message.0, "systematic");
        for i in 0..SHARE_WORDS * 64 {
            let position = match i {
                ..MESSAGE_BITS => PARITY_BITS + i,
                _ => i - MESSAGE_BITS,
            };
            assert_eq!(bit(&codeword, i), i < CODE_BITS && expected[position], "bit {i}");
        }
    }
}

#[test]
fn every_codeword_has_the_forty_roots() {
    // The powers of α, where α^9 = α^4 + 1.
    let next = |&a: &u16| Some(if a & 256 != 0 { a << 1 ^ 0x211 } else { a << 1 });
    let powers: Vec<u16> = std::iter::successors(Some(1), next).take(511).collect();
    for codeword in basis() {
        let coefficient = |position: usize| match position {
            ..PARITY_BITS => bit(&codeword, MESSAGE_BITS + position),
            _ => bit(&codeword, position - PARITY_BITS),
        };
        for root in 1..=40 {
            let value = (0..CODE_BITS)
                .filter(|&i| coefficient(i))
                .fold(0, |sum, i| sum ^ powers[root * i % 511]);
            assert_eq!(value, 0, "α^{root}");
        }
    }
}

#[test]
fn no_sum_of_few_basis_codewords_is_light() {
    let weight = |x: &Share| x.0.iter().map(|word| word.count_ones()).sum::<u32>();
    let basis = basis();
    let mut least = u32::MAX;
    for (i, &a) in basis.iter().enumerate() {
        least = least.min(weight(&a));
        for (j, &b) in basis[..i].iter().enumerate() {
            let b = a ^ b;
            least = least.min(weight(&b));
            for (k, &c) in basis[..j].iter().enumerate() {
                let c = b ^ c;
                least = least.min(weight(&c));
                for &d in &basis[..k] {
                    least = least.min(weight(&(c ^ d)));
                }
            }
        }
    }
    assert!(least >= 41, "{least}");
    let lightest = encode(&random(2, 20_000)).iter().map(weight).min();
    assert!(lightest >= Some(41), "{lightest:?}");
}

#[test]
fn the_code_is_linear_and_rows_agree_with_columns() {
    let messages = random(3, 128);
    let codewords = encode(&messages);
    let mut rows = [Block512::ZERO; MESSAGE_BITS];
    columns_to_rows::<2>(bytemuck::cast_slice(&messages), &mut rows);
    let rows: Vec<Block> = rows.iter().map(|row| Block([row.0[0], row.0[1]])).collect();
    for (i, row) in encode_rows(&rows).iter().enumerate() {
        for (column, codeword) in codewords.iter().enumerate() {
            assert_eq!(
                row.0[column / 64] >> (column % 64) & 1 == 1,
                bit(codeword, i),
                "row {i}, column {column}"
            );
        }
    }
    let sums: Vec<Block> = messages.windows(2).map(|pair| pair[0] ^ pair[1]).collect();
    for (sum, pair) in encode(&sums).iter().zip(codewords.windows(2)) {
        assert_eq!(*sum, pair[0] ^ pair[1]);
    }
}
