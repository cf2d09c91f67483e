//! Several workers, and provers that are at work when something is to be opened: all batches of all workers are waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_net::{ChannelOptions, PartyId, Step};
use cenote_primitives::{BitMatrix, Entropy};
use cenote_session::{Check, Engine, Error, Parties, Result};
use cenote_three::{Config, Links, Method, ThreeEngine, checks, steps};

use super::statements::wait_for;
use super::{BLOCK, flipped, layers, previous, share};
use crate::common::intercept::{Message, Spy, Thread, tap};
use crate::common::session::{in_parallel, random_bits};
use crate::common::{memory_links, proofs};

/// Three parties over memory, each with several workers, some of them tapped.
pub(super) struct Workers {
    method: Method,
    count: usize,
    timeout: Duration,
    /// Party, worker, and who is at its channels.
    spies: Vec<(u8, usize, Arc<Spy>)>,
}

impl Workers {
    pub(super) fn new(method: impl Into<Method>, count: usize) -> Self {
        Self {
            method: method.into(),
            count,
            timeout: Duration::from_secs(20),
            spies: Vec::new(),
        }
    }

    pub(super) fn with_spy(mut self, party: u8, worker: usize, spy: &Arc<Spy>) -> Self {
        self.spies.push((party, worker, Arc::clone(spy)));
        self
    }

    fn links(&self) -> [Vec<Links>; 3] {
        let mut all: [Vec<Links>; 3] = Default::default();
        let options = ChannelOptions::with_timeout(self.timeout);
        for worker in 0..self.count {
            for (party, links) in (0..).zip(memory_links(&options)) {
                let spy = self
                    .spies
                    .iter()
                    .find(|(of, at, _)| (*of, *at) == (party, worker));
                all[usize::from(party)].push(match spy {
                    Some((_, _, spy)) => tap(spy, party, links),
                    None => links,
                });
            }
        }
        all
    }

    pub(super) fn run<T: Send>(
        &self,
        program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync,
    ) -> [Result<T>; 3] {
        std::thread::scope(|scope| {
            let mut parties = (0..).map(PartyId);
            let threads = self.links().map(|links| {
                let (me, program) = (parties.next().unwrap(), &program);
                scope.spawn(move || {
                    let mut config = Config::new(self.method.clone(), "workers");
                    config.entropy = Entropy::for_tests(me.0.into());
                    program(&mut ThreeEngine::start(me, links, config)?)
                })
            });
            threads.map(|thread| thread.join().expect("no party panics"))
        })
    }
}

/// What is done first when all gates have been evaluated.
#[derive(Clone, Copy, Debug)]
enum Last {
    Reveal,
    Keep,
    Finish,
}

const LASTS: [Last; 3] = [Last::Reveal, Last::Keep, Last::Finish];

impl Last {
    /// Does it, and says whether it gave anything that was to be proved before.
    fn call(self, engine: &mut ThreeEngine, wires: &cenote_three::ThreeWires) -> Result<()> {
        match self {
            Last::Reveal => engine.reveal(wires, Parties::all(3)).map(drop),
            Last::Keep => engine.keep(wires).map(drop),
            Last::Finish => engine.finish(),
        }
    }
}

fn rows(lanes: usize) -> [BitMatrix; 2] {
    [50, 51].map(|seed| random_bits(seed, 1, lanes))
}

/// A party whose products of the first layer are wrong, and which is silent in its proof from this step on, if one is given.
fn cheating(corrupted: u8, silent_from: Option<Step>) -> Arc<Spy> {
    let mut silent = false;
    Spy::corrupting(move |message| {
        if (message.step, message.occurrence) == (steps::MULTIPLY_GATE, 0) {
            assert_eq!(message.wire.to, previous(corrupted));
            return Some(vec![(message.step, flipped(&message.body, 0))]);
        }
        silent |= Some(message.step) == silent_from;
        (silent && message.wire.thread == Thread::Generator).then(Vec::new)
    })
}

/// Cheats in both workers, and is silent in one, where it has seen the coin: the other's failure is enough, and if only the silent one has cheated, its
/// silence is. Neither an output nor a share is given out.
#[test]
fn silence_in_one_worker_saves_no_lie() {
    let mut cases = Vec::new();
    for corrupted in 0..3u8 {
        for last in LASTS {
            for (step, both) in [
                (steps::PROOF_GRID, true),
                (steps::PROOF_OPENING, true),
                (steps::PROOF_GRID, false),
                (steps::PROOF_OPENING, false),
            ] {
                cases.push((corrupted, last, step, both));
            }
        }
    }
    in_parallel(cases.len(), 12, |index| {
        let (corrupted, last, step, both) = cases[index];
        let lanes = 512 * 2;
        let mut workers = Workers::new(proofs(40, 1 << 10), 2);
        workers.timeout = Duration::from_millis(1500);
        workers = workers.with_spy(corrupted, 1, &cheating(corrupted, Some(step)));
        if both {
            workers = workers.with_spy(corrupted, 0, &cheating(corrupted, None));
        }
        let rows = rows(lanes);
        let results = workers.run(|engine| {
            let wires = share(engine, &rows)?;
            let results = engine.run(&layers(1), &wires)?;
            last.call(engine, &results)
        });
        for party in (0..3).filter(|party| *party != corrupted) {
            let what = format!("{last:?}, {step}, both: {both}, party {party} beside {corrupted}");
            let error = results[usize::from(party)].as_ref().expect_err(&what);
            match error.check() {
                Some(check) => assert_eq!(check, checks::PROOF, "{what}: {error}"),
                None => assert!(!both && error.reason().lost().is_some(), "{what}: {error}"),
            }
        }
    });
}

/// The second worker's prover is held up. What is opened waits for it, and is not opened if it fails.
fn held_up(corrupted: u8, lies: bool, last: Last) {
    let listeners = [1, 2].map(|more| ((corrupted + more) % 3, Spy::listening()));
    let spy = if lies {
        cheating(corrupted, None)
    } else {
        Spy::corrupting(|_| None)
    };
    let (over, honest) = (Arc::new(AtomicBool::new(false)), listeners.clone());
    let (early, noted) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&over));
    let seen = Arc::clone(&early);
    *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
        if (message.step, message.occurrence) == (steps::PROOF_GRID, 0) {
            std::thread::sleep(Duration::from_millis(150));
            let sent = honest.iter().flat_map(|(_, spy)| spy.sent());
            let opened = [steps::OUTPUT, steps::OUTPUT_HASH, steps::FINISH];
            let sent = sent.filter(|message| opened.contains(&message.step));
            seen.lock().unwrap().extend(sent);
            assert!(!noted.load(Ordering::SeqCst), "nobody is done");
        }
        None
    }));
    let mut workers = Workers::new(proofs(40, 1), 2).with_spy(corrupted, 1, &spy);
    for (party, listener) in &listeners {
        workers = workers.with_spy(*party, 0, listener);
    }
    // In each worker each layer is a batch.
    let rows = rows(2 * 9 * BLOCK);
    let results = workers.run(|engine| {
        let wires = share(engine, &rows)?;
        let results = engine.run(&layers(2), &wires)?;
        let ended = last.call(engine, &results);
        over.store(true, Ordering::SeqCst);
        ended
    });
    assert!(early.lock().unwrap().is_empty(), "{last:?}: {early:?}");
    for party in (0..3).filter(|party| *party != corrupted) {
        let result = &results[usize::from(party)];
        match lies {
            true => {
                let check = result.as_ref().err().and_then(Error::check);
                assert_eq!(check, Some(checks::PROOF), "{last:?}: {result:?}");
            }
            false => assert!(result.is_ok(), "{last:?}: {result:?}"),
        }
    }
}

#[test]
fn whatever_is_opened_waits_for_every_worker() {
    in_parallel(18, 6, |index| {
        let (corrupted, last) = ((index % 3) as u8, LASTS[index / 3 % 3]);
        held_up(corrupted, index >= 9, last);
    });
}

/// The proof of the first layer fails after all layers have been evaluated: `pause` later something is to be opened, whose first and second call fail.
fn fails_later(corrupted: u8, last: Last, pause: Duration) {
    let spy = cheating(corrupted, None);
    let evaluated: Arc<Mutex<[bool; 3]>> = Arc::default();
    let all = Arc::clone(&evaluated);
    *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
        if (message.step, message.occurrence) == (steps::BARRIER, 0) {
            wait_for(|| (*all.lock().unwrap() == [true; 3]).then_some(()));
        }
        None
    }));
    // Two layers, each of more than a batch: the first is handed over while the second is evaluated.
    let workers = Workers::new(proofs(40, 1), 1).with_spy(corrupted, 0, &spy);
    let rows = rows(BLOCK + 70);
    let results = workers.run(|engine| {
        let me = engine.me();
        let wires = share(engine, &rows)?;
        let results = engine.run(&layers(2), &wires).expect("it was evaluated");
        evaluated.lock().unwrap()[me.index()] = true;
        std::thread::sleep(pause);
        if me == PartyId(corrupted) {
            // However that ends.
            let _ = last.call(engine, &results);
            return Ok(());
        }
        let error = last.call(engine, &results).expect_err("its gates have no proof");
        assert_eq!(error.check(), Some(checks::PROOF), "{last:?}: {error}");
        for again in LASTS {
            let error = again.call(engine, &results).expect_err("the session is over");
            assert!(
                matches!(error, Error::Poisoned(_)),
                "{last:?}, {again:?}: {error}"
            );
        }
        Ok(())
    });
    for result in results {
        result.unwrap();
    }
}

#[test]
fn a_prover_that_fails_later_fails_what_comes_next() {
    in_parallel(18, 9, |index| {
        let pause = Duration::from_millis(100 * (index as u64 / 9));
        fails_later((index % 3) as u8, LASTS[index / 3 % 3], pause);
    });
}

/// What a call with nothing to open meets when a batch has failed in the background: it says so, and more layers are not evaluated in vain.
#[test]
fn a_prover_that_has_failed_stops_every_call() {
    let workers = Workers::new(proofs(40, 1), 1).with_spy(1, 0, &cheating(1, None));
    let rows = rows(BLOCK + 70);
    let results = workers.run(|engine| {
        let wires = share(engine, &rows)?;
        loop {
            engine.run(&layers(2), &wires)?;
            std::thread::sleep(Duration::from_millis(5));
        }
        #[allow(unreachable_code, reason = "the type of the result")]
        Ok(())
    });
    for (party, result) in results.into_iter().enumerate().filter(|(party, _)| *party != 1) {
        let check: Option<Check> = result.as_ref().err().and_then(Error::check);
        assert_eq!(check, Some(checks::PROOF), "party {party}: {result:?}");
    }
}

/// A message of the first worker's proof in place of the second's: proofs are of one worker's gates.
#[test]
fn messages_of_another_worker_do_not_fit() {
    let cases: [(Step, Check); 6] = [
        (steps::COIN, checks::COIN_OPENING),
        (steps::PROOF_GRID, checks::PROOF_TRANSCRIPT),
        (steps::PROOF_DIGEST, checks::PROOF_TRANSCRIPT),
        (steps::PROOF_TAIL, checks::PROOF_OPERANDS),
        (steps::PROOF_DIGESTS, checks::PROOF_OPERANDS),
        (steps::PROOF_OPENING, checks::PROOF_TRANSCRIPT),
    ];
    for corrupted in 0..3 {
        for (step, expected) in cases {
            let first = Spy::listening();
            let second = Spy::corrupting(|_| None);
            let of_first = Arc::clone(&first);
            *second.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
                let place = |message: &Message| (message.step, message.occurrence, message.wire.to);
                if message.step != step {
                    return None;
                }
                let other = wait_for(|| {
                    of_first
                        .sent()
                        .into_iter()
                        .find(|other| place(other) == place(message))
                });
                assert_eq!(other.body.len(), message.body.len());
                Some(vec![(step, other.body)])
            }));
            let mut workers = Workers::new(proofs(40, 1 << 10), 2);
            workers = workers.with_spy(corrupted, 0, &first);
            workers = workers.with_spy(corrupted, 1, &second);
            let rows = rows(512 * 2);
            let results = workers.run(|engine| {
                let wires = share(engine, &rows)?;
                let results = engine.run(&layers(1), &wires)?;
                engine.reveal(&results, Parties::all(3))?;
                engine.finish()
            });
            for party in (0..3).filter(|party| *party != corrupted) {
                let check = results[usize::from(party)].as_ref().err().and_then(Error::check);
                assert_eq!(check, Some(expected), "{step} of {corrupted}: {results:?}");
            }
        }
    }
}
