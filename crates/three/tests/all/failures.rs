//! Trouble without cheating: parties that die, stay away, or want something else; programs that go on after the end.

use std::sync::Arc;
use std::time::Duration;

use crate::common::intercept::Spy;
use crate::common::session::{
    Change, LANES, Outputs, Session, WIDTH, in_parallel, input_of, random_bits, share, small_input,
    small_plan, small_program,
};
use crate::common::{memory_links, proofs, tiny};
use cenote_net::step::AGREE;
use cenote_net::{ChannelOptions, PartyId};
use cenote_params::three::{Parameters, Variant, check, check_mixed};
use cenote_session::{Engine, Error, MESSAGE_FORM, Parties, Reason};
use cenote_three::{Config, Lag, Links, Ring, ThreeEngine, ViewCheck, steps};

fn session(seed: u64) -> Session {
    Session::new(tiny(Variant::OnDemand), ViewCheck::Mac, seed)
}

/// That party `me` knows who is gone: one of `lost`. It is chance who finds out first, so there are two ways: the party sees
/// it, which is the network error that `seen` takes, or hears it from the third party, which saw or heard it before.
fn assert_found_out(
    what: &str,
    (me, error): (u8, &Error),
    lost: &[u8],
    seen: fn(&cenote_net::Error) -> Option<PartyId>,
) {
    let is_lost = |party: PartyId| lost.contains(&party.0);
    let found_out = match error {
        Error::Net(error) => seen(error).is_some_and(is_lost),
        Error::PeerStopped {
            peer,
            reason: Reason::Lost(party) | Reason::HeardLost(_, party),
            ..
        } => peer.0 != me && peer != party && is_lost(*party),
        _ => false,
    };
    assert!(found_out, "{what}: party {me}: {error:?}");
}

/// Who is gone, if that is seen from the end of a channel, and not by a deadline.
fn peer_lost(error: &cenote_net::Error) -> Option<PartyId> {
    match error {
        cenote_net::Error::PeerLost { peer, .. } => Some(*peer),
        _ => None,
    }
}

/// Who is gone, if that is seen by a deadline.
fn timed_out(error: &cenote_net::Error) -> Option<PartyId> {
    match error {
        cenote_net::Error::Timeout { peer, .. } => Some(*peer),
        _ => None,
    }
}

#[test]
fn a_party_that_dies_anywhere_is_named() {
    assert_whoever_dies_is_named(&session(4), LANES);
}

/// Where each of two layers is proved by itself, the first in the background.
#[test]
fn a_party_that_dies_anywhere_in_proofs_is_named() {
    assert_whoever_dies_is_named(&Session::new(proofs(40, 1), ViewCheck::Mac, 4), 201);
}

fn assert_whoever_dies_is_named(session: &Session, lanes: usize) {
    let inputs = [0, 1, 2].map(|owner| input_of(owner, lanes));
    let mut cases = Vec::new();
    for victim in 0..3u8 {
        let (spy, outputs) = (Spy::listening(), Outputs::default());
        let results = session
            .clone()
            .with_spy(victim, &spy)
            .run(small_program(inputs.clone(), &outputs));
        results
            .into_iter()
            .for_each(|result| result.expect("nobody dies"));
        cases.extend(spy.sent().into_iter().map(|message| (victim, message)));
    }
    in_parallel(cases.len(), 16, |index| {
        let (victim, last) = &cases[index];
        // The spy kills its own party when that is about to send the message.
        let itself: Arc<std::sync::OnceLock<Arc<Spy>>> = Arc::default();
        let (me, at) = (Arc::clone(&itself), last.clone());
        let spy = Spy::corrupting(move |message| {
            let position = |m: &crate::common::intercept::Message| (m.wire, m.step, m.occurrence);
            if position(message) == position(&at) {
                me.get().expect("set before the session").kill();
            }
            None
        });
        assert!(itself.set(Arc::clone(&spy)).is_ok());
        let results = session
            .clone()
            .with_spy(*victim, &spy)
            .run(small_program(inputs.clone(), &Outputs::default()));
        let what = format!("{} to {} by party {victim}", last.step, last.wire.to);
        for (party, result) in (0..3).zip(&results).filter(|(party, _)| party != victim) {
            match result {
                Err(error) => assert_found_out(&what, (party, error), &[*victim], peer_lost),
                // Who has the last farewell is done.
                Ok(()) => assert_eq!(last.step, steps::FINISH, "{what}: party {party} noticed nothing"),
            }
        }
    });
}

#[test]
fn a_party_that_never_comes_is_named() {
    // All wait until their deadline is over, and so side by side.
    in_parallel(3, 3, |missing| {
        let missing = missing as u8;
        let mut session = session(5);
        session.timeout = Duration::from_secs(8);
        let mut links = session.links().map(Some);
        // Its channels are there, but nobody uses them.
        let silent = links[usize::from(missing)].take();
        let results = session.run_links(links, |_| Ok(()));
        for (party, result) in (0..3u8).zip(results) {
            match result {
                Some(Err(error)) => assert_found_out("start", (party, &error), &[missing], timed_out),
                Some(Ok(())) => panic!("party {party} started without party {missing}"),
                None => assert_eq!(party, missing),
            }
        }
        drop(silent);
    });
}

#[test]
fn any_difference_is_named_at_both_ends() {
    let changes: [(&str, Change); 9] = [
        // With them their error: N; N and L; B; C.
        ("parameters", |config| {
            config.method = check(Variant::OnDemand, 5 * 14, 2, 3, 5).unwrap().into();
        }),
        ("parameters", |config| {
            config.method = check(Variant::OnDemand, 6 * 13, 2, 3, 6).unwrap().into();
        }),
        ("parameters", |config| {
            config.method = check(Variant::OnDemand, 5 * 13, 3, 3, 5).unwrap().into();
        }),
        ("parameters", |config| {
            config.method = check(Variant::OnDemand, 5 * 13, 2, 4, 5).unwrap().into();
        }),
        ("variant", |config| config.method = tiny(Variant::Baseline).into()),
        ("messages in flight", |config| config.lag = Lag::Measured),
        ("ahead", |config| config.ahead = 2),
        ("view check", |config| config.view_check = ViewCheck::Sha256),
        ("session", |config| config.session = "another".into()),
    ];
    let base = |parameters: &Parameters| Session::new(parameters, ViewCheck::Mac, 6);
    let on_demand = base(&tiny(Variant::OnDemand));
    let mut cases = changes
        .map(|(field, change)| (on_demand.clone(), field, change))
        .to_vec();
    // The number of smaller buckets.
    let mixed = |k| check_mixed(Variant::CacheEfficient, 64, 2, 1, 4, k).unwrap();
    cases.push((base(&mixed(16)), "parameters", |config| {
        config.method = check_mixed(Variant::CacheEfficient, 64, 2, 1, 4, 32)
            .unwrap()
            .into();
    }));
    for (session, field, change) in cases {
        for odd in 0..3u8 {
            let mut session = session.clone();
            session.odd = Some((odd, change));
            let results = session.run(|_| Ok(()));
            for (party, result) in (0..3u8).zip(results) {
                match result {
                    Err(Error::Net(cenote_net::Error::Mismatch {
                        peer,
                        field: named,
                        ours,
                        theirs,
                    })) => {
                        assert_eq!(named, field, "party {party}");
                        assert_eq!(party != odd, peer == PartyId(odd), "party {party} names {peer}");
                        assert_ne!(ours, theirs);
                    }
                    other => panic!("{field} differs at party {odd}; party {party}: {other:?}"),
                }
            }
        }
    }
}

/// Whatever arrives in place of the agreement, nobody starts, and nobody waits for the deadline of the other message.
#[test]
fn a_garbled_agreement_starts_nothing() {
    for corrupted in 0..3u8 {
        for garble in [
            |body: &mut Vec<u8>| body[0] ^= 1,
            |body: &mut Vec<u8>| body.iter_mut().for_each(|byte| *byte = 0xFF),
            |body: &mut Vec<u8>| body.truncate(1),
            |body: &mut Vec<u8>| body.clear(),
        ] {
            for occurrence in 0..2 {
                let spy = Spy::corrupting(move |message| {
                    let hit = !steps::ALL.contains(&message.step) && message.occurrence == occurrence;
                    hit.then(|| {
                        let mut body = message.body.clone();
                        garble(&mut body);
                        vec![(message.step, body)]
                    })
                });
                let session = session(10).with_spy(corrupted, &spy);
                let results = session.run(|_| Ok(()));
                for (party, result) in (0..3u8).zip(results).filter(|(party, _)| *party != corrupted) {
                    match result {
                        Err(Error::Aborted {
                            check: MESSAGE_FORM,
                            peer,
                            step: AGREE,
                            ..
                        }) => assert_eq!(peer, Some(PartyId(corrupted)), "party {party}"),
                        other => panic!("party {party}: {other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn misconfiguration_is_refused_before_anything_is_sent() {
    let config = |parameters| Config::new(parameters, "misconfigured");
    let refused =
        |me: u8, links: Links, config: Config| match ThreeEngine::start(PartyId(me), vec![links], config) {
            Err(Error::BadInput(text)) => text,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("started"),
        };
    let links = || memory_links(&ChannelOptions::default());
    let swap = |ring: Ring| Ring {
        previous: ring.next,
        next: ring.previous,
    };
    let on_demand = tiny(Variant::OnDemand);
    let [zero, one, two] = links();
    let swapped = Links {
        generator: swap(zero.generator),
        evaluator: zero.evaluator,
    };
    let text = refused(0, swapped, config(on_demand.clone()));
    assert!(
        text.contains("party 0 needs channels to party 2 and party 1"),
        "{text}"
    );
    let swapped = Links {
        generator: one.generator,
        evaluator: swap(one.evaluator),
    };
    refused(1, swapped, config(on_demand.clone()));
    // Another party's channels, and a party that does not exist.
    refused(1, two, config(on_demand.clone()));
    let [zero, ..] = links();
    refused(3, zero, config(on_demand));
    match ThreeEngine::start(PartyId(0), Vec::new(), config(tiny(Variant::OnDemand))) {
        Err(Error::BadInput(text)) => assert!(text.contains("1 to 255 workers, not 0"), "{text}"),
        _ => panic!("started without workers"),
    }
}

/// Every call fails, and says why.
fn assert_poisoned(engine: &mut ThreeEngine, wires: &cenote_three::ThreeWires, reason: &str) {
    let bits = random_bits(1, WIDTH, LANES);
    let plan = small_plan();
    let own = (engine.me() == PartyId(0)).then_some(&bits);
    let errors = [
        engine.prepare(&plan, LANES).err(),
        engine.input(PartyId(0), WIDTH, LANES, own).err(),
        engine.constant(&bits).err(),
        engine.run(&plan, wires).err(),
        engine.reveal(wires, Parties::all(3)).err(),
        engine.finish().err(),
    ];
    for error in errors {
        match error {
            Some(Error::Poisoned(why)) => assert!(why.contains(reason), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_failed_session_computes_nothing_more() {
    let spy = Spy::corrupting(|message| {
        (message.step == steps::GATE_PRODUCTS).then(|| vec![(message.step, vec![0; message.body.len()])])
    });
    let results = session(7).with_spy(2, &spy).run(|engine| {
        let wires = share(engine, &[0, 1, 2].map(small_input))?;
        let outputs = engine.run(&small_plan(), &wires)?;
        let error = engine.reveal(&outputs, Parties::all(3)).unwrap_err();
        assert_poisoned(engine, &wires, &error.to_string());
        Ok(())
    });
    results.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn a_finished_session_computes_nothing_more() {
    let results = session(8).run(|engine| {
        let wires = share(engine, &[0, 1, 2].map(small_input))?;
        engine.finish()?;
        assert_poisoned(engine, &wires, "finished");
        Ok(())
    });
    results.into_iter().for_each(|result| result.unwrap());
}

/// In the middle of making triples, after an output, or at once.
#[test]
fn dropping_an_engine_hangs_nobody() {
    for moment in 0..3 {
        let quitters = [&[0u8][..], &[1, 2], &[0, 1, 2]];
        let proving = Session::new(proofs(40, 1), ViewCheck::Mac, 9);
        let sessions =
            [session(9), proving].map(|session| quitters.map(|quitters| (session.clone(), quitters)));
        for (session, quitters) in sessions.into_iter().flatten() {
            let results = session.run(move |engine| {
                let quits = quitters.contains(&engine.me().0);
                if quits && moment == 0 {
                    return Ok(());
                }
                engine.prepare(&small_plan(), 5000)?;
                if quits && moment == 1 {
                    return Ok(());
                }
                let wires = share(engine, &[0, 1, 2].map(small_input))?;
                let outputs = engine.run(&small_plan(), &wires)?;
                engine.reveal(&outputs, Parties::all(3))?;
                if quits { Ok(()) } else { engine.finish() }
            });
            for (party, result) in (0..3u8).zip(results) {
                match result {
                    Ok(()) => assert!(quitters.contains(&party), "party {party} without {quitters:?}"),
                    // Nobody waits until a deadline is over.
                    Err(error) if !quitters.contains(&party) => {
                        assert_found_out(&format!("at {moment}"), (party, &error), quitters, peer_lost);
                    }
                    // Those that quit late may see that others have.
                    Err(error) => {
                        let others: Vec<u8> =
                            quitters.iter().copied().filter(|&other| other != party).collect();
                        assert_found_out(&format!("at {moment}"), (party, &error), &others, peer_lost);
                    }
                }
            }
        }
    }
}
