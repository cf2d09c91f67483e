//! Circuits that were garbled ahead: run in later sessions, once, by parties that cheat or are cut off.

use cenote_circuit::{Plan, library};
use cenote_net::Step;
use cenote_primitives::BitMatrix;
use cenote_session::{Parties, WireVector};
use cenote_testkit::kept::{LANES, and};
use cenote_testkit::{Perturbation, Target, perturbed};

use super::*;
use crate::AuthenticatedWires;
use crate::checks::TIED_INPUT;

/// What was sent by party 0, by step, and how it was changed.
fn watching(
    seen: &Arc<Mutex<Vec<Step>>>,
    step: Option<Step>,
    mut change: impl FnMut(&mut Vec<u8>) + Send + 'static,
) -> Adversary {
    let seen = seen.clone();
    Adversary::with(move |_, _, mut message: Message| {
        seen.lock().unwrap().push(message.step);
        if Some(message.step) == step {
            change(&mut message.body);
        }
        vec![message]
    })
}

fn unchanged() -> impl FnMut(&mut Vec<u8>) + Send + 'static {
    |_: &mut Vec<u8>| ()
}

/// Wires of party 0's and party 1's, one half each, with made-up bits; and the bits.
fn inputs(
    engine: &mut AuthenticatedEngine,
    wires: usize,
    lanes: usize,
    seed: usize,
) -> Result<(AuthenticatedWires, BitMatrix)> {
    let bit = |row: usize, lane: usize| (row * 7 + lane * (3 + row) + seed).is_multiple_of(3);
    let half = wires / 2;
    let mut of = |owner: u8, rows: std::ops::Range<usize>| {
        let bits = BitMatrix::from_fn(rows.len(), lanes, |row, lane| bit(rows.start + row, lane));
        let given = (engine.me() == PartyId(owner)).then_some(&bits);
        engine.input(PartyId(owner), rows.len(), lanes, given)
    };
    let (one, other) = (of(0, 0..half)?, of(1, half..wires)?);
    let wires_of_both = AuthenticatedWires::concat(&[&one, &other]);
    Ok((wires_of_both, BitMatrix::from_fn(wires, lanes, bit)))
}

/// Bytes sent both ways.
fn bytes(engine: &AuthenticatedEngine) -> u64 {
    let traffic = engine.costs().traffic;
    traffic.payload_sent + traffic.payload_received
}

fn plan(name: &str) -> Plan {
    Plan::new(&library::by_name(name).unwrap())
}

/// Circuits of many levels, lanes, tiles and segments, with negations, on inputs and on what other circuits gave.
#[test]
fn circuits_garbled_ahead_run_in_later_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let circuits = [("add32", 100), ("mult16", 9), ("slt32", 3)];
    let circuits = circuits.map(|(name, lanes)| (plan(name), lanes));
    let run = |adversary: Option<&Adversary>,
               program: &(dyn Fn(&mut AuthenticatedEngine) -> Result<()> + Sync)| {
        let [a, b] = session(folder.path(), 0, &Cut::never(), adversary, program);
        a.unwrap();
        b.unwrap();
    };
    run(None, &|engine| {
        for (plan, lanes) in &circuits {
            engine.make_ready(plan, *lanes)?;
            engine.make_ready(plan, *lanes)?;
            assert_eq!(engine.ready_circuits(plan, *lanes)?, 2);
            assert_eq!(engine.ready_circuits(plan, lanes + 1)?, 0);
        }
        engine.finish()
    });
    for left in [1, 0] {
        let seen = Arc::default();
        run(Some(&watching(&seen, None, unchanged())), &|engine| {
            for (at, (plan, lanes)) in circuits.iter().enumerate() {
                engine.prepare(plan, *lanes)?;
                let before = bytes(engine);
                let (wires, bits) = inputs(engine, plan.input_wires(), *lanes, at + left)?;
                let labels = 16 * (plan.input_wires() * lanes) as u64;
                let sent = bytes(engine) - before;
                assert!(sent < labels * 9 / 8 + 500, "masks are made before: {sent} bytes");
                let outputs = engine.run(plan, &wires)?;
                assert_eq!(engine.ready_circuits(plan, *lanes)?, left);
                let opened = engine.reveal(&outputs, Parties::all(2))?.expect("for both");
                assert_eq!(opened, plan.evaluate(&bits).unwrap());
            }
            engine.finish()
        });
        let seen = seen.lock().unwrap();
        for step in [steps::TABLES, steps::OPEN_TRIPLES, steps::LEAKY] {
            assert!(!seen.contains(&step), "nothing is garbled: {}", step.name);
        }
        assert!(seen.contains(&steps::TIE_MASKS) && seen.contains(&steps::TIE_LABELS));
    }
    // What was used up is garbled as it comes. Of what a circuit gives another takes what was garbled ahead, public bits too.
    run(None, &|engine| {
        let (add, lanes) = &circuits[0];
        engine.make_ready(add, *lanes)?;
        let (wires, bits) = inputs(engine, 64, *lanes, 5)?;
        let one = engine.run(add, &wires)?;
        let sum = add.evaluate(&bits).unwrap();
        assert_eq!(engine.ready_circuits(add, *lanes)?, 0);
        engine.make_ready(add, *lanes)?;
        let public = BitMatrix::from_fn(32, *lanes, |row, lane| (row + lane) % 2 == 0);
        let constant = engine.constant(&public)?;
        let both = AuthenticatedWires::concat(&[&one, &constant]);
        let all = engine.run(add, &both)?;
        assert_eq!(engine.ready_circuits(add, *lanes)?, 0);
        let opened = engine.reveal(&all, Parties::all(2))?.expect("for both");
        let together = BitMatrix::from_fn(64, *lanes, |row, lane| match row {
            0..32 => sum.get(row, lane),
            _ => public.get(row - 32, lane),
        });
        assert_eq!(opened, add.evaluate(&together).unwrap());
        let live = engine.run(add, &both)?;
        let live = engine.reveal(&live, Parties::all(2))?.expect("for both");
        assert_eq!(live, opened);
        engine.finish()
    });
    used_once(folder.path());
}

/// Whoever lies in the session that garbles, or in the one that runs, is caught, and all that was garbled ahead is gone.
#[test]
fn cheaters_over_circuits_garbled_ahead_are_caught() {
    type Lie = fn(&mut Vec<u8>);
    let first: Lie = |body| body[0] ^= 1;
    for (garbler, step, check, ahead) in [
        (0, steps::TABLES, GATES, true),
        (0, steps::OPEN_TRIPLES, BIT_OPENING, true),
        (1, steps::OPEN_TRIPLES, BIT_OPENING, true),
        (0, steps::TIE_LABELS, TIED_INPUT, false),
        (0, steps::TIE_MASKS, BIT_OPENING, false),
        (1, steps::TIE_MASKS, BIT_OPENING, false),
        (1, steps::MASKED_VALUES, MASKED_VALUES, false),
        (0, steps::PROVE_GATES, GATES, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let seen = Arc::default();
        let run = |lie: bool, program: &(dyn Fn(&mut AuthenticatedEngine) -> Result<()> + Sync)| {
            let adversary = match lie {
                true => watching(&seen, Some(step), first),
                false => watching(&seen, None, unchanged()),
            };
            session(folder.path(), garbler, &Cut::never(), Some(&adversary), program)
        };
        let made = run(ahead, &|engine| {
            engine.make_ready(&and(), LANES)?;
            engine.make_ready(&and(), LANES)?;
            engine.finish()
        });
        let told = format!("{} with garbler {garbler}", step.name);
        let mut caught = None;
        match made {
            [Ok(()), Ok(())] => {
                let [_, honest] = run(!ahead, &|engine| {
                    assert_eq!(engine.ready_circuits(&and(), LANES)?, 2);
                    work_and_finish(engine, 1).map(drop)
                });
                caught = honest.err();
            }
            [_, honest] => caught = caught.or(honest.err()),
        }
        let error = caught.unwrap_or_else(|| panic!("{told}: nothing was noticed"));
        assert_eq!(error.check(), Some(check), "{told}: {error}");
        let again = run(false, &|engine| {
            assert_eq!(engine.ready_circuits(&and(), LANES)?, 0, "{told}");
            work_and_finish(engine, 1).map(drop)
        });
        assert!(again.iter().all(Result::is_ok), "{told}: {again:?}");
    }
}

/// What tied inputs in an earlier session is not taken in another.
#[test]
fn what_tied_inputs_before_is_not_taken_again() {
    for (garbler, step, checks) in [
        (0, steps::TIE_MASKS, [BIT_OPENING; 2]),
        (1, steps::TIE_MASKS, [BIT_OPENING; 2]),
        // If all bits 0 happen to be right, labels are not.
        (0, steps::TIE_LABELS, [TIED_INPUT, GATES]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sent: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        for number in 0..2 {
            let sent = sent.clone();
            let repeating = Adversary::with(move |_, _, mut message: Message| {
                if message.step == step {
                    let mut sent = sent.lock().unwrap();
                    message.body.clone_from(sent.get_or_insert(message.body.clone()));
                }
                vec![message]
            });
            let [_, honest] = session(
                folder.path(),
                garbler,
                &Cut::never(),
                Some(&repeating),
                |engine| {
                    engine.make_ready(&and(), LANES)?;
                    work_and_finish(engine, 1)
                },
            );
            match honest {
                Ok(_) => assert_eq!(number, 0),
                Err(error) => {
                    assert_eq!(number, 1, "{error}");
                    assert!(
                        error.check().is_some_and(|check| checks.contains(&check)),
                        "{error}"
                    );
                }
            }
        }
    }
}

/// Sessions that garble ahead and run, cut off anywhere: both parties have the same afterwards, and nothing is used twice.
#[test]
fn what_is_garbled_ahead_is_used_once_wherever_sessions_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Sampler::new(Block([5, 1]));
    let program = |engine: &mut AuthenticatedEngine| {
        let before = engine.ready_circuits(&and(), LANES)?;
        for _ in 0..3 {
            engine.make_ready(&and(), LANES)?;
        }
        // One is claimed ahead, and one when it is run.
        engine.prepare(&and(), LANES)?;
        ands(engine, 2)?;
        assert_eq!(engine.ready_circuits(&and(), LANES)?, before + 1);
        engine.finish()?;
        Ok(before)
    };
    let all = Cut::never();
    let ends = session(folder.path(), 0, &all, None, program);
    assert!(ends.iter().all(Result::is_ok));
    let messages = all.sent() as u32;
    let (mut cut_off, mut found) = (0, 0);
    for _ in 0..25 {
        let cut = Cut::after(dice.below(messages).into());
        let results = session(folder.path(), 0, &cut, None, program);
        if let [Ok(one), Ok(other)] = &results {
            assert_eq!(one, other);
        }
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(error.check(), None, "{error}");
        }
        cut_off += usize::from(results.iter().any(Result::is_err));
        let [one, other] = session(folder.path(), 0, &Cut::never(), None, program);
        let before = one.unwrap();
        assert_eq!(before, other.unwrap());
        found += before;
        used_once(folder.path());
    }
    assert!(cut_off > 15 && found > 10, "{cut_off} {found}");
}

#[test]
fn what_cannot_be_garbled_ahead_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (lanes, words) in [(0, "0 lanes"), (1 << 20, "up to 1048576")] {
        let done = session(folder.path(), 0, &Cut::never(), None, |engine| {
            engine.make_ready(&plan("add32"), lanes)
        });
        for done in done {
            let error = done.unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
    let [one, other] = Cut::never().channels("protocol", None);
    let run = |me: u8, channel: Box<dyn Channel>| {
        let mut engine = AuthenticatedEngine::start(PartyId(me), channel, Config::new("test"), sizes())?;
        assert_eq!(engine.ready_circuits(&and(), 1)?, 0);
        engine.make_ready(&and(), 1)
    };
    std::thread::scope(|scope| {
        let parties = [scope.spawn(|| run(0, one)), scope.spawn(|| run(1, other))];
        for done in parties.map(|party| party.join().expect("no party panics")) {
            assert!(done.unwrap_err().to_string().contains("pools that are kept"));
        }
    });
}

/// Messages of what is kept, perturbed in each way: nobody takes another form, and nobody hangs.
#[test]
fn messages_over_what_is_kept_have_their_form() {
    for (garbler, step) in [
        (0, steps::KEPT_POOLS),
        (1, steps::KEPT_POOLS),
        (0, steps::TIE_MASKS),
        (1, steps::TIE_MASKS),
        (0, steps::TIE_LABELS),
    ] {
        for perturbation in Perturbation::all() {
            let (folder, done) = perturbed(&Target::step(step), &perturbation, |adversary, timeout| {
                let folder = tempfile::tempdir().unwrap();
                let made = session(folder.path(), garbler, &Cut::never(), None, |engine| {
                    engine.make_ready(&and(), LANES)?;
                    engine.finish()
                });
                assert!(made.iter().all(Result::is_ok));
                let cut = Cut::never_but_within(timeout);
                let done = session(folder.path(), garbler, &cut, Some(adversary), |engine| {
                    work_and_finish(engine, 1)
                });
                (folder, done)
            });
            let told = format!("{} with garbler {garbler}, {perturbation:?}: {done:?}", step.name);
            assert!(done.iter().any(Result::is_err), "{told}");
            let again = session(folder.path(), garbler, &Cut::never(), None, |engine| {
                work_and_finish(engine, 1)
            });
            assert!(again.iter().all(Result::is_ok), "{told}: {again:?}");
        }
    }
}
