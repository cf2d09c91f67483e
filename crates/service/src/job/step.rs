//! What may happen to a job in each state.

use std::collections::BTreeMap;
use std::fmt;

use super::{Binding, Decision, Digest, FailKind, Failure, FileMark, Proposal, Source, State, Verdict};
use crate::words::steers;
use crate::{Error, Result, Timestamp};

/// Bytes of a reason, at most; the rest is left out.
const REASON: usize = 500;

/// Something that happens to a job, told by whom it comes from. A peer has no words for what only this party decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It happens here.
    Here(Local),
    /// A peer says it, over a connection on which it has proved who it is.
    Peer(u8, Remote),
}

/// What happens here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Local {
    /// This party takes part, and gives this data.
    Approve {
        /// Its data for its inputs.
        binding: Vec<Binding>,
        /// Why.
        reason: String,
    },
    /// This party does not take part.
    Decline {
        /// Why not.
        reason: String,
    },
    /// The job fits and waits for its turn.
    Queue,
    /// It begins, or goes on; before this no data of this party is read.
    Start {
        /// The files of data that are there for it, by the data's name.
        found: BTreeMap<String, FileMark>,
    },
    /// Its run was cut off before its answer may have been opened: it waits to go on. Only a job in shards does.
    Interrupt {
        /// What has cut it off.
        reason: String,
    },
    /// It is done.
    Finish,
    /// It failed.
    Fail {
        /// The kind of failure.
        kind: FailKind,
        /// Why.
        reason: String,
    },
    /// This party takes it back.
    Cancel,
    /// The service came up and found it running.
    Restart,
    /// Its deadline may have passed, and it does not run.
    Expire {
        /// For whom it waited, and why.
        waited_for: Option<String>,
    },
}

/// What a peer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote {
    /// The peer takes part.
    Approve {
        /// The digest of the proposal that it approves.
        proposal: Digest,
    },
    /// The peer does not take part.
    Decline {
        /// The digest of the proposal that it declines.
        proposal: Digest,
        /// Its reason.
        reason: String,
    },
    /// The peer takes it back.
    Cancel,
    /// It failed at the peer.
    Fail {
        /// What the peer calls it.
        kind: FailKind,
        /// Its reason.
        reason: String,
        /// For whom the job waited, as this party saw it, which is told before the peer's reason.
        waited_for: Option<String>,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, peer) = match self {
            Step::Here(Local::Approve { .. }) => ("approval", None),
            Step::Here(Local::Decline { .. }) => ("declining", None),
            Step::Here(Local::Queue) => ("queueing", None),
            Step::Here(Local::Start { .. }) => ("starting", None),
            Step::Here(Local::Interrupt { .. }) => ("interruption", None),
            Step::Here(Local::Finish) => ("finishing", None),
            Step::Here(Local::Fail { .. }) => ("failing", None),
            Step::Here(Local::Cancel) => ("cancelling", None),
            Step::Here(Local::Restart) => ("failing by a restart", None),
            Step::Here(Local::Expire { .. }) => ("expiry", None),
            Step::Peer(peer, Remote::Approve { .. }) => ("approval", Some(peer)),
            Step::Peer(peer, Remote::Decline { .. }) => ("declining", Some(peer)),
            Step::Peer(peer, Remote::Cancel) => ("cancelling", Some(peer)),
            Step::Peer(peer, Remote::Fail { .. }) => ("failing", Some(peer)),
        };
        match peer {
            Some(peer) => write!(f, "{what} by party {peer}"),
            None => write!(f, "{what} by this party"),
        }
    }
}

/// A job as one party sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its place in the order of arrival at this party, from 1.
    pub number: u64,
    /// What was proposed.
    pub proposal: Proposal,
    /// The proposal's digest.
    pub digest: Digest,
    /// Where it stands.
    pub state: State,
    /// How often it has begun here.
    pub runs: u64,
    /// What cut its last run off, while it waits to go on.
    pub interrupted: Option<String>,
    /// Each party's decision, by party.
    pub decisions: Vec<Option<Decision>>,
    /// Which of its data this party gives to its inputs, once it has approved.
    pub binding: Vec<Binding>,
    /// When this party learnt of it.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub changed_at: Timestamp,
}

impl Job {
    /// Whether its run was interrupted, and it waits to go on.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// The job after `step`, at the party `me`.
    ///
    /// # Errors
    /// [`Error::NoTransition`] where that cannot happen in this state, or not from there; [`Error::OtherProposal`] where a peer decides on
    /// something else than was proposed here.
    pub fn step(&self, me: u8, step: &Step, now: Timestamp) -> Result<Job> {
        let refused = || Error::NoTransition {
            job: self.proposal.id,
            state: self.state.name(),
            event: step.to_string(),
        };
        let by = match step {
            Step::Here(_) => me,
            Step::Peer(peer, _) if *peer != me && *peer < self.proposal.parties => *peer,
            Step::Peer(..) => return Err(refused()),
        };
        if !self.state.name().is_open() {
            return Err(refused());
        }
        if let Step::Peer(_, Remote::Approve { proposal } | Remote::Decline { proposal, .. }) = step
            && *proposal != self.digest
        {
            return Err(Error::OtherProposal {
                job: self.proposal.id,
                event: step.to_string(),
            });
        }
        let mut next = self.clone();
        next.changed_at = now;
        next.state = next.state_after(by, step, now).ok_or_else(refused)?;
        next.interrupted = match step {
            Step::Here(Local::Interrupt { reason }) => Some(bounded(reason)),
            _ => None,
        };
        next.bind(step);
        Ok(next)
    }

    /// The state after a step of the party `by`, whose decision is noted; `None` where that cannot happen in this state.
    fn state_after(&mut self, by: u8, step: &Step, now: Timestamp) -> Option<State> {
        let failed = |kind, reason: String| {
            State::Failed(Failure {
                by,
                kind,
                reason: bounded(&reason),
            })
        };
        Some(match (step, &self.state) {
            (Step::Here(Local::Approve { reason, .. }), State::Proposed) => {
                self.decide(by, Verdict::Approve, reason, now)?
            }
            (Step::Peer(_, Remote::Approve { .. }), State::Proposed) => {
                self.decide(by, Verdict::Approve, "", now)?
            }
            (
                Step::Here(Local::Decline { reason }) | Step::Peer(_, Remote::Decline { reason, .. }),
                State::Proposed,
            ) => self.decide(by, Verdict::Decline, reason, now)?,
            (Step::Here(Local::Queue), State::Approved) => State::Queued,
            (Step::Here(Local::Start { .. }), State::Queued) => State::Running,
            (Step::Here(Local::Interrupt { .. }), State::Running) => State::Queued,
            (Step::Here(Local::Finish), State::Running) => State::Done,
            (Step::Here(Local::Fail { kind, reason }), _) => failed(*kind, reason.clone()),
            (
                Step::Peer(
                    _,
                    Remote::Fail {
                        kind,
                        reason,
                        waited_for,
                    },
                ),
                _,
            ) => {
                let said = format!("party {by} says {}: {reason}", kind.as_str());
                failed(
                    FailKind::Peer,
                    match waited_for {
                        Some(waited_for) => format!("it waited for {waited_for}; {said}"),
                        None => said,
                    },
                )
            }
            (Step::Here(Local::Cancel) | Step::Peer(_, Remote::Cancel), _) => State::Cancelled { by },
            (Step::Here(Local::Restart), State::Running) => failed(
                FailKind::Restarted,
                "the service was restarted while the job was running; propose it anew".into(),
            ),
            (Step::Here(Local::Expire { waited_for }), State::Proposed | State::Approved | State::Queued)
                if now >= self.proposal.deadline =>
            {
                failed(
                    FailKind::Deadline,
                    late(self.proposal.deadline, waited_for.as_deref()),
                )
            }
            _ => return None,
        })
    }

    /// Notes what this party's approval binds, and when the job starts, that it does and which files are there.
    fn bind(&mut self, step: &Step) {
        match step {
            Step::Here(Local::Approve { binding, .. }) => self.binding.clone_from(binding),
            Step::Here(Local::Start { found }) => {
                self.runs += 1;
                for bound in &mut self.binding {
                    bound.file = bound.file.or_else(|| match &bound.source {
                        Source::Data(name) => found.get(name).copied(),
                        Source::Posted => None,
                    });
                }
            }
            _ => {}
        }
    }

    /// Notes a party's first decision, and gives the state that follows from all decisions.
    fn decide(&mut self, by: u8, verdict: Verdict, reason: &str, at: Timestamp) -> Option<State> {
        let place = self
            .decisions
            .get_mut(usize::from(by))
            .filter(|place| place.is_none())?;
        let reason = bounded(reason);
        *place = Some(Decision {
            verdict,
            reason: reason.clone(),
            at,
        });
        Some(match verdict {
            Verdict::Decline => State::Declined { by, reason },
            Verdict::Approve if self.decisions.iter().all(Option::is_some) => State::Approved,
            Verdict::Approve => State::Proposed,
        })
    }
}

/// Why a job failed that was not done by its deadline.
pub fn late(deadline: Timestamp, waited_for: Option<&str>) -> String {
    match waited_for {
        Some(waited_for) => format!("it was not done by {deadline}; it waited for {waited_for}"),
        None => format!("it was not done by {deadline}"),
    }
}

/// A reason as it is kept and shown: of bounded length, on one line, in the direction of its letters.
pub(super) fn bounded(reason: &str) -> String {
    let mut text = String::new();
    for character in reason.chars() {
        let character = if steers(character) { ' ' } else { character };
        if text.len() + character.len_utf8() > REASON {
            break;
        }
        text.push(character);
    }
    text
}
