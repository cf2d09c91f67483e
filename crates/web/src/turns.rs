//! Turns of calls that block a thread. A token whose calls are slow holds its share of them, and leaves the rest to others; whoever is let in, and
//! calls of administrators, have some that nobody else takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns to see whose token a call has.
const ENTRY: usize = 8;
/// Turns that only administrators take, when there is no other.
const ADMIN: usize = 4;
/// Turns of all calls.
const CALLS: usize = 36;
/// Of these, turns of one token.
const EACH: usize = 24;
/// All turns.
pub(crate) const ALL: usize = ENTRY + ADMIN + CALLS;

/// Whose turn it is to be.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    /// One whose token is not known yet.
    Entering,
    /// One who has no token, and needs none.
    Stranger,
    /// The token that calls are counted under.
    Token { name: String, is_admin: bool },
}

/// A turn, for as long as it is held.
pub(crate) struct Turn {
    _one: OwnedSemaphorePermit,
    _share: Option<OwnedSemaphorePermit>,
}

pub(crate) struct Turns {
    entry: Arc<Semaphore>,
    admin: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    shares: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        let semaphore = |turns| Arc::new(Semaphore::new(turns));
        Turns {
            entry: semaphore(ENTRY),
            admin: semaphore(ADMIN),
            calls: semaphore(CALLS),
            shares: Mutex::default(),
        }
    }

    /// Waits for a turn. There is none only where the semaphores are closed, and nobody closes them.
    pub(crate) async fn take(&self, who: &Who) -> Option<Turn> {
        let one = |of: &Arc<Semaphore>| Arc::clone(of).acquire_owned();
        let (name, is_admin) = match who {
            Who::Entering => {
                let _one = one(&self.entry).await.ok()?;
                return Some(Turn { _one, _share: None });
            }
            Who::Stranger => ("", false),
            Who::Token { name, is_admin } => (name.as_str(), *is_admin),
        };
        let _share = Some(self.share(name).acquire_owned().await.ok()?);
        let _one = tokio::select! {
            biased;
            turn = one(&self.calls) => turn,
            turn = one(&self.admin), if is_admin => turn,
        };
        let _one = _one.ok()?;
        Some(Turn { _one, _share })
    }

    /// What a token has of the turns of all calls. It is forgotten when none of its calls holds a turn or waits for one.
    fn share(&self, name: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        if let Some(share) = shares.get(name).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Semaphore::new(EACH));
        shares.insert(name.to_owned(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn one_token_leaves_turns_for_others_and_all_leave_some_for_administrators() {
        let turns = Turns::new();
        let take = |who: &Who| turns.take(who).now_or_never().flatten();
        let token = |name: &str, is_admin| Who::Token {
            name: name.into(),
            is_admin,
        };
        let held = |who: &Who| std::iter::from_fn(|| take(who)).collect::<Vec<Turn>>();
        let slow = held(&token("slow", true));
        assert_eq!(slow.len(), EACH);
        let others = held(&token("other", false));
        assert_eq!(others.len(), CALLS - EACH);
        assert!(take(&Who::Stranger).is_none() && take(&token("third", false)).is_none());
        let admin = held(&token("admin", true));
        assert_eq!(admin.len(), ADMIN);
        assert_eq!(held(&Who::Entering).len(), ENTRY);
        drop(slow);
        assert_eq!(held(&Who::Stranger).len(), EACH);
        drop((others, admin));
        drop(take(&token("last", false)));
        assert!(turns.shares.lock().expect("whole").len() <= 1);
    }
}
