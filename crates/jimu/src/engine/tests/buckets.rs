//! Bad gates that got past the checks.

use super::*;
use crate::settings::MUX_WIDTH;

const GATES: usize = 256;

/// What a run of one AND gate came to: the garbler's and the evaluator's outputs, whether the evaluator has noticed anything, and what it sent.
type Ran = ([Option<BitMatrix>; 2], bool, Vec<Message>);

/// One AND gate of a bit of either party, with outputs for both.
fn one_gate(seed: u64, faults: &Faults, x: bool, y: bool) -> Ran {
    let mut outcome = Session::new(seed, GATES, faults).run(None, |engine| {
        let x = input(engine, GARBLER, &bit(x))?;
        let y = input(engine, EVALUATOR, &bit(y))?;
        let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
        let output = engine.reveal(&both, Parties::all(2))?;
        engine.finish()?;
        Ok(output)
    });
    let (cheated, sent) = (outcome.cheated, std::mem::take(&mut outcome.sent));
    (outcome.unwrap(), cheated, sent)
}

const DRAWS: [(usize, usize); 3] = [(1, ANCHOR), (1, BUCKET), (1, ANCHOR)];

const BITS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// One bad gate of a bucket, or all but one, in each way to be bad: outputs are right, and the evaluator sends what it would have sent to an
/// honest garbler. It notices exactly when two valid labels meet: in half of the cases, if Δ is added to half a table.
#[test]
fn one_good_gate_is_enough_and_the_garbler_cannot_see_whether_it_was_caught() {
    let seed = 21;
    let order = Session::order(seed, GATES, &DRAWS);
    let honest = BITS.map(|(x, y)| one_gate(seed, &Faults::new(), x, y));
    for (bits, (outputs, cheated, _)) in BITS.iter().zip(&honest) {
        assert_eq!(*outputs, [(); 2].map(|()| Some(bit(bits.0 && bits.1))));
        assert!(!cheated);
    }
    let mut noticed = Vec::new();
    for (bad, fault) in [
        (0..1, [Fault::Delta, Fault::None]),
        (0..1, [Fault::None, Fault::Delta]),
        (2..3, [Fault::Delta, Fault::None]),
        (0..2, [Fault::Delta, Fault::Delta]),
        (0..1, [Fault::Garbage, Fault::None]),
        (0..2, [Fault::Garbage, Fault::Garbage]),
        (1..3, [Fault::None, Fault::Garbage]),
    ] {
        let faults = bad.map(|gate| (order[1][gate].number, fault)).collect();
        let ran = BITS.map(|(x, y)| one_gate(seed, &faults, x, y));
        for (ran, honest) in ran.iter().zip(&honest) {
            assert_eq!(ran.0, honest.0, "{fault:?}");
            assert!(
                ran.2 == honest.2,
                "{fault:?}: what the evaluator sends is the same"
            );
        }
        let caught: Vec<bool> = ran.iter().map(|ran| ran.1).collect();
        let times = caught.iter().filter(|caught| **caught).count();
        match fault {
            [Fault::Delta, Fault::None] | [Fault::None, Fault::Delta] => assert_eq!(times, 2, "{caught:?}"),
            [Fault::Delta, Fault::Delta] => assert!(times >= 2, "{caught:?}"),
            _ => assert_eq!(times, 0, "{fault:?}"),
        }
        noticed.push(caught);
    }
    // Each half of a table is used for one value of one operand: whether it is noticed depends on this operand alone.
    let depends = |caught: &[bool]| [caught[0] != caught[2], caught[0] != caught[1]];
    let [first, second] = [depends(&noticed[0]), depends(&noticed[1])];
    assert!(
        first != second && first[0] != first[1] && second[0] != second[1],
        "{noticed:?}"
    );
}

/// In a bucket of bad gates only, all wrong for the same bits, the garbler decides the output and nobody notices, or an evaluator without a
/// right label gives up: the analysis of the pool says how unlikely that is.
#[test]
fn a_bucket_of_bad_gates_only_is_not_enough() {
    let (seed, lanes) = (22, 16);
    let order = Session::order(seed, GATES, &[(lanes, ANCHOR), (lanes, BUCKET)]);
    let alike = |bucket: &[Gate]| bucket.iter().all(|gate| gate.colour == bucket[0].colour);
    let lane = (0..lanes).find(|&lane| alike(&order[lanes + lane])).unwrap();
    let outputs = |fault: Fault, (x, y): (bool, bool)| {
        let bad = order[lanes + lane].iter();
        let faults = bad.map(|gate| (gate.number, [fault, Fault::None])).collect();
        let all = |bit: bool| BitMatrix::from_fn(1, lanes, |_, _| bit);
        let outcome = Session::new(seed, GATES, &faults).run(None, |engine| {
            let x = input(engine, GARBLER, &all(x))?;
            let y = input(engine, EVALUATOR, &all(y))?;
            let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
            engine.reveal(&both, Parties::one(EVALUATOR))
        });
        assert!(!outcome.cheated);
        outcome.evaluator
    };
    let (mut wrong, mut given_up) = (0, 0);
    for (x, y) in BITS {
        let output = outputs(Fault::Delta, (x, y)).unwrap().unwrap();
        for other in (0..lanes).filter(|other| *other != lane) {
            assert_eq!(output.get(0, other), x && y);
        }
        wrong += usize::from(output.get(0, lane) != (x && y));
        if let Err(error) = outputs(Fault::Garbage, (x, y)) {
            assert_eq!(error.check(), Some(checks::BUCKET), "{error}");
            given_up += 1;
        }
    }
    assert_eq!((wrong, given_up), (2, 2));
}

/// Gadgets of gates that have an operand in common, all with one bad gate, but not in the same place: for each output the others of the bucket
/// have a good one.
#[test]
fn gadgets_with_bad_gates_are_outvoted() {
    let sizes = || Sizes {
        mux: Some(toy().pool),
        ..toy()
    };
    let plan = {
        let mut b = Builder::new();
        let x = b.input("x", MUX_WIDTH as u32, BitOrder::Lsb);
        let y = b.input("y", 1, BitOrder::Lsb);
        let products: Vec<_> = x.iter().map(|&x| b.and(x, y[0])).collect();
        b.output("xy", &products, BitOrder::Lsb);
        Plan::new(&b.finish())
    };
    let (gates, gadgets) = (512, 128);
    let run = |seed: u64, faults: &Faults, y: bool| {
        let bits = BitMatrix::from_fn(MUX_WIDTH, 1, |wire, _| (wire as u64 ^ seed).is_multiple_of(3));
        let outcome = Session::with(sizes(), seed, [gates, gadgets], faults).run(None, |engine| {
            let x = input(engine, GARBLER, &bits)?;
            let y = input(engine, EVALUATOR, &bit(y))?;
            let products = engine.run(&plan, &JimuWires::concat(&[&x, &y]))?;
            let output = engine.reveal(&products, Parties::all(2))?;
            engine.finish()?;
            Ok(output)
        });
        let expected = BitMatrix::from_fn(MUX_WIDTH, 1, |wire, _| bits.get(wire, 0) && y);
        let (cheated, sent) = (outcome.cheated, outcome.sent.clone());
        assert_eq!(outcome.unwrap(), [Some(expected.clone()), Some(expected)]);
        (cheated, sent)
    };
    let mut noticed = 0;
    for seed in 80..84 {
        let bad = (0..gadgets as u64).map(|gadget| {
            (
                gates as u64 + gadget * MUX_WIDTH as u64 + gadget % MUX_WIDTH as u64,
                gadget,
            )
        });
        let faults = bad.map(|(gate, gadget)| {
            let fault = [
                [Fault::Delta, Fault::None],
                [Fault::None, Fault::Garbage],
                [Fault::Delta; 2],
            ];
            (gate, fault[gadget as usize % 3])
        });
        let faults = faults.collect();
        for y in [false, true] {
            let (nothing, honest) = run(seed, &Faults::new(), y);
            let (cheated, sent) = run(seed, &faults, y);
            assert!(!nothing && sent == honest, "what the evaluator sends is the same");
            noticed += usize::from(cheated);
        }
    }
    assert!(noticed > 0);
}
