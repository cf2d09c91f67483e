//! The two-party protocol.

use cenote_engine::Engine;
use cenote_net::PartyId;
use cenote_params::lego::{Request, search};
use cenote_three::store::StockFolder;
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
            return Err(Error::Usage(
                "there is no stock with protocol \"lego\" yet".into(),
            ));
        }
        let mut engine =
            crate::stand_in::LegoEngine::start(party.me, connections.channels(), PartyId(self.garbler))?;
        let executed = execute(&mut engine, party, progress)?;
        let mut warnings = Vec::new();
        if engine.peer_cheated() {
            warnings.push(format!("{} cheated", PartyId(1 - party.me.0)));
        }
        Ok(Finished {
            executed,
            costs: engine.costs(),
            error_log2: parameters.errors().sum().log2(),
            parameters: serde_json::to_value(parameters).expect("parameters are numbers"),
            warnings,
        })
    }
}
