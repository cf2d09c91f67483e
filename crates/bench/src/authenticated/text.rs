//! What authenticated garbling costs, for people.

use cenote::text::{Table, bytes, grouped, s};

use super::report::{AuthenticatedReport, AuthenticatedRow};
use crate::plot::{Axis, Plot, Scale, Series, Style};

impl AuthenticatedReport {
    /// The tables as text.
    pub fn table(&self) -> String {
        format!(
            "{}\nover {}, {}; {} bits, lots of {} leaky ANDs, segments of {} gates, {} symbols, {}; medians of {} session{}\n{}{}{}",
            self.machine.line(),
            self.transport,
            self.link,
            self.security,
            grouped(self.lot.into()),
            grouped(self.segment.into()),
            self.symbols,
            self.cot,
            self.repeat,
            s(self.repeat),
            self.buckets(),
            self.fills(),
            self.speeds(),
        )
    }

    /// Table 6.
    fn buckets(&self) -> String {
        let mut table = Table::new("lr");
        table.row(&[
            &"leaky ANDs of a triple",
            &"smallest pool",
            &"(paper)",
            &"(without a pool)",
        ]);
        for row in &self.table {
            table.row(&[
                &row.bucket,
                &grouped(row.pool),
                &format_args!("({})", grouped(row.paper_pool)),
                &format_args!("({})", grouped(row.paper_without)),
            ]);
        }
        format!(
            "\nTable 6: the smallest pools for 40 bits by the search of Figure 8, here and (in the paper)\n{table}"
        )
    }

    fn fills(&self) -> String {
        let mut table = Table::new("lr");
        table.row(&[
            &"pool",
            &"B",
            &"error",
            &"set-up s",
            &"fill s",
            &"bytes:",
            &"",
            &"memory:",
            &"",
        ]);
        for row in &self.rows {
            table.row(&[
                &grouped(row.pool),
                &row.bucket,
                &format_args!("2^{:.2}", row.error_log2),
                &format_args!("{:.3}", row.setup_seconds),
                &format_args!("{:.3}", row.fill_seconds),
                &bytes(row.fill_bytes[0] as f64),
                &bytes(row.fill_bytes[1] as f64),
                &bytes(row.memory_bytes[0] as f64),
                &bytes(row.memory_bytes[1] as f64),
            ]);
        }
        format!(
            "\nPools are filled: bytes sent, and memory that may be held, by the garbler and by the evaluator\n{table}"
        )
    }

    fn speeds(&self) -> String {
        if self.rows.iter().all(|row| row.rates.is_empty()) {
            return String::new();
        }
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"",
            &"all in:",
            &"",
            &"",
            &"",
            &"",
            &"full pool:",
            &"",
            &"",
            &"",
            &"",
        ]);
        table.row(&[
            &"circuit", &"pool", &"ANDs/s", &"bytes", &"both", &"busy ns", &"", &"ANDs/s", &"ms", &"bytes",
            &"busy ns", &"",
        ]);
        let loads = self.rows.first().map_or(0, |row| row.rates.len());
        for (row, rate) in (0..loads).flat_map(|at| self.rows.iter().map(move |row| (row, &row.rates[at]))) {
            table.row(&[
                &rate.load,
                &grouped(row.pool),
                &grouped(rate.all_in_per_second as u64),
                &format_args!("{:.1}", rate.all_in_bytes[0]),
                &format_args!("{:.1}", rate.all_in_bytes[0] + rate.all_in_bytes[1]),
                &format_args!("{:.0}", rate.all_in_busy_ns[0]),
                &format_args!("{:.0}", rate.all_in_busy_ns[1]),
                &grouped(rate.full_pool_per_second as u64),
                &format_args!("{:.2}", rate.full_pool_ms),
                &format_args!("{:.1}", rate.full_pool_bytes[0] + rate.full_pool_bytes[1]),
                &format_args!("{:.0}", rate.full_pool_busy_ns[0]),
                &format_args!("{:.0}", rate.full_pool_busy_ns[1]),
            ]);
        }
        format!(
            "\nAND gates of circuits: bytes from the garbler and both ways for each, and processor time of the garbler and of the evaluator for each\n{table}"
        )
    }

    /// The rates against the pool's size, beside the leaky ANDs that a triple takes: Figure 8.
    pub fn to_svg(&self) -> String {
        let loads = self.rows.first().map_or(&[][..], |row| &row.rates);
        let rates = loads.iter().enumerate().flat_map(|(at, rate)| {
            let name = format!("{} × {}", rate.load.lanes, rate.load.circuit);
            let of = |what: fn(&AuthenticatedRow, usize) -> f64| {
                let points = self
                    .rows
                    .iter()
                    .map(move |row| (row.pool as f64, what(row, at) / 1e6));
                points.collect::<Vec<_>>()
            };
            [
                Series::new(
                    format!("{name}, all in"),
                    Style::Line,
                    of(|row, at| row.rates[at].all_in_per_second),
                ),
                Series::new(
                    format!("{name}, full pool"),
                    Style::Line,
                    of(|row, at| row.rates[at].full_pool_per_second),
                ),
            ]
        });
        let buckets = self
            .rows
            .iter()
            .map(|row| (row.pool as f64, f64::from(row.bucket)));
        let buckets = Series {
            right: true,
            ..Series::new("B", Style::Dashed, buckets)
        };
        Plot {
            title: "Rate against pool size".into(),
            x: Axis::new("pool size n (leaky ANDs)", Scale::Log2),
            y: Axis::new("million AND gates a second", Scale::Linear),
            right: Some(Axis::new("leaky ANDs of a triple", Scale::Linear)),
            series: rates.chain([buckets]).collect(),
        }
        .to_svg()
    }
}
