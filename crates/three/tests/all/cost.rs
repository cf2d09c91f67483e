//! The declared cost, asserted: bits per AND, rounds, and that neither depends on a secret.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{
    LANES, Outputs, Session, random_bits, share, small_input, small_plan, small_program,
};
use crate::common::tiny;
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{PartyId, Step};
use cenote_params::three::{Parameters, Variant};
use cenote_primitives::BitMatrix;
use cenote_session::{Costs, Engine, Parties};
use cenote_three::{ViewCheck, steps};

/// Bytes in a block.
const BLOCK: u64 = 64;

/// One layer of `ands` ANDs.
fn wide(ands: u32) -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2 * ands, BitOrder::Lsb);
    let products: Vec<_> = x.chunks(2).map(|pair| b.and(pair[0], pair[1])).collect();
    b.output("products", &products, BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Evaluates and verifies `blocks` blocks of ANDs in one layer; what each party sent, and its costs.
fn run_blocks(parameters: &Parameters, view_check: ViewCheck, blocks: usize) -> Vec<(Vec<Message>, Costs)> {
    let spies = [(); 3].map(|()| Spy::listening());
    let mut session = Session::new(parameters, view_check, 11);
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    let results = session.run(move |engine| {
        let (plan, lanes) = (wide(blocks as u32), 512);
        engine.prepare(&plan, lanes)?;
        let bits = BitMatrix::zeros(2 * blocks, lanes);
        let own = (engine.me() == PartyId(0)).then_some(&bits);
        let wires = engine.input(PartyId(0), 2 * blocks, lanes, own)?;
        let outputs = engine.run(&plan, &wires)?;
        engine.reveal(&outputs, Parties::NONE)?;
        engine.finish()?;
        Ok(engine.costs())
    });
    spies
        .iter()
        .zip(results)
        .map(|(spy, costs)| (spy.sent(), costs.unwrap()))
        .collect()
}

fn bytes(sent: &[Message], step: Step, thread: Thread) -> u64 {
    sent.iter()
        .filter(|message| message.step == step && message.wire.thread == thread)
        .map(|message| message.body.len() as u64)
        .sum()
}

/// What a generator has sent in so many batches, which is what is declared of each step.
fn generator_bytes(parameters: &Parameters, sent: &[Message], batches: u64, tag: u64) -> u64 {
    [
        (
            steps::MULTIPLY_TRIPLE,
            batches * parameters.blocks_per_batch() * BLOCK,
        ),
        (
            steps::CHECK_TRIPLE,
            batches * parameters.checks_per_batch() * 2 * BLOCK,
        ),
        (
            steps::OPEN_TRIPLE,
            batches * parameters.blocks_opened() * 3 * BLOCK,
        ),
        (steps::BARRIER, batches * 2 * 8),
        (steps::COIN, batches * 2 * 16),
        (steps::TRIPLE_VIEW, batches * 2 * tag),
        (steps::TRIPLE_PRODUCTS, batches * 2 * tag),
    ]
    .into_iter()
    .map(|(step, expected)| {
        assert_eq!(bytes(sent, step, Thread::Generator), expected, "{step}");
        expected
    })
    .sum()
}

/// Per batch and party, `N` the blocks that leave it:
/// * every block of every array is multiplied, 1 block sent: `blocks_per_batch`;
/// * every check of a pair opens two factors, 2 blocks: `checks_per_batch = (B - 1) N`;
/// * every opened triple is three values, 3 blocks: `blocks_opened = (B - 1) L C`;
/// * a constant: to each peer a barrier word (8), a coin share (16), and two tags.
///
/// Per block of gates: 1 block for the multiplication, 2 for the check. Per verification the same constant, without
/// barrier and coin where triples are used in order.
#[test]
fn bits_per_and_are_as_declared() {
    for (variant, view_check, tag) in [
        (Variant::OnDemand, ViewCheck::Mac, 16),
        (Variant::OnDemand, ViewCheck::Sha256, 32),
        (Variant::Baseline, ViewCheck::Mac, 16),
        (Variant::CacheEfficient, ViewCheck::Sha256, 32),
    ] {
        let parameters = tiny(variant);
        let n = parameters.n();
        let (few, many) = (2, 5);
        let runs = [few, many].map(|batches| run_blocks(&parameters, view_check, (batches * n) as usize));
        for (batches, parties) in [few, many].into_iter().zip(&runs) {
            for (sent, costs) in parties {
                let job = parameters.job_cost(batches * n);
                let coins = 2 * (8 + 16);
                let tags = 2 * 2 * tag;
                let generator = generator_bytes(&parameters, sent, job.batches, tag);
                let fixed = if variant == Variant::OnDemand {
                    coins + tags
                } else {
                    tags
                };
                let gates = 3 * batches * n * BLOCK;
                assert_eq!(
                    generator + gates,
                    job.blocks_sent * BLOCK + job.batches * (coins + tags)
                );
                assert_eq!(
                    bytes(sent, steps::MULTIPLY_GATE, Thread::Evaluator),
                    batches * n * BLOCK
                );
                assert_eq!(
                    bytes(sent, steps::CHECK_GATE, Thread::Evaluator),
                    2 * batches * n * BLOCK
                );
                // The meters count the same, and nothing else but the beginning, inputs and the end.
                let session: u64 = sent
                    .iter()
                    .filter(|message| {
                        !steps::ALL.contains(&message.step)
                            || matches!(message.step, steps::SETUP | steps::INPUT | steps::FINISH)
                    })
                    .map(|message| message.body.len() as u64)
                    .sum();
                assert_eq!(costs.traffic.payload_sent, generator + gates + fixed + session);
                assert_eq!(costs.traffic.messages_sent, sent.len() as u64);
                assert_eq!(costs.and_gates, batches * n * 512);
            }
        }
        // In the steady state, constants aside, a party sends what the parameters declare.
        let steady = |party: usize| {
            let payload = |run: &Vec<(Vec<Message>, Costs)>| -> u64 {
                let (sent, costs) = &run[party];
                costs.traffic.payload_sent - bytes(sent, steps::INPUT, Thread::Evaluator)
            };
            let constants = (many - few) * (2 * (8 + 16) + 4 * tag);
            8 * (payload(&runs[1]) - payload(&runs[0]) - constants)
        };
        for party in 0..3 {
            let ands = ((many - few) * n * 512) as f64;
            let measured = steady(party) as f64 / ands;
            assert!(
                (measured - parameters.bits_per_and()).abs() < 1e-9,
                "{variant}: {measured}"
            );
        }
    }
}

/// One round per input and output, one per AND layer; a verification takes one for the openings and two for the
/// comparisons, on demand two more for barrier and coin.
#[test]
fn rounds_are_and_depth_and_verification() {
    for (variant, verification) in [
        (Variant::OnDemand, 5),
        (Variant::Baseline, 3),
        (Variant::CacheEfficient, 3),
    ] {
        let session = Session::new(tiny(variant), ViewCheck::Mac, 12);
        let results = session.run(|engine| {
            let wires = share(engine, &[0, 1, 2].map(small_input))?;
            let mut rounds = Vec::new();
            for runs in 1..4 {
                for _ in 0..runs {
                    engine.run(&small_plan(), &wires)?;
                }
                engine.reveal(&wires, Parties::all(3))?;
                rounds.push(engine.costs().rounds);
            }
            engine.finish()?;
            Ok(rounds)
        });
        let depth = small_plan().and_depth() as u64;
        let mut expected = Vec::new();
        let mut rounds = 3;
        for runs in 1..4 {
            rounds += runs * depth + verification + 1;
            expected.push(rounds);
        }
        for result in results {
            assert_eq!(result.unwrap(), expected, "{variant}");
        }
    }
}

/// Steps and lengths of all messages, by wire.
fn shape(spies: &[Arc<Spy>; 3]) -> BTreeMap<(u8, u8, bool), Vec<(u16, usize)>> {
    let mut shape: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for message in spies.iter().flat_map(|spy| spy.sent()) {
        let wire = (
            message.wire.from,
            message.wire.to,
            message.wire.thread == Thread::Generator,
        );
        shape
            .entry(wire)
            .or_default()
            .push((message.step.code, message.body.len()));
    }
    shape
}

#[test]
fn messages_do_not_depend_on_secrets() {
    for (variant, view_check) in [
        (Variant::OnDemand, ViewCheck::Mac),
        (Variant::Baseline, ViewCheck::Sha256),
    ] {
        let shapes = [0u64, 1, 2].map(|run| {
            let spies = [(); 3].map(|()| Spy::listening());
            // Other inputs, and in the last run other randomness too.
            let mut session = Session::new(tiny(variant), view_check, 13 + run / 2);
            session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
            let inputs = [0, 1, 2].map(|owner| random_bits(10 * run + owner, small_input(0).rows(), LANES));
            let results = session.run(small_program(inputs, &Outputs::default()));
            results.into_iter().for_each(|result| result.unwrap());
            shape(&spies)
        });
        assert_eq!(shapes[0].len(), 12, "both directions of six channels");
        assert_eq!(shapes[0], shapes[1]);
        assert_eq!(shapes[0], shapes[2]);
    }
}
