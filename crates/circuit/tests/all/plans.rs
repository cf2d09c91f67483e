//! Plans compute what their circuits compute, and keep their promises to executors.

use cenote_circuit::{BitOrder, Builder, Circuit, Gate, InputShape, LocalOp, Plan};
use cenote_primitives::BitMatrix;
use proptest::prelude::*;

/// For each wire: whether an output needs it, and the ANDs on the longest path to it.
fn needed_and_depth(circuit: &Circuit) -> (Vec<bool>, Vec<usize>) {
    let inputs = circuit.input_wires() as usize;
    let wires = inputs + circuit.gates().len();
    let operands = |gate: &Gate| match *gate {
        Gate::Xor(a, b) | Gate::And(a, b) => vec![a as usize, b as usize],
        Gate::Not(a) | Gate::Copy(a) => vec![a as usize],
        Gate::Const(_) => vec![],
    };
    let mut depth = vec![0; wires];
    for (wire, gate) in (inputs..).zip(circuit.gates()) {
        let before = operands(gate)
            .into_iter()
            .map(|operand| depth[operand])
            .max()
            .unwrap_or(0);
        depth[wire] = before + usize::from(matches!(gate, Gate::And(..)));
    }
    let mut needed = vec![false; wires];
    for &wire in circuit.output_wires() {
        needed[wire as usize] = true;
    }
    for (wire, gate) in (inputs..wires).zip(circuit.gates()).rev() {
        if needed[wire] {
            for operand in operands(gate) {
                needed[operand] = true;
            }
        }
    }
    (needed, depth)
}

fn check_promises(circuit: &Circuit, plan: &Plan) {
    let inputs = circuit.input_wires() as usize;
    let (needed, depth) = needed_and_depth(circuit);
    let needed_gates = |kind: fn(&Gate) -> bool| {
        let gates = (inputs..).zip(circuit.gates());
        gates.filter(|&(wire, gate)| needed[wire] && kind(gate)).count()
    };
    assert_eq!(
        plan.and_count(),
        needed_gates(|gate| matches!(gate, Gate::And(..)))
    );
    assert_eq!(
        plan.local_ops().len(),
        needed_gates(|gate| !matches!(gate, Gate::And(..) | Gate::Copy(_)))
    );
    let expected_depth = circuit
        .output_wires()
        .iter()
        .map(|&wire| depth[wire as usize])
        .max();
    assert_eq!(plan.and_depth(), expected_depth.unwrap_or(0));
    assert_eq!(plan.input_wires(), inputs);
    assert_eq!(plan.output_wires(), circuit.output_wires().len());
    assert_eq!(plan.digest(), circuit.digest());

    // The levels cover the operations in order, and only the last may be without ANDs.
    let (mut local, mut ands, mut largest) = (0, 0, 0);
    for (index, level) in plan.levels().iter().enumerate() {
        assert_eq!((level.local.start, level.ands.start), (local, ands));
        (local, ands) = (level.local.end, level.ands.end);
        largest = largest.max(level.ands.len());
        assert!(!level.ands.is_empty() || (index + 1 == plan.levels().len() && !level.local.is_empty()));
    }
    assert_eq!((local, ands), (plan.local_ops().len(), plan.and_ops().len()));
    assert_eq!(largest, plan.max_level_ands());

    // Slots are in range, and an operand holds a value whenever it is read.
    let mut written = vec![false; plan.slots()];
    for &slot in plan.input_slots() {
        assert!(
            !std::mem::replace(&mut written[slot as usize], true),
            "two inputs in one slot"
        );
    }
    for level in plan.levels() {
        for op in &plan.local_ops()[level.local.clone()] {
            let (dst, operands) = match *op {
                LocalOp::Xor { dst, a, b } => (dst, vec![a, b]),
                LocalOp::Not { dst, a } | LocalOp::Copy { dst, a } => (dst, vec![a]),
                LocalOp::Const { dst, .. } => (dst, vec![]),
            };
            assert!(!operands.contains(&dst), "{op:?} overwrites what it reads");
            assert!(operands.iter().all(|&slot| written[slot as usize]));
            written[dst as usize] = true;
        }
        let ands = &plan.and_ops()[level.ands.clone()];
        assert!(
            ands.iter()
                .all(|op| written[op.a as usize] && written[op.b as usize])
        );
        let mut results: Vec<u32> = ands.iter().map(|op| op.dst).collect();
        results.sort_unstable();
        results.dedup();
        assert_eq!(results.len(), ands.len(), "two ANDs of a level in one slot");
        for dst in results {
            written[dst as usize] = true;
        }
    }
    assert!(plan.output_slots().iter().all(|&slot| written[slot as usize]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plans_compute_what_circuits_compute(
        circuit in crate::common::circuits(300, 3, 3, 20),
        lanes in 0usize..200,
        seed: u64,
    ) {
        let plan = Plan::new(&circuit);
        check_promises(&circuit, &plan);
        let inputs = crate::common::inputs(&circuit, lanes, seed);
        let expected = circuit.evaluate(&inputs).unwrap();
        prop_assert!(plan.evaluate(&inputs).unwrap() == expected);
        prop_assert_eq!(Plan::new(&circuit), plan);
    }

    #[test]
    fn simplified_circuits_compute_the_same(circuit in crate::common::circuits(200, 3, 3, 10), seed: u64) {
        let simplified = circuit.simplified();
        prop_assert_eq!(simplified.inputs(), circuit.inputs());
        prop_assert_eq!(simplified.outputs(), circuit.outputs());
        let inputs = crate::common::inputs(&circuit, 130, seed);
        prop_assert!(simplified.evaluate(&inputs).unwrap() == circuit.evaluate(&inputs).unwrap());
        prop_assert!(Plan::new(&simplified).and_count() <= Plan::new(&circuit).and_count());
        prop_assert!(simplified.gates().iter().all(|gate| !matches!(gate, Gate::Copy(_))));
        // What is simple already stays as it is.
        prop_assert_eq!(simplified.simplified().statistics().ands, simplified.statistics().ands);
    }
}

/// Lanes in blocks: more than the interpreter takes at once.
#[test]
fn many_lanes() {
    let mut b = Builder::new();
    let x = b.input("x", 900, BitOrder::Lsb);
    let products: Vec<_> = (0..899).map(|i| b.and(x[i], !x[i + 1])).collect();
    b.output("out", &products, BitOrder::Lsb);
    let circuit = b.finish();
    let inputs = crate::common::inputs(&circuit, 64 * 150 + 7, 1);
    let plan = Plan::new(&circuit);
    assert!(plan.evaluate(&inputs).unwrap() == circuit.evaluate(&inputs).unwrap());
}

#[test]
fn inputs_of_another_shape_are_refused() {
    let mut b = Builder::new();
    let x = b.input("x", 3, BitOrder::Lsb);
    b.output("out", &x, BitOrder::Lsb);
    let circuit = b.finish();
    let shape = InputShape {
        expected: 3,
        found: 4,
    };
    assert_eq!(circuit.evaluate(&BitMatrix::zeros(4, 1)).unwrap_err(), shape);
    assert_eq!(
        Plan::new(&circuit).evaluate(&BitMatrix::zeros(4, 1)).unwrap_err(),
        shape
    );
    assert_eq!(
        shape.to_string(),
        "the circuit has 3 input wires, but the inputs have 4 rows"
    );
}

/// An adder's sums take the places of its addends: two operands, a carry, a place to compute in, and one spare.
#[test]
fn a_ripple_adder_needs_hardly_more_than_its_inputs() {
    let mut b = Builder::new();
    let x = b.input("x", 64, BitOrder::Lsb);
    let y = b.input("y", 64, BitOrder::Lsb);
    let mut carry = cenote_circuit::Bit::FALSE;
    let mut sum = Vec::new();
    for (&x, &y) in x.iter().zip(&y) {
        let (left, right) = (b.xor(x, carry), b.xor(y, carry));
        sum.push(b.xor(left, y));
        let both = b.and(left, right);
        carry = b.xor(both, carry);
    }
    b.output("sum", &sum, BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    assert!(plan.slots() <= 128 + 3, "{}", plan.slots());
    assert_eq!(
        (plan.and_count(), plan.and_depth(), plan.max_level_ands()),
        (63, 63, 1)
    );
}

/// A sum of products adds each product when it is made: the products are never all alive.
#[test]
fn products_wait_until_they_are_needed() {
    let mut b = Builder::new();
    let x = b.input("x", 64, BitOrder::Lsb);
    let mut state = x[0];
    // Each step reads a fresh product, all of which could be made in the first level.
    for i in 0..64 {
        for j in 0..i {
            let product = b.and(x[i], x[j]);
            let sum = b.xor(state, product);
            state = b.and(sum, x[j]);
        }
    }
    b.output("state", &[state], BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    assert!(plan.and_count() > 4000);
    assert!(plan.slots() <= 70, "{}", plan.slots());
}

/// A long chain is scheduled without recursion, and a copied wire has no slot of its own.
#[test]
fn long_chains_and_copies() {
    let value = |width| cenote_circuit::Value {
        name: "v".into(),
        width,
        order: BitOrder::Lsb,
    };
    let mut gates = vec![Gate::Copy(0)];
    for wire in 1..300_000 {
        gates.push(if wire % 2 == 0 {
            Gate::Not(wire)
        } else {
            Gate::Copy(wire)
        });
    }
    let last = gates.len() as u32;
    let circuit = Circuit::new(vec![value(1)], vec![value(3)], gates, vec![last, 0, last]).unwrap();
    let plan = Plan::new(&circuit);
    assert_eq!(plan.local_ops().len(), 149_999);
    assert_eq!((plan.slots(), plan.levels().len()), (3, 1));
    assert_eq!(plan.output_slots()[0], plan.output_slots()[2]);
    let outputs = plan
        .evaluate(&BitMatrix::from_fn(1, 2, |_, lane| lane == 1))
        .unwrap();
    let column = |lane| [0, 1, 2].map(|row| outputs.get(row, lane));
    assert_eq!(
        [column(0), column(1)],
        [[true, false, true], [false, true, false]]
    );
}
