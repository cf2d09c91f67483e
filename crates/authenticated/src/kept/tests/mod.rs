//! Sessions over pools on disk: ended, cut off anywhere, with cheaters, and with what was sent in other sessions.

mod confirmations;
mod lots;
mod ready;
mod setup;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cenote_params::LogProb;
use cenote_params::lpn::{LARGE, Lpn};
use cenote_primitives::Sampler;
use cenote_session::{Engine, Error};
use cenote_testkit::kept::{Cut, LANES, ands, cut_off_anywhere, items, store, used_once};
use cenote_testkit::{Adversary, Gate, Message};

use super::*;
use crate::checks::{BIT_OPENING, COIN, GATES, LEAKY_AND, MASKED_VALUES, OT_CONSISTENCY};
use crate::{AuthenticatedEngine, MAX_SECURITY, steps};

const LOT: u32 = 256;

/// Two leaky ANDs for a triple.
fn sizes() -> Sizes {
    let sizes = Sizes {
        security: 1,
        pool: cenote_params::pool::check_triples(1, 700, 2).unwrap(),
        leaky_bits: 48,
    };
    assert_eq!(sizes.terms(), Sizes::search(1, 700).unwrap().terms());
    sizes
}

/// Runs a program at both parties, of which `garbler` garbles, over the pools in a folder. What party 0 sends passes `adversary`.
fn session<T: Send>(
    folder: &Path,
    garbler: u8,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    program: impl Fn(&mut AuthenticatedEngine) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    session_with(folder, garbler, cut, adversary, &|_| (), program)
}

/// The same, with settings of its own.
fn session_with<T: Send>(
    folder: &Path,
    garbler: u8,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    configure: &(dyn Fn(&mut Config) + Sync),
    program: impl Fn(&mut AuthenticatedEngine) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    session_of(&sizes(), folder, garbler, cut, adversary, configure, program)
}

/// The same with such a pool.
fn session_of<T: Send>(
    sizes: &Sizes,
    folder: &Path,
    garbler: u8,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    configure: &(dyn Fn(&mut Config) + Sync),
    program: impl Fn(&mut AuthenticatedEngine) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    let mut ends = cut.channels("protocol", adversary).into_iter();
    let program = &program;
    std::thread::scope(|scope| {
        let parties = [0, 1].map(|me| {
            let channel = ends.next().expect("two parties");
            scope.spawn(move || {
                let me = PartyId(me);
                let mut config = Config::new("test");
                config.lot = LOT;
                config.segment = 64;
                config.garbler = PartyId(garbler);
                configure(&mut config);
                let store = store(folder, me);
                let mut engine = AuthenticatedEngine::start_kept(me, channel, config, sizes.clone(), &store)?;
                program(&mut engine)
            })
        });
        parties.map(|party| party.join().expect("no party panics"))
    })
}

/// Lots that were made for the pool in all of its sessions.
fn work_and_finish(engine: &mut AuthenticatedEngine, times: u64) -> Result<u64> {
    ands(engine, times)?;
    let made = engine.made();
    engine.finish()?;
    Ok(made)
}

/// A session that nobody cuts off.
fn whole(folder: &Path, times: u64) -> u64 {
    let [a, b] = session(folder, 0, &Cut::never(), None, |engine| {
        work_and_finish(engine, times)
    });
    let made = a.unwrap();
    assert_eq!(made, b.unwrap());
    made
}

/// When a session ends is for the program to say: places that coins have drawn already are left out, as after a crash.
#[test]
fn coins_that_are_known_when_a_session_ends_are_not_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let left_out = |_: &usize| {
        let before = whole(folder.path(), 1);
        let done = session(folder.path(), 0, &Cut::never(), None, |engine| {
            engine.ready(LOT as usize / 3)?;
            work_and_finish(engine, 0)
        });
        let made = done.map(|made| made.unwrap() - before);
        made.into_iter().all(|made| made == 2)
    };
    // Of the last lot of a session something is left, nearly always; with nothing left out one lot would do.
    let times = (0..6).filter(left_out).count();
    assert!(times >= 2, "{times}");
}

#[test]
fn a_pool_outlasts_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut before) = (None, 0);
    for number in 0..4 {
        let made = whole(folder.path(), 1);
        // A full pool is made once; after that what is drawn, and what was to be drawn when the last session ended.
        let lots = if number == 0 { 4..=4 } else { 2..=3 };
        assert!(lots.contains(&(made - before)), "{number}: {made} and {before}");
        before = made;
        let [items, others] = items(folder.path());
        assert_eq!(items, others);
        assert_eq!(*first.get_or_insert(items.clone()), items);
    }
    assert_eq!(used_once(folder.path()), 4 * 300);
    let listed = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    assert_eq!(
        facts(&listed[0]),
        [
            ("role", "evaluator".into()),
            ("security", 1.into()),
            ("leaky ANDs", 700.into()),
            ("leaky bits", 48.into()),
            ("circuits", 0.into())
        ]
    );
    // Who garbles is part of what a pool is.
    let swapped = session(folder.path(), 1, &Cut::never(), None, |engine| {
        work_and_finish(engine, 1)
    });
    assert!(swapped.iter().all(Result::is_ok));
    assert_eq!(items(folder.path()).map(|items| items.len()), [2, 2]);
    // A party that has lost its folder makes another pool with the peer, and leaves the old ones alone.
    std::fs::remove_dir_all(folder.path().join("1")).unwrap();
    whole(folder.path(), 1);
    assert_eq!(items(folder.path()).map(|items| items.len()), [3, 1]);
    used_once(folder.path());
}

/// Where bits come from, and how many leaky ANDs are made at once, is each session's own.
#[test]
fn sessions_with_other_settings_use_the_same_pool() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 1);
    let before = items(folder.path());
    let generator = Some(Lpn {
        secret: 8,
        block: 4,
        blocks: 64,
    });
    for (symbols, generator, lot) in [(16, None, 512), (24, generator, 128), (64, generator, 256)] {
        let configure = |config: &mut Config| {
            (config.symbols, config.generator, config.lot) = (symbols, generator, lot);
        };
        let done = session_with(folder.path(), 0, &Cut::never(), None, &configure, |engine| {
            work_and_finish(engine, 2)
        });
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        assert_eq!(items(folder.path()), before);
    }
    whole(folder.path(), 1);
    assert_eq!(items(folder.path()), before);
    assert_eq!(used_once(folder.path()), 300 * 8);
}

/// So many ANDs over pools of which each is good for some 20,000: what the OTs let through, and the pool.
fn strict(folder: &Path, announced: u64, times: u64) -> [Result<(LogProb, f64)>; 2] {
    let sizes = Sizes::cheapest(MAX_SECURITY, 1, 1 << 20).unwrap();
    // Each lot is recorded on disk, so a few large ones are made.
    let configure = |config: &mut Config| (config.demand, config.lot) = ([announced * LANES as u64, 0], 2048);
    session_of(&sizes, folder, 0, &Cut::never(), None, &configure, |engine| {
        work_and_finish(engine, times)?;
        let soundness = engine.soundness();
        let rest = soundness.differences + soundness.columns + soundness.points;
        Ok((rest, engine.used().expect("it has ended").rows))
    })
}

/// What the OTs let through adds up over all sessions of a pool: before that is more than was asked for there is another pool.
#[test]
fn a_pool_is_renewed_before_its_bound_is_passed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut pools, mut before) = (Vec::new(), 0.0);
    for number in 0..6 {
        let [(rest, rows), other] = strict(folder.path(), 45, 40).map(Result::unwrap);
        assert!(other == (rest, rows) && rest.meets(MAX_SECURITY), "{rest:?}");
        let [pool, other] = items(folder.path());
        assert!(pool == other && pool.len() == 1);
        let is_new = pools.last() != Some(&pool);
        assert!(is_new == (rows < before) || number == 0, "{rows} {before}");
        before = rows;
        pools.push(pool);
    }
    assert_eq!(pools[0], pools[1]);
    pools.dedup();
    assert!((2..6).contains(&pools.len()), "{pools:?}");
    used_once(folder.path());
}

/// A session that does more than it has announced is stopped before the bound is passed, and the next one has another pool.
#[test]
fn a_session_that_would_pass_the_bound_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    assert!(strict(folder.path(), 1, 20).iter().all(Result::is_ok));
    let before = items(folder.path());
    let stopped = strict(folder.path(), 1, 300);
    assert!(
        stopped
            .iter()
            .any(|result| matches!(result, Err(Error::Exhausted(_)))),
        "{stopped:?}"
    );
    assert!(stopped.iter().all(Result::is_err));
    assert_eq!(items(folder.path()), before);
    assert!(strict(folder.path(), 1, 20).iter().all(Result::is_ok));
    assert!(items(folder.path())[0].is_disjoint(&before[0]));
}

/// What earlier sessions did counts in full, whatever their lots were, and where their bits came from.
#[test]
fn sessions_report_what_was_done_before() {
    let folder = tempfile::tempdir().unwrap();
    let generator = Some(Lpn {
        secret: 8,
        block: 4,
        blocks: 64,
    });
    let run = |lot: u32, generator: Option<Lpn>| {
        let configure = |config: &mut Config| (config.lot, config.generator) = (lot, generator);
        let [a, b] = session_with(folder.path(), 0, &Cut::never(), None, &configure, |engine| {
            let before = engine.used().expect("it goes on");
            work_and_finish(engine, 2)?;
            Ok([before, engine.used().expect("it has ended")])
        })
        .map(Result::unwrap);
        assert_eq!(a, b);
        a
    };
    let [_, first] = run(1 << 15, None);
    assert!(first.leaky >= f64::from(1 << 15) && first.rows > 3.0 * first.leaky);
    let [before, second] = run(64, generator);
    assert!(before.leaky >= first.leaky && before.gates >= first.gates && before.rows >= first.rows);
    assert!(second.iterations > 0.0 && second.rows > first.rows);
    // Bits of a generator are in the pool.
    let [before, third] = run(64, None);
    assert_eq!(
        (before.iterations, before.generator),
        (second.iterations, Some(LARGE))
    );
    assert!(third.rows > second.rows && third.leaky > second.leaky);
}

/// Sessions that are cut off after any message go on where they were, or with another pool, and no leaky AND is used twice.
#[test]
fn nothing_is_used_twice_wherever_sessions_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let [cut_off, resumed] = cut_off_anywhere(folder.path(), 40, |_, cut| {
        session(folder.path(), 0, cut, None, |engine| work_and_finish(engine, 6))
    });
    assert!(cut_off > 25 && resumed > 6, "{cut_off} {resumed}");
    whole(folder.path(), 6);
    assert!(used_once(folder.path()) > 10_000);
}

/// A party that leaves when it sees that it will be caught ends the pool, whatever it says, and the other one counts.
#[test]
fn a_check_that_is_cut_off_ends_the_pool() {
    // Who leaves is party 0.
    for (garbler, step, lies) in [
        (0, steps::CONFIRM_EQUALITY, true),
        (1, steps::CONFIRM_EQUALITY, true),
        // The garbler knows the coin before it opens its share.
        (0, steps::COIN, true),
        // Any share of the evaluator's will do.
        (1, steps::COIN, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = |adversary: Option<&Adversary>, cut: &Arc<Cut>| {
            session(folder.path(), garbler, cut, adversary, |engine| {
                let told = (engine.error_bound(), engine.warnings().len());
                work_and_finish(engine, 6)?;
                Ok(told)
            })
        };
        let [_, first] = run(None, &Cut::never());
        let (clean, warnings) = first.unwrap();
        assert_eq!(warnings, 0);
        let mut ends = 0;
        for how in 0..3u32 {
            let before = items(folder.path());
            let heard = Gate::new();
            let (cut, mut seen) = (Cut::never_but_opens(heard.clone(), step), 0);
            let leaving = {
                let cut = cut.clone();
                Adversary::with(move |_, _, mut message: Message| {
                    seen += usize::from(message.step == step);
                    // The start of the hashes has a step of its own; the garbler's second message of a coin opens it.
                    if message.step != step || (step == steps::COIN && garbler == 0 && seen != 2) {
                        return vec![message];
                    }
                    match how {
                        // It says that a check has failed, or something without a form, so that the pool is deleted at once.
                        0 if lies => message.body.truncate(3),
                        1 if lies => message.body[0] ^= 1,
                        // It has what the other party says in this step, without which it does not know.
                        _ => {
                            heard.wait();
                            cut.now();
                            return vec![];
                        }
                    }
                    vec![message]
                })
            };
            let results = run(Some(&leaving), &cut);
            assert!(results.iter().all(Result::is_err), "{} {how}", step.name);
            ends += 1;
            let [_, told] = run(None, &Cut::never());
            let (now, warnings) = told.unwrap();
            let told = format!("{} of {garbler}, {how}: {now} {clean}", step.name);
            assert!((now - clean - f64::from(1 + ends).log2()).abs() < 1e-9, "{told}");
            assert_eq!(warnings, 1);
            let [_, after] = items(folder.path());
            assert!(after.is_disjoint(&before[1]), "{told}");
        }
        used_once(folder.path());
    }
}

/// A pool whose maker was caught, in whatever phase, is gone at both parties.
#[test]
fn a_pool_of_a_cheater_is_deleted() {
    for (garbler, step, check) in [
        (0, steps::LEAKY, LEAKY_AND),
        (1, steps::LEAKY, LEAKY_AND),
        (0, steps::TABLES, GATES),
        (1, steps::MASKED_VALUES, MASKED_VALUES),
        (0, steps::OPEN_OUTPUT_MASKS, BIT_OPENING),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = |adversary: Option<&Adversary>| {
            session(folder.path(), garbler, &Cut::never(), adversary, |engine| {
                work_and_finish(engine, 1)
            })
        };
        assert!(run(None).iter().all(Result::is_ok));
        let before = items(folder.path());
        assert!(before[0].len() == 1 && before[0] == before[1]);
        let lying = Adversary::with(move |_, _, mut message: Message| {
            if message.step == step {
                message.body.iter_mut().step_by(16).for_each(|byte| *byte ^= 1);
            }
            vec![message]
        });
        let [_, honest] = run(Some(&lying));
        let error = honest.unwrap_err();
        assert_eq!(error.check(), Some(check), "{}: {error}", step.name);
        let listed = [0, 1].map(|me| store(folder.path(), PartyId(me)).inventory().unwrap().items);
        for stored in listed.iter().flatten() {
            assert!(stored.item.keys.0.is_empty(), "the keys are gone");
        }
        assert_eq!(run(None).map(Result::unwrap), [4; 2], "another pool is made");
        assert!(items(folder.path())[0].is_disjoint(&before[0]));
    }
}

/// What was sent in an earlier session over the same pool is not taken in another.
#[test]
fn what_another_session_has_sent_is_not_taken_again() {
    for (garbler, step, check) in [
        (0, cenote_ot::steps::COLUMNS, OT_CONSISTENCY),
        (1, cenote_ot::steps::COLUMNS, OT_CONSISTENCY),
        (0, cenote_ot::steps::ANSWER, OT_CONSISTENCY),
        (0, steps::LEAKY, LEAKY_AND),
        (1, steps::LEAKY, LEAKY_AND),
        (0, steps::AGREE_EQUALITY, LEAKY_AND),
        (1, steps::CONFIRM_EQUALITY, LEAKY_AND),
        (0, steps::START, COIN),
        (0, steps::COIN, COIN),
        (0, steps::OPEN_TRIPLES, BIT_OPENING),
        (1, steps::OPEN_TRIPLES, BIT_OPENING),
        (0, steps::OPEN_INPUT_MASKS, BIT_OPENING),
        (0, steps::TABLES, GATES),
        (0, steps::PROVE_GATES, GATES),
        (1, steps::MASKED_VALUES, MASKED_VALUES),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let seen: Arc<Mutex<BTreeMap<usize, Vec<u8>>>> = Arc::default();
        let run = |adversary: Option<&Adversary>| {
            session(folder.path(), garbler, &Cut::never(), adversary, |engine| {
                work_and_finish(engine, 1)
            })
        };
        assert!(run(None).iter().all(Result::is_ok));
        let through = |repeat: bool| {
            let seen = seen.clone();
            Adversary::with(move |_, _, mut message: Message| {
                let mut seen = seen.lock().unwrap();
                if message.step == step {
                    let length = message.body.len();
                    match seen.get(&length) {
                        Some(before) if repeat => message.body.clone_from(before),
                        _ => drop(seen.insert(length, message.body.clone())),
                    }
                }
                vec![message]
            })
        };
        assert!(run(Some(&through(false))).iter().all(Result::is_ok));
        let [_, honest] = run(Some(&through(true)));
        let told = format!("{} with garbler {garbler}: {honest:?}", step.name);
        assert!(
            matches!(honest, Err(Error::Aborted { check: found, .. }) if found == check),
            "{told}"
        );
    }
}

/// The pools that are chosen for jobs are found again by their size.
#[test]
fn sizes_are_found_again() {
    for security in [1, 40, 64] {
        for ands in [1, 1000, 100_000, 10_000_000] {
            let chosen = Sizes::cheapest(security, ands, 1 << 20).unwrap();
            let again = Sizes::search(security, chosen.pool.pool_size as u32).unwrap();
            assert_eq!(chosen.terms(), again.terms());
        }
    }
}

/// Sessions over a pool have the differences in common, and no key of a hash.
#[test]
fn keys_read_back_and_hashes_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let mut starts = Vec::new();
    let mut differences = Vec::new();
    for _ in 0..3 {
        let [a, b] = session(folder.path(), 0, &Cut::never(), None, |engine| {
            let keys = engine.keys();
            let told = (keys.start, *keys.delta);
            work_and_finish(engine, 1)?;
            Ok(told)
        })
        .map(Result::unwrap);
        assert_eq!(a.0, b.0);
        starts.push(a.0);
        differences.push((a.1, b.1));
    }
    assert!(differences.iter().all(|both| *both == differences[0]));
    // The lower half is left to the numbers of gates.
    starts.sort_unstable_by_key(|start| start.0[1]);
    starts.dedup_by_key(|start| start.0[1]);
    assert_eq!(starts.len(), 3);
    let listed = store(folder.path(), PartyId(0)).inventory().unwrap().items;
    let bytes = listed[0].item.keys.0.clone();
    let read = Base::decode(&bytes, Role::Garbler).unwrap();
    assert!(*read.encode() == *bytes);
    assert!(Base::decode(&bytes, Role::Evaluator).is_none());
    assert!(Base::decode(&bytes[1..], Role::Garbler).is_none());
    assert!(Base::decode(&bytes[..8], Role::Garbler).is_none());
}
