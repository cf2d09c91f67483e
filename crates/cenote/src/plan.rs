//! What a job will take, told before any of it is computed.
//!
//! Gates, rounds, bytes and memory follow from the circuit and the protocol's parameters. The time is an estimate from samples that are run on
//! this machine first, all parties on it: `set-up + bytes / rate + rounds · round + gates · gate`, and what a link adds to that. Gates are
//! those of a lane, since what more lanes take goes with their bytes. Where each party has a machine of its own, it is less.

use std::path::Path;
use std::process::Command;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Demand, Parties, Run, memory};
use serde::{Deserialize, Serialize};

use crate::local::{Setting, run_sample};
use crate::text::{Table, amount, grouped, s};
use crate::{CircuitDescription, Error, Job, Link, Prepared, Program, Protocol, Report, Result, circuits};

/// Bytes of traffic of the large sample, at least.
const SAMPLE_BYTES: u64 = 64 << 20;

/// How often a sample is run at most; the fastest counts.
const RUNS: usize = 3;

/// Seconds of a sample's runs after which it is not run again, if it was run often enough.
const ENOUGH: f64 = 0.6;

/// What delays are counted with, in milliseconds of a round trip.
const PROBE_RTT: f64 = 20.0;

/// A run on made-up inputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The protocol.
    pub protocol: Protocol,
    /// A circuit of the library. Its inputs belong to the parties in turn, and all learn the outputs.
    pub circuit: String,
    /// Instances of it.
    pub lanes: usize,
    /// What joins the parties.
    pub link: Link,
}

impl Sample {
    /// What is computed.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such circuit, or it cannot have so many lanes.
    pub fn program(&self) -> Result<Program> {
        let circuit = circuits::by_name(&self.circuit).map_err(|error| Error::Usage(error.to_string()))?;
        let parties = self.protocol.parties();
        let owners = (0..circuit.inputs().len()).map(|input| PartyId(input as u8 % parties));
        let receivers = vec![Parties::all(parties.into()); circuit.outputs().len()];
        Program::new(
            self.circuit.clone(),
            circuit.clone(),
            owners.collect(),
            receivers,
            self.lanes,
        )
    }

    pub(crate) fn inputs(&self, program: &Program, me: PartyId) -> Vec<Option<BitMatrix>> {
        let zeros = |width: u32| BitMatrix::zeros(width as usize, self.lanes);
        let inputs = program.circuit().inputs().iter().zip(program.owners());
        inputs
            .map(|(value, &owner)| (owner == me).then(|| zeros(value.width)))
            .collect()
    }

    /// Runs it as [`crate::local::run_job`] does, and gives the seconds from the handshake to the end, of the slowest party.
    ///
    /// # Errors
    /// As [`crate::local::run_job`].
    pub fn seconds(&self, setting: Setting, command: impl Fn() -> Command) -> Result<f64> {
        Ok(seconds(&run_sample(self, setting, command)?))
    }

    fn size(&self) -> Result<Size> {
        let program = self.program()?;
        let demand = program.demand();
        let prepared = self.protocol.prepare(&demand)?;
        Ok(Size::new(&self.protocol, &prepared, &demand))
    }

    /// The fastest of some runs, of what [`Sample::size`] says.
    fn fastest(&self, size: Size, setting: Setting, command: &impl Fn() -> Command) -> Result<Measured> {
        // Small ones count by their differences, in which a single chance would show.
        let least = if self.lanes == 1 { 2 } else { 1 };
        let (mut best, mut spent): (Option<(f64, Report)>, f64) = (None, 0.0);
        for run in 0..RUNS {
            if run >= least && spent > ENOUGH {
                break;
            }
            let report = run_sample(self, setting, command)?;
            let seconds = seconds(&report);
            spent += seconds;
            if best.as_ref().is_none_or(|(fastest, _)| seconds < *fastest) {
                best = Some((seconds, report));
            }
        }
        let (seconds, report) = best.ok_or_else(|| Error::Usage("a sample is run at least once".into()))?;
        let sent = report.parties.iter().map(|party| party.bytes_sent).max();
        Ok(Measured {
            seconds,
            size,
            sent: sent.unwrap_or(0),
        })
    }
}

fn seconds(report: &Report) -> f64 {
    report
        .parties
        .iter()
        .map(|party| party.seconds.of("run"))
        .fold(0.0, f64::max)
}

/// What a sample took.
struct Measured {
    seconds: f64,
    size: Size,
    /// The most bytes that one party sent.
    sent: u64,
}

/// What the time of a run depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Size {
    pub(crate) traffic: f64,
    pub(crate) rounds: f64,
    pub(crate) gates: f64,
}

impl Size {
    fn new(protocol: &Protocol, prepared: &Prepared, demand: &Demand<'_>) -> Self {
        Self {
            traffic: prepared.traffic_bytes(demand) as f64,
            rounds: protocol.rounds(demand) as f64,
            gates: demand.runs().iter().map(gates).sum(),
        }
    }
}

/// Gates of a lane, free ones too.
fn gates(run: &Run<'_>) -> f64 {
    (run.plan.local_ops().len() + run.plan.and_ops().len()) as f64 * run.times as f64
}

/// How fast this machine runs a protocol, all parties on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Seconds of a session besides what follows.
    pub setup_seconds: f64,
    /// Bytes that a party sends and receives in a second, computing included.
    pub bytes_per_second: f64,
    /// Seconds of a message that another one waits for.
    pub round_seconds: f64,
    /// Seconds of a gate, in however many lanes.
    pub gate_seconds: f64,
    /// Messages of a small session that wait for one another, if a link has a delay.
    pub delays: f64,
    /// Of the bytes that a party sends and receives, those that the busiest one sends.
    pub share_sent: f64,
    /// The rounds of the small session, as they are estimated.
    rounds: f64,
}

impl Rates {
    /// Measures them, for parties joined by `link`.
    ///
    /// # Errors
    /// As [`crate::local::run_job`].
    pub fn measure(
        protocol: &Protocol,
        link: &Link,
        setting: Setting,
        command: &impl Fn() -> Command,
    ) -> Result<Self> {
        let sample = |circuit: &str, lanes: usize| Sample {
            protocol: protocol.clone(),
            circuit: circuit.into(),
            lanes,
            link: Link::default(),
        };
        let of_one = |circuit: &str| {
            let sample = sample(circuit, 1);
            sample.fastest(sample.size()?, setting, command)
        };
        let (small, deep) = (of_one("aes128")?, of_one("sha256")?);
        let mut large = sample("aes128", 16);
        let mut size = large.size()?;
        while size.traffic < SAMPLE_BYTES as f64 {
            large.lanes *= 2;
            size = large.size()?;
        }
        let large = large.fastest(size, setting, command)?;
        let wide = of_one("sort256x32")?;

        let bytes_per_second =
            (large.size.traffic - small.size.traffic) / (large.seconds - small.seconds).max(1e-3);
        // What a sample took more than the small one, but for its bytes: that is rounds and gates.
        let more = |of: &Measured| {
            let bytes = of.size.traffic - small.size.traffic;
            let size = (
                of.size.rounds - small.size.rounds,
                of.size.gates - small.size.gates,
            );
            (size, of.seconds - small.seconds - bytes / bytes_per_second)
        };
        let (round_seconds, gate_seconds) = solved(more(&deep), more(&wide));
        let besides = small.size.traffic / bytes_per_second
            + small.size.rounds * round_seconds
            + small.size.gates * gate_seconds;
        let delays = if link.rtt_ms > 0.0 {
            let mut slow = sample("aes128", 1);
            slow.link.rtt_ms = PROBE_RTT;
            let slow = slow.fastest(small.size, setting, command)?;
            ((slow.seconds - small.seconds) * 2000.0 / PROBE_RTT).max(0.0)
        } else {
            0.0
        };
        Ok(Self {
            setup_seconds: (small.seconds - besides).max(0.0),
            bytes_per_second,
            round_seconds,
            gate_seconds,
            delays,
            share_sent: large.sent as f64 / large.size.traffic,
            rounds: small.size.rounds,
        })
    }

    /// About how many seconds `program` takes from the handshake to the end, over `link`.
    ///
    /// # Errors
    /// Why the protocol cannot run it.
    pub fn seconds(&self, protocol: &Protocol, program: &Program, link: &Link) -> Result<f64> {
        let demand = program.demand();
        let prepared = protocol.prepare(&demand)?;
        Ok(self.seconds_of(Size::new(protocol, &prepared, &demand), link))
    }

    pub(crate) fn seconds_of(&self, size: Size, link: &Link) -> f64 {
        let computing = size.traffic / self.bytes_per_second;
        let sending = link
            .bytes_per_second()
            .map_or(0.0, |rate| size.traffic * self.share_sent / rate);
        let delays = (self.delays + size.rounds - self.rounds).max(0.0) * link.way().as_secs_f64();
        let local = size.rounds * self.round_seconds + size.gates * self.gate_seconds;
        self.setup_seconds + local + computing.max(sending) + delays
    }
}

/// What a round and a gate take, from two samples with so many, and what they took. Neither is negative.
fn solved(
    ((rounds, gates), time): ((f64, f64), f64),
    ((more_rounds, more_gates), more_time): ((f64, f64), f64),
) -> (f64, f64) {
    let determinant = rounds * more_gates - more_rounds * gates;
    if determinant == 0.0 {
        return (0.0, (more_time / more_gates).max(0.0));
    }
    let round = (time * more_gates - more_time * gates) / determinant;
    let gate = (rounds * more_time - more_rounds * time) / determinant;
    if gate < 0.0 {
        return ((time / rounds).max(0.0), 0.0);
    }
    match round < 0.0 {
        true => (0.0, (more_time / more_gates).max(0.0)),
        false => (round, gate),
    }
}

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
    /// Each protocol, that of the job first.
    pub protocols: Vec<ProtocolPlan>,
}

/// What a job will take with one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProtocolPlan {
    /// The protocol and its settings.
    #[serde(flatten)]
    pub protocol: Protocol,
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
/// Those of [`Job::load`] and [`Job::infer_lanes`]; [`Error::Parties`] if a sample fails. That a protocol cannot run the job is none.
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
    let own = std::iter::once(job.protocol().clone());
    let others = Protocol::all().filter(|other| other.name() != job.protocol().name());
    let mut protocols = Vec::new();
    for protocol in own.chain(others) {
        let (mut planned, size) = ProtocolPlan::new(protocol, &program);
        if let (Some(size), Some(estimate)) = (size, &mut planned.estimate) {
            about(&format!("running samples with {}", planned.protocol.name()));
            let rates = Rates::measure(&planned.protocol, &link, setting, &command)?;
            estimate.bytes_sent = Some((size.traffic * rates.share_sent) as u64);
            estimate.seconds = Some(rates.seconds_of(size, &link));
        }
        protocols.push(planned);
    }
    Ok(JobPlan {
        circuit: CircuitDescription::new(&program),
        lanes: program.lanes() as u64,
        and_gates: program.and_gates(),
        link,
        protocols,
    })
}

impl ProtocolPlan {
    /// The plan, and what its time depends on unless the protocol cannot run the job.
    fn new(protocol: Protocol, program: &Program) -> (Self, Option<Size>) {
        let mut plan = Self {
            protocol,
            refused: None,
            estimate: None,
        };
        match plan.try_estimate(program) {
            Ok(size) => (plan, Some(size)),
            Err(why) => {
                plan.refused = Some(why);
                (plan, None)
            }
        }
    }

    /// Estimates what can be told without running anything.
    fn try_estimate(&mut self, program: &Program) -> std::result::Result<Size, String> {
        let parties = self.protocol.parties();
        let receivers = program.receivers().iter().flat_map(|to| to.iter());
        let taking_part = program.owners().iter().copied().chain(receivers).max();
        if let Some(last) = taking_part.filter(|last| last.0 >= parties) {
            return Err(format!(
                "it has {parties} parties, and {last} takes part in the job"
            ));
        }
        let demand = program.demand();
        let prepared = self
            .protocol
            .prepare(&demand)
            .map_err(|error| error.to_string())?;
        let memory_bytes: Vec<u64> = (0..parties)
            .map(|party| prepared.memory_bytes(program, PartyId(party)))
            .collect();
        let most = memory_bytes.iter().copied().max().unwrap_or(0);
        self.estimate = Some(Estimate {
            made: prepared.made(),
            rounds: self.protocol.rounds(&demand),
            bytes_sent: None,
            memory_bytes,
            seconds: None,
        });
        memory::admit(most).map_err(|error| error.to_string())?;
        Ok(Size::new(&self.protocol, &prepared, &demand))
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
        for ProtocolPlan {
            protocol,
            refused: why,
            estimate,
        } in &self.protocols
        {
            if let Some(why) = why {
                refused += &format!("{} cannot run it: {why}\n", protocol.name());
            }
            let Some(estimate) = estimate else { continue };
            if let Some(what) = &estimate.made {
                made += &format!("{} makes {what}\n", protocol.name());
            }
            let or_blank = |known: Option<String>| known.unwrap_or_else(|| "-".into());
            let memory = estimate.memory_bytes.iter().copied().max().unwrap_or(0);
            table.row(&[
                &protocol.name(),
                &grouped(estimate.rounds),
                &or_blank(estimate.bytes_sent.map(amount)),
                &amount(memory),
                &or_blank(estimate.seconds.map(|seconds| format!("{seconds:.2}"))),
            ]);
        }
        let CircuitDescription {
            name,
            and_gates,
            and_depth,
            ..
        } = &self.circuit;
        format!(
            "{name}, {} lane{}: {} AND gates ({} in a lane, {} one after another)\n{table}{made}{refused}\
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
    use super::*;
    use crate::{Lego, Three};

    fn program(parties: u8) -> Program {
        let circuit = circuits::by_name("add64").unwrap();
        let owners = vec![PartyId(0), PartyId(parties - 1)];
        Program::new("test", circuit, owners, vec![Parties::all(2)], 10).unwrap()
    }

    #[test]
    fn a_link_adds_its_delay_and_takes_its_time() {
        let rates = Rates {
            setup_seconds: 0.5,
            bytes_per_second: 1e8,
            round_seconds: 1e-5,
            gate_seconds: 1e-7,
            delays: 100.0,
            share_sent: 0.5,
            rounds: 60.0,
        };
        let size = Size {
            traffic: 1e9,
            rounds: 1060.0,
            gates: 1e6,
        };
        let on = |rtt_ms, gbit_per_second| {
            rates.seconds_of(
                size,
                &Link {
                    rtt_ms,
                    gbit_per_second,
                },
            )
        };
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{x} {y}");
        let here = 0.5 + 1060.0 * 1e-5 + 0.1 + 10.0;
        near(on(0.0, None), here);
        near(on(0.0, Some(10.0)), here);
        // Half a gigabyte at 0.1 Gbit/s.
        near(on(0.0, Some(0.1)), here + 40.0 - 10.0);
        near(on(20.0, None), here + 1100.0 * 0.01);
    }

    #[test]
    fn rounds_and_gates_are_told_apart() {
        let near = |(round, gate): (f64, f64), right: (f64, f64)| {
            assert!(
                (round - right.0).abs() < 1e-12 && (gate - right.1).abs() < 1e-12,
                "{round} {gate}"
            );
        };
        let took = |rounds: f64, gates: f64| ((rounds, gates), rounds * 2e-5 + gates * 3e-8);
        near(solved(took(1500.0, 2e4), took(1000.0, 5e5)), (2e-5, 3e-8));
        // No rounds, and noise.
        near(solved(((0.0, 2e4), 0.1), ((0.0, 5e5), 0.05)), (0.0, 1e-7));
        near(solved(((1500.0, 2e4), 0.03), ((1000.0, 5e5), 0.001)), (2e-5, 0.0));
        near(solved(((1500.0, 2e4), -0.01), ((1000.0, 5e5), 0.05)), (0.0, 1e-7));
    }

    #[test]
    fn what_a_protocol_cannot_run_is_told() {
        let (third, size) = ProtocolPlan::new(Lego::default().into(), &program(3));
        assert_eq!(
            third.refused.as_deref(),
            Some("it has 2 parties, and party 2 takes part in the job")
        );
        assert!(third.estimate.is_none() && size.is_none());
        for protocol in Protocol::all().filter(|protocol| protocol.name() != "example") {
            let (plan, size) = ProtocolPlan::new(protocol, &program(2));
            assert_eq!(plan.refused, None);
            assert!(size.is_some_and(|size| size.traffic > 0.0));
            let estimate = plan.estimate.unwrap();
            assert_eq!(estimate.memory_bytes.len(), usize::from(plan.protocol.parties()));
            assert!(estimate.memory_bytes.iter().all(|&bytes| bytes > 0));
        }
        let (of_pool, _) = ProtocolPlan::new(Protocol::named("jimu").unwrap(), &program(2));
        let made = of_pool
            .estimate
            .as_ref()
            .and_then(|estimate| estimate.made.clone());
        assert!(made.is_some_and(|made| made.contains("AND gates, ")));
        let circuit = circuits::by_name("add64").unwrap();
        let owners = vec![PartyId(0), PartyId(1)];
        let huge = Program::new("test", circuit, owners, vec![Parties::all(2)], 1 << 30).unwrap();
        let (plan, size) = ProtocolPlan::new(Three::default().into(), &huge);
        assert_eq!(size, None);
        assert!(
            plan.refused
                .is_some_and(|why| why.contains("of memory are needed"))
        );
    }
}
