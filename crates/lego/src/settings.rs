//! What a session is started with.

use cenote_net::PartyId;
pub use cenote_params::lego::MAX_SECURITY;
use cenote_primitives::Entropy;
use cenote_session::{Error, Result, Terms};

/// The most AND gates that an epoch may have: gates of an epoch are numbered in 32 bits.
const MAX_EPOCH: u64 = 1 << 24;

/// What both parties agree on, and this party's source of randomness.
pub struct Config {
    /// Statistical security in bits: `s` of the paper, at most [`MAX_SECURITY`]. Each of Theorem 2's bounds is at most
    /// `2^-security` for all that one call of `generate` makes, or
    /// [`Config::calls`] of them. What else may go wrong, and the sum, is in
    /// [`cenote_params::lego::soundness`].
    pub security: u32,
    /// The session's name, bound into every hash.
    pub session: String,
    /// The most AND gates (or a fourth of that many inputs and anchors) that are made at once. Larger orders are made in
    /// several epochs, so that what is held besides finished material is bounded.
    pub epoch: u64,
    /// The most AND gates (or a fourth of that many inputs and anchors) for which material is made, and circuits are built,
    /// ahead of the inputs; for larger programs material is made while they run. It bounds what a session keeps.
    pub ahead: u64,
    /// How many calls of `generate` share the error: for all of them together each of Theorem 2's bounds is at most
    /// `2^-security`.
    pub calls: u64,
    /// The party that garbles: 0 or 1. The other evaluates, which is less work and less to send, but more to keep.
    pub garbler: PartyId,
    /// Where this party's randomness comes from: [`Entropy::os`] but in tests.
    pub entropy: Entropy,
    /// Whether the parties have compared [`Config::terms`] and the session's name already, so that the engine need not.
    pub compared: bool,
}

impl Config {
    /// 40 bits, epochs of at most 13 * 2^17 AND gates (1.7 million), one of them ahead, party 0 garbling, randomness from the
    /// operating system.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            security: 40,
            session: session.into(),
            epoch: 13 << 17,
            ahead: 13 << 17,
            calls: 1,
            garbler: PartyId(0),
            entropy: Entropy::os(),
            compared: false,
        }
    }

    /// What must be the same at both parties of a session over `channels` channels, besides its name.
    pub fn terms(&self, channels: usize) -> Terms {
        vec![
            ("lego".into(), "version 4".into()),
            ("security".into(), self.security.to_string()),
            ("epoch".into(), self.epoch.to_string()),
            ("ahead".into(), self.ahead.to_string()),
            ("garbler".into(), self.garbler.0.to_string()),
            ("workers".into(), channels.to_string()),
        ]
    }

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// [`Error::BadInput`], which says what is wrong.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_SECURITY).contains(&self.security) {
            let found = self.security;
            return Err(Error::BadInput(format!(
                "a statistical security of {found} bits: with LEGO buckets 1 to {MAX_SECURITY}"
            )));
        }
        if !(1..=MAX_EPOCH).contains(&self.epoch) {
            let found = self.epoch;
            return Err(Error::BadInput(format!("epochs of {found} AND gates: 1 to 2^24")));
        }
        if self.ahead == 0 || self.calls == 0 {
            return Err(Error::BadInput(
                "material for no AND gates ahead, or for no calls: at least one of each".into(),
            ));
        }
        if self.garbler.0 > 1 {
            return Err(Error::BadInput(format!("{} is to garble: 0 or 1", self.garbler)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the parameters are those of the code that commits and extracts.
    #[test]
    fn the_codes_are_those_that_the_parameters_count_on() {
        assert_eq!(
            cenote_params::lego::CODE_DISTANCE as usize,
            cenote_primitives::bch::DISTANCE
        );
        let blocks = cenote_commit::MAX_PIECE / cenote_commit::MESSAGE_BITS;
        assert_eq!(blocks as f64, cenote_params::computational::PIECE_BLOCKS);
    }

    #[test]
    fn more_security_than_the_codes_give_is_refused() {
        for (security, fine) in [(0, false), (1, true), (40, true), (41, false), (128, false)] {
            let mut config = Config::new("test");
            config.security = security;
            let checked = config.check();
            assert_eq!(checked.is_ok(), fine, "{security}");
            if let Err(error) = checked {
                assert!(error.to_string().contains("1 to 40"), "{error}");
            }
        }
    }
}
