//! A corrupted party deviates in one of several workers: the checks of that worker stop all of them, at all honest
//! parties, before anything is opened.

use cenote_three::checks;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::intercept::{Spy, tap};
use crate::common::session::{in_parallel, random_bits, small_plan};
use crate::common::{memory_links, proofs, tiny};
use cenote_net::{ChannelOptions, PartyId, Step};
use cenote_params::three::Variant;
use cenote_primitives::Entropy;
use cenote_session::{Check, Engine, Error, MESSAGE_FORM, Parties, Result};
use cenote_three::{Config, Links, Method, ThreeEngine, steps};

const WORKERS: usize = 3;

/// Lanes for as many groups as there are workers.
const LANES: usize = 512 * WORKERS;

/// What a worker's threads send, and the checks that may catch a flipped bit of it.
const ATTACKS: [(Step, &[Check]); 11] = [
    (
        steps::MULTIPLY_TRIPLE,
        &[checks::PRODUCT_COMPARISON, checks::TRIPLE_OPENING],
    ),
    (
        steps::OPEN_TRIPLE,
        &[checks::VIEW_COMPARISON, checks::TRIPLE_OPENING],
    ),
    (steps::CHECK_TRIPLE, &[checks::VIEW_COMPARISON]),
    (steps::TRIPLE_VIEW, &[checks::VIEW_COMPARISON]),
    (steps::TRIPLE_PRODUCTS, &[checks::PRODUCT_COMPARISON]),
    (steps::BARRIER, &[MESSAGE_FORM]),
    (steps::COIN, &[checks::COIN_OPENING]),
    // What the next party holds no longer fits what the cheater goes on to send.
    (
        steps::MULTIPLY_GATE,
        &[checks::PRODUCT_COMPARISON, checks::VIEW_COMPARISON],
    ),
    (steps::CHECK_GATE, &[checks::VIEW_COMPARISON]),
    (steps::GATE_VIEW, &[checks::VIEW_COMPARISON]),
    (steps::GATE_PRODUCTS, &[checks::PRODUCT_COMPARISON]),
];

/// The same where workers prove their gates.
const ATTACKS_ON_PROOFS: [(Step, &[Check]); 9] = [
    (steps::BARRIER, &[MESSAGE_FORM]),
    (steps::COIN, &[checks::COIN_OPENING]),
    (steps::MULTIPLY_GATE, &[checks::PROOF, checks::PROOF_OPERANDS]),
    (steps::PROOF_GRID, &[checks::PROOF_TRANSCRIPT]),
    (steps::PROOF_DIGEST, &[checks::PROOF_TRANSCRIPT]),
    (steps::PROOF_CHALLENGE, &[checks::PROOF_TRANSCRIPT]),
    (steps::PROOF_TAIL, &[checks::PROOF_OPERANDS]),
    (steps::PROOF_DIGESTS, &[checks::PROOF_OPERANDS]),
    (steps::PROOF_OPENING, &[checks::PROOF]),
];

/// Party `cheater` flips a bit of its first message of `step` in worker `worker`.
fn attack(method: &Method, cheater: usize, worker: usize, step: Step) -> [Result<()>; 3] {
    let flips = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&flips);
    let spy = Spy::corrupting(move |message| {
        (message.step == step && message.occurrence == 0 && counted.fetch_add(1, Ordering::SeqCst) == 0).then(
            || {
                let mut body = message.body.clone();
                body[0] ^= 1;
                vec![(message.step, body)]
            },
        )
    });
    let options = ChannelOptions::with_timeout(Duration::from_secs(30));
    let mut links: [Vec<Links>; 3] = Default::default();
    for index in 0..WORKERS {
        for (party, link) in memory_links(&options).into_iter().enumerate() {
            let tapped = party == cheater && index == worker;
            links[party].push(if tapped {
                tap(&spy, party as u8, link)
            } else {
                link
            });
        }
    }
    let (plan, input) = (small_plan(), random_bits(4, 9, LANES));
    let opened = AtomicUsize::new(0);
    let results = std::thread::scope(|scope| {
        let threads = links.map(Some).each_mut().map(|links| links.take().unwrap());
        let mut me = 0;
        let threads = threads.map(|links| {
            let party = PartyId(me);
            me += 1;
            let (plan, input, opened) = (&plan, &input, &opened);
            scope.spawn(move || {
                let mut config = Config::new(method.clone(), "attacked workers");
                config.entropy = Entropy::for_tests(party.0.into());
                let mut engine = ThreeEngine::start(party, links, config)?;
                let own = (party == PartyId(0)).then_some(input);
                let wires = engine.input(PartyId(0), 9, LANES, own)?;
                let outputs = engine.run(plan, &wires)?;
                engine.reveal(&outputs, Parties::all(3))?;
                opened.fetch_add(1, Ordering::SeqCst);
                engine.finish()
            })
        });
        threads.map(|thread| thread.join().expect("no party panics"))
    });
    assert_eq!(
        flips.load(Ordering::SeqCst).min(1),
        1,
        "worker {worker} sends \"{step}\""
    );
    assert_eq!(
        opened.load(Ordering::SeqCst),
        0,
        "nothing is opened after a deviation in \"{step}\""
    );
    results
}

fn assert_each_stops_all(method: &Method, attacks: &[(Step, &[Check])]) {
    let cases: Vec<_> = (0..3)
        .flat_map(|cheater| (0..WORKERS).map(move |worker| (cheater, worker)))
        .flat_map(|who| attacks.iter().map(move |attack| (who, *attack)))
        .collect();
    in_parallel(cases.len(), 4, |index| {
        let ((cheater, worker), (step, checks)) = cases[index];
        for (party, result) in attack(method, cheater, worker, step).into_iter().enumerate() {
            let case = format!("party {cheater} in \"{step}\" of worker {worker}, seen by party {party}");
            let error = result.expect_err(&case);
            if party != cheater {
                assert!(
                    error.check().is_some_and(|check| checks.contains(&check)),
                    "{case}: {error}"
                );
                assert!(!matches!(error, Error::Internal(_)), "{case}: {error}");
            }
        }
    });
}

#[test]
fn a_deviation_in_any_worker_stops_all() {
    assert_each_stops_all(&tiny(Variant::OnDemand).into(), &ATTACKS);
}

#[test]
fn a_deviation_in_any_worker_that_proves_stops_all() {
    assert_each_stops_all(&proofs(40, 1 << 10).into(), &ATTACKS_ON_PROOFS);
}
