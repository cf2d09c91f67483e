//! Jobs as rows of the database.

use serde::{Deserialize, Serialize};

use super::{Digest, Failure, Job, JobId, State, StateName};
use crate::audit::Actor;
use crate::database::{Connection, Row, Transaction, Value};
use crate::{Error, Result, Timestamp};

/// What a job that ended or was interrupted says beyond its state's name.
#[derive(Serialize, Deserialize)]
enum Ending {
    Declined { by: u8, reason: String },
    Failed(Failure),
    Cancelled { by: u8 },
    Interrupted { reason: String },
}

macro_rules! columns {
    () => {
        "number, proposal, digest, state, decisions, binding, ending, created_at, changed_at, ran"
    };
}
pub(super) use columns;

/// The job of a row of the [`columns`].
pub(super) fn read(row: &Row) -> Result<Job> {
    let wrong = |what: &str| Error::Corrupt(format!("a job with a wrong {what}"));
    let ending: Option<Ending> = match row.text_or_null(6)? {
        Some(text) => serde_json::from_str(text).map_err(|_| wrong("ending"))?,
        None => None,
    };
    let interrupted = match &ending {
        Some(Ending::Interrupted { reason }) => Some(reason.clone()),
        _ => None,
    };
    let name = row.text(3)?;
    let state = StateName::ALL.into_iter().find(|state| state.as_str() == name);
    Ok(Job {
        number: row.count(0)?,
        proposal: serde_json::from_str(row.text(1)?).map_err(|_| wrong("proposal"))?,
        digest: row.text(2)?.parse().map_err(|_| wrong("digest"))?,
        state: match (state, ending) {
            (Some(StateName::Proposed), None) => State::Proposed,
            (Some(StateName::Approved), None) => State::Approved,
            (Some(StateName::Queued), None | Some(Ending::Interrupted { .. })) => State::Queued,
            (Some(StateName::Running), None) => State::Running,
            (Some(StateName::Done), None) => State::Done,
            (Some(StateName::Declined), Some(Ending::Declined { by, reason })) => {
                State::Declined { by, reason }
            }
            (Some(StateName::Failed), Some(Ending::Failed(failure))) => State::Failed(failure),
            (Some(StateName::Cancelled), Some(Ending::Cancelled { by })) => State::Cancelled { by },
            _ => return Err(wrong("state")),
        },
        runs: row.count(9)?,
        interrupted,
        decisions: serde_json::from_str(row.text(4)?).map_err(|_| wrong("list of decisions"))?,
        binding: serde_json::from_str(row.text(5)?).map_err(|_| wrong("binding"))?,
        created_at: Timestamp::from_column(row.integer(7)?),
        changed_at: Timestamp::from_column(row.integer(8)?),
    })
}

/// The same; one that cannot be read stands in no other's way.
pub(super) fn readable(row: &Row) -> Option<Job> {
    read(row)
        .inspect_err(
            |error| tracing::error!(%error, "a job in the database cannot be read, and is left alone"),
        )
        .ok()
}

fn text<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Corrupt(error.to_string()))
}

/// Writes a job that is new.
pub(super) fn insert(transaction: &mut Transaction<'_>, job: &Job, body: &Digest, by: &Actor) -> Result<()> {
    let submitter = match by {
        Actor::Person(name) => Some(name.as_str()),
        Actor::Rule(_) | Actor::Peer(_) | Actor::Service => None,
    };
    transaction.run(
        "INSERT INTO job (number, id, proposal, digest, proposer, idempotency, body, deadline, state, open, decisions, binding, created_at,
         changed_at, submitter, ran) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $11, $12, $13, $14, 0)",
        &[
            Value::from(i64::try_from(job.number).map_err(|_| Error::Corrupt("too many jobs".into()))?),
            Value::from(job.proposal.id.to_string()),
            Value::from(text(&job.proposal)?),
            Value::from(job.digest.to_string()),
            Value::from(i64::from(job.proposal.proposer)),
            Value::from(job.proposal.idempotency_key.as_str()),
            Value::from(body.to_string()),
            Value::from(job.proposal.deadline.column()),
            Value::from(job.state.name().as_str()),
            Value::from(text(&job.decisions)?),
            Value::from(text(&job.binding)?),
            Value::from(job.created_at.column()),
            Value::from(job.changed_at.column()),
            Value::from(submitter.map(str::to_owned)),
        ],
    )?;
    Ok(())
}

/// Writes what a step changes.
pub(super) fn update(transaction: &mut Transaction<'_>, job: &Job) -> Result<()> {
    let ending = match &job.state {
        State::Declined { by, reason } => Some(Ending::Declined {
            by: *by,
            reason: reason.clone(),
        }),
        State::Failed(failure) => Some(Ending::Failed(failure.clone())),
        State::Cancelled { by } => Some(Ending::Cancelled { by: *by }),
        State::Proposed | State::Approved | State::Queued | State::Running | State::Done => {
            let interrupted = job.interrupted.clone();
            interrupted.map(|reason| Ending::Interrupted { reason })
        }
    };
    macro_rules! update {
        ($also:literal) => {
            concat!(
                "UPDATE job SET ",
                $also,
                "state = $2, open = $3, decisions = $4, binding = $5, ending = $6, changed_at = $7 WHERE id = $1"
            )
        };
    }
    transaction.run(
        match job.state.name() {
            StateName::Running => update!("ran = ran + 1, "),
            _ => update!(""),
        },
        &[
            Value::from(job.proposal.id.to_string()),
            Value::from(job.state.name().as_str()),
            Value::from(job.state.name().is_open()),
            Value::from(text(&job.decisions)?),
            Value::from(text(&job.binding)?),
            Value::from(ending.map(|ending| text(&ending)).transpose()?),
            Value::from(job.changed_at.column()),
        ],
    )?;
    Ok(())
}

/// The job of this name.
pub(super) fn find(connection: &mut Connection, id: JobId) -> Result<Option<Job>> {
    connection
        .one(
            concat!("SELECT ", columns!(), " FROM job WHERE id = $1"),
            &[Value::from(id.to_string())],
        )?
        .map(|row| read(&row))
        .transpose()
}

/// The job of this name, or an error.
pub(super) fn get(connection: &mut Connection, id: JobId) -> Result<Job> {
    find(connection, id)?.ok_or(Error::NoJob(id))
}
