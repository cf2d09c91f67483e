//! A job at one party: from a proposal to its end.
//!
//! *Proposed* until all parties have decided; then *approved*, or *declined* by the first that does; *queued* when it fits; *running* from before
//! any of this party's data is touched; and then *done*, *failed* or *cancelled*. What was proposed, approved or queued goes on after a restart. What was running has
//! failed ([`FailKind::Restarted`]). Only a job in shards that is cut off before its answer may have been opened is *queued* again, and goes on.
//!
//! [`Job::step`] is the whole of it; [`Jobs`] keeps jobs in the database, each step in one transaction with its line in the audit log.

mod approve;
mod binding;
mod calls;
mod jobs;
mod kept;
mod list;
mod proposal;
mod propose;
mod prune;
mod result;
mod row;
mod rule;
mod settle;
mod state;
mod step;
mod take;
mod tries;
mod unsettled;

pub use cenote_api::view::{Decision, Kept, Verdict};
pub use cenote_api::{Digest, JobId, StateName, check_kept_name};

pub use binding::{Binding, FileMark, Source};
pub use calls::{Answered, Beginning, CallId, Ended, KnownCall, OwnCall};
pub use jobs::{Jobs, Settings};
pub use list::{Page, PageRequest, Undecided};
pub use proposal::{Estimate, Input, Keep, Program, Proposal, Security, Standing, Take};
pub use propose::Noted;
pub use result::{Fetched, Gains};
pub use rule::Rules;
pub use state::{FailKind, Failure, State};
pub use step::{Job, Local, Remote, Step, late};
pub(crate) use unsettled::MOST_TIMES;
pub use unsettled::{Tried, Unsettled};

#[cfg(test)]
pub(crate) mod tests;
