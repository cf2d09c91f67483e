//! What the children of this crate can be told to do.

use super::job::JobPart;
use super::parties::{Part, as_child_of};
use crate::Kind;
use crate::plan::Sample;
use crate::query;

/// The whole of a child process that [`run_job`](super::run_job), [`query::run_here`] or a [`plan`](crate::plan) started.
///
/// # Errors
/// As [`as_child`](super::as_child).
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child_of(&[
        Part::of::<JobPart>(),
        Part::of::<Sample>(),
        Part::of::<query::QueryPart>(),
    ])
}
