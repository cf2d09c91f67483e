//! Attempts: what is taken for what, and what is opened once.

use cenote_session::{Error as EngineError, handshake};

use super::*;
use crate::query::shards::rows::tests::query;
use crate::shards::crew::Threads;
use crate::shards::tests;

/// A party of a job in two shards.
fn work(folder: &tempfile::TempDir) -> Work {
    tests::work(folder.path(), query(folder.path()))
}

/// Whether two parties that are told these attempts and sessions begin.
fn begin(attempts: [(Attempt, &str); 2]) -> bool {
    let topology = Topology {
        name: "shards".into(),
        parties: 2,
        workers: 1,
        purposes: &["all"],
        shared: &[],
    };
    let connections = Connections::in_memory(&topology, Duration::from_secs(20));
    let folder = tempfile::tempdir().unwrap();
    let work = work(&folder);
    let agree = &|(me, mut connections, (attempt, name)): (u8, Connections, (Attempt, &str))| {
        let agree = work.attempted(&attempt, name);
        handshake(PartyId(me), &mut connections, &agree.terms(), &agree)
    };
    let parties = (0..).zip(connections).zip(attempts);
    let ended: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = parties
            .map(|((me, connections), attempt)| scope.spawn(move || agree((me, connections, attempt))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let differ = |ended: &std::result::Result<String, EngineError>| {
        matches!(ended, Err(EngineError::Net(cenote_net::Error::Mismatch { .. })))
    };
    match ended.iter().all(std::result::Result::is_ok) {
        true => true,
        false => {
            assert!(ended.iter().all(differ), "{ended:?}");
            false
        }
    }
}

#[test]
fn a_shard_is_not_taken_for_another() {
    let shard = |index, number| Attempt {
        piece: Piece::Shard(index),
        number,
    };
    assert!(begin([(shard(3, 1), "a"), (shard(3, 1), "a")]));
    assert!(!begin([(shard(3, 1), "a"), (shard(4, 1), "a")]));
    assert!(!begin([(shard(3, 1), "a"), (shard(3, 2), "a")]));
    assert!(!begin([(shard(3, 1), "a"), (shard(3, 1), "b")]));
    let merge = Attempt {
        piece: Piece::Merge,
        number: 1,
    };
    assert!(!begin([(shard(0, 1), "a"), (merge, "a")]));
}

/// A peer that breaks the merge off once its session has begun could give other rows to the next one.
#[test]
fn an_answer_that_may_have_been_opened_is_not_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let work = work(&folder);
    let (merge, shard) = (
        Attempt {
            piece: Piece::Merge,
            number: 1,
        },
        Attempt {
            piece: Piece::Shard(1),
            number: 1,
        },
    );
    let lost = || Error::Service {
        kind: crate::Kind::Network,
        what: "a peer has hung up".into(),
    };
    // Before the session has begun nothing is opened, and the next attempt may do better.
    assert_eq!(work.cannot(&merge), None);
    let outcome = Threads::failed(&work, &merge, lost());
    assert!(matches!(outcome, Outcome::Lost(_)), "{outcome:?}");
    assert_eq!(work.cannot(&merge), None);
    // Shards open nothing.
    work.attempted(&shard, "a").agreed();
    assert_eq!(work.cannot(&merge), None);
    work.attempted(&merge, "a").agreed();
    assert!(matches!(work.cannot(&merge), Some(Outcome::Failed(_))));
    let outcome = Threads::failed(&work, &merge, lost());
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
}

/// A peer that has the answer could have this party started again, and give other rows.
#[test]
fn an_answer_that_may_have_been_opened_is_not_opened_in_another_life() {
    let folder = tempfile::tempdir().unwrap();
    let merge = Attempt {
        piece: Piece::Merge,
        number: 2,
    };
    let first = work(&folder);
    first.opened.note().unwrap();
    drop(first);
    let second = work(&folder);
    assert!(matches!(second.cannot(&merge), Some(Outcome::Failed(_))));
    // Unless it is known that it was not.
    second.opened.take_back();
    assert_eq!(work(&folder).cannot(&merge), None);
    // A disk that cannot tell says nothing of that kind.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(Opened::is_there(&file));
}

#[test]
fn an_attempt_is_lost_if_what_it_keeps_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let work = work(&folder);
    // A file is where the folder was.
    std::fs::remove_dir(folder.path().join("kept")).unwrap();
    std::fs::write(folder.path().join("kept"), "").unwrap();
    let shard = Attempt {
        piece: Piece::Shard(1),
        number: 1,
    };
    let job = postcard::from_bytes(&[1; 32]).unwrap();
    let shapes = work.job.shapes().into_iter();
    let shares = shapes.map(|(rows, lanes)| cenote_primitives::BitMatrix::zeros(rows, lanes));
    let error = work.partials.write(&job, &shard, shares.collect()).unwrap_err();
    let outcome = Threads::failed(&work, &shard, error);
    assert!(matches!(outcome, Outcome::Lost(_)), "{outcome:?}");
}

/// What a worker says to a relay before it knows who is there, it says at a port of the peer's own host alone.
#[test]
fn a_relay_is_nowhere_but_at_the_host_of_its_party() {
    let folder = tempfile::tempdir().unwrap();
    let mut meeting = work(&folder).meeting;
    meeting.hosts = vec!["own.example".into(), "peer.example".into()];
    let fingerprint = Identity::generate().unwrap().fingerprint();
    let at = |address: &str| {
        let address = address.to_owned();
        let found = meeting.address(1, &Place { address, fingerprint });
        (found.address, found.relayed)
    };
    assert_eq!(at("relay/:7151"), ("peer.example:7151".into(), true));
    assert_eq!(at(":7200"), ("peer.example:7200".into(), false));
    assert_eq!(at("b.example:7200"), ("b.example:7200".into(), false));
    for elsewhere in ["relay/10.0.0.5:6379", "relay/peer.example:7151", "relay/"] {
        assert!(!at(elsewhere).1, "{elsewhere}");
    }
}
