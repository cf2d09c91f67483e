//! Table II for people: as text, and as a drawing.

use std::fmt::Write as _;

use super::table2::{PAPER_CORES, ROWS, Table2Report};
use crate::plot::{Bars, Group, Scale};

impl Table2Report {
    /// The table as text.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{}\nthree parties on one machine over {}; {} instances; median of {} run{}\n\n",
            self.machine.line(),
            self.transport,
            self.circuit,
            self.repeat,
            if self.repeat == 1 { "" } else { "s" },
        );
        let mut line = |cells: [&str; 10]| {
            let [name, rate, cpu, ns, gbit, latency, bits, core, paper, ratio] = cells;
            let row = format!(
                "{name:<24} {rate:>9} {cpu:>6} {ns:>6} {gbit:>7} {latency:>8} {bits:>6} {core:>7} {paper:>7} {ratio:>6}"
            );
            writeln!(text, "{}", row.trim_end()).expect("writing to a string succeeds");
        };
        line([
            "", "M ANDs/s", "% CPU", "ns/AND", "Gbit/s", "ms", "bits", "M/core", "paper", "ratio",
        ]);
        for row in &self.rows {
            let rate = row.and_gates_per_second / 1e6;
            line([
                row.row.name,
                &format!("{rate:.1}"),
                &format!("{:.1}", row.cpu_percent),
                &format!("{:.2}", row.ns_per_and),
                &format!("{:.3}", row.gbit_per_second),
                &format!("{:.0}", row.latency_ms),
                &format!("{:.2}", row.bits_per_and),
                &format!("{:.1}", rate / self.machine.cores as f64),
                &format!("{:.1}", row.row.paper.and_gates_per_second / 1e6 / PAPER_CORES),
                &format!("{:.2}", row.per_core_over_paper),
            ]);
        }
        text.push_str("\nthe paper's table: three servers of 20 cores, 10 Gbit/s\n");
        for row in &ROWS {
            let paper = row.paper;
            writeln!(
                text,
                "{:<24} {:>9.1} {:>6.1} {:>6} {:>7.2} {:>8.0}",
                row.name,
                paper.and_gates_per_second / 1e6,
                paper.cpu_percent,
                "",
                paper.gbit_per_second,
                paper.latency_ms
            )
            .expect("writing to a string succeeds");
        }
        writeln!(
            text,
            "\n{:<24} {:<24} {:>9} {:>9} {:>6}",
            "rate of", "over that of", "here", "by CPU", "paper"
        )
        .expect("writing to a string succeeds");
        for ratio in &self.ratios {
            writeln!(
                text,
                "{:<24} {:<24} {:>9.2} {:>9.2} {:>6.2}",
                ratio.of, ratio.over, ratio.measured, ratio.by_processor_time, ratio.paper
            )
            .expect("writing to a string succeeds");
        }
        if let Some(ring) = &self.ring {
            writeln!(text, "\nthe wire: {}", ring.line()).expect("writing to a string succeeds");
            for row in &self.rows {
                let share = 100.0 * row.ring_share.unwrap_or(0.0);
                writeln!(text, "{:<24} {share:>8.1}% of it", row.row.name)
                    .expect("writing to a string succeeds");
            }
        }
        text
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
