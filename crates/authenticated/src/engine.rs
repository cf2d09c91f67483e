//! The engine: one party of a two-party session, whichever side it is on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_circuit::Plan;
use cenote_net::{Channel, Meter, PartyId};
use cenote_params::authenticated::{self, Soundness, Use};
use cenote_params::lpn::Lpn;
use cenote_params::pool::tries_log2;
use cenote_pool::Role;
use cenote_pool::kept::Kept;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{
    Check, Costs, Engine, Error, Guarded, Ledger, Parties, Recent, Result, WireVector, check_arrange,
    check_input, check_run, compare_digests, farewell,
};
use cenote_store::{ItemId, Store};

use crate::kept;
use crate::memory::{Memory, most_lanes};
use crate::offline::Supply;
use crate::online::Party;
use crate::online::circuit::Circuit;
use crate::online::ready::{self, MOST_GATES, Ready};
use crate::settings::{Config, Sizes};
use crate::setup::{Base, Keys};
use crate::{AuthenticatedWires, checks, steps};

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
        if me.0 > 1 || channel.peer() != PartyId(1 - me.0) {
            let reason = format!("a channel of {me} leads to {}", channel.peer());
            return Err(Error::BadInput(reason));
        }
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
            lot: config.lot.into(),
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
            let mut terms = config.terms();
            terms.extend(sizes.terms());
            terms.push(("session".into(), config.session.clone()));
            cenote_net::agree(channel, &terms)?;
        }
        let (role, lot, segment) = (
            Role::of(me, config.garbler),
            config.lot as usize,
            config.segment as usize,
        );
        let Some(store) = store else {
            let supply = Supply::new(&sizes, lot, None)?;
            let base = Base::establish(channel, config, role)?;
            let keys = Keys::begin(&base, channel, config, &sizes, role, None)?;
            return Ok((sizes, Party::new(keys, supply, segment)));
        };
        let opened = kept::open(me, channel, config, &sizes, store.hold()?)?;
        config.session = opened.which.session(&config.session, opened.kept.id());
        let (kept, [copy, _]) = (Arc::new(opened.kept), opened.copies);
        let on_disk = Some(kept.clone());
        let keys = Keys::begin(&opened.base, channel, config, &opened.sizes, role, on_disk);
        let keys = keys.inspect_err(|error| kept.retire_after(error))?;
        let supply = Supply::new(&opened.sizes, lot, Some((kept, copy)))?;
        Ok((opened.sizes, Party::new(keys, supply, segment)))
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

    /// Garbles a circuit on so many lanes ahead of its inputs, and keeps it in the store with the pool's keys: the next run of it on as many
    /// lanes, of this session or a later one, takes its inputs, masked values and the check.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the pool is not kept, or the circuit has no lanes or more than 2^20 AND gates in all of them; [`Error::Exhausted`] if
    /// there are very many already; otherwise what failed.
    pub fn make_ready(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("pool", |this| {
            let gates = (plan.and_count() as u64).saturating_mul(lanes as u64);
            if lanes == 0 || gates > MOST_GATES {
                let reason = format!(
                    "a circuit of {gates} AND gates on {lanes} lanes: up to {MOST_GATES} can be garbled ahead"
                );
                return Err(Error::BadInput(reason));
            }
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            let (party, channel) = this.parts();
            let Some(kept) = party.keys.kept.clone() else {
                let reason = "circuits are garbled ahead for pools that are kept";
                return Err(Error::BadInput(reason.into()));
            };
            let mut ready = party.garble_ahead(&circuit, lanes, channel)?;
            let pieces = ready.pieces(party.keys.role);
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &**piece).collect();
            kept.put(&ready::name(&circuit, lanes), &pieces)
        })
    }

    /// How often a circuit was garbled ahead on so many lanes and is not used.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no room for the circuit.
    pub fn ready_circuits(&mut self, plan: &Plan, lanes: usize) -> Result<usize> {
        if self.kept().is_none() {
            return Ok(0);
        }
        let circuit = self.circuits.get(plan, || Circuit::new(plan))?;
        let name = ready::name(&circuit, lanes);
        let claimed = self.claimed.iter().filter(|(claimed, _)| *claimed == name);
        Ok(self.kept().map_or(0, |kept| kept.prepared(&name)) + claimed.count())
    }

    /// What was garbled ahead for such a run, and claimed when it was announced or is claimed now.
    fn take_ready(&mut self, circuit: &Circuit, lanes: usize) -> Result<Option<Ready>> {
        let name = ready::name(circuit, lanes);
        match self.claimed.iter().position(|(claimed, _)| *claimed == name) {
            Some(at) => Ok(Some(self.claimed.remove(at).1)),
            None => self.claim(circuit, lanes),
        }
    }

    /// What was garbled ahead for such a run, if there is any: it is claimed, for good.
    fn claim(&self, circuit: &Circuit, lanes: usize) -> Result<Option<Ready>> {
        let (role, name) = (self.role(self.me), ready::name(circuit, lanes));
        match self.kept() {
            Some(kept) if kept.prepared(&name) > 0 => {
                let mut ready = Ready::empty(circuit, lanes, role)?;
                let taken = kept.take(&name, &mut ready.pieces(role))?;
                Ok(taken.then_some(ready))
            }
            _ => Ok(None),
        }
    }

    /// What is on disk, if the pool is kept and the session goes on.
    fn kept(&self) -> Option<&Kept> {
        self.party.as_ref()?.keys.kept.as_deref()
    }

    /// The name of the pool in the store, if it is kept.
    pub fn kept_as(&self) -> Option<ItemId> {
        self.kept().map(Kept::id)
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
        Soundness::of(&self.sizes.pool, &used)
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

    /// Drops keys, material and the channel.
    fn clear(&mut self) {
        self.ledger.costs = self.costs();
        self.used = self.used();
        self.claimed.clear();
        self.party = None;
        self.channel = None;
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

    fn wipe(&mut self, error: Error) -> Error {
        // A party that was caught, or says so, gets nothing more of this pool; before it hears of it.
        if let Some(kept) = self.kept() {
            kept.retire_after(&error);
        }
        let code = error.reason().code();
        self.channel.iter_mut().for_each(|channel| channel.abort(code));
        self.clear();
        error
    }
}

impl Engine for AuthenticatedEngine {
    type Wires = AuthenticatedWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        2
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        match count {
            0 => Ok(()),
            _ => self.fill(),
        }
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        let gates = (plan.and_count() as u64).saturating_mul(lanes as u64);
        if gates == 0 {
            return Ok(());
        }
        if self.ready_circuits(plan, lanes)? == 0 {
            return self.prepare_gates(gates);
        }
        // The first of a session are on their way before there are inputs.
        let claimed: u64 = self.claimed.iter().map(|(_, ready)| ready.gates()).sum();
        if claimed.saturating_add(gates) > MOST_GATES {
            return Ok(());
        }
        let ready = self.call("pool", |this| {
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            let ready = this.claim(&circuit, lanes)?;
            Ok(ready.map(|ready| (ready::name(&circuit, lanes), ready)))
        })?;
        let Some(ready) = ready else {
            return self.prepare_gates(gates);
        };
        self.claimed.push(ready);
        let inputs = self.claimed.iter().map(|(_, ready)| ready.inputs()).sum();
        self.call("pool", |this| {
            let (party, channel) = this.parts();
            party.ready_inputs(inputs, channel)
        })
    }

    fn most_lanes(&self, plan: &Plan) -> usize {
        most_lanes(plan)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<AuthenticatedWires> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires, lanes, bits)?;
            let role = this.role(owner);
            this.ledger.costs.rounds += if role == Role::Garbler { 2 } else { 3 };
            let (party, channel) = this.parts();
            party.input(role, wires, lanes, bits, channel)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<AuthenticatedWires> {
        self.call("online", |this| this.parts().0.constant(bits))
    }

    fn run(&mut self, plan: &Plan, inputs: &AuthenticatedWires) -> Result<AuthenticatedWires> {
        self.call("online", |this| {
            check_run(plan, inputs)?;
            let ands = (plan.and_count() as u64).saturating_mul(inputs.lanes() as u64);
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            this.ledger.costs.and_gates += ands;
            if ands > 0 {
                this.ledger.costs.rounds += 2;
                if let Some(ready) = this.take_ready(&circuit, inputs.lanes())? {
                    let (party, channel) = this.parts();
                    return party.run_ready(&circuit, ready, inputs, channel);
                }
                this.filled()?;
            }
            let (party, channel) = this.parts();
            party.run(&circuit, inputs, channel)
        })
    }

    fn arrange(&mut self, parts: &[&AuthenticatedWires], runs: &[LaneRun]) -> Result<AuthenticatedWires> {
        self.call("online", |_| {
            check_arrange(parts, runs)?;
            AuthenticatedWires::arranged(parts, runs)
        })
    }

    fn reveal(&mut self, wires: &AuthenticatedWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("online", |this| {
            let roles: Vec<Role> = to.iter().map(|party| this.role(party)).collect();
            let mut outputs = None;
            this.ledger.costs.rounds += 2;
            for role in [Role::Evaluator, Role::Garbler] {
                if roles.contains(&role) {
                    this.ledger.costs.rounds += 1;
                    let (party, channel) = this.parts();
                    outputs = party.open(wires, role, channel)?.or(outputs);
                }
            }
            Ok(outputs)
        })
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.call("online", |this| {
            this.ledger.costs.rounds += 1;
            let (party, channel) = this.parts();
            party.settle(channel)?;
            compare_digests(&mut [channel], steps::COMPARE, digest)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.call("online", |this| {
            let (party, channel) = this.parts();
            party.settle(channel)?;
            party.supply.leave()?;
            party.keys.leave()?;
            farewell([channel], steps::FINISH)
        })?;
        self.clear();
        self.ledger.end("the session is finished");
        Ok(())
    }

    fn costs(&self) -> Costs {
        let mut costs = self.ledger.costs.clone();
        if let Some(channel) = &self.channel {
            costs.traffic = [channel.meter()].into_iter().sum::<Meter>();
        }
        costs
    }

    fn error_bound(&self) -> f64 {
        self.soundness().total().log2() + tries_log2(self.ends)
    }

    fn computational_bits(&self) -> f64 {
        self.used()
            .map_or(f64::INFINITY, |used| authenticated::primitives(&used).bits)
    }

    fn warnings(&self) -> Vec<String> {
        cenote_pool::kept::warning(self.ends).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
