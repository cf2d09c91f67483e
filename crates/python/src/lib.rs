//! The extension module of the Python package `cenote`: what it needs of the crates, and no more. The package gives it names, defaults and documentation.

mod arrow;
mod error;
mod follow;
mod frame;
mod infer;
mod program;
mod query;
mod running;

use std::ffi::OsString;

use pyo3::prelude::*;

#[pymodule]
mod _cenote {
    #[pymodule_export]
    use super::error::{
        BadInput, CenoteError, CheatingDetected, InternalError, NetworkError, PeerReported, Stopped,
        UsageError,
    };
    #[pymodule_export]
    use super::frame::{Frame, Passed};
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::query::{party_number, plan_query, run_party, run_query};
    #[pymodule_export]
    use super::{limit_memory, main, started_by};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::running::remember_process();
        module.add("JOB", crate::query::JOB)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the command `cenote` with these arguments, the first of which is its name, and gives its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| cenote_cli::run(args))
}

/// Says what starts the command: an interpreter and its first arguments.
#[pyfunction]
fn started_by(program: Vec<OsString>) {
    cenote_console::started_by(program);
}

/// Sets the most bytes of memory that parties may take, once.
#[pyfunction]
fn limit_memory(bytes: u64) {
    cenote::set_memory_limit(bytes);
}
