//! `cenote party`

use cenote::query::QueryJob;
use cenote::remote::{Ready, run_party, run_party_online};
use cenote::{Error, Job, PartyConfig, Report, Result};
use serde::Serialize;

use super::query;
use super::run::show;
use crate::args::Party;
use cenote_console::{Command, Log, Progress};

#[derive(Serialize)]
struct Checked {
    party: u8,
    fingerprint: String,
    lanes: usize,
    and_gates: u64,
    circuit_digest: String,
}

impl Command for Party {
    fn run(&self, _: u8) -> Result<()> {
        if QueryJob::is_at(&self.job) {
            return query::party(self);
        }
        if self.coordinate.is_some() {
            let what =
                "--coordinate is for queries that are cut into shards, and this job is none; leave it out";
            return Err(Error::Usage(what.into()));
        }
        let mut config = PartyConfig::load(&self.config)?;
        let job = Job::load(&self.job)?;
        if self.check {
            return check(self, &config, &job);
        }
        let progress = Progress::start("running");
        config.on_wait = progress.on_wait();
        let run = if self.online { run_party_online } else { run_party };
        let outcome = run(&config, &job, &mut |done, total| progress.set(done, total))?;
        drop(progress);
        let report = Report::of_one(outcome.report);
        show(&report, self.form)
    }

    fn json(&self) -> bool {
        self.form.json
    }

    fn memory(&self) -> Option<u64> {
        self.memory
    }

    fn meets_peers(&self) -> bool {
        true
    }

    fn log(&self) -> Log {
        Log::Warnings
    }
}

fn check(options: &Party, config: &PartyConfig, job: &Job) -> Result<()> {
    let ready = Ready::check(config, job)?;
    let program = ready.program();
    let checked = Checked {
        party: config.me.0,
        fingerprint: ready.fingerprint().to_string(),
        lanes: program.lanes(),
        and_gates: program.and_gates(),
        circuit_digest: program.digest(),
    };
    options.form.print(&checked, || {
        format!(
            "{} is ready: identity, job and inputs are in order\n\
             fingerprint     {}\n\
             circuit digest  {} (must be the same at all parties)\n\
             lanes           {}\n\
             AND gates       {}\n",
            config.me, checked.fingerprint, checked.circuit_digest, checked.lanes, checked.and_gates
        )
    })
}
