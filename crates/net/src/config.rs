//! What parties need to know to connect, and whether it fits.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::hello::MAX_LABEL;
use crate::roll::ROLL_CALL;
use crate::{ChannelOptions, Error, Fingerprint, Identity, OnWait, PartyId, Result};

/// The purpose of a channel, which is known in a [`Mesh`](crate::Mesh) by its peer and its label. At most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// A label.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Label {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A party as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// `host:port` where the others reach it. Ignored for a party that this one does not dial.
    pub address: String,
    /// The hash of the key that it must prove to hold. Needed with [`Transport::Tls`].
    pub fingerprint: Option<Fingerprint>,
    /// Whether a [`Relay`](crate::Relay) is at the address, which knows it by its fingerprint.
    pub relayed: bool,
}

/// Where to listen.
#[derive(Debug)]
pub enum Listen {
    /// At this address.
    Address(SocketAddr),
    /// With a socket that listens already.
    Bound(TcpListener),
}

/// What connections are made of.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Plain TCP: neither private nor authentic.
    Plain,
    /// TLS 1.3 between pinned keys. The identity is this party's.
    Tls(Arc<Identity>),
}

/// What [`connect`](crate::connect) needs to know.
#[derive(Debug)]
pub struct MeshConfig {
    /// This party: its place in `parties`.
    pub me: PartyId,
    /// All parties in order, this one included.
    pub parties: Vec<PeerAddress>,
    /// Where this party listens. The highest-numbered party does not.
    pub listen: Listen,
    /// Plain TCP, or TLS with this party's identity.
    pub transport: Transport,
    /// The name of the session, the same at all parties; connections of another session are refused.
    pub session: String,
    /// How long to wait for all peers.
    pub connect_timeout: Duration,
    /// The limits of each channel.
    pub options: ChannelOptions,
}

impl MeshConfig {
    /// The limits of the channels called `label`.
    pub(crate) fn options_of(&self, label: &Label) -> ChannelOptions {
        self.options.of(label)
    }
}

impl ChannelOptions {
    /// The limits of the channels called `label`.
    pub(crate) fn of(&self, label: &Label) -> Self {
        match label.as_str() {
            ROLL_CALL => options_of_call(self),
            _ => self.clone(),
        }
    }
}

/// The options of a channel that the roll call itself uses: nobody hears of its waits.
fn options_of_call(options: &ChannelOptions) -> ChannelOptions {
    ChannelOptions {
        linger: Duration::ZERO,
        on_wait: OnWait::new(Duration::MAX, |_| ()),
        ..ChannelOptions::with_timeout(options.timeout)
    }
}

fn bad<T>(reason: String) -> Result<T> {
    Err(Error::Local {
        what: "connecting the parties".into(),
        reason,
    })
}

pub(crate) fn check(config: &MeshConfig, labels: &[Label]) -> Result<()> {
    check_labels(labels)?;
    let identity = match &config.transport {
        Transport::Plain => None,
        Transport::Tls(identity) => Some(&**identity),
    };
    check_parties(config.me, &config.parties, identity)
}

pub(crate) fn check_labels(labels: &[Label]) -> Result<()> {
    if labels.len() > usize::from(u16::MAX) {
        return bad(format!("{} channels to each peer", labels.len()));
    }
    for (position, label) in labels.iter().enumerate() {
        if label.0.len() > MAX_LABEL || labels[..position].contains(label) {
            return bad(format!(
                "label \"{label}\" is longer than {MAX_LABEL} bytes or there twice"
            ));
        }
    }
    Ok(())
}

/// `identity` is that of party `me`, if keys are used.
pub(crate) fn check_parties(me: PartyId, parties: &[PeerAddress], identity: Option<&Identity>) -> Result<()> {
    if me.index() >= parties.len() || parties.len() > usize::from(u8::MAX) {
        return bad(format!("{me} of {} parties", parties.len()));
    }
    let Some(identity) = identity else {
        return Ok(());
    };
    for (index, party) in parties.iter().enumerate() {
        let Some(fingerprint) = party.fingerprint else {
            if index == me.index() {
                continue;
            }
            return bad(format!("TLS needs the fingerprint of party {index}"));
        };
        if index == me.index() && fingerprint != identity.fingerprint() {
            return bad(format!(
                "the fingerprint listed for this party, {fingerprint}, is not that of its key, {}",
                identity.fingerprint()
            ));
        }
        if parties[..index]
            .iter()
            .any(|other| other.fingerprint == party.fingerprint)
        {
            return bad(format!("party {index} has the same fingerprint as another"));
        }
    }
    Ok(())
}
