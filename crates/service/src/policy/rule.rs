//! What rules say about a proposal.

use serde::Serialize;

use super::Policy;
use crate::Result;
use crate::job::{Digest, Proposal, Unsettled};

/// What a rule does with a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// This party takes part.
    Approve,
    /// It does not.
    Decline,
    /// A person decides.
    Ask,
}

/// How large a job is, as this party has computed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// AND gates, of all instances.
    pub ands: u64,
    /// Bytes that this party sends.
    pub bytes: u64,
}

/// A rule, as people find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleName {
    /// Its name.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ruling {
    /// What is to be done.
    pub verdict: Verdict,
    /// The rule that decided, unless none matched.
    pub rule: Option<RuleName>,
    /// Why, in a sentence that names the rule and its line.
    pub reason: String,
}

/// What rules may know of jobs before this one. Errors are passed on.
pub trait Past {
    /// Jobs that the rule of this name has approved within the last hour.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn approved_within_an_hour(&mut self, rule: &str) -> Result<u64>;

    /// How often outputs of this program have been allowed on that one of this party's data, among those the job would use, of which it was
    /// allowed most often.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn most_disclosures(&mut self, program: &Digest) -> Result<u64>;

    /// The names of this party's data that the job would use.
    fn data(&self) -> Vec<String>;

    /// What is on record against the other parties of the job.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn unsettled(&mut self) -> Result<Vec<Unsettled>>;
}

/// What a rule allows, of this party's data or of names under which outputs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allowed {
    Any,
    Only(Vec<String>),
}

impl Allowed {
    fn all(&self, mut names: impl Iterator<Item = impl AsRef<str>>) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Only(all) => names.all(|name| all.iter().any(|one| one == name.as_ref())),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) name: RuleName,
    pub(super) then: Verdict,
    pub(super) programs: Option<Vec<Digest>>,
    pub(super) proposers: Option<Vec<u8>>,
    pub(super) receivers: Option<Vec<u8>>,
    pub(super) data: Option<Allowed>,
    pub(super) keeps: Option<Allowed>,
    pub(super) max_ands: Option<u64>,
    pub(super) max_bytes: Option<u64>,
    pub(super) max_jobs_an_hour: Option<u64>,
    pub(super) disclosures: Option<u64>,
    pub(super) calls: Option<u64>,
}

impl Rule {
    /// Why the rule does not match, or nothing if it does.
    fn passes_over(&self, proposal: &Proposal, size: Size, past: &mut dyn Past) -> Result<Option<String>> {
        let programs = self.programs.as_ref();
        let is_other = programs.is_some_and(|all| !all.contains(&proposal.program.digest));
        match (is_other, self.does_not_fit(proposal, size, past)) {
            (false, None) => self.is_used_up(proposal, past),
            (false, why) => Ok(why),
            // Whoever wrote the rule may have meant this program, too, or an earlier text of it.
            (true, None) => Ok(Some(format!(
                "is for other programs, and fits in all else: it does not name {}",
                proposal.program.digest
            ))),
            (true, Some(_)) => Ok(Some("is for other programs".into())),
        }
    }

    /// What of a proposal besides its program the rule is not for, whatever came before.
    fn does_not_fit(&self, proposal: &Proposal, size: Size, past: &dyn Past) -> Option<String> {
        let proposers = self.proposers.as_ref();
        if proposers.is_some_and(|all| !all.contains(&proposal.proposer)) {
            return Some("is for other proposers".into());
        }
        if let Some(all) = &self.receivers
            && proposal.receivers.iter().any(|receiver| !all.contains(receiver))
        {
            return Some("is for other receivers".into());
        }
        if self.data.as_ref().is_some_and(|all| !all.all(past.data().iter())) {
            return Some("is for other data".into());
        }
        let mut kept = proposal.keeps.iter().map(|keep| &keep.name);
        let keeps = match &self.keeps {
            Some(all) => all.all(kept),
            // What is kept may be opened later to anybody, and later jobs know it by its name.
            None if self.then == Verdict::Approve && self.programs.is_none() => kept.next().is_none(),
            None => true,
        };
        if !keeps {
            return Some("is for jobs that keep other values or none".into());
        }
        if let Some(standing) = &proposal.standing {
            // What is approved once is computed again and again: only a rule that says so allows it.
            match self.calls {
                None if self.then == Verdict::Approve => {
                    return Some("is for jobs that are computed once".into());
                }
                Some(most) if standing.calls > most => {
                    return Some(format!(
                        "is for at most {most} calls, and the job allows {}",
                        standing.calls
                    ));
                }
                None | Some(_) => {}
            }
        }
        if let Some(most) = self.max_ands.filter(|most| size.ands > *most) {
            return Some(format!(
                "is for at most {most} AND gates, and the job has {}",
                size.ands
            ));
        }
        if let Some(most) = self.max_bytes.filter(|most| size.bytes > *most) {
            return Some(format!(
                "is for at most {most} bytes, and the job sends {}",
                size.bytes
            ));
        }
        None
    }

    /// What the rule allows no more of.
    fn is_used_up(&self, proposal: &Proposal, past: &mut dyn Past) -> Result<Option<String>> {
        if let Some(most) = self.max_jobs_an_hour
            && past.approved_within_an_hour(&self.name.name)? >= most
        {
            return Ok(Some(format!("has approved {most} jobs within the last hour")));
        }
        if let Some(most) = self.disclosures
            && let before = past.most_disclosures(&proposal.program.digest)?
            && before.saturating_add(proposal.disclosures()) > most
        {
            return Ok(Some(match proposal.standing {
                None => format!("allows {most} disclosures, which have been made"),
                Some(_) => format!(
                    "allows {most} disclosures, of which {before} have been made, and the job may make {}",
                    proposal.disclosures()
                ),
            }));
        }
        Ok(None)
    }
}

impl Policy {
    /// What the policy says about a proposal of this size. It changes nothing.
    ///
    /// # Errors
    /// Those of `past`.
    pub fn rule(&self, proposal: &Proposal, size: Size, past: &mut dyn Past) -> Result<Ruling> {
        let ruling = self.first_match(proposal, size, past)?;
        if ruling.verdict != Verdict::Approve {
            return Ok(ruling);
        }
        let mut unsettled = past.unsettled()?.into_iter();
        Ok(
            match unsettled.find(|known| known.is_too_much(self.most_unsettled)) {
                None => ruling,
                Some(known) => Ruling {
                    verdict: Verdict::Ask,
                    reason: format!("{}, but {known}, so that a person decides", ruling.reason),
                    ..ruling
                },
            },
        )
    }

    /// What the first rule says that matches.
    fn first_match(&self, proposal: &Proposal, size: Size, past: &mut dyn Past) -> Result<Ruling> {
        let security = proposal.security.statistical;
        if security < self.least_security {
            return Ok(Ruling {
                verdict: Verdict::Decline,
                rule: None,
                reason: format!(
                    "it has {security} bits of security, and this party takes part with {} at least",
                    self.least_security
                ),
            });
        }
        let mut others = String::new();
        for rule in &self.rules {
            let Some(why) = rule.passes_over(proposal, size, past)? else {
                let does = match rule.then {
                    Verdict::Approve => "approves",
                    Verdict::Decline => "declines",
                    Verdict::Ask => "leaves it to a person",
                };
                return Ok(Ruling {
                    verdict: rule.then,
                    rule: Some(rule.name.clone()),
                    reason: format!("rule \"{}\" (line {}) {does}", rule.name.name, rule.name.line),
                });
            };
            // A few rules say enough about why none matches.
            if others.len() < 300 {
                others.push_str(&format!(
                    "; rule \"{}\" (line {}) {why}",
                    rule.name.name, rule.name.line
                ));
            }
        }
        let does = match self.otherwise {
            Verdict::Decline => "it is declined",
            Verdict::Approve | Verdict::Ask => "a person decides",
        };
        Ok(Ruling {
            verdict: self.otherwise,
            rule: None,
            reason: format!("no rule matches, so that {does}{others}"),
        })
    }
}
