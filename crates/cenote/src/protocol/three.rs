//! The three-party protocol.

use std::fmt;

use cenote_circuit::Plan;
use cenote_params::three::{Parameters, Variant, Workload, search};
use cenote_primitives::BLOCK_BITS;
use cenote_session::Engine;
use cenote_three::store::StockFolder;
use cenote_three::{Config, Lag, Links, ThreeEngine, ViewCheck};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Finished, execute};
use crate::runner::Party;
use crate::{Error, Result};
use cenote_session::Connections;

/// Settings of the three-party protocol, the same at all parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Three {
    /// How AND gates are verified with triples.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub variant: Variant,
    /// How views are compared.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub view_check: ViewCheck,
    /// A wrong output passes with probability at most 2 to the minus this.
    pub security: u32,
    /// Workers of each party: pairs of threads, side by side, each with connections of its own.
    pub workers: u8,
}

impl Default for Three {
    /// `on-demand`, `mac`, 40, one worker.
    fn default() -> Self {
        Three {
            variant: Variant::OnDemand,
            view_check: ViewCheck::Mac,
            security: 40,
            workers: 1,
        }
    }
}

impl Three {
    /// Its name in jobs and reports.
    pub(crate) const NAME: &str = "three";
    pub(crate) const PARTIES: u8 = crate::PARTIES;
    /// A worker makes triples on one thread and evaluates on another; each has its own channels.
    pub(crate) const PURPOSES: &[&str] = &["generator", "evaluator"];

    /// The variants that there is an engine for.
    pub const VARIANTS: [Variant; 4] = Variant::ALL;

    /// The variant called `name`.
    ///
    /// # Errors
    /// The names there are.
    pub fn variant(name: &str) -> std::result::Result<Variant, String> {
        Self::VARIANTS
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| {
                let names = Self::VARIANTS.map(Variant::name).join(", ");
                format!("the variant is one of {names}")
            })
    }

    /// The cheapest parameters for running `plan` on `lanes` lanes as one job, with buckets of two sizes where they are
    /// cheaper.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub fn parameters(&self, plan: &Plan, lanes: usize) -> Result<Parameters> {
        let workload = Workload {
            security: self.security,
            blocks: Some(and_blocks(plan, lanes)),
            block_bits: BLOCK_BITS as u32,
            mixed: true,
            ..Workload::default()
        };
        search(self.variant, &workload).map_err(|refusal| Error::Usage(refusal.to_string()))
    }

    /// What the parties compare, the most telling differences first.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("variant", self.variant.to_string()),
            ("view check", self.view_check.to_string()),
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
        let mut config = Config::new(parameters.clone(), party.program.digest());
        config.view_check = self.view_check;
        config.lag = Lag::Measured;
        let links = Links::of(party.me, connections);
        let mut engine = match stock {
            Some(stock) => ThreeEngine::start_online(party.me, links, config, stock)?,
            None => ThreeEngine::start(party.me, links, config)?,
        };
        let executed = execute(&mut engine, party, progress)?;
        Ok(Finished {
            executed,
            costs: engine.costs(),
            error_log2: parameters.error().log2(),
            parameters: serde_json::to_value(parameters).expect("parameters are numbers and names"),
            warnings: Vec::new(),
        })
    }
}

/// Blocks of AND gates of a job: a level fills whole words, words are packed into blocks. The engine may pad a little more.
pub fn and_blocks(plan: &Plan, lanes: usize) -> u64 {
    let level = |ands: usize| (ands as u64).saturating_mul(lanes as u64).div_ceil(64);
    let words = plan
        .levels()
        .iter()
        .map(|l| level(l.ands.len()))
        .fold(0, u64::saturating_add);
    words.div_ceil(BLOCK_BITS as u64 / 64).max(1)
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, T, D>(deserializer: D) -> std::result::Result<T, D::Error>
where
    T: std::str::FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}
