//! `cenote demo`

use cenote::Result;
use cenote::demo::{Task, write_samples};
use cenote::local::{DemoReport, run_demo};
use cenote::text::s;

use crate::args::Demo;
use crate::console::{Progress, child, print, print_json, warn};

/// Customers that are printed; more are for `--json`.
const SHOWN: usize = 40;

pub(crate) fn run(options: &Demo, verbose: u8) -> Result<()> {
    for file in write_samples(&options.dir)? {
        eprintln!("wrote sample data to {}", file.display());
    }
    let task = Task {
        folder: options.dir.clone(),
        limit: options.limit,
    };
    let progress = Progress::start("three banks compute");
    let report = run_demo(
        task,
        options.local.setting(),
        child("child", verbose)?,
        &mut |done, total| {
            progress.set(done, total);
        },
    )?;
    drop(progress);
    warn(&report.report);
    if options.json {
        return print_json(&report);
    }
    print(&text(&report, options))
}

fn text(report: &DemoReport, options: &Demo) -> String {
    let found = report.over_limit.len();
    let mut text = format!(
        "Three banks, each a process with its own file in {}, compared {} customers.\n\
         Joint exposure over {}.{:02}: {found} customer{}\n\n",
        options.dir.display(),
        report.customers,
        report.limit / 100,
        report.limit % 100,
        s(found as u64),
    );
    for id in report.over_limit.iter().take(SHOWN) {
        text.push_str(&format!("  {id}\n"));
    }
    if found > SHOWN {
        text.push_str(&format!("  … {} more: use --json\n", found - SHOWN));
    }
    text.push_str(
        "\nNo bank has seen another's figures, and one that cheats cannot pass off a wrong result.\n\n",
    );
    text.push_str(&report.report.cost_table());
    text
}
