//! What the parties compare before they compute.

use cenote_net::{Channel, Error as NetError, PartyId, agree};
use cenote_primitives::Entropy;
use sha2::{Digest as _, Sha256};

use crate::{Connections, Error, Result, Warning, same_run};

/// What parties compare by name before they compute, in order: the most telling differences first. Never a secret.
pub type Terms = Vec<(String, String)>;

/// What the parties know one another by.
const KEYS: &str = "keys of the parties";

/// How often two parties look closer at what differs. A peer that names differences without end is not followed.
const MAX_LOOKS: usize = 8;

/// What the parties of a program compare besides the program, before they compute, and what its caller hears of the session. `()` is nothing.
pub trait AlsoAgree {
    /// The terms. Names do not clash with those of the program.
    fn terms(&self) -> Terms;

    /// Terms that show more closely where two parties differ that differ in the term `differing`: compared next,
    /// and so on, at most eight times, until there are none.
    fn finer(&self, _differing: &str) -> Option<Terms> {
        None
    }

    /// All have agreed: from here on peers may deviate from a protocol.
    fn agreed(&self) {}

    /// The session has ended in agreement.
    fn settled(&self) {}

    /// The session has failed, and has warned of this before.
    fn warned(&self, _warnings: Vec<Warning>) {}
}

impl AlsoAgree for () {
    fn terms(&self) -> Terms {
        Terms::new()
    }
}

/// Makes sure that one process of each peer is behind all connections and that all parties have met the same ones, and compares
/// `terms` with all peers, even if the first differs: so each party learns whether it or another is the odd one out.
/// Where a term differs, `closer` says where to look. Gives the name of the session, which says who takes part and what all have agreed on, and
/// which no other session has: what protocols bind all that they compute to. Otherwise a party of two sessions could have its two peers, who
/// have agreed on nothing, compute with each other, by passing on what each of them says.
///
/// # Errors
/// [`NetError::Mismatch`] for the first term that differs, or for a party's run; otherwise what happened on the network, which
/// peers are told.
pub fn handshake(
    me: PartyId,
    connections: &mut Connections,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> Result<String> {
    handshake_as(me, Entropy::os().bytes(), connections, terms, closer)
}

/// The same, with the name of this process.
pub(crate) fn handshake_as(
    me: PartyId,
    process: [u8; 16],
    connections: &mut Connections,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> Result<String> {
    let outcome = same_run::terms(me, process, connections).and_then(|runs| {
        let keys = connections.keys().iter().map(ToString::to_string);
        let keys = (KEYS.to_owned(), keys.collect::<Vec<_>>().join(" "));
        let terms = runs
            .into_iter()
            .chain([keys])
            .chain(terms.iter().cloned())
            .collect();
        let compared = compare_with_all(connections, &terms, closer);
        compared.map_err(same_run::explain)?;
        Ok(name_of(&terms))
    });
    match &outcome {
        Ok(_) => closer.agreed(),
        // Who differs is told so by the comparison itself.
        Err(Error::Net(NetError::Mismatch { .. })) => {}
        Err(error) => {
            let code = error.reason().code();
            connections.iter_mut().for_each(|channel| channel.abort(code));
        }
    }
    outcome
}

/// A name that no other terms have.
fn name_of(terms: &Terms) -> String {
    let mut hash = Sha256::new();
    for part in terms.iter().flat_map(|(name, value)| [name, value]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("cenote session {}", hex::encode(hash.finalize()))
}

fn compare_with_all(
    connections: &mut Connections,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> cenote_net::Result<()> {
    let mut outcome = Ok(());
    // In the order of the pairs' numbers, the same at all parties: nobody waits in a circle.
    for channel in connections.first() {
        match compare_closely(channel, terms, closer) {
            Err(error @ NetError::Mismatch { .. }) => outcome = outcome.and(Err(error)),
            other => other?,
        }
    }
    outcome
}

fn compare_closely(
    channel: &mut dyn Channel,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> cenote_net::Result<()> {
    let mut outcome = agree(channel, terms);
    // Both ends see the same term differ first, and look closer at it.
    for _ in 0..MAX_LOOKS {
        let Err(NetError::Mismatch { field, .. }) = &outcome else {
            break;
        };
        let Some(finer) = closer.finer(field) else {
            break;
        };
        match agree(channel, &finer) {
            Ok(()) => break,
            found => outcome = found,
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use cenote_net::{ChannelOptions, Fingerprint, memory_pair};

    use super::*;
    use crate::{Cause, Reason, Topology};

    fn topology() -> Topology {
        Topology {
            name: "test".into(),
            parties: 2,
            workers: 1,
            purposes: &["test"],
            shared: &[],
        }
    }

    /// A party whose operator stops it in the handshake tells its peers so.
    #[test]
    fn a_party_that_is_stopped_tells_its_peers() {
        let all = Connections::in_memory(&topology(), Duration::from_secs(20));
        let [mut here, mut there] = <[Connections; 2]>::try_from(all).ok().unwrap();
        here.iter_mut().for_each(|channel| channel.interrupter().close());
        let stopped = handshake(PartyId(0), &mut here, &Terms::new(), &());
        assert!(
            matches!(stopped, Err(Error::Net(NetError::Closed { .. }))),
            "{stopped:?}"
        );
        let told = handshake(PartyId(1), &mut there, &Terms::new(), &());
        assert!(
            matches!(
                told,
                Err(Error::PeerStopped {
                    reason: Reason::Own(Cause::Operator),
                    ..
                })
            ),
            "{told:?}"
        );
    }

    /// Whether it was told that all have agreed.
    #[derive(Default)]
    struct Told(AtomicBool);

    impl AlsoAgree for Told {
        fn terms(&self) -> Terms {
            Terms::new()
        }

        fn agreed(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// What peers did before that cannot have been an attack on a protocol.
    #[test]
    fn who_asks_is_told_that_all_have_agreed_only_if_they_have() {
        let told = |here: &'static str, there: Option<&'static str>| {
            let all = Connections::in_memory(&topology(), Duration::from_secs(20));
            let [mut first, mut second] = <[Connections; 2]>::try_from(all).ok().unwrap();
            let terms = |value: &str| vec![("circuit".to_owned(), value.to_owned())];
            let told = Told::default();
            std::thread::scope(|scope| {
                scope.spawn(move || match there {
                    Some(there) => drop(handshake(PartyId(1), &mut second, &terms(there), &())),
                    None => drop(second),
                });
                let outcome = handshake(PartyId(0), &mut first, &terms(here), &told);
                assert_eq!(outcome.is_ok(), told.0.load(Ordering::Relaxed));
                outcome.is_ok()
            })
        };
        assert!(told("adder", Some("adder")));
        assert!(!told("adder", Some("multiplier")));
        assert!(!told("adder", None));
    }

    /// The names of the sessions that party 0 has with a peer in the middle, and that peer with party 1, if the peer says in each what the other
    /// party says in the other one. The parties know one another by these keys.
    fn passed_on(left: &[Fingerprint], right: &[Fingerprint]) -> [String; 2] {
        let terms = vec![("circuit".to_owned(), "the same".to_owned())];
        [left, right].map(|keys| {
            let all = Connections::in_memory(&topology(), Duration::from_secs(20));
            let names = std::thread::scope(|scope| {
                let party = |(me, connections): (u8, Connections)| {
                    let terms = &terms;
                    scope.spawn(move || {
                        let mut connections = connections.known_by(keys.to_vec());
                        handshake_as(PartyId(me), [me; 16], &mut connections, terms, &()).unwrap()
                    })
                };
                let threads: Vec<_> = (0..).zip(all).map(party).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect::<Vec<_>>()
            });
            assert_eq!(names[0], names[1]);
            names[0].clone()
        })
    }

    /// Else two honest parties would compute with each other that have agreed on nothing.
    #[test]
    fn a_peer_in_the_middle_has_two_sessions_of_different_names() {
        let [first, middle, last] = [1, 2, 3].map(|key: u8| {
            let digits = hex::encode([key; 32]);
            digits.parse::<Fingerprint>().unwrap()
        });
        let [left, right] = passed_on(&[first, middle], &[middle, last]);
        assert_ne!(left, right);
        let [left, right] = passed_on(&[first, middle], &[middle, first]);
        assert_ne!(left, right);
        let [left, right] = passed_on(&[first, middle], &[first, middle]);
        assert_eq!(left, right, "it is the keys that make the difference");
    }

    #[test]
    fn sessions_of_the_same_parties_have_different_names() {
        let name = |terms: &Terms| {
            let all = Connections::in_memory(&topology(), Duration::from_secs(20));
            let [mut here, mut there] = <[Connections; 2]>::try_from(all).ok().unwrap();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| handshake(PartyId(1), &mut there, terms, &()).unwrap());
                let name = handshake(PartyId(0), &mut here, terms, &()).unwrap();
                assert_eq!(other.join().unwrap(), name);
                name
            })
        };
        let terms = Terms::new();
        assert_ne!(name(&terms), name(&terms));
        let term = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_ne!(name_of(&vec![term("a", "bc")]), name_of(&vec![term("ab", "c")]));
        assert_ne!(
            name_of(&vec![term("a", "b"), term("c", "d")]),
            name_of(&vec![term("a", "b"), term("cd", "")])
        );
    }

    /// Would look closer for ever.
    struct Curious;

    impl AlsoAgree for Curious {
        fn terms(&self) -> Terms {
            Terms::new()
        }

        fn finer(&self, _: &str) -> Option<Terms> {
            Some(Terms::new())
        }
    }

    #[test]
    fn a_peer_that_names_differences_without_end_is_not_followed() {
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let (mut here, mut there) = memory_pair(PartyId(0), PartyId(1), options);
        let followed = std::thread::spawn(move || {
            let differs = |turn| vec![("difference".to_owned(), format!("{turn}"))];
            let mismatch =
                |turn: &usize| matches!(agree(&mut there, &differs(*turn)), Err(NetError::Mismatch { .. }));
            (0..100).take_while(mismatch).count()
        });
        let outcome = compare_closely(&mut here, &Terms::new(), &Curious);
        drop(here);
        assert!(matches!(outcome, Err(NetError::Mismatch { .. })), "{outcome:?}");
        assert_eq!(followed.join().unwrap(), MAX_LOOKS + 1);
    }
}
