//! Decisions on jobs, of this party and as peers tell theirs.

use std::sync::{Arc, Mutex};

use cenote::PartyId;
use cenote_service::audit::Actor;
use cenote_service::job::{
    FailKind, Job, JobId, Proposal, Remote, Rules, Source, State, StateName, Unsettled,
};
use cenote_service::live::Approval;
use cenote_service::policy::{Past, Ruling, Verdict};
use cenote_service::{Error, Jobs, Policy, Result, Timestamp};

use crate::base::Base;
use crate::catalogue::Catalogues;
use crate::compiled::{Compiled, Work};
use crate::locks::lock;
use crate::message::Message;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::programs::Programs;
use crate::room::Room;
use crate::scheduler::Scheduler;
use crate::transitions::Transitions;
use crate::witness::Witness;

/// A past in which nothing was approved, of a job without data: enough for rules that decline.
struct Blank;

impl Past for Blank {
    fn approved_within_an_hour(&mut self, _: &str) -> Result<u64> {
        Ok(0)
    }

    fn most_disclosures(&mut self, _: &cenote_service::job::Digest) -> Result<u64> {
        Ok(0)
    }

    fn data(&self) -> Vec<String> {
        Vec::new()
    }

    fn unsettled(&mut self) -> Result<Vec<Unsettled>> {
        Ok(Vec::new())
    }
}

/// What decides on jobs for this party, and hears how others decide.
pub(crate) struct Decisions {
    me: u8,
    jobs: Jobs,
    programs: Arc<Programs>,
    data: Arc<OwnData>,
    policy: Arc<PolicyInForce>,
    open: Arc<OpenJobs>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    transitions: Arc<Transitions>,
    witness: Arc<Witness>,
    catalogues: Arc<Catalogues>,
    room: Arc<Room>,
    /// One approval at a time: its posted values and its record belong together.
    approving: Mutex<()>,
}

impl Decisions {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>) -> Self {
        Decisions {
            me: base.settings.me,
            jobs: base.jobs.clone(),
            programs: Arc::clone(&base.programs),
            data: Arc::clone(&base.data),
            policy: Arc::clone(&base.policy),
            open: Arc::clone(&base.open),
            monitor: Arc::clone(&base.monitor),
            peers: Arc::clone(&base.peers),
            scheduler: Arc::clone(&base.scheduler),
            transitions: Arc::clone(transitions),
            witness: Arc::clone(&base.witness),
            catalogues: Arc::clone(&base.catalogues),
            room: Arc::clone(&base.room),
            approving: Mutex::default(),
        }
    }

    /// Lets the policy decide on a job that this party has not decided on.
    pub(crate) fn rule(&self, job: &Job, compiled: &Compiled) -> Result<Job> {
        let id = job.proposal.id;
        if self.witness.put_back_among(job.proposal.parties).is_some() {
            // A person has to look into that first.
            return Ok(job.clone());
        }
        let mut binding = self.catalogues.usual_binding(&job.proposal, compiled);
        if let (Work::Query(query), Some(rules)) = (&compiled.work, self.data.rules_of_tables()?) {
            if let Err(error) = rules.check_job(PartyId(self.me), query.job()) {
                return self.declines(id, error.to_string());
            }
            // A person may know other data for it.
            binding = binding.filter(|binding| self.data.check_tables(compiled, binding).is_ok());
        }
        let Some(binding) = binding else {
            // Without data nothing can be approved; a rule may still decline.
            let ruling = self
                .policy
                .read()
                .rule(&job.proposal, compiled.size, &mut Blank)?;
            return self.decline_if_ruled(job, ruling);
        };
        if let Work::Query(_) = &compiled.work {
            let rules = Rules {
                policy: self.policy.read().clone(),
                size: compiled.size,
                binding: binding.clone(),
            };
            let ruling = self.jobs.foresee(id, rules, Timestamp::now())?;
            if ruling.verdict != Verdict::Approve {
                return self.decline_if_ruled(job, ruling);
            }
            let approval = Approval {
                binding: binding.clone(),
                ..Approval::default()
            };
            if let Err(error) = self.data.try_tables(id, compiled, &approval) {
                return self.declines(id, error.to_string());
            }
        }
        // To look at tables takes a while, in which policy and past may have changed.
        let policy = self.policy.read();
        let ruled = self
            .jobs
            .begin_rule(id, &policy, compiled.size, binding, Timestamp::now());
        drop(policy);
        let (ruling, job) = ruled?.wait()?;
        if ruling.verdict != Verdict::Ask {
            self.decided(&job);
        }
        Ok(job)
    }

    /// Declines if a ruling says so. Anything else is left to a person.
    fn decline_if_ruled(&self, job: &Job, ruling: Ruling) -> Result<Job> {
        if ruling.verdict != Verdict::Decline {
            return Ok(job.clone());
        }
        let by = ruling.rule.map_or(Actor::Service, |rule| Actor::Rule(rule.name));
        let declined = self
            .jobs
            .decline(job.proposal.id, ruling.reason, by, Timestamp::now())?;
        self.decided(&declined);
        Ok(declined)
    }

    fn declines(&self, id: JobId, reason: String) -> Result<Job> {
        let job = self.jobs.decline(id, reason, Actor::Service, Timestamp::now())?;
        self.decided(&job);
        Ok(job)
    }

    /// A person declines a job.
    pub(crate) fn decline(&self, id: JobId, reason: String, by: Actor) -> Result<Job> {
        let job = self.jobs.decline(id, reason.clone(), by, Timestamp::now())?;
        let decline = Message::Decline {
            job: id,
            proposal: job.digest,
            reason,
        };
        self.peers.tell_all(job.proposal.parties, &decline);
        self.transitions.changed(&job);
        Ok(job)
    }

    /// What the policy decides on a proposal by, where that is all: there is data for it, and it is no query, of which more is looked at.
    pub(crate) fn rules_for(
        &self,
        policy: &Policy,
        proposal: &Proposal,
        compiled: &Compiled,
    ) -> Option<Rules> {
        if self.witness.put_back_among(proposal.parties).is_some() {
            return None;
        }
        match &compiled.work {
            Work::Circuit { .. } => Some(Rules {
                binding: self.catalogues.usual_binding(proposal, compiled)?,
                policy: policy.clone(),
                size: compiled.size,
            }),
            Work::Query(_) => None,
        }
    }

    /// This party takes part in a job.
    pub(crate) fn approve(&self, id: JobId, approval: Approval, by: Actor) -> Result<Job> {
        let job = self.jobs.get(id)?;
        self.awaits(&job)?;
        let compiled = self.programs.of_job(&job)?;
        let approval = self.catalogues.completed(&compiled, approval);
        self.data.check_data(&compiled, &approval)?;
        let approval = self.data.marked(approval)?;
        self.data.try_tables(id, &compiled, &approval)?;
        self.take_part(id, approval, by)
    }

    /// Whether this party has not decided on a job yet.
    pub(crate) fn awaits_approval(&self, job: &Job) -> bool {
        let mine = job.decisions.get(usize::from(self.me));
        job.state.name() == StateName::Proposed && mine.is_some_and(Option::is_none)
    }

    /// Sees that this party has not decided on a job.
    fn awaits(&self, job: &Job) -> Result<()> {
        if self.awaits_approval(job) {
            return Ok(());
        }
        Err(Error::NoTransition {
            job: job.proposal.id,
            state: job.state.name(),
            event: "approval by this party".into(),
        })
    }

    /// This party takes part with data that has been looked at.
    pub(crate) fn take_part(&self, id: JobId, mut approval: Approval, by: Actor) -> Result<Job> {
        let turn = lock(&self.approving);
        // Values that were posted with an approval are never exchanged: whoever comes later is refused before anything is kept.
        let job = self.jobs.get(id)?;
        self.awaits(&job)?;
        let posted = match approval.posted.is_empty() {
            true => None,
            false => {
                let posted = self.data.posted.put(id, &approval.posted);
                Some(posted.map_err(Error::Approval)?)
            }
        };
        for bound in &mut approval.binding {
            bound.posted = posted.filter(|_| bound.source == Source::Posted);
        }
        let decided = self
            .jobs
            .approve(id, approval.binding, approval.reason, by, Timestamp::now());
        match &decided {
            // It may take effect yet.
            Ok(_) | Err(Error::Unknown(_)) => {}
            Err(_) => {
                // Those of another approval stay: it may have taken effect after all.
                if let Some(posted) = posted {
                    self.data.posted.remove_one(id, posted);
                }
            }
        }
        drop(turn);
        let job = decided?;
        self.decided(&job);
        Ok(job)
    }

    /// This party has decided on a job: the others are told, and the job goes on.
    pub(crate) fn decided(&self, job: &Job) {
        if let Some(word) = self.transitions.word_on(job) {
            self.peers.tell_all(job.proposal.parties, &word);
        }
        self.transitions.changed(job);
        self.transitions.queue_approved(job);
    }

    /// A peer says something of a job.
    pub(crate) fn hear(&self, from: u8, id: JobId, says: Remote) {
        let says = self.with_what_it_waited_for(id, says);
        if matches!(says, Remote::Cancel | Remote::Fail { .. }) {
            let running = self.scheduler.queue().running(id);
            if running.is_some_and(|running| from < running.parties && running.hear(from, &says)) {
                return;
            }
        }
        // A word on what is not known is not worth a write.
        if !self.open.contains(id) && matches!(self.jobs.get(id), Err(Error::NoJob(_))) {
            let Some(peer) = self.peers.get(from) else { return };
            peer.known().keep_early(id, says);
            // Its proposal may have been recorded meanwhile.
            if self.open.contains(id) {
                let early = peer.known().take_early(id);
                early.into_iter().for_each(|says| self.hear(from, id, says));
            }
            return;
        }
        let approves = matches!(says, Remote::Approve { .. });
        match self.jobs.hear_and_queue(id, from, says, Timestamp::now()) {
            Ok(jobs) => {
                jobs.iter().for_each(|job| self.transitions.changed(job));
                if let Some(job) = jobs.last().filter(|job| job.state == State::Queued) {
                    self.transitions.enqueue(job);
                }
            }
            Err(Error::NoTransition { state, .. }) if approves && !state.is_open() => {
                self.transitions.tell_end(from, id)
            }
            // Said before, or nothing that it may say: nothing has changed.
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => {}
            Err(error @ Error::OtherProposal { .. }) => {
                self.monitor.refused(from);
                if let Some(unsaid) = self.peers.line_on(from) {
                    tracing::warn!(from, %error, unsaid, "a peer's word is refused");
                }
                let what = "a decision on another proposal than this party has".into();
                self.peers.tell(from, &Message::Unclear { what });
            }
            Err(error) => {
                tracing::error!(from, job = %id, %error, "a peer's word cannot be recorded");
                if let Some(peer) = self.peers.get(from) {
                    peer.known().behind = true;
                }
            }
        }
    }

    /// A peer may be the first to find that a deadline has passed: this party says for whom the job waited, as it sees it.
    fn with_what_it_waited_for(&self, id: JobId, mut says: Remote) -> Remote {
        if let Remote::Fail {
            kind: FailKind::Deadline,
            waited_for,
            ..
        } = &mut says
        {
            let job = self.jobs.get(id).ok();
            *waited_for = job.and_then(|job| self.room.waits_for(&job));
        }
        says
    }

    /// Moves an unfinished job on, of which the program is here.
    pub(crate) fn moves_on(&self, job: &Job) {
        match job.state.name() {
            // A person who submits here says with which data; the policy may choose other.
            StateName::Proposed if self.awaits_approval(job) && job.proposal.proposer != self.me => {
                let ruled = self
                    .programs
                    .of_job(job)
                    .and_then(|compiled| self.rule(job, &compiled));
                if let Err(error) = ruled {
                    tracing::warn!(job = %job.proposal.id, %error, "the policy could not decide");
                }
            }
            StateName::Approved => self.transitions.queue_approved(job),
            StateName::Queued => self.transitions.enqueue(job),
            _ => {}
        }
    }
}
