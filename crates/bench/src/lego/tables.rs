//! All tables of the paper, beside what is measured here.

pub use cenote_session::memory::available as available_memory;
use serde::Serialize;

use super::circuit::{LegoBench, LegoRow, To, measure};
use super::circuit_text::or_blank;
use super::commit::{CommitBench, CommitReport, run_commit};
use super::paper::{circuit_of_paper, paper};
use crate::measure::Place;
use crate::plot::{Bars, Group, Scale};
use crate::usage::Machine;
use cenote::Link;
use cenote::text::{Table, grouped, megabytes};
use cenote::{Error, Lego, Result};

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The paper's circuits, as files or `lib:NAME`.
    pub circuits: Vec<String>,
    /// Numbers of instances; none for those of the paper.
    pub instances: Vec<u64>,
    /// The links, one after the other.
    pub links: Vec<Link>,
    /// Numbers of commitments for Table III; none leaves it out.
    pub strings: Vec<u64>,
    /// The protocol.
    pub settings: Lego,
    /// How many single instances are timed for each latency.
    pub latencies: u32,
    /// Sessions of each row; medians are reported.
    pub repeat: u32,
    /// Rows that may need more memory are left out.
    pub memory: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TablesReport {
    /// Table III.
    pub commitments: Option<CommitReport>,
    /// Tables II, IV and V.
    pub rows: Vec<LegoRow>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// The machine, before the first row.
    pub machine: Machine,
}

/// Measures all rows that fit, in `place`. Calls `begins` before each.
///
/// # Errors
/// Those of [`run_commit`] and [`super::circuit::run_lego`].
pub fn run_tables(
    tables: &Tables,
    place: &mut Place<'_>,
    begins: &mut dyn FnMut(&str),
) -> Result<TablesReport> {
    let machine = Machine::now();
    let mut left_out = Vec::new();
    let commitments = if tables.strings.is_empty() {
        None
    } else {
        begins("commitments");
        let bench = CommitBench {
            strings: tables.strings.clone(),
            workers: tables.settings.workers,
            repeat: tables.repeat,
            link: Link::default(),
        };
        Some(run_commit(&bench, place)?)
    };
    let mut rows = Vec::new();
    for link in &tables.links {
        for circuit in &tables.circuits {
            for &instances in tables.numbers(circuit)? {
                let what = format!("{instances} × {circuit}, {link}");
                let bench = LegoBench {
                    circuit: circuit.clone(),
                    instances,
                    settings: tables.settings,
                    to: To::Evaluator,
                    latencies: tables.latencies,
                    repeat: tables.repeat,
                    link: *link,
                };
                let needed = bench.memory_bytes()?;
                if needed > tables.memory {
                    left_out.push(format!(
                        "{what}: it may need {} MB, and {} MB are there",
                        megabytes(needed),
                        megabytes(tables.memory)
                    ));
                    continue;
                }
                begins(&what);
                rows.push(measure(&bench, place)?);
            }
        }
    }
    Ok(TablesReport {
        commitments,
        rows,
        left_out,
        machine,
    })
}

impl Tables {
    /// How many instances of a circuit to take.
    fn numbers(&self, circuit: &str) -> Result<&[u64]> {
        if !self.instances.is_empty() {
            return Ok(&self.instances);
        }
        let name = circuit_of_paper(circuit).ok_or_else(|| {
            Error::Usage(format!(
                "{circuit} is no circuit of the paper: say how many instances of it to take"
            ))
        })?;
        Ok(paper().instances(name))
    }
}

impl TablesReport {
    /// The tables as text.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n{}", self.machine.line(), self.summary());
        if let Some(commitments) = &self.commitments {
            text.push_str("\nTable III: commitments\n");
            text.push_str(&commitments.table());
        }
        text.push_str(&self.timings());
        text.push_str(&self.data());
        if !self.left_out.is_empty() {
            text.push_str("\nleft out\n");
        }
        for what in &self.left_out {
            text.push_str(&format!("  {what}\n"));
        }
        text
    }

    /// Table II: one instance and 128 of each circuit, over the first link.
    fn summary(&self) -> String {
        let first = self.rows.first().map(|row| row.link);
        let rows: Vec<&LegoRow> = self
            .rows
            .iter()
            .filter(|row| Some(row.link) == first && [1, 128].contains(&row.instances))
            .collect();
        let Some(link) = first.filter(|_| !rows.is_empty()) else {
            return String::new();
        };
        let mut table = Table::new("lr");
        table.row(&[&"", &"", &PHASES[0], &PHASES[1], &PHASES[2], &PHASES[3]]);
        for row in rows {
            let [a, b, c, d] = row.phases();
            table.row(&[&row.circuit.name, &grouped(row.instances), &a, &b, &c, &d]);
        }
        format!("\nTable II: ms per circuit, here and (in the paper); {link}\n{table}")
    }

    /// Table IV.
    fn timings(&self) -> String {
        let mut text = String::from("\nTable IV: ms per circuit at the evaluator, here and (in the paper)\n");
        for rows in self.rows.chunk_by(|a, b| a.link == b.link) {
            let mut table = Table::new("lr");
            table.row(&[
                &"", &"", &"set-up", &PHASES[0], &PHASES[1], &PHASES[2], &PHASES[3],
            ]);
            for row in rows {
                let paper = row.paper_timing.as_ref().map(|paper| paper.base_ots_ms);
                let setup = both(row.setup_ms / row.instances as f64, paper);
                let [a, b, c, d] = row.phases();
                table.row(&[&row.circuit.name, &grouped(row.instances), &setup, &a, &b, &c, &d]);
            }
            let (transport, link) = (rows[0].transport, rows[0].link);
            let title = &paper().setting(&link).title;
            text.push_str(&format!("over {transport}, {link}; the paper: {title}\n{table}"));
        }
        text
    }

    /// Table V, which does not depend on the link.
    fn data(&self) -> String {
        let first = self.rows.first().map(|row| row.link);
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"",
            &"beta, alpha",
            &"base OTs",
            &"independent",
            &"dependent",
            &"online",
        ]);
        for row in self.rows.iter().filter(|row| Some(row.link) == first) {
            let n = row.instances as f64;
            let kilo = |bytes: [u64; 2], paper: Option<f64>| {
                both(bytes[0] as f64 / n / 1e3, paper.map(|bytes| bytes / n / 1e3))
            };
            let number = |name: &str| row.parameters[name].as_u64().unwrap_or(0);
            let paper = row.paper_data;
            let buckets =
                paper.map_or_else(String::new, |paper| format!(" ({}, {})", paper.beta, paper.alpha));
            table.row(&[
                &row.circuit.name,
                &grouped(row.instances),
                &format_args!("{}, {}{buckets}", number("beta"), number("alpha")),
                &kilo(row.bytes.setup, paper.map(|paper| paper.base_ots)),
                &kilo(row.bytes.independent, paper.map(|paper| paper.independent)),
                &kilo(row.bytes.dependent, paper.map(|paper| paper.dependent)),
                &kilo(row.bytes.online, paper.map(|paper| paper.online)),
            ]);
        }
        format!("\nTable V: kB per circuit to the evaluator, here and (in the paper)\n{table}")
    }

    /// The speed of every phase of every row over the paper's, as a bar chart in SVG.
    pub fn to_svg(&self) -> String {
        let groups = self.rows.iter().filter_map(|row| {
            let lines = row.lines();
            let ratio = |line: &super::circuit_text::Line| Some(line.paper_ms? / line.ms.max(1e-9));
            let values: Option<Vec<f64>> = lines.iter().skip(1).map(ratio).collect();
            let link = if row.link == Link::default() {
                String::new()
            } else {
                format!(", {} ms", row.link.rtt_ms)
            };
            Some(Group {
                name: format!("{} × {}{link}", row.instances, row.circuit.name),
                values: values?,
            })
        });
        Bars {
            title: "Times as fast as Nielsen et al. 2017, Table IV, logarithmic".into(),
            series: ["independent", "dependent", "online throughput", "online latency"]
                .map(String::from)
                .to_vec(),
            groups: groups.collect(),
            scale: Scale::Log10,
        }
        .to_svg()
    }
}

/// The columns of [`LegoRow::phases`].
const PHASES: [&str; 4] = ["independent", "dependent", "online latency", "online throughput"];

impl LegoRow {
    /// Milliseconds per instance, here and in the paper.
    fn phases(&self) -> [String; 4] {
        let paper = self.paper_timing.as_ref();
        [
            both(self.independent_ms, paper.map(|paper| paper.independent_ms)),
            both(self.dependent_ms, paper.map(|paper| paper.dependent_ms)),
            both(self.online_latency_ms, paper.map(|paper| paper.online_latency_ms)),
            both(
                self.online_throughput_ms,
                paper.map(|paper| paper.online_throughput_ms),
            ),
        ]
    }
}

fn both(here: f64, paper: Option<f64>) -> String {
    let digits = if here < 10.0 { 3 } else { 1 };
    let paper = or_blank(
        paper,
        if paper.is_some_and(|paper| paper < 10.0) {
            2
        } else {
            1
        },
    );
    if paper.is_empty() {
        format!("{here:.digits$}")
    } else {
        format!("{here:.digits$} ({paper})")
    }
}
