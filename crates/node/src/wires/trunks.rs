//! Services on machines of their own, joined by connections that are kept up.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cenote::remote::load_identity;
use cenote::runner::Connections;
use cenote::{Error, OnWait, PartyConfig, PartyId, Patience, resolve};
use cenote_net::{Budget, Heard, Listen, PeerAddress, TrunkConfig, TrunkLimits, TrunkState, Trunks};
use cenote_service::Timestamp;
use cenote_service::live::LinkState;
use cenote_session::{Limits, Topology};

use super::{Facts, Hear, LONGEST, Lost, Wires};

/// How long the end waits for what was told to be on its way.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Joins the party of `config` to its peers, whom `hear` hears from here on. Where it listens may be held for it.
///
/// # Errors
/// That its key cannot be read, or its address not be listened at.
pub fn join(
    config: &PartyConfig,
    held: Option<TcpListener>,
    hear: Arc<dyn Hear>,
) -> Result<Arc<dyn Wires>, Error> {
    let identity = Arc::new(load_identity(&config.identity)?);
    let listen = config
        .listen
        .as_deref()
        .map(|address| {
            resolve(address).map_err(|error| Error::Usage(format!("listen address {address}: {error}")))
        })
        .transpose()?
        .map(|address| held.map_or(Listen::Address(address), Listen::Bound));
    join_at(config, identity, listen, hear)
}

/// The same with a key and a listener that are there.
pub(crate) fn join_at(
    config: &PartyConfig,
    identity: Arc<cenote::Identity>,
    listen: Option<Listen>,
    hear: Arc<dyn Hear>,
) -> Result<Arc<dyn Wires>, Error> {
    let fingerprint = identity.fingerprint();
    let last = config
        .peers
        .iter()
        .map(|peer| peer.party)
        .max()
        .unwrap_or(config.me)
        .max(config.me);
    let address = |id: PartyId| match config.peers.iter().find(|peer| peer.party == id) {
        Some(peer) => PeerAddress {
            address: peer.address.clone().unwrap_or_default(),
            fingerprint: Some(peer.fingerprint),
            relayed: false,
        },
        None => PeerAddress {
            address: config.listen.clone().unwrap_or_default(),
            fingerprint: Some(fingerprint),
            relayed: false,
        },
    };
    let limits = TrunkLimits {
        message: LONGEST,
        ..TrunkLimits::default()
    };
    let trunks = Trunks::start(
        TrunkConfig {
            me: config.me,
            parties: (0..=last.0).map(PartyId).map(address).collect(),
            listen,
            identity,
            version: env!("CARGO_PKG_VERSION").into(),
            limits,
        },
        Arc::new(Ears(hear)),
    )?;
    let addresses = config
        .peers
        .iter()
        .map(|peer| (peer.party.0, peer.address.clone()));
    Ok(Arc::new(Wire {
        trunks,
        me: config.me,
        addresses: addresses.collect(),
        timeout: config.timeout,
        on_wait: config.on_wait.clone(),
        budget: Budget::default(),
    }))
}

struct Ears(Arc<dyn Hear>);

impl Heard for Ears {
    fn link(&self, peer: PartyId, state: &TrunkState) {
        self.0.link(peer.0, *state == TrunkState::Up);
    }

    fn message(&self, peer: PartyId, message: Vec<u8>) {
        self.0.message(peer.0, message);
    }
}

struct Wire {
    trunks: Trunks,
    me: PartyId,
    addresses: Vec<(u8, Option<String>)>,
    timeout: Duration,
    on_wait: OnWait,
    /// All sessions share it.
    budget: Budget,
}

impl Wires for Wire {
    fn tell(&self, to: u8, message: Vec<u8>) -> Result<(), Lost> {
        self.trunks.tell(PartyId(to), message).map_err(|_| Lost)
    }

    fn facts(&self, peer: u8) -> Facts {
        let facts = self.trunks.facts(PartyId(peer));
        let millis = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        let since = Timestamp::from_millis(millis(facts.since));
        let address = self.addresses.iter().find(|(party, _)| *party == peer);
        let (link, reason, again) = match facts.state {
            TrunkState::Connecting => (LinkState::Connecting, None, None),
            TrunkState::Up => (LinkState::Up, None, None),
            TrunkState::Down { reason, again } => (LinkState::Down, Some(reason), again),
            TrunkState::Refused { reason } => (LinkState::Refused, Some(reason), None),
        };
        Facts {
            link,
            reason,
            again: again.map(|again| Timestamp::now().after(again)),
            since,
            // The higher number dials.
            address: address.and_then(|(party, address)| address.clone().filter(|_| *party < self.me.0)),
            round_trip: facts.round_trip.map(|trip| trip.as_secs_f64() * 1000.0),
            clock_ahead: facts.clock_ahead.map(|micros| micros as f64 / 1000.0),
            bytes: [facts.bytes_sent, facts.bytes_received],
        }
    }

    fn connections(
        &self,
        topology: &Topology,
        session: &str,
        timeout: Duration,
        patience: &Patience,
    ) -> cenote::Result<Connections> {
        let limits = Limits {
            connect_timeout: timeout,
            timeout: self.timeout,
            on_wait: self.on_wait.clone(),
            budget: self.budget.clone(),
            patience: patience.clone(),
        };
        Ok(Connections::over(&self.trunks, topology, session, limits)?)
    }

    fn stop(&self) {
        self.trunks.shut_down(LAST_WORDS);
    }
}
