//! What the parties of a section measured, put together.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::driver::Load;
use super::ring::{RingBench, RingReport, run_ring};
use super::steady::{Mode, Steady, SteadyParty};
use crate::measure::{Place, no_report};
use crate::usage::{Cpu, Machine, median};
use cenote::{CircuitDescription, Error, Link, Method, PARTIES, Result, Three, Transport, Verification};

/// What a section cost, all parties together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyReport {
    /// The protocol's name.
    pub protocol: String,
    #[serde(flatten)]
    pub settings: Three,
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the links between them.
    pub link: Link,
    /// What was timed.
    pub mode: Mode,
    pub circuit: CircuitDescription,
    /// The cut-and-choose parameters and what they promise.
    pub parameters: Value,
    /// The base-2 logarithm of the probability that a wrong output ever passes.
    pub error_log2: f64,
    /// Batches that each worker used, or made, in the timed sections.
    pub batches: u64,
    /// AND gates evaluated and verified in the section.
    pub and_gates: u64,
    /// Triples made in the section.
    pub triples: u64,
    /// Seconds of the warm-up, the longest of any party.
    pub warm_up_seconds: f64,
    /// Seconds of the section, the longest of any party.
    pub seconds: f64,
    /// AND gates per second; `null` where none are evaluated.
    pub and_gates_per_second: Option<f64>,
    /// Triples made per second; `null` where none are made.
    pub triples_per_second: Option<f64>,
    /// Bits of message bodies that a party sent in the section per AND gate (triple, where no gates are evaluated), the mean of
    /// the parties.
    pub bits_per_and: f64,
    /// The same of the whole session, warm-up included, per AND gate; `null` where none are evaluated.
    pub bits_per_and_total: Option<f64>,
    /// What the parameters promise for `bits_per_and`, inputs, outputs and tags not counted.
    pub declared_bits_per_and: f64,
    /// Bytes sent in the section, with frames, before TLS, by party.
    pub bytes_sent: Vec<u64>,
    /// Gigabits that a party sent per second, with frames, the mean of the parties.
    pub gbit_per_second: f64,
    /// Processor time of the section.
    pub cpu: Cpu,
    /// Instances of the circuit that were opened together.
    pub segment_lanes: u64,
    /// Milliseconds from such instances' inputs to their opened outputs, under full load: the median of the parties' medians.
    /// `null` where no outputs are opened on their own.
    pub latency_ms: Option<f64>,
    /// Rounds of the section.
    pub rounds: u64,
    /// The most memory that each process had.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// The stated bound on one party's protocol buffers.
    pub memory_bound_bytes: u64,
    pub machine: Machine,
    /// What the channels carried when nothing was computed, if that was measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingReport>,
    /// The share of it that the section used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_share: Option<f64>,
    /// Each party.
    pub parties: Vec<SteadyParty>,
}

/// Measures, in `place`; with `ring`, measures right afterwards what the channels carry.
///
/// # Errors
/// Those of [`super::Settings::method`] and of opening the circuit, before anything is started; [`Error::Parties`](cenote::Error::Parties) or
/// [`Error::Protocol`](cenote::Error::Protocol) if a party fails.
pub fn run_steady(steady: &Steady, ring: Option<&RingBench>, place: &mut Place<'_>) -> Result<SteadyReport> {
    let method = steady.settings.method()?;
    if steady.mode != Mode::Full && steady.settings.variant() == Verification::Proofs {
        return Err(Error::Usage(
            "proofs have no offline phase: leave --mode out, or choose a variant with triples, such as --variant on-demand".into(),
        ));
    }
    let load = Load::open(&steady.circuit)?;
    let machine = Machine::now();
    let parties = place.measure(steady)?;
    let first = of_all(&parties)?;
    let (and_gates, triples) = (first.and_gates, first.triples);
    let longest = |of: fn(&SteadyParty) -> f64| parties.iter().map(of).fold(0.0, f64::max);
    let mean =
        |of: fn(&SteadyParty) -> u64| parties.iter().map(of).sum::<u64>() as f64 / parties.len() as f64;
    let seconds = longest(|party| party.seconds).max(1e-9);
    // Parties joined by memory are one process, which each of them measures.
    let processes = match place.transport() {
        Transport::Memory => &parties[..1],
        _ => &parties[..],
    };
    let evaluated = steady.mode != Mode::Offline;
    let units = if evaluated { and_gates } else { triples };
    let per = |bits: f64, units: u64| 8.0 * bits / units.max(1) as f64;
    let mut report = SteadyReport {
        protocol: "three".into(),
        settings: steady.settings.protocol,
        transport: place.transport(),
        link: steady.link,
        mode: steady.mode,
        circuit: load.describe(&steady.circuit),
        parameters: serde_json::to_value(&method).expect("parameters are numbers and names"),
        error_log2: method.error().log2(),
        batches: first.batches,
        and_gates,
        triples,
        warm_up_seconds: longest(|party| party.warm_up_seconds),
        seconds,
        and_gates_per_second: evaluated.then(|| and_gates as f64 / seconds),
        triples_per_second: (triples > 0).then(|| triples as f64 / seconds),
        bits_per_and: per(mean(|party| party.payload_sent), units),
        bits_per_and_total: evaluated
            .then(|| per(mean(|party| party.session_payload_sent), first.session_and_gates)),
        declared_bits_per_and: declared_bits(steady.mode, &method),
        bytes_sent: parties.iter().map(|party| party.bytes_sent).collect(),
        gbit_per_second: 8e-9 * mean(|party| party.bytes_sent) / seconds,
        cpu: Cpu::new(
            processes.iter().map(|party| party.cpu_seconds).collect(),
            seconds,
            units,
            &machine,
        ),
        segment_lanes: first.segment_lanes,
        latency_ms: latency_ms(&parties),
        rounds: parties.iter().map(|party| party.rounds).max().unwrap_or(0),
        peak_memory_bytes: processes.iter().map(|party| party.peak_memory_bytes).collect(),
        memory_bound_bytes: first.memory_bound_bytes,
        machine,
        ring: None,
        ring_share: None,
        parties,
    };
    if let Some(ring) = ring {
        report.compare(run_ring(ring, place)?);
    }
    Ok(report)
}

/// The first party's measurement, if there is one of each party and all have evaluated as much.
fn of_all(parties: &[SteadyParty]) -> Result<&SteadyParty> {
    let first = parties.first().ok_or_else(no_report)?;
    let all = parties.len() == usize::from(PARTIES);
    let alike = parties.iter().all(|party| party.and_gates == first.and_gates);
    (all && alike).then_some(first).ok_or_else(no_report)
}

/// What the parameters promise for what is timed.
fn declared_bits(mode: Mode, method: &Method) -> f64 {
    match mode {
        Mode::Full => method.bits_per_and(),
        Mode::Offline => method.bits_per_and() - 3.0,
        Mode::Online => 3.0,
    }
}

/// The median of the parties' medians.
fn latency_ms(parties: &[SteadyParty]) -> Option<f64> {
    let latencies: Vec<f64> = parties
        .iter()
        .filter(|party| !party.segment_seconds.is_empty())
        .map(|party| 1e3 * median(&party.segment_seconds))
        .collect();
    (!latencies.is_empty()).then(|| median(&latencies))
}

impl SteadyReport {
    /// Adds what the channels carried when nothing was computed.
    fn compare(&mut self, ring: RingReport) {
        let sent: u64 = self.parties.iter().map(|party| party.payload_sent).sum();
        let payload = 8e-9 * sent as f64 / f64::from(PARTIES) / self.seconds;
        self.ring_share = Some(payload / ring.gbit_per_second);
        self.ring = Some(ring);
    }
}
