//! What waits to be sent over a trunk, and in which order it goes.

// By its path, so that tests find it, too, which include this file once more over other locks.
#[path = "outlet/sending.rs"]
mod sending;

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::locks::{AtomicBool, Condvar, Mutex, MutexGuard};
use super::stream::{Stream, Wants};
use super::wire::{FrameKind, HEADER, MAX_BODY, put};

/// What waits to be sent.
pub(super) struct Outlet {
    state: Mutex<State>,
    changed: Condvar,
    press: Mutex<Press>,
    /// The socket has not taken all that was given to it.
    blocked: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Whole frames about sessions. Each answers one of this party's joins, or one that the peer may make.
    frames: VecDeque<Vec<u8>>,
    ping: Option<u64>,
    pong: Option<u64>,
    /// Streams with notices, and with data.
    notices: VecDeque<Arc<Stream>>,
    data: VecDeque<Arc<Stream>>,
    /// Messages of the services, of the first of which so many bytes have been sent.
    messages: VecDeque<Vec<u8>>,
    message_sent: usize,
    message_bytes: usize,
    /// A message has the turn, not a stream.
    message_turn: bool,
    /// The trunk's thread has something to do.
    awake: bool,
    /// Streams that were dropped with bytes to send, and until when these are sent.
    left: VecDeque<(Instant, Arc<Stream>)>,
    /// The trunk ends when all has been sent, at the latest then.
    closing: Option<Instant>,
    /// This party ends the trunk, and has yet to say why.
    bye: Option<Option<String>>,
}

/// What is being sent.
#[derive(Default)]
pub(super) struct Press {
    batch: Vec<u8>,
    sealed: Vec<u8>,
    sent: usize,
    /// All bytes that the socket has taken.
    total: u64,
}

impl Outlet {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            press: Mutex::default(),
            blocked: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn press(&self) -> MutexGuard<'_, Press> {
        self.press.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the trunk's thread send.
    pub(super) fn wake(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.awake, true) {
            drop(state);
            self.changed.notify_all();
        }
    }

    fn list(&self, stream: &Arc<Stream>, wants: Wants) {
        let mut state = self.lock();
        if wants.control {
            state.notices.push_back(stream.clone());
        }
        if wants.data {
            state.data.push_back(stream.clone());
        }
    }

    pub(super) fn frame(&self, frame: Vec<u8>) {
        self.lock().frames.push_back(frame);
    }

    pub(super) fn ping(&self, nonce: u64) {
        self.lock().ping = Some(nonce);
    }

    /// Answers the latest ping only, however many there are.
    pub(super) fn pong(&self, nonce: u64) {
        self.lock().pong = Some(nonce);
    }

    pub(super) fn bye(&self, reason: &str) {
        self.lock().bye.get_or_insert_with(|| Some(reason.into()));
    }

    /// Queues a message of the services, if all that are queued are no more than `most` bytes then.
    pub(super) fn message(&self, message: Vec<u8>, most: usize) -> bool {
        let mut state = self.lock();
        // An empty message costs memory, too.
        let bytes = state.message_bytes + message.len() + HEADER;
        if bytes > most {
            return false;
        }
        state.message_bytes = bytes;
        state.messages.push_back(message);
        true
    }

    /// Whether anything but the data of streams is queued.
    pub(super) fn has_queued(&self) -> bool {
        let state = self.lock();
        !(state.messages.is_empty() && state.frames.is_empty() && state.notices.is_empty())
    }

    pub(super) fn close_by(&self, end: Instant) {
        let mut state = self.lock();
        let end = state.closing.map_or(end, |before| before.min(end));
        state.closing = Some(end);
        drop(state);
        self.wake();
    }

    /// Drops all that waits.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        let awake = state.awake;
        *state = State {
            awake,
            ..State::default()
        };
    }
}

impl State {
    /// Appends a part of the first message.
    fn put_message(&mut self, out: &mut Vec<u8>) {
        let Some(message) = self.messages.front() else {
            return;
        };
        let rest = &message[self.message_sent..];
        let part = &rest[..rest.len().min(MAX_BODY)];
        let follow = rest.len() - part.len();
        put(out, FrameKind::Message, follow as u64, part);
        self.message_sent += part.len();
        if follow == 0 {
            self.message_bytes -= message.len() + HEADER;
            self.messages.pop_front();
            self.message_sent = 0;
        }
    }

    /// Appends what is small and goes first. The clock is read as late as possible.
    fn put_small(&mut self, out: &mut Vec<u8>) {
        if let Some(nonce) = self.pong.take() {
            put(out, FrameKind::Pong, nonce, &super::hello::clock().to_le_bytes());
        }
        if let Some(nonce) = self.ping.take() {
            put(out, FrameKind::Ping, nonce, &[]);
        }
    }

    /// Appends the frames about sessions: a join must go before what is sent on its streams.
    fn put_frames(&mut self, out: &mut Vec<u8>) {
        for frame in self.frames.drain(..) {
            out.extend_from_slice(&frame);
        }
    }
}
