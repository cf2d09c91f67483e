//! Whether this service can record what happens: room on its disk, and a database that takes what is written. Peers are told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::text::megabytes;
use cenote_service::live::AlarmKind;
use cenote_service::{Database, Error, Job, waits_for};

use crate::locks::{Mutex, lock};
use crate::message::Message;
use crate::monitor::Monitor;
use crate::peers::Peers;
use crate::settings::Settings;

/// With less room than this no jobs are taken: a submission and its program must fit.
const LEAST: u64 = 16 << 20;
/// Once no jobs were taken, with so much room they are again: a little that comes and goes changes nothing.
const AGAIN_WITH: u64 = 2 * LEAST;
/// How often it is tried whether the database can be written again.
const AGAIN: Duration = Duration::from_secs(2);
/// How often the peers are told again how this service stands.
const TOLD_AGAIN: Duration = Duration::from_secs(10);

/// What the alarms are about.
const RECORD: &str = "record";
const ROOM: &str = "room";

/// Whether this service can record what happens.
pub(crate) struct Room {
    folder: PathBuf,
    /// Less room than this is an alarm.
    enough: u64,
    database: Database,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    /// Whether there was too little room when that was looked at last.
    is_short: Mutex<bool>,
    told: Mutex<Told>,
    tried: Mutex<Instant>,
}

/// What the peers were told last.
struct Told {
    /// Whether nothing can be recorded.
    stuck: bool,
    at: Instant,
}

/// Whether there is too little room, where it `was` so before.
fn is_short(was: bool, free: u64) -> bool {
    free < if was { AGAIN_WITH } else { LEAST }
}

impl Room {
    pub(crate) fn new(
        settings: &Settings,
        database: &Database,
        monitor: &Arc<Monitor>,
        peers: &Arc<Peers>,
    ) -> Self {
        Room {
            folder: settings.folder.clone(),
            enough: settings.room,
            database: database.clone(),
            monitor: Arc::clone(monitor),
            peers: Arc::clone(peers),
            is_short: Mutex::new(false),
            told: Mutex::new(Told {
                stuck: false,
                at: Instant::now(),
            }),
            tried: Mutex::new(Instant::now()),
        }
    }

    /// Bytes that are free on the disk of the service's folder; nothing where the system does not say.
    pub(crate) fn free(&self) -> Option<u64> {
        let room = rustix::fs::statvfs(&self.folder).ok()?;
        Some(room.f_bavail.saturating_mul(room.f_frsize))
    }

    /// The room that is left, if that is too little to take jobs.
    fn too_little(&self) -> Option<u64> {
        let free = self.free()?;
        let mut short = lock(&self.is_short);
        *short = is_short(*short, free);
        short.then_some(free)
    }

    /// Why nothing can be recorded at present, if that is so.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Some(fault) = self.database.fault() {
            return Some(format!("nothing can be recorded: {fault}"));
        }
        let free = self.too_little()?;
        Some(format!(
            "the disk of {} is full: {} MB are free, and it takes {} MB at least; make room there, and the service goes on by itself",
            self.folder.display(),
            megabytes(free),
            megabytes(AGAIN_WITH)
        ))
    }

    /// Sees that there is room for another job.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.too_little() {
            None => Ok(()),
            Some(_) => Err(Error::Full {
                place: self.folder.display().to_string(),
            }),
        }
    }

    /// Says for whom a job waits, as this party sees it at present.
    pub(crate) fn view_of_waits(&self) -> impl Fn(&Job) -> Option<String> + Send + use<> {
        let (peers, stuck) = (self.peers.seen(), self.fault());
        move |job| waits_for(job, &peers, stuck.as_deref())
    }

    /// For whom a job waits, as this party sees it.
    pub(crate) fn waits_for(&self, job: &Job) -> Option<String> {
        self.view_of_waits()(job)
    }

    /// By the clock: raises and ends the alarms, tells the peers, and tries again what has failed.
    pub(crate) fn look(&self) {
        let fault = self.fault();
        match &fault {
            Some(fault) => self.monitor.alarm(
                AlarmKind::Disk,
                RECORD,
                format!("No jobs are taken: {fault}."),
                "See that the disk has room and that the database runs; the service goes on by itself then.",
            ),
            None => self.monitor.end_alarm(AlarmKind::Disk, RECORD),
        }
        match self.free().filter(|free| *free < self.enough) {
            Some(free) => self.monitor.alarm(
                AlarmKind::Disk,
                ROOM,
                format!(
                    "{} MB are free on the disk of {}, less than {} MB.",
                    megabytes(free),
                    self.folder.display(),
                    megabytes(self.enough)
                ),
                "Make room on that disk before it is full: then no jobs are taken.",
            ),
            None => self.monitor.end_alarm(AlarmKind::Disk, ROOM),
        }
        self.tell_all(fault.is_some());
        if self.database.fault().is_some() && lock(&self.tried).elapsed() >= AGAIN {
            // The database keeps the outcome.
            let _ = self.database.try_again();
            *lock(&self.tried) = Instant::now();
        }
    }

    /// Tells all peers what is new, and now and then again how this service stands: a word that was lost, or that a peer did not listen to, is heard then.
    fn tell_all(&self, stuck: bool) {
        let mut told = lock(&self.told);
        if told.stuck != stuck || told.at.elapsed() >= TOLD_AGAIN {
            (told.stuck, told.at) = (stuck, Instant::now());
            self.peers
                .tell_all(self.peers.count(), &Message::Recording { works: !stuck });
        }
    }

    /// Tells a peer whether anything can be recorded here. The lock is held until it is told, so that no older word comes after a newer one.
    pub(crate) fn tell(&self, peer: u8) {
        let told = lock(&self.told);
        self.peers.tell(peer, &Message::Recording { works: !told.stuck });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_room_that_comes_and_goes_changes_nothing() {
        let mut short = false;
        let looked = [LEAST, LEAST - 1, LEAST, AGAIN_WITH - 1, AGAIN_WITH, LEAST].map(|free| {
            short = is_short(short, free);
            short
        });
        assert_eq!(looked, [false, true, true, true, false, false]);
    }
}
