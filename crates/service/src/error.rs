//! What can go wrong in what a service remembers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cenote_api::view::Place;

use crate::audit::Fault;
use crate::job::{JobId, StateName};
use crate::token::Scope;

/// The result of most calls of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call did not do what was asked; what it was asked to do has then changed nothing, but for [`Error::Unknown`] and [`Error::Recorded`].
///
/// No message holds a secret, a value, or the text of a database's address.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another service uses the folder or the database.
    #[error(
        "{place} is in use by another service ({holder}); stop that one, or give this one a folder and a database of its own"
    )]
    InUse {
        /// The folder or the database.
        place: String,
        /// What is known of the one that uses it.
        holder: String,
    },
    /// A newer Cenote has written the database.
    #[error(
        "the database is of version {found}, and this Cenote knows versions up to {known}; start the Cenote that upgraded it, or a newer one"
    )]
    Newer {
        /// The database's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The database holds tables, but not those of a service.
    #[error(
        "the database holds tables of something else; give the service an empty database, or one that a service has made"
    )]
    NotOurs,
    /// The database's address cannot be used.
    #[error("the database's address cannot be used: {0}")]
    Address(String),
    /// The database refused or could not be reached; nothing has changed.
    #[error("the database: {0}")]
    Database(String),
    /// A disk has no room for what is to be recorded; nothing has changed.
    #[error("the disk of {place} is full; make room there, and the service goes on by itself")]
    Full {
        /// The file that cannot grow, or the server that has no room.
        place: String,
    },
    /// A job was submitted and recorded, and what should have followed was not done.
    #[error(
        "job {job} is recorded, and what this party decides on it could not be: {cause}; submit it again with the same idempotency key, or decide on it by hand"
    )]
    Recorded {
        /// The job.
        job: JobId,
        /// Why this party's decision is missing.
        cause: Box<Error>,
    },
    /// The database's file cannot be read as one.
    #[error(
        "the database {} is damaged: {reason}; stop the service and keep its folder as it is, to find out what wrote to it; to go on, give the service an empty folder (docs/operating.md, Backup), and never an older copy",
        path.display()
    )]
    Damaged {
        /// The database's file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The connection was lost while a transaction was being committed, so that it may or may not have taken effect.
    #[error(
        "the database was lost while it recorded this: {0}; look at the present state before trying again"
    )]
    Unknown(String),
    /// A file or folder cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The audit log is not what the database says it is.
    #[error("the audit log, {file} in the service's folder: {0}; {advice}", file = crate::audit::FILE, advice = .0.advice())]
    Audit(Fault),
    /// What the database holds cannot have been written by a service.
    #[error("the database holds {0}, which no service writes: it was changed by something else")]
    Corrupt(String),
    /// A call that is wrong, or cannot be made here or now.
    #[error("{0}")]
    Call(String),
    /// A call that has begun has no outcome.
    #[error("the call failed: {0}; make it again under another name")]
    CallFailed(String),
    /// Another call of the job has this name.
    #[error(
        "a call of job {job} was made under this name with other inputs, or with another token; give this one another name"
    )]
    OtherCall {
        /// The job.
        job: JobId,
    },
    /// Too many calls wait.
    #[error("{0}; try again later")]
    Crowded(String),
    /// The calls that a job allows are used up.
    #[error("job {job} allows {most} calls, which are used up; propose it anew")]
    Calls {
        /// The job.
        job: JobId,
        /// The calls that it allows.
        most: u64,
    },
    /// No job has this name.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The event cannot happen to the job in its state.
    #[error("job {job} is {state}, so that {event} is not possible")]
    NoTransition {
        /// The job.
        job: JobId,
        /// Its state, which stays.
        state: StateName,
        /// The event that was refused.
        event: String,
    },
    /// A decision is on a proposal other than the one that this party has for the job.
    #[error("job {job}: {event} is on another proposal than this party has, and has no effect")]
    OtherProposal {
        /// The job.
        job: JobId,
        /// The event that was refused.
        event: String,
    },
    /// The proposal is not one.
    #[error("the proposal is refused: {0}")]
    Proposal(String),
    /// The approval does not go with the job or this party's data.
    #[error("the approval is refused: {0}")]
    Approval(String),
    /// No job can be made of a query.
    #[error("{what}")]
    Query {
        /// Where in its text.
        place: Option<Place>,
        /// What is wrong, and what to write instead.
        what: String,
    },
    /// The idempotency key was used with another body.
    #[error("the idempotency key was used for job {job} with another body; use a new key for a new job")]
    OtherBody {
        /// The job that the key was used for.
        job: JobId,
    },
    /// A job has this name, and another proposal.
    #[error("job {job} is known with another proposal")]
    SameName {
        /// The job.
        job: JobId,
    },
    /// So many of a peer's jobs have ended within the last hour without having run here.
    #[error(
        "{ended} jobs of party {proposer} have ended within the last hour without having run, and {limit} may; propose it again later"
    )]
    TooManyUnrun {
        /// The proposer.
        proposer: u8,
        /// Its jobs that ended so.
        ended: u64,
        /// The limit.
        limit: u64,
    },
    /// The proposer has as many unfinished jobs as it may have.
    #[error(
        "party {proposer} has {open} unfinished jobs, and may have {limit}; wait for some to end, or cancel some"
    )]
    TooMany {
        /// Who proposed.
        proposer: u8,
        /// How many of its jobs are unfinished.
        open: u64,
        /// How many may be.
        limit: u64,
    },
    /// One person has as many of this party's jobs as one may have.
    #[error(
        "of the jobs submitted with this token's name {open} are unfinished, and {ended} have ended within the last hour without having run; {limit} of each may; wait for some to end, or submit it again later"
    )]
    TooManyOfOne {
        /// Jobs of that name that are unfinished.
        open: u64,
        /// Those that ended so.
        ended: u64,
        /// The limit.
        limit: u64,
    },
    /// A rule has approved the job, or this party has proposed it, and by now a person has to look into it first.
    #[error(
        "{0}; no job with that party begins that this party has proposed or that a rule has approved, until a person here has found out why (`cenote peer settle {peer}`)",
        peer = .0.peer
    )]
    Unsettled(crate::job::Unsettled),
    /// Something else is on record against a peer than the person has seen who settles it.
    #[error(
        "something else is on record by now than was seen: {0} (times: {times}, grave: {grave}); nothing was settled",
        times = .0.times,
        grave = .0.grave
    )]
    OtherUnsettled(crate::job::Unsettled),
    /// The job has not been done, so that there is no result yet, or never will be.
    #[error("job {job} is {state}: it has no result")]
    NotDone {
        /// The job.
        job: JobId,
        /// Its state.
        state: StateName,
    },
    /// Something else is on record of a party whose folder was put back than the person has seen who acknowledges it.
    #[error("something else is on record by now than was seen: {0}; nothing was acknowledged")]
    OtherPutBack(crate::PutBack),
    /// The job has no result to fetch.
    #[error("job {job} has no result to fetch: {reason}")]
    NoResult {
        /// The job.
        job: JobId,
        /// Why not.
        reason: &'static str,
    },
    /// So many outputs were given for a job that keeps another number of them.
    #[error("job {job} keeps {keeps} outputs, and {given} were given; none is recorded")]
    Keeps {
        /// The job.
        job: JobId,
        /// The outputs that it keeps.
        keeps: usize,
        /// Those that were given.
        given: usize,
    },
    /// A value is not kept here.
    #[error(
        "this party keeps no value {name} of job {job}: it never did, or the value has expired or was dropped; run the job anew that keeps it, or take another value"
    )]
    NoKept {
        /// The value's name.
        name: String,
        /// The job that is said to have kept it.
        job: JobId,
    },
    /// What was sealed cannot be opened with the folder's key.
    #[error(
        "what was sealed for job {0} cannot be opened: it was changed, or sealed under another folder's key"
    )]
    Seal(JobId),
    /// The key under which results and kept values are sealed is not in its place.
    #[error(
        "{} {what}: {results} results and {kept} kept values are sealed under it; put it back from a copy; if it is lost for good, `cenote serve --give-up-sealed` deletes them, and makes a new key",
        path.display()
    )]
    ResultKey {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// Results that only it opens.
        results: u64,
        /// Shares of kept values that only it opens.
        kept: u64,
    },
    /// The token is not one, has been revoked, or has expired.
    #[error("the token is not valid; ask who runs this service for one")]
    Token,
    /// The token lacks a scope.
    #[error("the token may not {0}")]
    Scope(Scope),
    /// A token's description cannot be used.
    #[error("the token is refused: {0}")]
    TokenText(&'static str),
    /// More calls wait for the database than may.
    #[error("{waiting} calls wait for the database; try again later")]
    Busy {
        /// How many wait.
        waiting: usize,
    },
    /// The database's thread has ended.
    #[error("the database is closed")]
    Closed,
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full(place) => Error::Full { place },
            fault => Error::Audit(fault),
        }
    }
}

impl Error {
    /// What the system says of the file or folder at `path`.
    pub fn of_file(path: &Path, error: &std::io::Error) -> Self {
        match is_full(error) {
            true => Error::Full {
                place: path.display().to_string(),
            },
            false => Error::file(path, error),
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Error::File {
            path: path.into(),
            reason: reason.to_string(),
        }
    }
}

/// Whether a disk has no room.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
