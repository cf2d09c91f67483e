//! Table II for people: as text, and as a drawing.

use cenote::text::{Table, s};

use super::table2::{PAPER_CORES, ROWS, Row, RowResult, Table2Report};
use crate::columns::{Column, fixed, table};
use crate::plot::{Bars, Group, Scale};

impl Table2Report {
    /// The table as text.
    pub fn table(&self) -> String {
        let [here, papers, ratios] = [self.here(), papers(), self.ratios()];
        let mut text = format!(
            "{}\nthree parties on one machine over {}; {} instances; median of {} run{}\n\n\
             {here}\nthe paper's table: three servers of 20 cores, 10 Gbit/s\n{papers}\n{ratios}",
            self.machine.line(),
            self.transport,
            self.circuit,
            self.repeat,
            s(self.repeat),
        );
        if let Some(ring) = &self.ring {
            let mut shares = Table::new("lr");
            for row in &self.rows {
                let share = 100.0 * row.ring_share.unwrap_or(0.0);
                shares.row(&[&row.row.name, &format_args!("{share:.1}% of it")]);
            }
            text.push_str(&format!("\nthe wire: {}\n{shares}", ring.line()));
        }
        text
    }

    fn here(&self) -> Table {
        let columns: [Column<(&RowResult, f64)>; 10] = [
            ("", "", |(row, _)| row.row.name.into()),
            ("", "M ANDs/s", |(row, _)| {
                fixed(row.and_gates_per_second / 1e6, 1)
            }),
            ("", "% CPU", |(row, _)| fixed(row.cpu_percent, 1)),
            ("", "ns/AND", |(row, _)| fixed(row.ns_per_and, 2)),
            ("", "Gbit/s", |(row, _)| fixed(row.gbit_per_second, 3)),
            ("", "ms", |(row, _)| fixed(row.latency_ms, 0)),
            ("", "bits", |(row, _)| fixed(row.bits_per_and, 2)),
            ("", "M/core", |(row, cores)| {
                fixed(row.and_gates_per_second / 1e6 / cores, 1)
            }),
            ("", "paper", |(row, _)| {
                fixed(row.row.paper.and_gates_per_second / 1e6 / PAPER_CORES, 1)
            }),
            ("", "ratio", |(row, _)| fixed(row.per_core_over_paper, 2)),
        ];
        let cores = self.machine.cores as f64;
        table(&columns, self.rows.iter().map(|row| (row, cores)))
    }

    fn ratios(&self) -> Table {
        let mut ratios = Table::new("llr");
        ratios.row(&[&"rate of", &"over that of", &"here", &"by CPU", &"paper"]);
        for ratio in &self.ratios {
            ratios.row(&[
                &ratio.of,
                &ratio.over,
                &format_args!("{:.2}", ratio.measured),
                &format_args!("{:.2}", ratio.by_processor_time),
                &format_args!("{:.2}", ratio.paper),
            ]);
        }
        ratios
    }

    /// Rates per core, here and in the paper, as a bar chart in SVG.
    pub fn to_svg(&self) -> String {
        let groups = self.rows.iter().map(|row| Group {
            name: row.row.name.into(),
            values: vec![
                row.and_gates_per_second / 1e6 / self.machine.cores as f64,
                row.row.paper.and_gates_per_second / 1e6 / PAPER_CORES,
            ],
        });
        Bars {
            title: "Millions of AND gates per second and core".into(),
            series: vec![
                format!("here: {} cores, {}", self.machine.cores, self.transport),
                "Araki et al. 2017, Table II: 60 cores".into(),
            ],
            groups: groups.collect(),
            scale: Scale::Linear,
        }
        .to_svg()
    }
}

fn papers() -> Table {
    let columns: [Column<&Row>; 5] = [
        ("", "", |row| row.name.into()),
        ("", "M ANDs/s", |row| {
            fixed(row.paper.and_gates_per_second / 1e6, 1)
        }),
        ("", "% CPU", |row| fixed(row.paper.cpu_percent, 1)),
        ("", "Gbit/s", |row| fixed(row.paper.gbit_per_second, 2)),
        ("", "ms", |row| fixed(row.paper.latency_ms, 0)),
    ];
    table(&columns, &ROWS)
}
