//! Which jobs wait and which run: the order in which they begin, within what they may take.
//!
//! The proposers take turns, and each one's jobs begin in their order, each when it fits at every party that takes part. Where one does not fit, its
//! proposer's later jobs wait with it, but for those that leave out the party that lacks memory, and the others' go on. That lasts for [`PATIENCE`] from when only
//! their jobs are in its way; then its memory is kept for it, and nothing else begins at that party. So no job is passed over for ever. While its
//! proposer's own jobs are in its way, nobody else waits for it, and after it has begun the turn is another's. So no proposer holds up the others for
//! as long as it likes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_service::job::JobId;

use crate::running_job::RunningJob;

/// Calls of the leader for jobs that do not wait here yet, at most.
const EARLY: usize = 4096;

/// Jobs that stand and run side by side, at most, and one proposer's of them.
const STANDING: usize = 16;
const STANDING_OF_ONE: usize = 8;

/// How long others' jobs begin before one that they leave no room for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What may run at a party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Jobs side by side.
    pub(crate) jobs: u64,
    /// Of those, one proposer's.
    pub(crate) per_proposer: u64,
    /// Bytes of memory.
    pub(crate) memory: u64,
}

/// Stock that would serve a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The place of its kind among those that are to be kept.
    pub(crate) kind: usize,
    /// AND gates of the job.
    pub(crate) ands: u64,
}

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) job: JobId,
    /// Who proposed it.
    pub(crate) proposer: u8,
    /// How many take part.
    pub(crate) parties: u8,
    /// Bytes of memory that it takes, by party.
    pub(crate) memory: Vec<u64>,
    /// The stock that would serve it.
    pub(crate) wanted: Option<Wanted>,
    /// Whether it is cut into shards.
    pub(crate) in_shards: bool,
    /// Whether it stands: it runs until its time is over, beside those that have an end.
    pub(crate) stands: bool,
    /// How often it has begun here before.
    pub(crate) runs: u64,
    /// Until when it pauses, after an interruption.
    pub(crate) not_before: Option<Instant>,
}

/// The leader's word that a job begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// The shelf of stock that it has named.
    pub(crate) shelf: Option<u8>,
    /// How often it has begun the job before.
    pub(crate) again: u64,
}

impl Waiting {
    /// Whether it goes on later where its run is cut off.
    pub(crate) fn goes_on(&self) -> bool {
        self.in_shards || self.stands
    }

    fn pauses(&self, now: Instant) -> bool {
        self.not_before.is_some_and(|end| now < end)
    }

    fn memory_at(&self, party: u8) -> u64 {
        self.memory.get(usize::from(party)).copied().unwrap_or(0)
    }
}

/// The limits of the first so many parties, if all are there.
pub(crate) fn there(limits: &[Option<Limits>], parties: u8) -> Option<Vec<Limits>> {
    limits.get(..usize::from(parties))?.iter().copied().collect()
}

/// Jobs that wait and jobs that run.
pub(crate) struct Queue {
    me: u8,
    limits: Limits,
    lines: BTreeMap<u8, VecDeque<Waiting>>,
    /// The proposer whose job began last.
    last: u8,
    /// Jobs that others are in the way of, and since when.
    passed: BTreeMap<JobId, Instant>,
    running: BTreeMap<JobId, (Waiting, Arc<RunningJob>)>,
    /// Jobs that the leader has begun.
    called: BTreeMap<JobId, Call>,
    /// Bytes of memory that others than jobs take.
    reserved: u64,
    /// Nothing begins any more.
    closed: bool,
}

impl Queue {
    pub(crate) fn new(me: u8, limits: Limits) -> Self {
        Queue {
            me,
            limits,
            lines: BTreeMap::new(),
            last: 0,
            passed: BTreeMap::new(),
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

    /// The leader has begun a job, perhaps again while this party's last run of it still ends. False if there is no room to note that.
    pub(crate) fn call(&mut self, job: JobId, call: Call) -> bool {
        if let Some((_, running)) = self.running.get(&job)
            && !running.is_outdone_by(call)
        {
            return true;
        }
        if self.called.len() >= EARLY && !self.called.contains_key(&job) {
            return false;
        }
        self.called.insert(job, call);
        true
    }

    /// The next job that begins here as the leader's. `limits` says what each party may run; nothing of one that is not there.
    pub(crate) fn next_led(
        &mut self,
        now: Instant,
        limits: &[Option<Limits>],
    ) -> Option<(Waiting, Arc<RunningJob>)> {
        let mut passed = std::mem::take(&mut self.passed);
        let chosen = self.choose(now, limits, &mut passed);
        self.passed = passed;
        let (proposer, place) = chosen?;
        let waiting = self.lines.get(&proposer)?.get(place)?.clone();
        self.last = proposer;
        let call = Call {
            shelf: None,
            again: waiting.runs,
        };
        Some(self.begin(proposer, place, waiting, call))
    }

    /// Whose job begins next, and its place in the line. Notes in `passed` since when others have been in the way of a job.
    fn choose(
        &self,
        now: Instant,
        limits: &[Option<Limits>],
        passed: &mut BTreeMap<JobId, Instant>,
    ) -> Option<(u8, usize)> {
        let is_long = |since: &Instant| now.saturating_duration_since(*since) >= PATIENCE;
        // Nothing goes before what has waited for long, whoever's turn it is.
        let mut order: Vec<_> = self.lines.iter().collect();
        order.sort_by_cached_key(|(proposer, line)| {
            let since = line
                .iter()
                .filter_map(|waiting| passed.get(&waiting.job).copied());
            let longest = since.filter(is_long).min();
            (longest.is_none(), longest, **proposer <= self.last)
        });
        // The lowest party whose memory is kept for a job that has waited for long: nothing else begins there.
        let mut kept = u8::MAX;
        for (proposer, line) in order {
            // The same for what comes later in this line.
            let mut most = kept;
            for (place, waiting) in line.iter().enumerate() {
                let limits = there(limits, waiting.parties)
                    .filter(|limits| !waiting.pauses(now) && self.has_place(waiting, limits));
                let Some(limits) = limits else {
                    passed.remove(&waiting.job);
                    continue;
                };
                if waiting.parties > most {
                    continue;
                }
                let Some(party) = self.full_at(waiting, &limits, |_| true) else {
                    return Some((*proposer, place));
                };
                most = most.min(party);
                let own = |of: &Waiting| of.proposer == *proposer;
                if self.full_at(waiting, &limits, own).is_none()
                    && is_long(passed.entry(waiting.job).or_insert(now))
                {
                    kept = kept.min(party);
                }
            }
        }
        None
    }

    /// Whether a job has a place beside those that run, where the parties may run so many.
    fn has_place(&self, waiting: &Waiting, limits: &[Limits]) -> bool {
        let (all, own) = (self.run_by(|_| true), self.run_by(|by| by == waiting.proposer));
        let mut limits = limits.iter();
        if waiting.stands {
            let own = self.standing(|by| by == waiting.proposer);
            return !self.closed && self.standing(|_| true) < STANDING && own < STANDING_OF_ONE;
        }
        !self.closed && limits.all(|limits| all < limits.jobs && own < limits.per_proposer)
    }

    /// The first party at which a job does not fit beside those that run and are `counted`.
    fn full_at(
        &self,
        waiting: &Waiting,
        limits: &[Limits],
        counted: impl Fn(&Waiting) -> bool,
    ) -> Option<u8> {
        let mut parties = (0..).zip(limits);
        let full = parties.find(|(party, limits)| !self.fits_at(*party, limits, waiting, &counted));
        full.map(|(party, _)| party)
    }

    /// Whether a job fits at a party beside those that run and are `counted`. What never fits runs alone.
    fn fits_at(
        &self,
        party: u8,
        limits: &Limits,
        waiting: &Waiting,
        counted: impl Fn(&Waiting) -> bool,
    ) -> bool {
        let taken = self.taken_at(party, counted);
        taken == 0 || taken.saturating_add(waiting.memory_at(party)) <= limits.memory
    }

    /// Bytes of memory that a party's jobs that are `counted` take, and at this party what else does.
    fn taken_at(&self, party: u8, counted: impl Fn(&Waiting) -> bool) -> u64 {
        let running = self.running.values().map(|(running, _)| running);
        let others = if party == self.me { self.reserved } else { 0 };
        running
            .filter(|running| counted(running))
            .map(|running| running.memory_at(party))
            .fold(others, u64::saturating_add)
    }

    /// The next job that the leader has begun, that has a place and fits here, and that `can_meet` says can begin.
    pub(crate) fn next_called(
        &mut self,
        now: Instant,
        can_meet: impl Fn(&Waiting) -> bool,
    ) -> Option<(Waiting, Arc<RunningJob>)> {
        for (proposer, line) in &self.lines {
            for (place, waiting) in line.iter().enumerate() {
                let called =
                    self.called.contains_key(&waiting.job) && !waiting.pauses(now) && can_meet(waiting);
                let fits = || self.fits_at(self.me, &self.limits, waiting, |_| true);
                if called && self.has_place(waiting, &[self.limits]) && fits() {
                    let (proposer, waiting) = (*proposer, waiting.clone());
                    let call = self.called.remove(&waiting.job).unwrap_or_default();
                    return Some(self.begin(proposer, place, waiting, call));
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
        call: Call,
    ) -> (Waiting, Arc<RunningJob>) {
        if let Some(line) = self.lines.get_mut(&proposer) {
            line.remove(place);
            if line.is_empty() {
                self.lines.remove(&proposer);
            }
        }
        self.passed.remove(&waiting.job);
        let mut running = RunningJob::new(waiting.job, waiting.parties, call.shelf);
        (running.again, running.in_shards) = (call.again, waiting.in_shards);
        running.stands = waiting.stands;
        let running = Arc::new(running);
        self.running
            .insert(waiting.job, (waiting.clone(), Arc::clone(&running)));
        (waiting, running)
    }

    /// Jobs that run and have an end, of these proposers.
    fn run_by(&self, counted: impl Fn(u8) -> bool) -> u64 {
        let running = self.running.values();
        let counted = running.filter(|(waiting, _)| !waiting.stands && counted(waiting.proposer));
        counted.count() as u64
    }

    /// Jobs that run and stand, of these proposers.
    fn standing(&self, counted: impl Fn(u8) -> bool) -> usize {
        let running = self.running.values();
        let counted = running.filter(|(waiting, _)| waiting.stands && counted(waiting.proposer));
        counted.count()
    }

    /// Takes so much memory for something else than a job, unless that leaves too little.
    pub(crate) fn reserve(&mut self, memory: u64) -> bool {
        let all = self.taken_at(self.me, |_| true).saturating_add(memory);
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
        self.passed.remove(&job);
        for line in self.lines.values_mut() {
            line.retain(|waiting| waiting.job != job);
        }
        self.lines.retain(|_, line| !line.is_empty());
    }

    /// A job has come to its end, however.
    pub(crate) fn done(&mut self, job: JobId) {
        let ran = self.running.remove(&job);
        // One that goes on may be begun again by now.
        if ran.is_none_or(|(waiting, _)| !waiting.goes_on()) {
            self.called.remove(&job);
        }
    }

    /// The run of a job, if it runs.
    pub(crate) fn running(&self, job: JobId) -> Option<Arc<RunningJob>> {
        self.running.get(&job).map(|(_, running)| Arc::clone(running))
    }

    /// Whether a job waits or runs.
    pub(crate) fn has(&self, job: JobId) -> bool {
        let mut waiting = self.lines.values().flatten();
        self.running.contains_key(&job) || waiting.any(|waiting| waiting.job == job)
    }

    /// All runs.
    pub(crate) fn all_running(&self) -> Vec<Arc<RunningJob>> {
        self.running
            .values()
            .map(|(_, running)| Arc::clone(running))
            .collect()
    }

    /// Whether a job may begin because its pause has ended since this was asked last.
    pub(crate) fn end_pauses(&mut self, now: Instant) -> bool {
        let mut ended = false;
        for waiting in self.lines.values_mut().flatten() {
            if waiting.not_before.is_some() && !waiting.pauses(now) {
                waiting.not_before = None;
                ended = true;
            }
        }
        ended
    }

    /// Whether nothing runs that has an end, and nothing waits whose parties are all there.
    pub(crate) fn is_idle(&self, is_there: impl Fn(u8) -> bool) -> bool {
        let mut waiting = self.lines.values().flatten();
        self.run_by(|_| true) == 0 && !waiting.any(|waiting| (0..waiting.parties).all(&is_there))
    }

    /// Nothing begins any more.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }
}

#[cfg(test)]
mod tests;
