use super::*;
use Gate::{And, Const, Not, Xor};

/// The gates and output wires of a circuit with a three-bit input, and of what `build` makes of it.
fn built(build: impl Fn(&mut Builder, [Bit; 3]) -> Vec<Bit>) -> (Vec<Gate>, Vec<WireId>) {
    let mut b = Builder::new();
    let x = b.input("x", 3, BitOrder::Msb);
    let bits = build(&mut b, [x[0], x[1], x[2]]);
    b.output("y", &bits, BitOrder::Lsb);
    let circuit = b.finish();
    assert_eq!(
        (circuit.inputs()[0].order, circuit.outputs()[0].order),
        (BitOrder::Msb, BitOrder::Lsb)
    );
    assert_eq!(
        (
            circuit.inputs()[0].name.as_str(),
            circuit.outputs()[0].name.as_str()
        ),
        ("x", "y")
    );
    (circuit.gates().to_vec(), circuit.output_wires().to_vec())
}

#[test]
fn constants_fold() {
    let (f, t) = (Bit::FALSE, Bit::TRUE);
    assert_eq!((Bit::constant(false), Bit::constant(true)), (f, t));
    assert_eq!(
        (f.as_constant(), t.as_constant(), !f),
        (Some(false), Some(true), t)
    );
    built(|b, [x, y, _]| {
        assert_eq!(x.as_constant(), None);
        for (left, right, expected) in [
            (x, f, x),
            (x, t, !x),
            (!x, t, x),
            (x, x, f),
            (x, !x, t),
            (!x, !x, f),
            (t, t, f),
        ] {
            assert_eq!((b.xor(left, right), b.xor(right, left)), (expected, expected));
        }
        for (left, right, expected) in [
            (x, f, f),
            (x, t, x),
            (!x, t, !x),
            (x, x, x),
            (x, !x, f),
            (t, t, t),
            (t, f, f),
        ] {
            assert_eq!((b.and(left, right), b.and(right, left)), (expected, expected));
        }
        assert_eq!((b.or(x, f), b.or(x, t), b.or(x, x), b.or(x, !x)), (x, t, x, t));
        assert_eq!(
            (b.mux(t, x, y), b.mux(f, x, y), b.mux(x, t, f), b.mux(x, f, t)),
            (x, y, x, !x)
        );
        assert_eq!(b.mux(x, y, y), y);
        vec![]
    });
}

#[test]
fn sums_and_products_absorb_their_parts() {
    built(|b, [x, y, z]| {
        let sum = b.xor(x, y);
        for (part, rest) in [(x, y), (y, x), (!x, !y), (!y, !x)] {
            assert_eq!((b.xor(sum, part), b.xor(part, !sum)), (rest, !rest));
        }
        for (p, q) in [(x, y), (!x, y), (x, !y), (!x, !y)] {
            let product = b.and(p, q);
            let (p_alone, q_alone) = (b.and(p, !q), b.and(q, !p));
            for (factor, with, without) in [
                (p, product, p_alone),
                (q, product, q_alone),
                (!p, Bit::FALSE, !p),
                (!q, Bit::FALSE, !q),
            ] {
                assert_eq!((b.and(factor, product), b.and(product, factor)), (with, with));
                assert_eq!(
                    (b.and(factor, !product), b.and(!product, factor)),
                    (without, without)
                );
            }
            assert_ne!(b.and(product, z), product);
        }
        vec![]
    });
}

#[test]
fn common_subexpressions_are_shared() {
    let (gates, outputs) = built(|b, [x, y, z]| {
        let (xy, yx) = (b.and(x, y), b.and(y, x));
        let (sum, negated_sum) = (b.xor(xy, z), b.xor(!z, yx));
        assert_eq!((xy, !sum), (yx, negated_sum));
        assert_ne!(b.and(!x, y), xy);
        vec![sum, sum]
    });
    assert_eq!((gates, outputs), (vec![And(0, 1), Xor(2, 3)], vec![4, 4]));
}

#[test]
fn negations_wait_until_a_gate_needs_them() {
    // XORs carry a negation along; three negations of inputs become none.
    let (gates, outputs) = built(|b, [x, y, z]| {
        let xy = b.xor(!x, y);
        vec![b.xor(!xy, !!z)]
    });
    assert_eq!((gates, outputs), (vec![Xor(0, 1), Xor(2, 3)], vec![4]));
    // An AND needs one, once.
    let (gates, outputs) = built(|b, [x, y, z]| vec![b.and(!x, y), b.and(!x, z), !x, x]);
    assert_eq!(
        (gates, outputs),
        (vec![Not(0), And(3, 1), And(3, 2)], vec![4, 5, 3, 0])
    );
    // OR is an AND of negations: an OR of ORs negates each bit once, and the result.
    let (gates, outputs) = built(|b, [x, y, z]| {
        let any = b.or(x, y);
        vec![b.or(any, z)]
    });
    let expected = vec![Not(0), Not(1), And(3, 4), Not(2), And(6, 5), Not(7)];
    assert_eq!((gates, outputs), (expected, vec![8]));
}

#[test]
fn what_no_output_needs_is_left_out() {
    let (gates, outputs) = built(|b, [x, y, z]| {
        let dead = b.and(x, y);
        _ = b.xor(dead, z);
        _ = b.and(!y, z);
        vec![b.and(y, z)]
    });
    assert_eq!((gates, outputs), (vec![And(1, 2)], vec![3]));
}

#[test]
fn outputs_may_be_constants_inputs_and_repeated() {
    let (gates, outputs) = built(|_, [x, _, _]| vec![Bit::TRUE, x, Bit::FALSE, Bit::TRUE, !x, x]);
    assert_eq!(
        (gates, outputs),
        (vec![Const(true), Const(false), Not(0)], vec![3, 0, 4, 3, 5, 0])
    );
}

#[test]
fn values_keep_their_wires_apart() {
    let mut b = Builder::default();
    let x = b.input("x", 2, BitOrder::Lsb);
    let none = b.input("none", 0, BitOrder::Lsb);
    let early = b.and(x[0], x[1]);
    let y = b.input("y", 2, BitOrder::Lsb);
    let late = b.and(early, y[1]);
    b.output("late", &[late], BitOrder::Lsb);
    b.output("y", &y, BitOrder::Lsb);
    let circuit = b.finish();
    assert!(none.is_empty());
    assert_eq!(circuit.gates().len(), 2);
    assert!(circuit.gates().contains(&And(0, 1)));
    assert_eq!(
        (
            circuit.input_range(0),
            circuit.input_range(1),
            circuit.input_range(2)
        ),
        (0..2, 2..2, 2..4)
    );
    assert_eq!((circuit.output_range(0), circuit.output_range(1)), (0..1, 1..3));
    assert_eq!(circuit.output_wires()[1..], [2, 3]);
}

#[test]
fn embedding_folds_too() {
    let mut inner = Builder::new();
    let x = inner.input("x", 3, BitOrder::Lsb);
    let chosen = inner.mux(x[0], x[1], x[2]);
    inner.output("chosen", &[chosen, !x[2]], BitOrder::Lsb);
    let inner = inner.finish();
    let mut outer = Builder::new();
    let y = outer.input("y", 2, BitOrder::Lsb);
    assert_eq!(outer.embed(&inner, &[Bit::TRUE, !y[0], y[1]]), [!y[0], !y[1]]);
    assert_eq!(
        outer.embed(&inner, &[y[0], Bit::TRUE, Bit::FALSE]),
        [y[0], Bit::TRUE]
    );
}

#[test]
#[should_panic(expected = "one bit per input wire")]
fn embedding_wants_every_input() {
    let mut inner = Builder::new();
    inner.input("x", 2, BitOrder::Lsb);
    Builder::new().embed(&inner.finish(), &[Bit::TRUE]);
}
