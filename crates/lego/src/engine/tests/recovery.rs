//! A garbler whose bad gates are not found: the evaluator gets the right outputs, sends what it would have sent, and knows.

use cenote_session::WarningKind;

use super::*;

/// What a party sees of a session: outputs, whether the peer was seen to cheat, and the steps and lengths of the messages that
/// the evaluator sent.
type Seen = (Vec<Option<BitMatrix>>, bool);

const LANES: usize = 5;

/// Inputs of both, a circuit, half of its outputs to the evaluator alone, the other to the garbler alone, then the circuit again
/// on those outputs and new inputs, built ahead, with its outputs to both; each time with every bit of the evaluator's.
fn program(engine: &mut LegoEngine, x: usize, y: usize) -> Result<Seen> {
    let plan = plan();
    engine.prepare(&plan, LANES)?;
    let me = engine.me();
    let input = |engine: &mut LegoEngine, owner: PartyId, value: usize| {
        let bits = number(value, LANES);
        engine.input(owner, 4, LANES, (owner == me).then_some(&bits))
    };
    let mut outputs = Vec::new();
    let (a, b) = (input(engine, GARBLER, x)?, input(engine, EVALUATOR, y)?);
    let first = engine.run(&plan, &WireVector::concat(&[&a, &b]))?;
    outputs.push(engine.reveal(&first.select(0..2), Parties::one(EVALUATOR))?);
    outputs.push(engine.reveal(&first.select(2..5), Parties::one(GARBLER))?);
    let c = input(engine, GARBLER, y)?;
    let second = engine.run(&plan, &WireVector::concat(&[&first.select(1..5), &c]))?;
    outputs.push(engine.reveal(&second, Parties::all(2))?);
    // Wires of A's that were revealed before anything was computed on them.
    outputs.push(engine.reveal(&c, Parties::all(2))?);
    engine.finish()?;
    Ok((outputs, engine.peer_cheated()))
}

fn expected(x: usize, y: usize) -> [BitMatrix; 4] {
    let plan = plan();
    let join = |a: &BitMatrix, b: &BitMatrix| {
        BitMatrix::from_fn(8, LANES, |row, lane| {
            if row < 4 {
                a.get(row, lane)
            } else {
                b.get(row - 4, lane)
            }
        })
    };
    let rows = |m: &BitMatrix, from: usize, count: usize| {
        BitMatrix::from_fn(count, LANES, |row, lane| m.get(from + row, lane))
    };
    let first = plan
        .evaluate(&join(&number(x, LANES), &number(y, LANES)))
        .unwrap();
    let second = plan
        .evaluate(&join(&rows(&first, 1, 4), &number(y, LANES)))
        .unwrap();
    [rows(&first, 0, 2), rows(&first, 2, 3), second, number(y, LANES)]
}

/// What [`program`] takes.
fn for_program() -> Shape {
    let ands = (plan().and_count() * LANES) as u64;
    unchecked(Order {
        ands: 2 * ands,
        garbler_inputs: 8 * LANES as u64,
        evaluator_inputs: 4 * LANES as u64,
        anchors: 3 * LANES as u64,
        masks: 20 * LANES as u64,
        ports: 8 * LANES as u64,
    })
}

/// Runs it; checks the outputs of both, and gives whether the evaluator has seen the cheating, whether it knew `Δ`, and what it
/// sent.
fn run(cheat: Cheat, bad: u32, seed: u64, x: usize, y: usize) -> (bool, Vec<cenote_testkit::Sent>) {
    let what = format!("{cheat:?} {bad}");
    run_after(seed, x, y, &what, move |context| {
        start(context, &for_program(), cheat, bad)
    })
}

/// The same after `start`.
fn run_after(
    seed: u64,
    x: usize,
    y: usize,
    what: &str,
    start: impl Fn(&mut PartyContext) -> Result<LegoEngine> + Send + Sync + 'static,
) -> (bool, Vec<cenote_testkit::Sent>) {
    let world = World::new(2, seed);
    let results = world.run(move |mut context| {
        let mut engine = start(&mut context)?;
        program(&mut engine, x, y)
    });
    let mut seen: Vec<Seen> = results.into_iter().map(|result| result.unwrap()).collect();
    let (at_b, cheated) = seen.remove(1);
    let (at_a, _) = seen.remove(0);
    let right = expected(x, y);
    for (at, right) in right.iter().enumerate() {
        let to_a = (at != 0).then_some(right);
        let to_b = (at != 1).then_some(right);
        assert_eq!(at_a[at].as_ref(), to_a, "{what}, output {at} at the garbler");
        assert_eq!(at_b[at].as_ref(), to_b, "{what}, output {at} at the evaluator");
    }
    (cheated, world.transcript(EVALUATOR))
}

/// With few bad gates, which are outvoted, and with so many that many buckets give the wrong output.
#[test]
fn outputs_are_right_whatever_the_gates_are() {
    let (nobody, honest) = run(Cheat::None, 0, 1, 3, 9);
    assert!(!nobody);
    for (cheat, bad) in [
        (Cheat::Nand, 8),
        (Cheat::Nand, 100),
        (Cheat::HalfWrong, 8),
        (Cheat::HalfWrong, 100),
        (Cheat::Garbage, 8),
        (Cheat::Garbage, 40),
    ] {
        for y in [9, 6] {
            let (cheated, sent) = run(cheat, bad, 1, 3, y);
            assert!(cheated, "{cheat:?} {bad}");
            assert_eq!(sent, honest, "{cheat:?} {bad}");
        }
    }
}

/// What the garbler sees is the same for both values of each of the evaluator's bits, whatever the gates do: it gets its
/// outputs, and the same messages.
#[test]
fn the_evaluators_bits_do_not_show() {
    for seed in 0..6 {
        let made = Made::new(10 + seed, for_program(), Cheat::HalfWrong, 60);
        let mut all = Vec::new();
        for y in [0, 1, 2, 4, 8, 15] {
            let made = made.clone();
            let (cheated, sent) =
                run_after(10 + seed, 5, y, "half wrong", move |context| made.start(context));
            assert!(cheated);
            all.push(sent);
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// What a circuit on constants gives the evaluator whose garbler's gates are bad, what is right, and what the evaluator's `end` of the session gives; the garbler
/// ends it, or hangs up.
fn on_constants<T: Send + 'static>(
    hangs_up: bool,
    end: fn(&mut LegoEngine) -> Result<T>,
) -> (Option<BitMatrix>, BitMatrix, T) {
    let plan = plan();
    let shape = unchecked(Order {
        ands: (plan.and_count() * LANES) as u64,
        masks: 9 * LANES as u64,
        ..Order::NOTHING
    });
    let results = World::new(2, 3).run(move |mut context| -> Result<_> {
        let me = context.me;
        let mut engine = start(&mut context, &shape, Cheat::Nand, 110)?;
        let bits = BitMatrix::from_fn(8, LANES, |row, lane| (row * 3 + lane) % 5 < 2);
        let plan = super::plan();
        let wires = engine.constant(&bits)?;
        let outputs = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&outputs, Parties::one(EVALUATOR))?;
        if me == EVALUATOR {
            return Ok(Some((revealed, plan.evaluate(&bits).unwrap(), end(&mut engine)?)));
        }
        if !hangs_up {
            engine.finish()?;
        }
        Ok(None)
    });
    let of_evaluator = results.into_iter().nth(1).unwrap();
    of_evaluator.unwrap().expect("what the evaluator saw")
}

/// Without any input all bits are known, and no label is needed to tell whether a difference is `Δ`.
#[test]
fn circuits_on_constants_are_right_too() {
    let (revealed, right, cheated) = on_constants(false, |engine| {
        engine.finish()?;
        Ok(engine.peer_cheated())
    });
    assert_eq!((revealed, cheated), (Some(right), true));
}

/// It may hang up so that nobody learns that it was noticed.
#[test]
fn what_a_garbler_did_is_known_after_it_has_hung_up() {
    let (_, _, (failed, warnings)) =
        on_constants(true, |engine| Ok((engine.finish().is_err(), engine.warnings())));
    assert!(failed);
    let kinds: Vec<WarningKind> = warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::PeerCheated]);
}

/// Where gates of a circuit on constants disagree, there is no label yet that tells `Δ`; what they gave away is remembered
/// until there is one, of an input of either party, and what is computed from the circuit's wires later is right.
#[test]
fn differences_seen_before_any_input_are_remembered() {
    let plan = plan();
    let outputs = plan.output_wires();
    let shape = unchecked(Order {
        ands: (plan.and_count() * LANES) as u64,
        garbler_inputs: (outputs * LANES) as u64,
        evaluator_inputs: (outputs * LANES) as u64,
        masks: (2 * outputs * LANES) as u64,
        anchors: (outputs * LANES) as u64,
        ..Order::NOTHING
    });
    let mut b = Builder::new();
    let x = b.input("x", outputs as u32, BitOrder::Lsb);
    let y = b.input("y", outputs as u32, BitOrder::Lsb);
    let sum: Vec<_> = x.iter().zip(y.iter()).map(|(&x, &y)| b.xor(x, y)).collect();
    b.output("sum", &sum, BitOrder::Lsb);
    let xor = Plan::new(&b.finish());
    let constants = BitMatrix::from_fn(8, LANES, |row, lane| (row * 3 + lane) % 5 < 2);
    let input = BitMatrix::from_fn(outputs, LANES, |row, lane| (row + lane) % 3 == 1);
    let product = plan.evaluate(&constants).unwrap();
    let right = BitMatrix::from_fn(outputs, LANES, |row, lane| {
        product.get(row, lane) ^ input.get(row, lane)
    });
    for owner in [GARBLER, EVALUATOR] {
        for to in [Parties::one(EVALUATOR), Parties::one(GARBLER)] {
            let (shape, plan, xor) = (shape.clone(), plan.clone(), xor.clone());
            let (constants, input) = (constants.clone(), input.clone());
            let results = World::new(2, 3).run(move |mut context| -> Result<_> {
                let mut engine = start(&mut context, &shape, Cheat::Nand, 110)?;
                let wires = engine.constant(&constants)?;
                let first = engine.run(&plan, &wires)?;
                engine.reveal(&first.select(0..1), Parties::one(EVALUATOR))?;
                let bits = (engine.me() == owner).then_some(&input);
                let own = engine.input(owner, outputs, LANES, bits)?;
                let sum = engine.run(&xor, &WireVector::concat(&[&first, &own]))?;
                let revealed = engine.reveal(&sum, to)?;
                let evaluator = side_mut::<Evaluator>(&mut engine);
                let knew = evaluator.is_none_or(|side| side.suspicion.delta().is_some());
                engine.finish()?;
                Ok((revealed, knew, engine.peer_cheated()))
            });
            let results: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
            let receiver = usize::from(to.contains(EVALUATOR));
            assert_eq!(results[receiver].0.as_ref(), Some(&right), "{owner} {to}");
            assert!(results[1].1 && results[1].2, "{owner} {to}");
        }
    }
}

/// A circuit in pieces of a few gates, some of its outputs settled, the others fed into it again; all to both in the end.
fn settling(engine: &mut LegoEngine) -> Result<Vec<Option<BitMatrix>>> {
    let plan = plan();
    engine.config.ahead = 3 * LANES as u64;
    let me = engine.me();
    let input = |engine: &mut LegoEngine, owner: PartyId, value: usize| {
        let bits = number(value, LANES);
        engine.input(owner, 4, LANES, (owner == me).then_some(&bits))
    };
    let pieces = |engine: &mut LegoEngine, wires: &LegoWires| {
        engine.call("online", |engine| engine.run_in_pieces(&plan, wires))
    };
    let (a, b) = (input(engine, GARBLER, 3)?, input(engine, EVALUATOR, 9)?);
    let first = pieces(engine, &WireVector::concat(&[&a, &b]))?;
    let c = input(engine, GARBLER, 9)?;
    let settled = engine.settle(WireVector::concat(&[&first.select(0..5), &c]))?;
    match engine.run(&plan, &settled.select(0..8)) {
        Err(Error::BadInput(why)) => assert!(why.contains("were settled"), "{why}"),
        other => panic!("{other:?}"),
    }
    let second = pieces(engine, &WireVector::concat(&[&first.select(1..5), &c]))?;
    let mut outputs = Vec::new();
    for (wires, to) in [
        (settled.select(0..2), Parties::one(EVALUATOR)),
        (settled.select(2..5), Parties::one(GARBLER)),
        (second, Parties::all(2)),
        (settled.select(5..9), Parties::all(2)),
    ] {
        outputs.push(engine.reveal(&wires, to)?);
    }
    Ok(outputs)
}

/// What [`settling`] takes and some more.
fn for_settling() -> Shape {
    let ands = (plan().and_count() * LANES) as u64;
    unchecked(Order {
        ands: 2 * ands,
        garbler_inputs: 8 * LANES as u64,
        evaluator_inputs: 4 * LANES as u64,
        anchors: 10 * LANES as u64,
        masks: 30 * LANES as u64,
        ports: 0,
    })
}

#[test]
fn settled_wires_and_circuits_in_pieces_are_right_too() {
    let mut honest = None;
    for (cheat, bad) in [
        (Cheat::None, 0),
        (Cheat::Nand, 8),
        (Cheat::Nand, 100),
        (Cheat::HalfWrong, 100),
        (Cheat::Garbage, 40),
    ] {
        let world = World::new(2, 5);
        let results = world.run(move |mut context| {
            let mut engine = start(&mut context, &for_settling(), cheat, bad)?;
            let outputs = settling(&mut engine)?;
            engine.finish()?;
            Ok::<_, Error>((outputs, engine.peer_cheated()))
        });
        for (party, result) in results.into_iter().enumerate() {
            let (outputs, cheated) = result.unwrap();
            assert_eq!(cheated, party == 1 && cheat != Cheat::None, "{cheat:?} {bad}");
            for (at, right) in expected(3, 9).iter().enumerate() {
                let due = (at != party).then_some(right);
                // Output 0 is the evaluator's alone, output 1 the garbler's.
                let due = if at > 1 { Some(right) } else { due };
                assert_eq!(
                    outputs[at].as_ref(),
                    due,
                    "{cheat:?} {bad}, output {at} at {party}"
                );
            }
        }
        let sent = world.transcript(EVALUATOR);
        assert_eq!(
            *honest.get_or_insert_with(|| sent.clone()),
            sent,
            "{cheat:?} {bad}"
        );
    }
}

/// `Δ` does not tell the bits of wires that were settled before it was found; their labels do.
#[test]
fn wires_settled_before_the_cheating_are_right() {
    let results = World::new(2, 6).run(move |mut context| -> Result<_> {
        let plan = plan();
        let mut engine = start(&mut context, &for_settling(), Cheat::None, 0)?;
        let me = engine.me();
        let input = |engine: &mut LegoEngine, owner: PartyId, value: usize| {
            let bits = number(value, LANES);
            engine.input(owner, 4, LANES, (owner == me).then_some(&bits))
        };
        let (a, b) = (input(&mut engine, GARBLER, 3)?, input(&mut engine, EVALUATOR, 9)?);
        let inputs = LegoWires::concat(&[&a, &b]);
        let first = engine.run(&plan, &inputs)?;
        let first = engine.settle(first)?;
        assert!(!engine.peer_cheated());
        engine.run(&plan, &inputs)?;
        let left = engine.stock().ands;
        assert_eq!(left, 0, "what is used next is bad");
        make_more(&mut engine, &for_settling(), Cheat::Nand, 100)?;
        let second = engine.run(&plan, &inputs)?;
        let mut outputs = Vec::new();
        for wires in [&second, &first] {
            outputs.push(engine.reveal(&wires.select(0..2), Parties::one(EVALUATOR))?);
            outputs.push(engine.reveal(&wires.select(2..5), Parties::one(GARBLER))?);
        }
        let found = side_mut::<Evaluator>(&mut engine).map(|side| side.suspicion.delta().is_some());
        engine.finish()?;
        Ok((outputs, found))
    });
    let right = expected(3, 9);
    for (party, result) in results.into_iter().enumerate() {
        let (outputs, found) = result.unwrap();
        assert_eq!(found, (party == 1).then_some(true));
        for (at, output) in outputs.iter().enumerate() {
            assert_eq!(
                output.as_ref(),
                (at % 2 != party).then_some(&right[at % 2]),
                "{at} at {party}"
            );
        }
    }
}
