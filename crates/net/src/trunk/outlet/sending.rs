//! Who sends what waits.
//!
//! Whoever has something to send does so at once, if nobody else is sending. The trunk's own thread sends what is left: when
//! the socket was full, or somebody else was at it.

use std::sync::{Arc, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::locks::Ordering;
use super::super::stream::{Stream, Wants};
use super::Press;
use crate::Fault;
use crate::link::Rest;
use crate::tls::Seal;
use crate::trunk::wire::{FrameKind, HEADER, Head, MAX_BODY, put, reason_body};

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

impl Connection {
    /// Lists a stream for what it wants, and sends.
    pub(in crate::trunk) fn serve(&self, stream: &Arc<Stream>, wants: Wants) {
        if self.list(stream, wants) {
            self.send_now();
        }
    }

    /// Lists a stream for what it wants. Says whether there is something to be sent.
    pub(in crate::trunk) fn list(&self, stream: &Arc<Stream>, wants: Wants) -> bool {
        if wants.over {
            self.forget(stream.id);
        }
        if wants.data || wants.control {
            self.outlet.list(stream, wants);
        }
        wants.data || wants.control
    }

    /// Sends what waits, without waiting itself.
    pub(in crate::trunk) fn send_now(&self) {
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
            let mut tls = self.socket.tls();
            if !press.batch.is_empty() {
                tls.seal(Seal::Bytes(&press.batch))?;
            }
            std::mem::swap(tls.sealed(), &mut press.sealed);
        }
        Ok(false)
    }

    /// Sends bytes of a stream that were not queued, as far as peer and socket take them; returns how many. What others have
    /// queued has its turn, too.
    pub(in crate::trunk) fn send_directly(
        &self,
        stream: &Stream,
        rest: &mut Rest<'_>,
    ) -> Result<usize, Fault> {
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
        let mut tls = self.socket.tls();
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
            let kind = FrameKind::Data;
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
    pub(in crate::trunk) fn wait_turn(&self, limit: Duration) -> bool {
        !self.outlet.blocked.load(Ordering::Acquire) || self.socket.wait_writable(limit)
    }

    /// Has what the socket has not taken yet sent in the background.
    pub(in crate::trunk) fn send_rest(&self) {
        if self.outlet.blocked.load(Ordering::Acquire) {
            self.outlet.wake();
        }
    }

    /// Gives the socket what is sealed; false if it does not take all of it.
    fn write(&self, press: &mut Press) -> Result<bool, Fault> {
        while press.sent < press.sealed.len() {
            let Some(count) = self.socket.write(&press.sealed[press.sent..])? else {
                self.outlet.blocked.store(true, Ordering::Release);
                return Ok(false);
            };
            press.sent += count;
            press.total += count as u64;
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
                        put(out, FrameKind::Bye, 0, reason_body(&reason));
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
    pub(in crate::trunk) fn send_within(&self, stream: &Arc<Stream>, limit: Duration) {
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
    pub(in crate::trunk) fn send_all(&self) -> (Result<bool, Fault>, u64) {
        let mut press = self.outlet.press();
        let done = self.send(&mut press, TURNS);
        (done, press.total)
    }

    /// What the trunk's own thread does.
    pub(in crate::trunk) fn send_on(&self) {
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
                self.socket.wait_writable(limit);
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
