//! Values that jobs keep instead of opening them, and that later jobs take.

use cenote::keeping::{Keeping, Share};
use cenote_service::job::{FailKind, Job, Keep, Kept, Proposal, Take};
use cenote_service::{Error, Result, Sealed, Timestamp};

use crate::compiled::{Compiled, MOST_KEPT, Taken};
use crate::core::Core;
use crate::failure::Fault;

/// Bytes of all shares that are stored, at most, but for what jobs keep that run already.
const ALL_KEPT: u64 = 64 * MOST_KEPT;

impl Core {
    /// The kept values that a program takes which is proposed here: where it names no job, the newest of that name.
    pub(crate) fn find_taken(&self, compiled: &Compiled, now: Timestamp) -> Result<Vec<Take>> {
        let find = |taken: &Taken| {
            let kept = self.jobs.find_kept(&taken.name, taken.of, now)?;
            let kept = kept.ok_or_else(|| {
                let of = taken.of.map_or_else(String::new, |of| format!(" of job {of}"));
                Error::Proposal(format!(
                    "no value {:?}{of} is kept here; `cenote kept list` lists those that are",
                    taken.name
                ))
            })?;
            self.serves(&kept, taken, compiled.parties())?;
            Ok(Take {
                input: taken.input.clone(),
                name: taken.name.clone(),
                job: kept.job,
            })
        };
        compiled.takes.iter().map(find).collect()
    }

    /// Sees that the values are kept here that a proposal takes, and may be taken by it.
    pub(crate) fn check_taken(&self, proposal: &Proposal, compiled: &Compiled) -> Result<()> {
        let now = Timestamp::now();
        for (take, taken) in proposal.takes.iter().zip(&compiled.takes) {
            let kept = self.jobs.find_kept(&take.name, Some(take.job), now)?;
            let kept = kept.ok_or_else(|| Error::NoKept {
                name: take.name.clone(),
                job: take.job,
            })?;
            self.serves(&kept, taken, compiled.parties())?;
        }
        Ok(())
    }

    /// Sees that a kept value can be the input `taken` of a job of `parties` parties: those that took part in keeping it.
    fn serves(&self, kept: &Kept, taken: &Taken, parties: u8) -> Result<()> {
        if kept.kind != taken.kind {
            return Err(Error::Proposal(format!(
                "the kept value {:?} of job {} is {}, and the input {:?} is {}",
                kept.name, kept.job, kept.kind, taken.input, taken.kind
            )));
        }
        let kept_by = self.jobs.get(kept.job)?.proposal.parties;
        if kept_by != parties {
            return Err(Error::Proposal(format!(
                "the kept value {:?} of job {} is of {kept_by} parties, and a job that takes it is of as many, not of {parties}; name a protocol for {kept_by}",
                kept.name, kept.job
            )));
        }
        Ok(())
    }

    /// Sees that there is room for what a program keeps.
    pub(crate) fn has_room_to_keep(&self, compiled: &Compiled) -> std::result::Result<(), String> {
        if compiled.keeps.is_empty() {
            return Ok(());
        }
        let stored = self.jobs.kept_bytes().map_err(|error| error.to_string())?;
        match stored >= ALL_KEPT {
            true => Err(format!(
                "{} MB of values are kept here, and no more are taken; `cenote kept drop` drops what is not needed",
                stored >> 20
            )),
            false => Ok(()),
        }
    }

    /// This party's shares of the values that a job takes.
    pub(crate) fn shares_for(
        &self,
        job: &Job,
        keeping: &Keeping,
        lanes: usize,
    ) -> std::result::Result<Vec<Share>, Fault> {
        let lost = |error: String| Fault::new(FailKind::BadInput, error);
        let share = |(number, take): (usize, &Take)| {
            let sealed = self.jobs.kept_share(&take.name, take.job, Timestamp::now());
            let sealed = sealed.map_err(|error| lost(error.to_string()))?;
            let bytes = self.key.open_kept(take.job, &take.name, &sealed);
            let bytes = bytes.map_err(|error| lost(error.to_string()))?;
            keeping.share(number, lanes, &bytes).ok_or_else(|| {
                lost(format!(
                    "this party's share of the kept value {:?} of job {} is not one for this job",
                    take.name, take.job
                ))
            })
        };
        job.proposal.takes.iter().enumerate().map(share).collect()
    }

    /// The shares of what a job keeps, as they are stored.
    pub(crate) fn sealed_shares(&self, job: &Job, shares: &[Share]) -> Result<Vec<Sealed>> {
        let keeps = job.proposal.keeps.iter().zip(shares);
        let seal = |(keep, share): (&Keep, &Share)| {
            self.key.seal_kept(job.proposal.id, &keep.name, &share.to_bytes())
        };
        keeps.map(seal).collect()
    }
}
