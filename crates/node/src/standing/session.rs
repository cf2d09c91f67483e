//! One session of a job that stands, at one party.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use cenote::keeping;
use cenote::runner::AlsoAgree;
use cenote::standing::{Standing, side_by_side};
use cenote::{BitMatrix, PartyId, Program};
use cenote_net::Channel;
use cenote_service::job::{Beginning, CallId, FailKind, Job, OwnCall, StateName};
use cenote_service::{Error, Jobs, Pending, ResultKey, Timestamp};
use cenote_session::Error as EngineError;

use super::checks::{CALLS, check_count};
use super::computing::{Computing, Serves, opens_late};
use super::desk::{Begun, Desk, Given};
use super::queries::Queries;
use super::record::{Learnt, Outcome};
use super::words::{BATCH, OFFERS, Offers, USED, Word, Words, check_begun, recv_used, send_begun, send_used};
use crate::failure::Fault;
use crate::message::LEADER;
use crate::running_job::RunningJob;

/// How often each side says that it is there, at least.
const BEAT: Duration = Duration::from_secs(1);
/// Why a call has failed of which nothing else is on record.
const LOST: &str = "how it ended could not be recorded; whether others have learnt its outputs is not known";
/// Batches whose outcomes wait to be recorded, at most.
const AHEAD: usize = 4;

/// A session of a job that stands, ready to begin.
pub(crate) struct Serving<'a> {
    pub(crate) me: u8,
    pub(crate) jobs: &'a Jobs,
    pub(crate) key: &'a ResultKey,
    pub(crate) job: &'a Job,
    pub(crate) running: &'a RunningJob,
    pub(crate) also_agree: &'a (dyn AlsoAgree + Sync),
    pub(crate) phase_timeout: Option<Duration>,
    /// What becomes of the base-2 logarithm of the probability that a wrong output of the session has passed.
    pub(crate) bound: &'a (dyn Fn(f64) + Sync),
}

impl Serving<'_> {
    /// The session, from its first word to its end in order. Calls that had begun and not ended fail with it.
    pub(crate) fn serve(
        &self,
        desk: &Desk,
        (serves, words): (Serves<'_>, Words),
    ) -> std::result::Result<(), Fault> {
        // Of a session before this one, how a call ended may not have been recorded.
        self.jobs
            .fail_calls(Some(desk.job), LOST, Timestamp::now())
            .map_err(unrecorded)?;
        desk.begin_session();
        let served = self.served(desk, serves, words);
        let begun = desk.end_session();
        if let Err(fault) = &served {
            self.fail_begun(desk, begun, &fault.reason);
        }
        served
    }

    fn served(&self, desk: &Desk, serves: Serves<'_>, words: Words) -> std::result::Result<(), Fault> {
        let Words {
            mut offers,
            mut batches,
            others,
        } = words;
        let mut computing = self.start(desk, serves)?;
        let reserved = self
            .jobs
            .reserved_calls(self.job.proposal.id)
            .map_err(unrecorded)?;
        let used = self.compare_used(reserved, &mut offers, &mut batches)?;
        self.running.serves(used, self.most());
        let (outcomes, recorded) = sync_channel(AHEAD);
        let mut calls = Session {
            serving: self,
            desk,
            together: computing.together(),
            chunk: computing.chunk(),
            used,
            reserved,
            others,
            outcomes,
        };
        let warnings = std::thread::scope(|scope| {
            scope.spawn(move || self.record(desk, &recorded));
            for channel in offers {
                match self.me {
                    LEADER => scope.spawn(|| hear(desk, channel)),
                    _ => scope.spawn(|| offer(desk, channel)),
                };
            }
            let ended = match self.me {
                LEADER => calls.lead(&mut computing, &mut batches),
                _ => calls.follow(&mut computing, &mut batches),
            };
            if let (Computing::Circuit { session, .. }, true) = (&computing, calls.used > used) {
                (self.bound)(session.error_log2());
            }
            drop(calls);
            let ended = ended.and_then(|()| match computing {
                Computing::Circuit { session, .. } => Ok(session.end()?),
                Computing::Query(_) => Ok(Vec::new()),
            });
            // The other threads end with the session or with their channels, whatever a peer does with its own.
            desk.end_session();
            self.running.close();
            ended
        })?;
        self.running.settles();
        self.running
            .keep_warnings(desk.compiled.protocol().name(), warnings);
        Ok(())
    }

    /// Calls that may have been answered by what any party says, so that all count alike from here on. This party knows of `own`.
    fn compare_used(
        &self,
        own: u64,
        offers: &mut [Box<dyn Channel>],
        batches: &mut [Box<dyn Channel>],
    ) -> std::result::Result<u64, Fault> {
        let most = self.most();
        let mut used = own;
        if self.me == LEADER {
            for channel in offers {
                let theirs = recv_used(&mut **channel).map_err(cenote::Error::from)?;
                if theirs > most {
                    let what = format!("it says that {theirs} calls were answered, of {most}");
                    return Err(lie(channel.peer(), USED, what).into());
                }
                used = used.max(theirs);
            }
            if used > own {
                tracing::warn!(job = %self.job.proposal.id, own, used, "another party says that more calls were answered");
            }
            for channel in batches {
                send_used(&mut **channel, used).map_err(cenote::Error::from)?;
            }
            return Ok(used);
        }
        for channel in offers {
            send_used(&mut **channel, own).map_err(cenote::Error::from)?;
        }
        for channel in batches {
            used = recv_used(&mut **channel).map_err(cenote::Error::from)?;
            if used < own || used > most {
                let what =
                    format!("it says that {used} calls were answered; this party knows of {own}, of {most}");
                return Err(lie(channel.peer(), USED, what).into());
            }
        }
        Ok(used)
    }

    /// Sees that the job runs, as the record says, too.
    fn still_runs(&self) -> std::result::Result<(), Fault> {
        self.running.still_runs()?;
        let job = self.jobs.get(self.job.proposal.id).map_err(unrecorded)?;
        match job.state.name() {
            StateName::Running => Ok(()),
            _ => Err(Fault::new(FailKind::Peer, "the job has ended")),
        }
    }

    /// Calls that the job allows.
    fn most(&self) -> u64 {
        self.job
            .proposal
            .standing
            .as_ref()
            .map_or(0, |standing| standing.calls)
    }
}

/// What a session's own thread does.
struct Session<'a, 'b> {
    serving: &'a Serving<'b>,
    desk: &'a Desk,
    /// Calls that are computed side by side, at most.
    together: usize,
    /// Calls by which what may have been answered grows on the disk.
    chunk: u64,
    /// Calls that have begun so far, in all sessions.
    used: u64,
    /// Calls that may have been answered, by what is on the disk.
    reserved: u64,
    /// To all others.
    others: Vec<Box<dyn Channel>>,
    outcomes: SyncSender<Outcome>,
}

impl Session<'_, '_> {
    /// Party 0 says what comes next.
    fn lead(
        &mut self,
        computing: &mut Computing<'_>,
        followers: &mut [Box<dyn Channel>],
    ) -> std::result::Result<(), Fault> {
        let most = self.together;
        loop {
            let left = self.serving.most() - self.used;
            let is_last = left == 0 || self.serving.job.proposal.deadline <= Timestamp::now();
            let begin = match is_last {
                true => Vec::new(),
                false => self
                    .desk
                    .next(most.min(usize::try_from(left).unwrap_or(most)), BEAT),
            };
            if let Some(error) = self.desk.broken() {
                return Err(error.into());
            }
            if let Some(why) = self.desk.is_over() {
                return Err(Fault::new(FailKind::Peer, why));
            }
            let word = |party: u8| Word {
                is_last,
                begin: begin.clone(),
                drop: self.desk.dropped(party),
            };
            for follower in &mut *followers {
                let word = word(follower.peer().0);
                word.send(&mut **follower).map_err(cenote::Error::from)?;
            }
            let own = word(LEADER);
            let obeyed = self.obey(computing, &own);
            obeyed.map_err(|fault| decisive(fault, self.desk))?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// The others do what the leader says.
    fn follow(
        &mut self,
        computing: &mut Computing<'_>,
        leader: &mut [Box<dyn Channel>],
    ) -> std::result::Result<(), Fault> {
        let Some(leader) = leader.first_mut() else {
            return Err(Fault::new(
                FailKind::Internal,
                "there is no channel to the leader",
            ));
        };
        loop {
            let word = Word::recv(&mut **leader).map_err(cenote::Error::from);
            let word = word.map_err(|error| decisive(error.into(), self.desk))?;
            let most = (self.together as u64).min(self.serving.most() - self.used);
            check_count(word.begin.len(), most, leader.peer())?;
            let obeyed = self.obey(computing, &word);
            obeyed.map_err(|fault| decisive(fault, self.desk))?;
            if word.is_last {
                return Ok(());
            }
        }
    }

    /// Computes a batch, and ends the calls that were dropped.
    fn obey(&mut self, computing: &mut Computing<'_>, word: &Word) -> std::result::Result<(), Fault> {
        if !word.drop.iter().all(|call| self.desk.drop(*call)) {
            let what = "it drops a call that this party has not taken back, or that has begun";
            return Err(lie(PartyId(LEADER), BATCH, what.into()).into());
        }
        if word.begin.is_empty() {
            return Ok(());
        }
        let calls = &word.begin;
        let own = match self.desk.is_caller() {
            false => None,
            true => match self.desk.begin(calls) {
                Begun::Now(given) => Some(given),
                Begun::Over => return Err(Fault::new(FailKind::Peer, "the job has ended")),
                Begun::Lie => {
                    let what = "it begins a call that this party does not make, or begins it again";
                    return Err(lie(PartyId(LEADER), BATCH, what.into()).into());
                }
            },
        };
        self.used += calls.len() as u64;
        self.serving.running.serves(self.used, self.serving.most());
        for follower in self.followers() {
            send_begun(follower, calls).map_err(cenote::Error::from)?;
        }
        match computing {
            Computing::Circuit {
                session,
                program,
                fixed,
            } => self.compute(session, (program, fixed), calls, own),
            Computing::Query(queries) => {
                let own = own.unwrap_or_default().into_iter().next();
                match calls[..] {
                    [call] => self.answer(queries, call, own),
                    _ => Err(Fault::new(FailKind::Internal, "queries are answered one by one")),
                }
            }
        }
    }

    /// Computes calls of a circuit side by side.
    fn compute(
        &mut self,
        session: &mut Standing<'_>,
        (program, fixed): (&Program, &[Option<BitMatrix>]),
        calls: &[CallId],
        own: Option<Vec<Given>>,
    ) -> std::result::Result<(), Fault> {
        let mut begun = self.begin(calls, own.is_some(), BTreeMap::new())?;
        // It is written while the parties compute, unless others may learn something before the outputs are opened.
        let is_late = opens_late(program);
        if !is_late {
            recorded(begun.take())?;
            self.check_begun(calls)?;
        }
        let bits = |given: Given| match given {
            Given::Inputs(bits) => bits,
            Given::Values(_) | Given::Taken => Vec::new(),
        };
        let mut own: Option<Vec<_>> = own.map(|own| own.into_iter().map(bits).collect());
        let given: Vec<&[Option<BitMatrix>]> = match &own {
            Some(own) => own.iter().map(Vec::as_slice).collect(),
            None => vec![fixed; calls.len()],
        };
        let mut inputs = side_by_side(program, &given)?;
        own.iter_mut().flatten().flatten().for_each(keeping::wipe);
        let batch = session.compute(&inputs, calls.len());
        inputs.iter_mut().for_each(keeping::wipe);
        let batch = batch?;
        recorded(begun)?;
        if is_late {
            self.check_begun(calls)?;
        }
        self.serving.still_runs()?;
        let outputs = session.open(batch)?;
        self.outcome(Outcome {
            calls: calls.to_vec(),
            learnt: Learnt::Outputs(outputs),
        })
    }

    /// Answers a call of a query.
    fn answer(
        &mut self,
        queries: &Queries<'_>,
        call: CallId,
        own: Option<Given>,
    ) -> std::result::Result<(), Fault> {
        let own = own.and_then(|given| match given {
            Given::Values(values) => Some(values),
            Given::Inputs(_) | Given::Taken => None,
        });
        let is_own = own.is_some();
        let caller = self.desk.standing.callers.first().copied().unwrap_or(LEADER);
        self.check_begun(&[call])?;
        let asked = queries.asked((caller, own), &mut self.others)?;
        let begun = self.begin(&[call], is_own, asked.values.clone())?;
        recorded(begun)?;
        self.serving.still_runs()?;
        let given = queries.given(&asked, call);
        let running = self.serving.running;
        let name = format!("{}: call {call}", running.session());
        let answer = queries.answer(
            (&asked, given),
            &mut self.others,
            (&name, &|connections| running.hold_call(connections)),
            (self.serving.also_agree, self.serving.phase_timeout),
        )?;
        self.outcome(Outcome {
            calls: vec![call],
            learnt: Learnt::Answer(answer),
        })
    }

    /// The other followers.
    fn followers(&mut self) -> impl Iterator<Item = &mut dyn Channel> {
        let is_follower = |party: u8| party != LEADER;
        let mine = is_follower(self.serving.me);
        let others = self
            .others
            .iter_mut()
            .map(|channel| &mut **channel as &mut dyn Channel);
        others.filter(move |channel| mine && is_follower(channel.peer().0))
    }

    /// Sees that the leader has begun the same calls at the other followers, before anything of them is opened.
    fn check_begun(&mut self, calls: &[CallId]) -> std::result::Result<(), Fault> {
        for follower in self.followers() {
            check_begun(follower, calls).map_err(cenote::Error::from)?;
        }
        Ok(())
    }

    fn outcome(&self, outcome: Outcome) -> std::result::Result<(), Fault> {
        self.outcomes
            .send(outcome)
            .map_err(|_| Fault::new(FailKind::Internal, "outcomes cannot be recorded"))
    }

    /// Asks that these calls be on record before anything of them is opened.
    fn begin(
        &mut self,
        calls: &[CallId],
        own: bool,
        parameters: BTreeMap<String, String>,
    ) -> std::result::Result<Option<Pending<()>>, Fault> {
        let enough = self.used <= self.reserved;
        if enough && !own {
            return Ok(None);
        }
        if !enough {
            self.reserved = self.used.next_multiple_of(self.chunk).min(self.serving.most());
        }
        let own = calls.iter().filter_map(|call| {
            let (body, submitter) = self.desk.maker(*call).filter(|_| own)?;
            Some(OwnCall {
                id: *call,
                body,
                submitter,
            })
        });
        let beginning = Beginning {
            job: self.desk.job,
            reserved: self.reserved,
            own: own.collect(),
            parameters,
        };
        let begun = self.serving.jobs.begin_calls(beginning, Timestamp::now());
        begun.map(Some).map_err(unrecorded)
    }
}

/// Why a session ends: what another thread has noticed, which counts for more than what came of it; but nothing covers up that a check has failed here.
pub(super) fn decisive(fault: Fault, desk: &Desk) -> Fault {
    match fault.kind {
        FailKind::Cheating => fault,
        _ => desk.broken().map_or(fault, Fault::from),
    }
}

/// Waits until the beginning of a batch is on the disk.
fn recorded(begun: Option<Pending<()>>) -> std::result::Result<(), Fault> {
    begun.map_or(Ok(()), Pending::wait).map_err(|error| match error {
        Error::NoTransition { .. } => Fault::new(FailKind::Peer, "the job has ended"),
        error => unrecorded(error),
    })
}

/// At the leader: hears which calls a follower makes.
fn hear(desk: &Desk, mut channel: Box<dyn Channel>) {
    let from = channel.peer();
    let error = loop {
        match Offers::recv(&mut *channel) {
            Ok(offers) if desk.hear_offers(from.0, &offers) => {}
            Ok(_) => {
                let what = "it makes calls that it may not make, makes one again, or makes too many";
                break lie(from, OFFERS, what.into());
            }
            Err(error) => break error.into(),
        }
    };
    desk.break_session(error);
}

/// At a follower: tells the leader which calls this party makes.
fn offer(desk: &Desk, mut channel: Box<dyn Channel>) {
    while let Some(offers) = desk.to_offer(BEAT) {
        if let Err(error) = offers.send(&mut *channel) {
            return desk.break_session(error.into());
        }
    }
}

pub(super) fn lie(peer: PartyId, step: cenote_net::Step, what: String) -> cenote::Error {
    EngineError::cheated(CALLS, peer, step, what).into()
}

/// The record cannot be read or written at the moment: the job goes on later.
fn unrecorded(error: Error) -> Fault {
    Fault::new(
        FailKind::Timeout,
        format!("its calls cannot be recorded: {error}"),
    )
}
