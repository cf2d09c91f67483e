//! What a corrupted party never gets to see, however it deviates.
use cenote_three::checks;

use std::sync::Arc;
use std::time::Duration;

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{Outputs, Session, small_input, small_program};
use crate::common::tiny;
use cenote_net::{PartyId, Step};
use cenote_params::three::Variant;
use cenote_session::Error;
use cenote_three::{ViewCheck, steps};

/// Listeners at the honest parties: what they send to the corrupted one is what it gets to see, whether its own code
/// would read that or not.
struct Watch {
    corrupted: u8,
    honest: [Arc<Spy>; 2],
}

impl Watch {
    /// `session` with `adversary` at party `corrupted`, watched.
    fn over(session: &Session, corrupted: u8, adversary: &Arc<Spy>) -> (Self, Session) {
        let honest = [Spy::listening(), Spy::listening()];
        let session = session
            .clone()
            .with_spy(corrupted, adversary)
            .with_spy((corrupted + 1) % 3, &honest[0])
            .with_spy((corrupted + 2) % 3, &honest[1]);
        (Self { corrupted, honest }, session)
    }

    /// Messages of `step` on `thread`'s channels that honest parties sent to the corrupted one.
    fn seen(&self, step: Step, thread: Thread) -> usize {
        let to_corrupted = |message: &Message| {
            (message.step, message.wire.thread, message.wire.to) == (step, thread, self.corrupted)
        };
        let sent = self.honest.iter().flat_map(|spy| spy.sent());
        sent.filter(to_corrupted).count()
    }
}

/// Runs the session with `corrupted` as the corrupted party.
fn run(session: &Session, corrupted: u8) -> [Result<(), Error>; 3] {
    let outputs = Outputs::default();
    let results = session.run(small_program([0, 1, 2].map(small_input), &outputs));
    if results.iter().any(Result::is_err) {
        for (party, output) in (0..3).zip(outputs.get()) {
            assert!(
                party == corrupted || output.is_none(),
                "party {party} has an output"
            );
        }
    }
    results
}

/// A message that is kept back, and how many coins the corrupted party sees before.
type Case = (Thread, Step, usize, usize);

/// One session in which party `corrupted` withholds the message of `case`, for which its receiver waits for `patience`. Says
/// what was wrong about its end.
fn withhold(session: &Session, corrupted: u8, case: Case, patience: Duration) -> Result<(), String> {
    let (thread, step, occurrence, coins) = case;
    let (previous, next) = ((corrupted + 2) % 3, (corrupted + 1) % 3);
    let mut silent = false;
    let spy = Spy::corrupting(move |message| {
        if message.wire.thread != thread {
            return None;
        }
        silent |= message.step == step && message.occurrence == occurrence;
        match message.step {
            _ if !silent => None,
            steps::BARRIER if message.wire.to == next => Some(vec![
                (steps::BARRIER, message.body.clone()),
                (steps::COIN, vec![0; 16]),
            ]),
            _ => Some(Vec::new()),
        }
    });
    let (watch, mut session) = Watch::over(session, corrupted, &spy);
    session.impatient = Some(([corrupted, previous], patience));
    let results = run(&session, corrupted);
    let seen = watch.seen(steps::COIN, thread);
    assert!(
        seen <= coins,
        "{step} of party {corrupted}: {seen} coins instead of {coins}"
    );
    let culprit = PartyId(corrupted);
    let missed = match &results[usize::from(previous)] {
        Err(Error::Net(cenote_net::Error::Timeout { peer, step: at, .. })) => (*peer, *at) == (culprit, step),
        _ => false,
    };
    let heard = match &results[usize::from(next)] {
        Err(Error::PeerStopped { reason, .. }) => reason.lost() == Some(culprit),
        _ => false,
    };
    if seen == coins && missed && heard {
        Ok(())
    } else {
        Err(format!(
            "{step} of party {corrupted}: {seen} coins of {coins}, {results:?}"
        ))
    }
}

/// The corrupted party keeps back a multiplication message that the coin will test, tells the party that does not
/// expect it that all is received, and even sends it a share of the coin. The barrier's second word is missing, so that
/// party's share of the coin stays with it.
#[test]
fn a_withheld_message_is_not_bought_with_a_coin() {
    let session = Session::new(tiny(Variant::OnDemand), ViewCheck::Mac, 1);
    // Coins of the session: one per batch, one per verification, from both peers.
    let (watch, honest) = Watch::over(&session, 0, &Spy::listening());
    assert!(run(&honest, 0).iter().all(Result::is_ok));
    assert_eq!(watch.seen(steps::COIN, Thread::Generator), 2 * 2);
    assert_eq!(watch.seen(steps::COIN, Thread::Evaluator), 2);

    // The last message of each batch, and of the gates.
    let cases: [Case; 3] = [
        (Thread::Generator, steps::MULTIPLY_TRIPLE, 1, 0),
        (Thread::Generator, steps::MULTIPLY_TRIPLE, 3, 2),
        (Thread::Evaluator, steps::MULTIPLY_GATE, 1, 0),
    ];
    for corrupted in 0..3u8 {
        for case in cases {
            // On a busy machine the receiver's deadline may be over before the deviation.
            withhold(&session, corrupted, case, Duration::from_millis(500))
                .or_else(|_| withhold(&session, corrupted, case, Duration::from_secs(8)))
                .unwrap();
        }
    }
}

/// A wrong component of an opened factor makes the receiver's word on the product depend on a share that the corrupted
/// party lacks. So no word on products, not even its tag, may leave an honest party after that.
#[test]
fn no_word_on_products_follows_a_wrong_opening() {
    let on_demand = tiny(Variant::OnDemand);
    let l = on_demand.l() as usize;
    // (The message attacked, the tags it must keep back, how many had been sent before.)
    let cases = [
        (steps::CHECK_TRIPLE, 0, Thread::Generator, 0),
        (steps::CHECK_TRIPLE, l - 1, Thread::Generator, 0),
        (steps::CHECK_TRIPLE, l, Thread::Generator, 2),
        (steps::CHECK_GATE, 0, Thread::Evaluator, 0),
    ];
    for view_check in [ViewCheck::Mac, ViewCheck::Sha256] {
        let session = Session::new(&on_demand, view_check, 2);
        for corrupted in 0..3 {
            for (step, occurrence, thread, before) in cases {
                let (view, products) = match thread {
                    Thread::Generator => (steps::TRIPLE_VIEW, steps::TRIPLE_PRODUCTS),
                    Thread::Evaluator => (steps::GATE_VIEW, steps::GATE_PRODUCTS),
                };
                let spy: Arc<Spy> = Spy::corrupting(move |message| {
                    if (message.step, message.occurrence) != (step, occurrence) {
                        return None;
                    }
                    let mut body = message.body.clone();
                    body[5] ^= 0x20;
                    Some(vec![(step, body)])
                });
                let (watch, session) = Watch::over(&session, corrupted, &spy);
                let results = run(&session, corrupted);
                for (party, result) in (0..3).zip(&results) {
                    let check = result.as_ref().err().and_then(Error::check);
                    assert_eq!(check, Some(checks::VIEW_COMPARISON), "party {party}: {result:?}");
                }
                let what = format!("{step} {occurrence} of party {corrupted} with {view_check}");
                // Tags of what was opened were exchanged, and nothing after them.
                assert_eq!(watch.seen(view, thread), before + 2, "{what}");
                assert_eq!(watch.seen(products, thread), before, "{what}");
            }
        }
    }
}
