//! Sessions on stored material: right, each item used once, and no lot used again after a failed check or a crash.

use cenote_lego::checks;
use std::path::{Path, PathBuf};

use crate::common::{A, B, config, prepare, put_in, random_bits};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_lego::store::{Store, StoreKey, StoredLot, lots};
use cenote_lego::{Config, Order, steps};
use cenote_lego::{LegoEngine, make_lot};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Error, MESSAGE_FORM, Parties, Result, WireVector};
use cenote_store::steps::STOCK_CLAIM;
use cenote_testkit::kept::copy_folder;
use cenote_testkit::{Adversary, Message, PartyContext, World};
use tempfile::TempDir;

/// More than a session takes that runs one of the programs here.
const SESSION: Order = Order {
    ands: 300,
    garbler_inputs: 200,
    evaluator_inputs: 200,
    anchors: 200,
    masks: 200,
    ports: 400,
};

const LANES: usize = 5;

/// Both parties' folders.
struct Disks(TempDir);

impl Disks {
    /// With one lot for `sessions` sessions.
    fn new(sessions: u64) -> Self {
        let disks = Self(tempfile::tempdir().unwrap());
        disks.make(A, sessions);
        disks
    }

    fn path(&self, party: usize) -> PathBuf {
        self.0.path().join(party.to_string())
    }

    fn make(&self, garbler: PartyId, sessions: u64) {
        let paths = [self.path(0), self.path(1)];
        let results = World::random(2).run(move |mut context| {
            let folder = open(&paths[context.me.index()]);
            let config = session(&context, garbler);
            let channels = vec![context.take(PartyId(1 - context.me.0), "main")];
            let order = SESSION.times(sessions);
            make_lot(context.me, channels, config, &folder, &order, &mut |_| ()).map(|made| made.id)
        });
        let ids: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
        assert_eq!(ids[0], ids[1]);
    }

    /// What each party has.
    fn lots(&self) -> [Vec<StoredLot>; 2] {
        [0, 1].map(|party| lots(&open(&self.path(party))).unwrap().0)
    }

    /// Runs `program` in a session on stored material.
    fn run<T: Send + 'static>(
        &self,
        world: World,
        garbler: PartyId,
        program: impl Fn(&mut LegoEngine) -> Result<T> + Send + Sync + 'static,
    ) -> Vec<Result<T>> {
        let paths = [self.path(0), self.path(1)];
        world.run(move |mut context| {
            let folder = open(&paths[context.me.index()]);
            let config = session(&context, garbler);
            let channels = vec![context.take(PartyId(1 - context.me.0), "main")];
            let mut engine = LegoEngine::start_stored(context.me, channels, config, &folder, &SESSION)?;
            program(&mut engine)
        })
    }
}

fn open(path: &Path) -> Store {
    Store::open(path, &StoreKey::from_bytes([5; 32])).unwrap()
}

fn session(context: &PartyContext, garbler: PartyId) -> Config {
    let seed = u64::from_le_bytes(context.seed[..8].try_into().expect("eight bytes"));
    let mut config = config(context.me, 40, seed);
    config.garbler = garbler;
    config
}

/// `x · y + x` on 4 bits, and which is larger.
fn circuit() -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", 4, BitOrder::Lsb);
    let y = b.input("y", 4, BitOrder::Lsb);
    let goal = cenote_circuit::library::Goal::FewestAnds;
    let product = cenote_circuit::library::multiply(&mut b, &x, &y, goal);
    let sum = cenote_circuit::library::add(&mut b, &product, &x, goal);
    let less = cenote_circuit::library::less_than(&mut b, &x, &y, goal);
    b.output("sum", &sum, BitOrder::Lsb);
    b.output("less", &[!less], BitOrder::Lsb);
    b.finish()
}

/// One run with outputs to `to`: announced and built ahead, or not.
fn job(engine: &mut LegoEngine, seed: u64, to: Parties, ahead: bool) -> Result<Option<BitMatrix>> {
    let circuit = circuit();
    let plan = Plan::new(&circuit);
    if ahead {
        prepare(engine, &circuit, &plan, LANES, to)?;
    }
    let inputs = put_in(engine, &circuit, &random_bits(seed, 8, LANES))?;
    let outputs = engine.run(&plan, &inputs)?;
    engine.reveal(&outputs, to)
}

fn right(seed: u64) -> BitMatrix {
    Plan::new(&circuit())
        .evaluate(&random_bits(seed, 8, LANES))
        .unwrap()
}

#[test]
fn outputs_are_right_whoever_garbles_and_gets_them() {
    for garbler in [A, B] {
        let disks = Disks(tempfile::tempdir().unwrap());
        disks.make(garbler, 6);
        let before = disks.lots();
        for (seed, ahead) in [(1, true), (2, false)] {
            for to in [Parties::one(A), Parties::one(B), Parties::all(2)] {
                let results = disks.run(World::random(2), garbler, move |engine| {
                    let outputs = job(engine, seed, to, ahead)?;
                    let error = engine.error_bound();
                    assert!((error - crate::common::most_error(40)).abs() < 1e-9, "{error}");
                    assert!((117.0..118.0).contains(&engine.computational_bits()));
                    engine.finish()?;
                    Ok(outputs)
                });
                for (party, result) in results.into_iter().enumerate() {
                    let expected = to.contains(PartyId(party as u8)).then(|| right(seed));
                    assert_eq!(result.unwrap(), expected, "{garbler} {to} {ahead}");
                }
            }
        }
        let after = disks.lots();
        assert_eq!(after[0][0].left, after[1][0].left);
        assert!(before[0][0].left.covers(&after[0][0].left).is_ok());
        let taken = before[0][0].left.beyond(&after[0][0].left);
        let plan = Plan::new(&circuit());
        assert_eq!(taken.ands, (6 * plan.and_count() * LANES) as u64);
    }
}

/// Circuits that depend on one another and on constants, with outputs in between, as much as is in the lot.
#[test]
fn a_session_takes_as_it_goes_until_the_lot_is_used_up() {
    let disks = Disks::new(1);
    let rounds = |engine: &mut LegoEngine| -> Result<usize> {
        let circuit = circuit();
        let plan = Plan::new(&circuit);
        let bits = random_bits(3, 8, LANES);
        let mut wires = put_in(engine, &circuit, &bits)?;
        let mut clear = bits;
        for round in 0.. {
            let outputs = match engine.run(&plan, &wires) {
                Err(Error::Exhausted(what)) => {
                    assert!(what.contains("AND gates are needed"), "{what}");
                    assert!(matches!(engine.run(&plan, &wires), Err(Error::Poisoned(_))));
                    return Ok(round);
                }
                other => other?,
            };
            let expected = plan.evaluate(&clear).unwrap();
            if round % 2 == 0 {
                let revealed = engine.reveal(&outputs, Parties::all(2))?;
                assert_eq!(revealed.as_ref(), Some(&expected));
            }
            let ones = engine.constant(&BitMatrix::from_fn(4, LANES, |_, _| true))?;
            wires = WireVector::concat(&[&outputs.select(0..4), &ones]);
            clear = BitMatrix::from_fn(8, LANES, |row, lane| row > 3 || expected.get(row, lane));
        }
        unreachable!()
    };
    let results = disks.run(World::random(2), A, rounds);
    let rounds: Vec<usize> = results.into_iter().map(|result| result.unwrap()).collect();
    assert!(rounds[0] >= 2 && rounds[0] == rounds[1], "{rounds:?}");
    // Nothing was wrong, so the lot is still there; but it is too small for another.
    let [ours, theirs] = disks.lots();
    assert_eq!(ours[0].left, theirs[0].left);
    for result in disks.run(World::random(2), A, |_| Ok(())) {
        let Err(Error::Exhausted(what)) = result else {
            panic!("{result:?}");
        };
        assert!(what.contains("make more in an offline run"), "{what}");
    }
    assert_eq!(disks.lots()[0], ours);
}

/// A check that fails in a session, at either party, deletes the lot at both; other lots stay.
#[test]
fn a_failed_check_burns_the_lot() {
    for (cheater, step, check) in [
        (A, steps::DECODE, checks::DECOMMITMENT),
        (A, steps::GARBLER_LABELS, checks::INPUT_AUTHENTICATOR),
        (A, steps::PROVE_BUILD, checks::DECOMMITMENT),
        (B, steps::OUTPUT_LABELS, checks::OUTPUT_LABEL),
        (B, STOCK_CLAIM, MESSAGE_FORM),
        (B, steps::FINISH, MESSAGE_FORM),
    ] {
        let disks = Disks::new(3);
        disks.make(A, 1);
        let before = disks.lots();
        assert_eq!(before[0].len(), 2);
        let mut done = false;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == step && !done {
                done = true;
                message.body[0] ^= 1;
            }
            vec![message]
        });
        let world = World::random(2).adversary(cheater, adversary.clone());
        let results = disks.run(world, A, |engine| {
            job(engine, 1, Parties::all(2), true)?;
            engine.finish()
        });
        assert_eq!(adversary.deviations(), 1, "{step}");
        let honest = results[1 - cheater.index()].as_ref().unwrap_err();
        assert!(
            matches!(honest, Error::Aborted { .. }) && honest.check() == Some(check),
            "{honest}"
        );
        let lots = disks.lots();
        let honest = 1 - cheater.index();
        assert_eq!(lots[honest], before[honest][1..], "{step}");
        // The cheater's own engine is honest and was told, unless it was done.
        if step != steps::FINISH {
            assert_eq!(lots[cheater.index()].len(), 1, "{step}");
        }
        // The other lot serves the next session.
        for result in disks.run(World::random(2), A, |engine| {
            let outputs = job(engine, 2, Parties::all(2), true)?;
            engine.finish()?;
            Ok(outputs)
        }) {
            assert_eq!(result.unwrap(), Some(right(2)));
        }
    }
}

/// A session that fails without a failed check wastes what it took; a process that ends in one loses the lot.
#[test]
fn a_lost_peer_leaves_the_lot_and_a_crash_does_not() {
    let disks = Disks::new(3);
    let before = disks.lots()[0][0].left;
    let results = disks.run(World::random(2), A, |engine| {
        if engine.me() == B {
            // Gone in the middle.
            let circuit = circuit();
            return prepare(engine, &circuit, &Plan::new(&circuit), LANES, Parties::all(2)).map(|()| None);
        }
        job(engine, 1, Parties::all(2), true)
    });
    let lost = matches!(&results[0], Err(Error::Net(cenote_net::Error::PeerLost { peer, .. })) if *peer == B);
    assert!(lost, "{:?}", results[0]);
    let [ours, theirs] = disks.lots();
    assert!(ours[0].left != before && ours[0].id == theirs[0].id);
    // A snapshot of party 0's disk from the middle of a session is what a crash leaves.
    let crashed = tempfile::tempdir().unwrap();
    let (from, to) = (disks.path(0), crashed.path().to_owned());
    let results = disks.run(World::random(2), A, move |engine| {
        if engine.me() == A {
            copy_folder(&from, &to);
        }
        let outputs = job(engine, 1, Parties::all(2), true)?;
        engine.finish()?;
        Ok(outputs)
    });
    for result in results {
        assert_eq!(result.unwrap(), Some(right(1)));
    }
    assert_eq!(disks.lots().map(|lots| lots.len()), [1, 1]);
    assert!(lots(&open(crashed.path())).unwrap().0.is_empty());
    assert!(!crashed.path().join(ours[0].id.to_string()).exists());
}

/// A party that makes its own material and one that takes it from stock, or orders that differ, are told apart.
#[test]
fn parties_compare_where_material_comes_from() {
    let disks = Disks::new(1);
    let paths = [disks.path(0), disks.path(1)];
    for fresh in [true, false] {
        let paths = paths.clone();
        let results = World::random(2).run(move |mut context| {
            let config = session(&context, A);
            let channels = vec![context.take(PartyId(1 - context.me.0), "main")];
            if context.me == B && fresh {
                return LegoEngine::start(context.me, channels, config).map(|_| ());
            }
            let folder = open(&paths[context.me.index()]);
            let order = if context.me == B { SESSION } else { Order::NOTHING };
            LegoEngine::start_stored(context.me, channels, config, &folder, &order).map(|_| ())
        });
        for result in results {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("disagrees on material"), "{error}");
        }
    }
    assert!(disks.lots()[0][0].left.covers(&SESSION).is_ok());
}

#[test]
fn lots_are_removed_on_request() {
    let disks = Disks::new(1);
    let folder = open(&disks.path(0));
    let [lot] = &lots(&folder).unwrap().0[..] else {
        panic!("one lot");
    };
    folder.remove(&lot.id).unwrap();
    assert!(lots(&folder).unwrap().0.is_empty());
    drop(folder);
    assert_eq!(disks.lots().map(|lots| lots.len()), [0, 1]);
}

/// A session that its operator stops leaves what it did not take, at both parties, and what it took is used at both.
#[test]
fn a_stopped_session_leaves_the_lot() {
    for stopped in [A, B] {
        let disks = Disks::new(3);
        let before = disks.lots();
        let paths = [disks.path(0), disks.path(1)];
        let results = World::random(2).run(move |mut context| {
            let folder = open(&paths[context.me.index()]);
            let config = session(&context, A);
            let channel = context.take(PartyId(1 - context.me.0), "main");
            let interrupter = channel.interrupter();
            let channels = vec![channel];
            let mut engine = LegoEngine::start_stored(context.me, channels, config, &folder, &SESSION)?;
            job(&mut engine, 1, Parties::all(2), true)?;
            if context.me == stopped {
                interrupter.close();
            }
            job(&mut engine, 2, Parties::all(2), true)
        });
        let error = results[stopped.index()].as_ref().unwrap_err();
        assert!(
            matches!(error, Error::Net(cenote_net::Error::Closed { .. })),
            "{error}"
        );
        let error = results[1 - stopped.index()].as_ref().unwrap_err();
        let Error::PeerStopped { peer, reason, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((*peer, reason.check()), (stopped, None));
        let after = disks.lots();
        for (before, after) in before.iter().zip(&after) {
            let taken = before[0].left.beyond(&after[0].left);
            let one = (Plan::new(&circuit()).and_count() * LANES) as u64;
            assert!([one, 2 * one].contains(&taken.ands), "{taken}");
        }
        for result in disks.run(World::random(2), A, |engine| {
            let outputs = job(engine, 3, Parties::all(2), true)?;
            engine.finish()?;
            Ok(outputs)
        }) {
            assert_eq!(result.unwrap(), Some(right(3)));
        }
    }
}

/// A session that ends in a panic loses its lot, also for sessions of the same process.
#[test]
fn a_panic_loses_the_lot() {
    let disks = Disks::new(2);
    let paths = [disks.path(0), disks.path(1)];
    let results = World::random(2)
        .labels(&["first", "second"])
        .run(move |mut context| {
            let me = context.me;
            let folder = open(&paths[me.index()]);
            let peer = PartyId(1 - me.0);
            let (config, again) = (session(&context, A), session(&context, A));
            let channels = vec![context.take(peer, "first")];
            let handle = folder.clone();
            let first = std::thread::spawn(move || {
                let mut engine = LegoEngine::start_stored(me, channels, config, &handle, &SESSION).unwrap();
                if me == A {
                    panic!("as it should");
                }
                job(&mut engine, 1, Parties::all(2), true).map(|_| ())
            });
            assert_eq!(first.join().is_err(), me == A);
            let channels = vec![context.take(peer, "second")];
            LegoEngine::start_stored(me, channels, again, &folder, &SESSION).map(|_| ())
        });
    for result in results {
        assert!(matches!(result, Err(Error::Exhausted(_))), "{result:?}");
    }
    assert!(disks.lots()[0].is_empty());
}

/// A lot that the peer has lost is noted, and told of, until it is found again.
#[test]
fn a_lot_that_the_peer_lacks_is_noted() {
    let disks = Disks::new(1);
    disks.make(A, 1);
    let [lost, kept] = [0, 1].map(|index| disks.lots()[1][index].id);
    open(&disks.path(1)).remove(&lost).unwrap();
    let run = || {
        disks.run(World::random(2), A, |engine| {
            let outputs = job(engine, 1, Parties::all(2), true)?;
            engine.finish()?;
            Ok(outputs)
        })
    };
    for result in run() {
        assert_eq!(result.unwrap(), Some(right(1)));
    }
    let lots = disks.lots();
    let noted: Vec<_> = lots[0]
        .iter()
        .map(|lot| (lot.id, lot.lacked_by.clone()))
        .collect();
    assert_eq!(noted, [(lost, vec![B]), (kept, vec![])]);
    assert_eq!(lots[1].iter().map(|lot| lot.id).collect::<Vec<_>>(), [kept]);
    let results = run();
    let texts = results.iter().map(|result| match result {
        Err(Error::Exhausted(text)) => text,
        other => panic!("{other:?}"),
    });
    let told: Vec<bool> = texts.map(|text| text.contains("1 lots of this party")).collect();
    assert_eq!(told, [true, false]);
}
