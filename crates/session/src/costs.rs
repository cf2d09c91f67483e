//! What a session costs.

use std::time::Duration;

use cenote_net::Meter;

/// The cost of a session so far, at one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// AND gates evaluated, counted once per lane.
    pub and_gates: u64,
    /// Rounds of communication on the critical path of the program (background work has its own).
    pub rounds: u64,
    /// Everything sent and received, over all channels to all peers.
    pub traffic: Meter,
    /// Time per phase, in the order in which phases first occurred. Background phases overlap the others.
    pub phases: Vec<(&'static str, Duration)>,
    /// The most memory that the protocol's own buffers may take with this session's parameters, in bytes, besides the
    /// program's wires.
    pub memory_bytes: u64,
}

impl Costs {
    /// Adds `time` to the phase `name`.
    pub fn add_phase(&mut self, name: &'static str, time: Duration) {
        match self.phases.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += time,
            None => self.phases.push((name, time)),
        }
    }

    /// Bits of message bodies sent per AND gate, or `None` before the first.
    pub fn bits_per_and(&self) -> Option<f64> {
        (self.and_gates > 0).then(|| self.traffic.payload_sent as f64 * 8.0 / self.and_gates as f64)
    }
}
