//! The engine: one party of a two-party session, whichever side it is on.

use std::sync::Arc;
use std::time::Instant;

use cenote_circuit::Plan;
use cenote_net::{Channel, PartyId};
use cenote_params::lego::{Account, Soundness};
use cenote_primitives::BitMatrix;
#[cfg(doc)]
use cenote_session::Engine;
use cenote_session::{Check, Demand, Error, Guarded, Ledger, Parties, Result, WireVector, check_input};

use crate::failure::told_all;
use crate::memory::{Held, most_ands};
use crate::online::tiles::slot_bytes;
use crate::online::{Evaluator, GARBLER, Garbler, Roles, Side};
use crate::wires::Bundle;
use crate::{Config, EvaluatorKeys, GarblerKeys, LegoWires, Order, checks, steps};

mod contract;
mod material;
mod open;
mod stored;

use open::Open;
pub use stored::{MadeLot, make_lot};

/// One party of a session of two, one of which garbles, the other evaluates (Nielsen, Schneider, Trifiletti 2017, Figures 1 and 2).
///
/// - [`Engine::prepare`] makes what is lacking of the function-independent material (Generate), and solders the circuit
///   (Build). It may be called again and again, and a circuit prepared several times can be run as often without another
///   word. Material for inputs and outputs is made ahead if [`Engine::prepare_values`] announces them, best before.
/// - [`Engine::input`] and [`Engine::run`] wait for nothing if all was prepared; the evaluator computes nothing yet.
/// - [`Engine::reveal`] is Eval: the evaluator's masked inputs, the garbler's answer, evaluation of everything that was run
///   since. Two messages, and a third if the garbler gets the output; if there are no new inputs of the evaluator's, one less.
///
/// What was not prepared is made when it is needed, a little more than that, with the rounds that it takes. Circuits that
/// depend on one another may be run one after the other for ever; a wire keeps what it was computed from (for an input bit
/// of the garbler's its gadgets, and the array of the epoch that they lie in), so that the evaluator can finish the
/// computation should the garbler cheat. [`Engine::settle`] ends that: labels remain, 56 bytes for each bit.
///
/// Memory is bounded whatever the number of AND gates: no more than [`Config::ahead`] of them are made or built ahead, and a
/// circuit with more is run in pieces of levels, each of which is built, evaluated and forgotten (unless it is run on
/// reserved inputs, or material for all of it was ordered by [`LegoEngine::generate`]). Circuits that are run without being
/// prepared are evaluated at once when they come to that many. What wires come from is kept, though: 56 bytes for each bit that
/// a circuit puts out, as long as anything depends on it.
///
/// [`Engine::costs`] has the phases "setup", "independent" (Generate), "dependent" (Build ahead of a run) and "online".
///
/// Dropping an engine without [`Engine::finish`] leaves the peer to find out by itself.
pub struct LegoEngine {
    me: PartyId,
    /// The first is the session's, all are Generate's.
    channels: Vec<Box<dyn Channel>>,
    config: Config,
    roles: Roles,
    /// `None` once the session is over.
    side: Option<Box<dyn Side>>,
    /// Announced, and not used yet.
    announced: Order,
    /// What is known of a program whose circuits are not.
    open: Option<Open>,
    /// What a group of lanes takes but for its outputs, if the announced program is run in groups or its circuit in pieces.
    group: Option<Order>,
    /// AND gates of circuits that are built and have not been run.
    built: u64,
    /// AND gates of circuits that were soldered when they were run, and have not been evaluated.
    waiting: u64,
    held: Held,
    ledger: Ledger,
    cheated: bool,
    /// Set-up and all that was generated, as the bounds count it.
    account: Option<Account>,
}

impl LegoEngine {
    /// Agrees with the peer on the session, and sets it up: base OTs, commitments, `Δ`. The session uses the first channel;
    /// each further one gives Generate another worker (Section V-B). All lead to the peer, and both parties have as many.
    ///
    /// # Errors
    /// [`Error::BadInput`] if there is no channel, or one does not lead to the other of parties 0 and 1; otherwise what
    /// failed, of which the peer is told.
    pub fn start(me: PartyId, channels: Vec<Box<dyn Channel>>, config: Config) -> Result<Self> {
        Self::begin(me, channels, config, "fresh".into(), |role, channel, config| {
            Ok(if role == GARBLER {
                Box::new(Garbler::new(GarblerKeys::setup(channel, config)?, None))
            } else {
                let keys = EvaluatorKeys::setup(channel, config)?;
                Box::new(Evaluator::new(keys, None, threads()))
            })
        })
    }

    /// Agrees with the peer on the session, with what the material is, and makes this party's side of it by `side`.
    fn begin(
        me: PartyId,
        mut channels: Vec<Box<dyn Channel>>,
        mut config: Config,
        material: String,
        side: impl FnOnce(PartyId, &mut dyn Channel, &mut Config) -> Result<Box<dyn Side>>,
    ) -> Result<Self> {
        let start = Instant::now();
        config.check()?;
        check_channels(me, &channels)?;
        let role = Roles::of(&config).role(me);
        let agreed = match config.compared {
            true => Ok(()),
            false => agree(&mut channels, &config, material),
        };
        let side = agreed.and_then(|()| side(role, channels[0].as_mut(), &mut config));
        let side = told_all(&mut channels, side)?;
        let mut engine = Self::with_side(me, channels, config, side);
        engine.ledger.costs.add_phase("setup", start.elapsed());
        Ok(engine)
    }

    fn with_side(me: PartyId, channels: Vec<Box<dyn Channel>>, config: Config, side: Box<dyn Side>) -> Self {
        Self {
            me,
            channels,
            roles: Roles::of(&config),
            config,
            side: Some(side),
            announced: Order::NOTHING,
            open: None,
            group: None,
            built: 0,
            waiting: 0,
            held: Held::default(),
            ledger: Ledger::default(),
            cheated: false,
            account: None,
        }
    }

    /// What material is left.
    pub fn stock(&self) -> Order {
        self.side
            .as_ref()
            .map_or(Order::NOTHING, |side| side.supply().left())
    }

    /// Makes material (Generate), or takes it from the lot of a session on stored material, whatever is there already. Both parties order the same.
    ///
    /// # Errors
    /// What failed; the session ends with it.
    pub fn generate(&mut self, order: Order) -> Result<()> {
        self.call("independent", |this| this.obtain(&order, order))
    }

    /// Input wires of `owner` whose bits are not known yet: circuits can be run on them, and so be soldered to their inputs
    /// ahead of them. [`LegoEngine::give`] must give the bits, in the order of reservation, before anything is revealed or
    /// put in at once.
    ///
    /// # Errors
    /// [`Error::BadInput`] for an owner that is no party; otherwise what failed.
    pub fn reserve(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        self.call("dependent", |this| {
            if owner.index() >= 2 {
                return Err(Error::BadInput(format!("an input of {owner}, of two parties")));
            }
            this.reserve_now(owner, wires, lanes)
        })
    }

    /// The bits of `wires`, which were reserved and are the first that have none: `wires` × `lanes` at their owner, `None` at
    /// the other party.
    ///
    /// # Errors
    /// [`Error::BadInput`] for other wires, or bits of another shape or at the wrong party; otherwise what failed.
    pub fn give(&mut self, owner: PartyId, wires: &LegoWires, bits: Option<&BitMatrix>) -> Result<()> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires.wires(), wires.lanes(), bits)?;
            let role = this.roles.role(owner);
            if !this
                .next_reserved()
                .is_some_and(|(next, of)| of == role && wires.0.are(next))
            {
                let reason =
                    "these wires are not those that were reserved first and have no bits, or another party's";
                return Err(Error::BadInput(reason.into()));
            }
            this.give_now(bits)
        })
    }

    /// The input that is to be given next, and whose it is, by role.
    fn next_reserved(&self) -> Option<(&Arc<Bundle>, PartyId)> {
        self.side.as_ref()?.reserved()
    }

    fn reserve_now(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        self.secure(self.to_input(owner, wires, lanes))?;
        let owner = self.roles.role(owner);
        self.parts().0.reserve(owner, wires, lanes)
    }

    fn give_now(&mut self, bits: Option<&BitMatrix>) -> Result<()> {
        let (side, channel) = self.parts();
        side.give(bits, channel)
    }

    /// Most threads that evaluate one circuit, as many as there are processors if this is not called; at least one.
    pub fn set_threads(&mut self, threads: usize) {
        self.side.iter_mut().for_each(|side| side.set_threads(threads));
    }

    /// Everything that lets a cheater through by chance in this session so far; for stored material Theorem 2's bounds are what
    /// its lot was made for. `None` as long as there is no material.
    pub fn soundness(&self) -> Option<Soundness> {
        self.account.as_ref().map(Soundness::of)
    }

    /// Whether this party, the evaluator, has seen that the garbler has cheated, and got the right outputs nevertheless. It
    /// is told to nobody else: when the garbler learns of it, it learns something of this party's inputs.
    pub fn peer_cheated(&self) -> bool {
        self.side.as_ref().map_or(self.cheated, |side| side.cheated())
    }

    /// Runs a circuit that is too large to be built as a whole: piece by piece, each of which is built, evaluated and
    /// forgotten.
    fn run_in_pieces(&mut self, plan: &Plan, inputs: &LegoWires) -> Result<LegoWires> {
        let lanes = inputs.lanes();
        let mut wires = inputs.clone();
        let pieces = plan.pieces(most_ands(lanes, self.config.ahead));
        let bytes = pieces.bytes();
        for piece in pieces {
            let bytes = bytes.saturating_add(piece.bytes());
            self.held.between(count(wires.wires(), lanes), bytes);
            self.secure(Order {
                ands: count(piece.and_count(), lanes),
                ..Order::NOTHING
            })?;
            let (side, channel) = self.parts();
            wires = side.run(&piece, &wires, channel)?;
            self.note_run(&piece, lanes);
            self.compute()?;
            self.parts().0.forget(&piece);
            wires = wires.settled(None)?;
        }
        self.held.between(0, 0);
        wires.settled(Some((plan, inputs)))
    }

    /// Evaluates what was run without being prepared if that and `ands` more AND gates come to more than are made ahead, or
    /// gates must be made first: so two lots of them are held at most.
    fn make_room(&mut self, ands: u64) -> Result<()> {
        let much = self.waiting.saturating_add(ands) > self.config.ahead;
        let short = self.open.is_some() && self.stock().ands < ands;
        if self.waiting > 0 && (much || short) && self.next_reserved().is_none() {
            self.compute()?;
        }
        Ok(())
    }

    /// Eval, up to the labels of all that was run: nothing is opened.
    fn compute(&mut self) -> Result<()> {
        let (side, channel) = self.parts();
        let (_, rounds) = side.reveal(&LegoWires::none(), Parties::NONE, channel)?;
        self.ledger.costs.rounds += rounds;
        self.held.computed(self.built, self.open.is_some());
        self.waiting = 0;
        Ok(())
    }

    fn parts(&mut self) -> (&mut dyn Side, &mut dyn Channel) {
        (live(&mut self.side), self.channels[0].as_mut())
    }

    /// What `count` wires and lanes of inputs take.
    fn to_input(&self, owner: PartyId, wires: usize, lanes: usize) -> Order {
        self.order(&Demand::new().and_input(owner, count(wires, lanes)))
    }

    fn order(&self, demand: &Demand<'_>) -> Order {
        Order::of(demand, self.config.garbler)
    }

    /// Notes the memory that is held while `order` and so many new wires are used, and so many bytes besides.
    fn note_use(&mut self, order: &Order, wires: u64, besides: u64) {
        let stock = self.stock().beyond(order);
        let using = self.parts().0.supply().memory_in_use();
        let most = self.held.take(stock, order, wires, using);
        self.ledger.costs.memory_bytes = self.ledger.costs.memory_bytes.max(most.saturating_add(besides));
    }

    /// Notes the memory that is held while a circuit is built or evaluated.
    fn note_run(&mut self, plan: &Plan, lanes: usize) {
        let threads = self.parts().0.threads() as u64;
        let slots = threads
            .saturating_mul(slot_bytes(plan))
            .saturating_add(plan.bytes());
        self.note_use(&Order::NOTHING, count(plan.output_wires(), lanes), slots);
    }

    /// Says to the peer that the session has come to its good end, and waits until it says the same.
    fn farewell(&mut self) -> Result<()> {
        let (side, channel) = self.parts();
        side.clear_line(channel)?;
        cenote_session::farewell([channel], steps::FINISH)
    }
}

impl Guarded for LegoEngine {
    const CHECKS: &'static [Check] = checks::ALL;

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn abort(&mut self, error: Error) -> Error {
        if error.check().is_some() {
            self.side.iter_mut().for_each(|side| side.supply_mut().burn());
        }
        let code = error.reason().code();
        self.channels.iter_mut().for_each(|channel| channel.abort(code));
        error
    }

    fn clear(&mut self) {
        self.cheated = self.peer_cheated();
        if self.cheated {
            tracing::error!(me = %self.me, "the garbler has cheated; outputs so far are right nevertheless");
        }
        self.side = None;
        self.channels.clear();
    }
}

/// The side of a session that goes on.
fn live(side: &mut Option<Box<dyn Side>>) -> &mut dyn Side {
    side.as_deref_mut().expect("a session that goes on has a side")
}

/// Bits of `wires` in `lanes`.
fn count(wires: usize, lanes: usize) -> u64 {
    (wires as u64).saturating_mul(lanes as u64)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn check_channels(me: PartyId, channels: &[Box<dyn Channel>]) -> Result<()> {
    if me.0 > 1 {
        return Err(Error::BadInput(format!("{me} of a session of two")));
    }
    let peer = PartyId(1 - me.0);
    if channels.is_empty() {
        return Err(Error::BadInput("a session needs a channel".into()));
    }
    match channels.iter().find(|channel| channel.peer() != peer) {
        Some(channel) => Err(Error::BadInput(format!(
            "a channel of {me} leads to {}",
            channel.peer()
        ))),
        None => Ok(()),
    }
}

/// Makes sure that the peer was started with the same settings.
fn agree(channels: &mut [Box<dyn Channel>], config: &Config, material: String) -> Result<()> {
    let mut terms = config.terms(channels.len());
    terms.push(("session".into(), config.session.clone()));
    terms.push(("material".into(), material));
    Ok(cenote_net::agree(channels[0].as_mut(), &terms)?)
}

#[cfg(test)]
mod tests;
