mod authenticators;
mod buckets;
mod gates;
mod reference;
mod wide;

use cenote_primitives::Block;
use proptest::prelude::*;

use super::Base;

/// A block of any content.
fn any_block() -> impl Strategy<Value = Block> {
    any::<[u64; 2]>().prop_map(Block)
}

/// An offset Δ: its last bit is 1.
fn any_delta() -> impl Strategy<Value = Block> {
    any::<[u64; 2]>().prop_map(|[low, high]| Block([low | 1_u64.to_le(), high]))
}

/// The label of `bit` on the wire with 0-label `wire`.
fn label(wire: Block, delta: Block, bit: bool) -> Block {
    if bit { wire ^ delta } else { wire }
}

/// The block whose bytes these hexadecimal digits spell.
fn bytes(digits: u128) -> Block {
    Block::from_bytes(digits.to_be_bytes())
}

const DELTA: u128 = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_c3d2_e1f0;
const A: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
const B: u128 = 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100;

/// The start of the tests' keys.
const START: u128 = 0x3c6e_f372_fe94_f82b_a54f_f53a_5f1d_36f1;

/// Number `number` of the tests' session.
fn base(number: u64) -> Base {
    Base {
        start: bytes(START),
        number,
    }
}
