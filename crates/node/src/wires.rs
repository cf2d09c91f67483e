//! What joins a service to its peers: short messages in order, and the channels of sessions.

pub mod memory;
pub mod trunks;

use std::time::Duration;

use cenote::Patience;
use cenote::runner::Connections;
use cenote_service::Timestamp;
use cenote_service::live::LinkState;
use cenote_session::Topology;

/// Bytes of a message, at most.
pub const LONGEST: usize = 1 << 20;

/// The connections to the peers of a service.
pub trait Wires: Send + Sync {
    /// Sends a message to a peer, in order with those before it. Waits for nobody: a message to a peer that is not there, or that takes
    /// none, is lost.
    ///
    /// # Errors
    /// That it is lost.
    fn tell(&self, to: u8, message: Vec<u8>) -> Result<(), Lost>;

    /// How the connection to a peer stands.
    fn facts(&self, peer: u8) -> Facts;

    /// Joins the other parties of a session of this name. All of them call it.
    ///
    /// # Errors
    /// Who did not come within `timeout`, or while `patience` lasts, or was lost.
    fn connections(
        &self,
        topology: &Topology,
        session: &str,
        timeout: Duration,
        patience: &Patience,
    ) -> cenote::Result<Connections>;

    /// Ends all connections, after what was told is on its way.
    fn stop(&self);
}

/// A message was not sent: its receiver is not there, or takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer is not there")]
pub struct Lost;

/// Hears what comes from the peers. Its calls return soon.
pub trait Hear: Send + Sync {
    /// A message of a peer, in order with those before it.
    fn message(&self, from: u8, message: Vec<u8>);

    /// The connection to a peer has come up, or is lost.
    fn link(&self, peer: u8, up: bool);
}

/// How the connection to a peer stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Whether it is there.
    pub link: LinkState,
    /// Why it is down or refused.
    pub reason: Option<String>,
    /// When it is tried again, if this party is the one that dials.
    pub again: Option<Timestamp>,
    /// Since when it stands so.
    pub since: Timestamp,
    /// Where the peer is, if this party dials it.
    pub address: Option<String>,
    /// Milliseconds of a message to it and back.
    pub round_trip: Option<f64>,
    /// Milliseconds that its clock is ahead.
    pub clock_ahead: Option<f64>,
    /// Bytes sent and received.
    pub bytes: [u64; 2],
}
