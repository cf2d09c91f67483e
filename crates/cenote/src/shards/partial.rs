//! What the processes of a party leave for each other, in a folder or an object store, sealed under a key that only they know: what the party gives to shards, and the shares that
//! shards have kept.

use std::path::PathBuf;
use std::time::Duration;

use cenote_net::Identity;
use cenote_primitives::BitMatrix;
use cenote_shards::{Attempt, JobName};
use cenote_store::{Sealed, StoreKey};
use zeroize::Zeroizing;

use crate::keeping::Share;
use crate::{Error, Result};

/// Where that lies.
pub(super) enum Keep {
    /// In this folder.
    Folder(PathBuf),
    /// In the object store at `url`, under a prefix that is the job's, which answers each request within `deadline`.
    Store {
        url: String,
        under: String,
        deadline: Duration,
    },
}

/// The partial results of a job at one party, and what its coordinator has placed for it. Each is bound to the job, and to the shard and the attempt, or the shard and
/// the table, that it is of.
pub(crate) struct Partials {
    sealed: Sealed,
    /// Rows and lanes of a share of each relation that a shard keeps.
    shapes: Vec<(usize, usize)>,
}

impl Partials {
    /// Those that lie in `keep`, of shares of so many rows and lanes, one for each relation.
    pub(super) fn open(keep: &Keep, identity: &Identity, shapes: Vec<(usize, usize)>) -> Result<Self> {
        let key = StoreKey::from_bytes(*identity.derived("partial results of shards"));
        let sealed = match keep {
            Keep::Folder(path) => Sealed::open(path, &key)?,
            Keep::Store { url, under, deadline } => Sealed::in_store(url, under, *deadline, &key)?,
        };
        Ok(Partials { sealed, shapes })
    }

    fn name(job: &JobName, attempt: &Attempt) -> String {
        format!("{job} {attempt}").replace(' ', "-")
    }

    /// Bytes of the shares of all relations.
    fn bytes(&self) -> usize {
        let bytes = |&(rows, lanes): &(usize, usize)| Share::bytes_of(rows, lanes);
        self.shapes.iter().map(bytes).sum()
    }

    /// Writes what an attempt has kept: one share after another.
    pub(super) fn write(&self, job: &JobName, attempt: &Attempt, shares: Vec<BitMatrix>) -> Result<()> {
        let name = Self::name(job, attempt);
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.bytes()));
        for share in shares {
            Share::of(share).put(&mut bytes);
        }
        Ok(self.sealed.write(&name, &name, &bytes)?)
    }

    /// What an attempt has kept of each relation.
    ///
    /// # Errors
    /// [`Error::Protocol`] if it is not there, was changed, or is another's.
    pub(super) fn read(&self, job: &JobName, attempt: &Attempt) -> Result<Vec<BitMatrix>> {
        let name = Self::name(job, attempt);
        let bytes = self.sealed.read(&name, &name, self.bytes())?;
        self.shares(&bytes).ok_or_else(|| {
            Error::local(
                format!("reading what {attempt} has kept"),
                std::io::Error::other("it has another shape"),
            )
        })
    }

    /// The shares that these bytes are; nothing if they are of other shapes.
    fn shares(&self, mut bytes: &[u8]) -> Option<Vec<BitMatrix>> {
        let mut shares = Vec::new();
        for &(rows, lanes) in &self.shapes {
            let (own, rest) = bytes.split_at_checked(Share::bytes_of(rows, lanes))?;
            shares.push(Share::from_bytes(rows, lanes, own)?);
            bytes = rest;
        }
        let shares = shares.into_iter().map(Share::into_bits).collect();
        bytes.is_empty().then_some(shares)
    }

    /// Writes what the party gives to shards, under a name of its own in the job.
    ///
    /// # Errors
    /// [`Error::Protocol`] if it cannot be written.
    pub(crate) fn write_given(&self, job: &JobName, name: &str, bytes: &[u8]) -> Result<()> {
        let name = format!("{job}-{name}");
        Ok(self.sealed.write(&name, &name, bytes)?)
    }

    /// That, at most so many bytes.
    ///
    /// # Errors
    /// [`Error::Protocol`] if it is not there, was changed, or is another's.
    pub(crate) fn read_given(&self, job: &JobName, name: &str, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        let name = format!("{job}-{name}");
        Ok(self.sealed.read(&name, &name, most)?)
    }

    pub(super) fn remove(&self, job: &JobName, attempt: &Attempt) {
        self.sealed.remove(&Self::name(job, attempt));
    }

    /// Removes all of them.
    pub(super) fn remove_all(&self) {
        self.sealed.remove_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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

    /// What a shard has kept lies in `lies` if it is kept in `keep`.
    fn is_taken_for_nothing_else(keep: &Keep, lies: &Path) {
        let identity = Identity::generate().unwrap();
        let shapes = [(6, 70), (4, 3)];
        let partials = Partials::open(keep, &identity, shapes.to_vec()).unwrap();
        let share = |(rows, lanes)| BitMatrix::from_fn(rows, lanes, |row, lane| (row + lane) % 3 == 0);
        let shares = shapes.map(share).to_vec();
        partials.write(&job(1), &shard(3, 2), shares.clone()).unwrap();
        assert_eq!(partials.read(&job(1), &shard(3, 2)).unwrap(), shares);
        let file = |job: &JobName, attempt: &Attempt| lies.join(Partials::name(job, attempt));
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
        // Nor what was changed or is too long, or was sealed by somebody else.
        let bytes = std::fs::read(&own).unwrap();
        let mut changed = bytes.clone();
        *changed.last_mut().unwrap() ^= 1;
        std::fs::write(&own, changed).unwrap();
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
        std::fs::write(&own, [bytes, vec![0; 1 << 20]].concat()).unwrap();
        let error = partials.read(&job(1), &shard(3, 2)).unwrap_err().to_string();
        assert!(error.contains("bytes instead of at most"), "{error}");
        let other = Identity::generate().unwrap();
        let others = Partials::open(keep, &other, shapes.to_vec()).unwrap();
        others.write(&job(1), &shard(3, 2), shares.clone()).unwrap();
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
        // Nor one of other shapes: wider, with a relation less or more, or with relations in another order.
        partials.write(&job(1), &shard(3, 2), shares).unwrap();
        let refuses = |shapes: &[(usize, usize)]| {
            let others = Partials::open(keep, &identity, shapes.to_vec()).unwrap();
            others.read(&job(1), &shard(3, 2)).unwrap_err().to_string()
        };
        for others in [
            &[(6, 71), (4, 3)][..],
            &[(6, 70), (4, 3), (4, 3)],
            &[(4, 3), (6, 70)],
            &[(6, 70), (3, 3), (1, 3)],
        ] {
            let error = refuses(others);
            assert!(error.contains("it has another shape"), "{error}");
        }
        let error = refuses(&[(6, 70)]);
        assert!(error.contains("bytes instead of at most"), "{error}");
        partials.remove_all();
        assert!(partials.read(&job(1), &shard(3, 2)).is_err());
        assert!(!lies.exists());
    }

    #[test]
    fn what_a_shard_has_kept_is_taken_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        is_taken_for_nothing_else(&Keep::Folder(kept.clone()), &kept);
    }

    #[cfg(feature = "object-store")]
    #[test]
    fn what_a_shard_has_kept_in_a_store_is_taken_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::Store {
            url: format!("file://{}/", folder.path().display()),
            under: "this job".into(),
            deadline: Duration::from_secs(30),
        };
        is_taken_for_nothing_else(&keep, &folder.path().join("this job"));
    }
}
