//! The in-clear engine keeps the contract, for several parties, and so does what hides its type.

use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_session::conformance::{self, Cluster};
use cenote_session::{AnyWires, ClearEngine, Engine, Result, erased};

struct Clear(usize);

impl Clear {
    /// Runs `program` at each party, with its channels.
    fn at_all<T: Send>(
        &self,
        program: impl Fn(PartyId, Vec<Box<dyn Channel>>) -> Result<T> + Sync,
    ) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let mut channels: Vec<Vec<Box<dyn Channel>>> = (0..self.0).map(|_| Vec::new()).collect();
        for b in 0..self.0 {
            for a in 0..b {
                let (for_a, for_b) = memory_pair(PartyId(a as u8), PartyId(b as u8), options.clone());
                channels[a].push(Box::new(for_a));
                channels[b].push(Box::new(for_b));
            }
        }
        std::thread::scope(|scope| {
            let start = |(channels, me)| {
                let program = &program;
                scope.spawn(move || program(PartyId(me), channels))
            };
            let threads: Vec<_> = channels.into_iter().zip(0..).map(start).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no party panics"))
                .collect()
        })
    }
}

impl Cluster for Clear {
    type Engine = ClearEngine;

    fn parties(&self) -> usize {
        self.0
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ClearEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        self.at_all(|me, channels| program(&mut ClearEngine::new(me, channels)))
    }
}

/// The same parties as engines of a protocol that is not known.
struct Hidden(Clear);

impl Cluster for Hidden {
    type Engine = dyn Engine<Wires = AnyWires>;

    fn parties(&self) -> usize {
        self.0.parties()
    }

    fn run<T: Send>(&self, program: impl Fn(&mut Self::Engine) -> Result<T> + Sync) -> Vec<Result<T>> {
        self.0
            .at_all(|me, channels| program(&mut *erased(ClearEngine::new(me, channels))))
    }
}

#[test]
fn two_parties() {
    conformance::all(&Clear(2));
}

#[test]
fn three_parties() {
    conformance::all(&Clear(3));
}

#[test]
fn an_engine_whose_type_is_hidden_keeps_the_contract() {
    conformance::all(&Hidden(Clear(2)));
}
