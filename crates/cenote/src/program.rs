//! What the parties agree to compute.

mod execute;

use cenote_circuit::{Circuit, Gate, Plan};
use cenote_net::PartyId;
use cenote_primitives::BLOCK_BITS;
use cenote_session::{Demand, Parties};

use crate::data::MAX_BITS;
use crate::{Error, Result};
pub(crate) use execute::Evaluated;
pub use execute::{Executed, columns};

/// ANDs in a segment: lanes are taken in groups of about this many gates, so that memory is bounded and progress is seen.
const SEGMENT_ANDS: usize = 1 << 26;

/// Most AND gates of all lanes of a job: some months at ten billion a second. What is counted in gates, their bits and the
/// bytes sent for them stays far below 2^64.
pub const MAX_ANDS: u64 = 1 << 56;

/// A circuit, who gives its inputs, who learns its outputs, and how many instances run side by side. All of it is public
/// and the same at all parties.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    circuit: Circuit,
    plan: Plan,
    owners: Vec<PartyId>,
    receivers: Vec<Parties>,
    lanes: usize,
    /// Outputs that reports tell of: the first ones.
    opened: usize,
    /// AND gates in a segment, about.
    segment_ands: usize,
}

impl Program {
    /// A program of `lanes` instances of `circuit`, `name` for people. `owners[i]` gives input value `i`, `receivers[i]`
    /// learn output value `i`.
    ///
    /// # Errors
    /// [`Error::Usage`] if owners or receivers are not one for each value, there are no lanes, the inputs or outputs have
    /// more than [`MAX_BITS`] bits, or there are more than [`MAX_ANDS`] AND gates.
    pub fn new(
        name: impl Into<String>,
        circuit: Circuit,
        owners: Vec<PartyId>,
        receivers: Vec<Parties>,
        lanes: usize,
    ) -> Result<Self> {
        if owners.len() != circuit.inputs().len() || receivers.len() != circuit.outputs().len() {
            return Err(Error::Usage(
                "every input needs an owner, and every output receivers".into(),
            ));
        }
        let opened = receivers.len();
        Self::keeping(name, circuit, (owners, receivers), opened, lanes)
    }

    /// A program that takes its last inputs, those without an owner, from shares that parties kept ([`Engine::take`](cenote_session::Engine::take)), and keeps its last outputs, those
    /// without receivers. Reports tell of the first `opened` outputs.
    pub(crate) fn keeping(
        name: impl Into<String>,
        circuit: Circuit,
        (owners, receivers): (Vec<PartyId>, Vec<Parties>),
        opened: usize,
        lanes: usize,
    ) -> Result<Self> {
        check_size(&circuit, lanes)?;
        let plan = Plan::new(&circuit);
        Ok(Program {
            name: name.into(),
            opened,
            circuit,
            plan,
            owners,
            receivers,
            lanes,
            segment_ands: SEGMENT_ANDS,
        })
    }

    /// How many outputs reports tell of: the first ones.
    pub(crate) fn opened(&self) -> usize {
        self.opened
    }

    /// The same in segments of about `ands` AND gates.
    #[cfg(test)]
    pub(crate) fn in_segments(self, ands: usize) -> Self {
        Program {
            segment_ands: ands,
            ..self
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The circuit scheduled for execution.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Who gives each input value.
    pub fn owners(&self) -> &[PartyId] {
        &self.owners
    }

    /// Who learns each output value.
    pub fn receivers(&self) -> &[Parties] {
        &self.receivers
    }

    /// Instances side by side.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The same with other lanes, which are not all computed at once.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are more than [`MAX_ANDS`] AND gates.
    pub(crate) fn on_lanes(self, lanes: usize) -> Result<Self> {
        let ands = (self.plan.and_count() as u64).checked_mul(lanes as u64);
        match ands.is_some_and(|ands| ands <= MAX_ANDS) {
            true => Ok(Program { lanes, ..self }),
            false => Err(Error::Usage(format!(
                "all calls together have more than {MAX_ANDS} AND gates; allow fewer calls"
            ))),
        }
    }

    /// AND gates of all lanes.
    pub fn and_gates(&self) -> u64 {
        self.plan.and_count() as u64 * self.lanes as u64
    }

    /// SHA-256 of the circuit, in hexadecimal: what parties compare.
    pub fn digest(&self) -> String {
        hex::encode(self.plan.digest())
    }

    /// Lanes of every segment but the last.
    fn segment_lanes(&self) -> usize {
        let wanted = self.segment_ands / self.plan.and_count().max(1);
        wanted.next_multiple_of(BLOCK_BITS).max(BLOCK_BITS)
    }

    /// What the program asks of a protocol.
    pub fn demand(&self) -> Demand<'_> {
        self.demand_by(self.segment_lanes())
    }

    /// The same, run on `size` lanes at a time.
    fn demand_by(&self, size: usize) -> Demand<'_> {
        let bits = |width: u32| u64::from(width).saturating_mul(self.lanes as u64);
        let mut demand = Demand::new()
            .and_run(&self.plan, size, self.lanes / size)
            .and_run(&self.plan, self.lanes % size, 1);
        for (value, &owner) in self.circuit.inputs().iter().zip(&self.owners) {
            demand = demand.and_input(owner, bits(value.width));
        }
        for (value, &to) in self.circuit.outputs().iter().zip(&self.receivers) {
            demand = demand.and_output(to, bits(value.width));
        }
        demand
    }
}

/// Refuses what no machine holds, before anything is allocated.
///
/// # Errors
/// As [`Program::new`].
pub fn check_size(circuit: &Circuit, lanes: usize) -> Result<()> {
    if lanes == 0 {
        return Err(Error::Usage("there are no lanes; a job has at least one".into()));
    }
    let wires = u64::from(circuit.input_wires()).max(circuit.output_wires().len() as u64);
    let ands = circuit
        .gates()
        .iter()
        .filter(|gate| matches!(gate, Gate::And(..)))
        .count() as u64;
    let within = |each: u64, limit| each.checked_mul(lanes as u64).is_some_and(|all| all <= limit);
    // A circuit without wires has lanes too.
    if !within(wires.max(1), MAX_BITS) {
        return Err(Error::Usage(format!(
            "{lanes} lanes of {wires} wires are more than the {MAX_BITS} bits that one job may have; split the job"
        )));
    }
    if !within(ands, MAX_ANDS) {
        return Err(Error::Usage(format!(
            "{lanes} lanes of {ands} AND gates are more than the {MAX_ANDS} that one job may have; split the job"
        )));
    }
    Ok(())
}

#[cfg(test)]
use execute::segments;

#[cfg(test)]
mod tests;
