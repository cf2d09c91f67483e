//! What pools of garbled gates cost, for people.

use cenote::text::{bytes, grouped};
use cenote_jimu::MUX_WIDTH;

use super::Jimu;
use super::report::{Filled, MuxRow, Rate, StoredRow};
use crate::columns::{Column, fixed, table};
use crate::pools::{Curves, PoolReport, PoolRow, RateRow, Told};

type Row = PoolRow<Jimu>;

/// The paper's pool of 2^20 gates gives so many AND gates in a second.
const PAPER_RATE: (u64, f64) = (1 << 20, 1e5);

fn gadget(width: usize) -> String {
    match width {
        1 => "AND".into(),
        width => format!("MUXCORE-{width}"),
    }
}

impl Told for Jimu {
    fn describe(&self) -> String {
        format!("buffers of {} gates", grouped(self.buffer.into()))
    }

    fn tables(report: &PoolReport<Self>) -> String {
        let [fills, storage] = [fills(report), storage(report)];
        format!("{fills}{storage}{}{}", speeds(report), gains(report))
    }

    /// Beside what theory says of the gadgets that gates take: Figure 5.
    fn curves() -> Curves<Self> {
        Curves {
            rates: vec![("", |rate| rate.and_gates_per_second)],
            right: ("B/(1 - r_c)", "gadgets made per gate", |row| {
                row.own.gates_per_and
            }),
            paper: Some(("Zhu et al. 2017", PAPER_RATE)),
        }
    }
}

/// Table 3.
fn fills(report: &PoolReport<Jimu>) -> String {
    let columns: [Column<(usize, u64, &Filled)>; 10] = [
        ("", "gadget", |(width, ..)| gadget(*width)),
        ("", "pool", |(_, pool, _)| grouped(*pool)),
        ("", "B", |(.., fill)| fill.bucket.to_string()),
        ("", "r_c", |(.., fill)| format!("{:.1}%", 100.0 * fill.check_rate)),
        ("fill", "s", |(.., fill)| fixed(fill.seconds, 3)),
        ("(paper)", "s", |(.., fill)| {
            let paper = fill.paper_seconds.map(|paper| format!("({paper})"));
            paper.unwrap_or_default()
        }),
        ("busy s:", "garbler", |(.., fill)| fixed(fill.busy_seconds[0], 3)),
        ("", "evaluator", |(.., fill)| fixed(fill.busy_seconds[1], 3)),
        ("bytes sent:", "garbler", |(.., fill)| bytes(fill.bytes[0] as f64)),
        ("", "evaluator", |(.., fill)| bytes(fill.bytes[1] as f64)),
    ];
    let ands = report.rows.iter().map(|row| (1, row.pool, &row.own.fill));
    let muxes = report.rows.iter();
    let muxes = muxes.filter_map(|row| Some((MUX_WIDTH, row.pool, &row.own.mux.as_ref()?.fill)));
    let setup = report
        .rows
        .iter()
        .map(|row| row.setup_seconds)
        .fold(0.0, f64::max);
    format!(
        "\nTable 3: pools are filled, here and (in the paper), after a set-up of {setup:.2} s\n{}",
        table(&columns, ands.chain(muxes))
    )
}

/// Table 4.
fn storage(report: &PoolReport<Jimu>) -> String {
    let columns: [Column<&StoredRow>; 3] = [
        ("", "gadget", |row| gadget(row.width)),
        ("", "garbler", |row| {
            format!("{} ({})", row.bytes[0], row.paper[0])
        }),
        ("", "evaluator", |row| {
            format!("{} ({})", row.bytes[1], row.paper[1])
        }),
    ];
    format!(
        "\nTable 4: bytes of a pooled gadget, here and (in the paper, at 40 bits)\n{}",
        table(&columns, &report.paper.stored)
    )
}

/// Figure 5.
fn speeds(report: &PoolReport<Jimu>) -> String {
    if report.rates().next().is_none() {
        return String::new();
    }
    let columns: [Column<(&Row, &RateRow<Rate>, &Rate)>; 12] = [
        ("", "circuit", |(_, run, _)| run.load.to_string()),
        ("", "pool", |(row, ..)| grouped(row.pool)),
        ("", "ANDs", |(_, run, _)| grouped(run.and_gates)),
        ("ANDs", "a second", |(.., rate)| {
            grouped(rate.and_gates_per_second as u64)
        }),
        ("busy ns each:", "garbler", |(.., rate)| {
            fixed(rate.busy_ns_per_and[0], 0)
        }),
        ("", "evaluator", |(.., rate)| fixed(rate.busy_ns_per_and[1], 0)),
        ("CPU ns each:", "garbler", |(.., rate)| {
            fixed(rate.cpu_ns_per_and[0], 0)
        }),
        ("", "evaluator", |(.., rate)| fixed(rate.cpu_ns_per_and[1], 0)),
        ("bytes each:", "garbler", |(.., rate)| {
            fixed(rate.bytes_per_and[0], 1)
        }),
        ("", "evaluator", |(.., rate)| fixed(rate.bytes_per_and[1], 2)),
        ("gadgets", "each", |(.., rate)| fixed(rate.gadgets_per_and, 3)),
        ("", "B/(1-r_c)", |(row, ..)| fixed(row.own.gates_per_and, 3)),
    ];
    format!(
        "\nFigure 5: AND gates of circuits over full pools; the paper: {} a second with a pool of {}\n{}",
        grouped(PAPER_RATE.1 as u64),
        grouped(PAPER_RATE.0),
        table(&columns, report.rates())
    )
}

/// Figure 7.
fn gains(report: &PoolReport<Jimu>) -> String {
    let rows = report.rows.iter().flat_map(|row| {
        let muxes = row.own.mux.iter().flat_map(|mux| &mux.rows);
        muxes.map(|mux| (row.pool, mux))
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns: [Column<(u64, &MuxRow)>; 9] = [
        ("", "circuit", |(_, row)| row.load.to_string()),
        ("", "pools", |(pool, _)| grouped(*pool)),
        ("ns each:", "ANDs", |(_, row)| fixed(row.ns_per_and[0], 0)),
        ("", "MUXCOREs", |(_, row)| fixed(row.ns_per_and[1], 0)),
        ("busy ns each:", "ANDs", |(_, row)| {
            fixed(row.busy_ns_per_and[0], 0)
        }),
        ("", "MUXCOREs", |(_, row)| fixed(row.busy_ns_per_and[1], 0)),
        ("bytes each:", "ANDs", |(_, row)| fixed(row.bytes_per_and[0], 0)),
        ("", "MUXCOREs", |(_, row)| fixed(row.bytes_per_and[1], 0)),
        ("", "gain", |(_, row)| fixed(row.gain, 2)),
    ];
    format!(
        "\nFigure 7: AND gates of multiplexers with and without gadgets for them\n{}",
        table(&columns, rows)
    )
}
