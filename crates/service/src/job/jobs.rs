//! The jobs of a party, in its database.

use std::collections::BTreeMap;
use std::time::Duration;

use super::propose::{Noted, RECENT, propose};
use super::row::{self, columns, readable};
use super::rule::{Rules, rule};
use super::step::{Local, Remote, Step};
use super::take::take;
use super::{
    Binding, Digest, FailKind, FileMark, Job, JobId, Page, PageRequest, Proposal, State, StateName, approve,
    kept, list, result, unsettled,
};
use crate::audit::Actor;
use crate::database::{Flush, Pending, Row, Transaction, Value};
use crate::policy::{self, Policy, Size};
use crate::seal::Sealed;
use crate::{Database, Error, Result, Timestamp};

/// Jobs that one call of [`Jobs::expire`] ends, or [`Jobs::prune`] deletes, at most.
const AT_ONCE: i64 = 500;
/// Parties of a job, at most.
const MOST_PARTIES: i64 = 3;

/// What a party settles for its jobs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This party.
    pub me: u8,
    /// Unfinished jobs that a party may have proposed; and of a peer's, those that may end within an hour without having run. A person here may have
    /// half as many of each.
    pub open_per_proposer: u64,
    /// Of a proposer's jobs that ended without having run, those that stay on record, the newest.
    pub keep_unrun: u64,
    /// How long a result is kept that nobody fetches.
    pub keep_results: Duration,
    /// How long a result that was fetched can be fetched again by who has it already.
    pub keep_fetched: Duration,
}

impl Settings {
    /// For the party `me`: 1,000 unfinished jobs for a party, 10,000 that never ran, results kept for a week, and for 10 minutes once they were fetched.
    pub fn new(me: u8) -> Self {
        Settings {
            me,
            open_per_proposer: 1000,
            keep_unrun: 10_000,
            keep_results: Duration::from_secs(7 * 24 * 3600),
            keep_fetched: Duration::from_secs(600),
        }
    }
}

/// The jobs of a party.
#[derive(Debug, Clone)]
pub struct Jobs {
    pub(super) database: Database,
    pub(super) settings: Settings,
}

impl Jobs {
    /// The jobs in `database`.
    pub fn new(database: Database, settings: Settings) -> Self {
        Jobs { database, settings }
    }

    /// Notes a proposal, by this party or by the peer that sent it. `body` is the digest of what was submitted, by which a repetition is
    /// told from another job under the same idempotency key. Gives the job, and whether it is new.
    ///
    /// # Errors
    /// [`Error::Proposal`] where it cannot be a job or `by` may not propose it, [`Error::OtherBody`], [`Error::SameName`], [`Error::TooMany`],
    /// [`Error::TooManyUnrun`], [`Error::TooManyOfOne`].
    pub fn propose(
        &self,
        proposal: Proposal,
        body: Digest,
        by: Actor,
        now: Timestamp,
    ) -> Result<(Job, bool)> {
        let noted = self.begin_propose(proposal, body, by, None, now)?.wait()?;
        Ok((noted.job, noted.new))
    }

    /// Asks for the same, and in the same transaction, if the job is new and rules are given, for what [`Jobs::begin_rule`] does. Nothing is noted where either
    /// fails.
    ///
    /// # Errors
    /// Those that are known at once.
    pub fn begin_propose(
        &self,
        proposal: Proposal,
        body: Digest,
        by: Actor,
        policy: Option<Rules>,
        now: Timestamp,
    ) -> Result<Pending<Noted>> {
        proposal.check()?;
        let proposer = match by {
            Actor::Peer(peer) => peer,
            Actor::Person(_) | Actor::Rule(_) | Actor::Service => self.settings.me,
        };
        if proposer != proposal.proposer || self.settings.me >= proposal.parties {
            return Err(Error::Proposal(format!(
                "party {proposer} sent it to party {}, in the name of party {} of {}",
                self.settings.me, proposal.proposer, proposal.parties
            )));
        }
        let (limit, me) = (self.settings.open_per_proposer, self.settings.me);
        // A peer's proposal is told again where the record of it is lost.
        let flush = match by {
            Actor::Peer(_) => Flush::Later,
            Actor::Person(_) | Actor::Rule(_) | Actor::Service => Flush::Now,
        };
        let work = move |transaction: &mut Transaction<'_>| {
            let (job, new) = propose(transaction, proposal, &body, by, limit, now)?;
            let ruled = match policy.filter(|_| new) {
                Some(rules) => Some(rule(transaction, &job, me, &rules, now)?),
                None => None,
            };
            Ok(Noted { job, new, ruled })
        };
        self.database.begin_write(flush, work)
    }

    /// Approves in a person's name, for its `reason` if it gives one, and counts disclosures without a limit.
    ///
    /// # Errors
    /// Those of [`Job::step`]; [`Error::Proposal`] where `binding` is not one source for each input of this party.
    pub fn approve(
        &self,
        id: JobId,
        binding: Vec<Binding>,
        reason: String,
        by: Actor,
        now: Timestamp,
    ) -> Result<Job> {
        let reason = if reason.is_empty() { reason_of(&by) } else { reason };
        let step = Step::Here(Local::Approve { binding, reason });
        self.apply(id, step, by, now)
    }

    /// Declines in a person's name.
    ///
    /// # Errors
    /// Those of [`Job::step`].
    pub fn decline(&self, id: JobId, reason: String, by: Actor, now: Timestamp) -> Result<Job> {
        self.apply(id, Step::Here(Local::Decline { reason }), by, now)
    }

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

    /// Does what a peer says, which it has the right to say of itself only.
    ///
    /// # Errors
    /// Those of [`Job::step`], and [`Error::NoJob`]; nothing has changed then.
    pub fn hear(&self, id: JobId, peer: u8, says: Remote, now: Timestamp) -> Result<Job> {
        self.apply(id, Step::Peer(peer, says), Actor::Peer(peer), now)
    }

    /// The same, and in the same transaction as [`Jobs::queue`], if that was the last approval. Gives the job after each step. An approval
    /// that is lost with the power is told again.
    ///
    /// # Errors
    /// Those of [`Jobs::hear`].
    pub fn hear_and_queue(&self, id: JobId, peer: u8, says: Remote, now: Timestamp) -> Result<Vec<Job>> {
        let me = self.settings.me;
        let flush = match says {
            Remote::Approve { .. } => Flush::Later,
            Remote::Decline { .. } | Remote::Cancel | Remote::Fail { .. } => Flush::Now,
        };
        let work = move |transaction: &mut Transaction<'_>| {
            let job = row::get(transaction.connection(), id)?;
            let step = Step::Peer(peer, says);
            let mut jobs = vec![take(transaction, &job, me, &step, &Actor::Peer(peer), now)?];
            if let Some(job) = jobs.last().filter(|job| job.state == State::Approved) {
                let step = Step::Here(Local::Queue);
                jobs.push(take(transaction, job, me, &step, &Actor::Service, now)?);
            }
            Ok(jobs)
        };
        self.database.begin_write(flush, work)?.wait()
    }

    /// The job fits, and waits for its turn.
    ///
    /// # Errors
    /// Those of [`Job::step`], as for all that follow.
    pub fn queue(&self, id: JobId, now: Timestamp) -> Result<Job> {
        let me = self.settings.me;
        self.database.write_soon(move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            let step = Step::Here(Local::Queue);
            take(transaction, &job, me, &step, &Actor::Service, now)
        })
    }

    /// The job begins. When this has returned, and not before, its data may be touched.
    ///
    /// # Errors
    /// Those of [`Job::step`].
    pub fn start(&self, id: JobId, now: Timestamp) -> Result<Job> {
        self.begin_start(id, BTreeMap::new(), &Policy::ask(), now)?.wait()
    }

    /// Asks for the same, and does not wait for it: what touches no data may be done meanwhile. Of the data that a rule has approved, the files
    /// that were `found`, by the data's name, are used. What waiting gives fails with [`Error::Unsettled`] where a rule has approved the job and by now the policy
    /// would ask a person because of one of the peers.
    ///
    /// # Errors
    /// Where too much waits to be recorded.
    pub fn begin_start(
        &self,
        id: JobId,
        found: BTreeMap<String, FileMark>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Pending<Job>> {
        let (me, most) = (self.settings.me, policy.most_unsettled());
        self.database.begin_write(Flush::Now, move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            unsettled::check(transaction, &job, most)?;
            let step = Step::Here(Local::Start { found });
            take(transaction, &job, me, &step, &Actor::Service, now)
        })
    }

    /// The job is done, with outputs for this party or without, and with this party's share of each value that the proposal keeps, in its order.
    ///
    /// # Errors
    /// Those of [`Job::step`]; [`Error::Keeps`] where `kept` has not one for each.
    pub fn finish(
        &self,
        id: JobId,
        outputs: Option<Sealed>,
        kept: Vec<Sealed>,
        now: Timestamp,
    ) -> Result<Job> {
        let (me, expires) = (self.settings.me, now.after(self.settings.keep_results));
        self.database.write(move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            let job = take(
                transaction,
                &job,
                me,
                &Step::Here(Local::Finish),
                &Actor::Service,
                now,
            )?;
            if let Some(outputs) = outputs {
                result::keep(transaction, id, &outputs, expires)?;
            }
            kept::keep(transaction, &job.proposal, &kept, now)?;
            Ok(job)
        })
    }

    /// The job failed here.
    ///
    /// # Errors
    /// Those of [`Job::step`].
    pub fn fail(&self, id: JobId, kind: FailKind, reason: String, now: Timestamp) -> Result<Job> {
        self.apply(id, Step::Here(Local::Fail { kind, reason }), Actor::Service, now)
    }

    /// This party takes the job back.
    ///
    /// # Errors
    /// Those of [`Job::step`].
    pub fn cancel(&self, id: JobId, by: Actor, now: Timestamp) -> Result<Job> {
        self.apply(id, Step::Here(Local::Cancel), by, now)
    }

    /// To be called when the service comes up: what was running has failed. Gives those jobs, and the ones that go on, oldest first.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn restart(&self, now: Timestamp) -> Result<(Vec<Job>, Vec<Job>)> {
        let me = self.settings.me;
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                concat!("SELECT ", columns!(), " FROM job WHERE open = 1 ORDER BY number"),
                &[],
            )?;
            let (mut failed, mut open) = (Vec::new(), Vec::new());
            for job in rows.iter().filter_map(readable) {
                if job.state.name() == StateName::Running {
                    failed.push(take(
                        transaction,
                        &job,
                        me,
                        &Step::Here(Local::Restart),
                        &Actor::Service,
                        now,
                    )?);
                } else {
                    open.push(job);
                }
            }
            Ok((failed, open))
        })
    }

    /// Fails jobs whose deadline has passed and that do not run, 500 at most. Gives them. What runs is ended by who runs it, who may have
    /// learnt its outputs.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn expire(&self, now: Timestamp) -> Result<Vec<Job>> {
        let me = self.settings.me;
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM job WHERE open = 1 AND deadline <= $1 AND state <> $3 ORDER BY deadline LIMIT $2"
                ),
                &[
                    Value::from(now.column()),
                    Value::from(AT_ONCE),
                    Value::from(StateName::Running.as_str()),
                ],
            )?;
            rows.iter()
                .filter_map(readable)
                .map(|job| {
                    take(
                        transaction,
                        &job,
                        me,
                        &Step::Here(Local::Expire),
                        &Actor::Service,
                        now,
                    )
                })
                .collect()
        })
    }

    /// Forgets jobs that ended, and whose deadline passed, before `before`, which is not in the future, so that none of them can be proposed
    /// again; 500 at most. Their idempotency keys and results go with them; their lines in the audit log and the counts of disclosures stay.
    /// A job of which a value is kept stays as long as the value. Gives how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn prune(&self, before: Timestamp) -> Result<u64> {
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                "SELECT id FROM job WHERE open = 0 AND deadline < $1 AND changed_at < $1
                 AND NOT EXISTS (SELECT 1 FROM kept WHERE kept.job = job.id) ORDER BY deadline LIMIT $2",
                &[Value::from(before.column()), Value::from(AT_ONCE)],
            )?;
            forget(transaction, &rows)
        })
    }

    /// Forgets jobs that ended more than an hour before `now` without having run, where there are more of a proposer than are kept, the oldest
    /// first; 500 at most of each. Nothing was learnt from them, so that they may be proposed again. Gives how many.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn prune_unrun(&self, now: Timestamp) -> Result<u64> {
        let keep = i64::try_from(self.settings.keep_unrun).unwrap_or(i64::MAX);
        self.database.write(move |transaction| {
            let mut gone = 0;
            for proposer in 0..MOST_PARTIES {
                let rows = transaction.rows(
                    "SELECT id, changed_at FROM job WHERE open = 0 AND ran = 0 AND proposer = $1 AND changed_at <= $2
                     ORDER BY changed_at DESC LIMIT $3 OFFSET $4",
                    &[
                        Value::from(proposer),
                        Value::from(now.before(RECENT).column()),
                        Value::from(AT_ONCE),
                        Value::from(keep),
                    ],
                )?;
                gone += forget(transaction, &rows)?;
            }
            Ok(gone)
        })
    }

    /// The job of this name.
    ///
    /// # Errors
    /// [`Error::NoJob`].
    pub fn get(&self, id: JobId) -> Result<Job> {
        self.database.read(move |connection| row::get(connection, id))
    }

    /// The person here who submitted the job, by the name of the token; none for one that a peer has proposed.
    ///
    /// # Errors
    /// [`Error::NoJob`].
    pub fn submitter(&self, id: JobId) -> Result<Option<String>> {
        self.database.read(move |connection| {
            let row = connection.one(
                "SELECT submitter FROM job WHERE id = $1",
                &[Value::from(id.to_string())],
            )?;
            let row = row.ok_or(Error::NoJob(id))?;
            Ok(row.text_or_null(0)?.map(str::to_owned))
        })
    }

    /// A page of jobs, the newest first.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn list(&self, request: PageRequest) -> Result<Page> {
        self.database
            .read(move |connection| list::page(connection, &request))
    }

    /// How often this party has allowed an output of `program` on `data` to be learnt.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn disclosures(&self, program: Digest, data: String) -> Result<u64> {
        self.database
            .read(move |connection| approve::used(connection, &program, &data))
    }

    fn apply(&self, id: JobId, step: Step, by: Actor, now: Timestamp) -> Result<Job> {
        let me = self.settings.me;
        self.database.write(move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            take(transaction, &job, me, &step, &by, now)
        })
    }
}

/// Deletes the jobs that are named in the first column, with what belongs to them.
fn forget(transaction: &mut Transaction<'_>, rows: &[Row]) -> Result<u64> {
    for row in rows {
        let id = Value::from(row.text(0)?);
        transaction.run("DELETE FROM result WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM ruling WHERE job = $1", std::slice::from_ref(&id))?;
        transaction.run("DELETE FROM job WHERE id = $1", &[id])?;
    }
    Ok(rows.len() as u64)
}

fn reason_of(by: &Actor) -> String {
    match by {
        Actor::Person(name) => format!("approved by {name}"),
        Actor::Rule(name) => format!("approved by rule {name}"),
        Actor::Peer(_) | Actor::Service => String::new(),
    }
}
