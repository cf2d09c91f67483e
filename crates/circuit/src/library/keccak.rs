//! Keccak-f\[1600\] and SHA3-256 (FIPS 202).
//!
//! A state, block or digest is the integer that its hexadecimal string spells, least significant bit first: byte 0 of
//! FIPS 202 is the last eight bits.

use crate::{Bit, BitOrder, Builder, Circuit};

/// Lanes by `x + 5y`, 64 bits each, least significant first.
type State = Vec<Vec<Bit>>;

/// The permutation Keccak-f\[1600\]: input and output `state`, 1600 wires and [`BitOrder::Lsb`].
pub fn keccak_f1600() -> Circuit {
    let mut b = Builder::new();
    let state = b.input("state", 1600, BitOrder::Lsb);
    let state = keccak_f(&mut b, &state);
    b.output("state", &state, BitOrder::Lsb);
    b.finish()
}

/// The SHA3-256 digest of one padded block: input `block` (1088 wires), output `digest` (256 wires), both
/// [`BitOrder::Lsb`]. The padding is up to the caller.
pub fn sha3_256_single_block() -> Circuit {
    let mut b = Builder::new();
    let block = b.input("block", 1088, BitOrder::Lsb);
    // The first bytes of a state are its most significant bits.
    let state = [vec![Bit::FALSE; 512], block].concat();
    let state = keccak_f(&mut b, &state);
    b.output("digest", &state[1600 - 256..], BitOrder::Lsb);
    b.finish()
}

/// The state that follows `state` of 1600 bits, with 1600 ANDs in each of 24 rounds. To absorb a block, XOR it onto the
/// most significant bits of the state.
///
/// # Panics
/// If `state` is not 1600 bits.
pub fn keccak_f(b: &mut Builder, state: &[Bit]) -> Vec<Bit> {
    assert_eq!(state.len(), 1600, "a state has 1600 bits");
    let bytes: Vec<Bit> = state.chunks(8).rev().flatten().copied().collect();
    let mut lanes: State = bytes.chunks(64).map(<[Bit]>::to_vec).collect();
    let mut constants = RoundConstants(1);
    for _ in 0..24 {
        lanes = mix_columns(b, &lanes);
        lanes = chi(b, &move_lanes(&lanes));
        let constant = constants.next_round();
        for (i, bit) in lanes[0].iter_mut().enumerate() {
            *bit = b.xor(*bit, Bit::constant(constant >> i & 1 == 1));
        }
    }
    let bits = lanes.concat();
    bits.chunks(8).rev().flatten().copied().collect()
}

fn rotate_left(lane: &[Bit], distance: usize) -> Vec<Bit> {
    let mut lane = lane.to_vec();
    lane.rotate_right(distance);
    lane
}

/// The step θ.
fn mix_columns(b: &mut Builder, lanes: &State) -> State {
    let mut xor =
        |x: &[Bit], y: &[Bit]| -> Vec<Bit> { x.iter().zip(y).map(|(&x, &y)| b.xor(x, y)).collect() };
    let parities: Vec<Vec<Bit>> = (0..5)
        .map(|x| (1..5).fold(lanes[x].clone(), |sum, y| xor(&sum, &lanes[x + 5 * y])))
        .collect();
    let changes: Vec<Vec<Bit>> = (0..5)
        .map(|x| xor(&parities[(x + 4) % 5], &rotate_left(&parities[(x + 1) % 5], 1)))
        .collect();
    lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| xor(lane, &changes[i % 5]))
        .collect()
}

/// The steps ρ and π.
fn move_lanes(lanes: &State) -> State {
    let mut moved = lanes.clone();
    let (mut x, mut y) = (1, 0);
    for t in 0..24 {
        let lane = rotate_left(&lanes[x + 5 * y], (t + 1) * (t + 2) / 2 % 64);
        (x, y) = (y, (2 * x + 3 * y) % 5);
        moved[x + 5 * y] = lane;
    }
    moved
}

/// The step χ.
fn chi(b: &mut Builder, lanes: &State) -> State {
    (0..25)
        .map(|i| {
            let [here, next, after] = [0, 1, 2].map(|step| &lanes[i / 5 * 5 + (i + step) % 5]);
            (0..64)
                .map(|z| {
                    let change = b.and(!next[z], after[z]);
                    b.xor(here[z], change)
                })
                .collect()
        })
        .collect()
}

/// The linear feedback shift register of the step ι.
struct RoundConstants(u8);

impl RoundConstants {
    fn next_round(&mut self) -> u64 {
        (0..7).fold(0, |constant, j| {
            let bit = u64::from(self.0 & 1);
            self.0 = self.0 << 1 ^ if self.0 & 0x80 != 0 { 0x71 } else { 0 };
            constant | bit << ((1 << j) - 1)
        })
    }
}
