//! The database as the writing thread holds it, with the audit log that follows it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::address::Address;
use super::connection::{Access, Connection, Flush, Meter};
use super::health::Health;
use super::migrations;
use super::value::{Row, Value};
use super::worker::Unit;
use crate::audit::{Chain, Event, Head, Line, Log, Read};
use crate::{Error, Result, Timestamp, random};

/// Where a database and its log are.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) address: Address,
    pub(super) sqlite: PathBuf,
    pub(super) audit: PathBuf,
    pub(super) meter: Arc<Meter>,
    pub(super) health: Arc<Health>,
    /// The end of the log as far as it is on the disk, whatever happens to the machine.
    pub(super) durable: Arc<Mutex<Head>>,
}

/// Lines of the audit log that the database keeps before the file is flushed, at least.
const SETTLE: usize = 256;

impl Place {
    pub(super) fn connect(&self, access: Access) -> Result<Connection> {
        match &self.address {
            Address::Embedded => Connection::sqlite(&self.sqlite, access, Arc::clone(&self.meter)),
            Address::Postgres(server) => Connection::postgres(server, access, Arc::clone(&self.meter)),
        }
    }
}

/// A database and its audit log.
pub(super) struct Open {
    connection: Connection,
    log: Log,
    durable: Arc<Mutex<Head>>,
    chain: Chain,
    /// Lines that the database has because they may not be on the disk in the file.
    pending: usize,
    /// Those that are not in the file at all. None of them is before the database has it on the disk.
    unwritten: Vec<Line>,
    /// Since when something is committed that may not be on the disk.
    unflushed: Option<Instant>,
}

/// What a call that writes works on. It is committed after the call, or taken back if the call fails.
pub(crate) struct Transaction<'a> {
    connection: &'a mut Connection,
    chain: Chain,
    lines: Vec<Line>,
}

impl Transaction<'_> {
    /// Runs a statement and counts the rows that it changed.
    pub(crate) fn run(&mut self, sql: &'static str, values: &[Value]) -> Result<u64> {
        self.connection.run(sql, values)
    }

    /// The rows that a statement gives.
    pub(crate) fn rows(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>> {
        self.connection.rows(sql, values)
    }

    /// The first row that a statement gives.
    pub(crate) fn one(&mut self, sql: &'static str, values: &[Value]) -> Result<Option<Row>> {
        self.connection.one(sql, values)
    }

    /// The connection, for what reads and writes share.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.connection
    }

    /// Adds a line to the audit log, which is there if and only if the transaction takes effect.
    pub(crate) fn audit(&mut self, at: Timestamp, event: &Event) -> Result<()> {
        let line = self.chain.add(at, event)?;
        self.connection.run(
            "INSERT INTO audit_pending (number, line) VALUES ($1, $2)",
            &[column(line.number)?, Value::from(line.text.as_str())],
        )?;
        self.lines.push(line);
        Ok(())
    }

    /// The end of the audit log.
    pub(crate) fn head(&self) -> &Head {
        &self.chain.head
    }
}

impl Open {
    /// Connects, brings the database to this version, and makes the file of the log complete.
    pub(super) fn new(place: &Place, read: Read) -> Result<Self> {
        let mut connection = place.connect(Access::Write)?;
        connection.claim()?;
        migrations::apply(&mut connection)?;
        if connection.one(HEADS, &[])?.is_none() {
            begin_log(&mut connection)?;
        }
        // What the last process has committed may be in the system's memory only.
        connection.begin(Access::Write)?;
        touch(&mut connection)?;
        commit(&mut connection)?;
        let (end, settled, pending) = heads(&mut connection)?.ok_or_else(|| wrong("no audit log"))?;
        let log = Log::open(&place.audit, &settled, &pending, read)?;
        let mut open = Open {
            connection,
            log,
            durable: Arc::clone(&place.durable),
            chain: Chain { head: end },
            pending: pending.len(),
            unwritten: Vec::new(),
            unflushed: None,
        };
        if open.pending > 0 {
            open.settle()?;
        }
        open.note_durable();
        Ok(open)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.connection.is_lost()
    }

    /// Since when something is committed that may not be on the disk.
    pub(super) fn unflushed(&self) -> Option<Instant> {
        self.unflushed
    }

    /// Does the calls in one transaction, each in a savepoint.
    pub(super) fn group(&mut self, units: &mut [Box<dyn Unit>], flush: Flush) -> Result<()> {
        let settled = self.pending >= SETTLE && self.unwritten.is_empty();
        if settled {
            self.log.sync()?;
        }
        // Lines wait for being flushed, and the settling of the log for them.
        let flush = match self.pending >= SETTLE {
            true => Flush::Now,
            false => flush,
        };
        let mut chain = self.chain.clone();
        let mut lines = Vec::new();
        self.connection.set_flush(flush)?;
        self.connection.begin(Access::Write)?;
        if flush == Flush::Now && self.unflushed.is_some() {
            touch(&mut self.connection)?;
        }
        for unit in units {
            self.connection.mark("SAVEPOINT call")?;
            let mut transaction = Transaction {
                connection: &mut self.connection,
                chain: chain.clone(),
                lines: Vec::new(),
            };
            if unit.run(&mut transaction) {
                chain = transaction.chain;
                lines.append(&mut transaction.lines);
            } else {
                self.connection.mark("ROLLBACK TO SAVEPOINT call")?;
            }
            self.connection.mark("RELEASE SAVEPOINT call")?;
        }
        if settled {
            record_settled(&mut self.connection, &self.chain.head)?;
        }
        if !lines.is_empty() {
            self.connection.run(
                "UPDATE audit_head SET number = $1, hash = $2, length = $3",
                &head_columns(&chain.head)?,
            )?;
        }
        commit(&mut self.connection)?;
        if settled {
            self.pending = 0;
        }
        self.pending += lines.len();
        self.chain = chain;
        self.unwritten.append(&mut lines);
        self.unflushed = match flush {
            Flush::Now => None,
            Flush::Later => self.unflushed.or_else(|| Some(Instant::now())),
        };
        Ok(())
    }

    /// Writes to the file what the database has on the disk. The file is never ahead of it: a machine that loses its power must not leave
    /// lines that the database does not know.
    pub(super) fn publish(&mut self) -> Result<()> {
        if self.unflushed.is_none() {
            self.log.append(&self.unwritten)?;
            self.unwritten.clear();
            self.note_durable();
        }
        Ok(())
    }

    fn note_durable(&self) {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        durable.clone_from(&self.chain.head);
    }

    fn settle(&mut self) -> Result<()> {
        if self.unflushed.is_some() {
            self.group(&mut [], Flush::Now)?;
            self.publish()?;
        }
        self.log.sync()?;
        self.connection.set_flush(Flush::Now)?;
        self.connection.begin(Access::Write)?;
        record_settled(&mut self.connection, &self.chain.head)?;
        commit(&mut self.connection)?;
        self.pending = 0;
        Ok(())
    }

    /// Leaves nothing to complete at the next opening.
    pub(super) fn close(mut self) {
        if self.pending > 0
            && let Err(error) = self.settle()
        {
            tracing::warn!(%error, "the audit log is completed when the service starts next");
        }
    }
}

const HEADS: &str = "SELECT number, hash, length, synced_number, synced_hash, synced_length FROM audit_head";

/// The recorded end of the audit log, that of its settled part, and the lines between them; nothing where no log was begun.
pub(super) fn heads(connection: &mut Connection) -> Result<Option<(Head, Head, Vec<Line>)>> {
    let Some(row) = connection.one(HEADS, &[])? else {
        return Ok(None);
    };
    let (end, settled) = (head(&row, 0)?, head(&row, 3)?);
    let rows = connection.rows(
        "SELECT number, line FROM audit_pending WHERE number > $1 ORDER BY number",
        &[column(settled.number)?],
    )?;
    let mut pending = Vec::new();
    for row in &rows {
        pending.push(Line {
            number: row.count(0)?,
            text: row.text(1)?.to_owned(),
        });
    }
    if crate::audit::follow_all(&settled, &pending)? != end {
        return Err(wrong("lines of the audit log that do not end as recorded"));
    }
    Ok(Some((end, settled, pending)))
}

/// Records a log of one line, which names it.
fn begin_log(connection: &mut Connection) -> Result<()> {
    let log = hex::encode(random::<16>()?);
    let mut chain = Chain { head: Head::empty() };
    let line = chain.add(Timestamp::now(), &Event::Begun { log: log.clone() })?;
    connection.begin(Access::Write)?;
    connection.run(
        "INSERT INTO audit_pending (number, line) VALUES ($1, $2)",
        &[column(line.number)?, Value::from(line.text)],
    )?;
    let empty = Head::empty();
    let mut values = vec![Value::from(log)];
    values.extend(head_columns(&chain.head)?);
    values.extend(head_columns(&empty)?);
    connection.run(
        "INSERT INTO audit_head (single, log, number, hash, length, synced_number, synced_hash, synced_length)
         VALUES (1, $1, $2, $3, $4, $5, $6, $7)",
        &values,
    )?;
    commit(connection)
}

/// Changes what does not matter, so that the commit flushes all that was committed before.
fn touch(connection: &mut Connection) -> Result<()> {
    connection.run("UPDATE audit_head SET single = 1", &[]).map(drop)
}

fn record_settled(connection: &mut Connection, head: &Head) -> Result<()> {
    connection.run(
        "UPDATE audit_head SET synced_number = $1, synced_hash = $2, synced_length = $3",
        &head_columns(head)?,
    )?;
    connection.run(
        "DELETE FROM audit_pending WHERE number <= $1",
        &[column(head.number)?],
    )?;
    Ok(())
}

/// Commits. Where the disk is full, nothing has changed: the mark that ends a transaction comes last. Any other commit that fails may have reached the disk all
/// the same. So the state must be read anew.
fn commit(connection: &mut Connection) -> Result<()> {
    connection.mark("COMMIT").map_err(|error| match error {
        full @ Error::Full { .. } => full,
        other => Error::Unknown(other.to_string()),
    })
}

fn head(row: &Row, column: usize) -> Result<Head> {
    Ok(Head {
        number: row.count(column)?,
        hash: row.text(column + 1)?.to_owned(),
        length: row.count(column + 2)?,
    })
}

fn head_columns(head: &Head) -> Result<[Value; 3]> {
    Ok([
        column(head.number)?,
        Value::from(head.hash.as_str()),
        column(head.length)?,
    ])
}

fn column(value: u64) -> Result<Value> {
    i64::try_from(value)
        .map(Value::from)
        .map_err(|_| wrong("a number without bounds"))
}

fn wrong(what: &str) -> Error {
    Error::Corrupt(what.to_owned())
}
