//! Samples that are run on this machine, and what the time of a run depends on.

use std::process::Command;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Demand, Parties, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::local::{Assigned, Seat, Setting, Task, combine, run, value};
use crate::{Error, Link, Prepared, Program, Protocol, Report, Result, circuits};

/// How often a sample is run at most; the fastest counts.
const RUNS: usize = 3;

/// Seconds of a sample's runs after which it is not run again, if it was run often enough.
const ENOUGH: f64 = 0.6;

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

impl Assigned for Sample {
    const NAME: &'static str = "sample";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let program = self.program()?;
        let inputs = self.inputs(&program, seat.me);
        let slow = |connections| self.link.shape(connections);
        let outcome = seat.compute_over(slow, &self.protocol, &program, &inputs, &())?;
        value(&outcome.report)
    }
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

    /// Runs it with a process for each party.
    fn run(&self, setting: Setting, command: impl Fn() -> Command) -> Result<Report> {
        let task = Task::new(self)?;
        combine(run(
            self.protocol.parties(),
            setting,
            &task,
            command,
            &mut |_, _| (),
        )?)
    }

    fn inputs(&self, program: &Program, me: PartyId) -> Vec<Option<BitMatrix>> {
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
        Ok(seconds(&self.run(setting, command)?))
    }

    pub(super) fn size(&self) -> Result<Size> {
        let program = self.program()?;
        let demand = program.demand();
        let prepared = self.protocol.prepare(&demand)?;
        Ok(Size::new(&self.protocol, &prepared, &demand))
    }

    /// The fastest of some runs, of what [`Sample::size`] says.
    pub(super) fn fastest(
        &self,
        size: Size,
        setting: Setting,
        command: &impl Fn() -> Command,
    ) -> Result<Measured> {
        // Small ones count by their differences, in which a single chance would show.
        let least = if self.lanes == 1 { 2 } else { 1 };
        let (mut best, mut spent): (Option<(f64, Report)>, f64) = (None, 0.0);
        for run in 0..RUNS {
            if run >= least && spent > ENOUGH {
                break;
            }
            let report = self.run(setting, command)?;
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
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) size: Size,
    /// The most bytes that one party sent.
    pub(super) sent: u64,
}

/// What the time of a run depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Size {
    pub(crate) traffic: f64,
    pub(crate) rounds: f64,
    pub(crate) gates: f64,
}

impl Size {
    pub(super) fn new(protocol: &Protocol, prepared: &Prepared, demand: &Demand<'_>) -> Self {
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
