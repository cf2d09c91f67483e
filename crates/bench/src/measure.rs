//! What the parties of a measurement do, as processes or as threads.

use std::process::Command;

use cenote::local::{Seat, Setting, as_child, run};
use cenote::runner::as_threads;
use cenote::{Error, Kind, Result, Transport};
use cenote_net::PartyId;
use cenote_session::{Connections, Topology};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::apps::AppBench;
use crate::authenticated::AuthenticatedBench;
use crate::jimu::JimuBench;
use crate::kill::Killed;
use crate::lego::circuit::LegoBench;
use crate::lego::commit::CommitBench;
use crate::lego::ot::OtBench;
use crate::soak::{Note, Soak};
use crate::three::job::Bench;
use crate::three::latency::Latency;
use crate::three::ring::RingBench;
use crate::three::steady::Steady;

/// Something that parties measure together.
pub(crate) trait Measurement: Clone + Into<Task> + Sync {
    /// What one party has measured.
    type Party: Serialize + DeserializeOwned + Send + 'static;

    /// What joins the parties.
    fn topology(&self) -> Topology;

    /// One party's part.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self::Party>;
}

/// What the process of a party is told to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    Job(Bench),
    Steady(Steady),
    Latency(Latency),
    Ring(RingBench),
    Ot(OtBench),
    Commit(CommitBench),
    Lego(LegoBench),
    Jimu(JimuBench),
    Authenticated(AuthenticatedBench),
    App(AppBench),
    Soak(Soak),
    Killed(Killed),
}

macro_rules! tasks {
    ($($kind:ident($measurement:ty)),*) => {$(
        impl From<$measurement> for Task {
            fn from(measurement: $measurement) -> Task {
                Task::$kind(measurement)
            }
        }
    )*};
}

tasks!(
    Steady(Steady),
    Latency(Latency),
    Ring(RingBench),
    Ot(OtBench),
    Commit(CommitBench),
    Lego(LegoBench),
    Jimu(JimuBench),
    Authenticated(AuthenticatedBench),
    App(AppBench)
);

/// The whole of a child process that a benchmark started: one party, told what to do on standard input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child(|seat, task| match task {
        Task::Job(bench) => value(&bench.take_part(&seat)?),
        Task::Steady(steady) => take_part(&steady, &seat),
        Task::Latency(latency) => take_part(&latency, &seat),
        Task::Ring(ring) => take_part(&ring, &seat),
        Task::Ot(ot) => take_part(&ot, &seat),
        Task::Commit(commit) => take_part(&commit, &seat),
        Task::Lego(lego) => take_part(&lego, &seat),
        Task::Jimu(jimu) => take_part(&jimu, &seat),
        Task::Authenticated(authenticated) => take_part(&authenticated, &seat),
        Task::App(app) => take_part(&app, &seat),
        Task::Soak(soak) => take_part_in(&soak, &seat, || ()),
        Task::Killed(killed) => take_part_in(&killed.soak, &seat, || killed.arm(seat.me)),
    })
}

fn take_part<M: Measurement>(measurement: &M, seat: &Seat<'_>) -> Result<Value> {
    let measured = seat.meet(&measurement.topology(), |connections| {
        measurement.run(seat.me, connections, &mut |done, total| {
            seat.progress(done, total)
        })
    });
    value(&measured?)
}

/// `met` is called once all parties have met.
fn take_part_in(soak: &Soak, seat: &Seat<'_>, met: impl Fn()) -> Result<Value> {
    let note = |note: &Note| seat.note(serde_json::to_value(note).unwrap_or_default());
    let compute = |connections| {
        met();
        soak.take_part(seat.me, connections, &mut |told| note(told))
    };
    value(&seat.meet(&soak.protocol.topology(), compute)?)
}

fn value(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::local("telling what was measured", error.into()))
}

/// Where and how a measurement runs.
pub struct Place<'a> {
    /// How the parties are joined, and how patient they are.
    pub setting: Setting,
    /// Makes the command that starts a party's process, which must call [`child_main`]. Not used if the parties are joined by
    /// memory.
    pub command: &'a dyn Fn() -> Command,
    /// Called with the work done, and all of it.
    pub progress: &'a mut (dyn FnMut(u64, u64) + Send),
}

impl Place<'_> {
    pub(crate) fn transport(&self) -> Transport {
        self.setting.transport
    }

    /// Measures with a process for each party, or with a thread of this process for each if memory joins them. Gives what each
    /// party has measured, in order.
    pub(crate) fn measure<M: Measurement>(&mut self, measurement: &M) -> Result<Vec<M::Party>> {
        let topology = measurement.topology();
        if self.transport() == Transport::Memory {
            let connections = Connections::in_memory(&topology, self.setting.timeout);
            return as_threads(connections, self.progress, |me, connections, progress| {
                measurement.run(me, connections, progress)
            });
        }
        let task: Task = measurement.clone().into();
        run(topology.parties, self.setting, &task, self.command, self.progress)
    }
}

/// The parties' measurements do not belong together.
pub(crate) fn no_report() -> Error {
    Error::local(
        "comparing the parties' measurements",
        std::io::Error::other("they measured different things"),
    )
}
