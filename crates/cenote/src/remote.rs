//! One party whose peers are elsewhere.

use std::sync::Arc;

use cenote_net::Identity;

use crate::job::shards::{self as in_shards, Lanes};
pub use crate::meeting::load_identity;
use crate::meeting::{entered, meet_with};
use crate::outputs::OutputFiles;
use crate::runner::Outcome;
use crate::shards::{DeskAt, NO_DESK, not_cut};
use crate::stock::{self, Store};
use crate::stop::Session;
use crate::{Error, Job, Party, PartyConfig, Result, Transport};

/// What has become of a job that the operator stopped.
const JOB_STOPPED: &str = "the job has ended, its peers were told, and this party has written no output";

/// Everything that can be known to be right before the peers are met: the identity, the circuit, this party's inputs, and that
/// its outputs can be written.
pub struct Ready<'a> {
    identity: Arc<Identity>,
    program: crate::Program,
    sessions: Sessions,
    inputs: Vec<Option<cenote_primitives::BitMatrix>>,
    files: OutputFiles<'a>,
}

/// In what sessions a job is computed.
enum Sessions {
    One(crate::Prepared),
    InShards(Box<Lanes>),
}

impl<'a> Ready<'a> {
    /// Reads the identity and this party's inputs, and sees that the party file has the peers of the job's protocol, that the
    /// job states its lanes, and that the files for this party's outputs can be written.
    ///
    /// # Errors
    /// [`crate::Error::Config`] or [`crate::Error::Data`], naming the file and where one is to blame the line.
    pub fn check(config: &PartyConfig, job: &'a Job) -> Result<Self> {
        let identity = entered(config, job.protocol())?;
        let lanes = job.stated_lanes()?;
        let program = job.program(lanes)?;
        let sessions = match Lanes::of(job, lanes)? {
            Some(cut) => {
                cut.admit([config.me])?;
                Sessions::InShards(Box::new(cut))
            }
            None => {
                let prepared = job.protocol().prepare(&program.demand())?;
                prepared.admit(&program, [config.me])?;
                Sessions::One(prepared)
            }
        };
        let inputs = job.read_inputs(config.me, lanes)?;
        job.warn_if_exposed();
        let files = OutputFiles::check(job, |to| to.contains(config.me))?;
        Ok(Ready {
            identity,
            program,
            sessions,
            inputs,
            files,
        })
    }

    /// What will be computed.
    pub fn program(&self) -> &crate::Program {
        &self.program
    }

    /// What the peers know this party by.
    pub fn fingerprint(&self) -> cenote_net::Fingerprint {
        self.identity.fingerprint()
    }
}

/// Runs `job` as the party of `config`, and writes the files that the job names for this party's outputs. `progress` is told
/// the AND gates done, of how many.
///
/// # Errors
/// Those of [`Ready::check`] and [`Party::run`].
pub fn run_party(config: &PartyConfig, job: &Job, progress: &mut dyn FnMut(u64, u64)) -> Result<Outcome> {
    run(config, job, (None, None), progress)
}

/// Runs `job`, which is cut into shards, as the party of `config`. Its shards are computed by workers that connect to `desk`, where they show this party's key
/// ([`work_for`](crate::shards::work_for)).
///
/// # Errors
/// As [`run_party`]; [`Error::Usage`] if the job is not cut, or nobody can listen there.
pub fn coordinate_party(
    config: &PartyConfig,
    job: &Job,
    desk: DeskAt<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    if !job.is_in_shards() {
        return Err(not_cut(NO_DESK));
    }
    run(config, job, (None, Some(desk)), progress)
}

/// Like [`run_party`], with what is in the party's stock (see [`crate::stock`]). All parties must do the same.
///
/// # Errors
/// Those of [`run_party`] and [`crate::stock::open`]; [`crate::Error::Protocol`] if the stock does not suffice.
pub fn run_party_online(
    config: &PartyConfig,
    job: &Job,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    if job.is_in_shards() {
        return Err(Error::Usage(
            "a job in shards makes its material while it runs: leave --online out".into(),
        ));
    }
    job.protocol().item()?;
    let stock = stock::open(config)?;
    run(config, job, (Some(&stock), None), progress)
}

fn run(
    config: &PartyConfig,
    job: &Job,
    (stock, desk): (Option<&Store>, Option<DeskAt<'_>>),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    let Ready {
        identity,
        program,
        sessions,
        inputs,
        files,
    } = Ready::check(config, job)?;
    let prepared = match sessions {
        Sessions::One(prepared) => prepared,
        Sessions::InShards(lanes) => {
            let given = (*lanes, inputs);
            return in_shards::run_party((config, identity), given, &files, desk, progress);
        }
    };
    files.put_aside()?;
    let party = Party {
        me: config.me,
        protocol: job.protocol(),
        program: &program,
        inputs: &inputs,
        also_agree: &(),
        transport: Transport::Tls,
        phase_timeout: config.phase_timeout,
    };
    let what = match stock {
        None => JOB_STOPPED.to_owned(),
        Some(_) => format!("{JOB_STOPPED}; what it had taken of the stock is used up, the rest stays"),
    };
    let budget = prepared.budget(&program.demand());
    let outcome = Session::run(&what, |session| {
        let connect = || meet_with(config, identity, &job.protocol().topology(), budget, session);
        party.run_prepared(prepared, stock, connect, progress)
    })?;
    files.write(&outcome.report.outputs)?;
    Ok(outcome)
}
