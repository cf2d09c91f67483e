//! What a session of a query computes, and what it takes of memory.

use std::sync::Arc;

use cenote_net::{Budget, PartyId};
use cenote_program::Tally;
use cenote_query::{Explained, OwnInput, Query};
use cenote_session::memory;

use super::file::QueryJob;
use crate::admission::{PROCESS, queue_bytes};
use crate::text::megabytes;
use crate::{Error, Prepared, Protocol, Result};

/// The most bytes that a query may take of a party, if no limit is set.
const MEMORY: u64 = 2 << 30;

/// Bytes for messages to each peer, where little is sent before something is received.
const QUEUES: u64 = 32 << 20;

/// Queries that take less of a party do not use huge pages: with them they take a few hundredths less time, and a fifth more memory.
pub(super) const SMALL: u64 = 1 << 30;

/// Bytes that the allocator keeps of what planning a query took.
const PLANNING: u64 = 16 << 20;

/// Bytes that a process takes anyway that has planned a query.
pub(super) const PROCESS_BYTES: u64 = PROCESS + PLANNING;

/// Of what a session takes the allocator keeps as much again as this part at most, for a while, once it is free.
const FREED: u64 = 4;

/// What a session computes of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// What each shard computes.
    Shard,
    /// What is computed of that.
    Merge,
}

/// What a session computes, with all that follows from it and is public.
pub(super) struct Planned {
    pub(super) job: Arc<QueryJob>,
    pub(super) part: Part,
    pub(super) protocol: Protocol,
    pub(super) tally: Tally,
    pub(super) prepared: Prepared,
}

impl Planned {
    pub(super) fn new(job: QueryJob) -> Result<Self> {
        let job = Arc::new(job);
        let tally = tally_of(&job, Part::Whole)?;
        Self::with(job, tally)
    }

    /// The same, with what it takes known.
    pub(super) fn with(job: Arc<QueryJob>, tally: Tally) -> Result<Self> {
        Self::part(job, Part::Whole, tally)
    }

    /// A part of a job, with what it takes known.
    pub(super) fn part(job: Arc<QueryJob>, part: Part, tally: Tally) -> Result<Self> {
        let protocol = job.protocol_of(part)?;
        let prepared = protocol.prepare(&tally.demand())?;
        Ok(Planned {
            job,
            part,
            protocol,
            tally,
            prepared,
        })
    }

    /// What is computed.
    pub(super) fn query(&self) -> &Query {
        self.job.part(self.part)
    }

    /// Its steps, and what each takes.
    pub(super) fn foreseen(&self) -> Explained {
        self.query().foreseen(&self.tally)
    }

    /// The most bytes that `party` takes: before it meets the others, and while it computes with them.
    pub(super) fn memory_bytes(&self, party: PartyId) -> u64 {
        PROCESS_BYTES.saturating_add(self.session_bytes(party))
    }

    /// The same without what the process takes anyway.
    pub(super) fn session_bytes(&self, party: PartyId) -> u64 {
        let own = self.query().bytes(party);
        let demand = self.tally.demand();
        let session = [
            own.given,
            self.share_bytes(),
            self.prepared.session_bytes(&demand, party),
            self.tally.network_bytes(),
            own.answer,
            queue_bytes(
                &self.protocol.topology(),
                self.prepared.traffic_bytes(&demand),
                &self.budget(),
            ),
        ];
        let session = session.into_iter().fold(0, u64::saturating_add);
        // The allocator keeps what was free before the session began, and for a while what becomes free in it.
        let kept = own.before.saturating_add(session / FREED);
        kept.saturating_add(session)
    }

    /// Bytes of this party's shares of what is kept.
    pub(super) fn share_bytes(&self) -> u64 {
        let Some(in_shards) = self.job.in_shards().filter(|_| self.part != Part::Whole) else {
            return 0;
        };
        let shapes = in_shards.shapes(&self.protocol).into_iter();
        let bytes = shapes.map(|(rows, lanes)| rows as u64 * lanes.div_ceil(64) as u64 * 8);
        let shares = match self.part {
            Part::Merge => u64::from(in_shards.cut.shards()),
            _ => 1,
        };
        shares * bytes.sum::<u64>()
    }

    /// What `me` gives.
    pub(super) fn given(&self, me: PartyId) -> Result<OwnInput> {
        if self.memory_bytes(me) < SMALL {
            memory::avoid_huge_pages();
        }
        let tables = self.job.tables(me)?;
        Ok(self.query().prepare(me, &tables)?)
    }

    /// Memory for messages on their way. Where levels of ANDs take rounds, parties send little before they receive, but for what is revealed.
    pub(super) fn budget(&self) -> Budget {
        if !self.protocol.levels_take_rounds() {
            return Budget::default();
        }
        let revealed = self.tally.outputs.iter().map(|(_, bits)| bits / 8).max();
        let most = revealed.unwrap_or(0).saturating_mul(4).max(QUEUES);
        Budget::new(usize::try_from(most).map_or(Budget::DEFAULT, |most| most.min(Budget::DEFAULT)))
    }

    /// Sees that each of `parties`, and all of them together, have the memory that they need.
    pub(super) fn admit(&self, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let needed: Vec<u64> = parties
            .into_iter()
            .map(|party| self.memory_bytes(party))
            .collect();
        fits(needed, "")
    }
}

/// What a part of a job takes.
pub(super) fn tally_of(job: &QueryJob, part: Part) -> Result<Tally> {
    let query = job.part(part);
    fits([query.least_bytes()], "at least ")?;
    Ok(query.tally(job.protocol().abilities())?)
}

/// Sees that parties that need `about` so many bytes have them.
pub(super) fn fits(needed: impl IntoIterator<Item = u64>, about: &str) -> Result<()> {
    let needed: Vec<u64> = needed.into_iter().collect();
    let most = needed.iter().copied().max().unwrap_or(0);
    let why = if !memory::is_limited() && most > MEMORY {
        format!(
            "the query takes {about}{} MB of memory at a party, and {} MB is the most unless a limit is set",
            megabytes(most),
            megabytes(MEMORY)
        )
    } else {
        match memory::refusal(needed.into_iter().fold(0, u64::saturating_add)) {
            None => return Ok(()),
            Some(why) => why,
        }
    };
    Err(Error::Usage(format!(
        "{why}. What is sorted is in memory at once: make `max_rows` of the tables that are joined or grouped smaller, promise with `distinct` that there \
         are few groups, or set a limit that is larger: with `--memory`, with `memory` in the party file, or in Python with `cenote.limit_memory`"
    )))
}
