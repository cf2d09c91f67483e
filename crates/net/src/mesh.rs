//! All parties connect to each other: one listening port each, one connection per peer and label.
//!
//! The higher-numbered party dials the lower-numbered one. A connection that is not of a party of the
//! session is refused with a warning, and delays nobody.

use std::collections::BTreeMap;
use std::fmt;

use crate::absent::Absent;
use crate::accept::Reception;
use crate::config::check;
use crate::deadline::Deadline;
use crate::dial::dial;
use crate::hello::UNWANTED;
use crate::roll::ROLL_CALL;
use crate::{Channel, Closer, Error, Label, MeshConfig, PartyId, Result};

/// The channels of one party, by peer and label.
pub struct Mesh {
    channels: BTreeMap<(PartyId, Label), Box<dyn Channel>>,
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.channels.keys()).finish()
    }
}

impl Mesh {
    /// A mesh of channels that were made elsewhere. Of two with the same peer and label the last one stays.
    pub fn from_channels(channels: impl IntoIterator<Item = (Label, Box<dyn Channel>)>) -> Self {
        Self {
            channels: channels
                .into_iter()
                .map(|(label, channel)| ((channel.peer(), label), channel))
                .collect(),
        }
    }

    /// Takes the channel to `peer` with that label.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] if there is none, or it was taken before.
    pub fn take(&mut self, peer: PartyId, label: &Label) -> Result<Box<dyn Channel>> {
        self.channels
            .remove(&(peer, label.clone()))
            .ok_or_else(|| Error::Local {
                what: format!("taking channel \"{label}\" to {peer}"),
                reason: "there is none, or it was taken before".into(),
            })
    }

    /// Takes all channels that have not been taken yet.
    pub fn into_channels(self) -> impl Iterator<Item = (Label, Box<dyn Channel>)> {
        self.channels
            .into_iter()
            .map(|((_, label), channel)| (label, channel))
    }

    /// The channels that have not been taken yet.
    pub fn remaining(&self) -> impl Iterator<Item = (PartyId, &Label)> {
        self.channels.keys().map(|(peer, label)| (*peer, label))
    }

    /// One closer for all channels that have not been taken yet.
    pub fn closer(&self) -> Closer {
        let closers: Vec<_> = self.channels.values().map(|channel| channel.closer()).collect();
        Closer::new(move || closers.iter().for_each(Closer::close))
    }
}

/// Connects to all peers: one channel per peer and label. Those called [`ROLL_CALL`] are not handed out: over them the parties
/// tell each other for whom they wait, as long as any of the channels is there.
///
/// Every wait ends by `connect_timeout`; [`ChannelOptions::on_wait`](crate::ChannelOptions::on_wait) hears of peers that are missing for long. Only the name
/// lookup of a peer's host is the operating system's and has its own
/// limit.
///
/// # Errors
///
/// [`Error::Timeout`] in step "connect" for a peer that is missing, [`Error::Identity`] for a wrong key,
/// [`Error::Mismatch`] for another session, numbering or number of channels ([`CHANNELS`](crate::CHANNELS)), [`Error::PeerLost`] if the peer refuses this party's key,
/// [`Error::Local`] for a bad configuration. At the accepting side a wrong key or
/// session may be a stranger's, so it is reported when the time is over. A difference from a peer that has proved its
/// key is reported once all peers have been heard, so that each of them is told.
pub fn connect(config: MeshConfig, labels: &[Label]) -> Result<Mesh> {
    check(&config, labels)?;
    let wanted = labels.len() as u16;
    let deadline = Deadline::new(config.connect_timeout);
    let absent = Absent::new(&config, labels.len());
    let reception = Reception::new(&config, labels, deadline, &absent);
    let mut channels: BTreeMap<(PartyId, Label), Box<dyn Channel>> = BTreeMap::new();

    let failures = std::thread::scope(|scope| {
        let watch = || absent.watch(&config, deadline);
        // Without the thread nobody is told.
        let _ = std::thread::Builder::new()
            .name("cenote-wait".into())
            .spawn_scoped(scope, watch);
        let mut dialers = Vec::new();
        for peer in (0..config.me.0).map(PartyId) {
            for label in labels {
                let (config, reception, absent) = (&config, &reception, &absent);
                let work = move || {
                    let outcome = dial_once(config, (peer, label, wanted), deadline, reception);
                    if outcome.is_ok() {
                        absent.arrived(peer);
                    }
                    outcome.map(|channel| ((peer, label.clone()), channel))
                };
                let dialer = std::thread::Builder::new()
                    .name(format!("cenote-dial-{}", peer.0))
                    .spawn_scoped(scope, work);
                dialers.push(dialer);
            }
        }
        let mut failures = Vec::new();
        match reception.run(scope) {
            Ok(accepted) => channels.extend(accepted),
            Err(error) => failures.push(error),
        }
        for dialer in dialers {
            match dialer.map(|dialer| dialer.join()) {
                Ok(Ok(Ok((key, channel)))) => drop(channels.insert(key, channel)),
                Ok(Ok(Err(error))) => failures.push(error),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => failures.push(Error::Local {
                    what: "starting a thread to connect".into(),
                    reason: error.to_string(),
                }),
            }
        }
        absent.end();
        failures
    });
    // Where several waits ended because of one failure, that one is told.
    let telling = |error: &Error| match error {
        Error::Closed { .. } => 0,
        Error::Timeout { .. } => 1,
        _ => 2,
    };
    match failures.into_iter().rev().max_by_key(telling) {
        None => {
            let (calls, channels): (BTreeMap<_, _>, _) =
                (channels.into_iter()).partition(|((_, label), _)| label.as_str() == ROLL_CALL);
            let options = &config.options;
            options.roll.begin(calls.into_values(), options.timeout)?;
            Ok(Mesh { channels })
        }
        Some(error) => Err(error),
    }
}

/// Dials `peer` for one of `wanted` channels. A failure ends the wait for the others where it concerns them.
fn dial_once(
    config: &MeshConfig,
    (peer, label, wanted): (PartyId, &Label, u16),
    deadline: Deadline,
    reception: &Reception<'_>,
) -> Result<Box<dyn Channel>> {
    let stopped = || reception.stopped_for(peer);
    let outcome = dial(
        config,
        peer,
        (label, wanted),
        deadline,
        &reception.notices,
        &stopped,
    );
    match &outcome {
        // The others have yet to learn of it from this party.
        Err(Error::Mismatch { field, .. }) if field != UNWANTED => reception.stop_for(peer),
        // It was told to stop: for this peer only, perhaps.
        Err(Error::Closed { .. }) => {}
        Err(_) => reception.stop(),
        Ok(_) => {}
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::frame::{Frame, HEADER};
    use crate::hello::{HELLO_BYTES, Hello, Status};
    use crate::step::HELLO;
    use crate::{ChannelOptions, Listen, PeerAddress, Transport};

    /// The hello of a party that dials.
    fn hear(stream: &mut TcpStream) -> Option<Hello> {
        let mut bytes = [0; HEADER + HELLO_BYTES];
        stream.read_exact(&mut bytes).ok()?;
        Hello::decode(bytes[HEADER..].first_chunk()?)
    }

    /// Says that this party wants one channel more.
    fn differ(stream: &mut TcpStream, hello: Hello) {
        let mut answer = hello.answer(Status::Differs);
        answer.channels += 1;
        let header = Frame::data(HELLO, HELLO_BYTES).encode();
        let _ = stream.write_all(&[&header[..], &answer.encode()].concat());
    }

    /// Party 0 refuses one of two channels, and is gone for the other: party 1, which is late, must hear of it all the same.
    #[test]
    fn a_peer_that_refuses_one_channel_does_not_keep_the_next_from_being_told() {
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [first, second] = &listeners;
        let party = |listener: &TcpListener| PeerAddress {
            address: listener.local_addr().unwrap().to_string(),
            fingerprint: None,
            relayed: false,
        };
        let config = MeshConfig {
            me: PartyId(2),
            parties: vec![party(first), party(second), party(second)],
            listen: Listen::Address("127.0.0.1:0".parse().unwrap()),
            transport: Transport::Plain,
            session: "test".into(),
            connect_timeout: Duration::from_secs(20),
            options: ChannelOptions::with_timeout(Duration::from_secs(20)),
        };
        let (over, refused, told) = (
            AtomicBool::new(false),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for stream in first.incoming() {
                    let mut stream = stream.unwrap();
                    if over.load(Ordering::Acquire) {
                        return;
                    }
                    if let Some(hello) = hear(&mut stream).filter(|hello| hello.label == "main") {
                        // The dialer of the other channel has seen this party go by then.
                        std::thread::sleep(Duration::from_millis(200));
                        differ(&mut stream, hello);
                        refused.store(true, Ordering::Release);
                    }
                }
            });
            scope.spawn(|| {
                let mut late = None;
                for stream in second.incoming() {
                    let mut stream = stream.unwrap();
                    if over.load(Ordering::Acquire) {
                        return;
                    }
                    if !refused.load(Ordering::Acquire) {
                        continue;
                    }
                    let since = late.get_or_insert_with(std::time::Instant::now);
                    if since.elapsed() > Duration::from_secs(1)
                        && let Some(hello) = hear(&mut stream)
                    {
                        differ(&mut stream, hello);
                        told.store(true, Ordering::Release);
                    }
                }
            });
            let outcome = connect(config, &["main".into(), "other".into()]);
            over.store(true, Ordering::Release);
            for listener in &listeners {
                let _ = TcpStream::connect(listener.local_addr().unwrap());
            }
            assert!(matches!(outcome, Err(Error::Mismatch { .. })), "{outcome:?}");
        });
        assert!(told.load(Ordering::Acquire), "party 1 has heard nothing");
    }
}
