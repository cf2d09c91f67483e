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

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{ChannelOptions, Label, memory_pair};
use cenote_params::LogProb;
use cenote_params::pool::{self, Extraction};
use cenote_pool::Pool;
use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Engine, Parties};
use cenote_testkit::kept::{and, input};
use cenote_testkit::{Adversary, Message};
use zeroize::Zeroizing;

use super::*;
use crate::gadget::Shape;
use crate::gadget::words;
use crate::offline::{Delivery, Make, Order};
use crate::settings::MUX_WIDTH;
use crate::setup::colour;
use crate::setup::tests::{Sides, both, keys};
use crate::steps;

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
    keys: Sides,
    sizes: Sizes,
    /// What was made first: at the garbler, and at the evaluator.
    made: [Vec<Delivery>; 2],
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
        let mut keys = keys(seed);
        let ((_, garbler), (_, evaluator)) = &mut keys;
        let (mut made, mut first) = ([Vec::new(), Vec::new()], 0);
        let kinds = [(GadgetKind::And, 1), (GadgetKind::Mux, MUX_WIDTH)];
        for ((kind, width), gadgets) in kinds.into_iter().zip(gadgets) {
            if gadgets == 0 {
                continue;
            }
            let adversary = spoiling(faults.clone(), &garbler.secrets.delta, width, first);
            let blocks = sizes.blocks();
            let order = || Order {
                kind,
                shape: Shape { blocks, width },
                count: gadgets,
                threshold: 0,
                spare: Zeroizing::default(),
            };
            let (sent, received) = both(
                Some(&adversary),
                |channel| garbler.make(order(), channel),
                |channel| evaluator.make(order(), channel),
            );
            made[0].push(sent.unwrap());
            made[1].push(received.unwrap());
            first += (gadgets * width) as u64;
        }
        Self {
            keys,
            sizes,
            made,
            timeout: Duration::from_secs(20),
        }
    }

    /// The gates of each draw, of so many draws of so many gates.
    fn order(seed: u64, gates: usize, draws: &[(usize, usize)]) -> Vec<Vec<Gate>> {
        let Self { made, sizes, .. } = Self::new(seed, gates, &Faults::new());
        let shape = Shape {
            blocks: sizes.blocks(),
            width: 1,
        };
        let records = [shape.garbler_blocks(), shape.evaluator_blocks()];
        let [mut macs, mut numbers] = records.map(|blocks| Pool::new(POOL, blocks, BUCKET));
        for (pool, made) in [&mut macs, &mut numbers].into_iter().zip(made) {
            for Delivery {
                records, kept, coin, ..
            } in made
            {
                pool.refill(records, kept, coin);
            }
        }
        let mut order = Vec::new();
        for &(count, each) in draws {
            let [mut garblers, mut evaluators] = [(); 2].map(|()| Vec::new());
            let buckets = (count * each).div_ceil(BUCKET);
            macs.draw(buckets, &mut garblers).unwrap();
            numbers.draw(buckets, &mut evaluators).unwrap();
            let records = garblers.chunks_exact(shape.garbler_blocks());
            let records = records.zip(evaluators.chunks_exact(shape.evaluator_blocks()));
            let records = records.take(count * each);
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
        let options = || ChannelOptions::with_timeout(self.timeout);
        let pairs = ["main", "pool"].map(|name| {
            let (to_evaluator, to_garbler) = memory_pair(GARBLER, EVALUATOR, options());
            let label = || Label::from(name);
            let to_evaluator: Box<dyn Channel> =
                Box::new(adversaries[0].wrap(label(), Box::new(to_evaluator)));
            let to_garbler = Box::new(adversaries[1].wrap(label(), Box::new(to_garbler)));
            let to_garbler: Box<dyn Channel> = Box::new(recording.wrap(label(), to_garbler));
            (to_evaluator, to_garbler)
        });
        let [(to_evaluator, pool_to_evaluator), (to_garbler, pool_to_garbler)] = {
            let [main, pool] = pairs;
            [(main.0, pool.0), (main.1, pool.1)]
        };
        let ((garbler, garblers_maker), (evaluator, evaluators_maker)) = self.keys;
        let [garblers, evaluators] = self.made;
        let mut garbler = engine(
            GARBLER,
            [to_evaluator, pool_to_evaluator],
            &self.sizes,
            Keys::Garbler(garbler, garblers_maker),
            garblers,
        );
        let mut evaluator = engine(
            EVALUATOR,
            [to_garbler, pool_to_garbler],
            &self.sizes,
            Keys::Evaluator(evaluator, evaluators_maker),
            evaluators,
        );
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

fn engine(
    me: PartyId,
    [channel, of_pool]: [Box<dyn Channel>; 2],
    sizes: &Sizes,
    keys: Keys,
    made: Vec<Delivery>,
) -> JimuEngine {
    let start = |make| Maker::start(make, of_pool, channel.interrupter());
    let supplied = Supplied {
        buffers: [64; 2],
        ahead: [0; 2],
        copies: [None, None],
        kept: None,
        session: 0,
    };
    let mut side = keys.side(sizes, supplied, start).unwrap();
    for Delivery {
        kind,
        records,
        kept,
        coin,
    } in made
    {
        side.common_mut()
            .supply_mut(kind)
            .pool
            .refill(records, kept, coin);
    }
    JimuEngine {
        me,
        channel: Some(channel),
        garbler: GARBLER,
        sizes: sizes.clone(),
        side: Some(side),
        circuits: Recent::new(Circuit::KEPT, Circuit::bytes),
        ledger: Ledger::default(),
        ends: 0,
        has_cheated: false,
        announced: false,
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
