//! Sessions whose pools are filled without checks, so that a cheating garbler has in them what it wants.
//!
//! Everything is drawn from seeds. A session that is run first without cheating tells which gate goes where.

mod buckets;
mod history;
mod messages;
mod reactive;
mod settled;
mod solderings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use cenote_circuit::{BitOrder, Builder};
use cenote_net::{ChannelOptions, Label, memory_pair};
use cenote_params::LogProb;
use cenote_params::pool::{self, Extraction};
use cenote_primitives::Block;
use cenote_testkit::{Adversary, Message};

use super::*;
use crate::gadget::words;
use crate::online::Supply;
use crate::setup::colour;
use crate::setup::tests::{both, keys};

/// AND gates of a pool.
const POOL: usize = 64;

/// Gates of a bucket.
const BUCKET: usize = 3;

/// Gates that a wire is anchored to.
const ANCHOR: usize = 5;

const GARBLER: PartyId = PartyId(0);
const EVALUATOR: PartyId = PartyId(1);

/// What is added to one half of a gate's table: with Δ the gate gives a valid label where it gives a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Delta,
    Garbage,
}

/// The gates that are bad, by number, and what is added to the two halves of their tables.
type Faults = BTreeMap<u64, [Fault; 2]>;

/// A gate in a pool.
#[derive(Clone, Copy, Debug)]
struct Gate {
    number: u64,
    /// The last bit of its left operand's 0-label.
    colour: bool,
}

/// Parameters of a toy.
fn toy() -> Sizes {
    static TOY: OnceLock<Sizes> = OnceLock::new();
    let made = || {
        let request = pool::Request::new(1, POOL as u64);
        let anchor = Extraction {
            bucket: ANCHOR as u32,
            error: LogProb::from_probability(0.5),
        };
        Sizes {
            pool: pool::check(&request, BUCKET as u32, 0.5).unwrap(),
            anchor,
            ..crate::setup::tests::sizes()
        }
    };
    TOY.get_or_init(made).clone()
}

/// Both sides of a session with full pools.
struct Session {
    garbler: (GarblerKeys, Common),
    evaluator: (EvaluatorKeys, Common),
    /// How long a party waits for a message.
    timeout: Duration,
}

/// What came of a program.
struct Outcome<T> {
    garbler: Result<T>,
    evaluator: Result<T>,
    /// Whether the evaluator has noticed that the garbler cheats.
    cheated: bool,
    /// What the evaluator sent.
    sent: Vec<Message>,
}

impl<T> Outcome<T> {
    /// The results of both, which must not have failed.
    fn unwrap(self) -> [T; 2] {
        [self.garbler.unwrap(), self.evaluator.unwrap()]
    }
}

impl Session {
    /// With so many gates in the pool and its buffer, of which some are bad and none is checked.
    fn new(seed: u64, gates: usize, faults: &Faults) -> Self {
        Self::with(toy(), seed, [gates, 0], faults)
    }

    /// With so many gadgets of each kind. Their gates are numbered through.
    fn with(sizes: Sizes, seed: u64, gadgets: [usize; 2], faults: &Faults) -> Self {
        let (mut garbler, mut evaluator) = keys(seed);
        let (at_garbler, at_evaluator) = (Cell::garbler(sizes.blocks()), Cell::evaluator(sizes.blocks()));
        let mut supply = Common::new(sizes.clone(), at_garbler, 64, Shape::garbler_blocks).unwrap();
        let mut stock = Common::new(sizes, at_evaluator, 64, Shape::evaluator_blocks).unwrap();
        let mut first = 0;
        for (kind, gadgets) in [Kind::And, Kind::Mux].into_iter().zip(gadgets) {
            if gadgets == 0 {
                continue;
            }
            let width = supply.supply(kind).shape.width;
            let adversary = spoiling(faults.clone(), &garbler.delta, width, first);
            let (made, received) = both(
                Some(&adversary),
                |channel| {
                    let Supply { pool, shape, .. } = supply.supply_mut(kind);
                    garbler.refill(channel, pool, *shape, gadgets, 0)
                },
                |channel| {
                    let Supply { pool, shape, .. } = stock.supply_mut(kind);
                    evaluator.refill(channel, pool, *shape, gadgets, 0)
                },
            );
            made.and(received).unwrap();
            first += (gadgets * width) as u64;
        }
        Self {
            garbler: (garbler, supply),
            evaluator: (evaluator, stock),
            timeout: Duration::from_secs(20),
        }
    }

    /// The gates of each draw, of so many draws of so many gates.
    fn order(seed: u64, gates: usize, draws: &[(usize, usize)]) -> Vec<Vec<Gate>> {
        let Self {
            mut garbler,
            mut evaluator,
            ..
        } = Self::new(seed, gates, &Faults::new());
        let mut order = Vec::new();
        for &(count, each) in draws {
            let [mut macs, mut numbers] = [(); 2].map(|()| Vec::new());
            let Supply { pool, shape, .. } = garbler.1.supply_mut(Kind::And);
            pool.draw(count, each, &mut macs).unwrap();
            let Supply { pool, .. } = evaluator.1.supply_mut(Kind::And);
            pool.draw(count, each, &mut numbers).unwrap();
            let records = macs.chunks_exact(shape.garbler_blocks());
            let records = records.zip(numbers.chunks_exact(shape.evaluator_blocks()));
            let drawn: Vec<Gate> = records
                .map(|(garblers, evaluators)| Gate {
                    number: words(evaluators, shape.keys())[shape.wires()],
                    colour: colour(&garblers[shape.label(shape.left(0))]),
                })
                .collect();
            order.extend(drawn.chunks_exact(each).map(<[Gate]>::to_vec));
        }
        order
    }

    /// Runs a program at both parties. What the garbler sends passes through the hands of `adversary`.
    fn run<T: Send>(
        self,
        adversary: Option<&Adversary>,
        program: impl Fn(&mut JimuEngine) -> Result<T> + Sync,
    ) -> Outcome<T> {
        let passing = Adversary::with(|_, _, message| vec![message]);
        self.run_between([adversary.unwrap_or(&passing), &passing], program)
    }

    /// The same with an adversary at each party.
    fn run_between<T: Send>(
        self,
        adversaries: [&Adversary; 2],
        program: impl Fn(&mut JimuEngine) -> Result<T> + Sync,
    ) -> Outcome<T> {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let recorder = sent.clone();
        let recording = Adversary::with(move |_, _, message| {
            recorder.lock().unwrap().push(message.clone());
            vec![message]
        });
        let options = ChannelOptions::with_timeout(self.timeout);
        let (to_evaluator, to_garbler) = memory_pair(GARBLER, EVALUATOR, options);
        let label = || Label::from("main");
        let to_evaluator = Box::new(adversaries[0].wrap(label(), Box::new(to_evaluator)));
        let to_garbler = Box::new(adversaries[1].wrap(label(), Box::new(to_garbler)));
        let to_garbler = Box::new(recording.wrap(label(), to_garbler));
        let ((garbler, supply), (evaluator, stock)) = (self.garbler, self.evaluator);
        let sizes = supply.sizes.clone();
        let garbler = Box::new(Garbler::new(garbler, supply));
        let mut garbler = engine(GARBLER, to_evaluator, sizes.clone(), garbler);
        let evaluator = Box::new(Evaluator::new(evaluator, stock));
        let mut evaluator = engine(EVALUATOR, to_garbler, sizes, evaluator);
        let (garbler, evaluator, cheated) = std::thread::scope(|scope| {
            let program = &program;
            let garbler = scope.spawn(move || program(&mut garbler));
            let evaluated = program(&mut evaluator);
            let cheated = evaluator.peer_cheated();
            drop(evaluator);
            (
                garbler.join().expect("the garbler does not panic"),
                evaluated,
                cheated,
            )
        });
        let sent = std::mem::take(&mut *sent.lock().unwrap());
        Outcome {
            garbler,
            evaluator,
            cheated,
            sent,
        }
    }
}

fn engine(me: PartyId, channel: Box<dyn Channel>, sizes: Sizes, side: Box<dyn Side>) -> JimuEngine {
    JimuEngine {
        me,
        channel: Some(channel),
        garbler: GARBLER,
        sizes,
        side: Some(side),
        circuits: Circuits::default(),
        ledger: Ledger::default(),
        cheated: false,
        used: None,
    }
}

/// A garbler that puts faults into the tables of gates that it sends.
fn spoiling(faults: Faults, delta: &[Block], width: usize, mut first: u64) -> Adversary {
    let sizes = toy().labels;
    let (length, parity) = (
        sizes.length() as usize,
        (sizes.length() - sizes.message()) as usize,
    );
    let hashes = width * (parity + length) + parity;
    let delta: Vec<u8> = bytemuck::cast_slice(delta).to_vec();
    Adversary::with(move |_, _, mut message: Message| {
        if message.step == steps::GADGETS {
            let gadgets = message.body.len() / (hashes + width * 2 * delta.len());
            let tables = &mut message.body[gadgets * hashes..];
            for (number, table) in (first..).zip(tables.chunks_exact_mut(2 * delta.len())) {
                let Some(faults) = faults.get(&number) else {
                    continue;
                };
                for (half, fault) in table.chunks_exact_mut(delta.len()).zip(faults) {
                    for (byte, delta) in half.iter_mut().zip(&delta) {
                        *byte ^= match fault {
                            Fault::None => 0,
                            Fault::Delta => *delta,
                            Fault::Garbage => delta.rotate_left(3) ^ 0x5a ^ number as u8,
                        };
                    }
                }
            }
            first += (gadgets * width) as u64;
        }
        vec![message]
    })
}

/// One wire in one lane.
fn bit(bit: bool) -> BitMatrix {
    BitMatrix::from_fn(1, 1, |_, _| bit)
}

/// A wire of `owner`'s with `value`.
fn input(engine: &mut JimuEngine, owner: PartyId, value: &BitMatrix) -> Result<JimuWires> {
    let given = (engine.me() == owner).then_some(value);
    engine.input(owner, value.rows(), value.lanes(), given)
}

/// The AND of two wires.
fn and() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}
