//! The child's side.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_net::PartyId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Contact, Message, Start, Word, line, read_bytes};
use crate::error::Failure;
use crate::stop::{self, Session};
use crate::{Error, Result};

/// How long the end of a failed party waits for peers to take its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the parent has for a child, until it has no more, or its operator has stopped it.
type Hearing = Arc<Mutex<Option<Sender<Vec<u8>>>>>;

/// A child's way to its parent.
pub struct Parent {
    contacts: Receiver<Vec<Contact>>,
    orders: Receiver<Vec<u8>>,
    hearing: Hearing,
}

impl Parent {
    /// Tells where this party listens, and waits for where all parties do.
    ///
    /// # Errors
    /// [`Error::Local`] if the parent cannot be told.
    pub fn meet(&self, contact: Contact) -> Result<Vec<Contact>> {
        say::<()>(&Message::Ready(contact))?;
        // The reading thread ends the process when the parent goes away.
        self.contacts
            .recv()
            .map_err(|_| Error::local("waiting for the parent", std::io::Error::other("it is gone")))
    }

    /// Waits for the next bytes that the parent has for this party. Nothing if there are no more, since the parent says so, or the operator has stopped a session that it [hears within](Self::hear_within).
    pub(crate) fn hear(&self) -> Option<Vec<u8>> {
        self.orders.recv().ok().filter(|order| !order.is_empty())
    }

    /// Has [`Parent::hear`] wait no longer once the operator stops `session`.
    pub(crate) fn hear_within(&self, session: &Session) {
        let hearing = Arc::clone(&self.hearing);
        session.then(move || drop(lock(&hearing).take()));
    }

    /// Says something of which the parent knows the meaning.
    ///
    /// # Errors
    /// [`Error::Local`] if the parent cannot be told.
    pub(crate) fn say(&self, bytes: &[u8]) -> Result<()> {
        write(&line(&Message::<()>::Bytes(bytes.len()), bytes)?)
    }

    /// Tells how far this party is. A parent that is gone is noticed elsewhere.
    pub fn progress(&self, done: u64, total: u64) {
        let _ = say::<()>(&Message::Progress { done, total });
    }

    /// Tells something else, which no other party is told.
    pub fn note(&self, note: Value) {
        let _ = say::<()>(&Message::Note(note));
    }
}

fn say<R: Serialize>(message: &Message<R>) -> Result<()> {
    write(&line(message, &[])?)
}

fn write(line: &[u8]) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(line).and_then(|()| output.flush());
    written.map_err(|error| Error::local("telling the parent", error))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs as the child of [`run_all`](super::run_all): takes a task of the type that it gives from standard input, runs it, and tells the
/// parent how it ended. Gives the failure's kind, for the exit code.
///
/// The process ends as soon as its standard input does.
pub fn child<T: DeserializeOwned, R: Serialize>(
    run: impl FnOnce(PartyId, T, &Parent) -> Result<R>,
) -> std::result::Result<(), crate::Kind> {
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    let start = match input.read_line(&mut line) {
        Ok(read) if read > 0 => serde_json::from_str::<Start<T>>(&line).ok(),
        _ => None,
    };
    let Some(start) = start else {
        return Err(crate::Kind::Misuse);
    };
    let me = PartyId(start.me);
    let (sender, contacts) = channel();
    let (order, orders) = channel();
    let hearing: Hearing = Arc::new(Mutex::new(Some(order)));
    let told = Arc::clone(&hearing);
    let watch = std::thread::Builder::new().name("parent".into()).spawn(move || {
        let mut line = String::new();
        while matches!(input.read_line(&mut line), Ok(read) if read > 0) {
            match serde_json::from_str(&line) {
                Ok(Word::Meet(contacts)) => {
                    // The receiver is dropped once the contacts are known.
                    let _ = sender.send(contacts);
                }
                Ok(Word::Bytes(count)) => {
                    let Some(bytes) = read_bytes(&mut input, count) else {
                        break;
                    };
                    // Nobody may want it any more.
                    let _ = lock(&told).as_ref().map(|order| order.send(bytes));
                }
                Ok(Word::Stop(word)) => {
                    if !stop::request(&word) {
                        std::process::exit(i32::from(crate::Kind::Stopped.exit_code()));
                    }
                }
                // Whoever speaks another language is not the parent that this child was made for.
                Err(_) => std::process::exit(i32::from(crate::Kind::Misuse.exit_code())),
            }
            line.clear();
        }
        // Nobody wants the result any more.
        std::process::exit(i32::from(crate::Kind::Internal.exit_code()));
    });
    let result = match watch {
        Ok(_) => run(
            me,
            start.task,
            &Parent {
                contacts,
                orders,
                hearing,
            },
        ),
        Err(error) => Err(Error::local("starting a thread", error)),
    };
    match result {
        Ok(result) => say(&Message::Done(Box::new(result))).map_err(|error| error.kind()),
        Err(error) => {
            // If the parent is gone, nobody is there to be told.
            let _ = say::<()>(&Message::Failed(Failure::new(me, &error)));
            // The peers are told too, before the end of this process cuts that off.
            cenote_net::wait_for_farewells(LAST_WORDS);
            Err(error.kind())
        }
    }
}
