//! A process for each party: what it is told to do, and what all of them answer.

use std::process::Command;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::seat::{Seat, Setting};
use crate::processes::{Heard, Orders, child, run_all};
use crate::{Error, Kind, PartyReport, Report, Result, Transport};

/// Something that the process of a party can be told to do.
pub trait Assigned: Serialize + DeserializeOwned {
    /// The name by which the process knows it: no other has the same.
    const NAME: &'static str;

    /// One party's part, in a process of its own: what the parent is told.
    ///
    /// # Errors
    /// Its own.
    fn take_part(&self, seat: &Seat<'_>) -> Result<Value>;
}

/// What the process of a party is told to do, as it is sent there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The [`Assigned::NAME`] of what `details` are of.
    name: String,
    details: Value,
}

impl Task {
    /// What `assigned` is to a process.
    ///
    /// # Errors
    /// [`Error::Local`] if it cannot be written as JSON.
    pub fn new<A: Assigned>(assigned: &A) -> Result<Self> {
        Ok(Task {
            name: A::NAME.into(),
            details: value(assigned)?,
        })
    }
}

/// What a party tells its parent.
///
/// # Errors
/// [`Error::Local`] if it cannot be written as JSON.
pub fn value(told: &impl Serialize) -> Result<Value> {
    serde_json::to_value(told).map_err(|error| Error::local("telling another process", error.into()))
}

/// One of the things that the processes of a program can be told to do.
#[derive(Clone, Copy)]
pub struct Part {
    name: &'static str,
    take_part: fn(Value, &Seat<'_>) -> Result<Value>,
}

impl Part {
    /// What `A` is.
    pub const fn of<A: Assigned>() -> Self {
        Part {
            name: A::NAME,
            take_part: |details, seat| {
                let assigned: A = serde_json::from_value(details)
                    .map_err(|error| Error::local("reading what another process tells", error.into()))?;
                assigned.take_part(seat)
            },
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Runs as a child that is told one of `parts` as a [`Task`].
///
/// # Errors
/// As [`as_child`].
pub fn as_child_of(parts: &[Part]) -> std::result::Result<(), Kind> {
    as_child(|seat, task: Task| {
        let part = parts.iter().find(|part| part.name == task.name);
        let part =
            part.ok_or_else(|| Error::Usage(format!("no process does what is called {}", task.name)))?;
        (part.take_part)(task.details, &seat)
    })
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Assignment<T> {
    setting: Setting,
    task: T,
}

/// Runs `task` with a process for each of `parties` parties, joined as `setting` says, and gives their answers in order.
/// `command` starts a child, which must call [`as_child`] with the same types; `progress` is told the work done, of how much.
///
/// # Errors
/// [`Error::Usage`] if the parties are to be joined by memory; [`Error::Parties`] if one fails.
pub fn run<T: Serialize + Clone, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    setting: Setting,
    task: &T,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<R>> {
    run_heard(parties, setting, task, command, &mut |heard| {
        if let Heard::Progress { done, total } = heard {
            progress(done, total);
        }
    })
}

/// As [`run`], for parties that tell more than how much is done ([`Seat::note`]).
///
/// # Errors
/// As [`run`].
pub fn run_heard<T: Serialize + Clone, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    setting: Setting,
    task: &T,
    command: impl Fn() -> Command,
    heard: &mut dyn FnMut(Heard),
) -> Result<Vec<R>> {
    run_ordered(parties, setting, task, None, command, heard)
}

/// As [`run_heard`], for parties that hear `orders` while they work.
pub(super) fn run_ordered<T: Serialize + Clone, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    setting: Setting,
    task: &T,
    orders: Option<Orders>,
    command: impl Fn() -> Command,
    heard: &mut dyn FnMut(Heard),
) -> Result<Vec<R>> {
    if setting.transport == Transport::Memory {
        return Err(Error::Usage(
            "parties that are processes are joined by tls or tcp, not by memory".into(),
        ));
    }
    let task = task.clone();
    let assignment = Assignment { setting, task };
    // Whoever waits for an order does not see that another party is gone.
    let patience = match orders {
        Some(_) => Duration::ZERO,
        None => setting.timeout,
    };
    run_all(
        parties,
        |_| command(),
        |_| assignment.clone(),
        orders,
        patience,
        heard,
    )
}

/// Runs as the child of [`run`]: one party, whose task comes on standard input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn as_child<T: DeserializeOwned, R: Serialize>(
    run: impl FnOnce(Seat<'_>, T) -> Result<R>,
) -> std::result::Result<(), Kind> {
    child(|me, assignment: Assignment<T>, parent| {
        let setting = assignment.setting;
        run(Seat { me, setting, parent }, assignment.task)
    })
}

/// What the parties' reports say together.
///
/// # Errors
/// [`Error::Local`] if they contradict each other.
pub fn combine(reports: Vec<PartyReport>) -> Result<Report> {
    Report::new(reports).map_err(disagreement)
}

fn disagreement(what: impl Into<String>) -> Error {
    Error::local(
        "comparing the parties' results",
        std::io::Error::other(what.into()),
    )
}
