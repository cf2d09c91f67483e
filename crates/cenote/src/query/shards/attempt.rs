//! One attempt at a part of a job: a session of its own, over connections of its own.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{Identity, Listen, OnWait, PartyId, Patience, PeerAddress};
use cenote_primitives::BitMatrix;
use cenote_query::{HashKey, Parts};
use cenote_session::{AlsoAgree, Connections, Link, Terms};
use cenote_shards::{Attempt, JobName, Outcome, Piece, Place};
use cenote_tables::Table;

use super::Sharded;
use super::partial::Partials;
use crate::query::planned::{Part, Planned};
use crate::query::run::{Held, Party};
use crate::report::PartyReport;
use crate::stop::Session;
use crate::{Error, Result, Transport};

/// How a party's workers find those of its peers.
pub(super) struct Meeting {
    pub(super) transport: Transport,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) phase_timeout: Option<Duration>,
    pub(super) on_wait: OnWait,
    /// The hosts at which this party reaches its peers, in their order: what stands for a host that a peer leaves out.
    pub(super) hosts: Vec<String>,
}

impl Meeting {
    /// Where a peer's worker is.
    fn address(&self, party: usize, place: &Place) -> PeerAddress {
        let host = match place.address.starts_with(':') {
            true => self.hosts.get(party).map_or("", String::as_str),
            false => "",
        };
        PeerAddress {
            address: format!("{host}{}", place.address),
            fingerprint: Some(place.fingerprint),
        }
    }
}

/// What all attempts of one party share.
pub(super) struct Work {
    pub(super) sharded: Sharded,
    pub(super) me: PartyId,
    pub(super) tables: Vec<Option<Table>>,
    /// A digest of them under a key of this party's.
    pub(super) tables_digest: [u8; 32],
    pub(super) partials: Partials,
    pub(super) meeting: Meeting,
    pub(super) state: Mutex<State>,
}

/// What has come of a job so far.
#[derive(Default)]
pub(super) struct State {
    /// Under which name it was begun, and in which shard each row is.
    pub(super) begun: Option<(JobName, Arc<Parts>)>,
    /// The attempt that counts, of each shard.
    pub(super) kept: BTreeMap<u32, Attempt>,
    /// What the merge came to.
    pub(super) merged: Option<Held>,
    /// What each session cost.
    pub(super) reports: Vec<PartyReport>,
    /// Why this party cannot go on.
    pub(super) failure: Option<Error>,
    /// A session of the merge has begun: its answer may have been opened.
    pub(super) is_opened: bool,
    /// All parties are done.
    pub(super) is_done: bool,
}

/// What the parties of an attempt compare besides the job.
struct Attempted<'a> {
    terms: Terms,
    /// Who hears that peers may deviate from here on, if that matters.
    opens: Option<&'a Work>,
}

impl AlsoAgree for Attempted<'_> {
    fn terms(&self) -> Terms {
        self.terms.clone()
    }

    fn agreed(&self) {
        if let Some(work) = self.opens {
            work.state().is_opened = true;
        }
    }
}

/// Where a worker listens, and the key that it has for one session.
pub(super) struct Ready {
    pub(super) listener: TcpListener,
    pub(super) identity: Identity,
}

impl Work {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Places the rows of this party, whose key is the coin of the job of that name.
    pub(super) fn begin(&self, name: &JobName, coin: &[u8; 32]) {
        let placed = self.sharded.cut().parts(&HashKey::new(*coin), &self.tables);
        let mut state = self.state();
        state.kept.clear();
        match placed {
            Ok(parts) => state.begun = Some((*name, Arc::new(parts))),
            Err(error) => state.failure = Some(error.into()),
        }
    }

    /// Why this party does not begin an attempt, if it does not: it cannot go on, or the answer may have been opened, which happens once. A cheater could give other
    /// rows to each merge.
    pub(super) fn cannot(&self, attempt: &Attempt) -> Option<Outcome> {
        let state = self.state();
        let why = match attempt.piece {
            Piece::Merge if state.is_opened => "the merge was lost when the answer may have been opened",
            _ if state.failure.is_some() => "it cannot compute its part",
            _ => return None,
        };
        Some(Outcome::Failed(why.into()))
    }

    /// Computes the part of `attempt`, in the session called `name`, with the workers at `places`.
    ///
    /// # Errors
    /// What happened to the session, or to this party's files.
    pub(super) fn run(
        &self,
        attempt: &Attempt,
        name: &str,
        places: &[Place],
        ready: Ready,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let begun = self.state().begun.clone();
        let (job, parts) = begun
            .ok_or_else(|| Error::local("starting a shard", std::io::Error::other("no job has begun")))?;
        Session::run("its peers were told", |session| match attempt.piece {
            Piece::Shard(shard) => {
                let own = parts.of_shard(&self.tables, shard);
                let planned = self.sharded.planned(Part::Shard)?;
                let given = planned.query().prepare_unchecked(self.me, &own)?;
                drop(own);
                let connections = self.connect(&planned, places, ready, session)?;
                let agree = attempted(attempt, name, None);
                let keep = |query: &cenote_query::Query, session: &cenote_program::Session| {
                    query.keep(session, given)
                };
                let held = self.party(&agree).hold(planned, keep, connections, progress)?;
                let share: BitMatrix = agreed(held.result, held.is_agreed)?;
                self.partials.write(&job, attempt, share)?;
                self.state().reports.push(held.report);
                Ok(())
            }
            Piece::Merge => {
                let planned = self.sharded.planned(Part::Merge)?;
                let kept: Vec<Attempt> = self.state().kept.values().copied().collect();
                let kept = kept.iter().map(|attempt| self.partials.read(&job, attempt));
                let kept = kept.collect::<Result<Vec<_>>>()?;
                let given = planned.query().prepare_unchecked(self.me, &self.tables)?;
                let given = given.with_kept(kept);
                let connections = self.connect(&planned, places, ready, session)?;
                let agree = attempted(attempt, name, Some(self));
                let held = self.party(&agree).run(planned, given, connections, progress)?;
                let is_agreed = held.is_agreed;
                let mut state = self.state();
                state.reports.push(held.report.clone());
                state.merged = Some(held);
                agreed(Ok(()), is_agreed)
            }
        })
    }

    fn party<'a>(&self, also_agree: &'a Attempted<'_>) -> Party<'a> {
        Party {
            me: self.me,
            start: Instant::now(),
            phase_timeout: self.meeting.phase_timeout,
            transport: self.meeting.transport,
            also_agree,
        }
    }

    fn connect(
        &self,
        planned: &Planned,
        places: &[Place],
        ready: Ready,
        session: &Session,
    ) -> Result<Connections> {
        let patience = Patience::default();
        let ended = patience.clone();
        session.then(move || ended.end());
        let places = places.iter().enumerate();
        let link = Link {
            me: self.me,
            parties: places
                .map(|(party, place)| self.meeting.address(party, place))
                .collect(),
            listen: Listen::Bound(ready.listener),
            identity: (self.meeting.transport == Transport::Tls).then(|| Arc::new(ready.identity)),
            connect_timeout: self.meeting.connect_timeout,
            timeout: self.meeting.timeout,
            on_wait: self.meeting.on_wait.clone(),
            budget: planned.budget(),
            patience,
        };
        let topology = planned.prepared.topology();
        Ok(session.interrupts(Connections::connect(&topology, link)?))
    }
}

fn attempted<'a>(attempt: &Attempt, name: &str, opens: Option<&'a Work>) -> Attempted<'a> {
    Attempted {
        terms: vec![
            ("part of the job".into(), attempt.to_string()),
            ("session of its coordinators".into(), name.into()),
        ],
        opens,
    }
}

/// What a session came to, unless this party does not know that its peers know it too.
fn agreed<T>(result: Result<T>, is_agreed: bool) -> Result<T> {
    match is_agreed {
        true => result,
        false => Err(Error::Service {
            kind: crate::Kind::Network,
            what: "a peer was lost before all had ended".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cenote_session::{Error as EngineError, Topology, handshake};

    use super::*;

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
        let agree = |(me, mut connections, (attempt, name)): (u8, Connections, (Attempt, &str))| {
            let agree = attempted(&attempt, name, None);
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
}
