//! What a party is asked to take part in.

use serde::{Deserialize, Serialize};

use super::{Digest, JobId};
use crate::{Error, Result, Timestamp};

/// Bytes of a name, at most.
const NAME: usize = 128;
/// Inputs, at most.
const INPUTS: usize = 64;
const CONTEXT: &str = "cenote service proposal 1";

/// A proposed job. It names data and holds none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The job's name, which is bound to the proposer.
    pub id: JobId,
    /// The party that proposes it.
    pub proposer: u8,
    /// How many parties take part.
    pub parties: u8,
    /// The name of the protocol, as job files give it.
    pub protocol: String,
    /// What is computed.
    pub program: Program,
    /// What it is computed on.
    pub inputs: Vec<Input>,
    /// The parties that learn outputs, in ascending order.
    pub receivers: Vec<u8>,
    /// At which security.
    pub security: Security,
    /// By when it must be done.
    pub deadline: Timestamp,
    /// What the proposer thinks it takes. Nobody may rely on it: each party computes its own.
    pub estimate: Estimate,
    /// The submitter's name for this submission: the same again gives the same job.
    pub idempotency_key: String,
}

/// A program or circuit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What it is: `circuit`, `query`, `program`.
    pub kind: String,
    /// The digest of its text.
    pub digest: Digest,
}

/// An input of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type, as programs write it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The party that gives it.
    pub owner: u8,
}

/// Security parameters, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// Statistical.
    pub statistical: u16,
    /// Computational.
    pub computational: u16,
}

/// How large a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// AND gates, of all instances.
    pub ands: u64,
    /// Bytes that a party sends.
    pub bytes: u64,
}

impl Proposal {
    /// The digest that approvals are bound to.
    pub fn digest(&self) -> Digest {
        // The fields are written in the order of their declaration, so one proposal has one text.
        let text = serde_json::to_vec(self).unwrap_or_default();
        Digest(
            *blake3::Hasher::new_derive_key(CONTEXT)
                .update(&text)
                .finalize()
                .as_bytes(),
        )
    }

    /// Refuses what cannot be a job, whoever proposes it.
    ///
    /// # Errors
    /// [`Error::Proposal`] with the reason.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Proposal(what));
        if !(2..=3).contains(&self.parties) {
            return refuse(format!("{} parties; there must be 2 or 3", self.parties));
        }
        if self.proposer >= self.parties {
            return refuse(format!("it is by party {}, of {}", self.proposer, self.parties));
        }
        if self.id.proposer() != self.proposer {
            return refuse(format!(
                "its name is one for jobs of party {}, and it is by party {}",
                self.id.proposer(),
                self.proposer
            ));
        }
        if self.receivers.is_empty() {
            return refuse("nobody would learn anything; name receivers".into());
        }
        if !self.receivers.is_sorted_by(|a, b| a < b)
            || self.receivers.iter().any(|party| *party >= self.parties)
        {
            return refuse("its receivers must be parties, in ascending order, each once".into());
        }
        if self.inputs.len() > INPUTS {
            return refuse(format!("{} inputs; there may be {INPUTS}", self.inputs.len()));
        }
        name("protocol", &self.protocol)?;
        name("kind of program", &self.program.kind)?;
        name("idempotency key", &self.idempotency_key)?;
        for input in &self.inputs {
            name("input", &input.name)?;
            name("type of an input", &input.kind)?;
            if input.owner >= self.parties {
                return refuse(format!(
                    "an input is of party {}, of {}",
                    input.owner, self.parties
                ));
            }
        }
        let mut names: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            return refuse("two inputs have one name".into());
        }
        Ok(())
    }
}

fn name(what: &str, text: &str) -> Result<()> {
    if text.is_empty() || text.len() > NAME || text.chars().any(char::is_control) {
        return Err(Error::Proposal(format!(
            "the {what} must have 1 to {NAME} bytes and no control characters"
        )));
    }
    Ok(())
}
