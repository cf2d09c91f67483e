//! One session of a job that stands, at one party.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use cenote::keeping;
use cenote::runner::{AlsoAgree, Connections};
use cenote::standing::{Standing, most_together, side_by_side};
use cenote::{BitMatrix, Party, PartyId, Prepared, Program, Transport};
use cenote_net::Channel;
use cenote_service::job::{Beginning, CallId, FailKind, Job, OwnCall, StateName};
use cenote_service::{Error, Jobs, Pending, ResultKey, Timestamp};
use cenote_session::Error as EngineError;

use super::checks::CALLS;
use super::desk::{Begun, Desk};
use super::record::Outcome;
use super::words::{BATCH, OFFERS, Offers, USED, Word, recv_used, send_used, topology};
use crate::compiled::Work;
use crate::failure::Fault;
use crate::message::LEADER;
use crate::running_job::RunningJob;

/// How often each side says that it is there, at least.
const BEAT: Duration = Duration::from_secs(1);
/// Calls by which what may have been answered grows on the disk. After a crash fewer than so many are lost.
const CHUNK: u64 = 256;
/// AND gates of a call that are computed in one piece, for certain.
const WHOLE: u64 = 1 << 22;
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
        let is_wanted = |peer: PartyId| me == LEADER || peer.0 == LEADER;
        let mut purposes = connections.by_purpose().into_iter();
        let mut next = || -> Vec<Box<dyn Channel>> {
            let channels = purposes.next().unwrap_or_default().into_iter();
            channels.filter(|channel| is_wanted(channel.peer())).collect()
        };
        Words {
            offers: next(),
            batches: next(),
        }
    }
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
        // Of a session before this one, how a call ended may not have been recorded.
        self.jobs
            .fail_calls(Some(desk.job), LOST, Timestamp::now())
            .map_err(unrecorded)?;
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
        let reserved = self
            .jobs
            .reserved_calls(self.job.proposal.id)
            .map_err(unrecorded)?;
        let used = self.compare_used(reserved, &mut offers, &mut batches)?;
        let (outcomes, recorded) = sync_channel(AHEAD);
        let mut calls = Session {
            serving: self,
            desk,
            program,
            used,
            reserved,
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
            let ended = ended.and_then(|()| Ok(session.end()?));
            // The other threads end with the session or with their channels, whatever a peer does with its own.
            desk.end_session();
            self.running.close();
            ended
        })?;
        self.running.settles();
        self.running.keep_warnings(party.protocol.name(), warnings);
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
            let obeyed = self.obey(session, &own);
            // A lie that another thread has noticed counts for more than what came of it.
            obeyed.map_err(|fault| self.desk.broken().map_or(fault, Fault::from))?;
            if is_last {
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
            let obeyed = self.obey(session, &word);
            obeyed.map_err(|fault| self.desk.broken().map_or(fault, Fault::from))?;
            if word.is_last {
                return Ok(());
            }
        }
    }

    /// Computes a batch, and ends the calls that were dropped.
    fn obey(&mut self, session: &mut Standing<'_>, word: &Word) -> std::result::Result<(), Fault> {
        if !word.drop.iter().all(|call| self.desk.drop(*call)) {
            let what = "it drops a call that this party has not taken back, or that has begun";
            return Err(lie(PartyId(LEADER), BATCH, what.into()).into());
        }
        if word.begin.is_empty() {
            return Ok(());
        }
        let calls = &word.begin;
        let mut own = match self.desk.is_caller() {
            false => None,
            true => match self.desk.begin(calls) {
                Begun::Now(inputs) => Some(inputs),
                Begun::Over => return Err(Fault::new(FailKind::Peer, "the job has ended")),
                Begun::Lie => {
                    let what = "it begins a call that this party does not make, or begins it again";
                    return Err(lie(PartyId(LEADER), BATCH, what.into()).into());
                }
            },
        };
        self.used += calls.len() as u64;
        self.serving.running.serves(self.used);
        let mut begun = self.begin(calls, own.is_some())?;
        // It is written while the parties compute, unless others may learn something before the outputs are opened.
        if !self.opens_late() {
            recorded(begun.take())?;
        }
        let given: Vec<&[Option<BitMatrix>]> = match &own {
            Some(own) => own.iter().map(Vec::as_slice).collect(),
            None => vec![self.serving.fixed.as_slice(); calls.len()],
        };
        let mut inputs = side_by_side(self.program, &given)?;
        own.iter_mut().flatten().flatten().for_each(keeping::wipe);
        let batch = session.compute(&inputs, calls.len());
        inputs.iter_mut().for_each(keeping::wipe);
        let batch = batch?;
        recorded(begun)?;
        self.serving.still_runs()?;
        let outputs = session.open(batch)?;
        let outcome = Outcome {
            calls: calls.clone(),
            outputs,
        };
        self.outcomes
            .send(outcome)
            .map_err(|_| Fault::new(FailKind::Internal, "outcomes cannot be recorded"))
    }

    /// Whether nothing of a batch can be learnt before its outputs are opened: its gates are verified then, in one piece.
    fn opens_late(&self) -> bool {
        let ands = self.program.and_gates();
        (1..=WHOLE).contains(&ands)
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
        begun.map(Some).map_err(unrecorded)
    }
}

/// Waits until the beginning of a batch is on the disk.
fn recorded(begun: Option<Pending<()>>) -> std::result::Result<(), Fault> {
    begun.map_or(Ok(()), Pending::wait).map_err(|error| match error {
        Error::NoTransition { .. } => Fault::new(FailKind::Peer, "the job has ended"),
        error => unrecorded(error),
    })
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

fn lie(peer: PartyId, step: cenote_net::Step, what: String) -> cenote::Error {
    EngineError::cheated(CALLS, peer, step, what).into()
}

/// The record cannot be read or written at the moment: the job goes on later.
fn unrecorded(error: Error) -> Fault {
    Fault::new(
        FailKind::Timeout,
        format!("its calls cannot be recorded: {error}"),
    )
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
