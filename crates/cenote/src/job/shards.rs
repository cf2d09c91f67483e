//! Jobs with a circuit that are cut into shards by their lanes: each shard computes some of them and keeps its outputs, and the merge opens those of all.

mod party;
mod plan;

use cenote_circuit::{BitOrder, Builder, Circuit};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::memory;

pub(crate) use self::party::{placed, run_child, run_party};
pub use self::plan::LanesPlan;
pub(crate) use self::plan::proposed;
use super::Job;
use crate::admission::PROCESS;
use crate::keeping::{Keep, Keeping, Share, Take, too_large, wipe};
use crate::runner::Outcome;
use crate::shards::{Counts, SessionOf, after_others};
use crate::{Error, Party, Program, Protocol, Result};

/// Lanes of a shard are a multiple of this: whole words of bits.
const STEP: usize = 64;

/// What one session computes.
struct Half {
    program: Program,
    keeping: Keeping,
}

/// How a job with a circuit is cut by its lanes.
pub struct Lanes {
    /// Of the job.
    program: Program,
    protocol: Protocol,
    /// Of each session.
    safer: Protocol,
    counts: Counts,
    /// Lanes of a shard.
    each: usize,
    shard: Half,
    merge: Half,
}

impl Job {
    /// How the job is cut if it is run by `protocol`, if it is cut; or why it cannot be.
    pub(crate) fn cut_for(
        &self,
        protocol: &Protocol,
        lanes: usize,
    ) -> Option<std::result::Result<Lanes, String>> {
        Some(Lanes::new(self, protocol, self.counts?, lanes))
    }
}

impl Lanes {
    /// How `job` is cut, with so many lanes, if it is.
    ///
    /// # Errors
    /// [`Error::Config`] if it cannot be cut so.
    pub fn of(job: &Job, lanes: usize) -> Result<Option<Self>> {
        let cut = job.cut_for(&job.protocol, lanes).transpose();
        cut.map_err(|what| Error::config(&job.path, None, what))
    }

    /// How `job` is cut if it is run by `protocol` in so many shards.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(crate) fn new(
        job: &Job,
        protocol: &Protocol,
        counts: Counts,
        lanes: usize,
    ) -> std::result::Result<Self, String> {
        let each = lanes.div_ceil(counts.shards as usize).next_multiple_of(STEP);
        let needed = lanes.div_ceil(each);
        if needed < counts.shards as usize {
            return Err(format!(
                "`shards` is {}, and {lanes} lanes fill {needed} only, since a shard has a multiple of {STEP} lanes; write `shards = {needed}`",
                counts.shards
            ));
        }
        let told = |error: Error| error.to_string();
        let program = job.whole(lanes).map_err(told)?;
        if width_of(&program) == 0 {
            return Err("a circuit without outputs is not cut; leave `shards` out".into());
        }
        counts.check_keeping(protocol, &[(width_of(&program), each)])?;
        let limits = (protocol.kept_rows(), job.most_gates);
        Ok(Lanes {
            shard: Half::of_shard(&program, limits, each).map_err(told)?,
            merge: Half::merging(&program, limits).map_err(told)?,
            safer: counts.protocol(protocol).map_err(told)?,
            protocol: protocol.clone(),
            program,
            counts,
            each,
        })
    }

    /// What is computed, in all lanes.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// The program of each session, and how often it is run.
    pub(crate) fn sessions(&self) -> [(&Program, u64); 2] {
        [
            (&self.shard.program, self.counts.shards.into()),
            (&self.merge.program, 1),
        ]
    }

    /// The protocol of each session.
    pub(crate) fn safer(&self) -> &Protocol {
        &self.safer
    }

    /// Gates of the circuits of all sessions, in a lane: what it takes of memory while it waits.
    pub fn gates(&self) -> usize {
        let halves = self
            .sessions()
            .map(|(program, _)| program.circuit().gates().len());
        self.program.circuit().gates().len() + halves.iter().sum::<usize>()
    }

    /// AND gates of all sessions.
    pub fn and_gates(&self) -> u64 {
        let gates = self
            .sessions()
            .map(|(program, times)| program.and_gates() * times);
        gates.iter().sum()
    }

    /// Bytes that a party sends and receives in all sessions, about.
    ///
    /// # Errors
    /// As [`Protocol::prepare`].
    pub fn traffic_bytes(&self) -> Result<u64> {
        let mut all = 0u64;
        for (program, times) in self.sessions() {
            let demand = program.demand();
            let session = self.safer.prepare(&demand)?.traffic_bytes(&demand);
            all = all.saturating_add(session.saturating_mul(times));
        }
        Ok(all)
    }

    /// The most bytes that `party` takes, besides what its process takes that runs other jobs too.
    ///
    /// # Errors
    /// As [`Protocol::prepare`].
    pub fn job_bytes(&self, party: PartyId) -> Result<u64> {
        Ok(self.memory_bytes(party)?.saturating_sub(PROCESS))
    }

    /// How it is cut, in a sentence.
    pub fn told(&self) -> String {
        format!(
            "It is cut into {} shards of {} lanes, which may be tried {} times in all, the merge included.",
            self.counts.shards, self.each, self.counts.attempts
        )
    }

    /// The most bytes that a session takes at `party`.
    fn session_bytes(&self, half: &Half, party: PartyId) -> Result<u64> {
        let prepared = self.safer.prepare(&half.program.demand())?;
        Ok(after_others(prepared.memory_bytes(&half.program, party)))
    }

    /// The most bytes that `party` takes: its inputs, and the session that takes most. The merge has what all shards have kept.
    ///
    /// # Errors
    /// As [`Protocol::prepare`].
    pub(crate) fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        let shard = self.session_bytes(&self.shard, party)?;
        let (rows, lanes) = self.shape();
        let kept = u64::from(self.counts.shards) * bytes(rows, lanes);
        let merge = self.session_bytes(&self.merge, party)?.saturating_add(kept);
        Ok(shard
            .max(merge)
            .saturating_add(self.input_bytes(party, self.program.lanes())))
    }

    /// Bytes of so many lanes of what `party` gives.
    fn input_bytes(&self, party: PartyId, lanes: usize) -> u64 {
        let values = self.program.circuit().inputs().iter().zip(self.program.owners());
        let own = values.filter(|(_, owner)| **owner == party);
        own.map(|(value, _)| bytes(value.width as usize, lanes)).sum()
    }

    /// Sees that each of `parties`, and all of them together, have the memory that they need.
    ///
    /// # Errors
    /// [`Error::Usage`] with what it takes.
    pub(crate) fn admit(&self, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let mut all = 0u64;
        for party in parties {
            all = all.saturating_add(self.memory_bytes(party)?);
        }
        memory::admit(all).map_err(|error| Error::Usage(error.to_string()))
    }

    /// Rows and lanes of a party's share of what a shard keeps.
    fn shape(&self) -> (usize, usize) {
        let rows = self.merge.keeping.rows_of(width_of(&self.program));
        (rows, self.each)
    }
}

/// The circuit that was built, of at most so many gates.
fn finished(b: Builder, most: usize) -> Result<Circuit> {
    b.finish_within().ok_or_else(|| too_large(most))
}

/// Bits of all outputs, in a lane.
fn width_of(program: &Program) -> u32 {
    let values = program.circuit().outputs().iter();
    values.map(|value| value.width).sum()
}

fn bytes(rows: usize, lanes: usize) -> u64 {
    rows as u64 * lanes.div_ceil(8) as u64
}

/// What stands for all outputs of a circuit, which are kept as one value.
const OUTPUTS: &str = "outputs";

impl Half {
    /// What a shard of `each` lanes computes of `program`: it keeps all outputs.
    /// Nothing of it comes to more than `most` gates.
    fn of_shard(program: &Program, (rows, most): (Option<usize>, usize), each: usize) -> Result<Self> {
        let circuit = program.circuit();
        let mut b = Builder::within(most);
        let inputs = circuit.inputs().iter();
        let inputs: Vec<_> = inputs
            .map(|value| b.input(&value.name, value.width, value.order))
            .collect();
        let outputs = b.embed(circuit, &inputs.concat());
        b.output(OUTPUTS, &outputs, BitOrder::Lsb);
        let keep = Keep {
            output: OUTPUTS.into(),
            name: OUTPUTS.into(),
            days: 1,
            width: outputs.len() as u32,
        };
        let takes = vec![None; inputs.len()];
        let (circuit, keeping) = Keeping::new(&finished(b, most)?, takes, vec![Some(keep)], rows, most)?;
        let owners = program.owners().iter().copied();
        Self::whole(
            (program.name(), circuit, keeping),
            owners.collect(),
            Vec::new(),
            each,
        )
    }

    /// What is computed of what shards have kept: every output of `program` is opened.
    fn merging(program: &Program, (rows, most): (Option<usize>, usize)) -> Result<Self> {
        let values = program.circuit().outputs();
        let width = width_of(program);
        let mut b = Builder::within(most);
        let all = b.input(OUTPUTS, width, BitOrder::Lsb);
        let mut rest = &all[..];
        for value in values {
            let (bits, after) = rest.split_at(value.width as usize);
            rest = after;
            b.output(&value.name, bits, value.order);
        }
        let take = Take {
            input: OUTPUTS.into(),
            name: OUTPUTS.into(),
            of: None,
            width,
        };
        let keeps = vec![None; values.len()];
        let (circuit, keeping) = Keeping::new(&finished(b, most)?, vec![Some(take)], keeps, rows, most)?;
        let receivers = program.receivers().to_vec();
        let merged = (program.name(), circuit, keeping);
        Self::whole(merged, Vec::new(), receivers, program.lanes())
    }

    fn whole(
        (name, circuit, keeping): (&str, Circuit, Keeping),
        mut owners: Vec<PartyId>,
        mut receivers: Vec<cenote_session::Parties>,
        lanes: usize,
    ) -> Result<Self> {
        owners.extend(keeping.owners());
        receivers.extend(keeping.receivers());
        let opened = keeping.opened();
        let program = Program::keeping(name, circuit, (owners, receivers), opened, lanes)?;
        Ok(Half { program, keeping })
    }

    /// Runs it, with what `me` gives and its share of what is taken: what it has of what is kept, and how the session went.
    fn run(
        &self,
        protocol: &Protocol,
        (given, taken): (Vec<Option<BitMatrix>>, Option<Share>),
        session: SessionOf<'_>,
    ) -> Result<(Option<Share>, Outcome)> {
        let me = session.me;
        let taken = taken.into_iter().collect();
        let (held, fresh) = self.keeping.inputs(me, self.program.lanes(), taken)?;
        let mut inputs = given;
        inputs.extend(held);
        let demand = self.program.demand();
        let prepared = protocol.prepare(&demand)?;
        let (topology, budget) = (prepared.topology(), prepared.budget(&demand));
        let party = Party {
            me,
            protocol,
            program: &self.program,
            inputs: &inputs,
            also_agree: session.also_agree,
            transport: session.transport,
            phase_timeout: session.phase_timeout,
        };
        let connect = || (session.connect)(&topology, budget);
        let outcome = party.run_prepared(prepared, None, connect, session.progress);
        inputs.iter_mut().for_each(wipe);
        let mut outcome = outcome?;
        if outcome.is_agreed {
            session.also_agree.settled();
        }
        let outputs = outcome.outputs.iter_mut().take(self.keeping.opened());
        let opened = outputs.map(Option::take).collect();
        let hidden = std::mem::replace(&mut outcome.outputs, opened);
        Ok((self.keeping.finish(me, fresh, hidden)?.pop(), outcome))
    }
}
