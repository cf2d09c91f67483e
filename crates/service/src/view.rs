//! Jobs, as callers of the interface see them.

use cenote_api::view::{Explained, FileView, Input, JobView, Keep, LinkState, Peer, Standing, Take};

use crate::job::{self, Job, Source, State, StateName};
use crate::live;

/// A job as callers see it while its peers stand so, and this party is `stuck` for that reason: of one that was interrupted, with why, and with whom this
/// party waits for.
pub fn seen(job: Job, peers: &[Peer], stuck: Option<&str>) -> JobView {
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
    let waits_for = waits_for(&job, peers, stuck);
    let view = JobView::from(job);
    JobView {
        reason: waits.or(view.reason),
        waits_for,
        ..view
    }
}

/// For whom a job waits that has not ended and does not run, and why, while its peers stand so. `stuck` says why this party itself can record nothing, if so.
pub fn waits_for(job: &Job, peers: &[Peer], stuck: Option<&str>) -> Option<String> {
    let takes_part = |peer: &&Peer| peer.party < job.proposal.parties;
    let named = |peer: &Peer, what: &str| {
        let name = format!("party {} ({})", peer.party, peer.name);
        match held_up(peer) {
            Some(why) => format!("{name}{what}: {why}"),
            None => format!("{name}{what}"),
        }
    };
    let mut waits: Vec<String> = match job.state.name() {
        StateName::Proposed => {
            let undecided = |party: usize| job.decisions.get(party).is_some_and(Option::is_none);
            (0..usize::from(job.proposal.parties))
                .filter(|party| undecided(*party))
                .map(
                    |party| match peers.iter().find(|peer| usize::from(peer.party) == party) {
                        Some(peer) => named(peer, ", which has not decided"),
                        None => "this party, which has not decided (`cenote job approve`)".into(),
                    },
                )
                .collect()
        }
        StateName::Approved | StateName::Queued | StateName::Running => {
            let held = peers
                .iter()
                .filter(takes_part)
                .filter(|peer| held_up(peer).is_some());
            held.map(|peer| named(peer, "")).collect()
        }
        _ => return None,
    };
    waits.extend(stuck.map(|why| format!("this party: {why}")));
    match (waits.is_empty(), job.state.name()) {
        (false, _) => Some(waits.join("; ")),
        (true, StateName::Approved | StateName::Queued) => {
            Some("its turn: other jobs run, or its memory is not free".into())
        }
        (true, _) => None,
    }
}

/// Why nothing can be done with a peer at present, if that is so.
fn held_up(peer: &Peer) -> Option<String> {
    match (peer.link, &peer.reason) {
        (LinkState::Up, reason) => reason.clone(),
        (LinkState::Refused, Some(reason)) => Some(reason.clone()),
        (_, Some(reason)) => Some(format!("it is not connected ({reason})")),
        (_, None) => Some("it is not connected".into()),
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
            waits_for: None,
            proposal: job.digest.to_string(),
            proposer: proposal.proposer,
            parties: proposal.parties,
            protocol: proposal.protocol,
            program_kind: proposal.program.kind,
            program: proposal.program.digest.to_string(),
            computes: None,
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
            standing: proposal.standing.map(|standing| Standing {
                calls: standing.calls,
                callers: standing.callers,
                parameters: standing.parameters,
            }),
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
            query: explained.query,
            outputs: explained.outputs,
            job: explained.job,
            data: explained.data,
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
