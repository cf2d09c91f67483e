//! The offline phase and online sessions: three parties, each with a stock folder.
use cenote_three::checks;

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{ChannelOptions, PartyId};
use cenote_params::three::{Parameters, Variant, check};
use cenote_primitives::{BitMatrix, Entropy};
use cenote_session::conformance::{self, Cluster};
use cenote_session::{Engine, Error, MESSAGE_FORM, Parties, Result};
use cenote_three::store::{BatchNumber, EpochId, OfflineReport, StockFolder, StockKey, fill};
use cenote_three::{Config, Links, ThreeEngine, ViewCheck, batches_needed, steps};
use common::intercept::{Message, Spy, Thread};
use common::session::{LANES, random_bits, share, small_answer, small_input, small_plan};
use common::{memory_links, tiny};

/// A batch of an epoch.
type Name = (EpochId, BatchNumber);

/// Three parties with a stock folder each.
struct Stocks {
    parameters: Parameters,
    view_check: ViewCheck,
    workers: usize,
    timeout: Duration,
    home: tempfile::TempDir,
    folders: Mutex<[Option<StockFolder>; 3]>,
    sessions: Mutex<u64>,
}

impl Stocks {
    fn new(parameters: Parameters) -> Self {
        let stocks = Self {
            parameters,
            view_check: ViewCheck::Mac,
            workers: 1,
            timeout: Duration::from_secs(20),
            home: tempfile::tempdir().unwrap(),
            folders: Mutex::default(),
            sessions: Mutex::default(),
        };
        stocks.open();
        stocks
    }

    fn path(&self, party: usize) -> PathBuf {
        self.home.path().join(party.to_string())
    }

    /// As a machine that starts: opens all folders that are not open.
    fn open(&self) {
        for (party, folder) in self.folders.lock().unwrap().iter_mut().enumerate() {
            let key = StockKey::from_bytes([party as u8; 32]);
            folder.get_or_insert_with(|| StockFolder::open(&self.path(party), &key).unwrap());
        }
    }

    fn close(&self) {
        *self.folders.lock().unwrap() = [None, None, None];
    }

    fn folder(&self, party: usize) -> StockFolder {
        self.folders.lock().unwrap()[party].clone().unwrap()
    }

    /// The batches that a party has.
    fn names(&self, party: usize) -> BTreeSet<Name> {
        let epochs = self.folder(party).epochs().unwrap();
        let names = |epoch: &cenote_three::store::StoredEpoch| {
            let id = epoch.id;
            epoch
                .batches
                .iter()
                .map(move |batch| (id, *batch))
                .collect::<Vec<_>>()
        };
        epochs.iter().flat_map(names).collect()
    }

    fn links(&self, spies: &[Option<Arc<Spy>>; 3]) -> [Vec<Links>; 3] {
        let options = ChannelOptions::with_timeout(self.timeout);
        let mut all: [Vec<Links>; 3] = Default::default();
        for _ in 0..self.workers {
            for (party, links) in memory_links(&options).into_iter().enumerate() {
                all[party].push(match &spies[party] {
                    Some(spy) => spy.tap(party as u8, links),
                    None => links,
                });
            }
        }
        all
    }

    /// Runs `party` at all parties of a new session.
    fn all<T: Send>(
        &self,
        spies: &[Option<Arc<Spy>>; 3],
        party: impl Fn(PartyId, Vec<Links>, Config, StockFolder) -> Result<T> + Sync,
    ) -> [Result<T>; 3] {
        let session = {
            let mut sessions = self.sessions.lock().unwrap();
            *sessions += 1;
            *sessions
        };
        let links = self.links(spies);
        std::thread::scope(|scope| {
            let mut threads = links.into_iter().enumerate().map(|(me, links)| {
                let mut config = Config::new(self.parameters.clone(), format!("session {session}"));
                config.view_check = self.view_check;
                config.entropy = Entropy::for_tests(session << 8 | me as u64);
                let (party, folder) = (&party, self.folder(me));
                Some(scope.spawn(move || party(PartyId(me as u8), links, config, folder)))
            });
            let mut threads: [_; 3] = std::array::from_fn(|_| threads.next().unwrap());
            threads
                .each_mut()
                .map(|thread| thread.take().unwrap().join().expect("no party panics"))
        })
    }

    fn fill_with(&self, batches: u64, spies: &[Option<Arc<Spy>>; 3]) -> [Result<OfflineReport>; 3] {
        self.all(spies, |me, links, config, folder| {
            fill(me, links, config, &folder, batches, &mut |_, _| ())
        })
    }

    fn fill(&self, batches: u64) -> EpochId {
        let reports = self
            .fill_with(batches, &[None, None, None])
            .map(|report| report.unwrap());
        for report in &reports {
            assert_eq!((report.epoch, report.batches), (reports[0].epoch, batches));
            assert_eq!(report.gates, batches * 512 * self.parameters.n());
        }
        reports[0].epoch
    }

    fn online_with<T: Send>(
        &self,
        spies: &[Option<Arc<Spy>>; 3],
        program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync,
    ) -> [Result<T>; 3] {
        self.all(spies, |me, links, config, folder| {
            program(&mut ThreeEngine::start_online(me, links, config, &folder)?)
        })
    }

    fn online<T: Send>(&self, program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync) -> [Result<T>; 3] {
        self.online_with(&[None, None, None], program)
    }

    /// A session that must come to its good end; gives the batches that each party had before and has not after.
    fn small_session(&self) -> [BTreeSet<Name>; 3] {
        let before = [0, 1, 2].map(|party| self.names(party));
        let (inputs, answer) = small_case();
        for result in self.online(|engine| small_run(engine, &inputs)) {
            assert_eq!(result.unwrap().as_ref(), Some(&answer));
        }
        [0, 1, 2].map(|party| &before[party] - &self.names(party))
    }
}

fn small_case() -> ([BitMatrix; 3], BitMatrix) {
    let inputs = [0, 1, 2].map(small_input);
    let answer = small_answer(&inputs);
    (inputs, answer)
}

fn small_run(engine: &mut ThreeEngine, inputs: &[BitMatrix; 3]) -> Result<Option<BitMatrix>> {
    let plan = small_plan();
    engine.prepare(&plan, LANES)?;
    let wires = share(engine, inputs)?;
    let outputs = engine.run(&plan, &wires)?;
    let revealed = engine.reveal(&outputs, Parties::all(3))?;
    engine.finish()?;
    Ok(revealed)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The suite over online sessions, which find a large stock.
struct FromStock(Stocks);

impl Cluster for FromStock {
    type Engine = ThreeEngine;

    fn parties(&self) -> usize {
        3
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        if self.0.names(0).len() < 30 {
            self.0.fill(150);
        }
        self.0.online(program).into()
    }
}

fn suite(variant: Variant, view_check: ViewCheck, workers: usize) {
    let mut stocks = Stocks::new(tiny(variant));
    stocks.view_check = view_check;
    stocks.workers = workers;
    conformance::all(&FromStock(stocks));
}

#[test]
fn conformance_on_demand_with_mac() {
    suite(Variant::OnDemand, ViewCheck::Mac, 1);
}

#[test]
fn conformance_cache_efficient_with_three_workers() {
    suite(Variant::CacheEfficient, ViewCheck::Mac, 3);
}

#[test]
fn conformance_baseline_with_sha256() {
    suite(Variant::Baseline, ViewCheck::Sha256, 1);
}

#[test]
fn conformance_reshuffle() {
    suite(Variant::Reshuffle, ViewCheck::Mac, 1);
}

/// Every batch serves one session, in the order in which they were made, and a session of one more needs two: `d1` of the
/// on-demand variant comes from stock, too.
#[test]
fn sessions_use_different_batches_until_none_are_left() {
    for (variant, each) in [
        (Variant::Baseline, 1),
        (Variant::CacheEfficient, 1),
        (Variant::Reshuffle, 1),
        (Variant::OnDemand, 2),
    ] {
        let stocks = Stocks::new(tiny(variant));
        assert_eq!(
            batches_needed(&stocks.parameters, [(&small_plan(), LANES)], 1),
            each as u64
        );
        let first = stocks.fill(each as u64 * 2);
        let second = stocks.fill(each as u64);
        let all = stocks.names(1);
        let mut used = BTreeSet::new();
        for session in 0..3 {
            let spent = stocks.small_session();
            assert!(
                spent[0] == spent[1] && spent[1] == spent[2],
                "{variant}: {spent:?}"
            );
            assert_eq!(spent[0].len(), each, "{variant}: {spent:?}");
            let epoch = if session < 2 { first } else { second };
            assert!(spent[0].iter().all(|(id, _)| *id == epoch), "the oldest first");
            for name in &spent[0] {
                assert!(used.insert(*name), "{variant}: {name:?} twice");
            }
        }
        assert_eq!(used, all);
        // Spent epochs are gone, with their keys.
        for party in 0..3 {
            let folders = fs::read_dir(stocks.path(party)).unwrap();
            assert_eq!(
                folders
                    .filter(|entry| entry.as_ref().unwrap().path().is_dir())
                    .count(),
                0
            );
        }
        for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
            match result {
                Err(Error::Exhausted(text)) => {
                    assert!(text.contains(&format!("needs {each} batches")), "{text}");
                    assert!(
                        text.contains("has 0") && text.contains("make them in one offline run"),
                        "{text}"
                    );
                }
                other => panic!("{variant}: {other:?}"),
            }
        }
    }
}

/// What the session would not need is not touched; what it needs must be in one epoch.
#[test]
fn a_session_uses_one_epoch_only() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(1);
    stocks.fill(1);
    let before = stocks.names(0);
    for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
        match result {
            Err(Error::Exhausted(text)) => assert!(text.contains("the largest has 1"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stocks.names(0), before);
    let large = stocks.fill(2);
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(id, _)| *id == large));
}

/// What is prepared settles the epoch: an older one that would do for the first run only is left alone.
#[test]
fn all_that_is_prepared_comes_from_one_epoch() {
    let stocks = Stocks::new(tiny(Variant::Baseline));
    // A run takes 6 ANDs in 640 words of lanes: 480 blocks, 7.5 batches of 64.
    let lanes = 640 * 64;
    let old = stocks.fill(9);
    let new = stocks.fill(17);
    let input = random_bits(3, 9, lanes);
    let plan = small_plan();
    let answer = plan.evaluate(&input).unwrap();
    let results = stocks.online(|engine| {
        engine.prepare(&plan, lanes)?;
        engine.prepare(&plan, lanes)?;
        let own = (engine.me() == PartyId(1)).then_some(&input);
        let wires = engine.input(PartyId(1), 9, lanes, own)?;
        let mut revealed = Vec::new();
        for _ in 0..2 {
            let outputs = engine.run(&plan, &wires)?;
            revealed.push(engine.reveal(&outputs, Parties::all(3))?.unwrap());
        }
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        assert!(result.unwrap().iter().all(|revealed| *revealed == answer));
    }
    let left = stocks.names(0);
    let of = |epoch| left.iter().filter(|(id, _)| *id == epoch).count();
    assert_eq!(of(old), 9);
    assert!(of(new) < 17);
}

/// A program that goes on for longer than its epoch ends with a reason, at all parties alike.
#[test]
fn a_session_can_run_out() {
    let stocks = Stocks::new(tiny(Variant::Baseline));
    stocks.fill(2);
    let (inputs, answer) = small_case();
    let results = stocks.online(|engine| {
        let plan = small_plan();
        let wires = share(engine, &inputs)?;
        for round in 0.. {
            let outputs = match engine.run(&plan, &wires) {
                Ok(outputs) => outputs,
                Err(error) => {
                    assert!(matches!(engine.finish(), Err(Error::Poisoned(_))));
                    return Ok((round, error.to_string()));
                }
            };
            assert_eq!(engine.reveal(&outputs, Parties::all(3))?.as_ref(), Some(&answer));
        }
        unreachable!()
    });
    // Each round has 3 ANDs in 50 lanes: one block of 512, padded.
    let rounds = stocks.parameters.n() * 2;
    for result in results {
        let (round, text) = result.unwrap();
        assert_eq!(round, rounds);
        assert!(
            text.contains("needs 1 more batches") && text.contains("has 0 left"),
            "{text}"
        );
    }
}

#[test]
fn circuits_without_ands_need_no_stock() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    let (inputs, _) = small_case();
    let mut b = Builder::new();
    let bits = b.input("bits", 9, BitOrder::Lsb);
    b.output("same", &bits, BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    let results = stocks.online(|engine| {
        engine.prepare(&plan, LANES)?;
        let wires = share(engine, &inputs)?;
        let wires = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&wires, Parties::all(3))?;
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        let revealed = result.unwrap().unwrap();
        assert!((0..3 * 3).all(|row| revealed.row(row) == inputs[row / 3].row(row % 3)));
    }
}

/// Stock of other parameters is left alone.
#[test]
fn other_parameters_are_other_stock() {
    let mut stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(3);
    let all = stocks.names(2);
    let own = stocks.parameters.clone();
    for parameters in [
        check(Variant::OnDemand, 5 * 14, 2, 3, 5).unwrap(),
        tiny(Variant::Reshuffle),
    ] {
        stocks.parameters = parameters;
        for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
            assert!(matches!(result, Err(Error::Exhausted(_))), "{result:?}");
        }
    }
    stocks.parameters = own;
    stocks.view_check = ViewCheck::Sha256;
    for result in stocks.online(|engine| engine.prepare(&small_plan(), LANES)) {
        assert!(matches!(result, Err(Error::Exhausted(_))), "{result:?}");
    }
    assert_eq!(stocks.names(2), all);
}

/// Made by three workers, used by one and by two: a batch is known by the worker that made it.
#[test]
fn the_number_of_workers_may_differ() {
    let mut stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.workers = 3;
    stocks.fill(8);
    let workers: BTreeSet<u8> = stocks.names(0).iter().map(|(_, batch)| batch.worker).collect();
    assert_eq!(workers, BTreeSet::from([0, 1, 2]));
    stocks.workers = 1;
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(_, batch)| batch.worker == 0));
    stocks.workers = 2;
    let lanes = 3000;
    let inputs = [0, 1, 2].map(|owner| random_bits(owner, 3, lanes));
    let all = BitMatrix::from_fn(9, lanes, |row, lane| inputs[row / 3].get(row % 3, lane));
    let answer = small_plan().evaluate(&all).unwrap();
    let before = stocks.names(0);
    let results = stocks.online(|engine| {
        engine.prepare(&small_plan(), lanes)?;
        let wires = share(engine, &inputs)?;
        let outputs = engine.run(&small_plan(), &wires)?;
        let revealed = engine.reveal(&outputs, Parties::all(3))?;
        engine.finish()?;
        Ok(revealed)
    });
    for result in results {
        assert_eq!(result.unwrap().as_ref(), Some(&answer));
    }
    // `d1` and one batch for each worker.
    let spent = &before - &stocks.names(0);
    assert_eq!(
        spent.len() as u64,
        batches_needed(&stocks.parameters, [(&small_plan(), lanes)], 2)
    );
    assert_eq!(spent.len(), 4);
}

/// One party's folder is put back to what it was: the other honest party knows better.
#[test]
fn a_folder_that_was_put_back_brings_nothing_back() {
    for rolled_back in 0..3 {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(6);
        stocks.close();
        let backup = stocks.home.path().join("backup");
        copy(&stocks.path(rolled_back), &backup);
        stocks.open();
        let used = stocks.small_session()[1].clone();
        stocks.close();
        fs::remove_dir_all(stocks.path(rolled_back)).unwrap();
        copy(&backup, &stocks.path(rolled_back));
        stocks.open();
        assert!(used.is_subset(&stocks.names(rolled_back)));
        for _ in 0..2 {
            let spent = stocks.small_session();
            assert!(spent.iter().all(|spent| spent.is_disjoint(&used)), "{spent:?}");
        }
        let left = stocks.online(|engine| engine.prepare(&small_plan(), LANES));
        assert!(
            left.iter()
                .all(|result| matches!(result, Err(Error::Exhausted(_))))
        );
    }
}

/// A party that goes away between its claim and its word: what was claimed is lost to all, and used by none.
#[test]
fn a_claim_that_not_all_confirm_is_void() {
    for missing in 0..3usize {
        let mut stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.timeout = Duration::from_secs(3);
        stocks.fill(4);
        let spy = Spy::corrupting(|message| (message.step == steps::STOCK_CLAIM).then(Vec::new));
        let mut spies = [None, None, None];
        spies[missing] = Some(spy);
        let (inputs, _) = small_case();
        let before = stocks.names(0);
        let results = stocks.online_with(&spies, |engine| small_run(engine, &inputs));
        for (party, result) in results.iter().enumerate().filter(|(party, _)| *party != missing) {
            // Whether they wait for its word in vain or get its next message instead.
            assert!(
                matches!(
                    result,
                    Err(Error::Net(_)
                        | Error::PeerStopped { .. }
                        | Error::Aborted {
                            check: MESSAGE_FORM,
                            ..
                        })
                ),
                "party {party}: {result:?}"
            );
        }
        let after = [0, 1, 2].map(|party| stocks.names(party));
        assert!(after.iter().all(|after| before.len() - after.len() == 2));
        stocks.close();
        stocks.open();
        let spent = stocks.small_session();
        assert!(spent[0].is_subset(&after[0]));
    }
}

/// Bytes of an offer of one run of batches of one epoch: its name, 1, a worker, the first, how many.
const ONE_RUN: usize = 32 + 4 + 1 + 4 + 4;

/// Changes the offers that party 0 sends: `[length, offer]` to each peer.
fn offering(change: impl Fn(u8, Vec<u8>) -> Vec<u8> + Send + 'static) -> [Option<Arc<Spy>>; 3] {
    let spy = Spy::corrupting(move |message: &Message| {
        if message.step != steps::STOCK_OFFER {
            return None;
        }
        // The length is sent with the offer, which is known then.
        if message.occurrence == 0 {
            let length = u32::from_le_bytes(message.body[..].try_into().unwrap());
            let changed = change(message.wire.to, vec![0; length as usize]);
            return Some(vec![(
                message.step,
                (changed.len() as u32).to_le_bytes().to_vec(),
            )]);
        }
        Some(vec![(
            message.step,
            change(message.wire.to, message.body.clone()),
        )])
    });
    [Some(spy), None, None]
}

/// A party that tells its peers different things about its stock is found out before anything is claimed.
#[test]
fn different_offers_to_the_two_others_are_noticed() {
    type Change = fn(u8, Vec<u8>) -> Vec<u8>;
    let cases: [(&str, Change); 3] = [
        ("the last batch is missing at party 1", |to, mut offer| {
            if to == 1 && offer.len() == ONE_RUN {
                offer[41] -= u8::from(offer[41] > 0);
            }
            offer
        }),
        ("another batch at party 2", |to, mut offer| {
            if to == 2 {
                offer[37] ^= 0x40;
            }
            offer
        }),
        (
            "nothing at party 2",
            |to, offer| if to == 2 { Vec::new() } else { offer },
        ),
    ];
    for (what, change) in cases {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(3);
        let before = [1, 2].map(|party| stocks.names(party));
        let (inputs, _) = small_case();
        let results = stocks.online_with(&offering(change), |engine| small_run(engine, &inputs));
        for result in &results[1..] {
            assert!(
                matches!(
                    result.as_ref().unwrap_err().check(),
                    Some(checks::VIEW_COMPARISON)
                ),
                "{what}: {result:?}"
            );
        }
        assert_eq!([1, 2].map(|party| stocks.names(party)), before, "{what}");
    }
}

/// What one party has not is used by none: all go by what all three have.
#[test]
fn a_party_can_withhold_stock() {
    for party in 0..3 {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        let epoch = stocks.fill(4);
        let first = stocks.names(0).first().copied().unwrap();
        let withheld = stocks.path(party).join(epoch.to_string());
        fs::remove_file(withheld.join("batch-000-0000000000")).unwrap();
        let spent = stocks.small_session();
        for spent in spent {
            assert!(spent.len() == 2 && !spent.contains(&first), "{spent:?}");
        }
    }
}

#[test]
fn malformed_offers_are_refused() {
    type Change = fn(u8, Vec<u8>) -> Vec<u8>;
    let cases: [Change; 4] = [
        |_, offer| vec![0xff; offer.len() + 1],
        |_, offer| [offer, vec![0; 36 * 1024 + 9 * 65536]].concat(),
        |_, mut offer| {
            offer[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
            offer
        },
        |_, offer| [&offer[..], &offer[..]].concat(),
    ];
    for (index, change) in cases.into_iter().enumerate() {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.fill(3);
        let before = stocks.names(1);
        let (inputs, _) = small_case();
        let results = stocks.online_with(&offering(change), |engine| small_run(engine, &inputs));
        for result in &results[1..] {
            assert_eq!(
                result.as_ref().unwrap_err().check(),
                Some(MESSAGE_FORM),
                "case {index}: {result:?}"
            );
        }
        assert_eq!(stocks.names(1), before);
    }
}

/// Every message of the stock's steps, changed: an abort at both honest parties, and nothing used that was not claimed.
#[test]
fn every_message_about_stock_is_checked() {
    for corrupted in 0..3u8 {
        for step in steps::STORED {
            for (to, occurrence) in (0..3u8)
                .filter(|to| *to != corrupted)
                .flat_map(|to| [(to, 0), (to, 1)])
            {
                for truncate in [false, true] {
                    let stocks = Stocks::new(tiny(Variant::Baseline));
                    let offline = [steps::EPOCH, steps::CHECKPOINT].contains(step);
                    let single = [steps::STOCK_ECHO, steps::STOCK_CLAIM, steps::CHECKPOINT].contains(step);
                    if single && occurrence == 1 {
                        continue;
                    }
                    let hits = Arc::new(Mutex::new(0));
                    let counted = Arc::clone(&hits);
                    let spy = Spy::corrupting(move |message| {
                        let hit = message.step == *step
                            && message.wire.to == to
                            && message.occurrence == occurrence
                            && message.wire.thread == Thread::Evaluator;
                        hit.then(|| {
                            *counted.lock().unwrap() += 1;
                            let mut body = message.body.clone();
                            if truncate {
                                body.pop();
                            } else {
                                body[0] ^= 1;
                            }
                            vec![(message.step, body)]
                        })
                    });
                    let mut spies = [None, None, None];
                    spies[usize::from(corrupted)] = Some(spy);
                    let errors: [Option<Error>; 3] = if offline {
                        stocks.fill_with(2, &spies).map(Result::err)
                    } else {
                        stocks.fill(2);
                        let (inputs, _) = small_case();
                        stocks
                            .online_with(&spies, |engine| small_run(engine, &inputs))
                            .map(Result::err)
                    };
                    assert_eq!(*hits.lock().unwrap(), 1);
                    for party in (0..3u8).filter(|party| *party != corrupted) {
                        let error = errors[usize::from(party)].as_ref();
                        assert!(
                            error.is_some_and(|error| error.check().is_some()),
                            "party {party}, {step} from {corrupted} to {to}, {occurrence}, {truncate}: {error:?}"
                        );
                    }
                    if offline {
                        let honest = (usize::from(corrupted) + 1) % 3;
                        assert!(stocks.names(honest).is_empty());
                    }
                }
            }
        }
    }
}

/// Whoever cheats while triples are made leaves none behind.
#[test]
fn a_failed_check_deletes_the_epoch() {
    for batch in [0, 2] {
        let stocks = Stocks::new(tiny(Variant::OnDemand));
        let spy = Spy::corrupting(move |message| {
            let hit = message.step == steps::TRIPLE_VIEW && message.occurrence == batch;
            hit.then(|| {
                let mut body = message.body.clone();
                body[3] ^= 1;
                vec![(message.step, body)]
            })
        });
        let results = stocks.fill_with(4, &[None, Some(spy), None]);
        for party in [0, 2] {
            let error = results[party].as_ref().unwrap_err();
            assert_eq!(error.check(), Some(checks::VIEW_COMPARISON), "{error}");
            assert!(stocks.names(party).is_empty());
            let left = fs::read_dir(stocks.path(party)).unwrap();
            assert!(left.into_iter().all(|entry| !entry.unwrap().path().is_dir()));
        }
    }
}

/// A party that goes away in the middle: what was made up to the last checkpoint can be used.
#[test]
fn a_run_that_is_cut_off_leaves_usable_stock() {
    // A checkpoint after every 16 batches of each worker.
    for (workers, killed_at, left) in [(1, 20, 16), (1, 10, 0), (2, 20, 32)] {
        let mut stocks = Stocks::new(tiny(Variant::OnDemand));
        stocks.timeout = Duration::from_secs(5);
        stocks.workers = workers;
        let (kill, killed) = std::sync::mpsc::channel();
        let spy = Spy::corrupting(move |message| {
            if message.step == steps::TRIPLE_VIEW && message.occurrence == killed_at {
                kill.send(()).unwrap();
                // Until it is killed.
                std::thread::sleep(Duration::from_millis(300));
            }
            None
        });
        let results = std::thread::scope(|scope| {
            let killer = Arc::clone(&spy);
            scope.spawn(move || {
                if killed.recv().is_ok() {
                    killer.kill();
                }
            });
            stocks.fill_with(40 * workers as u64, &[None, Some(spy), None])
        });
        for party in [0, 2] {
            let error = results[party].as_ref().unwrap_err();
            assert!(error.check().is_none(), "{error}");
        }
        let counts = [0, 1, 2].map(|party| stocks.names(party).len());
        assert_eq!(counts, [left; 3], "{workers} workers, killed at {killed_at}");
        if left > 0 {
            stocks.workers = 1;
            stocks.small_session();
        }
    }
}

/// A check that fails online: the claimed batches are gone, the others stay, and the session is over.
#[test]
fn an_abort_online_poisons_and_loses_what_was_claimed() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(5);
    let before = stocks.names(0);
    let spy = Spy::corrupting(|message| {
        (message.step == steps::GATE_PRODUCTS).then(|| vec![(message.step, vec![0; message.body.len()])])
    });
    let (inputs, _) = small_case();
    let results = stocks.online_with(&[None, None, Some(spy)], |engine| {
        let wires = share(engine, &inputs)?;
        let outputs = engine.run(&small_plan(), &wires)?;
        let error = engine.reveal(&outputs, Parties::all(3)).unwrap_err();
        for again in [
            engine.prepare(&small_plan(), LANES).err(),
            engine.run(&small_plan(), &wires).err(),
            engine.finish().err(),
        ] {
            assert!(matches!(again, Some(Error::Poisoned(_))), "{again:?}");
        }
        Ok(error)
    });
    for result in &results[..2] {
        assert_eq!(result.as_ref().unwrap().check(), Some(checks::PRODUCT_COMPARISON));
    }
    for party in [0, 1] {
        assert_eq!((&before - &stocks.names(party)).len(), 2);
        // Nothing of them is left on the disk.
        let epoch = stocks.path(party).join(before.first().unwrap().0.to_string());
        assert_eq!(fs::read_dir(epoch).unwrap().count(), 1 + 3);
    }
    stocks.small_session();
}

/// Epochs that a party has lost are passed over, told of, and noted, however many they are.
#[test]
fn lost_epochs_do_not_stand_in_the_way() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    let lost: Vec<_> = (0..3).map(|_| stocks.fill(1)).collect();
    let kept = stocks.fill(6);
    let found = stocks.home.path().join("found");
    copy(&stocks.path(2).join(lost[0].to_string()), &found);
    stocks.folder(2).remove(&lost[0]).unwrap();
    stocks.folder(2).remove(&lost[1]).unwrap();
    stocks.folder(1).remove(&lost[1]).unwrap();
    let spent = stocks.small_session();
    assert!(spent[0].iter().all(|(id, _)| *id == kept));
    let noted = |party: usize| {
        let epochs = stocks.folder(party).epochs().unwrap();
        let noted = epochs.into_iter().map(|epoch| (epoch.id, epoch.lacked_by));
        noted.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (one, two) = (PartyId(1), PartyId(2));
    assert_eq!(noted(0)[&lost[0]], [two]);
    assert_eq!(noted(0)[&lost[1]], [one, two]);
    assert_eq!(noted(1)[&lost[0]], [two]);
    for party in 0..3 {
        assert_eq!(noted(party)[&lost[2]], []);
        assert_eq!(noted(party)[&kept], []);
    }

    // The others are told why there is nothing for a larger session.
    let plan = small_plan();
    for (party, result) in stocks
        .online(|engine| engine.prepare(&plan, 1 << 16))
        .iter()
        .enumerate()
    {
        let Err(Error::Exhausted(text)) = result else {
            panic!("{result:?}")
        };
        let orphans = ["; 2 epochs of this party", "; 1 epochs of this party", ""][party];
        assert!(
            text.contains(orphans) && text.contains("lacking") == (party < 2),
            "{text}"
        );
    }

    // One that was removed everywhere else is forgotten once it is removed here, and one that was found is of use again.
    stocks.folder(0).remove(&lost[1]).unwrap();
    copy(&found, &stocks.path(2).join(lost[0].to_string()));
    stocks.small_session();
    for party in 0..3 {
        let noted = noted(party);
        assert_eq!(
            noted.keys().copied().collect::<BTreeSet<_>>(),
            BTreeSet::from([lost[0], lost[2], kept])
        );
        assert!(noted.values().all(Vec::is_empty), "{noted:?}");
    }
}

/// A batch whose file is damaged ends the session at its party by name, and at the others.
#[test]
fn a_damaged_batch_ends_the_session() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    let epoch = stocks.fill(2);
    let file = stocks
        .path(1)
        .join(epoch.to_string())
        .join("batch-000-0000000001");
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (inputs, _) = small_case();
    let results = stocks.online(|engine| small_run(engine, &inputs));
    match &results[1] {
        Err(Error::Storage(text)) => {
            assert!(
                text.contains("batch-000-0000000001") && text.contains("damaged"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    for party in [0, 2] {
        assert!(
            matches!(
                results[party],
                Err(Error::PeerStopped { .. } | Error::Net(cenote_net::Error::PeerLost { .. }))
            ),
            "{:?}",
            results[party]
        );
    }
}

/// Another party's folder, and a folder that a session has, are refused before the peers hear anything.
#[test]
fn the_wrong_folder_is_refused() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(1);
    let start = |me: u8, folder: &StockFolder| {
        let [zero, one, _] = memory_links(&ChannelOptions::default());
        let links = if me == 0 { zero } else { one };
        let config = Config::new(stocks.parameters.clone(), "wrong");
        match ThreeEngine::start_online(PartyId(me), vec![links], config, folder) {
            Err(Error::Storage(text)) => text,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("started"),
        }
    };
    let text = start(1, &stocks.folder(0));
    assert!(text.contains("stock of party 0, not of party 1"), "{text}");
    let text = std::thread::scope(|scope| {
        // Party 0's session waits for peers that are there and silent.
        let [zero, ..] = memory_links(&ChannelOptions::with_timeout(Duration::from_secs(2)));
        let (folder, parameters) = (stocks.folder(0), stocks.parameters.clone());
        let waiting = scope.spawn(move || {
            ThreeEngine::start_online(PartyId(0), vec![zero], Config::new(parameters, "first"), &folder).err()
        });
        std::thread::sleep(Duration::from_millis(50));
        let text = if waiting.is_finished() {
            "another session".into()
        } else {
            start(0, &stocks.folder(0))
        };
        waiting.join().unwrap();
        text
    });
    assert!(text.contains("another session"), "{text}");
}

/// A session that makes its triples and one that has them do not go together.
#[test]
fn all_parties_must_be_online_sessions() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(2);
    let results = stocks.all(&[None, None, None], |me, links, config, folder| {
        if me == PartyId(1) {
            ThreeEngine::start(me, links, config).map(|_| ())
        } else {
            ThreeEngine::start_online(me, links, config, &folder).map(|_| ())
        }
    });
    for result in results {
        match result {
            Err(Error::Net(cenote_net::Error::Mismatch { field, .. })) => assert_eq!(field, "triples"),
            other => panic!("{other:?}"),
        }
    }
}

/// Traffic of an online session: what it claims and what it evaluates, and no triples.
#[test]
fn an_online_session_sends_no_triples() {
    let stocks = Stocks::new(tiny(Variant::OnDemand));
    stocks.fill(2);
    let spies = [(); 3].map(|()| Spy::listening());
    let (inputs, _) = small_case();
    let tapped = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    for result in stocks.online_with(&tapped, |engine| small_run(engine, &inputs)) {
        result.unwrap();
    }
    for spy in spies {
        let sent = spy.sent();
        assert!(
            sent.iter()
                .all(|message| message.wire.thread == Thread::Evaluator)
        );
        for step in [steps::STOCK_OFFER, steps::STOCK_ECHO, steps::STOCK_CLAIM] {
            assert!(sent.iter().any(|message| message.step == step), "{step}");
        }
        assert!(!sent.iter().any(|message| message.step == steps::MULTIPLY_TRIPLE));
    }
}
