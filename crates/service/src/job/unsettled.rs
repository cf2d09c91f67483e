//! Sessions that have begun with a peer and have not ended in agreement.
//!
//! A peer that cheats may see a moment before this party that a check will fail, and fall silent: nothing tells it from one that was cut off. So each
//! session is noted before it begins, in the transaction that lets it begin, and stays on record until it has ended in agreement or a person
//! [settles](Jobs::settle) what is on record. As long as there is too much, a rule does not suffice for a job with that peer.
//!
//! When a peer's machine stops, all that runs with it breaks off. So sessions that ran side by side when the first of them broke off count as one time,
//! and a peer has at most as many tries as there may be times, multiplied by the jobs that run side by side.

use std::fmt;

use serde::Serialize;

use super::{FailKind, Job, JobId, Jobs, StateName, Step, step::Local};
use crate::audit::{Actor, Event};
use crate::database::{Connection, Flush, Transaction, Value};
use crate::{Error, Result, Timestamp};

/// What is on record against a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unsettled {
    /// The peer.
    pub peer: u8,
    /// How often sessions with it have begun and not ended in agreement.
    pub times: u64,
    /// Whether one of them is enough for a person to be asked: a check found that the peer deviated, or a bound was passed.
    pub grave: bool,
}

impl Unsettled {
    /// Whether that is too much for a rule, where so many times are.
    pub fn is_too_much(&self, most: u64) -> bool {
        self.grave || self.times >= most
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsettled { peer, times, grave } = self;
        match grave {
            true => write!(
                f,
                "party {peer} was found to have deviated from a protocol, or the bound of a session with it was passed"
            ),
            false => write!(
                f,
                "{times} times sessions with party {peer} have begun and not ended in agreement"
            ),
        }
    }
}

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

fn break_off(transaction: &mut Transaction<'_>, session: JobId) -> Result<u64> {
    let now = next(transaction.connection())?;
    transaction.run(
        "UPDATE unsettled SET ended = $2 WHERE session = $1 AND ended IS NULL",
        &[Value::from(session.to_string()), Value::from(now)],
    )
}

fn insert(transaction: &mut Transaction<'_>, session: JobId, peer: u8, grave: bool) -> Result<()> {
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

impl Jobs {
    /// What is on record against each peer, in order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Unsettled>> {
        self.database.read(|connection| against(connection, u8::MAX))
    }

    /// A job has ended before any peer could try anything in it, or in agreement of all parties that it gives nothing.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn drop_unsettled(&self, job: JobId) -> Result<()> {
        self.database.write_soon(move |transaction| {
            let id = Value::from(job.to_string());
            transaction.run("DELETE FROM unsettled WHERE session = $1 AND grave = 0", &[id])?;
            Ok(())
        })
    }

    /// A job that runs has broken off, whatever is recorded of it later: this party may have its outputs all the same.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn break_off(&self, job: JobId) -> Result<()> {
        self.database
            .write(move |transaction| break_off(transaction, job).map(drop))
    }

    /// Holds against these peers what is to be noted of a session in the audit log. The others that took part in it have no blame.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn hold_against(&self, peers: Vec<u8>, session: JobId, event: Event, now: Timestamp) -> Result<()> {
        self.database
            .begin_write(Flush::Now, move |transaction| {
                let id = Value::from(session.to_string());
                transaction.run("DELETE FROM unsettled WHERE session = $1", &[id])?;
                for peer in peers {
                    insert(transaction, session, peer, true)?;
                }
                transaction.audit(now, &event)
            })?
            .wait()
    }

    /// A person has looked into what is on record against a peer: rules decide again. Gives what it was.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn settle(&self, peer: u8, by: Actor, now: Timestamp) -> Result<Option<Unsettled>> {
        self.database.write(move |transaction| {
            let all = against(transaction.connection(), u8::MAX)?;
            let Some(known) = all.into_iter().find(|known| known.peer == peer) else {
                return Ok(None);
            };
            transaction.run(
                "DELETE FROM unsettled WHERE peer = $1 AND ended IS NOT NULL",
                &[Value::from(i64::from(peer))],
            )?;
            let times = known.times;
            transaction.audit(now, &Event::Settled { peer, times, by })?;
            Ok(Some(known))
        })
    }
}
