//! What the parties agree to compute, and computing it over any engine.

use std::ops::Range;

use cenote_circuit::{Circuit, Gate, Plan};
use cenote_net::PartyId;
use cenote_primitives::{BLOCK_BITS, BitMatrix};
use cenote_session::{Demand, Engine, Error as EngineError, Parties, Phases, WireVector, room};

use crate::data::MAX_BITS;
use crate::{Error, Result};

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

/// What one party has of a program that was executed.
#[derive(Debug)]
pub struct Executed {
    /// One entry for each output value: its bits, wires × lanes, where this party is a receiver.
    pub outputs: Vec<Option<BitMatrix>>,
    /// Why the session did not end in agreement, if it did not although this party has outputs: they were verified before
    /// they were opened, so they stand. Whether the peers have theirs is not known then.
    pub unfinished: Option<EngineError>,
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

    /// A program that takes its last inputs, those without an owner, from shares that parties kept ([`Engine::take`]), and keeps its last outputs, those
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

    /// The groups of `size` lanes that are evaluated one after the other.
    fn segments(&self, size: usize) -> impl ExactSizeIterator<Item = Range<usize>> + use<> {
        let lanes = self.lanes;
        (0..lanes)
            .step_by(size)
            .map(move |start| start..lanes.min(start.saturating_add(size)))
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

    /// Runs the program at one party. `inputs` has one entry for each input value: its bits (wires × lanes) where this party
    /// is the owner. `progress` is told the AND gates done.
    ///
    /// Nothing is revealed before everything has been computed: no party can make its inputs in some lanes depend on the
    /// outputs of others.
    ///
    /// # Errors
    /// The engine's. A failure after this party has learnt its outputs is no error: [`Executed::unfinished`].
    pub fn execute<E: Engine>(
        &self,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        mut progress: impl FnMut(u64),
    ) -> Result<Executed> {
        self.execute_within(&Phases::unlimited(), engine, inputs, |done, _| progress(done))
    }

    /// The same, in `phases`. `progress` is told the AND gates of the program done, of how many, and before that how much of what the engine
    /// makes ahead is made.
    pub(crate) fn execute_within<E: Engine>(
        &self,
        phases: &Phases,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Executed> {
        phases.begin("the preparation");
        let most = engine.most_lanes(&self.plan);
        let segments = self.segments(self.segment_lanes().min(most));
        // An engine that makes no more ahead learns at once what all of it takes.
        let announced = if self.lanes > most {
            self.lanes
        } else {
            self.segment_lanes()
        };
        self.demand_by(announced)
            .announce_telling(engine, &mut progress)?;
        phases.begin("the evaluation");
        let several = segments.len() > 1;
        let mut results = Vec::new();
        for lanes in segments {
            let wires = self.put_in(engine, inputs, lanes.clone())?;
            let outputs = engine.run(&self.plan, &wires)?;
            let outputs = if several { engine.settle(outputs)? } else { outputs };
            results.push((lanes.clone(), outputs));
            progress(self.plan.and_count() as u64 * lanes.end as u64, self.and_gates());
        }
        let mut outputs: Vec<Option<BitMatrix>> = vec![None; self.circuit.outputs().len()];
        for (lanes, wires) in results {
            self.keep(engine, &wires, lanes.start, &mut outputs)?;
            for (receivers, values) in grouped(&self.receivers) {
                let parts: Vec<E::Wires> = values
                    .iter()
                    .map(|&value| wires.select(self.circuit.output_range(value)))
                    .collect();
                let together = E::Wires::concat(&parts.iter().collect::<Vec<_>>());
                let Some(bits) = engine.reveal(&together, receivers)? else {
                    continue;
                };
                let mut first = 0;
                for value in values {
                    let width = self.circuit.outputs()[value].width as usize;
                    let output = match &mut outputs[value] {
                        Some(output) => output,
                        output => output.insert(room::bits("outputs", width, self.lanes)?),
                    };
                    for row in 0..width {
                        let start = lanes.start / 64;
                        output.row_mut(row)[start..start + bits.stride()]
                            .copy_from_slice(bits.row(first + row));
                    }
                    first += width;
                }
            }
        }
        phases.begin("the farewell");
        let unfinished = match engine.finish() {
            // A peer that withholds its farewell must not take away what is verified.
            Err(error) if outputs[..self.opened].iter().any(Option::is_some) => Some(error),
            finished => {
                finished?;
                None
            }
        };
        Ok(Executed { outputs, unfinished })
    }

    /// This party's shares of the outputs that are kept, of lanes from `first` on: of each output, the rows of its share.
    fn keep<E: Engine>(
        &self,
        engine: &mut E,
        wires: &E::Wires,
        first: usize,
        outputs: &mut [Option<BitMatrix>],
    ) -> Result<()> {
        let kept = self.receivers.len()..self.circuit.outputs().len();
        if kept.is_empty() {
            return Ok(());
        }
        let ranges: Vec<Range<usize>> = kept
            .clone()
            .map(|value| self.circuit.output_range(value))
            .collect();
        let parts: Vec<E::Wires> = ranges.iter().map(|range| wires.select(range.clone())).collect();
        let together = E::Wires::concat(&parts.iter().collect::<Vec<_>>());
        let share = engine.keep(&together)?;
        let (all, mut before) = (together.wires(), 0);
        let each = share.rows().checked_div(all).unwrap_or(0);
        for (value, range) in kept.zip(ranges) {
            let width = range.len();
            let output = match &mut outputs[value] {
                Some(output) => output,
                output => output.insert(room::bits("outputs", each * width, self.lanes)?),
            };
            for row in 0..each * width {
                let from = row / width * all + before + row % width;
                output.row_mut(row)[first / 64..][..share.stride()].copy_from_slice(share.row(from));
            }
            before += width;
        }
        Ok(())
    }

    /// The input wires of `lanes`: all values of an owner are put in together.
    fn put_in<E: Engine>(
        &self,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        lanes: Range<usize>,
    ) -> Result<E::Wires> {
        let values = self.circuit.inputs();
        let mut wires: Vec<Option<E::Wires>> = vec![None; values.len()];
        for (owner, of_owner) in grouped(&self.owners) {
            let width = of_owner.iter().map(|&value| values[value].width as usize).sum();
            let own: Option<Vec<&BitMatrix>> = of_owner
                .iter()
                .map(|&value| inputs.get(value)?.as_ref())
                .collect();
            let shaped = |(bits, value): (&&BitMatrix, &usize)| {
                bits.rows() == values[*value].width as usize && bits.lanes() >= lanes.end
            };
            if own
                .as_ref()
                .is_some_and(|own| !own.iter().zip(&of_owner).all(shaped))
            {
                let reason =
                    format!("the inputs of {owner} are not of the circuit's widths, or have fewer lanes");
                return Err(EngineError::BadInput(reason).into());
            }
            let gather = |values: Vec<&BitMatrix>| -> cenote_session::Result<BitMatrix> {
                let mut together = room::bits("inputs", width, lanes.len())?;
                let mut words = together.words_mut();
                for bits in values {
                    let part = columns(bits, lanes.clone());
                    let (here, rest) = words.split_at_mut(part.words().len());
                    here.copy_from_slice(part.words());
                    words = rest;
                }
                Ok(together)
            };
            let own = own.map(gather).transpose()?;
            let together = engine.input(owner, width, lanes.len(), own.as_ref())?;
            let mut first = 0;
            for value in of_owner {
                let width = values[value].width as usize;
                wires[value] = Some(together.select(first..first + width));
                first += width;
            }
        }
        for (value, wires) in wires.iter_mut().enumerate().skip(self.owners.len()) {
            let share = inputs.get(value).and_then(Option::as_ref);
            let share = share.filter(|share| share.lanes() >= lanes.end).ok_or_else(|| {
                EngineError::BadInput(
                    "the share of a value that was kept is missing, or has fewer lanes".into(),
                )
            })?;
            let width = values[value].width as usize;
            *wires = Some(engine.take(width, &columns(share, lanes.clone()))?);
        }
        let wires: Vec<&E::Wires> = wires.iter().flatten().collect();
        Ok(match wires.as_slice() {
            [] => engine.constant(&BitMatrix::zeros(0, lanes.len()))?,
            wires => E::Wires::concat(wires),
        })
    }
}

/// The places of each item, items in the order in which they first come.
fn grouped<T: Copy + PartialEq>(items: &[T]) -> Vec<(T, Vec<usize>)> {
    let mut groups: Vec<(T, Vec<usize>)> = Vec::new();
    for (place, &item) in items.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == item) {
            Some((_, places)) => places.push(place),
            None => groups.push((item, vec![place])),
        }
    }
    groups
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

/// The lanes `range` of `bits`. The range starts at a multiple of 64.
pub fn columns(bits: &BitMatrix, range: Range<usize>) -> BitMatrix {
    if range == (0..bits.lanes()) {
        return bits.clone();
    }
    let mut part = BitMatrix::zeros(bits.rows(), range.len());
    let (start, stride) = (range.start / 64, part.stride());
    for row in 0..bits.rows() {
        part.row_mut(row)
            .copy_from_slice(&bits.row(row)[start..start + stride]);
    }
    part.mask_padding();
    part
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{BitOrder, Builder};
    use cenote_primitives::LaneRun;
    use cenote_session::ClearEngine;

    use super::*;

    fn program(lanes: usize) -> Program {
        let mut b = Builder::new();
        let x = b.input("x", 2, BitOrder::Lsb);
        let y = b.input("y", 2, BitOrder::Lsb);
        let both = [b.and(x[0], y[0]), b.and(x[1], y[1])];
        let differ = [b.xor(x[0], y[0])];
        b.output("both", &both, BitOrder::Lsb);
        b.output("differ", &differ, BitOrder::Lsb);
        let all = Parties::all(1);
        Program::new("test", b.finish(), vec![PartyId(0); 2], vec![all, all], lanes).unwrap()
    }

    #[test]
    fn segments_cover_the_lanes_in_whole_blocks() {
        for lanes in [
            1,
            511,
            512,
            SEGMENT_ANDS / 2,
            SEGMENT_ANDS / 2 + 1,
            SEGMENT_ANDS + 77,
        ] {
            let program = program(lanes);
            let mut next = 0;
            for segment in program.segments(program.segment_lanes()) {
                assert_eq!(segment.start, next);
                assert_eq!(segment.start % BLOCK_BITS, 0);
                assert!(!segment.is_empty() && segment.len() * 2 <= SEGMENT_ANDS + 2 * BLOCK_BITS);
                next = segment.end;
            }
            assert_eq!(next, lanes);
        }
    }

    #[test]
    fn all_segments_are_computed_and_put_together() {
        let lanes = SEGMENT_ANDS / 2 + 700;
        let program = program(lanes);
        assert_eq!(program.segments(program.segment_lanes()).count(), 2);
        let mut x = BitMatrix::zeros(2, lanes);
        let mut y = BitMatrix::zeros(2, lanes);
        for lane in [0, 5, lanes - 701, lanes - 700, lanes - 1] {
            x.set(0, lane, true);
            x.set(1, lane, true);
            y.set(1, lane, true);
        }
        let mut engine = ClearEngine::new(PartyId(0), Vec::new());
        let mut told = Vec::new();
        let executed = program
            .execute(&mut engine, &[Some(x.clone()), Some(y)], |done| told.push(done))
            .unwrap();
        assert!(executed.unfinished.is_none());
        let outputs = executed.outputs;
        let both = outputs[0].as_ref().unwrap();
        let differ = outputs[1].as_ref().unwrap();
        assert_eq!(both.row(0).iter().map(|word| word.count_ones()).sum::<u32>(), 0);
        assert_eq!(both.row(1), x.row(1));
        assert_eq!(differ.row(0), x.row(0));
        assert_eq!(told.last(), Some(&program.and_gates()));
        assert_eq!(told.len(), 2);
    }

    /// An engine whose peers withhold their farewell.
    struct Alone(ClearEngine);

    impl Engine for Alone {
        type Wires = <ClearEngine as Engine>::Wires;

        fn me(&self) -> PartyId {
            self.0.me()
        }

        fn parties(&self) -> usize {
            self.0.parties()
        }

        fn prepare(&mut self, plan: &Plan, lanes: usize) -> cenote_session::Result<()> {
            self.0.prepare(plan, lanes)
        }

        fn input(
            &mut self,
            owner: PartyId,
            wires: usize,
            lanes: usize,
            bits: Option<&BitMatrix>,
        ) -> cenote_session::Result<Self::Wires> {
            self.0.input(owner, wires, lanes, bits)
        }

        fn constant(&mut self, bits: &BitMatrix) -> cenote_session::Result<Self::Wires> {
            self.0.constant(bits)
        }

        fn run(&mut self, plan: &Plan, inputs: &Self::Wires) -> cenote_session::Result<Self::Wires> {
            self.0.run(plan, inputs)
        }

        fn arrange(
            &mut self,
            parts: &[&Self::Wires],
            runs: &[LaneRun],
        ) -> cenote_session::Result<Self::Wires> {
            self.0.arrange(parts, runs)
        }

        fn reveal(&mut self, wires: &Self::Wires, to: Parties) -> cenote_session::Result<Option<BitMatrix>> {
            self.0.reveal(wires, to)
        }

        fn compare(&mut self, digest: &[u8; 32]) -> cenote_session::Result<()> {
            self.0.compare(digest)
        }

        fn finish(&mut self) -> cenote_session::Result<()> {
            Err(EngineError::Internal("no farewell".into()))
        }

        fn costs(&self) -> cenote_session::Costs {
            self.0.costs()
        }
    }

    #[test]
    fn a_withheld_farewell_takes_no_output_away() {
        let run = |program: &Program| {
            let bits = || Some(BitMatrix::from_fn(2, 3, |row, _| row == 1));
            let mut engine = Alone(ClearEngine::new(PartyId(0), Vec::new()));
            program.execute(&mut engine, &[bits(), bits()], |_| ())
        };
        let program = program(3);
        let executed = run(&program).unwrap();
        assert_eq!(executed.outputs[0].as_ref().unwrap().row(1), [0b111]);
        assert!(matches!(executed.unfinished, Some(EngineError::Internal(_))));

        // Who learns nothing has nothing to keep.
        let none = vec![Parties::NONE; 2];
        let idle = Program::new("test", program.circuit, program.owners, none, 3).unwrap();
        let error = run(&idle).map(drop).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Protocol {
                    error: EngineError::Internal(_)
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn more_gates_than_can_be_counted_are_refused() {
        let ands: u64 = 1 << 20;
        let bit = |name: &str| cenote_circuit::Value {
            name: name.into(),
            width: 1,
            order: BitOrder::Lsb,
        };
        let gates = vec![Gate::And(0, 0); ands as usize];
        let circuit = Circuit::new(vec![bit("x")], vec![bit("y")], gates, vec![1]).unwrap();
        let refused =
            |circuit: &Circuit, lanes: u64| check_size(circuit, lanes as usize).unwrap_err().to_string();
        let lanes = MAX_ANDS / ands;
        assert!(lanes <= MAX_BITS);
        assert!(check_size(&circuit, lanes as usize).is_ok());
        let text = refused(&circuit, lanes + 1);
        assert!(text.contains("AND gates are more than"), "{text}");

        // Without wires there is nothing else to count.
        let none = Builder::new().finish();
        assert!(refused(&none, MAX_BITS + 1).contains("more than"));
        assert!(refused(&none, u64::MAX).contains("more than"));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let program = program(1);
        let parts = |lanes, owners| {
            Program::new(
                "t",
                program.circuit().clone(),
                owners,
                program.receivers().to_vec(),
                lanes,
            )
        };
        for (lanes, owners, why) in [
            (0, 2, "there are no lanes"),
            (usize::MAX, 2, "bits that one job may have"),
            (1, 1, "every input needs an owner"),
        ] {
            let error = parts(lanes, vec![PartyId(0); owners])
                .map(drop)
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(parts(1, vec![PartyId(0); 2]).is_ok());
    }
}
