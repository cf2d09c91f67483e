//! What a party is asked to take part in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Digest, JobId, check_kept_name};
use crate::words::steers;
use crate::{Error, Result, Timestamp};

/// Bytes of a name, at most.
const NAME: usize = 128;
/// Inputs, at most.
const INPUTS: usize = 64;
/// Values that a job takes, and outputs that it keeps, at most.
const VALUES: usize = 64;
/// Days for which a value is kept, at most.
const DAYS: u16 = 366;
/// Calls of a job that stands, at most.
const CALLS: u64 = 1 << 32;
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
    /// The parties that learn outputs, in ascending order; none where all outputs are kept.
    pub receivers: Vec<u8>,
    /// At which security.
    pub security: Security,
    /// By when it must be done.
    pub deadline: Timestamp,
    /// What the proposer thinks it takes. Nobody may rely on it: each party computes its own.
    pub estimate: Estimate,
    /// The proposing party's name for this submission: the same again gives the same job.
    pub idempotency_key: String,
    /// Kept values that it takes as inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<Take>,
    /// Outputs that are kept instead of opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeps: Vec<Keep>,
    /// How often it may be called until its deadline, if it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// A job that stands: it is approved once, and then computed at each call, on other inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Calls in all.
    pub calls: u64,
    /// The parties whose inputs come with each call, in ascending order. All of them make every call.
    pub callers: Vec<u8>,
    /// Of a query, its parameters and their types: each call gives their values, which all parties learn, and all tables stay as they are. Nothing of a circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<BTreeMap<String, String>>,
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

/// A kept value that a job takes as an input. No party gives it, and no party learns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// The input's name in the circuit.
    pub input: String,
    /// The kept value's name.
    pub name: String,
    /// The job that kept it.
    pub job: JobId,
}

/// An output of which each party stores its share under a name, and which nobody learns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// The output's name in the circuit.
    pub output: String,
    /// The name under which it is kept.
    pub name: String,
    /// Its type, as programs write it.
    #[serde(rename = "type")]
    pub kind: String,
    /// For how many days it is kept.
    pub days: u16,
}

/// Security parameters, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// Bits of statistical security: a wrong output passes with probability at most 2 to the minus this.
    pub statistical: u16,
    /// Bits of computational security: operations that break its primitives, as a power of two.
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
        if self.receivers.is_empty() && self.keeps.is_empty() {
            return refuse("nobody would learn anything, and nothing would be kept; name receivers".into());
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
        if has_twice(self.inputs.iter().map(|input| input.name.as_str()).collect()) {
            return refuse("two inputs have one name".into());
        }
        self.check_takes()?;
        self.check_keeps()?;
        self.check_standing()
    }

    fn check_standing(&self) -> Result<()> {
        let refuse = |what: &str| Err(Error::Proposal(what.into()));
        let Some(standing) = &self.standing else {
            return Ok(());
        };
        if !(1..=CALLS).contains(&standing.calls) {
            return refuse("a job that stands may be called from 1 to 2^32 times");
        }
        let callers = &standing.callers;
        if callers.is_empty()
            || !callers.is_sorted_by(|a, b| a < b)
            || callers.iter().any(|caller| *caller >= self.parties)
        {
            return refuse("its callers must be parties, in ascending order, each once");
        }
        let parameters = standing.parameters.as_ref().map_or(0, BTreeMap::len);
        if parameters > VALUES {
            return Err(Error::Proposal(format!(
                "{parameters} parameters; there may be {VALUES}"
            )));
        }
        for (parameter, kind) in standing.parameters.iter().flatten() {
            name("parameter", parameter)?;
            name("type of a parameter", kind)?;
        }
        match self.takes.is_empty() && self.keeps.is_empty() {
            true => Ok(()),
            false => refuse("a job that stands takes and keeps no values"),
        }
    }

    /// How many disclosures an approval allows of the data that it gives.
    pub(crate) fn disclosures(&self) -> u64 {
        self.standing.as_ref().map_or(1, |standing| standing.calls)
    }

    /// Whether this party's inputs come with each call, and not with its approval.
    pub fn is_caller(&self, party: u8) -> bool {
        self.standing
            .as_ref()
            .is_some_and(|standing| standing.parameters.is_none() && standing.callers.contains(&party))
    }

    fn check_takes(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Proposal(what));
        if self.takes.len() > VALUES {
            return refuse(format!(
                "it takes {} kept values, and may take {VALUES}",
                self.takes.len()
            ));
        }
        let mut inputs: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        for take in &self.takes {
            name("input", &take.input)?;
            check_kept_name(&take.name).map_err(Error::Proposal)?;
            inputs.push(&take.input);
        }
        match has_twice(inputs) {
            true => refuse("one input is to be given twice, by a party or as a kept value".into()),
            false => Ok(()),
        }
    }

    fn check_keeps(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Proposal(what));
        if self.keeps.len() > VALUES {
            return refuse(format!(
                "it keeps {} outputs, and may keep {VALUES}",
                self.keeps.len()
            ));
        }
        for keep in &self.keeps {
            name("output", &keep.output)?;
            name("type of an output", &keep.kind)?;
            check_kept_name(&keep.name).map_err(Error::Proposal)?;
            if !(1..=DAYS).contains(&keep.days) {
                return refuse(format!(
                    "{} is to be kept for {} days; values are kept for 1 to {DAYS}",
                    keep.name, keep.days
                ));
            }
        }
        match has_twice(self.keeps.iter().map(|keep| keep.name.as_str()).collect()) {
            true => refuse("two outputs are to be kept under one name".into()),
            false => Ok(()),
        }
    }
}

fn has_twice(mut names: Vec<&str>) -> bool {
    names.sort_unstable();
    names.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

fn name(what: &str, text: &str) -> Result<()> {
    if text.is_empty() || text.len() > NAME || text.chars().any(steers) {
        return Err(Error::Proposal(format!(
            "the {what} must have 1 to {NAME} bytes and no characters that steer a screen"
        )));
    }
    Ok(())
}
