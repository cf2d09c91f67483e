//! One connection to each peer, kept up: over it go messages of the services, and the channels of any number of sessions.
//!
//! [`connect`](crate::connect) makes connections for one session, which end with it. A service that runs many small
//! sessions keeps [`Trunks`] instead, and lets each session [join](Trunks::join) over them.

mod connection;
mod hello;
mod inflow;
mod join;
mod keep;
mod link;
mod outlet;
mod peer;
mod reader;
mod sessions;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use peer::Slot;

use crate::crowd::Crowd;
use crate::mesh::check_parties;
use crate::notices::Notices;
use crate::outbox::FAREWELL;
use crate::{ChannelOptions, Error, Identity, Label, Listen, Mesh, PartyId, PeerAddress, Result};

/// What [`Trunks::start`] needs to know.
#[derive(Debug)]
pub struct TrunkConfig {
    /// This party.
    pub me: PartyId,
    /// All parties in order, this one included. Each needs a fingerprint, and those with lower numbers than this party's an
    /// address: the higher number dials the lower.
    pub parties: Vec<PeerAddress>,
    /// Where this party listens. The highest-numbered party need not.
    pub listen: Option<Listen>,
    /// This party's key.
    pub identity: Arc<Identity>,
    /// The version of the program, at most 200 bytes. A peer with another one is refused.
    pub version: String,
    /// What a peer may cost, and how long it may take.
    pub limits: TrunkLimits,
}

/// What a peer may cost, and how long it may take. A connection takes about a mebibyte besides, and each channel what
/// [`Budget::CHANNEL`](crate::Budget::CHANNEL) says, and what it draws on its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrunkLimits {
    /// How long a connection may take to come about, from the dial to the hello.
    pub handshake: Duration,
    /// How often the peer is asked for a sign of life.
    pub heartbeat: Duration,
    /// How long a peer may be silent, or take nothing, before the connection is given up.
    pub silence: Duration,
    /// The pause before a broken connection is dialled again; it doubles up to `longest_pause`.
    pub first_pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
    /// The pause before a peer that was refused is dialled again.
    pub refused_pause: Duration,
    /// The most bytes that may be on their way to a channel without having been received. A channel begins with 512 KiB, and
    /// has more only while its receiver keeps up and the budget allows.
    pub window: usize,
    /// The longest message of [`Trunks::tell`].
    pub message: usize,
    /// The most bytes of such messages that wait for the connection.
    pub queued_messages: usize,
    /// The most sessions that a peer may have joined and this party has not, and the other way around.
    pub unjoined: u32,
}

impl Default for TrunkLimits {
    /// In the order of the fields: 10 s, 5 s, 30 s, 0.1 s to 30 s, 60 s, 4 MiB, 1 MiB, 8 MiB, 1024.
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            heartbeat: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(30),
            refused_pause: Duration::from_secs(60),
            window: 4 << 20,
            message: 1 << 20,
            queued_messages: 8 << 20,
            unjoined: 1024,
        }
    }
}

/// How the connection to a peer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrunkState {
    /// It is being made, or waited for, for the first time.
    Connecting,
    /// It is there.
    Up,
    /// It is not there.
    Down {
        /// Why.
        reason: String,
        /// How long after this began it is dialled again, if this party dials.
        again: Option<Duration>,
    },
    /// Nothing can be done with the peer: it has another key or version. It is tried again, seldom.
    Refused {
        /// Why.
        reason: String,
    },
}

/// Who hears of the peers. Called on the threads that read the connections, for each peer in order; what takes long holds
/// up the channels to that peer.
pub trait Heard: Send + Sync {
    /// The connection to `peer` stands otherwise than before.
    fn link(&self, peer: PartyId, state: &TrunkState);

    /// A message that `peer` sent with [`Trunks::tell`]. The peer may have chosen every byte of it.
    fn message(&self, peer: PartyId, message: Vec<u8>);
}

/// What is known of the connection to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrunkFacts {
    /// How it stands.
    pub state: TrunkState,
    /// Since when.
    pub since: SystemTime,
    /// The version that the peer said last, which may be one that was refused.
    pub version: Option<String>,
    /// A heartbeat to it and back, the last time.
    pub round_trip: Option<Duration>,
    /// How many microseconds its clock is ahead, to within half of the round trip.
    pub clock_ahead: Option<i64>,
    /// Bytes sent to it since the start, before encryption.
    pub bytes_sent: u64,
    /// Bytes received from it since the start, after decryption.
    pub bytes_received: u64,
    /// Channels over the connection.
    pub channels: usize,
}

/// One connection to each peer, kept up. Clones share them; they are shut down when the last clone and the last channel over
/// them are dropped.
#[derive(Clone)]
pub struct Trunks(Arc<Keep>);

impl fmt::Debug for Trunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trunks of {}", self.me())
    }
}

/// Shuts the trunks down at its end.
struct Keep(Arc<Shared>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.stop(FAREWELL);
    }
}

/// What the threads share.
struct Shared {
    me: PartyId,
    parties: Vec<PeerAddress>,
    identity: Arc<Identity>,
    version: String,
    limits: TrunkLimits,
    heard: Arc<dyn Heard>,
    address: Option<SocketAddr>,
    /// The peers, in order.
    slots: Vec<Slot>,
    notices: Notices,
    crowd: Mutex<Crowd>,
    stopping: AtomicBool,
    /// How many threads there are, but for those that send.
    threads: (Mutex<usize>, Condvar),
}

impl Trunks {
    /// Listens, dials, and keeps a connection to each peer up from here on. Does not wait for any.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] for a bad configuration, an address in use, or no threads.
    pub fn start(config: TrunkConfig, heard: Arc<dyn Heard>) -> Result<Trunks> {
        check(&config)?;
        let listener = config.listen.map(keep::listen).transpose()?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let peers = (0..config.parties.len() as u8).map(PartyId);
        let me = config.me;
        let shared = Arc::new(Shared {
            me,
            slots: peers.filter(|&peer| peer != me).map(Slot::new).collect(),
            parties: config.parties,
            identity: config.identity,
            version: config.version,
            limits: config.limits,
            heard,
            address,
            notices: Notices::new(),
            crowd: Mutex::default(),
            stopping: AtomicBool::new(false),
            threads: (Mutex::new(0), Condvar::new()),
        });
        let trunks = Trunks(Arc::new(Keep(shared.clone())));
        let failed = |error: std::io::Error| Error::Local {
            what: "starting a thread to connect".into(),
            reason: error.to_string(),
        };
        if let Some(listener) = listener {
            let thread = shared.clone();
            let listen = move || keep::keep_listening(&thread, &listener);
            shared.spawn("cenote-listen", listen).map_err(failed)?;
        }
        for place in 0..usize::from(me.0) {
            let thread = shared.clone();
            let dial = move || keep::keep_dialling(&thread, &thread.slots[place]);
            shared.spawn("cenote-trunk", dial).map_err(failed)?;
        }
        Ok(trunks)
    }

    /// The keys of the first so many parties, this one's among them.
    pub fn keys(&self, parties: u8) -> Vec<crate::Fingerprint> {
        let of_parties = self.0.0.parties.iter().take(parties.into());
        of_parties.filter_map(|party| party.fingerprint).collect()
    }

    /// This party.
    pub fn me(&self) -> PartyId {
        self.0.0.me
    }

    /// Where this party listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.0.address
    }

    fn slot(&self, peer: PartyId) -> Result<&Slot> {
        let slot = self.0.0.slots.iter().find(|slot| slot.peer == peer);
        slot.ok_or_else(|| Error::Local {
            what: format!("the connection to {peer}"),
            reason: "it is no peer".into(),
        })
    }

    /// What is known of the connection to `peer`; to a party that is no peer it is always down.
    pub fn facts(&self, peer: PartyId) -> TrunkFacts {
        self.slot(peer).map_or_else(
            |_| {
                let facts = Slot::new(peer).facts();
                let reason = "it is no peer".into();
                let state = TrunkState::Down { reason, again: None };
                TrunkFacts { state, ..facts }
            },
            Slot::facts,
        )
    }

    /// Sends a message to `peer`, which its [`Heard::message`] is given. Messages arrive in order. Never waits; a message is
    /// lost without a word if the connection breaks before it has arrived.
    ///
    /// # Errors
    ///
    /// [`Error::PeerLost`] if there is no connection, or why the peer was refused; [`Error::Local`] for a message that is too
    /// long, or one too many in the queue.
    pub fn tell(&self, peer: PartyId, message: Vec<u8>) -> Result<()> {
        let limits = &self.0.0.limits;
        let refused = |reason: String| {
            Err(Error::Local {
                what: format!("a message to {peer}"),
                reason,
            })
        };
        if message.len() > limits.message {
            return refused(format!("{} bytes, more than {}", message.len(), limits.message));
        }
        let trunk = self.slot(peer)?.trunk()?;
        if !trunk.outlet.message(message, limits.queued_messages) {
            return refused("too many messages wait to be sent".into());
        }
        trunk.send_now();
        Ok(())
    }

    /// The channels of a session: one for each label and each other one of the first `parties` parties. All of these give
    /// the session the same name, and that name may be used again once they have all joined. Waits for them up to
    /// `timeout`, also for connections that are down at first.
    ///
    /// As with [`connect`](crate::connect), channels called [`ROLL_CALL`](crate::ROLL_CALL) are not handed out.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] in step "connect" for a peer that has not joined; [`Error::Mismatch`] for one that wants other
    /// channels or another number of parties, or has another version; [`Error::Identity`] for a wrong key;
    /// [`Error::PeerLost`] for one that refused this party; [`Error::Local`] for bad labels, or if this party is joining the
    /// session already.
    pub fn join(
        &self,
        session: &str,
        parties: u8,
        labels: &[Label],
        options: ChannelOptions,
        timeout: Duration,
    ) -> Result<Mesh> {
        join::join(&self.0, session, parties, labels, &options, timeout)
    }

    /// Ends all connections: sends what was queued, within `limit`, and tells the peers. Joins that wait fail, and so do later
    /// calls.
    pub fn shut_down(&self, limit: Duration) {
        self.0.0.stop(limit);
        let threads = &self.0.0.threads;
        let running = threads.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = limit.saturating_add(FAREWELL);
        drop(threads.1.wait_timeout_while(running, limit, |count| *count > 0));
    }
}

fn check(config: &TrunkConfig) -> Result<()> {
    check_parties(config.me, &config.parties, Some(&config.identity))?;
    let limits = &config.limits;
    let last = config.me.index() + 1 == config.parties.len();
    let bad = if config.listen.is_none() && !last {
        "it is to be dialled, and has no address to listen at"
    } else if config.version.len() > hello::MAX_VERSION {
        "its version is longer than 200 bytes"
    } else if [
        limits.handshake,
        limits.heartbeat,
        limits.silence,
        limits.first_pause,
    ]
    .contains(&Duration::ZERO)
    {
        "a time of 0 s"
    } else if limits.window == 0 || limits.window > 1 << 30 {
        "a window of no bytes, or more than 1 GiB"
    } else {
        return Ok(());
    };
    Err(Error::Local {
        what: format!("keeping the connections of {}", config.me),
        reason: bad.into(),
    })
}

impl Shared {
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that is waited for at the end.
    fn spawn(self: &Arc<Self>, name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        struct Running(Arc<Shared>);
        impl Drop for Running {
            fn drop(&mut self) {
                let (count, changed) = &self.0.threads;
                *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                changed.notify_all();
            }
        }
        *self.threads.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let running = Running(self.clone());
        let work = move || {
            let _running = running;
            work();
        };
        std::thread::Builder::new()
            .name(name.into())
            .spawn(work)
            .map(drop)
    }

    /// Has all threads end: connections within `limit`.
    fn stop(&self, limit: Duration) {
        let first = !self.stopping.swap(true, Ordering::AcqRel);
        self.crowd().end();
        let end = Instant::now().checked_add(limit);
        for slot in &self.slots {
            if let (Some(trunk), Some(end)) = (slot.stop(), end) {
                trunk.close_by(end);
            }
        }
        if let (true, Some(address)) = (first, self.address) {
            // Wakes who listens.
            let _ = TcpStream::connect_timeout(&address, Duration::from_millis(100));
        }
    }
}
