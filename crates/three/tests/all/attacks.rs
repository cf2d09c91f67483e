//! One party deviates in one message: every message of a session, each in every way.
//!
//! The corrupted party runs the protocol's own code; an adversary at its channels changes one message. Both honest
//! parties must stop with the check that the table [`expected`] names, or say whom they lost; must not get an output
//! that depends on the deviation; and must not hang or panic.

mod deviation;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{PartyId, Step};
use cenote_params::three::Variant;
use cenote_session::{Check, Error, MESSAGE_FORM};
use cenote_three::{ViewCheck, checks, steps};
use deviation::{Deviation, Position, adversary};

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{Outputs, Session, in_parallel, small_answer, small_input, small_program};
use crate::common::tiny;

/// How an attacked session must end at the honest parties.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// As if nothing had happened.
    Success,
    /// The deadline for the missing message passes: its receiver names the sender and the step, the other party hears.
    Silence,
    /// Both name one of these checks.
    Abort(Vec<Check>),
    /// The other party has all that it needs already; the receiver misses the sender.
    ReceiverLoses,
    /// The receiver names one of these checks; the other party has all that it needs already, or hears of it.
    ReceiverAborts(Vec<Check>),
    /// One of the last two: the protocol waits for the message, or goes on to another that does not fit.
    SilenceOrAbort(Vec<Check>),
}

/// The checks that a message with wrong contents of the right form must fail.
fn wrong_contents(step: Step, deviation: Deviation) -> Vec<Check> {
    use checks::*;
    match step {
        // The pair's keys differ: the third party hears two versions of the first coin, or the receiver, with a third
        // version of it, opens other triples than its peers.
        steps::SETUP => vec![COIN_OPENING, TRIPLE_OPENING],
        // The owner computes with another share than the one it sent: see `inputs.rs` for one that does not.
        steps::INPUT => vec![VIEW_COMPARISON],
        steps::BARRIER | steps::FINISH => vec![MESSAGE_FORM],
        steps::COIN => vec![COIN_OPENING],
        // The coin decides whether a bad triple is opened or checked with another.
        steps::MULTIPLY_TRIPLE => vec![TRIPLE_OPENING, PRODUCT_COMPARISON],
        // The product is the last of the three values. A bit of a factor matters to the product only if the other
        // factor's is 1, but to the view in any case.
        steps::OPEN_TRIPLE => match deviation {
            Deviation::FlipLast | Deviation::Random => vec![TRIPLE_OPENING],
            _ => vec![TRIPLE_OPENING, VIEW_COMPARISON],
        },
        steps::CHECK_TRIPLE | steps::TRIPLE_VIEW | steps::CHECK_GATE | steps::GATE_VIEW => {
            vec![VIEW_COMPARISON]
        }
        // The sender goes on with the right product, so a gate that uses it shows two versions of a factor first.
        steps::MULTIPLY_GATE => vec![PRODUCT_COMPARISON, VIEW_COMPARISON],
        steps::TRIPLE_PRODUCTS | steps::GATE_PRODUCTS => vec![PRODUCT_COMPARISON],
        steps::OUTPUT | steps::OUTPUT_HASH => vec![OUTPUT_OPENING],
        _ => panic!("no row for {step}: what must its wrong contents lead to?"),
    }
}

/// How the session must end. `last` says that nothing follows on the wire.
fn expected(step: Step, deviation: Deviation, last: bool) -> Expected {
    let form_or_contents = || {
        let mut checks = wrong_contents(step, deviation);
        checks.push(MESSAGE_FORM);
        checks
    };
    match deviation {
        // The input's last bit is padding, which nobody looks at.
        Deviation::FlipLast if step == steps::INPUT => Expected::Success,
        Deviation::Delay => Expected::Success,
        Deviation::Drop | Deviation::Silence if step == steps::FINISH => Expected::ReceiverLoses,
        _ if step == steps::FINISH && deviation != Deviation::Duplicate => {
            Expected::ReceiverAborts(vec![MESSAGE_FORM])
        }
        Deviation::Duplicate if matches!(step, steps::OUTPUT | steps::OUTPUT_HASH) => {
            Expected::ReceiverAborts(vec![MESSAGE_FORM])
        }
        Deviation::FlipFirst | Deviation::FlipMiddle | Deviation::FlipLast | Deviation::Random => {
            Expected::Abort(wrong_contents(step, deviation))
        }
        Deviation::Truncate | Deviation::Extend | Deviation::Empty | Deviation::OtherStep => {
            Expected::Abort(vec![MESSAGE_FORM])
        }
        // A word after the last one reaches nobody.
        Deviation::Duplicate if last => Expected::Success,
        // Even where the next message has the same form, one is left over in the end.
        Deviation::Duplicate => Expected::Abort(vec![MESSAGE_FORM]),
        Deviation::Drop if last => Expected::Silence,
        Deviation::Drop | Deviation::Swap => Expected::SilenceOrAbort(form_or_contents()),
        Deviation::Silence => Expected::Silence,
    }
}

/// Whether the message's receiver may already hold the output when the deviation shows. The receiver of a wrong share
/// of an output may not; the other honest party may, and it is the right one.
fn may_have_output(step: Step, deviation: Deviation, is_receiver: bool) -> bool {
    match step {
        steps::FINISH => true,
        steps::OUTPUT | steps::OUTPUT_HASH => !is_receiver || deviation == Deviation::Duplicate,
        // The second copy arrives where an output's share is expected.
        steps::GATE_PRODUCTS => !is_receiver && deviation == Deviation::Duplicate,
        _ => false,
    }
}

/// The messages that party `corrupted` sends in an honest session: of each wire and step the first, the second and the
/// last.
fn positions(session: &Session, corrupted: u8) -> Vec<Position> {
    let spy = Spy::listening();
    let outputs = Outputs::default();
    let results = session
        .clone()
        .with_spy(corrupted, &spy)
        .run(small_program([0, 1, 2].map(small_input), &outputs));
    results
        .into_iter()
        .for_each(|result| result.expect("all are honest"));
    let sent: Vec<_> = spy
        .sent()
        .into_iter()
        .filter(|message| steps::ALL.contains(&message.step))
        .collect();
    let mut counts = HashMap::new();
    let mut ends = HashMap::new();
    for (index, message) in sent.iter().enumerate() {
        *counts.entry((message.wire, message.step)).or_insert(0) += 1;
        ends.insert(message.wire, index);
    }
    sent.iter()
        .enumerate()
        .filter(|(_, message)| {
            message.occurrence < 2 || message.occurrence + 1 == counts[&(message.wire, message.step)]
        })
        .map(|(index, message)| Position {
            wire: message.wire,
            step: message.step,
            occurrence: message.occurrence,
            last: ends[&message.wire] == index,
        })
        .collect()
}

/// Runs one attacked session and says what was wrong about its end. On a busy machine the receiver's deadline may be over
/// before the deviation; then it is run once more, with a deadline that is not.
fn attack(session: &Session, position: &Position, deviation: Deviation) -> Result<(), String> {
    let expected = expected(position.step, deviation, position.last);
    let silent = matches!(expected, Expected::Silence | Expected::SilenceOrAbort(_));
    match attempt(session, position, deviation, Duration::from_millis(700)) {
        Err(_) if silent => attempt(session, position, deviation, Duration::from_secs(8)),
        outcome => outcome,
    }
}

/// Runs one attacked session, in which the receiver waits for `patience` if it is to meet silence.
fn attempt(
    session: &Session,
    position: &Position,
    deviation: Deviation,
    patience: Duration,
) -> Result<(), String> {
    let expected = expected(position.step, deviation, position.last);
    let (corrupted, receiver) = (position.wire.from, position.wire.to);
    let mut session = session
        .clone()
        .with_spy(corrupted, &adversary(position, deviation));
    if matches!(expected, Expected::Silence | Expected::SilenceOrAbort(_)) {
        session.impatient = Some(([corrupted, receiver], patience));
    }
    let outputs = Outputs::default();
    let inputs = [0, 1, 2].map(small_input);
    let results = session.run(small_program(inputs.clone(), &outputs));
    let honest: Vec<u8> = (0..3).filter(|&party| party != corrupted).collect();
    let answer = small_answer(&inputs);

    for (party, output) in (0..3).zip(outputs.get()) {
        let may =
            expected == Expected::Success || may_have_output(position.step, deviation, party == receiver);
        match output {
            Some(output) if output != answer => return Err(format!("party {party} has a wrong output")),
            Some(_) if !may && party != corrupted => return Err(format!("party {party} has an output")),
            None if expected == Expected::Success => return Err(format!("party {party} has no output")),
            _ => {}
        }
    }

    let ends: Vec<_> = honest
        .iter()
        .map(|&party| (party, &results[usize::from(party)]))
        .collect();
    let wrong = || Err(format!("expected {expected:?}, got {ends:?}"));
    let checks: Vec<_> = ends
        .iter()
        .map(|(_, end)| end.as_ref().err().and_then(Error::check))
        .collect();
    let named =
        |check: &Option<Check>, allowed: &[Check]| check.is_some_and(|check| allowed.contains(&check));
    let aborted = |allowed: &[Check]| checks.iter().all(|check| named(check, allowed));
    let receiver_index = usize::from(ends[1].0 == receiver);
    let other_is_done = ends[1 - receiver_index].1.is_ok();
    let silenced = ends.iter().all(|(party, end)| match end {
        Err(Error::Net(cenote_net::Error::Timeout { peer, .. })) => {
            *party == receiver && *peer == PartyId(corrupted)
        }
        Err(Error::PeerStopped { reason, .. }) => {
            *party != receiver && reason.lost() == Some(PartyId(corrupted))
        }
        _ => false,
    });
    let in_step = ends.iter().all(|(_, end)| match end {
        Err(Error::Net(cenote_net::Error::Timeout { step, .. })) => *step == position.step,
        _ => true,
    });
    let right = match &expected {
        Expected::Success => ends.iter().all(|(_, end)| end.is_ok()),
        Expected::Silence => silenced && in_step,
        Expected::Abort(allowed) => aborted(allowed),
        Expected::ReceiverAborts(allowed) => {
            named(&checks[receiver_index], allowed) && (other_is_done || aborted(allowed))
        }
        // The sender is done too, and closes its channels.
        Expected::ReceiverLoses => {
            let lost = |peer: &PartyId, step: &Step| *peer == PartyId(corrupted) && *step == position.step;
            other_is_done
                && matches!(
                    ends[receiver_index].1,
                    Err(Error::Net(cenote_net::Error::PeerLost { peer, step, .. })) if lost(peer, step)
                )
        }
        Expected::SilenceOrAbort(allowed) => silenced || aborted(allowed),
    };
    if right { Ok(()) } else { wrong() }
}

/// Attacks every message of every party in every way of `deviations`.
fn attack_session(session: &Session, deviations: &[Deviation]) {
    let mut cases = Vec::new();
    for corrupted in 0..3 {
        let positions = positions(session, corrupted);
        for step in steps::ALL {
            let attacked = positions.iter().any(|position| position.step == *step);
            assert!(attacked, "party {corrupted} sends no \"{step}\"");
        }
        for position in positions {
            for &deviation in deviations {
                if !(position.last && deviation == Deviation::Swap) {
                    cases.push((position.clone(), deviation));
                }
            }
        }
    }
    let results = in_parallel(cases.len(), 12, |index| {
        let (position, deviation) = &cases[index];
        attack(session, position, *deviation)
    });
    let failures: Vec<_> = cases
        .iter()
        .zip(results)
        .filter_map(|((position, deviation), result)| {
            let error = result.err()?;
            Some(format!("{deviation:?} of {position:?}: {error}"))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} attacks ended wrongly:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn attack_all(variant: Variant, view_check: ViewCheck, deviations: &[Deviation]) {
    attack_session(&Session::new(tiny(variant), view_check, 7), deviations);
}

#[test]
fn every_message_of_on_demand_with_mac() {
    attack_all(Variant::OnDemand, ViewCheck::Mac, &Deviation::ALL);
}

/// Deviations that the other variants and checks are tried with: contents and form.
const SAMPLE: [Deviation; 4] = [
    Deviation::FlipMiddle,
    Deviation::FlipLast,
    Deviation::Truncate,
    Deviation::Duplicate,
];

#[test]
fn every_message_of_on_demand_with_sha256() {
    attack_all(Variant::OnDemand, ViewCheck::Sha256, &SAMPLE);
}

#[test]
fn every_message_of_baseline_with_mac() {
    attack_all(Variant::Baseline, ViewCheck::Mac, &SAMPLE);
}

#[test]
fn every_message_of_cache_efficient_with_sha256() {
    attack_all(Variant::CacheEfficient, ViewCheck::Sha256, &SAMPLE);
}

/// A party that finds a deviation may be held up between telling one peer and the next: what the first does then does not come
/// before its word.
#[test]
fn every_message_beside_a_party_that_falters() {
    let slow = Spy::corrupting(|_| None);
    *slow.falters.lock().unwrap() = Some((Thread::Evaluator, Duration::from_millis(100)));
    // Its generator is still at work then, and the others' wait for it.
    *slow.stall.lock().unwrap() = Some(Arc::new(|message: &Message| {
        if (message.wire.thread, message.step) == (Thread::Generator, steps::BARRIER) {
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }));
    let session = Session::new(tiny(Variant::CacheEfficient), ViewCheck::Sha256, 7);
    attack_session(&session.with_spy(2, &slow), &[Deviation::Truncate]);
}

/// The reason of an abort reaches both honest parties through sockets too.
#[test]
fn every_message_over_tcp() {
    let mut session = Session::new(tiny(Variant::OnDemand), ViewCheck::Mac, 7);
    session.tcp = true;
    attack_session(
        &session,
        &[Deviation::FlipLast, Deviation::Truncate, Deviation::Silence],
    );
}

/// The message whose last bit, flipped, fails the check.
fn trips(check: Check) -> Step {
    match check {
        checks::VIEW_COMPARISON => steps::CHECK_GATE,
        checks::PRODUCT_COMPARISON => steps::GATE_PRODUCTS,
        checks::TRIPLE_OPENING => steps::OPEN_TRIPLE,
        checks::COIN_OPENING => steps::COIN,
        checks::OUTPUT_OPENING => steps::OUTPUT,
        MESSAGE_FORM => steps::BARRIER,
        _ => panic!("no row for {check}: what trips it?"),
    }
}

#[test]
fn every_check_is_tripped() {
    let session = Session::new(tiny(Variant::OnDemand), ViewCheck::Mac, 8);
    // A session that takes nothing which was kept, moves no rows and proves nothing has no such steps: `kept`, `shuffle` and `proofs` have the tests of that.
    let elsewhere = [
        checks::KEPT_SHARE,
        checks::SHUFFLE,
        checks::PROOF,
        checks::PROOF_TRANSCRIPT,
        checks::PROOF_OPERANDS,
    ];
    let checks = checks::ALL.iter().filter(|check| !elsewhere.contains(check));
    for &check in checks.chain([&MESSAGE_FORM]) {
        let step = trips(check);
        let position = positions(&session, 1)
            .into_iter()
            .find(|position| position.step == step)
            .unwrap();
        let spy = adversary(&position, Deviation::FlipLast);
        let results = session
            .clone()
            .with_spy(1, &spy)
            .run(small_program([0, 1, 2].map(small_input), &Outputs::default()));
        for party in [0, 2] {
            let error = results[party].as_ref().expect_err("the deviation is noticed");
            assert_eq!(error.check(), Some(check), "party {party}: {error}");
        }
        // Who receives the message has seen it itself.
        let receiver = &results[usize::from(position.wire.to)];
        assert!(
            matches!(receiver, Err(Error::Aborted { .. })),
            "{check}: {receiver:?}"
        );
    }
}
