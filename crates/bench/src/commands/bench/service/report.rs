//! What was measured.

use std::fmt::Write as _;

use crate::Machine;
use cenote::text::grouped;
use serde::Serialize;

use super::calls::Called;
use super::load::{self, Times, Took};

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) parties: u8,
    pub(super) protocol: String,
    pub(super) latency: Latency,
    pub(super) rate: Option<Rated>,
    pub(super) calls: Vec<Called>,
    pub(super) large: Option<Large>,
    pub(super) memory: Option<Memory>,
    pub(super) restart: Restart,
}

/// What services have used.
#[derive(Clone, Copy)]
pub(super) struct Used {
    /// Processor seconds, of all parties.
    pub(super) processor: f64,
    /// Jobs that ran from stock.
    pub(super) from_stock: u64,
}

impl Used {
    pub(super) fn since(self, before: Used) -> Used {
        Used {
            processor: self.processor - before.processor,
            from_stock: self.from_stock.saturating_sub(before.from_stock),
        }
    }
}

/// Jobs of one AES, one at a time.
#[derive(Debug, Serialize)]
pub(super) struct Latency {
    jobs: usize,
    /// Milliseconds from the submission to the end, as events tell.
    done_ms: Times,
    /// The same to the result.
    result_ms: Times,
    /// Processor milliseconds of all parties for a job.
    cpu_ms: f64,
    /// Jobs that ran from stock.
    from_stock: u64,
}

impl Latency {
    pub(super) fn new(took: &[Took], used: Used) -> Self {
        let times =
            |of: fn(&Took) -> std::time::Duration| Times::of(&took.iter().map(of).collect::<Vec<_>>());
        Latency {
            jobs: took.len(),
            done_ms: times(|took| took.done),
            result_ms: times(|took| took.result),
            cpu_ms: 1000.0 * used.processor / took.len().max(1) as f64,
            from_stock: used.from_stock,
        }
    }

    fn text(&self) -> String {
        format!(
            "one AES at a time, {} jobs, {} from stock\n  to its end     {}\n  to its result  {}\n  {:.1} ms of processor time at all parties",
            self.jobs,
            self.from_stock,
            self.done_ms.line(),
            self.result_ms.line(),
            self.cpu_ms
        )
    }
}

/// Small jobs side by side.
#[derive(Debug, Serialize)]
pub(super) struct Rated {
    jobs: usize,
    in_flight: u64,
    jobs_per_second: f64,
    /// Milliseconds from the submission to the result.
    result_ms: Times,
    /// Processor milliseconds of all parties for a job.
    cpu_ms: f64,
    /// Jobs that ran from stock.
    from_stock: u64,
}

impl Rated {
    pub(super) fn new(rate: &load::Rate, in_flight: u64, used: Used) -> Self {
        let times: Vec<_> = rate.took.iter().map(|took| took.result).collect();
        Rated {
            jobs: times.len(),
            in_flight,
            jobs_per_second: times.len() as f64 / rate.seconds.max(1e-9),
            result_ms: Times::of(&times),
            cpu_ms: 1000.0 * used.processor / times.len().max(1) as f64,
            from_stock: used.from_stock,
        }
    }

    fn text(&self) -> String {
        format!(
            "{} small jobs, {} from stock, {} in flight: {:.0} a second\n  to the result  {}\n  {:.1} ms of processor time at all parties",
            self.jobs,
            self.from_stock,
            self.in_flight,
            self.jobs_per_second,
            self.result_ms.line(),
            self.cpu_ms
        )
    }
}

/// A large job.
#[derive(Debug, Serialize)]
pub(super) struct Large {
    and_gates: u64,
    /// From the submission to the end.
    service_seconds: f64,
    /// Of `cenote run`, without its starting of processes.
    alone_seconds: f64,
    service_and_gates_per_second: f64,
    alone_and_gates_per_second: f64,
    percent: f64,
}

impl Large {
    pub(super) fn new(and_gates: u64, service: f64, alone: f64) -> Self {
        Large {
            and_gates,
            service_seconds: service,
            alone_seconds: alone,
            service_and_gates_per_second: and_gates as f64 / service.max(1e-9),
            alone_and_gates_per_second: and_gates as f64 / alone.max(1e-9),
            percent: 100.0 * alone / service.max(1e-9),
        }
    }

    fn text(&self) -> String {
        format!(
            "a job of {} ANDs: {:.2} s, {} ANDs/s; without services {:.2} s, {} ANDs/s; that is {:.0} %",
            grouped(self.and_gates),
            self.service_seconds,
            grouped(self.service_and_gates_per_second as u64),
            self.alone_seconds,
            grouped(self.alone_and_gates_per_second as u64),
            self.percent
        )
    }
}

/// A look at the memory of all parties.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Look {
    pub(super) jobs: u64,
    pub(super) seconds: f64,
    /// Resident bytes, by party.
    pub(super) bytes: Vec<u64>,
}

/// Memory over many jobs.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    jobs: u64,
    jobs_per_second: f64,
    looks: Vec<Look>,
    /// The most that a party grew from the second quarter of the soak to the last, highest to highest, in bytes.
    growth_bytes: i64,
    /// Whether that is at most [`FLAT`].
    flat: bool,
}

/// Bytes by which memory that is flat may grow in half of a soak: what allocators keep moves by so much.
const FLAT: i64 = 8 << 20;

impl Memory {
    pub(super) fn new(jobs: u64, seconds: f64, looks: Vec<Look>) -> Self {
        let parties = looks.first().map_or(0, |look| look.bytes.len());
        let quarter = looks.len() / 4;
        let highest = |looks: &[Look], party: usize| {
            let bytes = looks.iter().filter_map(|look| look.bytes.get(party));
            bytes
                .copied()
                .max()
                .and_then(|bytes| i64::try_from(bytes).ok())
                .unwrap_or(0)
        };
        let early = looks.get(quarter..2 * quarter).unwrap_or_default();
        let late = looks.get(looks.len() - quarter..).unwrap_or_default();
        let growth = (0..parties).map(|party| highest(late, party) - highest(early, party));
        let growth_bytes = growth.max().unwrap_or(0);
        Memory {
            jobs,
            jobs_per_second: jobs as f64 / seconds.max(1e-9),
            looks,
            growth_bytes,
            flat: growth_bytes <= FLAT,
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} small jobs more: {:.0} a second; memory, MB by party\n",
            grouped(self.jobs),
            self.jobs_per_second
        );
        let every = (self.looks.len() / 10).max(1);
        for look in self.looks.iter().skip(every - 1).step_by(every) {
            let bytes = look
                .bytes
                .iter()
                .map(|bytes| format!("{:8.1}", *bytes as f64 / 1e6));
            let _ = writeln!(
                text,
                "  {:>9} jobs {}",
                grouped(look.jobs),
                bytes.collect::<String>()
            );
        }
        let _ = write!(
            text,
            "  memory {}: {:+.1} MB from the second quarter to the last",
            if self.flat { "is flat" } else { "GROWS" },
            self.growth_bytes as f64 / 1e6
        );
        text
    }
}

/// From the start of a process to readiness, with the other parties up.
#[derive(Debug, Serialize)]
pub(super) struct Restart {
    /// Jobs in the database.
    pub(super) jobs: u64,
    /// Seconds, by party.
    pub(super) seconds: Vec<f64>,
}

impl Restart {
    fn text(&self) -> String {
        let seconds: Vec<String> = self
            .seconds
            .iter()
            .map(|seconds| format!("{seconds:.2} s"))
            .collect();
        format!(
            "from start to ready after a kill, with {} jobs in the database: {}",
            grouped(self.jobs),
            seconds.join(", ")
        )
    }
}

impl Report {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{}\n{} services on this machine, protocol {}; each job submitted, followed and fetched over HTTP, parties joined by TLS, \
             approval by policy\n\n",
            self.machine.line(),
            self.parties,
            self.protocol
        );
        let parts = [Some(self.latency.text()), self.rate.as_ref().map(Rated::text)].into_iter();
        let parts = parts.chain(self.calls.iter().map(|calls| Some(calls.text())));
        let parts = parts.chain([
            self.large.as_ref().map(Large::text),
            self.memory.as_ref().map(Memory::text),
            Some(self.restart.text()),
        ]);
        for part in parts.flatten() {
            let _ = writeln!(text, "{part}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_flat_where_its_highest_stays() {
        let looks = |of: fn(u64) -> u64| {
            let look = |jobs: u64| Look {
                jobs,
                seconds: 0.0,
                bytes: vec![50 << 20, of(jobs)],
            };
            (0..40).map(look).collect::<Vec<_>>()
        };
        assert!(Memory::new(40, 1.0, looks(|jobs| (jobs.min(10) << 20) + (30 << 20))).flat);
        let grows = Memory::new(40, 1.0, looks(|jobs| jobs << 20));
        assert!(!grows.flat && grows.growth_bytes == 20 << 20);
        assert!(Memory::new(0, 1.0, Vec::new()).flat);
    }
}
