//! Jobs with workers that only pretend, over channels in memory.

mod crashes;
mod crew;
mod jobs;
mod lies;
mod network;
mod setup;
mod waits;
mod wire;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_net::PartyId;
use cenote_primitives::Entropy;
use cenote_session::Connections;
use tempfile::TempDir;

use self::crew::{Fates, Pretend, Shared};
use crate::ledger::{Disk, Wrap};
use crate::{
    Attempt, Done, Events, Job, Ledger, Limits, Outcome, Party, Piece, Result, coordinate, events, topology,
};

/// What no test waits for.
const LONG: Duration = Duration::from_secs(30);

fn limits() -> Limits {
    Limits {
        silence: LONG,
        listen: LONG,
        end: LONG,
        idle: LONG,
    }
}

fn job(shards: u32, attempts: u32) -> Job {
    Job::new(vec![("query".into(), "SELECT 1".into())], shards, attempts).unwrap()
}

fn party(me: u8) -> Party {
    Party {
        me: PartyId(me),
        keys: [me; 32],
        limits: limits(),
    }
}

fn shard(index: u32, number: u32) -> Attempt {
    Attempt {
        piece: Piece::Shard(index),
        number,
    }
}

fn merge(number: u32) -> Attempt {
    Attempt {
        piece: Piece::Merge,
        number,
    }
}

fn connections(parties: u8) -> Vec<Connections> {
    Connections::in_memory(&topology(parties), LONG)
}

/// The parties of one job, and their disks.
struct World {
    job: Job,
    folders: Vec<TempDir>,
    /// Pieces that run side by side at each party.
    slots: u32,
    shared: Arc<Mutex<Shared>>,
    fates: Fates,
    limits: Limits,
}

impl World {
    fn new(parties: u8, job: Job) -> Self {
        Self {
            job,
            folders: (0..parties).map(|_| TempDir::new().unwrap()).collect(),
            slots: 3,
            shared: Arc::default(),
            fates: Arc::new(|_, _| Some(Outcome::Done)),
            limits: limits(),
        }
    }

    /// What becomes of an attempt at a party; nothing while it runs for ever.
    fn with_fates(
        mut self,
        fates: impl Fn(PartyId, Attempt) -> Option<Outcome> + Send + Sync + 'static,
    ) -> Self {
        self.fates = Arc::new(fates);
        self
    }

    fn folder(&self, party: usize) -> &Path {
        self.folders[party].path()
    }

    fn ledger(&self, party: usize) -> Ledger {
        Ledger::open(self.folder(party), &self.job).unwrap()
    }

    fn crew(&self, party: u8, events: Events) -> Pretend {
        Pretend::new(
            PartyId(party),
            self.slots,
            events,
            Arc::clone(&self.shared),
            Arc::clone(&self.fates),
        )
    }

    /// Runs the job at all parties.
    fn run(&self) -> Vec<Result<Done>> {
        self.run_with(|_, ledger| ledger, connections(self.folders.len() as u8))
    }

    /// The same, with something between ledgers and their disks.
    fn run_with(
        &self,
        ledgers: impl Fn(usize, Ledger) -> Ledger,
        connections: Vec<Connections>,
    ) -> Vec<Result<Done>> {
        self.shared.lock().unwrap().new_run();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(connections)
                .map(|(me, connections)| {
                    let ledger = ledgers(usize::from(me), self.ledger(usize::from(me)));
                    scope.spawn(move || self.one(me, ledger, connections))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// After a run that ended when party 0 wanted to write its record `at`, counted from 0.
    fn interrupted(self, at: usize) -> Self {
        let wrap = |party: usize, ledger: Ledger| match party {
            0 => ledger.over(failing(at, false)),
            _ => ledger,
        };
        let results = self.run_with(wrap, connections(self.folders.len() as u8));
        assert!(results.iter().all(|result| result.is_err()), "{results:?}");
        self
    }

    /// One party's part.
    fn one(&self, me: u8, mut ledger: Ledger, connections: Connections) -> Result<Done> {
        let (events, inbox) = events();
        let mut crew = self.crew(me, events);
        let party = Party {
            limits: self.limits,
            ..party(me)
        };
        let result = coordinate(&party, connections, &mut ledger, &mut crew, inbox, &mut |_| {});
        if let Ok(done) = &result {
            let shards = (0..)
                .zip(&done.shards)
                .map(|(index, &number)| shard(index, number));
            let counting = shards.chain([merge(done.merge)]).collect();
            assert_eq!(crew.kept, counting, "what counts is kept");
            assert_eq!(crew.coin, Some(done.coin));
            let forgotten = self
                .shared
                .lock()
                .unwrap()
                .forgotten(PartyId(me), &done.name, &counting);
            assert_eq!(forgotten, [], "what does not count is ended");
        }
        result
    }

    /// The lines of a party's record of its last job, without their digests: what happened, piece, attempt.
    fn lines(&self, at: usize) -> Vec<[String; 3]> {
        let name = self.ledger(at).name().expect("a job has begun").to_string();
        let text =
            std::fs::read_to_string(self.folder(at).join(format!("attempts-{}", &name[..16]))).unwrap();
        let fields = |line: &str| {
            let mut fields = line.split_whitespace().map(str::to_owned);
            std::array::from_fn(|_| fields.next().unwrap())
        };
        text.lines().map(fields).collect()
    }

    /// Sees that each party has handed out no attempt twice, and ended each piece with one attempt that counts, the same at all.
    fn check_records(&self) {
        let mut counting = Vec::new();
        for party in 0..self.folders.len() {
            let mut seen = BTreeMap::new();
            let mut done = BTreeMap::new();
            for [what, piece, number] in self.lines(party) {
                let number: u32 = number.parse().unwrap();
                match what.as_str() {
                    "handed-out" => {
                        let last = seen.insert(piece.clone(), number).unwrap_or(0);
                        assert!(number > last, "{piece} {number} after {last}");
                    }
                    "done" => assert_eq!(done.insert(piece, number), None),
                    "lost" => drop(done.remove(&piece)),
                    other => panic!("{other}"),
                }
            }
            assert_eq!(done.len(), self.job.pieces() as usize);
            counting.push(done);
        }
        assert!(counting.iter().all(|done| *done == counting[0]), "{counting:?}");
    }
}

/// All results, which are the same.
fn all_done(results: Vec<Result<Done>>) -> Done {
    let mut all: Vec<Done> = results.into_iter().map(|result| result.unwrap()).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all.remove(0)
}

/// Puts nothing between a ledger and its disk.
fn plain() -> Wrap {
    Box::new(|file| Box::new(file))
}

/// A number below `below` for each attempt at each party, which looks random.
fn drawn(seed: u64, party: PartyId, attempt: Attempt, below: u64) -> u64 {
    let text = format!("{party} {attempt}");
    let mixed = text.bytes().fold(seed, |mixed, byte| {
        mixed.wrapping_mul(1_000_003) ^ u64::from(byte)
    });
    let [drawn] = [Entropy::for_tests(mixed).bytes::<8>()].map(u64::from_le_bytes);
    drawn % below
}

/// A disk that fails at a record: before it is written, or when it is.
struct Failing {
    file: File,
    left: Arc<AtomicUsize>,
    is_written: bool,
}

impl Disk for Failing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 || self.is_written {
            self.file.append(bytes)?;
        }
        match left {
            0 => Err(io::Error::other("the machine stops here")),
            _ => Ok(()),
        }
    }
}

fn failing(left: usize, is_written: bool) -> Wrap {
    let left = Arc::new(AtomicUsize::new(left));
    Box::new(move |file| {
        Box::new(Failing {
            file,
            left: Arc::clone(&left),
            is_written,
        })
    })
}
