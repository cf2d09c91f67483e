//! An endless stream of computations, made up from a seed, whose outputs are all compared with plain evaluation.
//!
//! All parties draw the same computations from the same seed, inputs included: nothing of it is secret. Party 0 says, by inputs that
//! are opened to all, how many computations come next and when the stream ends.
//!
//! The stream begins with the largest computations that it will ever have, so that what memory it takes is taken at once, and what
//! is taken later is a leak.

mod circuits;
mod computation;
mod dice;
mod stream;
#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_net::PartyId;
use cenote_session::{Connections, Demand, handshake};
use cenote_store::Store;
use serde::{Deserialize, Serialize};

use crate::runner::with_version;
use crate::{Error, Protocol, Result, stock};

pub(crate) use stream::drive;

/// AND gates of the smallest computation, about.
pub const SMALLEST: u64 = 10;

/// Circuits of a computation that depend on one another, at most.
const MOST_STEPS: usize = 6;

/// A stream of computations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Soak {
    /// What computes them.
    pub protocol: Protocol,
    /// How long new ones are begun, after the largest.
    pub length: Duration,
    /// What they are drawn from.
    pub seed: u64,
    /// AND gates of the largest of them, about.
    pub largest: u64,
    /// The folder with the parties' stock, which is made if there is none; with it, sessions use and keep what their protocol keeps. It also
    /// gets a file for each party with the numbers of all material that is used ([`Store::audited`]).
    #[serde(default)]
    pub stock: Option<PathBuf>,
}

/// What one party has seen of a stream so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The party.
    pub party: u8,
    /// Seconds since the session has begun.
    pub seconds: f64,
    /// Whether the largest computations are over, with which the stream begins.
    pub warm: bool,
    /// Computations.
    pub computations: u64,
    /// Circuits that were run in them, each of them in all its lanes at once.
    pub runs: u64,
    /// AND gates of these, each counted in all lanes.
    pub and_gates: u64,
    /// AND gates of the smallest and of the largest of these.
    pub sizes: [u64; 2],
    /// Bits that were put in, by the parties whose they are.
    pub inputs: Vec<u64>,
    /// Bits that were opened, by the parties that learnt them.
    pub outputs: Vec<u64>,
    /// Bits that this party has learnt, and compared with plain evaluation.
    pub bits: u64,
    /// Values that were not what they must be.
    pub wrong: u64,
    /// Which was the first of them.
    pub first_wrong: Option<String>,
    /// The process's physical memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// The most that it has been.
    pub peak_memory_bytes: Option<u64>,
    /// What it has allocated and not freed, where that is counted.
    pub in_use_bytes: Option<u64>,
    /// The base-2 logarithm of the probability that a wrong output passes, at most.
    pub error_log2: f64,
    /// Bytes with frames sent to all peers.
    pub bytes_sent: u64,
    /// Bytes with frames received from them.
    pub bytes_received: u64,
    /// What the party should know besides.
    pub warnings: Vec<String>,
}

impl Note {
    /// Notes the physical memory that the process has, and the most that the system says it has had. Linux counts the latter less
    /// exactly: it can be some pages below what the process was seen to have.
    fn physical(&mut self, now: Option<u64>, most: Option<u64>) {
        self.memory_bytes = now;
        self.peak_memory_bytes = self.peak_memory_bytes.max(now).max(most);
    }
}

/// The stock of a party in a folder of all parties'.
fn open(folder: &Path, me: PartyId) -> Result<Store> {
    let fault = |error| Error::local(format!("opening {}", folder.display()), error);
    std::fs::create_dir_all(folder).map_err(fault)?;
    let of_party = |what: &str| folder.join(format!("{what}-{}", me.0));
    let store = stock::open_or_make(&of_party("stock"), &of_party("key"))?;
    let mut audit = OpenOptions::new();
    let audit = audit
        .create(true)
        .append(true)
        .open(audit_of(folder, me))
        .map_err(fault)?;
    Ok(store.audited(audit))
}

/// Where a party's sessions note what they use.
pub fn audit_of(folder: &Path, party: PartyId) -> PathBuf {
    folder.join(format!("audit-{}", party.0))
}

impl Soak {
    /// Computes as party `me` until the stream ends. `told` gets notes, a few seconds apart, of the same moments at all parties.
    ///
    /// # Errors
    /// [`Error::Usage`] for sizes that make no sense; [`Error::Protocol`] if a peer is different, lost or caught cheating. Wrong outputs are no
    /// failure, but in the notes.
    pub fn take_part(
        &self,
        me: PartyId,
        mut connections: Connections,
        told: &mut dyn FnMut(&Note),
    ) -> Result<Note> {
        let prepared = self.protocol.prepare(&self.demand()?)?;
        let stock = self.stock.as_deref().map(|folder| open(folder, me)).transpose()?;
        let mut terms = with_version(prepared.terms(stock.is_some()));
        terms.push(("seed".into(), self.seed.to_string()));
        terms.push(("largest".into(), self.largest.to_string()));
        let session = handshake(me, &mut connections, &terms, &())?;
        prepared.soak(me, connections, &session, self, stock.as_ref(), told)
    }

    /// Enough for parameters that suit a long stream.
    fn demand(&self) -> Result<Demand<'static>> {
        if !(SMALLEST..=1 << 32).contains(&self.largest) {
            let what = format!("the largest computation has {SMALLEST} to 2^32 AND gates");
            return Err(Error::Usage(what));
        }
        Ok(Demand::new().and_gates(10 * self.largest))
    }
}
