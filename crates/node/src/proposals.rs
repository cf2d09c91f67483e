//! Jobs that are proposed: here, or by a peer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::Bundle;
use cenote_service::audit::Actor;
use cenote_service::job::{Digest, Job, JobId, Noted, Proposal};
use cenote_service::live::{Approval, Place, PlanFault, Submission};
use cenote_service::{Error, Jobs, Pending, Result, ResultKey, Timestamp};
use zeroize::Zeroizing;

use crate::base::Base;
use crate::catalogue::Catalogues;
use crate::compiled::Compiled;
use crate::decisions::Decisions;
use crate::kept::KeptValues;
use crate::message::Message;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peer::Piece;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::programs::Programs;
use crate::room::Room;
use crate::transitions::Transitions;

/// How long a job may take that does not say.
const WITHIN: u64 = 3600;
/// The longest that a job may take, in seconds: a month.
const LONGEST: u64 = 31 * 24 * 3600;
/// How far a peer's deadline may be beyond that, for its clock.
const CLOCKS: Duration = Duration::from_secs(3600);

/// What proposes jobs, and takes the proposals of peers. It has no lock of its own.
pub(crate) struct Proposals {
    me: u8,
    /// How many parties the service has.
    parties: usize,
    jobs: Jobs,
    key: Arc<ResultKey>,
    programs: Arc<Programs>,
    kept: Arc<KeptValues>,
    data: Arc<OwnData>,
    policy: Arc<PolicyInForce>,
    open: Arc<OpenJobs>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    transitions: Arc<Transitions>,
    decisions: Arc<Decisions>,
    catalogues: Arc<Catalogues>,
    room: Arc<Room>,
}

impl Proposals {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>, decisions: &Arc<Decisions>) -> Self {
        Proposals {
            me: base.settings.me,
            parties: base.settings.names.len(),
            jobs: base.jobs.clone(),
            key: Arc::clone(&base.key),
            programs: Arc::clone(&base.programs),
            kept: Arc::clone(&base.kept),
            data: Arc::clone(&base.data),
            policy: Arc::clone(&base.policy),
            open: Arc::clone(&base.open),
            monitor: Arc::clone(&base.monitor),
            peers: Arc::clone(&base.peers),
            transitions: Arc::clone(transitions),
            decisions: Arc::clone(decisions),
            catalogues: Arc::clone(&base.catalogues),
            room: Arc::clone(&base.room),
        }
    }

    /// A job is submitted here.
    pub(crate) fn submit(&self, submission: Submission, by: Actor) -> Result<Job> {
        let within = submission.within.unwrap_or(WITHIN);
        if !(1..=LONGEST).contains(&within) {
            return Err(Error::Proposal(format!(
                "it must be done within 1 to {LONGEST} seconds, not {within}"
            )));
        }
        let (key, body) = (self.own_key(&submission, &by), self.body(&submission, within));
        // A repetition counts nothing.
        if let Some(job) = self.jobs.repeated(key.clone(), body)? {
            return match submission.approval {
                Some(approval) if self.decisions.awaits_approval(&job) => {
                    self.propose_to_peers(&job);
                    let id = job.proposal.id;
                    self.as_decided(id, self.decisions.approve(id, approval, by))
                }
                _ => Ok(job),
            };
        }
        self.room.check()?;
        let bundle = Bundle {
            job: submission.job,
            files: submission.files,
        };
        let compiled = self.programs.read(bundle).map_err(Error::Proposal)?;
        let proposal = self.proposal(&compiled, key, within)?;
        let approval = submission.approval;
        // A job that cannot be approved is not proposed either.
        let approval = approval
            .map(|approval| self.approvable(&proposal, &compiled, approval))
            .transpose()?;
        self.keep(&compiled)?;
        let policy = self.policy.read();
        let rules = match &approval {
            Some(_) => None,
            None => self.decisions.rules_for(&policy, &proposal, &compiled),
        };
        let noted = self
            .jobs
            .begin_propose(proposal, body, by.clone(), rules, Timestamp::now());
        drop(policy);
        let noted = noted?.wait()?;
        let job = &noted.job;
        if !noted.new && (approval.is_none() || !self.decisions.awaits_approval(job)) {
            return Ok(noted.job);
        }
        self.propose_to_peers(job);
        let id = job.proposal.id;
        let decided = match approval {
            Some(approval) => self.decisions.take_part(id, approval, by),
            None => self.ruled(noted, &compiled),
        };
        self.as_decided(id, decided)
    }

    /// What a job of this text would be as it is proposed. It is not kept, and takes no turn of those that propose jobs.
    ///
    /// # Errors
    /// Why it cannot be proposed.
    pub(crate) fn planned(&self, job: &str) -> std::result::Result<Compiled, PlanFault> {
        let bundle = Bundle {
            job: job.to_owned(),
            ..Bundle::default()
        };
        let compiled = Compiled::new(bundle, Digest::of(job.as_bytes()), self.me).map_err(fault)?;
        self.proposal(&compiled, String::new(), WITHIN)
            .and_then(|_| self.data.check_tables(&compiled, &[]))
            .map_err(|error| PlanFault::from(error.to_string()))?;
        Ok(compiled)
    }

    /// What is proposed, to be done within so many seconds, if this service can have it.
    fn proposal(&self, compiled: &Compiled, key: String, within: u64) -> Result<Proposal> {
        self.transitions.fits(compiled).map_err(Error::Proposal)?;
        if usize::from(compiled.parties()) > self.parties {
            return Err(Error::Proposal(format!(
                "protocol \"{}\" has {} parties, and this service has {}",
                compiled.protocol().name(),
                compiled.parties(),
                self.parties
            )));
        }
        self.data.check_parties(compiled).map_err(Error::Proposal)?;
        let now = Timestamp::now();
        let takes = self.kept.find_taken(compiled)?;
        self.kept.has_room_to_keep(compiled).map_err(Error::Proposal)?;
        Ok(Proposal {
            id: JobId::of(self.me, cenote_service::random()?),
            proposer: self.me,
            parties: compiled.parties(),
            protocol: compiled.protocol().name().into(),
            program: compiled.named(),
            inputs: compiled.inputs.clone(),
            receivers: compiled.receivers.clone(),
            security: compiled.security(),
            deadline: now.after(Duration::from_secs(within)),
            estimate: compiled.estimate(),
            idempotency_key: key,
            takes,
            keeps: compiled.keeps.clone(),
            standing: compiled.standing(),
        })
    }

    /// An approval for which this party has the data.
    fn approvable(&self, proposal: &Proposal, compiled: &Compiled, approval: Approval) -> Result<Approval> {
        let approval = self.catalogues.completed(compiled, approval);
        self.data.check_data(compiled, &approval)?;
        let approval = self.data.marked(approval)?;
        self.data.try_tables(proposal.id, compiled, &approval)?;
        Ok(approval)
    }

    /// A job that was submitted, and decided on here or else decided or ended meanwhile. It is on record whatever became of the decision.
    fn as_decided(&self, id: JobId, decided: Result<Job>) -> Result<Job> {
        match decided {
            Err(Error::NoTransition { .. }) => self.jobs.get(id),
            decided => decided,
        }
        .map_err(|cause| Error::Recorded {
            job: id,
            cause: Box::new(cause),
        })
    }

    fn propose_to_peers(&self, job: &Job) {
        self.open.remember(job);
        let proposal = Box::new(job.proposal.clone());
        self.peers
            .tell_all(job.proposal.parties, &Message::Propose { proposal });
    }

    /// The idempotency key of a submission as all parties know it: each submitter here has keys of its own.
    fn own_key(&self, submission: &Submission, by: &Actor) -> String {
        let parts = (by, &submission.idempotency_key);
        let parts = serde_json::to_vec(&parts).unwrap_or_default();
        self.key.digest("idempotency key", &parts).to_string()
    }

    /// By what a repetition of a submission is known.
    pub(crate) fn body(&self, submission: &Submission, within: u64) -> Digest {
        let approval = submission.approval.as_ref();
        let approval = approval.map(|approval| (&approval.binding, &approval.posted));
        let parts = (&submission.job, &submission.files, within, approval);
        let parts = Zeroizing::new(serde_json::to_vec(&parts).unwrap_or_default());
        self.key.digest("submission", &parts)
    }

    /// What follows from a proposal that was just noted.
    fn ruled(&self, noted: Noted, compiled: &Compiled) -> Result<Job> {
        match noted.ruled {
            None => self.decisions.rule(&noted.job, compiled),
            Some((_, None)) => Ok(noted.job),
            Some((_, Some(decided))) => {
                self.decisions.decided(&decided);
                Ok(decided)
            }
        }
    }

    /// Keeps a program, and those that unfinished jobs need.
    fn keep(&self, compiled: &Compiled) -> Result<()> {
        let needed = self.open.programs();
        self.programs.keep(compiled, |digest| needed.contains(&digest))
    }

    /// A peer proposes a job.
    pub(crate) fn hear_proposal(&self, from: u8, proposal: Proposal) {
        if proposal.proposer != from {
            return self.refuse(from, &proposal, "it is in another party's name");
        }
        if let Err(error) = proposal.check() {
            return self.refuse(from, &proposal, &error.to_string());
        }
        match self.jobs.get(proposal.id) {
            Ok(known) if known.digest == proposal.digest() => {
                if known.state.name().is_open() {
                    if let Some(word) = self.transitions.word_on(&known) {
                        self.peers.tell(from, &word);
                    }
                } else {
                    self.transitions.tell_end(from, proposal.id);
                }
                return;
            }
            Ok(_) => return self.refuse(from, &proposal, "this party knows another job of this name"),
            Err(Error::NoJob(_)) => {}
            Err(error) => return self.put_off(from, &proposal, &error.to_string()),
        }
        let Some(peer) = self.peers.get(from) else { return };
        if !peer.known().bucket.take(Instant::now()) {
            return self.put_off(from, &proposal, "too many proposals in a short time");
        }
        if proposal.deadline > Timestamp::now().after(Duration::from_secs(LONGEST) + CLOCKS) {
            return self.refuse(from, &proposal, "its deadline is too far away");
        }
        let program = proposal.program.digest;
        match self.programs.get(from, program) {
            Ok(Some(compiled)) => self.consider(from, proposal, &compiled),
            Ok(None) => {
                let waits = peer.known().wait_for(proposal.clone());
                match waits {
                    Some(true) => self.peers.tell(from, &Message::Want { program, at: 0 }),
                    Some(false) => {}
                    None => self.put_off(from, &proposal, "too many proposals wait for their programs"),
                }
            }
            // What can be read is wrong in itself.
            Err(error) => match self.programs.text(program) {
                Ok(Some(_)) => self.refuse(from, &proposal, &error),
                Ok(None) | Err(_) => self.put_off(from, &proposal, &error),
            },
        }
    }

    /// A peer's proposal, of which the program is here.
    fn consider(&self, from: u8, proposal: Proposal, compiled: &Compiled) {
        if let Err(error) = self.room.check() {
            return self.put_off(from, &proposal, &error.to_string());
        }
        let there = || match usize::from(compiled.parties()) > self.parties {
            true => Err("it has more parties than this service".to_owned()),
            false => Ok(()),
        };
        let checked = compiled
            .check(&proposal)
            .and_then(|()| there())
            .and_then(|()| self.data.check_parties(compiled));
        if let Err(reason) = checked {
            return self.refuse(from, &proposal, &reason);
        }
        match self.kept.check_taken(&proposal, compiled) {
            Ok(()) => {}
            // Its outcome may not have been recorded here yet.
            Err(error @ Error::NoKept { job, .. }) if self.open.contains(job) => {
                return self.put_off(from, &proposal, &error.to_string());
            }
            Err(error @ (Error::NoKept { .. } | Error::Proposal(_))) => {
                return self.refuse(from, &proposal, &error.to_string());
            }
            Err(error) => return self.put_off(from, &proposal, &error.to_string()),
        }
        // What this machine has is nobody else's business.
        let fits = self
            .transitions
            .fits(compiled)
            .and_then(|()| self.kept.has_room_to_keep(compiled));
        if let Err(reason) = fits {
            if let Some(unsaid) = self.peers.line_on(from) {
                tracing::warn!(from, job = %proposal.id, reason, unsaid, "a proposal cannot be taken");
            }
            return self.refuse(from, &proposal, "it cannot be taken there");
        }
        if let Err(error) = self.keep(compiled) {
            return self.put_off(from, &proposal, &error.to_string());
        }
        let (id, body, by) = (proposal.id, proposal.digest(), Actor::Peer(from));
        let policy = self.policy.read();
        let rules = self.decisions.rules_for(&policy, &proposal, compiled);
        let noted = self
            .jobs
            .begin_propose(proposal.clone(), body, by, rules, Timestamp::now());
        drop(policy);
        let noted = match noted.and_then(Pending::wait) {
            Ok(noted) if noted.new => noted,
            Ok(_) => return,
            Err(error @ (Error::Proposal(_) | Error::OtherBody { .. } | Error::SameName { .. })) => {
                return self.refuse(from, &proposal, &error.to_string());
            }
            Err(error) => return self.put_off(from, &proposal, &error.to_string()),
        };
        self.open.remember(&noted.job);
        if let Err(error) = self.ruled(noted, compiled) {
            tracing::warn!(job = %id, %error, "the policy could not decide; a person has to");
        }
        for party in 0..proposal.parties {
            let early = self.peers.get(party).map(|peer| peer.known().take_early(id));
            for says in early.into_iter().flatten() {
                self.decisions.hear(party, id, says);
            }
        }
    }

    /// Leaves out a proposal that nothing but the moment is against. Its proposer is not answered, which would end the job: this party asks for it again
    /// when the proposer next says where its jobs stand.
    fn put_off(&self, from: u8, proposal: &Proposal, reason: &str) {
        self.monitor.refused(from);
        if let Some(unsaid) = self.peers.line_on(from) {
            tracing::warn!(from, job = %proposal.id, reason, unsaid, "a proposal is put off");
        }
    }

    /// Declines a proposal that is wrong in itself.
    fn refuse(&self, to: u8, proposal: &Proposal, reason: &str) {
        self.monitor.refused(to);
        if let Some(unsaid) = self.peers.line_on(to) {
            tracing::warn!(from = to, job = %proposal.id, reason, unsaid, "a proposal is refused");
        }
        self.peers.tell(
            to,
            &Message::Decline {
                job: proposal.id,
                proposal: proposal.digest(),
                reason: reason.chars().take(500).collect(),
            },
        );
    }

    /// A peer wants a program from a byte on.
    pub(crate) fn send_piece(&self, to: u8, program: Digest, at: u64) {
        let Some(peer) = self.peers.get(to) else { return };
        if !self.open.is_known_to(to, program) || !peer.known().pieces.take(Instant::now()) {
            return;
        }
        let piece = match self.programs.piece(program, at) {
            Ok(Some((text, _))) if text.is_empty() => return,
            Ok(Some((text, of))) => Message::Piece {
                program,
                at,
                of,
                text,
            },
            _ => {
                let what = "a program that is not kept here".into();
                return self.peers.tell(to, &Message::Unclear { what });
            }
        };
        self.peers.tell(to, &piece);
    }

    /// A piece of a program has come.
    pub(crate) fn hear_piece(&self, from: u8, program: Digest, at: u64, of: u64, text: &str) {
        let Some(peer) = self.peers.get(from) else { return };
        let piece = peer.known().piece(program, at, of, text);
        let (refused, why) = match piece {
            Piece::Stray => return,
            Piece::More(at) => return self.peers.tell(from, &Message::Want { program, at }),
            Piece::Whole(text, proposals) => match self.programs.receive(from, program, &text) {
                Ok(compiled) => {
                    for proposal in proposals {
                        self.consider(from, proposal, &compiled);
                    }
                    return self.has_come(&compiled);
                }
                Err(why) => (proposals, why),
            },
            Piece::Wrong(proposals) => (
                proposals,
                "what was sent of its program cannot be a part of it".into(),
            ),
        };
        for proposal in refused {
            self.refuse(from, &proposal, &why);
        }
    }

    /// Sees that the program of an open job is there. One that a peer has proposed can be asked of it again; gives whether it is.
    pub(crate) fn awaits_program(&self, job: &Job) -> bool {
        let (program, proposer) = (job.proposal.program.digest, job.proposal.proposer);
        if self.programs.is_here(program) {
            return false;
        }
        let Some(peer) = self.peers.get(proposer) else {
            return false;
        };
        tracing::warn!(job = %job.proposal.id, proposer, "the program of an open job is not kept here any more; its proposer is asked");
        let asks = peer.known().await_program(program);
        if asks == Some(true) {
            self.peers.tell(proposer, &Message::Want { program, at: 0 });
        }
        true
    }

    /// A program has come that open jobs may have been without.
    fn has_come(&self, compiled: &Compiled) {
        let waiting = self.open.of_program(compiled.digest);
        if waiting.is_empty() || self.programs.is_kept(compiled.digest) {
            return;
        }
        if let Err(error) = self.keep(compiled) {
            return tracing::warn!(%error, "a program that open jobs need");
        }
        for job in waiting.into_iter().filter_map(|id| self.jobs.get(id).ok()) {
            self.decisions.moves_on(&job);
        }
    }
}

/// What is wrong with a job, with the place in its query.
fn fault(error: cenote::Error) -> PlanFault {
    match error {
        cenote::Error::Query { at, what } => PlanFault {
            message: what,
            at: at.map(|at| Place {
                line: at.line,
                column: at.column,
            }),
        },
        other => PlanFault::from(other.to_string()),
    }
}
