//! `cenote job`

mod show;
mod submit;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use cenote::{Error, Kind, Result};
use cenote_api::view::{Approve, Decline, Fetch, Gift, JobDetail, JobPage, JobView, ResultFormat};
use cenote_api::{Digest, JobId};
use clap::Subcommand;
use serde_json::Value;

use cenote_console::args::Form;
use cenote_console::service::{Reach, Service, fault, printable};
use cenote_console::{Command, print};

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// Propose a job to the other parties
    Submit(submit::Submit),
    /// List jobs, the newest first
    List {
        #[command(flatten)]
        reach: Reach,
        /// Only jobs in this state: proposed, approved, queued, running, done, declined, failed, cancelled
        #[arg(long)]
        state: Option<String>,
        /// How many to list, at most 200
        #[arg(long, default_value_t = 20)]
        limit: u16,
        /// Only jobs before the one with this number
        #[arg(long, value_name = "NUMBER")]
        before: Option<u64>,
        #[command(flatten)]
        form: Form,
    },
    /// Show a job: what it computes, and what it reveals to whom
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        form: Form,
    },
    /// Approve a job: this party takes part in it
    Approve {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        given: Given,
        /// Approve only the proposal with this digest, as `cenote job show` prints it [default: show the proposal and approve it]
        #[arg(long, value_name = "HEX")]
        proposal: Option<String>,
    },
    /// Decline a job: this party does not take part in it
    Decline {
        #[command(flatten)]
        which: Which,
        /// The reason, which the other parties see
        #[arg(long)]
        reason: String,
    },
    /// Cancel a job that you have proposed
    Cancel {
        #[command(flatten)]
        which: Which,
    },
    /// Print what this party learns from a job; the service gives the result out once
    Fetch {
        #[command(flatten)]
        which: Which,
        /// Write the result to this new file, readable by its owner only
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// A word of your choice; with the same word you get the result again for ten minutes [default: a random word]
        #[arg(long, value_name = "WORD")]
        key: Option<String>,
    },
    /// Print events as they happen: of one job until it ends, or of all
    Watch {
        #[command(flatten)]
        reach: Reach,
        /// The job's name, or at least its first 8 digits; without it, all jobs
        job: Option<String>,
        /// Print JSON objects, one a line, instead of text
        #[arg(long)]
        json: bool,
    },
}

/// A job of a service.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    #[command(flatten)]
    reach: Reach,
    /// The job's name, or at least its first 8 digits
    job: String,
}

/// What this party gives.
#[derive(Debug, clap::Args)]
pub(crate) struct Given {
    /// Give the data NAME of the service's data folder for the input or table INPUT
    #[arg(long, value_name = "INPUT=NAME", value_parser = pair)]
    data: Vec<(String, String)>,
    /// Give the values in FILE for the input or table INPUT; `-` reads standard input
    #[arg(long, value_name = "INPUT=FILE", value_parser = pair)]
    post: Vec<(String, String)>,
    /// The reason, for the audit log
    #[arg(long, default_value = "")]
    reason: String,
}

pub(super) fn pair(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((input, name)) if !input.is_empty() && !name.is_empty() => Ok((input.into(), name.into())),
        _ => Err("give INPUT=NAME".into()),
    }
}

impl Given {
    /// What is given, with the files read.
    fn gift(&self) -> Result<Gift> {
        let mut posted = BTreeMap::new();
        for (input, file) in &self.post {
            let read = match file.as_str() {
                "-" => std::io::read_to_string(std::io::stdin()),
                file => std::fs::read_to_string(file),
            };
            let text = read.map_err(|error| Error::Data {
                file: file.into(),
                line: None,
                what: error.to_string(),
            })?;
            posted.insert(input.clone(), text);
        }
        Ok(Gift {
            data: self.data.iter().cloned().collect(),
            posted,
            reason: self.reason.clone(),
        })
    }
}

impl Which {
    /// The service, and the job's whole name.
    pub(super) fn open(&self) -> Result<(Service, String)> {
        let service = self.reach.open()?;
        let name = whole(&service, &self.job)?;
        Ok((service, name))
    }
}

/// The name of the one job, among the last 200, that begins so.
fn whole(service: &Service, beginning: &str) -> Result<String> {
    if beginning.parse::<JobId>().is_ok() {
        return Ok(beginning.to_owned());
    }
    let digits = beginning
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if beginning.len() < 8 || !digits {
        return Err(Error::Usage(format!(
            "{beginning} names no job; give at least 8 of the digits 0-9 and a-f with which its name begins"
        )));
    }
    let page: JobPage = service.get("/api/v1/jobs?limit=200")?;
    let mut found = page
        .jobs
        .into_iter()
        .map(|job| job.id)
        .filter(|id| id.starts_with(beginning));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (None, _) => Err(Error::Usage(format!(
            "none of the last 200 jobs begins with {beginning}; give its whole name"
        ))),
        _ => Err(Error::Usage(format!(
            "several jobs begin with {beginning}; give more of the name"
        ))),
    }
}

impl Command for Job {
    fn run(&self, _: u8) -> Result<()> {
        match self {
            Job::Submit(options) => submit::run(options),
            Job::List {
                reach,
                state,
                limit,
                before,
                form,
            } => list(reach, state.as_deref(), *limit, *before, *form),
            Job::Show { which, form } => {
                let (service, id) = which.open()?;
                let detail: JobDetail = service.get(&format!("/api/v1/jobs/{id}"))?;
                form.print(&detail, || show::detail(&detail))
            }
            Job::Approve {
                which,
                given,
                proposal,
            } => approve(which, given, proposal.as_deref()),
            Job::Decline { which, reason } => {
                let (service, id) = which.open()?;
                let detail: JobDetail = service.get(&format!("/api/v1/jobs/{id}"))?;
                let body = Decline {
                    proposal: detail.job.proposal,
                    reason: reason.clone(),
                };
                let job: JobView = service.post(&format!("/api/v1/jobs/{id}/decline"), &body)?;
                print(&show::line(&job))
            }
            Job::Cancel { which } => {
                let (service, id) = which.open()?;
                let job: JobView = service.post(&format!("/api/v1/jobs/{id}/cancel"), &())?;
                print(&show::line(&job))
            }
            Job::Fetch { which, output, key } => fetch(which, output.as_ref(), key.as_deref()),
            Job::Watch { reach, job, json } => {
                let service = reach.open()?;
                let id = job.as_deref().map(|job| whole(&service, job)).transpose()?;
                watch(&service, id.as_deref(), *json)
            }
        }
    }

    fn json(&self) -> bool {
        match self {
            Job::Submit(options) => options.form.json,
            Job::List { form, .. } | Job::Show { form, .. } => form.json,
            _ => false,
        }
    }
}

fn list(reach: &Reach, state: Option<&str>, limit: u16, before: Option<u64>, form: Form) -> Result<()> {
    let mut path = format!("/api/v1/jobs?limit={limit}");
    if let Some(state) = state {
        let known = cenote_api::StateName::ALL
            .iter()
            .any(|known| known.as_str() == state);
        if !known {
            return Err(Error::Usage(format!("jobs have no state {state}")));
        }
        path += &format!("&state={state}");
    }
    if let Some(before) = before {
        path += &format!("&before={before}");
    }
    let page: JobPage = reach.open()?.get(&path)?;
    form.print(&page, || show::page(&page))
}

fn approve(which: &Which, given: &Given, seen: Option<&str>) -> Result<()> {
    let (service, id) = which.open()?;
    let gift = given.gift()?;
    let proposal = match seen {
        Some(seen) => seen.to_owned(),
        None => {
            let detail: JobDetail = service.get(&format!("/api/v1/jobs/{id}"))?;
            // What is approved is told beside it, and not in place of the outcome.
            eprint!("{}", show::detail(&detail));
            detail.job.proposal
        }
    };
    let body = Approve {
        proposal,
        data: gift.data,
        posted: gift.posted,
        reason: gift.reason,
    };
    let job: JobView = service.post(&format!("/api/v1/jobs/{id}/approve"), &body)?;
    print(&show::line(&job))
}

fn fetch(which: &Which, output: Option<&PathBuf>, key: Option<&str>) -> Result<()> {
    let (service, id) = which.open()?;
    // A result that could not be written would be lost.
    let file = output
        .map(|path| {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path);
            file.map_err(|source| Error::Local {
                what: format!("making {}", path.display()),
                source,
            })
        })
        .transpose()?;
    let key = match key {
        Some(key) => key.to_owned(),
        None => random()?,
    };
    let result = service.post_text(
        &format!("/api/v1/jobs/{id}/fetch"),
        &Fetch {
            key: key.clone(),
            format: ResultFormat::Json,
        },
        None,
    );
    let again = format!("for some minutes the same command with --key {key} gives the result again");
    let result = result.inspect_err(|error| {
        if let Some(path) = output {
            // Nothing has been written into it.
            let _ = std::fs::remove_file(path);
        }
        // The service may have given it out under this key before the answer was lost.
        if error.kind() != Kind::Misuse {
            eprintln!("if it was given out, {again}");
        }
    })?;
    let written = match file {
        None => print(&format!("{}\n", *result)),
        Some(mut file) => file
            .write_all(result.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|source| Error::Local {
                what: "writing the result".into(),
                source,
            }),
    };
    if written.is_err() {
        eprintln!("{again}");
    }
    written
}

/// A random word.
pub(super) fn random() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        fault(
            Kind::Internal,
            format!("the system gives no random bytes: {error}"),
        )
    })?;
    Ok(Digest(bytes).to_string())
}

/// Prints what happens. A stream that ends is opened anew, as long as the service is there.
fn watch(service: &Service, job: Option<&str>, json: bool) -> Result<()> {
    let path = match job {
        Some(id) => format!("/api/v1/jobs/{id}/events"),
        None => "/api/v1/events".to_owned(),
    };
    let mut state = None;
    loop {
        service.listen(&path, &mut |event| {
            let value: Value = serde_json::from_str(event).unwrap_or_default();
            let told = if json {
                print(&format!("{event}\n"))
            } else {
                print(&show::event(&value))
            };
            if job.is_some() && value["event"] == "job" {
                state = value["state"].as_str().map(str::to_owned);
            }
            told.map(|()| state.as_deref().is_some_and(has_ended))
        })?;
        if state.as_deref().is_some_and(has_ended) {
            break;
        }
    }
    match job {
        Some(id) => {
            let detail: JobDetail = service.get(&format!("/api/v1/jobs/{id}"))?;
            outcome(&detail.job)
        }
        None => Ok(()),
    }
}

fn has_ended(state: &str) -> bool {
    matches!(state, "done" | "declined" | "failed" | "cancelled")
}

/// A failure where the job did not end well.
fn outcome(job: &JobView) -> Result<()> {
    let reason = printable(job.reason.as_deref().unwrap_or_default());
    let by = job
        .ended_by
        .map_or_else(String::new, |by| format!(" (party {by})"));
    match job.state.as_str() {
        "done" => Ok(()),
        "failed" => Err(fault(
            match job.failure.as_deref() {
                Some("cheating") => Kind::Cheating,
                Some("peer-lost" | "timeout") => Kind::Network,
                Some("bad-input") => Kind::BadInput,
                Some("mismatch" | "refused" | "exhausted") => Kind::Misuse,
                Some("deadline") => Kind::Late,
                _ => Kind::Internal,
            },
            format!("the job failed{by}: {reason}"),
        )),
        state => Err(fault(Kind::Stopped, format!("the job was {state}{by}: {reason}"))),
    }
}
