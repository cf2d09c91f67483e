//! Jobs are forgotten.

use super::Jobs;
use super::propose::RECENT;
use crate::database::{Row, Transaction, Value};
use crate::{Result, Timestamp};

/// Jobs that one call of [`Jobs::prune`] deletes, at most.
const AT_ONCE: i64 = 500;
/// Parties of a job, at most.
const MOST_PARTIES: i64 = 3;

impl Jobs {
    /// Forgets jobs that ended, and whose deadline passed, before `before`, which is not in the future, so that none of them can be proposed
    /// again; 500 at most. Their idempotency keys and results go with them; their lines in the audit log and the counts of disclosures stay.
    /// A job of which a value is kept stays as long as the value. Gives how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn prune(&self, before: Timestamp) -> Result<u64> {
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                "SELECT id FROM job WHERE open = 0 AND deadline < $1 AND changed_at < $1
                 AND NOT EXISTS (SELECT 1 FROM kept WHERE kept.job = job.id) ORDER BY deadline LIMIT $2",
                &[Value::from(before.column()), Value::from(AT_ONCE)],
            )?;
            forget(transaction, &rows)
        })
    }

    /// Forgets jobs that ended more than an hour before `now` without having run, where there are more of a proposer than are kept, the oldest
    /// first; 500 at most of each. Nothing was learnt from them, so that they may be proposed again. Gives how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn prune_unrun(&self, now: Timestamp) -> Result<u64> {
        let keep = i64::try_from(self.settings.keep_unrun).unwrap_or(i64::MAX);
        self.database.write(move |transaction| {
            let mut gone = 0;
            for proposer in 0..MOST_PARTIES {
                let rows = transaction.rows(
                    "SELECT id, changed_at FROM job WHERE open = 0 AND ran = 0 AND proposer = $1 AND changed_at <= $2
                     ORDER BY changed_at DESC LIMIT $3 OFFSET $4",
                    &[
                        Value::from(proposer),
                        Value::from(now.before(RECENT).column()),
                        Value::from(AT_ONCE),
                        Value::from(keep),
                    ],
                )?;
                gone += forget(transaction, &rows)?;
            }
            Ok(gone)
        })
    }
}

/// Deletes the jobs that are named in the first column, with what belongs to them.
fn forget(transaction: &mut Transaction<'_>, rows: &[Row]) -> Result<u64> {
    for row in rows {
        let id = Value::from(row.text(0)?);
        transaction.run("DELETE FROM result WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM ruling WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM call WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM standing WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM job WHERE id = $1", &[id])?;
    }
    Ok(rows.len() as u64)
}
