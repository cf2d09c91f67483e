//! What is heard of a stream from all parties, put together moment by moment.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Moment, Note, error_log2, slowest};

/// What the parties have told.
pub(super) struct Log {
    every: Duration,
    /// How long a look at the parties' memory lasts.
    look: Duration,
    /// Each party's notes of moments that not all have told of.
    notes: Vec<VecDeque<Note>>,
    pub(super) first_error: Option<f64>,
    /// When each look began, in seconds of the session, and the least memory in use of each party in it, where it is known.
    looks: Vec<(f64, Vec<Option<u64>>)>,
    pub(super) last: Option<Moment>,
    /// Of what was told last, seconds of the session and AND gates.
    told: Option<(f64, u64)>,
}

impl Log {
    pub(super) fn new(parties: u8, every: Duration, look: Duration) -> Self {
        Self {
            every,
            look,
            first_error: None,
            looks: Vec::new(),
            notes: vec![VecDeque::new(); parties.into()],
            last: None,
            told: None,
        }
    }

    pub(super) fn hear(&mut self, party: usize, note: Note, told: &mut dyn FnMut(&Moment)) {
        if let Some(notes) = self.notes.get_mut(party) {
            notes.push_back(note);
        }
        // All parties tell of the same moments, one after the other.
        if self.notes.iter().any(VecDeque::is_empty) {
            return;
        }
        let notes: Vec<Note> = self.notes.iter_mut().filter_map(VecDeque::pop_front).collect();
        let moment = self.moment(notes);
        let now = slowest(&moment.parties);
        let due = self
            .told
            .is_none_or(|(before, _)| now.0 - before >= self.every.as_secs_f64());
        if due {
            told(&moment);
            self.told = Some(now);
        }
        self.look(&moment.parties);
        self.last = Some(moment);
    }

    /// Notes the parties' memory between two computations.
    fn look(&mut self, notes: &[Note]) {
        let (seconds, _) = slowest(notes);
        match self.looks.last_mut() {
            Some((began, least)) if seconds - *began < self.look.as_secs_f64() => {
                for (least, note) in least.iter_mut().zip(notes) {
                    *least = (*least).min(in_use(note));
                }
            }
            _ => {
                let now = notes.iter().map(in_use);
                self.looks.push((seconds, now.collect()));
            }
        }
    }

    /// By party, the least memory of the second quarter of the looks and of the last.
    pub(super) fn least(&self) -> Vec<Option<[u64; 2]>> {
        let quarter = self.looks.len() / 4;
        let least = |looks: &[(f64, Vec<Option<u64>>)], party: usize| {
            looks.iter().filter_map(|(_, least)| *least.get(party)?).min()
        };
        let both = |party: usize| {
            let (early, late) = (
                &self.looks[quarter..2 * quarter],
                &self.looks[self.looks.len() - quarter..],
            );
            Some([least(early, party)?, least(late, party)?])
        };
        (0..self.notes.len()).map(both).collect()
    }

    /// The rate is that since the moment told before, or since the beginning.
    fn moment(&mut self, parties: Vec<Note>) -> Moment {
        let (seconds, gates) = slowest(&parties);
        let first_error_log2 = *self.first_error.get_or_insert(error_log2(&parties));
        let (before, gates_before) = self.told.unwrap_or((0.0, 0));
        Moment {
            parties,
            and_gates_per_second: gates.saturating_sub(gates_before) as f64 / (seconds - before).max(1e-9),
            first_error_log2,
        }
    }

    /// The parties' last notes; the rate is that of the whole stream.
    pub(super) fn end(&mut self, notes: Vec<Note>) {
        self.told = None;
        self.last = Some(self.moment(notes));
    }
}

/// What a party has in use, or if that is not counted what its process has.
fn in_use(note: &Note) -> Option<u64> {
    note.in_use_bytes.or(note.memory_bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn note(party: u8, computations: u64, memory: u64) -> Note {
        Note {
            party,
            computations,
            seconds: computations as f64,
            and_gates: 1000 * computations,
            memory_bytes: Some(memory),
            ..Note::default()
        }
    }

    /// What a party never frees grows; what it has for a while does not count, nor what its allocator has.
    #[test]
    fn memory_is_compared_between_quarters() {
        let mut log = Log::new(2, Duration::ZERO, Duration::from_secs(10));
        for computation in 0..400u64 {
            let more = if computation % 10 < 2 { 50 } else { 0 };
            log.hear(
                0,
                note(0, computation, 100 + computation / 100 + more),
                &mut |_| (),
            );
            let counted = Note {
                in_use_bytes: Some(60 + more),
                ..note(1, computation, 100 + computation)
            };
            log.hear(1, counted, &mut |_| ());
        }
        assert_eq!(log.looks.len(), 40);
        assert_eq!(log.least(), [Some([101, 103]), Some([60, 60])]);
        let mut short = Log::new(1, Duration::ZERO, Duration::from_secs(10));
        short.hear(0, note(0, 1, 100), &mut |_| ());
        assert_eq!(short.least(), [None]);
    }
}
