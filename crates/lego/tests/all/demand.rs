//! What a program is said to take is what it takes, at the edges too: circuits without AND gates, and outputs that nobody
//! learns; with material made in the session and with stored material.

use crate::common::{A, B, config, prepare, put_in, random_bits};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_lego::store::{Store, StoreKey};
use cenote_lego::{Config, LegoEngine, Order, make_lot};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Demand, Engine, Parties, Result};
use cenote_testkit::{PartyContext, World};

const LANES: usize = 70;

/// Of two inputs of 3 bits: conjunctions, or sums only.
fn circuit(with_ands: bool) -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", 3, BitOrder::Lsb);
    let y = b.input("y", 3, BitOrder::Lsb);
    let z: Vec<_> = x
        .iter()
        .zip(&y)
        .map(|(&x, &y)| if with_ands { b.and(x, y) } else { b.xor(x, !y) })
        .collect();
    b.output("z", &z, BitOrder::Lsb);
    b.finish()
}

fn order(circuit: &Circuit, to: Parties, garbler: PartyId) -> Order {
    let (plan, bits) = (Plan::new(circuit), 3 * LANES as u64);
    let run = Demand::new().and_run(&plan, LANES, 1);
    let demand = run.and_input(A, bits).and_input(B, bits).and_output(to, bits);
    Order::of(&demand, garbler)
}

fn session(context: &PartyContext, garbler: PartyId) -> Config {
    let seed = u64::from_le_bytes(context.seed[..8].try_into().expect("eight bytes"));
    let mut config = config(context.me, 40, seed);
    config.garbler = garbler;
    config
}

/// Runs `circuit` as a program does, ahead of its inputs.
fn run(engine: &mut LegoEngine, circuit: &Circuit, to: Parties) -> Result<Option<BitMatrix>> {
    let plan = Plan::new(circuit);
    prepare(engine, circuit, &plan, LANES, to)?;
    let inputs = put_in(engine, circuit, &random_bits(1, 6, LANES))?;
    let outputs = engine.run(&plan, &inputs)?;
    engine.reveal(&outputs, to)
}

fn cases() -> impl Iterator<Item = (Circuit, Parties, PartyId)> {
    let to = [Parties::NONE, Parties::one(A), Parties::one(B), Parties::all(2)];
    let garblers = [true, false].into_iter().flat_map(|ands| [(ands, A), (ands, B)]);
    garblers.flat_map(move |(ands, garbler)| to.map(|to| (circuit(ands), to, garbler)))
}

fn check(results: Vec<Result<Option<BitMatrix>>>, circuit: &Circuit, to: Parties) {
    let right = Plan::new(circuit).evaluate(&random_bits(1, 6, LANES)).unwrap();
    for (party, result) in results.into_iter().enumerate() {
        let expected = to.contains(PartyId(party as u8)).then_some(&right);
        assert_eq!(
            result.unwrap().as_ref(),
            expected,
            "party {party}, outputs to \"{to}\""
        );
    }
}

#[test]
fn a_session_takes_what_was_ordered_and_nothing_else() {
    for (circuit, to, garbler) in cases() {
        let order = order(&circuit, to, garbler);
        let program = circuit.clone();
        let results = World::random(2).run(move |mut context| {
            let config = session(&context, garbler);
            let channels = vec![context.take(PartyId(1 - context.me.0), "main")];
            let mut engine = LegoEngine::start(context.me, channels, config)?;
            engine.generate(order)?;
            let before = engine.stock();
            let revealed = run(&mut engine, &program, to)?;
            assert_eq!(
                before,
                engine.stock() + order,
                "outputs to \"{to}\", {garbler} garbles"
            );
            engine.finish()?;
            Ok(revealed)
        });
        check(results, &circuit, to);
    }
}

#[test]
fn a_session_draws_what_was_ordered_and_nothing_else() {
    for (circuit, to, garbler) in cases() {
        let order = order(&circuit, to, garbler);
        let folders = tempfile::tempdir().unwrap();
        let path = folders.path().to_owned();
        let program = circuit.clone();
        let world = World::random(2).labels(&["offline", "online"]);
        let results = world.run(move |mut context| {
            let key = StoreKey::from_bytes([5; 32]);
            let folder = Store::open(&path.join(context.me.0.to_string()), &key)?;
            let channels =
                |context: &mut PartyContext, purpose| vec![context.take(PartyId(1 - context.me.0), purpose)];
            let offline = channels(&mut context, "offline");
            make_lot(
                context.me,
                offline,
                session(&context, garbler),
                &folder,
                &order,
                &mut |_| (),
            )?;
            let left = || {
                cenote_lego::store::lots(&folder)
                    .map(|(lots, _)| lots.iter().map(|lot| lot.left).sum::<Order>())
            };
            let before = left()?;
            let online = channels(&mut context, "online");
            let config = session(&context, garbler);
            let mut engine = LegoEngine::start_stored(context.me, online, config, &folder, &order)?;
            let revealed = run(&mut engine, &program, to)?;
            engine.finish()?;
            assert_eq!(before, left()? + order, "outputs to \"{to}\", {garbler} garbles");
            Ok(revealed)
        });
        check(results, &circuit, to);
    }
}
