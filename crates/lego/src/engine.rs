//! The engine: one party of a two-party session, garbler or evaluator, behind one type.
use crate::checks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_circuit::Plan;
use cenote_net::{Channel, Meter, PartyId};
use cenote_params::LogProb;
use cenote_primitives::BitMatrix;
use cenote_session::{
    Costs, Engine, Error, MESSAGE_FORM, Parties, Result, WireVector, check_input, check_run,
};

mod stored;

use crate::failure::told_all;
use crate::session::{
    Evaluator, GARBLER, Garbler, Roles, order_to_input, order_to_reveal, order_to_run, slot_bytes,
};
use crate::wires::Bundle;
use stored::Drawn;

pub use stored::{MadeLot, make_lot};

use crate::{Config, EvaluatorKeys, GarblerKeys, LegoWires, Order, estimate, steps};

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
/// computation should the garbler cheat.
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
    role: Option<Role>,
    /// Announced, and not used yet.
    announced: Order,
    costs: Costs,
    /// Time spent in generating since the current call began.
    generating: Duration,
    poisoned: Option<String>,
    cheated: bool,
    /// The sum of Theorem 2's bounds for all that was generated.
    error: Option<LogProb>,
    /// Where material comes from, if not from [`LegoEngine::make`].
    drawn: Option<Drawn>,
}

/// What a party does.
pub(crate) enum Role {
    Garbler(Box<Garbler>),
    Evaluator(Box<Evaluator>),
}

/// Why nothing can be revealed or put in.
const NOT_GIVEN: &str = "inputs were reserved whose bits have not been given";

/// Most inputs, outputs or ports that are made beyond what is asked for, so that few calls need to make any: the next
/// multiple of this is made.
const ROUNDING: u64 = 128;

/// The same for AND buckets, which are dear one by one.
const ROUNDING_ANDS: u64 = 1024;

impl LegoEngine {
    /// Agrees with the peer on the session, and sets it up: base OTs, commitments, `Δ`. The session uses the first channel;
    /// each further one gives Generate another worker (Section V-B). All lead to the peer, and both parties have as many.
    ///
    /// # Errors
    /// [`Error::BadInput`] if there is no channel, or one does not lead to the other of parties 0 and 1; otherwise what
    /// failed, of which the peer is told.
    pub fn start(me: PartyId, channels: Vec<Box<dyn Channel>>, config: Config) -> Result<Self> {
        let start = Instant::now();
        let (mut channels, mut config) = (channels, config);
        config.check()?;
        check_channels(me, &channels)?;
        let roles = Roles {
            garbler: config.garbler,
        };
        let role = agree(&mut channels, &config, "fresh".into()).and_then(|()| {
            Ok(match roles.role(me) {
                GARBLER => {
                    let keys = GarblerKeys::setup(channels[0].as_mut(), &mut config)?;
                    let stock = keys.stock();
                    Role::Garbler(Box::new(Garbler::new(keys, stock)))
                }
                _ => {
                    let keys = EvaluatorKeys::setup(channels[0].as_mut(), &mut config)?;
                    let stock = keys.stock();
                    Role::Evaluator(Box::new(Evaluator::new(keys, stock, threads())))
                }
            })
        });
        let role = told_all(&mut channels, role)?;
        let mut engine = Self::with_role(me, channels, config, role);
        engine.costs.add_phase("setup", start.elapsed());
        Ok(engine)
    }

    pub(crate) fn with_role(
        me: PartyId,
        channels: Vec<Box<dyn Channel>>,
        config: Config,
        role: Role,
    ) -> Self {
        Self {
            me,
            channels,
            roles: Roles {
                garbler: config.garbler,
            },
            config,
            role: Some(role),
            announced: Order::NOTHING,
            costs: Costs::default(),
            generating: Duration::ZERO,
            poisoned: None,
            cheated: false,
            error: None,
            drawn: None,
        }
    }

    /// What material is left.
    pub fn stock(&self) -> Order {
        match &self.role {
            Some(Role::Garbler(garbler)) => garbler.stock.left(),
            Some(Role::Evaluator(evaluator)) => evaluator.stock.left(),
            None => Order::NOTHING,
        }
    }

    /// Makes material (Generate), or takes it from the lot of a session on stored material, whatever is there already. Both parties order the same.
    ///
    /// # Errors
    /// What failed; the session ends with it.
    pub fn generate(&mut self, order: Order) -> Result<()> {
        self.call("independent", |this| match this.drawn {
            Some(_) => this.draw(&order, &order),
            None => this.make(order),
        })
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
                .is_some_and(|(next, of)| of == role && wires.are(next))
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
        match self.role.as_ref()? {
            Role::Garbler(garbler) => garbler.reserved(),
            Role::Evaluator(evaluator) => evaluator.reserved(),
        }
    }

    fn reserve_now(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        let owner = self.roles.role(owner);
        self.secure(order_to_input(owner, wires * lanes))?;
        match self.parts().0 {
            Role::Garbler(garbler) => garbler.reserve(owner, wires, lanes),
            Role::Evaluator(evaluator) => evaluator.reserve(owner, wires, lanes),
        }
    }

    fn give_now(&mut self, bits: Option<&BitMatrix>) -> Result<()> {
        match self.parts() {
            (Role::Garbler(garbler), _) => {
                garbler.give(bits);
                Ok(())
            }
            (Role::Evaluator(evaluator), channel) => evaluator.give(bits, channel),
        }
    }

    /// Most threads that evaluate one circuit, as many as there are processors if this is not called; at least one.
    pub fn set_threads(&mut self, threads: usize) {
        if let Some(Role::Evaluator(evaluator)) = &mut self.role {
            evaluator.threads = threads.max(1);
        }
    }

    /// A bound on the probability that a cheating garbler has got any bad bucket into what was generated so far: the sum of
    /// Theorem 2's bounds; for stored material, what its lot was made for. `None` as long as nothing was.
    pub fn error(&self) -> Option<LogProb> {
        self.error
    }

    /// Whether this party, the evaluator, has seen that the garbler has cheated, and got the right outputs nevertheless. It
    /// is told to nobody else: when the garbler learns of it, it learns something of this party's inputs.
    pub fn peer_cheated(&self) -> bool {
        match &self.role {
            Some(Role::Evaluator(evaluator)) => evaluator.suspicion.cheated(),
            _ => self.cheated,
        }
    }

    /// Runs one call of the contract: refused if the session has failed, timed, and fatal to the session if it fails
    /// with anything but bad input.
    fn call<T>(&mut self, phase: &'static str, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(reason) = &self.poisoned {
            return Err(Error::Poisoned(reason.clone()));
        }
        let start = Instant::now();
        self.generating = Duration::ZERO;
        let result = body(self);
        let generating = self.generating;
        if generating > Duration::ZERO {
            self.costs.add_phase("independent", generating);
        }
        self.costs
            .add_phase(phase, start.elapsed().saturating_sub(generating));
        match result {
            Err(error) if !matches!(error, Error::BadInput(_)) => Err(self.poison(error)),
            other => other,
        }
    }

    /// Ends the session after a failure: the peer is told, secrets are wiped.
    fn poison(&mut self, error: Error) -> Error {
        let error = error.with_checks(checks::ALL);
        if error.check().is_some()
            && let Some(drawn) = self.drawn.take()
        {
            drawn.burn();
        }
        let code = error.reason().code();
        self.channels.iter_mut().for_each(|channel| channel.abort(code));
        self.end(error.to_string());
        tracing::warn!(me = %self.me, %error, "the session failed");
        error
    }

    /// Drops keys, material and channels.
    fn end(&mut self, reason: String) {
        self.costs = self.costs();
        self.cheated = self.peer_cheated();
        if self.cheated {
            tracing::error!(me = %self.me, "the garbler has cheated; outputs so far are right nevertheless");
        }
        self.role = None;
        self.drawn = None;
        self.channels.clear();
        self.poisoned = Some(reason);
    }

    /// Makes sure that there is enough for `order`, which is about to be used.
    fn secure(&mut self, order: Order) -> Result<()> {
        let left = self.stock();
        if left.covers(&order).is_err() {
            let lacking = self.announced.max(&order).beyond(&left);
            if self.drawn.is_some() {
                self.draw(&order.beyond(&left), &lacking)?;
            } else {
                self.make(rounded(lacking))?;
            }
        }
        self.announced = self.announced.beyond(&order);
        Ok(())
    }

    fn make(&mut self, order: Order) -> Result<()> {
        let start = Instant::now();
        for epoch in estimate(&order, &self.config)? {
            let buffer = match self.role {
                Some(Role::Garbler(_)) => epoch.garbler_buffer,
                _ => epoch.evaluator_buffer,
            };
            self.costs.memory_bytes = self.costs.memory_bytes.max(buffer);
            if let Some(parameters) = &epoch.parameters {
                let errors = parameters.errors().sum();
                self.error = Some(self.error.map_or(errors, |error| error + errors));
            }
        }
        let channels = &mut self.channels[..];
        match self.role.as_mut().expect("a session that goes on has a role") {
            Role::Garbler(garbler) => {
                garbler.clear_line(channels[0].as_mut())?;
                let Garbler { keys, stock, .. } = &mut **garbler;
                keys.generate(channels, &mut self.config, &order, &mut |epoch| {
                    stock.push(epoch);
                    Ok(())
                })?;
            }
            Role::Evaluator(evaluator) => {
                evaluator.clear_line(channels[0].as_mut())?;
                let Evaluator { keys, stock, .. } = &mut **evaluator;
                keys.generate(channels, &mut self.config, &order, &mut |epoch| {
                    stock.push(epoch);
                    Ok(())
                })?;
            }
        }
        self.generating += start.elapsed();
        Ok(())
    }

    fn parts(&mut self) -> (&mut Role, &mut dyn Channel) {
        let role = self.role.as_mut().expect("a session that goes on has a role");
        (role, self.channels[0].as_mut())
    }

    /// Notes what a circuit takes while it is built or evaluated.
    fn note_memory(&mut self, plan: &Plan) {
        let threads = match self.role.as_ref() {
            Some(Role::Evaluator(evaluator)) => evaluator.threads as u64,
            _ => 1,
        };
        self.costs.memory_bytes = self.costs.memory_bytes.max(threads * slot_bytes(plan));
    }

    /// Says to the peer that the session has come to its good end, and waits until it says the same.
    fn farewell(&mut self) -> Result<()> {
        let (role, channel) = self.parts();
        match role {
            Role::Garbler(garbler) => garbler.clear_line(channel)?,
            Role::Evaluator(evaluator) => evaluator.clear_line(channel)?,
        }
        let farewell = *b"finished";
        let mut heard = farewell;
        channel.send(steps::FINISH, &farewell)?;
        channel.recv(steps::FINISH, &mut heard)?;
        if heard == farewell {
            return Ok(());
        }
        Err(Error::Aborted {
            check: MESSAGE_FORM,
            peer: Some(channel.peer()),
            step: steps::FINISH,
            detail: "the peer's farewell is garbled".into(),
        })
    }
}

/// A little more than `order` of each kind that it has.
fn rounded(order: Order) -> Order {
    let [ands, rest @ ..] = order.counts();
    let [a, b, c, d, e] = rest.map(|count| count.next_multiple_of(ROUNDING));
    Order::from_counts([ands.next_multiple_of(ROUNDING_ANDS), a, b, c, d, e])
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
    let settings = [
        ("protocol", "lego, version 1".to_string()),
        ("session", config.session.clone()),
        ("security", config.security.to_string()),
        ("epoch", config.epoch.to_string()),
        ("garbler", config.garbler.to_string()),
        ("channels", channels.len().to_string()),
        ("material", material),
    ];
    Ok(cenote_net::agree(channels[0].as_mut(), &settings)?)
}

impl Engine for LegoEngine {
    type Wires = LegoWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        2
    }

    fn prepare_values(&mut self, inputs: &[(PartyId, usize)], outputs: &[(Parties, usize)]) -> Result<()> {
        self.call("dependent", |this| {
            for &(owner, count) in inputs {
                if owner.0 > 1 {
                    return Err(Error::BadInput(format!(
                        "input of {owner}, but there are 2 parties"
                    )));
                }
                this.announced += order_to_input(this.roles.role(owner), count);
            }
            for &(to, count) in outputs {
                this.announced += order_to_reveal(this.roles.roles(to), count);
            }
            Ok(())
        })
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("dependent", |this| {
            let order = order_to_run(plan, lanes, true);
            if order.ands == 0 {
                // Nothing to solder: its outputs are sums of its inputs.
                return Ok(());
            }
            let announced = this.announced;
            this.announced += order;
            if let Err(error) = this.secure(order) {
                this.announced = announced;
                return Err(error);
            }
            let (role, channel) = this.parts();
            match role {
                Role::Garbler(garbler) => garbler.prepare(plan, lanes, channel)?,
                Role::Evaluator(evaluator) => evaluator.prepare(plan, lanes, channel)?,
            }
            this.note_memory(plan);
            Ok(())
        })
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<LegoWires> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires, lanes, bits)?;
            if this.next_reserved().is_some() {
                return Err(Error::BadInput(NOT_GIVEN.into()));
            }
            let wires = this.reserve_now(owner, wires, lanes)?;
            this.give_now(bits)?;
            Ok(wires)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<LegoWires> {
        self.call("online", |this| {
            Ok(match this.parts().0 {
                Role::Garbler(garbler) => garbler.constant(bits),
                Role::Evaluator(evaluator) => evaluator.constant(bits),
            })
        })
    }

    fn run(&mut self, plan: &Plan, inputs: &LegoWires) -> Result<LegoWires> {
        self.call("online", |this| {
            check_run(plan, inputs)?;
            let lanes = inputs.lanes();
            let built = match this.parts().0 {
                Role::Garbler(garbler) => garbler.is_built(plan, lanes),
                Role::Evaluator(evaluator) => evaluator.is_built(plan, lanes),
            };
            if !built {
                this.secure(order_to_run(plan, lanes, false))?;
            }
            let (role, channel) = this.parts();
            let outputs = match role {
                Role::Garbler(garbler) => garbler.run(plan, inputs, channel)?,
                Role::Evaluator(evaluator) => evaluator.run(plan, inputs, channel)?,
            };
            this.costs.and_gates += (plan.and_count() * lanes) as u64;
            this.note_memory(plan);
            Ok(outputs)
        })
    }

    fn reveal(&mut self, wires: &LegoWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("online", |this| {
            if this.next_reserved().is_some() {
                return Err(Error::BadInput(NOT_GIVEN.into()));
            }
            let to = this.roles.roles(to);
            this.secure(order_to_reveal(to, wires.wires() * wires.lanes()))?;
            let (role, channel) = this.parts();
            let (outputs, rounds) = match role {
                Role::Garbler(garbler) => garbler.reveal(wires, to, channel)?,
                Role::Evaluator(evaluator) => evaluator.reveal(wires, to, channel)?,
            };
            this.costs.rounds += rounds;
            Ok(outputs)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.call("online", Self::farewell)?;
        self.end("the session is finished".into());
        Ok(())
    }

    fn costs(&self) -> Costs {
        let mut costs = self.costs.clone();
        if self.role.is_some() {
            costs.traffic = self.channels.iter().map(|channel| channel.meter()).sum::<Meter>();
        }
        costs
    }
}

#[cfg(test)]
mod tests;
