//! What the parties of a measurement do, as processes or as threads.

use std::process::Command;

use cenote::local::{Assigned, Seat, Setting, Task, run, value};
use cenote::runner::as_threads;
use cenote::{Error, Result, Transport};
use cenote_net::PartyId;
use cenote_session::{Connections, Topology};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that parties measure together.
pub(crate) trait Measurement: Clone + Serialize + DeserializeOwned + Sync {
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

/// A measurement that a process takes part in.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Measured<M>(M);

impl<M: Measurement> Assigned for Measured<M> {
    const NAME: &'static str = M::NAME;

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let measured = seat.meet(&self.0.topology(), |connections| {
            self.0.run(seat.me, connections, &mut |done, total| {
                seat.progress(done, total)
            })
        });
        value(&measured?)
    }
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
        let task = Task::new(&Measured(measurement.clone()))?;
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
