//! Time and processors that a measurement takes, and the machine it runs on.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Measures wall-clock and processor time of this process from its creation on.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_time(),
        }
    }

    /// Seconds since the start: of the clock, and of processor time of all threads.
    pub(crate) fn read(&self) -> (f64, f64) {
        let cpu = cpu_time().saturating_sub(self.cpu);
        (self.wall.elapsed().as_secs_f64(), cpu.as_secs_f64())
    }
}

/// Processor time, of the program and of the system on its behalf, that this process has used.
fn cpu_time() -> Duration {
    time_of(rustix::time::ClockId::ProcessCPUTime)
}

/// The same of this thread alone, in seconds.
pub(crate) fn thread_seconds() -> f64 {
    time_of(rustix::time::ClockId::ThreadCPUTime).as_secs_f64()
}

fn time_of(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Processor seconds by process: one per party, or a single one if the parties are threads.
    pub seconds: Vec<f64>,
    /// Share of all the machine's cores that was in use by the parties, in percent.
    pub percent: f64,
    /// Nanoseconds of one core per party and gate (triple, where no gates are evaluated).
    pub ns_per_gate: f64,
}

impl Cpu {
    /// The processor time of processes that took `seconds` each while `wall` seconds passed on `machine`.
    pub(crate) fn new(seconds: Vec<f64>, wall: f64, gates: u64, machine: &Machine) -> Self {
        let all: f64 = seconds.iter().sum();
        Cpu {
            percent: 100.0 * all / (wall.max(1e-9) * machine.cores as f64),
            ns_per_gate: 1e9 * all / (f64::from(cenote::PARTIES) * gates.max(1) as f64),
            seconds,
        }
    }
}

/// The machine that all parties ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's name, where the system tells.
    pub processor: Option<String>,
    /// Tasks that ran or waited in the minute before the measurement, on average, where the system tells: other work on the
    /// machine, or earlier measurements.
    pub load: Option<f64>,
}

impl Machine {
    /// This machine, now.
    pub fn now() -> Self {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        let name = |line: &str| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == "model name").then(|| value.trim().to_owned())
        };
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: read("/proc/cpuinfo").lines().find_map(name),
            load: read("/proc/loadavg")
                .split_whitespace()
                .next()
                .and_then(|text| text.parse().ok()),
        }
    }

    /// The machine as a line for people.
    pub fn line(&self) -> String {
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let load = self
            .load
            .map_or_else(String::new, |load| format!(", load {load:.1} before"));
        let plural = cenote::text::s(self.cores as u64);
        format!("{} core{plural} of {processor}{load}", self.cores)
    }
}

/// The median of `values`; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_and_sleep_does_not() {
        let watch = Stopwatch::start();
        while watch.read().1 < 0.02 {
            std::hint::black_box(crate::sample::bits(1, 1, 1000));
        }
        let (wall, cpu) = watch.read();
        assert!(wall > 0.0 && cpu >= 0.02);
        let machine = Machine {
            cores: 4,
            processor: None,
            load: None,
        };
        let cpu = Cpu::new(vec![1.0, 1.0, 1.0], 1.5, 1_000_000_000, &machine);
        assert_eq!((cpu.percent, cpu.ns_per_gate), (50.0, 1.0));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }
}
