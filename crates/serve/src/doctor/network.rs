//! What can be seen of ports and peers while the service is down.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use cenote::{PartyConfig, ServiceConfig, resolve};
use cenote_service::{Error, Folder};

use super::Findings;

/// How long a peer may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn ports(config: &PartyConfig, service: &ServiceConfig, findings: &mut Findings) {
    if service.folder.is_dir() {
        match Folder::claim(&service.folder) {
            Err(Error::InUse { holder, .. }) => findings.fault(
                "service",
                format!("it runs ({holder}), and does not answer at {}", service.http),
                "see its log; if the party file was changed, start it anew",
            ),
            Err(error) => findings.fault(
                "service",
                error.to_string(),
                "let the service's user use its folder",
            ),
            Ok(_) => findings.warn("service", "it does not run", "start it with `cenote serve`"),
        }
    } else {
        findings.warn("service", "it does not run", "start it with `cenote serve`");
    }
    let listens = config.listen.iter().map(|address| ("peers", address));
    for (who, address) in listens.chain([("the page and commands", &service.http)]) {
        match resolve(address).map(TcpListener::bind) {
            Ok(Ok(_)) => findings.well("port", format!("{address}, for {who}, is free")),
            Ok(Err(error)) => findings.fault(
                "port",
                format!("{address}, for {who}, cannot be listened at: {error}"),
                "stop what listens there, or give another address in the party file",
            ),
            Err(error) => findings.fault(
                "port",
                format!("{address}, for {who}: {error}"),
                "give an address of this machine in the party file",
            ),
        }
    }
}

pub(super) fn peers(config: &PartyConfig, findings: &mut Findings) {
    for peer in &config.peers {
        let name = format!("party {}", peer.party.0);
        let Some(address) = &peer.address else {
            findings.well("peer", format!("{name} connects to this one"));
            continue;
        };
        let met = resolve(address).and_then(|address| TcpStream::connect_timeout(&address, PATIENCE));
        match met {
            Ok(_) => findings.well(
                "peer",
                format!("{name} answers at {address}; who it is shows when the service runs"),
            ),
            Err(error) => findings.warn(
                "peer",
                format!("{name} does not answer at {address}: {error}"),
                "ask its operator whether its service runs, and whether a firewall is between",
            ),
        }
    }
}
