//! One job: a circuit on made-up inputs, checked against plain evaluation, with parameters for exactly its gates.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::Parties;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::Place;
use crate::sample;
use cenote::local::{Assigned, Seat, Task, combine, run, value};
use cenote::runner::{Outcome, run_in_memory};
use cenote::{
    Error, Link, PARTIES, PartyReport, Program, Protocol, Report, Result, Three, Transport, circuits,
};

/// What to measure. The parties' processes are sent it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bench {
    /// A circuit file, or `lib:NAME`.
    pub circuit: String,
    /// Instances side by side.
    pub lanes: usize,
    /// The protocol and its security.
    pub protocol: Three,
    /// What joins the parties.
    pub link: Link,
}

impl Bench {
    /// How many lanes of `circuit` have at least `and_gates` AND gates.
    ///
    /// # Errors
    /// Those of [`circuits::open`]; [`Error::Usage`] if the circuit has no AND gates.
    pub fn lanes_for(circuit: &str, and_gates: u64) -> Result<usize> {
        let each = cenote_circuit::Plan::new(&circuits::open(circuit)?).and_count() as u64;
        if each == 0 {
            return Err(Error::Usage(format!(
                "{circuit} has no AND gates; there is nothing to measure"
            )));
        }
        Ok(usize::try_from(and_gates.div_ceil(each).max(1)).unwrap_or(usize::MAX))
    }

    /// The program: input value `i` belongs to party `i mod 3`, all parties learn the outputs.
    ///
    /// # Errors
    /// Those of [`circuits::open`] and [`Program::new`].
    pub fn program(&self) -> Result<Program> {
        let circuit = circuits::open(&self.circuit)?;
        let owners = (0..circuit.inputs().len())
            .map(|index| PartyId((index % usize::from(PARTIES)) as u8))
            .collect();
        let receivers = vec![Parties::all(usize::from(PARTIES)); circuit.outputs().len()];
        Program::new(self.circuit.clone(), circuit, owners, receivers, self.lanes)
    }

    /// The made-up bits of every input value.
    pub fn inputs(program: &Program) -> Vec<BitMatrix> {
        let values = program.circuit().inputs().iter().enumerate();
        values
            .map(|(index, value)| sample::bits(index as u64, value.width as usize, program.lanes()))
            .collect()
    }

    /// Compares the outputs of a run with plain evaluation.
    ///
    /// # Errors
    /// [`Error::Local`] if they differ: a bug that no benchmark may hide.
    pub fn check(program: &Program, outcome: &Outcome) -> Result<()> {
        let mut all = BitMatrix::zeros(program.circuit().input_wires() as usize, program.lanes());
        let inputs = Self::inputs(program);
        let words: Vec<u64> = inputs.iter().flat_map(BitMatrix::words).copied().collect();
        all.words_mut().copy_from_slice(&words);
        let expected = program
            .plan()
            .evaluate(&all)
            .expect("one row for each input wire");
        for (value, output) in outcome.outputs.iter().enumerate() {
            let range = program.circuit().output_range(value);
            let right = output.as_ref().is_some_and(|output| {
                range
                    .clone()
                    .enumerate()
                    .all(|(row, wire)| output.row(row) == expected.row(wire))
            });
            if !right {
                let bug = std::io::Error::other("it differs from plain evaluation");
                return Err(Error::local(format!("checking output {value}"), bug));
            }
        }
        Ok(())
    }
}

impl Assigned for Bench {
    const NAME: &'static str = "measured-job";

    /// The report has no values.
    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let program = self.program()?;
        let own = |(owner, bits): (&PartyId, BitMatrix)| (*owner == seat.me).then_some(bits);
        let inputs: Vec<_> = program
            .owners()
            .iter()
            .zip(Bench::inputs(&program))
            .map(own)
            .collect();
        let slow = |connections| self.link.shape(connections);
        let outcome = seat.compute_over(slow, &self.protocol.into(), &program, &inputs, &())?;
        Bench::check(&program, &outcome)?;
        value(&silent(outcome.report))
    }
}

/// Runs the job, in `place`.
///
/// # Errors
/// Those of [`Bench::program`] and [`Bench::check`]; [`Error::Parties`] if a party fails.
pub fn run_bench(bench: &Bench, place: &mut Place<'_>) -> Result<Report> {
    let program = bench.program()?;
    let protocol = Protocol::from(bench.protocol);
    let parties = (0..protocol.parties()).map(PartyId);
    protocol.prepare(&program.demand())?.admit(&program, parties)?;
    let setting = place.setting;
    if setting.transport == Transport::Memory {
        if bench.link != Link::default() {
            return Err(Error::Usage(
                "a job over a slow link is measured over tcp or tls: leave --transport memory out".into(),
            ));
        }
        let inputs = Bench::inputs(&program);
        let outcomes = run_in_memory(&protocol, &program, &inputs, setting.timeout, place.progress)?;
        for outcome in &outcomes {
            Bench::check(&program, outcome)?;
        }
        return combine(
            outcomes
                .into_iter()
                .map(|outcome| silent(outcome.report))
                .collect(),
        );
    }
    drop(program);
    let task = Task::new(bench)?;
    combine(run(
        protocol.parties(),
        setting,
        &task,
        place.command,
        place.progress,
    )?)
}

/// A report without values.
fn silent(mut report: PartyReport) -> PartyReport {
    for output in &mut report.outputs {
        output.values = None;
    }
    report
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use cenote::Variant;

    #[test]
    fn a_right_result_passes_the_check_and_a_wrong_one_does_not() {
        for variant in [Variant::Baseline, Variant::CacheEfficient, Variant::OnDemand] {
            let protocol = Three {
                variant: Some(variant.into()),
                ..Three::default()
            };
            let bench = Bench {
                circuit: "lib:mult8".into(),
                lanes: 700,
                protocol,
                link: Link::default(),
            };
            let program = bench.program().unwrap();
            let inputs = Bench::inputs(&program);
            let mut told = 0;
            let progress = &mut |done, _| told = done;
            let mut outcomes = run_in_memory(
                &protocol.into(),
                &program,
                &inputs,
                Duration::from_secs(60),
                progress,
            )
            .unwrap();
            assert_eq!(told, program.and_gates());
            for outcome in &outcomes {
                Bench::check(&program, outcome).unwrap();
            }
            let output = outcomes[0].outputs[0].as_mut().unwrap();
            output.set(7, 699, !output.get(7, 699));
            assert!(Bench::check(&program, &outcomes[0]).is_err());
            outcomes[1].outputs[0] = None;
            assert!(Bench::check(&program, &outcomes[1]).is_err());
        }
    }

    #[test]
    fn lanes_are_enough_for_the_gates() {
        assert_eq!(Bench::lanes_for("lib:add32", 31).unwrap(), 1);
        assert_eq!(Bench::lanes_for("lib:add32", 32).unwrap(), 2);
        assert!(Bench::lanes_for("lib:add1", 1).is_err());
    }
}
