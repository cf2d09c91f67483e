//! Peers with a pinned key, and strangers, that flood: waits end in time with the error that says so, after bounded work.

mod floods;
mod strangers;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::ClientConnectionData;
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion};

use super::fault::NOTHING;
use super::handshake::{client_config, server_config};
use super::*;
use crate::deadline::Deadline;
use crate::identity::provider;
use crate::pin::Pins;
use crate::sizes::INCOMING;
use crate::{Identity, PartyId};

const ATTACKER: PartyId = PartyId(1);
/// How long the victim waits where nothing else ends its wait.
const TIMEOUT: Duration = Duration::from_millis(100);
/// How long it waits where something else must end its wait.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much longer than its limit a wait may take on a busy machine.
const DELAY: Duration = Duration::from_secs(10);

enum Kernel {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// A TLS peer that sends whatever records it likes.
struct Attacker {
    tcp: TcpLink,
    kernel: Kernel,
    encrypter: Box<dyn MessageEncrypter>,
    sequence: u64,
    sent: Vec<u8>,
}

fn encrypter(secrets: ConnectionTrafficSecrets) -> Box<dyn MessageEncrypter> {
    let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
        panic!("another cipher than the first of the list");
    };
    let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    suite.aead_alg.encrypter(key, iv)
}

impl Attacker {
    fn new(link: TlsLink) -> Self {
        let (secrets, kernel) = match link.state.side {
            Side::Client(side) => {
                let (secrets, kernel) = side.dangerous_into_kernel_connection().unwrap();
                (secrets, Kernel::Client(kernel))
            }
            Side::Server(side) => {
                let (secrets, kernel) = side.dangerous_into_kernel_connection().unwrap();
                (secrets, Kernel::Server(kernel))
            }
        };
        Self {
            tcp: link.tcp,
            kernel,
            sequence: secrets.tx.0,
            encrypter: encrypter(secrets.tx.1),
            sent: Vec::new(),
        }
    }

    /// Adds a record of this inner type to the burst.
    fn record(&mut self, inner: u8, content: &[u8]) {
        let message = OutboundPlainMessage {
            typ: ContentType::from(inner),
            version: ProtocolVersion::TLSv1_2,
            payload: OutboundChunks::Single(content),
        };
        let sealed = self.encrypter.encrypt(message, self.sequence).unwrap();
        self.sequence += 1;
        self.sent.extend(sealed.encode());
    }

    fn data(&mut self, content: &[u8]) {
        self.record(23, content);
    }

    fn handshake(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        self.record(22, &[&[kind], &length[1..], body].concat());
    }

    fn ticket(&mut self) {
        // Lifetime, age, a nonce and a ticket of one byte each, no extensions.
        self.handshake(4, &[0, 0, 1, 0, 0, 0, 0, 0, 1, 9, 0, 1, 9, 0, 0]);
    }

    fn key_update(&mut self, answer: u8) {
        self.handshake(24, &[answer]);
        let (sequence, secrets) = match &mut self.kernel {
            Kernel::Client(kernel) => kernel.update_tx_secret().unwrap(),
            Kernel::Server(kernel) => kernel.update_tx_secret().unwrap(),
        };
        (self.sequence, self.encrypter) = (sequence, encrypter(secrets));
    }
}

/// The victim's end of a connection and its attacker, which has accepted it or dialled.
fn pair(attacker_accepts: bool) -> (TlsLink, Attacker) {
    let [victim, attacker] = [(); 2].map(|()| Identity::generate().unwrap());
    let pins = |of: &Identity| Pins::new(vec![(ATTACKER, of.fingerprint())], Arc::new(provider()));
    let (its_pins, pins) = (pins(&victim), pins(&attacker));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    let deadline = Deadline::new(PATIENCE);
    let mut client = client_config(if attacker_accepts { &victim } else { &attacker }, &pins).unwrap();
    let mut server = server_config(if attacker_accepts { &attacker } else { &victim }, &pins).unwrap();
    let (dials, accepts) = if attacker_accepts {
        server = server_config(&attacker, &its_pins).unwrap();
        server.enable_secret_extraction = true;
        (&pins, &its_pins)
    } else {
        client = client_config(&attacker, &its_pins).unwrap();
        client.enable_secret_extraction = true;
        (&its_pins, &pins)
    };
    let [dialled, accepted] = std::thread::scope(|scope| {
        let dial = scope.spawn(|| TlsLink::dial_with(dialled, 1 << 20, client, dials, deadline).unwrap());
        let accepted = TlsLink::accept_with(accepted, 1 << 20, server, accepts, deadline).unwrap();
        [dial.join().unwrap(), accepted.0]
    });
    let (link, attacker) = if attacker_accepts {
        (dialled, accepted)
    } else {
        (accepted, dialled)
    };
    (link, Attacker::new(attacker))
}
