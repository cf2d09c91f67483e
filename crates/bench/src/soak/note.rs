//! What a party tells of a stream of computations.

use serde::{Deserialize, Serialize};

/// What one party has seen of a stream so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub party: u8,
    /// Seconds since the session has begun.
    pub seconds: f64,
    /// Whether the largest computations are over, with which the stream begins.
    pub warm: bool,
    pub computations: u64,
    /// Circuits that were run in them, each of them in all its lanes at once.
    pub runs: u64,
    /// AND gates of these, each counted in all lanes.
    pub and_gates: u64,
    /// AND gates of the smallest and of the largest of these.
    pub sizes: [u64; 2],
    /// Bits that were put in, by the parties whose they are.
    pub inputs: Vec<u64>,
    /// Bits that were opened, by the parties that learnt them.
    pub outputs: Vec<u64>,
    /// Bits that this party has learnt, and compared with plain evaluation.
    pub bits: u64,
    /// Values that were not what they must be.
    pub wrong: u64,
    /// Which was the first of them.
    pub first_wrong: Option<String>,
    /// The process's physical memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// The most that it has been.
    pub peak_memory_bytes: Option<u64>,
    /// What it has allocated and not freed, where that is counted.
    pub in_use_bytes: Option<u64>,
    /// The base-2 logarithm of the probability that a wrong output passes, at most.
    pub error_log2: f64,
    /// Bytes with frames sent to all peers.
    pub bytes_sent: u64,
    /// Bytes with frames received from them.
    pub bytes_received: u64,
    /// What the party should know besides.
    pub warnings: Vec<String>,
}

impl Note {
    /// Notes the physical memory that the process has, and the most that the system says it has had. Linux counts the latter less
    /// exactly: it can be some pages below what the process was seen to have.
    pub(super) fn physical(&mut self, now: Option<u64>, most: Option<u64>) {
        self.memory_bytes = now;
        self.peak_memory_bytes = self.peak_memory_bytes.max(now).max(most);
    }
}
