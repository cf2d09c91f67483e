//! What pools cost, for people.

use cenote::text::{Table, bytes, grouped, s};
use cenote_jimu::MUX_WIDTH;

use super::report::{JimuReport, JimuRow};
use crate::plot::{Axis, Plot, Scale, Series, Style};

/// The paper's pool of 2^20 gates gives so many AND gates in a second.
const PAPER_RATE: (u64, f64) = (1 << 20, 1e5);

fn gadget(width: usize) -> String {
    match width {
        1 => "AND".into(),
        width => format!("MUXCORE-{width}"),
    }
}

impl JimuReport {
    /// The tables as text.
    pub fn table(&self) -> String {
        format!(
            "{}\nover {}, {}; {} bits, buffers of {} gates; medians of {} session{}\n{}{}{}{}",
            self.machine.line(),
            self.transport,
            self.link,
            self.security,
            grouped(self.buffer.into()),
            self.repeat,
            s(self.repeat),
            self.fills(),
            self.storage(),
            self.speeds(),
            self.gains(),
        )
    }

    /// Table 3.
    fn fills(&self) -> String {
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"",
            &"",
            &"",
            &"fill",
            &"(paper)",
            &"busy s:",
            &"",
            &"bytes sent:",
            &"",
        ]);
        table.row(&[
            &"gadget",
            &"pool",
            &"B",
            &"r_c",
            &"s",
            &"s",
            &"garbler",
            &"evaluator",
            &"garbler",
            &"evaluator",
        ]);
        let ands = self.rows.iter().map(|row| (1, row.pool, &row.fill));
        let muxes = self
            .rows
            .iter()
            .filter_map(|row| Some((MUX_WIDTH, row.pool, &row.mux.as_ref()?.fill)));
        for (width, pool, fill) in ands.chain(muxes) {
            table.row(&[
                &gadget(width),
                &grouped(pool),
                &fill.bucket,
                &format_args!("{:.1}%", 100.0 * fill.check_rate),
                &format_args!("{:.3}", fill.seconds),
                &fill
                    .paper_seconds
                    .map_or_else(String::new, |paper| format!("({paper})")),
                &format_args!("{:.3}", fill.busy_seconds[0]),
                &format_args!("{:.3}", fill.busy_seconds[1]),
                &bytes(fill.bytes[0] as f64),
                &bytes(fill.bytes[1] as f64),
            ]);
        }
        let setup = self.rows.iter().map(|row| row.setup_seconds).fold(0.0, f64::max);
        format!(
            "\nTable 3: pools are filled, here and (in the paper), after a set-up of {setup:.2} s\n{table}"
        )
    }

    /// Table 4.
    fn storage(&self) -> String {
        let mut table = Table::new("lr");
        table.row(&[&"gadget", &"garbler", &"evaluator"]);
        for row in &self.stored {
            let name = gadget(row.width);
            let cell = |party: usize| format!("{} ({})", row.bytes[party], row.paper[party]);
            table.row(&[&name, &cell(0), &cell(1)]);
        }
        format!("\nTable 4: bytes of a pooled gadget, here and (in the paper, at 40 bits)\n{table}")
    }

    /// Figure 5.
    fn speeds(&self) -> String {
        if self.rows.iter().all(|row| row.rates.is_empty()) {
            return String::new();
        }
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"",
            &"",
            &"ANDs",
            &"busy ns each:",
            &"",
            &"CPU ns each:",
            &"",
            &"bytes each:",
            &"",
            &"gadgets",
            &"",
        ]);
        table.row(&[
            &"circuit",
            &"pool",
            &"ANDs",
            &"a second",
            &"garbler",
            &"evaluator",
            &"garbler",
            &"evaluator",
            &"garbler",
            &"evaluator",
            &"each",
            &"B/(1-r_c)",
        ]);
        let loads = self.rows.first().map_or(0, |row| row.rates.len());
        for (row, rate) in (0..loads).flat_map(|at| self.rows.iter().map(move |row| (row, &row.rates[at]))) {
            table.row(&[
                &rate.load,
                &grouped(row.pool),
                &grouped(rate.and_gates),
                &grouped(rate.and_gates_per_second as u64),
                &format_args!("{:.0}", rate.busy_ns_per_and[0]),
                &format_args!("{:.0}", rate.busy_ns_per_and[1]),
                &format_args!("{:.0}", rate.cpu_ns_per_and[0]),
                &format_args!("{:.0}", rate.cpu_ns_per_and[1]),
                &format_args!("{:.1}", rate.bytes_per_and[0]),
                &format_args!("{:.2}", rate.bytes_per_and[1]),
                &format_args!("{:.3}", rate.gadgets_per_and),
                &format_args!("{:.3}", row.gates_per_and),
            ]);
        }
        format!(
            "\nFigure 5: AND gates of circuits over full pools; the paper: {} a second with a pool of {}\n{table}",
            grouped(PAPER_RATE.1 as u64),
            grouped(PAPER_RATE.0)
        )
    }

    /// Figure 7.
    fn gains(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.pool, row.mux.as_ref()?)))
            .collect();
        if rows.iter().all(|(_, mux)| mux.rows.is_empty()) {
            return String::new();
        }
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"",
            &"ns each:",
            &"",
            &"busy ns each:",
            &"",
            &"bytes each:",
            &"",
            &"",
        ]);
        table.row(&[
            &"circuit",
            &"pools",
            &"ANDs",
            &"MUXCOREs",
            &"ANDs",
            &"MUXCOREs",
            &"ANDs",
            &"MUXCOREs",
            &"gain",
        ]);
        for (pool, row) in rows
            .iter()
            .flat_map(|(pool, mux)| mux.rows.iter().map(move |row| (pool, row)))
        {
            table.row(&[
                &row.load,
                &grouped(*pool),
                &format_args!("{:.0}", row.ns_per_and[0]),
                &format_args!("{:.0}", row.ns_per_and[1]),
                &format_args!("{:.0}", row.busy_ns_per_and[0]),
                &format_args!("{:.0}", row.busy_ns_per_and[1]),
                &format_args!("{:.0}", row.bytes_per_and[0]),
                &format_args!("{:.0}", row.bytes_per_and[1]),
                &format_args!("{:.2}", row.gain),
            ]);
        }
        format!("\nFigure 7: AND gates of multiplexers with and without gadgets for them\n{table}")
    }

    /// The rates against the pool's size, beside what theory says of the gadgets that they take: Figure 5.
    pub fn to_svg(&self) -> String {
        let loads = self.rows.first().map_or(&[][..], |row| &row.rates);
        let rates = loads.iter().enumerate().map(|(at, rate)| {
            let point = |row: &JimuRow| (row.pool as f64, row.rates[at].and_gates_per_second / 1e3);
            let name = format!("{} × {}", rate.load.lanes, rate.load.circuit);
            Series::new(name, Style::Line, self.rows.iter().map(point))
        });
        let paper = (PAPER_RATE.0 as f64, PAPER_RATE.1 / 1e3);
        let paper = Series::new("Zhu et al. 2017", Style::Dots, [paper]);
        let theory = self.rows.iter().map(|row| (row.pool as f64, row.gates_per_and));
        let theory = Series {
            right: true,
            ..Series::new("B/(1 - r_c)", Style::Dashed, theory)
        };
        Plot {
            title: "Rate against pool size".into(),
            x: Axis::new("pool size n (AND gates)", Scale::Log2),
            y: Axis::new("thousand AND gates a second", Scale::Linear),
            right: Some(Axis::new("gadgets made per gate", Scale::Linear)),
            series: rates.chain([paper, theory]).collect(),
        }
        .to_svg()
    }
}
