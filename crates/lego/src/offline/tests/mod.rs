//! Both parties in one process, and what they hold compared.

mod attacks;
mod failure;
mod rates;

use cenote_net::{Channel, PartyId};
use cenote_primitives::Entropy;
use cenote_session::Error;
use cenote_testkit::{PartyContext, World};

use super::*;
use crate::Short;
use crate::material::{
    Anchors, Authenticators, Commitments, EvaluatorEpoch, EvaluatorStock, GarblerEpoch, GarblerStock,
};
use crate::setup::{EvaluatorKeys, GarblerKeys};
use cenote_commit::{MAX_PIECE, Opener, Share};
use cenote_primitives::Block;

/// The garbler and the evaluator.
pub(crate) const GARBLER: PartyId = PartyId(0);
pub(crate) const EVALUATOR: PartyId = PartyId(1);

/// A small order of every kind.
pub(crate) const SMALL: Order = Order {
    ands: 300,
    garbler_inputs: 9,
    evaluator_inputs: 11,
    anchors: 5,
    masks: 600,
    ports: 700,
};

/// A configuration with this party's seeded randomness.
pub(crate) fn config(context: &PartyContext) -> Config {
    let seed = u64::from_le_bytes(std::array::from_fn(|i| context.seed[i]));
    Config {
        entropy: Entropy::for_tests(seed),
        ..Config::new("test")
    }
}

/// What one party ends with.
pub(crate) enum Side {
    Garbler(Box<GarblerKeys>, Vec<GarblerEpoch>),
    Evaluator(Box<EvaluatorKeys>, Vec<EvaluatorEpoch>),
}

/// Sets up and generates all orders, one call each, over all channels of the world.
pub(crate) fn run(
    world: &World,
    orders: &'static [Order],
    adapt: fn(&mut Config),
) -> Vec<std::result::Result<Side, Error>> {
    world.run(move |mut context| {
        let mut config = config(&context);
        adapt(&mut config);
        let peer = PartyId(1 - context.me.0);
        // In the order of their labels.
        let mut channels: Vec<Box<dyn Channel>> = vec![context.take(peer, "main")];
        channels.extend(
            ["second", "third"]
                .into_iter()
                .map_while(|label| context.mesh.take(peer, &label.into()).ok()),
        );
        let side = if context.me == GARBLER {
            let mut keys = GarblerKeys::setup(&mut *channels[0], &mut config)?;
            let mut epochs = Vec::new();
            for order in orders {
                keys.generate(&mut channels, &mut config, order, &mut |epoch| {
                    epochs.push(epoch);
                    Ok(())
                })?;
            }
            Side::Garbler(Box::new(keys), epochs)
        } else {
            let mut keys = EvaluatorKeys::setup(&mut *channels[0], &mut config)?;
            let mut epochs = Vec::new();
            for order in orders {
                keys.generate(&mut channels, &mut config, order, &mut |epoch| {
                    epochs.push(epoch);
                    Ok(())
                })?;
            }
            Side::Evaluator(Box::new(keys), epochs)
        };
        for channel in &mut channels {
            channel.close()?;
        }
        Ok(side)
    })
}

/// Runs and expects both to succeed.
pub(crate) fn succeed(
    world: &World,
    orders: &'static [Order],
    adapt: fn(&mut Config),
) -> (GarblerKeys, Vec<GarblerEpoch>, EvaluatorKeys, Vec<EvaluatorEpoch>) {
    let mut sides = run(world, orders, adapt).into_iter();
    match (sides.next(), sides.next()) {
        (Some(Ok(Side::Garbler(a, of_a))), Some(Ok(Side::Evaluator(b, of_b)))) => (*a, of_a, *b, of_b),
        (a, b) => panic!("{:?} {:?}", a.and_then(Result::err), b.and_then(Result::err)),
    }
}

/// Asserts that the evaluator's shares are of commitments to the garbler's messages.
pub(crate) fn assert_committed(keys: &EvaluatorKeys, theirs: &Commitments, ours: &[Share]) {
    assert_eq!(theirs.len(), ours.len());
    let (mut opener, mut verifier) = (Opener::new(b"test"), keys.receiver.verify(b"test"));
    let pieces = theirs
        .messages
        .chunks(MAX_PIECE)
        .zip(theirs.shares.chunks(MAX_PIECE));
    for ((messages, shares), ours) in pieces.zip(ours.chunks(MAX_PIECE)) {
        opener.open(messages, shares);
        verifier.absorb(messages, ours);
    }
    assert_eq!(verifier.finish(&opener.finish()), Ok(()));
}

/// Asserts that authenticators of the gadgets accept both labels of their wires and nothing else.
fn assert_authentic(authenticators: &Authenticators, wires: &[Block], delta: Block) {
    for (gadget, &wire) in wires.iter().enumerate() {
        assert_eq!(authenticators.accepting(gadget, wire), authenticators.size);
        assert_eq!(
            authenticators.accepting(gadget, wire ^ delta),
            authenticators.size
        );
        assert_eq!(authenticators.accepting(gadget, wire ^ Block([2, 0])), 0);
        assert!(authenticators.accept(gadget, wire) && !authenticators.accept(gadget, delta));
    }
}

/// Asserts that anchors tell the bit of both labels of their wires.
fn assert_anchored(anchors: &Anchors, wires: &[Block], delta: Block) {
    for (anchor, &wire) in wires.iter().enumerate() {
        assert!(!anchors.bit(anchor, wire, delta) && anchors.bit(anchor, wire ^ delta, delta));
    }
}

fn flat<T: Copy>(triples: &[[T; 3]]) -> Vec<T> {
    triples.as_flattened().to_vec()
}

/// Asserts everything that is true of an epoch when nobody cheats.
pub(crate) fn assert_sound(a: &GarblerKeys, of_a: &GarblerEpoch, b: &EvaluatorKeys, of_b: &EvaluatorEpoch) {
    let delta = *a.delta;
    // Commitments.
    let ands = Commitments {
        messages: flat(&of_a.ands.messages).into(),
        shares: flat(&of_a.ands.shares).into(),
    };
    assert_committed(b, &ands, &flat(&of_b.ands.shares));
    assert_committed(b, &of_a.garbler_inputs, &of_b.garbler_inputs.shares);
    assert_committed(b, &of_a.evaluator_inputs.labels, &of_b.evaluator_inputs.shares);
    assert_committed(
        b,
        &of_a.evaluator_inputs.strings,
        &of_b.evaluator_inputs.string_shares,
    );
    assert_committed(b, &of_a.anchors, &of_b.anchors.shares);
    assert_committed(b, &of_a.masks, &of_b.masks.shares);
    assert_committed(b, &of_a.ports, &of_b.ports);
    // AND buckets: all four pairs of labels.
    let count = of_a.ands.messages.len();
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        let label = |wire: usize, bit: bool| -> Vec<Block> {
            let of = |labels: &[Block; 3]| if bit { labels[wire] ^ delta } else { labels[wire] };
            of_a.ands.messages.iter().map(of).collect()
        };
        let mut outputs = vec![Block::ZERO; count];
        assert!(
            of_b.ands
                .gates
                .evaluate(0, &label(0, x), &label(1, y), &mut outputs)
        );
        assert!(outputs == label(2, x && y));
    }
    let outputs: Vec<Block> = of_a.ands.messages.iter().map(|labels| labels[2]).collect();
    assert_authentic(&of_b.ands.authenticators, &outputs, delta);
    // Inputs and anchors.
    assert_authentic(
        &of_b.garbler_inputs.authenticators,
        &of_a.garbler_inputs.messages,
        delta,
    );
    assert_anchored(&of_b.garbler_inputs.anchors, &of_a.garbler_inputs.messages, delta);
    let labels = &of_a.evaluator_inputs.labels.messages;
    assert_authentic(&of_b.evaluator_inputs.authenticators, labels, delta);
    assert_anchored(&of_b.anchors.anchors, &of_a.anchors.messages, delta);
    // OT strings and masks.
    let mut ones = 0;
    for (&r, &string) in of_a
        .evaluator_inputs
        .strings
        .messages
        .iter()
        .zip(of_b.evaluator_inputs.strings.iter())
    {
        let choice = string.0[0] & 1 == 1;
        ones += usize::from(choice);
        assert!(string == if choice { r ^ delta } else { r });
    }
    let strings = of_b.evaluator_inputs.strings.len();
    assert!(strings < 64 || (1..strings).contains(&ones));
    for (&mask, &bit) in of_a.masks.messages.iter().zip(of_b.masks.bits.iter()) {
        assert_eq!((mask.0[0] & 1) as u8, bit);
    }
}

/// Asserts that no commitment was used twice.
fn assert_distinct(epochs: &[GarblerEpoch]) {
    let labels = |epoch: &GarblerEpoch| -> Vec<[u64; 2]> {
        let ands = epoch.ands.messages.as_flattened().iter();
        let inputs = [
            &epoch.garbler_inputs,
            &epoch.evaluator_inputs.labels,
            &epoch.anchors,
        ];
        let plain = inputs.into_iter().chain([&epoch.masks, &epoch.ports]);
        ands.chain(plain.flat_map(|all| all.messages.iter()))
            .map(|block| block.0)
            .collect()
    };
    let mut labels: Vec<[u64; 2]> = epochs.iter().flat_map(labels).collect();
    let count = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), count, "a commitment was used twice");
}

/// The stocks that the epochs make.
fn stocks(of_a: Vec<GarblerEpoch>, of_b: Vec<EvaluatorEpoch>) -> (GarblerStock, EvaluatorStock) {
    let (mut stock_a, mut stock_b) = (GarblerStock::default(), EvaluatorStock::default());
    of_a.into_iter().for_each(|epoch| stock_a.push(epoch));
    of_b.into_iter().for_each(|epoch| stock_b.push(epoch));
    (stock_a, stock_b)
}

#[test]
fn what_is_generated_is_sound() {
    let world = World::random(2);
    let (a, of_a, b, of_b) = succeed(&world, &[SMALL], |_| ());
    assert_eq!(of_a.len(), 1);
    assert_committed(
        &b,
        &Commitments {
            messages: vec![*a.delta].into(),
            shares: vec![*a.delta_share].into(),
        },
        &[*b.delta_share],
    );
    assert_eq!(a.delta.0[0] & 1, 1);
    of_a.iter()
        .zip(&of_b)
        .for_each(|(of_a, of_b)| assert_sound(&a, of_a, &b, of_b));
    let (a, b) = stocks(of_a, of_b);
    assert_eq!(a.left(), b.left());
    assert!(a.left().covers(&SMALL).is_ok());
}

/// The numbers of the gates and authenticators of an epoch.
fn numbers_of(epoch: &EvaluatorEpoch) -> Vec<u64> {
    let mut numbers = Vec::new();
    let gates = &epoch.ands.gates;
    let of_gates = gates
        .numbers()
        .iter()
        .map(|&number| gates.base().number + u64::from(number));
    // A group of buckets may be padded with gates 0.
    numbers.extend(of_gates.take(gates.len() / 4 * 4 * gates.beta()));
    for anchors in [&epoch.garbler_inputs.anchors, &epoch.anchors.anchors] {
        numbers.extend(
            anchors
                .numbers
                .iter()
                .map(|&number| anchors.base.number + u64::from(number)),
        );
    }
    for gadgets in [
        &epoch.ands.authenticators,
        &epoch.garbler_inputs.authenticators,
        &epoch.evaluator_inputs.authenticators,
    ] {
        numbers.extend(
            gadgets
                .numbers
                .iter()
                .map(|&number| gadgets.base.number + u64::from(number)),
        );
    }
    numbers
}

/// Several calls, and several epochs in a call, go on under one `Δ` without using a number or a commitment twice.
#[test]
fn generate_goes_on() {
    const ORDERS: &[Order] = &[
        SMALL,
        Order {
            ports: 3,
            ..Order::NOTHING
        },
        Order {
            masks: 3,
            evaluator_inputs: 20,
            ..Order::NOTHING
        },
        Order::NOTHING,
        Order {
            ands: 1000,
            ports: 100,
            anchors: 1,
            ..Order::NOTHING
        },
    ];
    let world = World::random(2);
    let (a, of_a, b, of_b) = succeed(&world, ORDERS, |config| config.epoch = 400);
    // 2, 1, 1, 0 and 3 epochs.
    assert_eq!(of_a.len(), 7);
    of_a.iter()
        .zip(&of_b)
        .for_each(|(of_a, of_b)| assert_sound(&a, of_a, &b, of_b));
    let mut numbers: Vec<u64> = of_b.iter().flat_map(numbers_of).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    assert_distinct(&of_a);

    let (mut a, mut b) = stocks(of_a, of_b);
    assert_eq!(a.left(), b.left());
    // Items are used once, in order, over the borders of epochs.
    let all = a.left();
    let first = a.take_ports(600).unwrap();
    let then = a.take_ports(10).unwrap();
    assert!(first.messages.iter().all(|label| !then.messages.contains(label)));
    let buckets = b.take_ands(all.ands as usize - 1).unwrap();
    assert_eq!(
        buckets.iter().map(|run| run.len()).sum::<usize>() as u64,
        all.ands - 1
    );
    assert!(buckets.len() > 2);
    let short = |wanted, left| Short {
        kind: "AND gates",
        wanted,
        left,
    };
    assert_eq!(b.take_ands(2).unwrap_err(), short(2, 1));
    assert_eq!(b.take_ands(1).unwrap().len(), 1);
    assert_eq!(b.take_ands(1).unwrap_err(), short(1, 0));
    assert_eq!(a.left().ports, all.ports - 610);
    let error = a.take_masks(all.masks as usize + 1).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Exhausted(_)), "{error}");
    assert_eq!(a.left().masks, all.masks);
}

#[test]
fn different_orders_are_named() {
    let config = Config::new("test");
    let order = Order::from_counts([1, 0, 0, 0, 0, 300]);
    let (ours, theirs) = (agreed(&order, &config, 2), agreed(&order.times(2), &config, 2));
    assert!(compare(&ours, &ours, PartyId(1)).is_ok());
    let error = compare(&theirs, &ours, PartyId(1)).unwrap_err().to_string();
    assert!(
        error.contains(
            "here 1 AND gates, 300 circuit inputs in epochs of 1703936 at security 40 by 2 workers"
        ),
        "{error}"
    );
    assert!(error.contains("there 2 AND gates, 600 circuit inputs"), "{error}");
}

/// Several workers, each with less or more than one batch of something, and some with nothing.
#[test]
fn workers_share_the_work() {
    const ORDERS: &[Order] = &[
        SMALL,
        Order {
            ands: 4000,
            garbler_inputs: 1,
            evaluator_inputs: 700,
            anchors: 5,
            masks: 40_000,
            ports: 513,
        },
        Order {
            ports: 1,
            ..Order::NOTHING
        },
    ];
    let world = World::random(2).labels(&["main", "second", "third"]);
    let (a, of_a, b, of_b) = succeed(&world, ORDERS, |_| ());
    assert_eq!(of_a.len(), 3);
    assert_distinct(&of_a);
    of_a.iter()
        .zip(&of_b)
        .for_each(|(of_a, of_b)| assert_sound(&a, of_a, &b, of_b));
    let (a, b) = stocks(of_a, of_b);
    assert_eq!(a.left(), b.left());
}

/// What the garbler sends is what is said before, but for chance in how much is checked, and the OTs' few bytes.
#[test]
fn traffic_is_as_estimated() {
    let order = Order {
        ands: 3000,
        anchors: 20,
        ..SMALL
    };
    let results = World::random(2).run(move |mut context| {
        let mut config = config(&context);
        let expected = estimate(&order, &config)?[0].traffic;
        let mut channel: Box<dyn Channel> = context.take(PartyId(1 - context.me.0), "main");
        let channels = std::slice::from_mut(&mut channel);
        if context.me == GARBLER {
            let mut keys = GarblerKeys::setup(&mut *channels[0], &mut config)?;
            let before = channels[0].meter().payload_sent;
            keys.generate(channels, &mut config, &order, &mut |_| Ok(()))?;
            return Ok((channels[0].meter().payload_sent - before, expected));
        }
        let mut keys = EvaluatorKeys::setup(&mut *channels[0], &mut config)?;
        let before = channels[0].meter().payload_received;
        keys.generate(channels, &mut config, &order, &mut |_| Ok(()))?;
        Ok::<_, Error>((channels[0].meter().payload_received - before, expected))
    });
    for result in results {
        let (measured, expected) = result.unwrap();
        let difference = measured.abs_diff(expected);
        assert!(
            difference * 200 < expected,
            "{measured} bytes instead of {expected}"
        );
    }
}

/// A session that failed generates nothing more.
/// Whatever an epoch makes, the evaluator draws when it has it, so no challenge of a proof is older than what it proves.
#[test]
fn every_epoch_binds_the_proofs_that_follow() {
    const MASKS: Order = Order {
        masks: 3,
        ..Order::NOTHING
    };
    const PORTS: Order = Order {
        ports: 3,
        ..Order::NOTHING
    };
    const ORDERS: [Order; 5] = [MASKS, PORTS, SMALL, MASKS, PORTS];
    let world = World::random(2);
    let bounds = world.run(|mut context| {
        let mut config = config(&context);
        let mut channels = [context.take(PartyId(1 - context.me.0), "main")];
        let mut bounds = Vec::new();
        if context.me == GARBLER {
            let mut keys = GarblerKeys::setup(&mut *channels[0], &mut config)?;
            bounds.push(keys.counters.bound());
            for order in &ORDERS {
                keys.generate(&mut channels, &mut config, order, &mut |_| Ok(()))?;
                bounds.push(keys.counters.bound());
            }
        } else {
            let mut keys = EvaluatorKeys::setup(&mut *channels[0], &mut config)?;
            bounds.push(keys.counters.bound());
            for order in &ORDERS {
                keys.generate(&mut channels, &mut config, order, &mut |_| Ok(()))?;
                bounds.push(keys.counters.bound());
            }
        }
        channels[0].close()?;
        Ok::<_, Error>(bounds)
    });
    let [Ok(garbler), Ok(evaluator)] = &bounds[..] else {
        panic!("{bounds:?}")
    };
    assert_eq!(garbler, evaluator);
    for (i, bound) in garbler.iter().enumerate() {
        assert!(!garbler[..i].contains(bound), "epoch {i} is bound to nothing new");
    }
}
