//! What the queries took.

use cenote::text::{Table, grouped, megabytes};
use cenote::{Error, Result, Transport};
use serde::Serialize;

use super::Asked;
use crate::plot::{Bars, Group, Scale};
use crate::usage::Machine;

/// What a query took whose answer is right.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub and_gates: u64,
    pub rounds: u64,
    /// Seconds of the query: from the handshake to the answer.
    pub seconds: f64,
    /// Seconds before: planning, starting the parties, reading tables, what owners compute on their own rows, and meeting.
    pub seconds_before: f64,
    /// The most bytes that a party sent.
    pub bytes_sent: u64,
    /// The most memory that a party's process had.
    pub peak_memory_bytes: Option<u64>,
    /// The most that it was said to take.
    pub memory_bound_bytes: u64,
    /// Rows of the answer.
    pub answer_rows: u64,
}

/// A query and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct TpchRow {
    pub query: Asked,
    /// Why there is no right answer, if there is none.
    #[serde(flatten, serialize_with = "outcome")]
    pub outcome: std::result::Result<Measured, String>,
}

fn outcome<S: serde::Serializer>(
    outcome: &std::result::Result<Measured, String>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Failed<'a> {
        error: &'a str,
    }
    match outcome {
        Ok(measured) => measured.serialize(serializer),
        Err(error) => Failed { error }.serialize(serializer),
    }
}

/// The queries and what they took.
#[derive(Clone, Debug, Serialize)]
pub struct TpchReport {
    /// Of the full size.
    pub scale: f64,
    /// Whether owners computed nothing on their own rows.
    pub secret_only: bool,
    /// The protocol, and how many parties it has.
    pub protocol: &'static str,
    pub parties: u8,
    /// How the parties were joined.
    pub transport: Transport,
    /// Seconds of making and writing the tables.
    pub writing_seconds: f64,
    /// In the order in which they were asked.
    pub rows: Vec<TpchRow>,
    /// The machine that all parties ran on.
    pub machine: Machine,
}

impl TpchReport {
    /// The queries that have a right answer, and what they took.
    fn right(&self) -> impl Iterator<Item = (Asked, &Measured)> {
        self.rows
            .iter()
            .filter_map(|row| Some((row.query, row.outcome.as_ref().ok()?)))
    }

    fn wrong(&self) -> impl Iterator<Item = (Asked, &str)> {
        self.rows
            .iter()
            .filter_map(|row| Some((row.query, row.outcome.as_ref().err()?.as_str())))
    }

    /// Sees that all answers are right.
    ///
    /// # Errors
    /// [`Error::Local`], which names the queries that have no answer or a wrong one.
    pub fn check(&self) -> Result<()> {
        let wrong: Vec<String> = self
            .wrong()
            .map(|(query, why)| format!("{}: {why}", query.name()))
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Error::local(
                "comparing answers with SQLite's",
                std::io::Error::other(wrong.join("; ")),
            )),
        }
    }

    pub fn table(&self) -> String {
        let mut table = Table::new("lrrrrrrrrl");
        table.row(&[
            &"query",
            &"ANDs",
            &"rounds",
            &"seconds",
            &"before",
            &"MB sent",
            &"peak MB",
            &"MB at most",
            &"rows",
            &"answer",
        ]);
        for row in &self.rows {
            match &row.outcome {
                Ok(measured) => add(&mut table, &row.query.name(), measured, "as SQLite's"),
                Err(_) => table.row(&[&row.query.name(), &"", &"", &"", &"", &"", &"", &"", &"", &"none"]),
            }
        }
        let sum = |of: fn(&Measured) -> u64| self.right().map(|(_, measured)| of(measured)).sum();
        let most =
            |of: fn(&Measured) -> u64| self.right().map(|(_, measured)| of(measured)).max().unwrap_or(0);
        let seconds = |of: fn(&Measured) -> f64| self.right().map(|(_, measured)| of(measured)).sum();
        let all = Measured {
            and_gates: sum(|measured| measured.and_gates),
            rounds: sum(|measured| measured.rounds),
            seconds: seconds(|measured| measured.seconds),
            seconds_before: seconds(|measured| measured.seconds_before),
            bytes_sent: sum(|measured| measured.bytes_sent),
            peak_memory_bytes: self
                .right()
                .filter_map(|(_, measured)| measured.peak_memory_bytes)
                .max(),
            memory_bound_bytes: most(|measured| measured.memory_bound_bytes),
            answer_rows: sum(|measured| measured.answer_rows),
        };
        let (right, asked) = (self.right().count(), self.rows.len());
        add(&mut table, "all", &all, &format!("{right} of {asked}"));
        let how = match self.secret_only {
            true => "nothing done by owners on their own",
            false => "owners do on their own what they can",
        };
        let mut text = format!(
            "{table}\nTPC-H at scale {}, {how}; {} parties ({}) on {}, over {}, one of which may cheat.\nTables were written in {:.2} s. \"before\" is planning, \
             starting the parties, reading tables, and meeting. Of memory, the last row has the most.\n",
            self.scale,
            self.parties,
            self.protocol,
            self.machine.line(),
            self.transport,
            self.writing_seconds
        );
        for (query, why) in self.wrong() {
            text += &format!("{}: {why}\n", query.name());
        }
        text
    }

    /// The seconds as bars.
    pub fn to_svg(&self) -> String {
        let group = |(query, measured): (Asked, &Measured)| Group {
            name: query.name(),
            values: vec![measured.seconds],
        };
        let bars = Bars {
            title: format!("Seconds of TPC-H's queries at scale {}", self.scale),
            series: vec![format!(
                "{} parties ({}), over {}",
                self.parties, self.protocol, self.transport
            )],
            groups: self.right().map(group).collect(),
            scale: Scale::Log10,
        };
        bars.to_svg()
    }
}

fn add(table: &mut Table, name: &str, measured: &Measured, answer: &str) {
    table.row(&[
        &name,
        &grouped(measured.and_gates),
        &grouped(measured.rounds),
        &format_args!("{:.2}", measured.seconds),
        &format_args!("{:.2}", measured.seconds_before),
        &megabytes(measured.bytes_sent),
        &measured.peak_memory_bytes.map_or_else(|| "-".into(), megabytes),
        &megabytes(measured.memory_bound_bytes),
        &grouped(measured.answer_rows),
        &answer,
    ]);
}
