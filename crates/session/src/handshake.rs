//! What the parties compare before they compute.

use cenote_net::{Channel, Error as NetError, PartyId, agree};
use cenote_primitives::Entropy;

use crate::{Connections, Error, Result, same_run};

/// What parties compare by name before they compute, in order: the most telling differences first. Never a secret.
pub type Terms = Vec<(String, String)>;

/// How often two parties look closer at what differs. A peer that names differences without end is not followed.
const MAX_LOOKS: usize = 8;

/// What the parties of a program compare besides the program, before they compute. `()` is nothing.
pub trait AlsoAgree {
    /// The terms. Names do not clash with those of the program.
    fn terms(&self) -> Terms;

    /// Terms that show more closely where two parties differ that differ in the term `differing`: compared next,
    /// and so on, at most eight times, until there are none.
    fn finer(&self, differing: &str) -> Option<Terms>;
}

impl AlsoAgree for () {
    fn terms(&self) -> Terms {
        Terms::new()
    }

    fn finer(&self, _: &str) -> Option<Terms> {
        None
    }
}

/// Makes sure that one process of each peer is behind all connections and that all parties have met the same ones, and compares
/// `terms` with all peers, even if the first differs: so each party learns whether it or another is the odd one out.
/// Where a term differs, `closer` says where to look.
///
/// # Errors
/// [`NetError::Mismatch`] for the first term that differs, or in the field "run"; otherwise what happened on the network, which
/// peers are told.
pub fn handshake(
    me: PartyId,
    connections: &mut Connections,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> Result<()> {
    handshake_as(me, Entropy::os().bytes(), connections, terms, closer)
}

/// The same, with the name of this process.
pub(crate) fn handshake_as(
    me: PartyId,
    process: [u8; 16],
    connections: &mut Connections,
    terms: &Terms,
    closer: &dyn AlsoAgree,
) -> Result<()> {
    let outcome = same_run::term(me, process, connections).and_then(|run| {
        let terms = std::iter::once(run).chain(terms.iter().cloned()).collect();
        let compared = compare_with_all(connections, &terms, closer);
        compared.map_err(|error| same_run::explain(error).into())
    });
    match &outcome {
        // Who differs is told so by the comparison itself.
        Ok(()) | Err(Error::Net(NetError::Mismatch { .. })) => {}
        Err(error) => {
            let code = error.reason().code();
            connections.iter_mut().for_each(|channel| channel.abort(code));
        }
    }
    outcome
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
    use std::time::Duration;

    use cenote_net::{ChannelOptions, memory_pair};

    use super::*;
    use crate::{Cause, Reason, Topology};

    /// A party whose operator stops it in the handshake tells its peers so.
    #[test]
    fn a_party_that_is_stopped_tells_its_peers() {
        let topology = Topology {
            name: "test".into(),
            parties: 2,
            workers: 1,
            purposes: &["test"],
            shared: &[],
        };
        let all = Connections::in_memory(&topology, Duration::from_secs(20));
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
