//! What trunks need to know, and what a peer may cost.

use std::sync::Arc;
use std::time::Duration;

use crate::config::check_parties;
use crate::{Error, Identity, Listen, PartyId, PeerAddress, Result};

/// The longest version.
pub(super) const MAX_VERSION: usize = 200;

/// What [`Trunks::start`](crate::Trunks::start) needs to know.
#[derive(Debug)]
pub struct TrunkConfig {
    /// This party: its place in `parties`.
    pub me: PartyId,
    /// All parties in order, this one included. Each needs a fingerprint, and those with lower numbers than this party's an
    /// address: the higher number dials the lower.
    pub parties: Vec<PeerAddress>,
    /// Where this party listens. The highest-numbered party need not.
    pub listen: Option<Listen>,
    /// The key that this party proves to peers to hold, whose fingerprint they have.
    pub identity: Arc<Identity>,
    /// The version of the program, at most 200 bytes. A peer with another one is refused.
    pub version: String,
    /// What a peer may cost, and how long it may take.
    pub limits: TrunkLimits,
}

/// What a peer may cost, and how long it may take. A connection takes about a mebibyte besides, and each channel what
/// [`Budget::CHANNEL`](crate::Budget::CHANNEL) says, and what it draws on its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrunkLimits {
    /// How long a connection may take to come about, from the dial to the hello.
    pub handshake: Duration,
    /// How often the peer is asked for a sign of life.
    pub heartbeat: Duration,
    /// How long a peer may be silent, or take nothing, before the connection is given up.
    pub silence: Duration,
    /// The pause before a broken connection is dialled again; it doubles up to `longest_pause`.
    pub first_pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
    /// The pause before a peer that was refused is dialled again.
    pub refused_pause: Duration,
    /// The most bytes that may be on their way to a channel without having been received. A channel begins with 512 KiB, and
    /// has more only while its receiver keeps up and the budget allows.
    pub window: usize,
    /// The longest message of [`Trunks::tell`](crate::Trunks::tell), in bytes.
    pub message: usize,
    /// The most bytes of such messages that wait for the connection.
    pub queued_messages: usize,
    /// The most sessions that a peer may have joined and this party has not, and the other way around.
    pub unjoined: u32,
}

impl Default for TrunkLimits {
    /// In the order of the fields: 10 s, 5 s, 30 s, 0.1 s to 1 s, 2 s, 4 MiB, 1 MiB, 8 MiB, 1024. The pauses are short, so that a peer is met soon after it
    /// is back, however long it was away: to dial costs a packet, and a handshake at most.
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            heartbeat: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(1),
            refused_pause: Duration::from_secs(2),
            window: 4 << 20,
            message: 1 << 20,
            queued_messages: 8 << 20,
            unjoined: 1024,
        }
    }
}

pub(super) fn check(config: &TrunkConfig) -> Result<()> {
    check_parties(config.me, &config.parties, Some(&config.identity))?;
    let limits = &config.limits;
    let last = config.me.index() + 1 == config.parties.len();
    let bad = if config.listen.is_none() && !last {
        "it is to be dialled, and has no address to listen at"
    } else if config.version.len() > MAX_VERSION {
        "its version is longer than 200 bytes"
    } else if [
        limits.handshake,
        limits.heartbeat,
        limits.silence,
        limits.first_pause,
    ]
    .contains(&Duration::ZERO)
    {
        "a time of 0 s"
    } else if limits.window == 0 || limits.window > 1 << 30 {
        "a window of no bytes, or more than 1 GiB"
    } else {
        return Ok(());
    };
    Err(Error::Local {
        what: format!("keeping the connections of {}", config.me),
        reason: bad.into(),
    })
}
