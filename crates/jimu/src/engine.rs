//! The engine: one party of a two-party session, whichever side it is on.

use std::time::Instant;

use cenote_net::{Channel, PartyId};
use cenote_params::computational::JimuUse;
use cenote_params::pool::Soundness;
use cenote_pool::Role;
use cenote_pool::kept::KeptPool;
use cenote_pool::session::{agree, check_channels};
#[cfg(doc)]
use cenote_session::Engine;
use cenote_session::{Check, Error, Guarded, Ledger, Recent, Result, WireVector};
use cenote_store::{ItemId, Store};

use crate::gadget::GadgetKind;
use crate::keys::Keys;
use crate::memory::Memory;
use crate::offline::Maker;
use crate::online::circuit::Circuit;
use crate::online::{Side, Supplied};
use crate::settings::{Config, Sizes};
use crate::{JimuWires, checks, kept};

mod contract;

/// One party of a session of two over a pool of garbled gates (Zhu, Huang, Cassel 2017; Zhu, Huang 2017).
///
/// - The pool is filled when a gate is first needed, or by [`JimuEngine::fill`], and is full ever after. What is to replace drawn gates
///   is made by a thread of its own over a channel of its own, beside what the engine is asked for.
/// - [`Engine::input`] makes wires at once. [`Engine::run`] draws, solders and evaluates: the garbler streams, and waits for nothing but a
///   refill, once in so many gates. [`Engine::reveal`] is one message, and one more if the garbler gets the output.
/// - Circuits may depend on one another for ever. A wire keeps what it was computed from so that the evaluator can finish the computation
///   should the garbler cheat; when that has become much, outputs are *anchored* to gates of their own, and all that came before
///   is forgotten. [`Engine::settle`] forgets at once, and anchors only what is used again.
///
/// [`Engine::costs`] has the phases "setup", "pool" (filling it for the first time) and "online".
///
/// Dropping an engine without [`Engine::finish`] leaves the peer to find out by itself.
pub struct JimuEngine {
    me: PartyId,
    channel: Option<Box<dyn Channel>>,
    garbler: PartyId,
    sizes: Sizes,
    /// `None` once the session is over.
    side: Option<Box<dyn Side>>,
    circuits: Recent<Circuit>,
    ledger: Ledger,
    /// Pools with this peer that ended with a check that failed or was cut off.
    ends: u32,
    /// Whether the peer had cheated in an earlier session.
    has_cheated: bool,
    /// Whether gates are to be drawn.
    announced: bool,
    cheated: bool,
    /// What the primitives were used for, once the session is over.
    used: Option<JimuUse>,
}

impl JimuEngine {
    /// Agrees with the peer on the session, and sets it up, over a channel to compute and one to fill the pool.
    ///
    /// # Errors
    /// [`Error::BadInput`] for numbers that make no sense; otherwise what failed, of which the peer is told.
    pub fn start(me: PartyId, channels: [Box<dyn Channel>; 2], config: Config, sizes: Sizes) -> Result<Self> {
        Self::start_over(me, channels, config, sizes, None)
    }

    /// The same over a pool that both parties keep in their stores: the latest one of the same security and garbler that both can put back,
    /// whatever its size; if there is none, one of these `sizes` is made and kept. The session ends as it should with [`Engine::finish`]; a
    /// session that is cut off anywhere costs material only.
    ///
    /// # Errors
    /// As [`JimuEngine::start`]; [`Error::Storage`] for what is wrong with the folder.
    pub fn start_kept(
        me: PartyId,
        channels: [Box<dyn Channel>; 2],
        config: Config,
        sizes: Sizes,
        store: &Store,
    ) -> Result<Self> {
        Self::start_over(me, channels, config, sizes, Some(store))
    }

    fn start_over(
        me: PartyId,
        [mut channel, mut of_pool]: [Box<dyn Channel>; 2],
        mut config: Config,
        sizes: Sizes,
        store: Option<&Store>,
    ) -> Result<Self> {
        let start = Instant::now();
        config.check()?;
        check_channels(me, &[&*channel, &*of_pool])?;
        let set_up = Self::set_up(me, channel.as_mut(), &mut config, sizes, store);
        let (sizes, keys, supplied) = set_up.map_err(|error| {
            for channel in [&mut channel, &mut of_pool] {
                channel.abort(error.reason().code());
            }
            error.with_checks(checks::ALL)
        })?;
        let buffers = supplied.buffers;
        let ends = supplied.kept.as_ref().map_or(0, |kept| kept.ends());
        let has_cheated = supplied.kept.as_ref().is_some_and(|kept| kept.has_cheated());
        let start_maker = |make| Maker::start(make, of_pool, channel.interrupter());
        let side = keys.side(&sizes, supplied, start_maker)?;
        let mut ledger = Ledger::default();
        ledger.costs.add_phase("setup", start.elapsed());
        let role = Role::of(me, config.garbler);
        ledger.costs.memory_bytes = Memory::of(&sizes, role).supply(buffers, config.ahead);
        Ok(Self {
            me,
            channel: Some(channel),
            garbler: config.garbler,
            sizes,
            side: Some(side),
            circuits: Recent::new(Circuit::KEPT, Circuit::bytes),
            ledger,
            ends,
            has_cheated,
            announced: false,
            cheated: false,
            used: None,
        })
    }

    fn set_up(
        me: PartyId,
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: Sizes,
        store: Option<&Store>,
    ) -> Result<(Sizes, Keys, Supplied)> {
        if !config.compared {
            agree(channel, [config.terms(), sizes.terms()], &config.session)?;
        }
        let begun = kept::begin(me, channel, config, sizes, store)?;
        let keys = begun.checked(Keys::begin(&begun, channel, config))?;
        let supplied = Supplied {
            buffers: [config.buffer, config.mux_buffer],
            ahead: config.ahead,
            copies: begun.copies,
            kept: begun.kept,
            session: begun.which.number,
        };
        Ok((begun.sizes, keys, supplied))
    }

    /// Fills the pool of AND gates, so that nothing waits for it later.
    ///
    /// # Errors
    /// What failed; the session ends with it.
    pub fn fill(&mut self) -> Result<()> {
        self.fill_with(&mut |_, _| ())
    }

    /// Fills the pool of AND gates, and leaves the other one to be filled when it is needed.
    ///
    /// # Errors
    /// As [`JimuEngine::fill`].
    pub fn fill_gates(&mut self) -> Result<()> {
        self.call("pool", |this| {
            let (side, channel) = this.parts();
            side.common_mut().ready(GadgetKind::And, 1, channel)
        })
    }

    /// The same as [`JimuEngine::fill`], while `progress` is told how many gadgets are in the pools, of how many.
    ///
    /// # Errors
    /// As [`JimuEngine::fill`].
    pub fn fill_with(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.call("pool", |this| this.fill_all(progress))
    }

    /// Fills the pools that are not full.
    fn fill_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let all = self.pool_sizes().iter().sum();
        let (side, channel) = self.parts();
        let mut done = 0;
        for kind in side.common().kinds() {
            let common = side.common_mut();
            common.ready_telling(kind, 1, channel, &mut |gadgets| {
                progress(done + gadgets as u64, all)
            })?;
            done += common.supply(kind).pool.len() as u64;
        }
        Ok(())
    }

    /// The name of the pool in the store, if it is kept.
    pub fn kept_as(&self) -> Option<ItemId> {
        let kept = self.side.as_deref().and_then(|side| side.common().kept());
        kept.map(KeptPool::id)
    }

    /// Gadgets that the pools hold when they are full: AND gates, and those of [`crate::MUX_WIDTH`].
    pub fn pool_sizes(&self) -> [u64; 2] {
        let muxes = self.sizes.mux.as_ref().map_or(0, |mux| mux.pool_size());
        [self.sizes.pool.pool_size(), muxes]
    }

    /// AND gates drawn from the pool so far, [`crate::MUX_WIDTH`]-fold gadgets aside: for gates, inputs and outputs.
    pub fn drawn(&self) -> u64 {
        let drawn = |side: &dyn Side| side.common().supply(GadgetKind::And).pool.drawn();
        self.side.as_deref().map_or(0, drawn)
    }

    /// Deliveries of gates to a pool that is kept, in all of its sessions.
    #[cfg(test)]
    pub(crate) fn made(&self) -> u64 {
        let kept = self.side.as_deref().and_then(|side| side.common().kept());
        kept.map_or(0, |kept| kept.next(GadgetKind::And as usize))
    }

    /// Everything that lets a cheater through by chance in this session.
    pub fn soundness(&self) -> Soundness {
        let pools: Vec<_> = self.sizes.pools().collect();
        let Sizes {
            security,
            labels,
            anchor,
            ..
        } = &self.sizes;
        Soundness::of(&pools, anchor, labels, *security)
    }

    /// Whether this party, the evaluator, has seen that the garbler has cheated, and got the right outputs nevertheless. It
    /// is told to nobody else: when the garbler learns of it, it learns something of this party's inputs.
    pub fn peer_cheated(&self) -> bool {
        self.side.as_ref().map_or(self.cheated, |side| side.cheated())
    }

    /// What the primitives were used for.
    fn used(&self) -> Option<JimuUse> {
        let side = self.side.as_ref();
        side.map(|side| side.common().used()).or(self.used)
    }

    fn parts(&mut self) -> (&mut dyn Side, &mut dyn Channel) {
        let side = self
            .side
            .as_deref_mut()
            .expect("a session that goes on has a side");
        (side, self.channel.as_deref_mut().expect("and a channel"))
    }

    fn role(&self, party: PartyId) -> Role {
        Role::of(party, self.garbler)
    }

    /// The same wires, of which those that were settled are anchored: they are used again after all.
    fn unsettled(&mut self, wires: &JimuWires) -> Result<JimuWires> {
        if !wires.are_settled() {
            return Ok(wires.clone());
        }
        self.filled()?;
        let (side, channel) = self.parts();
        let (mut parts, mut first) = (Vec::new(), 0);
        for (count, settled) in wires
            .parts()
            .iter()
            .map(|part| (part.range.len(), part.bundle.settled))
        {
            let part = wires.select(first..first + count);
            first += count;
            parts.push(if settled {
                side.anchor(&part, channel)?
            } else {
                part
            });
        }
        Ok(JimuWires::concat(&parts.iter().collect::<Vec<_>>()))
    }

    /// Fills the pool if gates are needed, as a phase of its own.
    fn filled(&mut self) -> Result<()> {
        let start = Instant::now();
        let (side, _) = self.parts();
        if !side.common().supply(GadgetKind::And).pool.is_full() {
            self.fill_all(&mut |_, _| ())?;
            self.ledger.add_part("pool", start.elapsed());
        }
        Ok(())
    }
}

impl Guarded for JimuEngine {
    const CHECKS: &'static [Check] = checks::ALL;

    fn check_others(&self) -> Result<()> {
        self.side.as_ref().map_or(Ok(()), |side| side.common().check())
    }

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn abort(&mut self, error: Error) -> Error {
        let Some(side) = &mut self.side else {
            return error;
        };
        let maker = side.common_mut().maker();
        let error = maker.explain(error);
        let code = error.reason().code();
        // A garbler that was caught, or an evaluator that says so, gets nothing more of this pool; before it hears of it.
        let common = side.common_mut();
        if let Some(kept) = common.kept() {
            kept.retire_after(&error);
        }
        common.maker().stop(code);
        self.channel.iter_mut().for_each(|channel| channel.abort(code));
        error
    }

    fn clear(&mut self) {
        if let Some(side) = self.side.as_deref()
            && let Some(kept) = side.common().kept()
            && let Err(error) = kept.note_end(side.cheated())
        {
            tracing::error!(%error, "the end of a session over a pool cannot be noted");
        }
        self.used = self.used();
        self.cheated = self.peer_cheated();
        if self.cheated {
            tracing::error!(me = %self.me, "the garbler has cheated; outputs so far are right nevertheless");
        }
        self.side = None;
        self.channel = None;
    }
}

#[cfg(test)]
mod tests;
