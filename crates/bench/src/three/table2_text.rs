//! Table II for people: as text, and as a drawing.

use cenote::text::{Table, s};

use super::table2::{PAPER_CORES, ROWS, Table2Report};
use crate::plot::{Bars, Group, Scale};

impl Table2Report {
    /// The table as text.
    pub fn table(&self) -> String {
        let mut here = Table::new("lr");
        here.row(&[
            &"",
            &"M ANDs/s",
            &"% CPU",
            &"ns/AND",
            &"Gbit/s",
            &"ms",
            &"bits",
            &"M/core",
            &"paper",
            &"ratio",
        ]);
        for row in &self.rows {
            let rate = row.and_gates_per_second / 1e6;
            here.row(&[
                &row.row.name,
                &format_args!("{rate:.1}"),
                &format_args!("{:.1}", row.cpu_percent),
                &format_args!("{:.2}", row.ns_per_and),
                &format_args!("{:.3}", row.gbit_per_second),
                &format_args!("{:.0}", row.latency_ms),
                &format_args!("{:.2}", row.bits_per_and),
                &format_args!("{:.1}", rate / self.machine.cores as f64),
                &format_args!("{:.1}", row.row.paper.and_gates_per_second / 1e6 / PAPER_CORES),
                &format_args!("{:.2}", row.per_core_over_paper),
            ]);
        }
        let mut papers = Table::new("lr");
        papers.row(&[&"", &"M ANDs/s", &"% CPU", &"Gbit/s", &"ms"]);
        for row in &ROWS {
            let paper = row.paper;
            papers.row(&[
                &row.name,
                &format_args!("{:.1}", paper.and_gates_per_second / 1e6),
                &format_args!("{:.1}", paper.cpu_percent),
                &format_args!("{:.2}", paper.gbit_per_second),
                &format_args!("{:.0}", paper.latency_ms),
            ]);
        }
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
