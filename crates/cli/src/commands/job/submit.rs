//! `cenote job submit`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote::{Error, Kind, Result};
use cenote_api::view::{JobView, Submit as Body};

use super::{Given, random, show, watch};
use cenote_console::args::{Form, seconds};
use cenote_console::service::{Reach, fault, printable};

#[derive(Debug, clap::Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    reach: Reach,
    /// The job file, without input values; a circuit file that it names must be in the same folder
    job: PathBuf,
    /// Also approve the job for this party, with the data that --data and --post name
    #[arg(long)]
    approve: bool,
    #[command(flatten)]
    given: Given,
    /// Seconds from now until the job must be done
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3600")]
    within: Duration,
    /// A word for this submission; if you submit again with the same word, you get the same job, not a second one [default: a random word]
    #[arg(long, value_name = "WORD")]
    key: Option<String>,
    /// Wait until the job has ended
    #[arg(long, conflicts_with = "json")]
    wait: bool,
    #[command(flatten)]
    pub(super) form: Form,
}

pub(super) fn run(options: &Submit) -> Result<()> {
    let service = options.reach.open()?;
    let (job, files) = read(&options.job)?;
    let gives = options.approve || !options.given.data.is_empty() || !options.given.post.is_empty();
    let body = Body {
        job,
        files,
        within: Some(options.within.as_secs().max(1)),
        approval: gives.then(|| options.given.gift()).transpose()?,
    };
    let key = options.key.clone().map_or_else(random, Ok)?;
    let text = service
        .post_text("/api/v1/jobs", &body, Some(&key))
        .inspect_err(|error| {
            if matches!(error.kind(), Kind::Network | Kind::Internal) {
                eprintln!("it may have been submitted; --key {key} submits it once only");
            }
        })?;
    let job: JobView =
        serde_json::from_str(&text).map_err(|error| fault(Kind::Internal, error.to_string()))?;
    options.form.print(&job, || show::line(&job))?;
    let decided = job
        .decisions
        .get(usize::from(job.proposer))
        .is_some_and(Option::is_some);
    if job.state == "proposed" && !decided {
        eprintln!(
            "this party's own approval is still missing: cenote job approve {} --data INPUT=NAME (or give --approve, --data or --post here)",
            job.id
        );
    }
    if let Some(waits_for) = &job.waits_for {
        eprintln!("it waits for {}", printable(waits_for));
    }
    if options.wait {
        watch(&service, Some(&job.id), false)?;
    }
    Ok(())
}

/// The job file's text, and that of the circuit file that it names, if it names one.
fn read(path: &Path) -> Result<(String, BTreeMap<String, String>)> {
    let open = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| Error::Config {
            file: path.to_owned(),
            line: None,
            what: error.to_string(),
        })
    };
    let job = open(path)?;
    let table: toml::Table = job.parse().map_err(|error: toml::de::Error| Error::Config {
        file: path.to_owned(),
        line: None,
        what: error.message().to_owned(),
    })?;
    let mut files = BTreeMap::new();
    if let Some(circuit) = table.get("circuit").and_then(toml::Value::as_str)
        && !circuit.starts_with("lib:")
    {
        let beside = path.parent().unwrap_or(Path::new(""));
        files.insert(circuit.to_owned(), open(&beside.join(circuit))?);
    }
    Ok((job, files))
}
