//! The two-party protocol.

use cenote_lego::LegoEngine;
use cenote_lego::store::MaterialFolder;
use cenote_lego::{Config, Demand, Estimate, MAX_SECURITY, Order, estimate};
use cenote_net::PartyId;
use cenote_params::LogProb;
use cenote_session::Engine;
use serde::{Deserialize, Serialize};

use super::{Finished, execute};
use crate::runner::Party;
use crate::{Error, Program, Result};
use cenote_session::Connections;

/// Settings of the two-party protocol with LEGO buckets, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lego {
    /// Each bound on a wrong output is at most 2 to the minus this; from 1 to [`Lego::MAX_SECURITY`].
    pub security: u32,
    /// Workers of each party, side by side: each generates over a connection of its own, and is a thread of the
    /// evaluator online.
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

/// What is told as the error of a session that made nothing that could be wrong: JSON has no infinity.
const NO_ERROR_LOG2: f64 = -1024.0;

/// What is made for a program ahead of its inputs, epoch by epoch: the cut-and-choose and what it takes.
pub struct Parameters(Vec<Estimate>);

impl Parameters {
    /// The base-2 logarithm of the probability that any bad bucket passes, at most: the sum of all bounds.
    pub fn error_log2(&self) -> f64 {
        let bounds = self.0.iter().filter_map(|epoch| epoch.parameters.as_ref());
        let sum = bounds.fold(LogProb::ZERO, |sum, parameters| sum + parameters.errors().sum());
        sum.log2()
    }

    /// Those of the first epoch, which all others equal or nearly so, and the number of epochs.
    pub fn to_json(&self) -> serde_json::Value {
        let first = self.0.iter().find_map(|epoch| epoch.parameters.as_ref());
        let mut value = serde_json::to_value(first).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.insert("epochs".into(), self.0.len().into());
        }
        value
    }

    /// Bytes that both parties together hold at the end, and while the last epoch is made.
    pub fn memory_bytes(&self) -> u64 {
        let most = |of: fn(&Estimate) -> u64| self.0.iter().map(of).max().unwrap_or(0);
        let buffers = most(|epoch| epoch.garbler_buffer) + most(|epoch| epoch.evaluator_buffer);
        let material = self
            .0
            .iter()
            .map(|epoch| epoch.garbler_material.saturating_add(epoch.evaluator_material));
        material.fold(buffers, u64::saturating_add)
    }
}

impl Lego {
    /// The most bits of statistical security that it gives.
    pub const MAX_SECURITY: u32 = MAX_SECURITY;

    /// Its name in jobs and reports.
    pub(crate) const NAME: &str = "lego";
    /// Number of parties.
    pub const PARTIES: u8 = 2;
    /// What each channel of a worker is for.
    pub const PURPOSES: &[&str] = &["protocol"];

    /// The parameters for running `program` as one job.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level, or it is more than [`Lego::MAX_SECURITY`].
    pub fn parameters(&self, program: &Program) -> Result<Parameters> {
        let estimates = estimate(&self.order(program), &self.config(""));
        Ok(Parameters(
            estimates.map_err(|error| Error::Usage(error.to_string()))?,
        ))
    }

    /// What a session is started with.
    pub(crate) fn config(&self, session: &str) -> Config {
        let mut config = Config::new(session);
        config.security = self.security;
        config.garbler = self.roles()[0];
        config
    }

    /// The garbler and the evaluator.
    pub fn roles(&self) -> [PartyId; 2] {
        [PartyId(self.garbler), PartyId(1 - self.garbler.min(1))]
    }

    /// Sets up a session called `session`.
    ///
    /// # Errors
    /// [`Error::Protocol`] if the peer is lost, silent or caught cheating.
    pub fn start(&self, me: PartyId, connections: Connections, session: &str) -> Result<LegoEngine> {
        let mut engine = LegoEngine::start(me, connections.channels(), self.config(session))?;
        engine.set_threads(self.workers.into());
        Ok(engine)
    }

    /// Starts a session called `session` that takes what the party's program needs from `stock`.
    fn start_stored(
        &self,
        party: &Party<'_>,
        connections: Connections,
        session: &str,
        stock: &MaterialFolder,
    ) -> Result<LegoEngine> {
        let (config, order) = (self.config(session), self.order(party.program));
        let channels = connections.channels();
        let mut engine = LegoEngine::start_stored(party.me, channels, config, stock, &order)?;
        engine.set_threads(self.workers.into());
        Ok(engine)
    }

    /// The material that running `program` once takes if its circuit is prepared.
    pub fn order(&self, program: &Program) -> Order {
        let bits = |wires: u32| u64::from(wires).saturating_mul(program.lanes() as u64);
        let inputs = program.circuit().inputs().iter().zip(program.owners());
        let outputs = program.circuit().outputs().iter().zip(program.receivers());
        let demand = Demand {
            ands: program.and_gates(),
            entering: bits(program.circuit().input_wires()),
            inputs: inputs.map(|(value, &owner)| (owner, bits(value.width))).collect(),
            outputs: outputs.map(|(value, &to)| (to, bits(value.width))).collect(),
        };
        demand.order(self.roles()[0])
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
        stock: Option<&MaterialFolder>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        let session = party.program.digest();
        let mut engine = match stock {
            Some(stock) => self.start_stored(party, connections, &session, stock)?,
            None => self.start(party.me, connections, &session)?,
        };
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
            error_log2: engine.error().map_or(NO_ERROR_LOG2, LogProb::log2),
            // Those of stock are its own.
            parameters: stock.map_or_else(|| parameters.to_json(), |_| serde_json::Value::Null),
            warnings: warnings.into_iter().collect(),
        })
    }
}
