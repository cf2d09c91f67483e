//! One party of a job that is cut by its lanes.

use std::sync::Arc;
use std::time::Instant;

use cenote_net::{Identity, PartyId};
use cenote_primitives::BitMatrix;
use cenote_session::{AlsoAgree, Connections, Terms, memory};
use sha2::{Digest as _, Sha256};

use super::{Lanes, STEP, width_of};
use crate::keeping::Share;
use crate::local::Seat;
use crate::outputs::OutputFiles;
use crate::query::Far;
use crate::report::{CircuitDescription, Held};
use crate::runner::{Outcome, compared};
use crate::shards::{
    Begun, Counts, DeskAt, Given, Joined, Merged, NO_WORKER, OneParty, STOPPED, SessionOf, ShardedJob,
    Within, at_seat, digest, not_cut,
};
use crate::stop::Session;
use crate::{Error, Job, PartyConfig, Protocol, Result};

/// A job that is cut by its lanes, and what one party gives to it.
pub(crate) struct LanesInShards {
    lanes: Arc<Lanes>,
    /// One entry for each input.
    given: Given<Vec<Option<BitMatrix>>>,
    me: PartyId,
}

impl LanesInShards {
    /// This party's inputs in the lanes of a shard, one value after another.
    fn of_shard(&self, own: &[Option<BitMatrix>], shard: u32) -> BitMatrix {
        let own: Vec<&BitMatrix> = own.iter().flatten().collect();
        let mut part = BitMatrix::zeros(own.iter().map(|bits| bits.rows()).sum(), self.lanes.each);
        let start = shard as usize * self.lanes.each / STEP;
        let rows = own
            .iter()
            .flat_map(|bits| (0..bits.rows()).map(|row| bits.row(row)));
        for (at, row) in rows.enumerate() {
            // The last shards may have lanes that the job has not: zeros.
            let own = row.get(start..).unwrap_or_default();
            let here = part.row_mut(at);
            let words = own.len().min(here.len());
            here[..words].copy_from_slice(&own[..words]);
        }
        part
    }

    /// The inputs of a shard: one entry for each.
    fn inputs(&self, begun: &Begun<'_>, shard: u32) -> Result<Vec<Option<BitMatrix>>> {
        let program = &self.lanes.program;
        let values = program.circuit().inputs().iter().zip(program.owners());
        let widths = values.map(|(value, owner)| (*owner == self.me).then_some(value.width as usize));
        let widths: Vec<Option<usize>> = widths.collect();
        let (rows, lanes) = (widths.iter().flatten().sum(), self.lanes.each);
        self.lanes.counts.check_shard(shard)?;
        let all = match &self.given {
            Given::Own(own) => self.of_shard(own, shard),
            Given::Placed if rows == 0 => BitMatrix::zeros(0, lanes),
            Given::Placed => {
                let most = Share::bytes_of(rows, lanes);
                let bytes = begun.partials.read_given(&begun.job, &name_of(shard), most)?;
                let placed = Share::from_bytes(rows, lanes, &bytes);
                let other = || std::io::Error::other("they are of another circuit");
                placed
                    .ok_or_else(|| Error::local("reading inputs that were placed", other()))?
                    .into_bits()
            }
        };
        let mut row = 0;
        let split = widths.into_iter().map(|width| {
            let part = rows_of(&all, row..row + width?);
            row += part.rows();
            Some(part)
        });
        let split = split.collect();
        // It is overwritten.
        drop(Share::of(all));
        Ok(split)
    }
}

/// The name of this party's inputs in the lanes of a shard.
fn name_of(shard: u32) -> String {
    format!("inputs-shard-{shard}")
}

/// Some rows.
fn rows_of(bits: &BitMatrix, rows: std::ops::Range<usize>) -> BitMatrix {
    let mut part = BitMatrix::zeros(rows.len(), bits.lanes());
    for (at, row) in rows.enumerate() {
        part.row_mut(at).copy_from_slice(bits.row(row));
    }
    part
}

impl ShardedJob for LanesInShards {
    fn protocol(&self) -> &Protocol {
        &self.lanes.protocol
    }

    fn counts(&self) -> Counts {
        self.lanes.counts
    }

    fn terms(&self) -> Terms {
        let Lanes {
            program,
            protocol,
            each,
            ..
        } = &*self.lanes;
        let mut terms: Terms = vec![crate::registry::version()];
        terms.extend(compared(program));
        terms.push(("protocol".into(), protocol.describe()));
        terms.push(("security".into(), protocol.security().to_string()));
        terms.push(("lanes in a shard".into(), each.to_string()));
        terms
    }

    fn digest(&self) -> String {
        digest(&compared(&self.lanes.program))
    }

    fn described(&self, _: CircuitDescription) -> (CircuitDescription, usize) {
        let program = &self.lanes.program;
        (CircuitDescription::new(program), program.lanes())
    }

    fn and_gates(&self) -> (u64, u64) {
        let [(shard, _), (merge, _)] = self.lanes.sessions();
        (shard.and_gates(), merge.and_gates())
    }

    fn shapes(&self) -> Vec<(usize, usize)> {
        vec![self.lanes.shape()]
    }

    fn error_log2(&self, session: f64) -> f64 {
        let kept = (width_of(&self.lanes.program), self.lanes.each);
        self.counts().error_log2(self.protocol(), &[kept], session)
    }

    fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        self.lanes.memory_bytes(party)
    }

    fn admit_worker(&self, party: PartyId) -> Result<()> {
        let session = self.lanes.session_bytes(&self.lanes.shard, party)?;
        // The inputs as they lie where the coordinator has placed them, encrypted and decrypted.
        let given = 2 * self.lanes.input_bytes(party, self.lanes.each);
        memory::admit(session.saturating_add(given)).map_err(|error| Error::Usage(error.to_string()))
    }

    fn commit(&self, hash: &mut Sha256) -> Result<()> {
        for (at, bits) in self.given.own()?.iter().enumerate() {
            let Some(bits) = bits else { continue };
            hash.update((at as u64).to_le_bytes());
            bits.words()
                .iter()
                .for_each(|word| hash.update(word.to_le_bytes()));
        }
        Ok(())
    }

    fn place(&self, begun: &Begun<'_>, done: &[u32], is_over: &dyn Fn() -> bool) -> Result<()> {
        let own = self.given.own()?;
        if own.iter().all(Option::is_none) {
            return Ok(());
        }
        for shard in (0..self.lanes.counts.shards).filter(|shard| !done.contains(shard)) {
            if is_over() {
                return Ok(());
            }
            let bytes = Share::of(self.of_shard(own, shard)).to_bytes();
            begun.partials.write_given(&begun.job, &name_of(shard), &bytes)?;
        }
        Ok(())
    }

    fn shard(&self, begun: &Begun<'_>, shard: u32, session: SessionOf<'_>) -> Result<Held<Vec<BitMatrix>>> {
        let given = self.inputs(begun, shard)?;
        let Lanes { shard, safer, .. } = &*self.lanes;
        let (share, outcome) = shard.run(safer, (given, None), session)?;
        let none = || Error::local("keeping outputs", std::io::Error::other("there are none"));
        Ok(Held {
            result: Ok(vec![share.ok_or_else(none)?.into_bits()]),
            report: outcome.report,
            is_agreed: outcome.is_agreed,
        })
    }

    fn merge(&self, kept: Vec<Vec<BitMatrix>>, session: SessionOf<'_>) -> Result<Held<Merged>> {
        let lanes = self.lanes.program.lanes();
        let words = self.lanes.each / STEP;
        let mut all = BitMatrix::zeros(self.lanes.shape().0, lanes);
        for row in 0..all.rows() {
            for (part, here) in kept.iter().flatten().zip(all.row_mut(row).chunks_mut(words)) {
                here.copy_from_slice(&part.row(row)[..here.len()]);
            }
        }
        all.mask_padding();
        // They are overwritten.
        kept.into_iter().flatten().map(Share::of).for_each(drop);
        let Lanes { merge, safer, .. } = &*self.lanes;
        let (_, outcome) = merge.run(safer, (Vec::new(), Some(Share::of(all))), session)?;
        Ok(Held {
            result: Ok(Merged::Outputs(outcome.outputs)),
            report: outcome.report,
            is_agreed: outcome.is_agreed,
        })
    }
}

/// What a party has of a job in shards that has ended.
fn outcome(held: Held<Merged>) -> Result<Outcome> {
    let outputs = match held.result? {
        Merged::Outputs(outputs) => outputs,
        Merged::Answer(_) => Vec::new(),
    };
    Ok(Outcome {
        outputs,
        report: held.report,
        is_agreed: held.is_agreed,
    })
}

/// Runs `job` as the party of `config`, as `lanes` says: on this machine, or by workers that connect to `desk`. Its outputs are written to `files`.
pub(crate) fn run_party(
    (config, identity): (&PartyConfig, Arc<Identity>),
    (lanes, inputs): (Lanes, Vec<Option<BitMatrix>>),
    files: &OutputFiles<'_>,
    desk: Option<DeskAt<'_>>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    let start = Instant::now();
    let job = Box::new(LanesInShards {
        lanes: Arc::new(lanes),
        given: Given::Own(inputs),
        me: config.me,
    });
    let party = OneParty::elsewhere(config, identity, job, start)?.with_desk(desk)?;
    files.put_aside()?;
    let held = Session::run(STOPPED, |session| party.meet(config, session, progress))?;
    let outcome = outcome(held)?;
    files.write(&outcome.report.outputs)?;
    Ok(outcome)
}

impl Lanes {
    /// Runs the job once as the party `me` of a service, which gives these inputs, over the connections between coordinators that `connect` gives
    /// ([`crate::shards::topology`]).
    ///
    /// # Errors
    /// What `connect` fails with; [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
    pub fn run(
        self: &Arc<Self>,
        (me, inputs): (PartyId, Vec<Option<BitMatrix>>),
        also_agree: Arc<dyn AlsoAgree + Send + Sync>,
        within: Within,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(&Far),
    ) -> Result<Outcome> {
        let job = LanesInShards {
            lanes: Arc::clone(self),
            given: Given::Own(inputs),
            me,
        };
        let joined = Joined {
            job: Box::new(job),
            me,
            also_agree,
            within,
        };
        outcome(joined.run(connect, progress)?)
    }
}

/// Runs a job in the child process of one party, as `lanes` says.
pub(crate) fn run_child(seat: &Seat<'_>, lanes: Lanes, inputs: Vec<Option<BitMatrix>>) -> Result<Outcome> {
    let start = Instant::now();
    let job = Box::new(LanesInShards {
        lanes: Arc::new(lanes),
        given: Given::Own(inputs),
        me: seat.me,
    });
    outcome(at_seat(seat, job, start)?)
}

/// A job in shards whose inputs the coordinator of `me` has placed.
///
/// # Errors
/// [`Error::Usage`] if it is not cut.
pub(crate) fn placed(job: &Job, me: PartyId) -> Result<Box<dyn ShardedJob>> {
    let lanes = Lanes::of(job, job.stated_lanes()?)?.ok_or_else(|| not_cut(NO_WORKER))?;
    Ok(Box::new(LanesInShards {
        lanes: Arc::new(lanes),
        given: Given::Placed,
        me,
    }))
}
