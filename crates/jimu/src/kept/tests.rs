//! Sessions over pools on disk: ended, cut off anywhere, and with folders that do not belong together.

use std::path::Path;
use std::sync::Arc;

use cenote_session::Engine;
use cenote_testkit::kept::{Cut, ands, cut_off_anywhere, items, store, used_once};
use cenote_testkit::{Adversary, Message};

use super::*;
use crate::JimuEngine;
use crate::settings::{Config, Sizes};
use crate::steps;

const BUFFER: u32 = 512;

/// Small buckets, so that little work is much use.
const SECURITY: u32 = 6;

fn sizes() -> Sizes {
    Sizes::search(SECURITY, 1000, None).unwrap()
}

/// Runs a program at both parties over the pools in a folder.
fn session<T: Send>(
    folder: &Path,
    seed: u64,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    program: impl Fn(&mut JimuEngine) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    let [protocol, pool] = ["protocol", "pool"].map(|name| cut.channels(name, adversary));
    let mut ends = protocol.into_iter().zip(pool);
    let program = &program;
    std::thread::scope(|scope| {
        let parties = [0, 1].map(|me| {
            let (protocol, pool) = ends.next().expect("two parties");
            scope.spawn(move || {
                let me = PartyId(me);
                let mut config = Config::new("test");
                config.security = SECURITY;
                config.pool = 1000;
                config.buffer = BUFFER;
                config.entropy = Entropy::for_tests(2 * seed + u64::from(me.0));
                let store = store(folder, me);
                let mut engine = JimuEngine::start_kept(me, [protocol, pool], config, sizes(), &store)?;
                program(&mut engine)
            })
        });
        parties.map(|party| party.join().expect("no party panics"))
    })
}

fn work_and_finish(engine: &mut JimuEngine, times: u64) -> Result<u64> {
    ands(engine, times)?;
    let made = engine.made();
    engine.finish()?;
    Ok(made)
}

/// A session that nobody cuts off. How many deliveries the pool has had.
fn whole(folder: &Path, seed: u64, times: u64) -> u64 {
    let [a, b] = session(folder, seed, &Cut::never(), None, |engine| {
        work_and_finish(engine, times)
    });
    let (a, b) = (a.unwrap(), b.unwrap());
    // They make more beside the program, and one may be a delivery ahead when it looks.
    assert!(a.abs_diff(b) <= 1, "{a} {b}");
    a.max(b)
}

#[test]
fn a_pool_outlasts_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut before) = (None, 0);
    for number in 0..4 {
        let made = whole(folder.path(), number, 1);
        // A full pool is made once; after that what is drawn, a buffer ahead, and what was to be drawn when the last session ended.
        let all = if number == 0 { 8..=11 } else { 2..=10 };
        assert!(all.contains(&(made - before)), "{number}: {made} {before}");
        before = made;
        let [pools, others] = items(folder.path());
        assert_eq!(pools, others);
        assert_eq!(*first.get_or_insert(pools.clone()), pools);
    }
    assert!(used_once(folder.path()) > 1000);
    let listed = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    let facts = facts(&listed[0].item);
    assert_eq!(facts[0], ("role", "evaluator".into()));
    assert_eq!(facts[2], ("gates", 1000.into()));
    // A party that has lost its folder makes another pool with the peer, and leaves the old one alone.
    std::fs::remove_dir_all(folder.path().join("1")).unwrap();
    whole(folder.path(), 9, 1);
    assert_eq!(items(folder.path()).map(|items| items.len()), [2, 1]);
    whole(folder.path(), 10, 1);
    assert_eq!(items(folder.path()).map(|items| items.len()), [2, 1]);
    used_once(folder.path());
}

/// Sessions that are cut off after any message go on where they were, or with another pool, and no gadget is used twice.
#[test]
fn nothing_is_used_twice_wherever_sessions_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let [cut_off, resumed] = cut_off_anywhere(folder.path(), 39, |seed, cut| {
        session(folder.path(), seed, cut, None, |engine| {
            work_and_finish(engine, 6)
        })
    });
    assert!(cut_off > 25 && resumed > 8, "{cut_off} {resumed}");
    // And it works still.
    whole(folder.path(), 99, 6);
    let used = used_once(folder.path());
    assert!(used > 30_000, "{used}");
}

/// A garbler that leaves when it sees that it will be caught ends the pool, whatever it says, and the evaluator counts.
#[test]
fn a_check_that_is_cut_off_ends_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 0, 1);
    let bound = |engine: &mut JimuEngine| Ok((engine.error_bound(), engine.warnings().len()));
    let [_, first] = session(folder.path(), 1, &Cut::never(), None, bound);
    let (clean, warnings) = first.unwrap();
    assert_eq!(warnings, 0);
    let before = items(folder.path());
    for count in 1..5u32 {
        let cut = Cut::never();
        let leaving = {
            let cut = cut.clone();
            Adversary::with(move |_, _, mut message: Message| {
                if message.step != steps::OPEN_BITS {
                    return vec![message];
                }
                match count {
                    // It says that a check has failed, or something without a form, so that the pool is deleted at once.
                    1 => message.body.truncate(3),
                    2 => message.body[0] ^= 1,
                    _ => {
                        cut.now();
                        return vec![];
                    }
                }
                vec![message]
            })
        };
        let seed = 10 * u64::from(count);
        let results = session(folder.path(), seed, &cut, Some(&leaving), |engine| {
            work_and_finish(engine, 6)
        });
        assert!(results.iter().all(Result::is_err));
        let [_, told] = session(folder.path(), seed + 1, &Cut::never(), None, |engine| {
            let told = (engine.error_bound(), engine.warnings().len());
            work_and_finish(engine, 1)?;
            Ok(told)
        });
        let (now, warnings) = told.unwrap();
        assert!(
            (now - clean - f64::from(1 + count).log2()).abs() < 1e-9,
            "{count}: {now} {clean}"
        );
        assert_eq!(warnings, 1);
    }
    let after = items(folder.path());
    assert!(
        after[1].is_disjoint(&before[1]) && after[1].len() == 1,
        "{after:?}"
    );
    used_once(folder.path());
}

/// A pool whose garbler was caught is gone at both parties.
#[test]
fn a_pool_of_a_cheater_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 0, 1);
    let before = items(folder.path());
    assert!(before[0].len() == 1 && before[0] == before[1]);
    let lying = Adversary::with(|_, _, mut message: Message| {
        if message.step == steps::DECODE {
            message.body[0] ^= 1;
        }
        vec![message]
    });
    let [_, evaluator] = session(folder.path(), 1, &Cut::never(), Some(&lying), |engine| {
        work_and_finish(engine, 1)
    });
    assert_eq!(
        evaluator.unwrap_err().check(),
        Some(cenote_ot::checks::BIT_OPENING)
    );
    let after = items(folder.path());
    assert_eq!(after, before, "what is left tells of it");
    assert!((8..=10).contains(&whole(folder.path(), 2, 1)));
    assert!(items(folder.path())[0].is_disjoint(&before[0]));
}

/// A garbler that guesses at the watch list while a pool is set up has had a try each time, although no pool came of it.
#[test]
fn guesses_at_the_watch_list_are_counted() {
    let bound = |engine: &mut JimuEngine| Ok((engine.error_bound(), engine.warnings().len()));
    let told = |folder: &Path| {
        let [_, told] = session(folder, 9, &Cut::never(), None, bound);
        told.unwrap()
    };
    let (clean, none) = told(tempfile::tempdir().unwrap().path());
    let folder = tempfile::tempdir().unwrap();
    for number in 0..4 {
        let guessing = Adversary::with(|_, _, mut message: Message| {
            if message.step == cenote_ot::steps::WATCH_SHARES {
                message.body.iter_mut().for_each(|byte| *byte ^= 1);
            }
            vec![message]
        });
        let [_, evaluator] = session(folder.path(), number, &Cut::never(), Some(&guessing), |engine| {
            work_and_finish(engine, 1)
        });
        assert_eq!(
            evaluator.unwrap_err().check(),
            Some(cenote_ot::checks::WATCH_SHARES)
        );
    }
    let (now, warnings) = told(folder.path());
    assert!((now - clean - 5f64.log2()).abs() < 1e-9, "{now} {clean}");
    assert_eq!([none, warnings], [0, 1]);
}
