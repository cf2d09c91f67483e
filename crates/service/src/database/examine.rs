//! The record of a service that is down: database, audit log and key, looked at and compared. Nothing is mended, and no file is changed.

use std::path::Path;
use std::sync::Arc;

use super::connection::{Access, Connection};
use super::open::heads;
use super::{Address, SQLITE, migrations};
use crate::audit::{self, Fault, Head};
use crate::folder::Folder;
use crate::seal::{RESULT_KEY, ResultKey};
use crate::{Error, Result};

/// What is found of a record beside its database.
#[derive(Debug)]
pub struct Examined {
    /// The end of the audit log, or why it is not as the database has it.
    pub log: std::result::Result<Head, Fault>,
    /// Why the key is not the one of the database, if so: [`Error::ResultKey`], or [`Error::File`] where the file is no key.
    pub key: Result<()>,
}

/// Looks at the record in the folder at `path`; gives nothing where no service has begun one.
///
/// # Errors
/// What keeps a service from starting before log and key can be compared: [`Error::InUse`], [`Error::Damaged`], [`Error::Newer`],
/// [`Error::NotOurs`], [`Error::File`] where the database is missing.
pub fn examine(path: &Path, address: &Address) -> Result<Option<Examined>> {
    let file = |name: &str| path.join(name);
    let has = |name: &str| file(name).exists();
    if matches!(address, Address::Embedded) && !has(SQLITE) {
        return match has(audit::FILE) || has(RESULT_KEY) {
            true => Err(Error::file(
                file(SQLITE),
                "the database is missing, and files of its service are beside it; put it back as it was when the service ended, or give the \
                 service an empty folder (docs/operating.md, Backup)",
            )),
            false => Ok(None),
        };
    }
    let folder = Folder::look_at(path)?;
    let mut connection = match address {
        Address::Embedded => Connection::sqlite_at_rest(&file(SQLITE), Arc::default())?,
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
    let log = audit::compare(&file(audit::FILE), &settled, &pending).map(|()| end);
    let key = ResultKey::read(&folder).and_then(|found| match version == migrations::NEWEST {
        true => ResultKey::compared(found, file(RESULT_KEY), &mut connection).map(drop),
        // An older database may lack a table: the service brings it to this version, and compares the key then.
        false => Ok(()),
    });
    Ok(Some(Examined { log, key }))
}
