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

/// The product in GF(2)[x] modulo x^128 + x^7 + x^2 + x + 1, bit by bit.
fn times(a: u128, b: u128) -> u128 {
    (0..128).rev().fold(0, |product: u128, i| {
        product << 1 ^ when(product >> 127 == 1, 0x87) ^ when(b >> i & 1 == 1, a)
    })
}

/// Half gates over labels of several numbers, compressed by the multipliers `map`.
pub(super) struct Wide<'a> {
    pub(super) map: &'a [u128],
}

impl Wide<'_> {
    /// All blocks of the hash of a left or, with `right`, of a right label.
    fn hash(&self, label: &[u128], right: bool, gate: u64) -> Vec<u128> {
        let compressed = label
            .iter()
            .zip(self.map)
            .fold(0, |sum, (&block, &factor)| sum ^ times(block, factor));
        let blocks = self.map.len();
        let constants = if right { blocks..2 * blocks } else { 0..blocks };
        constants
            .map(|constant| hash(compressed ^ constant as u128, gate))
            .collect()
    }

    /// Tables (garbler's half, evaluator's half) and output 0-label.
    pub(super) fn garble(
        &self,
        delta: &[u128],
        gate: u64,
        a: &[u128],
        b: &[u128],
    ) -> ([Vec<u128>; 2], Vec<u128>) {
        let add = |x: &[u128], y: &[u128]| -> Vec<u128> { x.iter().zip(y).map(|(x, y)| x ^ y).collect() };
        let all_when = |bit: bool, x: &[u128]| -> Vec<u128> { x.iter().map(|x| when(bit, *x)).collect() };
        let [a0, a1] = [a, &add(a, delta)].map(|label| self.hash(label, false, gate));
        let [b0, b1] = [b, &add(b, delta)].map(|label| self.hash(label, true, gate));
        let garbler = add(&add(&a0, &a1), &all_when(lsb(b[0]), delta));
        let of_garbler = add(&a0, &all_when(lsb(a[0]), &garbler));
        let evaluator = add(&add(&b0, &b1), a);
        let of_evaluator = add(&b0, &all_when(lsb(b[0]), &add(&evaluator, a)));
        ([garbler, evaluator], add(&of_garbler, &of_evaluator))
    }

    /// The output label on labels `a` and `b`.
    pub(super) fn evaluate(&self, gate: u64, a: &[u128], b: &[u128], table: &[u128]) -> Vec<u128> {
        let (garbler, evaluator) = table.split_at(a.len());
        let hashes = [self.hash(a, false, gate), self.hash(b, true, gate)];
        (0..a.len())
            .map(|k| {
                let of_garbler = hashes[0][k] ^ when(lsb(a[0]), garbler[k]);
                of_garbler ^ hashes[1][k] ^ when(lsb(b[0]), evaluator[k] ^ a[k])
            })
            .collect()
    }
}

pub(super) fn block(x: u128) -> Block {
    Block::from_bytes(x.to_le_bytes())
}

pub(super) fn number(block: Block) -> u128 {
    u128::from_le_bytes(block.to_bytes())
}
