//! The sending half of a socket. Bytes go straight into the socket while it takes them, and otherwise through a bounded
//! queue that a background thread empties.

use std::io::{ErrorKind, IoSlice, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::budget::Share;
use crate::link::Rest;
use crate::queue::{Push, Queue};
use crate::{Closer, Fault};

/// How long a send waits for a full socket before it uses the queue, which costs a copy and a thread switch. Receivers
/// that keep up make room sooner.
const PATIENCE: Duration = Duration::from_millis(5);
/// How long it waits if such waits have been in vain.
const LEAST_PATIENCE: Duration = Duration::from_micros(100);
/// How often one push waits for the socket, as a peer may take a little each time.
const WAITS: u32 = 8;
/// The longest single wait of the background thread.
const TICK: Duration = Duration::from_secs(1);

/// Waits up to `limit` for the socket; says what it is ready for. Returns early on errors and signals.
pub(crate) fn wait_socket(socket: &TcpStream, events: PollFlags, limit: Duration) -> PollFlags {
    let limit = limit.min(Duration::from_secs(3600));
    let limit = Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()) as _,
    };
    let mut socket = [PollFd::new(socket, events)];
    match poll(&mut socket, Some(&limit)) {
        Ok(_) => socket[0].revents(),
        // An error shows when the socket is used.
        Err(_) => PollFlags::empty(),
    }
}

/// How long to wait for the socket of a peer: longer if that helped before.
pub(crate) struct Patience(Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(PATIENCE)
    }
}

impl Patience {
    /// Waits a moment for a full socket. If the peer has sent something meanwhile, both are sending and perhaps
    /// neither receives, so there is nothing to wait for.
    fn wait(&mut self, socket: &TcpStream) {
        let ready = wait_socket(socket, PollFlags::OUT | PollFlags::IN, self.0);
        self.0 = if ready.contains(PollFlags::OUT) {
            2 * self.0
        } else {
            self.0 / 4
        };
        self.0 = self.0.clamp(LEAST_PATIENCE, PATIENCE);
    }
}

/// What an error of a socket means.
pub(crate) fn lost(error: &std::io::Error) -> Fault {
    Fault::Lost(match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            "the connection was reset: has its process ended?".into()
        }
        _ => error.to_string(),
    })
}

/// A nonblocking socket and the bytes that wait for it.
pub(crate) struct Outbox {
    pub(crate) socket: TcpStream,
    closed: AtomicBool,
    /// This side uses the socket for last words only.
    interrupted: AtomicBool,
    /// The queue is not empty. Set by the channel's thread only, cleared by the background thread only.
    busy: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Queue,
    started: bool,
    ending: bool,
    fault: Option<Fault>,
}

impl Outbox {
    pub(crate) fn new(socket: TcpStream, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            socket,
            closed: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            state: Mutex::new(State {
                queue: Queue::new(limit),
                ..State::default()
            }),
            changed: Condvar::new(),
        })
    }

    /// Draws the memory of the queue on `share`.
    pub(crate) fn draw_on(&self, share: &Share) {
        self.lock().queue.draw_on(share);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if this side has closed the socket.
    pub(crate) fn check_closed(&self) -> Result<(), Fault> {
        if self.closed.load(Ordering::Acquire) {
            Err(Fault::Closed)
        } else {
            Ok(())
        }
    }

    /// Fails if this side has closed the socket, or uses it for last words only.
    pub(crate) fn check_interrupted(&self) -> Result<(), Fault> {
        if self.interrupted.load(Ordering::Acquire) {
            Err(Fault::Closed)
        } else {
            self.check_closed()
        }
    }

    /// Whether nothing is queued.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy.load(Ordering::Acquire)
    }

    /// Whether something can be pushed without waiting.
    pub(crate) fn has_room(&self, push: Push) -> bool {
        if !self.busy.load(Ordering::Acquire) {
            return true;
        }
        let state = self.lock();
        match push {
            Push::Normal => state.queue.has_room(),
            Push::Reserved | Push::Urgent => state.queue.has_reserve(),
        }
    }

    /// As [`crate::Link::push`].
    pub(crate) fn push(
        self: &Arc<Self>,
        slices: &mut [IoSlice<'_>],
        push: Push,
        patience: &mut Patience,
    ) -> Result<usize, Fault> {
        self.check_closed()?;
        let mut slices = slices;
        let mut pushed = 0;
        let mut patient = push != Push::Urgent;
        let mut waits = 0;
        while !self.busy.load(Ordering::Acquire) {
            IoSlice::advance_slices(&mut slices, 0);
            if slices.is_empty() {
                return Ok(pushed);
            }
            match (&self.socket).write_vectored(slices) {
                Ok(count) => {
                    pushed += count;
                    IoSlice::advance_slices(&mut slices, count);
                    patient |= count > 0 && push != Push::Urgent;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !patient || waits == WAITS {
                        break;
                    }
                    (patient, waits) = (false, waits + 1);
                    patience.wait(&self.socket);
                }
                Err(error) => {
                    self.check_closed()?;
                    return Err(lost(&error));
                }
            }
        }
        Ok(pushed + self.enqueue(slices, push)?)
    }

    fn enqueue(self: &Arc<Self>, slices: &[IoSlice<'_>], push: Push) -> Result<usize, Fault> {
        let mut pushed = 0;
        let mut rest = Rest::new(slices);
        while !rest.is_empty() {
            let (mut piece, length) = {
                let mut state = self.lock();
                if let Some(fault) = &state.fault {
                    self.check_closed()?;
                    return Err(fault.clone());
                }
                match state.queue.begin(push) {
                    Some(begun) => begun,
                    None => break,
                }
            };
            let before = piece.len();
            rest.fill(&mut piece, length);
            pushed += piece.len() - before;
            let mut state = self.lock();
            state.queue.push(piece);
            self.busy.store(true, Ordering::Release);
            if !state.started {
                state.started = true;
                let outbox = self.clone();
                let spawned = std::thread::Builder::new()
                    .name("cenote-send".into())
                    .spawn(move || outbox.drain());
                if let Err(error) = spawned {
                    return Err(Fault::Lost(format!("no thread to send with: {error}")));
                }
            }
            drop(state);
            self.changed.notify_all();
        }
        Ok(pushed)
    }

    /// The background thread.
    fn drain(&self) {
        loop {
            let mut state = self.lock();
            let piece = loop {
                if let Some(piece) = state.queue.pop() {
                    break piece;
                }
                self.busy.store(false, Ordering::Release);
                self.changed.notify_all();
                if state.ending || self.closed.load(Ordering::Acquire) {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let outcome = self.write_piece(&piece);
            let mut state = self.lock();
            state.queue.recycle(piece);
            if let Err(fault) = outcome {
                state.fault = Some(fault);
                state.queue.clear();
                self.changed.notify_all();
                // Stays busy, so that the next push meets the fault.
                return;
            }
            self.changed.notify_all();
        }
    }

    fn write_piece(&self, mut piece: &[u8]) -> Result<(), Fault> {
        while !piece.is_empty() {
            self.check_closed()?;
            match (&self.socket).write(piece) {
                Ok(count) => piece = &piece[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait_socket(&self.socket, PollFlags::OUT, TICK);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        Ok(())
    }

    /// As [`crate::Link::wait_room`].
    pub(crate) fn wait_room(&self, limit: Duration) {
        let state = self.lock();
        drop(self.changed.wait_timeout_while(state, limit, |state| {
            !state.queue.has_room() && state.fault.is_none() && self.check_interrupted().is_ok()
        }));
    }

    /// Waits up to `limit` until the socket has taken all that is queued, then ends the stream. [`dismiss`] does what
    /// takes longer.
    pub(crate) fn finish(&self, limit: Duration) {
        if self.drained(limit) {
            let _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    /// Waits up to `limit` until nothing is queued. Says whether nothing is, or nothing of it can be sent any more.
    fn drained(&self, limit: Duration) -> bool {
        let queued = |state: &mut State| {
            !state.queue.is_done() && state.fault.is_none() && !self.closed.load(Ordering::Acquire)
        };
        let waited = self.changed.wait_timeout_while(self.lock(), limit, queued);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !queued(&mut state)
    }

    /// Ends the background thread; what is still queued is lost.
    fn end(&self) {
        let mut state = self.lock();
        state.ending = true;
        state.queue.clear();
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn interrupter(self: &Arc<Self>) -> Closer {
        let outbox = Arc::downgrade(self);
        Closer::new(move || {
            if let Some(outbox) = outbox.upgrade() {
                outbox.interrupted.store(true, Ordering::Release);
                drop(outbox.lock());
                outbox.changed.notify_all();
            }
        })
    }

    pub(crate) fn closer(self: &Arc<Self>) -> Closer {
        let outbox = Arc::downgrade(self);
        Closer::new(move || {
            if let Some(outbox) = outbox.upgrade() {
                outbox.closed.store(true, Ordering::Release);
                let _ = outbox.socket.shutdown(Shutdown::Both);
                // Taking the lock orders this after a waiter's look at the flag.
                drop(outbox.lock());
                outbox.changed.notify_all();
            }
        })
    }
}

/// The longest a dropped socket waits for the peer: to take what is queued, and to end its stream.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);
/// How often a farewell that has bytes to deliver discards those that have come.
const FAREWELL_LOOK: Duration = Duration::from_millis(20);

/// How many sockets are being closed in the background.
static FAREWELLS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// One of them, while it lasts.
pub(crate) struct Farewell;

impl Farewell {
    pub(crate) fn begin() -> Self {
        *FAREWELLS.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        *FAREWELLS.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FAREWELLS.1.notify_all();
    }
}

/// Waits up to `limit` until the dropped channels of this process have delivered their last words; the end of the process
/// would cut these off. Channels deliver at the same time, each within two seconds.
pub fn wait_for_farewells(limit: Duration) {
    let count = FAREWELLS.0.lock().unwrap_or_else(PoisonError::into_inner);
    drop(FAREWELLS.1.wait_timeout_while(count, limit, |count| *count > 0));
}

/// Closes the socket once it has taken what is queued, and the peer has ended its stream too: closing it with received
/// bytes unread would make the operating system reset the connection, and the peer could lose the last bytes sent to it.
/// Does not wait; what takes longer is done in the background.
pub(crate) fn dismiss(outbox: Arc<Outbox>) {
    if outbox.drained(Duration::ZERO) {
        outbox.finish(Duration::ZERO);
        if discard_received(&outbox) {
            outbox.end();
            let _ = outbox.socket.shutdown(Shutdown::Both);
            return;
        }
    }
    let farewell = Farewell::begin();
    let thread = outbox.clone();
    let spawned = std::thread::Builder::new()
        .name("cenote-farewell".into())
        .spawn(move || {
            thread.take_leave();
            drop(farewell);
        });
    if spawned.is_err() {
        // Without the thread the socket is closed at once.
        outbox.end();
    }
}

impl Outbox {
    fn take_leave(&self) {
        let until = Instant::now() + FAREWELL;
        let left = || until.checked_duration_since(Instant::now());
        // The peer may send without receiving: what it sends is taken, so that it comes to receive.
        while !self.drained(FAREWELL_LOOK) && left().is_some() {
            discard_received(self);
        }
        self.end();
        let _ = self.socket.shutdown(Shutdown::Write);
        while !discard_received(self)
            && let Some(left) = left()
        {
            wait_socket(&self.socket, PollFlags::IN, left);
        }
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Reads and drops what has come; true when nothing more will.
fn discard_received(outbox: &Outbox) -> bool {
    let mut sink = [0; 8 << 10];
    for _ in 0..64 {
        match std::io::Read::read(&mut &outbox.socket, &mut sink) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
    false
}
