//! What is worth a line.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::job::{Digest, FailKind, JobId, Verdict};
use crate::token::Scope;

/// Who caused an event at this party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actor {
    /// A holder of a token, by the token's name.
    Person(String),
    /// A rule of the policy, by its name.
    Rule(String),
    /// Another party, by its number.
    Peer(u8),
    /// The service itself.
    Service,
}

/// A file of data, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// The data's name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was changed last.
    pub changed: String,
}

/// What happened. No event holds a value, a secret or a path of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The first line.
    Begun {
        /// The log's random name.
        log: String,
    },
    /// The service came up.
    Started {
        /// The version of the program.
        version: String,
    },
    /// A policy was loaded.
    Policy {
        /// The digest of its file.
        digest: Digest,
    },
    /// A job was proposed.
    Proposed {
        /// The job.
        job: JobId,
        /// The proposing party.
        proposer: u8,
        /// By whom.
        by: Actor,
        /// The digest of the program.
        program: Digest,
        /// The digest of the whole proposal.
        proposal: Digest,
        /// The parties that learn outputs.
        receivers: Vec<u8>,
    },
    /// A party approved or declined a job.
    Decided {
        /// The job.
        job: JobId,
        /// The party whose decision it is.
        party: u8,
        /// By whom.
        by: Actor,
        /// What was decided.
        verdict: Verdict,
        /// Why.
        reason: String,
        /// The names of this party's data that may be used; a kept value's is `kept:` and its name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        data: Vec<String>,
    },
    /// All parties have approved, and the job waits for its turn.
    Queued {
        /// The job.
        job: JobId,
    },
    /// The run of a job in shards was cut off; the job waits, and goes on with a line that it runs.
    Interrupted {
        /// The job.
        job: JobId,
        /// What has cut it off.
        reason: String,
    },
    /// The job runs, and this party's data is used.
    Running {
        /// The job.
        job: JobId,
        /// The files of data that are used.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        data: Vec<DataFile>,
    },
    /// The job is done: these parties have learnt outputs, and all have kept others.
    Done {
        /// The job.
        job: JobId,
        /// The digest of the program.
        program: Digest,
        /// The parties that learnt outputs.
        learnt: Vec<u8>,
        /// The names under which outputs are kept.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// These calls of a job that stands may be answered from here on: the line is on the disk before any of them.
    CallsAllowed {
        /// The job.
        job: JobId,
        /// The number of the first of them, from 1.
        from: u64,
        /// That of the last.
        to: u64,
        /// The values of the parameters, where it is one call of a query.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        parameters: BTreeMap<String, String>,
    },
    /// Calls of a job that stands were answered.
    Calls {
        /// The job.
        job: JobId,
        /// How many.
        calls: u64,
        /// The BLAKE3 digest of their names, 16 bytes each, in the order in which they were answered.
        digest: Digest,
    },
    /// The job failed.
    Failed {
        /// The job.
        job: JobId,
        /// By whom that was said.
        by: Actor,
        /// The kind of failure.
        kind: FailKind,
        /// Why.
        reason: String,
    },
    /// The job was cancelled.
    Cancelled {
        /// The job.
        job: JobId,
        /// By whom.
        by: Actor,
    },
    /// A result was given out.
    Fetched {
        /// The job.
        job: JobId,
        /// To whom.
        by: Actor,
    },
    /// A result was deleted, fetched or not.
    Expired {
        /// The job.
        job: JobId,
    },
    /// A kept value was dropped here.
    KeptDropped {
        /// Its name.
        name: String,
        /// The job that kept it.
        job: JobId,
        /// By whom.
        by: Actor,
    },
    /// The time of a kept value was over, and it was deleted.
    KeptExpired {
        /// Its name.
        name: String,
        /// The job that kept it.
        job: JobId,
    },
    /// A disclosure was given back, because nothing can have been learnt.
    Refunded {
        /// The job.
        job: JobId,
        /// The names of the data.
        data: Vec<String>,
    },
    /// A check found that a peer deviated.
    CheckFailed {
        /// The job, if it was in one.
        #[serde(skip_serializing_if = "Option::is_none")]
        job: Option<JobId>,
        /// The peer, if the check tells which.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<u8>,
        /// The check's name.
        check: String,
    },
    /// A session told its parties something besides its outputs that an operator should know.
    Warned {
        /// The job.
        job: JobId,
        /// What it told.
        warning: String,
    },
    /// The bound on the probability that an output of a session is wrong was larger than this party's policy or the job allows.
    BoundPassed {
        /// The job.
        job: JobId,
        /// Bits of security that are left.
        bits: u16,
        /// Bits that there should be.
        least: u16,
    },
    /// A person has looked into the sessions that had begun with a peer and not ended in agreement.
    Settled {
        /// The peer.
        peer: u8,
        /// How often there were such sessions.
        times: u64,
        /// Whether one of them was enough.
        grave: bool,
        /// By whom.
        by: Actor,
    },
    /// A party's audit log lacks a line that it had told another party: its folder was put back to an earlier state.
    PutBack {
        /// The party, which may be this one.
        party: u8,
        /// The party that remembers the line.
        told_by: u8,
        /// The line.
        lines: u64,
    },
    /// A peer claims to remember a line of this party's audit log that this party never told it.
    ClaimRefused {
        /// The peer.
        peer: u8,
        /// The line.
        lines: u64,
    },
    /// A person goes on although a party's folder was put back.
    PutBackAcknowledged {
        /// The party, which may be this one.
        party: u8,
        /// Lines that its audit log had, at the least.
        lines: u64,
        /// By whom.
        by: Actor,
    },
    /// A version of this party's catalogue was published to a peer.
    CataloguePublished {
        /// To which.
        to: u8,
        /// The version.
        version: u64,
        /// The digest of what that peer is told.
        digest: Digest,
    },
    /// A version of a peer's catalogue came.
    CatalogueHeard {
        /// Whose.
        from: u8,
        /// The version.
        version: u64,
        /// The digest of what this party was told.
        digest: Digest,
    },
    /// What a peer has sent as its catalogue did not pass a check, and nothing of it is kept.
    CatalogueRefused {
        /// Whose.
        from: u8,
        /// The version.
        version: u64,
        /// The check's name.
        check: String,
    },
    /// Somebody may use the interface by a new token.
    TokenMade {
        /// Its public name.
        token: String,
        /// What it was named.
        name: String,
        /// What it may do.
        scopes: Vec<Scope>,
        /// By whom.
        by: Actor,
    },
    /// Nobody may use the interface by this token any more.
    TokenRevoked {
        /// Its public name.
        token: String,
        /// By whom.
        by: Actor,
    },
    /// A login token was exchanged for a session.
    SessionBegun {
        /// The session's public name.
        session: String,
        /// The login token's public name.
        login: String,
    },
}
