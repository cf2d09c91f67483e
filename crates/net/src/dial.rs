//! The dialling side of a connection.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::deadline::Deadline;
use crate::hello::{HELLO_BYTES, Hello, Status, UNWANTED};
use crate::notices::Notices;
use crate::relay::ask_for;
use crate::step::{CONNECT, HELLO};
use crate::tls::{HandshakeFault, REFUSED};
use crate::{
    Budget, Channel, ChannelOptions, Error, Fault, Fingerprint, Framed, Label, Link, MeshConfig, PartyId,
    Result, TcpChannel, TlsLink, Transport,
};

/// The longest single attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long an address may take to answer. To one that is silent the system speaks less and less often, so that one that is back would be noticed late.
const ANSWER: Duration = Duration::from_secs(2);
/// The pause after the first failed attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(640);

/// The limits of a handshake that must be over by `deadline`.
pub(crate) fn handshake_options(options: &ChannelOptions, timeout: Duration) -> ChannelOptions {
    ChannelOptions {
        timeout,
        least_rate: u64::MAX,
        linger: timeout.min(options.linger),
        // Who is at the other end is not known yet.
        budget: Budget::new(0),
        ..options.clone()
    }
}

/// Why an attempt failed.
pub(crate) enum Attempt {
    /// The peer may not be up yet.
    Again(String),
    Fatal(Error),
}

impl Attempt {
    /// Why the TLS handshake with `peer` failed, for which `fingerprint` is pinned.
    pub(crate) fn of(fault: HandshakeFault, peer: PartyId, fingerprint: Fingerprint) -> Self {
        match fault {
            HandshakeFault::Timeout => Self::Again("no answer to the TLS handshake".into()),
            HandshakeFault::Fault(Fault::Lost(reason)) => Self::Again(reason),
            HandshakeFault::Fault(Fault::Closed) => Self::Fatal(Error::Closed { peer }),
            // Who answers has not proved to be the peer: it is not accused of what anybody could send.
            HandshakeFault::Fault(Fault::Violation(what)) | HandshakeFault::Protocol(what) => {
                Self::Fatal(Error::PeerLost {
                    peer,
                    step: CONNECT,
                    reason: format!("TLS: {what}"),
                })
            }
            HandshakeFault::Identity(got) => Self::Fatal(Error::Identity {
                peer,
                expected: fingerprint.to_string(),
                got: got.to_string(),
            }),
            HandshakeFault::Refused => Self::refused(peer),
        }
    }

    /// The peer has refused this party's key.
    pub(crate) fn refused(peer: PartyId) -> Self {
        Self::Fatal(Error::PeerLost {
            peer,
            step: CONNECT,
            reason: REFUSED.into(),
        })
    }
}

/// Connects to `peer` for `label`, one of `channels`. Tries again until the deadline, or until `stopped` says so.
pub(crate) fn dial(
    config: &MeshConfig,
    peer: PartyId,
    (label, channels): (&Label, u16),
    deadline: Deadline,
    notices: &Notices,
    stopped: &dyn Fn() -> bool,
) -> Result<Box<dyn Channel>> {
    let mut pause = FIRST_PAUSE;
    let mut last_reason = String::new();
    loop {
        let Some(left) = deadline.remaining() else {
            let address = &config.parties[peer.index()].address;
            let line = format!("could not connect to {peer} at {address}: {last_reason}");
            notices.once(format!("dial {peer}"), &line);
            return Err(Error::Timeout {
                peer,
                step: CONNECT,
                waited: deadline.waited(),
            });
        };
        if stopped() {
            return Err(Error::Closed { peer });
        }
        match attempt(config, peer, (label, channels), left.min(ATTEMPT)) {
            Ok(channel) => return Ok(channel),
            Err(Attempt::Fatal(error)) => return Err(error),
            Err(Attempt::Again(reason)) => {
                tracing::debug!(%peer, %label, reason, "not connected yet");
                last_reason = reason;
            }
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

fn attempt(
    config: &MeshConfig,
    peer: PartyId,
    wanted: (&Label, u16),
    limit: Duration,
) -> std::result::Result<Box<dyn Channel>, Attempt> {
    let party = &config.parties[peer.index()];
    let deadline = Deadline::new(limit);
    let mut stream = reach(&party.address, deadline).map_err(Attempt::Again)?;
    if let (true, Some(fingerprint)) = (party.relayed, party.fingerprint) {
        let asked = ask_for(&mut stream, fingerprint, deadline);
        asked.map_err(|error| Attempt::Again(format!("the relay at {}: {error}", party.address)))?;
    }
    let options = handshake_options(&config.options, limit);
    match (&config.transport, party.fingerprint) {
        (Transport::Tls(identity), Some(fingerprint)) => {
            let link = TlsLink::dial(
                stream,
                options.queue_bytes,
                identity,
                (peer, fingerprint),
                deadline,
            );
            let link = link.map_err(|fault| Attempt::of(fault, peer, fingerprint))?;
            introduce(Framed::new(peer, link, options), config, peer, wanted)
        }
        _ => introduce(
            TcpChannel::over(peer, stream, options).map_err(Attempt::Fatal)?,
            config,
            peer,
            wanted,
        ),
    }
}

/// A TCP connection to one of the addresses of `host:port`.
pub(crate) fn reach(address: &str, deadline: Deadline) -> std::result::Result<TcpStream, String> {
    let mut reason = format!("\"{address}\" has no address");
    for socket in address
        .to_socket_addrs()
        .map_err(|error| format!("looking up \"{address}\": {error}"))?
    {
        let Some(left) = deadline.remaining() else { break };
        match TcpStream::connect_timeout(&socket, left.min(ANSWER)) {
            Ok(stream) => return Ok(stream),
            Err(error) => reason = format!("{socket}: {error}"),
        }
    }
    Err(reason)
}

/// Sends the hello and waits for the welcome.
fn introduce<L: Link + 'static>(
    mut channel: Framed<L>,
    config: &MeshConfig,
    peer: PartyId,
    (label, channels): (&Label, u16),
) -> std::result::Result<Box<dyn Channel>, Attempt> {
    let hello = Hello::new(
        config.parties.len() as u8,
        (config.me, peer),
        &config.session,
        label.as_str(),
        channels,
    );
    let mut answer = [0; HELLO_BYTES];
    channel
        .send(HELLO, &hello.encode())
        .and_then(|()| channel.recv(HELLO, &mut answer))
        .map_err(|error| match error {
            Error::PeerLost { ref reason, .. } if reason != REFUSED => Attempt::Again(reason.clone()),
            Error::Timeout { .. } => Attempt::Again("no answer to the hello".into()),
            error => Attempt::Fatal(error),
        })?;
    let violation = |what: &str| {
        Attempt::Fatal(Error::Violation {
            peer,
            step: HELLO,
            what: what.into(),
        })
    };
    let answer = Hello::decode(&answer).ok_or_else(|| violation("an answer of another protocol"))?;
    hello.compare(peer, &answer).map_err(Attempt::Fatal)?;
    match answer.status {
        Status::Welcome if answer == hello.answer(Status::Welcome) => {
            channel.ready(peer, config.options_of(label));
            Ok(Box::new(channel))
        }
        Status::Unwanted => Err(Attempt::Fatal(Error::Mismatch {
            peer,
            field: UNWANTED.into(),
            ours: format!("\"{label}\" is wanted"),
            theirs: "it is not, or exists already".into(),
        })),
        _ => Err(violation("an answer that does not fit the question")),
    }
}
