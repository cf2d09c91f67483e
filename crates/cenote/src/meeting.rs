//! How a party meets its peers: its identity, their addresses, and the connections between them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use cenote_net::{Budget, Identity, Listen, PartyId, Patience, PeerAddress};
use cenote_session::{Connections, Link, Topology, memory};

use crate::stop::Session;
use crate::{Error, PartyConfig, Protocol, Result};

/// Reads an identity file.
///
/// # Errors
/// [`Error::Config`] if it is missing, no identity, or readable by others.
pub fn load_identity(path: &Path) -> Result<Identity> {
    Identity::load(path).map_err(|error| {
        let reason = match error {
            cenote_net::Error::Local { reason, .. } => reason,
            other => other.to_string(),
        };
        Error::config(
            path,
            None,
            format!("{reason}; make an identity with `cenote identity new`"),
        )
    })
}

/// The identity of the party of `config`, whose file has the peers of a job by this protocol. From here on the limit of memory in that file holds.
///
/// # Errors
/// [`Error::Config`] if the identity cannot be used, or the file has not these peers.
pub(crate) fn entered(config: &PartyConfig, protocol: &Protocol) -> Result<Arc<Identity>> {
    let identity = load_identity(&config.identity)?;
    config.check_parties(protocol)?;
    if let Some(bytes) = config.memory {
        memory::set_limit(bytes);
    }
    Ok(Arc::new(identity))
}

/// Looks `address` up, `host:port`: the first that the system knows.
///
/// # Errors
/// Those of the system; that the name has no address.
pub fn resolve(address: &str) -> std::io::Result<SocketAddr> {
    address
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| std::io::Error::other("the name has no address"))
}

/// The address that a party listens at.
pub(crate) fn listen_address(address: &str) -> Result<SocketAddr> {
    resolve(address).map_err(|error| Error::Usage(format!("listen address {address}: {error}")))
}

/// Whether an address is of this machine alone.
pub fn is_near(address: &str) -> bool {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Connects to those peers of `config` that the topology has, unless the operator ends `session` before they have come. Then that ends what uses the connections.
pub(crate) fn meet(
    config: &PartyConfig,
    identity: Arc<Identity>,
    topology: &Topology,
    session: &Session,
) -> Result<Connections> {
    meet_with(config, identity, topology, Budget::default(), session)
}

/// The same, with so much memory for messages on their way.
pub(crate) fn meet_with(
    config: &PartyConfig,
    identity: Arc<Identity>,
    topology: &Topology,
    budget: Budget,
    session: &Session,
) -> Result<Connections> {
    let fingerprint = identity.fingerprint();
    let listen = match &config.listen {
        Some(address) => listen_address(address)?,
        // The highest-numbered party is dialled by nobody.
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    };
    let address = |id: PartyId| match config.peers.iter().find(|peer| peer.party == id) {
        Some(peer) => PeerAddress {
            address: peer.address.clone().unwrap_or_default(),
            fingerprint: Some(peer.fingerprint),
            relayed: false,
        },
        None => PeerAddress {
            address: listen.to_string(),
            fingerprint: Some(fingerprint),
            relayed: false,
        },
    };
    tracing::info!(me = %config.me, %listen, %fingerprint, "waiting for the peers");
    let patience = Patience::default();
    let ended = patience.clone();
    session.then_before(move || ended.end());
    let link = Link {
        me: config.me,
        parties: (0..topology.parties).map(PartyId).map(address).collect(),
        listen: Listen::Address(listen),
        identity: Some(identity),
        connect_timeout: config.connect_timeout,
        timeout: config.timeout,
        on_wait: config.on_wait.clone(),
        budget,
        patience,
    };
    Ok(session.interrupts(Connections::connect(topology, link)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_told_from_others() {
        for near in [
            "127.0.0.1:7180",
            "localhost:7180",
            "[::1]:7180",
            "127.9.9.9:1",
            "localhost",
        ] {
            assert!(is_near(near), "{near}");
        }
        for far in [
            "0.0.0.0:7180",
            "10.0.0.7:7180",
            "party.example:1",
            "[::]:7180",
            "localhost.example:1",
        ] {
            assert!(!is_near(far), "{far}");
        }
    }
}
