//! The service itself, its peers and its stock.

use serde::{Deserialize, Serialize};

use crate::{JobId, Timestamp};

/// Which party this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct About {
    /// Its number.
    pub party: u8,
    /// The names of all parties, in order.
    pub parties: Vec<String>,
    /// The version of the program.
    pub version: String,
    /// The fingerprint of its key, by which the others know it.
    pub fingerprint: String,
    /// Since when it is up.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub since: Timestamp,
    /// The time by its clock.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub now: Timestamp,
    /// Why no jobs can be taken, if none can.
    pub not_ready: Option<String>,
    /// The names of the protocols that jobs may ask for.
    #[serde(default)]
    pub protocols: Vec<String>,
}

/// Named data of this party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it last changed.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub changed: Timestamp,
}

/// Another party.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Peer {
    /// Its number.
    pub party: u8,
    /// Its name.
    pub name: String,
    /// Where it is, if this party dials it.
    pub address: Option<String>,
    /// How the connection stands: `connecting`, `up`, `down`, or `refused` where the peer is one with whom nothing can be done.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "up"))]
    pub link: LinkState,
    /// Why the connection is down or refused.
    pub reason: Option<String>,
    /// When it is tried again, if this party is the one that dials.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub again: Option<Timestamp>,
    /// Since when it stands so.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub since: Timestamp,
    /// The version that it runs, once it has said.
    pub version: Option<String>,
    /// A message to it and back, in milliseconds, the last time.
    pub round_trip: Option<f64>,
    /// How far its clock is ahead of this one, in milliseconds.
    pub clock_ahead: Option<f64>,
    /// Bytes sent to it since the service came up.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
}

/// How the connection to a peer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// It is being made, or waited for, for the first time.
    Connecting,
    /// It is there.
    Up,
    /// It is not there.
    Down,
    /// The peer is one with whom nothing can be done: another version, another key. It is tried again, seldom.
    Refused,
}

/// What is on record against a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Unsettled {
    /// The peer's number.
    pub party: u8,
    /// How often sessions with it have begun and not ended in agreement; 1000 also stands for more.
    pub times: u64,
    /// Whether one of them is enough for a person to be asked: a check found that a party deviated, or a bound was passed.
    pub grave: bool,
}

/// A party whose folder was put back to an earlier state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PutBack {
    /// The party's number, which may be that of the party that was asked.
    pub party: u8,
    /// Lines that its audit log had, at the least.
    pub lines: u64,
    /// The parties that remember it.
    pub told_by: Vec<u8>,
}

/// Material of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Stock {
    /// The protocol.
    pub protocol: String,
    /// What is counted.
    pub kind: String,
    /// How much there is.
    pub amount: u64,
    /// How much there should be.
    pub target: u64,
    /// Whether more of it is being made.
    pub making: bool,
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Running {
    /// The job.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub job: JobId,
    /// Since when.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub since: Timestamp,
    /// AND gates done; of a job that stands, calls that have begun.
    pub done: u64,
    /// Of so many.
    pub total: u64,
    /// Whether it stands.
    #[serde(default)]
    pub stands: bool,
    /// How far its shards are, if it is cut into shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<RunningShards>,
}

/// How far the shards of a job are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunningShards {
    /// How many shards there are.
    pub shards: u32,
    /// Those that are done.
    pub done: u32,
    /// Attempts that were made so far, at shards and the merge.
    pub handed_out: u32,
    /// How many there may be.
    pub attempts: u32,
    /// What is computed now, such as `shard 3 (attempt 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

/// What an operator should see to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Alarm {
    /// Its kind: cheating, peer-lost, stock-low, disk, clock, unsettled, put-back, warning.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: AlarmKind,
    /// What it is about.
    pub text: String,
    /// What to do.
    pub advice: String,
    /// Since when.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub since: Timestamp,
}

/// Kinds of alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmKind {
    /// A peer's cheating was detected.
    Cheating,
    /// A peer has been away for long.
    PeerLost,
    /// Material is far below its target.
    StockLow,
    /// The disk is nearly full, or cannot be written.
    Disk,
    /// Clocks differ.
    Clock,
    /// Sessions with a peer have begun and not ended in agreement, so often or so gravely that no rule approves a job with it.
    Unsettled,
    /// A party's folder was put back to an earlier state.
    PutBack,
    /// A session told of something besides its outputs.
    Warning,
}
