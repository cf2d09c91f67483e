//! `cenote party`

use cenote::query::QueryJob;
use cenote::remote::{Ready, coordinate_party, run_party, run_party_online};
use cenote::shards::DeskAt;
use cenote::{Job, PartyConfig, Report, Result};
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
        self.parameters.refuse()?;
        let mut config = PartyConfig::load(&self.config)?;
        let job = Job::load(&self.job)?;
        if self.check {
            return check(self, &config, &job);
        }
        let progress = Progress::start("running");
        config.on_wait = progress.on_wait();
        let told = &mut |done, total| progress.set(done, total);
        let outcome = match (self.desk(), self.online) {
            (None, false) => run_party(&config, &job, told),
            (None, true) => run_party_online(&config, &job, told),
            (Some(desk), _) => coordinate_party(&config, &job, desk, told),
        }?;
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

impl Party {
    /// Where its workers ask for shards, if they are processes of their own.
    pub(super) fn desk(&self) -> Option<DeskAt<'_>> {
        let workers = self.coordinate.as_deref()?;
        let relay = self.relay.as_deref();
        Some(DeskAt { workers, relay })
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
