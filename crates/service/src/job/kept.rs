//! Kept values: outputs that nobody has learnt, of which each party stores its share, sealed, until they are dropped or have expired.

use std::time::Duration;

use super::{JobId, Jobs, Kept, Proposal};
use crate::audit::{Actor, Event};
use crate::database::{Row, Transaction, Value};
use crate::seal::Sealed;
use crate::{Error, Result, Timestamp};

/// Values that one call of [`Jobs::expire_kept`] deletes, at most.
const AT_ONCE: i64 = 500;
/// Values of a list, at most.
const LONGEST: u16 = 1000;
const DAY: Duration = Duration::from_secs(24 * 3600);

macro_rules! columns {
    () => {
        "name, job, kind, bytes, kept_at, expires_at"
    };
}

impl Jobs {
    /// The value of this name and type that `job` kept; the newest of them if no job is named.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn find_kept(
        &self,
        name: &str,
        kind: &str,
        job: Option<JobId>,
        now: Timestamp,
    ) -> Result<Option<Kept>> {
        let (name, kind) = (Value::from(name), Value::from(kind));
        let now = Value::from(now.column());
        self.database.read(move |connection| {
            let row = match job {
                Some(job) => connection.one(
                    concat!(
                        "SELECT ",
                        columns!(),
                        " FROM kept WHERE name = $1 AND kind = $2 AND expires_at > $3 AND job = $4"
                    ),
                    &[name, kind, now, Value::from(job.to_string())],
                )?,
                None => connection.one(
                    concat!(
                        "SELECT ",
                        columns!(),
                        " FROM kept WHERE name = $1 AND kind = $2 AND expires_at > $3 ORDER BY kept_at DESC, job DESC LIMIT 1"
                    ),
                    &[name, kind, now],
                )?,
            };
            row.map(|row| read(&row)).transpose()
        })
    }

    /// This party's share of a kept value.
    ///
    /// # Errors
    /// [`Error::NoKept`].
    pub fn kept_share(&self, name: &str, job: JobId, now: Timestamp) -> Result<Sealed> {
        let name = name.to_owned();
        self.database.read(move |connection| {
            let row = connection.one(
                "SELECT sealed FROM kept WHERE job = $1 AND name = $2 AND expires_at > $3",
                &[
                    Value::from(job.to_string()),
                    Value::from(name.as_str()),
                    Value::from(now.column()),
                ],
            )?;
            let row = row.ok_or(Error::NoKept { name, job })?;
            Ok(Sealed::from_bytes(row.bytes(0)?.to_vec()))
        })
    }

    /// Kept values, the newest first, at most `limit` and 1,000.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn list_kept(&self, now: Timestamp, limit: u16) -> Result<Vec<Kept>> {
        let limit = i64::from(limit.clamp(1, LONGEST));
        self.database.read(move |connection| {
            let rows = connection.rows(
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM kept WHERE expires_at > $1 ORDER BY kept_at DESC, job DESC, name LIMIT $2"
                ),
                &[Value::from(now.column()), Value::from(limit)],
            )?;
            rows.iter().map(read).collect()
        })
    }

    /// How many values are stored, and the bytes of their shares.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn kept_in_all(&self) -> Result<(u64, u64)> {
        self.database.read(|connection| {
            let sums = "SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM kept";
            connection
                .one(sums, &[])?
                .map_or(Ok((0, 0)), |row| Ok((row.count(0)?, row.count(1)?)))
        })
    }

    /// Deletes a kept value here, so that no job can take it any more.
    ///
    /// # Errors
    /// [`Error::NoKept`].
    pub fn drop_kept(&self, name: &str, job: JobId, by: Actor, now: Timestamp) -> Result<()> {
        let name = name.to_owned();
        self.database
            .write(move |transaction| match delete(transaction, job, &name)? {
                0 => Err(Error::NoKept { name, job }),
                _ => transaction.audit(now, &Event::KeptDropped { name, job, by }),
            })
    }

    /// Deletes kept values whose time is over, 500 at most; how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn expire_kept(&self, now: Timestamp) -> Result<u64> {
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                "SELECT job, name FROM kept WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2",
                &[Value::from(now.column()), Value::from(AT_ONCE)],
            )?;
            for row in &rows {
                let (job, name) = (owner(row.text(0)?)?, row.text(1)?.to_owned());
                delete(transaction, job, &name)?;
                transaction.audit(now, &Event::KeptExpired { name, job })?;
            }
            Ok(rows.len() as u64)
        })
    }
}

/// Stores this party's share of each value that the proposal keeps.
pub(super) fn keep(
    transaction: &mut Transaction<'_>,
    proposal: &Proposal,
    shares: &[Sealed],
    now: Timestamp,
) -> Result<()> {
    if shares.len() != proposal.keeps.len() {
        return Err(Error::Keeps {
            job: proposal.id,
            keeps: proposal.keeps.len(),
            given: shares.len(),
        });
    }
    for (keep, share) in proposal.keeps.iter().zip(shares) {
        let share = share.as_bytes().to_vec();
        let bytes = share.len();
        transaction.run(
            "INSERT INTO kept (job, name, kind, bytes, kept_at, expires_at, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                Value::from(proposal.id.to_string()),
                Value::from(keep.name.as_str()),
                Value::from(keep.kind.as_str()),
                Value::from(i64::try_from(bytes).map_err(|_| wrong("length"))?),
                Value::from(now.column()),
                Value::from(now.after(DAY * u32::from(keep.days)).column()),
                Value::from(share),
            ],
        )?;
    }
    Ok(())
}

/// The value of a row of the [`columns`].
fn read(row: &Row) -> Result<Kept> {
    Ok(Kept {
        name: row.text(0)?.to_owned(),
        job: owner(row.text(1)?)?,
        kind: row.text(2)?.to_owned(),
        bytes: row.count(3)?,
        kept_at: Timestamp::from_column(row.integer(4)?),
        expires_at: Timestamp::from_column(row.integer(5)?),
    })
}

fn delete(transaction: &mut Transaction<'_>, job: JobId, name: &str) -> Result<u64> {
    transaction.run(
        "DELETE FROM kept WHERE job = $1 AND name = $2",
        &[Value::from(job.to_string()), Value::from(name)],
    )
}

fn owner(text: &str) -> Result<JobId> {
    text.parse().map_err(|_| wrong("job"))
}

fn wrong(what: &str) -> Error {
    Error::Corrupt(format!("a kept value with a wrong {what}"))
}
