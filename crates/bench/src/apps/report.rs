//! What was measured, as a table, as data, and as a drawing.

use cenote::Transport;
use cenote::text::{Table, grouped};
use serde::{Deserialize, Serialize};

use super::programs::{App, AppParty, CLEAR, Paper};
use crate::plot::{Bars, Group, Scale};
use crate::usage::{Machine, median};

/// One program on one engine. Of the oblivious memories, one access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppRow {
    /// The program.
    pub app: App,
    pub engine: String,
    /// AND gates, counted once for each place of a row.
    pub and_gates: u64,
    /// Rounds on the critical path.
    pub rounds: u64,
    /// Seconds from inputs to outputs, of the slowest party, the making of material included.
    pub seconds: f64,
    /// Bytes that all parties together sent.
    pub bytes_sent: u64,
    /// What the protocol says that it held at most, of the party with the most.
    pub memory_bound_bytes: u64,
    /// The most memory of a party, if it was a process of its own.
    pub peak_memory_bytes: Option<u64>,
    /// The paper's figures.
    pub paper: Option<Paper>,
    /// How many times as fast as the paper's.
    pub speedup: Option<f64>,
}

impl AppRow {
    /// The medians of `sessions`; `None` if there are none.
    pub(super) fn new(app: App, engine: &str, sessions: &[Vec<AppParty>]) -> Option<Self> {
        let first = sessions.first()?;
        let slowest = |parties: &Vec<AppParty>| parties.iter().map(|party| party.seconds).fold(0.0, f64::max);
        let seconds = median(&sessions.iter().map(slowest).collect::<Vec<_>>());
        let paper = app.paper().filter(|_| engine != CLEAR);
        Some(Self {
            app,
            engine: engine.into(),
            and_gates: first.first()?.and_gates,
            rounds: first.iter().map(|party| party.rounds).max()?,
            seconds,
            bytes_sent: first.iter().map(|party| party.bytes_sent).sum(),
            memory_bound_bytes: first.iter().map(|party| party.memory_bound_bytes).max()?,
            peak_memory_bytes: first.iter().map(|party| party.peak_memory_bytes).max()?,
            paper,
            speedup: paper.map(|paper| paper.seconds / seconds),
        })
    }
}

/// Programs on engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppsReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// Sessions of each.
    pub repeat: u32,
    /// By program, and then by engine.
    pub rows: Vec<AppRow>,
    /// The machine that all parties ran on.
    pub machine: Machine,
}

impl AppsReport {
    pub fn table(&self) -> String {
        let mut table = Table::new("llrrrrrrrr");
        table.row(&[
            &"program",
            &"engine",
            &"ANDs",
            &"rounds",
            &"seconds",
            &"MB sent",
            &"peak MB",
            &"paper: ANDs",
            &"seconds",
            &"times as fast",
        ]);
        for row in &self.rows {
            let paper = |tell: &dyn Fn(Paper) -> String| row.paper.map_or_else(String::new, tell);
            table.row(&[
                &row.app.name(),
                &row.engine,
                &grouped(row.and_gates),
                &row.rounds,
                &format_args!("{:.4}", row.seconds),
                &format_args!("{:.2}", row.bytes_sent as f64 / 1e6),
                &row.peak_memory_bytes
                    .map_or_else(String::new, |bytes| (bytes / 1_000_000).to_string()),
                &paper(&|paper| format!("{} M", paper.million_ands)),
                &paper(&|paper| paper.seconds.to_string()),
                &row.speedup
                    .map_or_else(String::new, |times| format!("{times:.0}")),
            ]);
        }
        let Self {
            transport,
            repeat,
            machine,
            ..
        } = self;
        format!(
            "{table}\nAll parties on {}, over {transport}; medians of {repeat}; material included. Of memories, one access.\n\
             The paper: Zhu, Huang, Cassel (CCS 2017), Table 5, pool of 35 million gates, LAN, two machines.\n",
            machine.line()
        )
    }

    /// The seconds as bars, the paper's first.
    pub fn to_svg(&self) -> String {
        let mut engines: Vec<&str> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for row in &self.rows {
            if !engines.contains(&row.engine.as_str()) {
                engines.push(&row.engine);
            }
        }
        for row in &self.rows {
            if !groups.iter().any(|group| group.name == row.app.name()) {
                let of = |engine: &str| {
                    let same = |other: &&AppRow| other.app == row.app && other.engine == engine;
                    self.rows.iter().find(same).map_or(0.0, |row| row.seconds)
                };
                let paper = row.app.paper().map_or(0.0, |paper| paper.seconds);
                groups.push(Group {
                    name: row.app.name().into(),
                    values: std::iter::once(paper)
                        .chain(engines.iter().map(|engine| of(engine)))
                        .collect(),
                });
            }
        }
        let series = std::iter::once("Zhu, Huang, Cassel (CCS 2017)").chain(engines);
        let bars = Bars {
            title: "Seconds of a program".into(),
            series: series.map(str::to_owned).collect(),
            groups,
            scale: Scale::Log10,
        };
        bars.to_svg()
    }
}
