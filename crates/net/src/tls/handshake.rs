//! The TLS handshake: who may be at the other end, and why no connection came about.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, ServerConfig};

use super::fault::{HandshakeFault, TurnFault};
use super::state::Side;
use super::{Seal, TlsLink, Turn};
use crate::deadline::Deadline;
use crate::identity::provider;
use crate::pin::Pins;
use crate::{Fingerprint, Identity, Link, PartyId};

/// The application protocol: TLS for another purpose is refused in the handshake.
const ALPN: &[u8] = b"cenote/1";

/// The configuration of a dialer that knows who must answer.
pub(super) fn client_config(me: &Identity, pins: &Arc<Pins>) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pins.clone())
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(me.certified())));
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// The configuration of an acceptor that knows who may connect.
pub(super) fn server_config(me: &Identity, pins: &Arc<Pins>) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(pins.clone())
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(me.certified())));
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

impl TlsLink {
    /// Connects over `stream` to a `peer` that must show the pinned key.
    pub(crate) fn dial(
        stream: TcpStream,
        queue_bytes: usize,
        me: &Identity,
        peer: (PartyId, Fingerprint),
        deadline: Deadline,
    ) -> Result<Self, HandshakeFault> {
        let pins = Pins::new(vec![peer], Arc::new(provider()));
        let config = client_config(me, &pins)?;
        Self::dial_with(stream, queue_bytes, config, &pins, deadline)
    }

    pub(super) fn dial_with(
        stream: TcpStream,
        queue_bytes: usize,
        config: ClientConfig,
        pins: &Pins,
        deadline: Deadline,
    ) -> Result<Self, HandshakeFault> {
        let name =
            ServerName::try_from("cenote").map_err(|error| HandshakeFault::Protocol(error.to_string()))?;
        let side = UnbufferedClientConnection::new(Arc::new(config), name)?;
        let mut link = Self::new(stream, queue_bytes, Side::Client(side))?;
        link.handshake(pins, deadline)?;
        Ok(link)
    }

    /// Accepts a connection of one of the pinned `peers`; says which.
    pub(crate) fn accept(
        stream: TcpStream,
        queue_bytes: usize,
        me: &Identity,
        peers: Vec<(PartyId, Fingerprint)>,
        deadline: Deadline,
    ) -> Result<(Self, PartyId), HandshakeFault> {
        let pins = Pins::new(peers, Arc::new(provider()));
        let config = server_config(me, &pins)?;
        Self::accept_with(stream, queue_bytes, config, &pins, deadline)
    }

    pub(super) fn accept_with(
        stream: TcpStream,
        queue_bytes: usize,
        config: ServerConfig,
        pins: &Pins,
        deadline: Deadline,
    ) -> Result<(Self, PartyId), HandshakeFault> {
        let side = UnbufferedServerConnection::new(Arc::new(config))?;
        let mut link = Self::new(stream, queue_bytes, Side::Server(side))?;
        link.handshake(pins, deadline)?;
        match pins.party() {
            Some(party) => Ok((link, party)),
            None => Err(Error::NoCertificatesPresented.into()),
        }
    }

    fn handshake(&mut self, pins: &Pins, deadline: Deadline) -> Result<(), HandshakeFault> {
        loop {
            match self.turn(&mut [], &mut [], Seal::Nothing) {
                Ok((Turn::Idle { open: true } | Turn::Sealed, _)) => {
                    self.state.open();
                    return Ok(());
                }
                Ok((Turn::More, _)) => {}
                Ok((Turn::Idle { open: false }, _)) => {
                    let Some(left) = deadline.remaining() else {
                        return Err(HandshakeFault::Timeout);
                    };
                    let tcp = &mut self.tcp;
                    if !self.state.refill(|ciphertext| tcp.pull(ciphertext, &mut []))? {
                        tcp.wait_data(left);
                    }
                }
                Err(TurnFault::Link(fault)) => return Err(fault.into()),
                Err(TurnFault::Tls(error)) => {
                    let shown = pins.shown().filter(|_| pins.party().is_none());
                    return Err(shown.map_or_else(|| error.into(), HandshakeFault::Identity));
                }
            }
        }
    }
}
