//! Sessions that have begun with a peer and have not ended in agreement.
//!
//! A peer that cheats may see a moment before this party that a check will fail, and fall silent: nothing tells it from one that was cut off. So each
//! session is noted before it begins, in the transaction that lets it begin, and stays on record until it has ended in agreement or a person
//! [settles](super::Jobs::settle) what is on record. As long as there is too much, a rule does not suffice for a job with that peer.
//!
//! When a peer's machine stops, all that runs with it breaks off. So sessions that ran side by side when the first of them broke off count as one time,
//! and a peer has at most as many tries as there may be times, multiplied by the jobs that run side by side.

use super::step::Local;
use super::{FailKind, Job, JobId, StateName, Step, Unsettled};
use crate::database::{Connection, Transaction, Value};
use crate::{Error, Result};

/// Notes that a job begins.
pub(super) fn begin(transaction: &mut Transaction<'_>, job: &Job, me: u8) -> Result<()> {
    for peer in (0..job.proposal.parties).filter(|party| *party != me) {
        insert(transaction, job.proposal.id, peer, false)?;
    }
    Ok(())
}

/// Notes the end of a job that ran, of which the peers hold nothing any more if all agree on it or if this party's own operator has stopped the service.
pub(super) fn end(transaction: &mut Transaction<'_>, job: &Job, step: &Step) -> Result<()> {
    let id = job.proposal.id;
    let is_stop = matches!(
        step,
        Step::Here(Local::Fail {
            kind: FailKind::Restarted,
            ..
        })
    );
    match job.state.name() == StateName::Done || is_stop {
        true => transaction.run(
            "DELETE FROM unsettled WHERE session = $1 AND ended IS NULL",
            &[Value::from(id.to_string())],
        )?,
        false => break_off(transaction, id)?,
    };
    Ok(())
}

pub(super) fn break_off(transaction: &mut Transaction<'_>, session: JobId) -> Result<u64> {
    let now = next(transaction.connection())?;
    transaction.run(
        "UPDATE unsettled SET ended = $2 WHERE session = $1 AND ended IS NULL",
        &[Value::from(session.to_string()), Value::from(now)],
    )
}

pub(super) fn insert(transaction: &mut Transaction<'_>, session: JobId, peer: u8, grave: bool) -> Result<()> {
    let now = next(transaction.connection())?;
    transaction.run(
        "INSERT INTO unsettled (session, peer, began, ended, grave) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (session, peer) DO UPDATE SET ended = $4, grave = $5",
        &[
            Value::from(session.to_string()),
            Value::from(i64::from(peer)),
            Value::from(now),
            Value::from(grave.then_some(now)),
            Value::from(grave),
        ],
    )?;
    Ok(())
}

/// A number that is larger than all on record.
fn next(connection: &mut Connection) -> Result<i64> {
    let largest = "SELECT COALESCE(MAX(CASE WHEN ended > began THEN ended ELSE began END), 0) FROM unsettled";
    let row = connection.one(largest, &[])?;
    Ok(row.map_or(Ok(0), |row| row.integer(0))?.saturating_add(1))
}

/// What is on record against each peer among so many parties, in order.
pub(super) fn against(connection: &mut Connection, parties: u8) -> Result<Vec<Unsettled>> {
    let rows = connection.rows(
        "SELECT peer, began, ended, grave FROM unsettled WHERE ended IS NOT NULL AND peer < $1 ORDER BY peer, ended",
        &[Value::from(i64::from(parties))],
    )?;
    let mut all: Vec<Unsettled> = Vec::new();
    let mut last = 0;
    for row in &rows {
        let peer = u8::try_from(row.integer(0)?).map_err(|_| Error::Corrupt("a wrong party".into()))?;
        let (began, ended, grave) = (row.integer(1)?, row.integer(2)?, row.integer(3)? != 0);
        match all.last_mut().filter(|known| known.peer == peer) {
            None => {
                all.push(Unsettled {
                    peer,
                    times: 1,
                    grave,
                });
                last = ended;
            }
            Some(known) => {
                known.grave |= grave;
                // What began before that end broke off with it.
                if began > last {
                    known.times += 1;
                    last = ended;
                }
            }
        }
    }
    Ok(all)
}

/// Refuses to begin a job that a rule has approved, if too much has come on record since.
pub(super) fn check(transaction: &mut Transaction<'_>, job: &Job, most: u64) -> Result<()> {
    let all = against(transaction.connection(), job.proposal.parties)?;
    let Some(unsettled) = all.into_iter().find(|unsettled| unsettled.is_too_much(most)) else {
        return Ok(());
    };
    let rule = transaction.one(
        "SELECT rule FROM ruling WHERE job = $1",
        &[Value::from(job.proposal.id.to_string())],
    )?;
    match rule {
        Some(_) => Err(Error::Unsettled(unsettled)),
        None => Ok(()),
    }
}
