//! AES, SHA-2 and SHA-3 circuits against the vectors of their standards and against other implementations.

use std::slice;

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use cenote_circuit::library::{self, AesSbox, Goal};
use cenote_circuit::{BitOrder, Builder, Circuit};
use cenote_primitives::BitMatrix;
use proptest::prelude::*;
use sha2::Digest;

const SBOXES: [AesSbox; 3] = [AesSbox::FewestAnds, AesSbox::Balanced, AesSbox::LeastDepth];
const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

/// The only output, as bytes, on each row of inputs given as bytes.
fn run(circuit: &Circuit, rows: &[Vec<Vec<u8>>]) -> Vec<Vec<u8>> {
    let mut inputs = BitMatrix::zeros(circuit.input_wires() as usize, rows.len());
    let groups = || rows.chunks(64).enumerate();
    for (index, value) in circuit.inputs().iter().enumerate() {
        for (group, rows) in groups() {
            let mut numbers = vec![0; value.words() * rows.len()];
            for (number, row) in numbers.chunks_exact_mut(value.words()).zip(rows) {
                value.parse_hex(&hex::encode(&row[index]), number).unwrap();
            }
            value.store(&numbers, &mut inputs, circuit.input_range(index), group);
        }
    }
    let outputs = circuit.evaluate(&inputs).unwrap();
    let value = &circuit.outputs()[0];
    let numbers = groups().flat_map(|(group, _)| value.load(&outputs, circuit.output_range(0), group));
    let numbers: Vec<u64> = numbers.collect();
    let bytes = |number: &[u64]| hex::decode(value.hex(number)).unwrap();
    numbers.chunks_exact(value.words()).map(bytes).collect()
}

fn hex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

/// Appendices B and C of FIPS 197: key, message, ciphertext.
const AES_VECTORS: [(&str, &str, &str); 4] = [
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    ),
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
    (
        "000102030405060708090a0b0c0d0e0f1011121314151617",
        "00112233445566778899aabbccddeeff",
        "dda97ca4864cdfe06eaf70a0ec0d7191",
    ),
    (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ),
];

#[test]
fn aes_gives_the_vectors_of_the_standard() {
    for sbox in SBOXES {
        for (key, message, ciphertext) in AES_VECTORS {
            let (key, message) = (hex(key), hex(message));
            let circuit = library::aes(8 * key.len() as u32, sbox);
            assert_eq!(
                run(&circuit, &[vec![key.clone(), message.clone()]]),
                [hex(ciphertext)],
                "{sbox:?}"
            );
            let circuit = library::aes_inverse(8 * key.len() as u32, sbox);
            assert_eq!(
                run(&circuit, &[vec![key, hex(ciphertext)]]),
                [message],
                "{sbox:?}"
            );
        }
    }
}

#[test]
fn every_s_box_is_right_on_every_byte() {
    // The definition: inverse, then affine map. The inverse is searched for.
    let times = |x: u8, y: u8| {
        let product = (0..8)
            .filter(|i| y >> i & 1 == 1)
            .fold(0u16, |p, i| p ^ u16::from(x) << i);
        (8..15).rev().fold(
            product,
            |p, i| if p >> i & 1 == 1 { p ^ 0x11b << (i - 8) } else { p },
        ) as u8
    };
    let substitute = |x: u8| {
        let inverse = (1..=255).find(|&y| times(x, y) == 1).unwrap_or(0);
        (0..5).fold(0x63, |s, turn| s ^ inverse.rotate_left(turn))
    };
    assert_eq!((substitute(0), substitute(0x53)), (0x63, 0xed));
    for (sbox, ands, depth) in [
        (AesSbox::FewestAnds, 32, 5),
        (AesSbox::Balanced, 33, 4),
        (AesSbox::LeastDepth, 49, 3),
    ] {
        let mut b = Builder::new();
        let byte = b.input("byte", 8, BitOrder::Lsb);
        let image = library::aes_sbox(&mut b, &byte, sbox);
        b.output("image", &image, BitOrder::Lsb);
        let circuit = b.finish();
        let statistics = circuit.statistics();
        assert_eq!((statistics.ands, statistics.and_depth), (ands, depth), "{sbox:?}");
        let rows: Vec<Vec<Vec<u8>>> = (0..=255).map(|x| vec![vec![x]]).collect();
        for (x, image) in (0..=255).zip(run(&circuit, &rows)) {
            assert_eq!(image, [substitute(x)], "{sbox:?} of {x:#x}");
        }

        let mut b = Builder::new();
        let byte = b.input("byte", 8, BitOrder::Lsb);
        let image = library::aes_inverse_sbox(&mut b, &byte, sbox);
        b.output("image", &image, BitOrder::Lsb);
        let circuit = b.finish();
        let statistics = circuit.statistics();
        assert_eq!((statistics.ands, statistics.and_depth), (ands, depth), "{sbox:?}");
        let rows: Vec<Vec<Vec<u8>>> = (0..=255).map(|x| vec![vec![substitute(x)]]).collect();
        for (x, image) in (0..=255).zip(run(&circuit, &rows)) {
            assert_eq!(image, [x], "the inverse of {sbox:?} at {x:#x}");
        }
    }
}

#[test]
fn sha256_gives_the_vectors_of_the_standard() {
    let mut padded = b"abc\x80".to_vec();
    padded.resize(63, 0);
    padded.push(24);
    let row = vec![padded];
    let digest = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for goal in GOALS {
        let circuit = library::sha256_single_block(goal);
        assert_eq!(
            run(&circuit, slice::from_ref(&row)),
            slice::from_ref(&digest),
            "{goal:?}"
        );
    }
}

#[test]
fn sha256_blocks_chain() {
    let message = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(126, 0);
    padded.extend((8 * message.len() as u16).to_be_bytes());
    let mut b = Builder::new();
    let blocks = [
        b.input("first", 512, BitOrder::Lsb),
        b.input("second", 512, BitOrder::Lsb),
    ];
    let digest = blocks
        .iter()
        .fold(library::sha256_initial_state(), |state, block| {
            library::sha256_block(&mut b, block, &state, Goal::FewestAnds)
        });
    b.output("digest", &digest, BitOrder::Lsb);
    let rows = [vec![padded[..64].to_vec(), padded[64..].to_vec()]];
    let expected = hex("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_eq!(expected, sha2::Sha256::digest(message).to_vec());
    assert_eq!(run(&b.finish(), &rows), [expected]);
}

/// The blocks of a message, padded as for SHA-512.
fn sha512_blocks(message: &[u8]) -> Vec<Vec<u8>> {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 17).next_multiple_of(128) - 16, 0);
    padded.extend((8 * message.len() as u128).to_be_bytes());
    padded.chunks(128).map(<[u8]>::to_vec).collect()
}

#[test]
fn sha512_gives_the_vectors_of_the_standard() {
    let long = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    let vectors: [(&[u8], &str); 2] = [
        (
            b"abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            long,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
             501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
        ),
    ];
    for (message, digest) in vectors {
        let blocks = sha512_blocks(message);
        // The shallow one takes seconds to make.
        let goals = if blocks.len() == 1 {
            &GOALS[..]
        } else {
            &GOALS[..1]
        };
        for &goal in goals {
            let mut b = Builder::new();
            let inputs: Vec<_> = blocks
                .iter()
                .map(|_| b.input("block", 1024, BitOrder::Lsb))
                .collect();
            let state = inputs
                .iter()
                .fold(library::sha512_initial_state(), |state, block| {
                    library::sha512_block(&mut b, block, &state, goal)
                });
            b.output("digest", &state, BitOrder::Lsb);
            assert_eq!(
                run(&b.finish(), slice::from_ref(&blocks)),
                [hex(digest)],
                "{goal:?}"
            );
        }
    }
}

/// A message shorter than a block, padded as for SHA3-256.
fn sha3_256_block(message: &[u8]) -> Vec<u8> {
    let mut block = message.to_vec();
    block.push(0x06);
    block.resize(136, 0);
    block[135] |= 0x80;
    block
}

#[test]
fn sha3_256_gives_the_vectors_of_the_standard() {
    let full: Vec<u8> = (0..135).collect();
    let vectors: [(&[u8], &str); 3] = [
        (
            b"",
            "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
        ),
        (
            b"abc",
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
        ),
        (
            &full,
            "fded8fd9d6551c601eeb3b7c6bc5e5cfd8aad1d015b7e9aaa9c9b9475231d5e2",
        ),
    ];
    let circuit = library::sha3_256_single_block();
    for (message, digest) in vectors {
        assert_eq!(run(&circuit, &[vec![sha3_256_block(message)]]), [hex(digest)]);
    }
}

#[test]
fn keccak_absorbs_blocks() {
    // 200 bytes of value 0xa3 take two blocks; the digest is an example of the standard's authors.
    let message = [0xa3; 200];
    let blocks = vec![message[..136].to_vec(), sha3_256_block(&message[136..])];
    let mut b = Builder::new();
    let inputs: Vec<_> = blocks
        .iter()
        .map(|_| b.input("block", 1088, BitOrder::Lsb))
        .collect();
    let mut state = library::constant(0, 1600);
    for block in inputs {
        let absorbed = library::xor(&mut b, &state[512..], &block);
        state.splice(512.., absorbed);
        state = library::keccak_f(&mut b, &state);
    }
    b.output("digest", &state[1600 - 256..], BitOrder::Lsb);
    let digest = hex("79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787");
    assert_eq!(run(&b.finish(), &[blocks]), [digest]);
}

fn bytes(n: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn aes_agrees_with_another_implementation(rows in prop::collection::vec((bytes(16), bytes(16)), 64)) {
        let expected: Vec<Vec<u8>> = rows
            .iter()
            .map(|(key, message)| {
                let cipher = aes::Aes128::new_from_slice(key).unwrap();
                let mut block = Array::try_from(&message[..]).unwrap();
                cipher.encrypt_block(&mut block);
                block.to_vec()
            })
            .collect();
        let decrypted: Vec<Vec<u8>> = rows
            .iter()
            .map(|(key, message)| {
                let cipher = aes::Aes256::new_from_slice(&[&key[..], key].concat()).unwrap();
                let mut block = Array::try_from(&message[..]).unwrap();
                cipher.decrypt_block(&mut block);
                block.to_vec()
            })
            .collect();
        let rows: Vec<Vec<Vec<u8>>> = rows.into_iter().map(|(key, message)| vec![key, message]).collect();
        for sbox in SBOXES {
            prop_assert_eq!(&run(&library::aes128(sbox), &rows), &expected);
        }
        let rows: Vec<Vec<Vec<u8>>> =
            rows.into_iter().map(|row| vec![row[0].repeat(2), row[1].clone()]).collect();
        for sbox in SBOXES {
            prop_assert_eq!(&run(&library::aes_inverse(256, sbox), &rows), &decrypted);
        }
    }

    #[test]
    fn sha512_agrees_with_another_implementation(rows in prop::collection::vec((bytes(128), bytes(64)), 16)) {
        let expected: Vec<Vec<u8>> = rows
            .iter()
            .map(|(block, state)| {
                let words = state.chunks(8).map(|w| u64::from_be_bytes(w.try_into().unwrap()));
                let mut state: [u64; 8] = words.collect::<Vec<u64>>().try_into().unwrap();
                sha2::block_api::compress512(&mut state, &[block[..].try_into().unwrap()]);
                state.iter().flat_map(|word| word.to_be_bytes()).collect()
            })
            .collect();
        let rows: Vec<Vec<Vec<u8>>> = rows.into_iter().map(|(block, state)| vec![block, state]).collect();
        prop_assert_eq!(&run(&library::sha512_compress(Goal::FewestAnds), &rows), &expected);
    }

    #[test]
    fn sha256_agrees_with_another_implementation(rows in prop::collection::vec((bytes(64), bytes(32)), 64)) {
        let expected: Vec<Vec<u8>> = rows
            .iter()
            .map(|(block, state)| {
                let words = state.chunks(4).map(|w| u32::from_be_bytes(w.try_into().unwrap()));
                let mut state: [u32; 8] = words.collect::<Vec<u32>>().try_into().unwrap();
                sha2::block_api::compress256(&mut state, &[block[..].try_into().unwrap()]);
                state.iter().flat_map(|word| word.to_be_bytes()).collect()
            })
            .collect();
        let rows: Vec<Vec<Vec<u8>>> = rows.into_iter().map(|(block, state)| vec![block, state]).collect();
        for goal in GOALS {
            prop_assert_eq!(&run(&library::sha256_compress(goal), &rows), &expected);
        }
    }
}
