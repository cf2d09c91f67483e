//! Queries with all parties on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote::local::Setting;
use cenote::query::{Instead, QueryPlan, run_here};
use cenote::{Error, Link, Result, Transport};
use cenote_tables::Field;
use pyo3::prelude::*;

use crate::frame::Frame;
use crate::running::{Told, wait_for};

/// What the file of a job that was made for a call is named.
pub(crate) const JOB: &str = "cenote-call.toml";

/// How long parties wait for one another.
fn setting(timeout: f64, phase_timeout: Option<f64>) -> Result<Setting> {
    let seconds = |seconds: f64| match seconds {
        0.001..=1e6 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(Error::Usage(
            "a timeout is a number of seconds from 0.001 to 1000000".into(),
        )),
    };
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
        let frame = report
            .answer
            .as_ref()
            .map(|answered| answer_of(&answer, answered))
            .transpose()?;
        Ok((frame, json(&report.report)?))
    })
}

/// The answer in a file.
fn answer_of(file: &Path, answered: &cenote::query::Answered) -> Result<Frame> {
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
    Ok(Frame::from(cenote_tables::read(file, &fields, rows)?))
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
