//! The channels that join one party to its peers: how many a protocol wants, and how they are made.

use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Phases, Result};
use cenote_net::{
    Budget, CHANNELS, Channel, ChannelOptions, Error as NetError, Fingerprint, Identity, LABELS, Label,
    Listen, Mesh, MeshConfig, OnWait, PartyId, Patience, PeerAddress, PhaseClock, ROLL_CALL,
    Transport as Carrier, Trunks, connect, memory_pair_with,
};

/// The field in which connections of different sessions differ.
const SESSION_FIELD: &str = "the session";

/// How many parties there are, and what joins any two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The name under which the parties find each other, such as a protocol's.
    pub name: String,
    /// Two or three.
    pub parties: u8,
    /// Workers of each party: 1 at the least.
    pub workers: u8,
    /// What each channel of a worker to a peer is for.
    pub purposes: &'static [&'static str],
    /// What the channels to a peer are for that belong to no worker.
    pub shared: &'static [&'static str],
}

impl Topology {
    /// The channel on which each party learns for whom another waits. Between two parties it would tell nothing.
    fn roll_call(&self) -> Option<Label> {
        (self.parties > 2).then(|| Label::from(ROLL_CALL))
    }

    /// Channels between any two parties.
    pub fn channels(&self) -> usize {
        self.labels().len() + usize::from(self.roll_call().is_some())
    }

    fn labels(&self) -> Vec<Label> {
        let of_worker =
            |worker| (self.purposes.iter()).map(move |purpose| Label::new(format!("{purpose} {worker}")));
        (0..self.workers)
            .flat_map(of_worker)
            .chain(self.shared.iter().map(|&purpose| Label::from(purpose)))
            .collect()
    }

    /// The labels of all channels, that of the roll call included.
    fn all_labels(&self) -> Vec<Label> {
        self.labels().into_iter().chain(self.roll_call()).collect()
    }
}

/// The channels of one party: for each purpose, one to each peer. All workers' channels come first, worker by worker.
pub struct Connections {
    purposes: Vec<Vec<Box<dyn Channel>>>,
    /// What bounds the phases of everything that happens over the channels.
    clock: PhaseClock,
    /// The keys by which the parties know one another, in their order; none where they do not.
    keys: Vec<Fingerprint>,
}

impl Connections {
    /// The channels of each party of a protocol, all in one process. `timeout` is how long one waits for another.
    pub fn in_memory(topology: &Topology, timeout: Duration) -> Vec<Connections> {
        let options = ChannelOptions::with_timeout(timeout);
        let parties = usize::from(topology.parties);
        let mut all: Vec<Connections> = (0..parties).map(|_| Connections::from(Vec::new())).collect();
        let options: Vec<ChannelOptions> = all
            .iter()
            .map(|connections| ChannelOptions {
                phase: connections.clock.clone(),
                ..options.clone()
            })
            .collect();
        for _ in topology.labels() {
            let mut ends: Vec<Vec<Box<dyn Channel>>> = (0..parties).map(|_| Vec::new()).collect();
            for high in 0..topology.parties {
                for low in 0..high {
                    let ends_options = [low, high].map(|party| options[usize::from(party)].clone());
                    let (for_low, for_high) = memory_pair_with(PartyId(low), PartyId(high), ends_options);
                    ends[usize::from(low)].push(Box::new(for_low));
                    ends[usize::from(high)].push(Box::new(for_high));
                }
            }
            for (connections, ends) in all.iter_mut().zip(ends) {
                connections.purposes.push(ends);
            }
        }
        all
    }

    /// Connects to all peers. Only the [`handshake`](crate::handshake) makes sure that one process of each is behind all connections.
    ///
    /// # Errors
    /// What happened on the network; [`NetError::Mismatch`] where peers want other connections.
    pub fn connect(topology: &Topology, link: Link) -> Result<Connections> {
        let (me, clock) = (link.me, PhaseClock::default());
        let keys = link.parties.iter().filter_map(|party| party.fingerprint);
        let keys = link.identity.iter().flat_map(|_| keys.clone()).collect();
        let config = MeshConfig {
            me,
            parties: link.parties,
            listen: link.listen,
            transport: link.identity.map_or(Carrier::Plain, Carrier::Tls),
            session: format!("cenote {}", topology.name),
            connect_timeout: link.connect_timeout,
            options: ChannelOptions {
                on_wait: link.on_wait,
                phase: clock.clone(),
                budget: link.budget,
                patience: link.patience,
                ..ChannelOptions::with_timeout(link.timeout)
            },
        };
        let mesh =
            connect(config, &topology.all_labels()).map_err(|error| in_words_of_jobs(error, topology))?;
        Self::from_mesh(topology, me, mesh, clock, keys)
    }

    /// Joins `session`, whose name all parties give alike, over connections that are kept up. As with
    /// [`Connections::connect`], only the [`handshake`](crate::handshake) compares what the session is about.
    ///
    /// # Errors
    /// What happened on the network; [`NetError::Timeout`] for a peer that has not joined; [`NetError::Mismatch`] where peers
    /// want other channels.
    pub fn over(trunks: &Trunks, topology: &Topology, session: &str, limits: Limits) -> Result<Connections> {
        let clock = PhaseClock::default();
        let options = ChannelOptions {
            on_wait: limits.on_wait,
            phase: clock.clone(),
            budget: limits.budget,
            patience: limits.patience,
            ..ChannelOptions::with_timeout(limits.timeout)
        };
        let labels = topology.all_labels();
        let mesh = trunks
            .join(
                session,
                topology.parties,
                &labels,
                options,
                limits.connect_timeout,
            )
            .map_err(|error| in_words_of_jobs(error, topology))?;
        let keys = trunks.keys(topology.parties);
        Self::from_mesh(topology, trunks.me(), mesh, clock, keys)
    }

    fn from_mesh(
        topology: &Topology,
        me: PartyId,
        mut mesh: Mesh,
        clock: PhaseClock,
        keys: Vec<Fingerprint>,
    ) -> Result<Connections> {
        let peers = || (0..topology.parties).map(PartyId).filter(|&peer| peer != me);
        let channels = (topology.labels().into_iter())
            .map(|label| peers().map(|peer| Ok(mesh.take(peer, &label)?)).collect());
        Ok(Connections {
            purposes: channels.collect::<Result<_>>()?,
            clock,
            keys,
        })
    }

    /// The keys by which the parties know one another, in their order; none where they do not.
    pub(crate) fn keys(&self) -> &[Fingerprint] {
        &self.keys
    }

    /// The phases of a session over these connections, each of which may take `limit`.
    pub fn phases(&self, limit: Duration) -> Phases {
        Phases::new(self.clock.clone(), limit)
    }

    /// All channels, in an order that is the same at all parties but for the peers'.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut (dyn Channel + 'static)> {
        self.purposes.iter_mut().flatten().map(|channel| &mut **channel)
    }

    /// The channels of the first purpose, in the order of the peers: what the parties compare their settings over.
    pub fn first(&mut self) -> impl Iterator<Item = &mut (dyn Channel + 'static)> {
        self.purposes
            .iter_mut()
            .take(1)
            .flatten()
            .map(|channel| &mut **channel)
    }

    /// All but those of the last purpose, and these.
    pub fn split_last(mut self) -> (Connections, Connections) {
        let last = self.purposes.split_off(self.purposes.len().saturating_sub(1));
        let last = Connections {
            purposes: last,
            clock: self.clock.clone(),
            keys: self.keys.clone(),
        };
        (self, last)
    }

    /// The same with every channel replaced by `wrap` of it.
    pub fn map(self, mut wrap: impl FnMut(Box<dyn Channel>) -> Box<dyn Channel>) -> Self {
        let purpose = |channels: Vec<Box<dyn Channel>>| channels.into_iter().map(&mut wrap).collect();
        let purposes = self.purposes.into_iter().map(purpose).collect();
        Connections { purposes, ..self }
    }

    /// The channels of each purpose, in the order of the peers.
    pub fn by_purpose(self) -> Vec<Vec<Box<dyn Channel>>> {
        self.purposes
    }

    /// All of them one after the other: one for each purpose, between two parties.
    pub fn channels(self) -> Vec<Box<dyn Channel>> {
        self.purposes.into_iter().flatten().collect()
    }

    /// The only channel.
    ///
    /// # Errors
    /// [`Error::BadInput`] if there is none, or there are more.
    pub fn one(self) -> Result<Box<dyn Channel>> {
        let mut channels = self.channels();
        match (channels.pop(), channels.pop()) {
            (Some(channel), None) => Ok(channel),
            _ => Err(Error::BadInput("a session takes one channel to the peer".into())),
        }
    }
}

impl From<Vec<Vec<Box<dyn Channel>>>> for Connections {
    /// The channels of each purpose, in the order of the peers.
    fn from(channels: Vec<Vec<Box<dyn Channel>>>) -> Self {
        Connections {
            purposes: channels,
            clock: PhaseClock::default(),
            keys: Vec::new(),
        }
    }
}

/// How one party reaches the others.
pub struct Link {
    /// Which party it is.
    pub me: PartyId,
    /// Where all parties are, in order, this one included.
    pub parties: Vec<PeerAddress>,
    /// Where it is dialled.
    pub listen: Listen,
    /// For TLS; plain TCP without.
    pub identity: Option<Arc<Identity>>,
    /// How long to wait for the peers to appear.
    pub connect_timeout: Duration,
    /// How long to wait for a silent peer.
    pub timeout: Duration,
    /// Who hears that a peer is waited for for long.
    pub on_wait: OnWait,
    /// Memory for messages on their way.
    pub budget: Budget,
    /// Whether peers that have not appeared are still waited for.
    pub patience: Patience,
}

/// How long a session over connections that are kept up waits, and what it may take.
pub struct Limits {
    /// How long to wait for the peers to join.
    pub connect_timeout: Duration,
    /// How long to wait for a silent peer.
    pub timeout: Duration,
    /// Who hears that a peer is waited for for long.
    pub on_wait: OnWait,
    /// Memory for messages on their way.
    pub budget: Budget,
    /// Whether peers that have not joined are still waited for.
    pub patience: Patience,
}

/// Says what the connections differ in as jobs do: the protocol instead of the session's name, workers instead of channels.
fn in_words_of_jobs(error: NetError, topology: &Topology) -> NetError {
    match error {
        NetError::Mismatch {
            peer, field, theirs, ..
        } if field == CHANNELS => {
            let each = topology.purposes.len().max(1);
            let shared = topology.shared.len() + usize::from(topology.roll_call().is_some());
            let of_workers = theirs
                .parse()
                .ok()
                .and_then(|channels: usize| channels.checked_sub(shared));
            NetError::Mismatch {
                peer,
                field: "workers".into(),
                ours: topology.workers.to_string(),
                theirs: match of_workers {
                    Some(channels) if channels % each == 0 => (channels / each).to_string(),
                    _ => format!("as many as have {theirs} channels"),
                },
            }
        }
        NetError::Mismatch { peer, field, .. } if field == SESSION_FIELD || field == LABELS => {
            NetError::Mismatch {
                peer,
                field: "protocol".into(),
                ours: topology.name.clone(),
                theirs: "another".into(),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
