//! What a database says of a failure, in this crate's errors. No message quotes a value.

use std::path::Path;

use postgres::error::SqlState;
use rusqlite::{ErrorCode, ffi};

use crate::{Error, Result};

/// The failure of a statement on the SQLite database at `path`. SQLite's messages name tables and columns only.
pub(super) fn of_sqlite(path: &Path, error: rusqlite::Error) -> Error {
    let (code, reason) = match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            (Some(code), message.unwrap_or_else(|| code.to_string()))
        }
        other => (None, other.to_string()),
    };
    // The index of its log is a file, too, which has to grow when the database is opened.
    let is_full = |code: ffi::Error| {
        code.code == ErrorCode::DiskFull || code.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    };
    if code.is_some_and(is_full) {
        let place = path.display().to_string();
        return Error::Full { place };
    }
    match code.map(|code| code.code) {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged {
            path: path.to_owned(),
            reason,
        },
        _ => Error::Database(format!("{}: {reason}", path.display())),
    }
}

pub(super) fn of_postgres(error: &postgres::Error) -> Error {
    match error.code() {
        Some(code) => of_server(code, text_of(error)),
        None => Error::Database(text_of(error)),
    }
}

/// What a PostgreSQL server says, by its code.
fn of_server(code: &SqlState, text: String) -> Error {
    match *code {
        SqlState::DISK_FULL => Error::Full {
            place: format!("the PostgreSQL server ({text})"),
        },
        _ => Error::Database(text),
    }
}

/// The message of PostgreSQL without its details, which quote values.
pub(super) fn text_of(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None if error.is_closed() => "the connection to PostgreSQL is lost".into(),
        // The error's own text names what failed, its source the system's reason.
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// An outcome of the SQLite database at `path`.
pub(super) trait OfSqlite<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> OfSqlite<T> for rusqlite::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| of_sqlite(path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_full_disk_is_told_as_such() {
        let text = "could not extend file (53100)";
        let full = of_server(&SqlState::from_code("53100"), text.into());
        assert!(
            matches!(&full, Error::Full { place } if place.contains("PostgreSQL")),
            "{full:?}"
        );
        let other = of_server(&SqlState::from_code("53200"), text.into());
        assert!(matches!(other, Error::Database(_)), "{other:?}");
    }
}
