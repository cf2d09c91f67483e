//! The parties that follow a program, on threads of their own.

use std::collections::VecDeque;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use cenote::local::{Setting, run_program};
use cenote::programs::interpreter::{Instruction, Interpreter, Opened, Packed};
use cenote::programs::{self, Followed};
use cenote::stop::Scope;
use cenote::{PartyConfig, PartyId, Protocol, Result, wait_for_farewells};
use pyo3::prelude::*;

use crate::error::{InternalError, UsageError, raised};
use crate::running::{GLANCE, LAST_WORDS, check_process};

/// Batches that are on their way while the next is written.
const AHEAD: u64 = 2;

enum Event {
    /// What a party opened for a batch.
    Told(PartyId, Result<Vec<Opened>>),
    /// How it ended at each party that is here; nothing if it panicked.
    Ended(Option<Result<Vec<Followed>>>),
}

/// What the parties that are here tell.
#[derive(Clone)]
struct Teller(Sender<Event>);

impl Teller {
    fn tell(&self, party: PartyId, opened: Result<Vec<Opened>>) {
        // Nobody listening any more is no failure.
        let _ = self.0.send(Event::Told(party, opened));
    }
}

/// Parties that follow a program.
pub(crate) struct Following {
    /// Where instructions go; nothing once it is over.
    batches: Option<Sender<Vec<Instruction>>>,
    events: Mutex<Receiver<Event>>,
    /// Batches sent, and of each party that is here those that it has told of.
    sent: u64,
    told: Vec<u64>,
    /// What each opened last.
    opened: Vec<VecDeque<Opened>>,
    scope: Arc<Scope>,
    /// How it ended, or why.
    ended: Option<std::result::Result<Vec<Followed>, String>>,
}

impl Following {
    /// Lets `here` parties do `work` with the batches that come.
    fn start(
        here: usize,
        work: impl FnOnce(Receiver<Vec<Instruction>>, &Teller) -> Result<Vec<Followed>> + Send + 'static,
    ) -> PyResult<Self> {
        check_process()?;
        let (batches, received) = channel();
        let (sender, events) = channel();
        let scope = Arc::new(Scope::new());
        let of_work = Arc::clone(&scope);
        std::thread::Builder::new()
            .name("cenote program".into())
            .spawn(move || {
                let teller = Teller(sender);
                let ended = catch_unwind(AssertUnwindSafe(|| of_work.run(|| work(received, &teller))));
                let _ = teller.0.send(Event::Ended(ended.ok()));
            })
            .map_err(|error| InternalError::new_err(format!("no thread can be started: {error}")))?;
        Ok(Following {
            batches: Some(batches),
            events: Mutex::new(events),
            sent: 0,
            told: vec![0; here],
            opened: vec![VecDeque::new(); here],
            scope,
            ended: None,
        })
    }

    /// Sends a batch once few are on their way.
    pub(crate) fn send(&mut self, py: Python<'_>, batch: Vec<Instruction>) -> PyResult<()> {
        check_process()?;
        self.is_open()?;
        self.wait_for(py, self.sent.saturating_sub(AHEAD - 1))?;
        if let Some(batches) = &self.batches {
            // If it has ended, the next wait tells how.
            let _ = batches.send(batch);
        }
        self.sent += 1;
        Ok(())
    }

    /// Waits until all batches are done, and gives what the last one opened. All parties that it was opened to have the same.
    pub(crate) fn opened(&mut self, py: Python<'_>) -> PyResult<Option<Vec<Packed>>> {
        self.wait_for(py, self.sent)?;
        let each = self.opened.iter_mut().map(|opened| opened.pop_front().flatten());
        let mut known = each.flatten();
        let first = known.next();
        if known.any(|other| Some(&other) != first.as_ref()) {
            return Err(InternalError::new_err("the parties have learnt different values"));
        }
        Ok(first)
    }

    /// What ends the parties.
    pub(crate) fn scope(&self) -> Arc<Scope> {
        Arc::clone(&self.scope)
    }

    fn is_open(&self) -> PyResult<()> {
        match &self.ended {
            None => Ok(()),
            Some(Ok(_)) => Err(UsageError::new_err("the session is closed")),
            Some(Err(how)) => Err(UsageError::new_err(format!("the session has ended: {how}"))),
        }
    }

    /// Waits until each party has told of so many batches.
    fn wait_for(&mut self, py: Python<'_>, batches: u64) -> PyResult<()> {
        while self.told.iter().any(|&told| told < batches) {
            self.is_open()?;
            self.hear(py)?;
        }
        Ok(())
    }

    /// Hears the next event, if one comes soon, and looks whether the interpreter was interrupted.
    fn hear(&mut self, py: Python<'_>) -> PyResult<()> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        match py.detach(move || events.recv_timeout(GLANCE)) {
            Ok(Event::Told(party, Ok(opened))) => {
                // One party alone has no number here.
                let place = party.index().min(self.told.len() - 1);
                self.told[place] += 1;
                self.opened[place].extend(opened);
            }
            Ok(Event::Ended(Some(Ok(followed)))) => self.ended = Some(Ok(followed)),
            Ok(Event::Told(_, Err(error)) | Event::Ended(Some(Err(error)))) => {
                self.end(py, &error.to_string());
                return Err(raised(&error));
            }
            Ok(Event::Ended(None)) | Err(RecvTimeoutError::Disconnected) => {
                self.ended = Some(Err("Cenote has a mistake in it".into()));
                return Err(InternalError::new_err(
                    "Cenote has a mistake in it: what it said on standard error tells where. Please report it, without your data",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        py.check_signals()
            .inspect_err(|_| self.end(py, "it was interrupted"))
    }

    /// Ends it for this reason, unless it has ended: parties that run end in order, which takes a bounded time, or until the interpreter is interrupted.
    pub(crate) fn end(&mut self, py: Python<'_>, why: &str) {
        if self.ended.is_some() || check_process().is_err() {
            return;
        }
        self.ended = Some(Err(why.into()));
        let runs = self.scope.stop(why);
        // Whoever waits for instructions sees only now that there are no more.
        self.batches = None;
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        while runs && py.check_signals().is_ok() {
            let waiting = &mut *events;
            match py.detach(move || waiting.recv_timeout(GLANCE)) {
                Ok(Event::Told(..)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Ended(_)) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Ends in agreement with the other parties, and gives how it ended at those that are here.
    pub(crate) fn close(&mut self, py: Python<'_>) -> PyResult<&[Followed]> {
        check_process()?;
        self.is_open()?;
        self.batches = None;
        while self.ended.is_none() {
            self.hear(py)?;
        }
        match &self.ended {
            Some(Ok(followed)) => Ok(followed),
            _ => Ok(&[]),
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if self.ended.is_none() && check_process().is_ok() {
            self.scope.stop("its program was given up");
        }
    }
}

/// All parties of a protocol, as processes of this machine.
pub(crate) fn here(
    name: String,
    protocol: Protocol,
    and_gates: u64,
    setting: Setting,
) -> Result<PyResult<Following>> {
    let started = cenote_console::child(0)?;
    // An interrupt at the terminal is for this process, which may be doing something else, and tells its parties.
    let command = move || {
        let mut command = started();
        command.process_group(0);
        command
    };
    let parties = protocol.parties();
    Ok(Following::start(parties.into(), move |batches, teller| {
        let run = programs::Run {
            protocol,
            name: &name,
            and_gates,
        };
        run_program(&run, setting, command, batches, &mut |party, opened| {
            teller.tell(party, opened);
        })
    }))
}

/// The party of a party file.
pub(crate) fn between(
    config: PartyConfig,
    name: String,
    protocol: Protocol,
    and_gates: u64,
) -> PyResult<Following> {
    Following::start(1, move |batches, teller| {
        let me = config.me;
        let run = programs::Run {
            protocol,
            name: &name,
            and_gates,
        };
        let followed = run.follow(&config, batches, |opened| teller.tell(me, Ok(opened)));
        // The end of the interpreter would cut them off.
        let followed = followed.inspect_err(|_| wait_for_farewells(LAST_WORDS))?;
        Ok(vec![followed])
    })
}

/// One party alone, without secrecy, which gives all inputs and learns all outputs.
pub(crate) fn clear() -> PyResult<Following> {
    Following::start(1, move |batches, teller| {
        let batches = batches
            .into_iter()
            .map(|batch| batch.into_iter().map(alone).collect());
        Interpreter::new(programs::clear_session()).follow(batches, |opened| {
            teller.tell(PartyId(0), Ok(opened));
            programs::Result::Ok(())
        })?;
        Ok(Vec::new())
    })
}

/// The same for the only party there is.
fn alone(instruction: Instruction) -> Instruction {
    match instruction {
        Instruction::Input {
            width,
            lanes,
            kind,
            bits,
            ..
        } => Instruction::Input {
            owner: 0,
            width,
            lanes,
            kind,
            bits,
        },
        Instruction::Reveal { values, to, kinds } if !to.is_empty() => Instruction::Reveal {
            values,
            to: vec![0],
            kinds,
        },
        other => other,
    }
}
