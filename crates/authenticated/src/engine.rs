//! The engine: one party of a two-party session, whichever side it is on.

use std::time::{Duration, Instant};

use cenote_net::{Channel, PartyId};
use cenote_params::authenticated::{Soundness, Use};
use cenote_params::lpn::Lpn;
use cenote_pool::Role;
use cenote_pool::kept::KeptPool;
use cenote_pool::session::{agree, check_channels};
#[cfg(doc)]
use cenote_session::Engine;
use cenote_session::{Check, Error, Guarded, Ledger, Recent, Result};
use cenote_store::{ItemId, Store};

use crate::memory::Memory;
use crate::offline::{Lots, Supply};
use crate::online::Party;
use crate::online::circuit::Circuit;
use crate::online::ready::Ready;
use crate::settings::{Config, Sizes};
use crate::setup::Keys;
use crate::{checks, kept};

mod ahead;
mod contract;

/// One party of a session of two with authenticated garbling over a pool of leaky ANDs.
///
/// - The pool is filled when a gate is first needed, or by [`AuthenticatedEngine::fill`], and is full ever after.
/// - [`Engine::run`] garbles and evaluates at once; circuits may depend on one another for ever. All gates are checked before anything is
///   revealed.
///
/// [`Engine::costs`] has the phases "setup", "pool" (filling it for the first time) and "online".
///
/// Dropping an engine without [`Engine::finish`] leaves the peer to find out by itself.
pub struct AuthenticatedEngine {
    me: PartyId,
    channel: Option<Box<dyn Channel>>,
    garbler: PartyId,
    sizes: Sizes,
    symbols: u32,
    generator: Option<Lpn>,
    /// `None` once the session is over.
    party: Option<Box<Party>>,
    circuits: Recent<Circuit>,
    /// Circuits that were garbled ahead, claimed and read when their runs were announced.
    claimed: Vec<([u8; 32], Ready)>,
    ledger: Ledger,
    /// Pools with this peer that ended with a check that failed or was cut off.
    ends: u32,
    /// What the primitives were used for, once the session is over.
    used: Option<Use>,
}

impl AuthenticatedEngine {
    /// Agrees with the peer on the session, and sets it up.
    ///
    /// # Errors
    /// [`Error::BadInput`] for numbers that make no sense; otherwise what failed, of which the peer is told.
    pub fn start(me: PartyId, channel: Box<dyn Channel>, config: Config, sizes: Sizes) -> Result<Self> {
        Self::start_over(me, channel, config, sizes, None)
    }

    /// The same over a pool that both parties keep in their stores: the latest one of the same security and garbler that both can put back,
    /// whatever its size; if there is none, one of these `sizes` is made and kept. The session ends as it should with [`Engine::finish`]; a
    /// session that is cut off anywhere costs material only.
    ///
    /// # Errors
    /// As [`AuthenticatedEngine::start`]; [`Error::Storage`] for what is wrong with the folder.
    pub fn start_kept(
        me: PartyId,
        channel: Box<dyn Channel>,
        config: Config,
        sizes: Sizes,
        store: &Store,
    ) -> Result<Self> {
        Self::start_over(me, channel, config, sizes, Some(store))
    }

    fn start_over(
        me: PartyId,
        mut channel: Box<dyn Channel>,
        mut config: Config,
        sizes: Sizes,
        store: Option<&Store>,
    ) -> Result<Self> {
        let start = Instant::now();
        config.check()?;
        check_channels(me, &[&*channel])?;
        let set_up = Self::set_up(me, channel.as_mut(), &mut config, sizes, store);
        let (sizes, party) = set_up.map_err(|error| {
            channel.abort(error.reason().code());
            error.with_checks(checks::ALL)
        })?;
        Ok(Self::begun(me, channel, &config, sizes, party, start.elapsed()))
    }

    /// A session of a party that was set up in this time.
    fn begun(
        me: PartyId,
        channel: Box<dyn Channel>,
        config: &Config,
        sizes: Sizes,
        party: Party,
        setup: Duration,
    ) -> Self {
        let mut ledger = Ledger::default();
        ledger.costs.add_phase("setup", setup);
        let memory = Memory {
            sizes: &sizes,
            lot: config.lots()[1].into(),
            segment: config.segment.into(),
            generator: config.generator,
        };
        ledger.costs.memory_bytes = memory.supply();
        Self {
            me,
            channel: Some(channel),
            garbler: config.garbler,
            ends: party.keys.kept.as_ref().map_or(0, |kept| kept.ends()),
            sizes,
            symbols: config.symbols,
            generator: config.generator,
            party: Some(Box::new(party)),
            circuits: Recent::new(Circuit::KEPT, Circuit::bytes),
            claimed: Vec::new(),
            ledger,
            used: None,
        }
    }

    fn set_up(
        me: PartyId,
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: Sizes,
        store: Option<&Store>,
    ) -> Result<(Sizes, Party)> {
        if !config.compared {
            agree(channel, [config.terms(), sizes.terms()], &config.session)?;
        }
        let begun = kept::begin(me, channel, config, sizes, store)?;
        let keys = begun.checked(Keys::begin(&begun, channel, config, Role::of(me, config.garbler)))?;
        let [copy, _] = begun.copies;
        let kept = begun.kept.map(|kept| (kept, copy));
        let supply = Supply::new(&begun.sizes, Lots::new(config, &begun.sizes), kept)?;
        Ok((begun.sizes, Party::new(keys, supply, config.segment as usize)))
    }

    /// Fills the pool, so that nothing waits for it later.
    ///
    /// # Errors
    /// What failed; the session ends with it.
    pub fn fill(&mut self) -> Result<()> {
        self.ready(1)
    }

    /// Makes so many triples ready, and masks for their products.
    ///
    /// # Errors
    /// What failed; the session ends with it.
    pub fn ready(&mut self, gates: usize) -> Result<()> {
        self.call("pool", |this| {
            let (party, channel) = this.parts();
            party.fill(channel, gates)
        })
    }

    /// Fills the pool, while `progress` is told how many leaky ANDs are in it, of how many.
    ///
    /// # Errors
    /// As [`AuthenticatedEngine::fill`].
    pub fn fill_with(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let all = self.pool_size();
        self.call("pool", |this| {
            let (party, channel) = this.parts();
            party.fill_telling(channel, 1, &mut |made| progress(made, all))
        })
    }

    /// What is on disk, if the pool is kept and the session goes on.
    fn kept(&self) -> Option<&KeptPool> {
        self.party.as_ref()?.keys.kept.as_deref()
    }

    /// The name of the pool in the store, if it is kept.
    pub fn kept_as(&self) -> Option<ItemId> {
        self.kept().map(KeptPool::id)
    }

    /// Leaky ANDs that the pool holds when it is full.
    pub fn pool_size(&self) -> u64 {
        self.sizes.pool.pool_size
    }

    /// Leaky ANDs drawn from the pool so far.
    pub fn drawn(&self) -> u64 {
        self.party.as_ref().map_or(0, |party| party.supply.pool.drawn())
    }

    /// Lots that were made for a pool that is kept, in all of its sessions.
    #[cfg(test)]
    pub(crate) fn made(&self) -> u64 {
        self.kept().map_or(0, |kept| kept.next(0))
    }

    /// Everything that lets a cheater through by chance in this session, and before it over the same pool.
    pub fn soundness(&self) -> Soundness {
        let nothing = || Use::of(0.0, 0.0, self.symbols, self.generator);
        let used = self.used().unwrap_or_else(nothing);
        Soundness::of(&self.sizes.pool, self.sizes.leaky_bits, &used)
    }

    /// What this session has done, and those before it over the same pool.
    pub(crate) fn used(&self) -> Option<Use> {
        let party = self.party.as_ref();
        party.map(|party| party.keys.used()).or(self.used)
    }

    fn parts(&mut self) -> (&mut Party, &mut dyn Channel) {
        let party = self
            .party
            .as_deref_mut()
            .expect("a session that goes on has a party");
        (party, self.channel.as_deref_mut().expect("and a channel"))
    }

    fn role(&self, party: PartyId) -> Role {
        Role::of(party, self.garbler)
    }

    /// Fills the pool if gates are needed, as a phase of its own.
    fn filled(&mut self) -> Result<()> {
        let start = Instant::now();
        let (party, channel) = self.parts();
        if !party.supply.pool.is_full() {
            party.fill(channel, 1)?;
            self.ledger.add_part("pool", start.elapsed());
        }
        Ok(())
    }
}

impl Guarded for AuthenticatedEngine {
    const CHECKS: &'static [Check] = checks::ALL;

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn abort(&mut self, error: Error) -> Error {
        // A party that was caught, or says so, gets nothing more of this pool; before it hears of it.
        if let Some(kept) = self.kept() {
            kept.retire_after(&error);
        }
        let code = error.reason().code();
        self.channel.iter_mut().for_each(|channel| channel.abort(code));
        error
    }

    fn clear(&mut self) {
        self.used = self.used();
        self.claimed.clear();
        self.party = None;
        self.channel = None;
    }
}

#[cfg(test)]
mod tests;
