//! A session of the two-party protocol in which either party may garble.
//!
//! The engine knows its parties by their roles: 0 garbles, 1 evaluates. Where it is party 1 that garbles, the parties' numbers
//! are exchanged on the way in, and on the way out of failed checks. What the network says has the real numbers.

use cenote_circuit::Plan;
use cenote_engine::{Costs, Engine, Error as EngineError, Parties};
use cenote_net::{Channel, Closer, Meter, PartyId, Step};
use cenote_primitives::BitMatrix;
use cenote_two::LegoEngine;
use cenote_two::lego::{EVALUATOR, GARBLER, LegoWires, Order};

use crate::connections::Connections;
use crate::{Lego, Program, Result};

/// Which party has which role.
#[derive(Clone, Copy)]
struct Roles {
    garbler: PartyId,
}

impl Roles {
    fn of(settings: &Lego) -> Self {
        Roles {
            garbler: PartyId(settings.garbler),
        }
    }

    /// The engine's number of a party, or the party that has this number in the engine.
    fn exchange(self, party: PartyId) -> PartyId {
        match party {
            PartyId(0 | 1) => PartyId(party.0 ^ self.garbler.0 ^ GARBLER.0),
            other => other,
        }
    }

    fn exchange_all(self, parties: Parties) -> Parties {
        parties.iter().map(|party| self.exchange(party)).collect()
    }

    fn blame(self, error: EngineError) -> EngineError {
        match error {
            EngineError::Aborted {
                check,
                peer,
                step,
                detail,
            } => EngineError::Aborted {
                check,
                peer: peer.map(|peer| self.exchange(peer)),
                step,
                detail,
            },
            other => other,
        }
    }
}

/// A channel to a party that the engine knows by another number.
struct Renamed {
    inner: Box<dyn Channel>,
    peer: PartyId,
}

impl Channel for Renamed {
    fn peer(&self) -> PartyId {
        self.peer
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> cenote_net::Result<()> {
        self.inner.send_parts(step, parts)
    }

    fn flush(&mut self) -> cenote_net::Result<()> {
        self.inner.flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> cenote_net::Result<()> {
        self.inner.recv_parts(step, parts)
    }

    fn close(&mut self) -> cenote_net::Result<()> {
        self.inner.close()
    }

    fn abort(&mut self, code: u8) {
        self.inner.abort(code);
    }

    fn closer(&self) -> Closer {
        self.inner.closer()
    }

    fn interrupter(&self) -> Closer {
        self.inner.interrupter()
    }

    fn meter(&self) -> Meter {
        self.inner.meter()
    }
}

/// A session that is set up.
pub(crate) struct LegoSession {
    engine: LegoEngine,
    settings: Lego,
    roles: Roles,
}

impl LegoSession {
    /// Sets up a session called `name`.
    pub(crate) fn start(me: PartyId, connections: Connections, settings: &Lego, name: &str) -> Result<Self> {
        let roles = Roles::of(settings);
        let rename = |inner: Box<dyn Channel>| -> Box<dyn Channel> {
            let peer = roles.exchange(inner.peer());
            Box::new(Renamed { inner, peer })
        };
        let channels = if roles.garbler == GARBLER {
            connections
        } else {
            connections.map(rename)
        };
        let engine = LegoEngine::start(roles.exchange(me), channels.channels(), settings.config(name));
        let mut engine = engine.map_err(|error| roles.blame(error))?;
        engine.set_threads(settings.workers.into());
        Ok(Self {
            engine,
            settings: *settings,
            roles,
        })
    }

    /// Makes what `times` runs of `program` need that is independent of its circuit.
    pub(crate) fn generate(&mut self, program: &Program, times: u64) -> Result<()> {
        let order = order(&self.settings, program).times(times);
        let generated = self.engine.generate(order);
        Ok(generated.map_err(|error| self.roles.blame(error))?)
    }

    /// Whether this party has seen that its peer cheated, and has the right outputs all the same.
    pub(crate) fn peer_cheated(&self) -> bool {
        self.engine.peer_cheated()
    }

    fn told<T>(&self, result: cenote_engine::Result<T>) -> cenote_engine::Result<T> {
        result.map_err(|error| self.roles.blame(error))
    }
}

impl Engine for LegoSession {
    type Wires = LegoWires;

    fn me(&self) -> PartyId {
        self.roles.exchange(self.engine.me())
    }

    fn parties(&self) -> usize {
        self.engine.parties()
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> cenote_engine::Result<()> {
        let prepared = self.engine.prepare(plan, lanes);
        self.told(prepared)
    }

    fn prepare_values(
        &mut self,
        inputs: &[(PartyId, usize)],
        outputs: &[(Parties, usize)],
    ) -> cenote_engine::Result<()> {
        let roles = self.roles;
        let inputs: Vec<_> = inputs
            .iter()
            .map(|&(owner, bits)| (roles.exchange(owner), bits))
            .collect();
        let outputs: Vec<_> = outputs
            .iter()
            .map(|&(to, bits)| (roles.exchange_all(to), bits))
            .collect();
        let prepared = self.engine.prepare_values(&inputs, &outputs);
        self.told(prepared)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> cenote_engine::Result<LegoWires> {
        let given = self.engine.input(self.roles.exchange(owner), wires, lanes, bits);
        self.told(given)
    }

    fn constant(&mut self, bits: &BitMatrix) -> cenote_engine::Result<LegoWires> {
        let given = self.engine.constant(bits);
        self.told(given)
    }

    fn run(&mut self, plan: &Plan, inputs: &LegoWires) -> cenote_engine::Result<LegoWires> {
        let run = self.engine.run(plan, inputs);
        self.told(run)
    }

    fn reveal(&mut self, wires: &LegoWires, to: Parties) -> cenote_engine::Result<Option<BitMatrix>> {
        let revealed = self.engine.reveal(wires, self.roles.exchange_all(to));
        self.told(revealed)
    }

    fn finish(&mut self) -> cenote_engine::Result<()> {
        let finished = self.engine.finish();
        self.told(finished)
    }

    fn costs(&self) -> Costs {
        self.engine.costs()
    }
}

/// The material that running `program` once takes if its circuit is prepared.
pub(super) fn order(settings: &Lego, program: &Program) -> Order {
    let roles = Roles::of(settings);
    let bits = |wires: u32| u64::from(wires) * program.lanes() as u64;
    let inputs = |role: PartyId| -> u64 {
        let values = program.circuit().inputs().iter().zip(program.owners());
        values
            .filter(|&(_, &owner)| roles.exchange(owner) == role)
            .map(|(value, _)| bits(value.width))
            .sum()
    };
    let outputs = |masked: bool| -> u64 {
        let values = program.circuit().outputs().iter().zip(program.receivers());
        values
            .filter(|&(_, &to)| roles.exchange_all(to).contains(EVALUATOR) == masked)
            .map(|(value, _)| bits(value.width))
            .sum()
    };
    Order {
        ands: program.and_gates(),
        garbler_inputs: inputs(GARBLER),
        evaluator_inputs: inputs(EVALUATOR),
        anchors: outputs(false),
        masks: outputs(true),
        ports: bits(program.circuit().input_wires()),
    }
}

#[cfg(test)]
mod tests {
    use cenote_engine::Check;

    use super::*;

    #[test]
    fn numbers_are_exchanged_both_ways_if_party_1_garbles() {
        for garbler in [0, 1] {
            let roles = Roles::of(&Lego {
                garbler,
                ..Lego::default()
            });
            assert_eq!(roles.exchange(PartyId(garbler)), GARBLER);
            assert_eq!(roles.exchange(GARBLER), PartyId(garbler));
            assert_eq!(roles.exchange(PartyId(1 - garbler)), EVALUATOR);
            assert_eq!(roles.exchange_all(Parties::all(2)), Parties::all(2));
            let evaluator = Parties::one(PartyId(1 - garbler));
            assert_eq!(roles.exchange_all(evaluator), Parties::one(EVALUATOR));
            let error = roles.blame(EngineError::Aborted {
                check: Check::GateOpening,
                peer: Some(GARBLER),
                step: Step {
                    code: 1,
                    name: "test",
                },
                detail: String::new(),
            });
            assert!(matches!(error, EngineError::Aborted { peer, .. } if peer == Some(PartyId(garbler))));
        }
    }
}
