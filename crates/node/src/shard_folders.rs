//! What unfinished jobs in shards leave on this party's disk, to go on from: a folder each, with its ledger and what its shards have kept, sealed. It is there from
//! when the job begins, so that it tells a job in shards from others.

use std::io::ErrorKind;
use std::path::PathBuf;

use cenote::shards::{has_begun, may_be_opened};
use cenote_service::job::JobId;

use crate::data::make_private;

/// The folders of jobs in shards.
pub(crate) struct ShardFolders(PathBuf);

impl ShardFolders {
    /// Those at this path.
    pub(crate) fn new(path: PathBuf) -> Self {
        ShardFolders(path)
    }

    pub(crate) fn of(&self, job: JobId) -> PathBuf {
        self.0.join(job.to_string())
    }

    /// Makes the folder of a job that begins, for its owner only.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn make(&self, job: JobId) -> Result<(), String> {
        make_private(&self.of(job))
            .map_err(|error| format!("the folder of its shards cannot be made: {error}"))
    }

    /// Whether a job that was running can go on: it has left a folder, and its answer was not opened.
    pub(crate) fn can_go_on(&self, job: JobId) -> bool {
        matches!(self.of(job).try_exists(), Ok(true)) && !self.may_be_opened(job)
    }

    /// Whether the parties of a job have begun it together.
    pub(crate) fn has_begun(&self, job: JobId) -> bool {
        has_begun(&self.of(job))
    }

    /// Whether a job's answer may have been opened.
    pub(crate) fn may_be_opened(&self, job: JobId) -> bool {
        may_be_opened(&self.of(job))
    }

    /// Removes the folder of a job that has ended, if it has one.
    pub(crate) fn remove(&self, job: JobId) {
        remove(self.of(job));
    }

    /// Removes those of all jobs but the ones that `wanted` says.
    pub(crate) fn keep(&self, wanted: impl Fn(JobId) -> bool) {
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let job: Option<JobId> = name.to_str().and_then(|name| name.parse().ok());
            if !job.is_some_and(&wanted) {
                remove(entry.path());
            }
        }
    }
}

fn remove(folder: PathBuf) {
    let removed = match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => std::fs::remove_file(&folder),
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "what shards have left cannot be removed");
        }
        _ => {}
    }
}
