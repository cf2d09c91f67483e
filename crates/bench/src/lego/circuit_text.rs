//! A measurement of a circuit for people: as text, and as a drawing.

use super::circuit::{LegoReport, LegoRow, To};
use super::paper::paper;
use crate::columns::{Column, fixed, table};
use crate::plot::{Bars, Group, Scale};
use cenote::text::{grouped, megabytes, s};

/// Milliseconds here and in the paper, and bytes from the garbler here and in the paper, each per instance.
pub(super) struct Line {
    pub(super) phase: &'static str,
    pub(super) ms: f64,
    pub(super) paper_ms: Option<f64>,
    pub(super) bytes: Option<[f64; 2]>,
    pub(super) paper_bytes: Option<f64>,
}

impl LegoRow {
    /// The phases, per instance.
    pub(super) fn lines(&self) -> Vec<Line> {
        let n = self.instances as f64;
        let (timing, data) = (self.paper_timing.as_ref(), self.paper_data);
        let bytes = |bytes: [u64; 2]| Some(bytes.map(|bytes| bytes as f64 / n));
        vec![
            Line {
                phase: "set-up",
                ms: self.setup_ms / n,
                paper_ms: timing.map(|row| row.base_ots_ms),
                bytes: bytes(self.bytes.setup),
                paper_bytes: data.map(|row| row.base_ots / n),
            },
            Line {
                phase: "independent",
                ms: self.independent_ms,
                paper_ms: timing.map(|row| row.independent_ms),
                bytes: bytes(self.bytes.independent),
                paper_bytes: data.map(|row| row.independent / n),
            },
            Line {
                phase: "dependent",
                ms: self.dependent_ms,
                paper_ms: timing.map(|row| row.dependent_ms),
                bytes: bytes(self.bytes.dependent),
                paper_bytes: data.map(|row| row.dependent / n),
            },
            Line {
                phase: "online",
                ms: self.online_throughput_ms,
                paper_ms: timing.map(|row| row.online_throughput_ms),
                bytes: bytes(self.bytes.online),
                paper_bytes: data.map(|row| row.online / n),
            },
            Line {
                phase: "latency",
                ms: self.online_latency_ms,
                paper_ms: timing.map(|row| row.online_latency_ms),
                bytes: None,
                paper_bytes: None,
            },
        ]
    }
}

/// A number where there is one.
pub(super) fn or_blank(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}

impl LegoReport {
    /// The report as a short table.
    pub fn table(&self) -> String {
        let row = &self.row;
        let number = |name: &str| row.parameters[name].as_u64().unwrap_or(0);
        let to = match row.to {
            To::Evaluator => "the evaluator",
            To::Garbler => "the garbler",
            To::Both => "both",
        };
        let columns: [Column<Line>; 6] = [
            ("", "per instance", |line| line.phase.into()),
            ("", "ms", |line| fixed(line.ms, 4)),
            ("", "paper, ms", |line| or_blank(line.paper_ms, 2)),
            ("", "B to evaluator", |line| {
                or_blank(line.bytes.map(|bytes| bytes[0]), 0)
            }),
            ("", "paper", |line| or_blank(line.paper_bytes, 0)),
            ("", "B to garbler", |line| {
                or_blank(line.bytes.map(|bytes| bytes[1]), 0)
            }),
        ];
        let table = table(&columns, row.lines());
        let peaks = row.peak_memory_bytes.iter().flatten();
        let peaks: Vec<String> = peaks.map(|&bytes| megabytes(bytes)).collect();
        let mut text = format!(
            "{}\n{} instance{} of {}: {} ANDs, depth {}\n\
             beta {}, alpha {}, error 2^{:.1}; {} worker{}; over {}, {}; outputs to {to}; median of {} session{}\n\n\
             {table}\n\
             set-up {:.1} ms in all; online in {} round{}; peak memory {} MB\n",
            self.machine.line(),
            grouped(row.instances),
            s(row.instances),
            row.circuit.name,
            grouped(row.circuit.and_gates),
            grouped(row.circuit.and_depth),
            number("beta"),
            number("alpha"),
            row.error_log2,
            row.settings.workers,
            s(row.settings.workers),
            row.transport,
            row.link,
            row.repeat,
            s(row.repeat),
            row.setup_ms,
            row.online_rounds,
            s(row.online_rounds),
            peaks.join(", ")
        );
        if row.paper_timing.is_some() {
            let setting = paper().setting(&row.link);
            text.push_str(&format!(
                "the paper: {}, {}; {} ms, {} Gbit/s\n\
                 its set-up bytes are those of the base OTs; ours are also of the commitments' OTs and of Δ, which it counts as \
                 independent\n",
                setting.title, setting.machines, setting.rtt_ms, setting.gbit_per_second
            ));
        }
        text
    }

    /// Milliseconds per instance by phase, here and in the paper, as a bar chart in SVG.
    pub fn to_svg(&self) -> String {
        let row = &self.row;
        let with_paper = row.paper_timing.is_some();
        let groups = row.lines().into_iter().map(|line| Group {
            name: line.phase.into(),
            values: std::iter::once(line.ms).chain(line.paper_ms).collect(),
        });
        let mut series = vec![format!("here: {} cores, {}", self.machine.cores, row.transport)];
        if with_paper {
            let setting = paper().setting(&row.link);
            series.push(format!("Nielsen et al. 2017, Table IV: {}", setting.title));
        }
        Bars {
            title: format!(
                "Milliseconds per instance: {} × {}, logarithmic",
                row.instances, row.circuit.name
            ),
            series,
            groups: groups.collect(),
            scale: Scale::Log10,
        }
        .to_svg()
    }
}
