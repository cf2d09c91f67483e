//! Wrong products: whatever a party multiplies wrong, its proof does not hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Check, Engine, Error, Parties, WireVector};
use cenote_three::{ViewCheck, checks, steps};

use super::{BLOCK, Trial, editing, flipped, flipping, layers, next, previous, share};
use crate::common::intercept::{Message, Spy};
use crate::common::proofs;
use crate::common::session::{Session, in_parallel, random_bits};

/// A tile and two words: the first gate, the ends of words, the end of the tile, the last gate, and what fills the last word, which no lane has.
#[test]
fn a_wrong_bit_of_a_product_has_no_proof() {
    const TILE: usize = 8 * BLOCK;
    let lanes = TILE + 70;
    let bits = [0, 63, 64, TILE - 1, TILE, lanes - 1, lanes, TILE + 127];
    let cases: Vec<_> = [40, 61]
        .into_iter()
        .flat_map(|security| (0..3).map(move |corrupted| (security, corrupted)))
        .flat_map(|(security, corrupted)| bits.map(|bit| (security, corrupted, bit)))
        .collect();
    in_parallel(cases.len(), 4, |index| {
        let (security, corrupted, bit) = cases[index];
        let spy = flipping(steps::MULTIPLY_GATE, previous(corrupted), bit);
        let ended = Trial::secure(security, 1 << 10, 1, lanes).run(corrupted, &spy);
        let what = format!("bit {bit} of party {corrupted}, {security} bits of security");
        ended.caught(&what, corrupted, checks::PROOF);
    });
}

#[test]
fn wrong_bits_of_all_products_have_no_proof() {
    for corrupted in 0..3 {
        let edits: [fn(u8) -> u8; 3] = [|byte| !byte, |_| 0, |byte| byte.rotate_left(3)];
        for edit in edits {
            let spy = editing(move |message| {
                let is_product = message.step == steps::MULTIPLY_GATE;
                is_product.then(|| message.body.iter().copied().map(edit).collect())
            });
            let ended = Trial::small().run(corrupted, &spy);
            ended.caught("all products", corrupted, checks::PROOF);
        }
    }
}

/// The party sends its products when it has seen all others', and changes them by those that it received.
#[test]
fn products_chosen_after_all_others_have_no_proof() {
    for corrupted in 0..3 {
        let listeners = [(); 2].map(|()| Spy::listening());
        let (of_next, of_previous) = (Arc::clone(&listeners[0]), Arc::clone(&listeners[1]));
        let spy = Spy::corrupting(|_| None);
        *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
            if message.step != steps::MULTIPLY_GATE {
                return None;
            }
            let products = |spy: &Spy| {
                let mut sent = spy.sent().into_iter();
                sent.find(|message| message.step == steps::MULTIPLY_GATE)
            };
            let theirs = wait_for(|| products(&of_next));
            wait_for(|| products(&of_previous));
            let body = message.body.iter().zip(theirs.body).map(|(a, b)| a ^ b);
            Some(vec![(message.step, body.collect())])
        }));
        let ended = Trial::small().run_beside(corrupted, &spy, &listeners);
        ended.caught("products after all others", corrupted, checks::PROOF);
    }
}

/// What `find` finds, when it does.
pub(super) fn wait_for<T>(find: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it comes");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Of several batches the one with the wrong product fails, and no later one is proved.
#[test]
fn the_batch_with_a_wrong_product_is_the_last() {
    for corrupted in 0..3 {
        for layer in 0..3 {
            let spy = editing(move |message| {
                let hit = (message.step, message.occurrence) == (steps::MULTIPLY_GATE, layer);
                hit.then(|| flipped(&message.body, 3))
            });
            let ended = Trial::of_batches().run(corrupted, &spy);
            ended.caught(&format!("layer {layer}"), corrupted, checks::PROOF);
            // The first batch, and each that follows one that holds.
            let openings = 4 * (layer + 1);
            assert_eq!(ended.sent(steps::PROOF_OPENING), openings, "layer {layer}");
            // Two more are begun beside it.
            assert!(ended.sent(steps::COIN) <= 4 * (layer + 3), "layer {layer}");
        }
    }
}

/// Of two layers of a batch the first is wrong, and its sender goes on with the right products: the left verifier has other operands.
#[test]
fn operands_that_are_not_what_was_sent_are_noticed() {
    for corrupted in 0..3 {
        let spy = flipping(steps::MULTIPLY_GATE, previous(corrupted), 5);
        let ended = Trial::new(1 << 10, 2, 70).run(corrupted, &spy);
        ended.caught("the first layer", corrupted, checks::PROOF_OPERANDS);
        // The left verifier opens nothing, to anybody.
        let receiver = previous(corrupted);
        for to in [corrupted, next(corrupted)] {
            assert_eq!(ended.seen(steps::PROOF_OPENING, receiver, to), 0);
        }
    }
}

/// Adds a row to another.
fn sum() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let sum = b.xor(x[0], x[1]);
    b.output("sum", &[sum], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Party 0 adds a bit to its own copy of the component that it shares with party 2, between two layers of a batch, and perhaps to what it sent of the first.
/// Gives what the others meet.
fn goes_on_with_another(sends_it: bool, second_layer: bool) -> [Option<Check>; 2] {
    const LANES: usize = 70;
    let spy = editing(move |message| {
        let hit = (message.step, message.occurrence) == (steps::MULTIPLY_GATE, 0);
        (hit && sends_it).then(|| flipped(&message.body, 9))
    });
    let rows = [72, 73].map(|seed| random_bits(seed, 1, LANES));
    let session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 32).with_spy(0, &spy);
    let results = session.run(move |engine| {
        let wires = share(engine, &rows)?;
        let both = engine.run(&layers(1), &wires)?;
        let lies = engine.me() == PartyId(0);
        let change = BitMatrix::from_fn(1, LANES, |_, lane| lies && lane == 9);
        let change = engine.constant(&change)?;
        let both = engine.run(&sum(), &WireVector::concat(&[&both, &change]))?;
        let last = match second_layer {
            true => engine.run(&layers(1), &WireVector::concat(&[&both, &wires.select(1..2)]))?,
            false => both,
        };
        engine.reveal(&last, Parties::all(3))?;
        engine.finish()
    });
    let [_, one, two] = results;
    [one, two].map(|result| result.err().and_then(|error| Error::check(&error)))
}

/// Whoever goes on with the wrong product that it sent is consistent with its neighbour: only its proof is left to fail.
#[test]
fn a_wrong_product_that_all_holders_go_on_with_has_no_proof() {
    assert_eq!(goes_on_with_another(true, true), [Some(checks::PROOF); 2]);
    assert_eq!(goes_on_with_another(true, false), [Some(checks::PROOF); 2]);
}

/// Whoever sent the right product and goes on with another has other operands, or opens another output.
#[test]
fn a_right_product_that_its_sender_forgets_is_noticed() {
    assert_eq!(
        goes_on_with_another(false, true),
        [Some(checks::PROOF_OPERANDS); 2]
    );
    assert_eq!(
        goes_on_with_another(false, false),
        [Some(checks::OUTPUT_OPENING); 2]
    );
}
