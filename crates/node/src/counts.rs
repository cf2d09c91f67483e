//! Counts and alarms of a service that is up.

use std::collections::BTreeMap;
use std::time::Duration;

use cenote_service::Timestamp;
use cenote_service::job::StateName;
use cenote_service::live::{Alarm, AlarmKind, Counts};

/// Upper limits of the classes of latency, in seconds.
const LATENCY: [f64; 15] = [
    0.005, 0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.2, 0.5, 1.0, 5.0, 20.0, 60.0, 600.0, 3600.0,
];

/// Counts since the service came up.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    jobs: BTreeMap<StateName, u64>,
    ands: u64,
    from_stock: u64,
    latency: [u64; LATENCY.len()],
    latency_sum: f64,
    refused: BTreeMap<u8, u64>,
}

impl Tally {
    /// A job has come into a state.
    pub(crate) fn came(&mut self, state: StateName) {
        *self.jobs.entry(state).or_default() += 1;
    }

    /// A job was done so long after its submission.
    pub(crate) fn done(&mut self, ands: u64, after: Duration) {
        let seconds = after.as_secs_f64();
        self.ands = self.ands.saturating_add(ands);
        self.latency_sum += seconds;
        let places = self.latency.iter_mut().zip(LATENCY);
        places
            .filter(|(_, limit)| seconds <= *limit)
            .for_each(|(count, _)| *count += 1);
    }

    /// A job runs from stock.
    pub(crate) fn took_stock(&mut self) {
        self.from_stock += 1;
    }

    /// A peer was refused something.
    pub(crate) fn refused(&mut self, peer: u8) {
        *self.refused.entry(peer).or_default() += 1;
    }

    /// As it is shown.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            jobs: self.jobs.clone(),
            ands: self.ands,
            from_stock: self.from_stock,
            latency: LATENCY.into_iter().zip(self.latency).collect(),
            latency_sum: self.latency_sum,
            memory: cenote_session::memory::resident().unwrap_or(0),
            free: None,
            refused: self.refused.clone(),
        }
    }
}

/// Alarms, each once by its kind and what it is about.
#[derive(Debug, Default)]
pub(crate) struct Alarms(BTreeMap<(AlarmKind, String), Alarm>);

impl Alarms {
    /// Alarms of a kind, at most.
    const MOST: usize = 16;

    /// Raises an alarm about `what`, which says the latest from here on. Gives whether it is new.
    pub(crate) fn raise(&mut self, kind: AlarmKind, what: &str, text: String, advice: &str) -> bool {
        let key = (kind, what.to_owned());
        let of_kind = self.0.keys().filter(|(known, _)| *known == kind).count();
        if let Some(alarm) = self.0.get_mut(&key) {
            (alarm.text, alarm.advice) = (text, advice.into());
            return false;
        }
        if of_kind >= Self::MOST {
            return false;
        }
        let alarm = Alarm {
            kind,
            text,
            advice: advice.into(),
            since: Timestamp::now(),
        };
        self.0.insert(key, alarm);
        true
    }

    /// Ends one. Gives whether it was there.
    pub(crate) fn end(&mut self, kind: AlarmKind, what: &str) -> bool {
        self.0.remove(&(kind, what.to_owned())).is_some()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Alarm> {
        self.0.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_cumulative() {
        let mut tally = Tally::default();
        tally.done(10, Duration::from_millis(15));
        tally.done(10, Duration::from_secs(7200));
        let counts = tally.counts();
        let at = |limit: f64| {
            counts
                .latency
                .iter()
                .find(|(known, _)| *known == limit)
                .map(|(_, count)| *count)
        };
        assert_eq!((at(0.01), at(0.02), at(3600.0)), (Some(0), Some(1), Some(1)));
        assert_eq!(counts.ands, 20);
    }

    #[test]
    fn an_alarm_is_raised_once_and_ends() {
        let mut alarms = Alarms::default();
        assert!(alarms.raise(AlarmKind::PeerLost, "1", "party 1 is away".into(), "see to it"));
        assert!(!alarms.raise(AlarmKind::PeerLost, "1", "party 1 is away".into(), "see to it"));
        assert!(!alarms.raise(AlarmKind::PeerLost, "1", "it still is".into(), "see to it"));
        assert_eq!(alarms.all().len(), 1);
        assert_eq!(alarms.all()[0].text, "it still is");
        for job in 0..200 {
            alarms.raise(AlarmKind::Cheating, &job.to_string(), String::new(), "");
        }
        assert!(
            alarms.raise(AlarmKind::Clock, "1", String::new(), ""),
            "many of a kind silence no other"
        );
        assert!(alarms.end(AlarmKind::PeerLost, "1") && !alarms.end(AlarmKind::PeerLost, "1"));
    }
}
