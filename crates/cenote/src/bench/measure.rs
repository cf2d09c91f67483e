//! What the parties of a measurement do, as processes or as threads.

use std::process::Command;
use std::time::Duration;

use cenote_net::{Channel, PartyId, Shape, Shaped};
use cenote_three::{Links, Ring};
use serde::{Deserialize, Serialize};

use super::latency::{Latency, LatencyParty};
use super::ring::{RingBench, RingParty};
use super::steady::{Steady, SteadyParty};
use crate::local::{Setting, run_measure};
use crate::{Result, Transport};

/// What a party is told to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Measure {
    Steady(Steady),
    Latency(Latency),
    Ring(RingBench),
}

/// What a party has measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Measured {
    Steady(SteadyParty),
    Latency(LatencyParty),
    Ring(RingParty),
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
}

impl Measure {
    pub(crate) fn workers(&self) -> u8 {
        match self {
            Measure::Steady(steady) => steady.settings.protocol.workers,
            Measure::Latency(latency) => latency.settings.protocol.workers,
            Measure::Ring(ring) => ring.workers,
        }
    }

    /// One party's part of it.
    pub(crate) fn run(
        &self,
        me: PartyId,
        links: Vec<Links>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Measured> {
        Ok(match self {
            Measure::Steady(steady) => Measured::Steady(steady.run(me, links, progress)?),
            Measure::Latency(latency) => {
                let links = delayed(links, latency.one_way());
                Measured::Latency(latency.run(me, links, progress)?)
            }
            Measure::Ring(ring) => Measured::Ring(ring.run(me, links)?),
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

/// The same links with this one-way delay added to every message.
fn delayed(links: Vec<Links>, one_way: Duration) -> Vec<Links> {
    if one_way.is_zero() {
        return links;
    }
    let slow = |channel| Box::new(Shaped::new(channel, Shape::new(one_way, None))) as Box<dyn Channel>;
    let ring = |ring: Ring| Ring {
        previous: slow(ring.previous),
        next: slow(ring.next),
    };
    links
        .into_iter()
        .map(|links| Links {
            generator: ring(links.generator),
            evaluator: ring(links.evaluator),
        })
        .collect()
}
