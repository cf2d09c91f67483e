//! `cenote audit`

use std::path::PathBuf;

use cenote::{Error, Result};
use cenote_service::audit;
use clap::Subcommand;

use cenote_console::Command;
use cenote_console::args::Form;

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check that nothing in an audit log was changed or left out
    ///
    /// This does not notice lines that are missing at the end. Compare the number of lines and the last hash with a note or a copy, or run
    /// `cenote doctor`: the service knows where its log ends.
    Verify {
        /// A service's folder, or a copy of its audit.jsonl
        folder: PathBuf,
        #[command(flatten)]
        form: Form,
    },
}

impl Command for Audit {
    fn run(&self, _: u8) -> Result<()> {
        let Audit::Verify { folder, form } = self;
        let file = if folder.is_dir() {
            folder.join(audit::FILE)
        } else {
            folder.clone()
        };
        let head = audit::verify(&file, None).map_err(|fault| Error::Data {
            file: file.clone(),
            line: fault.line().and_then(|line| usize::try_from(line).ok()),
            what: format!("{fault}\n  what to do: {}", fault.advice()),
        })?;
        form.print(&head, || {
            format!(
                "{} lines, each follows the one before\nthe last one's hash is {}\n",
                head.number, head.hash
            )
        })
    }

    fn json(&self) -> bool {
        let Audit::Verify { form, .. } = self;
        form.json
    }
}
