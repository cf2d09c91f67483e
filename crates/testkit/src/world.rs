//! All parties of a protocol in one process.

use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, ChannelOptions, Closer, Identity, Label, Listen, Mesh, MeshConfig, PartyId, PeerAddress, Shape,
    Shaped, Transport, connect, memory_pair,
};
use sha2::{Digest, Sha256};

use crate::{Adversary, Sent, Transcript};

/// How long the parties get to end after their channels were closed.
const GRACE: Duration = Duration::from_secs(5);

/// What joins the parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// Memory.
    #[default]
    Memory,
    /// TCP over the loopback interface.
    Tcp,
    /// TLS over the loopback interface.
    Tls,
}

/// What one party gets.
pub struct PartyContext {
    /// Which one it is.
    pub me: PartyId,
    /// How many there are.
    pub parties: usize,
    /// Its channels.
    pub mesh: Mesh,
    /// Its private randomness, from the world's seed.
    pub seed: [u8; 32],
}

impl PartyContext {
    /// The channel to `peer` with `label`.
    ///
    /// # Panics
    ///
    /// If there is none, or it was taken before.
    pub fn take(&mut self, peer: PartyId, label: &str) -> Box<dyn Channel> {
        self.mesh
            .take(peer, &Label::from(label))
            .unwrap_or_else(|error| panic!("{}: {error}", self.me))
    }
}

/// Runs all parties of a protocol in one process, each on its own thread.
///
/// A test that fails while its world is alive prints the world's seed.
pub struct World {
    parties: usize,
    seed: u64,
    limit: Duration,
    wire: Wire,
    labels: Vec<Label>,
    options: ChannelOptions,
    shape: Option<Shape>,
    adversary: Option<(PartyId, Adversary)>,
    /// Of the last run: per party, in the order of peers, then labels.
    transcripts: Mutex<Vec<Vec<Transcript>>>,
}

impl World {
    /// `parties` parties, joined by memory channels with the one label "main"; channels give up after 10 s, the world
    /// after 60 s.
    pub fn new(parties: usize, seed: u64) -> Self {
        assert!((1..=usize::from(u8::MAX)).contains(&parties));
        Self {
            parties,
            seed,
            limit: Duration::from_secs(60),
            wire: Wire::default(),
            labels: vec![Label::from("main")],
            options: ChannelOptions {
                linger: Duration::from_secs(1),
                ..ChannelOptions::with_timeout(Duration::from_secs(10))
            },
            shape: None,
            adversary: None,
            transcripts: Mutex::default(),
        }
    }

    /// The same with a fresh seed, or that of the environment variable `CENOTE_SEED`.
    ///
    /// # Panics
    ///
    /// If the variable is no number, or the operating system gives no randomness.
    pub fn random(parties: usize) -> Self {
        let seed = match std::env::var("CENOTE_SEED") {
            Ok(text) => text.parse().expect("CENOTE_SEED is a number"),
            Err(_) => getrandom::u64().expect("the operating system gives randomness"),
        };
        Self::new(parties, seed)
    }

    /// How long a run may take before it fails.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How long the parties' channels wait for a silent peer.
    pub fn channel_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }

    /// The limits of the parties' channels.
    pub fn channel_options(mut self, options: ChannelOptions) -> Self {
        self.options = options;
        self
    }

    /// What joins the parties.
    pub fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    /// One channel per pair of parties and label.
    pub fn labels(mut self, labels: &[&str]) -> Self {
        self.labels = labels.iter().copied().map(Label::from).collect();
        self
    }

    /// Slows all channels down.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = Some(shape);
        self
    }

    /// Makes `party` deviate. There is at most one deviating party; the last call counts.
    pub fn adversary(mut self, party: PartyId, adversary: Adversary) -> Self {
        self.adversary = Some((party, adversary));
        self
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The messages that `party` sent in the last run (after its adversary, if any), by peer, then label, then order.
    pub fn transcript(&self, party: PartyId) -> Vec<Sent> {
        let transcripts = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
        transcripts
            .get(party.index())
            .into_iter()
            .flatten()
            .flat_map(Transcript::sent)
            .collect()
    }

    /// [`World::transcript`] of every party.
    pub fn transcripts(&self) -> Vec<Vec<Sent>> {
        (0..self.parties)
            .map(|party| self.transcript(PartyId(party as u8)))
            .collect()
    }

    /// A SHA-256, in hexadecimal, of all bytes that `party` sent in the last run: equal as long as the protocol, its
    /// randomness and its input are.
    pub fn transcript_hash(&self, party: PartyId) -> String {
        let transcripts = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
        let hashes = transcripts
            .get(party.index())
            .into_iter()
            .flatten()
            .map(Transcript::hash);
        hex::encode(
            hashes
                .fold(Sha256::new(), |all, hash| all.chain_update(hash))
                .finalize(),
        )
    }

    /// The private seed of a party.
    fn party_seed(&self, party: PartyId) -> [u8; 32] {
        let hash = Sha256::new()
            .chain_update("cenote test world")
            .chain_update(self.seed.to_le_bytes());
        hash.chain_update([party.0]).finalize().into()
    }

    /// Runs `party` for each party, and returns what each came to, in their order.
    ///
    /// # Panics
    ///
    /// With the panic of a party, or, naming the parties that have not ended, when the time is over. Their channels
    /// are closed then, and threads that go on nevertheless are left behind.
    pub fn run<T, E, F>(&self, party: F) -> Vec<Result<T, E>>
    where
        F: Fn(PartyContext) -> Result<T, E> + Send + Sync + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let meshes = self.meshes();
        let closers: Vec<Closer> = meshes.iter().map(Mesh::closer).collect();
        let party = Arc::new(party);
        let (done, ended) = channel();
        let mut threads: Vec<Option<JoinHandle<Result<T, E>>>> = Vec::new();
        for (me, mesh) in (0..).map(PartyId).zip(meshes) {
            let context = PartyContext {
                me,
                parties: self.parties,
                mesh,
                seed: self.party_seed(me),
            };
            let (party, done) = (party.clone(), done.clone());
            let thread = std::thread::Builder::new().name(me.to_string()).spawn(move || {
                /// Tells that the thread ends, by a panic too.
                struct Ended(std::sync::mpsc::Sender<PartyId>, PartyId);
                impl Drop for Ended {
                    fn drop(&mut self) {
                        let _ = self.0.send(self.1);
                    }
                }
                let _ended = Ended(done, me);
                party(context)
            });
            threads.push(Some(thread.expect("a thread for each party")));
        }

        let mut running: Vec<PartyId> = (0..self.parties as u8).map(PartyId).collect();
        let wait = |running: &mut Vec<PartyId>, limit: Duration| {
            let start = Instant::now();
            while !running.is_empty() {
                match ended.recv_timeout(limit.saturating_sub(start.elapsed())) {
                    Ok(party) => running.retain(|other| *other != party),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        wait(&mut running, self.limit);
        let late = running.clone();
        if !late.is_empty() {
            closers.iter().for_each(Closer::close);
            wait(&mut running, GRACE);
        }
        let mut results = Vec::new();
        let mut panicked = None;
        for (party, thread) in (0..).map(PartyId).zip(&mut threads) {
            if running.contains(&party) {
                continue;
            }
            match thread.take().map(JoinHandle::join) {
                Some(Ok(result)) => results.push(result),
                Some(Err(panic)) => panicked = panicked.or(Some(panic)),
                None => {}
            }
        }
        if !late.is_empty() {
            let names = |parties: &[PartyId]| {
                parties
                    .iter()
                    .map(PartyId::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let stuck = match running.as_slice() {
                [] => String::new(),
                running => format!("; even with channels closed still running: {}", names(running)),
            };
            panic!(
                "after {:.1} s not ended: {}{stuck}",
                self.limit.as_secs_f64(),
                names(&late)
            );
        }
        match panicked {
            Some(panic) => std::panic::resume_unwind(panic),
            None => results,
        }
    }

    /// Each party's channels, wrapped.
    fn meshes(&self) -> Vec<Mesh> {
        let raw = match self.wire {
            Wire::Memory => self.memory(),
            Wire::Tcp | Wire::Tls => self.loopback(),
        };
        let mut transcripts = Vec::new();
        let meshes = (0..)
            .map(PartyId)
            .zip(raw)
            .map(|(me, mut channels)| {
                channels.sort_by(|a, b| (a.1.peer(), &a.0).cmp(&(b.1.peer(), &b.0)));
                let mut own = Vec::new();
                let wrapped = channels.into_iter().map(|(label, mut channel)| {
                    if let Some(shape) = self.shape {
                        channel = Box::new(Shaped::new(channel, shape));
                    }
                    let transcript = Transcript::default();
                    own.push(transcript.clone());
                    channel = Box::new(transcript.observe(channel, label.clone()));
                    if let Some((party, adversary)) = &self.adversary
                        && *party == me
                    {
                        channel = Box::new(adversary.wrap(label.clone(), channel));
                    }
                    (label, channel)
                });
                let mesh = Mesh::from_channels(wrapped.collect::<Vec<_>>());
                transcripts.push(own);
                mesh
            })
            .collect();
        *self.transcripts.lock().unwrap_or_else(PoisonError::into_inner) = transcripts;
        meshes
    }

    fn memory(&self) -> Vec<Vec<(Label, Box<dyn Channel>)>> {
        let mut channels: Vec<Vec<(Label, Box<dyn Channel>)>> =
            (0..self.parties).map(|_| Vec::new()).collect();
        for a in 0..self.parties {
            for b in a + 1..self.parties {
                for label in &self.labels {
                    let (for_a, for_b) =
                        memory_pair(PartyId(a as u8), PartyId(b as u8), self.options.clone());
                    channels[a].push((label.clone(), Box::new(for_a)));
                    channels[b].push((label.clone(), Box::new(for_b)));
                }
            }
        }
        channels
    }

    fn loopback(&self) -> Vec<Vec<(Label, Box<dyn Channel>)>> {
        let tls = self.wire == Wire::Tls;
        let listeners: Vec<_> = (0..self.parties)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let identities: Vec<_> = (0..self.parties)
            .map(|_| Arc::new(Identity::generate().expect("an identity")))
            .collect();
        let parties: Vec<_> = listeners
            .iter()
            .zip(&identities)
            .map(|(listener, identity)| PeerAddress {
                address: listener.local_addr().expect("a bound address").to_string(),
                fingerprint: tls.then(|| identity.fingerprint()),
                relayed: false,
            })
            .collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .map(PartyId)
                .zip(listeners.into_iter().zip(identities))
                .map(|(me, (listener, identity))| {
                    let config = MeshConfig {
                        me,
                        parties: parties.clone(),
                        listen: Listen::Bound(listener),
                        transport: if tls {
                            Transport::Tls(identity)
                        } else {
                            Transport::Plain
                        },
                        session: "world".into(),
                        connect_timeout: Duration::from_secs(10),
                        options: self.options.clone(),
                    };
                    scope.spawn(move || connect(config, &self.labels))
                })
                .collect();
            let meshes = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic").expect("the parties meet"));
            meshes.map(|mesh| mesh.into_channels().collect()).collect()
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the world's seed was {} (CENOTE_SEED={})", self.seed, self.seed);
        }
    }
}
