//! Sessions of all sizes: from one gate to several batches with ragged ends, with what they send, which is what the parameters declare.

use std::collections::BTreeMap;
use std::sync::Arc;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_params::three::Proofs;
use cenote_primitives::{BitMatrix, Block, Sampler};
use cenote_session::{Costs, Engine, Parties, WireVector};
use cenote_three::{ViewCheck, checks, steps};

use super::workers::Workers;
use super::{BLOCK, ELEMENT, editing, flipped, layers, share};
use crate::common::intercept::{Message, Spy, Thread};
use crate::common::proofs;
use crate::common::session::{Session, in_parallel, random_bits};

/// An honest session: what each party sent, and what it cost.
struct Honest {
    sent: [Vec<Message>; 3],
    costs: [Costs; 3],
}

/// Runs `depth` layers in so many lanes, in a session of its own seed with inputs of another, and sees that the output is right.
fn run(parameters: Proofs, (depth, lanes): (usize, usize), (seed, inputs): (u64, u64)) -> Honest {
    let spies = [(); 3].map(|()| Spy::listening());
    let mut session = Session::new(parameters, ViewCheck::Mac, seed);
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    let rows = [inputs, inputs + 1].map(|seed| random_bits(seed, 1, lanes));
    let plan = layers(depth);
    let both = BitMatrix::from_fn(2, lanes, |row, lane| rows[row].get(0, lane));
    let expected = plan.evaluate(&both).unwrap();
    let results = session.run(move |engine| {
        let wires = share(engine, &rows)?;
        let last = engine.run(&plan, &wires)?;
        let opened = engine.reveal(&last, Parties::all(3))?;
        engine.finish()?;
        Ok((opened, engine.costs()))
    });
    let costs = results.map(|result| {
        let (opened, costs) = result.unwrap();
        assert!(
            opened.as_ref() == Some(&expected),
            "{depth} layers of {lanes} lanes"
        );
        costs
    });
    Honest {
        sent: spies.each_ref().map(|spy| spy.sent()),
        costs,
    }
}

impl Honest {
    /// Bytes that a party's prover sent.
    fn proved(&self, party: usize) -> u64 {
        let of_prover = |message: &&Message| message.wire.thread == Thread::Generator;
        let lengths = self.sent[party]
            .iter()
            .filter(of_prover)
            .map(|message| message.body.len());
        lengths.sum::<usize>() as u64
    }

    /// Bytes of products that a party sent.
    fn products(&self, party: usize) -> u64 {
        let products = self.sent[party]
            .iter()
            .filter(|message| message.step == steps::MULTIPLY_GATE);
        products.map(|message| message.body.len() as u64).sum()
    }

    /// How many batches a party proved.
    fn batches(&self, party: usize) -> usize {
        let grids = self.sent[party]
            .iter()
            .filter(|message| message.step == steps::PROOF_GRID);
        grids.count()
    }
}

/// One batch each: of one gate, of a block and a gate more or less, of a tile and a word more or less, and of tiles of 16, 32 and
/// 64 rows, of which the last is ragged.
#[test]
fn batches_of_all_sizes_are_proved() {
    const TILE: usize = 8 * BLOCK;
    let sizes = [
        1,
        2,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        1500,
        TILE - 64,
        TILE - 63,
        TILE,
        TILE + 1,
        TILE + 64,
        3 * TILE + 7,
        5 * TILE,
        130 * BLOCK + 3,
        406 * BLOCK,
        1282 * BLOCK + 9,
    ];
    let cases: Vec<_> = sizes
        .into_iter()
        .flat_map(|lanes| [40, 60, 61, 120].map(|security| (lanes, security)))
        .filter(|(lanes, security)| *lanes < 100 * BLOCK || [60, 61].contains(security))
        .collect();
    in_parallel(cases.len(), 4, |index| {
        let (lanes, security) = cases[index];
        let parameters = proofs(security, 1 << 13);
        let blocks = lanes.div_ceil(BLOCK) as u64;
        let variables = match blocks {
            0..125 => 3,
            125..406 => 4,
            406..1279 => 5,
            _ => 6,
        };
        assert_eq!(parameters.variables(blocks), variables);
        let honest = run(parameters, (1, lanes), (36, 90));
        for party in 0..3 {
            let what = format!("{lanes} gates, {security} bits of security, party {party}");
            assert_eq!(honest.batches(party), 1, "{what}");
            assert_eq!(honest.proved(party), parameters.proof_bytes(blocks), "{what}");
            assert_eq!(honest.products(party), 8 * lanes.div_ceil(64) as u64, "{what}");
        }
    });
}

/// As many gates as it takes for tiles of 128 rows, which are those of the batches that sessions have by default.
#[test]
fn a_batch_of_the_most_variables_is_proved() {
    const BLOCKS: usize = 3_961;
    let parameters = Proofs::new(40).unwrap();
    assert_eq!(
        (
            parameters.variables(BLOCKS as u64),
            parameters.variables(parameters.batch())
        ),
        (7, 7)
    );
    let spies = [(); 3].map(|()| Spy::listening());
    for lies in [false, true] {
        let spy = match lies {
            false => Spy::corrupting(|_| None),
            // The gates take several messages.
            true => editing(|message| {
                let hit = (message.step, message.occurrence) == (steps::MULTIPLY_GATE, 5);
                hit.then(|| flipped(&message.body, 8 * 64 * 300 + 5))
            }),
        };
        let mut session = Session::new(parameters, ViewCheck::Mac, 45).with_spy(1, &spy);
        session = session.with_spy(0, &spies[0]);
        let results = session.run(|engine| {
            let mut row = BitMatrix::zeros(1, BLOCKS * BLOCK);
            let mut sampler = Sampler::new(Block([7, 7]));
            row.words_mut()
                .iter_mut()
                .for_each(|word| *word = u64::from(sampler.next_u32()) << 20 | 1);
            let own = (engine.me() == PartyId(0)).then_some(&row);
            let input = engine.input(PartyId(0), 1, row.lanes(), own)?;
            let wires = WireVector::concat(&[&input, &input]);
            let last = engine.run(&both(), &wires)?;
            let opened = engine.reveal(&last, Parties::all(3))?;
            engine.finish()?;
            Ok(opened.as_ref() == Some(&row))
        });
        for party in [0, 2] {
            match (&results[party], lies) {
                (Ok(is_right), false) => assert!(is_right),
                (Err(error), true) => assert_eq!(error.check(), Some(checks::PROOF), "{error}"),
                (other, _) => panic!("lies: {lies}, party {party}: {other:?}"),
            }
        }
    }
    let grids = spies[0]
        .sent()
        .into_iter()
        .filter(|message| message.step == steps::PROOF_GRID);
    let lengths: Vec<_> = grids.map(|grid| grid.body.len()).collect();
    assert_eq!(lengths, [ELEMENT * (2187 - 128); 2]);
}

/// `x ∧ y`.
fn both() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// A layer is one batch, even where it is larger; batches end with a layer.
#[test]
fn layers_are_not_torn() {
    // (Blocks of a batch, layers, lanes, blocks of each batch.)
    let cases: [(u64, usize, usize, &[u64]); 9] = [
        (1, 3, 5 * BLOCK, &[5, 5, 5]),
        (1, 9, 5 * BLOCK, &[5; 9]),
        (8, 40, BLOCK, &[8; 5]),
        (4, 3, 5 * BLOCK + 1, &[6, 6, 6]),
        (4, 5, 2 * BLOCK, &[4, 4, 2]),
        (4, 5, BLOCK + 64, &[4, 2]),
        (3, 4, BLOCK - 64, &[3, 1]),
        (3, 7, 64, &[1]),
        (8, 9, 8 * BLOCK, &[8; 9]),
    ];
    for security in [40, 61] {
        for (batch, depth, lanes, expected) in cases {
            let parameters = proofs(security, batch);
            let honest = run(parameters, (depth, lanes), (37, 92));
            let bytes: u64 = expected
                .iter()
                .map(|blocks| parameters.proof_bytes(*blocks))
                .sum();
            for party in 0..3 {
                let what = format!("{depth} layers of {lanes} in batches of {batch} blocks");
                assert_eq!(honest.batches(party), expected.len(), "{what}");
                assert_eq!(honest.proved(party), bytes, "{what}");
            }
        }
    }
}

/// In full batches and one that is not, a party sends what is declared of the job, and the meters count it.
#[test]
fn a_party_sends_what_is_declared() {
    for security in [40, 61] {
        for (batch, depth) in [(4, 10), (4, 11), (7, 6), (1 << 10, 9), (2, 1)] {
            let parameters = proofs(security, batch);
            let honest = run(parameters, (depth, BLOCK), (38, 94));
            for party in 0..3 {
                let declared = parameters.job_bytes(depth as u64, 1);
                let gates = honest.products(party) + honest.proved(party);
                assert_eq!(gates, declared, "{depth} blocks in batches of {batch}");
                // The meters count the same, and nothing else but the beginning, inputs, outputs and the end.
                let counted = [steps::MULTIPLY_GATE, steps::BARRIER, steps::COIN];
                let sent = &honest.sent[party];
                let others = sent.iter().filter(|message| {
                    !counted.contains(&message.step) && !steps::PROVED.contains(&message.step)
                });
                let others: u64 = others.map(|message| message.body.len() as u64).sum();
                let traffic = honest.costs[party].traffic;
                assert_eq!(traffic.payload_sent, declared + others);
                assert_eq!(traffic.messages_sent, sent.len() as u64);
                assert_eq!(honest.costs[party].and_gates, (depth * BLOCK) as u64);
            }
        }
    }
}

/// Batches that are all full are followed by no other.
#[test]
fn full_batches_send_what_is_declared() {
    let parameters = proofs(40, 3);
    let honest = run(parameters, (9, BLOCK), (39, 96));
    for party in 0..3 {
        let sent = honest.products(party) + honest.proved(party);
        let declared = parameters.job_bytes(9, 1);
        assert_eq!(sent, declared);
    }
}

/// A proof takes five rounds, beside two inputs, the layers, and the output.
#[test]
fn rounds_are_those_of_layers_and_of_one_proof() {
    for (depth, lanes) in [(1, 1), (6, 70), (9, BLOCK)] {
        let honest = run(proofs(40, 1 << 10), (depth, lanes), (40, 98));
        for costs in &honest.costs {
            assert_eq!(costs.rounds, 2 + depth as u64 + 5 + 1, "{depth} layers");
        }
    }
}

/// Steps and lengths of all messages, by wire.
fn shape(honest: &Honest) -> BTreeMap<(u8, u8, bool), Vec<(u16, usize)>> {
    let mut shape: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for message in honest.sent.iter().flatten() {
        let wire = message.wire;
        let way = (wire.from, wire.to, wire.thread == Thread::Generator);
        shape
            .entry(way)
            .or_default()
            .push((message.step.code, message.body.len()));
    }
    shape
}

#[test]
fn messages_do_not_depend_on_secrets() {
    for size in [(1, 70), (3, BLOCK + 70), (2, 9 * BLOCK)] {
        let shapes = [(41, 100), (41, 102), (42, 104)].map(|seeds| shape(&run(proofs(40, 1), size, seeds)));
        assert_eq!(shapes[0].len(), 12, "both directions of six channels");
        assert_eq!(shapes[0], shapes[1]);
        assert_eq!(shapes[0], shapes[2]);
    }
}

/// Several openings: each closes a batch, however small, and what was opened before stays right.
#[test]
fn each_opening_closes_a_batch() {
    let spy = Spy::listening();
    let rows = [106, 107].map(|seed| random_bits(seed, 1, 70));
    let answer = layers(2).evaluate(&BitMatrix::from_fn(2, 70, |row, lane| rows[row].get(0, lane)));
    let answer = answer.unwrap();
    let session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 43).with_spy(1, &spy);
    let results = session.run(move |engine| {
        let wires = share(engine, &rows)?;
        let mut opened = Vec::new();
        for _ in 0..3 {
            let last = engine.run(&layers(2), &wires)?;
            opened.push(engine.reveal(&last, Parties::all(3))?);
            // Nothing is left to be proved.
            opened.push(engine.reveal(&last, Parties::one(PartyId(2)))?);
        }
        engine.finish()?;
        Ok(opened)
    });
    for (party, opened) in results.into_iter().enumerate() {
        for (number, output) in opened.unwrap().into_iter().enumerate() {
            let is_given = number % 2 == 0 || party == 2;
            assert_eq!(output, is_given.then(|| answer.clone()));
        }
    }
    let count = |step| spy.sent().iter().filter(|message| message.step == step).count();
    assert_eq!(count(steps::PROOF_GRID), 3);
    assert_eq!(count(steps::OUTPUT), 3, "to the previous party");
}

/// Workers prove batches of their own, some of them several, some with a ragged end, and some none.
#[test]
fn workers_of_all_numbers_prove() {
    for count in [2, 3] {
        for lanes in [1, 512, 513, 512 * count, 4096 * count + 70] {
            for batch in [1, 1 << 10] {
                let workers = Workers::new(proofs(40, batch), count);
                let rows = [108, 109].map(|seed| random_bits(seed, 1, lanes));
                let both = BitMatrix::from_fn(2, lanes, |row, lane| rows[row].get(0, lane));
                let expected = layers(3).evaluate(&both).unwrap();
                let results = workers.run(move |engine| {
                    let wires = share(engine, &rows)?;
                    let last = engine.run(&layers(3), &wires)?;
                    let opened = engine.reveal(&last, Parties::all(3))?;
                    engine.finish()?;
                    Ok(opened)
                });
                for opened in results {
                    let what = format!("{lanes} lanes, {count} workers, batches of {batch}");
                    assert!(opened.unwrap().as_ref() == Some(&expected), "{what}");
                }
            }
        }
    }
}

#[test]
fn more_security_than_a_hash_has_is_refused() {
    for security in [121, 128, 0] {
        assert!(Proofs::new(security).is_err());
    }
    for (security, weights) in [(1, 64), (40, 64), (60, 64), (61, 128), (120, 128)] {
        assert_eq!(Proofs::new(security).unwrap().weight_bits(), weights);
    }
}

/// The error of a session is that of its weights, whatever is evaluated.
#[test]
fn the_error_is_that_of_the_weights() {
    for (security, log2) in [(40, -64.0), (61, -121.4)] {
        let session = Session::new(proofs(security, 1), ViewCheck::Mac, 44);
        let results = session.run(|engine| {
            let before = engine.error_bound();
            let rows = [110, 111].map(|seed| random_bits(seed, 1, 600));
            let wires = share(engine, &rows)?;
            let last = engine.run(&layers(3), &wires)?;
            engine.reveal(&last, Parties::all(3))?;
            let after = engine.error_bound();
            let bits = engine.computational_bits();
            engine.finish()?;
            Ok((before, after, bits))
        });
        for result in results {
            let (before, after, bits) = result.unwrap();
            assert_eq!(before, after);
            assert!((after - log2).abs() < 0.1, "{after}");
            // 14 in 2^128 of each hash that is tried.
            assert!(bits > 120.0 && bits <= 128.0 - 14f64.log2(), "{bits}");
        }
    }
}
