//! What a session is started with.

use std::fmt;
use std::str::FromStr;

use cenote_net::{Channel, PartyId};
use cenote_params::LogProb;
use cenote_params::three::{Parameters, Proofs, Variant};
use cenote_primitives::{BLOCK_BITS, Block512, Entropy};
use cenote_session::{Connections, Terms};
use serde::{Deserialize, Serialize, Serializer};

use crate::Ring;
use crate::material::shape::Shape;
use crate::triple_check::window_bytes;

/// How products are checked, as people choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Verification {
    /// With triples that were checked by cut-and-choose, in one of the ways of Araki et al.
    Triples(Variant),
    /// By proofs.
    Proofs,
}

impl Verification {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Triples(Variant::Baseline),
        Self::Triples(Variant::CacheEfficient),
        Self::Triples(Variant::Reshuffle),
        Self::Triples(Variant::OnDemand),
        Self::Proofs,
    ];

    /// What there is to choose from.
    pub(crate) fn names() -> String {
        format!("the variant is one of {}", Self::ALL.map(Self::name).join(", "))
    }

    /// The name on command lines, in files and in handshakes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Triples(variant) => variant.name(),
            Self::Proofs => "proofs",
        }
    }
}

impl From<Verification> for String {
    fn from(verification: Verification) -> Self {
        verification.name().into()
    }
}

impl TryFrom<String> for Verification {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<Variant> for Verification {
    fn from(variant: Variant) -> Self {
        Self::Triples(variant)
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Verification {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| format!("no variant is called \"{name}\": {}", Self::names()))
    }
}

/// How a session checks products, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// With triples.
    Triples(Parameters),
    /// By proofs.
    Proofs(Proofs),
}

impl From<Parameters> for Method {
    fn from(parameters: Parameters) -> Self {
        Self::Triples(parameters)
    }
}

impl From<&Parameters> for Method {
    fn from(parameters: &Parameters) -> Self {
        Self::Triples(parameters.clone())
    }
}

impl From<Proofs> for Method {
    fn from(proofs: Proofs) -> Self {
        Self::Proofs(proofs)
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Triples(parameters) => parameters.serialize(serializer),
            Self::Proofs(proofs) => proofs.serialize(serializer),
        }
    }
}

impl Method {
    /// What is chosen.
    pub fn verification(&self) -> Verification {
        match self {
            Self::Triples(parameters) => Verification::Triples(parameters.variant()),
            Self::Proofs(_) => Verification::Proofs,
        }
    }

    /// The probability that a wrong product passes, over the whole life of a session.
    pub fn error(&self) -> LogProb {
        match self {
            Self::Triples(parameters) => parameters.error(),
            Self::Proofs(proofs) => proofs.error(),
        }
    }

    /// Blocks of triples in a batch; those of gates that are proved together.
    pub fn n(&self) -> u64 {
        match self {
            Self::Triples(parameters) => parameters.n(),
            Self::Proofs(proofs) => proofs.batch(),
        }
    }

    /// Blocks of gates that wait for their check, at most.
    pub(crate) fn gates_logged(&self) -> u64 {
        match self {
            Self::Triples(parameters) => parameters.gates_logged(),
            Self::Proofs(proofs) => proofs.batch(),
        }
    }

    /// Bits that a party sends for each gate in a long run.
    pub fn bits_per_and(&self) -> f64 {
        match self {
            Self::Triples(parameters) => parameters.bits_per_and(),
            Self::Proofs(proofs) => proofs.bits_per_and(),
        }
    }

    /// Bytes that a party sends for so many blocks of gates.
    pub fn bytes_sent(&self, blocks: u64) -> u64 {
        match self {
            Self::Triples(parameters) => {
                let sent = parameters.job_cost(blocks).blocks_sent;
                sent.saturating_mul(BLOCK_BITS as u64 / 8)
            }
            Self::Proofs(proofs) => proofs.job_bytes(blocks, 1),
        }
    }

    /// What parties agree on.
    fn agreed(&self) -> String {
        match self {
            Self::Triples(parameters) => Shape::of(parameters).to_string(),
            Self::Proofs(proofs) => format!(
                "proofs, version 2, weights of {} bits, batches of {} blocks",
                proofs.weight_bits(),
                proofs.batch()
            ),
        }
    }
}

/// How two parties compare their views (S&P 2017, Section III-D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewCheck {
    /// A polynomial MAC under a key that the pair shares.
    #[default]
    Mac,
    /// SHA-256, as in Furukawa et al. 2017.
    Sha256,
}

impl fmt::Display for ViewCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ViewCheck::Mac => "mac",
            ViewCheck::Sha256 => "sha256",
        })
    }
}

impl FromStr for ViewCheck {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "mac" => Ok(ViewCheck::Mac),
            "sha256" => Ok(ViewCheck::Sha256),
            _ => Err(format!(
                "no view check is called \"{name}\": use \"mac\" or \"sha256\""
            )),
        }
    }
}

/// How many messages a worker sends before it must have received the first: when triples are made, and when they are spent,
/// nobody waits for answers. A message has up to 1024 checks, or 4096 products, of 512 bits. Long links need more messages
/// in flight, since a worker sends no more than these in the time that one takes on its way. The messages themselves are
/// the same for every choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// As many as this, 1 to [`Lag::MOST`].
    Messages(usize),
    /// As many as the links need, measured by a few small messages when the session starts. If one party chooses this, all
    /// must.
    Measured,
}

impl Lag {
    /// Most messages in flight.
    pub const MOST: usize = 64;

    /// Enough for links on which a message takes less time than it takes to be computed.
    pub(crate) const LEAST: usize = 2;
}

impl Default for Lag {
    /// Two messages.
    fn default() -> Self {
        Self::Messages(Self::LEAST)
    }
}

/// What all three parties agree on, and this party's source of randomness.
pub struct Config {
    /// How products are checked, which fixes the error.
    pub method: Method,
    /// By what two parties compare what each has sent and received: a MAC or a hash.
    pub view_check: ViewCheck,
    /// The session's name, bound into every key.
    pub session: String,
    /// Where this party's contributions to keys come from: [`Entropy::os`], except in tests.
    pub entropy: Entropy,
    /// How many finished batches of triples may wait for each evaluator, besides the one being made: how far the
    /// generator runs ahead of need. The same at all parties: one that is further ahead would wait for the others' until its
    /// patience ends.
    pub ahead: usize,
    /// How far sending runs ahead of receiving.
    pub lag: Lag,
    /// Whether lanes are moved in secret orders. The same at all parties.
    pub shuffles: bool,
    /// Whether tables are compared by digests. The same at all parties.
    pub digests: bool,
    /// Whether the parties have compared [`Config::terms`], the session's name, and what is to be made for stock already, so
    /// that the engine need not.
    pub compared: bool,
}

impl Config {
    /// A session with this method, views compared by MAC, randomness from the operating system.
    pub fn new(method: impl Into<Method>, session: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            view_check: ViewCheck::default(),
            session: session.into(),
            entropy: Entropy::os(),
            ahead: 1,
            lag: Lag::default(),
            shuffles: true,
            digests: true,
            compared: false,
        }
    }

    /// What must be the same at all parties of a session with `workers` workers, besides its name.
    pub fn terms(&self, workers: usize) -> Terms {
        let mut terms = vec![
            ("three".into(), "version 4".into()),
            ("variant".into(), self.method.verification().to_string()),
            ("parameters".into(), self.method.agreed()),
            ("view check".into(), self.view_check.to_string()),
            ("workers".into(), workers.to_string()),
            ("ahead".into(), self.ahead.to_string()),
        ];
        terms.extend(self.lag.agreed());
        terms
    }
}

/// The channels of one worker of a party: each thread has its own to both peers.
pub struct Links {
    /// For the thread that makes triples, or proves gates.
    pub generator: Ring,
    /// For the thread that evaluates circuits.
    pub evaluator: Ring,
}

impl Links {
    /// The rings of party `me` of three: those of each worker, of the purposes "generator" and "evaluator".
    pub fn of(me: PartyId, connections: Connections) -> Vec<Links> {
        let next = PartyId((me.0 + 1) % 3);
        let ring = |channels: Vec<Box<dyn Channel>>| -> Option<Ring> {
            let [a, b] = <[_; 2]>::try_from(channels).ok()?;
            let (next, previous) = if a.peer() == next { (a, b) } else { (b, a) };
            Some(Ring { previous, next })
        };
        let mut rings = connections.by_purpose().into_iter().map_while(ring);
        std::iter::from_fn(|| {
            Some(Links {
                generator: rings.next()?,
                evaluator: rings.next()?,
            })
        })
        .collect()
    }
}

/// The most bytes of a worker's buffers if `waiting` batches may wait for its evaluator and `lag` messages are in flight. The
/// bound of the parameters allows for one batch that waits, and leaves out the buffers of the first few messages.
pub(crate) fn worker_bytes(method: &Method, waiting: usize, lag: usize) -> u64 {
    let parameters = match method {
        Method::Triples(parameters) => parameters,
        Method::Proofs(proofs) => return proofs.memory_bytes(),
    };
    let n = usize::try_from(parameters.n()).expect("parameters fit this machine's memory");
    let batch = (2 * n * size_of::<Block512>()) as u64;
    let windows = 2 * lag.saturating_sub(Lag::LEAST) * window_bytes(n);
    (waiting.saturating_sub(1) as u64)
        .saturating_mul(batch)
        .saturating_add(windows as u64)
        .saturating_add(parameters.memory_bytes(BLOCK_BITS as u32))
}
