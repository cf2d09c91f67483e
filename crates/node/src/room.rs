//! Whether this service can record what happens: room on its disk, and a database that takes what is written. Peers are told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::text::megabytes;
use cenote_service::Database;
use cenote_service::live::AlarmKind;

use crate::locks::{Mutex, lock};
use crate::message::Message;
use crate::monitor::Monitor;
use crate::peers::Peers;
use crate::settings::Settings;

/// With less room than this no jobs are taken: a submission and its program must fit.
const LEAST: u64 = 16 << 20;
/// How often it is tried whether the database can be written again.
const AGAIN: Duration = Duration::from_secs(2);
/// How often the peers are told again that nothing can be recorded.
const TOLD_AGAIN: Duration = Duration::from_secs(20);

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
    told: Mutex<Told>,
    tried: Mutex<Instant>,
}

/// What the peers were told last.
struct Told {
    /// Whether nothing can be recorded.
    stuck: bool,
    at: Instant,
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
            told: Mutex::new(Told {
                stuck: false,
                at: Instant::now(),
            }),
            tried: Mutex::new(Instant::now()),
        }
    }

    /// Bytes that are free on the disk of the service's folder; nothing where the system does not say.
    fn free(&self) -> Option<u64> {
        let room = rustix::fs::statvfs(&self.folder).ok()?;
        Some(room.f_bavail.saturating_mul(room.f_frsize))
    }

    /// Why nothing can be recorded at present, if that is so.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Some(fault) = self.database.fault() {
            return Some(format!("nothing can be recorded: {fault}"));
        }
        let free = self.free().filter(|free| *free < LEAST)?;
        Some(format!(
            "the disk of {} is full: {} MB are free, and it takes {} MB at least; make room there, and the service goes on by itself",
            self.folder.display(),
            megabytes(free),
            megabytes(LEAST)
        ))
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

    /// Tells all peers what is new, and now and then again that nothing can be recorded: a peer that did not listen before, as to a party that was
    /// put back, hears it then.
    fn tell_all(&self, stuck: bool) {
        let mut told = lock(&self.told);
        if told.stuck != stuck || (stuck && told.at.elapsed() >= TOLD_AGAIN) {
            (told.stuck, told.at) = (stuck, Instant::now());
            self.peers
                .tell_all(self.peers.count(), &Message::Recording { works: !stuck });
        }
    }

    /// Tells a peer, if nothing can be recorded here.
    pub(crate) fn tell(&self, peer: u8) {
        let told = lock(&self.told);
        if told.stuck {
            self.peers.tell(peer, &Message::Recording { works: false });
        }
    }
}
