//! Turns of plans: a few at once, one of each token, and the latest that a token asks for. Whoever types a query asks for many, of which only the last counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::http::StatusCode;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};

use crate::problem::{Answer, Refusal};

/// Plans that are made at once.
const AT_ONCE: usize = 2;

/// A turn, for as long as it is held.
pub(crate) struct PlanTurn {
    _own: OwnedMutexGuard<()>,
    _one: OwnedSemaphorePermit,
    /// Kept, so that what the token asks for next finds it.
    _line: Arc<Line>,
}

/// What a token asks for.
struct Line {
    /// The number of what it has asked for last.
    latest: watch::Sender<u64>,
    turn: Arc<Turn<()>>,
}

pub(crate) struct Plans {
    all: Arc<Semaphore>,
    lines: Mutex<HashMap<String, Weak<Line>>>,
}

impl Plans {
    pub(crate) fn new() -> Self {
        Plans {
            all: Arc::new(Semaphore::new(AT_ONCE)),
            lines: Mutex::default(),
        }
    }

    /// Waits for a turn of the token of this public name, unless it asks for a later plan meanwhile.
    pub(crate) async fn take(&self, token: &str) -> Answer<PlanTurn> {
        let line = self.line(token);
        let mut mine = 0;
        line.latest.send_modify(|latest| {
            *latest += 1;
            mine = *latest;
        });
        let mut latest = line.latest.subscribe();
        let turn = async {
            let _own = Arc::clone(&line.turn).lock_owned().await;
            let _one = Arc::clone(&self.all).acquire_owned().await;
            let _line = Arc::clone(&line);
            _one.map(|_one| PlanTurn { _own, _one, _line })
                .map_err(|_| Refusal::busy())
        };
        tokio::select! {
            biased;
            _ = latest.wait_for(|latest| *latest != mine) => Err(overtaken()),
            turn = turn => turn,
        }
    }

    /// What a token asks for. It is forgotten when none of its calls waits or holds a turn.
    fn line(&self, token: &str) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| line.strong_count() > 0);
        if let Some(line) = lines.get(token).and_then(Weak::upgrade) {
            return line;
        }
        let line = Arc::new(Line {
            latest: watch::Sender::new(0),
            turn: Arc::default(),
        });
        lines.insert(token.to_owned(), Arc::downgrade(&line));
        line
    }
}

fn overtaken() -> Refusal {
    Refusal::new(
        StatusCode::CONFLICT,
        "overtaken",
        "this token has asked for a later plan",
        "look at that one; a token has one plan made at a time",
    )
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_latest_of_a_token_wins_and_others_have_their_turns() {
        let plans = Plans::new();
        let first = plans.take("a").await.expect("a turn");
        let mut second = Box::pin(plans.take("a"));
        assert!(second.as_mut().now_or_never().is_none(), "one at a time");
        let mut third = Box::pin(plans.take("a"));
        assert!(third.as_mut().now_or_never().is_none());
        // What is overtaken is told so at once, whatever is still under way.
        let refused = second.await.map(drop).expect_err("overtaken");
        assert_eq!(refused.problem.code, "overtaken");
        let other = plans.take("b").await.expect("a turn");
        assert!(plans.take("c").now_or_never().is_none(), "two in all");
        drop(first);
        let third = third.await.expect("a turn");
        drop((other, third));
        plans.take("c").await.map(drop).expect("a turn");
        assert!(plans.lines.lock().expect("whole").len() <= 1);
    }
}
