//! What `cenote plan` says beside what is measured.

use std::process::Command;

use cenote::local::Setting;
use cenote::plan::{Rates, Sample};
use cenote::text::Table;
use cenote::{Link, Protocol, Result};
use serde::Serialize;

use crate::usage::{Machine, median};

/// Circuits of the library and instances that are planned and run.
pub const SAMPLES: [(&str, usize); 6] = [
    ("add64", 1000),
    ("aes128", 10),
    ("aes128", 300),
    ("sha256", 40),
    ("sort1024x32", 1),
    ("mult64", 1000),
];

/// An estimate and what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct PlanRow {
    /// The protocol's name.
    pub protocol: String,
    pub circuit: String,
    /// Instances of it.
    pub lanes: usize,
    /// AND gates of all of them.
    pub and_gates: u64,
    /// Seconds by the plan.
    pub planned_seconds: f64,
    /// Seconds, the median of some runs.
    pub seconds: f64,
    /// Planned over measured.
    pub ratio: f64,
}

/// Estimates beside measurements.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// What joins the parties.
    pub link: Link,
    /// Runs of each.
    pub repeat: u32,
    /// By protocol and circuit.
    pub rows: Vec<PlanRow>,
    /// The machine that all parties ran on.
    pub machine: Machine,
}

/// Plans and runs [`SAMPLES`] with every protocol. `command` starts a child of [`cenote::local`]; `about` is told what comes next.
///
/// # Errors
/// As [`cenote::local::run_job`].
pub fn run_plan(
    link: Link,
    repeat: u32,
    setting: Setting,
    command: &impl Fn() -> Command,
    about: &mut dyn FnMut(&str),
) -> Result<PlanReport> {
    let machine = Machine::now();
    let mut rows = Vec::new();
    for protocol in Protocol::all() {
        about(&format!("running samples with {}", protocol.name()));
        let rates = Rates::measure(&protocol, &link, setting, command)?;
        for (circuit, lanes) in SAMPLES {
            about(&format!("{lanes} of {circuit} with {}", protocol.name()));
            let sample = Sample {
                protocol: protocol.clone(),
                circuit: circuit.into(),
                lanes,
                link,
            };
            let program = sample.program()?;
            let times: Vec<f64> = (0..repeat.max(1))
                .map(|_| sample.seconds(setting, command))
                .collect::<Result<_>>()?;
            let (planned_seconds, seconds) = (rates.seconds(&protocol, &program, &link)?, median(&times));
            rows.push(PlanRow {
                protocol: protocol.name().into(),
                circuit: circuit.into(),
                lanes,
                and_gates: program.and_gates(),
                planned_seconds,
                seconds,
                ratio: planned_seconds / seconds,
            });
        }
    }
    Ok(PlanReport {
        link,
        repeat,
        rows,
        machine,
    })
}

impl PlanReport {
    pub fn table(&self) -> String {
        let mut table = Table::new("llrrrrr");
        table.row(&[
            &"protocol",
            &"circuit",
            &"lanes",
            &"ANDs",
            &"planned s",
            &"measured s",
            &"ratio",
        ]);
        for row in &self.rows {
            table.row(&[
                &row.protocol,
                &row.circuit,
                &row.lanes,
                &row.and_gates,
                &format_args!("{:.4}", row.planned_seconds),
                &format_args!("{:.4}", row.seconds),
                &format_args!("{:.2}", row.ratio),
            ]);
        }
        format!(
            "{table}\nAll parties on {}, with {}; medians of {}.\n",
            self.machine.line(),
            self.link,
            self.repeat
        )
    }
}
