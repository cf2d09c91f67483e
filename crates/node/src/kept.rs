//! Values that jobs keep instead of opening them, and that later jobs take.

use std::sync::Arc;

use cenote::keeping::{Keeping, Share};
use cenote_service::job::{FailKind, Job, Keep, Kept, Proposal, Take};
use cenote_service::{Error, Jobs, Result, ResultKey, Sealed, Timestamp};

use crate::compiled::{Compiled, MOST_KEPT, Taken};
use crate::failure::Fault;

/// Bytes of all shares that are stored, and values, at most, but for what open jobs keep.
const ALL_KEPT: u64 = 64 * MOST_KEPT;
const VALUES: u64 = 100_000;

/// The values that are kept here. It has no lock of its own.
pub(crate) struct KeptValues {
    pub(crate) jobs: Jobs,
    pub(crate) key: Arc<ResultKey>,
}

impl KeptValues {
    /// The kept values that a program takes which is proposed here: where it names no job, the newest of that name and type.
    pub(crate) fn find_taken(&self, compiled: &Compiled) -> Result<Vec<Take>> {
        let find = |taken: &Taken| {
            let kept = self
                .jobs
                .find_kept(&taken.name, &taken.kind, taken.of, Timestamp::now())?;
            let kept = kept.ok_or_else(|| {
                let of = taken.of.map_or_else(String::new, |of| format!(" of job {of}"));
                Error::Proposal(format!(
                    "no value {:?}{of} of type {} is kept here; `cenote kept list` lists those that are",
                    taken.name, taken.kind
                ))
            })?;
            self.check_fit(&kept, compiled)?;
            Ok(Take {
                input: taken.input.clone(),
                name: taken.name.clone(),
                job: kept.job,
            })
        };
        compiled.takes.iter().map(find).collect()
    }

    /// Sees that the values are kept here that a proposal takes, and may be taken by it. Where its program does not say which one of a name, no
    /// newer one is kept here: what an older one would give may be none of the proposer's business.
    ///
    /// # Errors
    /// [`Error::NoKept`] and [`Error::Proposal`]; where the record cannot be read.
    pub(crate) fn check_taken(&self, proposal: &Proposal, compiled: &Compiled) -> Result<()> {
        let now = Timestamp::now();
        for (take, taken) in proposal.takes.iter().zip(&compiled.takes) {
            let kept = self.find_take(take, taken, now)?;
            self.check_fit(&kept, compiled)?;
            let newest = match taken.of {
                Some(_) => None,
                None => self.jobs.find_kept(&take.name, &taken.kind, None, now)?,
            };
            if newest.is_some_and(|newest| newest.job != take.job && newest.kept_at > kept.kept_at) {
                return Err(Error::Proposal(format!(
                    "a newer value {:?} is kept here than that of job {}; propose it again, or write of = \"{}\" for the older one",
                    take.name, take.job, take.job
                )));
            }
        }
        Ok(())
    }

    /// Sees that the values are still kept here that a job takes, which may have been dropped or have expired since it was proposed. A newer one does
    /// not matter any more.
    ///
    /// # Errors
    /// [`Error::NoKept`]; where the record cannot be read.
    pub(crate) fn check_still_kept(&self, proposal: &Proposal, compiled: &Compiled) -> Result<()> {
        let now = Timestamp::now();
        let mut takes = proposal.takes.iter().zip(&compiled.takes);
        takes.try_for_each(|(take, taken)| self.find_take(take, taken, now).map(drop))
    }

    /// The value that a proposal takes. Its share is not read.
    fn find_take(&self, take: &Take, taken: &Taken, now: Timestamp) -> Result<Kept> {
        let kept = self
            .jobs
            .find_kept(&take.name, &taken.kind, Some(take.job), now)?;
        kept.ok_or_else(|| Error::NoKept {
            name: take.name.clone(),
            job: take.job,
        })
    }

    /// Sees that a job may take a kept value: it is of the parties that kept it, and no more secure than the job that did.
    fn check_fit(&self, kept: &Kept, compiled: &Compiled) -> Result<()> {
        let (by, parties) = (self.jobs.get(kept.job)?.proposal, compiled.parties());
        let what = || format!("the kept value {:?} of job {}", kept.name, kept.job);
        if by.parties != parties {
            return Err(Error::Proposal(format!(
                "{} is of {} parties, and a job that takes it is of as many, not of {parties}; name a protocol for {}",
                what(),
                by.parties,
                by.parties
            )));
        }
        let (kept_at, wanted) = (by.security.statistical, compiled.security().statistical);
        if kept_at < wanted {
            return Err(Error::Proposal(format!(
                "{} was kept with {kept_at} bits of security, and this job is to have {wanted}; write security = {kept_at}",
                what()
            )));
        }
        Ok(())
    }

    /// Sees that there is room for what a program keeps.
    pub(crate) fn has_room_to_keep(&self, compiled: &Compiled) -> std::result::Result<(), String> {
        if compiled.keeps.is_empty() {
            return Ok(());
        }
        let (values, bytes) = self.jobs.kept_in_all().map_err(|error| error.to_string())?;
        match values >= VALUES || bytes >= ALL_KEPT {
            true => Err(format!(
                "{values} values of {} MB are kept here, and no more are taken; `cenote kept drop` drops what is not needed",
                bytes >> 20
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
