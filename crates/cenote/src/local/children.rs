//! What the children of this crate can be told to do.

use super::job::JobPart;
use super::parties::{Part, as_child_of};
use super::program::ProgramPart;
use crate::Kind;
use crate::plan::Sample;
use crate::query;

/// What [`run_job`](super::run_job), [`run_program`](super::run_program), [`query::run_here`] and a [`plan`](crate::plan) tell the processes that they start.
pub const PARTS: [Part; 4] = [
    Part::of::<JobPart>(),
    Part::of::<ProgramPart>(),
    Part::of::<Sample>(),
    Part::of::<query::QueryPart>(),
];

/// The whole of a child process that is told one of [`PARTS`].
///
/// # Errors
/// As [`as_child`](super::as_child).
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child_of(&PARTS)
}
