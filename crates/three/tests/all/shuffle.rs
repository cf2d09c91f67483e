//! Orders that nobody knows: they are uniform, and a party that moves other rows than it should is caught.

use std::collections::HashMap;
use std::time::Duration;

use cenote_net::{PartyId, Step};
use cenote_params::three::Variant;
use cenote_primitives::BitMatrix;
use cenote_session::conformance::Cluster;
use cenote_session::{Check, Engine, Error, MESSAGE_FORM, Parties, Result, WireVector};
use cenote_three::{Method, ThreeEngine, ViewCheck, checks, steps};

use crate::common::intercept::{Message, Spy, Wire};
use crate::common::session::{Session, random_bits};
use crate::common::{Three, proofs, tiny};

fn cluster() -> Three {
    Three {
        method: tiny(Variant::OnDemand).into(),
        view_check: ViewCheck::Mac,
    }
}

/// χ² of how often each of the 24 orders of four rows comes, with 23 degrees of freedom.
#[test]
fn orders_are_uniform() {
    const DRAWS: usize = 2400;
    let places = BitMatrix::from_fn(2, 4, |row, lane| lane >> row & 1 == 1);
    let results = cluster().run(|engine| {
        let wires = engine.constant(&places)?;
        let mut all = Vec::new();
        for _ in 0..DRAWS {
            let order = engine.draw(4)?;
            all.push(engine.shuffle(&wires, order, false)?);
        }
        let all = WireVector::concat(&all.iter().collect::<Vec<_>>());
        let all = engine.reveal(&all, Parties::all(3))?.expect("all learn it");
        engine.finish()?;
        Ok(all)
    });
    let all = results
        .into_iter()
        .next()
        .expect("three parties")
        .expect("all are honest");
    let mut times: HashMap<Vec<(bool, bool)>, f64> = HashMap::new();
    for draw in 0..DRAWS {
        let order = (0..4).map(|lane| (all.get(2 * draw, lane), all.get(2 * draw + 1, lane)));
        *times.entry(order.collect()).or_default() += 1.0;
    }
    let expected = DRAWS as f64 / 24.0;
    let squares: f64 = times
        .values()
        .map(|times| (times - expected).powi(2) / expected)
        .sum();
    // The randomness of the parties is fixed. One in a thousand seeds would exceed 49.7.
    assert!(times.len() == 24 && squares < 49.7, "{squares}");
}

const WIRES: usize = 70;
const LANES: usize = 40;

/// Rows go to other places and back, the first wire by another order, and all are opened.
fn program(engine: &mut ThreeEngine, values: &BitMatrix) -> Result<BitMatrix> {
    let own = (engine.me() == PartyId(1)).then_some(values);
    let wires = engine.input(PartyId(1), WIRES, LANES, own)?;
    let (first, second) = (engine.draw(LANES)?, engine.draw(LANES)?);
    let moved = engine.shuffle(&wires, first, false)?;
    let returned = engine.shuffle(&moved, first, true)?;
    let elsewhere = engine.shuffle(&returned.select(0..1), second, true)?;
    let all = WireVector::concat(&[&returned, &elsewhere]);
    let opened = engine.reveal(&all, Parties::all(3))?.expect("all learn it");
    engine.finish()?;
    Ok(opened)
}

/// Sessions that check products in either way: rows are checked alike.
pub(crate) fn sessions() -> [Session; 2] {
    [tiny(Variant::OnDemand).into(), proofs(40, 1 << 10).into()]
        .map(|method: Method| Session::new(method, ViewCheck::Mac, 1))
}

fn run(session: &Session) -> [Result<BitMatrix>; 3] {
    let values = random_bits(3, WIRES, LANES);
    session.run(move |engine| program(engine, &values))
}

/// What a cheating party does to the bodies of messages of one wire and step, from the first on: nothing to those left alone.
type Change = fn(occurrence: usize, body: &[u8]) -> Option<Vec<u8>>;

/// The session in which this party does so.
fn attacked(session: &Session, wire: Wire, step: Step, change: Change) -> [Result<BitMatrix>; 3] {
    let spy = Spy::corrupting(move |message: &Message| {
        let hit = (message.wire, message.step) == (wire, step);
        let body = hit.then(|| change(message.occurrence, &message.body)).flatten()?;
        Some(vec![(step, body)])
    });
    run(&session.clone().with_spy(wire.from, &spy))
}

/// On which wires a party sends messages of this step, and how many.
fn wires(session: &Session, corrupted: u8, step: Step) -> HashMap<Wire, usize> {
    let spy = Spy::listening();
    for result in run(&session.clone().with_spy(corrupted, &spy)) {
        result.expect("all are honest");
    }
    let mut wires = HashMap::new();
    for message in spy.sent().into_iter().filter(|message| message.step == step) {
        *wires.entry(message.wire).or_default() += 1;
    }
    wires
}

/// Whether these are the values, back in their places, and those of the first wire in another order.
fn is_right(opened: &BitMatrix) -> bool {
    let values = random_bits(3, WIRES, LANES);
    let ones = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum::<u32>();
    (0..WIRES).all(|row| opened.row(row) == values.row(row)) && ones(opened.row(WIRES)) == ones(values.row(0))
}

/// A party that changes what it sends, and goes on with what it had, may take its change back in the next hop: then it may have done nothing. Either the
/// honest parties have the right output, or they stop, since a row is wrong or since the party opens something else than they have. Gives whether they did.
fn is_caught(what: &str, corrupted: u8, results: &[Result<BitMatrix>; 3]) -> bool {
    let mut honest = (0..3).filter(|party| *party != usize::from(corrupted));
    if honest.all(|party| results[party].as_ref().is_ok_and(is_right)) {
        return false;
    }
    assert_caught(
        what,
        corrupted,
        results,
        &[checks::SHUFFLE, checks::VIEW_COMPARISON],
    );
    true
}

/// Whether the change of a message does nothing, if its sender goes on with what it had: if the next hop takes what was changed from the sender alone, and the
/// check does not see it before. That is the sum of the middle hop at the one that passes it on, and a tag at one who has no part in the first hop.
fn is_undone(step: Step, wire: Wire, occurrence: usize) -> bool {
    // Rows go forth once and then back.
    let back = occurrence > 0;
    let undone = match step {
        steps::MOVE_ROWS if back => (0, 1),
        steps::MOVE_ROWS => (1, 0),
        _ if back => (1, 0),
        _ => (2, 1),
    };
    (wire.from, wire.to) == undone
}

/// Each session with each party corrupted.
fn cases() -> impl Iterator<Item = (Session, u8)> {
    sessions()
        .into_iter()
        .flat_map(|session| (0..3).map(move |corrupted| (session.clone(), corrupted)))
}

/// Each party edits each message of this step, one in each session: it is caught, unless the change is undone.
fn assert_outcomes(step: Step, edit: fn(&[u8]) -> Option<Vec<u8>>) {
    for (session, corrupted) in cases() {
        for (wire, count) in wires(&session, corrupted, step) {
            for number in 0..count {
                let spy = Spy::corrupting(move |message: &Message| {
                    let hit = (message.wire, message.step, message.occurrence) == (wire, step, number);
                    let body = hit.then(|| edit(&message.body)).flatten()?;
                    Some(vec![(step, body)])
                });
                let results = run(&session.clone().with_spy(corrupted, &spy));
                let what = format!("{step} {number} of {wire:?}");
                let caught = is_caught(&what, corrupted, &results);
                assert_eq!(caught, !is_undone(step, wire, number), "{what}");
            }
        }
    }
}

/// The honest parties must both stop without an output, at least one of them because of one of these checks, and none because of another.
pub(crate) fn assert_caught<T: std::fmt::Debug>(
    what: &str,
    corrupted: u8,
    results: &[Result<T>; 3],
    expected: &[Check],
) {
    let mut failed = Vec::new();
    for (party, result) in (0..).zip(results).filter(|(party, _)| *party != corrupted) {
        match result {
            Ok(_) => panic!("{what}: party {party} has an output: {results:?}"),
            Err(error @ Error::Aborted { .. }) => failed.extend(error.check()),
            Err(_) => (),
        }
    }
    assert!(
        !failed.is_empty() && failed.iter().all(|check| expected.contains(check)),
        "{what}: {failed:?}, {results:?}"
    );
}

/// Each party does so on each wire.
fn assert_each_caught(step: Step, change: Change, expected: &[Check]) {
    for (session, corrupted) in cases() {
        let wires = wires(&session, corrupted, step);
        assert!(!wires.is_empty(), "{step} of party {corrupted}");
        for wire in wires.into_keys() {
            let what = format!("{step} of {wire:?}");
            assert_caught(
                &what,
                corrupted,
                &attacked(&session, wire, step, change),
                expected,
            );
        }
    }
}

pub(crate) fn flipped(body: &[u8], at: usize) -> Option<Vec<u8>> {
    let mut body = body.to_vec();
    *body.get_mut(at)? ^= 1;
    Some(body)
}

/// Bytes of a row with its tag.
const ROW: usize = 24;

#[test]
fn a_changed_row_is_caught() {
    // In a row's bits, and in its tag.
    assert_outcomes(steps::MOVE_ROWS, |body| flipped(body, 0));
    assert_outcomes(steps::MOVE_ROWS, |body| flipped(body, 5 * ROW + 3));
    assert_outcomes(steps::MOVE_ROWS, |body| flipped(body, ROW + 20));
}

/// Two rows are changed alike: without weights of rows the changes would cancel.
#[test]
fn equal_changes_of_two_rows_are_caught() {
    assert_outcomes(steps::MOVE_ROWS, |body| flipped(&flipped(body, 0)?, ROW));
}

/// The sender moves its summand of two rows to each other's places, with their tags and masks, or all of it by one place.
#[test]
fn another_order_is_caught() {
    assert_outcomes(steps::MOVE_ROWS, |body| {
        let mut body = body.to_vec();
        let (first, rest) = body.split_at_mut(ROW);
        first.swap_with_slice(&mut rest[..ROW]);
        Some(body)
    });
    assert_outcomes(steps::MOVE_ROWS, |body| {
        let mut body = body.to_vec();
        let rows = body.len().min(LANES * ROW);
        body[..rows].rotate_left(ROW);
        Some(body)
    });
}

#[test]
fn rows_that_were_sent_before_are_caught() {
    for (session, corrupted) in cases() {
        for wire in wires(&session, corrupted, steps::MOVE_ROWS).into_keys() {
            let mut first: Option<Vec<u8>> = None;
            let spy = Spy::corrupting(move |message: &Message| {
                if (message.wire, message.step) != (wire, steps::MOVE_ROWS) {
                    return None;
                }
                // The second message is as long as the first, the third is not.
                let first = first.get_or_insert_with(|| message.body.clone());
                (first.len() == message.body.len()).then(|| vec![(message.step, first.clone())])
            });
            let results = run(&session.clone().with_spy(corrupted, &spy));
            let caught = is_caught(&format!("{wire:?}"), corrupted, &results);
            assert_eq!(caught, !is_undone(steps::MOVE_ROWS, wire, 1), "{wire:?}");
        }
    }
}

#[test]
fn a_wrong_product_of_the_check_is_caught() {
    let first: Change = |at, body| (at == 0).then(|| flipped(body, 0)).flatten();
    assert_outcomes(steps::TAG_ROWS, |body| flipped(body, 0));
    assert_outcomes(steps::TAG_ROWS, |body| flipped(body, 9));
    for step in [steps::SCALE_SUM, steps::SHUFFLE_PRODUCTS] {
        assert_each_caught(step, first, &[checks::SHUFFLE]);
    }
    for step in [steps::SUM_ROWS, steps::SHUFFLE_VIEW] {
        assert_each_caught(step, first, &[checks::VIEW_COMPARISON]);
    }
}

/// What a cheating party adds to messages of its own and to those that it receives, so that its components are as it wants them.
fn consistent(
    session: &Session,
    corrupted: u8,
    add: impl Fn(Wire, Step, usize) -> Option<usize> + Clone + Send + 'static,
) -> [Result<BitMatrix>; 3] {
    let hook = move || {
        let add = add.clone();
        move |message: &Message| {
            let at = add(message.wire, message.step, message.occurrence)?;
            Some(vec![(message.step, flipped(&message.body, at)?)])
        }
    };
    let session = (0..3).fold(session.clone(), |session, party| {
        let (hook, hooked) = ((party == corrupted).then(&hook), hook());
        let spy = match hook {
            Some(hook) => Spy::corrupting(hook),
            None => Spy::corrupting(move |message| {
                (message.wire.to == corrupted).then(|| hooked(message)).flatten()
            }),
        };
        session.with_spy(party, &spy)
    });
    run(&session)
}

/// In each move: there, back, and by another order.
#[test]
fn rows_that_all_holders_have_wrong_are_caught() {
    for session in sessions() {
        assert_wrong_rows_are_caught(&session);
        assert_wrong_rows_are_caught(&Session {
            view_check: ViewCheck::Sha256,
            ..session
        });
    }
}

fn assert_wrong_rows_are_caught(session: &Session) {
    for corrupted in 0..3 {
        for other in (0..3).filter(|other| *other != corrupted) {
            for (occurrence, at) in [(0, 0), (1, 5 * ROW + 20), (2, 3)] {
                let pair = [corrupted, other];
                let results = consistent(session, corrupted, move |wire, step, number| {
                    let hit = pair.contains(&wire.from) && pair.contains(&wire.to);
                    (hit && (step, number) == (steps::MOVE_ROWS, occurrence)).then_some(at)
                });
                assert_caught(
                    &format!("{pair:?} {occurrence}"),
                    corrupted,
                    &results,
                    &[checks::SHUFFLE],
                );
            }
        }
    }
}

/// A party adds an error before the permutation that it lacks, and takes it away after that, at each place in turn: one of the guesses is right, and
/// must not show. Forth, party 2 moves rows first and last.
#[test]
fn a_guess_at_a_place_is_not_confirmed() {
    for (session, place) in sessions()
        .iter()
        .flat_map(|session| (0..LANES).map(move |place| (session, place)))
    {
        let results = consistent(session, 2, move |wire, step, occurrence| {
            match (step, wire.from, wire.to) {
                // Its first move, and what it has of it itself.
                (steps::MOVE_ROWS, 2, 0) | (steps::MOVE_ROWS, 0, 2) if occurrence == 0 => Some(0),
                (steps::MOVE_ROWS, 2, 1) | (steps::MOVE_ROWS, 1, 2) if occurrence == 0 => Some(ROW * place),
                _ => None,
            }
        });
        assert_caught(&format!("place {place}"), 2, &results, &[checks::SHUFFLE]);
    }
}

/// Nor is a guess at the place of a row whose tag is wrong, with an error of the check that would make up for it.
#[test]
fn a_wrong_tag_is_caught_wherever_its_row_goes() {
    for session in sessions() {
        for row in 0..LANES {
            let results = consistent(&session, 0, move |wire, step, occurrence| {
                let hit = (step, occurrence, wire.from) == (steps::TAG_ROWS, 0, 0);
                hit.then_some(8 * row)
            });
            assert_caught(&format!("row {row}"), 0, &results, &[checks::SHUFFLE]);
        }
        // The pad's tag.
        let results = consistent(&session, 1, |wire, step, occurrence| {
            ((step, occurrence, wire.from) == (steps::TAG_ROWS, 0, 1)).then_some(8 * LANES)
        });
        assert_caught("the pad", 1, &results, &[checks::SHUFFLE]);
    }
}

#[test]
fn messages_of_another_length_are_refused() {
    let short: Change = |at, body| (at == 0).then(|| body[1..].to_vec());
    let long: Change = |at, body| (at == 0).then(|| [body, &[0]].concat());
    for step in steps::SHUFFLED {
        for change in [short, long] {
            assert_each_caught(*step, change, &[MESSAGE_FORM]);
        }
    }
}

/// What a party keeps back reaches nobody after the coin: neither honest party tosses it before both have all rows.
#[test]
fn rows_are_not_bought_with_a_coin() {
    let mut withheld = Vec::new();
    for (session, corrupted) in cases() {
        for (wire, count) in wires(&session, corrupted, steps::MOVE_ROWS) {
            let each = (0..count).map(|kept_back| (session.clone(), wire, steps::MOVE_ROWS, kept_back));
            withheld.extend(each);
        }
        for (wire, count) in wires(&session, corrupted, steps::TAG_ROWS) {
            withheld.push((session.clone(), wire, steps::TAG_ROWS, count - 1));
        }
    }
    std::thread::scope(|scope| {
        for (session, wire, step, kept_back) in &withheld {
            scope.spawn(|| {
                assert_no_coin(*wire, *step, *kept_back, 0, session, |session| {
                    assert!(run(session).iter().all(Result::is_err));
                });
            });
        }
    });
}

/// A party keeps back a message of this wire and step, and says that it has everything: it sees no more than so many `coins` of what `run` runs.
pub(crate) fn assert_no_coin(
    wire: Wire,
    step: Step,
    kept_back: usize,
    coins: usize,
    session: &Session,
    run: impl Fn(&Session),
) {
    let mut silent = false;
    let spy = Spy::corrupting(move |message: &Message| {
        silent |= (message.wire, message.step, message.occurrence) == (wire, step, kept_back);
        // It says that it has everything to the one who misses nothing, and nothing more to the other.
        match message.step {
            _ if !silent || message.wire.thread != wire.thread => None,
            steps::BARRIER if message.wire.to != wire.to => None,
            _ => Some(Vec::new()),
        }
    });
    let mut session = session.clone().with_spy(wire.from, &spy);
    let honest = [1, 2].map(|more| (wire.from + more) % 3);
    let listeners = honest.map(|party| {
        let listener = Spy::listening();
        session = session.clone().with_spy(party, &listener);
        listener
    });
    session.impatient = Some(([wire.from, wire.to], Duration::from_secs(2)));
    run(&session);
    let sent = listeners.iter().flat_map(|listener| listener.sent());
    let seen = sent.filter(|message| {
        (message.step, message.wire.to, message.wire.thread) == (steps::COIN, wire.from, wire.thread)
    });
    assert_eq!(seen.count(), coins, "{step} {wire:?} {kept_back}");
}

/// `cargo test --release -p cenote-three --test all -- --ignored --nocapture measure_a_shuffle`
#[test]
#[ignore = "it measures"]
fn measure_a_shuffle() {
    const ROWS: usize = 1 << 20;
    for width in [64, 128, 512] {
        let [mut session, _] = sessions();
        session.timeout = Duration::from_secs(60);
        let results = session.run(move |engine| {
            let wires = engine.constant(&random_bits(3, 1, ROWS))?;
            let wires = WireVector::concat(&vec![&wires; width]);
            let order = engine.draw(ROWS)?;
            for _ in 0..3 {
                let start = std::time::Instant::now();
                let moved = engine.shuffle(&wires, order, false)?;
                let shuffled = start.elapsed();
                engine.reveal(&moved.select(0..0), Parties::all(3))?;
                if engine.me() == PartyId(0) {
                    println!(
                        "2^20 rows of {width} bits: {shuffled:?}, with the check {:?}",
                        start.elapsed()
                    );
                }
            }
            engine.finish()
        });
        for result in results {
            result.expect("all are honest");
        }
    }
}
