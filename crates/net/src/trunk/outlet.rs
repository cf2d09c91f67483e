//! The sending half of a trunk: what waits to be sent, in which order it goes, and who sends it.
//!
//! Whoever has something to send does so at once, if nobody else is sending. The trunk's own thread sends what is left: when
//! the socket was full, or somebody else was at it.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::connection::Connection;
use super::stream::{Stream, Wants};
use super::wire::{HEADER, Head, Kind, MAX_BODY, put, reason_body};
use crate::Fault;
use crate::link::Rest;
use crate::outbox::{lost, wait_socket};
use crate::tls::Seal;

/// Bytes that are encrypted and written at a time.
const BATCH: usize = 64 << 10;
/// A batch with less room than this takes no more data.
const LEAST: usize = 4 << 10;
/// So many batches are sent by who has something to send; the rest by the trunk's own thread.
const TURNS: usize = 32;
/// Parts of at least this size are sealed without a copy.
const LARGE: usize = 8 << 10;
/// How often a trunk that is closing looks whether all has been sent.
const CLOSING_LOOK: Duration = Duration::from_millis(5);

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
        put(out, Kind::Message, follow as u64, part);
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
            put(out, Kind::Pong, nonce, &super::hello::clock().to_le_bytes());
        }
        if let Some(nonce) = self.ping.take() {
            put(out, Kind::Ping, nonce, &[]);
        }
    }

    /// Appends the frames about sessions: a join must go before what is sent on its streams.
    fn put_frames(&mut self, out: &mut Vec<u8>) {
        for frame in self.frames.drain(..) {
            out.extend_from_slice(&frame);
        }
    }
}

impl Connection {
    /// Lists a stream for what it wants, and sends.
    pub(super) fn serve(&self, stream: &Arc<Stream>, wants: Wants) {
        if self.list(stream, wants) {
            self.send_now();
        }
    }

    /// Lists a stream for what it wants. Says whether there is something to be sent.
    pub(super) fn list(&self, stream: &Arc<Stream>, wants: Wants) -> bool {
        if wants.over {
            self.forget(stream.id);
        }
        if wants.data || wants.control {
            self.outlet.list(stream, wants);
        }
        wants.data || wants.control
    }

    /// Sends what waits, without waiting itself.
    pub(super) fn send_now(&self) {
        let done = match self.outlet.press.try_lock() {
            Ok(mut press) => self.send(&mut press, TURNS),
            Err(TryLockError::Poisoned(press)) => self.send(&mut press.into_inner(), TURNS),
            Err(TryLockError::WouldBlock) => Ok(false),
        };
        match done {
            Ok(true) => {}
            Ok(false) => self.outlet.wake(),
            Err(fault) => self.break_off(fault),
        }
    }

    /// Sends up to so many batches; true if nothing is left.
    fn send(&self, press: &mut Press, turns: usize) -> Result<bool, Fault> {
        for _ in 0..turns {
            if !self.write(press)? {
                return Ok(false);
            }
            press.batch.clear();
            self.gather(&mut press.batch);
            if press.batch.is_empty() && !self.answers.swap(false, Ordering::AcqRel) {
                return Ok(true);
            }
            self.sent.fetch_add(press.batch.len() as u64, Ordering::Relaxed);
            let mut tls = self.tls();
            if !press.batch.is_empty() {
                tls.seal(Seal::Bytes(&press.batch))?;
            }
            std::mem::swap(tls.sealed(), &mut press.sealed);
        }
        Ok(false)
    }

    /// Sends bytes of a stream that were not queued, as far as peer and socket take them; returns how many. What others have
    /// queued has its turn, too.
    pub(super) fn send_directly(&self, stream: &Stream, rest: &mut Rest<'_>) -> Result<usize, Fault> {
        let mut press = self.outlet.press();
        let mut sent = 0;
        let outcome = loop {
            match self.send(&mut press, 1) {
                Ok(true) => {}
                // If a batch of others is sealed, this stream's follows.
                Ok(false) => match self.write(&mut press) {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(fault) => break Err(fault),
                },
                Err(fault) => break Err(fault),
            }
            match self.seal_directly(&mut press, stream, rest) {
                Ok(0) => break Ok(()),
                Ok(count) => sent += count,
                Err(fault) => break Err(fault),
            }
        };
        drop(press);
        // Where the stream is closed, the connection is not.
        if let Err(fault) = &outcome
            && !stream.is_closed()
        {
            self.break_off(fault.clone());
        }
        outcome
            .map(|()| sent)
            .or_else(|fault| if sent > 0 { Ok(sent) } else { Err(fault) })
    }

    /// Seals up to a batch; returns how many bytes of the stream.
    fn seal_directly(&self, press: &mut Press, stream: &Stream, rest: &mut Rest<'_>) -> Result<usize, Fault> {
        let mut total = 0;
        let mut tls = self.tls();
        while total < BATCH && !rest.is_empty() {
            let (most, id) = match stream.reserve(MAX_BODY) {
                Ok(reserved) => reserved,
                Err(fault) if total == 0 => return Err(fault),
                Err(_) => break,
            };
            press.batch.clear();
            press.batch.extend_from_slice(&[0; HEADER]);
            // What lies together in large parts is not copied.
            let whole = Some(rest.next()).filter(|part| part.len() >= LARGE);
            let whole = whole.map(|part| &part[..part.len().min(most)]);
            match whole {
                Some(part) => rest.skip(part.len()),
                None => {
                    while press.batch.len() < HEADER + most && (1..LARGE).contains(&rest.next().len()) {
                        let part = rest.next();
                        let part = &part[..part.len().min(HEADER + most - press.batch.len())];
                        press.batch.extend_from_slice(part);
                        rest.skip(part.len());
                    }
                }
            }
            let length = press.batch.len() - HEADER + whole.map_or(0, <[u8]>::len);
            stream.give_back(most - length);
            if length == 0 {
                break;
            }
            let kind = Kind::Data;
            let head = Head { kind, length, id }.encode();
            press.batch[..HEADER].copy_from_slice(&head);
            tls.seal(Seal::Bytes(&press.batch))?;
            if let Some(part) = whole {
                tls.seal(Seal::Bytes(part))?;
            }
            total += length;
            self.sent.fetch_add((HEADER + length) as u64, Ordering::Relaxed);
        }
        debug_assert!(press.sealed.is_empty());
        std::mem::swap(tls.sealed(), &mut press.sealed);
        Ok(total)
    }

    /// Waits up to `limit` until the socket takes something. Says whether it does.
    pub(super) fn wait_turn(&self, limit: Duration) -> bool {
        !self.outlet.blocked.load(Ordering::Acquire)
            || wait_socket(&self.socket, PollFlags::OUT, limit).contains(PollFlags::OUT)
    }

    /// Has what the socket has not taken yet sent in the background.
    pub(super) fn send_rest(&self) {
        if self.outlet.blocked.load(Ordering::Acquire) {
            self.outlet.wake();
        }
    }

    /// Gives the socket what is sealed; false if it does not take all of it.
    fn write(&self, press: &mut Press) -> Result<bool, Fault> {
        while press.sent < press.sealed.len() {
            match (&self.socket).write(&press.sealed[press.sent..]) {
                Ok(count) => {
                    press.sent += count;
                    press.total += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.outlet.blocked.store(true, Ordering::Release);
                    return Ok(false);
                }
                Err(error) => return Err(lost(&error)),
            }
        }
        self.outlet.blocked.store(false, Ordering::Release);
        press.sealed.clear();
        press.sent = 0;
        Ok(true)
    }

    /// Fills a batch: small frames first, then streams in turn, and a part of a message between any two.
    fn gather(&self, out: &mut Vec<u8>) {
        {
            let mut state = self.outlet.lock();
            match &mut state.bye {
                None => state.put_small(out),
                // Nothing comes behind it.
                Some(reason) => {
                    if let Some(reason) = reason.take() {
                        put(out, Kind::Bye, 0, reason_body(&reason));
                    }
                    return;
                }
            }
        }
        while out.len() < BATCH {
            let mut state = self.outlet.lock();
            state.put_frames(out);
            let Some(stream) = state.notices.pop_front() else {
                break;
            };
            drop(state);
            let wants = stream.take_notices(out);
            self.list(&stream, wants);
        }
        while out.len() + LEAST < BATCH {
            let mut state = self.outlet.lock();
            state.put_frames(out);
            if out.len() + LEAST >= BATCH {
                break;
            }
            state.message_turn = !state.messages.is_empty() && (!state.message_turn || state.data.is_empty());
            if state.message_turn {
                state.put_message(out);
                continue;
            }
            let Some(stream) = state.data.pop_front() else {
                break;
            };
            drop(state);
            let room = BATCH - out.len() - HEADER;
            let wants = stream.take_data(out, room.min(MAX_BODY));
            self.list(&stream, wants);
        }
    }

    /// Sends what the stream has left behind, for some time.
    pub(super) fn send_within(&self, stream: &Arc<Stream>, limit: Duration) {
        let left = (Instant::now() + limit, stream.clone());
        self.outlet.lock().left.push_back(left);
        self.outlet.wake();
    }

    /// Gives up streams whose time is over. Says when to look again.
    fn look_behind(&self) -> Option<Duration> {
        let now = Instant::now();
        loop {
            let mut state = self.outlet.lock();
            let (end, stream) = state.left.front()?;
            let drained = stream.is_drained();
            if !drained && *end > now {
                return Some(*end - now);
            }
            let stream = stream.clone();
            state.left.pop_front();
            drop(state);
            let wants = stream.give_up();
            self.list(&stream, wants);
        }
    }

    /// Sends what waits, after others that are sending. Says how many bytes the socket has taken so far.
    pub(super) fn send_all(&self) -> (Result<bool, Fault>, u64) {
        let mut press = self.outlet.press();
        let done = self.send(&mut press, TURNS);
        (done, press.total)
    }

    /// What the trunk's own thread does.
    pub(super) fn send_on(&self) {
        let mut stalled: Option<(u64, Instant)> = None;
        while !self.is_over() {
            let next = self.look_behind();
            let (done, total) = self.send_all();
            let sent = match done {
                Err(fault) => return self.break_off(fault),
                Ok(sent) => sent,
            };
            if sent {
                stalled = None;
                self.rest(next);
            } else {
                let since = match stalled {
                    Some((before, since)) if before == total => since,
                    _ => Instant::now(),
                };
                stalled = Some((total, since));
                if since.elapsed() > self.limits.silence {
                    let reason = format!("it has taken nothing for {:.0} s", since.elapsed().as_secs_f64());
                    return self.break_off(Fault::Lost(reason));
                }
                let closing = self.outlet.lock().closing;
                let left = closing.map(|end| end.saturating_duration_since(Instant::now()));
                let limits = [Some(self.limits.heartbeat), next, left];
                let limit = limits.into_iter().flatten().min().unwrap_or_default();
                wait_socket(&self.socket, PollFlags::OUT, limit);
            }
            let closing = self.outlet.lock().closing;
            if let Some(end) = closing {
                self.close_if(sent, end);
            }
        }
    }

    /// Sleeps until there is something to send.
    fn rest(&self, next: Option<Duration>) {
        let mut state = self.outlet.lock();
        let closing = state.closing.map(|_| CLOSING_LOOK);
        while !state.awake && !self.is_over() {
            state = match next.into_iter().chain(closing).min() {
                None => self
                    .outlet
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(limit) => {
                    let waited = self.outlet.changed.wait_timeout(state, limit);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                    break;
                }
            };
        }
        state.awake = false;
    }
}
