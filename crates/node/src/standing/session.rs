//! One session of a job that stands, at one party.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use cenote::runner::{AlsoAgree, Connections};
use cenote::standing::{Standing, most_together, outputs_of, side_by_side};
use cenote::{BitMatrix, Output, Party, PartyId, Prepared, Program, Transport};
use cenote_net::Channel;
use cenote_service::job::{Answered, Beginning, CallId, Digest, Ended, FailKind, Job, JobId, OwnCall};
use cenote_service::{Error, Jobs, Pending, Result, ResultKey, Timestamp};
use cenote_session::Error as EngineError;
use serde::Serialize;
use zeroize::Zeroizing;

use super::checks::CALLS;
use super::desk::Desk;
use super::words::{BATCH, OFFERS, USED, Word, recv_offers, recv_used, send_offers, send_used, topology};
use crate::compiled::Work;
use crate::failure::Fault;
use crate::message::LEADER;
use crate::running_job::RunningJob;

/// How often each side says that it is there, at least.
const BEAT: Duration = Duration::from_secs(1);
/// Calls by which what may have been answered grows on the disk. After a crash fewer than so many are lost.
const CHUNK: u64 = 256;
/// Batches whose outcomes wait to be recorded, at most.
const AHEAD: usize = 4;
/// How often the audit log is told of calls that were answered.
const TOLD: Duration = Duration::from_secs(1);

/// What a party learns of a call.
#[derive(Serialize)]
struct Learnt {
    job: JobId,
    call: String,
    outputs: Vec<Output>,
}

/// What a party is told of a call of which it learns nothing.
pub(super) fn nothing(job: JobId, call: CallId) -> Result<Zeroizing<Vec<u8>>> {
    text(job, call, Vec::new())
}

fn text(job: JobId, call: CallId, outputs: Vec<Output>) -> Result<Zeroizing<Vec<u8>>> {
    let learnt = Learnt {
        job,
        call: call.to_string(),
        outputs,
    };
    let text = serde_json::to_vec(&learnt).map_err(|error| Error::Database(error.to_string()))?;
    Ok(Zeroizing::new(text))
}

/// A session of a job that stands, ready to begin.
pub(crate) struct Serving<'a> {
    pub(crate) me: u8,
    pub(crate) jobs: &'a Jobs,
    pub(crate) key: &'a ResultKey,
    pub(crate) job: &'a Job,
    pub(crate) running: &'a RunningJob,
    pub(crate) also_agree: &'a (dyn AlsoAgree + Sync),
    pub(crate) phase_timeout: Option<Duration>,
    /// This party's inputs that stay the same, if they do.
    pub(crate) fixed: Vec<Option<BitMatrix>>,
}

/// The channels beside the session.
pub(crate) struct Words {
    offers: Vec<Box<dyn Channel>>,
    batches: Vec<Box<dyn Channel>>,
}

impl Words {
    /// What joins the parties for them.
    pub(crate) fn topology(parties: u8) -> cenote_session::Topology {
        topology(parties)
    }

    /// At a follower, those to the leader; at the leader, those to all others.
    pub(crate) fn of(me: u8, connections: Connections) -> Self {
        let wanted = |channel: &Box<dyn Channel>| me == LEADER || channel.peer().0 == LEADER;
        let mut purposes = connections.by_purpose().into_iter();
        let mut next = || {
            let channels = purposes.next().unwrap_or_default();
            channels.into_iter().filter(wanted).collect()
        };
        Words {
            offers: next(),
            batches: next(),
        }
    }
}

/// A batch whose outputs are known.
struct Outcome {
    calls: Vec<CallId>,
    outputs: Vec<Option<BitMatrix>>,
}

impl Serving<'_> {
    /// The session, from its first word to its end in order. Calls that had begun and not ended fail with it.
    pub(crate) fn serve(
        &self,
        desk: &Desk,
        (connections, words): (Connections, Words),
    ) -> std::result::Result<(), Fault> {
        let Work::Circuit {
            job: circuit,
            program,
            prepared,
            ..
        } = &desk.compiled.work
        else {
            return Err(Fault::new(FailKind::Internal, "only circuits are called"));
        };
        let party = Party {
            me: PartyId(self.me),
            protocol: circuit.protocol(),
            program,
            inputs: &[],
            also_agree: self.also_agree,
            transport: Transport::Tls,
            phase_timeout: self.phase_timeout,
        };
        desk.begin_session();
        let served = self.served(desk, program, (party, prepared.clone()), (connections, words));
        let begun = desk.end_session();
        if let Err(fault) = &served {
            self.fail_begun(desk, begun, &fault.reason);
        }
        served
    }

    fn served(
        &self,
        desk: &Desk,
        program: &Program,
        (party, prepared): (Party<'_>, Prepared),
        (connections, words): (Connections, Words),
    ) -> std::result::Result<(), Fault> {
        let mut session = Standing::start(party, prepared, None, connections)?;
        let Words {
            mut offers,
            mut batches,
        } = words;
        let used = self.compare_used(&mut offers, &mut batches)?;
        let (outcomes, recorded) = sync_channel(AHEAD);
        let mut calls = Session {
            serving: self,
            desk,
            program,
            used,
            reserved: self.jobs.reserved_calls(self.job.proposal.id).map_err(internal)?,
            outcomes,
        };
        let warnings = std::thread::scope(|scope| {
            scope.spawn(move || self.record(desk, program, &recorded));
            for channel in offers {
                match self.me {
                    LEADER => scope.spawn(|| hear(desk, channel)),
                    _ => scope.spawn(|| offer(desk, channel)),
                };
            }
            let ended = match self.me {
                LEADER => calls.lead(&mut session, &mut batches),
                _ => calls.follow(&mut session, &mut batches),
            };
            drop(calls);
            // The other threads end with their channels or with the session.
            let ended = ended.and_then(|()| Ok(session.end()?));
            desk.end_session();
            if ended.is_err() {
                self.running.close();
            }
            ended
        })?;
        self.running.settles();
        self.running.keep_warnings(party.protocol.name(), warnings);
        Ok(())
    }

    /// Calls that may have been answered by what any party says, so that all count alike from here on.
    fn compare_used(
        &self,
        offers: &mut [Box<dyn Channel>],
        batches: &mut [Box<dyn Channel>],
    ) -> std::result::Result<u64, Fault> {
        let own = self.jobs.reserved_calls(self.job.proposal.id).map_err(internal)?;
        let most = self.most();
        let mut used = own;
        if self.me == LEADER {
            for channel in offers {
                used = used.max(recv_used(&mut **channel).map_err(cenote::Error::from)?);
            }
            let used = used.min(most);
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

    /// Calls that the job allows.
    fn most(&self) -> u64 {
        self.job
            .proposal
            .standing
            .as_ref()
            .map_or(0, |standing| standing.calls)
    }

    /// Records outcomes as they come, and tells whoever waits for them.
    fn record(&self, desk: &Desk, program: &Program, outcomes: &Receiver<Outcome>) {
        let mut answered = Vec::new();
        let mut told = Instant::now();
        let mut tell = |answered: &mut Vec<CallId>, is_due: bool| {
            let is_due = (is_due || told.elapsed() >= TOLD) && !answered.is_empty();
            is_due.then(|| {
                told = Instant::now();
                summary(&std::mem::take(answered))
            })
        };
        while let Ok(outcome) = outcomes.recv() {
            answered.extend(&outcome.calls);
            let due = tell(&mut answered, false);
            self.record_batch(desk, program, &outcome, due);
        }
        if let Some(due) = tell(&mut answered, true)
            && let Err(error) = self
                .jobs
                .end_calls(desk.job, Vec::new(), Some(due), Timestamp::now())
        {
            tracing::error!(job = %desk.job, %error, "the audit log cannot be told of calls");
        }
    }

    fn record_batch(&self, desk: &Desk, program: &Program, outcome: &Outcome, due: Option<Answered>) {
        let id = desk.job;
        let is_receiver = self.job.proposal.receivers.contains(&self.me);
        let mut texts = Vec::new();
        let mut ended = Vec::new();
        if is_receiver || desk.is_caller() {
            for (place, call) in outcome.calls.iter().enumerate() {
                let learnt = outputs_of(program, &outcome.outputs, place).into_iter();
                let learnt: Vec<Output> = learnt.filter(|output| output.values.is_some()).collect();
                let learns = !learnt.is_empty();
                let text = text(id, *call, learnt);
                let sealed = text
                    .as_ref()
                    .map_err(Error::clone)
                    .and_then(|text| learns.then(|| self.key.seal_call(id, *call, text)).transpose());
                match sealed {
                    Ok(sealed) => ended.push((*call, Ended::Done(sealed))),
                    Err(error) => tracing::error!(job = %id, %error, "a call's outputs cannot be sealed"),
                }
                texts.push((*call, text));
            }
        }
        let recorded = match ended.is_empty() && due.is_none() {
            true => Ok(()),
            false => self.jobs.end_calls(id, ended, due, Timestamp::now()),
        };
        if let Err(error) = &recorded {
            tracing::error!(job = %id, %error, "the outcomes of calls cannot be recorded");
        }
        for (call, text) in texts {
            desk.end(call, || recorded.clone().and_then(|()| text.clone()));
        }
    }

    /// Calls that had begun fail with the session.
    fn fail_begun(&self, desk: &Desk, begun: Vec<CallId>, reason: &str) {
        if begun.is_empty() {
            return;
        }
        let reason =
            format!("its session was cut off: {reason}; whether others have learnt its outputs is not known");
        let ended = begun.iter().map(|call| (*call, Ended::Failed(reason.clone())));
        if let Err(error) = self
            .jobs
            .end_calls(desk.job, ended.collect(), None, Timestamp::now())
        {
            tracing::error!(job = %desk.job, %error, "the end of calls cannot be recorded");
        }
        for call in begun {
            desk.end(call, || Err(Error::CallFailed(reason.clone())));
        }
    }
}

/// The digest of the names of calls that were answered.
fn summary(calls: &[CallId]) -> Answered {
    let names: Vec<u8> = calls.iter().flat_map(|call| call.0).collect();
    Answered {
        calls: calls.len() as u64,
        digest: Digest::of(&names),
    }
}

/// What a session's own thread does.
struct Session<'a, 'b> {
    serving: &'a Serving<'b>,
    desk: &'a Desk,
    program: &'a Program,
    /// Calls that have begun so far, in all sessions.
    used: u64,
    /// Calls that may have been answered, by what is on the disk.
    reserved: u64,
    outcomes: SyncSender<Outcome>,
}

impl Session<'_, '_> {
    /// Party 0 says what comes next.
    fn lead(
        &mut self,
        session: &mut Standing<'_>,
        followers: &mut [Box<dyn Channel>],
    ) -> std::result::Result<(), Fault> {
        let most = most_together(self.program);
        loop {
            let left = self.serving.most() - self.used;
            let is_over = left == 0 || self.serving.job.proposal.deadline <= Timestamp::now();
            let mut word = match is_over {
                true => Word::default(),
                false => self
                    .desk
                    .next(most.min(usize::try_from(left).unwrap_or(most)), BEAT),
            };
            if let Some(error) = self.desk.broken() {
                return Err(error.into());
            }
            word.is_last = is_over;
            for follower in &mut *followers {
                word.send(&mut **follower).map_err(cenote::Error::from)?;
            }
            self.obey(session, &word)?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// The others do what the leader says.
    fn follow(
        &mut self,
        session: &mut Standing<'_>,
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
            let word = word.map_err(|error| self.desk.broken().unwrap_or(error))?;
            let most = (most_together(self.program) as u64).min(self.serving.most() - self.used);
            check_count(word.begin.len(), most, leader.peer())?;
            self.obey(session, &word)?;
            if word.is_last {
                return Ok(());
            }
        }
    }

    /// Computes a batch, and ends the calls that were dropped.
    fn obey(&mut self, session: &mut Standing<'_>, word: &Word) -> std::result::Result<(), Fault> {
        for call in &word.drop {
            self.desk.end(*call, || {
                Err(Error::CallFailed(
                    "not all its callers have made it in time".into(),
                ))
            });
        }
        if word.begin.is_empty() {
            return Ok(());
        }
        let calls = &word.begin;
        let own = match self.desk.is_caller() {
            true => Some(self.desk.begin(calls).ok_or_else(|| {
                let what = "it begins a call that this party does not make, or begins it again";
                Fault::from(lie(PartyId(LEADER), BATCH, what.into()))
            })?),
            false => None,
        };
        self.used += calls.len() as u64;
        // It is written while the parties compute.
        let begun = self.begin(calls, own.is_some())?;
        let given: Vec<&[Option<BitMatrix>]> = match &own {
            Some(own) => own.iter().map(Vec::as_slice).collect(),
            None => vec![self.serving.fixed.as_slice(); calls.len()],
        };
        let inputs = side_by_side(self.program, &given)?;
        let batch = session.compute(&inputs, calls.len())?;
        if let Some(begun) = begun {
            begun.wait().map_err(|error| match error {
                Error::NoTransition { .. } => Fault::new(FailKind::Peer, "the job has ended"),
                error => internal(error),
            })?;
        }
        let outputs = session.open(batch)?;
        let outcome = Outcome {
            calls: calls.clone(),
            outputs,
        };
        self.outcomes
            .send(outcome)
            .map_err(|_| Fault::new(FailKind::Internal, "outcomes cannot be recorded"))
    }

    /// Asks that these calls be on record before anything of them is opened.
    fn begin(&mut self, calls: &[CallId], own: bool) -> std::result::Result<Option<Pending<()>>, Fault> {
        let enough = self.used <= self.reserved;
        if enough && !own {
            return Ok(None);
        }
        if !enough {
            self.reserved = self.used.next_multiple_of(CHUNK).min(self.serving.most());
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
        };
        let begun = self.serving.jobs.begin_calls(beginning, Timestamp::now());
        begun.map(Some).map_err(internal)
    }
}

/// Sees that the leader begins no more calls than it may.
fn check_count(begins: usize, most: u64, leader: PartyId) -> cenote::Result<()> {
    match begins as u64 > most {
        true => Err(lie(
            leader,
            BATCH,
            format!("it begins {begins} calls, and may begin {most}"),
        )),
        false => Ok(()),
    }
}

/// At the leader: hears which calls a follower makes.
fn hear(desk: &Desk, mut channel: Box<dyn Channel>) {
    let from = channel.peer();
    let error = loop {
        match recv_offers(&mut *channel) {
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
    while let Some(calls) = desk.to_offer(BEAT) {
        if let Err(error) = send_offers(&mut *channel, &calls) {
            return desk.break_session(error.into());
        }
    }
}

fn lie(peer: PartyId, step: cenote_net::Step, what: String) -> cenote::Error {
    EngineError::cheated(CALLS, peer, step, what).into()
}

fn internal(error: Error) -> Fault {
    Fault::new(FailKind::Internal, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_that_begins_more_calls_than_are_left_is_named() {
        check_count(3, 3, PartyId(0)).expect("fine");
        let error = Fault::of(&check_count(4, 3, PartyId(0)).expect_err("one too many"));
        assert_eq!((error.kind, error.cheater), (FailKind::Cheating, Some(0)));
        assert_eq!(error.check, Some(CALLS.name));
    }
}
