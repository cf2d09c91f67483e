//! The queries of TPC-H over tables that two or three parties hold, each answer compared with what SQLite says.

mod asked;
mod report;
#[path = "../../../query/tests/tpch/sqlite.rs"]
mod sqlite;
mod tables;
mod values;

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cenote::local::Setting;
use cenote::query::{Instead, QueryJob, QueryReport, run_here};
use cenote::{Error, PartyId, Protocol, Result};

pub use self::asked::Asked;
pub use self::report::{Measured, TpchReport, TpchRow};
use self::sqlite::{Sqlite, difference};
use self::tables::{Written, write_tables};
use crate::queries::too_much;
use crate::usage::Machine;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Tpch {
    pub protocol: Protocol,
    /// Of the full size, in which there are six million items.
    pub scale: f64,
    /// Whether owners compute nothing on their own rows.
    pub secret_only: bool,
    /// In the order in which they are asked.
    pub queries: Vec<Asked>,
}

/// Runs the queries with all parties, over tables that are written to `folder`. `command` starts a child of [`cenote::local`]; `about` is told what comes next.
///
/// # Errors
/// [`Error::Local`] if tables cannot be written or read, or SQLite fails; [`Error::Stopped`]. A query that has no answer, or a wrong one, is an error of its
/// row alone.
pub fn run_tpch(
    tpch: &Tpch,
    folder: &Path,
    setting: Setting,
    command: &impl Fn() -> Command,
    about: &mut dyn FnMut(&str),
) -> Result<TpchReport> {
    let machine = Machine::now();
    about("writing tables");
    let start = Instant::now();
    let written = std::fs::create_dir_all(folder).and_then(|()| write_tables(folder, tpch.scale));
    let written = written.map_err(|error| Error::local("writing tables", error))?;
    let writing_seconds = start.elapsed().as_secs_f64();
    about("filling SQLite");
    let sqlite = in_sqlite(&written, folder, &tpch.protocol)?;
    let mut rows = Vec::new();
    for &query in &tpch.queries {
        about(&format!("asking {}", query.name()));
        let sql = query.text(tpch.scale);
        let job = folder.join(format!("{}.toml", query.name()));
        let text = written.job(
            &tpch.protocol,
            &sql,
            query.answer_rows(&written),
            tpch.secret_only,
        );
        std::fs::write(&job, text).map_err(|error| Error::local("writing a job", error))?;
        let start = Instant::now();
        let ran = run_here(&job, &Instead::default(), setting, command, &mut |_, _| ());
        let seconds = start.elapsed().as_secs_f64();
        let outcome = match ran {
            Err(error @ Error::Stopped { .. }) => return Err(error),
            Err(error) => Err(error.to_string()),
            Ok(report) => {
                about(&format!("asking SQLite {}", query.name()));
                let right = sqlite.answer(&sql).map_err(of_sqlite)?;
                let found = report.answer.as_ref().and_then(|answer| answer.rows.as_deref());
                match difference(found.unwrap_or_default(), &right) {
                    Some(wrong) => Err(format!("the answer is wrong: {wrong}")),
                    None => too_much(&report.report).map_or_else(|| Ok(measured(&report, seconds)), Err),
                }
            }
        };
        rows.push(TpchRow { query, outcome });
    }
    Ok(TpchReport {
        scale: tpch.scale,
        secret_only: tpch.secret_only,
        protocol: tpch.protocol.name(),
        parties: tpch.protocol.parties(),
        transport: setting.transport,
        writing_seconds,
        rows,
        machine,
    })
}

/// The tables as the parties read them, in SQLite.
fn in_sqlite(written: &Written, folder: &Path, protocol: &Protocol) -> Result<Sqlite> {
    let job = folder.join("all.toml");
    std::fs::write(&job, written.job_of_all(protocol))
        .map_err(|error| Error::local("writing a job", error))?;
    let job = QueryJob::load(&job)?;
    let mut tables = Vec::new();
    for party in (0..protocol.parties()).map(PartyId) {
        let own = job.query().schema().tables.iter().zip(job.tables(party)?);
        tables.extend(own.filter_map(|(declared, table)| Some((declared.name.as_str(), table?))));
    }
    Sqlite::new(tables.iter().map(|(name, table)| (*name, table))).map_err(of_sqlite)
}

fn of_sqlite(error: rusqlite::Error) -> Error {
    Error::local("asking SQLite", io::Error::other(error))
}

/// What a query took that `seconds` have gone by for in all.
fn measured(report: &QueryReport, seconds: f64) -> Measured {
    let costs = &report.report;
    let query_seconds = costs.seconds.of("run");
    Measured {
        and_gates: costs.and_gates,
        rounds: costs.rounds,
        seconds: query_seconds,
        seconds_before: seconds - query_seconds,
        bytes_sent: costs.bytes_sent.iter().copied().max().unwrap_or(0),
        peak_memory_bytes: costs.peak_memory_bytes.iter().flatten().copied().max(),
        memory_bound_bytes: costs.memory_bound_bytes,
        answer_rows: report.answer.as_ref().map_or(0, |answer| answer.row_count),
    }
}
