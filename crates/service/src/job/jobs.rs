//! The jobs of a party, in its database.

use std::collections::BTreeMap;
use std::time::Duration;

use super::list::Undecided;
use super::row::{self, columns, readable};
use super::step::{Local, Remote, Step};
use super::take::take;
use super::{
    Binding, Digest, FailKind, FileMark, Job, JobId, Page, PageRequest, State, StateName, Tried, approve,
    list, tries,
};
use crate::audit::Actor;
use crate::database::{Flush, Pending, Transaction, Value};
use crate::{Database, Error, Policy, Result, Timestamp};

/// Jobs that one call of [`Jobs::expire`] ends, at most.
const AT_ONCE: i64 = 500;

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
        let started = self.begin_start(id, BTreeMap::new(), &Policy::ask(), now)?;
        started.wait().map(|(job, _)| job)
    }

    /// Asks for the same, and does not wait for it: what touches no data may be done meanwhile. Gives the number, too, under which the run is on record against
    /// its peers. Of the data that a rule has approved, the files
    /// that were `found`, by the data's name, are used. What waiting gives fails with [`Error::Unsettled`] where a rule has approved the job, or this party has proposed
    /// it, and by now the policy would ask a person because of one of the peers.
    ///
    /// # Errors
    /// Where too much waits to be recorded.
    pub fn begin_start(
        &self,
        id: JobId,
        found: BTreeMap<String, FileMark>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Pending<(Job, Option<i64>)>> {
        let (me, most) = (self.settings.me, policy.most_unsettled());
        self.database.begin_write(Flush::Now, move |transaction| {
            let job = row::get(transaction.connection(), id)?;
            tries::check(transaction, &job, me, most)?;
            let step = Step::Here(Local::Start { found });
            let job = take(transaction, &job, me, &step, &Actor::Service, now)?;
            let run = tries::last_run(transaction.connection(), Tried::Job(id))?;
            Ok((job, run))
        })
    }

    /// The job was cut off here before its answer may have been opened, for this reason: it waits to go on. Only a job in shards does.
    ///
    /// # Errors
    /// Those of [`Job::step`].
    pub fn interrupt(&self, id: JobId, reason: String, now: Timestamp) -> Result<Job> {
        self.apply(id, Step::Here(Local::Interrupt { reason }), Actor::Service, now)
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

    /// To be called when the service comes up: what was running has failed, or is interrupted if it `goes_on`. Gives the jobs that have
    /// failed, and those that are unfinished, oldest first.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn restart(
        &self,
        goes_on: impl Fn(&Job) -> bool + Send + 'static,
        now: Timestamp,
    ) -> Result<(Vec<Job>, Vec<Job>)> {
        let me = self.settings.me;
        self.database.write(move |transaction| {
            let rows = transaction.rows(
                concat!("SELECT ", columns!(), " FROM job WHERE open = 1 ORDER BY number"),
                &[],
            )?;
            let (mut failed, mut open) = (Vec::new(), Vec::new());
            for job in rows.iter().filter_map(readable) {
                if job.state != State::Running {
                    open.push(job);
                    continue;
                }
                let goes_on = goes_on(&job);
                let step = Step::Here(match goes_on {
                    true => Local::Interrupt {
                        reason: "the service was restarted".into(),
                    },
                    false => Local::Restart,
                });
                let job = take(transaction, &job, me, &step, &Actor::Service, now)?;
                if goes_on { &mut open } else { &mut failed }.push(job);
            }
            Ok((failed, open))
        })
    }

    /// Fails jobs whose deadline has passed and that do not run, 500 at most; `waited_for` says for whom each waited. Gives them. What runs is ended by who runs it, who may have
    /// learnt its outputs.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn expire(
        &self,
        now: Timestamp,
        waited_for: impl Fn(&Job) -> Option<String> + Send + 'static,
    ) -> Result<Vec<Job>> {
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
                    let waited_for = waited_for(&job);
                    let step = Step::Here(Local::Expire { waited_for });
                    take(transaction, &job, me, &step, &Actor::Service, now)
                })
                .collect()
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

    /// Jobs of a proposer that came before the one of number `before`, the newest first, at most 200: those that are open or have run.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn of_proposer(&self, proposer: u8, before: u64, limit: u16) -> Result<Page> {
        self.database
            .read(move |connection| list::of_proposer(connection, proposer, before, limit))
    }

    /// Proposals that wait for this party's decision.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn undecided(&self) -> Result<Undecided> {
        let me = self.settings.me;
        self.database
            .read(move |connection| list::undecided(connection, me))
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

fn reason_of(by: &Actor) -> String {
    match by {
        Actor::Person(name) => format!("approved by {name}"),
        Actor::Rule(name) => format!("approved by rule {name}"),
        Actor::Peer(_) | Actor::Service => String::new(),
    }
}
