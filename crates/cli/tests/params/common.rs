//! Running `cenote params`.

use std::process::Command;

use serde_json::Value;

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(crate::programs::cenote());
    command.args(line.split_whitespace());
    command
}

/// Runs `cenote params` with the words of `line`.
pub(crate) fn params(line: &str) -> Ended {
    run(&format!("params {line}"))
}

pub(crate) fn run(line: &str) -> Ended {
    let output = command(line).output().expect("cenote starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The one object that `--json` prints.
#[track_caller]
pub(crate) fn json(line: &str) -> Value {
    let ended = params(&format!("{line} --json"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

#[track_caller]
pub(crate) fn refused(line: &str, parts: &[&str]) -> Value {
    let ended = params(line);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{line}: {}",
        ended.stderr
    );
    for part in parts {
        assert!(ended.stderr.contains(part), "no \"{part}\" in:\n{}", ended.stderr);
    }
    let ended = params(&format!("{line} --json"));
    assert_eq!(ended.code, Some(2));
    serde_json::from_str(&ended.stdout).unwrap_or(Value::Null)
}

/// The value of `name` among a refusal's nearest parameters.
#[track_caller]
pub(crate) fn nearest(failure: &Value, name: &str) -> f64 {
    let settings = failure["error"]["refusal"]["nearest"]
        .as_array()
        .expect("a refusal");
    let setting = settings.iter().find(|setting| setting["name"] == name);
    setting.unwrap_or_else(|| panic!("no {name}: {failure}"))["value"]
        .as_f64()
        .expect("a number")
}

/// Every field of the library's own form is in `answer`.
#[track_caller]
pub(crate) fn agrees(answer: &Value, library: &Value) {
    for (name, value) in library.as_object().expect("an object") {
        equal(name, &answer[name], value);
    }
}

/// Reading a number back may cost its last digit.
fn equal(name: &str, answer: &Value, expected: &Value) {
    match (answer, expected) {
        (Value::Array(answer), Value::Array(expected)) if answer.len() == expected.len() => {
            answer.iter().zip(expected).for_each(|(a, b)| equal(name, a, b));
        }
        _ => match (answer.as_f64(), expected.as_f64()) {
            (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-14 * b.abs(), "{name}: {a}, not {b}"),
            _ => assert_eq!(answer, expected, "{name}"),
        },
    }
}

pub(crate) fn value(of: impl serde::Serialize) -> Value {
    serde_json::to_value(of).expect("parameters have a JSON form")
}
