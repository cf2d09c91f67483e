//! One connection to either database. Statements are written once, with parameters `$1`, `$2`, ….

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{OpenFlags, StatementStatus};

use super::address::Server;
use super::fault::{OfSqlite, of_postgres, text_of};
use super::value::{Row, Value};
use crate::folder::{PATIENCE, take_within};
use crate::{Error, Result};

/// When what a call has changed must be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// When the call returns.
    Now,
    /// With the next call that says [`Flush::Now`], and within a moment where none comes.
    Later,
}

/// How long SQLite waits for its other connection, which only readers of a moment hold up.
const BUSY: Duration = Duration::from_secs(5);
/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Connections that may be in the making at once.
const COMING: usize = 4;
/// How long a connection may be idle before it is seen whether the server's machine is still there.
const IDLE: Duration = Duration::from_secs(30);
/// How long what is sent may go without a sign that it has come.
const UNHEARD: Duration = Duration::from_secs(60);

/// What the statements of a database have cost since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Statements that were run.
    pub statements: u64,
    /// Rows that they gave back.
    pub rows: u64,
    /// Steps of SQLite's machine, about one for each column of each row that was looked at; 0 with PostgreSQL.
    pub steps: u64,
}

#[derive(Default)]
pub(super) struct Meter {
    statements: AtomicU64,
    rows: AtomicU64,
    steps: AtomicU64,
}

impl Meter {
    pub(super) fn read(&self) -> Work {
        Work {
            statements: self.statements.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
        }
    }
}

/// A connection, used by one thread.
pub(crate) struct Connection {
    kind: Driver,
    meter: Arc<Meter>,
    /// When the next commit must be on the disk.
    flush: Flush,
}

enum Driver {
    Sqlite {
        connection: rusqlite::Connection,
        path: PathBuf,
    },
    Postgres {
        client: Box<postgres::Client>,
        prepared: HashMap<&'static str, postgres::Statement>,
    },
}

/// Who may write over a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
}

impl Connection {
    pub(super) fn sqlite(path: &Path, access: Access, meter: Arc<Meter>) -> Result<Self> {
        // Its log and index get the same permissions.
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| Error::file(path, error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(path, flags).at(path)?;
        connection.set_prepared_statement_cache_capacity(128);
        connection.busy_timeout(BUSY).at(path)?;
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .at(path)?;
        if mode != "wal" {
            return Err(Error::file(
                path,
                "its file system cannot hold a database with one writer and readers; use a local disk",
            ));
        }
        // What was committed is on the disk before it is told of, and what was deleted is overwritten. Pages that change again and again
        // are copied from the log into the file once in 32 MB of log.
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
                 PRAGMA wal_autocheckpoint = 8192; PRAGMA cache_size = -16384",
            )
            .at(path)?;
        // A statement is prepared once, whatever its values are.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .at(path)?;
        if access == Access::Read {
            connection.execute_batch("PRAGMA query_only = ON").at(path)?;
        }
        Ok(Self::over(connection, path, meter))
    }

    /// A connection to the database of a service that is down, which changes no file. What a killed service has left in the log beside the database is read,
    /// too.
    pub(super) fn sqlite_at_rest(path: &Path, meter: Arc<Meter>) -> Result<Self> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let beside = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            std::fs::metadata(name).is_ok_and(|file| file.len() > 0)
        };
        // Without this SQLite makes files beside it, to share it with others.
        let at_rest = match beside("-wal") || beside("-journal") {
            true => "",
            false => "?immutable=1",
        };
        let name =
            percent_encoding::percent_encode(path.as_os_str().as_bytes(), percent_encoding::NON_ALPHANUMERIC);
        let connection =
            rusqlite::Connection::open_with_flags(format!("file:{name}{at_rest}"), flags).at(path)?;
        connection
            .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON")
            .at(path)?;
        Ok(Self::over(connection, path, meter))
    }

    fn over(connection: rusqlite::Connection, path: &Path, meter: Arc<Meter>) -> Self {
        Connection {
            kind: Driver::Sqlite {
                connection,
                path: path.to_owned(),
            },
            meter,
            flush: Flush::Now,
        }
    }

    /// A connection to a server, within twice the time that it may take to accept one.
    pub(super) fn postgres(server: &Server, access: Access, meter: Arc<Meter>) -> Result<Self> {
        let mut server = server.clone();
        let limit = server.config.get_connect_timeout().copied().unwrap_or(CONNECT);
        server
            .config
            .connect_timeout(limit)
            .keepalives_idle(IDLE)
            .tcp_user_timeout(UNHEARD);
        let (place, coming) = (server.place.clone(), Arc::clone(&server.coming));
        let fault = |what: String| Error::Database(format!("PostgreSQL at {place}: {what}"));
        // The library has no deadline for what comes after the connection of TCP. Who says nothing keeps a thread, and is not asked again and again.
        let mine = Coming::new(coming).ok_or_else(|| {
            let what = "it has taken several connections and said nothing; see that a PostgreSQL server, and nothing else, is there, and restart it";
            fault(what.into())
        })?;
        let (tell, told) = mpsc::channel();
        std::thread::Builder::new()
            .name("connect".into())
            .spawn(move || {
                let _mine = mine;
                let _ = tell.send(client(&server, access));
            })
            .map_err(|error| fault(format!("there is no thread to connect: {error}")))?;
        let client = told.recv_timeout(2 * limit).map_err(|_| {
            fault(format!(
                "nothing is heard of it within {} seconds; see that a PostgreSQL server, and nothing else, is there",
                2 * limit.as_secs()
            ))
        })??;
        Ok(Connection {
            kind: Driver::Postgres {
                client: Box::new(client),
                prepared: HashMap::new(),
            },
            meter,
            flush: Flush::Now,
        })
    }

    /// Whether it can be of no more use.
    pub(super) fn is_lost(&self) -> bool {
        match &self.kind {
            Driver::Sqlite { .. } => false,
            Driver::Postgres { client, .. } => client.is_closed(),
        }
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&mut self, sql: &str) -> Result<()> {
        self.meter.statements.fetch_add(1, Ordering::Relaxed);
        match &mut self.kind {
            Driver::Sqlite { connection, path } => connection.execute_batch(sql).at(path),
            Driver::Postgres { client, .. } => client.batch_execute(sql).map_err(|error| of_postgres(&error)),
        }
    }

    /// Begins or ends a transaction or a part of one.
    pub(super) fn mark(&mut self, sql: &'static str) -> Result<()> {
        match &mut self.kind {
            Driver::Sqlite { connection, path } => {
                self.meter.statements.fetch_add(1, Ordering::Relaxed);
                let mut statement = connection.prepare_cached(sql).at(path)?;
                statement.execute([]).map(drop).at(path)
            }
            Driver::Postgres { .. } => self.batch(sql),
        }
    }

    /// Whether commits from here on wait for the disk. Either database keeps what was committed before what came after, whatever is lost.
    pub(super) fn set_flush(&mut self, flush: Flush) -> Result<()> {
        if flush != self.flush {
            self.batch(match (&self.kind, flush) {
                (Driver::Sqlite { .. }, Flush::Now) => "PRAGMA synchronous = FULL",
                (Driver::Sqlite { .. }, Flush::Later) => "PRAGMA synchronous = NORMAL",
                (Driver::Postgres { .. }, Flush::Now) => "SET synchronous_commit = on",
                (Driver::Postgres { .. }, Flush::Later) => "SET synchronous_commit = off",
            })?;
            self.flush = flush;
        }
        Ok(())
    }

    /// Begins a transaction: one that writes is alone, one that reads sees one state throughout.
    pub(super) fn begin(&mut self, access: Access) -> Result<()> {
        let sql = match (&self.kind, access) {
            (Driver::Sqlite { .. }, Access::Write) => "BEGIN IMMEDIATE",
            (Driver::Sqlite { .. }, Access::Read) => "BEGIN",
            (Driver::Postgres { .. }, Access::Write) => "BEGIN",
            (Driver::Postgres { .. }, Access::Read) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.mark(sql)
    }

    /// Whether the database has tables at all, and whether this is one of them.
    pub(super) fn tables(&mut self, name: &str) -> Result<(bool, bool)> {
        let sql = match &self.kind {
            Driver::Sqlite { .. } => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            }
            Driver::Postgres { .. } => {
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()"
            }
        };
        let rows = self.rows(sql, &[])?;
        let mut ours = false;
        for row in &rows {
            ours |= row.text(0)? == name;
        }
        Ok((!rows.is_empty(), ours))
    }

    /// Takes the database for this connection, where others could reach it. One that is in use is waited for, as a [folder](crate::Folder::claim) is.
    pub(super) fn claim(&mut self) -> Result<()> {
        self.claim_within(PATIENCE)
    }

    pub(super) fn claim_within(&mut self, patience: Duration) -> Result<()> {
        if matches!(self.kind, Driver::Sqlite { .. }) {
            // Its folder is locked.
            return Ok(());
        }
        let sql = "SELECT CASE WHEN pg_try_advisory_lock(1667591791, hashtext(current_schema())) THEN 1::bigint ELSE 0::bigint END";
        let taken = take_within(patience, || match self.one(sql, &[])? {
            Some(row) => Ok(row.integer(0)? == 1),
            None => Ok(false),
        })?;
        if taken {
            Ok(())
        } else {
            Err(Error::InUse {
                place: "the database".into(),
                holder: "connected to the same PostgreSQL schema".into(),
            })
        }
    }

    /// Runs a statement and counts the rows that it changed.
    pub(crate) fn run(&mut self, sql: &'static str, values: &[Value]) -> Result<u64> {
        self.meter.statements.fetch_add(1, Ordering::Relaxed);
        match &mut self.kind {
            Driver::Sqlite { connection, path } => {
                let mut statement = connection.prepare_cached(&sql.replace('$', "?")).at(path)?;
                let changed = statement
                    .execute(rusqlite::params_from_iter(values.iter().map(sqlite_value)))
                    .at(path);
                count_steps(&self.meter, &statement);
                Ok(changed? as u64)
            }
            Driver::Postgres { client, prepared } => {
                let statement = prepare(client, prepared, sql)?;
                client
                    .execute(&statement, &postgres_values(values))
                    .map_err(|error| of_postgres(&error))
            }
        }
    }

    /// The rows that a statement gives.
    pub(crate) fn rows(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>> {
        self.meter.statements.fetch_add(1, Ordering::Relaxed);
        let rows = match &mut self.kind {
            Driver::Sqlite { connection, path } => {
                let mut statement = connection.prepare_cached(&sql.replace('$', "?")).at(path)?;
                let columns = statement.column_count();
                let rows = statement
                    .query_map(
                        rusqlite::params_from_iter(values.iter().map(sqlite_value)),
                        |row| {
                            (0..columns)
                                .map(|column| row.get_ref(column).map(from_sqlite))
                                .collect::<rusqlite::Result<_>>()
                        },
                    )
                    .and_then(Iterator::collect::<rusqlite::Result<Vec<Vec<Value>>>>)
                    .at(path);
                count_steps(&self.meter, &statement);
                rows?.into_iter().map(Row).collect::<Vec<Row>>()
            }
            Driver::Postgres { client, prepared } => {
                let statement = prepare(client, prepared, sql)?;
                let rows = client
                    .query(&statement, &postgres_values(values))
                    .map_err(|error| of_postgres(&error))?;
                rows.iter().map(from_postgres).collect::<Result<Vec<Row>>>()?
            }
        };
        self.meter.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        Ok(rows)
    }

    /// The first row that a statement gives.
    pub(crate) fn one(&mut self, sql: &'static str, values: &[Value]) -> Result<Option<Row>> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }
}

fn count_steps(meter: &Meter, statement: &rusqlite::Statement<'_>) {
    let steps = statement.reset_status(StatementStatus::VmStep);
    meter
        .steps
        .fetch_add(u64::try_from(steps).unwrap_or(0), Ordering::Relaxed);
}

fn sqlite_value(value: &Value) -> rusqlite::types::ToSqlOutput<'_> {
    let value = match value {
        Value::Integer(Some(value)) => ValueRef::Integer(*value),
        Value::Text(Some(value)) => ValueRef::Text(value.as_bytes()),
        Value::Bytes(Some(value)) => ValueRef::Blob(value),
        Value::Integer(None) | Value::Text(None) | Value::Bytes(None) => ValueRef::Null,
    };
    rusqlite::types::ToSqlOutput::Borrowed(value)
}

fn from_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Text(None),
        ValueRef::Integer(value) => Value::from(value),
        // The service writes no fractions, so this is refused where an integer is expected.
        ValueRef::Real(value) => Value::from(value.to_string()),
        ValueRef::Text(value) => Value::from(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::from(value.to_vec()),
    }
}

fn prepare(
    client: &mut postgres::Client,
    prepared: &mut HashMap<&'static str, postgres::Statement>,
    sql: &'static str,
) -> Result<postgres::Statement> {
    if let Some(statement) = prepared.get(sql) {
        return Ok(statement.clone());
    }
    let statement = client.prepare(sql).map_err(|error| of_postgres(&error))?;
    prepared.insert(sql, statement.clone());
    Ok(statement)
}

fn postgres_values(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| match value {
            Value::Integer(value) => value as &(dyn ToSql + Sync),
            Value::Text(value) => value as _,
            Value::Bytes(value) => value as _,
        })
        .collect()
}

fn from_postgres(row: &postgres::Row) -> Result<Row> {
    (0..row.len())
        .map(|column| {
            let kind = row.columns().get(column).map(|column| column.type_().clone());
            match kind {
                Some(Type::INT8) => row.try_get(column).map(Value::Integer),
                Some(Type::TEXT) => row.try_get(column).map(Value::Text),
                Some(Type::BYTEA) => row.try_get(column).map(Value::Bytes),
                _ => {
                    return Err(Error::Corrupt(format!(
                        "a column {column} of a type that is not a service's"
                    )));
                }
            }
            .map_err(|error| of_postgres(&error))
        })
        .collect::<Result<Vec<Value>>>()
        .map(Row)
}

/// A connection that is being made.
struct Coming(Arc<AtomicUsize>);

impl Coming {
    /// One more, if there are not too many.
    fn new(coming: Arc<AtomicUsize>) -> Option<Self> {
        let more = |count: usize| (count < COMING).then_some(count + 1);
        let taken = coming.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then_some(Coming(coming))
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn client(server: &Server, access: Access) -> Result<postgres::Client> {
    let mut client = match &server.tls {
        None => server.config.connect(postgres::NoTls),
        Some(tls) => server.config.connect(tls.connector()?),
    }
    .map_err(|error| not_connected(server, &error))?;
    let settings = match access {
        Access::Write => "SET synchronous_commit = on; SET statement_timeout = '60s'",
        Access::Read => "SET default_transaction_read_only = on; SET statement_timeout = '60s'",
    };
    client
        .batch_execute(settings)
        .map_err(|error| of_postgres(&error))?;
    Ok(client)
}

/// Why there is no connection, and what to do where its encryption is the cause.
fn not_connected(server: &Server, error: &postgres::Error) -> Error {
    let reason = match (&server.tls, error.as_db_error()) {
        // Where it speaks of its rules for hosts, and they may be for encrypted connections only.
        (None, Some(refusal))
            if *refusal.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                && refusal.message().contains("pg_hba.conf") =>
        {
            format!(
                "{}; this connection is not encrypted: where the server takes only those that are, add sslmode=verify-full to the \
                 database's address, and sslrootcert=/path/to/ca.pem where this system does not know its CA",
                text_of(error)
            )
        }
        (Some(tls), None) => tls.explain(error).unwrap_or_else(|| text_of(error)),
        _ => text_of(error),
    };
    Error::Database(format!("PostgreSQL at {}: {reason}", server.place))
}
