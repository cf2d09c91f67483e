//! Running the built command.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// No test waits longer than this for a process.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn cenote() -> Command {
    let mut command = Command::new(crate::programs::cenote());
    command.env_remove("RUST_LOG");
    command
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn new(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
        Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The one JSON object on standard output of a command that succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// Asserts the exit code, and that standard error has all `parts`.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no \"{part}\" in:\n{}", self.stderr);
        }
    }
}

/// Starts a command whose output is collected.
pub(crate) fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cenote starts")
}

/// Waits for a process, and fails the test if it takes too long.
#[track_caller]
pub(crate) fn finish(child: Child) -> Ended {
    let id = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(output) => Ended::new(output.expect("the process can be waited for")),
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            panic!("the command did not end within {PATIENCE:?}");
        }
    }
}

#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ended {
    finish(start(command))
}

/// Runs `cenote bench`.
pub(crate) fn bench(args: &[&str]) -> Ended {
    run(cenote().arg("bench").args(args))
}

/// The number in a field of a report; dots lead into objects and lists.
#[track_caller]
pub(crate) fn number(report: &Value, field: &str) -> f64 {
    let found = field
        .split('.')
        .fold(report, |value, part| match part.parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => &value[part],
        });
    found
        .as_f64()
        .unwrap_or_else(|| panic!("no number \"{field}\" in {report}"))
}

/// What was said, but that a party waits for another, as it may on a busy machine.
pub(crate) fn without_waits(said: &str) -> Vec<&str> {
    let is_wait = |line: &&str| line.starts_with("party ") && line.contains(": waiting for party ");
    said.lines().filter(|line| !is_wait(line)).collect()
}

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// The folder of circuits that others have published, if it is beside the checkout.
pub(crate) fn published(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/circuits")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {name} is not beside this checkout");
    None
}

/// A file in `folder` with the library's circuit of this name.
#[track_caller]
pub(crate) fn own_circuit(folder: &Path, name: &str, format: &str) -> PathBuf {
    let path = folder.join(format!("{name}.{format}"));
    let ended = run(cenote()
        .args(["circuit", "gen", name, "--format", format, "-o"])
        .arg(&path));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    path
}

/// Free ports of loopback addresses that no other test uses.
pub(crate) fn addresses<const N: usize>() -> [String; N] {
    [(); N].map(|()| {
        let listener =
            std::net::TcpListener::bind((cenote_testkit::own_host(), 0)).expect("a loopback address");
        listener.local_addr().expect("it is bound").to_string()
    })
}
