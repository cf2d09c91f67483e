use cenote_primitives::{Block, Simd};
use proptest::prelude::*;

use super::super::{Buckets, GateTable, garble};
use super::{any_block, any_delta, base, label, reference};

const BASE: u64 = 1 << 50;

/// What the garbler knows of a gate.
#[derive(Clone, Copy, Debug)]
struct Gate {
    number: u64,
    left: Block,
    right: Block,
    output: Block,
    table: GateTable,
}

impl Gate {
    fn new(delta: Block, number: u64, left: Block, right: Block) -> Gate {
        let (mut table, mut output) = ([GateTable::default()], [Block::ZERO]);
        garble(delta, base(number), &[left], &[right], &mut table, &mut output);
        Gate {
            number,
            left,
            right,
            output: output[0],
            table: table[0],
        }
    }

    /// The gate that computes (x ⊕ i) ∧ (y ⊕ j) ⊕ k, passed off as an AND gate.
    fn of_function(delta: Block, number: u64, left: Block, right: Block, [i, j, k]: [bool; 3]) -> Gate {
        let gate = Gate::new(delta, number, label(left, delta, i), label(right, delta, j));
        Gate {
            left,
            right,
            output: label(gate.output, delta, k),
            ..gate
        }
    }
}

fn candidates(buckets: &Buckets, bucket: usize, left: Block, right: Block) -> Vec<Block> {
    let mut given = vec![Block::ZERO; buckets.beta()];
    buckets.candidates(bucket, left, right, &mut given);
    given
}

/// Buckets of gates whose wires are noise drawn from `seed`.
fn gates(delta: Block, beta: usize, len: usize, seed: u128) -> Vec<Vec<Gate>> {
    let wire = |bucket: usize, gate: usize, side: u64| {
        reference::block(reference::hash(seed ^ bucket as u128, 2 * gate as u64 + side))
    };
    // Numbers as cut-and-choose leaves them: distinct, in no order.
    let number = |bucket: usize, gate: usize| BASE + (bucket * beta + gate) as u64 * 0x9e37_79b1 % (1 << 32);
    (0..len)
        .map(|k| {
            (0..beta)
                .map(|j| Gate::new(delta, number(k, j), wire(k, j, 0), wire(k, j, 1)))
                .collect()
        })
        .collect()
}

fn stored(beta: usize, gates: &[Vec<Gate>]) -> Buckets {
    let mut buckets = Buckets::new(beta, base(BASE), gates.len());
    let mut writer = buckets.writer();
    for (k, gates) in gates.iter().enumerate() {
        for (j, gate) in gates.iter().enumerate() {
            writer.set_gate(k, j, gate.number, &gate.table);
            if j > 0 {
                let first = gates[0];
                writer.set_soldering(
                    k,
                    j,
                    first.left ^ gate.left,
                    first.right ^ gate.right,
                    first.output ^ gate.output,
                );
            }
        }
    }
    buckets
}

/// What each gate gives for gate 0's output wire, by the reference.
fn expected(gates: &[Gate], left: Block, right: Block) -> Vec<Block> {
    let first = gates[0];
    gates
        .iter()
        .map(|gate| {
            let [a, b] =
                [left ^ first.left ^ gate.left, right ^ first.right ^ gate.right].map(reference::number);
            let table = [gate.table.garbler, gate.table.evaluator].map(reference::number);
            reference::block(reference::evaluate(gate.number, a, b, table)) ^ first.output ^ gate.output
        })
        .collect()
}

/// Bit `k` of a repeated pattern.
fn bit(pattern: u64, k: usize) -> bool {
    pattern >> (k % 61) & 1 == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn honest_buckets_agree_on_the_product(
        delta in any_delta(),
        beta in 1..=15_usize,
        len in 0..25_usize,
        cut in any::<[prop::sample::Index; 2]>(),
        seed in any::<u128>(),
        patterns in any::<[u64; 2]>(),
    ) {
        let gates = gates(delta, beta, len, seed);
        let buckets = stored(beta, &gates);
        prop_assert_eq!((buckets.len(), buckets.beta(), buckets.base()), (len, beta, base(BASE)));
        let [a, b] = cut.map(|cut| cut.index(len + 1));
        let (first, end) = (a.min(b), a.max(b));
        let labels = |side: usize| -> Vec<Block> {
            let wire = |k: usize| [gates[k][0].left, gates[k][0].right][side];
            (first..end).map(|k| label(wire(k), delta, bit(patterns[side], k))).collect()
        };
        let (left, right) = (labels(0), labels(1));
        let products: Vec<Block> = (first..end)
            .map(|k| label(gates[k][0].output, delta, bit(patterns[0], k) && bit(patterns[1], k)))
            .collect();
        for &simd in Simd::supported() {
            let mut outputs = vec![Block::ZERO; end - first];
            prop_assert!(buckets.evaluate_on(simd, first, &left, &right, &mut outputs), "{} disagrees", simd);
            prop_assert!(outputs == products, "{}", simd);
        }
        for k in first..end {
            let candidates = candidates(&buckets, k, left[k - first], right[k - first]);
            prop_assert!(candidates == vec![products[k - first]; beta]);
        }
    }

    #[test]
    fn what_gates_give_is_reported_whatever_they_are(
        beta in 1..=15_usize,
        len in 1..10_usize,
        blocks in prop::collection::vec(any_block(), 10 * 15 * 6),
        inputs in prop::collection::vec((any_block(), any_block()), 10),
        honest in any::<bool>(),
        victim in any::<[prop::sample::Index; 2]>(),
        first in any::<prop::sample::Index>(),
    ) {
        // Nothing agrees, or all but one gate of noise.
        let mut gates: Vec<Vec<Gate>> = gates(Block([1, 0]), beta, len, 5);
        let victim = (victim[0].index(len), victim[1].index(beta));
        for (k, gates) in gates.iter_mut().enumerate() {
            for (j, gate) in gates.iter_mut().enumerate() {
                let [garbler, evaluator, left, right, output, _] = blocks.as_chunks().0[k * 15 + j];
                if !honest || (k, j) == victim {
                    *gate = Gate { table: GateTable { garbler, evaluator }, left, right, output, ..*gate };
                }
            }
        }
        let buckets = stored(beta, &gates);
        let (left, right): (Vec<Block>, Vec<Block>) = inputs[..len].iter().copied().unzip();
        let expected: Vec<Vec<Block>> =
            (0..len).map(|k| expected(&gates[k], left[k], right[k])).collect();
        let first = first.index(len);
        let agreed = expected[first..].iter().all(|outputs| outputs.iter().all(|output| *output == outputs[0]));
        for &simd in Simd::supported() {
            let mut outputs = vec![Block::ZERO; len - first];
            let all = buckets.evaluate_on(simd, first, &left[first..], &right[first..], &mut outputs);
            prop_assert_eq!(all, agreed, "{}", simd);
            prop_assert!(outputs.iter().zip(&expected[first..]).all(|(out, all)| *out == all[0]), "{}", simd);
        }
        for k in 0..len {
            prop_assert!(candidates(&buckets, k, left[k], right[k]) == expected[k]);
        }
    }

    #[test]
    fn buckets_given_one_after_another_are_the_same(
        beta in 1..=15_usize,
        len in 0..10_usize,
        seed in any::<u128>(),
        part in 1..4_usize,
    ) {
        let gates = gates(Block([1, 0]), beta, len, seed);
        let buckets = stored(beta, &gates);
        let same = |other: &Buckets| other.numbers() == buckets.numbers() && other.blocks() == buckets.blocks();
        prop_assert!(same(&Buckets::from_parts(beta, base(BASE), len, buckets.numbers().to_vec(), buckets.blocks().to_vec())));

        let mut parts = Buckets::new(beta, base(BASE), len);
        let mut start = 0;
        for mut writer in parts.writer().chunks(4 * part) {
            for (k, gates) in gates[start..start + writer.len()].iter().enumerate() {
                for (j, gate) in gates.iter().enumerate() {
                    writer.set_gate(k, j, gate.number, &gate.table);
                    if j > 0 {
                        let first = gates[0];
                        writer.set_soldering(k, j, first.left ^ gate.left, first.right ^ gate.right, first.output ^ gate.output);
                    }
                }
            }
            start += writer.len();
        }
        prop_assert_eq!(start, len);
        prop_assert!(same(&parts));
    }
}

#[test]
fn a_gate_of_another_function_is_noticed_where_it_differs() {
    let delta = Block([0x1234_5679, 77]);
    let bits = [false, true];
    for beta in [2, 3, 4, 5, 7, 9] {
        let honest = gates(delta, beta, 6, 1);
        for (bucket, place) in [
            (0, 0),
            (1, beta - 1),
            (2, 1),
            (3, beta / 2),
            (5, 0),
            (4, beta - 1),
        ] {
            for function in 1..8 {
                let [i, j, k] = [0, 1, 2].map(|bit| function >> bit & 1 == 1);
                let mut gates = honest.clone();
                let Gate {
                    number, left, right, ..
                } = gates[bucket][place];
                gates[bucket][place] = Gate::of_function(delta, number, left, right, [i, j, k]);
                let buckets = stored(beta, &gates);
                for (x, y) in bits.iter().flat_map(|&x| bits.map(|y| (x, y))) {
                    let left: Vec<Block> = gates.iter().map(|gates| label(gates[0].left, delta, x)).collect();
                    let right: Vec<Block> = gates
                        .iter()
                        .map(|gates| label(gates[0].right, delta, y))
                        .collect();
                    let wrong = (((x ^ i) && (y ^ j)) ^ k) != (x && y);
                    for &simd in Simd::supported() {
                        let mut outputs = vec![Block::ZERO; 6];
                        assert_eq!(
                            buckets.evaluate_on(simd, 0, &left, &right, &mut outputs),
                            !wrong,
                            "gate {place} of {beta}, function {function}, {x} and {y}, {simd}"
                        );
                        // The neighbours are not blamed.
                        assert!(
                            bucket == 0
                                || buckets.evaluate_on(
                                    simd,
                                    0,
                                    &left[..bucket],
                                    &right[..bucket],
                                    &mut outputs[..bucket]
                                )
                        );
                        assert!(buckets.evaluate_on(
                            simd,
                            bucket + 1,
                            &left[bucket + 1..],
                            &right[bucket + 1..],
                            &mut outputs[bucket + 1..]
                        ));
                    }
                    let candidates = candidates(&buckets, bucket, left[bucket], right[bucket]);
                    // Solderings to a wrong gate 0 hide nothing: what the others give is the label of the right bit.
                    for (at, candidate) in candidates.iter().enumerate() {
                        let bit = (x && y) ^ (wrong && at == place);
                        assert!(
                            *candidate == label(gates[bucket][0].output, delta, bit),
                            "candidate {at}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn one_wrong_bit_anywhere_is_noticed_where_it_is_used() {
    let delta = Block([0x9999_9999, 3]);
    let (beta, bucket) = (5, 6);
    let mut gates = gates(delta, beta, 7, 2);
    // Labels of colour 1 use every block of a table; so do those of the further gates if solderings have colour 0.
    for gate in &mut gates[bucket] {
        let colour = |wire: Block| label(wire, delta, wire.0[0] & 1 == 0);
        *gate = Gate::new(delta, gate.number, colour(gate.left), colour(gate.right));
    }
    let honest = stored(beta, &gates);
    let (left, right) = ([gates[bucket][0].left], [gates[bucket][0].right]);
    let mut output = [Block::ZERO];
    assert!(honest.evaluate(bucket, &left, &right, &mut output));
    let group = 5 * beta - 3;
    for line in group..2 * group {
        for flip in [1, 1 << 63] {
            for word in 0..8 {
                let mut blocks = honest.blocks().to_vec();
                blocks[line].0[word] ^= flip;
                let buckets = Buckets::from_parts(beta, base(BASE), 7, honest.numbers().to_vec(), blocks);
                let ours = word / 2 == bucket % 4;
                assert_eq!(
                    buckets.evaluate(bucket, &left, &right, &mut output),
                    !ours,
                    "line {line}, word {word}"
                );
            }
        }
    }
    for place in 4 * beta..8 * beta {
        let mut numbers = honest.numbers().to_vec();
        numbers[place] ^= 1;
        let buckets = Buckets::from_parts(beta, base(BASE), 7, numbers, honest.blocks().to_vec());
        let ours = place % 4 == bucket % 4;
        assert_eq!(
            buckets.evaluate(bucket, &left, &right, &mut output),
            !ours,
            "number {place}"
        );
    }
}

#[test]
fn debug_hides_contents() {
    let mut buckets = Buckets::new(4, base(0), 9);
    assert_eq!(format!("{buckets:?}"), "Buckets(9 of 4 gates)");
    assert_eq!(format!("{:?}", buckets.writer()), "BucketsMut(9 of 4 gates)");
    assert_eq!(buckets.bytes(), 3 * (17 * 64 + 16 * 4));
    assert!(!buckets.is_empty() && Buckets::new(4, base(0), 0).is_empty());
}

#[test]
#[should_panic(expected = "no such buckets")]
fn buckets_beyond_the_last_cannot_be_evaluated() {
    Buckets::new(3, base(0), 5).evaluate(4, &[Block::ZERO; 2], &[Block::ZERO; 2], &mut [Block::ZERO; 2]);
}

#[test]
#[should_panic(expected = "close to the base")]
fn numbers_far_from_the_base_are_refused() {
    Buckets::new(3, base(1 << 40), 5)
        .writer()
        .set_gate(0, 0, (1 << 40) - 1, &GateTable::default());
}
