//! The two-party protocol.

use cenote_engine::Engine;
use cenote_net::PartyId;
use cenote_params::lego::{Request, search};
use cenote_three::store::StockFolder;
use cenote_two::LegoEngine;
use cenote_two::lego::{Config, Order};
use serde::{Deserialize, Serialize};

use super::{Finished, execute};
use crate::connections::Connections;
use crate::runner::Party;
use crate::{Error, Program, Result};

/// Settings of the two-party protocol with LEGO buckets, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lego {
    /// A wrong output passes with probability at most 2 to the minus this.
    pub security: u32,
    /// Threads of each party, side by side, each with a connection of its own.
    pub workers: u8,
    /// The party that garbles, 0 or 1; the other one evaluates.
    pub garbler: u8,
}

impl Default for Lego {
    /// 40, one worker, party 0 garbles.
    fn default() -> Self {
        Lego {
            security: 40,
            workers: 1,
            garbler: 0,
        }
    }
}

/// What `lego` needs for a program.
pub(crate) type Parameters = cenote_params::lego::Parameters;

impl Lego {
    /// Its name in jobs and reports.
    pub(crate) const NAME: &str = "lego";
    pub(crate) const PARTIES: u8 = 2;
    pub(crate) const PURPOSES: &[&str] = &["worker"];

    /// The parameters for running `program` as one job.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub(crate) fn parameters(&self, program: &Program) -> Result<Parameters> {
        let wires = |count: u64| count.saturating_mul(program.lanes() as u64).max(1);
        let inputs = u64::from(program.circuit().input_wires());
        let request = Request::new(self.security, program.and_gates().max(1), wires(inputs));
        search(&request).map_err(|refusal| Error::Usage(refusal.to_string()))
    }

    /// What the parties compare, the most telling differences first.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("garbler", self.garbler.to_string()),
            ("security", self.security.to_string()),
            ("workers", self.workers.to_string()),
        ]
    }

    /// Runs the party's program.
    pub(super) fn run(
        &self,
        parameters: Parameters,
        party: &Party<'_>,
        connections: Connections,
        stock: Option<&StockFolder>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        if stock.is_some() {
            return Err(Error::Usage("there is no stock with protocol \"lego\"".into()));
        }
        let mut engine = LegoSession::start(party.me, connections, self, &party.program.digest())?.engine;
        let executed = execute(&mut engine, party, progress)?;
        let warnings = engine.peer_cheated().then(|| {
            format!(
                "{} cheated, and {} noticed: the outputs are right all the same. Find out why before running again",
                PartyId(1 - party.me.0),
                party.me
            )
        });
        Ok(Finished {
            executed,
            costs: engine.costs(),
            error_log2: parameters.errors().sum().log2(),
            parameters: serde_json::to_value(parameters).expect("parameters are numbers"),
            warnings: warnings.into_iter().collect(),
        })
    }
}

/// A session whose set-up is done.
pub(crate) struct LegoSession {
    pub(crate) engine: LegoEngine,
}

impl LegoSession {
    /// Sets up a session called `session`.
    pub(crate) fn start(
        me: PartyId,
        connections: Connections,
        settings: &Lego,
        session: &str,
    ) -> Result<Self> {
        let mut config = Config::new(session);
        config.security = settings.security;
        let mut engine = LegoEngine::start(me, connections.channels(), config)?;
        engine.set_threads(settings.workers.into());
        Ok(Self { engine })
    }

    /// Makes what `times` runs of `program` need that is independent of its circuit.
    pub(crate) fn generate(&mut self, program: &Program, times: u64) -> Result<()> {
        Ok(self.engine.generate(order(program).times(times))?)
    }
}

/// The material that running `program` once takes if its circuit is prepared.
fn order(program: &Program) -> Order {
    let (garbler, evaluator) = (PartyId(0), PartyId(1));
    let bits = |wires: u32| u64::from(wires) * program.lanes() as u64;
    let inputs = |owner: PartyId| -> u64 {
        let values = program.circuit().inputs().iter().zip(program.owners());
        values
            .filter(|&(_, &known)| known == owner)
            .map(|(value, _)| bits(value.width))
            .sum()
    };
    let outputs = |masked: bool| -> u64 {
        let values = program.circuit().outputs().iter().zip(program.receivers());
        values
            .filter(|(_, to)| to.contains(evaluator) == masked)
            .map(|(value, _)| bits(value.width))
            .sum()
    };
    Order {
        ands: program.and_gates(),
        garbler_inputs: inputs(garbler),
        evaluator_inputs: inputs(evaluator),
        anchors: outputs(false),
        masks: outputs(true),
        ports: bits(program.circuit().input_wires()),
    }
}
