//! The folder by itself, and both parties making, taking, crashing, and being put back.

mod damage;

use std::fs;

use cenote_net::{AbortReason, Channel};
use cenote_session::MESSAGE_FORM;
use cenote_store::{Run, Runs};
use cenote_testkit::{Adversary, Between, Message, PartyContext, Tapped, World};
use tempfile::TempDir;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::lot::PROTOCOL;
use super::*;
use crate::material::{Commitments, EvaluatorStock, GarblerStock};
use crate::offline::tests::{EVALUATOR, GARBLER, SMALL, assert_committed, config};
use crate::order::Order;
use crate::settings::Config;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use crate::steps::{PROVE_GENERATE, STORED};
use cenote_primitives::Block;
use cenote_session::Error;

fn key() -> StoreKey {
    StoreKey::from_bytes([7; 32])
}

/// What both parties have on disk.
struct Disks([TempDir; 2]);

impl Disks {
    fn new() -> Self {
        Self([(); 2].map(|()| tempfile::tempdir().unwrap()))
    }

    fn paths(&self) -> [PathBuf; 2] {
        [0, 1].map(|party: usize| self.0[party].path().join("material"))
    }

    /// Makes a lot.
    fn make(&self, orders: &'static [Order]) {
        let paths = self.paths();
        let results = World::random(2).run(move |mut context| {
            let folder = Store::open(&paths[context.me.index()], &key())?;
            let mut config = config(&context);
            config.epoch = 400;
            let mut channel = context.take(other(&context), "main");
            for order in orders {
                let mut told = Order::NOTHING;
                let mut progress = |done| told = done;
                let make = if context.me == GARBLER {
                    make::<GarblerKeys>
                } else {
                    make::<EvaluatorKeys>
                };
                let channels = std::slice::from_mut(&mut channel);
                make(&folder, context.me, channels, &mut config, order, &mut progress)?;
                assert!(told.covers(order).is_ok());
            }
            channel.close()?;
            Ok::<_, Error>(())
        });
        results.into_iter().for_each(|result| result.unwrap());
    }

    fn lots(&self) -> [Vec<StoredLot>; 2] {
        self.paths()
            .map(|path| lots(&Store::open(&path, &key()).unwrap()).unwrap().0)
    }

    /// Copies of both folders.
    fn copy(&self, party: usize) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_all(&self.paths()[party], &copy.path().join("material"));
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn other(context: &PartyContext) -> cenote_net::PartyId {
    cenote_net::PartyId(1 - context.me.0)
}

type GarblersTaking = (GarblerKeys, Drawer<GarblerKeys>);
type EvaluatorsTaking = (EvaluatorKeys, Drawer<EvaluatorKeys>);

/// A session that takes `orders` one after the other, all of which a lot must have. What each party got of each order.
#[expect(clippy::type_complexity, reason = "both sides' keys and stocks")]
fn take(
    disks: &Disks,
    orders: &'static [Order],
) -> std::result::Result<
    (
        (GarblerKeys, Vec<GarblerStock>),
        (EvaluatorKeys, Vec<EvaluatorStock>),
    ),
    Vec<Error>,
> {
    enum Got {
        Garbler(GarblerKeys, Vec<GarblerStock>),
        Evaluator(EvaluatorKeys, Vec<EvaluatorStock>),
    }
    let paths = disks.paths();
    let results = World::random(2).run(move |mut context| {
        let folder = Store::open(&paths[context.me.index()], &key())?;
        let mut config = config(&context);
        let mut channel: Box<dyn Channel> = context.take(other(&context), "main");
        let all = orders.iter().copied().sum();
        let got = if context.me == GARBLER {
            let (keys, mut drawer): GarblersTaking =
                draw::<GarblerKeys>(&folder, context.me, &mut *channel, &mut config, &all)?;
            let mut stocks = Vec::new();
            for order in orders {
                let mut stock = Default::default();
                drawer.take(&mut *channel, order, &mut stock)?;
                assert_eq!(stock.left(), *order);
                stocks.push(stock);
            }
            Got::Garbler(keys, stocks)
        } else {
            let (keys, mut drawer): EvaluatorsTaking =
                draw::<EvaluatorKeys>(&folder, context.me, &mut *channel, &mut config, &all)?;
            let mut stocks = Vec::new();
            for order in orders {
                let mut stock = Default::default();
                drawer.take(&mut *channel, order, &mut stock)?;
                assert_eq!(stock.left(), *order);
                stocks.push(stock);
            }
            Got::Evaluator(keys, stocks)
        };
        channel.close()?;
        Ok(got)
    });
    let mut results = results.into_iter();
    match (results.next(), results.next()) {
        (Some(Ok(Got::Garbler(a, of_a))), Some(Ok(Got::Evaluator(b, of_b)))) => Ok(((a, of_a), (b, of_b))),
        (a, b) => Err([a, b]
            .into_iter()
            .flatten()
            .filter_map(std::result::Result::err)
            .collect()),
    }
}

/// Asserts that both parties' halves belong together, and gives the garbler's labels of what has any.
fn assert_fits(
    a: &GarblerKeys,
    of_a: &mut GarblerStock,
    b: &EvaluatorKeys,
    of_b: &mut EvaluatorStock,
) -> Vec<[u64; 2]> {
    let left = of_a.left();
    let count = |count: u64| count as usize;
    let mut labels = Vec::new();
    let ports = of_a.take_ports(count(left.ports)).unwrap();
    assert_committed(b, &ports, &of_b.take_ports(count(left.ports)).unwrap());
    let masks = of_a.take_masks(count(left.masks)).unwrap();
    let of_masks = of_b.take_masks(count(left.masks)).unwrap();
    assert_committed(b, &masks, &of_masks.shares);
    for (mask, bit) in masks.messages.iter().zip(of_masks.bits.iter()) {
        assert_eq!((mask.0[0] & 1) as u8, *bit);
    }
    let anchors = of_a.take_anchors(count(left.anchors)).unwrap();
    let mut at = 0;
    for run in of_b.take_anchors(count(left.anchors)).unwrap() {
        for anchor in run.range() {
            let label = anchors.messages[at];
            assert!(run.items().anchors.bit(anchor, label ^ *a.delta, *a.delta));
            at += 1;
        }
    }
    assert_inputs_fit(a, of_a, b, of_b);
    let inputs = of_a.take_garbler_inputs(count(left.garbler_inputs)).unwrap();
    let mut at = 0;
    for run in of_b.take_garbler_inputs(count(left.garbler_inputs)).unwrap() {
        for input in run.range() {
            let label = inputs.messages[at];
            assert!(run.items().authenticators.accept(input, label));
            assert!(!run.items().anchors.bit(input, label, *a.delta));
            at += 1;
        }
    }
    let triples = assert_ands_fit(a, of_a, of_b);
    labels.extend(triples.as_flattened().iter().map(|label| label.0));
    for all in [&ports, &masks, &anchors, &inputs] {
        labels.extend(all.messages.iter().map(|label| label.0));
    }
    labels
}

/// Asserts that both parties' halves of the evaluator's inputs belong together.
fn assert_inputs_fit(a: &GarblerKeys, of_a: &mut GarblerStock, b: &EvaluatorKeys, of_b: &mut EvaluatorStock) {
    let count = of_a.left().evaluator_inputs as usize;
    let inputs = of_a.take_evaluator_inputs(count).unwrap();
    let mut at = 0;
    for run in of_b.take_evaluator_inputs(count).unwrap() {
        for input in run.range() {
            let (label, string) = (inputs.labels.messages[at], inputs.strings.messages[at]);
            let items = run.items();
            assert!(items.authenticators.accept(input, label ^ *a.delta));
            assert!(items.strings[input] == string || items.strings[input] == string ^ *a.delta);
            let one = |message: Block, share| Commitments {
                messages: vec![message].into(),
                shares: vec![share].into(),
            };
            assert_committed(b, &one(label, inputs.labels.shares[at]), &[items.shares[input]]);
            assert_committed(
                b,
                &one(string, inputs.strings.shares[at]),
                &[items.string_shares[input]],
            );
            at += 1;
        }
    }
}

/// Asserts that both parties' halves of AND buckets belong together, and gives the garbler's labels.
fn assert_ands_fit(a: &GarblerKeys, of_a: &mut GarblerStock, of_b: &mut EvaluatorStock) -> Vec<[Block; 3]> {
    let count = of_a.left().ands as usize;
    let ands = of_a.take_ands(count).unwrap();
    let triples: Vec<[Block; 3]> = ands.iter().flat_map(|run| run.messages().to_vec()).collect();
    let mut at = 0;
    for run in of_b.take_ands(count).unwrap() {
        let of_run = &triples[at..at + run.len()];
        let wire = |wire: usize| {
            of_run
                .iter()
                .map(|labels| labels[wire] ^ *a.delta)
                .collect::<Vec<_>>()
        };
        let mut outputs = vec![Block::ZERO; run.len()];
        assert!(
            run.items()
                .gates
                .evaluate(run.range().start, &wire(0), &wire(1), &mut outputs)
        );
        assert!(outputs == wire(2));
        for (bucket, &output) in run.range().zip(&outputs) {
            assert!(run.items().authenticators.accept(bucket, output));
        }
        at += run.len();
    }
    triples
}

/// Of several epochs.
const LARGE: Order = Order {
    ands: 900,
    garbler_inputs: 9,
    evaluator_inputs: 11,
    anchors: 5,
    masks: 600,
    ports: 2100,
};

/// What is left of `SMALL` after two of `HALF`.
const REST: Order = Order {
    ands: 10,
    ports: 7,
    ..Order::NOTHING
};

const HALF: Order = Order {
    ands: 130,
    garbler_inputs: 3,
    evaluator_inputs: 5,
    anchors: 2,
    masks: 100,
    ports: 301,
};

#[test]
fn what_is_stored_is_used_once() {
    let disks = Disks::new();
    disks.make(&[SMALL]);
    let [ours, theirs] = disks.lots();
    assert_eq!(
        (ours.len(), ours[0].id, ours[0].left),
        (1, theirs[0].id, theirs[0].left)
    );
    assert!(ours[0].garbler && !theirs[0].garbler && ours[0].security == 40);
    let before = ours[0].left;
    let mut labels = Vec::new();
    for session in 0..2 {
        // Two orders in the first session, and one in the second.
        let orders: &[Order] = if session == 0 {
            &[
                Order {
                    ands: 3,
                    ports: 7,
                    ..Order::NOTHING
                },
                HALF,
            ]
        } else {
            &[HALF]
        };
        let ((a, of_a), (b, of_b)) = take(&disks, orders)
            .map_err(|errors| format!("{errors:?}"))
            .unwrap();
        for (mut of_a, mut of_b) in of_a.into_iter().zip(of_b) {
            labels.extend(assert_fits(&a, &mut of_a, &b, &mut of_b));
        }
    }
    let count = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), count, "something was used twice");
    let [ours, theirs] = disks.lots();
    let taken = HALF.times(2)
        + Order {
            ands: 3,
            ports: 7,
            ..Order::NOTHING
        };
    assert_eq!(ours[0].left, before.beyond(&taken));
    assert_eq!(theirs[0].left, ours[0].left);
    // More than there is: refused at both, and nothing taken.
    let errors = take(&disks, &[HALF, SMALL]).map(|_| ()).unwrap_err();
    assert_eq!(errors.len(), 2);
    assert!(
        errors.iter().all(|error| matches!(error, Error::Exhausted(_))),
        "{errors:?}"
    );
    assert_eq!(disks.lots()[0][0].left, ours[0].left);
}

/// Sessions on stored material make none.
#[test]
fn sources_are_not_stored() {
    let disks = Disks::new();
    disks.make(&[SMALL]);
    let ((mut a, _), _) = take(&disks, &[HALF])
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    let (channel, _peer) = cenote_net::memory_pair(GARBLER, EVALUATOR, Default::default());
    let mut channels: [Box<dyn Channel>; 1] = [Box::new(channel)];
    let error = a
        .generate(&mut channels, &mut Config::new("x"), &SMALL, &mut |_| Ok(()))
        .unwrap_err();
    assert!(matches!(error, Error::Exhausted(_)), "{error}");
}

/// One party's folder is put back to what it was, and its peer is honest: what was used is not used again. Its own record is
/// behind then, and the other's decides.
#[test]
fn one_party_put_back_uses_nothing_twice() {
    for party in [0, 1] {
        let disks = Disks::new();
        disks.make(&[SMALL]);
        let before = disks.copy(party);
        let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[HALF])
            .map_err(|errors| format!("{errors:?}"))
            .unwrap();
        let mut labels = assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
        let path = &disks.paths()[party];
        fs::remove_dir_all(path).unwrap();
        copy_all(&before.path().join("material"), path);
        let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[HALF])
            .map_err(|errors| format!("{errors:?}"))
            .unwrap();
        labels.extend(assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]));
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), count, "something was used twice by party {party}");
    }
}

/// A session that ends between its record and the peer's word wastes material, and that is all.
#[test]
fn a_crash_wastes_what_was_recorded() {
    let disks = Disks::new();
    disks.make(&[SMALL]);
    let before = disks.lots()[0][0].left;
    let paths = disks.paths();
    let results = World::random(2).run(move |mut context| {
        let folder = Store::open(&paths[context.me.index()], &key())?;
        let mut config = config(&context);
        let mut channel = context.take(other(&context), "main");
        if context.me == GARBLER {
            let (_, mut drawer) =
                draw::<GarblerKeys>(&folder, context.me, &mut *channel, &mut config, &HALF)?;
            drawer.take(&mut *channel, &HALF, &mut Default::default())
        } else {
            // It is gone before it takes anything.
            draw::<EvaluatorKeys>(&folder, context.me, &mut *channel, &mut config, &HALF).map(|_| ())
        }
    });
    let lost = matches!(results[0], Err(Error::Net(cenote_net::Error::PeerLost { .. })));
    assert!(lost, "{:?}", results[0]);
    let [ours, theirs] = disks.lots();
    assert_eq!(ours[0].left, before.beyond(&HALF));
    assert_eq!(theirs[0].left, before);
    let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[HALF])
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
    let [ours, theirs] = disks.lots();
    // What only one party has recorded stays with the other, and is never used.
    assert_eq!(ours[0].left, before.beyond(&HALF.times(2)));
    assert_eq!(theirs[0].left, before.beyond(&HALF));
    let ((a, mut of_a), (b, mut of_b)) = take(&disks, &[REST])
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
}

/// The parties' words on what they take must agree.
#[test]
fn taking_different_things_is_refused() {
    let disks = Disks::new();
    disks.make(&[SMALL]);
    let paths = disks.paths();
    let results = World::random(2).run(move |mut context| {
        let folder = Store::open(&paths[context.me.index()], &key())?;
        let mut config = config(&context);
        let mut channel = context.take(other(&context), "main");
        if context.me == GARBLER {
            let (_, mut drawer) =
                draw::<GarblerKeys>(&folder, context.me, &mut *channel, &mut config, &HALF)?;
            drawer.take(&mut *channel, &HALF, &mut Default::default())
        } else {
            let (_, mut drawer) =
                draw::<EvaluatorKeys>(&folder, context.me, &mut *channel, &mut config, &HALF)?;
            let less = Order {
                ports: 1,
                ..Order::NOTHING
            };
            drawer.take(&mut *channel, &less, &mut Default::default())
        }
    });
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(error.check(), Some(MESSAGE_FORM), "{error}");
    }
}

/// A peer that has every other item left does not make this party hold a piece for each.
#[test]
fn items_here_and_there_take_no_more_memory() {
    let disks = Disks::new();
    disks.make(&[SMALL]);
    let folder = Store::open(&disks.paths()[EVALUATOR.index()], &key()).unwrap();
    let mut session = folder.session(EVALUATOR, PROTOCOL, |_| true).unwrap();
    session.hold(0, false).unwrap();
    let other = |had: &Runs, left: &Runs| {
        let odd = left
            .numbers()
            .filter(|(_, number)| had.is_empty() && number % 2 == 1);
        Ok(odd
            .map(|(kind, number)| Run::new(kind, number..number + 1))
            .collect())
    };
    session
        .claim(&mut [], MESSAGE_FORM, other, |_| Ok(Runs::default()))
        .unwrap();
    drop((session, folder));
    let order = &[Order {
        masks: 50,
        ports: 60,
        ..HALF
    }];
    let taken = take(&disks, order).map_err(|errors| format!("{errors:?}"));
    let ((a, mut of_a), (b, mut of_b)) = taken.unwrap();
    assert_fits(&a, &mut of_a[0], &b, &mut of_b[0]);
    let ((_, mut of_a), (_, mut of_b)) = take(&disks, &[TWO]).ok().unwrap();
    let most = 4 * TWO.ands as usize;
    let of_garbler = of_a[0].take_ands(2).unwrap();
    let of_evaluator = of_b[0].take_ands(2).unwrap();
    let held: usize = of_garbler.iter().map(|run| run.items().messages.len()).sum();
    assert!(held <= most, "{held}");
    let held: usize = of_evaluator.iter().map(|run| run.items().shares.len()).sum();
    assert!(held <= most, "{held}");
}

const TWO: Order = Order {
    ands: 2,
    ..Order::NOTHING
};
