//! One run of each party behind all connections.
//!
//! Every connection says which party it leads to, but not to which of that party's processes. If one is left from an earlier
//! run, or a party was started twice, its connections could come to be shared among the processes, and an honest party's
//! mixed words would look like cheating. So each process draws a nonce and says it on every connection; then the parties
//! compare what they have heard.

use std::collections::BTreeMap;

use cenote_net::{Error as NetError, PartyId, Step};
use cenote_primitives::Entropy;
use sha2::{Digest, Sha256};

use crate::{Connections, Error, Result};

/// What a mismatch is called.
const RUN: &str = "run";

const SAY: Step = Step {
    code: 0x401,
    name: "say the run",
};
const COMPARE: Step = Step {
    code: 0x402,
    name: "compare runs",
};

/// Makes sure that all connections are to one process of each peer, and that all peers have met the same ones.
///
/// # Errors
/// [`NetError::Mismatch`] in the field "run" if not; otherwise what happened on the network.
pub(crate) fn check(me: PartyId, connections: &mut Connections) -> Result<()> {
    check_with(me, connections, Entropy::os().bytes())
}

fn check_with(me: PartyId, connections: &mut Connections, own: [u8; 16]) -> Result<()> {
    for channel in connections.iter_mut() {
        channel.send(SAY, &own)?;
        channel.flush()?;
    }
    let mut runs = BTreeMap::from([(me, own)]);
    for channel in connections.iter_mut() {
        let mut said = [0; 16];
        channel.recv(SAY, &mut said)?;
        if *runs.entry(channel.peer()).or_insert(said) != said {
            return Err(mismatch(
                channel.peer(),
                "one process behind all connections".into(),
                "several, of which some may be left from before; end them".into(),
            ));
        }
    }
    let ours = all_of(runs.values());
    for channel in connections.first() {
        channel.send(COMPARE, &ours)?;
        channel.flush()?;
    }
    let mut heard = Vec::new();
    for channel in connections.first() {
        let mut theirs = [0; 32];
        channel.recv(COMPARE, &mut theirs)?;
        heard.push((channel.peer(), theirs));
    }
    match heard.into_iter().find(|(_, theirs)| *theirs != ours) {
        None => Ok(()),
        Some((peer, theirs)) => Err(mismatch(
            peer,
            format!("processes {}", hex::encode(&ours[..4])),
            format!(
                "processes {}; a party runs twice, or is left from before",
                hex::encode(&theirs[..4])
            ),
        )),
    }
}

/// What stands for the runs of all parties, in their order, together.
fn all_of<'a>(runs: impl IntoIterator<Item = &'a [u8; 16]>) -> [u8; 32] {
    let digest = runs
        .into_iter()
        .fold(Sha256::new(), |digest, run| digest.chain_update(run));
    digest.finalize().into()
}

fn mismatch(peer: PartyId, ours: String, theirs: String) -> Error {
    Error::Net(NetError::Mismatch {
        peer,
        field: RUN.into(),
        ours,
        theirs,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Topology;

    /// The connections of three parties with `workers` workers each.
    fn connections(workers: u8) -> Vec<Connections> {
        let topology = Topology {
            name: "test".into(),
            parties: 3,
            workers,
            purposes: &["a", "b"],
            shared: &[],
        };
        Connections::in_memory(&topology, Duration::from_secs(20))
    }

    /// The processes of the parties: who, which connections, which nonce. What each finds.
    fn outcomes(processes: Vec<(u8, Connections, u8)>) -> Vec<Result<()>> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = processes
                .into_iter()
                .map(|(me, mut connections, nonce)| {
                    scope.spawn(move || {
                        let outcome = check_with(PartyId(me), &mut connections, [nonce; 16]);
                        // A process that ends takes its connections along, as the operating system does.
                        drop(connections);
                        outcome
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn differs(outcome: &Result<()>) -> bool {
        matches!(outcome, Err(Error::Net(NetError::Mismatch { field, .. })) if field == RUN)
    }

    #[test]
    fn three_processes_are_one_run() {
        let processes = connections(3)
            .into_iter()
            .zip(0..)
            .map(|(links, me)| (me, links, 10 + me));
        let outcomes = outcomes(processes.collect());
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }

    /// Party 2 has two processes: they have shared its connections among them.
    #[test]
    fn connections_of_two_processes_are_noticed() {
        let mut all = connections(2).into_iter();
        let [zero, one, two] = std::array::from_fn(|_| all.next().unwrap());
        let (two, rest) = two.split_last();
        let outcomes = outcomes(vec![(0, zero, 10), (1, one, 11), (2, two, 12), (2, rest, 13)]);
        assert!(outcomes[..2].iter().all(differs), "{outcomes:?}");
    }

    /// Parties 0 and 1 have met different processes of party 2, each of which says its own nonce.
    #[test]
    fn peers_that_met_different_processes_notice_it() {
        let [mut world, mut other] = [(); 2].map(|()| connections(1));
        let (mut fresh, mut stale) = (world.remove(2), other.remove(2));
        // Party 1 has the other world's connections to party 2.
        world[1].swap_peer(&mut other[1], PartyId(2));
        std::thread::scope(|scope| {
            // Both processes agree with the party that they have met: it is only between parties 0 and 1 that it shows.
            for (connections, nonce) in [(&mut fresh, 12), (&mut stale, 13)] {
                scope.spawn(move || {
                    for channel in connections.iter_mut() {
                        let _ = channel.send(SAY, &[nonce; 16]).and_then(|()| channel.flush());
                    }
                    for channel in connections.first() {
                        let _ = channel
                            .send(COMPARE, &all_of(&[10, 11, nonce].map(|run| [run; 16])))
                            .and_then(|()| channel.flush());
                    }
                });
            }
            let mut world = world.into_iter();
            let [zero, one] = std::array::from_fn(|_| world.next().unwrap());
            let found = outcomes(vec![(0, zero, 10), (1, one, 11)]);
            assert!(found.iter().all(differs), "{found:?}");
        });
    }
}
