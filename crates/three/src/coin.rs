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

/// Tells both peers that this party has received everything that coin `serial` will test, and waits until both say the
/// same.
///
/// What a generator's coin tests are the products of a batch. What an evaluator's coin tests are the gates *and* all
/// triples that may be assigned to them, which travel on other channels.
pub(crate) fn barrier(ring: &mut Ring, serial: u64, _fixed: impl Fixed) -> Result<AllReceived> {
    let word = serial.to_le_bytes();
    let (from_previous, from_next) = ring.exchange(steps::BARRIER, &word, &word)?;
    for (theirs, peer) in [
        (from_previous, ring.previous.peer()),
        (from_next, ring.next.peer()),
    ] {
        if theirs != word {
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

/// Opens a fresh random sharing of 128 bits, robustly: both holders of the component that a party lacks send it, and
/// must agree.
pub(crate) fn toss(
    ring: &mut Ring,
    keys: &Keys,
    counter: &mut Counter,
    _received: AllReceived,
) -> Result<Block> {
    let mut share = [[Block512::ZERO]; 2];
    let [first, second] = &mut share;
    keys.random(counter.take(1), [first, second]);
    let bytes = |component: &[Block512; 1]| -> [u8; 16] { std::array::from_fn(|i| as_bytes(component)[i]) };
    let ours = share.each_ref().map(bytes);
    let (from_previous, from_next) = ring.exchange(steps::COIN, &ours[1], &ours[0])?;
    if from_previous != from_next {
        return Err(Error::cheated(
            checks::COIN_OPENING,
            None,
            steps::COIN,
            "the peers sent different shares of a coin",
        ));
    }
    Ok(Block::from_bytes(ours[0]) ^ Block::from_bytes(ours[1]) ^ Block::from_bytes(from_next))
}
