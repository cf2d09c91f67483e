//! The example keeps the engines' contract.

use std::time::Duration;

use cenote_net::PartyId;
use cenote_protocol::{MaterialSource, Protocol};
use cenote_session::conformance::{self, Cluster};
use cenote_session::{ClearEngine, Connections, Demand, Result};
use cenote_testkit::example::Example;

struct Two;

impl Cluster for Two {
    type Engine = ClearEngine;

    fn parties(&self) -> usize {
        2
    }

    fn run<T: Send>(&self, program: impl Fn(&mut ClearEngine) -> Result<T> + Sync) -> Vec<Result<T>> {
        let example = Example::default();
        let all = Connections::in_memory(&example.topology(), Duration::from_secs(20));
        let (program, example) = (&program, &example);
        std::thread::scope(|scope| {
            let party = |(me, connections): (u8, Connections)| {
                scope.spawn(move || {
                    let prepared = example.prepare(&Demand::new()).expect("everything is possible");
                    let me = PartyId(me);
                    let mut engine =
                        example.start(prepared, me, connections, "test", MaterialSource::Live)?;
                    program(&mut engine)
                })
            };
            let threads: Vec<_> = (0..).zip(all).map(party).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

#[test]
fn the_example_conforms() {
    conformance::all(&Two);
}
