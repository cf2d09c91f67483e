//! The processes of parties: all that one can be told to do.

use cenote::local::{Seat, as_child};
use cenote::{Error, Kind, Result};
use serde_json::Value;

use crate::apps::AppBench;
use crate::authenticated::Authenticated;
use crate::jimu::Jimu;
use crate::kill::Killed;
use crate::lego::circuit::LegoBench;
use crate::lego::commit::CommitBench;
use crate::lego::ot::OtBench;
use crate::measure::{Assigned, Task};
use crate::pools::PoolSession;
use crate::soak::Soak;
use crate::three::job::Bench;
use crate::three::latency::Latency;
use crate::three::ring::RingBench;
use crate::three::steady::Steady;

/// By name, what does a task of that name.
type Part = (&'static str, fn(Task, &Seat<'_>) -> Result<Value>);

const fn part<A: Assigned>() -> Part {
    (A::NAME, Task::take_part::<A>)
}

/// Whatever is measured is in this list.
static PARTS: [Part; 12] = [
    part::<Bench>(),
    part::<Steady>(),
    part::<Latency>(),
    part::<RingBench>(),
    part::<OtBench>(),
    part::<CommitBench>(),
    part::<LegoBench>(),
    part::<PoolSession<Jimu>>(),
    part::<PoolSession<Authenticated>>(),
    part::<AppBench>(),
    part::<Soak>(),
    part::<Killed>(),
];

/// The whole of a child process that a benchmark started: one party, told what to do on standard input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child(|seat, task: Task| {
        let part = PARTS.iter().find(|(name, _)| *name == task.name);
        let Some((_, take_part)) = part else {
            return Err(Error::Usage(format!(
                "nothing is measured that is called {}",
                task.name
            )));
        };
        take_part(task, &seat)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_measurements_have_one_name() {
        let names: BTreeSet<_> = PARTS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), PARTS.len());
    }
}
