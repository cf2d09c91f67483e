//! What a prepared job costs online: two messages one way each, three if the garbler gets the output; counted, and measured
//! on a slow link.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::common::{A, B, prepare, put_in, random_bits, start};
use cenote_circuit::{Plan, library};
use cenote_net::{Meter, Shape};
use cenote_session::{Engine, Parties, Result};
use cenote_testkit::World;

/// Milliseconds one way. What computing takes on a busy machine is little beside the longest of them.
const LATENCIES: [u64; 5] = [80, 80, 160, 320, 640];

/// What a job cost one party after it was prepared.
struct Online {
    rounds: u64,
    begin: Instant,
    end: Instant,
    traffic: Meter,
}

fn online(circuit: &str, lanes: usize, to: Parties, jobs: usize, latency: Duration) -> Vec<Online> {
    let circuit = library::by_name(circuit).unwrap();
    let ready = Arc::new(Barrier::new(2));
    let world = World::new(2, 3).shape(Shape::new(latency, None));
    let results = world.run(move |mut context| -> Result<_> {
        let plan = Plan::new(&circuit);
        let mut engine = start(&mut context, 40)?;
        for _ in 0..jobs {
            prepare(&mut engine, &circuit, &plan, lanes, to)?;
        }
        ready.wait();
        let (before, begin) = (engine.costs(), Instant::now());
        let mut all = Vec::new();
        for job in 0..jobs {
            let inputs = random_bits(job as u64, plan.input_wires(), lanes);
            let wires = put_in(&mut engine, &circuit, &inputs)?;
            all.push((engine.run(&plan, &wires)?, plan.evaluate(&inputs).unwrap()));
        }
        // One evaluation for all of them.
        let outputs: Vec<_> = all.iter().map(|(outputs, _)| outputs).collect();
        let outputs = cenote_session::WireVector::concat(&outputs);
        let revealed = engine.reveal(&outputs, to)?;
        let (end, after) = (Instant::now(), engine.costs());
        if let Some(revealed) = revealed {
            let mut first = 0;
            for (_, expected) in &all {
                for row in 0..expected.rows() {
                    assert_eq!(revealed.row(first + row), expected.row(row));
                }
                first += expected.rows();
            }
        }
        engine.finish()?;
        let traffic = Meter {
            messages_sent: after.traffic.messages_sent - before.traffic.messages_sent,
            payload_sent: after.traffic.payload_sent - before.traffic.payload_sent,
            rounds: after.traffic.rounds - before.traffic.rounds,
            ..Meter::default()
        };
        Ok(Online {
            rounds: after.rounds - before.rounds,
            begin,
            end,
            traffic,
        })
    });
    results.into_iter().map(|result| result.unwrap()).collect()
}

/// Every run has its rounds and takes as long as they do; one of some takes hardly longer, whatever a busy machine adds to others.
fn check(circuit: &str, lanes: usize, to: Parties, jobs: usize) {
    let rounds = if to.contains(A) { 3 } else { 2 };
    let is_fast = |latency: u64| {
        let latency = Duration::from_millis(latency);
        let last = measured(circuit, lanes, to, jobs, rounds.into(), latency);
        assert!(last >= latency * rounds, "{circuit} to {to}: {last:?}");
        last < latency * rounds + latency * 3 / 4
    };
    let fast = LATENCIES.into_iter().any(is_fast);
    assert!(fast, "{circuit} to {to}: never within {rounds} rounds and a bit");
}

/// How long it takes until the last that gets something has it, all rounds included.
fn measured(
    circuit: &str,
    lanes: usize,
    to: Parties,
    jobs: usize,
    rounds: u64,
    latency: Duration,
) -> Duration {
    let costs = online(circuit, lanes, to, jobs, latency);
    let [a, b] = &costs[..] else { panic!("two parties") };
    assert_eq!((a.rounds, b.rounds), (rounds, rounds), "{circuit} to {to}");
    // A receive after a send: the evaluator waits once, the garbler for the evaluator's inputs and for its outputs.
    assert_eq!(b.traffic.rounds, 1, "{circuit} to {to}");
    assert!(
        a.traffic.rounds < rounds,
        "{circuit} to {to}: {}",
        a.traffic.rounds
    );
    let end = if to.contains(A) { a.end } else { b.end };
    end - a.begin.min(b.begin)
}

#[test]
fn two_rounds_for_the_evaluators_output() {
    check("aes128", 1, Parties::one(B), 1);
    check("add32", 100, Parties::one(B), 1);
}

#[test]
fn three_rounds_for_the_garblers_output() {
    check("aes128", 1, Parties::one(A), 1);
    check("add32", 100, Parties::all(2), 1);
}

#[test]
fn many_jobs_share_the_rounds() {
    check("mult8", 3, Parties::one(B), 5);
    check("mult8", 3, Parties::all(2), 5);
}

/// An online AES takes few bytes: two labels' worth for each wire that enters, one for each that leaves, and a proof.
#[test]
fn online_bytes_are_those_of_the_formula() {
    for (circuit, inputs, outputs) in [
        ("aes128", [128, 128], 128),
        ("add32", [32, 32], 32),
        ("add8", [8, 8], 8),
    ] {
        let costs = online(
            circuit,
            1,
            Parties::one(B),
            1,
            Duration::from_millis(LATENCIES[0]),
        );
        // Attaching, openings of the evaluator's labels, output masks; and labels of own inputs.
        let opened = inputs[0] + inputs[1] + inputs[1] + outputs;
        let blocks = opened + inputs[0];
        let proof = cenote_commit::proof_bytes(opened);
        assert_eq!(
            costs[A.index()].traffic.payload_sent,
            (16 * blocks + proof) as u64
        );
        assert_eq!(costs[B.index()].traffic.payload_sent, inputs[1] as u64 / 8);
    }
}
