//! Channels over TLS 1.3 between parties that know each other's keys.
//!
//! Both directions run on the channel's own thread: it encrypts what it sends, and only ciphertext waits in the queue
//! of the socket.

use std::io::IoSlice;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::{ClientConnectionData, Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::sign::SingleCertAndKey;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use crate::identity::provider;
use crate::options::Deadline;
use crate::pin::Pins;
use crate::tcp::TcpLink;
use crate::{Closer, Fault, Fingerprint, Framed, Identity, Link, PartyId};

/// A channel over TLS 1.3, both ends known by their pinned keys.
pub type TlsChannel = Framed<TlsLink>;

/// Bytes that are encrypted and written at a time. Sealed, they fit the reserve of the socket's queue.
const CHUNK: usize = 64 << 10;
/// Ciphertext that is read at a time; holds several of the longest records.
const INCOMING: usize = 128 << 10;
/// The application protocol, so that another protocol's TLS is told apart in the handshake.
const ALPN: &[u8] = b"cenote/1";

/// Why no TLS connection came about.
#[derive(Debug)]
pub(crate) enum HandshakeFault {
    Timeout,
    Fault(Fault),
    /// The peer showed a key that is not pinned.
    Identity(Fingerprint),
    /// The peer would not have this party's key.
    Refused,
    /// The peer speaks no TLS, or none that fits.
    Protocol(String),
}

impl From<Fault> for HandshakeFault {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

enum Side {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// The [`Link`] of a [`TlsChannel`].
pub struct TlsLink {
    tcp: TcpLink,
    side: Side,
    /// Ciphertext received.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// Plaintext received, from `taken` on.
    plain: Vec<u8>,
    taken: usize,
    /// Ciphertext that the socket's queue has not been given yet.
    sealed: Vec<u8>,
    peer_ended: bool,
    /// TLS has failed; rustls must not be asked again after that (it would panic).
    failed: Option<Fault>,
}

/// What one step of the connection came to.
enum Turn {
    /// There may be more to do at once.
    More,
    /// Nothing to do until bytes arrive; `false` while the handshake lasts.
    Idle { open: bool },
    /// What was asked for has been sealed.
    Sealed,
}

/// What to seal once the connection is open.
#[derive(Clone, Copy)]
enum Seal<'a> {
    Nothing,
    Bytes(&'a [u8]),
    End,
}

/// Where plaintext goes: the caller's buffers first.
struct Sink<'a> {
    first: &'a mut [u8],
    second: &'a mut [u8],
    filled: usize,
    rest: &'a mut Vec<u8>,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        for out in [&mut self.first, &mut self.second] {
            let (now, later) = bytes.split_at(bytes.len().min(out.len()));
            let (front, back) = std::mem::take(out).split_at_mut(now.len());
            front.copy_from_slice(now);
            *out = back;
            self.filled += now.len();
            bytes = later;
        }
        self.rest.extend_from_slice(bytes);
    }
}

/// Handles one state of a connection; returns how many bytes of ciphertext were used up.
fn handle<D>(
    status: UnbufferedStatus<'_, '_, D>,
    sink: &mut Sink<'_>,
    sealed: &mut Vec<u8>,
    peer_ended: &mut bool,
    seal: Seal<'_>,
) -> (usize, std::result::Result<Turn, rustls::Error>) {
    let UnbufferedStatus { discard, state } = status;
    let turn = match state {
        Err(error) => Err(error),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => sink.put(record.payload),
                Some(Err(error)) => break Err(error),
                None => break Ok(Turn::More),
            }
        },
        Ok(ConnectionState::EncodeTlsData(mut data)) => grow(sealed, |out| {
            data.encode(out).map_err(|error| match error {
                EncodeError::InsufficientSize(error) => Some(error.required_size),
                EncodeError::AlreadyEncoded => None,
            })
        })
        .map(|()| Turn::More),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            // `sealed` goes out in order before anything else does.
            data.done();
            Ok(Turn::More)
        }
        Ok(ConnectionState::WriteTraffic(mut traffic)) => {
            let size = |error| match error {
                EncryptError::InsufficientSize(error) => Some(error.required_size),
                EncryptError::EncryptExhausted => None,
            };
            match seal {
                Seal::Nothing => Ok(Turn::Idle { open: true }),
                Seal::Bytes(bytes) => {
                    grow(sealed, |out| traffic.encrypt(bytes, out).map_err(size)).map(|()| Turn::Sealed)
                }
                Seal::End => {
                    grow(sealed, |out| traffic.queue_close_notify(out).map_err(size)).map(|()| Turn::Sealed)
                }
            }
        }
        Ok(ConnectionState::PeerClosed) => {
            *peer_ended = true;
            Ok(Turn::More)
        }
        Ok(ConnectionState::Closed) => {
            *peer_ended = true;
            Ok(Turn::Idle { open: true })
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Turn::Idle { open: false }),
        Ok(_) => Err(rustls::Error::General("unexpected state".into())),
    };
    (discard, turn)
}

/// Appends what `write` writes to `sealed`, making as much room as it asks for (an error of `Some(size)`).
fn grow(
    sealed: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> std::result::Result<usize, Option<usize>>,
) -> std::result::Result<(), rustls::Error> {
    let from = sealed.len();
    loop {
        match write(&mut sealed[from..]) {
            Ok(count) => {
                sealed.truncate(from + count);
                return Ok(());
            }
            Err(Some(size)) => sealed.resize(from + size, 0),
            Err(None) => return Err(rustls::Error::EncryptError),
        }
    }
}

impl TlsLink {
    fn new(stream: TcpStream, queue_bytes: usize, side: Side) -> std::result::Result<Self, Fault> {
        Ok(Self {
            tcp: TcpLink::new(stream, queue_bytes).map_err(|error| Fault::Lost(error.to_string()))?,
            side,
            incoming: vec![0; INCOMING],
            start: 0,
            end: 0,
            plain: Vec::new(),
            taken: 0,
            sealed: Vec::new(),
            peer_ended: false,
            failed: None,
        })
    }

    /// Connects over `stream` to a `peer` that must show the pinned key.
    pub(crate) fn dial(
        stream: TcpStream,
        queue_bytes: usize,
        me: &Identity,
        peer: (PartyId, Fingerprint),
        deadline: Deadline,
    ) -> std::result::Result<Self, HandshakeFault> {
        let provider = Arc::new(provider());
        let pins = Pins::new(vec![peer], provider.clone());
        let failed = |error: rustls::Error| HandshakeFault::Protocol(error.to_string());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(pins.clone())
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(me.certified())));
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        config.alpn_protocols = vec![ALPN.to_vec()];
        let name =
            ServerName::try_from("cenote").map_err(|error| HandshakeFault::Protocol(error.to_string()))?;
        let side = UnbufferedClientConnection::new(Arc::new(config), name).map_err(failed)?;
        let mut link = Self::new(stream, queue_bytes, Side::Client(side))?;
        link.handshake(&pins, deadline)?;
        Ok(link)
    }

    /// Accepts a connection of one of the pinned `peers`; says which.
    pub(crate) fn accept(
        stream: TcpStream,
        queue_bytes: usize,
        me: &Identity,
        peers: Vec<(PartyId, Fingerprint)>,
        deadline: Deadline,
    ) -> std::result::Result<(Self, PartyId), HandshakeFault> {
        let provider = Arc::new(provider());
        let pins = Pins::new(peers, provider.clone());
        let failed = |error: rustls::Error| HandshakeFault::Protocol(error.to_string());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(failed)?
            .with_client_cert_verifier(pins.clone())
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(me.certified())));
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![ALPN.to_vec()];
        let side = UnbufferedServerConnection::new(Arc::new(config)).map_err(failed)?;
        let mut link = Self::new(stream, queue_bytes, Side::Server(side))?;
        link.handshake(&pins, deadline)?;
        match pins.party() {
            Some(party) => Ok((link, party)),
            None => Err(HandshakeFault::Protocol("it showed no key".into())),
        }
    }

    fn handshake(&mut self, pins: &Pins, deadline: Deadline) -> std::result::Result<(), HandshakeFault> {
        loop {
            match self.turn(&mut [], &mut [], Seal::Nothing) {
                Ok((Turn::Idle { open: true } | Turn::Sealed, _)) => return Ok(()),
                Ok((Turn::More, _)) => {}
                Ok((Turn::Idle { open: false }, _)) => {
                    if !self.refill()? {
                        let Some(left) = deadline.remaining() else {
                            return Err(HandshakeFault::Timeout);
                        };
                        self.tcp.wait_data(left);
                    }
                }
                Err(TurnFault::Link(fault)) => return Err(fault.into()),
                Err(TurnFault::Tls(error)) => {
                    let shown = pins.shown().filter(|_| pins.party().is_none());
                    return Err(match (shown, error) {
                        (Some(shown), _) => HandshakeFault::Identity(shown),
                        (None, rustls::Error::AlertReceived(alert)) => refusal(alert),
                        (None, error) => HandshakeFault::Protocol(error.to_string()),
                    });
                }
            }
        }
    }

    /// One step of the connection: also says how many bytes of plaintext went into `first` and `second`.
    fn turn(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        seal: Seal<'_>,
    ) -> std::result::Result<(Turn, usize), TurnFault> {
        if let Some(fault) = &self.failed {
            return Err(TurnFault::Link(fault.clone()));
        }
        let (turn, filled) = self.advance(first, second, seal);
        match turn {
            Ok(turn) => {
                self.send_sealed().map_err(TurnFault::Link)?;
                Ok((turn, filled))
            }
            Err(error) => {
                // The one step that rustls allows after an error: to fetch the alert that tells the peer.
                let _ = self.advance(&mut [], &mut [], Seal::Nothing);
                let _ = self.send_sealed();
                self.failed = Some(TurnFault::Tls(error.clone()).into());
                Err(TurnFault::Tls(error))
            }
        }
    }

    /// As [`TlsLink::turn`], without sending anything.
    fn advance(
        &mut self,
        first: &mut [u8],
        second: &mut [u8],
        seal: Seal<'_>,
    ) -> (std::result::Result<Turn, rustls::Error>, usize) {
        let incoming = &mut self.incoming[self.start..self.end];
        let mut sink = Sink {
            first,
            second,
            filled: 0,
            rest: &mut self.plain,
        };
        let (sealed, ended) = (&mut self.sealed, &mut self.peer_ended);
        let (discard, turn) = match &mut self.side {
            Side::Client(side) => handle::<ClientConnectionData>(
                side.process_tls_records(incoming),
                &mut sink,
                sealed,
                ended,
                seal,
            ),
            Side::Server(side) => handle::<ServerConnectionData>(
                side.process_tls_records(incoming),
                &mut sink,
                sealed,
                ended,
                seal,
            ),
        };
        let filled = sink.filled;
        self.start += discard;
        (turn, filled)
    }

    /// Gives the socket's queue, whose reserve has room for it, all that is sealed.
    fn send_sealed(&mut self) -> std::result::Result<(), Fault> {
        if self.sealed.is_empty() {
            return Ok(());
        }
        let pushed = self.tcp.push_reserved(&self.sealed)?;
        let complete = pushed == self.sealed.len();
        self.sealed.clear();
        if complete {
            Ok(())
        } else {
            Err(Fault::Lost("it does not take what TLS has to send".into()))
        }
    }

    /// Reads ciphertext; false when there is none.
    fn refill(&mut self) -> std::result::Result<bool, Fault> {
        self.incoming.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.incoming.len() {
            return Err(Fault::Lost("TLS: a record that does not end".into()));
        }
        match self.tcp.pull(&mut self.incoming[self.end..], &mut [])? {
            None => Ok(false),
            Some(0) => Err(Fault::Lost(
                "the connection was cut: has its process ended?".into(),
            )),
            Some(count) => {
                self.end += count;
                Ok(true)
            }
        }
    }

    fn seal(&mut self, seal: Seal<'_>) -> std::result::Result<(), Fault> {
        loop {
            // What has come is decrypted on the way: rustls wants its buffer as it left it.
            match self.turn(&mut [], &mut [], seal)? {
                (Turn::Sealed, _) => return Ok(()),
                (Turn::More, _) => {}
                (Turn::Idle { .. }, _) => return Err(Fault::Lost("TLS: the connection is closed".into())),
            }
        }
    }
}

/// Why a step failed.
enum TurnFault {
    Link(Fault),
    Tls(rustls::Error),
}

impl From<TurnFault> for Fault {
    fn from(fault: TurnFault) -> Self {
        match fault {
            TurnFault::Link(fault) => fault,
            TurnFault::Tls(error @ rustls::Error::AlertReceived(alert)) => match refusal(alert) {
                HandshakeFault::Refused => Self::Lost(REFUSED.into()),
                _ => Self::Lost(format!("TLS: {error}")),
            },
            TurnFault::Tls(error) => Self::Lost(format!("TLS: {error}")),
        }
    }
}

/// What to say of [`HandshakeFault::Refused`].
pub(crate) const REFUSED: &str =
    "it refused this party's key: the fingerprint pinned for this party there is another";

fn refusal(alert: rustls::AlertDescription) -> HandshakeFault {
    use rustls::AlertDescription as Alert;
    match alert {
        Alert::AccessDenied
        | Alert::BadCertificate
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::UnsupportedCertificate => HandshakeFault::Refused,
        other => HandshakeFault::Protocol(format!("it ended the TLS handshake ({other:?})")),
    }
}

impl Link for TlsLink {
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> std::result::Result<usize, Fault> {
        if !urgent {
            self.tcp.check_interrupted()?;
        }
        let mut pushed = 0;
        for slice in slices {
            for chunk in slice.chunks(CHUNK) {
                if self.tcp.room(urgent) == 0 {
                    return Ok(pushed);
                }
                self.seal(Seal::Bytes(chunk))?;
                pushed += chunk.len();
            }
        }
        Ok(pushed)
    }

    fn wait_room(&mut self, limit: Duration) {
        self.tcp.wait_room(limit);
    }

    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> std::result::Result<Option<usize>, Fault> {
        if self.taken < self.plain.len() {
            let mut taken = 0;
            for out in [first, second] {
                let from = self.taken + taken;
                let count = out.len().min(self.plain.len() - from);
                out[..count].copy_from_slice(&self.plain[from..from + count]);
                taken += count;
            }
            self.taken += taken;
            if self.taken == self.plain.len() {
                self.plain.clear();
                self.taken = 0;
            }
            return Ok(Some(taken));
        }
        loop {
            match self.turn(first, second, Seal::Nothing)? {
                (_, filled) if filled > 0 => return Ok(Some(filled)),
                (Turn::More | Turn::Sealed, _) => {}
                (Turn::Idle { .. }, _) if self.peer_ended => return Ok(Some(0)),
                (Turn::Idle { .. }, _) => {
                    if !self.refill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn wait_data(&mut self, limit: Duration) {
        if self.taken == self.plain.len() {
            self.tcp.wait_data(limit);
        }
    }

    fn finish(&mut self, limit: Duration) {
        // The peer tells a cut connection from an end by this.
        let _ = self.seal(Seal::End);
        self.tcp.finish(limit);
    }

    fn closer(&self) -> Closer {
        self.tcp.closer()
    }

    fn interrupter(&self) -> Closer {
        self.tcp.interrupter()
    }
}
