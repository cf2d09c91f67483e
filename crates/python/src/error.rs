//! Errors as exceptions: a class for each kind of failure.

use cenote::{Error, Kind};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    cenote,
    CenoteError,
    PyException,
    "Anything that goes wrong in Cenote."
);
create_exception!(
    cenote,
    UsageError,
    CenoteError,
    "A call, a job or a query is wrong, or the parties were given different jobs."
);
create_exception!(
    cenote,
    NetworkError,
    CenoteError,
    "A peer is missing, silent, gone, or not the one that was expected."
);
create_exception!(
    cenote,
    CheatingDetected,
    CenoteError,
    "A check of the protocol failed at a party: one of the others did not do what the protocol says."
);
create_exception!(
    cenote,
    BadInput,
    CenoteError,
    "Data is missing or wrong. The message names the table, the column and the row, and never quotes the value."
);
create_exception!(
    cenote,
    PeerReported,
    CenoteError,
    "A peer stopped and says that a check failed there."
);
create_exception!(
    cenote,
    Stopped,
    CenoteError,
    "It was stopped by its operator, in order."
);
create_exception!(
    cenote,
    InternalError,
    CenoteError,
    "This machine failed, or Cenote has a mistake in it."
);

/// The exception that a failure is.
pub(crate) fn raised(error: &Error) -> PyErr {
    // Where a job is a file that nobody has written, its name and lines say nothing.
    let text = match error {
        Error::Config { file, what, .. } if file.ends_with(crate::query::JOB) => what.clone(),
        other => other.to_string(),
    };
    of_kind(error.kind(), text)
}

/// The exception of a kind of failure.
pub(crate) fn of_kind(kind: Kind, text: String) -> PyErr {
    match kind {
        Kind::Internal => InternalError::new_err(text),
        Kind::Misuse => UsageError::new_err(text),
        Kind::Network => NetworkError::new_err(text),
        Kind::Cheating => CheatingDetected::new_err(text),
        Kind::BadInput => BadInput::new_err(text),
        Kind::Reported => PeerReported::new_err(text),
        Kind::Stopped => Stopped::new_err(text),
        // Sessions have no deadline of this kind; calls to services have exceptions of their own.
        Kind::Late => InternalError::new_err(text),
    }
}
