//! The data of this party: a folder of named files, and values that were posted for a job.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use cenote::catalogue::{usual_names, wrong_data_name};
use cenote_service::job::{Digest, FileMark, JobId};
use cenote_service::live::Data;
use cenote_service::{ResultKey, Sealed, Timestamp, write_whole};
use rustix::fs::OFlags;
use zeroize::Zeroizing;

/// Files that are listed, at most.
const LISTED: usize = 10_000;
/// Bytes of the values that are posted for a job, at most.
pub(crate) const POSTED: usize = 64 << 20;

/// The folder of data.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, which is made where there is none, for its owner only.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        make_private(path).map_err(|error| format!("the folder of data cannot be made: {error}"))?;
        Ok(Folder(path.to_owned()))
    }

    /// The file of this name. What is no regular file is not opened.
    ///
    /// # Errors
    /// What is wrong with the name or the file; its path is not told.
    pub(crate) fn file(&self, name: &str) -> Result<File, String> {
        let path = self.path(name)?;
        let fault = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no data called {name:?}"),
            _ if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) => {
                format!("the data {name:?} is no regular file")
            }
            _ => format!("the data {name:?} cannot be read: {}", error.kind()),
        };
        // Neither a link, which may lead anywhere, nor a pipe, which would wait.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)
            .map_err(fault)?;
        if !file.metadata().map_err(fault)?.is_file() {
            return Err(format!("the data {name:?} is no regular file"));
        }
        Ok(file)
    }

    /// Sees that there is data of this name, which is not read.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub(crate) fn check(&self, name: &str) -> Result<(), String> {
        self.file(name).map(drop)
    }

    /// The file of this data as it is. It is not read.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub(crate) fn mark(&self, name: &str) -> Result<FileMark, String> {
        mark(&self.file(name)?).ok_or_else(|| format!("the data {name:?} cannot be looked at"))
    }

    /// The name of the data that goes with an input of this name where nobody chooses.
    pub(crate) fn named_as(&self, input: &str) -> Option<String> {
        usual_names(input)
            .into_iter()
            .find(|name| self.check(name).is_ok())
    }

    /// What there is, by name.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn list(&self) -> std::io::Result<Vec<Data>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)?.take(LISTED) {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(metadata) = entry.metadata() else { continue };
            if self.path(&name).is_err() || !metadata.is_file() {
                continue;
            }
            let FileMark { bytes, changed } = mark_of(&metadata);
            all.push(Data { name, bytes, changed });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, String> {
        match wrong_data_name(name) {
            Some(wrong) => Err(wrong.into()),
            None => Ok(self.0.join(name)),
        }
    }
}

/// An open file as it is.
pub(crate) fn mark(file: &File) -> Option<FileMark> {
    file.metadata().ok().map(|metadata| mark_of(&metadata))
}

fn mark_of(metadata: &Metadata) -> FileMark {
    let changed = metadata.modified().ok();
    let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    let millis = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    FileMark {
        bytes: metadata.len(),
        changed: Timestamp::from_millis(millis),
    }
}

/// Values that were posted for jobs that have not begun, sealed: a file of each approval, called by the job and its own digest.
pub(crate) struct Posted {
    folder: PathBuf,
    key: Arc<ResultKey>,
}

impl Posted {
    /// Those in the folder at `path`, which is made where there is none.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(path: &Path, key: Arc<ResultKey>) -> Result<Self, String> {
        make_private(path).map_err(|error| format!("the folder of posted values cannot be made: {error}"))?;
        let folder = path.to_owned();
        Ok(Posted { folder, key })
    }

    /// Keeps the values of an approval of a job. Gives the digest under which they lie.
    ///
    /// # Errors
    /// That they are too many, or what the system says.
    pub(crate) fn put(&self, job: JobId, values: &BTreeMap<String, String>) -> Result<Digest, String> {
        let fault = |error: String| format!("posted values cannot be kept: {error}");
        if values.values().map(String::len).sum::<usize>() > POSTED {
            return Err(format!(
                "more than {POSTED} bytes of values are posted; put them into a file of data"
            ));
        }
        let text = Zeroizing::new(serde_json::to_vec(values).map_err(|error| fault(error.to_string()))?);
        let sealed = self
            .key
            .seal_posted(job, &text)
            .map_err(|error| fault(error.to_string()))?;
        let digest = Digest::of(sealed.as_bytes());
        write_whole(
            &self.folder,
            &name_of(job, Some(digest)),
            &format!("{job}.part"),
            sealed.as_bytes(),
        )
        .map_err(|error| fault(error.to_string()))?;
        Ok(digest)
    }

    /// Gives the values of the approval of a job that has this digest, and deletes all of the job unless it `goes_on`. Services of before recorded none.
    ///
    /// # Errors
    /// That they are not there, or were changed.
    pub(crate) fn take(
        &self,
        job: JobId,
        digest: Option<Digest>,
        goes_on: bool,
    ) -> Result<BTreeMap<String, Zeroizing<String>>, String> {
        let mut bytes = Vec::new();
        File::open(self.folder.join(name_of(job, digest)))
            .and_then(|file| file.take(8 * POSTED as u64).read_to_end(&mut bytes))
            .map_err(|error| format!("the values that were posted are gone: {}", error.kind()))?;
        if !goes_on {
            self.remove(job);
        }
        let text = self
            .key
            .open_posted(job, &Sealed::from_bytes(bytes))
            .map_err(|error| error.to_string())?;
        let values: BTreeMap<String, String> = serde_json::from_slice(&text)
            .map_err(|_| "the values that were posted are no values".to_owned())?;
        Ok(values
            .into_iter()
            .map(|(name, value)| (name, Zeroizing::new(value)))
            .collect())
    }

    /// Deletes the values of one approval of a job.
    pub(crate) fn remove_one(&self, job: JobId, digest: Digest) {
        let _ = fs::remove_file(self.folder.join(name_of(job, Some(digest))));
    }

    /// Deletes the values of a job, if there are any.
    pub(crate) fn remove(&self, job: JobId) {
        self.keep(|of| of != job);
    }

    /// Deletes those of all jobs but the ones that `wanted` says.
    pub(crate) fn keep(&self, wanted: impl Fn(JobId) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let job = name.to_str().and_then(|name| name.split(['-', '.']).next());
            let job: Option<JobId> = job.and_then(|job| job.parse().ok());
            if !job.is_some_and(&wanted) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn name_of(job: JobId, digest: Option<Digest>) -> String {
    match digest {
        Some(digest) => format!("{job}-{digest}"),
        None => job.to_string(),
    }
}

pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_the_folder_itself_are_data() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(&place.path().join("data")).expect("made");
        std::fs::write(place.path().join("secret"), "1").expect("written");
        std::fs::write(place.path().join("data/x.csv"), "1\n").expect("written");
        std::fs::write(place.path().join("data/.hidden"), "1\n").expect("written");
        std::fs::create_dir(place.path().join("data/folder")).expect("made");
        std::os::unix::fs::symlink(place.path().join("secret"), place.path().join("data/link"))
            .expect("linked");

        folder.check("x.csv").expect("there");
        let names: Vec<String> = folder
            .list()
            .expect("listed")
            .into_iter()
            .map(|data| data.name)
            .collect();
        assert_eq!(names, ["x.csv"]);
        assert_eq!(folder.named_as("x"), Some("x.csv".into()));
        assert_eq!(folder.named_as("north.x"), Some("x.csv".into()));
        assert_eq!(folder.named_as("y"), None);
        let pipe = std::process::Command::new("mkfifo")
            .arg(place.path().join("data/pipe"))
            .status();
        assert!(pipe.expect("mkfifo").success());
        for (name, part) in [
            ("pipe", "no regular file"),
            ("../secret", "a name of data has"),
            ("/etc/passwd", "a name of data has"),
            ("", "a name of data has"),
            (".hidden", "a name of data has"),
            ("..", "a name of data has"),
            ("a\0b", "a name of data has"),
            ("link", "no regular file"),
            ("folder", "no regular file"),
            ("y", "there is no data called \"y\""),
        ] {
            let text = folder.file(name).map(drop).expect_err(name);
            assert!(text.contains(part), "{name}: {text}");
            assert!(!text.contains(&place.path().display().to_string()), "{text}");
        }
    }

    #[test]
    fn posted_values_are_sealed_and_given_once() {
        let place = tempfile::tempdir().expect("a folder");
        let claimed = cenote_service::Folder::claim(&place.path().join("service")).expect("free");
        let key = Arc::new(ResultKey::open(&claimed).expect("made"));
        let posted = Posted::open(&place.path().join("posted"), key).expect("made");
        let job = JobId([1; 16]);
        let values = BTreeMap::from([("x".to_owned(), "0xdeadbeef".to_owned())]);
        let put = |values| posted.put(job, values).expect("kept");
        let digest = put(&values);
        let file = place.path().join("posted").join(format!("{job}-{digest}"));
        let kept = std::fs::read(file).expect("there");
        assert!(!kept.windows(8).any(|part| part == b"deadbeef"));
        let given = posted.take(job, Some(digest), false).expect("given");
        assert_eq!(given["x"].as_str(), "0xdeadbeef");
        assert!(posted.take(job, Some(digest), false).is_err());

        let digest = put(&values);
        posted.keep(|_| false);
        assert!(posted.take(job, Some(digest), false).is_err());

        // One approval's values are neither exchanged nor deleted by another's, and all go with the job.
        let digests = [
            put(&values),
            put(&values),
            put(&BTreeMap::from([("x".into(), "1".into())])),
        ];
        posted.remove_one(job, digests[1]);
        posted.remove(JobId([2; 16]));
        let given = posted.take(job, Some(digests[0]), false).expect("given");
        assert_eq!(given["x"].as_str(), "0xdeadbeef");
        assert!(posted.take(job, Some(digests[2]), false).is_err());
        assert_eq!(
            std::fs::read_dir(place.path().join("posted"))
                .expect("there")
                .count(),
            0
        );
    }
}
