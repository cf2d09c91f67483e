//! Ending in order at the operator's word.
//!
//! A process has one operator. Whoever handles its signals calls [`request`]: every session that runs then is interrupted
//! in whatever it waits for, tells its peers why, and fails with [`Error::Stopped`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_session::Connections;

use crate::{Error, Kind, Result};

struct State {
    /// The operator's word, once given.
    word: Option<String>,
    /// Whether anything was begun that ends by itself at that word.
    begun: bool,
    next: u64,
    /// What to do then, by session.
    actions: Vec<(u64, Box<dyn Fn() + Send>)>,
}

static STATE: Mutex<State> = Mutex::new(State {
    word: None,
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
    state.actions.iter().for_each(|(_, action)| action());
    state.begun
}

/// Takes the operator's word back once all that it ended has ended, in a process that goes on to other things: an interpreter, say.
///
/// False if something has not ended: then the word stays.
pub fn forget() -> bool {
    let mut state = state();
    let ended = state.actions.is_empty();
    if ended {
        (state.word, state.begun) = (None, false);
    }
    ended
}

/// What the operator did, if anything.
pub(crate) fn word() -> Option<String> {
    state().word.clone()
}

/// What is to end at the operator's word, until it is dropped.
pub(crate) struct Session(u64);

impl Session {
    /// Runs `work`, in which what is given to the session ends at the operator's word. The failure is then
    /// [`Error::Stopped`], which says `what` has become of it, unless a check has failed.
    pub(crate) fn run<T>(what: &str, work: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
        let mut known = state();
        known.next += 1;
        let session = Session(known.next);
        drop(known);
        work(&session).map_err(|error| match (word(), error.kind()) {
            (None, _) | (_, Kind::Cheating | Kind::Reported) => error,
            (Some(word), _) => Error::Stopped {
                word,
                what: what.to_owned(),
            },
        })
    }

    /// Does `action` when the operator says so, at once if that was before.
    pub(crate) fn then(&self, action: impl Fn() + Send + 'static) {
        let mut state = state();
        state.begun = true;
        if state.word.is_some() {
            action();
        }
        state.actions.push((self.0, Box::new(action)));
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

impl Drop for Session {
    fn drop(&mut self) {
        state().actions.retain(|(session, _)| *session != self.0);
    }
}
