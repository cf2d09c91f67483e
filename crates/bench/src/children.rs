//! The processes of parties: all that one can be told to do.

use cenote::Kind;
use cenote::local::{Part, as_child_of};

use crate::apps::AppBench;
use crate::authenticated::Authenticated;
use crate::jimu::Jimu;
use crate::kill::Killed;
use crate::lego::circuit::LegoBench;
use crate::lego::commit::CommitBench;
use crate::lego::ot::OtBench;
use crate::measure::{Measured, Measurement};
use crate::pools::PoolSession;
use crate::soak::Soak;
use crate::three::job::Bench;
use crate::three::latency::Latency;
use crate::three::ring::RingBench;
use crate::three::steady::Steady;

const fn measured<M: Measurement>() -> Part {
    Part::of::<Measured<M>>()
}

/// Whatever is measured is in this list, and so are the jobs, queries and samples that it is measured with.
fn parts() -> Vec<Part> {
    let own = [
        Part::of::<Bench>(),
        measured::<Steady>(),
        measured::<Latency>(),
        measured::<RingBench>(),
        measured::<OtBench>(),
        measured::<CommitBench>(),
        measured::<LegoBench>(),
        measured::<PoolSession<Jimu>>(),
        measured::<PoolSession<Authenticated>>(),
        measured::<AppBench>(),
        Part::of::<Soak>(),
        Part::of::<Killed>(),
    ];
    own.into_iter().chain(cenote::local::PARTS).collect()
}

/// The whole of a child process that a benchmark started: one party, told what to do on standard input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child_of(&parts())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_measurements_have_one_name() {
        let parts = parts();
        let names: BTreeSet<_> = parts.iter().map(Part::name).collect();
        assert_eq!(names.len(), parts.len());
    }
}
