//! `cenote soak`

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kill::run_killed;
use crate::soak::{Soak as Stream, run_soak};
use cenote::text::quantity;
use cenote::{Error, Protocol, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use cenote_console::args::{Local, seconds};
use cenote_console::{Command, child, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Soak {
    /// The protocol
    #[arg(long, value_name = "NAME", value_parser = protocols())]
    protocol: Protocol,
    /// Hours to run after the opening round of the largest computations (0.5 is allowed)
    #[arg(long, value_name = "HOURS", value_parser = hours, default_value = "1")]
    hours: Duration,
    /// The same, in minutes
    #[arg(long, value_name = "MINUTES", value_parser = minutes, conflicts_with = "hours")]
    minutes: Option<Duration>,
    /// The seed of the random computations: the same seed gives the same computations
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// About how many AND gates the largest computation has
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "10M")]
    largest: u64,
    /// About how many seconds between two lines of the log
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    every: Duration,
    /// Keep the pool in this folder, which is made if it is missing (jimu, authenticated)
    #[arg(long, value_name = "FOLDER")]
    stock: Option<PathBuf>,
    /// Kill a party this many times, and go on with the pool in --stock (jimu, authenticated)
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["hours", "minutes"])]
    kill: Option<u32>,
    #[command(flatten)]
    local: Local,
    /// Also write the log, and at the end the report, to this file as JSON, one object a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A protocol by its name.
pub(crate) fn protocols() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::names()).map(|name| Protocol::named(&name).expect("one of the names"))
}

fn times(text: &str, unit: f64) -> std::result::Result<Duration, String> {
    match text.parse::<f64>().map(|number| number * unit) {
        Ok(seconds) if (0.001..=1e9).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a stream lasts from a millisecond to thirty years".into()),
    }
}

fn hours(text: &str) -> std::result::Result<Duration, String> {
    times(text, 3600.0)
}

fn minutes(text: &str) -> std::result::Result<Duration, String> {
    times(text, 60.0)
}

impl Command for Soak {
    fn run(&self, verbose: u8) -> Result<()> {
        if self.stock.is_some() {
            self.protocol.item()?;
        }
        let stream = Stream {
            protocol: self.protocol.clone(),
            length: self.minutes.unwrap_or(self.hours),
            seed: self.seed,
            largest: self.largest,
            stock: self.stock.clone(),
        };
        let mut lines = Lines::create(self.json.as_deref())?;
        let (setting, child) = (self.local.setting(), child(verbose)?);
        if let Some(times) = self.kill {
            let report = run_killed(&stream, times, setting, &child, &mut |life| {
                lines.tell(&life.line(), life);
            })?;
            lines.end(&report.summary(), &report)?;
            return report.verdict();
        }
        let report = run_soak(&stream, self.every, setting, &child, &mut |moment| {
            lines.tell(&moment.line(), moment);
        })?;
        lines.end(&report.summary(), &report)?;
        report.verdict()
    }

    fn meets_peers(&self) -> bool {
        true
    }
}

/// Where lines are told: to the user, and to a file of JSON objects if there is to be one.
struct Lines {
    file: Option<(File, PathBuf)>,
    failed: Option<Error>,
}

impl Lines {
    fn create(path: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| match File::create(path) {
            Ok(file) => Ok((file, path.into())),
            Err(source) => Err(fault(path, source)),
        };
        Ok(Lines {
            file: path.map(create).transpose()?,
            failed: None,
        })
    }

    /// Tells what stands for `value`. If that fails, [`Lines::end`] says so.
    fn tell(&mut self, line: &str, value: &impl Serialize) {
        let told = print(&format!("{line}\n"));
        let written = self.write(value);
        self.failed = told.and(written).err().or(self.failed.take());
    }

    fn end(mut self, summary: &str, report: &impl Serialize) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.write(report)?;
        print(&format!("\n{summary}"))
    }

    fn write(&mut self, value: &impl Serialize) -> Result<()> {
        let Some((file, path)) = &mut self.file else {
            return Ok(());
        };
        let line = serde_json::to_string(value).map_err(std::io::Error::other);
        let written = line.and_then(|line| writeln!(file, "{line}"));
        written.map_err(|source| fault(path, source))
    }
}

fn fault(path: &Path, source: std::io::Error) -> Error {
    Error::local(format!("writing {}", path.display()), source)
}
