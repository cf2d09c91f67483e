//! What a query will take, told before any of it is computed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use cenote_net::PartyId;
use cenote_query::{PlanStep, Proposal};
use serde::Serialize;

use super::file::{Instead, QueryJob};
use super::run::Planned;
use crate::local::Setting;
use crate::plan::{Rates, Size};
use crate::text::{Table, amount, grouped};
use crate::{Link, Protocol, Result};

/// What a query will take, and what its parties learn.
#[derive(Clone, Debug, Serialize)]
pub struct QueryPlan {
    /// The protocol and its settings.
    #[serde(flatten)]
    pub protocol: Protocol,
    /// The answer, and the steps that it is made by, each before those that it takes.
    pub steps: Vec<PlanStep>,
    /// The same, a line each.
    #[serde(skip)]
    pub tree: String,
    /// Promises that would make it cheaper.
    pub proposals: Vec<Proposal>,
    /// What every party learns, a sentence each.
    pub learnt: Vec<String>,
    /// AND gates of all steps.
    pub and_gates: u64,
    /// Levels of ANDs one after another.
    pub levels: u64,
    /// Bits that each party gives.
    pub input_bits: Vec<u64>,
    /// The most bytes of memory that each party takes.
    pub memory_bytes: Vec<u64>,
    /// Bytes that the busiest party sends, about.
    pub bytes_sent: u64,
    /// Seconds from the handshake to the end, about, all parties on this machine.
    pub seconds: f64,
    /// What joins the parties.
    pub link: Link,
    /// Why it cannot run here; nothing if it can.
    pub refused: Option<String>,
}

impl QueryPlan {
    /// Plans the query of the job at `path`. Tables are not read. `about` is told what is going on.
    ///
    /// # Errors
    /// Those of [`QueryJob::load`]; [`Error::Parties`](crate::Error::Parties) if a sample fails.
    pub fn new(
        path: &Path,
        instead: &Instead,
        link: Link,
        setting: Setting,
        command: impl Fn() -> Command,
        about: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let planned = Planned::new(QueryJob::load_with(path, instead)?)?;
        let protocol = planned.job.protocol().clone();
        about(&format!("running samples with {}", protocol.name()));
        let rates = Rates::known(&protocol, &link, setting, &command)?;
        let tally = &planned.tally;
        let traffic = planned.prepared.traffic_bytes(&tally.demand());
        let size = Size {
            traffic: traffic as f64,
            rounds: if protocol.levels_take_rounds() {
                (tally.levels + tally.messages) as f64
            } else {
                0.0
            },
            gates: tally.gates as f64,
        };
        let parties = 0..protocol.parties();
        let given = |party: u8| {
            let of = tally.inputs.iter().filter(|(owner, _)| *owner == party);
            of.map(|(_, bits)| bits).sum()
        };
        let memory_bytes: Vec<u64> = parties
            .clone()
            .map(|party| planned.memory_bytes(PartyId(party)))
            .collect();
        let busiest = (0..protocol.parties())
            .max_by_key(|&party| memory_bytes[usize::from(party)])
            .map_or(PartyId(0), PartyId);
        let query = planned.job.query();
        let foreseen = query.foreseen(tally);
        about("trying promises");
        let proposals = query.proposals(planned.job.text(), protocol.abilities(), tally.and_gates);
        Ok(QueryPlan {
            steps: foreseen.steps(),
            tree: foreseen.tree(),
            proposals,
            learnt: query.learnt(),
            and_gates: tally.and_gates,
            levels: tally.levels,
            input_bits: parties.map(given).collect(),
            refused: planned.admit([busiest]).err().map(|error| error.to_string()),
            memory_bytes,
            bytes_sent: (traffic as f64 * rates.share_sent) as u64,
            seconds: rates.seconds_of(size, &link),
            link,
            protocol,
        })
    }

    /// As text.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n", self.tree);
        let mut table = Table::new("l");
        table.row(&[&"protocol", &self.protocol.describe()]);
        table.row(&[
            &"AND gates",
            &format_args!("{} in {} levels", grouped(self.and_gates), grouped(self.levels)),
        ]);
        table.row(&[
            &"sent",
            &format_args!("{} by the busiest party", amount(self.bytes_sent)),
        ]);
        let memory = self.memory_bytes.iter().copied().max().unwrap_or(0);
        table.row(&[&"memory", &format_args!("{} a party at most", amount(memory))]);
        table.row(&[
            &"seconds",
            &format_args!(
                "{:.2}, all parties on this machine, joined by {}",
                self.seconds, self.link
            ),
        ]);
        text.push_str(&table.to_string());
        text.push('\n');
        for sentence in &self.learnt {
            let _ = writeln!(text, "{sentence}");
        }
        if !self.proposals.is_empty() {
            text.push_str("\nPromises that would make it cheaper:\n");
        }
        for proposal in &self.proposals {
            let _ = writeln!(text, "- {}", proposal.told);
        }
        text
    }
}
