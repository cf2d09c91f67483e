//! The rate of a service that never ends.
//!
//! A session first makes its first stock of triples and evaluates a little: the *warm-up*, which is reported apart. Then comes the timed
//! *section*. It evaluates, verifies and opens gates that use up whole batches of triples, and ends when as many batches have
//! been made as were used. The stock is then as full as at the start, so every later section costs the same.
//!
//! To time one phase alone, a few batches are made and then used up, again and again. Only the making (offline) or only the use
//! (online) is timed.

use std::fmt;
use std::str::FromStr;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::BLOCK_BITS;
use cenote_three::{Links, ThreeEngine};
use serde::{Deserialize, Serialize};

use super::Settings;
use super::driver::{Driver, Instance, Load, too_many};
use crate::measure::Measurement;
use crate::usage::Stopwatch;
use cenote::{Link, Protocol, Result, process_bytes};
use cenote_session::{Connections, Topology};

pub use super::steady_report::{SteadyReport, run_steady};

/// About how many gates a worker evaluates before outputs are opened: enough for large messages, few enough for their
/// wires to stay in caches.
const SEGMENT_GATES: usize = 1 << 26;

/// The allocator holds one byte more of so many that a service has in use, about: ends of huge pages, and what was freed.
const HELD: u64 = 16;

/// What the allocator holds for the threads of a channel: for a little memory of each kind a huge page, where the system gives these.
const HELD_OF_CHANNEL: u64 = 10 << 20;

/// Most batches per worker in a section.
const MOST_BATCHES: u64 = 1000;

/// Most batches of gates at once where every verification spends a batch: how many verifications there are then follows from
/// the number of gates.
const MOST_COUNTED: u64 = 8;

/// What is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Triples are made while gates are evaluated and verified.
    #[default]
    Full,
    /// Triples are made.
    Offline,
    /// Gates are evaluated and verified with triples that are in stock.
    Online,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Offline, Self::Online];

    /// The name on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Offline => "offline",
            Self::Online => "online",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| "the mode is full, offline or online".into())
    }
}

/// How long the timed section is. It has whole batches, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Length {
    /// This many batches per worker.
    Batches(u64),
    /// At least this many AND gates (triples, of the offline phase).
    Gates(u64),
    /// As many batches as take about this long, judged by the warm-up.
    Seconds(f64),
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// A circuit file, or `lib:NAME`.
    pub circuit: String,
    /// The protocol.
    pub settings: Settings,
    /// What is timed.
    pub mode: Mode,
    /// How much.
    pub length: Length,
    /// What joins the parties.
    pub link: Link,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyParty {
    pub party: u8,
    /// Batches that each worker used, or made, in the timed sections.
    pub batches: u64,
    /// AND gates of the section.
    pub and_gates: u64,
    /// Triples made in the section.
    pub triples: u64,
    /// Seconds from connected channels to the start of the section, without planning the circuit.
    pub warm_up_seconds: f64,
    /// Seconds of the section.
    pub seconds: f64,
    /// Processor seconds of this party's process in the section.
    pub cpu_seconds: f64,
    /// Seconds of every full segment of the section.
    pub segment_seconds: Vec<f64>,
    /// Instances of the circuit in a full segment.
    pub segment_lanes: u64,
    /// Bytes sent in the section, with frames, before TLS.
    pub bytes_sent: u64,
    /// Bytes of message bodies sent in the section.
    pub payload_sent: u64,
    /// Rounds of the section.
    pub rounds: u64,
    /// AND gates of the whole session.
    pub session_and_gates: u64,
    /// Bytes of message bodies sent in the whole session.
    pub session_payload_sent: u64,
    /// The most memory that the party's process has had.
    pub peak_memory_bytes: Option<u64>,
    /// The most that the process may take: the protocol's own buffers, the wires of a segment, and what any party's process takes.
    pub memory_bound_bytes: u64,
}

impl Measurement for Steady {
    const NAME: &'static str = "steady";

    type Party = SteadyParty;

    fn topology(&self) -> Topology {
        Protocol::from(self.settings.protocol).topology()
    }

    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SteadyParty> {
        let links = Links::of(me, self.link.shape(connections));
        let load = Load::open(&self.circuit)?;
        let method = self.settings.method()?;
        let workers = links.len() as u64;
        // A single unit of a large circuit may need several batches.
        let each = load.plan.and_count() as u64;
        let least = each.div_ceil(method.n());
        let stock = match self.mode {
            Mode::Full => 1,
            Mode::Offline | Mode::Online => self.settings.most_in_stock(&method).max(least + 1),
        };
        let warm_up = Stopwatch::start();
        // Where units of the circuit do not fit batches well, each of three sections may leave most of one.
        let ahead = if 3 * each > method.n() { stock + 3 } else { stock };
        let driver = Driver::start(me, links, &self.settings, ahead)?;
        let pieces = Pieces::new(&load.plan, workers, driver.most_opened());
        let segment = load.instance(pieces.lanes(pieces.segment)?)?;
        let mut party = Cycles {
            mode: self.mode,
            driver,
            load: &load,
            pieces,
            segment,
        };

        // A first segment takes the first stock, a first cycle brings memory and caches, a second tells how long a batch takes.
        party.begin()?;
        let nothing = &mut |_| ();
        party.cycle(1, &mut Timed::default(), nothing)?;
        let mut trial = Timed::default();
        party.cycle(1, &mut trial, nothing)?;
        let each = trial.seconds / trial.batches.max(1) as f64;
        let wish = self.wish(method.n(), workers, each).clamp(1, MOST_BATCHES);
        let batches = party.driver.agree(u16::try_from(wish).unwrap_or(u16::MAX))?;
        let batches = u64::from(batches).clamp(1, MOST_BATCHES);
        let (warm_up_seconds, _) = warm_up.read();

        let timed = party.section(batches, stock, progress)?;
        let session_bytes = party.session_bytes(party.driver.costs().memory_bytes);
        let end = party.driver.finish()?;
        Ok(SteadyParty {
            party: me.0,
            batches: timed.batches,
            and_gates: timed.and_gates,
            triples: timed.triples,
            warm_up_seconds,
            seconds: timed.seconds,
            cpu_seconds: timed.cpu_seconds,
            segment_seconds: timed.segment_seconds,
            segment_lanes: party.segment.lanes() as u64,
            bytes_sent: timed.bytes_sent,
            payload_sent: timed.payload_sent,
            rounds: timed.rounds,
            session_and_gates: end.and_gates,
            session_payload_sent: end.traffic.payload_sent,
            peak_memory_bytes: cenote_session::memory::peak(),
            memory_bound_bytes: self.bound(session_bytes),
        })
    }
}

impl Steady {
    /// The most bytes that a process takes whose session has so many.
    fn bound(&self, session: u64) -> u64 {
        let topology = self.topology();
        let channels = topology.channels() as u64 * u64::from(topology.parties - 1);
        process_bytes(&topology, session).saturating_add(channels * HELD_OF_CHANNEL)
    }

    /// How many batches party 0 wants to measure, if one takes `seconds_each`.
    fn wish(&self, n: u64, workers: u64, seconds_each: f64) -> u64 {
        match self.length {
            Length::Batches(batches) => batches,
            Length::Gates(gates) => gates.div_ceil(n * BLOCK_BITS as u64 * workers),
            Length::Seconds(seconds) => (seconds / seconds_each.max(1e-6)).round() as u64,
        }
    }
}

/// What was timed so far.
#[derive(Default)]
struct Timed {
    batches: u64,
    and_gates: u64,
    triples: u64,
    seconds: f64,
    cpu_seconds: f64,
    bytes_sent: u64,
    payload_sent: u64,
    rounds: u64,
    segment_seconds: Vec<f64>,
}

/// A party that makes batches and uses them up, again and again.
struct Cycles<'a> {
    mode: Mode,
    driver: Driver,
    load: &'a Load,
    pieces: Pieces,
    /// A full segment.
    segment: Instance,
}

impl Cycles<'_> {
    /// Waits for the first triples, and evaluates a first segment with them.
    fn begin(&mut self) -> Result<()> {
        let lanes = self.pieces.lanes(self.pieces.group)?;
        self.driver.announce(self.load, lanes)?;
        self.driver.run(self.load, &self.segment.first(lanes))?;
        Ok(())
    }

    /// Bytes of a session whose own buffers have so many: with a segment's wires, two components of each bit, and what the allocator holds.
    fn session_bytes(&self, buffers: u64) -> u64 {
        let plan = &self.load.plan;
        let wires = plan.slots() + plan.input_wires() + plan.output_wires();
        let wires = (wires as u64).saturating_mul(self.segment.lanes() as u64) / 4;
        let used = buffers.saturating_add(wires);
        used.saturating_add(used / HELD)
    }

    /// A timed section of `batches` batches, if `stock` are in stock at most.
    fn section(&mut self, batches: u64, stock: u64, progress: &mut dyn FnMut(u64, u64)) -> Result<Timed> {
        let each = self.driver.n() * BLOCK_BITS as u64 * self.pieces.workers;
        let total = batches * each;
        let mut timed = Timed::default();
        while timed.batches < batches {
            let left = batches - timed.batches;
            let next = match self.mode {
                // What is verified by whole batches is counted by whole batches, a few at a time.
                Mode::Full if self.driver.spends_batches() => left.min(MOST_COUNTED),
                Mode::Full => left,
                Mode::Offline | Mode::Online => left.min(stock),
            };
            let before = timed.batches * each;
            self.cycle(next, &mut timed, &mut |gates| {
                progress((before + gates).min(total), total)
            })?;
        }
        Ok(timed)
    }

    /// Makes about `batches` batches and uses them up: both at once in the full protocol, one after the other if one phase
    /// alone is timed. Adds the times to `timed`, and reports evaluated gates to `progress`.
    fn cycle(&mut self, batches: u64, timed: &mut Timed, progress: &mut dyn FnMut(u64)) -> Result<()> {
        // Whole units, no more than the batches suffice for, but at least one.
        let each = self.load.plan.and_count() as u64;
        let layer = self.load.plan.max_level_ands() as u64 * self.pieces.group;
        let usable = self.driver.usable_blocks(layer)?;
        let units = (batches * usable / each).max(1);
        let batches = (units * each).div_ceil(usable);
        let segments = self.pieces.split(units)?;
        let instances = distinct(&self.segment, &segments);
        match self.mode {
            Mode::Full => self.driver.want_stock(1)?,
            Mode::Online => self.driver.want_stock(batches)?,
            Mode::Offline => {}
        }
        self.driver.fill_stock()?;
        // Nobody starts before all are ready.
        self.driver.agree(0)?;

        let (before, made_before) = (self.driver.costs(), self.driver.batches_wanted());
        let watch = Stopwatch::start();
        let made = match self.mode {
            Mode::Full => {
                for &lanes in &segments {
                    self.driver.announce(self.load, lanes)?;
                }
                self.evaluate(&segments, &instances, Some(&mut timed.segment_seconds), progress)?;
                // As many are made as were used.
                self.driver.fill_stock()?;
                self.driver.batches_wanted() - made_before
            }
            Mode::Online => {
                self.evaluate(&segments, &instances, Some(&mut timed.segment_seconds), progress)?;
                0
            }
            Mode::Offline => {
                self.driver.want_stock(batches)?;
                self.driver.fill_stock()?;
                self.driver.batches_wanted() - made_before
            }
        };
        let (seconds, cpu_seconds) = watch.read();
        let after = self.driver.costs();
        timed.batches += batches;
        timed.and_gates += after.and_gates - before.and_gates;
        timed.triples += made * self.driver.n() * BLOCK_BITS as u64 * self.pieces.workers;
        timed.seconds += seconds;
        timed.cpu_seconds += cpu_seconds;
        timed.bytes_sent += after.traffic.bytes_sent - before.traffic.bytes_sent;
        timed.payload_sent += after.traffic.payload_sent - before.traffic.payload_sent;
        timed.rounds += after.rounds - before.rounds;
        if self.mode == Mode::Offline {
            self.evaluate(&segments, &instances, None, progress)?;
        }
        Ok(())
    }

    /// Evaluates, verifies and opens segments of these sizes. The seconds of every full one go to `latencies`.
    fn evaluate(
        &mut self,
        segments: &[usize],
        instances: &[Instance],
        mut latencies: Option<&mut Vec<f64>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut pending = Vec::new();
        let mut lanes_done = 0;
        for &lanes in segments {
            let instance = instances
                .iter()
                .find(|instance| instance.lanes() == lanes)
                .expect("every size has an instance");
            lanes_done += lanes;
            if self.driver.spends_batches() {
                // To open outputs now would spend a batch now.
                pending.push(self.driver.evaluate(self.load, instance)?);
            } else {
                let seconds = self.driver.run(self.load, instance)?;
                if let Some(latencies) = &mut latencies
                    && (lanes == self.segment.lanes() || segments.len() == 1)
                {
                    latencies.push(seconds);
                }
            }
            progress(self.load.plan.and_count() as u64 * lanes_done as u64);
        }
        if !pending.is_empty() {
            for pending in pending {
                self.driver.open(pending)?;
            }
            self.driver.count(self.load, lanes_done);
        }
        Ok(())
    }
}

/// How lanes are cut into segments that give all workers the same amount of work. The unit is 512 lanes per worker, in which a
/// circuit of `A` gates has `A` blocks for each worker.
struct Pieces {
    workers: u64,
    /// Units that a worker evaluates together.
    group: u64,
    /// Units in a full segment: whole groups.
    segment: u64,
}

impl Pieces {
    /// `most` blocks of gates, about, are opened together at most.
    fn new(plan: &Plan, workers: u64, most: u64) -> Self {
        let units = (ThreeEngine::group_lanes(plan) / BLOCK_BITS) as u64;
        let blocks = plan.and_count().max(1) as u64;
        let most = (SEGMENT_GATES as u64 / BLOCK_BITS as u64).min(most) / blocks;
        let group = units.min(most.max(1));
        Self {
            workers,
            group,
            segment: group * (most / group).max(1),
        }
    }

    /// The lanes of `units` units at all workers.
    fn lanes(&self, units: u64) -> Result<usize> {
        units
            .checked_mul(BLOCK_BITS as u64 * self.workers)
            .and_then(|lanes| usize::try_from(lanes).ok())
            .ok_or_else(too_many)
    }

    /// Segments, in lanes, of `units` units in all: full ones, whole groups, the rest.
    fn split(&self, units: u64) -> Result<Vec<usize>> {
        let rest = units % self.segment;
        let last = [rest / self.group * self.group, rest % self.group];
        std::iter::repeat_n(self.segment, (units / self.segment) as usize)
            .chain(last)
            .filter(|&units| units > 0)
            .map(|units| self.lanes(units))
            .collect()
    }
}

/// An instance of each size that occurs.
fn distinct(segment: &Instance, segments: &[usize]) -> Vec<Instance> {
    let mut sizes = segments.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(|lanes| segment.first(lanes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_cut_into_equal_shares_for_all_workers() {
        let plan = Plan::new(&cenote::circuits::open("lib:aes128").unwrap());
        for workers in [1, 2, 5] {
            let pieces = Pieces::new(&plan, workers, 1 << 17);
            assert_eq!(pieces.segment % pieces.group, 0);
            assert!(pieces.segment * 6400 * 512 <= SEGMENT_GATES as u64);
            for units in [1, pieces.group, pieces.segment, 163, 491] {
                let segments = pieces.split(units).unwrap();
                let lanes: usize = segments.iter().sum();
                assert_eq!(lanes as u64, units * 512 * workers);
                assert!(segments.iter().all(|lanes| lanes % (512 * workers as usize) == 0));
            }
        }
    }

    #[test]
    fn modes_have_names() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert!("half".parse::<Mode>().unwrap_err().contains("offline"));
    }
}
