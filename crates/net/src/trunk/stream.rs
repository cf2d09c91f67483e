//! A stream: what goes one way and the other for one channel, between the thread that uses it and those of the trunk.

// By its path, so that tests find it, too, which include this file once more over other locks.
#[path = "stream/user.rs"]
mod user;

use std::sync::PoisonError;
use std::time::Duration;

use super::inflow::{Inflow, Piece};
use super::locks::{Condvar, Mutex, MutexGuard};
use super::wire::{FrameKind, HEADER, Head, put};
use crate::Fault;
use crate::outbox::Farewell;
use crate::queue::Queue;

/// What a stream is waiting for the trunk to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// Bytes.
    pub(super) data: bool,
    /// A credit, an end or a stop.
    pub(super) control: bool,
    /// Nothing, ever again: the stream is over.
    pub(super) over: bool,
}

/// What the user of a stream may still do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Open,
    /// Say a last word.
    Interrupted,
    /// Nothing: its closer was used.
    Closed,
    /// Nothing: it has dropped the stream.
    Gone,
}

/// Something that is told to the peer once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notice {
    Not,
    Owed,
    Done,
}

/// One stream.
pub(super) struct Stream {
    /// What the peer sends to.
    pub(super) id: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What is sent to; 0 until the peer has joined.
    peer_id: u64,
    /// The id of the peer's join.
    join: u64,
    queue: Queue,
    /// The piece of the queue that is being sent, and how many of its bytes were.
    head: Vec<u8>,
    sent: usize,
    /// How many bytes the peer takes.
    credit: u64,
    /// Listed with the trunk as one that has data, or a notice.
    listed: Wants,
    end: Notice,
    stop: Notice,
    peer_stopped: bool,
    inflow: Inflow,
    /// What is to be granted to the peer.
    grant: u32,
    peer_ended: bool,
    user: User,
    /// How the trunk broke.
    lost: Option<String>,
    /// Somebody waits for a change.
    waiting: usize,
    /// While this lasts, the process should.
    farewell: Option<Farewell>,
}

impl State {
    /// What comes is wanted.
    fn receives(&self) -> bool {
        matches!(self.user, User::Open | User::Interrupted)
    }

    /// Nothing is left to be sent.
    fn drained(&self) -> bool {
        self.queue.is_done()
    }

    fn has_unsent(&self) -> bool {
        self.sent < self.head.len() || !self.queue.is_empty()
    }

    fn drop_unsent(&mut self) {
        if self.head.capacity() > 0 {
            let head = std::mem::take(&mut self.head);
            self.queue.recycle(head);
        }
        self.sent = 0;
        self.queue.clear();
        self.farewell = None;
    }

    /// What is to be listed that is not yet.
    fn wants(&mut self) -> Wants {
        let known = self.peer_id != 0 && self.lost.is_none();
        if self.drained() {
            self.farewell = None;
        }
        let data = known && self.credit > 0 && self.has_unsent() && !self.listed.data;
        let notices = self.stop == Notice::Owed || self.end == Notice::Owed && self.drained();
        let control = known && (self.grant > 0 || notices) && !self.listed.control;
        self.listed.data |= data;
        self.listed.control |= control;
        let sending = self.end != Notice::Done && !self.peer_stopped;
        let receiving = self.stop != Notice::Done && !self.peer_ended;
        Wants {
            data,
            control,
            over: self.user == User::Gone && (self.lost.is_some() || known && !sending && !receiving),
        }
    }

    /// This party wants nothing of the peer any more.
    fn stop_receiving(&mut self) {
        self.inflow.clear();
        self.grant = 0;
        if self.stop == Notice::Not {
            self.stop = Notice::Owed;
        }
    }

    fn end_sending(&mut self) {
        if self.end == Notice::Not {
            self.end = Notice::Owed;
        }
    }

    fn put_end(&mut self, out: &mut Vec<u8>) {
        if self.end == Notice::Owed && self.drained() {
            self.end = Notice::Done;
            put(out, FrameKind::End, self.peer_id, &[]);
        }
    }

    /// Why nothing can be sent.
    fn check_send(&self, urgent: bool) -> Result<(), Fault> {
        match self.user {
            User::Closed | User::Gone => return Err(Fault::Closed),
            User::Interrupted if !urgent => return Err(Fault::Closed),
            User::Interrupted | User::Open => {}
        }
        if let Some(reason) = &self.lost {
            return Err(Fault::Lost(reason.clone()));
        }
        if self.peer_stopped {
            return Err(Fault::Lost("it closed its end".into()));
        }
        Ok(())
    }
}

impl Stream {
    /// One whose window grows up to `most` bytes, and which queues up to `queue_bytes`.
    pub(super) fn new(id: u64, queue_bytes: usize, most: usize) -> Self {
        let state = State {
            peer_id: 0,
            join: 0,
            queue: Queue::new(queue_bytes),
            head: Vec::new(),
            sent: 0,
            credit: 0,
            listed: Wants::default(),
            end: Notice::Not,
            stop: Notice::Not,
            peer_stopped: false,
            inflow: Inflow::new(most),
            grant: 0,
            peer_ended: false,
            user: User::Open,
            lost: None,
            waiting: 0,
            farewell: None,
        };
        Self {
            id,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Wants {
        let mut state = self.lock();
        change(&mut state);
        let wants = state.wants();
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.changed.notify_all();
        }
        wants
    }

    fn wait_while(&self, limit: Duration, condition: impl FnMut(&mut State) -> bool) {
        let mut state = self.lock();
        state.waiting += 1;
        let waited = self.changed.wait_timeout_while(state, limit, condition);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }
}

/// What the threads of the trunk do.
impl Stream {
    /// The peer has joined with this id: it is sent to under another, so many bytes at first.
    pub(super) fn match_with(&self, join: u64, peer_id: u64, window: u32) -> Wants {
        self.change(|state| {
            state.join = join;
            state.peer_id = peer_id;
            state.credit = window.into();
        })
    }

    /// Appends a frame of at most `most` bytes of data to `out`.
    pub(super) fn take_data(&self, out: &mut Vec<u8>, most: usize) -> Wants {
        self.change(|state| {
            state.listed.data = false;
            if state.lost.is_some() {
                return;
            }
            let most = most.min(usize::try_from(state.credit).unwrap_or(usize::MAX));
            let from = out.len();
            out.extend_from_slice(&[0; HEADER]);
            let begin = out.len();
            while out.len() - begin < most {
                if state.sent == state.head.len() {
                    if state.head.capacity() > 0 {
                        let head = std::mem::take(&mut state.head);
                        state.queue.recycle(head);
                    }
                    state.sent = 0;
                    match state.queue.pop() {
                        Some(piece) => state.head = piece,
                        None => break,
                    }
                }
                let count = (state.head.len() - state.sent).min(most - (out.len() - begin));
                out.extend_from_slice(&state.head[state.sent..state.sent + count]);
                state.sent += count;
            }
            if state.sent == state.head.len() && state.head.capacity() > 0 {
                let head = std::mem::take(&mut state.head);
                state.sent = 0;
                state.queue.recycle(head);
            }
            let length = out.len() - begin;
            if length == 0 {
                out.truncate(from);
            } else {
                let head = Head {
                    kind: FrameKind::Data,
                    length,
                    id: state.peer_id,
                };
                out[from..begin].copy_from_slice(&head.encode());
                state.credit -= length as u64;
            }
            state.put_end(out);
        })
    }

    /// Appends the notices to `out`.
    pub(super) fn take_notices(&self, out: &mut Vec<u8>) -> Wants {
        self.change(|state| {
            state.listed.control = false;
            if state.lost.is_some() {
                return;
            }
            let grant = std::mem::take(&mut state.grant);
            if grant > 0 {
                put(out, FrameKind::Credit, state.peer_id, &grant.to_le_bytes());
            }
            if state.stop == Notice::Owed {
                state.stop = Notice::Done;
                put(out, FrameKind::Stop, state.peer_id, &[]);
            }
            state.put_end(out);
        })
    }

    /// The peer sends so many bytes. Says whether anybody wants them.
    pub(super) fn admit(&self, bytes: usize) -> Result<bool, &'static str> {
        let mut state = self.lock();
        if state.peer_id == 0 {
            return Err("data of a session that it has not joined");
        }
        if state.peer_ended {
            return Err("data of a stream that it has ended");
        }
        if !state.inflow.count(bytes) {
            return Err("more data than its window allows");
        }
        Ok(state.receives())
    }

    /// Keeps bytes that were admitted; [`Stream::announce`] follows.
    pub(super) fn deliver(&self, bytes: &[u8]) {
        let mut state = self.lock();
        if state.receives() {
            state.inflow.keep(bytes);
        }
    }

    /// Somewhere to put many bytes that were admitted.
    pub(super) fn whole_piece(&self, length: usize) -> Piece {
        self.lock().inflow.whole(length)
    }

    /// As [`Stream::deliver`].
    pub(super) fn deliver_piece(&self, piece: Piece) {
        let mut state = self.lock();
        if state.receives() {
            state.inflow.keep_piece(piece);
        }
    }

    /// Wakes who waits for what was delivered.
    pub(super) fn announce(&self) {
        let waiting = self.lock().waiting > 0;
        if waiting {
            self.changed.notify_all();
        }
    }

    /// The peer takes so many bytes more.
    pub(super) fn credit(&self, bytes: u32) -> Wants {
        self.change(|state| state.credit = state.credit.saturating_add(bytes.into()))
    }

    /// The peer sends nothing more.
    pub(super) fn peer_ended(&self) -> Wants {
        self.change(|state| state.peer_ended = true)
    }

    /// The peer takes nothing more.
    pub(super) fn peer_stopped(&self) -> Wants {
        self.change(|state| {
            state.peer_stopped = true;
            state.drop_unsent();
        })
    }

    /// Whether the peer joined with this id, and the stream has not been lost.
    pub(super) fn is_of(&self, join: u64) -> bool {
        let state = self.lock();
        state.join == join && state.lost.is_none()
    }

    /// The trunk broke, or the peer has left the session.
    pub(super) fn lose(&self, reason: &str) -> Wants {
        self.change(|state| {
            state.lost.get_or_insert_with(|| reason.into());
            state.drop_unsent();
        })
    }

    /// What the user left behind is not waited for any more.
    pub(super) fn give_up(&self) -> Wants {
        self.change(|state| {
            if state.user == User::Gone {
                state.drop_unsent();
            }
        })
    }

    /// How the trunk broke, or the peer left.
    pub(super) fn lost(&self) -> Option<String> {
        self.lock().lost.clone()
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().check_send(false).is_err()
    }

    pub(super) fn is_drained(&self) -> bool {
        let state = self.lock();
        state.drained() || state.lost.is_some() || state.peer_id == 0
    }
}
