//! The phases of the protocol for a number of instances of one circuit: what Tables II, IV and V of the paper tell.
//!
//! A run is one session: set-up; preprocessing that knows nothing of the circuit, for all instances; preprocessing of the circuit;
//! then all instances are evaluated side by side. Before each phase the parties wait for each other, and times are those of the
//! evaluator. After that, single instances are preprocessed and evaluated one by one: their median is the latency.

use std::time::Instant;

use cenote_lego::{LegoEngine, LegoWires, Prepared};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_protocol::{MaterialSource, Protocol};
use cenote_session::{Connections, Costs, Engine, Parties, Topology, WireVector};
use serde::{Deserialize, Serialize};

use super::paper::{Data, Timing, circuit_of_paper, paper};
use super::topology;
use crate::measure::{Measurement, Place, no_report};
use crate::meeting::Meeting;
use crate::sample;
use crate::usage::{Machine, median};
use cenote::{CircuitDescription, Error, Lego, Link, Program, Result, Transport, circuits};

/// Who learns the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// The evaluator only, as in the paper.
    #[default]
    Evaluator,
    /// The garbler only.
    Garbler,
    Both,
}

impl std::str::FromStr for To {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "evaluator" => Ok(To::Evaluator),
            "garbler" => Ok(To::Garbler),
            "both" => Ok(To::Both),
            _ => Err("outputs go to evaluator, garbler or both".into()),
        }
    }
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LegoBench {
    /// A circuit file, or `lib:NAME`. Input values belong to the garbler and the evaluator in turn.
    pub circuit: String,
    pub instances: u64,
    /// The protocol.
    pub settings: Lego,
    /// Who learns the outputs.
    pub to: To,
    /// How many single instances are timed for the latency.
    pub latencies: u32,
    /// Sessions; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
}

/// What one phase took one party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Phase {
    seconds: f64,
    bytes_sent: u64,
    rounds: u64,
}

/// What one party has measured in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LegoParty {
    setup: Phase,
    independent: Phase,
    dependent: Phase,
    online: Phase,
    /// Seconds of each single instance.
    single: Vec<f64>,
    peak_memory_bytes: Option<u64>,
    memory_bound_bytes: u64,
}

impl Measurement for LegoBench {
    const NAME: &'static str = "lego";

    type Party = LegoParty;

    fn topology(&self) -> Topology {
        topology("bench lego", self.settings.workers)
    }

    /// One session.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<LegoParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let connections = self.link.shape(connections);
        let all = self.all()?;
        let one = self.program(1)?;
        let (all, one) = (Load::new(all), Load::new(one));
        let total = all.program.and_gates() + u64::from(self.latencies) * one.program.and_gates();

        let mut session = None;
        let mut clock = Clock {
            meeting: &mut meeting,
            costs: Costs::default(),
        };
        let setup = clock.time(&mut session, |session| {
            *session = Some(self.settings.start(
                prepared(&self.settings, &one.program)?,
                me,
                connections,
                "cenote bench lego",
                MaterialSource::Live,
            )?);
            Ok(())
        })?;
        let mut session = session.ok_or_else(no_report)?;
        let independent = clock.time(&mut session, |session| {
            Ok(session.generate(self.settings.order(&all.program.demand()))?)
        })?;
        let mut running = None;
        let dependent = clock.time(&mut session, |session| {
            running = Some(all.build(session)?);
            Ok(())
        })?;
        let running = running.ok_or_else(no_report)?;
        let online = clock.time(&mut session, |session| all.evaluate(session, &running))?;
        progress(all.program.and_gates(), total);
        let peak_memory_bytes = cenote_session::memory::peak();
        let memory_bound_bytes = session.costs().memory_bytes;

        let singles = self
            .settings
            .order(&one.program.demand())
            .times(self.latencies.into());
        session.generate(singles)?;
        let mut single = Vec::new();
        for _ in 0..self.latencies {
            let running = one.build(&mut session)?;
            let online = clock.time(&mut session, |session| one.evaluate(session, &running))?;
            single.push(online.seconds);
        }
        session.finish()?;
        progress(total, total);
        Ok(LegoParty {
            setup,
            independent,
            dependent,
            online,
            single,
            peak_memory_bytes,
            memory_bound_bytes,
        })
    }
}

impl LegoBench {
    /// All instances, if there is something to measure.
    fn checked(&self) -> Result<Program> {
        if self.repeat == 0 || self.latencies == 0 || self.instances == 0 {
            return Err(Error::Usage(
                "at least one instance is evaluated, together and alone, in at least one session".into(),
            ));
        }
        let program = self.all()?;
        if program.and_gates() == 0 {
            return Err(Error::Usage(format!(
                "{} has no AND gates; there is nothing to measure",
                self.circuit
            )));
        }
        Ok(program)
    }

    /// All instances, as a program.
    fn all(&self) -> Result<Program> {
        self.program(usize::try_from(self.instances).unwrap_or(usize::MAX))
    }

    /// About how many bytes both parties together need for the material.
    ///
    /// # Errors
    /// As [`run_lego`].
    pub(super) fn memory_bytes(&self) -> Result<u64> {
        Ok(prepared(&self.settings, &self.all()?)?.memory_bytes())
    }

    /// `lanes` instances of the circuit, as a program.
    fn program(&self, lanes: usize) -> Result<Program> {
        let circuit = circuits::open(&self.circuit)?;
        let [garbler, evaluator] = self.settings.roles();
        let owners = (0..circuit.inputs().len())
            .map(|index| if index % 2 == 0 { garbler } else { evaluator })
            .collect();
        let receivers = match self.to {
            To::Evaluator => Parties::one(evaluator),
            To::Garbler => Parties::one(garbler),
            To::Both => Parties::all(2),
        };
        let receivers = vec![receivers; circuit.outputs().len()];
        Program::new(self.circuit.clone(), circuit, owners, receivers, lanes)
    }
}

/// Something whose costs are metered.
trait Metered {
    fn metered(&self) -> Costs;
}

impl Metered for LegoEngine {
    fn metered(&self) -> Costs {
        self.costs()
    }
}

impl Metered for Option<LegoEngine> {
    fn metered(&self) -> Costs {
        self.as_ref().map(Metered::metered).unwrap_or_default()
    }
}

/// Times phases that both parties start together.
struct Clock<'a> {
    meeting: &'a mut Meeting,
    costs: Costs,
}

impl Clock<'_> {
    fn time<S: Metered>(&mut self, session: &mut S, run: impl FnOnce(&mut S) -> Result<()>) -> Result<Phase> {
        self.meeting.wait()?;
        let start = Instant::now();
        run(session)?;
        let seconds = start.elapsed().as_secs_f64();
        let costs = session.metered();
        let phase = Phase {
            seconds,
            bytes_sent: costs.traffic.bytes_sent - self.costs.traffic.bytes_sent,
            rounds: costs.rounds - self.costs.rounds,
        };
        self.costs = costs;
        Ok(phase)
    }
}

/// A program with made-up inputs, and the outputs that they must give.
struct Load {
    program: Program,
    inputs: BitMatrix,
    expected: BitMatrix,
}

impl Load {
    fn new(program: Program) -> Self {
        let inputs = sample::bits(1, program.plan().input_wires(), program.lanes());
        let expected = program
            .plan()
            .evaluate(&inputs)
            .expect("one row for each input wire");
        Load {
            program,
            inputs,
            expected,
        }
    }

    /// Solders the circuit to input wires whose values nobody knows yet.
    fn build(&self, engine: &mut LegoEngine) -> Result<Running> {
        let (program, lanes) = (&self.program, self.program.lanes());
        let values = program.circuit().inputs().iter().zip(program.owners());
        let values = values.map(|(value, &owner)| engine.reserve(owner, value.width as usize, lanes));
        let inputs = values.collect::<cenote_session::Result<Vec<_>>>()?;
        let all = if inputs.is_empty() {
            engine.constant(&BitMatrix::zeros(0, lanes))?
        } else {
            WireVector::concat(&inputs.iter().collect::<Vec<_>>())
        };
        let outputs = engine.run(program.plan(), &all)?;
        Ok(Running { inputs, outputs })
    }

    /// From inputs to outputs. All values of an owner are given at once.
    fn evaluate(&self, engine: &mut LegoEngine, running: &Running) -> Result<()> {
        let mut first = 0;
        for (wires, &owner) in running.inputs.iter().zip(self.program.owners()) {
            let width = wires.wires();
            let own = (owner == engine.me()).then(|| sample::rows(&self.inputs, first..first + width));
            engine.give(owner, wires, own.as_ref())?;
            first += width;
        }
        let to = self.program.receivers().first().copied().unwrap_or_default();
        match engine.reveal(&running.outputs, to)? {
            Some(opened) if opened != self.expected => {
                let bug = std::io::Error::other("they differ from plain evaluation");
                Err(Error::local("checking the outputs", bug))
            }
            _ => Ok(()),
        }
    }
}

/// A circuit that waits for its inputs.
struct Running {
    inputs: Vec<LegoWires>,
    outputs: LegoWires,
}

/// One number for each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByPhase<T> {
    /// Keys, base OTs, what the commitments start from.
    pub setup: T,
    /// Preprocessing that knows nothing of the circuit.
    pub independent: T,
    /// Preprocessing of the circuit.
    pub dependent: T,
    /// From inputs to outputs.
    pub online: T,
}

/// What a number of instances of a circuit cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LegoRow {
    pub circuit: CircuitDescription,
    pub instances: u64,
    /// The protocol's settings.
    #[serde(flatten)]
    pub settings: Lego,
    /// Who learns the outputs.
    pub to: To,
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Sessions behind each median.
    pub repeat: u32,
    /// The cut-and-choose parameters of the preprocessing of all instances.
    pub parameters: serde_json::Value,
    /// The base-2 logarithm of the probability that these let a bad bucket pass.
    pub error_log2: f64,
    /// Milliseconds of the whole set-up at the evaluator.
    pub setup_ms: f64,
    /// Milliseconds per instance at the evaluator.
    pub independent_ms: f64,
    /// Milliseconds per instance at the evaluator.
    pub dependent_ms: f64,
    /// Milliseconds from the inputs to the outputs of a single instance, at the evaluator.
    pub online_latency_ms: f64,
    /// Milliseconds per instance at the evaluator, with all evaluated side by side.
    pub online_throughput_ms: f64,
    /// Rounds from inputs to outputs.
    pub online_rounds: u64,
    /// Bytes for all instances, with frames: from the garbler to the evaluator, and back.
    pub bytes: ByPhase<[u64; 2]>,
    /// The most memory that each process had before single instances were timed; `null` where the system does not tell.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// The most that the protocol's own buffers may take, at the garbler and the evaluator.
    pub memory_bound_bytes: [u64; 2],
    /// The paper's row of Table IV.
    pub paper_timing: Option<Timing>,
    /// The paper's row of Table V.
    pub paper_data: Option<Data>,
}

/// A measurement of one circuit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LegoReport {
    /// What it gave.
    #[serde(flatten)]
    pub row: LegoRow,
    pub machine: Machine,
}

/// Measures one circuit, in `place`.
///
/// # Errors
/// [`Error::Usage`] if nothing is to be run, or no parameters reach the security; those of [`circuits::open`];
/// [`Error::Parties`] or [`Error::Protocol`] if a party fails.
pub fn run_lego(bench: &LegoBench, place: &mut Place<'_>) -> Result<LegoReport> {
    let machine = Machine::now();
    let row = measure(bench, place)?;
    Ok(LegoReport { row, machine })
}

pub(super) fn measure(bench: &LegoBench, place: &mut Place<'_>) -> Result<LegoRow> {
    let program = bench.checked()?;
    let parameters = prepared(&bench.settings, &program)?;
    let mut sessions = Vec::new();
    for _ in 0..bench.repeat {
        let parties = place.measure(bench)?;
        sessions.push(<[LegoParty; 2]>::try_from(parties).map_err(|_| no_report())?);
    }
    let [garbler, evaluator] = bench.settings.roles();
    let last = sessions.last().ok_or_else(no_report)?;
    let ms = |of: &dyn Fn(&LegoParty) -> f64| {
        let times: Vec<f64> = sessions
            .iter()
            .map(|parties| of(&parties[evaluator.index()]))
            .collect();
        1e3 * median(&times)
    };
    let each = |of: fn(&LegoParty) -> &Phase| ms(&|party| of(party).seconds) / bench.instances as f64;
    let bytes =
        |of: fn(&LegoParty) -> &Phase| [garbler, evaluator].map(|id| of(&last[id.index()]).bytes_sent);
    // Parties joined by memory are one process, whose memory each of them reports.
    let processes = match place.transport() {
        Transport::Memory => 1,
        _ => last.len(),
    };
    let peak = |party: usize| {
        sessions
            .iter()
            .map(|parties| parties[party].peak_memory_bytes)
            .max()
    };
    let names = circuit_of_paper(&bench.circuit);
    let setting = paper().setting(&bench.link);
    Ok(LegoRow {
        circuit: CircuitDescription::new(&program),
        instances: bench.instances,
        settings: bench.settings,
        to: bench.to,
        transport: place.transport(),
        link: bench.link,
        repeat: bench.repeat,
        error_log2: parameters.error_log2(),
        parameters: parameters.to_json(),
        setup_ms: ms(&|party| party.setup.seconds),
        independent_ms: each(|party| &party.independent),
        dependent_ms: each(|party| &party.dependent),
        online_latency_ms: ms(&|party| median(&party.single)),
        online_throughput_ms: each(|party| &party.online),
        online_rounds: last[evaluator.index()].online.rounds,
        bytes: ByPhase {
            setup: bytes(|party| &party.setup),
            independent: bytes(|party| &party.independent),
            dependent: bytes(|party| &party.dependent),
            online: bytes(|party| &party.online),
        },
        peak_memory_bytes: (0..processes).map(|party| peak(party).flatten()).collect(),
        memory_bound_bytes: [garbler, evaluator].map(|id| last[id.index()].memory_bound_bytes),
        paper_timing: names.and_then(|name| paper().timing(setting, name, bench.instances)),
        paper_data: names.and_then(|name| paper().data(name, bench.instances)),
    })
}

/// The parameters for `program`.
fn prepared(settings: &Lego, program: &Program) -> Result<Prepared> {
    settings.prepare_at_once(&program.demand()).map_err(Error::Usage)
}
