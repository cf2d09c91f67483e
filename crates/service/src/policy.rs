//! Rules that decide about proposals where no person needs to.
//!
//! A policy is a TOML file:
//!
//! ```toml
//! otherwise = "ask"              # what happens when no rule matches; "ask" unless it says "decline"
//! min_security = 40              # bits; whatever has less is declined, 40 unless it is said
//! max_unsettled = 3              # how often sessions with a party may have broken off before no rule approves a job with it, 3 unless it is said
//!
//! [[rule]]
//! name = "fraud figures"
//! programs = ["5f70…"]           # digests
//! proposers = ["acme"]           # names of parties
//! receivers = ["acme", "bank"]   # all receivers must be among them
//! data = ["cards"]               # all of this party's data that is used must be among these, kept values as "kept:NAME"; or "any"
//! keeps = ["totals"]             # all outputs that are kept must have these names; or "any"
//! max_ands = 1_000_000_000       # AND gates
//! max_bytes = 10_000_000_000     # bytes that this party sends
//! max_jobs_an_hour = 20          # approved by this rule
//! disclosures = 5                # how often outputs of a program on the same data may be learnt in all
//! then = "approve"               # or "decline" or "ask"
//! ```
//!
//! Rules are tried in order, and the first of which all conditions hold decides. A condition that is left out always holds. Rates are counted by the
//! rule's name. Rate and disclosures are limits on what is approved, so only rules that approve have them; and since a program that differs by one gate has another
//! digest, a rule that limits disclosures must name its programs.
//!
//! A rule that approves with neither `programs` nor `keeps` matches no job that keeps an output: a later job may open it to anybody, and knows it by its
//! name.
//!
//! **A rule that approves without `programs`** lets its proposers compute anything on what `data` names: a program may well give out its input as it is.
//! So it must say `data`.

//! **A party that cheats may fall silent** just before that shows, and a session that was cut off looks the same. So where sessions with a party have
//! begun and not ended in agreement `max_unsettled` times (1000 at most), or once where a check found that it deviated, what a rule would approve is left to a
//! person, until a person has [settled](crate::Jobs::settle) what is on record. Until then no job begins that this party has proposed, either.

mod file;
mod rule;

pub use rule::{Past, RuleName, Ruling, Size, Verdict};

use crate::job::Digest;

/// How often sessions with a party may have broken off, unless the policy says otherwise.
const MOST_UNSETTLED: u64 = 3;

/// Rules, in order.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<rule::Rule>,
    otherwise: Verdict,
    least_security: u16,
    most_unsettled: u64,
    digest: Digest,
}

/// Bits of statistical security below which nothing is approved, unless the policy says otherwise.
const LEAST_SECURITY: u16 = 40;

impl Policy {
    /// The policy of a service without a file: a person decides about everything.
    pub fn ask() -> Self {
        Policy {
            rules: Vec::new(),
            otherwise: Verdict::Ask,
            least_security: LEAST_SECURITY,
            most_unsettled: MOST_UNSETTLED,
            digest: Digest::of(b""),
        }
    }

    /// Bits of statistical security below which nothing is approved.
    pub fn least_security(&self) -> u16 {
        self.least_security
    }

    /// How often sessions with a party may have begun and not ended in agreement until no rule approves a job with it.
    pub fn most_unsettled(&self) -> u64 {
        self.most_unsettled
    }

    /// How often outputs of a program may be learnt by rules that limit that: each with the rule's name.
    pub fn disclosures_of(&self, program: &Digest) -> Vec<(String, u64)> {
        let names = |rule: &&rule::Rule| rule.programs.as_ref().is_some_and(|all| all.contains(program));
        let limited = |rule: &rule::Rule| Some((rule.name.name.clone(), rule.disclosures?));
        self.rules.iter().filter(names).filter_map(limited).collect()
    }

    /// The digest of its text, for the audit log.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}", line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what to write.
    pub what: String,
}

#[cfg(test)]
mod tests;
