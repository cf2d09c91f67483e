//! Work that takes long: on a thread of its own, while the interpreter does other things, hears how far it is, and may be interrupted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cenote::stop::Scope;
use cenote::{OnWait, Result};
use pyo3::prelude::*;

use crate::error::{InternalError, UsageError, raised};

/// How often the interpreter looks whether it was interrupted.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// How long the end of a party waits for peers to take its last words.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// The process that loaded this module.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Remembers the process that loads this module.
pub(crate) fn remember_process() {
    PROCESS.get_or_init(std::process::id);
}

/// Refuses to start threads in a process that was forked off.
pub(crate) fn check_process() -> PyResult<()> {
    if PROCESS
        .get()
        .is_some_and(|process| *process != std::process::id())
    {
        return Err(UsageError::new_err(
            "this process was forked off one that had loaded cenote, and cannot run parties: start processes with \
             multiprocessing.get_context(\"spawn\"), or import cenote in the child first",
        ));
    }
    Ok(())
}

/// What work tells while it goes on.
pub(crate) enum Told {
    /// So much is done, of so much.
    Progress(u64, u64),
    /// What goes on now.
    About(String),
    /// A peer is waited for for long.
    Waiting(String),
}

enum Event<T> {
    Told(Told),
    /// How it ended; nothing if it panicked.
    Ended(Option<Result<T>>),
}

/// What work tells its progress by.
pub(crate) struct Teller<T>(Sender<Event<T>>);

impl<T> Clone for Teller<T> {
    fn clone(&self) -> Self {
        Teller(self.0.clone())
    }
}

impl<T: Send + 'static> Teller<T> {
    /// Who hears that a peer is waited for for long.
    pub(crate) fn on_wait(&self) -> OnWait {
        let teller = self.clone();
        OnWait::new(OnWait::AFTER, move |waiting| {
            teller.tell(Told::Waiting(waiting.to_string()));
        })
    }

    pub(crate) fn tell(&self, told: Told) {
        // Nobody listening any more is no failure.
        let _ = self.0.send(Event::Told(told));
    }
}

/// Does `work` while other threads of the interpreter run. `listener` is called with what the work tells: `"progress"`, how much is done, and of how much; `"about"` or
/// `"waiting"`, a text, and nothing.
///
/// # Errors
/// The exception of its failure; an interrupt from the keyboard, or what `listener` raises, after which the parties have ended in order; that this process was
/// forked off the one that loaded the module.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Teller<T>) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    check_process()?;
    let (sender, mut events) = channel();
    // The call holds it as long as the work does, so that what begins late ends as well.
    let scope = Arc::new(Scope::new());
    let of_work = Arc::clone(&scope);
    std::thread::Builder::new()
        .name("cenote".into())
        .spawn(move || {
            let teller = Teller(sender);
            let ended = catch_unwind(AssertUnwindSafe(|| of_work.run(|| work(&teller))));
            let _ = teller.0.send(Event::Ended(ended.ok()));
        })
        .map_err(|error| InternalError::new_err(format!("no thread can be started: {error}")))?;
    loop {
        let waiting = &mut events;
        match py.detach(move || waiting.recv_timeout(GLANCE)) {
            Ok(Event::Told(told)) => {
                hear(listener, told).map_err(|error| ended_by(py, &scope, &mut events, error))?;
            }
            Ok(Event::Ended(Some(result))) => return result.map_err(|error| raised(&error)),
            Ok(Event::Ended(None)) | Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err(
                    "Cenote has a mistake in it: what it said on standard error tells where. Please report it, without your data",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        py.check_signals()
            .map_err(|error| ended_by(py, &scope, &mut events, error))?;
    }
}

/// Calls the listener.
fn hear(listener: Option<&Bound<'_, PyAny>>, told: Told) -> PyResult<()> {
    let Some(listener) = listener else { return Ok(()) };
    match told {
        Told::Progress(done, total) => listener.call1(("progress", done, total)),
        Told::About(what) => listener.call1(("about", what, None::<u64>)),
        Told::Waiting(whom) => listener.call1(("waiting", whom, None::<u64>)),
    }
    .map(|_| ())
}

/// Ends the work, and no other, in order, and gives what ended it. If no party runs yet, nobody waits for the plan that is being made: it is given up when it is done.
fn ended_by<T: Send>(py: Python<'_>, scope: &Scope, events: &mut Receiver<Event<T>>, error: PyErr) -> PyErr {
    if scope.stop("it was interrupted") {
        // The parties take their time to end in order, which is bounded.
        py.detach(move || while let Ok(Event::Told(_)) = events.recv() {});
    }
    error
}
