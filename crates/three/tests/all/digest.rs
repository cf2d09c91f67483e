//! Digests of tables: what a cheating party can do about them.

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{PartyId, Step};
use cenote_params::three::{Variant, check};
use cenote_primitives::BitMatrix;
use cenote_session::{Check, Engine, Error, MESSAGE_FORM, Parties, Result, WireVector};
use cenote_three::{Method, ThreeEngine, ViewCheck, checks, steps};

use crate::common::intercept::{Message, Spy, Thread, Wire};
use crate::common::proofs;
use crate::common::session::{Session, random_bits};
use crate::shuffle::{assert_caught, assert_no_coin, flipped, sessions};

const WIRES: usize = 70;
const LANES: usize = 40;

/// Whether any of the wires is 1.
fn any(wires: usize) -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", wires as u32, BitOrder::Lsb);
    let mut bits: Vec<_> = x.iter().map(|&bit| !bit).collect();
    while bits.len() > 1 {
        let pairs = bits.chunks(2);
        bits = pairs
            .map(|pair| match *pair {
                [x, y] => b.and(x, y),
                _ => pair[0],
            })
            .collect();
    }
    b.output("any", &[!bits[0]], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// `x ∧ y`, bit by bit.
fn both() -> Plan {
    let mut b = Builder::new();
    let [x, y] = ["x", "y"].map(|name| b.input(name, WIRES as u32, BitOrder::Lsb));
    let both: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| b.and(x, y)).collect();
    b.output("both", &both, BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Parties 0 and 1 give a table each, `products` of which are compared, or the tables themselves. All learn whether they differ.
fn program(engine: &mut ThreeEngine, [one, other]: &[BitMatrix; 2], products: bool) -> Result<bool> {
    let me = engine.me();
    let mut table = |owner: u8, bits| {
        let own = (me == PartyId(owner)).then_some(bits);
        engine.input(PartyId(owner), WIRES, LANES, own)
    };
    let (mut these, mut those) = (table(0, one)?, table(1, other)?);
    if products {
        let square =
            |engine: &mut ThreeEngine, wires| engine.run(&both(), &WireVector::concat(&[wires, wires]));
        (these, those) = (square(engine, &these)?, square(engine, &those)?);
    }
    let digests = [engine.digest(&these, &those)?, engine.digest(&these, &those)?];
    let digests = WireVector::concat(&digests.each_ref());
    let differ = engine.run(&any(128), &digests)?;
    let differ = engine.reveal(&differ, Parties::all(3))?.expect("all learn it");
    engine.finish()?;
    Ok(differ.get(0, 0))
}

fn same() -> [BitMatrix; 2] {
    [(); 2].map(|()| random_bits(3, WIRES, LANES))
}

/// Two tables, with the same bits flipped in two rows of the second.
fn different() -> [BitMatrix; 2] {
    let [one, mut other] = same();
    for lane in [3, 20] {
        other.set(5, lane, !other.get(5, lane));
    }
    [one, other]
}

fn run(session: &Session, tables: [BitMatrix; 2]) -> [Result<bool>; 3] {
    session.run(move |engine| program(engine, &tables, true))
}

/// What a cheating party does to the body of a message: nothing to those left alone.
type Change = fn(occurrence: usize, body: &[u8]) -> Option<Vec<u8>>;

/// Each session with each party corrupted, and each of the others.
fn cases() -> impl Iterator<Item = (Session, u8, u8)> {
    let wires = (0..3).flat_map(|from| (0..3).filter(move |to| *to != from).map(move |to| (from, to)));
    let of_wires = move |session: Session| wires.clone().map(move |(from, to)| (session.clone(), from, to));
    sessions().into_iter().flat_map(of_wires)
}

/// Each party does so on each of its wires, with tables that are the same and others: always the same check fails.
fn assert_each_caught(step: Step, change: Change, expected: &[Check]) {
    for (session, corrupted, to) in cases() {
        for tables in [same(), different()] {
            let spy = Spy::corrupting(move |message: &Message| {
                let wire = (message.wire.thread, message.wire.from, message.wire.to);
                let hit = (wire, message.step) == ((Thread::Evaluator, corrupted, to), step);
                let body = hit.then(|| change(message.occurrence, &message.body)).flatten()?;
                Some(vec![(step, body)])
            });
            let results = run(&session.clone().with_spy(corrupted, &spy), tables);
            assert_caught(
                &format!("{step} from {corrupted} to {to}"),
                corrupted,
                &results,
                expected,
            );
        }
    }
}

#[test]
fn tables_are_compared() {
    for session in sessions() {
        for (tables, differ) in [(same(), false), (different(), true)] {
            for result in run(&session, tables) {
                assert_eq!(result.expect("all are honest"), differ);
            }
        }
    }
}

#[test]
fn a_wrong_coin_is_caught() {
    let first: Change = |at, body| (at == 0).then(|| flipped(body, 0)).flatten();
    let second: Change = |at, body| (at == 1).then(|| flipped(body, 7)).flatten();
    for change in [first, second] {
        assert_each_caught(steps::COIN, change, &[checks::COIN_OPENING]);
        assert_each_caught(steps::BARRIER, change, &[MESSAGE_FORM]);
    }
}

#[test]
fn messages_of_another_length_are_refused() {
    let short: Change = |at, body| (at == 1).then(|| body[1..].to_vec());
    let long: Change = |at, body| (at == 1).then(|| [body, &[0]].concat());
    for step in [steps::COIN, steps::BARRIER] {
        for change in [short, long] {
            assert_each_caught(step, change, &[MESSAGE_FORM]);
        }
    }
}

/// The share of the first coin again, so that the second would be like the first.
#[test]
fn a_coin_is_not_tossed_twice() {
    for (session, corrupted, to) in cases() {
        let mut first: Option<Vec<u8>> = None;
        let spy = Spy::corrupting(move |message: &Message| {
            let wire = (message.wire.thread, message.wire.to, message.step);
            if wire != (Thread::Evaluator, to, steps::COIN) || message.occurrence > 1 {
                return None;
            }
            let body = first.get_or_insert_with(|| message.body.clone());
            Some(vec![(message.step, body.clone())])
        });
        let results = run(&session.clone().with_spy(corrupted, &spy), different());
        let what = format!("from {corrupted} to {to}");
        assert_caught(&what, corrupted, &results, &[checks::COIN_OPENING]);
    }
}

/// What a wrong product fails, with triples and with proofs: a party that goes on with what it had opens something else than the others, or has other operands.
const WRONG_PRODUCT: [[Check; 2]; 2] = [
    [checks::PRODUCT_COMPARISON, checks::VIEW_COMPARISON],
    [checks::PROOF, checks::PROOF_OPERANDS],
];

/// A product of the tables, or of what tells whether the digest is zero.
#[test]
fn a_wrong_product_is_caught() {
    for (session, expected) in sessions().into_iter().zip(WRONG_PRODUCT) {
        for step in 0..9 {
            for corrupted in 0..3 {
                for tables in [same(), different()] {
                    let spy = Spy::corrupting(move |message: &Message| {
                        let hit = (message.step, message.occurrence) == (steps::MULTIPLY_GATE, step);
                        Some(vec![(message.step, flipped(&message.body, 0).filter(|_| hit)?)])
                    });
                    let results = run(&session.clone().with_spy(corrupted, &spy), tables);
                    let what = format!("product {step} of {corrupted}");
                    assert_caught(&what, corrupted, &results, &expected);
                }
            }
        }
    }
}

/// An owner that sends another table than it has: the others find that the tables differ, or stop since the owner computes with what it has. None of them
/// takes them for the same.
#[test]
fn a_table_that_is_changed_is_another_table() {
    for (session, [_, expected]) in sessions().into_iter().zip(WRONG_PRODUCT) {
        for owner in 0..2u8 {
            for rows in [[0, 0], [9, 330]] {
                let spy = Spy::corrupting(move |message: &Message| {
                    let body = (message.step == steps::INPUT).then(|| flipped(&message.body, rows[0]))??;
                    let body = match rows {
                        [_, 0] => body,
                        [_, second] => flipped(&body, second)?,
                    };
                    Some(vec![(message.step, body)])
                });
                let results = session
                    .clone()
                    .with_spy(owner, &spy)
                    .run(|engine| program(engine, &same(), false));
                for (party, result) in (0..).zip(&results).filter(|(party, _)| *party != owner) {
                    let differ = result.as_ref().ok();
                    assert!(
                        differ.is_none_or(|differ| *differ),
                        "{party} of {owner}: {results:?}"
                    );
                    let check = result.as_ref().err().and_then(Error::check);
                    assert!(check.is_none_or(|check| check == expected), "{results:?}");
                }
            }
        }
    }
}

/// What tables are made of reaches nobody after the coin.
#[test]
fn tables_are_not_bought_with_a_coin() {
    let wire = |from: u8, to: u8| Wire {
        thread: Thread::Evaluator,
        from,
        to,
    };
    let mut cases = vec![(wire(0, 1), steps::INPUT, 0), (wire(1, 2), steps::INPUT, 0)];
    for from in 0..3 {
        // The products of each table.
        cases.extend([0, 1].map(|at| (wire(from, (from + 2) % 3), steps::MULTIPLY_GATE, at)));
    }
    let sessions = sessions();
    std::thread::scope(|scope| {
        for (wire, step, kept_back) in cases {
            for session in &sessions {
                scope.spawn(move || {
                    assert_no_coin(wire, step, kept_back, 0, session, |session| {
                        assert!(run(session, different()).iter().all(Result::is_err));
                    });
                });
            }
        }
    });
}

/// What a digest sends, with fixed randomness, is the same whatever is compared: it tells nothing, and neither does its failure.
#[test]
fn what_is_sent_depends_on_no_table() {
    let of = |session: Session, tables: [BitMatrix; 2]| {
        let spies = [(); 3].map(|()| Spy::listening());
        let session = (0..)
            .zip(&spies)
            .fold(session, |session, (party, spy)| session.with_spy(party, spy));
        let results = session.run(move |engine| {
            let me = engine.me();
            let own = |owner: u8, bits: &BitMatrix| (me == PartyId(owner)).then(|| bits.clone());
            let one = engine.input(PartyId(0), WIRES, LANES, own(0, &tables[0]).as_ref())?;
            let other = engine.input(PartyId(1), WIRES, LANES, own(1, &tables[1]).as_ref())?;
            let digest = engine.digest(&one, &other)?;
            assert_eq!((digest.wires(), digest.lanes()), (64, 1));
            engine.finish()
        });
        for result in results {
            result.expect("all are honest");
        }
        let sent = spies.iter().flat_map(|spy| spy.sent());
        let sent = sent.filter(|message| message.wire.thread == Thread::Evaluator);
        let mut sent: Vec<_> = sent
            .filter(|message| ![steps::SETUP, steps::INPUT, steps::FINISH].contains(&message.step))
            .filter(|message| steps::ALL.contains(&message.step) || steps::SHUFFLED.contains(&message.step))
            .map(|message| {
                (
                    message.wire.from,
                    message.wire.to,
                    message.step.code,
                    message.body,
                )
            })
            .collect();
        sent.sort();
        sent
    };
    for session in sessions() {
        let (of_same, of_different) = (of(session.clone(), same()), of(session, different()));
        // A word that all is received and a share of a coin, to both others.
        assert_eq!(of_same.len(), 3 * 2 * 2);
        assert_eq!(of_same, of_different);
    }
}

/// With triples that are hardly ever wrong, or weights of 128 bits, the error of a session is that of its digests.
#[test]
fn digests_count_in_the_error() {
    let parameters = check(Variant::Baseline, 64, 22, 1, 1).expect("they are large enough");
    let methods: [Method; 2] = [parameters.into(), proofs(61, 1 << 10).into()];
    for method in methods {
        assert_digests_count(&Session::new(method, ViewCheck::Mac, 1));
    }
}

fn assert_digests_count(session: &Session) {
    let results = session.run(|engine| {
        let table = engine.constant(&BitMatrix::zeros(1, 2))?;
        let mut bounds = vec![engine.error_bound()];
        for _ in 0..2 {
            engine.digest(&table, &table)?;
            bounds.push(engine.error_bound());
        }
        engine.finish()?;
        Ok(bounds)
    });
    for bounds in results.map(|bounds| bounds.expect("all are honest")) {
        assert!(bounds[0] < -100.0, "{bounds:?}");
        assert!(
            (bounds[1] + 64.0).abs() < 1e-6 && (bounds[2] + 63.0).abs() < 1e-6,
            "{bounds:?}"
        );
    }
}
