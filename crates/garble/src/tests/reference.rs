//! Half gates straight from the paper's figure, gate by gate, with branches, on numbers of 128 bits.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use cenote_primitives::Block;

use super::START;

pub(super) fn aes(key: u128, x: u128) -> u128 {
    let mut block = x.to_le_bytes().into();
    aes::Aes128::new(&key.to_le_bytes().into()).encrypt_block(&mut block);
    u128::from_le_bytes(block.into())
}

pub(super) fn aes_inverse(key: u128, y: u128) -> u128 {
    let mut block = y.to_le_bytes().into();
    aes::Aes128::new(&key.to_le_bytes().into()).decrypt_block(&mut block);
    u128::from_le_bytes(block.into())
}

/// AES under the start plus the tweak, of σ(x), plus σ(x); σ of (low, high) is (high, low ⊕ high).
pub(super) fn hash(x: u128, tweak: u64) -> u128 {
    let (low, high) = (x & u128::from(u64::MAX), x >> 64);
    let sigma = (low ^ high) << 64 | high;
    aes(START.swap_bytes() ^ u128::from(tweak), sigma) ^ sigma
}

fn lsb(x: u128) -> bool {
    x & 1 == 1
}

fn when(bit: bool, x: u128) -> u128 {
    if bit { x } else { 0 }
}

/// The hash of a gate's right label.
fn hash_apart(x: u128, tweak: u64) -> u128 {
    hash(x ^ 2, tweak)
}

/// Table (garbler's half, evaluator's half) and output 0-label of an AND gate.
pub(super) fn garble(delta: u128, gate: u64, a: u128, b: u128) -> ([u128; 2], u128) {
    let garbler = hash(a, gate) ^ hash(a ^ delta, gate) ^ when(lsb(b), delta);
    let of_garbler = hash(a, gate) ^ when(lsb(a), garbler);
    let evaluator = hash_apart(b, gate) ^ hash_apart(b ^ delta, gate) ^ a;
    let of_evaluator = hash_apart(b, gate) ^ when(lsb(b), evaluator ^ a);
    ([garbler, evaluator], of_garbler ^ of_evaluator)
}

/// The output label on labels `a` and `b`.
pub(super) fn evaluate(gate: u64, a: u128, b: u128, [garbler, evaluator]: [u128; 2]) -> u128 {
    let of_garbler = hash(a, gate) ^ when(lsb(a), garbler);
    let of_evaluator = hash_apart(b, gate) ^ when(lsb(b), evaluator ^ a);
    of_garbler ^ of_evaluator
}

pub(super) fn block(x: u128) -> Block {
    Block::from_bytes(x.to_le_bytes())
}

pub(super) fn number(block: Block) -> u128 {
    u128::from_le_bytes(block.to_bytes())
}
