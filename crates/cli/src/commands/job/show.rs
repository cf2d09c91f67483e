//! Jobs as text. What other parties wrote is shown without what would drive a terminal.

use std::fmt::Write;

use cenote::text::{grouped, s};
use cenote_api::Timestamp;
use cenote_api::view::{Decision, JobDetail, JobPage, JobView, Revealed, Verdict};
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
pub(super) fn detail(detail: &JobDetail) -> String {
    let mut facts = Facts(String::new());
    terms(&mut facts, &detail.job);
    revealed(&mut facts, detail);
    used(&mut facts, detail);
    kept(&mut facts, detail);
    decisions(&mut facts, &detail.job);
    facts.0
}

/// Lines of a name and what it says.
struct Facts(String);

impl Facts {
    fn add(&mut self, name: &str, what: String) {
        let _ = writeln!(self.0, "{name:11} {what}");
    }
}

/// What the job is, how far it has come, and on which terms it runs.
fn terms(facts: &mut Facts, job: &JobView) {
    facts.add("job", job.id.clone());
    facts.add("state", job.state.clone());
    if let Some(reason) = &job.reason {
        let by = job
            .ended_by
            .map_or_else(String::new, |by| format!("party {by}: "));
        facts.add("reason", format!("{by}{}", printable(reason)));
    }
    if let Some(waits_for) = &job.waits_for {
        facts.add("waits for", printable(waits_for));
    }
    facts.add("proposal", job.proposal.clone());
    facts.add(
        "proposed by",
        format!("party {}, {}", job.proposer, time(job.created_at)),
    );
    facts.add("done by", time(job.deadline));
    facts.add("protocol", printable(&job.protocol));
    facts.add(
        "security",
        format!(
            "{} bits statistical, {} computational",
            job.statistical, job.computational
        ),
    );
    facts.add(
        "program",
        format!("{} {}", printable(&job.program_kind), job.program),
    );
    facts.add(
        "size",
        format!(
            "about {} and {} bytes, says the proposer",
            format_args!("{} AND gate{}", grouped(job.ands), s(job.ands)),
            job.bytes
        ),
    );
}

/// What is computed, and who learns what of it.
fn revealed(facts: &mut Facts, detail: &JobDetail) {
    let job = &detail.job;
    if let Some(explained) = &detail.explained {
        // A query may have several lines.
        let lines: Vec<String> = explained.summary.lines().map(printable).collect();
        facts.add("computes", lines.join("\n            "));
        // What nobody learns is kept, which is said below.
        for output in explained.outputs.iter().filter(|output| !output.to.is_empty()) {
            let (name, size, to) = (printable(&output.name), size(output), parties(&output.to));
            facts.add("reveals", format!("{name}: {size}, to {to}"));
        }
    } else if !job.receivers.is_empty() {
        facts.add("reveals", format!("outputs, to {}", parties(&job.receivers)));
    }
}

/// The data that go in, and the values that earlier jobs kept.
fn used(facts: &mut Facts, detail: &JobDetail) {
    let job = &detail.job;
    for input in &job.inputs {
        let published = detail
            .explained
            .as_ref()
            .and_then(|explained| explained.data.get(&input.name));
        let data = match (&input.data, published) {
            (Some(data), _) => format!(", data {data}"),
            (None, Some(data)) => format!(", of the catalogue: data {data}"),
            (None, None) => String::new(),
        };
        let (name, kind) = (printable(&input.name), printable(&input.kind));
        facts.add("uses", format!("{name} ({kind}) of party {}{data}", input.owner));
    }
    if let Some(standing) = &job.standing {
        let callers: Vec<String> = standing
            .callers
            .iter()
            .map(|caller| format!("party {caller}"))
            .collect();
        facts.add(
            "stands",
            format!(
                "{} calls until its deadline, made by {}; nobody is asked again",
                standing.calls,
                callers.join(" and ")
            ),
        );
        for (name, kind) in standing.parameters.iter().flatten() {
            facts.add(
                "parameter",
                format!(
                    "{} ({}); all parties learn its values",
                    printable(name),
                    printable(kind)
                ),
            );
        }
    }
    for take in &job.takes {
        let (name, input) = (printable(&take.name), printable(&take.input));
        facts.add(
            "takes",
            format!(
                "the value {name} that job {} kept, as {input}; nobody learns it",
                take.job
            ),
        );
    }
}

/// The outputs that are kept for later jobs.
fn kept(facts: &mut Facts, detail: &JobDetail) {
    for keep in &detail.job.keeps {
        let (output, name, kind) = (
            printable(&keep.output),
            printable(&keep.name),
            printable(&keep.kind),
        );
        let days = u64::from(keep.days);
        let mut outputs = detail.explained.iter().flat_map(|explained| &explained.outputs);
        let kept = outputs.find(|explained| explained.name == keep.output);
        let size = kept.map_or_else(String::new, |kept| format!(", {},", size(kept)));
        facts.add(
            "keeps",
            format!(
                "{output}{size} as {name} ({kind}) for {days} day{}; nobody learns it",
                s(days)
            ),
        );
    }
}

fn decisions(facts: &mut Facts, job: &JobView) {
    let done = |verdict| match verdict {
        Verdict::Approve => "approved",
        Verdict::Decline => "declined",
    };
    for (party, decision) in job.decisions.iter().enumerate() {
        let what = match decision {
            None => "has not decided".to_owned(),
            Some(Decision { verdict, reason, .. }) if reason.is_empty() => done(*verdict).to_owned(),
            Some(Decision { verdict, reason, .. }) => format!("{}: {}", done(*verdict), printable(reason)),
        };
        facts.add("decision", format!("party {party} {what}"));
    }
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
        "catalogue" => format!("the catalogue of party {} has changed\n", value["party"]),
        "missed" => "some events were missed\n".into(),
        other => format!("{}\n", printable(other)),
    }
}
