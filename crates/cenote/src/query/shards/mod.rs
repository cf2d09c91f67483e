//! Jobs that are cut into shards: each shard is a session of its own, of some of the rows, and a last session merges what they have kept.
//!
//! The shards of a party on one machine run one after another, so that a job takes the memory of one of them. Parties that run a job so find each other as coordinators
//! first ([`cenote_shards`]), and agree on what starts next.

mod attempt;
mod crew;
mod desk;
mod joined;
mod partial;
mod plan;
mod rows;
mod run;
mod wire;
mod worker;

use std::num::NonZero;
use std::sync::Arc;

use cenote_net::PartyId;
use cenote_params::LogProb;
use cenote_params::shards::of_attempt;
use cenote_program::Tally;
use cenote_program::kept::rows_in_parts;
use cenote_protocol::Setting;
use cenote_query::{Cut, Query};
use cenote_session::Terms;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toml::Spanned;

pub use self::attempt::Join;
pub use self::desk::MOST_WORKERS;
pub(super) use self::joined::Joined;
pub use self::joined::ShardsFar;
pub(super) use self::plan::proposed;
pub use self::plan::{ShardsPlan, TableInShards};
pub use self::run::{DeskAt, Placement, work_for};
pub(super) use self::run::{check_party, run_child, run_party};
pub use self::worker::WORKER_PAUSE;
use super::file::{QueryJob, digest};
use super::planned::{PROCESS_BYTES, Part, Planned, fits, tally_of};
use crate::settings_file::SettingsFile;
use crate::{Error, Protocol, Result};

/// Most attempts at the parts of a job.
const MOST_ATTEMPTS: u32 = cenote_shards::MOST_ATTEMPTS;

/// Of what a session takes the allocator keeps as much again as this part, besides what it keeps of one session.
const KEPT: u64 = 5;

/// How a job is cut.
#[derive(Debug)]
pub(super) struct InShards {
    pub(super) cut: Cut,
    /// How often its parts may be tried, all together.
    pub(super) attempts: u32,
}

impl InShards {
    /// How a job is cut whose file says so.
    pub(super) fn read(
        (shards, attempts): (Option<Spanned<u32>>, Option<Spanned<u32>>),
        query: &Query,
        protocol: &Protocol,
        source: &SettingsFile,
    ) -> Result<Option<Self>> {
        let Some(shards) = shards else {
            return match attempts {
                None => Ok(None),
                Some(attempts) => Err(source.fault(
                    attempts.span(),
                    "`attempts` is for jobs that are cut; give `shards` too, or leave it out",
                )),
            };
        };
        let count = NonZero::new(*shards.get_ref()).ok_or_else(|| {
            source.fault(
                shards.span(),
                "`shards` is 1 or more; leave it out for one session",
            )
        })?;
        let cut = query
            .cut(count, protocol.security())
            .map_err(|error| match error {
                cenote_query::Error::Declared(what) => source.fault(shards.span(), what),
                other => other.into(),
            })?;
        let least = count.get() + 1;
        let (tries, span) = match attempts {
            None => (2 * count.get(), shards.span()),
            Some(attempts) => (*attempts.get_ref(), attempts.span()),
        };
        if !(least..=MOST_ATTEMPTS).contains(&tries) {
            let what = format!(
                "`attempts` is {least} to {MOST_ATTEMPTS} for {count} shards and their merge; what is tried again counts each time"
            );
            return Err(source.fault(span, what));
        }
        let in_shards = InShards { cut, attempts: tries };
        in_shards
            .check(protocol)
            .map_err(|what| source.fault(span, what))?;
        Ok(Some(in_shards))
    }

    /// How it is cut, in a sentence.
    pub(super) fn told(&self) -> String {
        format!(
            "It is cut into {} shards, which may be tried {} times in all, the merge included: {}.",
            self.cut.shards(),
            self.attempts,
            self.cut.told()
        )
    }

    /// Sees that what shards keep is as safe as the job is to be.
    fn check(&self, protocol: &Protocol) -> std::result::Result<(), String> {
        if protocol.kept_rows().is_some() {
            return Ok(());
        }
        if protocol.parties() != 2 {
            return Err(format!(
                "shares of protocol \"{}\" end with their session, so its jobs cannot be cut; leave `shards` out",
                protocol.name()
            ));
        }
        let error = self.keeping_error();
        match error.meets(protocol.security() + 1) {
            true => Ok(()),
            false => Err(format!(
                "what the shards keep is safe up to 2^{:.1}, and the job asks for a security of {} bits; ask for less, or for fewer shards",
                error.log2() + 1.0,
                protocol.security()
            )),
        }
    }

    /// The chance that a party of two changes what it kept, in any attempt.
    fn keeping_error(&self) -> LogProb {
        let (width, rows) = self.cut.kept();
        let kept = u64::from(self.cut.shards()) * rows as u64 * u64::from(self.attempts);
        cenote_params::keeping::error(width.into(), kept)
    }

    /// The chance that a wrong answer passes, of sessions in each of which it is at most this, whatever attempts there were.
    pub(super) fn error_log2(&self, protocol: &Protocol, session: f64) -> f64 {
        let sessions = session + f64::from(self.attempts).log2();
        match protocol.kept_rows() {
            Some(_) => sessions,
            None => (sessions.exp2() + self.keeping_error().log2().exp2()).log2(),
        }
    }

    /// Rows and lanes of a party's share of what a shard keeps.
    pub(super) fn shape(&self, protocol: &Protocol) -> (usize, usize) {
        let (width, lanes) = self.cut.kept();
        let rows = match protocol.kept_rows() {
            Some(rows) => rows * width as usize,
            None => rows_in_parts(width),
        };
        (rows, lanes)
    }

    /// Bits of security of each session. What two parties keep has a share of its own.
    pub(super) fn security(&self, of: &Protocol) -> u32 {
        let keeping = u32::from(of.kept_rows().is_none());
        of_attempt(of.security() + keeping, self.attempts.into())
    }

    /// The protocol of each session: each attempt is one more chance for a cheater, and all of them together must be as safe as the job is to be.
    pub(super) fn protocol(&self, of: &Protocol) -> Result<Protocol> {
        let mut protocol = of.clone();
        let security = self.security(of);
        let set = protocol.set("security", Setting::Number(security.into()));
        set.map_err(|what| {
            Error::Usage(format!(
                "with {} attempts each session needs a security of {security} bits, for {} in all: {what}",
                self.attempts,
                of.security()
            ))
        })?;
        Ok(protocol)
    }
}

/// What each shard takes, and the merge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tallies {
    shard: Tally,
    merge: Tally,
}

/// A job in shards with all that follows from it and is public.
pub(super) struct Sharded {
    pub(super) job: Arc<QueryJob>,
    tallies: Tallies,
}

impl Sharded {
    /// Plans the parts of a job that is cut.
    pub(super) fn new(job: QueryJob) -> Result<Self> {
        let tallies = Tallies {
            shard: tally_of(&job, Part::Shard)?,
            merge: tally_of(&job, Part::Merge)?,
        };
        Ok(Sharded {
            job: Arc::new(job),
            tallies,
        })
    }

    /// The same, with what they take known.
    pub(super) fn with(job: Arc<QueryJob>, tallies: Tallies) -> Self {
        Sharded { job, tallies }
    }

    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> u64 {
        self.cut().shards().into()
    }

    fn in_shards(&self) -> &InShards {
        self.job.in_shards().expect("the job is cut")
    }

    fn cut(&self) -> &Cut {
        &self.in_shards().cut
    }

    /// A session of a part.
    pub(super) fn planned(&self, part: Part) -> Result<Planned> {
        let tally = match part {
            Part::Shard => &self.tallies.shard,
            _ => &self.tallies.merge,
        };
        Planned::part(Arc::clone(&self.job), part, tally.clone())
    }

    /// AND gates of all parts.
    pub(super) fn and_gates(&self) -> u64 {
        let shards = self.tallies.shard.and_gates * u64::from(self.cut().shards());
        shards + self.tallies.merge.and_gates
    }

    /// Bytes that a party sends and receives in all parts, about.
    pub(super) fn traffic_bytes(&self) -> Result<u64> {
        let [shard, merge] = [Part::Shard, Part::Merge].map(|part| {
            let planned = self.planned(part)?;
            Ok::<_, Error>(planned.prepared.traffic_bytes(&planned.tally.demand()))
        });
        Ok(shard?.saturating_mul(self.shards()).saturating_add(merge?))
    }

    /// The most bytes that `party` takes: of its tables, and of the part that takes most.
    pub(super) fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        Ok(self.session_bytes(party)?.saturating_add(PROCESS_BYTES))
    }

    /// The same without what the process takes anyway.
    pub(super) fn session_bytes(&self, party: PartyId) -> Result<u64> {
        let [shard, merge] = [Part::Shard, Part::Merge].map(|part| self.part_bytes(part, party));
        let checked = self.job.query().bytes_of_checks(party);
        let own = self.cut().bytes(party).saturating_add(checked);
        Ok(own.saturating_add(shard?.max(merge?)))
    }

    /// The most bytes that a session of a part takes.
    fn part_bytes(&self, part: Part, party: PartyId) -> Result<u64> {
        let session = self.planned(part)?.session_bytes(party);
        // What the allocator keeps of a session, the next one does not always find.
        Ok(session.saturating_add(session / KEPT))
    }

    /// The most bytes that a process of `party` takes that computes shards as a coordinator hands them out: for one of them, and for the rows of it as they lie where the
    /// coordinator has placed them, encrypted and decrypted.
    pub(super) fn worker_bytes(&self, party: PartyId) -> Result<u64> {
        let rows = 2 * self.cut().bytes_of_part(party);
        let session = self.part_bytes(Part::Shard, party)?;
        Ok(session.saturating_add(PROCESS_BYTES).saturating_add(rows))
    }

    /// Sees that a worker of `party` has the memory that it needs.
    pub(super) fn admit_worker(&self, party: PartyId) -> Result<()> {
        fits([self.worker_bytes(party)?], "")
    }

    /// Sees that each of `parties`, and all of them together, have the memory that they need.
    pub(super) fn admit(&self, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let needed = parties.into_iter().map(|party| self.memory_bytes(party));
        fits(needed.collect::<Result<Vec<_>>>()?, "")
    }

    /// What a worker and its coordinator compare: all that parties do, and what follows from it.
    fn digest(&self) -> String {
        let counts = [
            ("shards", self.cut().shards()),
            ("attempts", self.in_shards().attempts),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), count.to_string()));
        digest(&self.terms().into_iter().chain(counts).collect())
    }

    /// What the coordinators compare and hold one another to.
    fn coordinated(&self) -> Result<cenote_shards::Job> {
        let (shards, attempts) = (self.cut().shards(), self.in_shards().attempts);
        Ok(cenote_shards::Job::new(self.terms(), shards, attempts)?)
    }

    fn terms(&self) -> Terms {
        let cut = self.cut();
        let mut terms: Terms = vec![crate::registry::version()];
        terms.extend(self.job.terms());
        terms.push(("protocol".into(), self.job.protocol().describe()));
        terms.push(("security".into(), self.job.protocol().security().to_string()));
        terms.push(("rows in shards".into(), cut.told()));
        for (name, part) in [
            ("plan of a shard", cut.shard()),
            ("plan of the merge", cut.merge()),
        ] {
            let digest = Sha256::digest(part.explained().tree());
            terms.push((name.into(), hex::encode(digest)));
        }
        terms
    }
}
