//! The offline phase and online sessions: three parties, each with a stock folder.

mod lies;
mod losses;
mod making;
mod sessions;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::intercept::{Message, Spy, Thread, spoilt, tap};
use crate::common::session::{LANES, random_bits, share, small_answer, small_input, small_plan};
use crate::common::{memory_links, tiny};
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{ChannelOptions, PartyId};
use cenote_params::three::{Parameters, Variant, check, preferred};
use cenote_primitives::{BitMatrix, Entropy};
use cenote_session::conformance::{self, Cluster};
use cenote_session::{Engine, Error, MESSAGE_FORM, Parties, Reason, Result};
use cenote_store::steps::{STOCK_CLAIM, STOCK_ECHO, STOCK_ITEMS, STOCK_OFFER};
use cenote_testkit::kept::copy_folder;
use cenote_three::checks;
use cenote_three::store::{BatchNumber, ItemId, OfflineReport, Store, StoreKey, StoredEpoch, epochs, fill};
use cenote_three::{Config, Links, ThreeEngine, ViewCheck, batches_needed, steps};

/// A batch of an epoch.
type Name = (ItemId, BatchNumber);

/// Three parties with a stock folder each.
struct Stocks {
    parameters: Parameters,
    view_check: ViewCheck,
    workers: usize,
    timeout: Duration,
    home: tempfile::TempDir,
    folders: Mutex<[Option<Store>; 3]>,
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
            let key = StoreKey::from_bytes([party as u8; 32]);
            folder.get_or_insert_with(|| Store::open(&self.path(party), &key).unwrap());
        }
    }

    fn close(&self) {
        *self.folders.lock().unwrap() = [None, None, None];
    }

    fn folder(&self, party: usize) -> Store {
        self.folders.lock().unwrap()[party].clone().unwrap()
    }

    /// The batches that a party has.
    fn names(&self, party: usize) -> BTreeSet<Name> {
        let epochs = epochs(&self.folder(party)).unwrap().0;
        let names = |epoch: &StoredEpoch| {
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
                    Some(spy) => tap(spy, party as u8, links),
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
        party: impl Fn(PartyId, Vec<Links>, Config, Store) -> Result<T> + Sync,
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

    fn fill(&self, batches: u64) -> ItemId {
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
