//! Jobs, as callers of the interface see them.

use cenote_api::view::{Explained, FileView, Input, JobView, Keep, LinkState, Peer, Take};

use crate::job::{self, Job, Source, State};
use crate::live;

/// A job as callers see it while its peers stand so: of one that was interrupted, with why, and with whom this party waits for.
pub fn seen(job: Job, peers: &[Peer]) -> JobView {
    let waits = job.interrupted.as_ref().map(|why| {
        let missing = peers
            .iter()
            .filter(|peer| peer.party < job.proposal.parties && peer.link != LinkState::Up);
        let missing: Vec<String> = missing
            .map(|peer| format!("party {} ({})", peer.party, peer.name))
            .collect();
        match missing.is_empty() {
            true => format!(
                "it was interrupted ({why}), and goes on after a pause, when all parties are connected to each other"
            ),
            false => format!(
                "it was interrupted ({why}), and goes on when all parties are connected; missing: {}",
                missing.join(", ")
            ),
        }
    });
    let view = JobView::from(job);
    JobView {
        reason: waits.or(view.reason),
        ..view
    }
}

impl From<Job> for JobView {
    fn from(job: Job) -> Self {
        let state = job.state.name().as_str().to_owned();
        let (ended_by, failure, reason) = match job.state {
            State::Declined { by, reason } => (Some(by), None, Some(reason)),
            State::Failed(failure) => (
                Some(failure.by),
                Some(failure.kind.as_str().to_owned()),
                Some(failure.reason),
            ),
            State::Cancelled { by } => (Some(by), None, None),
            State::Proposed | State::Approved | State::Queued | State::Running | State::Done => {
                (None, None, None)
            }
        };
        let data = |name: &str| match &job.binding.iter().find(|bound| bound.input == name)?.source {
            Source::Data(name) => Some(name.clone()),
            Source::Posted => None,
        };
        let proposal = job.proposal;
        JobView {
            id: proposal.id.to_string(),
            number: job.number,
            state,
            ended_by,
            failure,
            reason,
            proposal: job.digest.to_string(),
            proposer: proposal.proposer,
            parties: proposal.parties,
            protocol: proposal.protocol,
            program_kind: proposal.program.kind,
            program: proposal.program.digest.to_string(),
            inputs: proposal
                .inputs
                .into_iter()
                .map(|input| Input {
                    data: data(&input.name),
                    name: input.name,
                    kind: input.kind,
                    owner: input.owner,
                })
                .collect(),
            takes: proposal.takes.into_iter().map(Take::from).collect(),
            keeps: proposal.keeps.into_iter().map(Keep::from).collect(),
            receivers: proposal.receivers,
            statistical: proposal.security.statistical,
            computational: proposal.security.computational,
            deadline: proposal.deadline.millis(),
            ands: proposal.estimate.ands,
            bytes: proposal.estimate.bytes,
            decisions: job.decisions,
            created_at: job.created_at.millis(),
            changed_at: job.changed_at.millis(),
        }
    }
}

impl From<live::Explained> for Explained {
    fn from(explained: live::Explained) -> Self {
        Explained {
            summary: explained.summary,
            outputs: explained.outputs,
            job: explained.job,
            files: explained
                .files
                .into_iter()
                .map(|(name, text)| FileView {
                    bytes: text.len() as u64,
                    name,
                })
                .collect(),
        }
    }
}

impl From<job::Take> for Take {
    fn from(take: job::Take) -> Self {
        Take {
            input: take.input,
            name: take.name,
            job: take.job.to_string(),
        }
    }
}

impl From<job::Keep> for Keep {
    fn from(keep: job::Keep) -> Self {
        Keep {
            output: keep.output,
            name: keep.name,
            kind: keep.kind,
            days: keep.days,
        }
    }
}
