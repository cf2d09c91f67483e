//! What the parties of a measurement do, as processes or as threads.

use std::process::Command;

use cenote_net::{PartyId, Shape, Shaped};
use serde::{Deserialize, Serialize};

use super::latency::{Latency, LatencyParty};
use super::lego::circuit::{LegoBench, LegoParty};
use super::lego::commit::{CommitBench, CommitParty};
use super::lego::ot::{OtBench, OtParty};
use super::ring::{RingBench, RingParty};
use super::steady::{Steady, SteadyParty};
use crate::local::{Setting, run_measure};
use crate::{Protocol, Result, Three, Transport};
use cenote_session::{Connections, Topology};
use cenote_three::Links;

/// What a party is told to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Measure {
    Steady(Steady),
    Latency(Latency),
    Ring(RingBench),
    Ot(OtBench),
    Commit(CommitBench),
    Lego(LegoBench),
}

/// What a party has measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Measured {
    Steady(SteadyParty),
    Latency(LatencyParty),
    Ring(RingParty),
    Ot(OtParty),
    Commit(CommitParty),
    Lego(LegoParty),
}

impl Measured {
    pub(crate) fn into_steady(self) -> Option<SteadyParty> {
        match self {
            Measured::Steady(party) => Some(party),
            _ => None,
        }
    }

    pub(crate) fn into_latency(self) -> Option<LatencyParty> {
        match self {
            Measured::Latency(party) => Some(party),
            _ => None,
        }
    }

    pub(crate) fn into_ring(self) -> Option<RingParty> {
        match self {
            Measured::Ring(party) => Some(party),
            _ => None,
        }
    }

    pub(crate) fn into_ot(self) -> Option<OtParty> {
        match self {
            Measured::Ot(party) => Some(party),
            _ => None,
        }
    }

    pub(crate) fn into_commit(self) -> Option<CommitParty> {
        match self {
            Measured::Commit(party) => Some(party),
            _ => None,
        }
    }

    pub(crate) fn into_lego(self) -> Option<LegoParty> {
        match self {
            Measured::Lego(party) => Some(party),
            _ => None,
        }
    }
}

impl Measure {
    /// What joins the parties.
    pub(crate) fn topology(&self) -> Topology {
        let three = |protocol: Three| Protocol::from(protocol).topology();
        match self {
            Measure::Steady(steady) => three(steady.settings.protocol),
            Measure::Latency(latency) => three(latency.settings.protocol),
            Measure::Ring(ring) => three(Three {
                workers: ring.workers,
                ..Three::default()
            }),
            Measure::Ot(ot) => ot.topology(),
            Measure::Commit(commit) => commit.topology(),
            Measure::Lego(lego) => lego.topology(),
        }
    }

    /// One party's part of it.
    pub(crate) fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Measured> {
        Ok(match self {
            Measure::Steady(steady) => {
                Measured::Steady(steady.run(me, Links::of(me, connections), progress)?)
            }
            Measure::Latency(latency) => {
                let connections = shaped(connections, Shape::new(latency.one_way(), None));
                Measured::Latency(latency.run(me, Links::of(me, connections), progress)?)
            }
            Measure::Ring(ring) => Measured::Ring(ring.run(me, Links::of(me, connections))?),
            Measure::Ot(ot) => Measured::Ot(ot.run(me, connections)?),
            Measure::Commit(commit) => Measured::Commit(commit.run(me, connections, progress)?),
            Measure::Lego(lego) => Measured::Lego(lego.run(me, connections, progress)?),
        })
    }
}

/// Where and how a measurement runs.
pub struct Place<'a> {
    /// How the parties are joined, and how patient they are.
    pub setting: Setting,
    /// Makes the command that starts a party's process, which must call [`crate::local::child_main`]. Not used if they are
    /// joined by memory.
    pub command: &'a dyn Fn() -> Command,
    /// Told how much is done, of how much.
    pub progress: &'a mut (dyn FnMut(u64, u64) + Send),
}

impl Place<'_> {
    pub(crate) fn transport(&self) -> Transport {
        self.setting.transport
    }

    pub(crate) fn measure(&mut self, measure: Measure) -> Result<Vec<Measured>> {
        run_measure(self.setting, &measure, self.command, self.progress)
    }
}

/// The same connections, as slow as `shape` says.
pub(crate) fn shaped(connections: Connections, shape: Shape) -> Connections {
    if shape.latency.is_zero() && shape.bytes_per_second.is_none() {
        return connections;
    }
    connections.map(|channel| Box::new(Shaped::new(channel, shape)))
}
