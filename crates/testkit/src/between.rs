//! What stands between a party and its channels: it sees what goes by, and may change it.

use cenote_net::{AbortReason, Channel, Closer, Meter, PartyId, Result, Step};

/// Something between a party and one of its channels. Whatever it does not say otherwise passes.
pub trait Between: Send {
    /// The party sends a message.
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        channel.send_parts(step, parts)
    }

    /// The party wants a message.
    fn receive(&mut self, channel: &mut dyn Channel, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        channel.recv_parts(step, parts)
    }

    /// The party says why it stops.
    fn abort(&mut self, channel: &mut dyn Channel, reason: AbortReason) {
        channel.abort(reason);
    }
}

/// A channel with something in between.
pub struct Tapped<B> {
    between: B,
    channel: Box<dyn Channel>,
}

impl<B: Between> Tapped<B> {
    /// Puts `between` in front of `channel`.
    pub fn new(between: B, channel: Box<dyn Channel>) -> Self {
        Self { between, channel }
    }
}

impl<B: Between> Channel for Tapped<B> {
    fn peer(&self) -> PartyId {
        self.channel.peer()
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        self.between.send(self.channel.as_mut(), step, parts)
    }

    fn flush(&mut self) -> Result<()> {
        self.channel.flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        self.between.receive(self.channel.as_mut(), step, parts)
    }

    fn close(&mut self) -> Result<()> {
        self.channel.close()
    }

    fn abort(&mut self, reason: AbortReason) {
        self.between.abort(self.channel.as_mut(), reason);
    }

    fn closer(&self) -> Closer {
        self.channel.closer()
    }

    fn interrupter(&self) -> Closer {
        self.channel.interrupter()
    }

    fn meter(&self) -> Meter {
        self.channel.meter()
    }
}
