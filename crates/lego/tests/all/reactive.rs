//! Circuits that depend on one another, built ahead or not, with inputs and outputs in between.

use crate::common::{A, B, prepare, put_in, random_bits, start};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan, library};
use cenote_lego::Order;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_testkit::World;

/// `state' = state · x + y`, with a negation and a constant.
fn step() -> Circuit {
    let mut b = Builder::new();
    let state = b.input("state", 8, BitOrder::Lsb);
    let x = b.input("x", 8, BitOrder::Lsb);
    let y = b.input("y", 8, BitOrder::Lsb);
    let product = library::multiply(&mut b, &state, &x, library::Goal::FewestAnds);
    let sum = library::add(&mut b, &product, &y, library::Goal::FewestAnds);
    let mut out: Vec<_> = sum.iter().map(|&bit| !bit).collect();
    out[7] = sum[7];
    b.output("state", &out, BitOrder::Lsb);
    b.finish()
}

/// Ten steps, each with new inputs of both parties; every third state is revealed to somebody, the last to both. Some of the
/// steps are built ahead, in two lots.
#[test]
fn a_long_computation_goes_on_from_kept_wires() {
    const LANES: usize = 37;
    let results = World::new(2, 5).run(|mut context| -> Result<_> {
        let circuit = step();
        let plan = Plan::new(&circuit);
        let mut engine = start(&mut context, 40)?;
        let mut state = engine.constant(&random_bits(0, 8, LANES))?;
        let mut told = Vec::new();
        for round in 0..10 {
            if round == 0 || round == 5 {
                prepare(&mut engine, &circuit, &plan, LANES, Parties::all(2))?;
                engine.prepare(&plan, LANES)?;
            }
            let mut wires = vec![state];
            for (owner, seed) in [(A, 100), (B, 200)] {
                let bits = random_bits(seed + round, 8, LANES);
                let own = (owner == engine.me()).then_some(&bits);
                wires.push(engine.input(owner, 8, LANES, own)?);
            }
            state = engine.run(&plan, &WireVector::concat(&wires.iter().collect::<Vec<_>>()))?;
            if round % 3 == 2 {
                // One wire out of the middle, to one party.
                let to = Parties::one(if round % 2 == 0 { A } else { B });
                told.push((round, to, engine.reveal(&state.select(3..5), to)?));
            }
        }
        told.push((9, Parties::all(2), engine.reveal(&state, Parties::all(2))?));
        // Once more: the labels are known, nothing is left to be asked.
        let again = engine.reveal(&state, Parties::all(2))?;
        assert_eq!(again, told.last().unwrap().2);
        engine.finish()?;
        Ok(told)
    });

    let plan = Plan::new(&step());
    let mut state = random_bits(0, 8, LANES);
    let mut states = Vec::new();
    for round in 0..10 {
        let parts = [
            state,
            random_bits(100 + round, 8, LANES),
            random_bits(200 + round, 8, LANES),
        ];
        let inputs = BitMatrix::from_fn(24, LANES, |row, lane| parts[row / 8].get(row % 8, lane));
        state = plan.evaluate(&inputs).unwrap();
        states.push(state.clone());
    }
    for (party, told) in [A, B].into_iter().zip(results) {
        for (round, to, bits) in told.unwrap() {
            let state = &states[round as usize];
            let expected = match round {
                9 => state.clone(),
                _ => BitMatrix::from_fn(2, LANES, |row, lane| state.get(3 + row, lane)),
            };
            assert_eq!(
                bits,
                to.contains(party).then_some(expected),
                "round {round} at {party}"
            );
        }
    }
}

/// Thousands of links, which are dropped all at once at the end, and links that nobody keeps.
#[test]
fn chains_may_be_long() {
    let results = World::new(2, 6).run(|mut context| -> Result<_> {
        let mut b = Builder::new();
        let x = b.input("x", 2, BitOrder::Lsb);
        let both = b.xor(x[0], x[1]);
        b.output("x", &[both, !x[0]], BitOrder::Lsb);
        let plan = Plan::new(&b.finish());
        let mut engine = start(&mut context, 40)?;
        let bits = random_bits(1, 2, 1);
        let mut wires = engine.input(B, 2, 1, (engine.me() == B).then_some(&bits))?;
        for _ in 0..30_000 {
            wires = engine.run(&plan, &wires)?;
        }
        let revealed = engine.reveal(&wires, Parties::one(B))?;
        engine.finish()?;
        Ok((revealed, plan.evaluate(&bits).unwrap()))
    });
    let (revealed, _) = results.into_iter().nth(1).unwrap().unwrap();
    let mut bits = random_bits(1, 2, 1);
    for _ in 0..30_000 {
        bits = BitMatrix::from_fn(2, 1, |row, _| {
            if row == 0 {
                bits.get(0, 0) ^ bits.get(1, 0)
            } else {
                !bits.get(0, 0)
            }
        });
    }
    assert_eq!(revealed, Some(bits));
}

/// Inputs are put in and wires kept, and nobody ever asks.
#[test]
fn a_session_may_end_without_an_output() {
    let results = World::new(2, 7).run(|mut context| -> Result<_> {
        let circuit = step();
        let plan = Plan::new(&circuit);
        let mut engine = start(&mut context, 40)?;
        prepare(&mut engine, &circuit, &plan, 3, Parties::NONE)?;
        engine.prepare(&plan, 3)?;
        let wires = put_in(&mut engine, &circuit, &random_bits(3, 24, 3))?;
        engine.run(&plan, &wires)?;
        engine.finish()?;
        assert!(matches!(engine.finish(), Err(cenote_session::Error::Poisoned(_))));
        Ok(())
    });
    for result in results {
        result.unwrap();
    }
}

/// No lanes, no wires, no gates: nothing to do, and nothing goes wrong.
#[test]
fn nothing_is_computed_too() {
    let results = World::new(2, 8).run(|mut context| -> Result<_> {
        let plan = Plan::new(&step());
        let mut engine = start(&mut context, 40)?;
        engine.prepare(&plan, 0)?;
        let none = engine.constant(&BitMatrix::zeros(24, 0))?;
        let outputs = engine.run(&plan, &none)?;
        let bits = BitMatrix::zeros(0, 5);
        let empty = engine.input(A, 0, 5, (engine.me() == A).then_some(&bits))?;
        let also = engine.input(B, 0, 5, (engine.me() == B).then_some(&bits))?;
        let joined = WireVector::concat(&[&empty, &also]);
        let told = [
            engine.reveal(&outputs, Parties::all(2))?,
            engine.reveal(&joined, Parties::one(A))?,
            engine.reveal(&joined, Parties::one(B))?,
        ];
        engine.finish()?;
        Ok(told.map(|told| told.map(|bits| (bits.rows(), bits.lanes()))))
    });
    let results: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
    assert_eq!(results[0], [Some((8, 0)), Some((0, 5)), None]);
    assert_eq!(results[1], [Some((8, 0)), None, Some((0, 5))]);
}

/// Solderings and labels of one proof, with material made between them, twice.
#[test]
fn material_may_be_made_between_openings() {
    let circuit = step();
    let plan = Plan::new(&circuit);
    let results = World::new(2, 8).run(move |mut context| -> Result<_> {
        let mut engine = start(&mut context, 40)?;
        let inputs = random_bits(4, 24, 3);
        let mut revealed = Vec::new();
        for _ in 0..2 {
            prepare(&mut engine, &circuit, &plan, 3, Parties::all(2))?;
            let wires = put_in(&mut engine, &circuit, &inputs)?;
            let first = engine.run(&plan, &wires)?;
            engine.generate(Order {
                evaluator_inputs: 1,
                ..Order::NOTHING
            })?;
            engine.prepare(&plan, 3)?;
            let wires = put_in(&mut engine, &circuit, &inputs)?;
            let second = engine.run(&plan, &wires)?;
            revealed.push(engine.reveal(&second, Parties::all(2))?);
            revealed.push(engine.reveal(&first, Parties::all(2))?);
        }
        engine.finish()?;
        Ok((revealed, plan.evaluate(&inputs).unwrap()))
    });
    for result in results {
        let (revealed, right) = result.unwrap();
        assert_eq!(revealed, vec![Some(right); 4]);
    }
}

/// What one party has of a program of twelve steps that were not announced one by one: the last state, the gates in stock after each step,
/// error, and memory.
type Told = (Option<BitMatrix>, Vec<u64>, f64, u64);

fn unknown_steps(ahead: u64) -> Vec<Result<Told>> {
    World::new(2, 6).run(move |mut context| {
        let (me, peer) = (context.me, cenote_net::PartyId(1 - context.me.0));
        let mut config = crate::common::config(me, 40, 6);
        config.ahead = ahead * step_ands();
        let mut engine = cenote_lego::LegoEngine::start(me, vec![context.take(peer, "main")], config)?;
        engine.prepare_gates(STEPS * step_ands())?;
        let mut state = engine.constant(&random_bits(0, 8, STEP_LANES))?;
        let plan = Plan::new(&step());
        let mut stocks = Vec::new();
        for round in 0..STEPS {
            let mut wires = vec![state];
            for (owner, seed) in [(A, 100), (B, 200)] {
                let bits = random_bits(seed + round, 8, STEP_LANES);
                wires.push(engine.input(owner, 8, STEP_LANES, (owner == me).then_some(&bits))?);
            }
            state = engine.run(&plan, &WireVector::concat(&wires.iter().collect::<Vec<_>>()))?;
            stocks.push(engine.stock().ands);
        }
        let bits = engine.reveal(&state, Parties::all(2))?;
        let (error, memory) = (engine.error_bound(), engine.costs().memory_bytes);
        engine.finish()?;
        Ok((bits, stocks, error, memory))
    })
}

const STEPS: u64 = 12;
const STEP_LANES: usize = 64;

fn step_ands() -> u64 {
    (Plan::new(&step()).and_count() * STEP_LANES) as u64
}

/// Of gates that were announced for circuits that are not known, as many are made at a time as a session may have, and what was run is evaluated
/// before there are more.
#[test]
fn gates_announced_for_unknown_circuits_are_made_in_bulk_and_used_up() {
    let plan = Plan::new(&step());
    let mut state = random_bits(0, 8, STEP_LANES);
    for round in 0..STEPS {
        let parts = [
            state,
            random_bits(100 + round, 8, STEP_LANES),
            random_bits(200 + round, 8, STEP_LANES),
        ];
        let inputs = BitMatrix::from_fn(24, STEP_LANES, |row, lane| parts[row / 8].get(row % 8, lane));
        state = plan.evaluate(&inputs).unwrap();
    }
    let (four, all) = (unknown_steps(4), unknown_steps(STEPS));
    for (result, at_once) in four.into_iter().zip(all) {
        let (bits, stocks, error, memory) = result.unwrap();
        let at_once = at_once.unwrap();
        assert_eq!((&bits, &at_once.0), (&Some(state.clone()), &bits));
        // Three calls make all that is used; each is followed by runs that need none.
        let calls = |stocks: &[u64]| stocks.windows(2).filter(|pair| pair[1] >= pair[0]).count();
        assert_eq!((calls(&stocks), calls(&at_once.1)), (2, 0), "{stocks:?}");
        assert!(
            stocks.iter().all(|&left| left <= 4 * step_ands() + 1024),
            "{stocks:?}"
        );
        // However many calls there were: each bound 2^-40, and with it the sum of all that may go wrong.
        assert!(error < -38.5 && at_once.2 < -38.5, "{error} {}", at_once.2);
        println!("{memory} bytes in three parts, {} at once", at_once.3);
        assert!(10 * memory < 9 * at_once.3, "{memory} {}", at_once.3);
    }
}
