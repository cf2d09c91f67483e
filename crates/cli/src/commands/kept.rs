//! `cenote kept`

use cenote::{Error, Result};
use cenote_api::view;
use cenote_api::{JobId, check_kept_name};
use clap::Subcommand;

use cenote_console::args::Form;
use cenote_console::service::{Reach, Service, printable};
use cenote_console::{Command, print};

#[derive(Debug, Subcommand)]
pub(crate) enum Kept {
    /// List the values that this party keeps, the newest first
    List {
        #[command(flatten)]
        reach: Reach,
        #[command(flatten)]
        form: Form,
    },
    /// Delete a value at this party for good; no job can take it any more
    Drop {
        #[command(flatten)]
        reach: Reach,
        /// The value's name
        name: String,
        /// The job that kept it: its name, or at least the first 8 digits
        #[arg(long, value_name = "JOB")]
        of: String,
    },
}

impl Command for Kept {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            Kept::List { reach, form } => {
                let kept: Vec<view::Kept> = reach.open()?.get("/api/v1/kept")?;
                form.print(&kept, || table(&kept))
            }
            Kept::Drop { reach, name, of } => {
                check_kept_name(name).map_err(Error::Usage)?;
                let service = reach.open()?;
                let job = whole(&service, name, of)?;
                service.delete(&format!("/api/v1/kept/{job}/{name}"))?;
                print(&format!("{name} of job {job} is dropped\n"))
            }
        }
    }

    fn json(&self) -> bool {
        matches!(self, Kept::List { form, .. } if form.json)
    }
}

/// The name of the one job that begins so, among those that have kept a value of this name.
fn whole(service: &Service, name: &str, beginning: &str) -> Result<String> {
    if beginning.parse::<JobId>().is_ok() {
        return Ok(beginning.to_owned());
    }
    let fault = |what: &str| {
        Err(Error::Usage(format!(
            "{what}; `cenote kept list` prints what there is"
        )))
    };
    let digits = beginning
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if beginning.len() < 8 || !digits {
        return fault("--of needs at least 8 of the digits 0-9 and a-f with which a job's name begins");
    }
    let kept: Vec<view::Kept> = service.get("/api/v1/kept")?;
    let mut found = kept
        .into_iter()
        .filter(|value| value.name == name && value.job.to_string().starts_with(beginning));
    match (found.next(), found.next()) {
        (Some(value), None) => Ok(value.job.to_string()),
        (None, _) => fault("no job that begins so has kept a value of this name here"),
        _ => fault("several jobs that begin so have kept a value of this name"),
    }
}

fn table(kept: &[view::Kept]) -> String {
    let mut text = format!(
        "{:24}  {:32}  {:24}  {:24}  {:>11}  {}\n",
        "name", "job", "since", "until", "share bytes", "type"
    );
    for value in kept {
        text += &format!(
            "{:24}  {:32}  {:24}  {:24}  {:>11}  {}\n",
            value.name,
            value.job,
            value.kept_at,
            value.expires_at,
            value.bytes,
            printable(&value.kind)
        );
    }
    text
}
