//! How long one instance takes: from its inputs to its opened outputs, with triples in stock.

use cenote_net::PartyId;
use cenote_params::three::Variant;

use cenote_three::Links;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::driver::{Driver, Load};
use crate::measure::{Measurement, Place, no_report};
use crate::usage::{Machine, median};
use cenote::text::Table;
use cenote::{CircuitDescription, Error, Link, Protocol, Result, Three, Transport};
use cenote_session::{Connections, Demand, Topology};

/// The circuits that are measured unless others are named.
pub const CIRCUITS: [&str; 3] = ["lib:aes128", "lib:sha256", "lib:sort1024x32"];

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Circuit files, or `lib:NAME`.
    pub circuits: Vec<String>,
    /// The protocol. Its first worker does all the work.
    pub settings: Settings,
    /// Runs of each circuit; the median is reported.
    pub repeat: u32,
    /// Milliseconds added to the round trip of a message and its answer.
    pub link_rtt_ms: f64,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyParty {
    circuits: Vec<PartyTimes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PartyTimes {
    rounds: u64,
    seconds: Vec<f64>,
}

impl Measurement for Latency {
    const NAME: &'static str = "latency";

    type Party = LatencyParty;

    fn topology(&self) -> Topology {
        Protocol::from(self.settings.protocol).topology()
    }

    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<LatencyParty> {
        let connections = self.link().shape(connections);
        let links = Links::of(me, connections);
        let loads: Vec<Load> = self
            .circuits
            .iter()
            .map(|name| Load::open(name))
            .collect::<Result<_>>()?;
        let n = self.settings.method()?.n();
        let runs = u64::from(self.repeat) + 1;
        // The log pads every verification by less than a block.
        let blocks: u64 = loads
            .iter()
            .map(|load| Three::and_blocks(&Demand::new().and_run(&load.plan, 1, 1)) + 8)
            .sum();
        let batches = (runs * blocks).div_ceil(n);
        // On demand the first batch is a stock of its own.
        let mut driver = Driver::start(me, links, &self.settings, batches + 1)?;
        driver.want_stock(batches)?;
        driver.fill_stock()?;
        let all = runs * loads.iter().map(|load| load.plan.and_count() as u64).sum::<u64>();
        let mut done = 0;
        let mut circuits = Vec::new();
        for load in &loads {
            let instance = load.instance(1)?;
            let mut times = PartyTimes {
                rounds: 0,
                seconds: Vec::new(),
            };
            for turn in 0..runs {
                // Nobody starts before all are ready.
                driver.agree(0)?;
                let before = driver.costs().rounds;
                let seconds = driver.run(load, &instance)?;
                // The first brings code and memory into the caches, and on demand the first stock.
                if turn > 0 {
                    times.seconds.push(seconds);
                }
                times.rounds = driver.costs().rounds - before;
                done += load.plan.and_count() as u64;
                progress(done, all);
            }
            circuits.push(times);
        }
        driver.finish()?;
        Ok(LatencyParty { circuits })
    }
}

impl Latency {
    fn link(&self) -> Link {
        Link {
            rtt_ms: self.link_rtt_ms,
            gbit_per_second: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CircuitLatency {
    pub circuit: CircuitDescription,
    /// Rounds on the critical path, inputs, verification and outputs included.
    pub rounds: u64,
    /// Seconds from inputs to opened outputs: the median of the runs, of the slowest party.
    pub seconds: f64,
    /// The fastest run.
    pub least_seconds: f64,
    /// The slowest run.
    pub most_seconds: f64,
    /// What the link's delay alone takes: rounds times the one-way delay. `null` without one.
    pub delay_seconds: Option<f64>,
    /// The median over that delay.
    pub ratio: Option<f64>,
}

/// Latencies over one kind of link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// The protocol's name.
    pub protocol: String,
    #[serde(flatten)]
    pub settings: Three,
    /// How the parties were joined.
    pub transport: Transport,
    /// Milliseconds of the round trip that were added.
    pub link_rtt_ms: f64,
    /// Runs of each circuit.
    pub repeat: u32,
    pub circuits: Vec<CircuitLatency>,
    pub machine: Machine,
}

/// Measures, in `place`.
///
/// # Errors
/// [`Error::Usage`] for the variant that spends a whole batch on every opening, and for circuits without AND gates; those of
/// [`Settings::method`]; [`Error::Parties`] or [`Error::Protocol`] if a party fails.
pub fn run_latency(latency: &Latency, place: &mut Place<'_>) -> Result<LatencyReport> {
    if latency.settings.variant() == Variant::Reshuffle.into() {
        return Err(Error::Usage(
            "the variant reshuffle spends a whole batch of triples on every opening; measure the latency of another".into(),
        ));
    }
    if latency.repeat == 0 || latency.circuits.is_empty() {
        return Err(Error::Usage(
            "a latency is measured at least once, of at least one circuit".into(),
        ));
    }
    latency.settings.method()?;
    let loads: Vec<Load> = latency
        .circuits
        .iter()
        .map(|name| Load::open(name))
        .collect::<Result<_>>()?;
    let machine = Machine::now();
    let parties = place.measure(latency)?;
    if parties.is_empty() || parties.iter().any(|party| party.circuits.len() != loads.len()) {
        return Err(no_report());
    }
    let one_way = latency.link().way().as_secs_f64();
    let circuit = |(index, load): (usize, &Load)| {
        let times: Vec<&PartyTimes> = parties.iter().map(|party| &party.circuits[index]).collect();
        let rounds = times.iter().map(|times| times.rounds).max().unwrap_or(0);
        let slowest =
            |of: &dyn Fn(&[f64]) -> f64| times.iter().map(|times| of(&times.seconds)).fold(0.0, f64::max);
        let seconds = slowest(&median);
        let delay = (one_way > 0.0).then_some(rounds as f64 * one_way);
        CircuitLatency {
            circuit: load.describe(&latency.circuits[index]),
            rounds,
            seconds,
            least_seconds: slowest(&|seconds| seconds.iter().copied().fold(f64::INFINITY, f64::min)),
            most_seconds: slowest(&|seconds| seconds.iter().copied().fold(0.0, f64::max)),
            delay_seconds: delay,
            ratio: delay.map(|delay| seconds / delay),
        }
    };
    Ok(LatencyReport {
        protocol: "three".into(),
        settings: latency.settings.protocol,
        transport: place.transport(),
        link_rtt_ms: latency.link_rtt_ms,
        repeat: latency.repeat,
        circuits: loads.iter().enumerate().map(circuit).collect(),
        machine,
    })
}

impl LatencyReport {
    /// As a short table.
    pub fn table(&self) -> String {
        let with_delay = self.link_rtt_ms > 0.0;
        let mut table = Table::new("lrrrrrl");
        let delay = if with_delay { "rounds × delay" } else { "" };
        table.row(&[&"circuit", &"ANDs", &"rounds", &"ms", &"least", &"most", &delay]);
        for line in &self.circuits {
            let delay = match (line.delay_seconds, line.ratio) {
                (Some(delay), Some(ratio)) => format!("{:.1} ms, × {ratio:.3}", 1e3 * delay),
                _ => String::new(),
            };
            table.row(&[
                &line.circuit.name,
                &line.circuit.and_gates,
                &line.rounds,
                &format_args!("{:.3}", 1e3 * line.seconds),
                &format_args!("{:.3}", 1e3 * line.least_seconds),
                &format_args!("{:.3}", 1e3 * line.most_seconds),
                &delay,
            ]);
        }
        let trips = if with_delay {
            format!(" with {} ms round trips", self.link_rtt_ms)
        } else {
            String::new()
        };
        format!(
            "one instance, {}, over {}{trips}, median of {}\n{table}",
            Protocol::from(self.settings).describe(),
            self.transport,
            self.repeat
        )
    }
}
