//! A proposal in the database: once under its idempotency key, and with room for its proposer.

use std::time::Duration;

use super::rule::{Rules, rule};
use super::{Digest, Job, Jobs, Proposal, State, row};
use crate::audit::{Actor, Event};
use crate::database::{Connection, Flush, Pending, Transaction, Value};
use crate::policy;
use crate::{Error, Result, Timestamp};

/// For how long a job that ended without having run counts against its proposer.
pub(super) const RECENT: Duration = Duration::from_secs(3600);

/// A proposal that was noted.
#[derive(Debug)]
pub struct Noted {
    /// The job, as it was when it was noted.
    pub job: Job,
    /// Whether it is new.
    pub new: bool,
    /// What the policy has decided, and the job after that if it has.
    pub ruled: Option<(policy::Ruling, Option<Job>)>,
}

/// Notes a proposal. Gives the job, and whether it is new.
fn propose(
    transaction: &mut Transaction<'_>,
    proposal: Proposal,
    body: &Digest,
    by: Actor,
    limit: u64,
    now: Timestamp,
) -> Result<(Job, bool)> {
    let proposer = proposal.proposer;
    if let Some(known) = known(transaction, &proposal, body)? {
        return Ok((known, false));
    }
    if proposal.deadline <= now {
        return Err(Error::Proposal(format!(
            "its deadline {} has passed",
            proposal.deadline
        )));
    }
    room(transaction, proposer, limit)?;
    match &by {
        Actor::Peer(_) => patience(transaction, proposer, limit, now)?,
        Actor::Person(name) => share(transaction, proposer, name, limit.div_ceil(2), now)?,
        Actor::Rule(_) | Actor::Service => {}
    }
    let last = transaction.one("SELECT number FROM job ORDER BY number DESC LIMIT 1", &[])?;
    let job = Job {
        number: last.map_or(Ok(0), |row| row.count(0))? + 1,
        digest: proposal.digest(),
        state: State::Proposed,
        decisions: vec![None; usize::from(proposal.parties)],
        binding: Vec::new(),
        created_at: now,
        changed_at: now,
        runs: 0,
        interrupted: None,
        proposal,
    };
    row::insert(transaction, &job, body, &by)?;
    transaction.audit(
        now,
        &Event::Proposed {
            job: job.proposal.id,
            proposer,
            by,
            program: job.proposal.program.digest,
            proposal: job.digest,
            receivers: job.proposal.receivers.clone(),
        },
    )?;
    Ok((job, true))
}

impl Jobs {
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

    /// The job that this party has proposed under this idempotency key, if there is one.
    ///
    /// # Errors
    /// [`Error::OtherBody`] where that was with another body.
    pub fn repeated(&self, key: String, body: Digest) -> Result<Option<Job>> {
        let me = self.settings.me;
        self.database
            .read(move |connection| under_key(connection, me, &key, &body))
    }
}

/// The job that was proposed under this key.
fn under_key(connection: &mut Connection, proposer: u8, key: &str, body: &Digest) -> Result<Option<Job>> {
    let row = connection.one(
        "SELECT id, body FROM job WHERE proposer = $1 AND idempotency = $2",
        &[Value::from(i64::from(proposer)), Value::from(key)],
    )?;
    let Some(row) = row else {
        return Ok(None);
    };
    let id = row
        .text(0)?
        .parse()
        .map_err(|_| Error::Corrupt("a job with a wrong name".into()))?;
    if row.text(1)? != body.to_string() {
        return Err(Error::OtherBody { job: id });
    }
    row::find(connection, id)
}

/// The job that the proposal is a repetition of.
fn known(transaction: &mut Transaction<'_>, proposal: &Proposal, body: &Digest) -> Result<Option<Job>> {
    let (proposer, key) = (proposal.proposer, proposal.idempotency_key.as_str());
    let known = under_key(transaction.connection(), proposer, key, body)?;
    if known.is_some() {
        return Ok(known);
    }
    match row::find(transaction.connection(), proposal.id)? {
        Some(job) => Err(Error::SameName { job: job.proposal.id }),
        None => Ok(None),
    }
}

/// Refuses more of a peer that has proposed much within the last hour that never ran: it can neither fill the record nor the audit log with
/// jobs that it takes back.
fn patience(transaction: &mut Transaction<'_>, proposer: u8, limit: u64, now: Timestamp) -> Result<()> {
    let ended = transaction
        .one(
            "SELECT COUNT(*) FROM job WHERE open = 0 AND ran = 0 AND proposer = $1 AND changed_at > $2",
            &[
                Value::from(i64::from(proposer)),
                Value::from(now.before(RECENT).column()),
            ],
        )?
        .map_or(Ok(0), |row| row.count(0))?;
    match ended >= limit {
        true => Err(Error::TooManyUnrun {
            proposer,
            ended,
            limit,
        }),
        false => Ok(()),
    }
}

/// Refuses more of a person here who takes more than a share of what this party may have open, or of what its peers take of it within an hour that
/// never ran: the others here go on.
fn share(
    transaction: &mut Transaction<'_>,
    proposer: u8,
    submitter: &str,
    limit: u64,
    now: Timestamp,
) -> Result<()> {
    let mut count = |sql: &'static str, values: &[Value]| {
        let row = transaction.one(sql, values)?;
        row.map_or(Ok(0), |row| row.count(0))
    };
    let (proposer, submitter) = (Value::from(i64::from(proposer)), Value::from(submitter));
    let open = count(
        "SELECT COUNT(*) FROM job WHERE open = 1 AND proposer = $1 AND submitter = $2",
        &[proposer.clone(), submitter.clone()],
    )?;
    let ended = count(
        "SELECT COUNT(*) FROM job WHERE open = 0 AND ran = 0 AND proposer = $1 AND changed_at > $3 AND submitter = $2",
        &[proposer, submitter, Value::from(now.before(RECENT).column())],
    )?;
    match open >= limit || ended >= limit {
        true => Err(Error::TooManyOfOne { open, ended, limit }),
        false => Ok(()),
    }
}

fn room(transaction: &mut Transaction<'_>, proposer: u8, limit: u64) -> Result<()> {
    let open = transaction
        .one(
            "SELECT COUNT(*) FROM job WHERE open = 1 AND proposer = $1",
            &[Value::from(i64::from(proposer))],
        )?
        .map_or(Ok(0), |row| row.count(0))?;
    if open >= limit {
        return Err(Error::TooMany {
            proposer,
            open,
            limit,
        });
    }
    Ok(())
}
