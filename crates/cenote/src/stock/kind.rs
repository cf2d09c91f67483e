//! Kinds of stock, for those who keep it full for jobs that nobody knows yet.

use std::time::Duration;

use cenote_net::PartyId;
use cenote_protocol::{Amount, Made};
use cenote_session::{Connections, Demand, Parties, Phases, handshake};
use cenote_store::{Store, Stored};
use sha2::{Digest as _, Sha256};

use crate::registry::Ordered;
use crate::{Error, Prepared, Program, Protocol, Result};

/// AND gates of a typical job that have a bit of input of each party.
const ANDS_PER_INPUT: u64 = 4;
/// Those that have a bit of output for each party alone.
const ANDS_PER_OUTPUT: u64 = 8;

/// What serves jobs of one protocol with the same settings. Its parameters suit jobs of a typical size; others can use it too. It is
/// counted in *runs* of a typical job.
#[derive(Clone, Debug, PartialEq)]
pub struct StockKind {
    protocol: Protocol,
    job: u64,
}

impl StockKind {
    /// Stock of `protocol` for jobs of about `job` AND gates.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none.
    pub fn new(protocol: Protocol, job: u64) -> Result<Self> {
        let kind = StockKind { protocol, job };
        if job == 0 {
            return Err(Error::Usage("a typical job has AND gates".into()));
        }
        kind.order(1)?;
        Ok(kind)
    }

    /// The protocol with its settings.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// AND gates of a typical job.
    pub fn job(&self) -> u64 {
        self.job
    }

    /// What tells it from others.
    pub fn digest(&self) -> [u8; 32] {
        let settings = serde_json::to_vec(&self.protocol).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(b"cenote: kind of stock, version 1");
        hash.update(self.job.to_le_bytes());
        hash.update(settings);
        hash.finalize().into()
    }

    fn typical(&self, runs: u64) -> Demand<'static> {
        let ands = self.job.saturating_mul(runs);
        let parties = self.protocol.parties();
        (0..parties).fold(Demand::new().and_gates(ands), |demand, party| {
            let (party, input) = (PartyId(party), ands.div_ceil(ANDS_PER_INPUT));
            demand
                .and_input(party, input)
                .and_entering(input)
                .and_output(Parties::one(party), ands.div_ceil(ANDS_PER_OUTPUT))
        })
    }

    fn order(&self, runs: u64) -> Result<Ordered> {
        self.protocol.order_stock(&self.typical(1), Amount::Runs(runs))
    }

    /// How many typical jobs each item serves, one after the other; `u64::MAX` if any number, and nothing if it is of another kind.
    pub fn runs(&self, items: &[Stored]) -> Vec<Option<u64>> {
        let typical = self.typical(1);
        let prepared = self.protocol.prepare(&typical).ok();
        let runs = |stored| prepared.as_ref()?.serves(&typical, stored);
        items.iter().map(runs).collect()
    }

    /// The parameters of a session that runs `program` with such stock.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub fn prepare(&self, program: &Program) -> Result<Prepared> {
        self.protocol.prepare_stored(&program.demand(), &self.typical(1))
    }

    /// The most bytes of memory that party `me` takes to make stock for so many runs, about.
    ///
    /// # Errors
    /// As [`StockKind::prepare`].
    pub fn memory_bytes(&self, runs: u64, me: PartyId) -> Result<u64> {
        let prepared = self
            .protocol
            .prepare_stored(&self.typical(runs), &self.typical(1))?;
        Ok(prepared.session_bytes(&self.typical(runs), me))
    }

    /// The bytes that party `me` sends and receives to make stock for so many runs, about: no less than what is put on the disk.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such amount.
    pub fn traffic_bytes(&self, runs: u64) -> Result<u64> {
        Ok(self.order(runs)?.traffic_bytes())
    }

    /// Makes stock for so many runs as party `me`, over `connections` of the session of this name, which no other has. A phase takes at most `limit`.
    ///
    /// # Errors
    /// Those of [`make`](super::make).
    pub fn make(
        &self,
        runs: u64,
        me: PartyId,
        mut connections: Connections,
        session: &str,
        limit: Duration,
        store: &Store,
    ) -> Result<Made> {
        let order = self.order(runs)?;
        let phases: Phases = connections.phases(limit);
        phases.begin("the handshake");
        let mut terms = order.terms();
        terms.push(("session".into(), session.into()));
        let session = handshake(me, &mut connections, &terms, &())?;
        phases.begin("the making of stock");
        order.make(me, connections, &session, store, &mut |_, _| ())
    }
}

impl Prepared {
    /// Whether an item of stock suffices for a session that is prepared so and runs `program`.
    pub fn suffices(&self, program: &Program, stored: &Stored) -> bool {
        self.serves(&program.demand(), stored)
            .is_some_and(|runs| runs > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Three, Variant};

    #[test]
    fn kinds_differ_by_settings_and_by_typical_job() {
        let three = Three {
            variant: Some(Variant::OnDemand.into()),
            ..Three::default()
        };
        let others = ["lego", "jimu", "authenticated"].map(|name| Protocol::named(name).expect("there"));
        for protocol in std::iter::once(three.into()).chain(others) {
            let kind = |job| StockKind::new(protocol.clone(), job);
            let (small, large) = (kind(1000).expect("a kind"), kind(1 << 20).expect("a kind"));
            assert_ne!(small.digest(), large.digest());
            assert_eq!(small.digest(), small.clone().digest());
            assert!(small.traffic_bytes(1).expect("there") <= large.traffic_bytes(1).expect("there"));
            assert!(small.memory_bytes(1, PartyId(0)).expect("there") > 0);
            assert!(kind(0).is_err());
        }
    }
}
