//! Where the parties wait for each other before they start their clocks.

use cenote::Result;
use cenote_net::{Channel, Step};
use cenote_session::Connections;

const MEET: Step = Step {
    code: 0x3f8,
    name: "meet before a phase",
};

/// A channel of its own, which is never slowed down.
pub(super) struct Meeting(Box<dyn Channel>);

impl Meeting {
    /// Takes the channel of the last purpose for it.
    pub(super) fn take(connections: Connections) -> Result<(Connections, Meeting)> {
        let (connections, last) = connections.split_last();
        Ok((connections, Meeting(last.one()?)))
    }

    /// Returns once both parties have called this.
    pub(super) fn wait(&mut self) -> Result<()> {
        self.0.send(MEET, &[])?;
        self.0.flush()?;
        Ok(self.0.recv(MEET, &mut [])?)
    }
}
