//! All tables of the paper at once, here and there.

use std::fmt::Write as _;

use serde::Serialize;

use super::circuit::{LegoBench, LegoRow, To, measure};
use super::circuit_text::or_blank;
use super::commit::{CommitBench, CommitReport, run_commit};
use super::link::Link;
use super::paper::{circuit_of_paper, paper};
use crate::measure::Place;
use crate::plot::{Bars, Group, Scale};
use crate::usage::Machine;
use cenote::tables::{grouped, megabytes};
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
    /// How many sessions of each row; medians count.
    pub repeat: u32,
    /// Rows that may need more memory are left out.
    pub memory: u64,
}

/// The tables.
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

/// Memory that this machine can give away, in bytes, where the system tells (Linux).
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Measures all rows that fit, in `place`. `begins` is told of each.
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
        let mut text = format!("{}\n", self.machine.line());
        self.summary(&mut text);
        if let Some(commitments) = &self.commitments {
            write!(text, "\nTable III: commitments\n{}", commitments.table())
                .expect("writing to a string succeeds");
        }
        self.timings(&mut text);
        self.data(&mut text);
        if !self.left_out.is_empty() {
            text.push_str("\nleft out\n");
        }
        for what in &self.left_out {
            writeln!(text, "  {what}").expect("writing to a string succeeds");
        }
        text
    }

    /// Table II: one instance and 128 of each circuit, over the first link.
    fn summary(&self, text: &mut String) {
        let first = self.rows.first().map(|row| row.link);
        let rows: Vec<&LegoRow> = self
            .rows
            .iter()
            .filter(|row| Some(row.link) == first && [1, 128].contains(&row.instances))
            .collect();
        let Some(link) = first.filter(|_| !rows.is_empty()) else {
            return;
        };
        writeln!(
            text,
            "\nTable II: ms per circuit, here and (in the paper); {link}"
        )
        .expect("writing to a string succeeds");
        line(
            text,
            [
                "",
                "",
                "independent",
                "dependent",
                "online latency",
                "online throughput",
                "",
            ],
        );
        for row in rows {
            let paper = row.paper_timing.as_ref();
            line(
                text,
                [
                    &row.circuit.name,
                    &grouped(row.instances),
                    &both(row.independent_ms, paper.map(|paper| paper.independent_ms)),
                    &both(row.dependent_ms, paper.map(|paper| paper.dependent_ms)),
                    &both(row.online_latency_ms, paper.map(|paper| paper.online_latency_ms)),
                    &both(
                        row.online_throughput_ms,
                        paper.map(|paper| paper.online_throughput_ms),
                    ),
                    "",
                ],
            );
        }
    }

    /// Table IV.
    fn timings(&self, text: &mut String) {
        text.push_str("\nTable IV: ms per circuit at the evaluator, here and (in the paper)\n");
        let mut link = None;
        for row in &self.rows {
            if link != Some(row.link) {
                link = Some(row.link);
                let setting = paper().setting(&row.link);
                writeln!(
                    text,
                    "over {}, {}; the paper: {}",
                    row.transport, row.link, setting.title
                )
                .expect("writing to a string succeeds");
                line(
                    text,
                    [
                        "",
                        "",
                        "set-up",
                        "independent",
                        "dependent",
                        "online latency",
                        "online throughput",
                    ],
                );
            }
            let n = row.instances as f64;
            let paper = row.paper_timing.as_ref();
            line(
                text,
                [
                    &row.circuit.name,
                    &grouped(row.instances),
                    &both(row.setup_ms / n, paper.map(|paper| paper.base_ots_ms)),
                    &both(row.independent_ms, paper.map(|paper| paper.independent_ms)),
                    &both(row.dependent_ms, paper.map(|paper| paper.dependent_ms)),
                    &both(row.online_latency_ms, paper.map(|paper| paper.online_latency_ms)),
                    &both(
                        row.online_throughput_ms,
                        paper.map(|paper| paper.online_throughput_ms),
                    ),
                ],
            );
        }
    }

    /// Table V, which does not depend on the link.
    fn data(&self, text: &mut String) {
        let first = self.rows.first().map(|row| row.link);
        text.push_str("\nTable V: kB per circuit to the evaluator, here and (in the paper)\n");
        line(
            text,
            [
                "",
                "",
                "beta, alpha",
                "base OTs",
                "independent",
                "dependent",
                "online",
            ],
        );
        for row in self.rows.iter().filter(|row| Some(row.link) == first) {
            let n = row.instances as f64;
            let kilo = |bytes: [u64; 2], paper: Option<f64>| {
                both(bytes[0] as f64 / n / 1e3, paper.map(|bytes| bytes / n / 1e3))
            };
            let number = |name: &str| row.parameters[name].as_u64().unwrap_or(0);
            let paper = row.paper_data;
            let buckets =
                paper.map_or_else(String::new, |paper| format!(" ({}, {})", paper.beta, paper.alpha));
            line(
                text,
                [
                    &row.circuit.name,
                    &grouped(row.instances),
                    &format!("{}, {}{buckets}", number("beta"), number("alpha")),
                    &kilo(row.bytes.setup, paper.map(|paper| paper.base_ots)),
                    &kilo(row.bytes.independent, paper.map(|paper| paper.independent)),
                    &kilo(row.bytes.dependent, paper.map(|paper| paper.dependent)),
                    &kilo(row.bytes.online, paper.map(|paper| paper.online)),
                ],
            );
        }
    }

    /// How many times faster than in the paper every phase of every row is, as a bar chart in SVG.
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

fn line(text: &mut String, cells: [&str; 7]) {
    let [name, count, a, b, c, d, e] = cells;
    let line = format!("{name:<14} {count:>6} {a:>18} {b:>18} {c:>18} {d:>18} {e:>18}");
    writeln!(text, "{}", line.trim_end()).expect("writing to a string succeeds");
}
