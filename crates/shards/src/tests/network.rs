//! Coordinators over TLS, and ones that are gone without a word.

use std::net::TcpListener;
use std::sync::Arc;

use cenote_net::{Budget, Closer, Identity, Listen, OnWait, Patience, PeerAddress};
use cenote_session::Link;

use super::jobs::Calling;
use super::*;

/// The connections of so many parties over the loopback interface, by TLS between pinned keys.
fn by_tls(parties: u8) -> Vec<Connections> {
    let made: Vec<_> = (0..parties)
        .map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            (listener, Arc::new(Identity::generate().unwrap()))
        })
        .collect();
    let address = |(listener, identity): &(TcpListener, Arc<Identity>)| PeerAddress {
        address: listener.local_addr().unwrap().to_string(),
        fingerprint: Some(identity.fingerprint()),
        relayed: false,
    };
    let addresses: Vec<_> = made.iter().map(address).collect();
    std::thread::scope(|scope| {
        let connect = |(me, (listener, identity))| {
            let link = Link {
                me: PartyId(me),
                parties: addresses.clone(),
                listen: Listen::Bound(listener),
                identity: Some(identity),
                connect_timeout: LONG,
                timeout: LONG,
                on_wait: OnWait::default(),
                budget: Budget::default(),
                patience: Patience::default(),
            };
            scope.spawn(move || Connections::connect(&topology(parties), link).unwrap())
        };
        let connecting: Vec<_> = (0..).zip(made).map(connect).collect();
        connecting
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn a_job_is_done_over_tls() {
    for parties in [2, 3] {
        let fates = |party, attempt: Attempt| {
            let is_lost = attempt.number == 1 && drawn(3, party, attempt, 4) == 0;
            Some(if is_lost {
                Outcome::Lost("gone".into())
            } else {
                Outcome::Done
            })
        };
        let world = World::new(parties, job(8, 40)).with_fates(fates);
        let done = all_done(world.run_with(|_, ledger| ledger, by_tls(parties)));
        assert!(done.handed_out > 9);
        world.check_records();
    }
}

/// What comes of the job if the victim closes all its channels when its crew is called for the time `call`.
fn gone_at(world: &World, victim: u8, call: usize, connections: Vec<Connections>) -> Vec<Result<Done>> {
    world.shared.lock().unwrap().new_run();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(connections)
            .map(|(me, mut connections)| {
                scope.spawn(move || {
                    let closers: Vec<Closer> =
                        connections.iter_mut().map(|channel| channel.closer()).collect();
                    let mut calls = 0;
                    let count = |_: &str, _: Attempt| {
                        calls += 1;
                        if me == victim && calls == call {
                            closers.iter().for_each(Closer::close);
                        }
                    };
                    let (events, inbox) = events();
                    let mut crew = Calling(world.crew(me, events), count);
                    let mut ledger = world.ledger(usize::from(me));
                    coordinate(
                        &party(me),
                        connections,
                        &mut ledger,
                        &mut crew,
                        inbox,
                        &mut |_| {},
                    )
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_job_goes_on_after_a_coordinator_was_gone_without_a_word() {
    for (parties, victim, call) in [(2, 0, 1), (2, 1, 2), (2, 1, 6), (3, 0, 3), (3, 2, 4), (3, 1, 7)] {
        let world = World::new(parties, job(4, 30));
        let connections = if call % 2 == 0 {
            by_tls(parties)
        } else {
            connections(parties)
        };
        let results = gone_at(&world, victim, call, connections);
        assert!(results.iter().all(|result| result.is_err()), "{results:?}");
        for (me, result) in (0..).zip(&results) {
            let text = result.as_ref().unwrap_err().to_string();
            let names_it = me == victim || text.contains(&PartyId(victim).to_string());
            assert!(
                names_it,
                "{parties} parties, {victim} gone at {call}: {me} says {text}"
            );
        }
        let done = all_done(world.run());
        assert!(done.handed_out > 5);
        world.check_records();
    }
}
