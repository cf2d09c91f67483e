//! What those who run a service see of it: counts, alarms, and news for whoever listens.

use std::sync::Mutex;
use std::time::Duration;

use cenote_service::job::StateName;
use cenote_service::live::{Alarm, AlarmKind, Announcer, Counts, Happened, Listener};

use crate::counts::{Alarms, Tally};
use crate::locks::lock;
use crate::pace::Paces;

/// Counts, alarms and news. Its locks are held for a moment each, and no other is taken meanwhile.
#[derive(Default)]
pub(crate) struct Monitor {
    tally: Mutex<Tally>,
    alarms: Mutex<Alarms>,
    paces: Mutex<Paces>,
    announcer: Announcer,
}

impl Monitor {
    /// Raises an alarm.
    pub(crate) fn alarm(&self, kind: AlarmKind, what: &str, text: String, advice: &str) {
        let is_new = lock(&self.alarms).raise(kind, what, text.clone(), advice);
        // Every one of these is an event of its own.
        if is_new || kind == AlarmKind::Cheating {
            tracing::warn!(?kind, "{text}");
            self.tell(&Happened::Alarm);
        }
    }

    /// Ends an alarm, if there is one.
    pub(crate) fn end_alarm(&self, kind: AlarmKind, what: &str) {
        if lock(&self.alarms).end(kind, what) {
            self.tell(&Happened::Alarm);
        }
    }

    /// Tells whoever listens.
    pub(crate) fn tell(&self, happened: &Happened) {
        self.announcer.tell(happened);
    }

    /// A job has come into a state.
    pub(crate) fn came(&self, state: StateName) {
        lock(&self.tally).came(state);
    }

    /// A job of so many AND gates was done so long after its submission.
    pub(crate) fn done(&self, ands: u64, after: Duration) {
        lock(&self.tally).done(ands, after);
    }

    /// A job of a protocol that sends so many bytes ran so long.
    pub(crate) fn ran(&self, protocol: &str, bytes: u64, seconds: f64) {
        lock(&self.paces).ran(protocol, bytes, seconds);
    }

    /// How long a job would run, about, if one of its protocol has.
    pub(crate) fn pace_of(&self, protocol: &str, bytes: u64) -> Option<f64> {
        lock(&self.paces).of(protocol, bytes)
    }

    /// A job runs from stock.
    pub(crate) fn took_stock(&self) {
        lock(&self.tally).took_stock();
    }

    /// A peer was refused something.
    pub(crate) fn refused(&self, peer: u8) {
        lock(&self.tally).refused(peer);
    }

    pub(crate) fn alarms(&self) -> Vec<Alarm> {
        lock(&self.alarms).all()
    }

    pub(crate) fn counts(&self) -> Counts {
        lock(&self.tally).counts()
    }

    pub(crate) fn listen(&self) -> Listener {
        self.announcer.listen()
    }
}
