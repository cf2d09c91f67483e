//! AES (FIPS 197), both directions, key schedule included.
//!
//! A block or key is the integer that its hexadecimal string spells, least significant bit first: byte 0 of FIPS 197 is
//! the last eight bits. This is the order of the Bristol Fashion circuits.

use std::sync::LazyLock;

use super::field::multiply;
use super::integer::{constant, xor};
use super::linear::LinearMap;
use super::sbox::{AesSbox, aes_inverse_sbox, aes_sbox};
use crate::{Bit, BitOrder, Builder, Circuit};

type Byte = Vec<Bit>;

/// AES-128 of a block: inputs `key` and `message`, output `ciphertext`, each 128 wires and [`BitOrder::Lsb`].
pub fn aes128(sbox: impl Into<AesSbox>) -> Circuit {
    aes(128, sbox)
}

/// AES with a key of `key_bits`; values as for [`aes128`].
///
/// # Panics
/// If there is no such AES.
pub fn aes(key_bits: u32, sbox: impl Into<AesSbox>) -> Circuit {
    let mut b = Builder::new();
    let key = b.input("key", key_bits, BitOrder::Lsb);
    let message = b.input("message", 128, BitOrder::Lsb);
    let ciphertext = aes_encrypt(&mut b, &key, &message, sbox);
    b.output("ciphertext", &ciphertext, BitOrder::Lsb);
    b.finish()
}

/// The inverse of [`aes`]: inputs `key` of `key_bits` and `ciphertext`, output `message`.
///
/// # Panics
/// If there is no such AES.
pub fn aes_inverse(key_bits: u32, sbox: impl Into<AesSbox>) -> Circuit {
    let mut b = Builder::new();
    let key = b.input("key", key_bits, BitOrder::Lsb);
    let ciphertext = b.input("ciphertext", 128, BitOrder::Lsb);
    let message = aes_decrypt(&mut b, &key, &ciphertext, sbox);
    b.output("message", &message, BitOrder::Lsb);
    b.finish()
}

/// The AES ciphertext of `message` under `key` of 128, 192 or 256 bits.
///
/// # Panics
/// If `message` is not 128 bits or `key` has another width.
pub fn aes_encrypt(b: &mut Builder, key: &[Bit], message: &[Bit], sbox: impl Into<AesSbox>) -> Vec<Bit> {
    let sbox = sbox.into();
    let round_keys = key_schedule(b, key, sbox);
    let mut state = block(message);
    add_round_key(b, &mut state, &round_keys[0]);
    let last = round_keys.len() - 1;
    for (round, round_key) in round_keys.iter().enumerate().skip(1) {
        for byte in &mut state {
            *byte = aes_sbox(b, byte, sbox);
        }
        // Row r, column c of the state is byte 4c + r; row r moves by r columns.
        state = (0..16).map(|i| state[(i + 4 * (i % 4)) % 16].clone()).collect();
        if round != last {
            state = state.chunks(4).flat_map(|column| mix_column(b, column)).collect();
        }
        add_round_key(b, &mut state, round_key);
    }
    state.iter().rev().flatten().copied().collect()
}

/// The message of which `ciphertext` is the AES ciphertext under `key`; ANDs as for [`aes_encrypt`], but the last round
/// key comes first, so that the depth is that of the key schedule and the rounds together.
///
/// # Panics
/// If `ciphertext` is not 128 bits or `key` has another width.
pub fn aes_decrypt(b: &mut Builder, key: &[Bit], ciphertext: &[Bit], sbox: impl Into<AesSbox>) -> Vec<Bit> {
    let sbox = sbox.into();
    let round_keys = key_schedule(b, key, sbox);
    let mut state = block(ciphertext);
    let last = round_keys.len() - 1;
    add_round_key(b, &mut state, &round_keys[last]);
    for (round, round_key) in round_keys.iter().enumerate().take(last).rev() {
        // Row r moves back by r columns, which are 12r bytes on.
        state = (0..16).map(|i| state[(i + 12 * (i % 4)) % 16].clone()).collect();
        for byte in &mut state {
            *byte = aes_inverse_sbox(b, byte, sbox);
        }
        add_round_key(b, &mut state, round_key);
        if round != 0 {
            state = state
                .chunks(4)
                .flat_map(|column| unmix_column(b, column))
                .collect();
        }
    }
    state.iter().rev().flatten().copied().collect()
}

fn block(value: &[Bit]) -> Vec<Byte> {
    assert_eq!(value.len(), 128, "an AES block has 128 bits");
    bytes(value)
}

/// Byte 0 first, each least significant bit first.
fn bytes(value: &[Bit]) -> Vec<Byte> {
    value.chunks(8).rev().map(<[Bit]>::to_vec).collect()
}

/// One vector of 16 bytes for each round, and one before the first.
fn key_schedule(b: &mut Builder, key: &[Bit], sbox: AesSbox) -> Vec<Vec<Byte>> {
    assert!(
        matches!(key.len(), 128 | 192 | 256),
        "an AES key has 128, 192 or 256 bits"
    );
    let key = bytes(key);
    let key_words = key.len() / 4;
    let rounds = key_words + 6;
    let mut words: Vec<Vec<Byte>> = key.chunks(4).map(<[Byte]>::to_vec).collect();
    let mut round_constant = 1;
    for i in key_words..4 * (rounds + 1) {
        let mut word = words[i - 1].clone();
        if i % key_words == 0 {
            word.rotate_left(1);
        }
        if i % key_words == 0 || (key_words > 6 && i % key_words == 4) {
            for byte in &mut word {
                *byte = aes_sbox(b, byte, sbox);
            }
        }
        if i % key_words == 0 {
            word[0] = xor(b, &word[0], &constant(round_constant.into(), 8));
            round_constant = multiply(round_constant, 2);
        }
        for (byte, earlier) in word.iter_mut().zip(&words[i - key_words]) {
            *byte = xor(b, byte, earlier);
        }
        words.push(word);
    }
    words.chunks(4).map(|chunk| chunk.concat()).collect()
}

fn add_round_key(b: &mut Builder, state: &mut [Byte], round_key: &[Byte]) {
    for (byte, key) in state.iter_mut().zip(round_key) {
        *byte = xor(b, byte, key);
    }
}

fn mix_column(b: &mut Builder, column: &[Byte]) -> Vec<Byte> {
    static MAP: LazyLock<LinearMap> = LazyLock::new(|| circulant([2, 3, 1, 1]));
    apply(b, &MAP, column)
}

/// The inverse of [`mix_column`], as `(5, 0, 4, 0)` and then [`mix_column`] take fewer XORs than all at once.
fn unmix_column(b: &mut Builder, column: &[Byte]) -> Vec<Byte> {
    static MAP: LazyLock<LinearMap> = LazyLock::new(|| circulant([5, 0, 4, 0]));
    let column = apply(b, &MAP, column);
    mix_column(b, &column)
}

/// The map on columns that has `coefficients` in its first row, and in the others the same, each time one place on.
fn circulant(coefficients: [u8; 4]) -> LinearMap {
    let mut rows = [0u64; 32];
    for input in 0..32 {
        for byte in 0..4 {
            let coefficient = coefficients[(input / 8 + 4 - byte) % 4];
            let image = multiply(coefficient, 1 << (input % 8));
            for bit in 0..8 {
                rows[8 * byte + bit] |= u64::from(image >> bit & 1) << input;
            }
        }
    }
    LinearMap::new(32, &rows)
}

fn apply(b: &mut Builder, map: &LinearMap, column: &[Byte]) -> Vec<Byte> {
    let image = map.apply(b, &column.concat());
    image.chunks(8).map(<[Bit]>::to_vec).collect()
}
