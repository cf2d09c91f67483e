//! How fast this machine runs a protocol, as samples show.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::sample::{Measured, Sample, Size};
use crate::local::Setting;
use crate::{Link, Program, Protocol, Result};

/// Bytes of traffic of the large sample, at least.
const SAMPLE_BYTES: u64 = 64 << 20;

/// What delays are counted with, in milliseconds of a round trip.
const PROBE_RTT: f64 = 20.0;

/// How fast this machine runs a protocol, all parties on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Seconds of a session besides what follows.
    pub setup_seconds: f64,
    /// Bytes that a party sends and receives in a second, computing included.
    pub bytes_per_second: f64,
    /// Seconds of a message that another one waits for.
    pub round_seconds: f64,
    /// Seconds of a gate, in however many lanes.
    pub gate_seconds: f64,
    /// Messages of a small session that wait for one another, if a link has a delay.
    pub delays: f64,
    /// Of the bytes that a party sends and receives, those that the busiest one sends.
    pub share_sent: f64,
    /// The rounds of the small session, as they are estimated.
    rounds: f64,
}

/// What this process has measured: of protocols, over links with a delay or without one.
static MEASURED: Mutex<Vec<(Protocol, bool, Rates)>> = Mutex::new(Vec::new());

impl Rates {
    /// Those that this process has measured, or else measures now, for parties joined by `link`.
    ///
    /// # Errors
    /// As [`Rates::measure`].
    pub(crate) fn known(
        protocol: &Protocol,
        link: &Link,
        setting: Setting,
        command: &impl Fn() -> Command,
    ) -> Result<Self> {
        let measured = || MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = link.rtt_ms > 0.0;
        let known = measured()
            .iter()
            .find(|(of, late, _)| of == protocol && *late == is_late)
            .map(|(.., rates)| *rates);
        if let Some(rates) = known {
            return Ok(rates);
        }
        let rates = Self::measure(protocol, link, setting, command)?;
        measured().push((protocol.clone(), is_late, rates));
        Ok(rates)
    }

    /// Measures them, for parties joined by `link`.
    ///
    /// # Errors
    /// As [`crate::local::run_job`].
    pub fn measure(
        protocol: &Protocol,
        link: &Link,
        setting: Setting,
        command: &impl Fn() -> Command,
    ) -> Result<Self> {
        let sample = |circuit: &str, lanes: usize| Sample {
            protocol: protocol.clone(),
            circuit: circuit.into(),
            lanes,
            link: Link::default(),
        };
        let of_one = |circuit: &str| {
            let sample = sample(circuit, 1);
            sample.fastest(sample.size()?, setting, command)
        };
        let (small, deep) = (of_one("aes128")?, of_one("sha256")?);
        let mut large = sample("aes128", 16);
        let mut size = large.size()?;
        while size.traffic < SAMPLE_BYTES as f64 {
            large.lanes *= 2;
            size = large.size()?;
        }
        let large = large.fastest(size, setting, command)?;
        let wide = of_one("sort256x32")?;

        let delays = if link.rtt_ms > 0.0 {
            let mut slow = sample("aes128", 1);
            slow.link.rtt_ms = PROBE_RTT;
            let slow = slow.fastest(small.size, setting, command)?;
            ((slow.seconds - small.seconds) * 2000.0 / PROBE_RTT).max(0.0)
        } else {
            0.0
        };
        Ok(Self::of([&small, &deep, &wide, &large], delays))
    }

    /// The rates that explain what a small sample took, one of many rounds, one of many gates and one of many bytes.
    fn of([small, deep, wide, large]: [&Measured; 4], delays: f64) -> Self {
        let bytes_per_second =
            (large.size.traffic - small.size.traffic) / (large.seconds - small.seconds).max(1e-3);
        // What a sample took more than the small one, but for its bytes: that is rounds and gates.
        let more = |of: &Measured| {
            let bytes = of.size.traffic - small.size.traffic;
            let size = (
                of.size.rounds - small.size.rounds,
                of.size.gates - small.size.gates,
            );
            (size, of.seconds - small.seconds - bytes / bytes_per_second)
        };
        let (round_seconds, gate_seconds) = solved(more(deep), more(wide));
        let besides = small.size.traffic / bytes_per_second
            + small.size.rounds * round_seconds
            + small.size.gates * gate_seconds;
        Self {
            setup_seconds: (small.seconds - besides).max(0.0),
            bytes_per_second,
            round_seconds,
            gate_seconds,
            delays,
            share_sent: large.sent as f64 / large.size.traffic,
            rounds: small.size.rounds,
        }
    }

    /// About how many seconds `program` takes from the handshake to the end, over `link`.
    ///
    /// # Errors
    /// Why the protocol cannot run it.
    pub fn seconds(&self, protocol: &Protocol, program: &Program, link: &Link) -> Result<f64> {
        let demand = program.demand();
        let prepared = protocol.prepare(&demand)?;
        Ok(self.seconds_of(Size::new(protocol, &prepared, &demand), link))
    }

    pub(crate) fn seconds_of(&self, size: Size, link: &Link) -> f64 {
        let computing = size.traffic / self.bytes_per_second;
        let sending = link
            .bytes_per_second()
            .map_or(0.0, |rate| size.traffic * self.share_sent / rate);
        let delays = (self.delays + size.rounds - self.rounds).max(0.0) * link.way().as_secs_f64();
        let local = size.rounds * self.round_seconds + size.gates * self.gate_seconds;
        self.setup_seconds + local + computing.max(sending) + delays
    }
}

/// What a round and a gate take, from two samples with so many, and what they took. Neither is negative.
fn solved(
    ((rounds, gates), time): ((f64, f64), f64),
    ((more_rounds, more_gates), more_time): ((f64, f64), f64),
) -> (f64, f64) {
    let determinant = rounds * more_gates - more_rounds * gates;
    if determinant == 0.0 {
        return (0.0, (more_time / more_gates).max(0.0));
    }
    let round = (time * more_gates - more_time * gates) / determinant;
    let gate = (rounds * more_time - more_rounds * time) / determinant;
    if gate < 0.0 {
        return ((time / rounds).max(0.0), 0.0);
    }
    match round < 0.0 {
        true => (0.0, (more_time / more_gates).max(0.0)),
        false => (round, gate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_adds_its_delay_and_takes_its_time() {
        let rates = Rates {
            setup_seconds: 0.5,
            bytes_per_second: 1e8,
            round_seconds: 1e-5,
            gate_seconds: 1e-7,
            delays: 100.0,
            share_sent: 0.5,
            rounds: 60.0,
        };
        let size = Size {
            traffic: 1e9,
            rounds: 1060.0,
            gates: 1e6,
        };
        let on = |rtt_ms, gbit_per_second| {
            rates.seconds_of(
                size,
                &Link {
                    rtt_ms,
                    gbit_per_second,
                },
            )
        };
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{x} {y}");
        let here = 0.5 + 1060.0 * 1e-5 + 0.1 + 10.0;
        near(on(0.0, None), here);
        near(on(0.0, Some(10.0)), here);
        // Half a gigabyte at 0.1 Gbit/s.
        near(on(0.0, Some(0.1)), here + 40.0 - 10.0);
        near(on(20.0, None), here + 1100.0 * 0.01);
    }

    #[test]
    fn rounds_and_gates_are_told_apart() {
        let near = |(round, gate): (f64, f64), right: (f64, f64)| {
            assert!(
                (round - right.0).abs() < 1e-12 && (gate - right.1).abs() < 1e-12,
                "{round} {gate}"
            );
        };
        let took = |rounds: f64, gates: f64| ((rounds, gates), rounds * 2e-5 + gates * 3e-8);
        near(solved(took(1500.0, 2e4), took(1000.0, 5e5)), (2e-5, 3e-8));
        // No rounds, and noise.
        near(solved(((0.0, 2e4), 0.1), ((0.0, 5e5), 0.05)), (0.0, 1e-7));
        near(solved(((1500.0, 2e4), 0.03), ((1000.0, 5e5), 0.001)), (2e-5, 0.0));
        near(solved(((1500.0, 2e4), -0.01), ((1000.0, 5e5), 0.05)), (0.0, 1e-7));
    }
}
