//! What a database says of a failure, in this crate's errors. No message quotes a value.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::{Error, Result};

/// The failure of a statement on the SQLite database at `path`. SQLite's messages name tables and columns only.
pub(super) fn of_sqlite(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    let (code, reason) = match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            (Some(code.code), message.unwrap_or_else(|| code.to_string()))
        }
        other => (None, other.to_string()),
    };
    match code {
        Some(ErrorCode::DiskFull) => Error::Full { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged { path, reason },
        _ => Error::Database(format!("{}: {reason}", path.display())),
    }
}

pub(super) fn of_postgres(error: &postgres::Error) -> Error {
    Error::Database(text_of(error))
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
