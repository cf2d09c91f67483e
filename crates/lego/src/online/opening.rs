//! Openings of sums of commitments, streamed: messages as they come, one proof at the end.

use crate::checks;
use cenote_net::{Channel, Step};
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::Result;

use crate::counters::{Bound, Transcript};
use crate::failure::mismatch;
use cenote_commit::{Opener, Receiver, Share, Verifier};

/// Most openings in one message. Both sides cut what is opened by one call into pieces of this many.
pub(crate) const PIECE: usize = 2048;

/// The garbler's side.
pub(crate) struct Openings {
    opener: Opener,
}

impl Openings {
    pub(crate) fn new(transcript: &Transcript) -> Self {
        Self {
            opener: Opener::new(transcript.bytes()),
        }
    }

    /// Binds what is opened from now on to what the evaluator last drew. What is opened in one proof may have been committed to
    /// at different times: a challenge from before a commitment would let the garbler choose it to vanish from the proof.
    pub(crate) fn bind(&mut self, bound: Bound) {
        self.opener.bind(&bound.to_bytes());
    }

    /// Opens sums of commitments.
    pub(crate) fn open(
        &mut self,
        channel: &mut dyn Channel,
        step: Step,
        messages: &[Block],
        shares: &[Share],
    ) -> Result<()> {
        for (messages, shares) in messages.chunks(PIECE).zip(shares.chunks(PIECE)) {
            channel.send(step, as_bytes(messages))?;
            self.opener.open(messages, shares);
        }
        Ok(())
    }

    /// Proves everything opened.
    pub(crate) fn prove(self, channel: &mut dyn Channel, step: Step) -> Result<()> {
        channel.send(step, &self.opener.finish())?;
        Ok(channel.flush()?)
    }
}

/// Receives what [`Openings::open`] sends; not to be believed before [`Watch::prove`].
pub(crate) fn receive(channel: &mut dyn Channel, step: Step, messages: &mut [Block]) -> Result<()> {
    for messages in messages.chunks_mut(PIECE) {
        channel.recv(step, as_bytes_mut(messages))?;
    }
    Ok(())
}

/// The evaluator's side.
pub(crate) struct Watch<'a> {
    verifier: Verifier<'a>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(receiver: &'a Receiver, transcript: &Transcript) -> Self {
        Self {
            verifier: receiver.verify(transcript.bytes()),
        }
    }

    /// As [`Openings::bind`], at the same places.
    pub(crate) fn bind(&mut self, bound: Bound) {
        self.verifier.bind(&bound.to_bytes());
    }

    /// Takes what was received by one call of [`receive`], with this side's shares of the same sums.
    pub(crate) fn absorb(&mut self, messages: &[Block], shares: &[Share]) {
        debug_assert_eq!(messages.len(), shares.len());
        for (messages, shares) in messages.chunks(PIECE).zip(shares.chunks(PIECE)) {
            self.verifier.absorb(messages, shares);
        }
    }

    /// Receives the proof and compares.
    pub(crate) fn prove(self, channel: &mut dyn Channel, step: Step) -> Result<()> {
        let mut proof = vec![0; self.verifier.proof_bytes()];
        channel.recv(step, &mut proof)?;
        self.verifier
            .finish(&proof)
            .map_err(mismatch(checks::DECOMMITMENT, channel.peer(), step))
    }
}
