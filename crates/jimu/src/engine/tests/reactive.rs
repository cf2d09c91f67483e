//! What comes after a cheating garbler was noticed.

use super::*;

/// Rounds of the program.
const ROUNDS: usize = 12;

/// Wires of each input, in one lane.
const WIDTH: usize = 4;

/// (state, garbler's, evaluator's) to (state' = state AND garbler's XOR evaluator's).
fn mixing() -> Plan {
    let mut b = Builder::new();
    let [state, x, y] = ["state", "x", "y"].map(|name| b.input(name, WIDTH as u32, BitOrder::Lsb));
    let next: Vec<_> = (0..WIDTH)
        .map(|wire| {
            let both = b.and(state[wire], x[wire]);
            let either = !b.and(!both, y[wire]);
            b.xor(either, state[(wire + 1) % WIDTH])
        })
        .collect();
    b.output("next", &next, BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// The inputs of a round.
fn given(round: usize, owner: PartyId) -> BitMatrix {
    BitMatrix::from_fn(WIDTH, 1, |wire, _| {
        ((round * 7 + wire * 5 + owner.index() * 3) % 11).is_multiple_of(2)
    })
}

/// What the program draws, in order.
fn draws() -> Vec<(usize, usize)> {
    let mut draws = vec![(WIDTH, ANCHOR)];
    for round in 0..ROUNDS {
        draws.push((WIDTH, ANCHOR));
        // What was settled is anchored when it is used.
        if round % 4 == 2 {
            draws.push((WIDTH, ANCHOR));
        }
        draws.push((2 * WIDTH, BUCKET));
        if round % 4 == 0 {
            draws.push((WIDTH, ANCHOR));
        }
    }
    draws
}

/// State that goes from circuit to circuit, inputs of both parties in every round; after some rounds it is settled, revealed to one party or
/// both, or put together anew.
fn program(engine: &mut JimuEngine) -> Result<Vec<Option<BitMatrix>>> {
    let plan = mixing();
    let mut state = input(engine, GARBLER, &given(100, GARBLER))?;
    let mut seen = Vec::new();
    for round in 0..ROUNDS {
        let x = input(engine, GARBLER, &given(round, GARBLER))?;
        let y = input(engine, EVALUATOR, &given(round, EVALUATOR))?;
        state = engine.run(&plan, &JimuWires::concat(&[&state, &x, &y]))?;
        match round % 4 {
            0 => seen.push(engine.reveal(&state, Parties::all(2))?),
            1 => state = engine.settle(state)?,
            2 => seen.push(engine.reveal(&state, Parties::one(EVALUATOR))?),
            _ => {
                let run = LaneRun {
                    part: 0,
                    start: 0,
                    len: 1,
                    times: 1,
                };
                state = engine.arrange(&[state.whole()], &[run])?;
            }
        }
    }
    engine.finish()?;
    Ok(seen)
}

/// The program in the clear, as the evaluator sees it.
fn expected() -> Vec<Option<BitMatrix>> {
    let plan = mixing();
    let mut state = given(100, GARBLER);
    let mut seen = Vec::new();
    for round in 0..ROUNDS {
        let all = [&state, &given(round, GARBLER), &given(round, EVALUATOR)].map(Clone::clone);
        let inputs = BitMatrix::from_fn(3 * WIDTH, 1, |wire, _| all[wire / WIDTH].get(wire % WIDTH, 0));
        state = plan.evaluate(&inputs).unwrap();
        if round % 2 == 0 {
            seen.push(Some(state.clone()));
        }
    }
    seen
}

/// Faults in so many gates of each draw that are bad, from draw `from` on.
fn faults(order: &[Vec<Gate>], from: usize) -> Faults {
    let kinds = [
        [Fault::Delta, Fault::Delta],
        [Fault::Delta, Fault::None],
        [Fault::None, Fault::Garbage],
        [Fault::None, Fault::Delta],
        [Fault::Garbage, Fault::Delta],
    ];
    let mut faults = Faults::new();
    for (at, draw) in order.iter().enumerate().skip(from) {
        // The good ones are one of a bucket, three of an anchor.
        let bad = if draw.len() == BUCKET {
            BUCKET - 1
        } else {
            ANCHOR / 2
        };
        for gate in 0..bad {
            let gate = draw[(at + gate) % draw.len()];
            faults.insert(gate.number, kinds[(at + gate.number as usize) % kinds.len()]);
        }
    }
    faults
}

/// The garbler has bad gates everywhere, as many as leave one good one in each bucket and most of each anchor: from the beginning, or from some
/// later round on, so that there are anchors from before and after it is noticed. All outputs of all rounds are right, and the evaluator
/// sends what it would have sent to an honest garbler, byte for byte.
#[test]
fn a_noticed_garbler_goes_on_as_before_and_outputs_stay_right() {
    let (seed, gates) = (41, 1024);
    let honest = Session::new(seed, gates, &Faults::new()).run(None, program);
    assert!(!honest.cheated);
    let sent = honest.sent.clone();
    let [garblers, evaluators] = honest.unwrap();
    assert_eq!(evaluators, expected());
    let order = Session::order(seed, gates, &draws());
    for from in [0, order.len() / 3, 2 * order.len() / 3] {
        let outcome = Session::new(seed, gates, &faults(&order, from)).run(None, program);
        assert!(outcome.cheated, "from draw {from}");
        assert!(outcome.sent == sent, "what the evaluator sends is the same");
        assert_eq!(outcome.unwrap(), [garblers.clone(), evaluators.clone()]);
    }
}

/// A garbler's input is taken from what most of its anchors say. Gates with Δ added to both halves of the table say the opposite of the bit.
#[test]
fn a_minority_of_bad_anchors_is_outvoted_and_a_majority_is_not() {
    let (seed, gates) = (42, 256);
    let draws = [(1, ANCHOR), (1, BUCKET), (1, ANCHOR)];
    let order = Session::order(seed, gates, &draws);
    for (bad, right) in [
        (0, true),
        (ANCHOR / 2, true),
        (ANCHOR / 2 + 1, false),
        (ANCHOR, false),
    ] {
        let mut noticed = 0;
        for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
            // What tells Δ: bad gates in the bucket, wrong for either value.
            let bucket = [[Fault::Delta, Fault::None], [Fault::None, Fault::Delta]];
            let mut faults: Faults = (0..2).map(|gate| (order[1][gate].number, bucket[gate])).collect();
            let anchors = order[0].iter().take(bad);
            faults.extend(anchors.map(|gate| (gate.number, [Fault::Delta; 2])));
            let outcome = Session::new(seed, gates, &faults).run(None, |engine| {
                let x = input(engine, GARBLER, &bit(x))?;
                let y = input(engine, EVALUATOR, &bit(y))?;
                let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
                engine.reveal(&both, Parties::all(2))
            });
            if !outcome.cheated {
                assert_eq!(outcome.unwrap()[1], Some(bit(x && y)));
                continue;
            }
            noticed += 1;
            let found = outcome.unwrap();
            assert_eq!(found[0], found[1]);
            // With the other bit for x, which shows if y is 1.
            let expected = (x == right) && y;
            assert_eq!(found[1], Some(bit(expected)), "{bad} bad anchors, {x} {y}");
        }
        assert_eq!(noticed, 3, "two gates whose tables are wrong in different halves");
    }
}

/// Nothing is computed on no lanes, and inputs of no wires are none: nobody panics, and the session goes on.
#[test]
fn no_lanes_and_no_wires_are_nothing() {
    let outcome = Session::new(43, 256, &Faults::new()).run(None, |engine| {
        let two = engine.constant(&BitMatrix::from_fn(2, 3, |_, _| true))?;
        let none = engine.arrange(&[two.whole()], &[])?;
        let outputs = engine.run(&and(), &none)?;
        let outputs = engine.settle(outputs)?;
        let opened = engine.reveal(&outputs, Parties::all(2))?.unwrap();
        assert_eq!((opened.rows(), opened.lanes()), (1, 0));
        for owner in [GARBLER, EVALUATOR] {
            let wires = input(engine, owner, &BitMatrix::zeros(0, 5))?;
            let opened = engine.reveal(&wires, Parties::all(2))?.unwrap();
            assert_eq!((opened.rows(), opened.lanes()), (0, 5));
        }
        let both = engine.run(&and(), &two)?;
        let opened = engine.reveal(&both, Parties::all(2))?;
        engine.finish()?;
        Ok(opened)
    });
    let all = BitMatrix::from_fn(1, 3, |_, _| true);
    assert_eq!(outcome.unwrap(), [Some(all.clone()), Some(all)]);
}
