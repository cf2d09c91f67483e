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
                format!("reading what {attempt} has kept"),
                std::io::Error::other("it has another shape"),
            )
        })?;
        Ok(share.into_bits())
    }

    pub(super) fn remove(&self, job: &JobName, attempt: &Attempt) {
        self.files.remove(&Self::name(job, attempt));
    }
}

#[cfg(test)]
mod tests {
    use cenote_shards::Piece;

    use super::*;

    fn job(byte: u8) -> JobName {
        postcard::from_bytes(&[byte; 32]).expect("a name is any 32 bytes")
    }

    fn shard(index: u32, number: u32) -> Attempt {
        Attempt {
            piece: Piece::Shard(index),
            number,
        }
    }

    #[test]
    fn what_a_shard_has_kept_is_taken_for_nothing_else() {
        let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::generate().unwrap());
        let partials = Partials::open(folder.path(), &identity, (6, 70)).unwrap();
        let share = BitMatrix::from_fn(6, 70, |row, lane| (row + lane) % 3 == 0);
        partials.write(&job(1), &shard(3, 2), share.clone()).unwrap();
        assert_eq!(partials.read(&job(1), &shard(3, 2)).unwrap(), share);
        let file = |job: &JobName, attempt: &Attempt| folder.path().join(Partials::name(job, attempt));
        let own = file(&job(1), &shard(3, 2));
        // Left out: of another shard, attempt or job, none was written.
        for (job, attempt) in [
            (job(1), shard(2, 2)),
            (job(1), shard(3, 1)),
            (job(2), shard(3, 2)),
        ] {
            let error = partials.read(&job, &attempt).unwrap_err().to_string();
            assert!(error.contains("cannot be read"), "{error}");
            // And that of another is not taken in its place.
            std::fs::copy(&own, file(&job, &attempt)).unwrap();
            let error = partials.read(&job, &attempt).unwrap_err().to_string();
            assert!(error.contains("not what its name says"), "{error}");
        }
        // Nor what was changed, or sealed by somebody else.
        let mut bytes = std::fs::read(&own).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&own, bytes).unwrap();
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
        let other = Identity::generate().unwrap();
        let others = Partials::open(folder.path(), &other, (6, 70)).unwrap();
        others.write(&job(1), &shard(3, 2), share.clone()).unwrap();
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
        // Nor one of another shape.
        let wider = Partials::open(folder.path(), &identity, (6, 71)).unwrap();
        partials.write(&job(1), &shard(3, 2), share).unwrap();
        assert!(wider.read(&job(1), &shard(3, 2)).is_err());
        partials.remove(&job(1), &shard(3, 2));
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
    }
}
