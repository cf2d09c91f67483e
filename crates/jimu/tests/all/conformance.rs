//! The programs of all engines.

use std::time::Duration;

use cenote_circuit::{Plan, library};
use cenote_jimu::{Config, JimuEngine, Sizes};
use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_primitives::Entropy;
use cenote_session::conformance::{self, Cluster};
use cenote_session::{Demand, Engine, Result};

struct Two {
    garbler: PartyId,
    mux: Option<u32>,
}

impl Two {
    /// Labels as usual, buckets of few gates: the suite's arithmetic has thousands of lanes.
    fn sizes(&self) -> Sizes {
        let labels = Sizes::search(40, 1000, self.mux).unwrap().labels;
        let small = Sizes::search(6, 1000, self.mux).unwrap();
        Sizes { labels, ..small }
    }
}

impl Cluster for Two {
    type Engine = JimuEngine;

    fn parties(&self) -> usize {
        2
    }

    fn run<T: Send>(&self, program: impl Fn(&mut JimuEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(60));
        let pairs = [(); 2].map(|()| memory_pair(PartyId(0), PartyId(1), options.clone()));
        let [(for_a, for_b), (pool_a, pool_b)] = pairs;
        let (program, sizes) = (&program, self.sizes());
        std::thread::scope(|scope| {
            let party = |me: PartyId, channels: [Box<dyn Channel>; 2]| {
                let (garbler, sizes) = (self.garbler, sizes.clone());
                scope.spawn(move || {
                    let mut config = Config::new("test");
                    config.security = sizes.security;
                    config.pool = 1000;
                    config.buffer = 4096;
                    config.mux_buffer = 512;
                    config.garbler = garbler;
                    config.entropy = Entropy::for_tests(me.0.into());
                    let mut engine = JimuEngine::start(me, channels, config, sizes)?;
                    program(&mut engine)
                })
            };
            let parties = [
                party(PartyId(0), [Box::new(for_a), Box::new(pool_a)]),
                party(PartyId(1), [Box::new(for_b), Box::new(pool_b)]),
            ];
            parties.map(|party| party.join().expect("no party panics")).into()
        })
    }
}

#[test]
fn every_program_of_the_suite() {
    conformance::all(&Two {
        garbler: PartyId(0),
        mux: None,
    });
}

#[test]
fn every_program_of_the_suite_with_the_sides_exchanged_and_two_pools() {
    conformance::all(&Two {
        garbler: PartyId(1),
        mux: Some(1000),
    });
}

/// What was announced has gates to draw from, and how the pool is filled is told; without gates nothing is made.
#[test]
fn the_pool_is_filled_ahead_of_the_first_gate_and_that_is_told() {
    let plan = Plan::new(&library::by_name("add8").unwrap());
    let two = Two {
        garbler: PartyId(0),
        mux: None,
    };
    let parties = two.run(|engine| {
        let mut told = Vec::new();
        let mut note = |done, total| told.push((done, total));
        engine.prepare(&plan, 0)?;
        engine.make_ahead(&mut note)?;
        let bytes = |engine: &JimuEngine| {
            let traffic = engine.costs().traffic;
            traffic.bytes_sent + traffic.bytes_received
        };
        let without = bytes(engine);
        Demand::new()
            .and_run(&plan, 1, 2)
            .announce_telling(engine, &mut note)?;
        let filled = bytes(engine) - without;
        engine.finish()?;
        Ok((told, filled))
    });
    for party in parties {
        let (told, filled) = party.unwrap();
        assert_eq!((told.last(), told.len()), (Some(&(1000, 1000)), 1));
        assert!(filled > 300_000, "{filled}");
    }
}
