//! What a job would take and reveal, told before it is proposed or decided on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Compose, Input, Place, Revealed};
use crate::words;

/// A job to be planned: the text of a job file, or a query of which one is made. One of the two.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanAsked {
    /// The text of a job file.
    #[serde(default)]
    pub job: Option<String>,
    /// A query over the tables of the catalogues.
    #[serde(default)]
    pub compose: Option<Compose>,
}

/// What a job would take and reveal, or why it cannot be proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Plan {
    /// The text of the job file, if there is one.
    pub job: Option<String>,
    /// The data of this party's own tables, by the job's name of the table.
    pub data: BTreeMap<String, String>,
    /// What it takes and reveals.
    pub planned: Option<Planned>,
    /// Why it cannot be proposed.
    pub fault: Option<PlanFault>,
}

/// Why a job cannot be proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PlanFault {
    /// What is wrong, and what to write instead.
    pub message: String,
    /// Where in the text of the query, if a place there is to blame.
    pub at: Option<Place>,
}

impl From<String> for PlanFault {
    fn from(message: String) -> Self {
        PlanFault { message, at: None }
    }
}

/// What a job would take and reveal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Planned {
    /// What it is: circuit, query.
    pub program_kind: String,
    /// The steps of a query, the last one first, each before those whose rows it takes.
    pub steps: Vec<PlanStep>,
    /// What each party learns of a query, a sentence each.
    pub learnt: Vec<String>,
    /// Every output and who learns it.
    pub outputs: Vec<Revealed>,
    /// What parties give.
    pub inputs: Vec<Input>,
    /// The protocol.
    pub protocol: String,
    /// Statistical security, in bits.
    pub statistical: u16,
    /// Computational security, in bits.
    pub computational: u16,
    /// AND gates.
    pub ands: u64,
    /// Levels of ANDs one after another, which take a round each in some protocols; nothing where that is not counted.
    pub levels: Option<u64>,
    /// Bytes that a party sends, about.
    pub bytes: u64,
    /// Bytes of memory that it takes at this party.
    pub memory: u64,
    /// Seconds that it runs, about, by jobs of its protocol that ran here since the service started; nothing if none did.
    pub seconds: Option<f64>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PlanStep {
    /// How many steps stand above it, the one that takes it just above.
    pub depth: u32,
    /// What is done, in words.
    pub what: String,
    /// The party that does it in the clear; nothing if all do it secretly.
    pub owner: Option<u8>,
    /// How many rows it gives at most, which is public.
    pub rows: u64,
    /// AND gates that it takes itself.
    pub ands: u64,
}

/// What a job computes, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Computes {
    /// The query or the name of the circuit, shortened to a line.
    pub text: String,
    /// Of a circuit: whether it is the library's own of this name, and no file that somebody sent.
    pub of_library: bool,
}

/// Characters of such a line, at most.
const LINE: usize = 160;

impl Computes {
    /// What computes `text`, of any length and over any lines.
    pub fn new(text: &str, of_library: bool) -> Self {
        // More than enough, since blanks are taken together.
        let begin: String = text.chars().take(16 * LINE).collect();
        let line = begin.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = words::plain(&line, LINE + 1);
        let text = match line.chars().count() {
            0..=LINE => line,
            _ => line.chars().take(LINE - 1).chain(['…']).collect(),
        };
        Computes { text, of_library }
    }
}

/// What an approver of a query should know besides the query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Weighed {
    /// How it differs from a query of the same proposer that this party has approved; nothing if there is none.
    pub compared: Option<Compared>,
    /// How many jobs of the proposer were looked through for it, the newest first, if it has more and none of these has the same query but for constants.
    #[serde(default)]
    pub looked_through: Option<u64>,
    /// How often this party's data may be asked yet, a sentence each.
    pub allowance: Vec<String>,
}

/// How a query differs from one that this party has approved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Compared {
    /// The job that was approved.
    pub job: String,
    /// Whether the queries and all that their jobs say are the same but for constants: tables, answer, receivers, protocol and what is learnt.
    pub same_but_for_constants: bool,
    /// The constants that differ.
    pub constants: Vec<OtherConstant>,
    /// What else differs, a sentence each.
    pub differs: Vec<String>,
}

/// A constant that is another one than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OtherConstant {
    /// Where it begins, in characters from the beginning of the query.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// What stood in its place before.
    pub before: String,
}

/// A query as its job asks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AskedQuery {
    /// Its text.
    pub sql: String,
    /// Groups of fewer rows are left out.
    pub min_group: u64,
    /// The most rows of the answer, if that is bounded beforehand.
    pub max_rows: Option<u64>,
    /// What every party learns, a sentence each.
    pub learnt: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_is_told_in_a_line() {
        let told = |text: &str| Computes::new(text, false).text;
        assert_eq!(told(" SELECT\n\t1\u{202e}  FROM t "), "SELECT 1 FROM t");
        assert_eq!(told(&"é".repeat(160)).chars().count(), 160);
        let long = told(&"é".repeat(161));
        assert!(long.chars().count() == 160 && long.ends_with('…'), "{long}");
    }
}
