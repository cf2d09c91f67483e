//! Wires that are settled before or after the garbler's cheating shows.

use super::*;

const LANES: usize = 4;

const DRAWS: [(usize, usize); 6] = [
    (LANES, ANCHOR),
    (LANES, BUCKET),
    (LANES, ANCHOR),
    (LANES, BUCKET),
    (LANES, ANCHOR),
    (LANES, ANCHOR),
];

/// Bits of both parties in two rounds, all combinations in the lanes.
fn given(round: usize, shift: usize) -> BitMatrix {
    BitMatrix::from_fn(1, LANES, |_, lane| (lane + round) >> shift & 1 == 1)
}

/// Two rounds of AND gates, each settled at once; at the end all is revealed, together or round by round.
fn program(engine: &mut JimuEngine, together: bool) -> Result<Vec<BitMatrix>> {
    let mut settled = Vec::new();
    for round in 0..2 {
        let x = input(engine, GARBLER, &given(round, 0))?;
        let y = input(engine, EVALUATOR, &given(round, 1))?;
        let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
        settled.push(engine.settle(both)?);
    }
    if together {
        settled = vec![JimuWires::concat(&[&settled[0], &settled[1]])];
    }
    let mut outputs = Vec::new();
    for wires in &settled {
        outputs.extend(engine.reveal(wires, Parties::all(2))?);
    }
    engine.finish()?;
    Ok(outputs)
}

/// Labels that were settled before are right; what is settled later is computed in the clear. Outputs are right at both parties, and
/// the evaluator sends what it would have sent to an honest garbler.
#[test]
fn settled_outputs_are_right_whenever_cheating_shows() {
    let (seed, gates) = (51, 512);
    let order = Session::order(seed, gates, &DRAWS);
    for together in [true, false] {
        let run = |faults: &Faults| {
            let outcome = Session::new(seed, gates, faults).run(None, |engine| program(engine, together));
            (outcome.cheated, outcome.sent.clone(), outcome.unwrap())
        };
        let (_, sent, honest) = run(&Faults::new());
        let bit = |round: usize, lane: usize| given(round, 0).get(0, lane) && given(round, 1).get(0, lane);
        let (rows, count) = if together { (2, 1) } else { (1, 2) };
        let expected: Vec<BitMatrix> = (0..count)
            .map(|at| BitMatrix::from_fn(rows, LANES, |row, lane| bit(at + row, lane)))
            .collect();
        assert_eq!(honest, [expected.clone(), expected.clone()]);
        // Bad gates in the first bucket of the first round, and in that of the second.
        for buckets in [LANES..2 * LANES, 3 * LANES..4 * LANES] {
            let mut faults = Faults::new();
            for bucket in &order[buckets] {
                for (gate, fault) in [(0, [Fault::Delta, Fault::None]), (1, [Fault::None, Fault::Delta])] {
                    faults.insert(bucket[gate].number, fault);
                }
            }
            let (cheated, sent_now, outputs) = run(&faults);
            assert!(cheated);
            assert_eq!(outputs, honest);
            assert!(sent_now == sent, "what the evaluator sends is the same");
        }
    }
}
