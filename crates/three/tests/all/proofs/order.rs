//! What a corrupted party does not get to see before all have what it owes them: neither the coin, with which it could make any error fit, nor what is
//! opened of a proof.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use cenote_net::{ChannelOptions, PartyId};
use cenote_session::{Engine, Error, Parties};
use cenote_three::{Links, Ring, steps};

use super::{BLOCK, Trial, layers, next, previous};
use crate::common::intercept::{Spy, Thread};
use crate::common::memory_links;
use crate::common::session::{in_parallel, random_bits};

/// Party `corrupted` owes the previous one its products of `layer`, says that it has everything, and tells the other its share of the coin. Gives how
/// many shares of coins it saw, and what was wrong about the session's end.
fn owe_products(corrupted: u8, layer: usize, patience: Duration) -> (usize, Result<(), String>) {
    let receiver = previous(corrupted);
    let spy = Spy::corrupting(move |message| match message.step {
        steps::MULTIPLY_GATE if message.occurrence >= layer => Some(Vec::new()),
        steps::BARRIER if message.occurrence == layer => Some(vec![
            (message.step, message.body.clone()),
            (steps::COIN, vec![0; 16]),
        ]),
        _ => None,
    });
    let mut trial = Trial::of_batches();
    trial.session.impatient = Some(([corrupted, receiver], patience));
    let ended = trial.run(corrupted, &spy);
    assert!(ended.outputs.iter().all(Option::is_none));
    let seen = [next(corrupted), receiver].map(|from| ended.seen(steps::COIN, from, corrupted));
    let missed = match &ended.results[usize::from(receiver)] {
        Err(Error::Net(cenote_net::Error::Timeout { peer, step, .. })) => {
            (*peer, *step) == (PartyId(corrupted), steps::MULTIPLY_GATE)
        }
        _ => false,
    };
    let said = ended.seen(steps::BARRIER, next(corrupted), corrupted);
    let end = match missed && said == layer + 1 {
        true => Ok(()),
        false => Err(format!("{said} words, {:?}", ended.results)),
    };
    (seen.iter().sum(), end)
}

/// Of each layer, which is a batch. The other party has all of it and says so, and yet tosses no coin.
#[test]
fn products_are_not_bought_with_a_coin() {
    in_parallel(9, 9, |index| {
        let (corrupted, layer) = ((index % 3) as u8, index / 3);
        // On a busy machine the receiver's deadline may be over before the deviation.
        for patience in [500, 8000].map(Duration::from_millis) {
            let (coins, end) = owe_products(corrupted, layer, patience);
            // Those of the batches before, from both others.
            assert!(
                coins <= 2 * layer,
                "layer {layer} of party {corrupted}: {coins} coins"
            );
            match end {
                Ok(()) => return assert_eq!(coins, 2 * layer, "layer {layer}"),
                Err(_) if patience.as_secs() == 0 => (),
                Err(end) => panic!("layer {layer} of party {corrupted}: {end}"),
            }
        }
    });
}

/// The channels of party `me` with those of its prover in the test's hands, and what the party is given instead.
pub(super) fn take_prover(mut links: [Links; 3], me: u8) -> ([Links; 3], Ring) {
    let [one, two, three] = memory_links(&ChannelOptions::with_timeout(Duration::from_secs(20)));
    let unused = match me {
        0 => one.generator,
        1 => two.generator,
        _ => three.generator,
    };
    let ring = std::mem::replace(&mut links[usize::from(me)].generator, unused);
    (links, ring)
}

/// Party `corrupted` owes the next one its input, without which that cannot multiply, but the previous one has all. It says that it has everything, and tells
/// its share of the coin, by messages that the protocol's code would not send.
#[test]
fn an_input_is_not_bought_with_a_coin() {
    in_parallel(3, 3, |index| {
        let corrupted = index as u8;
        let (receiver, other) = (next(corrupted), previous(corrupted));
        let spy = Spy::corrupting(move |message| (message.step == steps::INPUT).then(Vec::new));
        let listeners = [(); 2].map(|()| Spy::listening());
        let trial = Trial::small();
        let mut session = trial.session.clone().with_spy(corrupted, &spy);
        session = session.with_spy(receiver, &listeners[0]);
        session = session.with_spy(other, &listeners[1]);
        session.timeout = Duration::from_secs(2);
        let (links, mut ring) = take_prover(session.links(), corrupted);
        let (rows, plan) = (random_bits(74, 2, trial.lanes), layers(1));
        let (over, done) = mpsc::channel::<()>();
        let forged = std::thread::spawn(move || {
            let word = (trial.lanes.div_ceil(BLOCK) as u64).to_le_bytes();
            for channel in [&mut ring.previous, &mut ring.next] {
                channel.send(steps::BARRIER, &word).unwrap();
                channel.send(steps::COIN, &[0; 16]).unwrap();
                channel.flush().unwrap();
            }
            // Open until the session is over.
            let _ = done.recv_timeout(Duration::from_secs(30));
        });
        let results = session.run_links(links.map(Some), move |engine| {
            let owner = PartyId(corrupted);
            let own = (engine.me() == owner).then_some(&rows);
            let wires = engine.input(owner, 2, rows.lanes(), own)?;
            let results = engine.run(&plan, &wires)?;
            engine.reveal(&results, Parties::all(3))?;
            engine.finish()
        });
        drop(over);
        forged.join().expect("its messages are sent");
        for party in [receiver, other] {
            assert!(results[usize::from(party)].as_ref().unwrap().is_err());
        }
        let sent: Vec<_> = listeners.iter().flat_map(|spy| spy.sent()).collect();
        let count = |step, from| {
            let ways = sent
                .iter()
                .filter(|message| message.wire.thread == Thread::Generator);
            let ways = ways.map(|message| (message.step, message.wire.from, message.wire.to));
            ways.filter(|way| *way == (step, from, corrupted)).count()
        };
        assert_eq!(count(steps::BARRIER, other), 1, "the other has everything");
        assert_eq!(count(steps::BARRIER, receiver), 0, "the receiver has not");
        for party in [receiver, other] {
            assert_eq!(count(steps::COIN, party), 0, "party {party} tosses no coin");
        }
    });
}

/// Whoever does not hear a party's word on the challenge opens nothing; nor does who misses any earlier message of a proof.
#[test]
fn what_is_withheld_from_a_party_is_not_opened_by_it() {
    let steps = [
        (steps::COIN, true, true),
        (steps::PROOF_GRID, false, true),
        (steps::PROOF_DIGEST, true, false),
        (steps::PROOF_CHALLENGE, true, true),
        (steps::PROOF_TAIL, false, true),
        (steps::PROOF_DIGESTS, true, false),
    ];
    let mut cases = Vec::new();
    for (step, to_next, to_previous) in steps {
        for corrupted in 0..3 {
            let receivers = [(to_next, next(corrupted)), (to_previous, previous(corrupted))];
            let receivers = receivers.into_iter().filter(|(sent, _)| *sent);
            cases.extend(receivers.map(|(_, receiver)| (step, corrupted, receiver)));
        }
    }
    in_parallel(cases.len(), 12, |index| {
        let (step, corrupted, receiver) = cases[index];
        let mut silent = false;
        let spy = Spy::corrupting(move |message| {
            let wire = (message.wire.to, message.wire.thread);
            silent |= message.step == step && message.wire.to == receiver;
            (silent && wire == (receiver, Thread::Generator)).then(Vec::new)
        });
        let mut trial = Trial::small();
        trial.session.impatient = Some(([corrupted, receiver], Duration::from_millis(700)));
        let ended = trial.run(corrupted, &spy);
        let what = format!("{step} from {corrupted} to {receiver}");
        for to in (0..3).filter(|to| *to != receiver) {
            assert_eq!(ended.seen(steps::PROOF_OPENING, receiver, to), 0, "{what}");
        }
        for party in (0..3).filter(|party| *party != corrupted) {
            let party = usize::from(party);
            assert!(
                ended.results[party].is_err() && ended.outputs[party].is_none(),
                "{what}"
            );
        }
    });
}

/// A message that comes late, at each step: all wait for it.
#[test]
fn late_messages_of_a_proof_are_waited_for() {
    let steps = [steps::BARRIER, steps::COIN];
    for step in steps.iter().chain(steps::PROVED).copied() {
        let spy = Spy::corrupting(|_| None);
        *spy.stall.lock().unwrap() = Some(Arc::new(move |message| {
            if message.step == step {
                std::thread::sleep(Duration::from_millis(30));
            }
            None
        }));
        Trial::of_batches().run(1, &spy).succeeded(step.name);
    }
}
