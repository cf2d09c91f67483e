//! Services that are joined over sockets.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use cenote::{Identity, OnWait, PartyConfig, PartyId, Peer};
use cenote_net::Listen;
use cenote_service::job::{State, StateName};
use cenote_service::live::{LinkState, Live};

use super::world::{ALL, World, until};
use crate::Node;
use crate::wires::trunks::join_at;

/// The services of `world`, which have stopped, come up again over sockets.
pub(super) fn over_sockets(world: &mut World) {
    let parties = world.nodes.len() as u8;
    let identities: Vec<Arc<Identity>> = (0..parties)
        .map(|_| Arc::new(Identity::generate().expect("a key")))
        .collect();
    let listeners: Vec<TcpListener> = (0..parties)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let addresses: Vec<String> = listeners
        .iter()
        .map(|listener| listener.local_addr().expect("an address").to_string())
        .collect();
    for (me, listener) in (0..parties).zip(listeners) {
        let peers = (0..parties).filter(|party| *party != me).map(|party| Peer {
            party: PartyId(party),
            address: Some(addresses[usize::from(party)].clone()),
            fingerprint: identities[usize::from(party)].fingerprint(),
        });
        let config = PartyConfig {
            me: PartyId(me),
            identity: "".into(),
            listen: None,
            peers: peers.collect(),
            timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(20),
            phase_timeout: None,
            memory: None,
            stock: None,
            policy: None,
            shards: "".into(),
            shards_store: None,
            scratch: std::env::temp_dir(),
            service: None,
            on_wait: OnWait::default(),
        };
        let identity = Arc::clone(&identities[usize::from(me)]);
        let node = Node::start(world.settings(me), |ears| {
            Ok(join_at(&config, identity, Some(Listen::Bound(listener)), ears)?)
        });
        world.nodes[usize::from(me)] = Some(node.expect("comes up"));
    }
    world.wait_ready();
}

#[test]
fn jobs_run_over_sockets_and_a_lost_peer_fails_none_that_waits() {
    let mut world = World::new(3, ALL);
    (0..3).for_each(|party| world.stop(party));
    over_sockets(&mut world);
    let id = world.submit(2, "over sockets").proposal.id;
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(1, id), ["0x2a"]);
    let peers = world.node(0).peers();
    assert!(
        peers
            .iter()
            .all(|peer| peer.link == LinkState::Up && peer.sent > 0),
        "{peers:?}"
    );

    world.stop(2);
    until("the loss is seen", || {
        world.node(0).ready().is_err() && world.node(1).ready().is_err()
    });
    let waits = world.submit(0, "waits").proposal.id;
    world.wait(waits, "proposed", |state| *state == State::Proposed);
    world.verify();
}
