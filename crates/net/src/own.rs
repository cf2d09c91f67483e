//! Channels between processes of one party: both ends show the party's own key, and take no other.

use std::net::TcpStream;
use std::time::Duration;

use crate::deadline::Deadline;
use crate::dial::{Attempt, reach};
use crate::step::CONNECT;
use crate::tls::HandshakeFault;
use crate::{Channel, ChannelOptions, Error, Fingerprint, Framed, Identity, PartyId, Result, TlsLink};

/// Connects to the process of `me`, this party, at `address` (`host:port`), once. It must show the key of `identity`, which is this process's too.
///
/// # Errors
/// [`Error::PeerLost`] if nobody answers within `limit`; [`Error::Identity`] if who answers shows another key.
pub fn dial_own(
    me: PartyId,
    identity: &Identity,
    address: &str,
    options: &ChannelOptions,
    limit: Duration,
) -> Result<Box<dyn Channel>> {
    let deadline = Deadline::new(limit);
    let stream = reach(address, deadline).map_err(|reason| lost(me, format!("{address}: {reason}")))?;
    let key = identity.fingerprint();
    let link = TlsLink::dial(stream, options.queue_bytes, identity, (me, key), deadline);
    channel(me, key, link, options)
}

/// The channel over a connection that a process of `me`, this party, has made: it must show the key of `identity` within `limit`.
///
/// # Errors
/// [`Error::Identity`] if it shows another key; what happened on the network.
pub fn accept_own(
    me: PartyId,
    identity: &Identity,
    stream: TcpStream,
    options: &ChannelOptions,
    limit: Duration,
) -> Result<Box<dyn Channel>> {
    let (deadline, key) = (Deadline::new(limit), identity.fingerprint());
    let accepted = TlsLink::accept(stream, options.queue_bytes, identity, vec![(me, key)], deadline);
    channel(me, key, accepted.map(|(link, _)| link), options)
}

/// The channel of a handshake in which a process of `me` must have shown `key`.
fn channel(
    me: PartyId,
    key: Fingerprint,
    link: std::result::Result<TlsLink, HandshakeFault>,
    options: &ChannelOptions,
) -> Result<Box<dyn Channel>> {
    let link = link.map_err(|fault| match Attempt::of(fault, me, key) {
        Attempt::Fatal(error) => error,
        Attempt::Again(reason) => lost(me, reason),
    })?;
    Ok(Box::new(Framed::new(me, link, options.clone())))
}

fn lost(me: PartyId, reason: String) -> Error {
    Error::PeerLost {
        peer: me,
        step: CONNECT,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::Step;

    const WORD: Step = Step {
        code: 1,
        name: "a word",
    };
    const LIMIT: Duration = Duration::from_secs(20);

    /// What both ends come to, where they have these keys.
    fn meet(one: &Identity, other: &Identity) -> (Result<[u8; 2]>, Result<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let options = ChannelOptions::with_timeout(LIMIT);
        thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let (stream, _) = listener.accept().unwrap();
                let mut channel = accept_own(PartyId(1), one, stream, &options, LIMIT)?;
                let mut word = [0; 2];
                channel.recv(WORD, &mut word)?;
                Ok(word)
            });
            let dialled = || {
                let mut channel = dial_own(PartyId(1), other, &address, &options, LIMIT)?;
                channel.send(WORD, b"hi")?;
                channel.flush()
            };
            let dialled = dialled();
            (accepted.join().unwrap(), dialled)
        })
    }

    #[test]
    fn processes_of_one_party_speak_with_each_other_and_with_nobody_else() {
        let (own, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let (accepted, dialled) = meet(&own, &own);
        dialled.unwrap();
        assert_eq!(accepted.unwrap(), *b"hi");
        let (accepted, dialled) = meet(&own, &other);
        assert!(
            matches!(accepted, Err(Error::Identity { .. } | Error::PeerLost { .. })),
            "{accepted:?}"
        );
        assert!(matches!(dialled, Err(Error::Identity { .. })), "{dialled:?}");
    }
}
