//! Oblivious transfer between two parties, any of which may be malicious.
#![forbid(unsafe_code)]

use cenote_net::{Channel, Step};
use cenote_primitives::{Block, Entropy};

/// A check of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The receiver of the extension used different choices in different columns (Roy 2022).
    Consistency,
    /// A message that no honest peer sends, such as bytes that are no point of the group.
    Form,
}

/// A failed transfer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer cheated.
    #[error("the OT check \"{check:?}\" failed in step \"{step}\": {detail}")]
    Cheated {
        /// The check that failed.
        check: Check,
        /// Where.
        step: Step,
        /// What was seen, without secrets.
        detail: String,
    },
    /// The channel failed.
    #[error(transparent)]
    Net(#[from] cenote_net::Error),
}

/// Result of a transfer.
pub type Result<T> = std::result::Result<T, Error>;

/// The side that holds the difference `Δ` (and is the *receiver* of the base OTs). `lsb(Δ) = 1`.
#[derive(Debug)]
pub struct DeltaSender(());

/// The side with the choice bits.
#[derive(Debug)]
pub struct DeltaReceiver(());

/// Correlated strings at the receiver: `strings[i] = r_i ^ choice_i Δ`, where the sender holds `r_i`.
#[derive(Debug, Default)]
pub struct Chosen {
    /// Choice bit `i` is bit `i % 64` of word `i / 64`.
    pub choices: Vec<u64>,
    /// `r_i ^ choice_i Δ`; its last bit is `choice_i`, since `lsb(r_i) = 0`.
    pub strings: Vec<Block>,
}

impl DeltaSender {
    /// Base OTs. `session` binds them to a session.
    pub fn new(_channel: &mut dyn Channel, _entropy: &mut Entropy, _session: &[u8]) -> Result<Self> {
        unimplemented!()
    }

    /// The difference: uniform but for its last bit, which is 1.
    pub fn delta(&self) -> Block {
        unimplemented!()
    }

    /// `count` strings `r_i`, each with last bit 0, of which the receiver gets `r_i ^ choice_i Δ`.
    pub fn correlated(&mut self, _channel: &mut dyn Channel, _count: usize) -> Result<Vec<Block>> {
        unimplemented!()
    }

    /// `count` pairs of independent random strings, one of each of which the receiver gets.
    pub fn random(&mut self, _channel: &mut dyn Channel, _count: usize) -> Result<Vec<[Block; 2]>> {
        unimplemented!()
    }
}

impl DeltaReceiver {
    /// Base OTs.
    pub fn new(_channel: &mut dyn Channel, _entropy: &mut Entropy, _session: &[u8]) -> Result<Self> {
        unimplemented!()
    }

    /// `count` correlated strings under uniform choices.
    pub fn correlated(
        &mut self,
        _channel: &mut dyn Channel,
        _entropy: &mut Entropy,
        _count: usize,
    ) -> Result<Chosen> {
        unimplemented!()
    }

    /// `count` random strings under uniform choices: `(choices, strings)`, packed as in [`Chosen`].
    pub fn random(
        &mut self,
        _channel: &mut dyn Channel,
        _entropy: &mut Entropy,
        _count: usize,
    ) -> Result<Chosen> {
        unimplemented!()
    }
}
