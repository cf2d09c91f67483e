//! The programs of all engines.

use std::time::Duration;

use cenote_authenticated::{AuthenticatedEngine, Config, Sizes};
use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_params::lpn::{self, Lpn};
use cenote_primitives::Entropy;
use cenote_session::Result;
use cenote_session::conformance::{self, Cluster};

struct Two {
    garbler: PartyId,
    segment: u32,
    symbols: u32,
    generator: Option<Lpn>,
}

impl Cluster for Two {
    type Engine = AuthenticatedEngine;

    fn parties(&self) -> usize {
        2
    }

    fn run<T: Send>(&self, program: impl Fn(&mut AuthenticatedEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(60));
        let (for_a, for_b) = memory_pair(PartyId(0), PartyId(1), options);
        let program = &program;
        std::thread::scope(|scope| {
            let party = |me: PartyId, channel: Box<dyn Channel>| {
                scope.spawn(move || {
                    let mut config = Config::new("test");
                    config.lot = 1 << 14;
                    config.segment = self.segment;
                    config.symbols = self.symbols;
                    config.generator = self.generator;
                    config.garbler = self.garbler;
                    config.entropy = Entropy::for_tests(me.0.into());
                    let sizes = Sizes::search(40, 1100).unwrap();
                    let mut engine = AuthenticatedEngine::start(me, channel, config, sizes)?;
                    program(&mut engine)
                })
            };
            let parties = [
                party(PartyId(0), Box::new(for_a)),
                party(PartyId(1), Box::new(for_b)),
            ];
            parties.map(|party| party.join().expect("no party panics")).into()
        })
    }
}

#[test]
fn every_program_of_the_suite() {
    conformance::all(&Two {
        garbler: PartyId(0),
        segment: 1 << 14,
        symbols: 24,
        generator: None,
    });
}

/// Segments of so few gates end within levels, and tiles within lanes.
#[test]
fn every_program_of_the_suite_with_the_sides_exchanged_and_short_segments() {
    conformance::all(&Two {
        garbler: PartyId(1),
        segment: 700,
        symbols: 16,
        generator: None,
    });
}

#[test]
fn every_program_of_the_suite_with_bits_from_a_generator() {
    conformance::all(&Two {
        garbler: PartyId(0),
        segment: 1 << 12,
        symbols: 24,
        generator: Some(lpn::SMALL),
    });
}
