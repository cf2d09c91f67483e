//! The three parties in a ring. Shares go one way round it: to the previous party, from the next.

use cenote_net::{AbortReason, Channel, Closer, Meter, PartyId, Step};
use cenote_primitives::{Block512, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};

/// One thread's channels to both peers of party `i`.
pub struct Ring {
    /// To party `i - 1` (mod 3).
    pub previous: Box<dyn Channel>,
    /// To party `i + 1` (mod 3).
    pub next: Box<dyn Channel>,
}

impl Ring {
    /// Checks that the channels lead to the previous and the next party of `me`.
    pub(crate) fn check_peers(&self, me: PartyId) -> Result<()> {
        let expected = (PartyId((me.0 + 2) % 3), PartyId((me.0 + 1) % 3));
        let found = (self.previous.peer(), self.next.peer());
        if me.0 < 3 && found == expected {
            Ok(())
        } else {
            Err(Error::BadInput(format!(
                "{me} needs channels to {} and {}, not to {} and {}",
                expected.0, expected.1, found.0, found.1
            )))
        }
    }

    /// Sends `slices`, one message, to the previous party, without waiting. Small messages go together, before the next
    /// [`Ring::take`].
    pub(crate) fn pass<const K: usize>(&mut self, step: Step, slices: [&[Block512]; K]) -> Result<()> {
        Ok(self.previous.send_parts(step, &slices.map(as_bytes))?)
    }

    /// Receives `slices`, one message, from the next party.
    pub(crate) fn take<const K: usize>(&mut self, step: Step, slices: [&mut [Block512]; K]) -> Result<()> {
        self.previous.flush()?;
        Ok(self.next.recv_parts(step, &mut slices.map(as_bytes_mut))?)
    }

    /// Sends one message to each peer and receives one of the same length from each: `(from_previous, from_next)`.
    pub(crate) fn exchange<const N: usize>(
        &mut self,
        step: Step,
        to_previous: &[u8; N],
        to_next: &[u8; N],
    ) -> Result<([u8; N], [u8; N])> {
        self.tell(step, to_previous, to_next)?;
        self.hear(step)
    }

    /// Sends one message to each peer.
    pub(crate) fn tell(&mut self, step: Step, to_previous: &[u8], to_next: &[u8]) -> Result<()> {
        self.previous.send(step, to_previous)?;
        self.previous.flush()?;
        self.next.send(step, to_next)?;
        Ok(self.next.flush()?)
    }

    /// Receives one message from each peer: `(from_previous, from_next)`.
    pub(crate) fn hear<const N: usize>(&mut self, step: Step) -> Result<([u8; N], [u8; N])> {
        let (mut from_previous, mut from_next) = ([0; N], [0; N]);
        self.previous.recv(step, &mut from_previous)?;
        self.next.recv(step, &mut from_next)?;
        Ok((from_previous, from_next))
    }

    /// Tells both peers why this party stops.
    pub(crate) fn abort(&mut self, reason: AbortReason) {
        self.previous.abort(reason);
        self.next.abort(reason);
    }

    /// Handles that stop this party's use of both channels from another thread; peers can still be told why.
    pub(crate) fn interrupters(&self) -> [Closer; 2] {
        [self.previous.interrupter(), self.next.interrupter()]
    }

    /// What went over both channels.
    pub(crate) fn meter(&self) -> Meter {
        self.previous.meter() + self.next.meter()
    }
}
