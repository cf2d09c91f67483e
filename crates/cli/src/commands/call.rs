//! `cenote call`

use std::collections::BTreeMap;

use cenote::query::Answered;
use cenote::{Error, Kind, Result};
use cenote_api::view::{CallEnded, Calls, NewCall, NewCalls};

use super::job::{Which, pair, random};
use crate::args::Parameters;
use cenote_console::Command;
use cenote_console::args::Form;
use cenote_console::service::{fault, printable};

/// Call a job that stands, and print what this party learns
#[derive(Debug, clap::Args)]
pub(crate) struct Call {
    #[command(flatten)]
    which: Which,
    /// Give these values for the input INPUT, separated by commas if the job has several lanes; @FILE reads a file, @- standard input
    #[arg(long = "input", value_name = "INPUT=VALUE", value_parser = pair)]
    inputs: Vec<(String, String)>,
    #[command(flatten)]
    parameters: Parameters,
    /// The call's name. All callers give the same name. The same name again gives the outcome of the same call [default: a random word]
    #[arg(long, value_name = "WORD")]
    name: Option<String>,
    /// Seconds to wait for the outcome
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
    #[command(flatten)]
    form: Form,
}

impl Command for Call {
    fn run(&self, _: u8) -> Result<()> {
        let (service, job) = self.which.open()?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => random()?,
        };
        let read = |(input, value): &(String, String)| Ok((input.clone(), text(value)?));
        let mut inputs = self.inputs.iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
        inputs.extend(self.parameters.parameters.iter().cloned());
        let calls = NewCalls {
            calls: vec![NewCall {
                name: name.clone(),
                inputs,
            }],
            wait: Some(self.wait),
        };
        let again = || eprintln!("the same command with --name {name} gives the outcome of this call");
        let made = service.post::<Calls>(&format!("/api/v1/programs/{job}/calls"), &calls);
        let made = made.inspect_err(|error| {
            if error.kind() != Kind::Misuse {
                again();
            }
        })?;
        let Some(ended) = made.calls.into_iter().next() else {
            return Err(fault(Kind::Internal, "the service gave no outcome"));
        };
        match ended {
            CallEnded {
                answer: Some(answer), ..
            } => self.form.print(&answer, || table(&answer)),
            CallEnded {
                problem: Some(problem),
                ..
            } => {
                let waits = problem.code == "call-waits";
                if waits {
                    again();
                }
                let kind = if waits { Kind::Late } else { Kind::Misuse };
                let message = format!(
                    "{}\n  what to do: {}",
                    printable(&problem.message),
                    printable(&problem.advice)
                );
                Err(fault(kind, message))
            }
            _ => Err(fault(Kind::Internal, "the service gave no outcome")),
        }
    }

    fn json(&self) -> bool {
        self.form.json
    }
}

/// What is given for an input: one value a line.
fn text(value: &str) -> Result<String> {
    let read = match value.strip_prefix('@') {
        None => return Ok(value.replace(',', "\n")),
        Some("-") => std::io::read_to_string(std::io::stdin()),
        Some(file) => std::fs::read_to_string(file),
    };
    read.map_err(|error| Error::Data {
        file: value.into(),
        line: None,
        what: error.to_string(),
    })
}

/// The answer of a query, or the outputs, one a line.
fn table(answer: &serde_json::Value) -> String {
    let answered = serde_json::from_value::<Answered>(answer["answer"].clone());
    if let Some(text) = answered.ok().and_then(|answered| answered.text().ok()) {
        return text;
    }
    let outputs = answer["outputs"].as_array();
    let mut text = String::new();
    for output in outputs.into_iter().flatten() {
        let values = output["values"].as_array();
        let values: Vec<&str> = values
            .into_iter()
            .flatten()
            .filter_map(|value| value.as_str())
            .collect();
        text += &format!(
            "{} = {}\n",
            printable(output["name"].as_str().unwrap_or_default()),
            printable(&values.join(" "))
        );
    }
    match text.is_empty() {
        true => "the call was answered; this party learns no output\n".into(),
        false => text,
    }
}
