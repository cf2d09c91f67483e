//! Which jobs wait and which run: the order in which they begin, within what they may take.
//!
//! The proposers take turns, and each one's jobs begin in their order. A job that does not fit beside those that run waits, and those behind
//! it with it: so it is not passed over for ever.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cenote_service::job::JobId;

use crate::flight::Flight;
use crate::stock::Wanted;

/// Calls of the leader for jobs that do not wait here yet, at most.
const EARLY: usize = 4096;

/// What may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Jobs side by side.
    pub(crate) jobs: u64,
    /// Of those, one proposer's.
    pub(crate) per_proposer: u64,
    /// Bytes of memory.
    pub(crate) memory: u64,
}

/// A job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The job.
    pub(crate) job: JobId,
    /// Who proposed it.
    pub(crate) proposer: u8,
    /// How many take part.
    pub(crate) parties: u8,
    /// Bytes of memory that it takes.
    pub(crate) memory: u64,
    /// The stock that would serve it.
    pub(crate) wanted: Option<Wanted>,
}

/// Jobs that wait and jobs that run.
pub(crate) struct Desk {
    limits: Limits,
    lines: BTreeMap<u8, VecDeque<Waiting>>,
    /// The proposer whose job began last.
    last: u8,
    running: BTreeMap<JobId, (Waiting, Arc<Flight>)>,
    /// Jobs that the leader has begun, and the shelves of stock that it has named.
    called: BTreeMap<JobId, Option<u8>>,
    /// Bytes of memory that others than jobs take.
    reserved: u64,
    /// Nothing begins any more.
    closed: bool,
}

impl Desk {
    pub(crate) fn new(limits: Limits) -> Self {
        Desk {
            limits,
            lines: BTreeMap::new(),
            last: 0,
            running: BTreeMap::new(),
            called: BTreeMap::new(),
            reserved: 0,
            closed: false,
        }
    }

    /// Why a job of so much memory never fits, if it does not.
    pub(crate) fn refusal(&self, memory: u64) -> Option<String> {
        (memory > self.limits.memory).then(|| {
            format!(
                "it takes about {} MB of memory here, and jobs may take {} MB; use fewer lanes",
                memory.div_ceil(1_000_000),
                self.limits.memory / 1_000_000
            )
        })
    }

    /// A job waits from here on. Once.
    pub(crate) fn add(&mut self, waiting: Waiting) {
        let line = self.lines.entry(waiting.proposer).or_default();
        if !line.iter().any(|other| other.job == waiting.job) && !self.running.contains_key(&waiting.job) {
            line.push_back(waiting);
        }
    }

    /// The leader has begun a job. False if there is no room to note that.
    pub(crate) fn call(&mut self, job: JobId, shelf: Option<u8>) -> bool {
        if self.running.contains_key(&job) {
            return true;
        }
        if self.called.len() >= EARLY {
            return false;
        }
        self.called.insert(job, shelf);
        true
    }

    /// The next job that begins here as the leader's. `room` says how many jobs the other parties of so many run side by side, and of one
    /// proposer's; nothing if one of them is not there.
    pub(crate) fn next_led(
        &mut self,
        room: impl Fn(&Waiting) -> Option<(u64, u64)>,
    ) -> Option<(Waiting, Arc<Flight>)> {
        let after = self.lines.range(self.last.saturating_add(1)..);
        let order: Vec<u8> = after
            .chain(self.lines.range(..=self.last))
            .map(|(proposer, _)| *proposer)
            .collect();
        for proposer in order {
            let line = self
                .lines
                .get(&proposer)
                .into_iter()
                .flatten()
                .copied()
                .enumerate();
            let mut ready = line.filter_map(|(place, waiting)| Some((place, waiting, room(&waiting)?)));
            let Some((place, waiting, _)) =
                ready.find(|(_, waiting, (jobs, each))| self.has_place(waiting, *jobs, *each))
            else {
                continue;
            };
            if !self.fits(&waiting) {
                return None;
            }
            self.last = proposer;
            return Some(self.begin(proposer, place, waiting, None));
        }
        None
    }

    /// Whether a job has a place beside those that run, where others have so many.
    fn has_place(&self, waiting: &Waiting, jobs: u64, per_proposer: u64) -> bool {
        !self.closed
            && (self.running.len() as u64) < self.limits.jobs.min(jobs)
            && self.run_by(waiting.proposer) < self.limits.per_proposer.min(per_proposer)
    }

    /// The next job that the leader has begun and that has a place and fits here.
    pub(crate) fn next_called(&mut self) -> Option<(Waiting, Arc<Flight>)> {
        for (proposer, line) in &self.lines {
            for (place, waiting) in line.iter().enumerate() {
                let called = self.called.contains_key(&waiting.job);
                if called && self.has_place(waiting, u64::MAX, u64::MAX) && self.fits(waiting) {
                    let (proposer, waiting) = (*proposer, *waiting);
                    let shelf = self.called.remove(&waiting.job).flatten();
                    return Some(self.begin(proposer, place, waiting, shelf));
                }
            }
        }
        None
    }

    fn begin(
        &mut self,
        proposer: u8,
        place: usize,
        waiting: Waiting,
        shelf: Option<u8>,
    ) -> (Waiting, Arc<Flight>) {
        if let Some(line) = self.lines.get_mut(&proposer) {
            line.remove(place);
            if line.is_empty() {
                self.lines.remove(&proposer);
            }
        }
        let flight = Arc::new(Flight::new(waiting.job, waiting.parties, shelf));
        self.running.insert(waiting.job, (waiting, Arc::clone(&flight)));
        (waiting, flight)
    }

    fn run_by(&self, proposer: u8) -> u64 {
        self.running
            .values()
            .filter(|(waiting, _)| waiting.proposer == proposer)
            .count() as u64
    }

    fn fits(&self, waiting: &Waiting) -> bool {
        let taken: u64 = self.running.values().map(|(running, _)| running.memory).sum();
        let all = taken.saturating_add(self.reserved).saturating_add(waiting.memory);
        self.is_empty() || all <= self.limits.memory
    }

    /// Whether nothing takes memory.
    fn is_empty(&self) -> bool {
        self.running.is_empty() && self.reserved == 0
    }

    /// Takes so much memory for something else than a job, unless that leaves too little.
    pub(crate) fn reserve(&mut self, memory: u64) -> bool {
        let taken: u64 = self.running.values().map(|(running, _)| running.memory).sum();
        let all = taken.saturating_add(self.reserved).saturating_add(memory);
        let fits = !self.closed && all <= self.limits.memory;
        if fits {
            self.reserved += memory;
        }
        fits
    }

    /// Gives memory back that was taken so.
    pub(crate) fn release(&mut self, memory: u64) {
        self.reserved = self.reserved.saturating_sub(memory);
    }

    /// A job does not wait any more, and is not called.
    pub(crate) fn remove(&mut self, job: JobId) {
        self.called.remove(&job);
        for line in self.lines.values_mut() {
            line.retain(|waiting| waiting.job != job);
        }
        self.lines.retain(|_, line| !line.is_empty());
    }

    /// A job has come to its end, however.
    pub(crate) fn done(&mut self, job: JobId) {
        self.running.remove(&job);
        self.called.remove(&job);
    }

    /// The run of a job, if it runs.
    pub(crate) fn flight(&self, job: JobId) -> Option<Arc<Flight>> {
        self.running.get(&job).map(|(_, flight)| Arc::clone(flight))
    }

    /// Whether a job waits or runs.
    pub(crate) fn has(&self, job: JobId) -> bool {
        let mut waiting = self.lines.values().flatten();
        self.running.contains_key(&job) || waiting.any(|waiting| waiting.job == job)
    }

    /// All runs.
    pub(crate) fn flights(&self) -> Vec<Arc<Flight>> {
        self.running
            .values()
            .map(|(_, flight)| Arc::clone(flight))
            .collect()
    }

    /// Whether nothing waits and nothing runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.lines.is_empty() && self.running.is_empty()
    }

    /// Nothing begins any more.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: u8) -> JobId {
        JobId([number; 16])
    }

    fn waiting(number: u8, proposer: u8, memory: u64) -> Waiting {
        Waiting {
            job: job(number),
            proposer,
            parties: 3,
            memory,
            wanted: None,
        }
    }

    fn desk(jobs: u64, per_proposer: u64) -> Desk {
        Desk::new(Limits {
            jobs,
            per_proposer,
            memory: 100,
        })
    }

    fn led(desk: &mut Desk) -> Option<JobId> {
        desk.next_led(|_| Some((100, 100)))
            .map(|(waiting, _)| waiting.job)
    }

    #[test]
    fn proposers_take_turns() {
        let mut desk = desk(10, 10);
        for number in 0..4 {
            desk.add(waiting(number, 0, 1));
        }
        desk.add(waiting(10, 1, 1));
        desk.add(waiting(20, 2, 1));
        desk.add(waiting(20, 2, 1));
        let order: Vec<JobId> = std::iter::from_fn(|| led(&mut desk)).collect();
        assert_eq!(order, [10, 20, 0, 1, 2, 3].map(job));
    }

    #[test]
    fn what_does_not_fit_waits_and_is_not_passed_over() {
        let mut desk = desk(10, 10);
        for (number, memory) in [(1, 60), (2, 60), (3, 1)] {
            desk.add(waiting(number, 0, memory));
        }
        assert!(desk.refusal(101).is_some_and(|text| text.contains("memory")) && desk.refusal(100).is_none());
        assert_eq!(led(&mut desk), Some(job(1)));
        assert_eq!(led(&mut desk), None);
        desk.done(job(1));
        assert_eq!((led(&mut desk), led(&mut desk)), (Some(job(2)), Some(job(3))));
        assert!(!desk.is_idle());
    }

    #[test]
    fn what_else_takes_memory_counts_like_a_job() {
        let mut desk = desk(10, 10);
        assert!(desk.reserve(60) && !desk.reserve(60) && desk.reserve(10));
        desk.add(waiting(1, 0, 60));
        assert_eq!(led(&mut desk), None);
        desk.release(60);
        assert_eq!(led(&mut desk), Some(job(1)));
        assert!(!desk.reserve(31) && desk.reserve(30));
    }

    #[test]
    fn one_proposer_does_not_take_all_places() {
        let mut desk = desk(3, 2);
        for number in 0..3 {
            desk.add(waiting(number, 1, 1));
        }
        desk.add(waiting(9, 2, 1));
        let order: Vec<JobId> = std::iter::from_fn(|| led(&mut desk)).collect();
        assert_eq!(order, [job(0), job(9), job(1)]);
        desk.done(job(9));
        assert_eq!(led(&mut desk), None);
        // Where the peers run fewer, fewer begin.
        desk.done(job(0));
        assert!(desk.next_led(|_| Some((1, 100))).is_none());
        assert!(desk.next_led(|_| Some((100, 1))).is_none());
        assert_eq!(led(&mut desk), Some(job(2)));
    }

    #[test]
    fn a_called_job_begins_when_it_waits_and_fits() {
        let mut desk = desk(10, 10);
        assert!(desk.call(job(1), None));
        assert!(desk.next_called().is_none());
        desk.add(waiting(1, 0, 90));
        desk.add(waiting(2, 0, 90));
        let (first, _) = desk.next_called().expect("called");
        assert_eq!(first.job, job(1));
        assert!(desk.call(job(2), None));
        assert!(desk.next_called().is_none());
        desk.done(job(1));
        assert!(desk.next_called().is_some());
        desk.remove(job(2));
        desk.close();
        desk.add(waiting(3, 0, 1));
        assert!(led(&mut desk).is_none());

        let mut narrow = super::tests::desk(1, 1);
        for number in [1, 2] {
            narrow.add(waiting(number, 0, 1));
            assert!(narrow.call(job(number), None));
        }
        assert!(
            narrow.next_called().is_some() && narrow.next_called().is_none(),
            "a leader cannot begin more than fit"
        );

        let mut full = super::tests::desk(1, 1);
        for number in 0..EARLY as u32 {
            let mut name = [0; 16];
            name[..4].copy_from_slice(&number.to_le_bytes());
            assert!(full.call(JobId(name), None));
        }
        assert!(!full.call(job(255), None));
    }

    #[test]
    fn one_whose_parties_are_away_holds_up_nobody() {
        let mut desk = desk(10, 10);
        desk.add(Waiting {
            parties: 3,
            ..waiting(1, 0, 1)
        });
        desk.add(Waiting {
            parties: 2,
            ..waiting(2, 0, 1)
        });
        let found = desk.next_led(|waiting| (waiting.parties == 2).then_some((10, 10)));
        assert_eq!(found.map(|(waiting, _)| waiting.job), Some(job(2)));
        assert!(desk.flight(job(1)).is_none() && desk.flight(job(2)).is_some());
        assert_eq!(led(&mut desk), Some(job(1)));
    }
}
