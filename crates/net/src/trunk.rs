//! One connection to each peer, kept up: over it go messages of the services, and the channels of any number of sessions.
//!
//! [`connect`](crate::connect) makes connections for one session, which end with it. A service that runs many small
//! sessions keeps [`Trunks`] instead, and lets each session [join](Trunks::join) over them.

mod config;
mod connection;
mod facts;
mod hello;
mod inflow;
mod join;
mod keep;
mod link;
mod locks;
mod outlet;
mod peer;
mod reader;
mod sessions;
mod shared;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

pub use config::{TrunkConfig, TrunkLimits};
pub use facts::{Heard, TrunkFacts, TrunkState};
use peer::Slot;
use shared::{Keep, Shared};

use crate::notices::Notices;
use crate::outbox::FAREWELL;
use crate::{ChannelOptions, Error, Label, Mesh, PartyId, Result};

/// One connection to each peer, kept up. Clones share them; they are shut down when the last clone and the last channel over
/// them are dropped.
#[derive(Clone)]
pub struct Trunks(Arc<Keep>);

impl fmt::Debug for Trunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trunks of {}", self.me())
    }
}

impl Trunks {
    /// Listens, dials, and keeps a connection to each peer up from here on. Does not wait for any.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] for a bad configuration, an address in use, or no threads.
    pub fn start(config: TrunkConfig, heard: Arc<dyn Heard>) -> Result<Trunks> {
        config::check(&config)?;
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
    /// `timeout`, as long as the patience in `options` lasts, also for connections that are down at first.
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
