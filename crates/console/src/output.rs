//! Standard error: log, progress, failures. Standard output: results only.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cenote::text::tell;
use cenote::{Error, OnWait};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Sends the log to standard error. A real party tells unasked of strangers that connect, and of secrets that others may
/// read, and a service of its jobs and peers; what ends the command is told by [`fail`], what does not by [`warn`].
pub(crate) fn start_log(verbose: u8, log: Log) {
    let level = match verbose {
        0 => match log {
            Log::Nothing => "off",
            Log::Warnings => WARNINGS,
            Log::Words | Log::Json => &format!("{WARNINGS},cenote_node=info"),
        },
        1 => "info",
        _ => "debug",
    };
    let wanted = std::env::var("RUST_LOG").ok();
    let filter = wanted
        .filter(|wanted| !wanted.is_empty())
        .and_then(|wanted| wanted.parse::<Targets>().ok())
        .unwrap_or_else(|| level.parse().expect("a list of targets and levels"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    let registry = tracing_subscriber::registry().with(filter);
    match log {
        Log::Json => registry.with(lines.json().flatten_event(true)).init(),
        _ => registry.with(lines).init(),
    }
}

/// What a command tells on standard error besides what it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Nothing.
    Nothing,
    /// What the operator of a party or service should know.
    Warnings,
    /// What happens to a service, in words.
    Words,
    /// The same as a JSON object a line.
    Json,
}

const WARNINGS: &str =
    "off,cenote_net=warn,cenote::job=warn,cenote_node=warn,cenote_service=warn,cenote_web=warn";

/// What starts this program again, where that is not the file that this process runs.
static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says that `program`, and not the file that this process runs, starts this program again: an interpreter and its first arguments. Said once, before anything
/// is started.
pub fn started_by(program: Vec<OsString>) {
    // Whoever says it again says the same.
    let _ = PROGRAM.set(program);
}

/// Starts another process of this program as a party, by the hidden command `child`.
///
/// # Errors
/// The system does not say where this program is.
pub fn child(verbose: u8) -> cenote::Result<impl Fn() -> Command> {
    let program = match PROGRAM.get() {
        Some(program) => program.clone(),
        None => {
            let this = std::env::current_exe();
            vec![
                this.map_err(|error| Error::local("finding this program to start the parties", error))?
                    .into(),
            ]
        }
    };
    Ok(move || {
        let (program, first) = program.split_first().expect("a program has a name");
        let mut child = Command::new(program);
        child.args(first).arg("child").args((0..verbose).map(|_| "-v"));
        child
    })
}

/// What a bar shows before anything is known of the work, and then.
const WAITING: &str = "{spinner} {msg} {elapsed}";
const WORKING: &str = "{spinner} {msg} {elapsed} {wide_bar} {human_pos}/{human_len} ANDs";

/// A bar on standard error while AND gates are evaluated; nothing where that is no terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Starts one that says `what` goes on.
    pub fn start(what: &str) -> Self {
        let bar = ProgressBar::no_length();
        bar.set_message(what.to_owned());
        let progress = Progress(bar);
        progress.show(WAITING);
        progress.0.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    fn show(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
    }

    /// Says what is going on now.
    pub fn name(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Tells the operator of peers that are waited for for long.
    pub fn on_wait(&self) -> OnWait {
        let bar = self.0.clone();
        OnWait::new(OnWait::AFTER, move |waiting| {
            bar.suspend(|| tell(waiting));
        })
    }

    /// Shows how many AND gates of how many are done.
    pub fn set(&self, done: u64, total: u64) {
        if total == 0 {
            return;
        }
        if self.0.length().is_none() {
            self.show(WORKING);
        }
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Writes a file that the user named.
///
/// # Errors
/// What the system says, with the file's name.
pub fn write_file(path: &Path, bytes: &[u8]) -> cenote::Result<()> {
    std::fs::write(path, bytes).map_err(|source| Error::Local {
        what: format!("writing {}", path.display()),
        source,
    })
}

/// Prints the one object that `--json` promises.
///
/// # Errors
/// Standard output takes no more.
pub fn print_json(value: &impl Serialize) -> cenote::Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::other);
    text.and_then(|text| print(&format!("{text}\n")).map_err(std::io::Error::other))
        .map_err(|source| Error::Local {
            what: "printing the report".into(),
            source,
        })
}

/// Prints text on standard output. Nobody reading it is no failure.
///
/// # Errors
/// As [`print_json`].
pub fn print(text: &str) -> cenote::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Local {
            what: "printing the result".into(),
            source: error,
        }),
        _ => Ok(()),
    }
}

#[derive(Serialize)]
struct Failed<'a> {
    error: Description<'a>,
}

#[derive(Serialize)]
struct Description<'a> {
    kind: cenote::Kind,
    exit_code: u8,
    message: String,
    parties: &'a [cenote::Failure],
    /// For parameters: the conditions that fail, and the nearest parameters that meet them.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a cenote_params::Refusal>,
}

/// Tells people, on standard error, what went wrong without harm to the outputs.
pub fn warn(report: &cenote::Report) {
    for warning in &report.warnings {
        tell(format_args!("warning: {warning}"));
    }
}

/// Tells why the command failed: people on standard error, and machines, if they asked, on standard output.
pub(crate) fn fail(error: &Error, json: bool) {
    tell(format_args!("error: {error}"));
    if json {
        let parties = match error {
            Error::Parties(failures) => failures.all(),
            _ => &[],
        };
        let kind = error.kind();
        let error = Description {
            kind,
            exit_code: kind.exit_code(),
            message: error.to_string(),
            parties,
            refusal: match error {
                Error::Refused(refusal) => Some(refusal),
                _ => None,
            },
        };
        // If that fails too, the exit code is all that is left to say.
        let _ = print_json(&Failed { error });
    }
}
