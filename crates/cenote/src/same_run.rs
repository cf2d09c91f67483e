//! One run of each party behind all connections.
//!
//! Every connection says which party it leads to, but not to which of that party's processes. If one is left from an earlier
//! run, or a party was started twice, its connections could come to be shared among the processes, and an honest party's
//! mixed words would look like cheating. So each process draws a nonce and says it on every connection; then the parties
//! compare what they have heard.

use cenote_engine::Error as EngineError;
use cenote_net::{Channel, Error as NetError, PartyId, Step};
use cenote_primitives::Entropy;
use cenote_three::Links;
use sha2::{Digest, Sha256};

use crate::{PARTIES, Result};

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

/// Makes sure that all connections of `links` are to one process of each peer, and that both peers have met the same ones.
///
/// # Errors
/// [`NetError::Mismatch`] in the field "run" if not; otherwise what happened on the network.
pub(crate) fn check(me: PartyId, links: &mut [Links]) -> Result<()> {
    Ok(check_with(me, links, Entropy::os().bytes())?)
}

fn check_with(me: PartyId, links: &mut [Links], own: [u8; 16]) -> std::result::Result<(), EngineError> {
    for channel in channels(links) {
        channel.send(SAY, &own)?;
        channel.flush()?;
    }
    let mut runs = [None; PARTIES as usize];
    runs[me.index()] = Some(own);
    for channel in channels(links) {
        let mut said = [0; 16];
        channel.recv(SAY, &mut said)?;
        let known = runs[channel.peer().index()].get_or_insert(said);
        if *known != said {
            return Err(mismatch(
                channel.peer(),
                "one process behind all connections".into(),
                "several, of which some may be left from before; end them".into(),
            ));
        }
    }
    let ours = all_of(&runs.map(Option::unwrap_or_default));
    let Some(first) = links.first_mut() else {
        return Ok(());
    };
    let mut both = [&mut first.evaluator.previous, &mut first.evaluator.next];
    for channel in &mut both {
        channel.send(COMPARE, &ours)?;
        channel.flush()?;
    }
    let mut heard = Vec::new();
    for channel in &mut both {
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

/// What stands for the runs of all parties together.
fn all_of(runs: &[[u8; 16]; PARTIES as usize]) -> [u8; 32] {
    Sha256::digest(runs.as_flattened()).into()
}

fn mismatch(peer: PartyId, ours: String, theirs: String) -> EngineError {
    EngineError::Net(NetError::Mismatch {
        peer,
        field: RUN.into(),
        ours,
        theirs,
    })
}

/// All connections.
fn channels(links: &mut [Links]) -> impl Iterator<Item = &mut dyn Channel> {
    links
        .iter_mut()
        .flat_map(|links| [&mut links.generator, &mut links.evaluator])
        .flat_map(|ring| [ring.previous.as_mut() as &mut dyn Channel, ring.next.as_mut()])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::memory_links;

    /// The processes of the parties: who, which connections, which nonce. What each finds.
    fn outcomes(processes: Vec<(u8, Vec<Links>, u8)>) -> Vec<std::result::Result<(), EngineError>> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = processes
                .into_iter()
                .map(|(me, mut links, nonce)| {
                    scope.spawn(move || {
                        let outcome = check_with(PartyId(me), &mut links, [nonce; 16]);
                        // A process that ends takes its connections along, as the operating system does.
                        drop(links);
                        outcome
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn differs(outcome: &std::result::Result<(), EngineError>) -> bool {
        matches!(outcome, Err(EngineError::Net(NetError::Mismatch { field, .. })) if field == RUN)
    }

    #[test]
    fn three_processes_are_one_run() {
        let [zero, one, two] = memory_links(3, Duration::from_secs(20));
        let outcomes = outcomes(vec![(0, zero, 10), (1, one, 11), (2, two, 12)]);
        assert!(outcomes.iter().all(std::result::Result::is_ok), "{outcomes:?}");
    }

    /// Party 2 has two processes: they have shared its connections among them.
    #[test]
    fn connections_of_two_processes_are_noticed() {
        let [zero, one, mut two] = memory_links(2, Duration::from_secs(20));
        let rest = two.split_off(1);
        let outcomes = outcomes(vec![(0, zero, 10), (1, one, 11), (2, two, 12), (2, rest, 13)]);
        assert!(outcomes[..2].iter().all(differs), "{outcomes:?}");
    }

    /// Parties 0 and 1 have met different processes of party 2, each of which says its own nonce.
    #[test]
    fn peers_that_met_different_processes_notice_it() {
        let timeout = Duration::from_secs(20);
        let worlds = [(); 2].map(|()| memory_links(1, timeout));
        let [[zero, mut one, mut fresh], [_, mut other_one, mut stale]] = worlds;
        let (mine, others) = (&mut one[0], &mut other_one[0]);
        std::mem::swap(&mut mine.generator.next, &mut others.generator.next);
        std::mem::swap(&mut mine.evaluator.next, &mut others.evaluator.next);
        std::thread::scope(|scope| {
            // Both processes agree with the party that they have met: it is only between parties 0 and 1 that it shows.
            for (links, nonce) in [(&mut fresh, 12), (&mut stale, 13)] {
                scope.spawn(move || {
                    for channel in channels(links) {
                        let _ = channel.send(SAY, &[nonce; 16]).and_then(|()| channel.flush());
                    }
                    let Links { evaluator, .. } = &mut links[0];
                    for channel in [&mut evaluator.previous, &mut evaluator.next] {
                        let _ = channel
                            .send(COMPARE, &all_of(&[10, 11, nonce].map(|run| [run; 16])))
                            .and_then(|()| channel.flush());
                    }
                });
            }
            let found = outcomes(vec![(0, zero, 10), (1, one, 11)]);
            assert!(found.iter().all(differs), "{found:?}");
        });
    }
}
