use cenote_primitives::{Block, Simd};
use proptest::prelude::*;

use super::super::gate::{evaluate_on, garble_on};
use super::super::{AUTHENTICATORS, GateTable, MAX_GATES, evaluate, garble};
use super::{A, B, DELTA, START, any_block, any_delta, base, bytes, label, reference};

/// Garbles on a level: tables and output 0-labels.
fn garbled(
    simd: Simd,
    delta: Block,
    first: u64,
    left: &[Block],
    right: &[Block],
) -> (Vec<GateTable>, Vec<Block>) {
    let mut tables = vec![GateTable::default(); left.len()];
    let mut outputs = vec![Block::ZERO; left.len()];
    garble_on(simd, delta, base(first), left, right, &mut tables, &mut outputs);
    (tables, outputs)
}

#[test]
fn every_level_gives_the_recorded_tables() {
    // Computed with OpenSSL's AES from the formulas of the paper. The left label's colour is 0 in the first gate, 1 in the second.
    let golden = [
        (
            [A, B],
            [
                0xd5ea_573a_b9ab_a1ec_75a4_071d_e6bb_19ab,
                0x2808_b743_08ff_76d9_3880_51de_d461_063f,
            ],
            0xcedb_ad6a_f8e7_b7d0_53c6_5a0c_66c1_f51c,
        ),
        (
            [B, A],
            [
                0xd042_6d1a_907d_c6f9_14b9_4415_3e0e_8710,
                0xe30e_6461_ad31_5631_5f27_afe5_6d9e_3e52,
            ],
            0xf427_e35a_8ea1_0063_3235_df12_23dd_3ed2,
        ),
    ];
    for &simd in Simd::supported() {
        for ([left, right], [garbler, evaluator], output) in golden {
            let (tables, outputs) =
                garbled(simd, bytes(DELTA), 0x1_2345_6789, &[bytes(left)], &[bytes(right)]);
            let expected = GateTable {
                garbler: bytes(garbler),
                evaluator: bytes(evaluator),
            };
            assert!(tables == [expected], "{simd}");
            assert!(outputs == [bytes(output)], "{simd}");
        }
    }
}

#[test]
fn a_gate_is_evaluated_under_its_number_only() {
    let (delta, left, right) = (bytes(DELTA), [bytes(A)], [bytes(B)]);
    let (tables, outputs) = garbled(Simd::detect(), delta, 1000, &left, &right);
    let labels = [outputs[0], outputs[0] ^ delta];
    for number in [0, 999, 1000, 1001, 2000, 1000 + (1 << 32), MAX_GATES - 1] {
        let mut out = [Block::ZERO];
        evaluate(bytes(START), &[number], &left, &right, &tables, &mut out);
        assert_eq!(labels.contains(&out[0]), number == 1000, "{number}");
    }
}

/// No start serves two sessions: under another one a table is noise.
#[test]
fn a_gate_is_evaluated_under_its_session_s_start_only() {
    let (delta, left, right) = (bytes(DELTA), [bytes(A)], [bytes(B)]);
    let (tables, outputs) = garbled(Simd::detect(), delta, 1000, &left, &right);
    for (start, right_one) in [
        (START, true),
        (START ^ 1 << 70, false),
        (START ^ 1, false),
        (0, false),
    ] {
        let mut out = [Block::ZERO];
        evaluate(bytes(start), &[1000], &left, &right, &tables, &mut out);
        assert_eq!(
            [outputs[0], outputs[0] ^ delta].contains(&out[0]),
            right_one,
            "{start:x}"
        );
    }
}

/// Without σ in the hash, who has a label `x` and H(x ⊕ Δ) ⊕ Δ, which a table tells, would undo AES and have Δ.
#[test]
fn what_a_table_tells_is_no_image_of_the_other_label() {
    let delta = bytes(DELTA);
    let [a, b] = [A, B].map(|x| reference::number(bytes(x)));
    let (tables, _) = garbled(Simd::detect(), delta, 9, &[bytes(A)], &[bytes(B)]);
    let key = START.swap_bytes() ^ 9;
    // H(a ⊕ Δ) ⊕ lsb(b)·Δ, as the evaluator computes it.
    let told = reference::number(tables[0].garbler) ^ reference::hash(a, 9);
    let guess = reference::aes_inverse(key, told ^ a) ^ a;
    let delta = reference::number(delta);
    assert!(b % 2 == 1 && guess != delta);
    let plain = reference::aes(key, a ^ delta) ^ a ^ delta;
    assert_eq!(
        reference::aes_inverse(key, plain ^ delta ^ a) ^ a,
        delta,
        "the attack works without it"
    );
}

#[test]
fn gates_of_different_numbers_have_unrelated_tables() {
    let (delta, left, right) = (bytes(DELTA), [bytes(A); 20], [bytes(B); 20]);
    let (tables, outputs) = garbled(Simd::detect(), delta, 7, &left, &right);
    for i in 0..20 {
        for j in 0..i {
            assert!(tables[i].garbler != tables[j].garbler, "{i}, {j}");
            assert!(tables[i].evaluator != tables[j].evaluator, "{i}, {j}");
            assert!(
                outputs[i] != outputs[j] && outputs[i] != outputs[j] ^ delta,
                "{i}, {j}"
            );
        }
    }
}

#[test]
fn the_halves_of_a_gate_with_equal_or_opposite_inputs_do_not_cancel() {
    let delta = bytes(DELTA);
    for wire in [bytes(A), bytes(B)] {
        for right in [wire, wire ^ delta] {
            let (tables, _) = garbled(Simd::detect(), delta, 3, &[wire], &[right]);
            let sum = tables[0].garbler ^ tables[0].evaluator;
            assert!(![wire, wire ^ delta, Block::ZERO, delta].contains(&sum));
        }
    }
}

#[test]
fn no_gate_has_a_tweak_of_an_authenticator() {
    const { assert!(MAX_GATES - 1 < AUTHENTICATORS) };
    let mut tables = [GateTable::default()];
    garble(
        bytes(DELTA),
        base(MAX_GATES - 1),
        &[bytes(A)],
        &[bytes(B)],
        &mut tables,
        &mut [Block::ZERO],
    );
    let (expected, _) = reference::garble(DELTA.swap_bytes(), MAX_GATES - 1, A.swap_bytes(), B.swap_bytes());
    assert!([tables[0].garbler, tables[0].evaluator] == expected.map(reference::block));
}

/// How the four outputs of a gate, whatever its table, differ from those of an AND gate with the output 0-label `output`.
fn errors(delta: Block, [left, right, output]: [Block; 3], table: GateTable) -> [Block; 4] {
    [(false, false), (false, true), (true, false), (true, true)].map(|(x, y)| {
        let mut out = [Block::ZERO];
        let inputs = [label(left, delta, x), label(right, delta, y)];
        evaluate(bytes(START), &[5], &inputs[..1], &inputs[1..], &[table], &mut out);
        out[0] ^ label(output, delta, x && y)
    })
}

/// Why the last bit of Δ must be 1 for a check to find a bad gate half of the time: without it, an honest table is wrong on
/// one pair of labels, or on three.
#[test]
fn without_a_last_bit_of_the_difference_one_pair_alone_can_be_wrong() {
    let delta = bytes(DELTA) & Block([!1u64.to_le(), u64::MAX]);
    let wires = [bytes(A), bytes(B)];
    let (tables, _) = garbled(Simd::detect(), delta, 5, &wires[..1], &wires[1..]);
    let mut out = [Block::ZERO];
    evaluate(bytes(START), &[5], &wires[..1], &wires[1..], &tables, &mut out);
    let wrong = errors(delta, [wires[0], wires[1], out[0]], tables[0]);
    let sum = wrong.into_iter().fold(Block::ZERO, |sum, error| sum ^ error);
    assert!(sum == delta);
    let count = wrong.iter().filter(|error| **error != Block::ZERO).count();
    assert!(count % 2 == 1, "{count} pairs");
}

#[test]
#[should_panic(expected = "62-bit")]
fn numbers_beyond_the_last_are_refused() {
    let mut tables = [GateTable::default(); 2];
    garble(
        Block([1, 0]),
        base(MAX_GATES - 1),
        &[Block::ZERO; 2],
        &[Block::ZERO; 2],
        &mut tables,
        &mut [Block::ZERO; 2],
    );
}

proptest! {
    /// Cut-and-choose counts on it: `params::lego::GATE_FOUND`.
    #[test]
    fn no_table_is_wrong_on_one_pair_of_labels_alone(
        delta in any_delta(),
        [left, right, noise] in [any_block(), any_block(), any_block()],
        changes in any::<[prop::sample::Index; 2]>(),
        right_on in (any::<bool>(), any::<bool>()),
    ) {
        let (tables, _) = garbled(Simd::detect(), delta, 5, &[left], &[right]);
        // Nothing changed, what could do harm, or anything at all.
        let all = [Block::ZERO, delta, left, right, left ^ delta, right ^ delta, left ^ right, noise];
        let table = GateTable {
            garbler: tables[0].garbler ^ all[changes[0].index(all.len())],
            evaluator: tables[0].evaluator ^ all[changes[1].index(all.len())],
        };
        // The committed output is such that the gate is right at least for one pair.
        let mut out = [Block::ZERO];
        let (x, y) = right_on;
        evaluate(bytes(START), &[5], &[label(left, delta, x)], &[label(right, delta, y)], &[table], &mut out);
        let wrong = errors(delta, [left, right, label(out[0], delta, x && y)], table);
        prop_assert!(wrong.into_iter().fold(Block::ZERO, |sum, error| sum ^ error) == Block::ZERO);
        prop_assert_ne!(wrong.iter().filter(|error| **error != Block::ZERO).count(), 1);
    }

    #[test]
    fn gates_are_those_of_the_paper_for_all_labels(
        delta in any_delta(),
        wires in prop::collection::vec((any_block(), any_block()), 0..40),
        first in 0..MAX_GATES - 40,
    ) {
        let (left, right): (Vec<Block>, Vec<Block>) = wires.into_iter().unzip();
        let expected: Vec<([u128; 2], u128)> = (0..left.len())
            .map(|k| {
                let [a, b] = [left[k], right[k]].map(reference::number);
                reference::garble(reference::number(delta), first + k as u64, a, b)
            })
            .collect();
        let numbers: Vec<u64> = (first..first + left.len() as u64).collect();
        for &simd in Simd::supported() {
            let (tables, outputs) = garbled(simd, delta, first, &left, &right);
            for (k, (table, output)) in expected.iter().enumerate() {
                let [garbler, evaluator] = table.map(reference::block);
                prop_assert!(tables[k] == GateTable { garbler, evaluator }, "table {} on {}", k, simd);
                prop_assert!(outputs[k] == reference::block(*output), "output {} on {}", k, simd);
            }
            for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                let x_labels: Vec<Block> = left.iter().map(|wire| label(*wire, delta, x)).collect();
                let y_labels: Vec<Block> = right.iter().map(|wire| label(*wire, delta, y)).collect();
                let mut out = vec![Block::ZERO; left.len()];
                evaluate_on(simd, bytes(START), &numbers, &x_labels, &y_labels, &tables, &mut out);
                let expected: Vec<Block> = outputs.iter().map(|wire| label(*wire, delta, x && y)).collect();
                prop_assert!(out == expected, "{} AND {} on {}", x, y, simd);
            }
        }
    }

    #[test]
    fn gates_are_evaluated_in_any_order(
        gates in prop::collection::vec((0..MAX_GATES, any_block(), any_block(), any_block(), any_block()), 0..40),
    ) {
        let numbers: Vec<u64> = gates.iter().map(|gate| gate.0).collect();
        let left: Vec<Block> = gates.iter().map(|gate| gate.1).collect();
        let right: Vec<Block> = gates.iter().map(|gate| gate.2).collect();
        let tables: Vec<GateTable> =
            gates.iter().map(|gate| GateTable { garbler: gate.3, evaluator: gate.4 }).collect();
        let expected: Vec<Block> = gates
            .iter()
            .map(|&(number, a, b, garbler, evaluator)| {
                let [a, b, garbler, evaluator] = [a, b, garbler, evaluator].map(reference::number);
                reference::block(reference::evaluate(number, a, b, [garbler, evaluator]))
            })
            .collect();
        for &simd in Simd::supported() {
            let mut out = vec![Block::ZERO; gates.len()];
            evaluate_on(simd, bytes(START), &numbers, &left, &right, &tables, &mut out);
            prop_assert!(out == expected, "{}", simd);
        }
    }
}
