//! Sessions over pools on disk: ended, cut off anywhere, and with folders that do not belong together.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{Channel, ChannelOptions, Closer, Label, PartyId, memory_pair};
use cenote_primitives::{BitMatrix, Entropy, Sampler};
use cenote_session::{Engine, Parties, WireVector};
use cenote_store::{Store, StoreKey};
use cenote_testkit::{Adversary, Message};

use super::journal::{NONE, Told, Track};
use super::*;
use crate::settings::{Config, Sizes};
use crate::steps;
use crate::{JimuEngine, JimuWires};

const BUFFER: u32 = 512;

/// Small buckets, so that little work is much use.
const SECURITY: u32 = 6;

fn sizes() -> Sizes {
    Sizes::search(SECURITY, 1000, None).unwrap()
}

fn store(folder: &Path, me: PartyId) -> Store {
    let store = Store::open(&folder.join(me.0.to_string()), &StoreKey::from_bytes([7; 32])).unwrap();
    let audit = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(format!("audit {}", me.0)));
    store.audited(audit.unwrap())
}

/// What party `me` has noted as used.
fn audit(folder: &Path, me: u8) -> Vec<[u8; 16]> {
    let bytes = std::fs::read(folder.join(format!("audit {me}"))).unwrap_or_default();
    bytes.as_chunks().0.to_vec()
}

/// The pools that are kept.
fn pools(folder: &Path) -> [BTreeSet<ItemId>; 2] {
    [0, 1].map(|me| {
        let listed = store(folder, PartyId(me)).inventory().unwrap().items;
        listed.into_iter().map(|stored| stored.item.id).collect()
    })
}

/// Where a session is cut off, as when a process is killed: after so many messages of both parties.
#[derive(Default)]
struct Cut {
    after: u64,
    sent: AtomicU64,
    closers: Mutex<Vec<Closer>>,
}

/// Runs a program at both parties over the pools in a folder.
fn session<T: Send>(
    folder: &Path,
    seed: u64,
    cut: &Arc<Cut>,
    adversary: Option<&Adversary>,
    program: impl Fn(&mut JimuEngine) -> Result<T> + Sync,
) -> [Result<T>; 2] {
    let options = || ChannelOptions::with_timeout(Duration::from_secs(20));
    let counting = || {
        let cut = cut.clone();
        Adversary::with(move |_, _, message: Message| {
            if cut.sent.fetch_add(1, Ordering::Relaxed) + 1 >= cut.after {
                cut.closers.lock().unwrap().iter().for_each(Closer::close);
            }
            vec![message]
        })
    };
    let mut ends: [Vec<Box<dyn Channel>>; 2] = Default::default();
    for name in ["protocol", "pool"] {
        let (a, b) = memory_pair(PartyId(0), PartyId(1), options());
        let closers = [a.closer(), b.closer()];
        cut.closers.lock().unwrap().extend(closers);
        let mut a: Box<dyn Channel> = Box::new(counting().wrap(Label::from(name), Box::new(a)));
        if let Some(adversary) = adversary {
            a = Box::new(adversary.wrap(Label::from(name), a));
        }
        ends[0].push(a);
        ends[1].push(Box::new(counting().wrap(Label::from(name), Box::new(b))));
    }
    let program = &program;
    std::thread::scope(|scope| {
        let parties = [0, 1].map(|me| {
            let channels: [Box<dyn Channel>; 2] = std::mem::take(&mut ends[me])
                .try_into()
                .ok()
                .expect("two channels");
            scope.spawn(move || {
                let me = PartyId(me as u8);
                let mut config = Config::new("test");
                config.security = SECURITY;
                config.pool = 1000;
                config.buffer = BUFFER;
                config.entropy = Entropy::for_tests(2 * seed + u64::from(me.0));
                let mut engine = JimuEngine::start_kept(me, channels, config, sizes(), &store(folder, me))?;
                program(&mut engine)
            })
        });
        parties.map(|party| party.join().expect("no party panics"))
    })
}

fn uncut() -> Arc<Cut> {
    Arc::new(Cut {
        after: u64::MAX,
        ..Cut::default()
    })
}

/// The AND of two wires.
fn and() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// So many times ANDs of the evaluator's bits with the garbler's.
fn work(engine: &mut JimuEngine, times: u64) -> Result<()> {
    for round in 0..times {
        let lanes = 150;
        let of = |factor: u64| {
            BitMatrix::from_fn(1, lanes, |_, lane| {
                (lane as u64 * factor + round).is_multiple_of(3)
            })
        };
        let (x, y) = (of(5), of(7));
        let mut input = |owner: u8, bits: &BitMatrix| {
            let given = (engine.me() == PartyId(owner)).then_some(bits);
            engine.input(PartyId(owner), 1, lanes, given)
        };
        let (x_wires, y_wires) = (input(0, &x)?, input(1, &y)?);
        let wires = JimuWires::concat(&[&x_wires, &y_wires]);
        let outputs = engine.run(&and(), &wires)?;
        let outputs = engine.reveal(&outputs, Parties::all(2))?.expect("for both");
        let right = BitMatrix::from_fn(1, lanes, |_, lane| x.get(0, lane) && y.get(0, lane));
        assert_eq!(outputs, right);
    }
    Ok(())
}

fn work_and_finish(engine: &mut JimuEngine, times: u64) -> Result<u64> {
    work(engine, times)?;
    let made = engine.made();
    engine.finish()?;
    Ok(made)
}

/// A session that nobody cuts off. How many deliveries the pool has had.
fn whole(folder: &Path, seed: u64, times: u64) -> u64 {
    let [a, b] = session(folder, seed, &uncut(), None, |engine| {
        work_and_finish(engine, times)
    });
    let made = a.unwrap();
    assert_eq!(made, b.unwrap());
    made
}

fn assert_nothing_is_used_twice(folder: &Path) -> usize {
    let used = [0, 1].map(|me| {
        let mut numbers = audit(folder, me);
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "party {me} used a gadget twice");
        count
    });
    used[0].min(used[1])
}

#[test]
fn a_pool_outlasts_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut before) = (None, 0);
    for number in 0..4 {
        let made = whole(folder.path(), number, 1);
        // A full pool is made once; after that what is drawn, and a buffer ahead.
        let all = if number == 0 { 8..=10 } else { 3..=6 };
        assert!(all.contains(&(made - before)), "{number}: {made} {before}");
        before = made;
        let [pools, others] = pools(folder.path());
        assert_eq!(pools, others);
        assert_eq!(*first.get_or_insert(pools.clone()), pools);
    }
    assert!(assert_nothing_is_used_twice(folder.path()) > 1000);
    let listed = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    let facts = facts(&listed[0].item);
    assert_eq!(facts[0], ("role", "evaluator".into()));
    assert_eq!(facts[2], ("gates", 1000.into()));
    // A party that has lost its folder makes another pool with the peer, and leaves the old one alone.
    std::fs::remove_dir_all(folder.path().join("1")).unwrap();
    whole(folder.path(), 9, 1);
    assert_eq!(pools(folder.path()).map(|pools| pools.len()), [2, 1]);
    whole(folder.path(), 10, 1);
    assert_eq!(pools(folder.path()).map(|pools| pools.len()), [2, 1]);
    assert_nothing_is_used_twice(folder.path());
}

/// Sessions that are cut off after any message go on where they were, or with another pool, and no gadget is used twice.
#[test]
fn nothing_is_used_twice_wherever_sessions_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Sampler::new(Block([3, 1]));
    // Of a session that is not cut off.
    let all = uncut();
    let ends = session(folder.path(), 0, &all, None, |engine| work_and_finish(engine, 6));
    assert!(ends.iter().all(Result::is_ok));
    let messages = all.sent.load(Ordering::Relaxed) as u32;
    let (mut cut_off, mut resumed, mut before) = (0, 0, pools(folder.path()));
    for seed in 1..40 {
        let cut = Arc::new(Cut {
            after: u64::from(dice.below(messages)),
            ..Cut::default()
        });
        let results = session(folder.path(), seed, &cut, None, |engine| {
            work_and_finish(engine, 6)
        });
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(error.check(), None, "{error}");
            assert!(
                matches!(error, Error::Net(_) | Error::PeerStopped { .. }),
                "{error:?}"
            );
        }
        cut_off += usize::from(results.iter().any(Result::is_err));
        let now = pools(folder.path());
        resumed += usize::from(now == before && now[0] == now[1]);
        before = now;
        assert_nothing_is_used_twice(folder.path());
    }
    assert!(cut_off > 25 && resumed > 8, "{cut_off} {resumed}");
    // And it works still.
    whole(folder.path(), 99, 6);
    let used = assert_nothing_is_used_twice(folder.path());
    assert!(used > 30_000, "{used}");
}

/// A garbler that leaves when it sees that it will be caught ends the pool, whatever it says, and the evaluator counts.
#[test]
fn a_check_that_is_cut_off_ends_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 0, 1);
    let bound = |engine: &mut JimuEngine| Ok((engine.error_bound(), engine.warnings().len()));
    let [_, first] = session(folder.path(), 1, &uncut(), None, bound);
    let (clean, warnings) = first.unwrap();
    assert_eq!(warnings, 0);
    let before = pools(folder.path());
    for count in 1..5u32 {
        let cut = uncut();
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
                        cut.closers.lock().unwrap().iter().for_each(Closer::close);
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
        let [_, told] = session(folder.path(), seed + 1, &uncut(), None, |engine| {
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
    let after = pools(folder.path());
    assert!(
        after[1].is_disjoint(&before[1]) && after[1].len() == 1,
        "{after:?}"
    );
    assert_nothing_is_used_twice(folder.path());
}

/// The file that is the copy of the gates of party `me`'s only pool, and its bytes.
fn copy_file(folder: &Path, me: u8) -> (PathBuf, Vec<u8>) {
    let [a, b] = pools(folder);
    let id = [a, b][usize::from(me)].first().copied().expect("there is one");
    let path = folder
        .join(me.to_string())
        .join(id.to_string())
        .join("state-gates");
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// Changes the journal of party `me`'s only pool, and gives what `change` does.
fn with_journal<T>(folder: &Path, me: u8, change: impl FnOnce(&mut Journal) -> T) -> T {
    let hold = store(folder, PartyId(me)).hold().unwrap();
    let (_, living) = hold.living(PartyId(me), PROTOCOL).unwrap().remove(0);
    let mut journal = Journal::decode(&living.read(JOURNAL, 1 << 20).unwrap()).unwrap();
    let changed = change(&mut journal);
    living.write(JOURNAL, &[&journal.encode()]).unwrap();
    changed
}

/// One party has made a copy where the other has not, twice over: they put back the same pool all the same.
#[test]
fn copies_of_different_age_are_of_the_same_pool() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 0, 1);
    let (mut same, mut blocked) = (0, 0);
    for round in 0..6u8 {
        // As if one party had been killed before its copy was made, and the other one after.
        let stale = round % 2;
        let (path, old) = copy_file(folder.path(), stale);
        let copied = with_journal(folder.path(), stale, |journal| journal.tracks[0].copied);
        let cut = uncut();
        let results = session(folder.path(), 20 + u64::from(round), &cut, None, |engine| {
            work(engine, 2)?;
            cut.closers.lock().unwrap().iter().for_each(Closer::close);
            work(engine, 1)
        });
        assert!(results.iter().all(Result::is_err));
        std::fs::write(&path, old).unwrap();
        with_journal(folder.path(), stale, |journal| journal.tracks[0].copied = copied);
        let before = pools(folder.path());
        // The next session fills what was touched since the older copy, and is cut off when only that party has copied it.
        let (copy, _) = copy_file(folder.path(), 1 - stale);
        let in_the_way = copy.with_extension("new");
        std::fs::create_dir(&in_the_way).unwrap();
        let results = session(folder.path(), 40 + u64::from(round), &uncut(), None, |engine| {
            work(engine, 1)
        });
        // Unless the pool was given up, because the newer journal does not reach back to the older copy.
        if let Err(error) = &results[usize::from(1 - stale)] {
            assert!(matches!(error, Error::Storage(_)), "{error}");
            blocked += 1;
        }
        std::fs::remove_dir(&in_the_way).unwrap();
        whole(folder.path(), 80 + u64::from(round), 1);
        same += usize::from(pools(folder.path()) == before);
    }
    assert!(same >= 1 && blocked >= 1, "{same} {blocked}");
    assert_nothing_is_used_twice(folder.path());
}

/// A pool whose garbler was caught is gone at both parties.
#[test]
fn a_pool_of_a_cheater_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 0, 1);
    let before = pools(folder.path());
    assert!(before[0].len() == 1 && before[0] == before[1]);
    let lying = Adversary::with(|_, _, mut message: Message| {
        if message.step == steps::DECODE {
            message.body[0] ^= 1;
        }
        vec![message]
    });
    let [_, evaluator] = session(folder.path(), 1, &uncut(), Some(&lying), |engine| {
        work_and_finish(engine, 1)
    });
    assert_eq!(
        evaluator.unwrap_err().check(),
        Some(cenote_ot::checks::BIT_OPENING)
    );
    let after = pools(folder.path());
    assert_eq!(after, before, "what is left tells of it");
    assert!((8..=10).contains(&whole(folder.path(), 2, 1)));
    assert!(pools(folder.path())[0].is_disjoint(&before[0]));
}

#[test]
fn journals_read_back() {
    let track = Track {
        first: 7,
        copied: Some(8),
        coins: vec![(Block([1, 2]), 3), (Block([4, 5]), 6)],
    };
    let journal = Journal {
        session: 9,
        ends: 2,
        cheated: true,
        checking: true,
        retired: false,
        tracks: [track, Track::default()],
    };
    let bytes = journal.encode();
    assert_eq!(Journal::decode(&bytes), Some(journal));
    for cut in 0..bytes.len() {
        assert_eq!(Journal::decode(&bytes[..cut]), None);
    }
    assert_eq!(Journal::decode(&[&bytes[..], &[0]].concat()), None);
}

/// What is common to two copies, and when nothing is.
#[test]
fn the_older_copy_counts_if_the_newer_journal_reaches_back() {
    let told = |first: u64, copied: u64, next: u64| Told {
        id: [1; 32],
        session: 0,
        checking: 0,
        deliveries: [[first, copied, next], [0, NONE, 0]],
    };
    let newer = told(4, 8, 12);
    assert_eq!(newer.common(&told(0, 5, 12)), Some([Some(5), None]));
    assert_eq!(told(0, 5, 12).common(&newer), Some([Some(5), None]));
    assert_eq!(
        newer.common(&told(0, 3, 12)),
        None,
        "it has no coin of delivery 3"
    );
    assert_eq!(newer.common(&told(0, 5, 13)), None);
    assert_eq!(newer.common(&told(0, NONE, 12)), None);
    assert_eq!(newer.common(&told(0, 5, 4)), None);
    let checking = Told { checking: 1, ..newer };
    assert_eq!(checking.common(&newer).or(newer.common(&checking)), None);
    let filling = told(0, NONE, 2);
    assert_eq!(filling.common(&filling), Some([None, None]));
}
