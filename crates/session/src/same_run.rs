//! One run of each party behind all connections.
//!
//! Every connection says which party it leads to, but not to which of that party's processes. If one is left from an earlier
//! run, or a party was started twice, its connections could come to be shared among the processes, and an honest party's
//! mixed words would look like cheating. So each process draws a nonce and says it on every connection; then the parties
//! compare what they have heard.

use std::collections::BTreeMap;

use crate::{Connections, Error, Result, Terms};
use cenote_net::{Error as NetError, PartyId, Step};

/// What a mismatch is called, before the party.
const RUN: &str = "the run of";

const SAY: Step = Step {
    code: 0x401,
    name: "say the run",
};

/// Says on every connection that this process is called `own`, and gives a term for each party: the process of it that this one has met.
///
/// # Errors
/// [`NetError::Mismatch`] in the field of that party's run if several processes are behind the connections to one peer; otherwise what
/// happened on the network.
pub(crate) fn terms(me: PartyId, own: [u8; 16], connections: &mut Connections) -> Result<Terms> {
    for channel in connections.iter_mut() {
        channel.send(SAY, &own)?;
        channel.flush()?;
    }
    let mut runs = BTreeMap::from([(me, own)]);
    for channel in connections.iter_mut() {
        let mut said = [0; 16];
        channel.recv(SAY, &mut said)?;
        if *runs.entry(channel.peer()).or_insert(said) != said {
            return Err(Error::Net(NetError::Mismatch {
                peer: channel.peer(),
                field: of(channel.peer()),
                ours: "one process behind all connections".into(),
                theirs: "several, of which some may be left from before; end them".into(),
            }));
        }
    }
    let term = |(party, run): (PartyId, [u8; 16])| (of(party), hex::encode(run));
    Ok(runs.into_iter().map(term).collect())
}

/// What a party's process is called in the terms.
fn of(party: PartyId) -> String {
    format!("{RUN} {party}")
}

/// Says what a difference in one of [`terms`] means: the party that it names runs twice, or tells its peers different things.
pub(crate) fn explain(error: NetError) -> NetError {
    match error {
        NetError::Mismatch {
            peer,
            field,
            ours,
            theirs,
        } if field.starts_with(RUN) => NetError::Mismatch {
            peer,
            theirs: format!(
                "{theirs}; that party runs twice, is left from before, or tells its peers different things"
            ),
            field,
            ours,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Topology;
    use crate::handshake::handshake_as;

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
                        let me = PartyId(me);
                        let outcome =
                            handshake_as(me, [nonce; 16], &mut connections, &Vec::new(), &()).map(drop);
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
        matches!(outcome, Err(Error::Net(NetError::Mismatch { field, .. })) if *field == of(PartyId(2)))
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
            for (connections, nonce, met) in [(&mut fresh, 12, PartyId(0)), (&mut stale, 13, PartyId(1))] {
                scope.spawn(move || {
                    for channel in connections.iter_mut() {
                        let _ = channel.send(SAY, &[nonce; 16]).and_then(|()| channel.flush());
                    }
                    let term = |(party, run)| (of(PartyId(party)), hex::encode([run; 16]));
                    let processes: Terms = (0..).zip([10, 11, nonce]).map(term).collect();
                    for channel in connections.first().filter(|channel| channel.peer() == met) {
                        let _ = cenote_net::agree(channel, &processes);
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
