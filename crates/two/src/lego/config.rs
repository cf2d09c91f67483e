//! What a session is started with.

use cenote_primitives::Entropy;

/// What both parties agree on, and this party's source of randomness.
pub struct Config {
    /// Statistical security in bits: `s` of the paper.
    pub security: u32,
    /// The session's name, bound into every hash.
    pub session: String,
    /// An order of more AND gates than this is made in several epochs: what is held at once besides finished material.
    pub epoch: u64,
    /// Where this party's randomness comes from: [`Entropy::os`] but in tests.
    pub entropy: Entropy,
}

impl Config {
    /// 40 bits, epochs of at most 2^20 AND gates, randomness from the operating system.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            security: 40,
            session: session.into(),
            epoch: 1 << 20,
            entropy: Entropy::os(),
        }
    }
}
