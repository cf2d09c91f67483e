//! What unfinished jobs in shards leave on this party's disk, to go on from: a folder each, with its ledger and what its shards have kept, sealed.

use std::io::ErrorKind;
use std::path::PathBuf;

use cenote::shards::may_be_opened;
use cenote_service::job::JobId;

/// The folders of jobs in shards.
pub(crate) struct ShardFolders(PathBuf);

impl ShardFolders {
    /// Those at this path, each of which is made when its job runs.
    pub(crate) fn new(path: PathBuf) -> Self {
        ShardFolders(path)
    }

    pub(crate) fn of(&self, job: JobId) -> PathBuf {
        self.0.join(job.to_string())
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
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "what shards have left cannot be removed");
        }
        _ => {}
    }
}
