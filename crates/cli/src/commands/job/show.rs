//! Jobs as text. What other parties wrote is shown without what would drive a terminal.

use std::fmt::Write;

use cenote::text::{grouped, s};
use cenote_api::Timestamp;
use cenote_api::view::{JobDetail, JobPage, JobView, Revealed};
use serde_json::Value;

use cenote_console::service::printable;

fn time(millis: u64) -> String {
    Timestamp::from_millis(millis).to_string()
}

/// A job in a line.
pub(super) fn line(job: &JobView) -> String {
    format!("job {} is {}\n", job.id, job.state)
}

/// A page of jobs.
pub(super) fn page(page: &JobPage) -> String {
    let mut text = format!(
        "{:>7}  {:32}  {:9}  {:>5}  {}\n",
        "number", "job", "state", "party", "arrived"
    );
    for job in &page.jobs {
        let _ = writeln!(
            text,
            "{:>7}  {:32}  {:9}  {:>5}  {}",
            job.number,
            job.id,
            job.state,
            job.proposer,
            time(job.created_at)
        );
    }
    if let Some(next) = page.next {
        let _ = writeln!(text, "there are more: --before {next}");
    }
    text
}

/// All of a job.
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
pub(super) fn detail(detail: &JobDetail) -> String {
    let (job, mut text) = (&detail.job, String::new());
    let mut fact = |name: &str, what: String| {
        let _ = writeln!(text, "{name:11} {what}");
    };
    fact("job", job.id.clone());
    fact("state", job.state.clone());
    if let Some(reason) = &job.reason {
        let by = job
            .ended_by
            .map_or_else(String::new, |by| format!("party {by}: "));
        fact("reason", format!("{by}{}", printable(reason)));
    }
    fact("proposal", job.proposal.clone());
    fact(
        "proposed by",
        format!("party {}, {}", job.proposer, time(job.created_at)),
    );
    fact("done by", time(job.deadline));
    fact("protocol", printable(&job.protocol));
    fact(
        "security",
        format!(
            "{} bits statistical, {} computational",
            job.statistical, job.computational
        ),
    );
    fact(
        "program",
        format!("{} {}", printable(&job.program_kind), job.program),
    );
    fact(
        "size",
        format!(
            "about {} and {} bytes, says the proposer",
            format_args!("{} AND gate{}", grouped(job.ands), s(job.ands)),
            job.bytes
        ),
    );
    if let Some(explained) = &detail.explained {
        fact("computes", printable(&explained.summary));
        // What nobody learns is kept, which is said below.
        for output in explained.outputs.iter().filter(|output| !output.to.is_empty()) {
            let (name, size, to) = (printable(&output.name), size(output), parties(&output.to));
            fact("reveals", format!("{name}: {size}, to {to}"));
        }
    } else if !job.receivers.is_empty() {
        fact("reveals", format!("outputs, to {}", parties(&job.receivers)));
    }
    for input in &job.inputs {
        let data = input
            .data
            .as_ref()
            .map_or_else(String::new, |data| format!(", data {data}"));
        let (name, kind) = (printable(&input.name), printable(&input.kind));
        fact("uses", format!("{name} ({kind}) of party {}{data}", input.owner));
    }
    for take in &job.takes {
        let (name, input) = (printable(&take.name), printable(&take.input));
        fact(
            "takes",
            format!(
                "the value {name} that job {} kept, as {input}; nobody learns it",
                take.job
            ),
        );
    }
    for keep in &job.keeps {
        let (output, name, kind) = (
            printable(&keep.output),
            printable(&keep.name),
            printable(&keep.kind),
        );
        let days = u64::from(keep.days);
        let mut outputs = detail.explained.iter().flat_map(|explained| &explained.outputs);
        let kept = outputs.find(|explained| explained.name == keep.output);
        let size = kept.map_or_else(String::new, |kept| format!(", {},", size(kept)));
        fact(
            "keeps",
            format!(
                "{output}{size} as {name} ({kind}) for {days} day{}; nobody learns it",
                s(days)
            ),
        );
    }
    for (party, decision) in job.decisions.iter().enumerate() {
        let what = match decision {
            None => "has not decided".to_owned(),
            Some(decided) if decided.reason.is_empty() => format!("{}d", decided.verdict),
            Some(decided) => format!("{}d: {}", decided.verdict, printable(&decided.reason)),
        };
        fact("decision", format!("party {party} {what}"));
    }
    text
}

/// How much an output is.
fn size(output: &Revealed) -> String {
    let values = format!("{} value{}", grouped(output.values), s(output.values));
    format!("{values} of {} bits", output.bits)
}

fn parties(numbers: &[u8]) -> String {
    let names: Vec<String> = numbers.iter().map(|party| format!("party {party}")).collect();
    names.join(", ")
}

/// An event in a line.
pub(super) fn event(value: &Value) -> String {
    let text = |name: &str| printable(value[name].as_str().unwrap_or_default());
    match value["event"].as_str().unwrap_or_default() {
        "job" => format!("job {} is {}\n", text("job"), text("state")),
        "progress" => format!(
            "job {}: {} of {} AND gates\n",
            text("job"),
            value["done"],
            value["total"]
        ),
        "peer" => format!("the connection to party {} has changed\n", value["party"]),
        "stock" => "the stock has changed\n".into(),
        "alarm" => "the alarms have changed\n".into(),
        "missed" => "some events were missed\n".into(),
        other => format!("{}\n", printable(other)),
    }
}
