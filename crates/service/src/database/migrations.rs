//! One set of migrations for both databases, applied in order, each in a transaction with the version that it makes.

use super::connection::{Access, Connection};
use super::value::Value;
use crate::{Error, Result};

/// Each brings the database from the version before, which is its place, from 0, to the next.
const MIGRATIONS: [&str; 9] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    include_str!("../../migrations/0005.sql"),
    include_str!("../../migrations/0006.sql"),
    include_str!("../../migrations/0007.sql"),
    include_str!("../../migrations/0008.sql"),
    include_str!("../../migrations/0009.sql"),
];

/// The version of this program.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

const TABLE: &str = "cenote_service";

/// Brings the database to this program's version.
pub(super) fn apply(connection: &mut Connection) -> Result<()> {
    apply_all(connection, &MIGRATIONS)
}

/// The database's version, which this program knows; 0 where it is empty.
pub(super) fn version(connection: &mut Connection) -> Result<i64> {
    version_up_to(connection, NEWEST)
}

fn version_up_to(connection: &mut Connection, known: i64) -> Result<i64> {
    let (any, ours) = connection.tables(TABLE)?;
    if any && !ours {
        return Err(Error::NotOurs);
    }
    let found = if ours {
        connection
            .one("SELECT version FROM cenote_service", &[])?
            .ok_or_else(|| Error::Corrupt("no version".into()))?
            .integer(0)?
    } else {
        0
    };
    if found > known {
        return Err(Error::Newer { found, known });
    }
    if found < 0 {
        return Err(Error::Corrupt(format!("version {found}")));
    }
    Ok(found)
}

fn apply_all(connection: &mut Connection, migrations: &[&'static str]) -> Result<()> {
    let found = version_up_to(connection, migrations.len() as i64)?;
    for (version, migration) in (0..).zip(migrations).skip(found as usize) {
        connection.begin(Access::Write)?;
        let done = step(connection, version, migration).and_then(|()| connection.batch("COMMIT"));
        if done.is_err() {
            // The first error says why.
            let _ = connection.batch("ROLLBACK");
        }
        done?;
    }
    Ok(())
}

fn step(connection: &mut Connection, version: i64, migration: &str) -> Result<()> {
    if version == 0 {
        connection.batch("CREATE TABLE cenote_service (version BIGINT NOT NULL)")?;
        connection.run("INSERT INTO cenote_service (version) VALUES (0)", &[])?;
    }
    connection.batch(migration)?;
    connection.run(
        "UPDATE cenote_service SET version = $1",
        &[Value::from(version + 1)],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn connection(folder: &std::path::Path) -> Connection {
        Connection::sqlite(&folder.join("test.db"), Access::Write, Arc::default()).expect("opens")
    }

    fn version(connection: &mut Connection) -> i64 {
        connection
            .one("SELECT version FROM cenote_service", &[])
            .and_then(|row| row.expect("a row").integer(0))
            .expect("a version")
    }

    #[test]
    fn migrations_go_on_from_the_version_that_is_there() {
        let folder = tempfile::tempdir().expect("folder");
        let mut connection = connection(folder.path());
        apply(&mut connection).expect("made");
        assert_eq!(version(&mut connection), MIGRATIONS.len() as i64);
        apply(&mut connection).expect("nothing left to do");
        let next = [&MIGRATIONS[..], &["CREATE TABLE more (a BIGINT)"]].concat();
        apply_all(&mut connection, &next).expect("the next alone");
        assert_eq!(version(&mut connection), MIGRATIONS.len() as i64 + 1);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before() {
        let folder = tempfile::tempdir().expect("folder");
        let mut connection = connection(folder.path());
        apply(&mut connection).expect("made");
        let wrong = "CREATE TABLE more (a BIGINT); CREATE TABLE job (a BIGINT)";
        let next = [&MIGRATIONS[..], &[wrong]].concat();
        assert!(matches!(
            apply_all(&mut connection, &next),
            Err(Error::Database(_))
        ));
        assert_eq!(version(&mut connection), MIGRATIONS.len() as i64);
        assert!(!connection.tables("more").expect("runs").1);
    }

    #[test]
    fn a_newer_database_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().expect("folder");
        let mut connection = connection(folder.path());
        apply(&mut connection).expect("made");
        connection
            .batch("UPDATE cenote_service SET version = 99")
            .expect("runs");
        let error = apply(&mut connection).expect_err("newer");
        assert!(matches!(error, Error::Newer { found: 99, known: 9 }), "{error}");
        assert!(
            error.to_string().contains("start the Cenote that upgraded it"),
            "{error}"
        );
    }

    #[test]
    fn a_database_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().expect("folder");
        let mut connection = connection(folder.path());
        connection.batch("CREATE TABLE job (a BIGINT)").expect("runs");
        assert!(matches!(apply(&mut connection), Err(Error::NotOurs)));
    }
}
