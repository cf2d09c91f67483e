//! Sessions are joined by both, or by none, and end for both.

use std::time::Instant;

use super::peer::Slot;
use super::sessions::{Gathering, Met, Offer};
use super::*;
use crate::Error;
use crate::deadline::Deadline;

/// The wish for a session with this peer.
fn offer(peer: PartyId) -> Arc<Offer> {
    let join = wire::Join {
        session: wire::session_hash("a session"),
        labels: wire::labels_digest(&["a".into(), "b".into()]),
        answers: 0,
        window: 0,
        channels: 2,
        parties: 2,
    };
    Arc::new(Offer {
        peer,
        join,
        queue_bytes: 8,
        outcome: Mutex::default(),
        gathering: Arc::<Gathering>::default(),
    })
}

/// Waits until the session is joined by both.
fn meet(offer: &Offer) -> Met {
    loop {
        match offer.latest() {
            Some(outcome) => return outcome.expect("both join"),
            None => offer.gathering.wait(LONG),
        }
    }
}

/// Waits for others, until the peer is lost.
fn lose(offer: &Offer) -> Error {
    loop {
        match offer.latest() {
            Some(Err(error)) => return error,
            _ => offer.gathering.wait(LONG),
        }
    }
}

fn links(met: Met) -> impl Iterator<Item = StreamLink> {
    let Met { trunk, streams, .. } = met;
    let streams = streams.into_iter();
    streams.map(move |stream| StreamLink::new(stream, trunk.clone(), Arc::new(Keep)))
}

#[test]
fn both_meet_whoever_joins_first() {
    check(|| {
        let pair = Pair::new(8);
        let parties = pair.trunks.clone().map(|trunk| {
            spawn(move || {
                let offer = offer(trunk.peer);
                trunk.offer(&offer);
                let mut links: Vec<_> = links(meet(&offer)).collect();
                let me = trunk.peer.0 * 100;
                for (name, link) in (0..).zip(&mut links) {
                    send(link, &bytes(me + name, 10)).expect("all is sent");
                }
                for (name, link) in (0..).zip(&mut links) {
                    let got = receive(link, 10).expect("all arrives");
                    assert_eq!(got, bytes(100 - me + name, 10));
                }
            })
        });
        parties.into_iter().for_each(join);
        pair.end();
    });
}

#[test]
fn a_session_does_not_outlive_its_trunk() {
    check(|| {
        let pair = Pair::new(8);
        let offers = pair.trunks.each_ref().map(|trunk| offer(trunk.peer));
        let threads = [0, 1].map(|side: usize| {
            let (trunk, offer) = (pair.trunks[side].clone(), offers[side].clone());
            spawn(move || trunk.offer(&offer))
        });
        pair.end();
        threads.into_iter().for_each(join);
        for offer in offers {
            let open = matches!(offer.latest(), Some(Ok(_)));
            assert!(!open, "its streams are open, and nobody will end them");
        }
    });
}

#[test]
fn who_waits_for_others_hears_that_the_peer_leaves() {
    check(|| {
        let pair = Pair::new(8);
        let trunk = pair.trunks[1].clone();
        let leaves = spawn(move || {
            let offer = offer(trunk.peer);
            trunk.offer(&offer);
            let met = meet(&offer);
            met.trunk.leave(met.first, &met.streams, "it has no time");
            trunk.send_now();
        });
        let offer = offer(pair.trunks[0].peer);
        pair.trunks[0].offer(&offer);
        assert!(matches!(lose(&offer), Error::PeerLost { .. }));
        join(leaves);
        pair.end();
    });
}

#[test]
fn who_waits_for_others_hears_that_the_trunk_breaks() {
    for breaks in [0, 1] {
        check(move || {
            let pair = Pair::new(8);
            let [ours, theirs] = pair.trunks.each_ref().map(|trunk| offer(trunk.peer));
            pair.trunks[1].offer(&theirs);
            pair.trunks[0].offer(&ours);
            drop(meet(&ours));
            let trunk = pair.trunks[breaks].clone();
            let breaks = spawn(move || trunk.break_off(Fault::Lost("cut".into())));
            assert!(matches!(lose(&ours), Error::PeerLost { .. }));
            join(breaks);
            pair.end();
        });
    }
}

/// What keeps a trunk does with one.
fn attend(slot: &Slot, trunk: &Arc<Connection>) {
    let ear = Ear::default();
    if slot.up(&ear, trunk, Deadline::new(LONG)) {
        let reason = serve(trunk, &ear);
        slot.over(&ear, reason, None);
    } else {
        trunk.break_off(Fault::Lost("another is in its place".into()));
    }
}

/// A trunk takes the place of another while both parties join, and then they stop.
#[test]
fn a_party_that_stops_leaves_nobody_asleep() {
    check(|| {
        let slots = [1, 0].map(|peer| Arc::new(Slot::new(PartyId(peer))));
        let mut threads = Vec::new();
        for trunks in [trunks(WIRE, 8), trunks(WIRE, 8)] {
            for (slot, trunk) in slots.clone().into_iter().zip(trunks) {
                threads.push(spawn(move || attend(&slot, &trunk)));
            }
        }
        for slot in slots.clone() {
            threads.push(spawn(move || {
                let offer = offer(slot.peer);
                let error = match slot.offer(&offer) {
                    Ok(()) => lose(&offer),
                    Err(error) => error,
                };
                assert!(matches!(error, Error::PeerLost { .. } | Error::Closed { .. }));
                slot.end_offer(&offer, Some("it has stopped"));
            }));
        }
        for slot in slots {
            if let Some(trunk) = slot.stop() {
                trunk.close_by(Instant::now());
            }
        }
        threads.into_iter().for_each(join);
    });
}
