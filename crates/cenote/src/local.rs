//! All parties on this machine: jobs, queries, and whatever else a crate above runs so.

mod children;
mod job;
mod parties;
mod program;
mod seat;

pub use children::{PARTS, child_main};
pub use job::run_job;
pub use parties::{Assigned, Part, Task, as_child, as_child_of, combine, run, run_heard, value};
pub use program::run_program;
pub use seat::{Seat, Setting};
