//! Where the parties wait for each other before they start their clocks.

use cenote::Result;
use cenote_net::{Channel, PartyId, Step};
use cenote_session::Connections;

const MEET: Step = Step {
    code: 0x3f8,
    name: "meet before a phase",
};

const AGREE: Step = Step {
    code: 0x3f9,
    name: "agree on a number",
};

/// A channel of its own, which is never slowed down.
pub(crate) struct Meeting(Box<dyn Channel>);

impl Meeting {
    /// Takes the channel of the last purpose for it.
    pub(crate) fn take(connections: Connections) -> Result<(Connections, Meeting)> {
        let (connections, last) = connections.split_last();
        Ok((connections, Meeting(last.one()?)))
    }

    /// Party 0's number, once both parties have called this.
    pub(crate) fn agree(&mut self, me: PartyId, number: u64) -> Result<u64> {
        let mut bytes = number.to_le_bytes();
        if me == PartyId(0) {
            self.0.send(AGREE, &bytes)?;
            self.0.flush()?;
        } else {
            self.0.recv(AGREE, &mut bytes)?;
        }
        Ok(u64::from_le_bytes(bytes))
    }

    /// Returns once both parties have called this.
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.0.send(MEET, &[])?;
        self.0.flush()?;
        Ok(self.0.recv(MEET, &mut [])?)
    }
}
