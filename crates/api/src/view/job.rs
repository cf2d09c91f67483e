//! Jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AskedQuery, Computes, Keep, Standing, Take, Weighed};
use crate::{Timestamp, unique};

/// A job as this party sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct JobView {
    /// Its name, the same at all parties.
    pub id: String,
    /// Its place in the order of arrival here, from 1.
    pub number: u64,
    /// Where it stands: proposed, approved, queued, running, done, declined, failed, cancelled.
    #[cfg_attr(feature = "schema", schema(example = "proposed"))]
    pub state: String,
    /// Of what ended early: the party that said so.
    pub ended_by: Option<u8>,
    /// Of what failed: the kind of failure.
    pub failure: Option<String>,
    /// Of what was declined or failed: why, which may be a peer's words. Of a job in shards that was interrupted and is queued again: what cut it off, and whom it waits for.
    pub reason: Option<String>,
    /// Of what has not ended and does not run: for which parties it waits, and why.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// The digest of the proposal, which approvals must name.
    pub proposal: String,
    /// The party that proposed it.
    pub proposer: u8,
    /// How many parties take part.
    pub parties: u8,
    /// The protocol.
    pub protocol: String,
    /// What it is: circuit, query, program.
    pub program_kind: String,
    /// The digest of what is computed.
    pub program: String,
    /// What it computes, in a line; nothing if its text is not kept any more, or is long.
    #[serde(default)]
    pub computes: Option<Computes>,
    /// What it is computed on.
    pub inputs: Vec<Input>,
    /// Kept values that it takes as inputs, which nobody learns.
    pub takes: Vec<Take>,
    /// Outputs that are kept instead of opened, which nobody learns.
    pub keeps: Vec<Keep>,
    /// How often it may be called, if it stands.
    #[serde(default)]
    pub standing: Option<Standing>,
    /// The parties that learn outputs.
    pub receivers: Vec<u8>,
    /// Statistical security, in bits.
    pub statistical: u16,
    /// Computational security, in bits.
    pub computational: u16,
    /// By when it must be done.
    pub deadline: u64,
    /// AND gates, as the proposer estimates.
    pub ands: u64,
    /// Bytes that a party sends, as the proposer estimates.
    pub bytes: u64,
    /// What each party has decided, by party.
    pub decisions: Vec<Option<Decision>>,
    /// When this party learnt of it.
    pub created_at: u64,
    /// When its state last changed.
    pub changed_at: u64,
}

/// An input of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The party that gives it.
    pub owner: u8,
    /// Of this party's inputs, once approved: its data's name, or `null` for posted values.
    pub data: Option<String>,
}

/// A party's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Decided))]
pub struct Decision {
    /// `approve` or `decline`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub verdict: Verdict,
    /// Why, as it says.
    pub reason: String,
    /// When this party learnt of it.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub at: Timestamp,
}

/// Approved or declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The party takes part.
    Approve,
    /// It does not.
    Decline,
}

/// Jobs, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<JobView>,
    /// Where the next page goes on (`before`), if there is one.
    pub next: Option<u64>,
}

/// A job and what it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct JobDetail {
    /// The job.
    pub job: JobView,
    /// What it would compute and reveal; `null` if that cannot be told any more.
    pub explained: Option<Explained>,
    /// Of a query that waits for this party's decision: what it should be weighed by.
    #[serde(default)]
    pub weighed: Option<Weighed>,
}

/// What a job is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Explained {
    /// What is computed, in words.
    pub summary: String,
    /// The query, if it is one.
    #[serde(default)]
    pub query: Option<AskedQuery>,
    /// Every output and who learns it.
    pub outputs: Vec<Revealed>,
    /// The job file's text.
    pub job: String,
    /// The files that it names; their texts are had by a call of their own.
    pub files: Vec<FileView>,
    /// The data that this party's catalogue has for its own tables, by table: an approval takes it unless it names other data.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

/// A file of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileView {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

/// A part of a file of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FilePart {
    /// The part's text.
    pub text: String,
    /// The bytes of the whole file.
    pub bytes: u64,
    /// Where the next part begins, if there is one.
    pub next: Option<u64>,
}

/// Bytes of a part of a file, at most.
const PART: usize = 64 << 10;

impl FilePart {
    /// The part of `text` that begins at the byte `from`, or at the first letter after it.
    pub fn of(text: &str, from: u64) -> Self {
        let place = |wanted: usize| {
            let wanted = wanted.min(text.len());
            (wanted..=text.len())
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(text.len())
        };
        let begin = place(usize::try_from(from).unwrap_or(usize::MAX));
        let end = place(begin.saturating_add(PART));
        FilePart {
            text: text.get(begin..end).unwrap_or_default().to_owned(),
            bytes: text.len() as u64,
            next: (end < text.len()).then_some(end as u64),
        }
    }
}

/// An output and who learns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Revealed {
    /// Its name.
    pub name: String,
    /// Bits of a value.
    pub bits: u64,
    /// Values.
    pub values: u64,
    /// The parties that learn it; none of one that is kept.
    pub to: Vec<u8>,
}

/// A job to be proposed. The idempotency key is a header.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The job file's text, without values.
    pub job: String,
    /// The texts of the files that it names, by the names in it.
    #[serde(default, deserialize_with = "unique::keys")]
    pub files: BTreeMap<String, String>,
    /// Seconds within which it must be done; an hour if not given.
    #[serde(default)]
    pub within: Option<u64>,
    /// If given, this party approves with it.
    #[serde(default)]
    pub approval: Option<Gift>,
}

/// What this party gives to a job.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Gift {
    /// The names of its data, by input.
    #[serde(default, deserialize_with = "unique::keys")]
    pub data: BTreeMap<String, String>,
    /// Values, by input: the text that a data file would hold.
    #[serde(default, deserialize_with = "unique::keys")]
    pub posted: BTreeMap<String, String>,
    /// Why, for the audit log.
    #[serde(default)]
    pub reason: String,
}

/// An approval.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The digest of the proposal that the approver has seen.
    pub proposal: String,
    /// The names of this party's data, by input.
    #[serde(default, deserialize_with = "unique::keys")]
    pub data: BTreeMap<String, String>,
    /// Values, by input: the text that a data file would hold.
    #[serde(default, deserialize_with = "unique::keys")]
    pub posted: BTreeMap<String, String>,
    /// Why, for the audit log.
    #[serde(default)]
    pub reason: String,
}

macro_rules! without_values {
    ($($name:ident { $($shown:ident),* };)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($shown), &self.$shown))*.finish_non_exhaustive()
            }
        }
    )*};
}
without_values! {
    Submit { within };
    Gift { data };
    Approve { proposal, data };
}

impl From<Approve> for Gift {
    fn from(approve: Approve) -> Self {
        Gift {
            data: approve.data,
            posted: approve.posted,
            reason: approve.reason,
        }
    }
}

/// A refusal to take part.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Decline {
    /// The digest of the proposal that was seen.
    pub proposal: String,
    /// Why not; the other parties are told.
    pub reason: String,
}

/// Asks for a result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// A word of the caller's choice. The result is given out once; for some minutes, who asks with the same word gets it again.
    pub key: String,
    /// As what.
    #[serde(default)]
    pub format: ResultFormat,
}

/// As what a result is given out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ResultFormat {
    /// JSON.
    #[default]
    Json,
    /// A Parquet file; of queries only.
    Parquet,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_in_parts_that_make_it_up() {
        let text = "é".repeat(PART) + "x";
        let (mut whole, mut from) = (String::new(), Some(0));
        while let Some(at) = from {
            let part = FilePart::of(&text, at);
            assert!(part.text.len() <= PART + 1 && part.bytes == text.len() as u64);
            whole += &part.text;
            from = part.next;
        }
        assert!(whole == text);
        assert_eq!(FilePart::of("ab", u64::MAX).text, "");
    }

    #[test]
    fn an_input_that_is_named_twice_is_refused() {
        for text in [
            r#"{"posted": {"x": "1", "x": "2"}}"#,
            r#"{"data": {"x": "a", "y": "b", "x": "a"}}"#,
        ] {
            let error = serde_json::from_str::<Gift>(text).expect_err(text).to_string();
            assert!(error.starts_with("duplicate field"), "{error}");
        }
        let approve = r#"{"proposal": "p", "posted": {"x": "1", "x": "1"}}"#;
        assert!(serde_json::from_str::<Approve>(approve).is_err());
        let submit = r#"{"job": "", "approval": {"posted": {"x": "1", "x": "2"}}}"#;
        assert!(serde_json::from_str::<Submit>(submit).is_err());
        let gift: Gift = serde_json::from_str(r#"{"posted": {"x": "1", "y": "2"}}"#).expect("each once");
        assert_eq!(gift.posted.len(), 2);
    }

    #[test]
    fn values_are_not_shown() {
        let posted = BTreeMap::from([("x".to_owned(), "0xdead".to_owned())]);
        let gift = Gift {
            posted: posted.clone(),
            ..Gift::default()
        };
        let approve = Approve {
            proposal: "p".into(),
            data: BTreeMap::new(),
            posted,
            reason: String::new(),
        };
        let submit = Submit {
            job: "hex = \"dead\"".into(),
            files: BTreeMap::new(),
            within: None,
            approval: Some(gift.clone()),
        };
        let text = format!("{gift:?} {approve:?} {submit:?}");
        assert!(!text.contains("dead"), "{text}");
    }
}
