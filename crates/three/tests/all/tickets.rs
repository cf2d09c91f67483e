//! A party that cheats with several workers at once learns from each worker's coin whether it will be caught there. It goes
//! on where it has won and falls silent where it has lost. All of that is one attempt, not one for each worker: nothing
//! may come of a worker where it has won unless it goes on in all.
//!
//! Party 1 cheats. In the first batch of each worker it makes the first triple of the first array wrong, and the first
//! of the second array, so that it wins where the coin puts both into the same bucket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::intercept::{Message, Spy, Thread, tap};
use crate::common::session::{in_parallel, share as share_inputs, small_input, small_plan};
use crate::common::{memory_links, tiny};
use cenote_net::{ChannelOptions, PartyId};
use cenote_params::three::{Parameters, Variant, check};
use cenote_primitives::{Block, Entropy, Sampler};
use cenote_session::{Engine, Error, Parties, Result};
use cenote_three::store::{OfflineReport, Store, StoreKey, epochs, fill};
use cenote_three::{Config, Links, ThreeEngine, steps};

const WORKERS: usize = 4;

/// The honest parties' patience with one that has fallen silent: longer in every attempt, as on a busy machine it may be
/// over before the cheater is where it wants to be.
const PATIENCE: [Duration; 3] = [
    Duration::from_millis(1500),
    Duration::from_secs(5),
    Duration::from_secs(20),
];

/// How long the cheater waits for a message of party 0, which may have given up.
const LIMIT: Duration = Duration::from_secs(20);

/// Two buckets of two triples, and one triple opened: the cheater wins with probability 1/3 in each worker.
fn parameters() -> Parameters {
    check(Variant::Baseline, 2, 2, 1, 1).unwrap()
}

/// Where the cheater stands in one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Won,
    Lost,
}

/// Whether `coin` puts the first triple of the second array into the first bucket.
fn wins(coin: Block) -> bool {
    let mut sampler = Sampler::new(coin);
    let mut order = [0u32; 1];
    sampler.permutation(&mut order);
    let mut within = [0u32; 3];
    sampler.permutation(&mut within);
    // The first is opened.
    within[1] == 0
}

/// The share of the first generator coin that went over a wire.
fn share(sent: &[Message], to: u8) -> Option<Block> {
    let coin = |message: &&Message| {
        let wire = message.wire;
        message.step == steps::COIN && wire.thread == Thread::Generator && wire.to == to
    };
    let message = sent.iter().find(coin)?;
    Some(Block::from_bytes(message.body.as_slice().try_into().ok()?))
}

/// What `find` finds among the messages of party 0, once it is there; `None` if it does not come.
fn wait_for<T>(zero: &Spy, find: impl Fn(&[Message]) -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let found = find(&zero.sent());
        if found.is_some() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// The coin of a worker's first batch, once party 0 has sent its shares: component 0, which the cheater lacks, and component 1.
/// The cheater sends component 2 itself.
fn coin(zero: &Spy, own: &Message) -> Option<Block> {
    let own = Block::from_bytes(own.body.as_slice().try_into().unwrap());
    wait_for(zero, |sent| Some(share(sent, 1)? ^ share(sent, 2)? ^ own))
}

/// The cheater behind party 1's channels of one worker, and party 0's channels, on which it listens for what comes to it.
fn cheater(fates: Arc<Mutex<[Fate; WORKERS]>>, worker: usize) -> [Arc<Spy>; 2] {
    let zero = Spy::listening();
    let heard = Arc::clone(&zero);
    let mut fate = Fate::Unknown;
    let one = Spy::corrupting(move |message| {
        if message.wire.thread == Thread::Evaluator {
            return None;
        }
        if message.step == steps::MULTIPLY_TRIPLE && message.occurrence < 2 {
            return Some(vec![(message.step, flipped(message))]);
        }
        // It knows the coin before it sends its own share.
        if message.step == steps::COIN && fate == Fate::Unknown {
            let Some(coin) = coin(&heard, message) else {
                return Some(Vec::new());
            };
            fate = if wins(coin) { Fate::Won } else { Fate::Lost };
            fates.lock().unwrap()[worker] = fate;
        }
        (fate == Fate::Lost).then(Vec::new)
    });
    [zero, one]
}

fn flipped(message: &Message) -> Vec<u8> {
    let mut body = message.body.clone();
    body[0] ^= 1;
    body
}

/// What an offline run leaves.
struct Stocks {
    results: Vec<Result<OfflineReport>>,
    folders: [Store; 3],
    _home: tempfile::TempDir,
}

impl Stocks {
    /// How many batches a party has.
    fn kept(&self, party: usize) -> usize {
        let epochs = epochs(&self.folders[party]).unwrap().0;
        epochs.iter().map(|epoch| epoch.batches.len()).sum()
    }
}

/// An offline run of one batch for each worker.
fn fill_stocks(links: [Vec<Links>; 3], seed: u64) -> Stocks {
    let batches = links[0].len() as u64;
    let home = tempfile::tempdir().unwrap();
    let folders = [0, 1, 2].map(|party: u8| {
        let path = home.path().join(party.to_string());
        Store::open(&path, &StoreKey::from_bytes([party; 32])).unwrap()
    });
    let results: Vec<Result<_>> = std::thread::scope(|scope| {
        let start = |(me, links): (u8, Vec<Links>)| {
            let folder = &folders[usize::from(me)];
            scope.spawn(move || {
                let mut config = Config::new(parameters(), "tickets");
                config.entropy = Entropy::for_tests(seed << 8 | u64::from(me));
                fill(PartyId(me), links, config, folder, batches, &mut |_, _| ())
            })
        };
        let threads: Vec<_> = (0..).zip(links).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("no party panics");
        threads.into_iter().map(join).collect()
    });
    Stocks {
        results,
        folders,
        _home: home,
    }
}

/// One offline run with the cheater. Gives its fate in each worker, after it was checked that the honest parties keep
/// nothing if it has lost in one, and everything otherwise.
fn attacked_run(seed: u64) -> [Fate; WORKERS] {
    PATIENCE
        .into_iter()
        .find_map(|patience| attempt(seed, patience))
        .expect("the attack was made")
}

/// The same with honest parties of this patience; `None` if they gave up too early.
fn attempt(seed: u64, patience: Duration) -> Option<[Fate; WORKERS]> {
    let fates = Arc::new(Mutex::new([Fate::Unknown; WORKERS]));
    let mut links: [Vec<Links>; 3] = Default::default();
    for worker in 0..WORKERS {
        let [zero, one] = cheater(Arc::clone(&fates), worker);
        let ends = memory_links(&ChannelOptions::with_timeout(patience));
        for (party, ends) in ends.into_iter().enumerate() {
            links[party].push(match party {
                0 => tap(&zero, 0, ends),
                1 => tap(&one, 1, ends),
                _ => ends,
            });
        }
    }
    let stocks = fill_stocks(links, seed);
    let fates = *fates.lock().unwrap();
    let kept = [0, 2].map(|party| stocks.kept(party));
    if fates.contains(&Fate::Lost) {
        for party in [0, 2] {
            // Silence is no proof of cheating, and the cheater may be the first to complain.
            let error = stocks.results[party].as_ref().unwrap_err();
            assert!(error.reason().lost().is_some(), "seed {seed}: {error}");
        }
        assert_eq!(kept, [0; 2], "{fates:?}");
    } else if [0, 2].iter().all(|&party| stocks.results[party].is_ok()) {
        assert_eq!(kept, [WORKERS; 2], "{fates:?}");
    } else {
        return None;
    }
    (!fates.contains(&Fate::Unknown)).then_some(fates)
}

#[test]
fn a_cheater_must_win_in_all_workers_to_leave_anything_in_stock() {
    const RUNS: usize = 24;
    let runs = in_parallel(RUNS, 8, |index| attacked_run(index as u64));
    let mut tempting = 0;
    for fates in runs {
        tempting += usize::from(fates.contains(&Fate::Lost) && fates.contains(&Fate::Won));
    }
    assert!(tempting >= RUNS / 2, "{tempting} runs have a worker where it won");
}

/// A party that tells only one of the two others that its batches are settled: the other keeps nothing, and so the first has
/// nothing that any session would use.
#[test]
fn what_one_honest_party_could_not_confirm_is_used_by_none() {
    let spy = Spy::corrupting(|message| {
        let withheld = [steps::CHECKPOINT, steps::FINISH].contains(&message.step) && message.wire.to == 2;
        withheld.then(Vec::new)
    });
    let attempt = |patience| {
        let [zero, one, two] = memory_links(&ChannelOptions::with_timeout(patience));
        let stocks = fill_stocks([vec![zero], vec![tap(&spy, 1, one)], vec![two]], 1);
        for party in [0, 2] {
            let error = stocks.results[party].as_ref().unwrap_err();
            assert!(error.reason().lost().is_some(), "party {party}: {error}");
        }
        assert_eq!(stocks.kept(2), 0);
        (stocks.kept(0) == 1).then_some(stocks)
    };
    let stocks = PATIENCE.into_iter().find_map(attempt).expect("party 0 keeps it");

    let links = memory_links(&ChannelOptions::with_timeout(LIMIT));
    std::thread::scope(|scope| {
        for (me, links) in (0u8..).zip(links) {
            let folder = &stocks.folders[usize::from(me)];
            scope.spawn(move || {
                let config = Config::new(parameters(), "used by none");
                let mut engine = ThreeEngine::start_online(PartyId(me), vec![links], config, folder).unwrap();
                let error = engine.prepare(&small_plan(), 1).unwrap_err();
                assert!(matches!(error, Error::Exhausted(_)), "{error}");
            });
        }
    });
}

/// A session of two workers, prepared for more than is run at first, so that the first circuit is evaluated in worker 0 only. The
/// cheater has lost in worker 1 when worker 0's triples are made, and is silent there. Gives the honest parties' errors, or `None`
/// if with this patience they gave up before.
fn attacked_session(variant: Variant, patience: Duration) -> Option<[Error; 2]> {
    let (zero, patient) = (Spy::listening(), Spy::corrupting(|_| None));
    let made = Arc::new(AtomicBool::new(false));
    let mut fallen_silent = false;
    let silent = Spy::corrupting(move |message| {
        fallen_silent |= message.step == steps::COIN;
        (message.wire.thread == Thread::Generator && fallen_silent).then(Vec::new)
    });
    let (heard, making) = (Arc::clone(&zero), Arc::clone(&made));
    *patient.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
        if message.wire.thread == Thread::Generator && message.step == steps::COIN {
            // Worker 1's coin comes before the end of worker 0's first batch.
            let tossed = wait_for(&heard, |sent| share(sent, 1)).is_some();
            making.fetch_or(tossed, Ordering::SeqCst);
        }
        None
    }));
    let mut links: [Vec<Links>; 3] = Default::default();
    for worker in 0..2 {
        let ends = memory_links(&ChannelOptions::with_timeout(patience));
        for (party, ends) in ends.into_iter().enumerate() {
            links[party].push(match (party, worker) {
                (0, 1) => tap(&zero, 0, ends),
                (1, 0) => tap(&patient, 1, ends),
                (1, 1) => tap(&silent, 1, ends),
                _ => ends,
            });
        }
    }
    let inputs = [0, 1, 2].map(small_input);
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let start = |(me, links): (u8, Vec<Links>)| {
            let inputs = &inputs;
            scope.spawn(move || {
                let mut config = Config::new(tiny(variant), "tickets");
                config.entropy = Entropy::for_tests(me.into());
                let mut engine = ThreeEngine::start(PartyId(me), links, config)?;
                engine.prepare(&small_plan(), 2 * 512)?;
                let wires = share_inputs(&mut engine, inputs)?;
                let outputs = engine.run(&small_plan(), &wires)?;
                engine.reveal(&outputs, Parties::all(3)).map(|_| ())
            })
        };
        let threads: Vec<_> = (0..).zip(links).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("no party panics");
        threads.into_iter().map(join).collect()
    });
    let [first, _, last] = results.try_into().expect("three parties");
    let errors = [first, last].map(|result| result.expect_err("nothing is opened"));
    made.load(Ordering::SeqCst).then_some(errors)
}

#[test]
fn nothing_is_opened_while_another_worker_may_have_caught_the_cheater() {
    for variant in [
        Variant::Baseline,
        Variant::CacheEfficient,
        Variant::Reshuffle,
        Variant::OnDemand,
    ] {
        let attempt = |patience| attacked_session(variant, patience);
        let errors = PATIENCE.into_iter().find_map(attempt);
        for error in errors.expect("the attack was made") {
            assert!(error.reason().lost().is_some(), "{variant}: {error}");
        }
    }
}
