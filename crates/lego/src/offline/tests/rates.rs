//! How often a cheating garbler is caught or gets a bad bucket, against the numbers of the parameters.
//!
//! A bad half gate is found with probability 1/2 at least when it is checked: the output labels of its four pairs of input
//! labels always add up to `Δ`, as an AND gate's must, so not just one can be wrong ([`GATE_FOUND`]).

use crate::{checks, steps};
use cenote_net::PartyId;
use cenote_params::lego::{AUTHENTICATOR_FOUND, Buckets, GATE_FOUND, attack};
use cenote_primitives::{Block, Entropy};
use cenote_session::{Check, Error};
use cenote_testkit::World;

use super::{EVALUATOR, GARBLER, config};
use crate::offline::challenge::{Drawn, Population, cut};
use crate::offline::garbler::Maker;
use crate::offline::shape::Shape;
use crate::offline::solder::{Deal, Gadget};
use crate::order::Order;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use cenote_garble::{self as garble, Authenticator, Base, GateTable};

/// What is done to the first gates or authenticators of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cheat {
    /// A gate's output is committed to as its opposite: NAND. Always found.
    Nand,
    /// A gate's output is the opposite for one label of its left wire: found by half of the checks.
    HalfWrong,
    /// Random tables: found by three fourths of the checks, those with any bit of colour.
    Garbage,
    /// An authenticator that accepts the label of 0 only: found by half of the checks.
    AcceptsZero,
}

impl Cheat {
    /// The probability that one check finds it.
    fn found(self) -> f64 {
        match self {
            Cheat::Nand => 1.0,
            Cheat::Garbage => 0.75,
            Cheat::HalfWrong | Cheat::AcceptsZero => 0.5,
        }
    }
}

/// Does it to the first `count` of each epoch.
struct Cheater {
    cheat: Cheat,
    count: u64,
}

impl Cheater {
    /// Whether the gate or authenticator with a number is to be bad: an epoch of [`shape`] has 512 of each.
    fn is_bad(&self, number: u64) -> bool {
        number % 512 < self.count
    }
}

impl Maker for Cheater {
    fn garble(
        &mut self,
        delta: Block,
        first: Base,
        inputs: [&[Block]; 2],
        tables: &mut [GateTable],
        outputs: &mut [Block],
    ) {
        garble::garble(delta, first, inputs[0], inputs[1], tables, outputs);
        if self.cheat == Cheat::AcceptsZero {
            return;
        }
        for i in (0..tables.len()).filter(|&i| self.is_bad(first.number + i as u64)) {
            match self.cheat {
                Cheat::Nand => outputs[i] ^= delta,
                Cheat::HalfWrong => tables[i].garbler ^= delta,
                _ => {
                    tables[i].garbler ^= Block([7, 8]);
                    tables[i].evaluator ^= Block([9, 10]);
                }
            }
        }
    }

    fn authenticate(
        &mut self,
        delta: Block,
        first: Base,
        wires: &[Block],
        authenticators: &mut [Authenticator],
    ) {
        garble::authenticate(delta, first, wires, authenticators);
        if self.cheat != Cheat::AcceptsZero {
            return;
        }
        for i in (0..wires.len()).filter(|&i| self.is_bad(first.number + i as u64)) {
            let accepts = |authenticator: &Authenticator, label| {
                garble::accepts(first.start, first.number + i as u64, authenticator, label)
            };
            // One of the two is of the label of 1.
            for half in 0..2 {
                let mut spoilt = authenticators[i];
                spoilt.0[half] ^= Block([0, 1]);
                if accepts(&spoilt, wires[i]) && !accepts(&spoilt, wires[i] ^ delta) {
                    authenticators[i] = spoilt;
                    break;
                }
            }
        }
    }
}

/// A small epoch in which half of everything is checked.
pub(super) fn shape() -> Shape {
    let population = Population {
        generated: 512,
        needed: 64,
        threshold: 1 << 15,
    };
    Shape {
        order: Order {
            ands: 16,
            ..Order::NOTHING
        },
        beta: 4,
        alpha: 4,
        beta_input: 9,
        alpha_input: 7,
        gates: population,
        authenticators: population,
        parameters: None,
    }
}

/// Epochs of one set-up.
const EPOCHS: usize = 20;

/// Generates epochs with `count` bad ones, each over a channel of its own; gives the check that caught each, if any did.
/// All that is drawn comes from `seed`.
fn caught(seed: u64, cheat: Cheat, count: u64) -> Vec<Option<Check>> {
    let labels: Vec<String> = (0..EPOCHS).map(|epoch| format!("epoch {epoch}")).collect();
    let labels: Vec<&str> = std::iter::once("main")
        .chain(labels.iter().map(String::as_str))
        .collect();
    let world = World::new(2, seed).labels(&labels);
    let results = world.run(move |mut context| {
        let mut config = config(&context);
        let peer = PartyId(1 - context.me.0);
        let mut main = context.take(peer, "main");
        // Where an epoch ended early, what was sent stays in the channel.
        let mut channels: Vec<_> = (0..EPOCHS)
            .map(|epoch| context.take(peer, &format!("epoch {epoch}")))
            .collect();
        let mut found = Vec::new();
        if context.me == GARBLER {
            let mut keys = GarblerKeys::setup(&mut *main, &mut config)?;
            for channel in &mut channels {
                let cheater = Cheater { cheat, count };
                keys.epoch(std::slice::from_mut(channel), &shape(), &mut [cheater])?;
            }
        } else {
            let mut keys = EvaluatorKeys::setup(&mut *main, &mut config)?;
            for channel in &mut channels {
                match keys.epoch(std::slice::from_mut(channel), &mut config, &shape()) {
                    Ok(_) => found.push(None),
                    Err(Error::Aborted { check, peer, .. }) => {
                        assert_eq!(peer, Some(GARBLER));
                        found.push(Some(check));
                    }
                    Err(other) => return Err(other),
                }
            }
        }
        // Both have done all when either drops its channels.
        main.send(steps::FINISH, &[])?;
        main.recv(steps::FINISH, &mut [])?;
        Ok(found)
    });
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|error| panic!("{error}")))
        .nth(EVALUATOR.index())
        .unwrap_or_default()
}

/// Each of `count` bad ones survives a check that it meets with probability 1/2 independently of the others.
#[test]
fn cheats_are_caught_as_often_as_they_should_be() {
    let mut seed = 0;
    for (cheat, count, check) in [
        (Cheat::Nand, 1, checks::GATE_OPENING),
        (Cheat::HalfWrong, 2, checks::GATE_OPENING),
        (Cheat::Garbage, 1, checks::GATE_OPENING),
        (Cheat::AcceptsZero, 2, checks::AUTHENTICATOR_OPENING),
    ] {
        let least = if cheat == Cheat::AcceptsZero {
            AUTHENTICATOR_FOUND
        } else {
            GATE_FOUND
        };
        assert!(cheat.found() >= least);
        let expected = (1.0 - 0.5 * cheat.found()).powi(count as i32);
        let (mut trials, mut survivals) = (0, 0);
        while trials < 120 {
            seed += 1;
            for caught in caught(seed, cheat, count) {
                assert!(
                    caught.is_none_or(|caught| caught == check),
                    "{cheat:?}: {caught:?}"
                );
                survivals += usize::from(caught.is_none());
                trials += 1;
            }
        }
        let measured = survivals as f64 / trials as f64;
        let error = (expected * (1.0 - expected) / trials as f64).sqrt();
        println!("{count} {cheat:?}: {measured:.3} of {trials} survive, expected {expected:.3} ± {error:.3}");
        assert!(
            (measured - expected).abs() < 5.0 * error,
            "{cheat:?}: {measured} {expected} {error}"
        );
    }
}

/// Bad ones that survive come together in a bucket as often as the parameters say, and so less often than Theorem 2 allows.
#[test]
fn bad_ones_meet_as_often_as_they_should() {
    // Nothing is checked: what is left is the deal.
    let buckets = Buckets::new(40, 5, 3, 1e-12, 1e-12).unwrap();
    let size = |size: u32| size as usize;
    let population = |needed: u64| Population {
        generated: needed as usize,
        needed: needed as usize,
        threshold: 0,
    };
    let shape = Shape {
        order: Order {
            ands: 40,
            garbler_inputs: 5,
            ..Order::NOTHING
        },
        beta: size(buckets.beta),
        alpha: size(buckets.alpha),
        beta_input: size(buckets.beta_input),
        alpha_input: size(buckets.alpha_input),
        gates: population(buckets.gates_needed()),
        authenticators: population(buckets.authenticators_needed()),
        parameters: None,
    };
    let mut entropy = Entropy::for_tests(42);
    for (bad_gates, bad_authenticators) in [(8, 4), (20, 0), (3, 20)] {
        let expected = attack(&buckets, bad_gates, bad_authenticators)
            .unwrap()
            .probability();
        const TRIALS: usize = 20_000;
        let mut wins = 0;
        for _ in 0..TRIALS {
            let drawn = cut(entropy.block(), &shape.gates, &shape.authenticators)
                .unwrap()
                .unwrap();
            let cuts = drawn.map(Drawn::shuffled);
            let deal = Deal::new(&shape, &cuts);
            let bad = |indices: &[u32], bad: u32| indices.iter().filter(|&&index| index < bad).count();
            let won = Gadget::ALL.into_iter().any(|kind| {
                deal.pieces(kind, 0..deal.count(kind)).any(|piece| {
                    piece.each().any(|(gates, authenticators)| {
                        let (g, a) = (bad(gates, bad_gates), bad(authenticators, bad_authenticators));
                        match kind {
                            Gadget::And => g > 0 && 2 * (g + a) >= gates.len() + authenticators.len(),
                            _ => 2 * g > gates.len() || 2 * a > authenticators.len(),
                        }
                    })
                })
            });
            wins += usize::from(won);
        }
        let measured = wins as f64 / TRIALS as f64;
        let error = (expected * (1.0 - expected) / TRIALS as f64).sqrt();
        println!(
            "{bad_gates} gates, {bad_authenticators} authenticators: {measured:.4}, {expected:.4} ± {error:.4}"
        );
        assert!(
            (measured - expected).abs() < 5.0 * error,
            "{measured} {expected} {error}"
        );
    }
}

/// Gates that are wrong on half of their inputs, the least that half gates can be, through cut and deal together: they win as
/// often as the exact number says, and Theorem 2's bound, which counts on no more being found, holds.
#[test]
fn the_best_bad_gates_win_as_often_as_they_should() {
    let buckets = Buckets {
        input_buckets: 0,
        ..Buckets::new(40, 1, 2, 0.25, 0.25).unwrap()
    };
    let population = |needed: u64| Population {
        generated: (needed as f64 / 0.75) as usize + 24,
        needed: needed as usize,
        threshold: 1 << 14,
    };
    let shape = Shape {
        order: Order {
            ands: 40,
            evaluator_inputs: 1,
            ..Order::NOTHING
        },
        beta: buckets.beta as usize,
        alpha: buckets.alpha as usize,
        beta_input: buckets.beta_input as usize,
        alpha_input: buckets.alpha_input as usize,
        gates: population(buckets.gates_needed()),
        authenticators: population(buckets.authenticators_needed()),
        parameters: None,
    };
    let mut entropy = Entropy::for_tests(43);
    const TRIALS: usize = 40_000;
    for bad in [2, 4, 8, 16] {
        let expected = attack(&buckets, bad, 0).unwrap().probability();
        let is_bad = |index: u32| index < bad;
        let mut wins = 0;
        for _ in 0..TRIALS {
            let Some(drawn) = cut(entropy.block(), &shape.gates, &shape.authenticators).unwrap() else {
                continue;
            };
            let cuts = drawn.map(Drawn::shuffled);
            // Such a gate is wrong if its left bit is 1.
            if cuts[0]
                .checked
                .iter()
                .any(|checked| is_bad(checked.index) && checked.bits[0])
            {
                continue;
            }
            let deal = Deal::new(&shape, &cuts);
            let won = deal.pieces(Gadget::And, 0..deal.count(Gadget::And)).any(|piece| {
                piece.each().any(|(gates, authenticators)| {
                    let count = gates.iter().filter(|&&index| is_bad(index)).count();
                    2 * count >= gates.len() + authenticators.len()
                })
            });
            wins += usize::from(won);
        }
        let measured = wins as f64 / TRIALS as f64;
        let error = (expected * (1.0 - expected) / TRIALS as f64).sqrt();
        println!("{bad} gates: {measured:.5}, {expected:.5} ± {error:.5}");
        // Some that survive the check are left over here, which only helps against them.
        assert!(measured < expected + 5.0 * error, "{bad}: {measured} {expected}");
        assert!(
            measured > 0.5 * expected - 5.0 * error,
            "{bad}: {measured} {expected}"
        );
        assert!(measured < buckets.errors().and_bucket.probability(), "{bad}");
    }
}
