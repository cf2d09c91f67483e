use std::collections::HashSet;

use cenote_primitives::{Block, Sampler, Simd, gf128};
use proptest::prelude::*;

use super::super::MAX_GATES;
use super::super::wide::{Start, evaluate, evaluate_on, garble, garble_on};
use super::{START, any_block, bytes, reference};

const INPUTS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// A session with labels of `blocks` blocks.
struct Session {
    start: Start,
    delta: Vec<Block>,
    sampler: Sampler,
}

impl Session {
    fn new(blocks: usize) -> Session {
        let mut session = Session {
            start: Start {
                key: bytes(START),
                map: Vec::new(),
            },
            delta: Vec::new(),
            sampler: Sampler::new(Block([blocks as u64, 9])),
        };
        session.start.map = session.noise(blocks);
        session.delta = session.noise(blocks);
        session.delta[0].0[0] |= 1u64.to_le();
        session
    }

    fn blocks(&self) -> usize {
        self.start.map.len()
    }

    fn noise(&mut self, count: usize) -> Vec<Block> {
        (0..count)
            .map(|_| Block([self.sampler.next_u64(), self.sampler.next_u64()]))
            .collect()
    }

    fn labels(&mut self, count: usize) -> Vec<Block> {
        self.noise(count * self.blocks())
    }

    /// The labels of `bit` on wires with these 0-labels.
    fn label(&self, wires: &[Block], bit: bool) -> Vec<Block> {
        let plus = self.delta.iter().cycle();
        wires
            .iter()
            .zip(plus)
            .map(|(wire, delta)| if bit { *wire ^ *delta } else { *wire })
            .collect()
    }

    fn garbled_on(
        &self,
        simd: Simd,
        first: u64,
        left: &[Block],
        right: &[Block],
    ) -> (Vec<Block>, Vec<Block>) {
        let (mut tables, mut outputs) = (vec![Block::ZERO; 2 * left.len()], vec![Block::ZERO; left.len()]);
        garble_on(
            simd,
            &self.start,
            &self.delta,
            first,
            left,
            right,
            &mut tables,
            &mut outputs,
        );
        (tables, outputs)
    }

    fn garbled(&self, first: u64, left: &[Block], right: &[Block]) -> (Vec<Block>, Vec<Block>) {
        self.garbled_on(Simd::detect(), first, left, right)
    }

    fn evaluated(&self, numbers: &[u64], left: &[Block], right: &[Block], tables: &[Block]) -> Vec<Block> {
        let mut outputs = vec![Block::ZERO; left.len()];
        evaluate(&self.start, numbers, left, right, tables, &mut outputs);
        outputs
    }

    /// How the four outputs of gate 5, whatever its table, differ from those of an AND gate with the output 0-label `output`.
    fn errors(&self, [left, right, output]: [&[Block]; 3], table: &[Block]) -> [Vec<Block>; 4] {
        INPUTS.map(|(x, y)| {
            let inputs = [self.label(left, x), self.label(right, y)];
            let out = self.evaluated(&[5], &inputs[0], &inputs[1], table);
            sum(&out, &self.label(output, x && y))
        })
    }
}

fn sum(a: &[Block], b: &[Block]) -> Vec<Block> {
    a.iter().zip(b).map(|(a, b)| *a ^ *b).collect()
}

fn numbers(blocks: &[Block]) -> Vec<u128> {
    blocks.iter().map(|block| reference::number(*block)).collect()
}

fn is_zero(label: &[Block]) -> bool {
    label.iter().all(|block| *block == Block::ZERO)
}

#[test]
fn gates_of_every_width_are_those_of_the_reference_on_every_level() {
    for blocks in 2..=8 {
        let mut session = Session::new(blocks);
        let map = numbers(&session.start.map);
        let reference = reference::Wide { map: &map };
        for count in [0, 1, 3, 4, 5, 11] {
            let (left, right) = (session.labels(count), session.labels(count));
            let first = 0x1_2345_6789;
            let all: Vec<u64> = (first..first + count as u64).collect();
            let (mut tables, mut outputs) = (Vec::new(), Vec::new());
            for (k, (a, b)) in left
                .chunks_exact(blocks)
                .zip(right.chunks_exact(blocks))
                .enumerate()
            {
                let delta = numbers(&session.delta);
                let (table, output) = reference.garble(&delta, first + k as u64, &numbers(a), &numbers(b));
                tables.extend(table.concat().into_iter().map(reference::block));
                outputs.extend(output.into_iter().map(reference::block));
            }
            for &simd in Simd::supported() {
                let got = session.garbled_on(simd, first, &left, &right);
                assert!(got.0 == tables, "tables of {count} on {simd}, {blocks} blocks");
                assert!(got.1 == outputs, "outputs of {count} on {simd}, {blocks} blocks");
                for (x, y) in INPUTS {
                    let mut out = vec![Block::ZERO; left.len()];
                    let inputs = [session.label(&left, x), session.label(&right, y)];
                    evaluate_on(
                        simd,
                        &session.start,
                        &all,
                        &inputs[0],
                        &inputs[1],
                        &tables,
                        &mut out,
                    );
                    assert!(
                        out == session.label(&outputs, x && y),
                        "{x} AND {y} on {simd}, {blocks} blocks"
                    );
                }
            }
        }
    }
}

#[test]
fn labels_are_added_for_xor() {
    // (a AND b) XOR c, and that AND a.
    let mut session = Session::new(3);
    let [a, b, c] = [0; 3].map(|_| session.labels(1));
    let (table, and) = session.garbled(0, &a, &b);
    let xor = sum(&and, &c);
    let (last_table, last) = session.garbled(1, &xor, &a);
    for x in [false, true] {
        for (y, z) in INPUTS {
            let [x_label, y_label, z_label] =
                [(&a, x), (&b, y), (&c, z)].map(|(w, bit)| session.label(w, bit));
            let and = session.evaluated(&[0], &x_label, &y_label, &table);
            let out = session.evaluated(&[1], &sum(&and, &z_label), &x_label, &last_table);
            assert!(out == session.label(&last, ((x & y) ^ z) & x), "{x}, {y}, {z}");
        }
    }
}

#[test]
fn gates_in_a_row_may_share_their_right_label() {
    let mut session = Session::new(3);
    for (gates, share) in [(6, 1), (6, 2), (6, 3), (6, 6), (35, 7), (12, 4)] {
        let (left, right) = (session.labels(gates), session.labels(gates / share));
        let repeated: Vec<Block> = right
            .chunks_exact(3)
            .flat_map(|label| label.repeat(share))
            .collect();
        let all: Vec<u64> = (40..40 + gates as u64).collect();
        for &simd in Simd::supported() {
            let shared = session.garbled_on(simd, 40, &left, &right);
            assert!(
                shared == session.garbled_on(simd, 40, &left, &repeated),
                "{gates}, {share} on {simd}"
            );
            let mut out = vec![Block::ZERO; left.len()];
            evaluate_on(simd, &session.start, &all, &left, &right, &shared.0, &mut out);
            assert!(out == shared.1, "{gates}, {share} on {simd}");
        }
    }
}

/// With the same constant twice, the halves of a gate on one wire, or two blocks of one half, would have a sum of labels and Δ.
#[test]
fn no_two_blocks_of_a_table_cancel_with_equal_or_opposite_inputs() {
    for blocks in [2, 3, 8] {
        let mut session = Session::new(blocks);
        for colour in 0..2 {
            let mut wire = session.labels(1);
            wire[0].0[0] = wire[0].0[0] & !1u64.to_le() | u64::to_le(colour);
            for opposite in [false, true] {
                let (table, _) = session.garbled(3, &wire, &session.label(&wire, opposite));
                // All that tables would leak: sums of up to two blocks of labels and up to two of Δ.
                let parts = |blocks: &[Block]| -> Vec<Block> {
                    let blocks = [blocks, &[Block::ZERO]].concat();
                    blocks
                        .iter()
                        .flat_map(|a| blocks.iter().map(move |b| *a ^ *b))
                        .collect()
                };
                let (of_wire, of_delta) = (parts(&wire), parts(&session.delta));
                let leaks: HashSet<[u8; 16]> = of_wire
                    .iter()
                    .flat_map(|a| of_delta.iter().map(move |b| (*a ^ *b).to_bytes()))
                    .collect();
                for i in 0..table.len() {
                    for j in 0..i {
                        let sum = table[i] ^ table[j];
                        assert!(
                            !leaks.contains(&sum.to_bytes()),
                            "{i}, {j} of {blocks}, colour {colour}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_block_of_a_label_is_hashed() {
    for blocks in 2..=8 {
        let mut session = Session::new(blocks);
        let (left, right) = (session.labels(1), session.labels(1));
        let (table, output) = session.garbled(9, &left, &right);
        for k in 0..blocks {
            for side in 0..2 {
                let mut inputs = [left.clone(), right.clone()];
                inputs[side][k].0[1] ^= 1 << 40;
                let out = session.evaluated(&[9], &inputs[0], &inputs[1], &table);
                let changed = out.iter().zip(&output).filter(|(a, b)| a != b).count();
                assert_eq!(changed, blocks, "block {k} of side {side} of {blocks}");
            }
        }
    }
}

#[test]
fn a_gate_is_evaluated_by_its_number_table_and_start_only() {
    let mut session = Session::new(3);
    let (left, right) = (session.labels(1), session.labels(1));
    let (table, output) = session.garbled(1000, &left, &right);
    let labels = [output.clone(), session.label(&output, true)];
    for number in [0, 999, 1000, 1001, 1000 + (1 << 32), MAX_GATES - 1] {
        let out = session.evaluated(&[number], &left, &right, &table);
        assert_eq!(labels.contains(&out), number == 1000, "{number}");
    }
    for k in 0..6 {
        let mut wrong = table.clone();
        wrong[k].0[0] ^= 1 << 20;
        let used = INPUTS.map(|(x, y)| {
            let inputs = [session.label(&left, x), session.label(&right, y)];
            !labels.contains(&session.evaluated(&[1000], &inputs[0], &inputs[1], &wrong))
        });
        // A half is used where its input label has colour 1.
        assert_eq!(used.into_iter().filter(|used| *used).count(), 2, "block {k}");
    }
    let keys = [0, 1, 2, 3].map(|k| {
        let mut start = session.start.clone();
        if let Some(factor) = start.map.get_mut(k) {
            factor.0[0] ^= 4;
        } else {
            start.key.0[1] ^= 4;
        }
        start
    });
    for start in keys {
        let mut out = vec![Block::ZERO; 3];
        evaluate(&start, &[1000], &left, &right, &table, &mut out);
        assert!(!labels.contains(&out));
    }
}

#[test]
fn the_compression_of_a_difference_is_what_inputs_differ_by() {
    // An evaluator that knew C(Δ) could undo a gate: the table is then what it computes itself.
    let mut session = Session::new(3);
    let (left, right) = (session.labels(1), session.labels(1));
    let difference = gf128::inner_product(&session.start.map, &session.delta);
    let compressed = gf128::inner_product(&session.start.map, &left);
    let mut hashes = [Block::ZERO; 6].map(|_| compressed);
    for (k, hash) in hashes.iter_mut().enumerate() {
        *hash ^= Block([(k as u64 % 3).to_le(), 0]);
        if k >= 3 {
            *hash ^= difference;
        }
    }
    cenote_primitives::hash::hash_each(session.start.key, &[77; 6], &mut hashes);
    let (table, _) = session.garbled(77, &left, &right);
    let masked = right[0].0[0] & 1u64.to_le() != 0;
    for k in 0..3 {
        let of_delta = if masked { session.delta[k] } else { Block::ZERO };
        assert!(table[k] == hashes[k] ^ hashes[3 + k] ^ of_delta, "block {k}");
    }
}

/// With a last bit 0 the errors of any table have the sum Δ, so that one pair of labels at least is wrong; and as no table makes two
/// hashes equal, three are.
#[test]
fn without_a_last_bit_of_the_difference_every_gate_is_wrong_on_some_pair() {
    let mut session = Session::new(3);
    session.delta[0].0[0] &= !1u64.to_le();
    for round in 0..32 {
        let (left, right) = (session.labels(1), session.labels(1));
        let (mut table, _) = session.garbled(5, &left, &right);
        if round % 2 == 0 {
            table = session.noise(6);
        }
        for (x, y) in INPUTS {
            let out = session.evaluated(&[5], &session.label(&left, x), &session.label(&right, y), &table);
            let output = session.label(&out, x && y);
            let wrong = session.errors([&left, &right, &output], &table);
            let total = wrong
                .iter()
                .fold(vec![Block::ZERO; 3], |total, error| sum(&total, error));
            assert!(total == session.delta);
            assert_eq!(wrong.iter().filter(|error| !is_zero(error)).count(), 3);
        }
    }
}

#[test]
#[should_panic(expected = "62-bit")]
fn numbers_beyond_the_last_are_refused() {
    let mut session = Session::new(2);
    let labels = session.labels(2);
    session.garbled(MAX_GATES - 1, &labels, &labels);
}

#[test]
#[should_panic(expected = "2 to 8 blocks, not 9")]
fn labels_of_nine_blocks_are_refused() {
    let mut session = Session::new(9);
    let labels = session.labels(1);
    session.garbled(0, &labels, &labels);
}

#[test]
#[should_panic(expected = "equal shares")]
fn right_labels_with_unequal_shares_are_refused() {
    let mut session = Session::new(3);
    let (left, right) = (session.labels(5), session.labels(2));
    session.garbled(0, &left, &right);
}

#[test]
#[should_panic(expected = "Δ is a label")]
fn a_difference_of_another_width_is_refused() {
    let session = Session::new(3);
    garble(&session.start, &session.delta[..2], 0, &[], &[], &mut [], &mut []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pools count on it: `r_d` is 1/2.
    #[test]
    fn no_table_is_wrong_on_one_pair_of_labels_alone(
        blocks in 2..=8usize,
        noise in any_block(),
        changes in any::<[prop::sample::Index; 2]>(),
        right_on in prop::sample::select(&INPUTS[..]),
    ) {
        let mut session = Session::new(blocks);
        session.sampler = Sampler::new(noise);
        let (left, right, noise) = (session.labels(1), session.labels(1), session.labels(1));
        let (mut table, _) = session.garbled(5, &left, &right);
        // Nothing changed, what could do harm, or anything at all.
        let zero = vec![Block::ZERO; blocks];
        let one_block = [&noise[..1], &zero[1..]].concat();
        let all = [zero, session.delta.clone(), left.clone(), right.clone(), sum(&left, &right), noise, one_block];
        for (half, change) in table.chunks_exact_mut(blocks).zip(changes) {
            let changed = sum(half, &all[change.index(all.len())]);
            half.copy_from_slice(&changed);
        }
        // The committed output is such that the gate is right at least for one pair.
        let (x, y) = right_on;
        let out = session.evaluated(&[5], &session.label(&left, x), &session.label(&right, y), &table);
        let wrong = session.errors([&left, &right, &session.label(&out, x && y)], &table);
        prop_assert!(is_zero(&wrong.iter().fold(vec![Block::ZERO; blocks], |total, error| sum(&total, error))));
        prop_assert_ne!(wrong.iter().filter(|error| !is_zero(error)).count(), 1);
    }

    #[test]
    fn gates_are_evaluated_in_any_order(
        gates in prop::collection::vec(0..MAX_GATES, 0..12),
        blocks in 2..=8usize,
    ) {
        let mut session = Session::new(blocks);
        let (left, right, tables) = (session.labels(gates.len()), session.labels(gates.len()), session.labels(2 * gates.len()));
        let map = numbers(&session.start.map);
        let reference = reference::Wide { map: &map };
        let expected: Vec<Block> = (0..gates.len())
            .flat_map(|k| {
                let [a, b] = [&left, &right].map(|side| numbers(&side[k * blocks..][..blocks]));
                reference.evaluate(gates[k], &a, &b, &numbers(&tables[2 * k * blocks..][..2 * blocks]))
            })
            .map(reference::block)
            .collect();
        for &simd in Simd::supported() {
            let mut out = vec![Block::ZERO; left.len()];
            evaluate_on(simd, &session.start, &gates, &left, &right, &tables, &mut out);
            prop_assert!(out == expected, "{}", simd);
        }
    }
}
