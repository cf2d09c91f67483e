//! Coins: public randomness that no party can predict or choose (spec `three-party`, Section 6).
//!
//! A coin must be drawn only after everything it will test has been sent *and received by both honest parties*. Since
//! multiplication messages go one way round the ring, a party may have received all that it expects while a corrupted
//! party still owes its messages to the other honest one. The barrier closes that gap: a coin can be tossed only with
//! the token that [`barrier`] returns once both peers have said that they received everything.

use cenote_primitives::{Block, Block512, as_bytes};
use cenote_session::{Error, MESSAGE_FORM, Result};

use crate::checks;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys};
use crate::steps;

/// Proof that this party has received everything that a coin will test.
pub(crate) trait Fixed {}

/// Proof that all three parties have.
pub(crate) struct AllReceived(());

/// A party has said that it has received everything that a coin will test.
pub(crate) struct Announced([u8; 8]);

/// A party has sent its shares of a coin.
pub(crate) struct Shared([[u8; 16]; 2]);

/// Tells both peers that this party has received everything that coin `serial` will test, and waits until both say the
/// same.
///
/// What a generator's coin tests are the products of a batch. What an evaluator's coin tests are the gates *and* all
/// triples that may be assigned to them, which travel on other channels. What a prover's coin tests are the gates of a log.
pub(crate) fn barrier(ring: &mut Ring, serial: u64, fixed: impl Fixed) -> Result<AllReceived> {
    announce(ring, serial, fixed)?.wait(ring)
}

/// The first half of a [`barrier`]: tells both peers.
pub(crate) fn announce(ring: &mut Ring, serial: u64, _fixed: impl Fixed) -> Result<Announced> {
    let word = serial.to_le_bytes();
    ring.tell(steps::BARRIER, &word, &word)?;
    Ok(Announced(word))
}

impl Announced {
    /// Waits until both peers say the same.
    pub(crate) fn wait(self, ring: &mut Ring) -> Result<AllReceived> {
        let (from_previous, from_next) = ring.hear(steps::BARRIER)?;
        for (theirs, peer) in [
            (from_previous, ring.previous.peer()),
            (from_next, ring.next.peer()),
        ] {
            if theirs != self.0 {
                return Err(Error::cheated(
                    MESSAGE_FORM,
                    Some(peer),
                    steps::BARRIER,
                    "it is at another batch",
                ));
            }
        }
        Ok(AllReceived(()))
    }
}

/// Opens a fresh random sharing of 128 bits, robustly: both holders of the component that a party lacks send it, and
/// must agree.
pub(crate) fn toss(
    ring: &mut Ring,
    keys: &Keys,
    counter: &mut Counter,
    received: AllReceived,
) -> Result<Block> {
    share(ring, keys, counter, received)?.open(ring)
}

/// The first half of a [`toss`]: sends this party's shares.
pub(crate) fn share(
    ring: &mut Ring,
    keys: &Keys,
    counter: &mut Counter,
    _received: AllReceived,
) -> Result<Shared> {
    let mut share = [[Block512::ZERO]; 2];
    let [first, second] = &mut share;
    keys.random(counter.take(1), [first, second]);
    let bytes = |component: &[Block512; 1]| -> [u8; 16] { std::array::from_fn(|i| as_bytes(component)[i]) };
    let ours = share.each_ref().map(bytes);
    ring.tell(steps::COIN, &ours[1], &ours[0])?;
    Ok(Shared(ours))
}

impl Shared {
    /// Receives the peers' shares.
    pub(crate) fn open(self, ring: &mut Ring) -> Result<Block> {
        let (from_previous, from_next) = ring.hear(steps::COIN)?;
        if from_previous != from_next {
            return Err(Error::cheated(
                checks::COIN_OPENING,
                None,
                steps::COIN,
                "the peers sent different shares of a coin",
            ));
        }
        let [first, second] = self.0.map(Block::from_bytes);
        Ok(first ^ second ^ Block::from_bytes(from_next))
    }
}
