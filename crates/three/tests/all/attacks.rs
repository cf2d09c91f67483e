//! One party deviates in one message: every message of a session, each in every way.
//!
//! The corrupted party runs the protocol's own code; an adversary at its channels changes one message. Both honest
//! parties must stop with the check that the table [`Kind::expected`] names, or say whom they lost; must not get an output
//! that depends on the deviation; and must not hang or panic.

mod deviation;
mod table;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{PartyId, Step};
use cenote_params::three::Variant;
use cenote_primitives::BitMatrix;
use cenote_session::{Check, Error, MESSAGE_FORM};
use cenote_three::{Method, ViewCheck, checks, steps};
use deviation::{Deviation, Position, adversary};
use table::{Expected, Kind};

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{LANES, Outputs, Session, in_parallel, input_of, small_answer, small_program};
use crate::common::{proofs, tiny};

/// A session that is attacked: [`small_program`] in this many instances.
struct Attacked {
    session: Session,
    lanes: usize,
}

impl Attacked {
    fn new(method: impl Into<Method>, view_check: ViewCheck, seed: u64) -> Self {
        let session = Session::new(method, view_check, seed);
        Self {
            session,
            lanes: LANES,
        }
    }

    fn kind(&self) -> Kind {
        Kind::from(&self.session.method)
    }

    fn inputs(&self) -> [BitMatrix; 3] {
        [0, 1, 2].map(|owner| input_of(owner, self.lanes))
    }
}

/// The messages that party `corrupted` sends in an honest session: of each wire and step the first, the second and the
/// last.
fn positions(attacked: &Attacked, corrupted: u8) -> Vec<Position> {
    let spy = Spy::listening();
    let outputs = Outputs::default();
    let results = attacked
        .session
        .clone()
        .with_spy(corrupted, &spy)
        .run(small_program(attacked.inputs(), &outputs));
    results
        .into_iter()
        .for_each(|result| result.expect("all are honest"));
    let steps = attacked.kind().steps();
    let ours = |step: &Step| steps::ALL.contains(step) || steps::PROVED.contains(step);
    let sent: Vec<_> = spy
        .sent()
        .into_iter()
        .filter(|message| ours(&message.step))
        .collect();
    for step in &steps {
        let attacked = sent.iter().any(|message| message.step == *step);
        assert!(attacked, "party {corrupted} sends no \"{step}\"");
    }
    for message in &sent {
        let step = message.step;
        assert!(steps.contains(&step), "party {corrupted} sends \"{step}\"");
    }
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
fn attack(attacked: &Attacked, position: &Position, deviation: Deviation) -> Result<(), String> {
    let expected = attacked.kind().expected(position, deviation);
    let silent = matches!(expected, Expected::Silence | Expected::SilenceOrAbort(_));
    match attempt(attacked, position, deviation, Duration::from_millis(700)) {
        Err(_) if silent => attempt(attacked, position, deviation, Duration::from_secs(8)),
        outcome => outcome,
    }
}

/// Runs one attacked session, in which the receiver waits for `patience` if it is to meet silence.
fn attempt(
    attacked: &Attacked,
    position: &Position,
    deviation: Deviation,
    patience: Duration,
) -> Result<(), String> {
    let kind = attacked.kind();
    let expected = kind.expected(position, deviation);
    let (corrupted, receiver) = (position.wire.from, position.wire.to);
    let mut session = attacked
        .session
        .clone()
        .with_spy(corrupted, &adversary(position, deviation));
    if matches!(expected, Expected::Silence | Expected::SilenceOrAbort(_)) {
        session.impatient = Some(([corrupted, receiver], patience));
    }
    let outputs = Outputs::default();
    let inputs = attacked.inputs();
    let results = session.run(small_program(inputs.clone(), &outputs));
    let honest: Vec<u8> = (0..3).filter(|&party| party != corrupted).collect();
    let answer = small_answer(&inputs);

    for (party, output) in (0..3).zip(outputs.get()) {
        let may = expected == Expected::Success
            || kind.may_have_output(position.step, deviation, party == receiver);
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
fn attack_session(attacked: &Attacked, deviations: &[Deviation]) {
    let mut cases = Vec::new();
    for corrupted in 0..3 {
        for position in positions(attacked, corrupted) {
            for &deviation in deviations {
                if !(position.last && deviation == Deviation::Swap) {
                    cases.push((position.clone(), deviation));
                }
            }
        }
    }
    let results = in_parallel(cases.len(), 24, |index| {
        let (position, deviation) = &cases[index];
        attack(attacked, position, *deviation)
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
    attack_session(&Attacked::new(tiny(variant), view_check, 7), deviations);
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

#[test]
fn every_message_of_proofs() {
    let attacked = Attacked::new(proofs(40, 1 << 10), ViewCheck::Mac, 7);
    attack_session(&attacked, &Deviation::ALL);
}

/// Each of the two layers is a batch, and the first is proved in the background while the second is evaluated; with weights of both widths.
#[test]
fn every_message_of_proofs_in_the_background() {
    for security in [40, 61] {
        let mut attacked = Attacked::new(proofs(security, 1), ViewCheck::Mac, 7);
        attacked.lanes = 201;
        attack_session(&attacked, &SAMPLE);
    }
}

/// The session with party 2 slow: it is held up between telling one peer why it stops and the next, over the channels of `thread`, and its generator or
/// prover at each barrier.
fn faltering(mut attacked: Attacked, thread: Thread) -> Attacked {
    let slow = Spy::corrupting(|_| None);
    *slow.falters.lock().unwrap() = Some((thread, Duration::from_millis(100)));
    // Its generator is still at work then, and the others' wait for it.
    *slow.stall.lock().unwrap() = Some(Arc::new(|message: &Message| {
        if (message.wire.thread, message.step) == (Thread::Generator, steps::BARRIER) {
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }));
    attacked.session = attacked.session.with_spy(2, &slow);
    attacked
}

/// A party that finds a deviation may be held up between telling one peer and the next: what the first does then does not come
/// before its word.
#[test]
fn every_message_beside_a_party_that_falters() {
    let attacked = Attacked::new(tiny(Variant::CacheEfficient), ViewCheck::Sha256, 7);
    attack_session(&faltering(attacked, Thread::Evaluator), &[Deviation::Truncate]);
}

/// The same where its prover is held up.
#[test]
fn every_message_beside_a_prover_that_falters() {
    for thread in [Thread::Generator, Thread::Evaluator] {
        let attacked = Attacked::new(proofs(40, 1 << 10), ViewCheck::Mac, 7);
        attack_session(&faltering(attacked, thread), &[Deviation::Truncate]);
    }
}

/// The reason of an abort reaches both honest parties through sockets too.
#[test]
fn every_message_over_tcp() {
    let methods: [Method; 2] = [tiny(Variant::OnDemand).into(), proofs(40, 1 << 10).into()];
    for method in methods {
        let mut attacked = Attacked::new(method, ViewCheck::Mac, 7);
        attacked.session.tcp = true;
        attack_session(
            &attacked,
            &[Deviation::FlipLast, Deviation::Truncate, Deviation::Silence],
        );
    }
}

#[test]
fn every_check_is_tripped() {
    let sessions = [tiny(Variant::OnDemand).into(), proofs(40, 1 << 10).into()]
        .map(|method: Method| Attacked::new(method, ViewCheck::Mac, 8));
    let elsewhere = [checks::KEPT_SHARE, checks::SHUFFLE];
    for &check in checks::ALL.iter().chain([&MESSAGE_FORM]) {
        let tripped = sessions.iter().filter(|session| is_tripped(session, check));
        assert_eq!(tripped.count() == 0, elsewhere.contains(&check), "{check}");
    }
}

/// Trips the check in this session, if it has it.
fn is_tripped(attacked: &Attacked, check: Check) -> bool {
    let Some(step) = attacked.kind().trips(check) else {
        return false;
    };
    let position = positions(attacked, 1)
        .into_iter()
        .find(|position| position.step == step)
        .unwrap();
    let spy = adversary(&position, Deviation::FlipLast);
    let results = attacked
        .session
        .clone()
        .with_spy(1, &spy)
        .run(small_program(attacked.inputs(), &Outputs::default()));
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
    true
}
