//! Results: sealed while they are kept, given to one who fetches them, deleted when they have been fetched or have expired.

use super::step::{Local, Step};
use super::take::take;
use super::{Job, JobId, Jobs, StateName, kept, row, tries};
use crate::audit::{Actor, Event};
use crate::database::{Transaction, Value};
use crate::seal::Sealed;
use crate::{Error, Result, Timestamp};

/// Results that one call of [`Jobs::expire_results`] deletes, at most.
const AT_ONCE: i64 = 500;

/// A result that was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The result.
    pub sealed: Sealed,
    /// Whether it had been fetched before, under the same key.
    pub again: bool,
    /// Until when it can be fetched once more under the same key.
    pub until: Timestamp,
}

/// What a party has of a job that is done.
#[derive(Debug, Clone, Default)]
pub struct Gains {
    /// What it learns, if it does.
    pub outputs: Option<Sealed>,
    /// Its share of each value that the proposal keeps, in its order.
    pub kept: Vec<Sealed>,
    /// Whether its session broke off all the same, when this party had learnt its outputs.
    pub broken_off: bool,
}

impl Jobs {
    /// The job is done.
    ///
    /// # Errors
    /// Those of [`Job::step`]; [`Error::Keeps`] where there is not one share for each value that is kept.
    pub fn finish(&self, id: JobId, gains: Gains, now: Timestamp) -> Result<Job> {
        let (me, expires) = (self.settings.me, now.after(self.settings.keep_results));
        self.database.write(move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            if gains.broken_off {
                tries::break_off(transaction, id)?;
            }
            let job = take(
                transaction,
                &job,
                me,
                &Step::Here(Local::Finish),
                &Actor::Service,
                now,
            )?;
            if let Some(outputs) = gains.outputs {
                keep(transaction, id, &outputs, expires)?;
            }
            kept::keep(transaction, &job.proposal, &gains.kept, now)?;
            Ok(job)
        })
    }

    /// Gives out the result of a job, once: to whoever comes first, with a `key` of its own choice. Who has lost its connection in the
    /// middle asks again with the same key, for some minutes; with another key there is nothing more to fetch.
    ///
    /// # Errors
    /// [`Error::NoJob`], [`Error::NotDone`], [`Error::NoResult`].
    pub fn fetch(&self, id: JobId, key: &str, by: Actor, now: Timestamp) -> Result<Fetched> {
        let key = blake3::derive_key("cenote service fetch key 1", key.as_bytes());
        let key = hex::encode(key);
        let soon = now.after(self.settings.keep_fetched);
        self.database.write(move |transaction| {
            let none = |reason| Error::NoResult { job: id, reason };
            let job = row::get(transaction.connection(), id)?;
            let state = job.state.name();
            if state != StateName::Done {
                return Err(Error::NotDone { job: id, state });
            }
            let row = transaction
                .one(
                    "SELECT sealed, fetcher, expires_at FROM result WHERE job = $1 AND sealed IS NOT NULL AND expires_at > $2",
                    &[Value::from(id.to_string()), Value::from(now.column())],
                )?
                .ok_or_else(|| none("this party learnt no output, or it was fetched or has expired"))?;
            let sealed = Sealed::from_bytes(row.bytes(0)?.to_vec());
            let expires = Timestamp::from_column(row.integer(2)?);
            match row.text_or_null(1)? {
                Some(before) if before == key => Ok(Fetched {
                    sealed,
                    again: true,
                    until: expires,
                }),
                Some(_) => Err(none("it was fetched under another key")),
                None => {
                    let until = soon.min(expires);
                    transaction.run(
                        "UPDATE result SET fetcher = $2, expires_at = $3 WHERE job = $1",
                        &[Value::from(id.to_string()), Value::from(key), Value::from(until.column())],
                    )?;
                    transaction.audit(now, &Event::Fetched { job: id, by })?;
                    Ok(Fetched {
                        sealed,
                        again: false,
                        until,
                    })
                }
            }
        })
    }

    /// Deletes results whose time is over, 500 at most; how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn expire_results(&self, now: Timestamp) -> Result<u64> {
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                "SELECT job FROM result WHERE sealed IS NOT NULL AND expires_at <= $1 ORDER BY expires_at LIMIT $2",
                &[Value::from(now.column()), Value::from(AT_ONCE)],
            )?;
            for row in &rows {
                let text = row.text(0)?;
                let job = text.parse().map_err(|_| Error::Corrupt("a result with a wrong name".into()))?;
                transaction.run("UPDATE result SET sealed = NULL WHERE job = $1", &[Value::from(text)])?;
                transaction.audit(now, &Event::Expired { job })?;
            }
            Ok(rows.len() as u64)
        })
    }
}

fn keep(transaction: &mut Transaction<'_>, job: JobId, outputs: &Sealed, expires: Timestamp) -> Result<()> {
    transaction.run(
        "INSERT INTO result (job, sealed, expires_at) VALUES ($1, $2, $3)",
        &[
            Value::from(job.to_string()),
            Value::from(outputs.as_bytes().to_vec()),
            Value::from(expires.column()),
        ],
    )?;
    Ok(())
}
