//! What the parties of a measurement do, as processes or as threads.

use std::process::Command;

use cenote::local::{Seat, Setting, run};
use cenote::runner::as_threads;
use cenote::{Error, Result, Transport};
use cenote_net::PartyId;
use cenote_session::{Connections, Topology};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the process of a party can be told to do.
pub(crate) trait Assigned: Serialize + DeserializeOwned {
    /// The name by which a child process knows it: no other has the same.
    const NAME: &'static str;

    /// One party's part, in a process of its own: what the parent is told.
    fn take_part(&self, seat: &Seat<'_>) -> Result<Value>;
}

/// Something that parties measure together.
pub(crate) trait Measurement: Serialize + DeserializeOwned + Sync {
    /// As [`Assigned::NAME`].
    const NAME: &'static str;

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

impl<M: Measurement> Assigned for M {
    const NAME: &'static str = M::NAME;

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let measured = seat.meet(&self.topology(), |connections| {
            self.run(seat.me, connections, &mut |done, total| {
                seat.progress(done, total)
            })
        });
        value(&measured?)
    }
}

/// What the process of a party is told to do, as it is sent there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The [`Assigned::NAME`] of what `details` are of.
    pub(crate) name: String,
    details: Value,
}

impl Task {
    pub(crate) fn new<A: Assigned>(assigned: &A) -> Result<Task> {
        Ok(Task {
            name: A::NAME.into(),
            details: value(assigned)?,
        })
    }

    /// Does it, if it is an `A`.
    pub(crate) fn take_part<A: Assigned>(self, seat: &Seat<'_>) -> Result<Value> {
        let assigned: A = serde_json::from_value(self.details)
            .map_err(|error| Error::local("reading what is to be measured", error.into()))?;
        assigned.take_part(seat)
    }
}

/// What a party tells its parent.
pub(crate) fn value(told: &impl Serialize) -> Result<Value> {
    serde_json::to_value(told).map_err(|error| Error::local("telling what was measured", error.into()))
}

/// Where and how a measurement runs.
pub struct Place<'a> {
    /// How the parties are joined, and how patient they are.
    pub setting: Setting,
    /// Makes the command that starts a party's process, which must call [`crate::child_main`]. Not used if the parties are joined by
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
        let task = Task::new(measurement)?;
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
