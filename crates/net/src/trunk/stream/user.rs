//! What the user of a stream does.

use std::time::Duration;

use super::{State, Stream, User, Wants};
use crate::Fault;
use crate::budget::Share;
use crate::link::Rest;
use crate::outbox::Farewell;
use crate::queue::Push;
use crate::trunk::inflow::Piece;

impl Stream {
    pub(in crate::trunk) fn draw_on(&self, share: &Share) {
        let mut state = self.lock();
        state.queue.draw_on(share);
        state.inflow.draw_on(share);
    }

    /// Queues bytes, as [`crate::Link::push`] does; `queued` is called for every piece.
    pub(in crate::trunk) fn push(
        &self,
        rest: &mut Rest<'_>,
        urgent: bool,
        mut queued: impl FnMut(Wants),
    ) -> Result<usize, Fault> {
        let push = if urgent { Push::Urgent } else { Push::Normal };
        let mut pushed = 0;
        while !rest.is_empty() {
            let (mut piece, length) = {
                let mut state = self.lock();
                match state.check_send(urgent) {
                    // The caller must know that part of its bytes is on its way.
                    Err(_) if pushed > 0 => break,
                    checked => checked?,
                }
                match state.queue.begin(push) {
                    Some(begun) => begun,
                    None => break,
                }
            };
            let before = piece.len();
            rest.fill(&mut piece, length);
            pushed += piece.len() - before;
            queued(self.change(|state| {
                state.queue.push(piece);
                if state.check_send(true).is_err() {
                    state.drop_unsent();
                }
            }));
        }
        Ok(pushed)
    }

    pub(in crate::trunk) fn wait_room(&self, limit: Duration) {
        self.wait_while(limit, |state| {
            !state.queue.has_room() && state.check_send(false).is_ok()
        });
    }

    /// Takes the right to send up to `most` bytes at once, past the queue. Says how many, and to which id: none where bytes are
    /// queued before them, or the peer takes none.
    pub(in crate::trunk) fn reserve(&self, most: usize) -> Result<(usize, u64), Fault> {
        let mut state = self.lock();
        state.check_send(false)?;
        if !state.drained() || state.peer_id == 0 {
            return Ok((0, 0));
        }
        let count = most.min(usize::try_from(state.credit).unwrap_or(usize::MAX));
        state.credit -= count as u64;
        Ok((count, state.peer_id))
    }

    /// Gives a right back that was not used.
    pub(in crate::trunk) fn give_back(&self, count: usize) {
        self.lock().credit += count as u64;
    }

    /// Waits up to `limit` until the peer takes something and nothing is queued before it; not if something has come, as then
    /// both are sending, and perhaps neither receives. Says whether that is so.
    pub(in crate::trunk) fn wait_turn(&self, limit: Duration) -> bool {
        let turn = |state: &State| state.credit > 0 && state.drained();
        self.wait_while(limit, |state| {
            !turn(state) && state.inflow.is_empty() && state.check_send(false).is_ok()
        });
        turn(&self.lock())
    }

    /// The next piece of what has come, in place of one that is used up. As [`crate::Link::pull`].
    pub(in crate::trunk) fn take_piece(
        &self,
        used: Piece,
        round_trip: Duration,
    ) -> (Result<Option<Piece>, Fault>, Wants) {
        let mut state = self.lock();
        if state.user != User::Open {
            return (Err(Fault::Closed), Wants::default());
        }
        let taken = match state.inflow.take(used) {
            Some(piece) => Ok(Some(piece)),
            None => match &state.lost {
                Some(reason) => Err(Fault::Lost(reason.clone())),
                None if state.peer_ended => Ok(Some(Piece::default())),
                None => Ok(None),
            },
        };
        if !state.peer_ended {
            let grant = state.inflow.grant(round_trip);
            state.grant = state
                .grant
                .saturating_add(u32::try_from(grant).unwrap_or(u32::MAX));
        }
        (taken, state.wants())
    }

    pub(in crate::trunk) fn wait_data(&self, limit: Duration) {
        self.wait_while(limit, |state| {
            state.inflow.is_empty() && state.user == User::Open && !state.peer_ended && state.lost.is_none()
        });
    }

    pub(in crate::trunk) fn end(&self) -> Wants {
        self.change(State::end_sending)
    }

    /// Waits up to `limit` until all was sent, or nothing can be.
    pub(in crate::trunk) fn wait_drained(&self, limit: Duration) {
        self.wait_while(limit, |state| !state.drained() && state.check_send(true).is_ok());
    }

    pub(in crate::trunk) fn interrupt(&self) {
        self.change(|state| {
            if state.user == User::Open {
                state.user = User::Interrupted;
            }
        });
    }

    pub(in crate::trunk) fn close(&self) -> Wants {
        self.change(|state| {
            if state.user != User::Gone {
                state.user = User::Closed;
                state.drop_unsent();
                state.stop_receiving();
                state.end_sending();
            }
        })
    }

    /// The user drops the stream. Says whether it leaves something behind that is still to be sent.
    pub(in crate::trunk) fn leave(&self) -> (Wants, bool) {
        let mut behind = false;
        let wants = self.change(|state| {
            state.user = User::Gone;
            state.stop_receiving();
            state.end_sending();
            behind = !state.drained() && state.lost.is_none();
            if behind {
                state.farewell = Some(Farewell::begin());
            }
        });
        (wants, behind)
    }
}
