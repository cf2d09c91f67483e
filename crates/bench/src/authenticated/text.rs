//! What authenticated garbling costs, for people.

use cenote::text::{bytes, grouped};

use super::{Authenticated, Rate, TableRow};
use crate::columns::{Column, fixed, table};
use crate::pools::{Curves, PoolReport, PoolRow, RateRow, Told};

type Row = PoolRow<Authenticated>;

impl Told for Authenticated {
    fn describe(&self) -> String {
        format!(
            "lots of {} to {} leaky ANDs, segments of {} gates, {} symbols, {}",
            grouped(self.lot.into()),
            grouped(self.largest_lot.into()),
            grouped(self.segment.into()),
            self.symbols,
            self.cot,
        )
    }

    fn tables(report: &PoolReport<Self>) -> String {
        format!("{}{}{}", buckets(report), fills(report), speeds(report))
    }

    /// Beside the leaky ANDs that a triple takes: Figure 8.
    fn curves() -> Curves<Self> {
        Curves {
            rates: vec![
                (", all in", |rate| rate.all_in_per_second),
                (", full pool", |rate| rate.full_pool_per_second),
            ],
            right: ("B", "leaky ANDs of a triple", |row| row.own.bucket.into()),
            paper: None,
        }
    }
}

/// Table 6.
fn buckets(report: &PoolReport<Authenticated>) -> String {
    let columns: [Column<&TableRow>; 4] = [
        ("", "leaky ANDs of a triple", |row| row.bucket.to_string()),
        ("", "smallest pool", |row| grouped(row.pool)),
        ("", "(paper)", |row| format!("({})", grouped(row.paper_pool))),
        ("", "(without)", |row| format!("({})", grouped(row.paper_without))),
    ];
    format!(
        "\nTable 6: the smallest pools for 40 bits by the search of Figure 8, here and (in the paper)\n{}",
        table(&columns, &report.paper.table)
    )
}

fn fills(report: &PoolReport<Authenticated>) -> String {
    let columns: [Column<&Row>; 9] = [
        ("", "pool", |row| grouped(row.pool)),
        ("", "B", |row| row.own.bucket.to_string()),
        ("", "error", |row| format!("2^{:.2}", row.error_log2)),
        ("", "set-up s", |row| fixed(row.setup_seconds, 3)),
        ("", "fill s", |row| fixed(row.own.fill_seconds, 3)),
        ("bytes sent:", "garbler", |row| sent(row, 0)),
        ("", "evaluator", |row| sent(row, 1)),
        ("memory:", "garbler", |row| bytes(row.memory_bytes[0] as f64)),
        ("", "evaluator", |row| bytes(row.memory_bytes[1] as f64)),
    ];
    format!(
        "\nPools are filled: bytes sent, and the most memory that may be held\n{}",
        table(&columns, &report.rows)
    )
}

fn speeds(report: &PoolReport<Authenticated>) -> String {
    if report.rates().next().is_none() {
        return String::new();
    }
    let columns: [Column<(&Row, &RateRow<Rate>, &Rate)>; 12] = [
        ("", "circuit", |(_, run, _)| run.load.to_string()),
        ("", "pool", |(row, ..)| grouped(row.pool)),
        ("all in:", "ANDs/s", |(.., rate)| {
            grouped(rate.all_in_per_second as u64)
        }),
        ("", "bytes", |(.., rate)| fixed(rate.all_in_bytes[0], 1)),
        ("", "both", |(.., rate)| both(rate.all_in_bytes)),
        ("", "busy ns", |(.., rate)| fixed(rate.all_in_busy_ns[0], 0)),
        ("", "", |(.., rate)| fixed(rate.all_in_busy_ns[1], 0)),
        ("full pool:", "ANDs/s", |(.., rate)| {
            grouped(rate.full_pool_per_second as u64)
        }),
        ("", "ms", |(.., rate)| fixed(rate.full_pool_ms, 2)),
        ("", "bytes", |(.., rate)| both(rate.full_pool_bytes)),
        ("", "busy ns", |(.., rate)| fixed(rate.full_pool_busy_ns[0], 0)),
        ("", "", |(.., rate)| fixed(rate.full_pool_busy_ns[1], 0)),
    ];
    format!(
        "\nAND gates of circuits: bytes from the garbler and both ways for each, and processor time of the garbler and of the evaluator for each\n{}",
        table(&columns, report.rates())
    )
}

fn sent(row: &Row, party: usize) -> String {
    bytes(row.own.fill_bytes[party] as f64)
}

fn both(bytes: [f64; 2]) -> String {
    fixed(bytes[0] + bytes[1], 1)
}
