//! Half gates straight from the paper's figure, gate by gate, with branches, on numbers of 128 bits.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use cenote_primitives::Block;

/// π: AES-128 under the first bits of the number π.
fn permute(x: u128) -> u128 {
    let mut block = x.to_le_bytes().into();
    aes::Aes128::new(
        &0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344_u128
            .to_be_bytes()
            .into(),
    )
    .encrypt_block(&mut block);
    u128::from_le_bytes(block.into())
}

/// π(π(x) ⊕ i) ⊕ π(x)
pub(super) fn hash(x: u128, tweak: u64) -> u128 {
    permute(permute(x) ^ u128::from(tweak)) ^ permute(x)
}

fn lsb(x: u128) -> bool {
    x & 1 == 1
}

fn when(bit: bool, x: u128) -> u128 {
    if bit { x } else { 0 }
}

/// Table (garbler's half, evaluator's half) and output 0-label of an AND gate.
pub(super) fn garble(delta: u128, gate: u64, a: u128, b: u128) -> ([u128; 2], u128) {
    let (j, j2) = (2 * gate, 2 * gate + 1);
    let garbler = hash(a, j) ^ hash(a ^ delta, j) ^ when(lsb(b), delta);
    let of_garbler = hash(a, j) ^ when(lsb(a), garbler);
    let evaluator = hash(b, j2) ^ hash(b ^ delta, j2) ^ a;
    let of_evaluator = hash(b, j2) ^ when(lsb(b), evaluator ^ a);
    ([garbler, evaluator], of_garbler ^ of_evaluator)
}

/// The output label on labels `a` and `b`.
pub(super) fn evaluate(gate: u64, a: u128, b: u128, [garbler, evaluator]: [u128; 2]) -> u128 {
    let of_garbler = hash(a, 2 * gate) ^ when(lsb(a), garbler);
    let of_evaluator = hash(b, 2 * gate + 1) ^ when(lsb(b), evaluator ^ a);
    of_garbler ^ of_evaluator
}

pub(super) fn block(x: u128) -> Block {
    Block::from_bytes(x.to_le_bytes())
}

pub(super) fn number(block: Block) -> u128 {
    u128::from_le_bytes(block.to_bytes())
}
