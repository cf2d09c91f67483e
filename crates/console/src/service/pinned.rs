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

/// What makes calls: over TLS to the service of this key, if one is given. A service that is silent for as long as `patience` is given up.
pub(super) fn agent(pin: Option<Fingerprint>, patience: Duration) -> Result<Agent> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_per_read(Some(patience))
        .timeout_per_write(Some(patience))
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What a call gives of a service that answers with 12 bytes, one in each `pause`, and of them only `sent`.
    fn answer(patience: Duration, pause: Duration, sent: usize) -> std::result::Result<String, ureq::Error> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        std::thread::scope(|scope| {
            let (over, wait) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("called");
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).expect("asked");
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
                    .expect("sent");
                for _ in 0..sent {
                    std::thread::sleep(pause);
                    // The caller may have given up.
                    let _ = stream.write_all(b"x");
                }
                // The connection stays open until the caller has given up.
                let _ = wait.recv();
            });
            let agent = agent(None, patience).expect("made");
            let text = agent.get(&url).call()?.body_mut().read_to_string();
            drop(over);
            text
        })
    }

    #[test]
    fn an_answer_may_take_long_and_not_be_silent_for_long() {
        let (patience, pause) = (Duration::from_secs(10), Duration::from_secs(1));
        assert_eq!(answer(patience, pause, 12).expect("whole"), "x".repeat(12));
        assert!(answer(Duration::from_millis(200), Duration::ZERO, 11).is_err());
    }
}
