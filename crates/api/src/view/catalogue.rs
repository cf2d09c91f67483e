//! What may be asked of which data, as the parties publish it, and jobs that are made of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The catalogues that a party knows: its own and those that its peers have sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Catalogue {
    /// One of each party, in order.
    pub parties: Vec<CatalogueParty>,
}

/// The catalogue of a party. It is the party's word, which nothing checks before a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CatalogueParty {
    /// The party's number.
    pub party: u8,
    /// Its name.
    pub name: String,
    /// Whether it is the party that was asked.
    pub own: bool,
    /// The version, which grows with each change; 0 if the party has never published anything.
    pub version: u64,
    /// The digest of what it has published to the party that was asked: of its own, of all that it publishes. Empty if there is none.
    pub digest: String,
    /// Since when the party that was asked knows this version.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub at: Option<Timestamp>,
    /// Whether the party is there. If not, its catalogue is as it was.
    pub connected: bool,
    /// What it publishes.
    pub tables: Vec<CatalogueTable>,
}

/// A table that a party publishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CatalogueTable {
    /// Its name.
    pub name: String,
    /// Of an own table: the data that stands for it. No other party is told.
    pub data: Option<String>,
    /// Of an own table: the names of the parties that it is published to. No other party is told, so the list is empty then.
    pub to: Vec<String>,
    /// The most rows that it may have.
    pub max_rows: u64,
    /// Its columns, in order.
    pub columns: Vec<CatalogueColumn>,
    /// What is promised of several columns together, or of the table, in words.
    pub promises: Vec<String>,
    /// What its owner's rules let be asked of it, in words.
    pub rules: Vec<String>,
    /// It as a job declares it, with its owner's number.
    pub declaration: String,
}

/// A column of a published table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CatalogueColumn {
    /// Its name.
    pub name: String,
    /// Its type, as a job declares it, such as `u32 not null`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is promised of it, as words such as `unique` or `less than 13`.
    pub promises: Vec<String>,
}

/// A query of which a job is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Compose {
    /// The query. A table that several parties publish has its party's name before its own: `north.orders`.
    pub sql: String,
    /// The names of the parties that learn the answer.
    pub receivers: Vec<String>,
    /// The protocol; without it, the usual one for as many parties as there must be.
    #[serde(default)]
    pub protocol: Option<String>,
    /// What the job is for, in a line of words that is put before it as a comment.
    #[serde(default)]
    pub name: Option<String>,
    /// Groups of fewer rows are left out of the answer. Without it, the least that this party's own rules and those of the catalogues ask for, if the query has groups.
    #[serde(default)]
    pub min_group: Option<u64>,
    /// The most rows of the answer; without it, all parties learn how many there are.
    #[serde(default)]
    pub max_rows: Option<u64>,
    /// In how many seconds the job must be done. It stands in the command that proposes the job, not in the job file.
    #[serde(default)]
    pub deadline_seconds: Option<u64>,
}

/// A job that was made of a query and the catalogues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Composed {
    /// The text of the job file, which can be proposed as it is.
    pub job: String,
    /// The data of this party's own tables, by the job's name of the table.
    pub data: BTreeMap<String, String>,
    /// In how many seconds the job must be done, as it was asked.
    pub deadline_seconds: Option<u64>,
}

/// A place in a text: line and column, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}
