//! What a job will take, told before any of it is computed.
//!
//! Gates, rounds, bytes and memory follow from the circuit and the protocol's parameters. The time is an estimate from samples that are run on
//! this machine first, all parties on it: `set-up + bytes / rate + rounds · round + gates · gate`, and what a link adds to that. Gates are
//! those of a lane, since what more lanes take goes with their bytes. Where each party has a machine of its own, it is less.

mod rates;
mod sample;

use std::path::Path;
use std::process::Command;

use cenote_net::PartyId;
use cenote_session::memory;
use serde::Serialize;

pub use crate::job::shards::LanesPlan;
use crate::job::shards::{Lanes, proposed};
use crate::local::Setting;
use crate::text::{Table, amount, grouped, s};
use crate::{CircuitDescription, Job, Link, Program, Protocol, Result};
pub use rates::Rates;
pub use sample::Sample;
pub(crate) use sample::Size;

/// What a job will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobPlan {
    /// The circuit.
    pub circuit: CircuitDescription,
    /// Instances side by side.
    pub lanes: u64,
    /// AND gates of all of them.
    pub and_gates: u64,
    /// What joins the parties.
    pub link: Link,
    /// How the job is cut, if it is.
    pub shards: Option<LanesPlan>,
    /// Each protocol, that of the job first.
    pub protocols: Vec<ProtocolPlan>,
}

/// What a job will take with one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProtocolPlan {
    /// The protocol and its settings.
    #[serde(flatten)]
    pub protocol: Protocol,
    /// What sets it apart from the job's own, if that is the same protocol.
    #[serde(skip)]
    apart: Option<&'static str>,
    /// Why it cannot run the job; nothing if it can.
    pub refused: Option<String>,
    /// What it takes, as far as it can be told.
    pub estimate: Option<Estimate>,
}

/// What a run will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// What is made before it is computed, in a few words; nothing if there is nothing to say.
    pub made: Option<String>,
    /// Messages of the evaluation that wait for one another, about.
    pub rounds: u64,
    /// Bytes that the busiest party sends, about; not known before samples were run.
    pub bytes_sent: Option<u64>,
    /// The most bytes of memory that each party takes.
    pub memory_bytes: Vec<u64>,
    /// Seconds from the handshake to the end, about, all parties on this machine.
    pub seconds: Option<f64>,
}

/// Plans the job of the file `job`, which is run by nobody, with its own protocol and all others. `about` is told what is going on.
///
/// # Errors
/// Those of [`Job::load`] and [`Job::infer_lanes`]; [`crate::Error::Parties`] if a sample fails. That a protocol cannot run the job is none.
pub fn plan(
    job: &Path,
    link: Link,
    setting: Setting,
    command: impl Fn() -> Command,
    about: &mut dyn FnMut(&str),
) -> Result<JobPlan> {
    let job = Job::load(job)?;
    let lanes = job.stated_lanes().or_else(|_| job.infer_lanes())?;
    let program = job.program(lanes)?;
    let own = std::iter::once((None, job.protocol().clone()));
    let rivals = job.protocol().rivals().map(|(apart, rival)| (Some(apart), rival));
    let others = Protocol::all().filter(|other| other.name() != job.protocol().name());
    let mut protocols = Vec::new();
    for (apart, protocol) in own.chain(rivals).chain(others.map(|other| (None, other))) {
        let (mut planned, sizes) = match job.cut_for(&protocol, lanes) {
            None => ProtocolPlan::new(protocol, &Work::Whole(&program)),
            Some(Ok(cut)) => ProtocolPlan::new(protocol, &Work::InShards(&cut)),
            Some(Err(why)) => (ProtocolPlan::refused(protocol, why), Vec::new()),
        };
        planned.apart = apart;
        let name = planned.name();
        if let (false, Some(estimate)) = (sizes.is_empty(), &mut planned.estimate) {
            about(&format!("running samples with {name}"));
            let rates = Rates::known(&planned.protocol, &link, setting, &command)?;
            let all = |of: &dyn Fn(Size) -> f64| -> f64 {
                let each = sizes.iter().map(|&(size, times)| times as f64 * of(size));
                each.sum()
            };
            estimate.bytes_sent = Some((all(&|size| size.traffic) * rates.share_sent) as u64);
            estimate.seconds = Some(all(&|size| rates.seconds_of(size, &link)));
        }
        protocols.push(planned);
    }
    let cut = Lanes::of(&job, lanes)?;
    if let (None, Some(own)) = (&cut, protocols.first_mut())
        && let (Some(why), Some(proposal)) = (&mut own.refused, proposed(&job, lanes))
    {
        *why = format!("{why}. {proposal}");
    }
    Ok(JobPlan {
        circuit: CircuitDescription::new(&program),
        lanes: program.lanes() as u64,
        and_gates: cut.as_ref().map_or(program.and_gates(), Lanes::and_gates),
        link,
        shards: cut.as_ref().map(Lanes::plan),
        protocols,
    })
}

/// What a protocol is to compute.
enum Work<'a> {
    Whole(&'a Program),
    InShards(&'a Lanes),
}

impl Work<'_> {
    /// The program of the job.
    fn program(&self) -> &Program {
        match self {
            Work::Whole(program) => program,
            Work::InShards(lanes) => lanes.program(),
        }
    }

    /// The program of each session, how often it is run, and by which protocol.
    fn sessions<'b>(&'b self, protocol: &'b Protocol) -> Vec<(&'b Program, u64, &'b Protocol)> {
        match self {
            Work::Whole(program) => vec![(program, 1, protocol)],
            Work::InShards(lanes) => {
                let sessions = lanes.sessions().into_iter();
                sessions
                    .map(|(program, times)| (program, times, lanes.safer()))
                    .collect()
            }
        }
    }
}

impl ProtocolPlan {
    /// Of a protocol that cannot run the job.
    fn refused(protocol: Protocol, why: String) -> Self {
        Self {
            protocol,
            apart: None,
            refused: Some(why),
            estimate: None,
        }
    }

    /// The plan, and what the time of each session depends on, with how often it is held; nothing if the protocol cannot run the job.
    fn new(protocol: Protocol, work: &Work<'_>) -> (Self, Vec<(Size, u64)>) {
        let mut plan = Self {
            protocol,
            apart: None,
            refused: None,
            estimate: None,
        };
        match plan.try_estimate(work) {
            Ok(sizes) => (plan, sizes),
            Err(why) => {
                plan.refused = Some(why);
                (plan, Vec::new())
            }
        }
    }

    /// What people call it.
    fn name(&self) -> String {
        let name = self.protocol.name();
        self.apart
            .map_or_else(|| name.into(), |apart| format!("{name}, {apart}"))
    }

    /// Estimates what can be told without running anything.
    fn try_estimate(&mut self, work: &Work<'_>) -> std::result::Result<Vec<(Size, u64)>, String> {
        let (parties, program) = (self.protocol.parties(), work.program());
        let receivers = program.receivers().iter().flat_map(|to| to.iter());
        let taking_part = program.owners().iter().copied().chain(receivers).max();
        if let Some(last) = taking_part.filter(|last| last.0 >= parties) {
            return Err(format!(
                "it has {parties} parties, and {last} takes part in the job"
            ));
        }
        let told = |error: crate::Error| error.to_string();
        let (mut sizes, mut made, mut rounds) = (Vec::new(), None, 0);
        let mut memory_bytes = vec![0; usize::from(parties)];
        for (program, times, protocol) in work.sessions(&self.protocol) {
            let demand = program.demand();
            let prepared = protocol.prepare(&demand).map_err(told)?;
            for (party, bytes) in (0..parties).map(PartyId).zip(&mut memory_bytes) {
                *bytes = prepared.memory_bytes(program, party).max(*bytes);
            }
            rounds += times * protocol.rounds(&demand);
            sizes.push((Size::new(protocol, &prepared, &demand), times));
            made = made.or(prepared.made());
        }
        if let Work::InShards(lanes) = work {
            for (party, bytes) in (0..parties).map(PartyId).zip(&mut memory_bytes) {
                *bytes = lanes.memory_bytes(party).map_err(told)?;
            }
        }
        let most = memory_bytes.iter().copied().max().unwrap_or(0);
        self.estimate = Some(Estimate {
            made,
            rounds,
            bytes_sent: None,
            memory_bytes,
            seconds: None,
        });
        memory::admit(most).map_err(|error| error.to_string())?;
        Ok(sizes)
    }
}

impl JobPlan {
    /// Why the job's own protocol cannot run it.
    pub fn refused(&self) -> Option<&str> {
        self.protocols.first()?.refused.as_deref()
    }

    /// As a short table.
    pub fn table(&self) -> String {
        let mut table = Table::new("lrrrr");
        table.row(&[&"protocol", &"rounds", &"sent", &"memory", &"seconds"]);
        let (mut refused, mut made) = (String::new(), String::new());
        for plan in &self.protocols {
            let name = plan.name();
            if let Some(why) = &plan.refused {
                refused += &format!("{name} cannot run it: {why}\n");
            }
            let Some(estimate) = &plan.estimate else { continue };
            if let Some(what) = &estimate.made {
                made += &format!("{name} makes {what}\n");
            }
            let or_blank = |known: Option<String>| known.unwrap_or_else(|| "-".into());
            let memory = estimate.memory_bytes.iter().copied().max().unwrap_or(0);
            table.row(&[
                &name,
                &grouped(estimate.rounds),
                &or_blank(estimate.bytes_sent.map(amount)),
                &amount(memory),
                &or_blank(estimate.seconds.map(|seconds| format!("{seconds:.2}"))),
            ]);
        }
        let shards = self.shards.as_ref().map_or(String::new(), LanesPlan::table);
        let CircuitDescription {
            name,
            and_gates,
            and_depth,
            ..
        } = &self.circuit;
        format!(
            "{name}, {} lane{}: {} AND gates ({} in a lane, {} one after another)\n{table}{made}{refused}{shards}\
             Of the busiest party. Times are estimates for all parties on this machine, with {}.\n",
            grouped(self.lanes),
            s(self.lanes),
            grouped(self.and_gates),
            grouped(*and_gates),
            grouped(*and_depth),
            self.link
        )
    }
}

#[cfg(test)]
mod tests {
    use cenote_session::Parties;

    use super::*;
    use crate::{Lego, Three, circuits};

    fn program(parties: u8) -> Program {
        let circuit = circuits::by_name("add64").unwrap();
        let owners = vec![PartyId(0), PartyId(parties - 1)];
        Program::new("test", circuit, owners, vec![Parties::all(2)], 10).unwrap()
    }

    #[test]
    fn what_a_protocol_cannot_run_is_told() {
        let (third, size) = ProtocolPlan::new(Lego::default().into(), &Work::Whole(&program(3)));
        assert_eq!(
            third.refused.as_deref(),
            Some("it has 2 parties, and party 2 takes part in the job")
        );
        assert!(third.estimate.is_none() && size.is_empty());
        for protocol in Protocol::all().filter(|protocol| protocol.name() != "example") {
            let (plan, size) = ProtocolPlan::new(protocol, &Work::Whole(&program(2)));
            assert_eq!(plan.refused, None);
            assert!(size[0].0.traffic > 0.0);
            let estimate = plan.estimate.unwrap();
            assert_eq!(estimate.memory_bytes.len(), usize::from(plan.protocol.parties()));
            assert!(estimate.memory_bytes.iter().all(|&bytes| bytes > 0));
        }
        let (of_pool, _) = ProtocolPlan::new(Protocol::named("jimu").unwrap(), &Work::Whole(&program(2)));
        let made = of_pool
            .estimate
            .as_ref()
            .and_then(|estimate| estimate.made.clone());
        assert!(made.is_some_and(|made| made.contains("AND gates, ")));
        let circuit = circuits::by_name("add64").unwrap();
        let owners = vec![PartyId(0), PartyId(1)];
        let huge = Program::new("test", circuit, owners, vec![Parties::all(2)], 1 << 30).unwrap();
        let (plan, size) = ProtocolPlan::new(Three::default().into(), &Work::Whole(&huge));
        assert!(size.is_empty());
        assert!(
            plan.refused
                .is_some_and(|why| why.contains("of memory are needed"))
        );
    }
}
