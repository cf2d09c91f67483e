//! Whether the key in a service's folder is the one under which its database holds results and this party's shares of kept values.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::audit::{Actor, Event};
use crate::database::{Connection, Row, Transaction, Value};
use crate::job::{Digest, JobId};
use crate::seal::{RESULT_KEY, ResultKey, Sealed};
use crate::{Database, Error, Result, Timestamp};

/// Values that are tried where the database does not say which key it belongs to.
const TRIED: i64 = 10;
/// Values that are given up in one transaction.
const AT_ONCE: i64 = 500;

/// What is sealed in a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SealedValues {
    /// Results that nobody has fetched.
    pub results: u64,
    /// This party's shares of kept values.
    pub kept: u64,
}

impl ResultKey {
    /// The key of a database, which is made for one that holds nothing sealed yet.
    ///
    /// # Errors
    /// [`Error::ResultKey`] where it is gone, or another key is in its place; [`Error::File`] where it cannot be read or written, or is not a key.
    pub fn of(database: &Database) -> Result<Self> {
        let (found, path) = (Self::read(database.folder())?, path(database));
        let key = match database.read(move |connection| Self::compared(found, path, connection))? {
            Some(key) => key,
            None => Self::open(database.folder())?,
        };
        key.record(database)?;
        Ok(key)
    }

    /// Sees that the key that was `found` at `path` is the one of a database. Gives nothing where there is none, and nothing in the database needs one.
    ///
    /// # Errors
    /// [`Error::ResultKey`] where it is gone, or another key is in its place.
    pub(crate) fn compared(
        found: Option<Self>,
        path: PathBuf,
        connection: &mut Connection,
    ) -> Result<Option<Self>> {
        let sealed = count(connection)?;
        let what = match found {
            Some(key) if key.fits(connection)? => return Ok(Some(key)),
            Some(_) => "is not the key that was here",
            None if recorded(connection)?.is_none() && sealed == SealedValues::default() => return Ok(None),
            None => "is missing",
        };
        let SealedValues { results, kept } = sealed;
        Err(Error::ResultKey {
            path,
            what,
            results,
            kept,
        })
    }

    /// Gives up what is sealed under a key that is lost for good, and makes a new one. What lies in its place is kept beside it. Interrupted, it can be done again.
    ///
    /// # Errors
    /// [`Error::File`] where the key is there after all, or a file cannot be written; where the database cannot be read or written.
    pub fn replace(database: &Database, now: Timestamp) -> Result<SealedValues> {
        let path = path(database);
        // A file that is no key is lost, too; one that cannot be read is not.
        readable(&path).map_err(|error| Error::file(&path, error))?;
        if let Ok(Some(key)) = Self::read(database.folder())
            && database.read(move |connection| key.fits(connection))?
        {
            return Err(Error::file(
                path,
                "the key is there, and opens what is sealed; nothing was given up",
            ));
        }
        let given_up = database.read(count)?;
        while database.write(move |transaction| give_up_results(transaction, now))? > 0 {}
        while database.write(move |transaction| give_up_kept(transaction, now))? > 0 {}
        if path.exists() {
            let old = path.with_extension("key.old");
            std::fs::rename(&path, &old).map_err(|error| Error::file(old, error))?;
        }
        Self::open(database.folder())?.record(database)?;
        Ok(given_up)
    }

    /// Whether it is the key of the database, which need not be on record yet.
    fn fits(&self, connection: &mut Connection) -> Result<bool> {
        match recorded(connection)? {
            Some(recorded) => Ok(recorded == self.name()),
            None => self.opens_some(connection),
        }
    }

    /// By what a database knows it. It tells nothing of the key.
    fn name(&self) -> Digest {
        self.digest("the key of a database", b"")
    }

    fn record(&self, database: &Database) -> Result<()> {
        let name = self.name().to_string();
        database.write(move |transaction| {
            transaction
                .run(
                    "INSERT INTO result_key (single, name) VALUES (1, $1) ON CONFLICT (single) DO UPDATE SET name = $1",
                    &[Value::from(name)],
                )
                .map(drop)
        })
    }

    /// Whether it opens what is sealed, or nothing is.
    fn opens_some(&self, connection: &mut Connection) -> Result<bool> {
        let results =
            "SELECT job, sealed FROM result WHERE sealed IS NOT NULL ORDER BY expires_at DESC LIMIT $1";
        let kept = "SELECT job, sealed, name FROM kept ORDER BY kept_at DESC LIMIT $1";
        let limit = [Value::from(TRIED)];
        let (results, kept) = (connection.rows(results, &limit)?, connection.rows(kept, &limit)?);
        let sealed = |row: &Row| Ok::<_, Error>((job(row)?, Sealed::from_bytes(row.bytes(1)?.to_vec())));
        let is_empty = results.is_empty() && kept.is_empty();
        for row in &results {
            let (job, sealed) = sealed(row)?;
            if self.open_result(job, &sealed).is_ok() {
                return Ok(true);
            }
        }
        for row in &kept {
            let (job, sealed) = sealed(row)?;
            if self.open_kept(job, row.text(2)?, &sealed).is_ok() {
                return Ok(true);
            }
        }
        Ok(is_empty)
    }
}

/// Sees that a file can be read, if it is there.
fn readable(path: &Path) -> std::io::Result<()> {
    match File::open(path).and_then(|file| file.take(1).read_to_end(&mut Vec::new())) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn path(database: &Database) -> PathBuf {
    database.folder().file(RESULT_KEY)
}

fn recorded(connection: &mut Connection) -> Result<Option<Digest>> {
    let row = connection.one("SELECT name FROM result_key", &[])?;
    row.map(|row| {
        row.text(0)?
            .parse()
            .map_err(|_| Error::Corrupt("a key with a wrong name".into()))
    })
    .transpose()
}

fn count(connection: &mut Connection) -> Result<SealedValues> {
    let mut count = |sql| {
        let row = connection.one(sql, &[])?;
        row.map_or(Ok(0), |row| row.count(0))
    };
    Ok(SealedValues {
        results: count("SELECT COUNT(*) FROM result WHERE sealed IS NOT NULL")?,
        kept: count("SELECT COUNT(*) FROM kept")?,
    })
}

fn give_up_results(transaction: &mut Transaction<'_>, now: Timestamp) -> Result<usize> {
    let sql = "SELECT job FROM result WHERE sealed IS NOT NULL LIMIT $1";
    let rows = transaction.rows(sql, &[Value::from(AT_ONCE)])?;
    for row in &rows {
        let sql = "UPDATE result SET sealed = NULL WHERE job = $1";
        transaction.run(sql, &[Value::from(row.text(0)?)])?;
        transaction.audit(now, &Event::Expired { job: job(row)? })?;
    }
    Ok(rows.len())
}

fn give_up_kept(transaction: &mut Transaction<'_>, now: Timestamp) -> Result<usize> {
    let rows = transaction.rows("SELECT job, name FROM kept LIMIT $1", &[Value::from(AT_ONCE)])?;
    for row in &rows {
        let (job, name, by) = (job(row)?, row.text(1)?.to_owned(), Actor::Service);
        transaction.run(
            "DELETE FROM kept WHERE job = $1 AND name = $2",
            &[Value::from(row.text(0)?), Value::from(name.as_str())],
        )?;
        transaction.audit(now, &Event::KeptDropped { name, job, by })?;
    }
    Ok(rows.len())
}

fn job(row: &Row) -> Result<JobId> {
    row.text(0)?
        .parse()
        .map_err(|_| Error::Corrupt("a sealed value of a wrong job".into()))
}

#[cfg(test)]
pub(crate) mod tests;
