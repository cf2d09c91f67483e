//! The threads that write and read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::connection::{Access, Connection, Flush};
use super::open::{Open, Place, Transaction};
use crate::{Error, Result, audit};

/// Calls that are committed together.
const GROUP: usize = 64;

/// How long what may be flushed later waits for a call that is flushed.
const LATER: Duration = Duration::from_millis(100);

/// Something to do, and who waits for it.
pub(super) struct Call<W, T> {
    work: Option<W>,
    flush: Flush,
    outcome: Option<Result<T>>,
    reply: SyncSender<Result<T>>,
}

impl<W, T> Call<W, T> {
    pub(super) fn new(work: W, flush: Flush) -> (Self, Receiver<Result<T>>) {
        let (reply, wait) = sync_channel(1);
        let call = Call {
            work: Some(work),
            flush,
            outcome: None,
            reply,
        };
        (call, wait)
    }

    fn run(&mut self, work: impl FnOnce(W) -> Result<T>) -> bool {
        let outcome = match self.work.take() {
            // What a panic leaves of the transaction is taken back.
            Some(own) => catch_unwind(AssertUnwindSafe(|| work(own))).unwrap_or_else(|_| {
                Err(Error::Database(
                    "a call stopped in the middle and was taken back".into(),
                ))
            }),
            None => Err(Error::Closed),
        };
        let done = outcome.is_ok();
        self.outcome = Some(outcome);
        done
    }

    fn tell(&mut self, fate: Result<()>) {
        let outcome = match (self.outcome.take(), fate) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(Error::Closed),
        };
        // Who no longer waits need not know.
        let _ = self.reply.send(outcome);
    }
}

/// A call that writes.
pub(super) trait Unit: Send {
    /// Does it, and says whether it worked.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool;
    /// When its changes must be on the disk.
    fn flush(&self) -> Flush;
    /// Why it could not write, if the disk had no room for it.
    fn full(&self) -> Option<&Error>;
    /// Tells the caller, where the transaction around it had this `fate`.
    fn tell(&mut self, fate: Result<()>);
}

impl<W, T> Unit for Call<W, T>
where
    W: FnOnce(&mut Transaction<'_>) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool {
        Call::run(self, |work| work(transaction))
    }

    fn flush(&self) -> Flush {
        self.flush
    }

    fn full(&self) -> Option<&Error> {
        let outcome = self.outcome.as_ref()?;
        outcome
            .as_ref()
            .err()
            .filter(|error| matches!(error, Error::Full { .. }))
    }

    fn tell(&mut self, fate: Result<()>) {
        Call::tell(self, fate);
    }
}

/// A call that reads.
pub(super) trait Read: Send {
    /// Does it and keeps the outcome.
    fn run(&mut self, connection: &mut Connection);
    /// Tells the caller.
    fn tell(&mut self, fate: Result<()>);
}

impl<W, T> Read for Call<W, T>
where
    W: FnOnce(&mut Connection) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, connection: &mut Connection) {
        Call::run(self, |work| work(connection));
    }

    fn tell(&mut self, fate: Result<()>) {
        Call::tell(self, fate);
    }
}

/// Opens the database, says how that went, and writes until nobody is left who could ask for it.
pub(super) fn write(place: &Place, opened: &SyncSender<Result<()>>, units: &Receiver<Box<dyn Unit>>) {
    let mut open = match Open::new(place, audit::Read::Whole) {
        Ok(open) => Some(open),
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    loop {
        let due = open.as_ref().and_then(Open::unflushed).map(|since| since + LATER);
        let first = match due {
            None => units.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => units.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let mut group = match first {
            Ok(first) => vec![first],
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        group.extend(units.try_iter().take(GROUP - 1));
        let is_due = due.is_some_and(|due| due <= Instant::now());
        let flush = match group.iter().all(|unit| unit.flush() == Flush::Later) && !is_due {
            true => Flush::Later,
            false => Flush::Now,
        };
        let mut fate = serve(place, &mut open, flush, &mut group);
        if let Err(error) = &mut fate {
            // SQLite ends the transaction of a call that finds the disk full, which its other calls hear of in other words.
            if let (false, Some(full)) = (
                matches!(error, Error::Unknown(_)),
                group.iter().find_map(|unit| unit.full()),
            ) {
                *error = full.clone();
            }
            place.health.note(Some(error));
        }
        if let (true, Err(error)) = (group.is_empty(), &fate) {
            tracing::error!(%error, "what was recorded cannot be flushed");
        }
        for mut unit in group {
            unit.tell(fate.clone());
        }
    }
    if let Some(open) = open {
        open.close();
    }
}

/// Does a group in one transaction. After a failure the state is read anew, before the next group; that writes too, so it succeeds only where writing does.
fn serve(place: &Place, open: &mut Option<Open>, flush: Flush, group: &mut [Box<dyn Unit>]) -> Result<()> {
    let mut current = match open.take() {
        Some(current) if !current.is_lost() => current,
        _ => Open::new(place, audit::Read::End).map_err(not_begun)?,
    };
    current.group(group, flush)?;
    // What was committed is in the database; where the file could not be written, opening it again completes it.
    let published = current.publish().inspect_err(|error| {
        tracing::error!(%error, "the audit log could not be written; nothing more is recorded until it can")
    });
    let fault = published
        .as_ref()
        .err()
        .or_else(|| group.iter().find_map(|unit| unit.full()));
    place.health.note(fault);
    if fault.is_none() {
        *open = Some(current);
    }
    Ok(())
}

/// Why the database cannot be opened anew: nothing of the group was begun, so its fate is known.
fn not_begun(error: Error) -> Error {
    match error {
        Error::Unknown(reason) => Error::Database(reason),
        other => other,
    }
}

/// Reads until nobody is left who could ask for it.
pub(super) fn read(place: &Place, reads: &Receiver<Box<dyn Read>>) {
    let mut kept: Option<Connection> = None;
    while let Ok(mut call) = reads.recv() {
        let fate = match kept.take() {
            Some(connection) if !connection.is_lost() => Ok(connection),
            _ => place.connect(Access::Read),
        }
        .and_then(|mut connection| {
            connection.begin(Access::Read)?;
            call.run(&mut connection);
            connection.mark("ROLLBACK")?;
            kept = Some(connection);
            Ok(())
        });
        call.tell(fate);
    }
}
