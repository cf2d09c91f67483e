//! `cenote audit`

use std::path::PathBuf;

use cenote::{Error, Result};
use cenote_service::audit;
use clap::Subcommand;

use cenote_console::Command;
use cenote_console::args::Form;

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Read a whole audit log and check that each line follows the one before
    ///
    /// A file that was cut off after a whole line passes: compare the number of lines and the last hash with those of a copy, or ask the
    /// service, which knows where its log ends (`cenote doctor`).
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
            line: match fault {
                audit::Fault::Changed { line, .. } => usize::try_from(line).ok(),
                _ => None,
            },
            what: format!(
                "{fault}\n  what to do: keep the file as it is, and find out who could write to it"
            ),
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
