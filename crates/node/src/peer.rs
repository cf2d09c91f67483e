//! What a service keeps of a peer: what it has said, and how much it may still ask.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cenote_service::Told;
use cenote_service::job::{Digest, JobId, Proposal, Remote};

use crate::locks::lock;
use crate::programs::LARGEST;
use crate::queue::Limits;

/// Messages on jobs that are not known yet, at most: a third party's word may be quicker than the proposer's.
const EARLY: usize = 500;
/// How long they are kept.
const EARLY_FOR: Duration = Duration::from_secs(60);
/// Pieces of programs that it may have in a second, in the long run.
const PIECES: f64 = 200.0;
/// Messages that are about no single job and no program: so many a second are seen to, in the long run, those on many jobs for more than one.
const ROUNDS: f64 = 500.0;
/// Lines of the log on what it does wrong, in a second, in the long run.
const LINES: f64 = 2.0;
/// How long a piece may be on its way before it is asked for again; then twice as long, up to sixteen times.
const LATE: Duration = Duration::from_secs(3);
const LATEST: u32 = 4;
/// How long a program may stand still before it is given up.
const STALE: Duration = Duration::from_secs(120);
/// Programs that are on their way, at most.
const COMING: usize = 8;
/// Proposals that wait for their programs, at most.
const PROPOSALS: usize = 256;
/// Seconds' worth of proposals that may come at once.
const BURST: f64 = 2.0;

pub(crate) struct Peer(Mutex<Known>);

/// What is known of a peer.
pub(crate) struct Known {
    /// Whether it is there.
    pub(crate) up: bool,
    /// Since when nothing can be done with it: it is not there, or has not said since that it speaks this version and
    /// calls the parties as this service does.
    pub(crate) lost: Option<Instant>,
    /// What it and this party remember of each other's audit logs, over the connection that is there.
    pub(crate) past: Past,
    /// Why nothing is done with it: its folder was put back to an earlier state.
    pub(crate) put_back: Option<String>,
    /// Whether something could be done with it when that was looked at last.
    pub(crate) was_with_us: bool,
    /// What it has said of itself.
    pub(crate) hello: Option<Hello>,
    /// What it may still ask.
    pub(crate) bucket: Bucket,
    /// Pieces of programs that it may still ask for.
    pub(crate) pieces: Bucket,
    /// Its words on where all its jobs and its stock stand that are still seen to.
    pub(crate) rounds: Bucket,
    /// Lines of the log on what it does wrong that may still be written, and those that were left out since the last one.
    lines: Bucket,
    unsaid: u64,
    /// Words on jobs that are not known here, and when they came.
    early: VecDeque<(JobId, Remote, Instant)>,
    /// Programs that it is sending.
    coming: BTreeMap<Digest, Coming>,
    /// How far this party is in greeting it over the connection that is there.
    pub(crate) greeting: Greeting,
    /// Bytes of its messages that wait.
    pub(crate) waiting: usize,
    /// Whether it has said that it can record nothing at present.
    pub(crate) stuck: bool,
    /// Messages of it were left out: both say again where their jobs stand.
    pub(crate) behind: bool,
}

/// The first words over a connection, before which the peer does not listen to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Greeting {
    Due,
    UnderWay,
    Done,
}

/// What two parties have said to each other before anything else, above all on their audit logs.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Whether the peer has greeted this party.
    pub(crate) is_greeted: bool,
    /// The line of the peer's log that this party has asked about, or zero if it remembers none.
    pub(crate) asked: Option<u64>,
    /// The peer's log holds that line.
    pub(crate) is_there: bool,
    /// What the peer remembers of this party's log.
    pub(crate) question: Option<Told>,
    /// This party's answer to that.
    pub(crate) answer: Option<Answer>,
}

/// What a party answers to a question on a line of its audit log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    /// Whether the log holds it.
    pub(crate) there: bool,
    /// Whether the peer was told.
    pub(crate) is_told: bool,
}

impl Past {
    /// Whether the peer's log holds what this party remembers.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.asked.is_some_and(|line| line == 0 || self.is_there)
    }

    fn is_compared(&self) -> bool {
        self.is_greeted && self.is_confirmed() && self.answer.is_some_and(|answer| answer.is_told)
    }
}

/// What a peer says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hello {
    /// In what it differs from this service, so that nothing can be done with it.
    pub(crate) differs: Option<String>,
    /// The version of its program.
    pub(crate) program: String,
    /// What it may run.
    pub(crate) limits: Limits,
}

/// A program that is coming.
struct Coming {
    text: String,
    asked: Instant,
    /// How often the next piece was asked for again.
    again: u32,
    moved: Instant,
    proposals: Vec<Proposal>,
}

/// What becomes of a piece.
pub(crate) enum Piece {
    /// It belongs to nothing.
    Stray,
    /// Ask for what begins here.
    More(u64),
    /// It was the last one: the text, and what waits for it.
    Whole(String, Vec<Proposal>),
    /// It cannot be a part of that program, for which these wait.
    Wrong(Vec<Proposal>),
}

impl Peer {
    pub(crate) fn new(a_second: u64) -> Self {
        Peer(Mutex::new(Known {
            up: false,
            lost: Some(Instant::now()),
            past: Past::default(),
            put_back: None,
            was_with_us: false,
            hello: None,
            bucket: Bucket::new(a_second as f64),
            pieces: Bucket::new(PIECES),
            rounds: Bucket::new(ROUNDS),
            lines: Bucket::new(LINES),
            unsaid: 0,
            early: VecDeque::new(),
            coming: BTreeMap::new(),
            greeting: Greeting::Due,
            waiting: 0,
            stuck: false,
            behind: false,
        }))
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

impl Known {
    /// Whether a line may be written on what it has done wrong: if so, how many were left out before.
    pub(crate) fn line(&mut self, now: Instant) -> Option<u64> {
        if self.lines.take(now) {
            return Some(std::mem::take(&mut self.unsaid));
        }
        self.unsaid = self.unsaid.saturating_add(1);
        None
    }

    /// Whether anything can be done with it: it is there, does not differ, and neither lacks what the other remembers of it.
    pub(crate) fn is_with_us(&self) -> bool {
        let is_alike = self.hello.as_ref().is_some_and(|hello| hello.differs.is_none());
        self.up && is_alike && self.past.is_compared() && self.put_back.is_none()
    }

    /// Why nothing can be done with it while it is there, if that follows from what it says of itself.
    pub(crate) fn differs(&self) -> Option<String> {
        self.hello.as_ref().filter(|_| self.up)?.differs.clone()
    }

    /// Why nothing can be done with it while it is there.
    pub(crate) fn is_refused(&self) -> Option<String> {
        self.differs()
            .or_else(|| self.put_back.clone().filter(|_| self.up))
    }

    /// Why jobs with it wait, if they do.
    pub(crate) fn holds_up(&self) -> Option<String> {
        let why = match (self.up, self.is_refused()) {
            (false, _) => "it is not connected",
            (true, Some(refused)) => return Some(refused),
            (true, None) if self.hello.is_none() || !self.past.is_greeted => {
                "it has not said that it speaks this service's version"
            }
            (true, None) if !self.is_with_us() => {
                "it and this party have not compared yet what they remember of each other's audit logs"
            }
            (true, None) if self.stuck => {
                "it can record nothing at present, as with a full disk; ask its operator"
            }
            (true, None) => return None,
        };
        Some(why.into())
    }

    /// Whether it listens to this party, too.
    pub(crate) fn listens(&self) -> bool {
        self.is_with_us() && self.greeting == Greeting::Done
    }

    /// Keeps its word on a job that is not known here.
    pub(crate) fn keep_early(&mut self, job: JobId, says: Remote) {
        self.early.retain(|(_, _, came)| came.elapsed() < EARLY_FOR);
        if self.early.len() >= EARLY {
            self.early.pop_front();
        }
        self.early.push_back((job, says, Instant::now()));
    }

    /// Its words on that job.
    pub(crate) fn take_early(&mut self, job: JobId) -> Vec<Remote> {
        let (taken, kept) = std::mem::take(&mut self.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|(known, ..)| *known == job);
        self.early = kept;
        taken.into_iter().map(|(_, says, _)| says).collect()
    }

    /// A proposal waits for its program. Gives whether the program must be asked for, or nothing where too many wait.
    pub(crate) fn wait_for(&mut self, proposal: Proposal) -> Option<bool> {
        let digest = proposal.program.digest;
        let waiting: usize = self.coming.values().map(|coming| coming.proposals.len()).sum();
        if waiting >= PROPOSALS {
            return None;
        }
        let is_new = self.await_program(digest)?;
        if let Some(coming) = self.coming.get_mut(&digest)
            && !coming.proposals.iter().any(|other| other.id == proposal.id)
        {
            coming.proposals.push(proposal);
        }
        Some(is_new)
    }

    /// A program is to come. Gives whether it must be asked for, or nothing where too many are on their way.
    pub(crate) fn await_program(&mut self, digest: Digest) -> Option<bool> {
        let is_new = !self.coming.contains_key(&digest);
        if is_new && self.coming.len() >= COMING {
            return None;
        }
        self.coming.entry(digest).or_insert_with(|| Coming {
            text: String::new(),
            asked: Instant::now(),
            again: 0,
            moved: Instant::now(),
            proposals: Vec::new(),
        });
        Some(is_new)
    }

    /// A piece has come.
    pub(crate) fn piece(&mut self, program: Digest, at: u64, of: u64, text: &str) -> Piece {
        let Some(coming) = self.coming.get_mut(&program) else {
            return Piece::Stray;
        };
        if at != coming.text.len() as u64 {
            // A repetition.
            return Piece::Stray;
        }
        let end = at.saturating_add(text.len() as u64);
        if text.is_empty() || of > LARGEST as u64 || end > of {
            let proposals = self.coming.remove(&program).map(|coming| coming.proposals);
            return Piece::Wrong(proposals.unwrap_or_default());
        }
        coming.text.push_str(text);
        coming.asked = Instant::now();
        coming.again = 0;
        coming.moved = coming.asked;
        if end < of {
            return Piece::More(end);
        }
        match self.coming.remove(&program) {
            Some(coming) => Piece::Whole(coming.text, coming.proposals),
            None => Piece::Stray,
        }
    }

    /// Programs of which the next piece is late, and where they stop: to be asked for again, later and later. After a while they are given
    /// up, until the peer says again that its job is open.
    pub(crate) fn stalled(&mut self, now: Instant) -> Vec<(Digest, u64)> {
        self.coming
            .retain(|_, coming| now.duration_since(coming.moved) < STALE);
        let late = self
            .coming
            .iter_mut()
            .filter(|(_, coming)| now.duration_since(coming.asked) >= LATE * (1 << coming.again.min(LATEST)));
        late.map(|(digest, coming)| {
            coming.asked = now;
            coming.again += 1;
            (*digest, coming.text.len() as u64)
        })
        .collect()
    }
}

/// So much a second in the long run, and a little more at once.
pub(crate) struct Bucket {
    rate: f64,
    most: f64,
    left: f64,
    last: Instant,
}

impl Bucket {
    pub(crate) fn new(rate: f64) -> Self {
        Self::with(rate, rate * BURST)
    }

    /// The same with so much at once.
    pub(crate) fn with(rate: f64, most: f64) -> Self {
        Bucket {
            rate,
            most,
            left: most,
            last: Instant::now(),
        }
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.duration_since(self.last).as_secs_f64();
        self.last = self.last.max(now);
        self.left = (self.left + passed * self.rate).min(self.most);
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }

    /// Takes so many, and gives how long it is until there are as many.
    pub(crate) fn owe(&mut self, count: f64, now: Instant) -> Duration {
        self.fill(now);
        self.left -= count;
        Duration::from_secs_f64((-self.left / self.rate).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_rate_waits_its_turn() {
        let mut bucket = Bucket::new(10.0);
        let now = bucket.last;
        let waits: Vec<Duration> = (0..40).map(|_| bucket.owe(1.0, now)).collect();
        assert_eq!((waits[19], waits[39]), (Duration::ZERO, Duration::from_secs(2)));
        assert_eq!(bucket.owe(1.0, now + Duration::from_secs(60)), Duration::ZERO);
    }

    #[test]
    fn a_peer_cannot_fill_the_log() {
        let peer = Peer::new(1);
        let mut known = peer.known();
        let now = known.lines.last;
        let told: Vec<Option<u64>> = (0..100).map(|_| known.line(now)).collect();
        assert_eq!(told[..4], [Some(0); 4]);
        assert!(told[4..].iter().all(Option::is_none), "{told:?}");
        let later = now + Duration::from_secs(1);
        assert_eq!(known.line(later), Some(96));
        assert_eq!(known.line(later), Some(0));
        assert_eq!(known.line(later), None);
    }

    #[test]
    fn a_piece_that_is_late_is_asked_for_later_and_later() {
        let peer = Peer::new(1);
        let mut known = peer.known();
        let program = Digest([1; 32]);
        assert_eq!(known.await_program(program), Some(true));
        assert_eq!(known.await_program(program), Some(false));
        let start = known.coming[&program].asked;
        let is_asked = |second: &u64| known.stalled(start + Duration::from_secs(*second)) == [(program, 0)];
        let asked: Vec<u64> = (1..130).filter(is_asked).collect();
        assert_eq!(asked, [3, 9, 21, 45, 93]);
        assert!(known.coming.is_empty());
        for other in 0..COMING as u8 {
            assert_eq!(known.await_program(Digest([other; 32])), Some(true));
        }
        assert_eq!(known.await_program(Digest([99; 32])), None);
    }
}
