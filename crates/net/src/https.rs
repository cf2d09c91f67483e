//! HTTPS at a party's own door, for its operators: the party shows the key that its peers know it by, and who calls it pins that key.
//!
//! The application protocol is another one than that between parties, so that a connection of one kind is never taken for one of the other.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use crate::identity::provider;
use crate::pin::Pins;
use crate::{Error, Fingerprint, Identity, PartyId, Result};

const ALPN: &[u8] = b"http/1.1";

fn fault(error: &rustls::Error) -> Error {
    Error::Local {
        what: "setting TLS up".into(),
        reason: error.to_string(),
    }
}

/// What a server of HTTP/1.1 over TLS 1.3 needs that shows the key of `me` and asks callers for none.
///
/// # Errors
/// [`Error::Local`] if TLS cannot be set up.
pub fn https_server(me: &Identity) -> Result<Arc<ServerConfig>> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| fault(&error))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(me.certified())));
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// What a client of HTTP/1.1 over TLS 1.3 needs that speaks to the party of this key and to nobody else, whatever names and dates its certificate
/// has.
///
/// # Errors
/// [`Error::Local`] if TLS cannot be set up.
pub fn https_client(server: Fingerprint) -> Result<Arc<ClientConfig>> {
    // Which party it is plays no part.
    let pins = Pins::new(vec![(PartyId(0), server)], Arc::new(provider()));
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| fault(&error))?
        .dangerous()
        .with_custom_certificate_verifier(pins)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}
