//! The threads that keep connections up: one dials each peer with a lower number, one accepts those with higher ones.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::{CLOSED, Connection};
use super::hello::{Hello, HelloFault};
use super::peer::Slot;
use super::shared::Shared;
use super::socket::Socket;
use crate::accept::Refusal;
use crate::deadline::Deadline;
use crate::dial::{Attempt, reach};
use crate::identity::provider;
use crate::tls::{HandshakeFault, REFUSED};
use crate::{Error, Fault, PartyId, Result, TlsLink};

/// What the queue of a connection's socket holds before the hello has gone.
const QUEUE: usize = 64 << 10;
/// The longest wait for a connection before the acceptor looks whether it is to stop. It is woken for that, too.
const LOOK: Duration = Duration::from_secs(1);
/// The pause after a connection could not be accepted.
const TICK: Duration = Duration::from_millis(20);

/// Between a half of `pause` and all of it, so that parties that lost each other at once do not try at once for ever.
fn jitter(pause: Duration) -> Duration {
    let mut random = [0; 4];
    // Without randomness the pause is the shortest.
    let _ = provider().secure_random.fill(&mut random);
    let part = f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + part / 2.0)
}

/// Keeps a connection to a peer that this party dials.
pub(super) fn keep_dialling(shared: &Arc<Shared>, slot: &Slot) {
    let limits = &shared.limits;
    let mut pause = limits.first_pause;
    while !slot.stopped() {
        match dial(shared, slot.peer) {
            Ok(trunk) => {
                let begun = Instant::now();
                let (reason, stays) = shared.attend(slot, trunk, Deadline::new(limits.handshake));
                if !stays {
                    slot.down(&*shared.heard, reason, None);
                    return;
                }
                // One that breaks at once each time is not dialled at once each time.
                if begun.elapsed() > pause {
                    pause = limits.first_pause;
                }
                let again = jitter(pause);
                slot.over(&*shared.heard, reason, (!slot.stopped()).then_some(again));
                slot.pause(again);
            }
            Err((Attempt::Fatal(error), version)) => {
                slot.refuse(&*shared.heard, &error, version);
                slot.pause(jitter(limits.refused_pause));
            }
            Err((Attempt::Again(reason), _)) => {
                let again = jitter(pause);
                slot.down(&*shared.heard, reason, Some(again));
                slot.pause(again);
            }
        }
        pause = pause.saturating_mul(2).min(limits.longest_pause);
    }
}

/// Makes a connection to `peer`, or says why not, and which version the peer has.
fn dial(shared: &Shared, peer: PartyId) -> std::result::Result<Arc<Connection>, (Attempt, Option<String>)> {
    let again = |reason: String| (Attempt::Again(reason), None);
    let party = &shared.parties[peer.index()];
    let deadline = Deadline::new(shared.limits.handshake);
    let Some(fingerprint) = party.fingerprint else {
        return Err(again("its key is not known".into()));
    };
    let stream = reach(&party.address, deadline).map_err(again)?;
    let link = TlsLink::dial(stream, QUEUE, &shared.identity, (peer, fingerprint), deadline);
    let mut link = link.map_err(|fault| match Attempt::of(fault, peer, fingerprint) {
        // Whoever answers may be another for a while.
        Attempt::Fatal(Error::PeerLost { reason, .. }) if reason != REFUSED => again(reason),
        attempt => (attempt, None),
    })?;
    let ours = shared.hello(peer);
    let theirs = ours.exchange(&mut link, deadline).map_err(|fault| match fault {
        HelloFault::Timeout => again("no answer to the hello".into()),
        HelloFault::Fault(Fault::Lost(reason)) if reason == REFUSED => (Attempt::refused(peer), None),
        HelloFault::Fault(Fault::Lost(reason)) => again(reason),
        HelloFault::Fault(Fault::Violation(what)) => again(format!("it sent {what}")),
        HelloFault::Fault(Fault::Closed) => again(CLOSED.into()),
    })?;
    if let Err(error) = ours.compare(peer, &theirs) {
        return Err((Attempt::Fatal(error), Some(theirs.version)));
    }
    let trunk = Socket::new(link).map(|socket| Connection::new(peer, socket, theirs, shared.limits.clone()));
    trunk.map(Arc::new).map_err(|fault| match fault {
        Fault::Lost(reason) => again(reason),
        other => again(format!("{other:?}")),
    })
}

/// Accepts the connections of peers with higher numbers.
pub(super) fn keep_listening(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut number = 0;
    let look = Timespec {
        tv_sec: LOOK.as_secs() as i64,
        tv_nsec: 0,
    };
    while !shared.stopping() {
        match listener.accept() {
            Ok((stream, from)) => {
                number += 1;
                receive(shared, stream, number, from.to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&look));
            }
            Err(error) => {
                // A connection that broke before it was accepted, or no file handles for now.
                let line = format!("a connection could not be accepted: {error}");
                shared.notices.notice("accept", line);
                std::thread::sleep(TICK);
            }
        }
    }
}

/// Starts a thread that finds out which party a connection belongs to, and then reads it.
fn receive(shared: &Arc<Shared>, stream: TcpStream, number: u64, from: String) {
    if let Err(error) = shared.crowd().enter(number, &stream) {
        return Refusal::no_handle(&error).tell(&shared.notices, &from);
    }
    let (thread, origin) = (shared.clone(), from.clone());
    let spawned = shared.spawn("cenote-trunk", move || {
        let outcome = identify(&thread, stream, number);
        thread.crowd().leave(number);
        match outcome {
            Ok((trunk, slot)) => accepted(&thread, &thread.slots[slot], trunk),
            Err(refusal) => refusal.tell(&thread.notices, &origin),
        }
    });
    if let Err(error) = spawned {
        shared.crowd().leave(number);
        Refusal::no_thread(&error).tell(&shared.notices, &from);
    }
}

fn accepted(shared: &Arc<Shared>, slot: &Slot, trunk: Arc<Connection>) {
    let (reason, stays) = shared.attend(slot, trunk, Deadline::new(shared.limits.handshake));
    if stays {
        slot.over(&*shared.heard, reason, None);
    }
}

/// Finds out whose connection this is; says for which slot.
fn identify(
    shared: &Shared,
    stream: TcpStream,
    number: u64,
) -> std::result::Result<(Arc<Connection>, usize), Refusal> {
    let deadline = Deadline::new(shared.limits.handshake);
    let others = (shared.parties.iter().enumerate()).skip(shared.me.index() + 1);
    let pins = others.filter_map(|(index, party)| Some((PartyId(index as u8), party.fingerprint?)));
    let accepted = TlsLink::accept(stream, QUEUE, &shared.identity, pins.collect(), deadline);
    let (mut link, peer) = accepted.map_err(|fault| {
        if let HandshakeFault::Identity(got) = fault {
            let callers = shared.slots.iter().filter(|slot| slot.peer > shared.me);
            callers.for_each(|slot| slot.unknown_key(got));
        }
        Refusal::from(fault)
    })?;
    let ours = shared.hello(peer);
    let theirs = ours.exchange(&mut link, deadline).map_err(|fault| match fault {
        HelloFault::Timeout => Refusal::new("slow", "it did not say in time what it is"),
        HelloFault::Fault(Fault::Lost(_) | Fault::Closed) => {
            Refusal::new("cut", "it went away before it had said what it is")
        }
        HelloFault::Fault(Fault::Violation(what)) => Refusal::new("protocol", format!("it sent {what}")),
    })?;
    let place = (shared.slots.iter()).position(|slot| slot.peer == peer);
    let Some(place) = place else {
        return Err(Refusal::new("other", format!("{peer} is no peer")));
    };
    if let Err(error) = ours.compare(peer, &theirs) {
        shared.slots[place].refuse(&*shared.heard, &error, Some(theirs.version));
        return Err(Refusal::new("differs", error.to_string()));
    }
    // Who has said all this is no stranger any more, whom others could push out.
    if !shared.crowd().leave(number) {
        return Err(Refusal::pushed_out());
    }
    let trunk = Socket::new(link).map(|socket| Connection::new(peer, socket, theirs, shared.limits.clone()));
    match trunk {
        Ok(trunk) => Ok((Arc::new(trunk), place)),
        Err(_) => Err(Refusal::new("cut", "it does not take what it is sent")),
    }
}

impl Shared {
    fn hello(&self, peer: PartyId) -> Hello {
        let parties = self.parties.len() as u8;
        Hello::new(parties, (self.me, peer), &self.limits, &self.version)
    }

    /// Reads a connection until it is over. Says why, and whether it has been up.
    fn attend(&self, slot: &Slot, trunk: Arc<Connection>, deadline: Deadline) -> (String, bool) {
        if !slot.up(&*self.heard, &trunk, deadline) {
            let reason = "another connection is in its place";
            trunk.break_off(Fault::Lost(reason.into()));
            return (reason.into(), false);
        }
        let writer = trunk.clone();
        let spawned = std::thread::Builder::new()
            .name("cenote-trunk-send".into())
            .spawn(move || writer.send_on());
        if let Err(error) = &spawned {
            trunk.break_off(Fault::Lost(format!("no thread for it ({error})")));
        }
        let reason = trunk.read_on(&*self.heard);
        let _ = spawned.map(std::thread::JoinHandle::join);
        (reason, true)
    }
}

/// A listening socket at this address that does not block.
pub(super) fn listen(listen: crate::Listen) -> Result<TcpListener> {
    let failed = |what: String| {
        move |error: std::io::Error| Error::Local {
            what,
            reason: error.to_string(),
        }
    };
    let listener = match listen {
        crate::Listen::Bound(listener) => listener,
        crate::Listen::Address(address) => {
            TcpListener::bind(address).map_err(failed(format!("listening at {address}")))?
        }
    };
    listener
        .set_nonblocking(true)
        .map_err(failed("listening".into()))?;
    Ok(listener)
}
