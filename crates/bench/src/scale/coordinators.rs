//! How fast coordinators hand out shards: three of them, whose workers are done at once. They speak over channels in memory, and record every attempt on the disk as always.

use std::path::Path;
use std::time::{Duration, Instant};

use cenote::{Error, PartyId, Result};
use cenote_session::{Connections, Terms};
use cenote_shards::{
    Attempt, Crew, Event, Events, Job, JobName, Ledger, Limits, Outcome, Party, Place, coordinate, events,
    topology,
};

/// What nobody waits for.
const LONG: Duration = Duration::from_secs(60);

/// Shards that run side by side.
const AT_ONCE: u32 = 64;

/// Workers that take no time.
struct Idle {
    place: Place,
    events: Events,
    busy: u32,
}

impl Crew for Idle {
    fn begin(&mut self, _: &JobName, _: &[u8; 32]) {}

    fn free(&self) -> u32 {
        AT_ONCE - self.busy
    }

    fn listen(&mut self, attempt: &Attempt) {
        self.busy += 1;
        self.events.tell(Event::Listens {
            attempt: *attempt,
            place: self.place.clone(),
        });
    }

    fn meet(&mut self, attempt: &Attempt, _: &str, _: &[Place]) {
        self.busy -= 1;
        self.events.tell(Event::Ended {
            attempt: *attempt,
            outcome: Outcome::Done,
        });
    }

    fn end(&mut self, _: &Attempt) {}

    fn keep(&mut self, _: &Attempt) {}
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::local("measuring coordinators", std::io::Error::other(error.to_string()))
}

/// Coordinates so many shards as one party, with the ledger in a folder.
fn one(me: PartyId, connections: Connections, shards: u32, folder: &Path) -> Result<()> {
    let job = Job::new(Terms::new(), shards, 2 * shards).map_err(failed)?;
    let mut ledger = Ledger::open(folder, &job).map_err(failed)?;
    let (events, inbox) = events();
    let place = Place {
        address: format!("127.0.0.1:{}", 7000 + u16::from(me.0)),
        fingerprint: format!("{:064x}", me.0).parse().map_err(failed)?,
    };
    let mut crew = Idle {
        place,
        events,
        busy: 0,
    };
    let party = Party {
        me,
        keys: [me.0; 32],
        limits: Limits {
            silence: LONG,
            listen: LONG,
            end: LONG,
            idle: LONG,
        },
    };
    let done = coordinate(&party, connections, &mut ledger, &mut crew, inbox, &mut |_| ());
    done.map(drop).map_err(failed)
}

/// Seconds of an attempt, if coordinators of three parties on this machine do nothing else. Their ledgers are in folders below `folder`.
pub(super) fn attempt_seconds(shards: u32, folder: &Path) -> Result<f64> {
    let connections = Connections::in_memory(&topology(cenote::PARTIES), LONG);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .map(PartyId)
            .zip(connections)
            .map(|(me, connections)| {
                let own = folder.join(format!("ledger-{}", me.0));
                scope.spawn(move || one(me, connections, shards, &own))
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(failed("a thread panicked"))))
    })?;
    Ok(start.elapsed().as_secs_f64() / f64::from(shards + 1))
}
