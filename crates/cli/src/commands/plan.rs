//! `cenote plan`

use cenote::plan::plan;
use cenote::query::QueryJob;
use cenote::{Error, Result};

use super::query;
use crate::args::Plan;
use crate::console::{Progress, child, print, print_json};

pub(crate) fn run(options: &Plan, verbose: u8) -> Result<()> {
    if QueryJob::is_at(&options.job) {
        return query::plan(options, verbose);
    }
    let progress = Progress::start("planning");
    let child = child("child", verbose)?;
    let plan = plan(
        &options.job,
        options.link,
        options.local.setting(),
        child,
        &mut |what| {
            progress.name(what);
        },
    )?;
    drop(progress);
    if options.json {
        print_json(&plan)?;
    } else {
        print(&plan.table())?;
    }
    match plan.refused() {
        Some(why) if !options.json => Err(Error::Usage(format!("the job cannot be run as it is: {why}"))),
        _ => Ok(()),
    }
}
