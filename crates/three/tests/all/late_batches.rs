//! The coin that assigns triples to gates comes after the triples, too. A corrupted party that stalls the batch which its
//! bad gate will meet, in order to make it match the coin, never sees the coin.
//!
//! Were the coin tossed when only the gates are fixed, the cheater of these tests would win with about `1/N^(B-1)` where
//! the theorems promise `1/N^B`: generator and evaluator have threads and channels of their own, so holding one up does
//! not hold up the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::intercept::{Message, Spy, Thread};
use crate::common::session::{Session, random_bits};
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Variant, check};
use cenote_session::{Engine, Parties};
use cenote_three::{ThreeEngine, ViewCheck, steps};

fn conjunction() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Party 1 makes a bad gate, and holds back its part of the array number `array` of triples until it knows the
/// evaluator's coin. Gives whether it ever did, and checks that nobody got an output.
fn coin_was_seen(parameters: &Parameters, array: usize, blocks: usize) -> bool {
    // On a busy machine the honest parties' deadline may be over before the attack.
    [600, 2000, 8000]
        .into_iter()
        .find_map(|patience| attempt(parameters, array, blocks, Duration::from_millis(patience)))
        .expect("the attack was made")
}

/// The attack on honest parties with this deadline; `None` if it was not made.
fn attempt(parameters: &Parameters, array: usize, blocks: usize, patience: Duration) -> Option<bool> {
    let zero = Spy::listening();
    let spy = Spy::corrupting(|message| {
        (message.step == steps::MULTIPLY_GATE).then(|| {
            let mut body = message.body.clone();
            body[0] ^= 1;
            vec![(message.step, body)]
        })
    });
    let seen = Arc::new(AtomicBool::new(false));
    let held_back = Arc::new(AtomicBool::new(false));
    let given_up = Arc::new(AtomicUsize::new(0));
    {
        let (zero, seen, held_back) = (Arc::clone(&zero), Arc::clone(&seen), Arc::clone(&held_back));
        let given_up = Arc::clone(&given_up);
        let coin =
            |message: &Message| message.step == steps::COIN && message.wire.thread == Thread::Evaluator;
        *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
            if message.step == steps::MULTIPLY_TRIPLE && message.occurrence == array {
                held_back.store(true, Ordering::SeqCst);
                let start = Instant::now();
                while given_up.load(Ordering::SeqCst) < 2 && start.elapsed() < Duration::from_secs(30) {
                    if zero.sent().iter().any(coin) {
                        seen.store(true, Ordering::SeqCst);
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            None
        }));
    }
    let (plan, lanes) = (conjunction(), blocks * 512);
    let input = random_bits(5, 2, lanes);
    let mut session = Session::new(parameters, ViewCheck::Mac, 5);
    session.timeout = patience;
    let outputs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&outputs);
    let open = move |engine: &mut ThreeEngine| {
        let own = (engine.me() == PartyId(0)).then_some(&input);
        let wires = engine.input(PartyId(0), 2, lanes, own)?;
        let result = engine.run(&plan, &wires)?;
        engine.reveal(&result, Parties::all(3))
    };
    let results = session.with_spy(0, &zero).with_spy(1, &spy).run(move |engine| {
        let opened = open(engine);
        if opened.is_err() && engine.me() != PartyId(1) {
            given_up.fetch_add(1, Ordering::SeqCst);
        }
        opened?;
        *counted.lock().unwrap() += 1;
        engine.finish()
    });
    assert_eq!(*outputs.lock().unwrap(), 0, "nothing was opened");
    for (party, result) in results.iter().enumerate().filter(|(party, _)| *party != 1) {
        let error = result.as_ref().unwrap_err();
        // The honest parties wait for the cheater in vain, and the one hears it from the other.
        assert!(error.reason().lost().is_some(), "party {party}: {error}");
    }
    held_back
        .load(Ordering::SeqCst)
        .then(|| seen.load(Ordering::SeqCst))
}

#[test]
fn reshuffled_batches_are_fixed_before_their_order() {
    // The gates meet the first batch, whose first array is held back.
    let parameters = check(Variant::Reshuffle, 12, 2, 1, 4).unwrap();
    assert!(!coin_was_seen(&parameters, 0, 12));
}

#[test]
fn replacements_are_fixed_before_the_draws() {
    // The first batch is d1; the second, whose first array is the third in all, is the first d2.
    let parameters = check(Variant::OnDemand, 30, 2, 3, 5).unwrap();
    assert!(!coin_was_seen(&parameters, 2, 30));
    // The third batch is drawn from, too, if there are more gates than the second holds.
    assert!(!coin_was_seen(&parameters, 4, 45));
}
