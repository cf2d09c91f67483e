//! Ending in order at the operator's word.
//!
//! A process has one operator. Whoever handles its signals calls [`request`]: every session that runs then is interrupted
//! in whatever it waits for, tells its peers why, and fails with [`Error::Stopped`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_session::{Connections, Error as EngineError};

use crate::{Error, Kind, Result};

struct State {
    /// The operator's word, once given.
    word: Option<String>,
    /// The words that were given to some scopes only.
    of_scopes: BTreeMap<u64, String>,
    /// Whether anything was begun that ends by itself at that word.
    begun: bool,
    next: u64,
    /// What to do then, by session and its scope.
    actions: Vec<Action>,
}

struct Action {
    session: u64,
    scope: u64,
    run: Box<dyn Fn() + Send>,
}

impl State {
    fn word_of(&self, scope: u64) -> Option<&String> {
        self.word.as_ref().or_else(|| self.of_scopes.get(&scope))
    }
}

thread_local! {
    /// The scope of what this thread begins; 0 is none.
    static SCOPE: Cell<u64> = const { Cell::new(0) };
}

static STATE: Mutex<State> = Mutex::new(State {
    word: None,
    of_scopes: BTreeMap::new(),
    begun: false,
    next: 0,
    actions: Vec::new(),
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all sessions of this process in order, also those that are yet to begin. `word` is what the operator did, such as
/// the name of a signal.
///
/// False if none has begun: then nobody has to be told, and the caller may end the process.
pub fn request(word: &str) -> bool {
    let mut state = state();
    state.word.get_or_insert_with(|| word.to_owned());
    state.actions.iter().for_each(|action| (action.run)());
    state.begun
}

/// Some of what a process runs, which can be ended without the rest: one call among others in an interpreter, say.
pub struct Scope(u64);

impl Scope {
    /// A new one.
    #[allow(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let mut state = state();
        state.next += 1;
        Scope(state.next)
    }

    /// Does `work`, whose sessions, if this thread begins them, belong to this scope.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = SCOPE.replace(self.0);
        let done = work();
        SCOPE.set(before);
        done
    }

    /// Ends all sessions of this scope in order, also those that are yet to begin, as [`request`] does those of the process. False if none is running.
    pub fn stop(&self, word: &str) -> bool {
        let mut state = state();
        state.of_scopes.entry(self.0).or_insert_with(|| word.to_owned());
        let mut own = state
            .actions
            .iter()
            .filter(|action| action.scope == self.0)
            .peekable();
        let runs = own.peek().is_some();
        own.for_each(|action| (action.run)());
        runs
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        state().of_scopes.remove(&self.0);
    }
}

/// What the operator did, if anything, to what this thread runs.
pub(crate) fn word() -> Option<String> {
    state().word_of(SCOPE.get()).cloned()
}

/// What is to end at the operator's word, until it is dropped.
pub(crate) struct Session {
    number: u64,
    scope: u64,
}

impl Session {
    /// Runs `work`, in which what is given to the session ends at the operator's word. The failure is then
    /// [`Error::Stopped`], which says `what` has become of it, unless a check has failed, or a disk.
    pub(crate) fn run<T>(what: &str, work: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
        let mut known = state();
        known.next += 1;
        let session = Session {
            number: known.next,
            scope: SCOPE.get(),
        };
        drop(known);
        work(&session).map_err(|error| match (word(), error.kind()) {
            (None, _) | (_, Kind::Cheating | Kind::Reported) => error,
            _ if matches!(&error, Error::Protocol { error } if is_of_disk(error)) => error,
            (Some(word), _) => Error::Stopped {
                word,
                what: what.to_owned(),
            },
        })
    }

    /// Does `action` when the operator says so, at once if that was before.
    pub(crate) fn then(&self, action: impl Fn() + Send + 'static) {
        state().begun = true;
        self.then_before(action);
    }

    /// The same, as long as no peer was met, and nobody has to be told.
    pub(crate) fn then_before(&self, action: impl Fn() + Send + 'static) {
        let mut state = state();
        if state.word_of(self.scope).is_some() {
            action();
        }
        state.actions.push(Action {
            session: self.number,
            scope: self.scope,
            run: Box::new(action),
        });
    }

    /// Interrupts what uses `connections` when the operator says so.
    pub(crate) fn interrupts(&self, mut connections: Connections) -> Connections {
        let interrupters: Vec<_> = connections
            .iter_mut()
            .map(|channel| channel.interrupter())
            .collect();
        self.then(move || interrupters.iter().for_each(cenote_net::Closer::close));
        connections
    }
}

/// Whether a disk or a store failed, which no stop does.
pub(crate) fn is_of_disk(error: &EngineError) -> bool {
    matches!(error, EngineError::Storage(_) | EngineError::DiskFull(_))
}

impl Drop for Session {
    fn drop(&mut self) {
        state().actions.retain(|action| action.session != self.number);
    }
}
