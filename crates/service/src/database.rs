//! What a service must not forget, whatever happens to its process or machine.
//!
//! A service has a [`Folder`], in which there is an SQLite database, unless a PostgreSQL server is named, and the audit log. One thread writes:
//! it takes the calls that wait, does each in a savepoint, and commits them together, so that many calls cost one flush of the disk; a call
//! that fails takes back its own changes only. A call returns when its changes are on the disk, or, where it says that this may come
//! [later](Flush::Later), when they are committed: a process that is killed loses none of these, a machine that loses its power at most
//! the last moments', and always so that what was committed first is kept first. Another thread reads, and each read sees one state from its
//! beginning to its end.
//!
//! Calls block. In asynchronous code they belong on a thread for blocking work.

mod address;
mod connection;
mod examine;
mod fault;
mod health;
mod migrations;
mod open;
mod tls;
mod value;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use address::Address;
use connection::Meter;
pub use connection::Work;
pub(crate) use connection::{Connection, Flush};
pub use examine::{Examined, examine};
use health::Health;
use open::Place;
pub(crate) use open::Transaction;
pub(crate) use value::{Row, Value};
use worker::{Call, Read, Unit};

use crate::audit::{self, Head};
use crate::folder::Folder;
use crate::{Error, Result};

/// Calls that may wait for a thread; further ones are refused.
const WAITING: usize = 1024;
/// How long a call may take, its wait included.
const PATIENCE: Duration = Duration::from_secs(120);

const SQLITE: &str = "service.db";

/// An open database, of which a copy of the handle costs nothing.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Database")
            .field(&self.inner.folder.path())
            .finish()
    }
}

struct Inner {
    writer: Option<SyncSender<Box<dyn Unit>>>,
    reader: Option<SyncSender<Box<dyn Read>>>,
    threads: Vec<JoinHandle<()>>,
    meter: Arc<Meter>,
    health: Arc<Health>,
    durable: Arc<Mutex<Head>>,
    address: Address,
    folder: Folder,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.writer = None;
        self.reader = None;
        for thread in self.threads.drain(..) {
            // It has nothing to say: calls catch their panics.
            let _ = thread.join();
        }
    }
}

impl Database {
    /// Opens the database of the service in the folder at `path`, or makes both.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::Newer`], [`Error::NotOurs`], [`Error::Audit`] where the log is not as recorded, and what the system says.
    pub fn open(path: &Path, address: &Address) -> Result<Self> {
        let folder = Folder::claim(path)?;
        let place = Place {
            address: address.clone(),
            sqlite: folder.file(SQLITE),
            audit: folder.file(audit::FILE),
            meter: Arc::default(),
            health: Arc::default(),
            durable: Arc::new(Mutex::new(Head::empty())),
        };
        let mut threads = Vec::new();
        let (writer, units) = sync_channel(WAITING);
        let (opened, wait) = sync_channel(1);
        let there = place.clone();
        threads.push(start("database-writer", move || {
            worker::write(&there, &opened, &units)
        })?);
        wait.recv().map_err(|_| Error::Closed)??;
        folder.sync()?;
        let (reader, reads) = sync_channel(WAITING);
        let (meter, health) = (Arc::clone(&place.meter), Arc::clone(&place.health));
        let durable = Arc::clone(&place.durable);
        threads.push(start("database-reader", move || worker::read(&place, &reads))?);
        Ok(Database {
            inner: Arc::new(Inner {
                writer: Some(writer),
                reader: Some(reader),
                threads,
                meter,
                health,
                durable,
                address: address.clone(),
                folder,
            }),
        })
    }

    /// Does `work` in a transaction, and returns when that is on the disk. Where `work` fails, nothing has changed.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.begin_write(Flush::Now, work)?.wait()
    }

    /// The same, but its changes may be on the disk [later](Flush::Later): for what nobody has been promised.
    pub(crate) fn write_soon<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.begin_write(Flush::Later, work)?.wait()
    }

    /// Asks for `work`, and gives where the outcome will be.
    pub(crate) fn begin_write<T: Send + 'static>(
        &self,
        flush: Flush,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Pending<T>> {
        let (call, reply) = Call::new(work, flush);
        ask(self.inner.writer.as_ref(), Box::new(call))?;
        Ok(Pending(reply))
    }

    /// Does `work`, which only reads, on one state of the database.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (call, reply) = Call::new(work, Flush::Now);
        ask(self.inner.reader.as_ref(), Box::new(call))?;
        answer(&reply, PATIENCE)
    }

    /// The service's folder.
    pub fn folder(&self) -> &Folder {
        &self.inner.folder
    }

    /// Why nothing can be recorded at present, if the last write failed.
    pub fn fault(&self) -> Option<Error> {
        self.inner.health.fault()
    }

    /// Tries again to write after a failure. Changes nothing.
    ///
    /// # Errors
    /// Where nothing can be recorded yet.
    pub fn try_again(&self) -> Result<()> {
        self.write(|_| Ok(()))
    }

    /// Where the audit log is.
    pub fn audit_file(&self) -> PathBuf {
        self.inner.folder.file(audit::FILE)
    }

    /// Bytes of the database, and of the audit log.
    ///
    /// # Errors
    /// Where they cannot be looked at.
    pub fn bytes(&self) -> Result<[u64; 2]> {
        let database = match &self.inner.address {
            Address::Embedded => {
                let of =
                    |name: &str| std::fs::metadata(self.inner.folder.file(name)).map_or(0, |file| file.len());
                of(SQLITE) + of(&format!("{SQLITE}-wal"))
            }
            Address::Postgres(_) => self.read(|connection| {
                let row = connection.one("SELECT pg_database_size(current_database())", &[])?;
                row.map_or(Ok(0), |row| row.count(0))
            })?,
        };
        let log = self.audit_file();
        let log = std::fs::metadata(&log).map_err(|error| Error::file(&log, error))?;
        Ok([database, log.len()])
    }

    /// What its statements have cost so far.
    pub fn work(&self) -> Work {
        self.inner.meter.read()
    }

    /// The end of the audit log, as recorded.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn audit_head(&self) -> Result<Head> {
        self.write(|transaction| Ok(transaction.head().clone()))
    }

    /// The end of the audit log as far as it is on the disk, and in the file.
    pub(crate) fn durable_head(&self) -> Head {
        let durable = &self.inner.durable;
        durable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads and checks the whole audit log, up to its recorded end.
    ///
    /// # Errors
    /// [`Error::Audit`] with the first bad line.
    pub fn verify_audit(&self) -> Result<Head> {
        let head = self.audit_head()?;
        Ok(audit::verify(&self.audit_file(), Some(&head))?)
    }

    /// Adds a line to the audit log for what changes nothing else.
    ///
    /// # Errors
    /// Where it cannot be recorded.
    pub fn audit(&self, at: crate::Timestamp, event: audit::Event) -> Result<()> {
        self.begin_audit(at, event)?.wait()
    }

    /// Asks for the same, and does not wait for it. What is asked for later comes after it.
    ///
    /// # Errors
    /// Where too much waits to be recorded.
    pub fn begin_audit(&self, at: crate::Timestamp, event: audit::Event) -> Result<Pending<()>> {
        self.begin_write(Flush::Now, move |transaction| transaction.audit(at, &event))
    }
}

/// A call that was asked for.
#[must_use = "its outcome is not known"]
pub struct Pending<T>(Receiver<Result<T>>);

impl<T> Pending<T> {
    /// Waits for its outcome.
    ///
    /// # Errors
    /// Those of the call, and [`Error::Unknown`] where it takes too long.
    pub fn wait(self) -> Result<T> {
        answer(&self.0, PATIENCE)
    }
}

fn ask<T: ?Sized>(thread: Option<&SyncSender<Box<T>>>, call: Box<T>) -> Result<()> {
    thread
        .ok_or(Error::Closed)?
        .try_send(call)
        .map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy { waiting: WAITING },
            TrySendError::Disconnected(_) => Error::Closed,
        })
}

/// The outcome of a call. One that takes too long may take effect later.
fn answer<T>(reply: &Receiver<Result<T>>, patience: Duration) -> Result<T> {
    reply.recv_timeout(patience).map_err(|error| match error {
        RecvTimeoutError::Timeout => {
            Error::Unknown(format!("no answer within {} seconds", patience.as_secs()))
        }
        RecvTimeoutError::Disconnected => Error::Closed,
    })?
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map_err(|error| Error::Database(format!("no thread for it: {error}")))
}

#[cfg(test)]
pub(crate) mod tests;
