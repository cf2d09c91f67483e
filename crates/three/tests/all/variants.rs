//! The conformance suite over the remaining shapes of a session: reshuffling, buckets of two sizes, several workers,
//! and an offline phase.

use std::time::Duration;

use crate::common::{memory_links, proofs, tiny};
use cenote_circuit::{Plan, library};
use cenote_net::{ChannelOptions, PartyId};
use cenote_params::three::{Variant, check, check_mixed, preferred};
use cenote_primitives::{BitMatrix, Entropy};
use cenote_session::conformance::{self, Cluster};
use cenote_session::{Engine, Parties, Result};
use cenote_three::{Config, Links, Method, ThreeEngine, ViewCheck};

/// Three parties over memory, each with several workers.
struct Workers {
    method: Method,
    view_check: ViewCheck,
    workers: usize,
    ahead: usize,
}

impl Workers {
    fn new<M: Into<Method>>(method: M) -> Self {
        Self {
            method: method.into(),
            view_check: ViewCheck::Mac,
            workers: 1,
            ahead: 1,
        }
    }
}

impl Cluster for Workers {
    type Engine = ThreeEngine;

    fn parties(&self) -> usize {
        3
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ThreeEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let options = ChannelOptions::with_timeout(Duration::from_secs(20));
        let mut links: [Vec<Links>; 3] = Default::default();
        for _ in 0..self.workers {
            for (party, link) in links.iter_mut().zip(memory_links(&options)) {
                party.push(link);
            }
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = links
                .into_iter()
                .zip(0u8..)
                .map(|(links, me)| {
                    let program = &program;
                    scope.spawn(move || {
                        let mut config = Config::new(self.method.clone(), "variants");
                        config.view_check = self.view_check;
                        config.entropy = Entropy::for_tests(me.into());
                        config.ahead = self.ahead;
                        program(&mut ThreeEngine::start(PartyId(me), links, config)?)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no party panics"))
                .collect()
        })
    }
}

#[test]
fn reshuffle() {
    let parameters = check(Variant::Reshuffle, 64, 2, 1, 4).unwrap();
    conformance::all(&Workers::new(parameters.clone()));
    conformance::all(&Workers {
        view_check: ViewCheck::Sha256,
        ..Workers::new(parameters)
    });
}

#[test]
fn buckets_of_two_sizes() {
    for (variant, l, k) in [
        (Variant::Baseline, 1, 37),
        (Variant::CacheEfficient, 4, 48),
        (Variant::CacheEfficient, 4, 16),
    ] {
        conformance::all(&Workers::new(check_mixed(variant, 64, 2, 1, l, k).unwrap()));
    }
}

#[test]
fn several_workers() {
    let cases: [(Method, usize); 5] = [
        (tiny(Variant::OnDemand).into(), 2),
        (tiny(Variant::OnDemand).into(), 5),
        (tiny(Variant::Baseline).into(), 3),
        (proofs(40, 4).into(), 2),
        (proofs(61, 1 << 10).into(), 3),
    ];
    for (method, workers) in cases {
        conformance::all(&Workers {
            workers,
            ..Workers::new(method)
        });
    }
}

/// Many lanes, so that every worker has groups to evaluate and logs are verified on the way.
#[test]
fn workers_share_the_lanes() {
    let plan = Plan::new(&library::by_name("add16").unwrap());
    let lanes = 70_000;
    let inputs = BitMatrix::from_fn(plan.input_slots().len(), lanes, |row, lane| {
        (row * 7 + lane * lane) % 5 < 2
    });
    let expected = plan.evaluate(&inputs).unwrap();
    let methods = [tiny(Variant::OnDemand).into(), proofs(40, 600).into()];
    for (workers, method) in [1, 3]
        .into_iter()
        .flat_map(|workers| methods.clone().map(|method| (workers, method)))
    {
        let cluster = Workers {
            workers,
            ..Workers::new::<Method>(method)
        };
        let results = cluster.run(|engine| {
            let own = (engine.me() == PartyId(2)).then_some(&inputs);
            let wires = engine.input(PartyId(2), inputs.rows(), lanes, own)?;
            let outputs = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&outputs, Parties::all(3))?;
            engine.finish()?;
            Ok(revealed)
        });
        for revealed in results {
            assert_eq!(revealed.unwrap().as_ref(), Some(&expected), "{workers} workers");
        }
    }
}

/// Two waves of lanes take turns, and logs fill while products of the other one are on their way; the last groups are ragged.
#[test]
fn logs_fill_between_waves() {
    let plan = Plan::new(&library::by_name("add16").unwrap());
    let wave = ThreeEngine::wave_lanes(&plan) / 2;
    let inputs = BitMatrix::from_fn(plan.input_slots().len(), 3 * wave + 70, |row, lane| {
        (row * lane + lane / 3) % 5 < 2
    });
    let answer = plan.evaluate(&inputs).unwrap();
    for (workers, method) in [
        (1, Method::from(proofs(40, 64))),
        (2, proofs(40, 700).into()),
        (1, proofs(61, 1 << 10).into()),
        (1, preferred(Variant::Baseline, 1 << 12, 3).unwrap().into()),
    ] {
        let cluster = Workers {
            workers,
            ..Workers::new(method)
        };
        let results = cluster.run(|engine| {
            let own = (engine.me() == PartyId(1)).then_some(&inputs);
            let wires = engine.input(PartyId(1), inputs.rows(), inputs.lanes(), own)?;
            let outputs = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&outputs, Parties::all(3))?;
            engine.finish()?;
            Ok(revealed)
        });
        for revealed in results {
            assert_eq!(revealed.unwrap().as_ref(), Some(&answer), "{workers} workers");
        }
    }
}

#[test]
fn stock_can_be_filled_ahead() {
    let plan = Plan::new(&library::by_name("add16").unwrap());
    let inputs = BitMatrix::from_fn(plan.input_slots().len(), 30_000, |row, lane| {
        (row + lane) % 3 == 0
    });
    let expected = plan.evaluate(&inputs).unwrap();
    for variant in [Variant::OnDemand, Variant::CacheEfficient] {
        let cluster = Workers {
            workers: 2,
            ahead: 100,
            ..Workers::new(tiny(variant))
        };
        let results = cluster.run(|engine| {
            engine.prepare(&plan, 30_000)?;
            engine.fill_stock()?;
            let offline = engine.costs().traffic;
            let own = (engine.me() == PartyId(0)).then_some(&inputs);
            let wires = engine.input(PartyId(0), inputs.rows(), 30_000, own)?;
            let outputs = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&outputs, Parties::all(3))?;
            engine.finish()?;
            Ok((revealed, offline, engine.costs()))
        });
        for result in results {
            let (revealed, offline, costs) = result.unwrap();
            assert_eq!(revealed.as_ref(), Some(&expected));
            // Online, a gate costs its product and the two factors opened to verify it, besides inputs and outputs.
            let io = (plan.input_slots().len() + plan.output_slots().len()) as u64 * 30_000 / 8;
            let online = costs.traffic.payload_sent - offline.payload_sent;
            assert!(
                online < costs.and_gates * 3 * 102 / 800 + io + 10_000,
                "{online} bytes online"
            );
        }
    }
    let cluster = Workers {
        ahead: 1,
        ..Workers::new(tiny(Variant::OnDemand))
    };
    for result in cluster.run(|engine| {
        engine.prepare(&plan, 30_000)?;
        let refused = engine.fill_stock();
        engine.finish()?;
        refused
    }) {
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("batches of triples are wanted in stock, which holds 1")
        );
    }
}

#[test]
fn stock_can_be_filled_for_gates_that_are_only_counted() {
    let gates = 100_000;
    let cluster = Workers {
        ahead: 100,
        ..Workers::new(tiny(Variant::OnDemand))
    };
    let sent = |engine: &ThreeEngine| 8 * engine.costs().traffic.payload_sent;
    for result in cluster.run(|engine| {
        let before = sent(engine);
        engine.prepare_gates(511)?;
        engine.fill_stock()?;
        let for_few = sent(engine) - before;
        engine.prepare_gates(gates)?;
        engine.fill_stock()?;
        let for_all = sent(engine) - before;
        engine.finish()?;
        Ok((for_few, for_all))
    }) {
        let (for_few, for_all) = result.unwrap();
        assert_eq!(for_few, 0);
        assert!(for_all > 3 * gates, "{for_all} bits for {gates} gates");
    }
}
