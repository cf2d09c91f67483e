//! One attempt at a part of a job: a session of its own, over connections of its own.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{Identity, Listen, OnWait, PartyId, Patience, PeerAddress};
use cenote_primitives::BitMatrix;
use cenote_query::Parts;
use cenote_session::{AlsoAgree, Connections, Link, Terms, Topology, Warning};
use cenote_shards::{Attempt, JobName, Outcome, Piece, Place};
use cenote_store::durable;

use super::Sharded;
use super::partial::Partials;
use super::rows::Rows;
use crate::query::planned::{Part, Planned};
use crate::query::run::{Held, Party};
use crate::report::PartyReport;
use crate::stop::Session;
use crate::{Error, Result, Transport};

/// Joins the parties of a session of this name, otherwise than at addresses: over connections that are kept up, say.
pub type Join = Arc<dyn Fn(&Topology, &str, &Patience) -> Result<Connections> + Send + Sync>;

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

/// Begins the address of a place that is reached through a relay of its party: a port follows. A peer names no other host, to which others would speak before it has
/// shown a key.
pub(super) const THROUGH_RELAY: &str = "relay/:";

impl Meeting {
    /// Where a peer's worker is.
    fn address(&self, party: usize, place: &Place) -> PeerAddress {
        let (at, relayed) = match place.address.strip_prefix(THROUGH_RELAY) {
            Some(port) => (format!(":{port}"), true),
            None => (place.address.clone(), false),
        };
        let host = match at.starts_with(':') {
            true => self.hosts.get(party).map_or("", String::as_str),
            false => "",
        };
        PeerAddress {
            address: format!("{host}{at}"),
            fingerprint: Some(place.fingerprint),
            relayed,
        }
    }
}

/// What all attempts of one party share.
pub(super) struct Work {
    pub(super) sharded: Sharded,
    pub(super) me: PartyId,
    pub(super) rows: Rows,
    pub(super) partials: Partials,
    pub(super) meeting: Meeting,
    /// What else the parties of each session compare.
    pub(super) also_agree: Arc<dyn AlsoAgree + Send + Sync>,
    /// On the disk, that the answer may be opened, or has been.
    pub(super) opened: Opened,
    pub(super) state: Mutex<State>,
}

/// A file in the folder of a job that is there from when the answer may be opened: it is opened once, also if this party is started again.
pub(super) struct Opened(PathBuf);

impl Opened {
    const NAME: &str = "opened";

    /// The one in the folder of a job, and what there is of the job so far.
    pub(super) fn of(folder: &Path) -> (Self, State) {
        let state = State {
            // In another life of this party.
            is_opened: folder.join(Self::NAME).exists(),
            ..State::default()
        };
        (Opened(folder.to_owned()), state)
    }

    fn note(&self) -> Result<()> {
        let written = durable::write_whole(&self.0, Self::NAME, |_| Ok(()));
        written.map_err(|error| {
            let what = format!("noting in {} that the answer may be opened", self.0.display());
            Error::local(what, error)
        })
    }

    fn take_back(&self) {
        // If it stays, the answer is not opened at all.
        let _ = std::fs::remove_file(self.0.join(Self::NAME));
    }
}

/// What has come of a job so far.
#[derive(Default)]
pub(super) struct State {
    /// Under which name it was begun, with which coin.
    pub(super) begun: Option<(JobName, [u8; 32])>,
    /// In which shard each row of this party is, once a shard is computed here.
    pub(super) parts: Option<Arc<Parts>>,
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
    work: &'a Work,
    /// The answer may be opened from here on.
    opens: bool,
}

impl AlsoAgree for Attempted<'_> {
    fn terms(&self) -> Terms {
        let mut terms = self.terms.clone();
        terms.extend(self.work.also_agree.terms());
        terms
    }

    fn agreed(&self) {
        if self.opens {
            self.work.state().is_opened = true;
        }
        self.work.also_agree.agreed();
    }

    fn settled(&self) {
        self.work.also_agree.settled();
    }

    fn warned(&self, warnings: Vec<Warning>) {
        self.work.also_agree.warned(warnings);
    }
}

/// Where a worker waits for its peers.
pub(super) enum Ready {
    /// It listens, and has this key for one session.
    Listens(TcpListener, Identity),
    /// They are joined without that.
    Joined(Join),
}

impl Work {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job begins under this name, with this coin.
    pub(super) fn begin(&self, name: &JobName, coin: &[u8; 32]) {
        let mut state = self.state();
        state.kept.clear();
        state.parts = None;
        state.begun = Some((*name, *coin));
    }

    pub(super) fn begun(&self) -> Result<(JobName, [u8; 32])> {
        let begun = self.state().begun;
        begun.ok_or_else(|| Error::local("starting a shard", std::io::Error::other("no job has begun")))
    }

    /// What an attempt has kept is of no use.
    pub(super) fn drop_partial(&self, attempt: &Attempt) {
        let begun = self.state().begun;
        if let Some((job, _)) = begun {
            self.partials.remove(&job, attempt);
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
        let (job, _) = self.begun()?;
        Session::run("its peers were told", |session| match attempt.piece {
            Piece::Shard(shard) => {
                let own = self.tables_of(shard)?;
                let planned = self.sharded.planned(Part::Shard)?;
                let given = planned.query().prepare_unchecked(self.me, &own)?;
                drop(own);
                let connections = self.connect(&planned, (attempt, name), places, ready, session)?;
                let agree = self.attempted(attempt, name);
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
                let given = planned.query().prepare_unchecked(self.me, self.own_tables()?)?;
                let given = given.with_kept(kept);
                let connections = self.connect(&planned, (attempt, name), places, ready, session)?;
                let agree = self.attempted(attempt, name);
                self.opened.note()?;
                let held = self.party(&agree).run(planned, given, connections, progress);
                if !self.state().is_opened {
                    self.opened.take_back();
                }
                let held = held?;
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

    fn attempted(&self, attempt: &Attempt, name: &str) -> Attempted<'_> {
        Attempted {
            terms: vec![
                ("part of the job".into(), attempt.to_string()),
                ("session of its coordinators".into(), name.into()),
            ],
            work: self,
            opens: attempt.piece == Piece::Merge,
        }
    }

    fn connect(
        &self,
        planned: &Planned,
        (attempt, name): (&Attempt, &str),
        places: &[Place],
        ready: Ready,
        session: &Session,
    ) -> Result<Connections> {
        let topology = planned.prepared.topology();
        let patience = Patience::default();
        let ended = patience.clone();
        session.then(move || ended.end());
        let (listener, identity) = match ready {
            Ready::Listens(listener, identity) => (listener, identity),
            Ready::Joined(join) => {
                let connections = join(&topology, &format!("{attempt} of {name}"), &patience)?;
                return Ok(session.interrupts(connections));
            }
        };
        let places = places.iter().enumerate();
        let link = Link {
            me: self.me,
            parties: places
                .map(|(party, place)| self.meeting.address(party, place))
                .collect(),
            listen: Listen::Bound(listener),
            identity: (self.meeting.transport == Transport::Tls).then(|| Arc::new(identity)),
            connect_timeout: self.meeting.connect_timeout,
            timeout: self.meeting.timeout,
            on_wait: self.meeting.on_wait.clone(),
            budget: planned.budget(),
            patience,
        };
        Ok(session.interrupts(Connections::connect(&topology, link)?))
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
pub(super) mod tests {
    use std::time::Duration;

    use cenote_session::{Error as EngineError, handshake};

    use super::*;
    use crate::query::shards::crew::Threads;
    use crate::query::shards::partial::Keep;

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
        let work = work(folder.path());
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

    /// A party of a job in two shards.
    pub(in crate::query::shards) fn work(folder: &Path) -> Work {
        work_of(folder, "SELECT COUNT(*) FROM a", "x\n1\n2\n3\n")
    }

    /// The same of this query over this table.
    pub(in crate::query::shards) fn work_of(folder: &Path, query: &str, rows: &str) -> Work {
        let file = folder.join("job.toml");
        let text = format!(
            "shards = 2\nprotocol = \"three\"\nquery = \"{query}\"\n[answer]\nmax_rows = 1\n[[table]]\nname = \"a\"\n\
             party = 0\nfile = \"a.csv\"\ncolumns = {{ x = \"u8 not null\" }}\nmax_rows = 4\n"
        );
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("a.csv"), rows).unwrap();
        let job = crate::query::QueryJob::load(&file).unwrap();
        let tables = job.tables(PartyId(0)).unwrap();
        let sharded = Sharded::new(job).unwrap();
        let identity = Identity::generate().unwrap();
        let shape = sharded.in_shards().shape(sharded.job.protocol());
        let (opened, state) = Opened::of(folder);
        Work {
            partials: Partials::open(&Keep::Folder(folder.join("kept")), &identity, shape).unwrap(),
            sharded,
            me: PartyId(0),
            rows: Rows::Own(tables),
            meeting: Meeting {
                transport: Transport::Tls,
                connect_timeout: Duration::from_secs(1),
                timeout: Duration::from_secs(1),
                phase_timeout: None,
                on_wait: OnWait::default(),
                hosts: Vec::new(),
            },
            also_agree: Arc::new(()),
            opened,
            state: Mutex::new(state),
        }
    }

    /// A peer that breaks the merge off once its session has begun could give other rows to the next one.
    #[test]
    fn an_answer_that_may_have_been_opened_is_not_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let work = work(folder.path());
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
        let first = work(folder.path());
        first.opened.note().unwrap();
        drop(first);
        let second = work(folder.path());
        assert!(matches!(second.cannot(&merge), Some(Outcome::Failed(_))));
        // Unless it is known that it was not.
        second.opened.take_back();
        assert_eq!(work(folder.path()).cannot(&merge), None);
    }

    #[test]
    fn an_attempt_is_lost_if_what_it_keeps_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let work = work(folder.path());
        // A file is where the folder was.
        std::fs::remove_dir(folder.path().join("kept")).unwrap();
        std::fs::write(folder.path().join("kept"), "").unwrap();
        let shard = Attempt {
            piece: Piece::Shard(1),
            number: 1,
        };
        let job = postcard::from_bytes(&[1; 32]).unwrap();
        let (rows, lanes) = work.sharded.in_shards().shape(work.sharded.job.protocol());
        let share = BitMatrix::zeros(rows, lanes);
        let error = work.partials.write(&job, &shard, share).unwrap_err();
        let outcome = Threads::failed(&work, &shard, error);
        assert!(matches!(outcome, Outcome::Lost(_)), "{outcome:?}");
    }
}
