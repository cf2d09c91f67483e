//! Parties of one process with trunks between them.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use cenote_net::{
    ChannelOptions, Error, Heard, Identity, Label, Listen, Mesh, PartyId, PeerAddress, Result, TrunkConfig,
    TrunkLimits, TrunkState, Trunks,
};

use super::listeners;

type Stand = (PartyId, TrunkState);
type Message = (PartyId, Vec<u8>);

/// What a party has heard, in order.
#[derive(Default)]
pub struct Ear {
    heard: Mutex<(Vec<Stand>, Vec<Message>)>,
    changed: Condvar,
}

impl Heard for Ear {
    fn link(&self, peer: PartyId, state: &TrunkState) {
        self.heard.lock().unwrap().0.push((peer, state.clone()));
        self.changed.notify_all();
    }

    fn message(&self, peer: PartyId, message: Vec<u8>) {
        self.heard.lock().unwrap().1.push((peer, message));
        self.changed.notify_all();
    }
}

/// The longest wait for what must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

impl Ear {
    fn wait<T>(&self, what: &str, mut found: impl FnMut(&[Stand], &[Message]) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        let mut heard = self.heard.lock().unwrap();
        loop {
            if let Some(found) = found(&heard.0, &heard.1) {
                return found;
            }
            let left = end.checked_duration_since(Instant::now());
            let left = left.unwrap_or_else(|| panic!("{what} has not come, but {:?}", heard.0));
            heard = self.changed.wait_timeout(heard, left).unwrap().0;
        }
    }

    /// Waits for the `count`-th state of `peer` that fits, from 1 on.
    pub fn state(&self, peer: u8, count: usize, fits: impl Fn(&TrunkState) -> bool) -> TrunkState {
        self.wait("a state", |states, _| {
            let of_peer = states.iter().filter(|(of, _)| *of == PartyId(peer));
            of_peer
                .map(|(_, state)| state)
                .filter(|state| fits(state))
                .nth(count - 1)
                .cloned()
        })
    }

    /// Waits until the connection to `peer` has come up so many times.
    pub fn up(&self, peer: u8, count: usize) {
        self.state(peer, count, |state| *state == TrunkState::Up);
    }

    /// Waits until the connection to `peer` has gone down, and says why.
    pub fn down(&self, peer: u8) -> String {
        let down = |state: &TrunkState| matches!(state, TrunkState::Down { .. });
        match self.state(peer, 1, down) {
            TrunkState::Down { reason, .. } => reason,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the peer is refused, and says why.
    pub fn refused(&self, peer: u8) -> String {
        let refused = |state: &TrunkState| matches!(state, TrunkState::Refused { .. });
        match self.state(peer, 1, refused) {
            TrunkState::Refused { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    /// All states that were told.
    pub fn states(&self) -> Vec<Stand> {
        self.heard.lock().unwrap().0.clone()
    }

    /// Waits for so many messages.
    pub fn messages(&self, count: usize) -> Vec<Message> {
        self.wait("a message", |_, messages| {
            (messages.len() >= count).then(|| messages.to_vec())
        })
    }
}

/// A party.
pub struct Party {
    pub trunks: Trunks,
    pub ear: Arc<Ear>,
}

/// Who the parties are, and where.
pub struct World {
    pub identities: Vec<Arc<Identity>>,
    pub parties: Vec<PeerAddress>,
    pub limits: TrunkLimits,
}

impl World {
    /// So many parties at addresses of this machine, and the sockets that listen there.
    pub fn new(parties: usize, limits: &TrunkLimits) -> (Self, Vec<TcpListener>) {
        let listeners = listeners(parties);
        let identities: Vec<_> = (0..parties)
            .map(|_| Arc::new(Identity::generate().unwrap()))
            .collect();
        let address = |(listener, identity): (&TcpListener, &Arc<Identity>)| PeerAddress {
            address: listener.local_addr().unwrap().to_string(),
            fingerprint: Some(identity.fingerprint()),
            relayed: false,
        };
        let world = Self {
            parties: listeners.iter().zip(&identities).map(address).collect(),
            identities,
            limits: limits.clone(),
        };
        (world, listeners)
    }

    pub fn address(&self, party: usize) -> SocketAddr {
        self.parties[party].address.parse().unwrap()
    }

    pub fn config(&self, me: usize, listen: Option<Listen>) -> TrunkConfig {
        TrunkConfig {
            me: PartyId(me as u8),
            parties: self.parties.clone(),
            listen,
            identity: self.identities[me].clone(),
            version: "1.0".into(),
            limits: self.limits.clone(),
        }
    }

    pub fn start(&self, me: usize, listen: Option<Listen>) -> Party {
        start(self.config(me, listen))
    }

    /// Starts a party anew at its address, as soon as the party that was shut down there has left it.
    pub fn restart(&self, me: usize) -> Party {
        let begun = Instant::now();
        loop {
            let ear = Arc::new(Ear::default());
            let config = self.config(me, Some(Listen::Address(self.address(me))));
            match Trunks::start(config, ear.clone()) {
                Err(Error::Local { .. }) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                trunks => {
                    let trunks = trunks.unwrap();
                    return Party { trunks, ear };
                }
            }
        }
    }
}

pub fn start(config: TrunkConfig) -> Party {
    let ear = Arc::new(Ear::default());
    let trunks = Trunks::start(config, ear.clone()).unwrap();
    Party { trunks, ear }
}

/// Parties that can reach each other.
pub fn trunks(parties: usize, limits: &TrunkLimits) -> Vec<Party> {
    let (world, listeners) = World::new(parties, limits);
    (listeners.into_iter().enumerate())
        .map(|(me, listener)| world.start(me, Some(Listen::Bound(listener))))
        .collect()
}

/// Has all join at once.
pub fn join_all<'a>(
    trunks: &[&Trunks],
    session: &str,
    labels: &[Label],
    options: impl IntoIterator<Item = &'a ChannelOptions>,
) -> Vec<Result<Mesh>> {
    let parties = trunks.len() as u8;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (trunks.iter().zip(options))
            .map(|(trunks, options)| {
                let options = options.clone();
                scope.spawn(move || trunks.join(session, parties, labels, options, PATIENCE))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
