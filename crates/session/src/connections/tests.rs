use std::net::TcpListener;

use cenote_net::{Heard, Step, TrunkConfig, TrunkLimits, TrunkState};

use super::*;

impl Connections {
    /// The same between parties that know one another by these keys.
    pub(crate) fn known_by(self, keys: Vec<Fingerprint>) -> Self {
        Connections { keys, ..self }
    }

    /// Swaps the channels to `peer` with `other`'s.
    pub(crate) fn swap_peer(&mut self, other: &mut Connections, peer: PartyId) {
        let both = self
            .purposes
            .iter_mut()
            .flatten()
            .zip(other.purposes.iter_mut().flatten());
        both.filter(|(channel, _)| channel.peer() == peer)
            .for_each(|(a, b)| std::mem::swap(a, b));
    }
}

struct Deaf;

impl Heard for Deaf {
    fn link(&self, _: PartyId, _: &TrunkState) {}
    fn message(&self, _: PartyId, _: Vec<u8>) {}
}

/// Parties of this process with connections that are kept up.
fn trunks(parties: usize) -> Vec<Trunks> {
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
    let start = |(me, (listener, identity))| {
        let config = TrunkConfig {
            me: PartyId(me as u8),
            parties: addresses.clone(),
            listen: Some(Listen::Bound(listener)),
            identity,
            version: "1.0".into(),
            limits: TrunkLimits::default(),
        };
        Trunks::start(config, Arc::new(Deaf)).unwrap()
    };
    made.into_iter().enumerate().map(start).collect()
}

/// What becomes of a session that each party joins with a topology of its own.
fn over(trunks: &[Trunks], topologies: &[Topology]) -> Vec<Result<Connections>> {
    let limits = || Limits {
        connect_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
        on_wait: OnWait::default(),
        budget: Budget::default(),
        patience: cenote_net::Patience::default(),
    };
    std::thread::scope(|scope| {
        let join =
            |(trunks, topology)| scope.spawn(move || Connections::over(trunks, topology, "job 7", limits()));
        let joining: Vec<_> = trunks.iter().zip(topologies).map(join).collect();
        joining.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn topology(parties: u8, workers: u8, purposes: &'static [&'static str]) -> Topology {
    Topology {
        name: purposes.concat(),
        parties,
        workers,
        purposes,
        shared: &["c"],
    }
}

#[test]
fn a_session_over_kept_connections_has_the_same_channels() {
    const STEP: Step = Step {
        code: 1,
        name: "test",
    };
    for parties in [2, 3] {
        let trunks = trunks(parties.into());
        let all = over(&trunks, &vec![topology(parties, 2, &["a", "b"]); parties.into()]);
        let mut all: Vec<Connections> = all.into_iter().map(Result::unwrap).collect();
        let keys = all[0].keys.clone();
        assert_eq!(keys.len(), parties.into());
        for connections in &mut all {
            assert_eq!(connections.keys, keys);
            assert_eq!(connections.purposes.len(), 5);
            for (index, channel) in connections.iter_mut().enumerate() {
                channel
                    .send(STEP, &[index as u8])
                    .and_then(|()| channel.flush())
                    .unwrap();
            }
        }
        for (me, connections) in all.iter_mut().enumerate() {
            let peers = usize::from(parties) - 1;
            for (index, channel) in connections.iter_mut().enumerate() {
                let mut body = [0];
                channel.recv(STEP, &mut body).unwrap();
                // The peer's place for this party, among its channels of the same purpose.
                let place = if me > channel.peer().index() { me - 1 } else { me };
                assert_eq!(usize::from(body[0]), index / peers * peers + place);
            }
        }
    }
}

#[test]
fn differences_over_kept_connections_are_in_words_of_jobs() {
    let trunks = trunks(2);
    for (ours, theirs, expected) in [
        (
            topology(2, 2, &["a"]),
            topology(2, 3, &["a"]),
            ("workers", "2", "3"),
        ),
        (
            topology(2, 2, &["a"]),
            topology(2, 2, &["b"]),
            ("protocol", "a", "another"),
        ),
    ] {
        match over(&trunks, &[ours, theirs]).remove(0) {
            Err(Error::Net(NetError::Mismatch {
                peer,
                field,
                ours,
                theirs,
            })) => {
                assert_eq!(peer, PartyId(1));
                assert_eq!((field.as_str(), ours.as_str(), theirs.as_str()), expected);
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

#[test]
fn every_pair_of_parties_has_a_channel_for_each_purpose() {
    for parties in [2, 3] {
        let topology = Topology {
            name: "test".into(),
            parties,
            workers: 2,
            purposes: &["a", "b"],
            shared: &["c"],
        };
        let all = Connections::in_memory(&topology, Duration::from_secs(1));
        assert_eq!(all.len(), usize::from(parties));
        for (me, connections) in all.into_iter().enumerate() {
            assert_eq!(connections.purposes.len(), 5);
            for channels in &connections.purposes {
                let peers: Vec<u8> = channels.iter().map(|channel| channel.peer().0).collect();
                let others: Vec<u8> = (0..parties).filter(|&peer| usize::from(peer) != me).collect();
                assert_eq!(peers, others);
            }
            let (_, shared) = connections.split_last();
            assert_eq!(shared.channels().len(), usize::from(parties) - 1);
        }
    }
}
