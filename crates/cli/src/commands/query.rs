//! `cenote query`, and jobs that are queries

use std::path::Path;

use cenote::query::{
    Instead, QueryJob, QueryPlan, QueryReport, check_party, coordinate_party, run_here, run_party,
};
use cenote::{Error, PartyConfig, Result};
use serde::Serialize;

use cenote_console::args::{Form, Local};
use cenote_console::{Command, Drawing, Drawn, Progress, child, warn};

use crate::args::{Party, Plan, Query};

impl Command for Query {
    fn run(&self, verbose: u8) -> Result<()> {
        let instead = Instead {
            query: Some(self.query.clone()),
            protocol: self.protocol.clone(),
            ..self.parameters.instead()
        };
        told(&self.tables, &instead, &self.local, self.form, verbose)
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
}

/// Runs the query of the job at `path` with all parties on this machine, and prints its answer.
pub(crate) fn told(path: &Path, instead: &Instead, local: &Local, form: Form, verbose: u8) -> Result<()> {
    let progress = Progress::start("running");
    let report = run_here(
        path,
        instead,
        local.setting(),
        child(verbose)?,
        &mut |done, total| {
            progress.set(done, total);
        },
    )?;
    drop(progress);
    show(&report, form)
}

fn show(report: &QueryReport, form: Form) -> Result<()> {
    warn(&report.report);
    form.print(report, || {
        format!("{}\n{}", report.answer_table(), report.report.cost_table())
    })
}

#[derive(Serialize)]
struct Checked {
    party: u8,
    fingerprint: String,
    and_gates: u64,
}

/// `cenote party` for a query.
pub(crate) fn party(options: &Party) -> Result<()> {
    if options.online {
        return Err(Error::Usage(
            "a query makes its material while it runs: leave --online out".into(),
        ));
    }
    let mut config = PartyConfig::load(&options.config)?;
    let job = QueryJob::load_with(&options.job, &options.parameters.instead())?;
    if options.check {
        let (fingerprint, and_gates) = check_party(&config, job)?;
        let checked = Checked {
            party: config.me.0,
            fingerprint: fingerprint.to_string(),
            and_gates,
        };
        return options.form.print(&checked, || {
            format!(
                "{} is ready: identity, query and tables are in order\nfingerprint  {}\nAND gates    {}\n",
                config.me, checked.fingerprint, checked.and_gates
            )
        });
    }
    let progress = Progress::start("running");
    config.on_wait = progress.on_wait();
    let told = &mut |done, total| progress.set(done, total);
    let report = match options.desk() {
        None => run_party(&config, job, told),
        Some(desk) => coordinate_party(&config, job, desk, told),
    }?;
    drop(progress);
    show(&report, options.form)
}

/// `cenote plan` for a query.
pub(crate) fn plan(options: &Plan, verbose: u8) -> Result<()> {
    let progress = Progress::start("planning");
    let plan = QueryPlan::new(
        &options.job,
        &Instead {
            samples: true,
            ..options.parameters.instead()
        },
        options.link,
        options.local.setting(),
        child(verbose)?,
        &mut |what| progress.name(what),
    )?;
    drop(progress);
    if let Some(file) = &options.plot {
        let steps = plan.steps.clone();
        let title = format!("Steps of {}, the answer first", options.job.display());
        let drawing = Drawing::Plan { title, steps };
        let file = file.clone();
        Drawn { file, drawing }.draw()?;
    }
    options.form.print(&plan, || plan.table())?;
    match plan.refused {
        Some(why) if !options.form.json => {
            Err(Error::Usage(format!("the query cannot be run as it is: {why}")))
        }
        _ => Ok(()),
    }
}
