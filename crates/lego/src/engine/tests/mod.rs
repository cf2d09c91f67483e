//! Deviating parties inside whole sessions: what they do to material, and what they send.

mod attacks;
mod recovery;

use std::any::Any;
use std::slice::from_mut;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_primitives::Sampler;
use cenote_testkit::{PartyContext, World};

use super::*;
use crate::counters::Counters;
use crate::material::{Epoch, EvaluatorEpoch, GarblerEpoch};
use crate::offline::challenge::Population;
use crate::offline::garbler::Maker;
use crate::offline::shape::Shape;
use crate::online::roles::EVALUATOR;
use crate::party::Party;
use cenote_garble::{self as garble, Authenticator, Base, GateTable};
use cenote_primitives::{Block, Entropy};
use cenote_session::{Engine, Parties};
use zeroize::Zeroizing;

/// What a garbler does to its gates and authenticators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cheat {
    /// Nothing.
    None,
    /// Some gates are NAND gates: their output is committed to as its opposite.
    Nand,
    /// Some gates give the opposite output for one of the two labels of their left wire.
    HalfWrong,
    /// Some gates give nonsense for some labels.
    Garbage,
    /// The first authenticators accept the label of 0 only.
    AcceptsZero,
}

/// Cheats with some gates, chosen by a seed, or with the first authenticators.
struct Cheater {
    cheat: Cheat,
    /// Of 256 gates so many are bad; or so many authenticators.
    bad: u32,
    chosen: Sampler,
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
        for (table, output) in tables.iter_mut().zip(outputs) {
            if self.chosen.next_u32() % 256 < self.bad {
                match self.cheat {
                    Cheat::None | Cheat::AcceptsZero => {}
                    Cheat::Nand => *output ^= delta,
                    Cheat::HalfWrong => table.garbler ^= delta,
                    Cheat::Garbage => table.evaluator ^= Block([9, 10]),
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
        for i in 0..(self.bad as usize).min(wires.len()) {
            let accepts = |authenticator: &Authenticator, label| {
                garble::accepts(first.start, first.number + i as u64, authenticator, label)
            };
            for half in 0..2 {
                let mut spoilt = authenticators[i];
                spoilt.0[half] ^= Block([0, 1]);
                if accepts(&spoilt, wires[i]) && !accepts(&spoilt, wires[i] ^ delta) {
                    authenticators[i] = spoilt;
                    break;
                }
            }
        }
        self.bad = self.bad.saturating_sub(wires.len() as u32);
    }
}

/// An epoch of which nothing is checked, so that whatever the garbler does is not caught.
fn unchecked(order: Order) -> Shape {
    let (beta, alpha, beta_input, alpha_input) = (7, 6, 15, 13);
    let population = |needed: u64| Population {
        generated: needed.next_multiple_of(512) as usize,
        needed: needed as usize,
        threshold: 0,
    };
    let [inputs, anchors] = [
        order.garbler_inputs + order.evaluator_inputs,
        order.garbler_inputs + order.anchors,
    ];
    let order = Order {
        masks: (order.evaluator_inputs + order.masks).next_multiple_of(512) - order.evaluator_inputs,
        ports: order.ports.next_multiple_of(512),
        ..order
    };
    Shape {
        beta,
        alpha,
        beta_input,
        alpha_input,
        gates: population(order.ands * beta as u64 + anchors * beta_input as u64),
        authenticators: population(order.ands * alpha as u64 + inputs * alpha_input as u64),
        order,
        parameters: None,
    }
}

/// One party's keys and what it made with them.
enum Material {
    Garbler(GarblerKeys, Vec<GarblerEpoch>),
    Evaluator(EvaluatorKeys, Vec<EvaluatorEpoch>),
}

/// A party's configuration, and its channel to the other.
fn connect(context: &mut PartyContext, seed: u64) -> (Config, Box<dyn Channel>) {
    let config = Config {
        entropy: Entropy::for_tests(seed),
        ..Config::new("test")
    };
    (config, context.take(PartyId(1 - context.me.0), "main"))
}

fn seed_of(context: &PartyContext) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| context.seed[i]))
}

/// Sets up and makes `shape`, by a garbler that cheats.
fn make(
    context: &mut PartyContext,
    shape: &Shape,
    cheat: Cheat,
    bad: u32,
) -> Result<(Config, Box<dyn Channel>, Material)> {
    let seed = seed_of(context);
    let (mut config, mut channel) = connect(context, seed);
    let material = if context.me == GARBLER {
        let mut keys = GarblerKeys::setup(&mut *channel, &mut config)?;
        let chosen = Sampler::new(Block([u64::from(bad), seed]));
        let cheater = &mut [Cheater { cheat, bad, chosen }];
        let epoch = keys.epoch(from_mut(&mut channel), shape, cheater)?;
        Material::Garbler(keys, vec![epoch])
    } else {
        let mut keys = EvaluatorKeys::setup(&mut *channel, &mut config)?;
        let epoch = keys.epoch(from_mut(&mut channel), &mut config, shape)?;
        Material::Evaluator(keys, vec![epoch])
    };
    Ok((config, channel, material))
}

fn engine(me: PartyId, channel: Box<dyn Channel>, config: Config, material: Material) -> LegoEngine {
    let side: Box<dyn Side> = match material {
        Material::Garbler(keys, epochs) => {
            let mut garbler = Garbler::new(keys, None);
            epochs
                .into_iter()
                .for_each(|epoch| garbler.supply.stock.push(epoch));
            Box::new(garbler)
        }
        Material::Evaluator(keys, epochs) => {
            let mut evaluator = Evaluator::new(keys, None, 2);
            epochs
                .into_iter()
                .for_each(|epoch| evaluator.supply.stock.push(epoch));
            Box::new(evaluator)
        }
    };
    LegoEngine::with_side(me, vec![channel], config, side)
}

/// A session whose material is `shape`, made by a garbler that cheats.
fn start(context: &mut PartyContext, shape: &Shape, cheat: Cheat, bad: u32) -> Result<LegoEngine> {
    let (config, channel, material) = make(context, shape, cheat, bad)?;
    Ok(engine(context.me, channel, config, material))
}

/// What both parties have made, as they would store it, for many sessions: making it takes far longer than computing with it.
struct Made([Stored; 2]);

struct Stored {
    id: [u8; 32],
    keys: Zeroizing<Vec<u8>>,
    /// Of each kind of items, how many and which.
    items: [(usize, Zeroizing<Vec<u8>>); 6],
}

impl Stored {
    fn write<K: Party>(mut keys: K, epochs: &[Epoch<K>]) -> Result<Self> {
        let [epoch] = epochs else {
            panic!("one epoch is made")
        };
        let mut items: [_; 6] = std::array::from_fn(|_| (0, Zeroizing::default()));
        for ((kind, count), items) in (0..).zip(epoch.counts()).zip(&mut items) {
            *items = (count, epoch.pack(kind, 0..count)?);
        }
        Ok(Self {
            id: keys.counters().id(),
            keys: keys.write(),
            items,
        })
    }

    fn read<K: Party>(&self, session: &str) -> Result<(K, Vec<Epoch<K>>)> {
        let counters = Counters::of_stored(session, self.id, Block([3, 5]));
        let keys = K::read(&self.keys, counters).expect("it was written so");
        let items = (0..).zip(&self.items);
        let epochs = items.map(|(kind, (count, items))| Epoch::unpack(kind, items, *count));
        Ok((keys, epochs.collect::<Result<_>>()?))
    }
}

impl Made {
    /// Makes `shape`, by a garbler that cheats.
    fn new(seed: u64, shape: Shape, cheat: Cheat, bad: u32) -> Arc<Self> {
        let made = World::new(2, seed).run(move |mut context| {
            let (_, mut channel, material) = make(&mut context, &shape, cheat, bad)?;
            channel.close()?;
            match material {
                Material::Garbler(keys, epochs) => Stored::write(keys, &epochs),
                Material::Evaluator(keys, epochs) => Stored::write(keys, &epochs),
            }
        });
        let mut made = made.into_iter().map(Result::unwrap);
        Arc::new(Self(std::array::from_fn(|_| made.next().expect("two parties"))))
    }

    /// A session with that material.
    fn start(&self, context: &mut PartyContext) -> Result<LegoEngine> {
        let seed = seed_of(context);
        let (config, channel) = connect(context, seed);
        let stored = &self.0[context.me.index()];
        let material = if context.me == GARBLER {
            let (keys, epochs) = stored.read(&config.session)?;
            Material::Garbler(keys, epochs)
        } else {
            let (keys, epochs) = stored.read(&config.session)?;
            Material::Evaluator(keys, epochs)
        };
        Ok(engine(context.me, channel, config, material))
    }
}

/// Makes another epoch, by a garbler that cheats.
fn make_more(engine: &mut LegoEngine, shape: &Shape, cheat: Cheat, bad: u32) -> Result<()> {
    let LegoEngine {
        side,
        channels,
        config,
        ..
    } = engine;
    let side: &mut dyn Any = side.as_deref_mut().expect("a session that goes on");
    if let Some(Garbler { supply, .. }) = side.downcast_mut() {
        let chosen = Sampler::new(Block([u64::from(bad), 1]));
        let cheater = &mut [Cheater { cheat, bad, chosen }];
        let epoch = supply.keys.epoch(channels, shape, cheater)?;
        supply.stock.push(epoch);
    } else if let Some(Evaluator { supply, .. }) = side.downcast_mut() {
        let epoch = supply.keys.epoch(channels, config, shape)?;
        supply.stock.push(epoch);
    }
    Ok(())
}

/// This party's side, if it is `S`.
fn side_mut<S: Side>(engine: &mut LegoEngine) -> Option<&mut S> {
    let side: &mut dyn Any = engine.side.as_deref_mut()?;
    side.downcast_mut()
}

/// Two steps of arithmetic on 4 bits of each party: `x · y + x`, and which of them is larger.
fn plan() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 4, BitOrder::Lsb);
    let y = b.input("y", 4, BitOrder::Lsb);
    let goal = cenote_circuit::library::Goal::FewestAnds;
    let product = cenote_circuit::library::multiply(&mut b, &x, &y, goal);
    let sum = cenote_circuit::library::add(&mut b, &product, &x, goal);
    let less = cenote_circuit::library::less_than(&mut b, &x, &y, goal);
    b.output("sum", &sum, BitOrder::Lsb);
    b.output("less", &[!less], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// A 4-bit number in every lane.
fn number(value: usize, lanes: usize) -> BitMatrix {
    BitMatrix::from_fn(4, lanes, |row, lane| (value + lane) >> row & 1 == 1)
}
