//! Known answers, and outputs to whom they belong.

use crate::common::{A, B, config, prepare, put_in, random_bits, start};
use cenote_circuit::library::{AesSbox, Goal, aes128, sha256_single_block};
use cenote_circuit::{Circuit, Plan};
use cenote_lego::LegoEngine;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result};
use cenote_testkit::World;

/// Runs `circuit` once at both parties, prepared or not, and gives what each was told.
fn run(circuit: &Circuit, inputs: &BitMatrix, to: Parties, prepared: bool) -> Vec<Option<BitMatrix>> {
    let (circuit, inputs) = (circuit.clone(), inputs.clone());
    let world = World::new(2, 1);
    let results = world.run(move |mut context| -> Result<_> {
        let plan = Plan::new(&circuit);
        let mut engine = start(&mut context, 40)?;
        if prepared {
            prepare(&mut engine, &circuit, &plan, inputs.lanes(), to)?;
        }
        let wires = put_in(&mut engine, &circuit, &inputs)?;
        let outputs = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&outputs, to)?;
        assert!(!engine.peer_cheated());
        engine.finish()?;
        Ok(revealed)
    });
    results.into_iter().map(|result| result.unwrap()).collect()
}

/// The bits of the integer that `bytes` spell, the lowest first, as the circuits take them.
fn rows(bytes: &[u8]) -> Vec<bool> {
    bytes
        .iter()
        .rev()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
        .collect()
}

fn column(bits: &[bool]) -> BitMatrix {
    BitMatrix::from_fn(bits.len(), 1, |row, _| bits[row])
}

/// FIPS 197, Appendix C.1.
#[test]
fn aes_128() {
    let circuit = aes128(AesSbox::from(Goal::FewestAnds));
    let key: Vec<u8> = (0..16).collect();
    let message: Vec<u8> = (0..16).map(|i| i * 0x11).collect();
    let expected = [
        0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a,
    ];
    let plan = Plan::new(&circuit);
    let inputs = column(&[rows(&key), rows(&message)].concat());
    let expected = column(&rows(&expected));
    assert!(
        plan.evaluate(&inputs).unwrap() == expected,
        "the circuit's bits are in this order"
    );
    for prepared in [true, false] {
        let revealed = run(&circuit, &inputs, Parties::all(2), prepared);
        assert!(revealed.iter().all(|told| told.as_ref() == Some(&expected)));
    }
}

/// SHA-256 of "abc" (FIPS 180-4), the block being the garbler's.
#[test]
fn sha_256() {
    let circuit = sha256_single_block(Goal::FewestAnds);
    let mut block = [0; 64];
    block[..4].copy_from_slice(b"abc\x80");
    block[63] = 24;
    let expected = [
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0,
        0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
    ];
    let revealed = run(&circuit, &column(&rows(&block)), Parties::one(B), true);
    assert_eq!(revealed, [None, Some(column(&rows(&expected)))]);
}

#[test]
fn outputs_go_where_they_belong() {
    let circuit = cenote_circuit::library::by_name("mult8").unwrap();
    for (seed, lanes) in [(1, 1), (2, 70)] {
        let inputs = random_bits(seed, 16, lanes);
        let expected = Plan::new(&circuit).evaluate(&inputs).unwrap();
        for to in [Parties::NONE, Parties::one(A), Parties::one(B), Parties::all(2)] {
            for prepared in [true, false] {
                let revealed = run(&circuit, &inputs, to, prepared);
                for (party, told) in [A, B].into_iter().zip(revealed) {
                    assert_eq!(
                        told.as_ref(),
                        to.contains(party).then_some(&expected),
                        "{party} of {to}"
                    );
                }
            }
        }
    }
}

/// The same with the roles of the parties exchanged.
#[test]
fn either_party_may_garble() {
    let circuit = cenote_circuit::library::by_name("mult8").unwrap();
    let inputs = random_bits(5, 16, 9);
    let expected = Plan::new(&circuit).evaluate(&inputs).unwrap();
    for to in [Parties::one(A), Parties::one(B), Parties::all(2)] {
        let (circuit, inputs) = (circuit.clone(), inputs.clone());
        let results = World::new(2, 2).run(move |mut context| -> Result<_> {
            let plan = Plan::new(&circuit);
            let peer = PartyId(1 - context.me.0);
            let mut config = config(context.me, 40, 3);
            config.garbler = B;
            let mut engine = LegoEngine::start(context.me, vec![context.take(peer, "main")], config)?;
            prepare(&mut engine, &circuit, &plan, inputs.lanes(), to)?;
            let wires = put_in(&mut engine, &circuit, &inputs)?;
            let outputs = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&outputs, to)?;
            engine.finish()?;
            Ok((revealed, engine.costs().traffic.payload_sent))
        });
        let results: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
        for (party, (revealed, _)) in [A, B].into_iter().zip(&results) {
            assert_eq!(
                revealed.as_ref(),
                to.contains(party).then_some(&expected),
                "{party} of {to}"
            );
        }
        assert!(results[0].1 < results[1].1);
    }
}
