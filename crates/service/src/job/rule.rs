//! What the policy decides on a job: the counts that it looks at, the decision and what that counts are one transaction.

use std::time::Duration;

use super::step::{Local, Step};
use super::take::take;
use super::{Binding, Digest, Job, JobId, Jobs, Proposal, Unsettled, approve, row, tries};
use crate::audit::Actor;
use crate::database::{Connection, Flush, Pending, Transaction, Value};
use crate::policy::{self, Policy, Size};
use crate::{Result, Timestamp};

/// What the policy decides by.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The policy.
    pub policy: Policy,
    /// What this party has computed from the program, whatever the proposer estimated.
    pub size: Size,
    /// The data that this party gives if the policy approves.
    pub binding: Vec<Binding>,
}

/// What the policy says, and the job after that unless a person is asked.
pub(super) fn rule(
    transaction: &mut Transaction<'_>,
    job: &Job,
    me: u8,
    rules: &Rules,
    now: Timestamp,
) -> Result<(policy::Ruling, Option<Job>)> {
    let ruling = says(transaction.connection(), job, me, rules, now)?;
    let reason = ruling.reason.clone();
    let local = match ruling.verdict {
        policy::Verdict::Ask => return Ok((ruling, None)),
        policy::Verdict::Approve => Local::Approve {
            binding: rules.binding.clone(),
            reason,
        },
        policy::Verdict::Decline => Local::Decline { reason },
    };
    let by = ruling
        .rule
        .as_ref()
        .map_or(Actor::Service, |rule| Actor::Rule(rule.name.clone()));
    let decided = take(transaction, job, me, &Step::Here(local), &by, now)?;
    if let (policy::Verdict::Approve, Some(rule)) = (ruling.verdict, &ruling.rule) {
        transaction.run(
            "INSERT INTO ruling (job, rule, at) VALUES ($1, $2, $3)",
            &[
                Value::from(job.proposal.id.to_string()),
                Value::from(rule.name.as_str()),
                Value::from(now.column()),
            ],
        )?;
    }
    Ok((ruling, Some(decided)))
}

/// What the policy says, by the counts that are there.
fn says(
    connection: &mut Connection,
    job: &Job,
    me: u8,
    rules: &Rules,
    now: Timestamp,
) -> Result<policy::Ruling> {
    approve::check(job, me, &rules.binding)?;
    let mut past = Past {
        connection,
        now,
        proposal: &job.proposal,
        binding: &rules.binding,
    };
    rules.policy.rule(&job.proposal, rules.size, &mut past)
}

impl Jobs {
    /// Lets the policy decide, and does what it says: the counts that it looks at, the approval and what that counts are one transaction. `size`
    /// is what this party has computed from the program, whatever the proposer estimated. A ruling to ask a person changes nothing. It is not waited
    /// for here: what is asked for later comes after it, and what waiting gives fails as [`Jobs::approve`] does.
    ///
    /// # Errors
    /// Where too much waits to be recorded.
    pub fn begin_rule(
        &self,
        id: JobId,
        policy: &Policy,
        size: Size,
        binding: Vec<Binding>,
        now: Timestamp,
    ) -> Result<Pending<(policy::Ruling, Job)>> {
        let (rules, me) = (
            Rules {
                policy: policy.clone(),
                size,
                binding,
            },
            self.settings.me,
        );
        self.database.begin_write(Flush::Later, move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            let ruling = rule(transaction, &job, me, &rules, now)?;
            Ok((ruling.0, ruling.1.unwrap_or(job)))
        })
    }

    /// What the policy says at present, by the counts that are there. Nothing changes, so that [`Jobs::begin_rule`] may decide otherwise later.
    ///
    /// # Errors
    /// Those of [`Jobs::begin_rule`].
    pub fn foresee(&self, id: JobId, rules: Rules, now: Timestamp) -> Result<policy::Ruling> {
        let me = self.settings.me;
        self.database.read(move |connection| {
            let job = row::get(connection, id)?;
            says(connection, &job, me, &rules, now)
        })
    }
}

/// What the policy may know of the past.
struct Past<'a> {
    connection: &'a mut Connection,
    now: Timestamp,
    proposal: &'a Proposal,
    binding: &'a [Binding],
}

impl policy::Past for Past<'_> {
    fn approved_within_an_hour(&mut self, rule: &str) -> Result<u64> {
        let since = self.now.before(Duration::from_secs(3600));
        self.connection
            .one(
                "SELECT COUNT(*) FROM ruling WHERE rule = $1 AND at > $2",
                &[Value::from(rule), Value::from(since.column())],
            )?
            .map_or(Ok(0), |row| row.count(0))
    }

    fn most_disclosures(&mut self, program: &Digest) -> Result<u64> {
        let mut most = 0;
        for name in approve::data(self.proposal, self.binding) {
            most = most.max(approve::used(self.connection, program, &name)?);
        }
        Ok(most)
    }

    fn data(&self) -> Vec<String> {
        approve::data(self.proposal, self.binding)
    }

    fn unsettled(&mut self) -> Result<Vec<Unsettled>> {
        tries::against(self.connection, self.proposal.parties)
    }
}
