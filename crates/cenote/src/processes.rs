//! All parties on this machine, each a process of its own.
//!
//! The parent starts one child per party and speaks with it in lines of JSON over its standard input and output. A child
//! makes its own keys and reads its own inputs; the parent passes addresses and fingerprints on. A child whose standard
//! input ends, because the parent is gone, ends at once. The children are stopped when the parent stops waiting. When the
//! operator stops the parent, it passes that on, so that all parties end in order.

mod child;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use cenote_net::PartyId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Failure, Failures};
use crate::stop::{self, Session};
use crate::{Error, Result};
pub use child::{Parent, child};

/// The first line to a child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start<T> {
    pub(crate) me: u8,
    pub(crate) task: T,
}

/// What a party tells before it meets its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// Which party.
    pub party: u8,
    /// Where it listens.
    pub address: SocketAddr,
    /// The fingerprint of its key.
    pub fingerprint: String,
}

/// A later line to a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// Where the parties are.
    Meet(Vec<Contact>),
    /// The operator has stopped the parent, by this.
    Stop(String),
    /// So many bytes for [`Parent::hear`] follow.
    Bytes(usize),
}

/// A line from a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message<R> {
    Ready(Contact),
    Progress {
        done: u64,
        total: u64,
    },
    Note(Value),
    /// So many bytes of [`Parent::say`] follow.
    Bytes(usize),
    Done(Box<R>),
    Failed(Failure),
}

/// How long the other parties may take to stop by themselves once one has failed by its own doing.
const GRACE: Duration = Duration::from_secs(3);

/// How long the parties may take to end in order at the operator's word, before they are stopped.
const ORDERLY: Duration = Duration::from_secs(20);

/// The parent's side: one running child per party, stopped on drop.
struct Children {
    children: Vec<Child>,
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Neither can fail in a way that matters: the child has ended, or is ended now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

enum Event<R> {
    Line(usize, Message<R>),
    /// What the child has said.
    Said(usize, Vec<u8>),
    /// The child's output ended, or was no message.
    End(usize),
    /// The operator wants all to end.
    Stop,
}

/// What is heard of children that work.
pub enum Heard {
    /// What the slowest of them has done, of how much.
    Progress {
        /// Done.
        done: u64,
        /// Of these.
        total: u64,
    },
    /// What one of them tells by [`Parent::note`].
    Note(PartyId, Value),
    /// What one of them says besides, of which whoever started it knows the meaning.
    Said(PartyId, Vec<u8>),
}

/// What children are to hear ([`Parent::hear`]) while they work; no bytes are the end of it.
pub(crate) type Orders = Receiver<(PartyId, Vec<u8>)>;

/// Runs `task(party)` in a child started by `command(party)` for each of `parties` parties, and gives their results in order.
///
/// The children must run [`child`], and hear the `orders` that are for them. `patience` is how long a party may wait for another, after one has failed, before it
/// is stopped.
///
/// # Errors
/// [`Error::Parties`] with the cause first if any party fails; [`Error::Stopped`] if the operator has stopped them all;
/// [`Error::Local`] if a process cannot be started.
pub fn run_all<T: Serialize, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    command: impl Fn(PartyId) -> Command,
    task: impl Fn(PartyId) -> T,
    orders: Option<Orders>,
    patience: Duration,
    mut heard: impl FnMut(Heard),
) -> Result<Vec<R>> {
    let (sender, events) = channel();
    let mut children = Children { children: Vec::new() };
    let mut inputs: Vec<Sender<Vec<u8>>> = Vec::new();
    for party in (0..parties).map(PartyId) {
        let mut command = command(party);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Error::local(format!("starting a process for {party}"), error))?;
        let output = child.stdout.take().expect("the output is piped");
        let input = child.stdin.take().expect("the input is piped");
        children.children.push(child);
        let sender = sender.clone();
        thread(format!("output of {party}"), move || {
            forward(party.index(), BufReader::new(output), &sender);
        })?;
        // A child that does not read holds up nobody but its own thread.
        let (writer, lines) = channel();
        thread(format!("input of {party}"), move || write_all(input, &lines))?;
        let start = Start {
            me: party.0,
            task: task(party),
        };
        let _ = writer.send(line(&start, &[])?);
        inputs.push(writer);
    }
    if let Some(orders) = orders {
        let inputs = inputs.clone();
        let pass_on = move || {
            for (party, order) in orders {
                let Ok(line) = line(&Word::Bytes(order.len()), &order) else {
                    return;
                };
                // A child that has ended already shows that in its events.
                let _ = inputs[party.index()].send(line);
            }
        };
        thread("orders".into(), pass_on)?;
    }
    Session::run(
        "all parties were told to end, and no output was written",
        |session| {
            session.then(move || drop(sender.send(Event::Stop)));
            supervise(&mut children, &inputs, &events, patience, &mut heard)
        },
    )
}

fn thread(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = std::thread::Builder::new().name(name).spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::local("starting a thread", error))
}

/// Writes what comes for a child, as long as it reads.
fn write_all(mut input: ChildStdin, lines: &Receiver<Vec<u8>>) {
    let mut lines = lines.iter();
    while lines.next().is_some_and(|line| input.write_all(&line).is_ok()) {}
}

fn forward<R: DeserializeOwned>(party: usize, mut output: impl BufRead, sender: &Sender<Event<R>>) {
    let mut line = String::new();
    loop {
        line.clear();
        let message = match output.read_line(&mut line) {
            Ok(read) if read > 0 => serde_json::from_str(&line).ok(),
            _ => None,
        };
        let (event, last) = match message {
            Some(Message::Bytes(count)) => match read_bytes(&mut output, count) {
                Some(said) => (Event::Said(party, said), false),
                None => (Event::End(party), true),
            },
            Some(message) => (Event::Line(party, message), false),
            None => (Event::End(party), true),
        };
        if sender.send(event).is_err() || last {
            return;
        }
    }
}

/// The next bytes. They take memory as they come.
fn read_bytes(input: impl Read, count: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(count as u64).read_to_end(&mut bytes).ok()?;
    (read == count).then_some(bytes)
}

fn supervise<R>(
    children: &mut Children,
    inputs: &[Sender<Vec<u8>>],
    events: &Receiver<Event<R>>,
    patience: Duration,
    heard: &mut impl FnMut(Heard),
) -> Result<Vec<R>> {
    let mut watch = Watch::over(children.children.len());
    while !watch.is_over() {
        match watch.next(events) {
            Ok(Event::Line(party, message)) => watch.hear(party, message, inputs, patience, heard),
            Ok(Event::Said(party, said)) => heard(Heard::Said(PartyId(party as u8), said)),
            Ok(Event::End(party)) if watch.has_ended(party) => {}
            Ok(Event::End(party)) => {
                let how = ending(&mut children.children[party]);
                watch.fail(party, Failure::vanished(PartyId(party as u8), how), patience);
            }
            Ok(Event::Stop) => {
                tell(inputs, &Word::Stop(stop::word().unwrap_or_default()));
                watch.stop_at = Some(Instant::now() + ORDERLY);
            }
            Err(_) => watch.give_up(),
        }
    }
    watch.results()
}

/// What is known of the children while they work, by party.
struct Watch<R> {
    contacts: Vec<Option<Contact>>,
    done: Vec<u64>,
    results: Vec<Option<R>>,
    failures: Vec<Option<Failure>>,
    /// When those that still work are stopped.
    stop_at: Option<Instant>,
}

impl<R> Watch<R> {
    fn over(parties: usize) -> Self {
        Watch {
            contacts: vec![None; parties],
            done: vec![0; parties],
            results: (0..parties).map(|_| None).collect(),
            failures: vec![None; parties],
            stop_at: None,
        }
    }

    fn has_ended(&self, party: usize) -> bool {
        self.results[party].is_some() || self.failures[party].is_some()
    }

    fn is_over(&self) -> bool {
        (0..self.results.len()).all(|party| self.has_ended(party))
    }

    fn next(&self, events: &Receiver<Event<R>>) -> std::result::Result<Event<R>, RecvTimeoutError> {
        match self.stop_at {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
        }
    }

    /// Hears a child that works. When all listen, each is told where.
    fn hear(
        &mut self,
        party: usize,
        message: Message<R>,
        inputs: &[Sender<Vec<u8>>],
        patience: Duration,
        heard: &mut impl FnMut(Heard),
    ) {
        match message {
            Message::Ready(contact) => {
                let party = usize::from(contact.party).min(self.contacts.len() - 1);
                self.contacts[party] = Some(contact);
                if self.contacts.iter().all(Option::is_some) {
                    let all = self.contacts.iter().flatten().cloned();
                    tell(inputs, &Word::Meet(all.collect()));
                }
            }
            Message::Progress { done, total } => {
                self.done[party] = done;
                let done = self.done.iter().copied().min().unwrap_or(0);
                heard(Heard::Progress { done, total });
            }
            Message::Note(note) => heard(Heard::Note(PartyId(party as u8), note)),
            // What follows was heard instead.
            Message::Bytes(_) => {}
            Message::Done(result) => self.results[party] = Some(*result),
            Message::Failed(failure) => self.fail(party, failure, patience),
        }
    }

    /// A child has failed: the others end soon by themselves, or are stopped.
    fn fail(&mut self, party: usize, failure: Failure, patience: Duration) {
        // Before all are connected the others wait for what cannot come; afterwards they see it at once, or after their
        // deadline.
        let wait = if self.contacts.iter().any(Option::is_none) {
            Duration::from_millis(500)
        } else if failure.is_own() {
            GRACE
        } else {
            patience + GRACE
        };
        if stop::word().is_none() {
            let at = Instant::now() + wait;
            self.stop_at = Some(self.stop_at.map_or(at, |known| known.min(at)));
        }
        self.failures[party] = Some(failure);
    }

    /// Waits no longer for those that still work.
    fn give_up(&mut self) {
        for party in 0..self.results.len() {
            if !self.has_ended(party) {
                self.failures[party] = Some(Failure::unheard(PartyId(party as u8)));
            }
        }
    }

    fn results(self) -> Result<Vec<R>> {
        let failures: Vec<Failure> = self.failures.into_iter().flatten().collect();
        if failures.is_empty() {
            Ok(self.results.into_iter().flatten().collect())
        } else {
            Err(Error::Parties(Failures::new(failures)))
        }
    }
}

/// Says `word` to all children. One that has ended already shows that in its events.
fn tell(inputs: &[Sender<Vec<u8>>], word: &Word) {
    for input in inputs {
        let _ = line(word, &[]).map(|line| input.send(line));
    }
}

/// How a child that said nothing ended.
fn ending(child: &mut Child) -> String {
    // Its output has ended, so it ends at once; but a child may close its output and go on.
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return format!("its process ended without a word ({status})"),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            _ => return "its process stopped speaking".to_owned(),
        }
    }
}

/// A message as it is written, and the bytes that follow it.
fn line(message: &impl Serialize, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut line =
        serde_json::to_vec(message).map_err(|error| Error::local("telling another process", error.into()))?;
    line.push(b'\n');
    line.extend_from_slice(bytes);
    Ok(line)
}

#[cfg(test)]
mod tests;
