//! One party of an endless stream of computations, made up from a seed, whose outputs are all compared with plain evaluation.
//!
//! All parties draw the same computations from the same seed, inputs included: nothing of it is secret. Party 0 says, by inputs that
//! are opened to all, how many computations come next and when the stream ends.
//!
//! The stream begins with the largest computations that it will ever have, so that what memory it takes is taken at once, and what
//! is taken later is a leak.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote::stock::{self, Store};
use cenote::{Error, Protocol, Result};
use cenote_net::PartyId;
use cenote_session::{Connections, Demand, handshake};
use serde::{Deserialize, Serialize};

use super::circuits::SMALLEST;
use super::note::Note;
use super::stream::drive;

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
        let mut terms = prepared.terms(stock.is_some());
        terms.push(("seed".into(), self.seed.to_string()));
        terms.push(("largest".into(), self.largest.to_string()));
        let session = handshake(me, &mut connections, &terms, &())?;
        let mut engine = prepared.start(me, connections, &session, stock.as_ref())?;
        Ok(drive(&mut *engine, self.seed, self.length, self.largest, told)?)
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
