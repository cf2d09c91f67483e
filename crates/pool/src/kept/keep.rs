//! What a protocol says of the pools that it keeps.

use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{Block, Entropy};
use cenote_session::{Result, Terms};
use zeroize::Zeroizing;

use super::journal::Spent;

/// What a protocol keeps, to those who put it back: one party's of a session.
pub trait Keep {
    /// The name of the protocol's items.
    const PROTOCOL: &'static str;
    /// The states that are copies of its pools, by kind: [`KINDS`](super::KINDS) of them at most.
    const COPIES: &'static [&'static str];
    /// The step in which the parties tell each other what they keep.
    const STEP: Step;
    /// Whether things are prepared with a pool's keys ([`KeptPool::put`](super::KeptPool::put)).
    const PREPARES: bool = false;
    /// Parameters of the pools.
    type Sizes: Clone;
    /// What a party keeps besides gadgets, for as long as the pool lives.
    type Base;

    /// The statistical security.
    fn security(&self) -> u32;

    /// The party that garbles: 0 or 1.
    fn garbler(&self) -> PartyId;

    /// The session's name.
    fn session(&mut self) -> &mut String;

    /// This party's randomness.
    fn entropy(&mut self) -> &mut Entropy;

    /// The numbers of gadgets by which [`Keep::sizes`] finds the same again.
    fn numbers(sizes: &Self::Sizes) -> Vec<u32>;

    /// The sizes with these numbers, if there are such.
    fn sizes(&self, numbers: &[u32]) -> Option<Self::Sizes>;

    /// All that follows from these, which another version of the analysis may see otherwise.
    fn terms(sizes: &Self::Sizes) -> Terms;

    /// Whether a session must not use a pool of these sizes, of which so much was used up: with what it is about to use, bounds would be
    /// passed. Another pool is made then.
    fn is_spent(&self, _: &Self::Sizes, _: &Spent) -> bool {
        false
    }

    /// The copy of the pool of each kind.
    fn shapes(&self, sizes: &Self::Sizes) -> Vec<Shape>;

    /// The number of the gadget at `place` in a copy, which both parties know and no other gadget of the pool's has.
    fn number(shape: &Shape, copy: &[Block], place: usize) -> u64;

    /// Sets a pool up with the party at the other end of `channel`.
    ///
    /// # Errors
    /// What failed.
    fn establish(&mut self, channel: &mut dyn Channel, sizes: &Self::Sizes) -> Result<Self::Base>;

    /// A coin that both parties have tossed for the pool.
    fn coin(base: &Self::Base) -> Block;

    /// As bytes.
    fn encode(base: &Self::Base) -> Zeroizing<Vec<u8>>;

    /// The inverse of [`Keep::encode`]; nothing if these are no keys for this party's role and such sizes.
    fn decode(&self, bytes: &[u8], sizes: &Self::Sizes) -> Option<Self::Base>;
}

/// A copy of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Gadgets in it.
    pub size: usize,
    /// Gadgets drawn at a time.
    pub together: usize,
    /// Blocks of the copy.
    pub blocks: usize,
}
