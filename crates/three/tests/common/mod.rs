//! Three parties in one process.
#![allow(dead_code, reason = "each test file uses a part of this")]

pub(crate) mod intercept;
pub(crate) mod session;

use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_params::three::{Parameters, Proofs, Variant, check};
use cenote_primitives::Entropy;
use cenote_session::{Result, conformance::Cluster};
use cenote_three::{Config, Links, Method, Ring, ThreeEngine, ViewCheck};

/// Small parameters whose conditions hold, for tests that do not need the error to be small.
pub(crate) fn tiny(variant: Variant) -> Parameters {
    let (n, b, c, l) = match variant {
        Variant::Baseline => (64, 3, 1, 1),
        Variant::CacheEfficient => (64, 3, 1, 4),
        _ => (64, 2, 3, 5),
    };
    let n = if l == 5 { 5 * 13 } else { n };
    check(variant, n, b, c, l).unwrap()
}

/// Proofs in batches of so many blocks.
pub(crate) fn proofs(security: u32, blocks: u64) -> Proofs {
    Proofs::new(security).unwrap().with_batch(blocks).unwrap()
}

/// The channels of three parties, in order, over memory.
pub(crate) fn memory_links(options: &ChannelOptions) -> [Links; 3] {
    let rings = || {
        let mut ends: [[Option<Box<dyn Channel>>; 3]; 3] = Default::default();
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            let (for_a, for_b) = memory_pair(PartyId(a), PartyId(b), options.clone());
            ends[a as usize][b as usize] = Some(Box::new(for_a));
            ends[b as usize][a as usize] = Some(Box::new(for_b));
        }
        [0, 1, 2].map(|me| Ring {
            previous: ends[me][(me + 2) % 3].take().unwrap(),
            next: ends[me][(me + 1) % 3].take().unwrap(),
        })
    };
    let [g0, g1, g2] = rings();
    let [e0, e1, e2] = rings();
    [(g0, e0), (g1, e1), (g2, e2)].map(|(generator, evaluator)| Links { generator, evaluator })
}

/// Runs `program` at three parties and gives their results.
pub(crate) fn run<T: Send>(
    method: &Method,
    view_check: ViewCheck,
    links: [Links; 3],
    program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = links
            .into_iter()
            .zip(0..)
            .map(|(links, me)| {
                let program = &program;
                scope.spawn(move || {
                    let mut config = Config::new(method.clone(), "test");
                    config.view_check = view_check;
                    config.entropy = Entropy::for_tests(me.into());
                    let mut engine = ThreeEngine::start(PartyId(me), vec![links], config)?;
                    program(&mut engine)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no party panics"))
            .collect()
    })
}

/// Three parties over memory.
pub(crate) struct Three {
    pub(crate) method: Method,
    pub(crate) view_check: ViewCheck,
}

impl Cluster for Three {
    type Engine = ThreeEngine;

    fn parties(&self) -> usize {
        3
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        run(&self.method, self.view_check, memory_links(&options), program)
    }
}
