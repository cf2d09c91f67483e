//! One connection to a peer, from its hello to its end, and what is known of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::config::TrunkLimits;
use super::hello::{Hello, clock};
use super::locks::{AtomicBool, Mutex, MutexGuard, Ordering};
use super::outlet::Outlet;
use super::sessions::Sessions;
use super::socket::Socket;
use super::stream::Stream;
use crate::{Fault, PartyId};

/// Why a connection is over that this party has ended.
pub(super) const CLOSED: &str = "this party has closed it";

/// One connection.
pub(super) struct Connection {
    pub(super) peer: PartyId,
    pub(super) limits: TrunkLimits,
    /// What the peer has said of itself.
    pub(super) hello: Hello,
    pub(super) socket: Socket,
    /// TLS itself has something to send.
    pub(super) answers: AtomicBool,
    pub(super) outlet: Outlet,
    streams: Mutex<Streams>,
    pub(super) sessions: Mutex<Sessions>,
    /// Why it is over.
    over: Mutex<Option<String>>,
    is_over: AtomicBool,
    /// Whether this party has told the peer that it ends the connection.
    said_goodbye: AtomicBool,
    /// In microseconds; 0 if it is not known.
    round_trip: AtomicU64,
    least_trip: AtomicU64,
    clock_ahead: AtomicI64,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

/// The streams, by the id that the peer sends to.
struct Streams {
    open: HashMap<u64, Arc<Stream>>,
    /// The first id that no stream has had.
    next: u64,
}

impl Connection {
    /// A connection over which both hellos have gone.
    pub(super) fn new(peer: PartyId, socket: Socket, hello: Hello, limits: TrunkLimits) -> Self {
        let ahead = i64::try_from(hello.clock)
            .unwrap_or(i64::MAX)
            .saturating_sub(i64::try_from(clock()).unwrap_or(i64::MAX));
        Self {
            peer,
            limits,
            hello,
            socket,
            answers: AtomicBool::new(false),
            outlet: Outlet::new(),
            streams: Mutex::new(Streams {
                open: HashMap::new(),
                next: 1,
            }),
            sessions: Mutex::default(),
            over: Mutex::default(),
            is_over: AtomicBool::new(false),
            said_goodbye: AtomicBool::new(false),
            round_trip: AtomicU64::new(0),
            least_trip: AtomicU64::new(u64::MAX),
            clock_ahead: AtomicI64::new(ahead),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of a heartbeat to the peer and back, the last time; zero at first.
    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_micros(self.round_trip.load(Ordering::Relaxed))
    }

    /// The shortest such time: how long the way is when nothing else is on it. Zero at first, too.
    pub(super) fn least_trip(&self) -> Duration {
        match self.least_trip.load(Ordering::Relaxed) {
            u64::MAX => Duration::ZERO,
            trip => Duration::from_micros(trip),
        }
    }

    /// Notes the time of a heartbeat, and how far the peer's clock is ahead, in microseconds.
    pub(super) fn heartbeat(&self, trip: u64, ahead: i64) {
        self.round_trip.store(trip, Ordering::Relaxed);
        self.least_trip.fetch_min(trip, Ordering::Relaxed);
        self.clock_ahead.store(ahead, Ordering::Relaxed);
    }

    /// How many microseconds the peer's clock is ahead.
    pub(super) fn clock_ahead(&self) -> i64 {
        self.clock_ahead.load(Ordering::Relaxed)
    }

    /// Bytes sent and received.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (
            self.sent.load(Ordering::Relaxed),
            self.received.load(Ordering::Relaxed),
        )
    }

    pub(super) fn channels(&self) -> usize {
        self.streams().open.len()
    }

    /// New streams, as many as `count`, with ids that follow each other; and the first id, which is theirs alone even if
    /// there are none.
    pub(super) fn new_streams(&self, count: usize, queue_bytes: usize) -> (u64, Vec<Arc<Stream>>) {
        let mut streams = self.streams();
        let first = streams.next;
        streams.next += count.max(1) as u64;
        let new = |id| Arc::new(Stream::new(id, queue_bytes, self.limits.window));
        let made: Vec<_> = (first..).take(count).map(new).collect();
        streams
            .open
            .extend(made.iter().map(|stream| (stream.id, stream.clone())));
        (first, made)
    }

    pub(super) fn all_streams(&self) -> Vec<Arc<Stream>> {
        self.streams().open.values().cloned().collect()
    }

    pub(super) fn forget(&self, id: u64) {
        let stream = self.streams().open.remove(&id);
        drop(stream);
    }

    /// The stream that the peer means. None if it is over already.
    pub(super) fn stream(&self, id: u64) -> Result<Option<Arc<Stream>>, Fault> {
        let streams = self.streams();
        if id == 0 || id >= streams.next {
            return Err(Fault::Violation(
                "a frame for a stream that does not exist".into(),
            ));
        }
        Ok(streams.open.get(&id).cloned())
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Notes why the connection is over, if it is not yet.
    fn note_end(&self, fault: Fault) -> bool {
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if over.is_some() {
            return false;
        }
        *over = Some(match fault {
            // Who was told goodbye ends it, too, and may be the first.
            Fault::Lost(_) if self.said_goodbye.load(Ordering::Acquire) => CLOSED.into(),
            Fault::Closed => CLOSED.into(),
            Fault::Lost(reason) => reason,
            Fault::Violation(what) => format!("it violated the rules of the connection: {what}"),
        });
        self.is_over.store(true, Ordering::Release);
        true
    }

    /// Ends the connection at once; the thread that reads it comes to know.
    pub(super) fn break_off(&self, fault: Fault) {
        if self.note_end(fault) {
            self.socket.cut();
            self.outlet.wake();
        }
    }

    /// Ends the connection once all is sent, at the latest at `end`.
    pub(super) fn close_by(&self, end: Instant) {
        self.outlet.close_by(end);
    }

    /// Whether nothing waits in a queue.
    fn is_drained(&self) -> bool {
        !self.outlet.has_queued() && self.all_streams().iter().all(|stream| stream.is_drained())
    }

    /// Says goodbye once all is `sent`, and closes the connection once the goodbye is sent, too. At `end` it does both.
    pub(super) fn close_if(&self, mut sent: bool, end: Instant) {
        let late = Instant::now() >= end;
        if !self.said_goodbye.load(Ordering::Acquire) {
            let done = sent && self.is_drained();
            if !done && !late {
                return;
            }
            self.said_goodbye.store(true, Ordering::Release);
            self.outlet.bye("it has shut down");
            sent = matches!(self.send_all(), (Ok(true), _));
        }
        if sent || late {
            self.break_off_softly(Fault::Closed);
        }
    }

    /// Ends the connection such that the peer gets what was sent last.
    fn break_off_softly(&self, fault: Fault) {
        if self.note_end(fault) {
            self.socket.end_softly();
            self.outlet.wake();
        }
    }

    /// Ends the connection because of `fault`, unless it is over already, and everything of it. Returns why it is over.
    pub(super) fn end(&self, fault: Fault) -> String {
        if let Fault::Violation(what) = &fault {
            self.outlet.bye(&format!("it received {what}"));
            let _ = self.send_all();
        }
        self.break_off_softly(fault);
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reason = over.unwrap_or_default();
        self.end_sessions(|| {
            let streams = std::mem::take(&mut self.streams().open);
            for stream in streams.into_values() {
                stream.lose(&reason);
            }
            self.outlet.clear();
        });
        // If others have ended it.
        self.socket.release();
        self.outlet.wake();
        reason
    }
}
