//! What preprocessing costs in bytes from the garbler to the evaluator.

use serde::{Deserialize, Serialize};

use super::bounds::Buckets;

/// Bytes sent per item. The search minimises their sum; other implementations put their own numbers here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// Per garbled gate: table and commitments to its three wires.
    pub gate: f64,
    /// Per authenticator: the pair of hashes and the commitment to its wire.
    pub authenticator: f64,
    /// Per garbled gate opened by the check.
    pub checked_gate: f64,
    /// Per authenticator opened by the check.
    pub checked_authenticator: f64,
    /// Per garbled gate soldered into an AND bucket.
    pub soldered_gate: f64,
    /// Per garbled gate soldered into an input bucket.
    pub soldered_input_gate: f64,
    /// Per authenticator soldered into a bucket.
    pub soldered_authenticator: f64,
}

impl Default for CostModel {
    /// Half-gates of 32 bytes, authenticators of 32, 16-byte labels, and commitments of 21.375 bytes (171 parity bits) to a random
    /// label and 37.375 to a chosen one: a gate's inputs are random, its output is chosen. A check opens three labels of a
    /// gate and one of an authenticator; soldering a gate takes three labels, in an input bucket two, an authenticator
    /// one. Challenges and base OTs are not counted: they do not depend on the parameters.
    fn default() -> Self {
        Self {
            gate: 32.0 + 3.0 * 21.375 + 16.0,
            authenticator: 32.0 + 21.375,
            checked_gate: 48.0,
            checked_authenticator: 16.0,
            soldered_gate: 48.0,
            soldered_input_gate: 32.0,
            soldered_authenticator: 16.0,
        }
    }
}

impl CostModel {
    /// Bytes for `gates` garbled gates and `authenticators` of which `buckets` are made. The first gate of an AND bucket needs
    /// no soldering.
    #[must_use]
    pub fn bytes(&self, buckets: &Buckets, gates: f64, authenticators: f64) -> f64 {
        let soldered_gates = (buckets.gates * u64::from(buckets.beta - 1)) as f64;
        let soldered_input_gates = (buckets.input_buckets * u64::from(buckets.beta_input)) as f64;
        let soldered_authenticators = buckets.authenticators_needed() as f64;
        gates * (self.gate + buckets.p_gate * self.checked_gate)
            + authenticators * (self.authenticator + buckets.p_auth * self.checked_authenticator)
            + soldered_gates * self.soldered_gate
            + soldered_input_gates * self.soldered_input_gate
            + soldered_authenticators * self.soldered_authenticator
    }

    /// The same with the expected numbers generated, `needed/(1-p)`.
    #[must_use]
    pub fn expected_bytes(&self, buckets: &Buckets) -> f64 {
        let gates = buckets.gates_needed() as f64 / (1.0 - buckets.p_gate);
        let authenticators = buckets.authenticators_needed() as f64 / (1.0 - buckets.p_auth);
        self.bytes(buckets, gates, authenticators)
    }
}
