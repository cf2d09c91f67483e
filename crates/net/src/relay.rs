//! A way into a network of which peers reach one machine only: a [`Relay`] there joins each connection from outside to one that a machine inside holds ready
//! ([`Relayed`]).
//!
//! Both ends prove their keys to each other and encrypt what they say, as without a relay, which sees none of it. Who misuses one comes no further than to a TLS
//! handshake.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::crowd::Crowd;
use crate::deadline::Deadline;
use crate::dial::reach;
use crate::identity::provider;
use crate::{Error, Fingerprint, Result};

/// Begins every connection to a relay.
const MAGIC: [u8; 8] = *b"cenote-r";
const FROM_INSIDE: u8 = 1;
const FROM_OUTSIDE: u8 = 2;
const PREAMBLE_BYTES: usize = MAGIC.len() + 1 + 32;

/// What a relay says to a machine inside whose connection is joined to one from outside.
const GO: [u8; 1] = [1];

/// How long a connection may take to say what it is for.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// How long a connection from outside waits for one from inside.
const WAIT: Duration = Duration::from_secs(10);

/// Most connections from outside that wait for one place. A peer that is turned away tries again.
const MOST_WAITING: usize = 128;

/// Most connections that are held ready for one place.
const MOST_READY: usize = 64;

/// Most connections that are joined for one place, all together.
const MOST_OF_PLACE: usize = 512;

/// Most connections at a time that are joined.
const MOST_JOINED: usize = 4096;

/// How long what one end has yet to say may take once the other has said all.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How many connections a machine inside holds ready.
const READY: usize = 2;

/// How long it waits before it tries again to reach the relay.
const AGAIN: Duration = Duration::from_millis(200);

/// Bytes that are passed on at a time.
const PIECE: usize = 64 << 10;

/// What a machine inside shows to a relay: nobody else knows it.
pub type Ticket = [u8; 32];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn preamble(from: u8, of: &[u8; 32]) -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8] = from;
    bytes[9..].copy_from_slice(of);
    bytes
}

/// What is said of a place: no more than its fingerprint, and no bytes that anybody chooses.
fn name_of(fingerprint: Fingerprint) -> [u8; 32] {
    let hash = Sha256::new_with_prefix("cenote place behind a relay");
    hash.chain_update(fingerprint.to_bytes()).finalize().into()
}

/// Says to the relay at the other end of `stream` for whom this connection from outside is.
pub(crate) fn ask_for(
    stream: &mut TcpStream,
    fingerprint: Fingerprint,
    deadline: Deadline,
) -> io::Result<()> {
    stream.set_write_timeout(deadline.remaining())?;
    stream.write_all(&preamble(FROM_OUTSIDE, &name_of(fingerprint)))?;
    stream.set_write_timeout(None)
}

/// A machine that is inside, as the relay knows it.
struct Place {
    ticket: Ticket,
    ready: Vec<TcpStream>,
    /// Connections from outside that wait, and those that were joined so far.
    waiting: usize,
    joined: usize,
}

#[derive(Default)]
struct State {
    places: Mutex<BTreeMap<[u8; 32], Place>>,
    /// A connection from inside has come, or a place has gone.
    changed: Condvar,
    /// Connections that have not said what they are for.
    crowd: Mutex<Crowd>,
    joined: AtomicUsize,
    /// How many were joined in all.
    served: AtomicUsize,
    is_over: AtomicBool,
}

/// Takes part in a count until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// Unless there are as many as may be.
    fn below(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let counted = Counted(count);
        (count.fetch_add(1, Ordering::AcqRel) < most).then_some(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Joins connections from outside to those that machines inside hold ready, until it is dropped. Connections that are joined then go on.
pub struct Relay {
    state: Arc<State>,
    address: SocketAddr,
}

impl Relay {
    /// Relays what comes to `listener`.
    ///
    /// # Errors
    /// [`Error::Local`] if there is no thread for it.
    pub fn start(listener: TcpListener) -> Result<Self> {
        let failed = |error: io::Error| Error::Local {
            what: "starting a relay".into(),
            reason: error.to_string(),
        };
        let address = listener.local_addr().map_err(failed)?;
        let state = Arc::<State>::default();
        let own = Arc::clone(&state);
        thread::Builder::new()
            .name("cenote-relay".into())
            .spawn(move || own.accept(&listener))
            .map_err(failed)?;
        Ok(Relay { state, address })
    }

    /// The port that it listens at.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections it has joined so far.
    pub fn served(&self) -> usize {
        self.state.served.load(Ordering::Relaxed)
    }

    /// From here on the machine inside that shows this ticket has the connections for who has the key of `fingerprint`.
    ///
    /// # Errors
    /// [`Error::Local`] if the system has no randomness.
    pub fn expect(&self, fingerprint: Fingerprint) -> Result<Ticket> {
        let mut ticket = [0; 32];
        let random = provider().secure_random.fill(&mut ticket);
        random.map_err(|_| Error::Local {
            what: "making a ticket of a relay".into(),
            reason: "the system gives no random bytes".into(),
        })?;
        let place = Place {
            ticket,
            ready: Vec::new(),
            waiting: 0,
            joined: 0,
        };
        lock(&self.state.places).insert(name_of(fingerprint), place);
        Ok(ticket)
    }

    /// Nobody is expected for `fingerprint` any more.
    pub fn forget(&self, fingerprint: Fingerprint) {
        lock(&self.state.places).remove(&name_of(fingerprint));
        self.state.changed.notify_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Release);
        lock(&self.state.places).clear();
        lock(&self.state.crowd).end();
        self.state.changed.notify_all();
        // It waits for a connection.
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
    }
}

impl State {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for (number, stream) in (0..).zip(listener.incoming()) {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else {
                // Such as too many open files, for a while.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if lock(&self.crowd).enter(number, &stream).is_err() {
                continue;
            }
            let own = Arc::clone(self);
            let serve = move || {
                // Who goes away while it waits is nobody's trouble.
                let _ = own.serve(number, stream);
            };
            if let Err(error) = thread::Builder::new().name("cenote-relay".into()).spawn(serve) {
                lock(&self.crowd).leave(number);
                tracing::warn!(%error, "no thread for a connection of the relay");
            }
        }
    }

    fn serve(&self, number: u64, mut stream: TcpStream) -> io::Result<()> {
        let mut said = [0; PREAMBLE_BYTES];
        let read = read_within(&mut stream, &mut said, INTRODUCTION);
        lock(&self.crowd).leave(number);
        read?;
        let (head, of) = said.split_at(PREAMBLE_BYTES - 32);
        let of: [u8; 32] = of.try_into().unwrap_or_default();
        match head {
            [magic @ .., FROM_INSIDE] if magic == MAGIC => self.hold(stream, &of),
            [magic @ .., FROM_OUTSIDE] if magic == MAGIC => {
                let Some(inside) = self.inside(&of) else {
                    return Ok(());
                };
                let Some(_joined) = Counted::below(&self.joined, MOST_JOINED) else {
                    return Ok(());
                };
                self.served.fetch_add(1, Ordering::Relaxed);
                pass_on(stream, inside)?;
            }
            _ => tracing::debug!("a connection to the relay is of another protocol"),
        }
        Ok(())
    }

    /// Keeps a connection from inside ready.
    fn hold(&self, stream: TcpStream, ticket: &Ticket) {
        let mut places = lock(&self.places);
        let place = places
            .values_mut()
            .find(|place| place.ticket.ct_eq(ticket).into());
        if let Some(place) = place.filter(|place| place.ready.len() < MOST_READY) {
            place.ready.push(stream);
            self.changed.notify_all();
        }
    }

    /// A connection from inside for who has this fingerprint, which knows that it is taken.
    fn inside(&self, of: &[u8; 32]) -> Option<TcpStream> {
        let until = Instant::now() + WAIT;
        loop {
            let mut stream = self.ready_by(of, until)?;
            // It may be gone by now.
            if stream.set_nodelay(true).is_ok() && stream.write_all(&GO).is_ok() {
                return Some(stream);
            }
        }
    }

    /// A connection that is held ready by then.
    fn ready_by(&self, of: &[u8; 32], until: Instant) -> Option<TcpStream> {
        let mut places = lock(&self.places);
        let place = places.get_mut(of)?;
        if place.waiting >= MOST_WAITING || place.joined >= MOST_OF_PLACE {
            return None;
        }
        place.waiting += 1;
        let found = loop {
            match places.get_mut(of)?.ready.pop() {
                Some(stream) => break Some(stream),
                None => match until.checked_duration_since(Instant::now()) {
                    None => break None,
                    Some(left) => {
                        let waited = self.changed.wait_timeout(places, left);
                        places = waited.unwrap_or_else(PoisonError::into_inner).0;
                    }
                },
            }
        };
        let place = places.get_mut(of)?;
        place.waiting = place.waiting.saturating_sub(1);
        place.joined += usize::from(found.is_some());
        found
    }
}

/// Reads all of `bytes`, within `limit`.
fn read_within(stream: &mut TcpStream, bytes: &mut [u8], limit: Duration) -> io::Result<()> {
    let deadline = Deadline::new(limit);
    let mut read = 0;
    while read < bytes.len() {
        let left = deadline.remaining().ok_or(io::ErrorKind::TimedOut)?;
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes[read..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    stream.set_read_timeout(None)
}

/// Passes on what comes from either, until both have ended, or one and a while has passed.
fn pass_on(one: TcpStream, other: TcpStream) -> io::Result<()> {
    one.set_nodelay(true)?;
    for stream in [&one, &other] {
        // Whose machine is gone is not waited for for ever.
        rustix::net::sockopt::set_socket_keepalive(stream, true)?;
        stream.set_read_timeout(Some(LAST_WORDS))?;
    }
    let (from, to) = (one.try_clone()?, other.try_clone()?);
    let has_ended = Arc::<AtomicBool>::default();
    let ended = Arc::clone(&has_ended);
    let back = thread::Builder::new()
        .name("cenote-relay".into())
        .spawn(move || copy(from, to, &ended))?;
    copy(other, one, &has_ended);
    // It ends as this one did.
    let _ = back.join();
    Ok(())
}

/// Passes on what comes from one to the other until it ends, and ends that. If the other way has ended, silence ends this one.
fn copy(mut from: TcpStream, mut to: TcpStream, has_ended: &AtomicBool) {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) if to.write_all(&piece[..read]).is_ok() => {}
            Err(error) if is_silence(&error) && !has_ended.load(Ordering::Acquire) => {}
            _ => {
                let _ = from.shutdown(Shutdown::Both);
                break;
            }
        }
    }
    has_ended.store(true, Ordering::Release);
    let _ = to.shutdown(Shutdown::Write);
}

fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// A machine inside that is reached through a relay, until it is dropped. Connections that were joined go on.
pub struct Relayed {
    shared: Arc<Inside>,
}

struct Inside {
    relay: String,
    ticket: Ticket,
    /// Where the connections go.
    to: SocketAddr,
    is_over: AtomicBool,
    /// Those that are held ready.
    ready: Mutex<BTreeMap<usize, TcpStream>>,
}

impl Relayed {
    /// Holds connections ready at the relay at `relay` (`host:port`), which go to the listener at `to` on this machine.
    ///
    /// # Errors
    /// [`Error::Local`] if there are no threads for it.
    pub fn start(relay: String, ticket: Ticket, to: SocketAddr) -> Result<Self> {
        let shared = Arc::new(Inside {
            relay,
            ticket,
            to,
            is_over: AtomicBool::new(false),
            ready: Mutex::default(),
        });
        let relayed = Relayed {
            shared: Arc::clone(&shared),
        };
        for number in 0..READY {
            let own = Arc::clone(&shared);
            thread::Builder::new()
                .name("cenote-relayed".into())
                .spawn(move || own.hold_ready(number))
                .map_err(|error| Error::Local {
                    what: "being reached through a relay".into(),
                    reason: error.to_string(),
                })?;
        }
        Ok(relayed)
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        for stream in lock(&self.shared.ready).values() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Inside {
    /// Holds one connection ready at a time.
    fn hold_ready(self: &Arc<Self>, number: usize) {
        while !self.is_over.load(Ordering::Acquire) {
            match self.taken(number) {
                Ok(stream) => {
                    let to = self.to;
                    let joined = move || TcpStream::connect(to).and_then(|inner| pass_on(inner, stream));
                    // Without a thread the peer tries again.
                    let _ = thread::Builder::new().name("cenote-relayed".into()).spawn(joined);
                }
                Err(error) => {
                    tracing::debug!(%error, relay = self.relay, "not held ready");
                    thread::sleep(AGAIN);
                }
            }
        }
    }

    /// A connection through the relay, once the relay has joined it to one from outside.
    fn taken(&self, number: usize) -> io::Result<TcpStream> {
        let deadline = Deadline::new(INTRODUCTION);
        let mut stream = reach(&self.relay, deadline).map_err(io::Error::other)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        stream.write_all(&preamble(FROM_INSIDE, &self.ticket))?;
        lock(&self.ready).insert(number, stream.try_clone()?);
        // Whoever ends this has seen the connection, or is seen here.
        let mut said = [0];
        let read = match self.is_over.load(Ordering::Acquire) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => stream.read_exact(&mut said),
        };
        lock(&self.ready).remove(&number);
        read.map(|()| stream)
    }
}
