//! `cenote demo`

use cenote::Result;
use cenote::demo::{job_file, write_samples};
use cenote::query::Instead;

use super::query::told;
use crate::args::Demo;
use cenote_console::{Command, print};

impl Command for Demo {
    fn run(&self, verbose: u8) -> Result<()> {
        for file in write_samples(&self.dir)? {
            eprintln!("wrote {}", file.display());
        }
        let job = job_file(&self.dir);
        told(&job, &Instead::default(), &self.local, self.form, verbose)?;
        if self.form.json {
            return Ok(());
        }
        print(&format!(
            "\nEach bank is a process with a file of its own. None has seen another's, and one that cheats cannot pass off a wrong answer.\n\
             The query is in {}: edit it and run this again.\n",
            job.display()
        ))
    }

    fn json(&self) -> bool {
        self.form.json
    }

    fn meets_peers(&self) -> bool {
        true
    }
}
