//! The games that cut and choose comes down to, played for real: one party makes triples and gates bad, in the best
//! places that the theorems know, and the rate at which it gets a wrong output past the honest parties is compared with
//! the exact value of the game.
//!
//! Party 1 cheats. It adds a bit to what it sends in a multiplication, which makes the product wrong by that bit; a
//! gate, or triple, is cancelled by a triple that is wrong in the same bit. It wins when party 0 is given a wrong
//! output.
use cenote_three::checks;

use std::collections::HashMap;

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{Session, in_parallel, random_bits};
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Variant, check};
use cenote_primitives::{Block, Sampler};
use cenote_session::{Engine, Error, Parties};
use cenote_three::{ViewCheck, steps};

/// The party that deviates.
const CHEATER: u8 = 1;

/// Sessions side by side: most of a session is waiting.
const THREADS: usize = 6;

/// Blocks to make wrong.
#[derive(Clone, Default)]
struct Plot {
    /// Of triples, by the number of the array since the session's start.
    triples: HashMap<usize, Vec<usize>>,
    gates: Vec<usize>,
}

/// How a session with a cheater ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A wrong output was accepted.
    Won,
    /// A bad triple was opened or met a good one.
    CaughtMakingTriples,
    /// A bad triple met a good gate, or the other way round.
    CaughtVerifyingGates,
}

/// One layer of one AND per lane, `blocks` blocks of lanes.
fn conjunction() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

fn flip_blocks(message: &Message, blocks: &[usize]) -> Option<Vec<(cenote_net::Step, Vec<u8>)>> {
    let mut body = message.body.clone();
    blocks.iter().for_each(|block| body[block * 64] ^= 1);
    Some(vec![(message.step, body)])
}

/// Plays one session with `blocks` blocks of gates.
fn play(parameters: &Parameters, seed: u64, blocks: usize, plot: Plot) -> End {
    let spy = Spy::corrupting(move |message| match message.step {
        steps::MULTIPLY_TRIPLE => flip_blocks(message, plot.triples.get(&message.occurrence)?),
        steps::MULTIPLY_GATE => flip_blocks(message, &plot.gates),
        _ => None,
    });
    let (plan, lanes) = (conjunction(), blocks * 512);
    let input = random_bits(seed, 2, lanes);
    let answer = plan.evaluate(&input).unwrap();
    let results = Session::new(parameters, ViewCheck::Mac, seed)
        .with_spy(CHEATER, &spy)
        .run(move |engine| {
            let own = (engine.me() == PartyId(0)).then_some(&input);
            let wires = engine.input(PartyId(0), 2, lanes, own)?;
            let result = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&result, Parties::one(PartyId(0)))?;
            engine.finish()?;
            Ok(revealed)
        });
    let [victim, _, other] = results;
    match (victim, other) {
        (Ok(Some(output)), Ok(None)) => {
            assert_ne!(
                output, answer,
                "seed {seed}: the cheater's deviation has vanished"
            );
            End::Won
        }
        (Err(first), Err(second)) => {
            for error in [&first, &second] {
                let check = error.check();
                assert!(
                    matches!(check, Some(checks::TRIPLE_OPENING | checks::PRODUCT_COMPARISON)),
                    "seed {seed}: {error}"
                );
            }
            let in_gates = [first, second]
                .iter()
                .any(|error| matches!(error, Error::Aborted { step, .. } if *step == steps::GATE_PRODUCTS));
            if in_gates {
                End::CaughtVerifyingGates
            } else {
                End::CaughtMakingTriples
            }
        }
        other => panic!("seed {seed}: the honest parties end differently: {other:?}"),
    }
}

/// The single-valued profile: `t` bad blocks in each of `s` subarrays, in all arrays of the first batch.
fn profile(parameters: &Parameters, s: u64, t: u64) -> HashMap<usize, Vec<usize>> {
    let (m, x) = ((parameters.x() - u64::from(parameters.c())), parameters.x());
    let places = |size: u64| {
        (0..s)
            .flat_map(|subarray| (0..t).map(move |i| (subarray * size + i) as usize))
            .collect::<Vec<_>>()
    };
    (0..parameters.b() as usize)
        .map(|array| (array, places(if array == 0 { m } else { x })))
        .collect()
}

/// So many sessions that what has probability `p` and is never seen in them is too far from it.
fn enough(p: f64) -> usize {
    (20.0 / p).ceil() as usize
}

/// Asserts that `wins` of `sessions` agrees with probability `p`: within four standard errors.
fn assert_rate(what: &str, wins: usize, sessions: usize, p: f64) {
    assert!(sessions >= enough(p), "{what}: {sessions} sessions tell nothing");
    let (n, rate) = (sessions as f64, wins as f64 / sessions as f64);
    let error = (p * (1.0 - p) / n).sqrt();
    println!("{what}: {wins} of {sessions} = {rate:.4}; exact {p:.4} ± {error:.4}");
    assert!(
        (rate - p).abs() <= 4.0 * error,
        "{what}: {rate} is too far from {p} ± {error}"
    );
}

/// Asserts that `wins` of `sessions` does not exceed probability `bound` by more than four standard errors.
fn assert_bounded(what: &str, wins: usize, sessions: usize, bound: f64) {
    let n = sessions as f64;
    let rate = wins as f64 / n;
    let most = bound + 4.0 * (bound * (1.0 - bound) / n).sqrt();
    assert!(rate <= most, "{what}: {rate} exceeds the theorem's {bound}");
}

/// Game 1: gate `k` uses triple `k`, so all that matters is that no bad triple is opened or meets a good one.
#[test]
fn game_1_is_won_as_often_as_computed() {
    let mut attacks = Vec::new();
    for (variant, n, b, c, l, profiles) in [
        (Variant::Baseline, 6, 2, 1, 1, vec![(1, 1), (1, 2), (1, 6)]),
        (Variant::Baseline, 4, 3, 1, 1, vec![(1, 1)]),
        (Variant::CacheEfficient, 6, 2, 1, 2, vec![(1, 1), (2, 1), (2, 3)]),
        (Variant::CacheEfficient, 6, 2, 2, 3, vec![(1, 1), (1, 2)]),
    ] {
        let parameters = check(variant, n, b, c, l).unwrap();
        attacks.extend(profiles.into_iter().map(|profile| (parameters.clone(), profile)));
    }
    for (number, (parameters, (s, t))) in attacks.iter().enumerate() {
        let p = parameters.game().game1(*s, *t).probability();
        let sessions = enough(p);
        let ends = in_parallel(sessions, THREADS, |index| {
            let triples = profile(parameters, *s, *t);
            let gates = triples[&0].clone();
            let plot = Plot { triples, gates };
            let seed = (10_000 * number + index) as u64;
            play(parameters, seed, parameters.n() as usize, plot)
        });
        let what = format!(
            "{} N={} B={} C={} L={}, {t} bad in {s} subarrays",
            parameters.variant(),
            parameters.n(),
            parameters.b(),
            parameters.c(),
            parameters.l()
        );
        assert!(!ends.contains(&End::CaughtVerifyingGates), "{what}");
        let wins = ends.iter().filter(|end| **end == End::Won).count();
        assert_rate(&what, wins, sessions, p);
        assert_bounded(&what, wins, sessions, parameters.theorem_bound().probability());
    }
}

/// The smallest parameters to which the theorem on demand applies: N = 30.
fn on_demand() -> Parameters {
    check(Variant::OnDemand, 30, 2, 3, 5).unwrap()
}

/// Game 3, from the start: bad triples must survive the bucketing, then a bad gate must draw one of them.
#[test]
fn game_3_is_won_no_more_often_than_the_theorem_allows() {
    let parameters = on_demand();
    const SESSIONS: usize = 1500;
    let ends = in_parallel(SESSIONS, THREADS, |index| {
        let plot = Plot {
            triples: profile(&parameters, 1, 1),
            gates: vec![0],
        };
        play(&parameters, 100_000 + index as u64, 1, plot)
    });
    let survived = ends
        .iter()
        .filter(|end| **end != End::CaughtMakingTriples)
        .count();
    let wins = ends.iter().filter(|end| **end == End::Won).count();
    assert_rate(
        "a bad pair survives",
        survived,
        SESSIONS,
        parameters.game().game1(1, 1).probability(),
    );
    // Too seldom to be counted.
    for bound in [parameters.game().game3(1, 1), parameters.theorem_bound()] {
        assert_bounded("a bad gate passes", wins, SESSIONS, bound.probability());
    }
}

/// The coin of batch `batch` in the session of `seed`, which messages do not influence: each party's share of the
/// component that another lacks, read off an honest session.
fn generator_coin(parameters: &Parameters, seed: u64, batch: usize) -> Block {
    let spies = [Spy::listening(), Spy::listening()];
    let plan = conjunction();
    let results = Session::new(parameters, ViewCheck::Mac, seed)
        .with_spy(0, &spies[0])
        .with_spy(1, &spies[1])
        .run(move |engine| {
            let input = random_bits(1, 2, 512);
            let own = (engine.me() == PartyId(0)).then_some(&input);
            let wires = engine.input(PartyId(0), 2, 512, own)?;
            let result = engine.run(&plan, &wires)?;
            engine.reveal(&result, Parties::NONE)?;
            engine.finish()
        });
    results
        .into_iter()
        .for_each(|result| result.expect("all are honest"));
    let sent: Vec<_> = spies.iter().flat_map(|spy| spy.sent()).collect();
    // Component 0 goes from party 0 to 1, component 1 from 0 to 2, component 2 from 1 to 0.
    [(0, 1), (0, 2), (1, 0)]
        .into_iter()
        .map(|(from, to)| {
            let share = sent.iter().find(|message| {
                (message.wire.from, message.wire.to, message.wire.thread) == (from, to, Thread::Generator)
                    && (message.step, message.occurrence) == (steps::COIN, batch)
            });
            Block::from_bytes(share.unwrap().body.as_slice().try_into().unwrap())
        })
        .fold(Block::ZERO, |sum, share| sum ^ share)
}

/// The triples of `D_2` that `coin` puts into the buckets `0..bad`.
fn partners(parameters: &Parameters, coin: Block, bad: usize) -> Vec<usize> {
    let (x, c) = (parameters.x() as usize, parameters.c() as usize);
    let mut sampler = Sampler::new(coin);
    let mut order = vec![0u32; parameters.l() as usize];
    sampler.permutation(&mut order);
    let mut partners = Vec::new();
    for from in order {
        let mut within = vec![0u32; x];
        sampler.permutation(&mut within);
        partners.extend(within[c..].iter().map(|&i| from as usize * x + i as usize));
    }
    partners.truncate(bad);
    partners
}

/// The second half of Game 3 by itself: an adversary who has won the first half, by knowing the coin beforehand, has
/// only the random draw of a triple for its bad gate to fear.
#[test]
fn a_bad_gate_draws_a_bad_triple_as_often_as_computed() {
    let parameters = on_demand();
    let n = parameters.n() as usize;
    // (Batch with the bad triples, how many, the bad gate.) A bad triple of batch 1, first of d_2, is in d_1 once gate 0
    // has been checked, where gate 1 may find it.
    for (batch, bad, gate) in [(0, 1, 0), (0, 3, 0), (0, 15, 0), (1, 1, 1)] {
        let p = bad as f64 / n as f64;
        let sessions = enough(p);
        let ends = in_parallel(sessions, THREADS, |index| {
            let seed = (200_000 + 1000 * (batch * n + bad) + index) as u64;
            let coin = generator_coin(&parameters, seed, batch);
            let triples = [
                (2 * batch, (0..bad).collect()),
                (2 * batch + 1, partners(&parameters, coin, bad)),
            ];
            let plot = Plot {
                triples: triples.into(),
                gates: vec![gate],
            };
            play(&parameters, seed, gate + 1, plot)
        });
        assert!(!ends.contains(&End::CaughtMakingTriples), "the coin was another");
        let wins = ends.iter().filter(|end| **end == End::Won).count();
        let what = format!("gate {gate} with {bad} bad triples of batch {batch}");
        assert_rate(&what, wins, sessions, p);
    }
}
