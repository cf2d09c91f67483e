//! Results and kept values as they are stored: sealed with XChaCha20-Poly1305 under a key of the service's folder, each to its job.

use std::fs::OpenOptions;
use std::io::Read;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::folder::{Folder, write_whole};
use crate::job::{CallId, Digest, JobId};
use crate::{Error, Result, random};

/// The file of the key in the service's folder.
pub(crate) const RESULT_KEY: &str = "results.key";
const RESULT: &[u8] = b"cenote service result 1";
const POSTED: &[u8] = b"cenote service posted 1";
const KEPT: &[u8] = b"cenote service kept 1";
const CALL: &[u8] = b"cenote service call 1";
const DIGEST: &str = "cenote service keyed digest 1";
const NONCE: usize = 24;

/// The key under which a service keeps results and shares of kept values. It lies in the service's folder, and not in its database, so that a copy of the database
/// tells no output.
pub struct ResultKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for ResultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ResultKey")
    }
}

/// A result or a share that only the folder's key opens.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

impl Sealed {
    /// Of its bytes, as they were kept.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Sealed(bytes)
    }

    /// Its bytes, to be kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl ResultKey {
    /// The key in `folder`, which is made where there is none.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read or written, or is not a key.
    pub fn open(folder: &Folder) -> Result<Self> {
        if let Some(key) = Self::read(folder)? {
            return Ok(key);
        }
        let key = Zeroizing::new(random::<32>()?);
        write_whole(folder.path(), RESULT_KEY, "results.key.part", key.as_slice())
            .map_err(|error| Error::file(folder.file(RESULT_KEY), error))?;
        Ok(ResultKey(key))
    }

    /// The key in `folder`, if there is one.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, or is not a key.
    pub(crate) fn read(folder: &Folder) -> Result<Option<Self>> {
        let path = folder.file(RESULT_KEY);
        let fault = |error: std::io::Error| Error::file(&path, error);
        match OpenOptions::new().read(true).open(&path) {
            Ok(file) => {
                let mut bytes = Zeroizing::new(Vec::with_capacity(33));
                file.take(33).read_to_end(&mut bytes).map_err(fault)?;
                let key = <[u8; 32]>::try_from(bytes.as_slice())
                    .map_err(|_| Error::file(&path, "it is no key of 32 bytes; put back the one that was here, or give up all results and this party's shares of kept values with `cenote serve --give-up-sealed`"))?;
                Ok(Some(ResultKey(Zeroizing::new(key))))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault(error)),
        }
    }

    /// A digest of `bytes`, for this `purpose` alone, that tells whoever lacks the key nothing of them: small values cannot be tried.
    pub fn digest(&self, purpose: &str, bytes: &[u8]) -> Digest {
        let key = Zeroizing::new(blake3::derive_key(DIGEST, self.0.as_slice()));
        let mut hasher = blake3::Hasher::new_keyed(&key);
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes()).update(bytes);
        Digest(*hasher.finalize().as_bytes())
    }

    /// Seals the result of `job`.
    ///
    /// # Errors
    /// Where the system gives no random bytes.
    pub fn seal(&self, job: JobId, result: &[u8]) -> Result<Sealed> {
        self.seal_as(job, &bound(RESULT, job), result)
    }

    /// Seals values that were posted for `job`.
    ///
    /// # Errors
    /// As [`ResultKey::seal`].
    pub fn seal_posted(&self, job: JobId, values: &[u8]) -> Result<Sealed> {
        self.seal_as(job, &bound(POSTED, job), values)
    }

    /// Seals this party's share of the value that `job` keeps under `name`.
    ///
    /// # Errors
    /// As [`ResultKey::seal`].
    pub fn seal_kept(&self, job: JobId, name: &str, share: &[u8]) -> Result<Sealed> {
        self.seal_as(job, &bound_to_name(job, name), share)
    }

    /// Seals what this party learnt of a call of `job`.
    ///
    /// # Errors
    /// As [`ResultKey::seal`].
    pub fn seal_call(&self, job: JobId, call: CallId, learnt: &[u8]) -> Result<Sealed> {
        self.seal_as(job, &bound_to_call(job, call), learnt)
    }

    /// Opens what this party learnt of a call of `job`.
    ///
    /// # Errors
    /// As [`ResultKey::open_result`], and where it is of another call.
    pub fn open_call(&self, job: JobId, call: CallId, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        self.open_as(job, &bound_to_call(job, call), sealed)
    }

    fn seal_as(&self, job: JobId, bound: &[u8], result: &[u8]) -> Result<Sealed> {
        let nonce = random::<NONCE>()?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(result.len() + 16));
        bytes.extend_from_slice(result);
        self.cipher()
            .encrypt_in_place(&XNonce::from(nonce), bound, &mut *bytes)
            .map_err(|_| Error::Seal(job))?;
        Ok(Sealed([nonce.as_slice(), bytes.as_slice()].concat()))
    }

    /// Opens the result of `job`.
    ///
    /// # Errors
    /// [`Error::Seal`] where it was changed, is of another job, or was sealed under another key.
    pub fn open_result(&self, job: JobId, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        self.open_as(job, &bound(RESULT, job), sealed)
    }

    /// Opens values that were posted for `job`.
    ///
    /// # Errors
    /// As [`ResultKey::open_result`].
    pub fn open_posted(&self, job: JobId, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        self.open_as(job, &bound(POSTED, job), sealed)
    }

    /// Opens this party's share of the value that `job` keeps under `name`.
    ///
    /// # Errors
    /// As [`ResultKey::open_result`], and where it is of another name.
    pub fn open_kept(&self, job: JobId, name: &str, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        self.open_as(job, &bound_to_name(job, name), sealed)
    }

    fn open_as(&self, job: JobId, bound: &[u8], sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        let (nonce, text) = sealed.0.split_first_chunk::<NONCE>().ok_or(Error::Seal(job))?;
        let mut bytes = Zeroizing::new(text.to_vec());
        self.cipher()
            .decrypt_in_place(&XNonce::from(*nonce), bound, &mut *bytes)
            .map_err(|_| Error::Seal(job))?;
        Ok(bytes)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0))
    }
}

fn bound(context: &[u8], job: JobId) -> Vec<u8> {
    [context, job.0.as_slice()].concat()
}

/// The job and the name, delimited by their lengths.
fn bound_to_name(job: JobId, name: &str) -> Vec<u8> {
    let length = (name.len() as u64).to_le_bytes();
    [bound(KEPT, job).as_slice(), &length, name.as_bytes()].concat()
}

/// The job and its call.
fn bound_to_call(job: JobId, call: CallId) -> Vec<u8> {
    [bound(CALL, job).as_slice(), &call.0].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_opens_for_its_job_under_its_key_only() {
        let place = tempfile::tempdir().expect("folder");
        let folder = Folder::claim(place.path()).expect("free");
        let key = ResultKey::open(&folder).expect("made");
        let job = JobId([1; 16]);
        let sealed = key.seal(job, b"secret").expect("sealed");
        let again = ResultKey::open(&folder).expect("read");
        assert_eq!(
            again.open_result(job, &sealed).expect("opens").as_slice(),
            b"secret"
        );
        assert!(!sealed.as_bytes().windows(6).any(|part| part == b"secret"));

        assert!(matches!(key.open_posted(job, &sealed), Err(Error::Seal(_))));
        let posted = key.seal_posted(job, b"value").expect("sealed");
        assert!(matches!(key.open_result(job, &posted), Err(Error::Seal(_))));
        assert_eq!(key.open_posted(job, &posted).expect("opens").as_slice(), b"value");

        let other = JobId([2; 16]);
        assert!(matches!(key.open_result(other, &sealed), Err(Error::Seal(id)) if id == other));
        for place in 0..sealed.as_bytes().len() {
            let mut changed = sealed.clone();
            changed.0[place] ^= 1;
            assert!(
                matches!(key.open_result(job, &changed), Err(Error::Seal(_))),
                "byte {place}"
            );
        }

        let short = Sealed::from_bytes(vec![0; 23]);
        assert!(matches!(key.open_result(job, &short), Err(Error::Seal(_))));
        std::fs::write(folder.file(RESULT_KEY), [0; 31]).expect("written");
        assert!(matches!(ResultKey::open(&folder), Err(Error::File { .. })));
    }

    #[test]
    fn a_kept_share_opens_under_its_name_only() {
        let place = tempfile::tempdir().expect("folder");
        let folder = Folder::claim(place.path()).expect("free");
        let key = ResultKey::open(&folder).expect("made");
        let again = ResultKey::open(&folder).expect("read");
        let (job, other) = (JobId([1; 16]), JobId([2; 16]));
        let sealed = key.seal(job, b"secret").expect("sealed");
        let posted = key.seal_posted(job, b"value").expect("sealed");
        let kept = key.seal_kept(job, "balances", b"share").expect("sealed");
        let opened = again.open_kept(job, "balances", &kept).expect("opens");
        assert_eq!(opened.as_slice(), b"share");
        assert!(!kept.as_bytes().windows(5).any(|part| part == b"share"));
        for (job, name) in [
            (job, "balance"),
            (job, "balances."),
            (job, ""),
            (other, "balances"),
        ] {
            assert!(
                matches!(key.open_kept(job, name, &kept), Err(Error::Seal(id)) if id == job),
                "{job} {name}"
            );
        }
        assert!(matches!(key.open_result(job, &kept), Err(Error::Seal(_))));
        assert!(matches!(key.open_posted(job, &kept), Err(Error::Seal(_))));
        for sealed in [&sealed, &posted] {
            assert!(matches!(
                key.open_kept(job, "balances", sealed),
                Err(Error::Seal(_))
            ));
        }
        for place in 0..kept.as_bytes().len() {
            let mut changed = kept.clone();
            changed.0[place] ^= 1;
            assert!(
                matches!(key.open_kept(job, "balances", &changed), Err(Error::Seal(_))),
                "byte {place}"
            );
        }
    }

    #[test]
    fn digests_are_of_one_service() {
        let place = tempfile::tempdir().expect("folder");
        let folder = Folder::claim(place.path()).expect("free");
        let key = ResultKey::open(&folder).expect("made");
        let again = ResultKey::open(&folder).expect("read");
        let digest = key.digest("one", b"value");
        assert_eq!(again.digest("one", b"value"), digest);
        assert_ne!(key.digest("other", b"value"), digest);
        assert_ne!(key.digest("one", b"values"), digest);
        let another = ResultKey(Zeroizing::new([7; 32]));
        assert_ne!(another.digest("one", b"value"), digest);
    }
}
