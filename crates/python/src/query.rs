//! Queries with all parties on this machine, and jobs as one party among several.

use std::path::{Path, PathBuf};

use cenote::local::Setting;
use cenote::query::{Instead, QueryJob, QueryPlan, QueryReport, run_here};
use cenote::{Error, Job, Link, PartyConfig, Report, Result, Transport, wait_for_farewells};
use cenote_console::args::seconds;
use cenote_tables::{Builder, Field, Table};
use pyo3::prelude::*;

use crate::error::raised;
use crate::frame::Frame;
use crate::running::{LAST_WORDS, Teller, Told, wait_for};

/// What the file of a job that was made for a call is named.
pub(crate) const JOB: &str = "cenote-call.toml";

/// How long parties wait for one another.
pub(crate) fn setting(timeout: f64, phase_timeout: Option<f64>) -> Result<Setting> {
    let seconds = |stated: f64| seconds(&stated.to_string()).map_err(Error::Usage);
    Ok(Setting {
        transport: Transport::Tls,
        timeout: seconds(timeout)?,
        phase_timeout: phase_timeout.map(seconds).transpose()?,
    })
}

/// Runs the query of the job file `job`, which names the file `answer` for its answer. Gives that, if there is one, and the report as JSON.
#[pyfunction]
#[pyo3(signature = (job, answer, timeout, phase_timeout, listener))]
pub(crate) fn run_query(
    py: Python<'_>,
    job: PathBuf,
    answer: PathBuf,
    timeout: f64,
    phase_timeout: Option<f64>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Option<Frame>, String)> {
    wait_for(py, listener, move |teller| {
        let setting = setting(timeout, phase_timeout)?;
        let report = run_here(
            &job,
            &Instead::default(),
            setting,
            cenote_console::child(0)?,
            &mut |done, total| teller.tell(Told::Progress(done, total)),
        )?;
        Ok((answer_of(&report, Some(&answer))?, json(&report.report)?))
    })
}

/// The number of the party of a party file.
#[pyfunction]
pub(crate) fn party_number(config: PathBuf) -> PyResult<u8> {
    let config = PartyConfig::load(&config).map_err(|error| raised(&error))?;
    Ok(config.me.0)
}

/// Runs the job file `job` as the party of the party file `config`. Gives the answer if it is a query and this party learns it, which is in the file `answer` if the
/// job names that one, and the report as JSON.
#[pyfunction]
#[pyo3(signature = (config, job, answer, listener))]
pub(crate) fn run_party(
    py: Python<'_>,
    config: PathBuf,
    job: PathBuf,
    answer: Option<PathBuf>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Option<Frame>, String)> {
    let run = move |teller: &Teller<(Option<Frame>, String)>| {
        let mut config = PartyConfig::load(&config)?;
        config.on_wait = teller.on_wait();
        let progress = &mut |done, total| teller.tell(Told::Progress(done, total));
        if !QueryJob::is_at(&job) {
            let outcome = cenote::remote::run_party(&config, &Job::load(&job)?, progress)?;
            return Ok((None, json(&Report::of_one(outcome.report))?));
        }
        let job = QueryJob::load(&job)?;
        let file = answer.or_else(|| job.answer_file().map(Path::to_owned));
        let report = cenote::query::run_party(&config, job, progress)?;
        Ok((answer_of(&report, file.as_deref())?, json(&report.report)?))
    };
    wait_for(py, listener, move |teller| {
        // The end of the interpreter would cut them off.
        run(teller).inspect_err(|_| wait_for_farewells(LAST_WORDS))
    })
}

/// The answer that is reported: its rows, or what is in the file that has them.
fn answer_of(report: &QueryReport, file: Option<&Path>) -> Result<Option<Frame>> {
    let Some(answered) = &report.answer else {
        return Ok(None);
    };
    let kinds = answered.columns.iter().zip(&answered.types);
    let field = |(name, kind): (&String, &String)| {
        Ok(Field {
            name: name.clone(),
            kind: kind.parse().map_err(Error::Usage)?,
            nullable: true,
        })
    };
    let fields = kinds.map(field).collect::<Result<Vec<_>>>()?;
    let rows = usize::try_from(answered.row_count).unwrap_or(usize::MAX);
    let table = match (&answered.rows, file) {
        (Some(told), _) => table_of(fields, told)?,
        (None, Some(file)) if file.extension().is_some_and(|end| end == "parquet") => {
            cenote_tables::read_in_order(file, &fields, rows)?
        }
        (None, Some(file)) => cenote_tables::read(file, &fields, rows)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(Frame::from(table)))
}

/// The table of rows that are told as text.
fn table_of(fields: Vec<Field>, told: &[Vec<Option<String>>]) -> Result<Table> {
    let column = |(place, field): (usize, &Field)| {
        let mut builder = Builder::new(field, told.len());
        let mut cells = told.iter().map(|row| row.get(place).and_then(Option::as_deref));
        cells.try_for_each(|cell| match cell {
            Some(cell) => builder.cell(cell.as_bytes()),
            None => builder.null(),
        })?;
        Ok(builder.finish())
    };
    let columns = fields.iter().enumerate().map(column);
    let columns = columns.collect::<std::result::Result<_, cenote_tables::Problem>>();
    Ok(Table {
        columns: columns.map_err(|problem| Error::Table(problem.to_string()))?,
        rows: told.len(),
        fields,
    })
}

fn json(told: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(told).map_err(|error| Error::local("telling what it took", error.into()))
}

/// Plans the query of the job file `job`. Gives the plan as JSON and as text.
#[pyfunction]
#[pyo3(signature = (job, link, timeout, listener))]
pub(crate) fn plan_query(
    py: Python<'_>,
    job: PathBuf,
    link: String,
    timeout: f64,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    wait_for(py, listener, move |teller| {
        let link: Link = link.parse().map_err(Error::Usage)?;
        let plan = QueryPlan::new(
            &job,
            &Instead::default(),
            link,
            setting(timeout, None)?,
            cenote_console::child(0)?,
            &mut |what| teller.tell(Told::About(what.to_owned())),
        )?;
        Ok((json(&plan)?, plan.table()))
    })
}
