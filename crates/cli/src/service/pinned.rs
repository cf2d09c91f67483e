//! HTTPS with the one key that is pinned, whatever names and dates its certificate has.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use cenote::{Error, Fingerprint, Result};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::Agent;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, TcpConnector, Transport,
    TransportAdapter,
};

use super::PATIENCE;

/// What makes calls: over TLS to the service of this key, if one is given.
pub(super) fn agent(pin: Option<Fingerprint>) -> Result<Agent> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_global(Some(PATIENCE))
        // Calls of a service on this machine do not go through a proxy.
        .proxy(None)
        .build();
    let tls = pin
        .map(cenote_net::https_client)
        .transpose()
        .map_err(|error| Error::Usage(error.to_string()))?;
    let connector = TcpConnector::default().chain(Pinned { tls });
    Ok(Agent::with_parts(config, connector, DefaultResolver::default()))
}

#[derive(Debug)]
struct Pinned {
    tls: Option<Arc<ClientConfig>>,
}

impl<In: Transport> Connector<In> for Pinned {
    type Out = Either<In, Tls>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> std::result::Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else { return Ok(None) };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let config = self.tls.clone().ok_or(ureq::Error::Tls("no key is pinned"))?;
        // The name plays no part: the key does.
        let name = ServerName::try_from("cenote").map_err(|_| ureq::Error::Tls("no name"))?;
        let mut connection =
            ClientConnection::new(config, name).map_err(|_| ureq::Error::Tls("TLS cannot be set up"))?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        socket.set_timeout(details.timeout);
        connection
            .complete_io(&mut socket)
            .map_err(|_| ureq::Error::Tls("it does not show the key that is pinned, or speaks no TLS"))?;
        Ok(Some(Either::B(Tls {
            buffers: LazyBuffers::new(
                details.config.input_buffer_size(),
                details.config.output_buffer_size(),
            ),
            stream: StreamOwned::new(connection, socket),
        })))
    }
}

/// A connection over TLS.
struct Tls {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Transport for Tls {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(
        &mut self,
        amount: usize,
        timeout: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output)?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
