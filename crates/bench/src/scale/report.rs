//! What was measured and simulated, for people, and as a drawing.

use std::fmt::Write as _;

use cenote::shards::MOST_WORKERS;
use cenote::text::{Table, bytes, grouped, megabytes, s};

use super::{Row, ScaleReport};
use crate::plot::{Axis, Plot, Scale, Series, Style};

/// A rate in millions.
fn millions(rate: f64) -> String {
    match rate / 1e6 {
        rate if rate < 100.0 => format!("{rate:.2}"),
        rate => grouped(rate.round() as u64),
    }
}

fn seconds(seconds: f64) -> String {
    match seconds {
        few if few < 100.0 => format!("{few:.2}"),
        many => grouped(many.round() as u64),
    }
}

impl ScaleReport {
    pub fn table(&self) -> String {
        let mut text = self.measured_table();
        let _ = write!(text, "\n{}\n{}", self.checks_table(), self.machines_table());
        text
    }

    /// What sessions take here.
    fn measured_table(&self) -> String {
        let costs = &self.measured;
        let mut table = Table::new("lrrrrr");
        table.row(&[&"", &"ANDs", &"rounds", &"MB sent", &"s here", &"s of a core"]);
        let parts = [
            ("one shard", &costs.shard, costs.shard_seconds),
            ("its merge", &costs.merge, costs.merge_seconds),
            (
                "merge of all",
                &self.planned.merge,
                costs.model.seconds(&self.planned.merge),
            ),
        ];
        for (name, takes, here) in parts {
            table.row(&[
                &name,
                &grouped(takes.and_gates),
                &grouped((takes.rounds as f64 * costs.rounds_ratio) as u64),
                &megabytes((takes.bytes as f64 * costs.bytes_ratio) as u64),
                &format_args!("{here:.3}"),
                &format_args!("{:.3}", here * costs.core_share),
            ]);
        }
        format!(
            "{table}\nThree parties on {}, over {}; medians of {}. A shard has {} rows of each table. \"s here\" is with all parties on this machine, \"s of a core\" what one of them \
             computes. The merge of all {} shards has not run here: its time follows from that of others.\nA session's set-up took {:.1} ms, a worker's process {:.2} s to start, \
             a million rows of tables {:.2} s to read and place, {:.2} s to write for workers and {:.2} s to read there, and an attempt {:.2} ms of the coordinators' time. Equal shards took times that differ by {:.1} %.\n",
            self.machine.line(),
            self.transport,
            self.repeat,
            grouped(self.rows_of_shard),
            grouped(self.shards.into()),
            1e3 * costs.setup_seconds,
            costs.process_seconds,
            1e6 * costs.row_seconds.read,
            1e6 * costs.row_seconds.write,
            1e6 * costs.row_seconds.take,
            1e3 * costs.attempt_seconds,
            100.0 * costs.spread,
        )
    }

    /// The simulation beside what was measured.
    fn checks_table(&self) -> String {
        let mut table = Table::new("rrrrrrr");
        table.row(&[
            &"shards",
            &"s predicted",
            &"measured",
            &"ratio",
            &"sessions alone",
            &"measured",
            &"ratio",
        ]);
        for check in &self.checks {
            table.row(&[
                &check.shards,
                &format_args!("{:.2}", check.predicted_seconds),
                &format_args!("{:.2}", check.measured_seconds),
                &format_args!("{:.2}", check.ratio),
                &format_args!("{:.2}", check.predicted_sessions_seconds),
                &format_args!("{:.2}", check.measured_sessions_seconds),
                &format_args!("{:.2}", check.sessions_ratio),
            ]);
        }
        format!(
            "{table}\nOne machine for all parties, one shard after another. What sessions take is known from the job of one shard and one of many small shards; the start of processes is the median of all.\n"
        )
    }

    /// The job on machines.
    fn machines_table(&self) -> String {
        let mut table = Table::new("rrrrrrrrrr");
        table.row(&[
            &"machines",
            &"workers",
            &"s",
            &"of it merge",
            &"M rows/s",
            &"M ANDs/s",
            &"busy %",
            &"network M ANDs/s",
            &"coordinators M ANDs/s",
            &"s if placed",
        ]);
        for row in &self.machines {
            let outcome = &row.outcome;
            table.row(&[
                &grouped(outcome.machines.into()),
                &grouped(outcome.workers.into()),
                &seconds(outcome.seconds),
                &seconds(outcome.merge_seconds),
                &millions(outcome.rows_per_second),
                &millions(outcome.ands_per_second),
                &format_args!("{:.0}", outcome.busy_percent),
                &outcome.network_bound.map_or_else(|| "-".into(), millions),
                &millions(outcome.coordinator_bound),
                &seconds(row.seconds_if_placed),
            ]);
        }
        let site = self.site_gbit.map_or_else(
            || "no limit for all of them".into(),
            |gbit| format!("{gbit} Gbit/s for all of them"),
        );
        let today = match self.planned.is_accepted {
            true => "",
            false => {
                " Today's planner refuses a job of so many rows, although no session would sort them all."
            }
        };
        format!(
            "{table}\nSimulated (seed {}): {} shards, {} rows of both tables, {} to send at each party. {} core{} a machine with a worker each, at most {} workers a party; between machines of different parties \
             {}, {site}.\nCoordinators read the tables and write the rows of all shards before the first one. \"s if placed\" is the time if these lay there already.{today}\n",
            self.seed,
            grouped(self.shards.into()),
            grouped(self.planned.rows),
            bytes(self.site_bytes()),
            self.cores,
            s(self.cores),
            grouped(MOST_WORKERS as u64),
            self.link,
        )
    }

    /// Bytes that a party sends in the job that is simulated.
    fn site_bytes(&self) -> f64 {
        let planned = &self.planned;
        let all = f64::from(planned.shards) * planned.shard.bytes as f64 + planned.merge.bytes as f64;
        all * self.measured.bytes_ratio
    }

    /// The rate against the number of machines, with what bounds it.
    pub fn to_svg(&self) -> String {
        let points = |of: fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
            let point = |row: &Row| Some((f64::from(row.outcome.machines), of(row)? / 1e6));
            let mut points: Vec<_> = self.machines.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let series = [
            Series::new(
                "coordinators place all rows",
                Style::Line,
                points(|row| Some(row.outcome.ands_per_second)),
            ),
            Series::new(
                "rows lie there already",
                Style::Line,
                points(|row| Some(row.ands_per_second_if_placed)),
            ),
            Series::new(
                "bound by the network",
                Style::Dashed,
                points(|row| row.outcome.network_bound),
            ),
            Series::new(
                "bound by the coordinators",
                Style::Dashed,
                points(|row| Some(row.outcome.coordinator_bound)),
            ),
        ];
        let plot = Plot {
            title: format!(
                "A join in {} shards of {} rows, simulated",
                grouped(self.shards.into()),
                grouped(self.rows_of_shard)
            ),
            x: Axis::new(
                format!(
                    "machines of each party, with {} core{}",
                    self.cores,
                    s(self.cores)
                ),
                Scale::Log10,
            ),
            y: Axis::new("million AND gates a second", Scale::Log10),
            right: None,
            series: series
                .into_iter()
                .filter(|series| !series.points.is_empty())
                .collect(),
        };
        plot.to_svg()
    }
}
