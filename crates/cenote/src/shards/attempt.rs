//! One attempt at a part of a job: a session of its own, over connections of its own.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_net::{Budget, Identity, Listen, OnWait, PartyId, Patience, PeerAddress};
use cenote_session::{AlsoAgree, Connections, Link, Terms, Topology, Warning};
use cenote_shards::{Attempt, JobName, Outcome, Piece, Place};
use cenote_store::durable;

use super::partial::Partials;
use super::{Begun, Merged, SessionOf, ShardedJob};
use crate::report::{Held, PartyReport};
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
    pub(super) job: Box<dyn ShardedJob>,
    pub(super) me: PartyId,
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
            is_opened: Self::is_there(folder),
            ..State::default()
        };
        (Opened(folder.to_owned()), state)
    }

    /// Whether the folder of a job has it. It counts as there if the disk cannot tell.
    pub(super) fn is_there(folder: &Path) -> bool {
        !matches!(folder.join(Self::NAME).try_exists(), Ok(false))
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
    /// The attempt that counts, of each shard.
    pub(super) kept: BTreeMap<u32, Attempt>,
    /// What the merge came to.
    pub(super) merged: Option<Held<Merged>>,
    /// What all sessions cost that ended well.
    pub(super) report: Option<PartyReport>,
    /// Why this party cannot go on.
    pub(super) failure: Option<Error>,
    /// A session of the merge has begun: its answer may have been opened.
    pub(super) is_opened: bool,
    /// All parties are done.
    pub(super) is_done: bool,
}

impl State {
    /// What another session cost.
    pub(super) fn add(&mut self, report: PartyReport) {
        self.report = Some(match self.report.take() {
            None => report,
            Some(all) => together(all, report),
        });
    }
}

/// What several sessions cost together.
fn together(mut all: PartyReport, one: PartyReport) -> PartyReport {
    let (costs, own) = (&mut all.costs, one.costs);
    for (phase, time) in own.seconds.iter() {
        costs.seconds.add(phase, Duration::from_secs_f64(time));
    }
    costs.and_gates += own.and_gates;
    costs.rounds += own.rounds;
    costs.bytes_sent += own.bytes_sent;
    costs.bytes_received += own.bytes_received;
    costs.messages_sent += own.messages_sent;
    costs.memory_bound_bytes = costs.memory_bound_bytes.max(own.memory_bound_bytes);
    let (description, own) = (&mut all.description, one.description);
    description.error_log2 = description.error_log2.max(own.error_log2);
    let bits = [description.computational_bits, own.computational_bits];
    description.computational_bits = bits.into_iter().flatten().reduce(f64::min);
    description.circuit.and_depth += own.circuit.and_depth;
    all.warnings.extend(one.warnings);
    // Shards open none.
    all.outputs.extend(one.outputs);
    all
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
        state.begun = Some((*name, *coin));
        self.job.begin();
    }

    pub(super) fn begun(&self) -> Result<Begun<'_>> {
        let begun = self.state().begun;
        let no = || Error::local("starting a shard", std::io::Error::other("no job has begun"));
        let (job, coin) = begun.ok_or_else(no)?;
        Ok(Begun {
            job,
            coin,
            partials: &self.partials,
        })
    }

    /// Whether only the merge is left.
    pub(super) fn are_all_kept(&self) -> bool {
        self.state().kept.len() == self.job.counts().shards as usize
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
        let begun = self.begun()?;
        let agree = self.attempted(attempt, name);
        Session::run("its peers were told", |session| {
            let mut ready = Some(ready);
            let mut connect = |topology: &Topology, budget: Budget| {
                let ready = ready.take().ok_or_else(|| {
                    Error::local("starting a session", std::io::Error::other("it has begun before"))
                })?;
                let connections =
                    self.connect((topology, budget), (attempt, name), places, ready, session)?;
                if attempt.piece == Piece::Merge {
                    self.opened.note()?;
                }
                Ok(connections)
            };
            let one = SessionOf {
                me: self.me,
                transport: self.meeting.transport,
                phase_timeout: self.meeting.phase_timeout,
                also_agree: &agree,
                connect: &mut connect,
                progress,
            };
            match attempt.piece {
                Piece::Shard(shard) => {
                    let held = self.job.shard(&begun, shard, one)?;
                    let shares = agreed(held.result, held.is_agreed)?;
                    self.partials.write(&begun.job, attempt, shares)?;
                    self.state().add(held.report);
                    Ok(())
                }
                Piece::Merge => self.merge(&begun, one),
            }
        })
    }

    /// Computes the answer.
    fn merge(&self, begun: &Begun<'_>, session: SessionOf<'_>) -> Result<()> {
        let kept: Vec<Attempt> = self.state().kept.values().copied().collect();
        let kept = kept.iter().map(|attempt| self.partials.read(&begun.job, attempt));
        let kept = kept.collect::<Result<Vec<_>>>()?;
        let held = self.job.merge(kept, session);
        if !self.state().is_opened {
            self.opened.take_back();
        }
        let held = held?;
        let is_agreed = held.is_agreed;
        let mut state = self.state();
        state.add(held.report.clone());
        state.merged = Some(held);
        agreed(Ok(()), is_agreed)
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
        (topology, budget): (&Topology, Budget),
        (attempt, name): (&Attempt, &str),
        places: &[Place],
        ready: Ready,
        session: &Session,
    ) -> Result<Connections> {
        let patience = Patience::default();
        let ended = patience.clone();
        session.then(move || ended.end());
        let (listener, identity) = match ready {
            Ready::Listens(listener, identity) => (listener, identity),
            Ready::Joined(join) => {
                let connections = join(topology, &format!("{attempt} of {name}"), &patience)?;
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
            budget,
            patience,
        };
        Ok(session.interrupts(Connections::connect(topology, link)?))
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
mod tests;
