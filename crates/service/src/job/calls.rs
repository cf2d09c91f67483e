//! Calls of jobs that stand: how many may have been answered, which have begun, and how each ended.
//!
//! Before anything of a call is opened, it is on the disk that it has begun and that so many calls may have been answered. So a service that is killed forgets
//! no answer that a party may have learnt, and answers no call twice.

use std::collections::BTreeMap;

use super::Job;
use super::{Digest, JobId, Jobs, StateName, approve, row};
use crate::audit::Event;
use crate::database::{Connection, Flush, Pending, Transaction, Value};
use crate::seal::Sealed;
use crate::{Error, Result, Timestamp};

/// Calls that one call of [`Jobs::expire_calls`] deletes, at most.
const AT_ONCE: i64 = 20_000;

/// A call's name, the same at all parties: a digest of the name that its callers gave it, in 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub [u8; 16]);

impl CallId {
    /// The call of `job` that its callers name so.
    pub fn of(job: JobId, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("cenote service call 1");
        hasher.update(&job.0).update(name.as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        CallId(id)
    }
}

impl std::fmt::Display for CallId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A call that this party makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCall {
    /// Its name.
    pub id: CallId,
    /// By what a repetition is known.
    pub body: Digest,
    /// Who makes it, by the name of the token.
    pub submitter: String,
}

/// How a call ended here.
#[derive(Debug, Clone)]
pub enum Ended {
    /// It was answered; with what this party learnt, if it did.
    Done(Option<Sealed>),
    /// It was cut off after it had begun, for this reason.
    Failed(String),
}

/// A call that is on record.
#[derive(Debug, Clone)]
pub struct KnownCall {
    /// By what a repetition is known, if this party made it.
    pub body: Option<Digest>,
    /// Who made it, by the name of the token.
    pub submitter: Option<String>,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
}

/// What begins together.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// The job.
    pub job: JobId,
    /// Calls that may have been answered from here on, in all.
    pub reserved: u64,
    /// Of the calls that begin, those that this party makes.
    pub own: Vec<OwnCall>,
    /// The values of the parameters, where it is one call of a query.
    pub parameters: BTreeMap<String, String>,
}

/// A summary of calls that were answered, for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// How many.
    pub calls: u64,
    /// The digest of their names, one after the other.
    pub digest: Digest,
}

impl Jobs {
    /// Calls of a job that may have been answered by now.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn reserved_calls(&self, id: JobId) -> Result<u64> {
        self.database.read(move |connection| reserved(connection, id))
    }

    /// Asks that calls begin, and does not wait for it: nothing of them may be opened before what is given here is there. Fails then if the job does not run any more.
    ///
    /// # Errors
    /// Where too much waits to be recorded.
    pub fn begin_calls(&self, beginning: Beginning, now: Timestamp) -> Result<Pending<()>> {
        self.database.begin_write(Flush::Now, move |transaction| {
            let job = running(transaction, beginning.job)?;
            reserve(transaction, &job, &beginning, now)?;
            for call in &beginning.own {
                transaction.run(
                    "INSERT INTO call (job, id, body, submitter, state, at) VALUES ($1, $2, $3, $4, 'begun', $5)",
                    &[
                        Value::from(beginning.job.to_string()),
                        Value::from(call.id.to_string()),
                        Value::from(call.body.to_string()),
                        Value::from(call.submitter.as_str()),
                        Value::from(now.column()),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Records how calls ended, and tells the audit log of those that were `answered` since it was told last, if that is given.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn end_calls(
        &self,
        id: JobId,
        ended: Vec<(CallId, Ended)>,
        answered: Option<Answered>,
        now: Timestamp,
    ) -> Result<()> {
        self.database.write(move |transaction| {
            for (call, ended) in &ended {
                let (state, reason, sealed) = match ended {
                    Ended::Done(sealed) => ("done", None, sealed.as_ref()),
                    Ended::Failed(reason) => ("failed", Some(super::step::bounded(reason)), None),
                };
                transaction.run(
                    "INSERT INTO call (job, id, state, reason, sealed, at) VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (job, id) DO UPDATE SET state = $3, reason = $4, sealed = $5, at = $6",
                    &[
                        Value::from(id.to_string()),
                        Value::from(call.to_string()),
                        Value::from(state),
                        Value::from(reason),
                        sealed.map_or(Value::Bytes(None), |sealed| {
                            Value::from(sealed.as_bytes().to_vec())
                        }),
                        Value::from(now.column()),
                    ],
                )?;
            }
            if let Some(Answered { calls, digest }) = answered {
                transaction.audit(
                    now,
                    &Event::Calls {
                        job: id,
                        calls,
                        digest,
                    },
                )?;
            }
            Ok(())
        })
    }

    /// Fails the calls that have begun and not ended, of one job or of all. To be called when none of them runs.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn fail_calls(&self, of: Option<JobId>, reason: &'static str, now: Timestamp) -> Result<()> {
        self.database.write(move |transaction| {
            let mut values = vec![Value::from(reason), Value::from(now.column())];
            let begun = match of {
                None => "UPDATE call SET state = 'failed', reason = $1, at = $2 WHERE state = 'begun'",
                Some(job) => {
                    values.push(Value::from(job.to_string()));
                    "UPDATE call SET state = 'failed', reason = $1, at = $2 WHERE state = 'begun' AND job = $3"
                }
            };
            transaction.run(begun, &values)?;
            Ok(())
        })
    }

    /// A call, if it is on record.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn call(&self, job: JobId, id: CallId) -> Result<Option<KnownCall>> {
        self.database.read(move |connection| {
            let row = connection.one(
                "SELECT body, submitter, state, reason, sealed FROM call WHERE job = $1 AND id = $2",
                &[Value::from(job.to_string()), Value::from(id.to_string())],
            )?;
            let Some(row) = row else { return Ok(None) };
            let wrong = |what: &str| Error::Corrupt(format!("a call with a wrong {what}"));
            let body = row.text_or_null(0)?.map(str::parse).transpose();
            Ok(Some(KnownCall {
                body: body.map_err(|_| wrong("digest"))?,
                submitter: row.text_or_null(1)?.map(str::to_owned),
                ended: match row.text(2)? {
                    "begun" => None,
                    "done" => Some(Ended::Done(
                        row.bytes_or_null(4)?
                            .map(|bytes| Sealed::from_bytes(bytes.to_vec())),
                    )),
                    "failed" => Some(Ended::Failed(row.text_or_null(3)?.unwrap_or_default().to_owned())),
                    _ => return Err(wrong("state")),
                },
            }))
        })
    }

    /// Forgets calls that ended before `before`. Where more than `most` are left that ended, forgets the oldest of the job that has most of them, so that a busy job
    /// does not push out those of others. 20,000 of each at most; how many. A call of such a name is a new one then.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn expire_calls(&self, before: Timestamp, most: u64) -> Result<u64> {
        self.database.write(move |transaction| {
            let old = transaction.run(
                "DELETE FROM call WHERE (job, id) IN
                 (SELECT job, id FROM call WHERE state <> 'begun' AND at < $1 ORDER BY at LIMIT $2)",
                &[Value::from(before.column()), Value::from(AT_ONCE)],
            )?;
            let left = transaction
                .connection()
                .one("SELECT COUNT(*) FROM call WHERE state <> 'begun'", &[])?
                .map_or(Ok(0), |row| row.count(0))?;
            let beyond = i64::try_from(left.saturating_sub(most)).unwrap_or(i64::MAX);
            if beyond == 0 {
                return Ok(old);
            }
            let gone = transaction.run(
                "DELETE FROM call WHERE (job, id) IN
                 (SELECT job, id FROM call WHERE state <> 'begun' AND job =
                  (SELECT job FROM call WHERE state <> 'begun' GROUP BY job ORDER BY COUNT(*) DESC, job LIMIT 1)
                  ORDER BY at, id LIMIT $1)",
                &[Value::from(beyond.min(AT_ONCE))],
            )?;
            Ok(old + gone)
        })
    }
}

fn reserved(connection: &mut Connection, id: JobId) -> Result<u64> {
    connection
        .one(
            "SELECT reserved FROM standing WHERE job = $1",
            &[Value::from(id.to_string())],
        )?
        .map_or(Ok(0), |row| row.count(0))
}

/// The job, if it runs and stands.
fn running(transaction: &mut Transaction<'_>, id: JobId) -> Result<Job> {
    let job = row::get(transaction.connection(), id)?;
    match job.state.name() {
        StateName::Running => Ok(job),
        state => Err(Error::NoTransition {
            job: id,
            state,
            event: "a call".into(),
        }),
    }
}

/// Notes that so many calls may have been answered, and charges this party's data for those that are new.
fn reserve(
    transaction: &mut Transaction<'_>,
    job: &Job,
    beginning: &Beginning,
    now: Timestamp,
) -> Result<()> {
    let (id, reserved_to) = (job.proposal.id, beginning.reserved);
    let before = reserved(transaction.connection(), id)?;
    if reserved_to <= before {
        return Ok(());
    }
    let most = job
        .proposal
        .standing
        .as_ref()
        .map_or(0, |standing| standing.calls);
    if reserved_to > most {
        return Err(Error::Calls { job: id, most });
    }
    let count = |calls: u64| i64::try_from(calls).map_err(|_| Error::Corrupt("too many calls".into()));
    transaction.run(
        "INSERT INTO standing (job, reserved) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET reserved = $2",
        &[Value::from(id.to_string()), Value::from(count(reserved_to)?)],
    )?;
    approve::spend(transaction, id, count(reserved_to - before)?)?;
    let (from, to) = (before + 1, reserved_to);
    let parameters = beginning.parameters.clone();
    transaction.audit(
        now,
        &Event::CallsAllowed {
            job: id,
            from,
            to,
            parameters,
        },
    )
}
