//! What shards have kept, on the disk: this party's shares, sealed under a key that only its processes know.

use std::path::Path;

use cenote_net::Identity;
use cenote_primitives::BitMatrix;
use cenote_shards::{Attempt, JobName};
use cenote_store::{Sealed, StoreKey};

use crate::keeping::Share;
use crate::{Error, Result};

/// The partial results of a job at one party. Each is bound to the job, the shard and the attempt that it is of.
pub(super) struct Partials {
    files: Sealed,
    /// Rows and lanes of a share.
    shape: (usize, usize),
}

impl Partials {
    /// Those in the folder at `path`, of shares of so many rows and lanes.
    pub(super) fn open(path: &Path, identity: &Identity, shape: (usize, usize)) -> Result<Self> {
        let key = StoreKey::from_bytes(*identity.derived("partial results of shards"));
        Ok(Partials {
            files: Sealed::open(path, &key)?,
            shape,
        })
    }

    fn name(job: &JobName, attempt: &Attempt) -> String {
        format!("{job} {attempt}").replace(' ', "-")
    }

    pub(super) fn write(&self, job: &JobName, attempt: &Attempt, share: BitMatrix) -> Result<()> {
        let name = Self::name(job, attempt);
        Ok(self.files.write(&name, &name, &Share::of(share).to_bytes())?)
    }

    /// What an attempt has kept.
    ///
    /// # Errors
    /// [`Error::Protocol`] if it is not there, was changed, or is another's.
    pub(super) fn read(&self, job: &JobName, attempt: &Attempt) -> Result<BitMatrix> {
        let (name, (rows, lanes)) = (Self::name(job, attempt), self.shape);
        let bytes = self.files.read(&name, &name, Share::bytes_of(rows, lanes))?;
        let share = Share::from_bytes(rows, lanes, &bytes);
        let share = share.ok_or_else(|| {
            Error::local(
                &format!("reading what {attempt} has kept"),
                std::io::Error::other("it has another shape"),
            )
        })?;
        Ok(share.into_bits())
    }

    pub(super) fn remove(&self, job: &JobName, attempt: &Attempt) {
        self.files.remove(&Self::name(job, attempt));
    }
}
