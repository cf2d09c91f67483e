//! An endless stream of computations over a protocol, with a process for each party on this machine: rates, memory, the error bound, and
//! whether all outputs were right.

mod circuits;
mod computation;
mod dice;
mod log;
mod note;
mod party;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use cenote::local::{Assigned, Seat, Setting, Task, run_heard, value};
use cenote::processes::Heard;
use cenote::text::{grouped, megabytes, s};
use cenote::{Error, Result};
use serde::Serialize;
use serde_json::Value;

use log::Log;
pub use note::Note;
pub use party::{Soak, audit_of};

use crate::usage::Machine;

/// The memory of a party may grow by so much of what it was, and count as flat.
const FLAT: f64 = 0.01;
/// Looks at the parties' memory that are kept of a stream.
const LOOKS: u32 = 400;

/// What all parties have seen of a stream at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// By party.
    pub parties: Vec<Note>,
    /// AND gates in a second since the moment told before.
    pub and_gates_per_second: f64,
    /// The error bound at the first moment that was told.
    pub first_error_log2: f64,
}

/// A stream that has ended.
#[derive(Clone, Debug, Serialize)]
pub struct SoakReport {
    /// What was computed.
    pub soak: Soak,
    /// The operator's word, if it ended the stream.
    pub stopped: Option<String>,
    /// At the end; `None` if it ended before anything was told.
    pub last: Option<Moment>,
    /// The error bound at the first moment that was told; `None` if nothing was.
    pub first_error_log2: Option<f64>,
    /// By party, the least bytes of memory that it has had in use between computations in the second quarter of the stream and in the last: what it
    /// never frees. `None` if the stream was too short to tell. The most that it has ever had hangs on the largest computations that chance has put
    /// side by side, and what its process has besides on what the allocator holds on to.
    pub least: Vec<Option<[u64; 2]>>,
    pub machine: Machine,
}

impl Assigned for Soak {
    const NAME: &'static str = "soak";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        take_part(self, seat, || ())
    }
}

/// `met` is called once all parties have met.
pub(crate) fn take_part(soak: &Soak, seat: &Seat<'_>, met: impl Fn()) -> Result<Value> {
    let note = |note: &Note| seat.note(serde_json::to_value(note).unwrap_or_default());
    let compute = |connections| {
        met();
        soak.take_part(seat.me, connections, &mut |told| note(told))
    };
    value(&seat.meet(&soak.protocol.topology(), compute)?)
}

/// Computes `soak` with a process for each party, started by `command`, which must call [`crate::child_main`]. `told` hears of the
/// moment when the largest computations are over, and then about once in `every`.
///
/// # Errors
/// [`Error::Usage`] for sizes that make no sense; [`Error::Parties`] if a party fails. Wrong outputs are no failure, but in the report; nor is the
/// operator's word.
pub fn run_soak(
    soak: &Soak,
    every: Duration,
    setting: Setting,
    command: &dyn Fn() -> Command,
    told: &mut dyn FnMut(&Moment),
) -> Result<SoakReport> {
    let machine = Machine::now();
    let mut log = Log::new(soak.protocol.parties(), every, soak.length / LOOKS);
    let task = Task::new(soak)?;
    let ended = run_heard(soak.protocol.parties(), setting, &task, command, &mut |heard| {
        if let Heard::Note(party, note) = heard
            && let Ok(note) = serde_json::from_value(note)
        {
            log.hear(party.index(), note, told);
        }
    });
    let stopped = match ended {
        Ok(notes) => {
            log.end(notes);
            None
        }
        Err(Error::Stopped { word, .. }) => Some(word),
        Err(error) => return Err(error),
    };
    Ok(SoakReport {
        soak: soak.clone(),
        stopped,
        first_error_log2: log.first_error,
        least: log.least(),
        last: log.last,
        machine,
    })
}

/// Seconds of the slowest party, and AND gates of all.
fn slowest(notes: &[Note]) -> (f64, u64) {
    let seconds = notes.iter().map(|note| note.seconds).fold(0.0, f64::max);
    (
        seconds,
        notes.iter().map(|note| note.and_gates).min().unwrap_or(0),
    )
}

/// The weakest of the parties' error bounds.
fn error_log2(notes: &[Note]) -> f64 {
    let errors = notes.iter().map(|note| note.error_log2);
    errors.fold(f64::NEG_INFINITY, f64::max)
}

/// Bits by which a bound has grown that is worth a word.
const GROWN: f64 = 0.005;

/// One number of each party.
fn each(notes: &[Note], of: impl Fn(&Note) -> String) -> String {
    notes.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// Memory in megabytes, where it is known.
fn memory(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "?".into(), megabytes)
}

impl Moment {
    /// Outputs that were wrong, at all parties.
    pub fn wrong(&self) -> u64 {
        self.parties.iter().map(|note| note.wrong).sum()
    }

    pub fn line(&self) -> String {
        let notes = &self.parties;
        let (seconds, gates) = slowest(notes);
        let error = error_log2(notes);
        let [hours, minutes, seconds] =
            [seconds / 3600.0, seconds / 60.0 % 60.0, seconds % 60.0].map(|n| n as u64);
        let mut line = format!(
            "{hours}:{minutes:02}:{seconds:02}  {} computations, {} ANDs, {} a second; memory {} MB, in use {}, at most {}; error 2^{error:.2}; sent {} MB",
            grouped(notes.iter().map(|note| note.computations).min().unwrap_or(0)),
            grouped(gates),
            grouped(self.and_gates_per_second as u64),
            each(notes, |note| memory(note.memory_bytes)),
            each(notes, |note| memory(note.in_use_bytes)),
            each(notes, |note| memory(note.peak_memory_bytes)),
            each(notes, |note| megabytes(note.bytes_sent)),
        );
        if error > self.first_error_log2 + GROWN {
            let _ = write!(
                line,
                "; the error bound has grown from 2^{:.2}",
                self.first_error_log2
            );
        }
        let wrong = self.wrong();
        if wrong > 0 {
            let _ = write!(line, "; {wrong} WRONG OUTPUT{}", s(wrong).to_uppercase());
        }
        line
    }
}

impl SoakReport {
    /// Outputs that were wrong, at all parties.
    pub fn wrong(&self) -> u64 {
        self.last.as_ref().map_or(0, Moment::wrong)
    }

    /// Whether no output was wrong.
    ///
    /// # Errors
    /// [`Error::Local`] with the first that was.
    pub fn verdict(&self) -> Result<()> {
        let notes = || self.last.iter().flat_map(|moment| &moment.parties);
        match notes().find_map(|note| Some((note.party, note.first_wrong.as_ref()?))) {
            None => Ok(()),
            Some((party, first)) => Err(Error::local(
                format!("checking {} wrong outputs", self.wrong()),
                std::io::Error::other(format!("party {party}, {first}")),
            )),
        }
    }

    /// As text.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}\n{}, seed {}, computations of up to {} ANDs\n",
            self.machine.line(),
            self.soak.protocol.describe(),
            self.soak.seed,
            grouped(self.soak.largest),
        );
        if let Some(word) = &self.stopped {
            let _ = writeln!(text, "ended by {word}; what was not told before is not counted");
        }
        let Some(last) = &self.last else {
            text.push_str("nothing was told before the end\n");
            return text;
        };
        let _ = writeln!(text, "{}", last.line());
        let (before, after) = (last.first_error_log2, error_log2(&last.parties));
        let _ = match after > before + GROWN {
            true => writeln!(
                text,
                "the error bound is 2^{after:.2}, and was 2^{before:.2} in the beginning: it grows with what is computed"
            ),
            false => writeln!(text, "the error bound is 2^{after:.2}, whatever is computed"),
        };
        if let Some(note) = last.parties.first() {
            let bits = |of: &[u64]| of.iter().map(|&bits| grouped(bits)).collect::<Vec<_>>().join(" ");
            let _ = writeln!(
                text,
                "bits put in, by party: {}; opened to each: {}",
                bits(&note.inputs),
                bits(&note.outputs)
            );
        }
        for (note, held) in last.parties.iter().zip(&self.least) {
            let [least, most] = note.sizes.map(grouped);
            let held = held.map_or_else(
                || "too short a time to say".into(),
                |[early, late]| {
                    let growth = late as f64 / early.max(1) as f64 - 1.0;
                    let flat = if growth <= FLAT { "flat" } else { "NOT FLAT" };
                    format!(
                        "at least {} MB in the second quarter and {} MB in the last, {:+.2}%, {flat}",
                        megabytes(early),
                        megabytes(late),
                        100.0 * growth
                    )
                },
            );
            let _ = writeln!(
                text,
                "party {}: {} circuits of {least} to {most} ANDs, {} output bits compared, {} wrong values; memory at most {} MB; in use between computations {held}",
                note.party,
                grouped(note.runs),
                grouped(note.bits),
                note.wrong,
                memory(note.peak_memory_bytes),
            );
            for warning in &note.warnings {
                let _ = writeln!(text, "party {}: {warning}", note.party);
            }
        }
        text
    }
}

#[cfg(test)]
mod report_tests {
    use super::log::tests::note;
    use super::*;

    #[test]
    fn moments_are_of_all_parties_at_the_same_computation() {
        let mut told = Vec::new();
        let mut log = Log::new(2, Duration::ZERO, Duration::from_secs(1));
        let mut hear = |party, note| log.hear(party, note, &mut |moment| told.push(moment.clone()));
        hear(0, note(0, 4, 100));
        hear(0, note(0, 6, 100));
        hear(1, note(1, 4, 100));
        hear(1, note(1, 6, 100));
        hear(0, note(0, 8, 103));
        hear(1, note(1, 8, 100));
        let both = |moment: &Moment| {
            moment
                .parties
                .iter()
                .map(|note| note.computations)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told.iter().map(both).collect::<Vec<_>>(),
            [[4, 4], [6, 6], [8, 8]]
        );
        assert_eq!(told[2].and_gates_per_second, 1000.0);
        log.end(vec![note(0, 9, 103), note(1, 9, 100)]);
        let report = SoakReport {
            soak: Soak {
                protocol: cenote::Protocol::default(),
                length: Duration::from_secs(9),
                seed: 1,
                largest: 1000,
                stock: None,
            },
            stopped: None,
            first_error_log2: log.first_error,
            least: vec![Some([100_000_000, 103_000_000]), Some([100_000_000, 90_000_000])],
            last: log.last,
            machine: Machine::now(),
        };
        assert!(report.verdict().is_ok());
        let text = report.summary();
        assert!(
            text.contains("+3.00%, NOT FLAT") && text.contains("-10.00%, flat"),
            "{text}"
        );
        assert!(
            text.contains("0:00:09  9 computations, 9,000 ANDs, 1,000 a second"),
            "{text}"
        );
    }

    /// A bound that grows is told of in the log and at the end, and one that does not is not.
    #[test]
    fn an_error_bound_that_grows_is_told() {
        for (last, grows) in [(-38.5, true), (-40.0, false)] {
            let mut told = Vec::new();
            let mut log = Log::new(1, Duration::ZERO, Duration::ZERO);
            for (computations, error_log2) in [(4, -40.0), (9, last)] {
                let note = Note {
                    error_log2,
                    ..note(0, computations, 1)
                };
                log.hear(0, note, &mut |moment| told.push(moment.line()));
            }
            assert!(!told[0].contains("has grown"), "{told:?}");
            assert_eq!(told[1].contains("has grown from 2^-40.00"), grows, "{told:?}");
            let report = SoakReport {
                soak: Soak {
                    protocol: cenote::Protocol::default(),
                    length: Duration::from_secs(9),
                    seed: 1,
                    largest: 1000,
                    stock: None,
                },
                stopped: None,
                first_error_log2: log.first_error,
                last: log.last,
                least: vec![None],
                machine: Machine::now(),
            };
            let text = report.summary();
            assert!(
                text.contains(&format!("the error bound is 2^{last:.2}")),
                "{text}"
            );
            assert_eq!(text.contains("it grows with what is computed"), grows, "{text}");
        }
    }

    #[test]
    fn a_wrong_output_is_the_verdict() {
        let mut wrong = note(1, 9, 1);
        wrong.wrong = 1;
        wrong.first_wrong = Some("computation 3: an output".into());
        let moment = Moment {
            parties: vec![note(0, 9, 1), wrong],
            and_gates_per_second: 1.0,
            first_error_log2: 0.0,
        };
        assert!(moment.line().ends_with("1 WRONG OUTPUT"), "{}", moment.line());
        let report = SoakReport {
            soak: Soak {
                protocol: cenote::Protocol::default(),
                length: Duration::from_secs(9),
                seed: 1,
                largest: 1000,
                stock: None,
            },
            stopped: Some("SIGINT".into()),
            first_error_log2: None,
            last: Some(moment),
            least: vec![None; 2],
            machine: Machine::now(),
        };
        let verdict = report.verdict().unwrap_err().to_string();
        assert!(verdict.contains("party 1, computation 3"), "{verdict}");
        assert!(report.summary().contains("ended by SIGINT"));
    }
}
