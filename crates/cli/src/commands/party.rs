//! `cenote party`

use cenote::query::QueryJob;
use cenote::remote::{Ready, run_party, run_party_online};
use cenote::{Job, PartyConfig, Report, Result};
use serde::Serialize;

use super::query;
use super::run::show;
use crate::args::Party;
use crate::console::{Progress, print, print_json};

#[derive(Serialize)]
struct Checked {
    party: u8,
    fingerprint: String,
    lanes: usize,
    and_gates: u64,
    circuit_digest: String,
}

pub(crate) fn run(options: &Party) -> Result<()> {
    if QueryJob::is_at(&options.job) {
        return query::party(options);
    }
    let mut config = PartyConfig::load(&options.config)?;
    let job = Job::load(&options.job)?;
    if options.check {
        return check(options, &config, &job);
    }
    let progress = Progress::start("running");
    config.on_wait = progress.on_wait();
    let run = if options.online {
        run_party_online
    } else {
        run_party
    };
    let outcome = run(&config, &job, &mut |done, total| progress.set(done, total))?;
    drop(progress);
    let report = Report::of_one(outcome.report);
    show(&report, options.json)
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
    if options.json {
        return print_json(&checked);
    }
    print(&format!(
        "{} is ready: identity, job and inputs are in order\n\
         fingerprint     {}\n\
         circuit digest  {} (must be the same at all parties)\n\
         lanes           {}\n\
         AND gates       {}\n",
        config.me, checked.fingerprint, checked.circuit_digest, checked.lanes, checked.and_gates
    ))
}
