//! The contract of every channel.

use crate::{AbortReason, PartyId, Result, Step};

/// What went over a channel, payload and framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes of message bodies sent.
    pub payload_sent: u64,
    /// Bytes of message bodies received.
    pub payload_received: u64,
    /// All bytes handed to the transport (bodies and frame headers; before TLS).
    pub bytes_sent: u64,
    /// All bytes taken from the transport.
    pub bytes_received: u64,
    /// Messages handed to the channel, whole.
    pub messages_sent: u64,
    /// Messages that were taken from the channel, whole.
    pub messages_received: u64,
    /// Rounds: how often a receive followed a send.
    pub rounds: u64,
}

/// Closes a channel from another thread: pending and later operations on it end at once with
/// [`crate::Error::Closed`].
#[derive(Clone)]
pub struct Closer(std::sync::Arc<dyn Fn() + Send + Sync>);

impl Closer {
    /// A closer that runs `close` (which may be called more than once).
    pub fn new(close: impl Fn() + Send + Sync + 'static) -> Self {
        Self(std::sync::Arc::new(close))
    }

    /// Closes the channel.
    pub fn close(&self) {
        (self.0)()
    }
}

/// Ordered messages to one peer.
///
/// Messages arrive whole and in the order in which they were sent. The protocol fixes the step and the length of each
/// message, so the receiver states both.
pub trait Channel: Send {
    /// The peer at the other end.
    fn peer(&self) -> PartyId;

    /// Queues one message, the concatenation of `parts`. It may stay buffered until [`Channel::flush`] or
    /// [`Channel::recv`]. Blocks, up to the deadline, only when the bounded send queue is full.
    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()>;

    /// Queues one message.
    fn send(&mut self, step: Step, body: &[u8]) -> Result<()> {
        self.send_parts(step, &[body])
    }

    /// Starts delivery of all queued messages (without waiting for it).
    fn flush(&mut self) -> Result<()>;

    /// Receives the next message, which must be of `step` and exactly fill `parts`, one after the other. Flushes this
    /// channel first.
    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()>;

    /// Receives the next message, which must be of `step` and exactly as long as `body`.
    fn recv(&mut self, step: Step, body: &mut [u8]) -> Result<()> {
        self.recv_parts(step, &mut [body])
    }

    /// Ends the channel in good order: delivers what was sent, says goodbye, and waits up to the deadline for the
    /// goodbye that follows the peer's last message. Every later operation fails. Dropping the channel instead also
    /// delivers what was flushed, but does not wait for the peer.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Violation`] if the peer had sent a message that was never received.
    fn close(&mut self) -> Result<()> {
        self.flush()
    }

    /// Tries, without waiting, to tell the peer that this party stops, and why. Nothing can be sent afterwards. The
    /// peer's pending or next operation ends with [`crate::Error::PeerAborted`]. Dropping the channel afterwards does not
    /// wait either: what the peer has not taken yet is sent in the background ([`crate::wait_for_farewells`]).
    fn abort(&mut self, reason: AbortReason);

    /// A handle that closes this channel from any thread.
    fn closer(&self) -> Closer;

    /// A handle that stops this party's use of the channel from any thread: pending and later sends and receives end
    /// at once with [`crate::Error::Closed`]. Unlike [`Channel::closer`] it keeps the connection open, so that
    /// [`Channel::abort`] can still tell the peer why.
    fn interrupter(&self) -> Closer {
        self.closer()
    }

    /// What went over this channel so far.
    fn meter(&self) -> Meter;
}

impl std::ops::Add for Meter {
    type Output = Meter;
    fn add(self, other: Meter) -> Meter {
        Meter {
            payload_sent: self.payload_sent + other.payload_sent,
            payload_received: self.payload_received + other.payload_received,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            bytes_received: self.bytes_received + other.bytes_received,
            messages_sent: self.messages_sent + other.messages_sent,
            messages_received: self.messages_received + other.messages_received,
            rounds: self.rounds + other.rounds,
        }
    }
}

impl std::iter::Sum for Meter {
    fn sum<I: Iterator<Item = Meter>>(meters: I) -> Meter {
        meters.fold(Meter::default(), std::ops::Add::add)
    }
}

impl<C: Channel + ?Sized> Channel for Box<C> {
    fn peer(&self) -> PartyId {
        (**self).peer()
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        (**self).send_parts(step, parts)
    }

    fn flush(&mut self) -> Result<()> {
        (**self).flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        (**self).recv_parts(step, parts)
    }

    fn close(&mut self) -> Result<()> {
        (**self).close()
    }

    fn abort(&mut self, reason: AbortReason) {
        (**self).abort(reason);
    }

    fn closer(&self) -> Closer {
        (**self).closer()
    }

    fn interrupter(&self) -> Closer {
        (**self).interrupter()
    }

    fn meter(&self) -> Meter {
        (**self).meter()
    }
}
