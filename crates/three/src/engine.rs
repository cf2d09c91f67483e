//! The engine: the protocol's parts, in the order in which a session uses them.

use std::time::Instant;

use cenote_circuit::Plan;
use cenote_engine::{Check, Costs, Engine, Error, Parties, Result, WireVector, check_input, check_run};
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Variant};
use cenote_primitives::{BitMatrix, Block512};

use crate::config::{Config, Links};
use crate::evaluator::{Evaluator, planned_blocks};
use crate::generator::{Generator, Shape};
use crate::keys::{Counter, PairSecrets, Purpose};
use crate::stock::Stock;
use crate::triple_check::constant_holder;
use crate::verify::{LOG_BLOCKS, Verifier};
use crate::view::Views;
use crate::wires::ThreeWires;
use crate::{input, output, steps};

/// The number of the only worker.
const WORKER: u8 = 0;

/// One party of a three-party session.
///
/// Dropping it without [`Engine::finish`] leaves the peers to find out by themselves.
pub struct ThreeEngine {
    me: PartyId,
    parameters: Parameters,
    evaluator: Evaluator,
    stock: Stock,
    inputs: Counter,
    /// Blocks of gates announced by `prepare` and not yet run.
    prepared: u64,
    costs: Costs,
    poisoned: Option<String>,
}

impl ThreeEngine {
    /// Agrees with both peers on the session's parameters and keys, and starts making triples on demand.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the channels do not lead to the two other parties, or the variant is not available;
    /// otherwise what happened on the network.
    pub fn start(me: PartyId, links: Links, config: Config) -> Result<Self> {
        let start = Instant::now();
        let Config {
            parameters,
            view_check,
            session,
            mut entropy,
        } = config;
        let Links {
            generator: generator_ring,
            evaluator: mut ring,
        } = links;
        generator_ring.check_peers(me)?;
        ring.check_peers(me)?;
        if parameters.variant() == Variant::Reshuffle || parameters.k() != parameters.n() {
            return Err(Error::BadInput(format!(
                "variant {} with {} of {} small buckets is not available: use on-demand, baseline or \
                 cache-efficient with one bucket size",
                parameters.variant(),
                parameters.k(),
                parameters.n()
            )));
        }
        let shape = Shape::of(&parameters);
        let agreed = [
            ("protocol", "three, version 1".to_string()),
            ("session", session.clone()),
            ("variant", parameters.variant().to_string()),
            (
                "parameters",
                format!(
                    "N={} B={} C={} L={} X={}",
                    shape.n, shape.b, shape.c, shape.l, shape.x
                ),
            ),
            ("view check", view_check.to_string()),
        ];
        // In the order of party numbers, since each agreement waits for the peer's side of it.
        let mut channels = [&mut ring.previous, &mut ring.next];
        channels.sort_by_key(|channel| channel.peer());
        for channel in channels {
            cenote_net::agree(channel.as_mut(), &agreed)?;
        }
        let secrets = PairSecrets::agree(me, &session, &mut ring, &mut entropy)?;
        let views = |purpose| Views::new(view_check, purpose, |label| secrets.pair_prgs(label));
        let generator = Generator::new(
            me,
            WORKER,
            shape,
            generator_ring,
            secrets.component_keys(),
            views("generator 0"),
        );
        let verifier = Verifier::new(me, WORKER, &parameters, views("evaluator 0"));
        let stock = Stock::start(generator, ring.closers())?;
        let evaluator = Evaluator::new(me, WORKER, ring, secrets.component_keys(), verifier);
        let mut costs = Costs {
            memory_bytes: memory_bytes(&parameters, shape),
            ..Costs::default()
        };
        costs.add_phase("set-up", start.elapsed());
        Ok(Self {
            me,
            parameters,
            evaluator,
            stock,
            inputs: Counter::new(Purpose::Input, WORKER),
            prepared: 0,
            costs,
            poisoned: None,
        })
    }

    /// The session's cut-and-choose parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Runs one call of the contract: refused if the session has failed, timed, and fatal to the session if it fails
    /// with anything but bad input.
    fn call<T>(&mut self, phase: &'static str, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(reason) = &self.poisoned {
            return Err(Error::Poisoned(reason.clone()));
        }
        let start = Instant::now();
        let result = body(self);
        self.costs.add_phase(phase, start.elapsed());
        match result {
            Err(error) if !matches!(error, Error::BadInput(_)) => Err(self.poison(error)),
            other => other,
        }
    }

    /// Ends the session after a failure: peers are told, secrets wiped.
    fn poison(&mut self, error: Error) -> Error {
        self.evaluator.ring.abort(error.reason().code());
        let error = self.stock.explain(error);
        self.stock.stop();
        self.evaluator.wipe();
        tracing::warn!(me = %self.me, %error, "the session failed");
        self.poisoned = Some(error.to_string());
        error
    }
}

/// The most that the protocol's buffers take, besides the program's wires.
fn memory_bytes(parameters: &Parameters, shape: Shape) -> u64 {
    let log = (LOG_BLOCKS * 6 * size_of::<Block512>()) as u64;
    shape.bytes() + Verifier::bytes(parameters) + log
}

impl Engine for ThreeEngine {
    type Wires = ThreeWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        3
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("prepare", |this| {
            this.prepared += planned_blocks(plan, lanes);
            this.stock
                .want(this.evaluator.verifier.batches_for(this.prepared));
            Ok(())
        })
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<ThreeWires> {
        self.call("input", |this| {
            check_input(this.me, 3, owner, wires, lanes, bits)?;
            let Evaluator {
                ring, keys, rounds, ..
            } = &mut this.evaluator;
            *rounds += 1;
            input::share(this.me, owner, (wires, lanes), bits, ring, keys, &mut this.inputs)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<ThreeWires> {
        self.call("input", |this| {
            let mut wires = ThreeWires::zeros(bits.rows(), bits.lanes());
            for (component, holds) in wires.components.iter_mut().zip(constant_holder(this.me)) {
                if holds {
                    component.copy_from_slice(bits.words());
                }
            }
            Ok(wires)
        })
    }

    fn run(&mut self, plan: &Plan, inputs: &ThreeWires) -> Result<ThreeWires> {
        self.call("evaluate", |this| {
            check_run(plan, inputs)?;
            let lanes = inputs.lanes();
            let blocks = planned_blocks(plan, lanes);
            this.prepared = this.prepared.saturating_sub(blocks);
            let outputs = this.evaluator.run(plan, inputs, lanes, &this.stock)?;
            this.costs.and_gates += plan.and_count() as u64 * lanes as u64;
            Ok(outputs)
        })
    }

    fn reveal(&mut self, wires: &ThreeWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("verify", |this| this.evaluator.verify(&this.stock))?;
        self.call("reveal", |this| {
            let Evaluator { ring, rounds, .. } = &mut this.evaluator;
            *rounds += 1;
            output::open(this.me, wires, (wires.wires(), wires.lanes()), to, ring)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.call("verify", |this| this.evaluator.verify(&this.stock))?;
        self.call("finish", |this| {
            this.stock.end();
            let farewell = *b"finished";
            let theirs = this
                .evaluator
                .ring
                .exchange(steps::FINISH, &farewell, &farewell)?;
            if theirs != (farewell, farewell) {
                let detail = "a peer's farewell is garbled";
                return Err(crate::ring::cheated(
                    Check::MessageForm,
                    None,
                    steps::FINISH,
                    detail,
                ));
            }
            this.stock.stop();
            Ok(())
        })?;
        self.poisoned = Some("the session is finished".into());
        Ok(())
    }

    fn costs(&self) -> Costs {
        let mut costs = self.costs.clone();
        let (generator, busy) = self.stock.costs();
        costs.traffic = self.evaluator.ring.meter() + generator;
        costs.rounds = self.evaluator.rounds;
        costs.add_phase("generate (in the background)", busy);
        costs
    }
}
