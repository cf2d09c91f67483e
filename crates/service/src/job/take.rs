//! A step of a job in the database: the row, the counts that it changes, and its line in the audit log.

use super::step::{Local, Remote, Step};
use super::{Decision, Job, State, StateName, Verdict, approve, row, tries};
use crate::audit::{Actor, Event};
use crate::database::Transaction;
use crate::{Result, Timestamp};

/// One step of a job, with all that belongs to it.
pub(super) fn take(
    transaction: &mut Transaction<'_>,
    job: &Job,
    me: u8,
    step: &Step,
    by: &Actor,
    now: Timestamp,
) -> Result<Job> {
    let next = job.step(me, step, now)?;
    if let Step::Here(Local::Approve { binding, .. }) = step {
        approve::check(job, me, binding)?;
        approve::charge(transaction, job, binding)?;
    }
    if next.state.name() == StateName::Running {
        // Of one that stands, each call that begins spends one.
        if next.proposal.standing.is_none() {
            approve::spend(transaction, next.proposal.id, 1)?;
        }
        tries::begin(transaction, &next, me)?;
    } else if job.state.name() == StateName::Running {
        tries::end(transaction, &next, step)?;
    }
    row::update(transaction, &next)?;
    tell(transaction, &next, me, step, by, now)?;
    if !next.state.name().is_open() {
        let data = approve::refund(transaction, next.proposal.id)?;
        if !data.is_empty() {
            let job = next.proposal.id;
            transaction.audit(now, &Event::Refunded { job, data })?;
        }
    }
    Ok(next)
}

/// Writes what happened into the audit log.
fn tell(
    transaction: &mut Transaction<'_>,
    next: &Job,
    me: u8,
    step: &Step,
    by: &Actor,
    now: Timestamp,
) -> Result<()> {
    let job = next.proposal.id;
    let by = by.clone();
    let party = match step {
        Step::Here(_) => me,
        Step::Peer(peer, _) => *peer,
    };
    let decided = |verdict| {
        let decision = next.decisions.get(usize::from(party)).cloned().flatten();
        Event::Decided {
            job,
            party,
            by: by.clone(),
            verdict,
            reason: decision.map_or_else(String::new, |decision: Decision| decision.reason),
            data: if party == me && verdict == Verdict::Approve {
                approve::data(&next.proposal, &next.binding)
            } else {
                Vec::new()
            },
        }
    };
    let event = match (step, &next.state) {
        (Step::Here(Local::Interrupt { .. }), _) => Event::Interrupted {
            job,
            reason: next.interrupted.clone().unwrap_or_default(),
        },
        (Step::Here(Local::Approve { .. }) | Step::Peer(_, Remote::Approve { .. }), _) => {
            decided(Verdict::Approve)
        }
        (Step::Here(Local::Decline { .. }) | Step::Peer(_, Remote::Decline { .. }), _) => {
            decided(Verdict::Decline)
        }
        (_, State::Failed(failure)) => Event::Failed {
            job,
            by,
            kind: failure.kind,
            reason: failure.reason.clone(),
        },
        (_, State::Cancelled { .. }) => Event::Cancelled { job, by },
        (_, State::Queued) => Event::Queued { job },
        (_, State::Running) => Event::Running {
            job,
            data: approve::files(&next.binding),
        },
        (_, State::Done) => Event::Done {
            job,
            program: next.proposal.program.digest,
            learnt: next.proposal.receivers.clone(),
            kept: next.proposal.keeps.iter().map(|keep| keep.name.clone()).collect(),
        },
        (_, State::Proposed | State::Approved | State::Declined { .. }) => return Ok(()),
    };
    transaction.audit(now, &event)
}
