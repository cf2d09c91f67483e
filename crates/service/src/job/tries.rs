//! Sessions that have begun with a peer and have not ended in agreement.
//!
//! A peer that cheats may see a moment before this party that a check will fail, and fall silent: nothing tells it from one that was cut off. So each
//! session is noted before it begins, in the transaction that lets it begin, and stays on record until it has ended in agreement or a person
//! [settles](super::Jobs::settle) what is on record. As long as there is too much, a rule does not suffice for a job with that peer, and no job with it begins
//! that this party has proposed.
//!
//! When a peer's machine stops, all that runs with it breaks off. So sessions that ran side by side when the first of them broke off count as one time,
//! and a peer has at most as many tries as there may be times, multiplied by the jobs that run side by side.
//!
//! Nothing tells which of two peers broke a session of three off. It counts against both, but only for jobs of three: otherwise one of them could keep the other
//! and this party from jobs of two. So a peer has its tries once in sessions of three and once in sessions of two.

use super::step::Local;
use super::unsettled::MOST_TIMES;
use super::{FailKind, Job, JobId, StateName, Step, Tried, Unsettled};
use crate::database::{Connection, Transaction, Value};
use crate::{Error, Result};

/// Sessions that stay on record against a peer, of those that count for jobs of as many parties. So many are too much for every policy, whatever broke off
/// together.
pub(super) const KEPT: i64 = 10_000;
/// Rows that are read at once, as the statement says.
const PAGE: usize = 1000;

/// Something that is noted against a peer.
struct Entry {
    peer: u8,
    tried: Tried,
    /// Parties of a job for which it counts, at least.
    fewest: u8,
    began: i64,
    is_grave: bool,
}

/// Notes that a job begins.
pub(super) fn begin(transaction: &mut Transaction<'_>, job: &Job, me: u8) -> Result<()> {
    let began = next(transaction)?;
    for peer in (0..job.proposal.parties).filter(|party| *party != me) {
        let entry = Entry {
            peer,
            tried: Tried::Job(job.proposal.id),
            fewest: job.proposal.parties,
            began,
            is_grave: false,
        };
        insert(transaction, &entry)?;
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
    if job.state.name() != StateName::Done && !is_stop {
        return break_off(transaction, id);
    }
    transaction.run(
        "DELETE FROM unsettled WHERE session = $1 AND ended IS NULL",
        &[Value::from(Tried::Job(id).to_string())],
    )?;
    Ok(())
}

/// Notes that a job has broken off. Where too much is on record already, nothing is added.
pub(super) fn break_off(transaction: &mut Transaction<'_>, job: JobId) -> Result<()> {
    let session = Value::from(Tried::Job(job).to_string());
    let rows = transaction.rows(
        "SELECT peer, fewest FROM unsettled WHERE session = $1 AND ended IS NULL",
        std::slice::from_ref(&session),
    )?;
    let now = next(transaction)?;
    for row in &rows {
        let (peer, fewest) = (row.integer(0)?, row.integer(1)?);
        match is_full(transaction, peer, fewest)? {
            true => transaction.run(
                "DELETE FROM unsettled WHERE session = $1 AND peer = $2 AND ended IS NULL",
                &[session.clone(), Value::from(peer)],
            )?,
            false => transaction.run(
                "UPDATE unsettled SET ended = $3 WHERE session = $1 AND peer = $2 AND ended IS NULL",
                &[session.clone(), Value::from(peer), Value::from(now)],
            )?,
        };
    }
    Ok(())
}

/// Takes a run from the record, by its number, but for what a check has found.
pub(super) fn drop_run(transaction: &mut Transaction<'_>, run: i64) -> Result<()> {
    transaction.run(
        "DELETE FROM unsettled WHERE began = $1 AND grave = 0 AND bits IS NULL",
        &[Value::from(run)],
    )?;
    Ok(())
}

/// The number of a session's last run, if it is on record.
pub(super) fn last_run(connection: &mut Connection, tried: Tried) -> Result<Option<i64>> {
    let row = connection.one(
        "SELECT began FROM unsettled WHERE session = $1 AND grave = 0 ORDER BY began DESC LIMIT 1",
        &[Value::from(tried.to_string())],
    )?;
    row.map(|row| row.integer(0)).transpose()
}

/// Holds something grave against `peer`, which was found by its number, or against all others of so many parties.
pub(super) fn hold(
    transaction: &mut Transaction<'_>,
    me: u8,
    tried: Tried,
    parties: u8,
    peer: Option<u8>,
) -> Result<()> {
    let began = next(transaction)?;
    let others = (0..parties).filter(|party| *party != me);
    for one in others.filter(|party| peer.is_none_or(|peer| peer == *party)) {
        let entry = Entry {
            peer: one,
            tried,
            fewest: if peer.is_some() { 2 } else { parties },
            began,
            is_grave: true,
        };
        if is_known(transaction, &entry)? {
            continue;
        }
        let (peer, fewest) = (i64::from(entry.peer), i64::from(entry.fewest));
        if is_full(transaction, peer, fewest)? {
            transaction.run(
                "DELETE FROM unsettled WHERE peer = $1 AND ended =
                 (SELECT MIN(ended) FROM unsettled WHERE peer = $1 AND fewest = $2 AND ended IS NOT NULL)",
                &[Value::from(peer), Value::from(fewest)],
            )?;
        }
        insert(transaction, &entry)?;
    }
    Ok(())
}

/// Whether it is a bound, and one that leaves no more has been held against the peer before, under the same floor. A person may have settled that.
fn is_known(transaction: &mut Transaction<'_>, entry: &Entry) -> Result<bool> {
    let Tried::Bound { bits, .. } = entry.tried else {
        return Ok(false);
    };
    let row = transaction.one(
        "SELECT bits FROM unsettled WHERE session = $1 AND peer = $2 AND fewest <= $3 AND bits <= $4 LIMIT 1",
        &[
            Value::from(entry.tried.to_string()),
            Value::from(i64::from(entry.peer)),
            Value::from(i64::from(entry.fewest)),
            Value::from(i64::from(bits)),
        ],
    )?;
    Ok(row.is_some())
}

fn is_full(transaction: &mut Transaction<'_>, peer: i64, fewest: i64) -> Result<bool> {
    let row = transaction.one(
        "SELECT COUNT(*) FROM unsettled WHERE peer = $1 AND fewest = $2 AND ended IS NOT NULL",
        &[Value::from(peer), Value::from(fewest)],
    )?;
    Ok(row.map_or(Ok(0), |row| row.integer(0))? >= KEPT)
}

fn insert(transaction: &mut Transaction<'_>, entry: &Entry) -> Result<()> {
    let bits = match entry.tried {
        Tried::Bound { bits, .. } => Some(i64::from(bits)),
        Tried::Job(_) | Tried::Stock(_) => None,
    };
    transaction.run(
        "INSERT INTO unsettled (peer, began, ended, session, fewest, grave, bits) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            Value::from(i64::from(entry.peer)),
            Value::from(entry.began),
            Value::from(entry.is_grave.then_some(entry.began)),
            Value::from(entry.tried.to_string()),
            Value::from(i64::from(entry.fewest)),
            Value::from(entry.is_grave),
            Value::from(bits),
        ],
    )?;
    Ok(())
}

/// A number that is larger than all before.
fn next(transaction: &mut Transaction<'_>) -> Result<i64> {
    transaction.run("UPDATE unsettled_last SET number = number + 1", &[])?;
    let row = transaction.one("SELECT number FROM unsettled_last", &[])?;
    row.ok_or_else(|| Error::Corrupt("no number of sessions".into()))?
        .integer(0)
}

/// What is on record against each peer and counts for jobs of so many parties, in order.
pub(super) fn against(connection: &mut Connection, parties: u8) -> Result<Vec<Unsettled>> {
    let mut all: Vec<Unsettled> = Vec::new();
    // The last row that was read, how many there were of its peer, and the end that counted last.
    let (mut peer, mut ended, mut rows_of_peer, mut last) = (-1, 0, 0, 0);
    loop {
        let rows = connection.rows(
            "SELECT peer, began, ended, grave FROM unsettled WHERE ended IS NOT NULL AND peer < $1 AND fewest <= $1
             AND (peer, ended) > ($2, $3) ORDER BY peer, ended LIMIT 1000",
            &[
                Value::from(i64::from(parties)),
                Value::from(peer),
                Value::from(ended),
            ],
        )?;
        for row in &rows {
            let (of, began, is_grave) = (row.integer(0)?, row.integer(1)?, row.integer(3)? != 0);
            ended = row.integer(2)?;
            if of != peer {
                (peer, rows_of_peer, last) = (of, 0, 0);
                all.push(Unsettled {
                    peer: u8::try_from(of).map_err(|_| Error::Corrupt("a wrong party".into()))?,
                    times: 0,
                    grave: false,
                });
            }
            let Some(known) = all.last_mut() else { continue };
            known.grave |= is_grave;
            rows_of_peer += 1;
            // What began before that end broke off with it.
            if began > last {
                known.times += 1;
                last = ended;
            }
            if rows_of_peer >= KEPT {
                known.times = MOST_TIMES;
            }
        }
        let Some(known) = all.last_mut().filter(|_| rows.len() == PAGE) else {
            return Ok(all);
        };
        // More of that peer's would add nothing.
        if known.times >= MOST_TIMES {
            known.times = MOST_TIMES;
            known.grave |= is_grave(connection, peer, parties)?;
            ended = i64::MAX;
        }
    }
}

fn is_grave(connection: &mut Connection, peer: i64, parties: u8) -> Result<bool> {
    let row = connection.one(
        "SELECT peer FROM unsettled WHERE peer = $1 AND grave = 1 AND fewest <= $2 LIMIT 1",
        &[Value::from(peer), Value::from(i64::from(parties))],
    )?;
    Ok(row.is_some())
}

/// Whether a session of a job has broken off, and is on record.
fn has_broken_off(transaction: &mut Transaction<'_>, job: JobId) -> Result<bool> {
    let row = transaction.one(
        "SELECT peer FROM unsettled WHERE session = $1 AND ended IS NOT NULL AND grave = 0 LIMIT 1",
        &[Value::from(Tried::Job(job).to_string())],
    )?;
    Ok(row.is_some())
}

/// Refuses to begin a job if too much is on record, unless a peer has proposed it and a person here has approved it: rules and programs that submit jobs
/// would go on for ever. One in shards that goes on has so many attempts in all, so only what is grave is in its way once a session of its own has broken off. A run that
/// was cut off before it could be tried in is no reason to let more be tried. One that stands has as many sessions as are cut off: a person's approval is for those
/// of them in which nothing was tried, and the next one.
pub(super) fn check(transaction: &mut Transaction<'_>, job: &Job, me: u8, most: u64) -> Result<()> {
    let all = against(transaction.connection(), job.proposal.parties)?;
    let stands = job.proposal.standing.is_some();
    let has_broken_off = job.runs > 0 && has_broken_off(transaction, job.proposal.id)?;
    let goes_on = has_broken_off && !stands;
    let is_too_much = |known: &Unsettled| known.grave || (!goes_on && known.is_too_much(most));
    let Some(unsettled) = all.into_iter().find(is_too_much) else {
        return Ok(());
    };
    let rule = transaction.one(
        "SELECT rule FROM ruling WHERE job = $1",
        &[Value::from(job.proposal.id.to_string())],
    )?;
    match rule.is_some() || job.proposal.proposer == me || (stands && has_broken_off) {
        true => Err(Error::Unsettled(unsettled)),
        false => Ok(()),
    }
}
