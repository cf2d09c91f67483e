//! What a query will take, told before any of it is computed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use cenote_net::PartyId;
use cenote_query::{PlanStep, Proposal};
use serde::Serialize;

use super::file::{Instead, QueryJob};
use super::planned::{Part, Planned, fits};
use super::shards::{self, Sharded, ShardsPlan};
use crate::local::Setting;
use crate::plan::{Rates, Size};
use crate::text::{Table, amount, grouped};
use crate::{Error, Link, Protocol, Result};

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
    /// How it is cut, if it is.
    pub shards: Option<ShardsPlan>,
    /// Why it cannot run here; nothing if it can.
    pub refused: Option<String>,
}

/// What is planned: a job in one session, or in shards.
enum Parts {
    Whole(Planned),
    /// The sessions of a shard and of the merge.
    InShards(Sharded, Box<[Planned; 2]>),
}

impl Parts {
    fn new(path: &Path, instead: &Instead) -> Result<Self> {
        let job = QueryJob::load_with(path, instead)?;
        if job.in_shards().is_some() {
            let sharded = Sharded::new(job)?;
            let sessions = [sharded.planned(Part::Shard)?, sharded.planned(Part::Merge)?];
            return Ok(Parts::InShards(sharded, Box::new(sessions)));
        }
        let planned = Planned::new(job).map_err(|error| with_proposal(error, path, instead));
        planned.map(Parts::Whole)
    }

    /// The sessions, and how often each is held.
    fn sessions(&self) -> Vec<(&Planned, u64)> {
        match self {
            Parts::Whole(planned) => vec![(planned, 1)],
            Parts::InShards(sharded, sessions) => {
                let [shard, merge] = &**sessions;
                vec![(merge, 1), (shard, sharded.shards())]
            }
        }
    }

    fn job(&self) -> &QueryJob {
        match self {
            Parts::Whole(planned) => &planned.job,
            Parts::InShards(_, sessions) => &sessions[0].job,
        }
    }

    fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        match self {
            Parts::Whole(planned) => Ok(planned.memory_bytes(party)),
            Parts::InShards(sharded, _) => sharded.memory_bytes(party),
        }
    }
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
        let parts = Parts::new(path, instead)?;
        let (job, sessions) = (parts.job(), parts.sessions());
        let protocol = job.protocol().clone();
        about(&format!("running samples with {}", protocol.name()));
        let rates = Rates::known(&protocol, &link, setting, &command)?;
        let parties = (0..protocol.parties()).map(PartyId);
        let memory_bytes = parties.clone().map(|party| parts.memory_bytes(party));
        let memory_bytes = memory_bytes.collect::<Result<Vec<u64>>>()?;
        let (mut traffic, mut seconds, mut and_gates, mut levels) = (0, 0.0, 0, 0);
        let mut input_bits = vec![0; memory_bytes.len()];
        let (mut steps, mut trees) = (Vec::new(), Vec::new());
        for (planned, times) in &sessions {
            let tally = &planned.tally;
            let sent = planned.prepared.traffic_bytes(&tally.demand());
            seconds += *times as f64 * rates.seconds_of(size(planned, sent), &link);
            traffic += times * sent;
            and_gates += times * tally.and_gates;
            levels += times * tally.levels;
            for (owner, bits) in &tally.inputs {
                input_bits[usize::from(*owner)] += times * bits;
            }
            let foreseen = planned.foreseen();
            steps.extend(foreseen.steps());
            trees.push(foreseen.tree());
        }
        let query = job.query();
        let (mut proposals, mut learnt, mut in_shards) = (Vec::new(), query.learnt(), None);
        match &parts {
            Parts::Whole(planned) => {
                about("trying promises");
                let gates = planned.tally.and_gates;
                proposals = query.proposals(job.text(), protocol.abilities(), gates);
            }
            Parts::InShards(sharded, _) => {
                let plan = ShardsPlan::new(sharded);
                learnt.push(plan.learnt());
                in_shards = Some(plan);
            }
        }
        let most = memory_bytes.iter().copied().max();
        let refused = fits(most, "").err().map(|error| match &parts {
            Parts::Whole(_) => with_proposal(error, path, instead).to_string(),
            Parts::InShards(..) => error.to_string(),
        });
        Ok(QueryPlan {
            steps,
            tree: trees.join("\neach shard\n"),
            proposals,
            learnt,
            and_gates,
            levels,
            input_bits,
            memory_bytes,
            bytes_sent: (traffic as f64 * rates.share_sent) as u64,
            seconds,
            link,
            shards: in_shards,
            refused,
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
        if let Some(shards) = &self.shards {
            text.push_str(&shards.table());
        }
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

/// Why a job does not fit in one session, and in how many shards it does.
fn with_proposal(error: Error, path: &Path, instead: &Instead) -> Error {
    match shards::proposed(path, instead) {
        Some(proposal) => Error::Usage(format!("{error}. {proposal}")),
        None => error,
    }
}

/// What a session that sends so much takes.
fn size(planned: &Planned, traffic: u64) -> Size {
    let tally = &planned.tally;
    Size {
        traffic: traffic as f64,
        rounds: if planned.protocol.levels_take_rounds() {
            (tally.levels + tally.messages) as f64
        } else {
            0.0
        },
        gates: tally.gates as f64,
    }
}
