//! The accepting side of all connections of a party.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::absent::Absent;
use crate::crowd::Crowd;
use crate::deadline::Deadline;
use crate::dial::handshake_options;
use crate::hello::{HELLO_BYTES, Hello, Status};
use crate::notices::Notices;
use crate::step::{CONNECT, HELLO};
use crate::tls::HandshakeFault;
use crate::{
    Channel, Error, Fault, Fingerprint, Framed, Label, Link, Listen, MeshConfig, PartyId, Result, TcpChannel,
    TlsLink, Transport,
};

/// How long a new connection may take to prove which party it belongs to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the acceptor checks whether connecting has been given up.
const TICK: Duration = Duration::from_millis(20);

/// Stands for the peer of a connection until that peer is known.
const STRANGER: PartyId = PartyId(u8::MAX);

/// The connections that peers have yet to make, and those that they have made.
pub(crate) struct Reception<'a> {
    config: &'a MeshConfig,
    labels: &'a [Label],
    deadline: Deadline,
    absent: &'a Absent,
    pub(crate) notices: Notices,
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` while the welcome is being sent.
    arrived: BTreeMap<(PartyId, Label), Option<Box<dyn Channel>>>,
    crowd: Crowd,
    /// Why the last hello in a peer's name was refused.
    refused: BTreeMap<PartyId, Error>,
    /// The peers among these that have proved their key.
    differing: BTreeSet<PartyId>,
    /// Peers that have refused this party; dialling them has ended.
    refusing: BTreeSet<PartyId>,
    /// The last key that a stranger showed.
    unknown_key: Option<Fingerprint>,
}

impl<'a> Reception<'a> {
    pub(crate) fn new(
        config: &'a MeshConfig,
        labels: &'a [Label],
        deadline: Deadline,
        absent: &'a Absent,
    ) -> Self {
        Self {
            config,
            labels,
            deadline,
            absent,
            notices: Notices::new(),
            stopped: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up connecting.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) || self.config.options.patience.is_over()
    }

    /// Gives up connecting to `peer`, which has refused this party.
    pub(crate) fn stop_for(&self, peer: PartyId) {
        self.lock().refusing.insert(peer);
    }

    pub(crate) fn stopped_for(&self, peer: PartyId) -> bool {
        self.stopped() || self.lock().refusing.contains(&peer)
    }

    /// Whether there is nobody left to wait for: some peer surely differs, and all others have connected.
    fn all_heard(&self) -> bool {
        let state = self.lock();
        let heard = |key: &(PartyId, Label)| {
            state.differing.contains(&key.0) || matches!(state.arrived.get(key), Some(Some(_)))
        };
        !state.differing.is_empty() && self.expected().all(|key| heard(&key))
    }

    fn expected(&self) -> impl Iterator<Item = (PartyId, Label)> {
        let peers = (self.config.me.0 + 1..self.config.parties.len() as u8).map(PartyId);
        peers.flat_map(|peer| self.labels.iter().map(move |label| (peer, label.clone())))
    }

    /// Accepts connections until all expected ones are there.
    pub(crate) fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<BTreeMap<(PartyId, Label), Box<dyn Channel>>> {
        let wanted = self.expected().count();
        let outcome = if wanted == 0 {
            Ok(())
        } else {
            self.accept_all(scope, wanted)
        };
        // Where all were heard but some differ, those that are dialled have yet to hear of this party.
        if outcome.is_err() && !self.all_heard() {
            self.stop();
        }
        // Ends the waits of the threads that are left with strangers.
        let mut state = self.lock();
        state.crowd.end();
        outcome?;
        let arrived = std::mem::take(&mut state.arrived);
        Ok(arrived
            .into_iter()
            .filter_map(|(key, channel)| Some((key, channel?)))
            .collect())
    }

    fn accept_all<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, wanted: usize) -> Result<()> {
        let failed = |what: String| {
            move |error: std::io::Error| Error::Local {
                what: what.clone(),
                reason: error.to_string(),
            }
        };
        let bound;
        let listener = match &self.config.listen {
            Listen::Bound(listener) => listener,
            Listen::Address(address) => {
                bound = TcpListener::bind(address).map_err(failed(format!("listening at {address}")))?;
                &bound
            }
        };
        listener
            .set_nonblocking(true)
            .map_err(failed("listening".into()))?;
        let mut number = 0;
        loop {
            if self.lock().arrived.values().flatten().count() == wanted {
                return Ok(());
            }
            if self.stopped() {
                return Err(Error::Closed { peer: self.config.me });
            }
            if self.all_heard() {
                return Err(self.missing());
            }
            let Some(left) = self.deadline.remaining() else {
                return Err(self.missing());
            };
            match listener.accept() {
                Ok((stream, from)) => {
                    number += 1;
                    self.receive(scope, stream, number, &from.to_string(), left);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let tick = Timespec {
                        tv_sec: 0,
                        tv_nsec: left.min(TICK).subsec_nanos() as _,
                    };
                    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&tick));
                }
                Err(error) => {
                    // A connection that broke before it was accepted, or no file handles for now.
                    let line = format!("a connection could not be accepted: {error}");
                    self.notices.notice("accept", line);
                    std::thread::sleep(TICK);
                }
            }
        }
    }

    /// Why the first peer that has not connected is missing.
    fn missing(&self) -> Error {
        let state = self.lock();
        let Some((peer, _)) = self
            .expected()
            .find(|key| !matches!(state.arrived.get(key), Some(Some(_))))
        else {
            return Error::Closed { peer: self.config.me };
        };
        let pinned = self.config.parties[peer.index()].fingerprint;
        match (state.refused.get(&peer), state.unknown_key, pinned) {
            (Some(error), _, _) => error.clone(),
            (None, Some(got), Some(pinned)) => Error::Identity {
                peer,
                expected: pinned.to_string(),
                got: got.to_string(),
            },
            _ => Error::Timeout {
                peer,
                step: CONNECT,
                waited: self.deadline.waited(),
            },
        }
    }

    /// Starts a thread that finds out which party a connection belongs to.
    fn receive<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        stream: TcpStream,
        number: u64,
        from: &str,
        left: Duration,
    ) {
        if let Err(error) = self.lock().crowd.enter(number, &stream) {
            return self.refused(from, Refusal::no_handle(&error));
        }
        let origin = from.to_owned();
        let spawned = std::thread::Builder::new()
            .name("cenote-accept".into())
            .spawn_scoped(scope, move || {
                let outcome = self.identify(stream, left.min(PATIENCE), number);
                self.lock().crowd.leave(number);
                if let Err(refusal) = outcome {
                    self.refused(&origin, refusal);
                }
            });
        if let Err(error) = spawned {
            self.lock().crowd.leave(number);
            self.refused(from, Refusal::no_thread(&error));
        }
    }

    fn refused(&self, from: &str, refusal: Refusal) {
        refusal.tell(&self.notices, from);
    }

    fn identify(&self, stream: TcpStream, limit: Duration, number: u64) -> std::result::Result<(), Refusal> {
        let config = self.config;
        let deadline = Deadline::new(limit);
        let options = handshake_options(&config.options, limit);
        match &config.transport {
            Transport::Plain => {
                let channel = TcpChannel::over(STRANGER, stream, options)?;
                self.greet(channel, None, number)
            }
            Transport::Tls(identity) => {
                let others = config.parties.iter().enumerate().skip(config.me.index() + 1);
                let pins =
                    others.filter_map(|(index, party)| Some((PartyId(index as u8), party.fingerprint?)));
                let accepted =
                    TlsLink::accept(stream, options.queue_bytes, identity, pins.collect(), deadline);
                let (link, party) = accepted.map_err(|fault| {
                    if let HandshakeFault::Identity(got) = fault {
                        self.lock().unknown_key = Some(got);
                    }
                    Refusal::from(fault)
                })?;
                self.greet(Framed::new(party, link, options), Some(party), number)
            }
        }
    }

    /// Reads the hello, and welcomes the connection if it is expected. `proved` is the party that the key proved, under
    /// TLS.
    fn greet<L: Link + 'static>(
        &self,
        mut channel: Framed<L>,
        proved: Option<PartyId>,
        number: u64,
    ) -> std::result::Result<(), Refusal> {
        let mut bytes = [0; HELLO_BYTES];
        channel.recv(HELLO, &mut bytes)?;
        let hello = Hello::decode(&bytes)
            .filter(|hello| hello.status == Status::Ask)
            .ok_or_else(|| Refusal::new("protocol", "it does not speak this protocol"))?;
        let config = self.config;
        let from = proved.unwrap_or(hello.from);
        let key = (from, Label::new(hello.label.clone()));
        let expected = Hello::new(
            config.parties.len() as u8,
            (from, config.me),
            &config.session,
            &hello.label,
            self.labels.len() as u16,
        );
        let mut answer = |hello: &Hello| {
            channel
                .send(HELLO, &hello.encode())
                .and_then(|()| channel.flush())
        };
        if let Err(error) = expected.compare(from, &hello) {
            let _ = answer(&expected.answer(Status::Differs));
            let refusal = Refusal::new("differs", error.to_string());
            let mut state = self.lock();
            state.refused.insert(from, error);
            state.differing.extend(proved);
            return Err(refusal);
        }
        {
            let mut state = self.lock();
            if !self.expected().any(|expected| expected == key) || state.arrived.contains_key(&key) {
                drop(state);
                let _ = answer(&expected.answer(Status::Unwanted));
                let label = key.1.as_str().escape_debug();
                let why = format!("channel \"{label}\" of {from} is not expected, or exists already");
                return Err(Refusal::new("unwanted", why));
            }
            // Who is about to be welcomed is no stranger any more, whom others could push out: the peer would not try again.
            if !state.crowd.leave(number) {
                return Err(Refusal::pushed_out());
            }
            state.arrived.insert(key.clone(), None);
        }
        let welcomed = answer(&expected.answer(Status::Welcome));
        let mut state = self.lock();
        match welcomed {
            Ok(()) => {
                channel.ready(from, config.options_of(&key.1));
                state.arrived.insert(key, Some(Box::new(channel)));
                self.absent.arrived(from);
                Ok(())
            }
            Err(error) => {
                state.arrived.remove(&key);
                Err(error.into())
            }
        }
    }
}

/// Why a connection was refused.
pub(crate) struct Refusal {
    /// One of a few names; lines with the same one are counted together.
    kind: &'static str,
    /// The reason in words, as the end of a sentence.
    why: String,
}

impl Refusal {
    pub(crate) fn new(kind: &'static str, why: impl Into<String>) -> Self {
        Self {
            kind,
            why: why.into(),
        }
    }

    pub(crate) fn no_handle(error: &std::io::Error) -> Self {
        Self::new("handles", format!("no file handle for it ({error})"))
    }

    pub(crate) fn no_thread(error: &std::io::Error) -> Self {
        Self::new("threads", format!("no thread for it ({error})"))
    }

    pub(crate) fn pushed_out() -> Self {
        Self::new("crowd", "newer connections have taken its place")
    }

    /// Tells the operator.
    pub(crate) fn tell(self, notices: &Notices, from: &str) {
        notices.notice(
            self.kind,
            format!("refused a connection from {from}: {}", self.why),
        );
    }
}

impl From<HandshakeFault> for Refusal {
    fn from(fault: HandshakeFault) -> Self {
        match fault {
            HandshakeFault::Timeout => Self::new("slow TLS", "it did not finish the TLS handshake in time"),
            HandshakeFault::Fault(Fault::Closed) => Self::new("closed", "it is not waited for any more"),
            HandshakeFault::Fault(Fault::Lost(_)) => {
                Self::new("cut TLS", "it went away within the TLS handshake")
            }
            HandshakeFault::Fault(Fault::Violation(what)) => Self::new("TLS", format!("it sent {what}")),
            HandshakeFault::Identity(got) => Self::new(
                "key",
                format!("it showed a key that is not pinned here, with fingerprint {got}"),
            ),
            HandshakeFault::Refused => Self::new("key there", "it did not accept this party's key"),
            HandshakeFault::Protocol(what) => Self::new("TLS", what),
        }
    }
}

impl From<Error> for Refusal {
    /// From the failure to receive a hello.
    fn from(error: Error) -> Self {
        match error {
            Error::Timeout { .. } => Self::new("slow", "it did not say in time who it is"),
            Error::PeerLost { .. } | Error::Closed { .. } | Error::PeerAborted { .. } => {
                Self::new("cut", "it went away before it had said who it is")
            }
            Error::Violation { .. } => Self::new("protocol", "it does not speak this protocol"),
            other => Self::new("other", other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChannelOptions, PeerAddress, memory_pair};

    /// A connection that newer ones push out while it says who it is must not be welcomed: its peer would hold a channel that
    /// leads nowhere, and not try again.
    #[test]
    fn who_was_pushed_out_is_not_welcomed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let party = PeerAddress {
            address: String::new(),
            fingerprint: None,
            relayed: false,
        };
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let config = MeshConfig {
            me: PartyId(0),
            parties: vec![party.clone(), party],
            listen: Listen::Bound(listener),
            transport: Transport::Plain,
            session: "test".into(),
            connect_timeout: Duration::from_secs(20),
            options: options.clone(),
        };
        let labels = [Label::from("main")];
        let absent = Absent::new(&config, labels.len());
        let reception = Reception::new(&config, &labels, Deadline::new(Duration::from_secs(20)), &absent);
        let key = (PartyId(1), labels[0].clone());
        let meet = || {
            let (mut theirs, ours) = memory_pair(PartyId(1), PartyId(0), options.clone());
            let hello = Hello::new(2, (PartyId(1), PartyId(0)), "test", "main", 1);
            theirs.send(HELLO, &hello.encode()).unwrap();
            theirs.flush().unwrap();
            let refused = reception.greet(ours, None, 7).map_err(|refusal| refusal.kind);
            let mut answer = [0; HELLO_BYTES];
            (refused, theirs.recv(HELLO, &mut answer))
        };
        let (refused, answer) = meet();
        assert_eq!(refused, Err("crowd"));
        assert!(matches!(answer, Err(Error::PeerLost { .. })), "{answer:?}");
        assert!(!reception.lock().arrived.contains_key(&key));
        // The next try finds its place free.
        reception.lock().crowd.enter(7, &socket).unwrap();
        assert_eq!(meet(), (Ok(()), Ok(())));
        let mut state = reception.lock();
        assert!(!state.crowd.leave(7) && matches!(state.arrived.get(&key), Some(Some(_))));
    }
}
