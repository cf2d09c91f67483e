//! Honest parties whose programs differ: what they open of their proofs would tell the third one secrets, so they open nothing.

use std::sync::Arc;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Error, Parties, WireVector};
use cenote_three::{Verification, ViewCheck, checks, steps};

use super::{BLOCK, layers, share};
use crate::common::intercept::Spy;
use crate::common::proofs;
use crate::common::session::{Change, Session, random_bits};

/// How the bits of party 2 differ from those of the others.
type Difference = fn(lane: usize) -> bool;

/// Parties 0 and 2, who hold the component that has constants, have other constants; party 1 listens, and deviates from nothing. `runs` circuits of so
/// many lanes use them, in batches of so many blocks.
fn assert_nothing_is_opened(batch: u64, runs: usize, lanes: usize, difference: Difference) {
    let spies = [(); 3].map(|()| Spy::listening());
    let mut session = Session::new(proofs(40, batch), ViewCheck::Mac, 33);
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    let (secret, constant) = (random_bits(80, 1, lanes), random_bits(81, 1, lanes));
    let plan = layers(1);
    let results = session.run(move |engine| {
        let own = (engine.me() == PartyId(0)).then_some(&secret);
        let secret = engine.input(PartyId(0), 1, lanes, own)?;
        let differs = engine.me() == PartyId(2);
        let constant = BitMatrix::from_fn(1, lanes, |_, lane| {
            constant.get(0, lane) ^ (differs && difference(lane))
        });
        let constant = engine.constant(&constant)?;
        let mut last = secret;
        for _ in 0..runs {
            last = engine.run(&plan, &WireVector::concat(&[&constant, &last]))?;
        }
        engine.reveal(&last, Parties::all(3))?;
        engine.finish()
    });
    let what = format!("{runs} runs of {lanes} lanes in batches of {batch} blocks");
    for (party, result) in results.iter().enumerate() {
        let error = result.as_ref().expect_err(&what);
        assert_eq!(
            error.check(),
            Some(checks::PROOF_OPERANDS),
            "{what}, party {party}: {error}"
        );
    }
    // Both of them see it themselves, unless the other was before.
    let seen = |party: usize| matches!(results[party], Err(Error::Aborted { .. }));
    assert!(seen(0) || seen(2), "{what}: {results:?}");
    for party in [0, 2] {
        let sent = spies[party].sent();
        let opened = |message: &&_| {
            let message: &crate::common::intercept::Message = message;
            message.step == steps::PROOF_OPENING
        };
        assert_eq!(sent.iter().filter(opened).count(), 0, "{what}: party {party}");
        // Up to there all went well.
        assert!(sent.iter().any(|message| message.step == steps::PROOF_TAIL));
    }
}

#[test]
fn constants_that_differ_open_nothing() {
    let differences: [Difference; 4] = [
        |lane| lane == 0,
        |lane| lane == 69,
        |lane| lane % 2 == 0,
        |_| true,
    ];
    for difference in differences {
        assert_nothing_is_opened(1 << 10, 1, 70, difference);
    }
}

/// The batch is proved before anything is opened or compared otherwise.
#[test]
fn constants_that_differ_open_nothing_in_the_background() {
    for runs in [2, 5] {
        assert_nothing_is_opened(1, runs, BLOCK + 70, |lane| lane == BLOCK);
        assert_nothing_is_opened(4, runs, 2 * BLOCK, |lane| lane == 3);
    }
}

/// Party 2 has the operands of a gate in the other order, which is the same gate, but another proof.
#[test]
fn operands_in_another_order_open_nothing() {
    let spies = [(); 3].map(|()| Spy::listening());
    let mut session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 36);
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    let rows = [83, 84].map(|seed| random_bits(seed, 1, 70));
    let results = session.run(move |engine| {
        let wires = share(engine, &rows)?;
        let [one, other] = [wires.select(0..1), wires.select(1..2)];
        let wires = match engine.me() {
            PartyId(2) => WireVector::concat(&[&other, &one]),
            _ => WireVector::concat(&[&one, &other]),
        };
        let mut b = Builder::new();
        let x = b.input("x", 2, BitOrder::Lsb);
        let both = b.and(x[0], x[1]);
        b.output("both", &[both], BitOrder::Lsb);
        let both = engine.run(&Plan::new(&b.finish()), &wires)?;
        engine.reveal(&both, Parties::all(3))
    });
    for result in &results {
        let check = result.as_ref().err().and_then(Error::check);
        assert_eq!(check, Some(checks::PROOF_OPERANDS), "{result:?}");
    }
    // Each of them has a proof of others' or its own that differs.
    let sent = spies.iter().flat_map(|spy| spy.sent());
    assert_eq!(
        sent.filter(|message| message.step == steps::PROOF_OPENING)
            .count(),
        0
    );
}

/// Party 1 holds nothing of a constant: if its own differs, nobody is the wiser.
#[test]
fn a_constant_that_nobody_uses_changes_nothing() {
    let bits = random_bits(82, 2, 70);
    let (expected, plan) = (layers(1).evaluate(&bits).unwrap(), layers(1));
    let results = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 34).run(move |engine| {
        let own = match engine.me() {
            PartyId(1) => BitMatrix::zeros(2, 70),
            _ => bits.clone(),
        };
        let wires = engine.constant(&own)?;
        let both = engine.run(&plan, &wires)?;
        let opened = engine.reveal(&both, Parties::all(3))?;
        engine.finish()?;
        Ok(opened)
    });
    for opened in results {
        assert_eq!(opened.unwrap().as_ref(), Some(&expected));
    }
}

/// Parties that want other proofs, or none, do not start.
#[test]
fn other_proofs_are_named_at_the_start() {
    let changes: [(&str, Change); 3] = [
        ("parameters", |config| config.method = proofs(61, 1 << 10).into()),
        ("parameters", |config| config.method = proofs(40, 1 << 9).into()),
        ("variant", |config| {
            config.method = crate::common::tiny(cenote_params::three::Variant::OnDemand).into();
        }),
    ];
    assert_eq!(Verification::Proofs.name(), "proofs");
    for (field, change) in changes {
        for odd in 0..3 {
            let mut session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 35);
            session.odd = Some((odd, change));
            for (party, result) in (0..3).zip(session.run(|_| Ok(()))) {
                match result {
                    Err(Error::Net(cenote_net::Error::Mismatch {
                        peer, field: named, ..
                    })) => {
                        assert_eq!(named, field, "party {party}");
                        assert_eq!(party != odd, peer == PartyId(odd), "party {party} names {peer}");
                    }
                    other => panic!("{field} differs at party {odd}; party {party}: {other:?}"),
                }
            }
        }
    }
}
