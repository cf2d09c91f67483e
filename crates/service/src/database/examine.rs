//! The record of a service that is down: database, audit log and key, looked at and compared. Nothing is mended.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::connection::{Access, Connection};
use super::open::heads;
use super::{Address, SQLITE, migrations};
use crate::audit::{self, Fault, Head, Line};
use crate::folder::Folder;
use crate::seal::{self, ResultKey, Sealed};
use crate::{Error, Result};

/// Looks at the record in the folder at `path`, and gives the end of its audit log; nothing where no service has begun one.
///
/// # Errors
/// What keeps a service from starting, or loses what it should keep: [`Error::InUse`], [`Error::Damaged`], [`Error::Newer`],
/// [`Error::NotOurs`], [`Error::Audit`] where the log is not as recorded, [`Error::File`] where a file is missing, [`Error::Seal`] where the
/// key is another.
pub fn examine(path: &Path, address: &Address) -> Result<Option<Head>> {
    let file = |name: &str| path.join(name);
    let has = |name: &str| file(name).exists();
    if matches!(address, Address::Embedded) && !has(SQLITE) {
        return match has(audit::FILE) || has(seal::FILE) {
            true => Err(Error::file(
                file(SQLITE),
                "the database is missing, and files of its service are beside it; put it back as it was when the service ended, or give the \
                 service an empty folder (docs/operating.md, Backup)",
            )),
            false => Ok(None),
        };
    }
    let folder = Folder::claim(path)?;
    let mut connection = match address {
        Address::Embedded => Connection::sqlite(&file(SQLITE), Access::Read, Arc::default())?,
        Address::Postgres(server) => Connection::postgres(server, Access::Read, Arc::default())?,
    };
    connection.begin(Access::Read)?;
    let version = migrations::version(&mut connection)?;
    if version == 0 {
        return Ok(None);
    }
    let Some((end, settled, pending)) = heads(&mut connection)? else {
        return Ok(None);
    };
    compare_log(&file(audit::FILE), &end, &settled, &pending)?;
    if !has(seal::FILE) {
        return Err(Error::file(
            file(seal::FILE),
            "the key is missing; put back the one that was here: without it all results and this party's shares of kept values are lost",
        ));
    }
    let key = ResultKey::open(&folder)?;
    // An older database may lack a table.
    if version == migrations::NEWEST {
        compare_key(&key, &mut connection)?;
    }
    Ok(Some(end))
}

/// Sees that a log has the settled lines, and after them nothing but what the database has for its place. What is missing there had not
/// reached the disk, and the service puts it in place.
fn compare_log(path: &Path, end: &Head, settled: &Head, pending: &[Line]) -> Result<()> {
    audit::verify(path, Some(settled))?;
    let expected: Vec<u8> = pending.iter().flat_map(|line| line.text.bytes()).collect();
    let unreadable = |error: std::io::Error| Fault::File(format!("{}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let more = length.saturating_sub(settled.length);
    if more > expected.len() as u64 {
        return Err(Fault::Long { lines: end.number }.into());
    }
    let mut found = vec![0; usize::try_from(more).unwrap_or(expected.len())];
    file.read_exact_at(&mut found, settled.length)
        .map_err(unreadable)?;
    let mut both = found.iter().zip(&expected);
    match both.position(|(is, should)| is != should && *is != 0) {
        None => Ok(()),
        Some(place) => {
            let before = expected.iter().take(place).filter(|byte| **byte == b'\n').count();
            Err(Fault::Changed {
                line: settled.number + 1 + before as u64,
                what: "it is not the line that the database recorded",
            }
            .into())
        }
    }
}

/// Sees that the key opens what was sealed last, if anything is there.
fn compare_key(key: &ResultKey, connection: &mut Connection) -> Result<()> {
    let wrong = |_| Error::Corrupt("a job with a wrong name".into());
    let result = "SELECT job, sealed FROM result WHERE sealed IS NOT NULL ORDER BY expires_at DESC LIMIT 1";
    if let Some(row) = connection.one(result, &[])? {
        let job = row.text(0)?.parse().map_err(wrong)?;
        key.open_result(job, &Sealed::from_bytes(row.bytes(1)?.to_vec()))?;
    }
    let kept = "SELECT job, name, sealed FROM kept ORDER BY kept_at DESC LIMIT 1";
    if let Some(row) = connection.one(kept, &[])? {
        let job = row.text(0)?.parse().map_err(wrong)?;
        key.open_kept(job, row.text(1)?, &Sealed::from_bytes(row.bytes(2)?.to_vec()))?;
    }
    Ok(())
}
