//! `cenote doctor`: looks at what a service needs, by its interface where it is up, and by what is on the disk.

mod catalogue;
mod disk;
mod network;
mod up;

use std::path::PathBuf;

use cenote::{Kind, PartyConfig, Result};
use serde::Serialize;

use cenote_console::Command;
use cenote_console::args::Form;
use cenote_console::service::{Reach, fault};

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// The party file of the service
    #[arg(long, value_name = "FILE", env = "CENOTE_CONFIG")]
    config: PathBuf,
    /// The file with the token for the service [default: the operator's]
    #[arg(long, value_name = "FILE", env = "CENOTE_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Grade {
    /// As it should be.
    Well,
    /// It works, and may not for long.
    Warning,
    /// It does not work, or is not safe.
    Fault,
}

#[derive(Debug, Serialize)]
struct Finding {
    grade: Grade,
    /// What was looked at.
    about: &'static str,
    /// What was found.
    text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    advice: String,
}

/// What was found, in order.
#[derive(Debug, Default, Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, grade: Grade, about: &'static str, text: impl Into<String>, advice: &str) {
        self.findings.push(Finding {
            grade,
            about,
            text: text.into(),
            advice: advice.into(),
        });
    }

    fn well(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Grade::Well, about, text, "");
    }

    fn warn(&mut self, about: &'static str, text: impl Into<String>, advice: &str) {
        self.add(Grade::Warning, about, text, advice);
    }

    fn fault(&mut self, about: &'static str, text: impl Into<String>, advice: &str) {
        self.add(Grade::Fault, about, text, advice);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let word = match finding.grade {
                Grade::Well => "well",
                Grade::Warning => "look",
                Grade::Fault => "FAULT",
            };
            text += &format!("{word:5}  {:8}  {}\n", finding.about, finding.text);
            if !finding.advice.is_empty() {
                text += &format!("{:17}what to do: {}\n", "", finding.advice);
            }
        }
        text
    }

    fn count(&self, grade: Grade) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.grade == grade)
            .count()
    }
}

// Its answer is one object, which tells of faults too, so nothing is to be added to it after a failure.
impl Command for Doctor {
    fn run(&self, _: u8) -> Result<()> {
        let config = PartyConfig::load(&self.config)?;
        let Some(service) = &config.service else {
            return Err(cenote::Error::Usage(format!(
                "{} has no [service]; add that line at its end, or make a new file with `cenote init`",
                self.config.display()
            )));
        };
        let mut findings = Findings::default();
        disk::keys(&config, &mut findings);
        disk::folders(service, &mut findings);
        disk::policy(service, &mut findings);
        catalogue::look(&config, service, &mut findings);
        disk::space(&config, service, &mut findings);
        let reach = Reach {
            config: Some(self.config.clone()),
            service: None,
            fingerprint: None,
            token_file: self.token_file.clone(),
        };
        match reach.open_without_token() {
            Ok(called) if called.get_text("/healthz").is_ok() => {
                disk::key(service, &mut findings);
                up::look(&called, &mut findings);
            }
            _ => {
                network::ports(&config, service, &mut findings);
                network::peers(&config, &mut findings);
                disk::record(service, &mut findings);
                disk::stock(&config, &mut findings);
            }
        }
        self.form.print(&findings, || findings.text())?;
        match findings.count(Grade::Fault) {
            0 => Ok(()),
            1 => Err(fault(
                Kind::Internal,
                "there is a fault; what to do about it is said beside it",
            )),
            faults => Err(fault(
                Kind::Internal,
                format!("there are {faults} faults; what to do about each is said beside it"),
            )),
        }
    }
}
