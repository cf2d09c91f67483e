//! `cenote demo`

use cenote::Result;
use cenote::demo::{job_file, write_samples};
use cenote::query::Instead;

use super::query::told;
use crate::args::Demo;
use crate::console::print;

pub(crate) fn run(options: &Demo, verbose: u8) -> Result<()> {
    for file in write_samples(&options.dir)? {
        eprintln!("wrote {}", file.display());
    }
    let job = job_file(&options.dir);
    told(&job, &Instead::default(), &options.local, options.json, verbose)?;
    if options.json {
        return Ok(());
    }
    print(&format!(
        "\nEach bank is a process with a file of its own. None has seen another's, and one that cheats cannot pass off a wrong answer.\n\
         The query is in {}: edit it and run this again.\n",
        job.display()
    ))
}
