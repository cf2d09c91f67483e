//! A party cannot use different inputs towards different parties.
//!
//! Party `i` shares a bit `v` as `(F(k_i), v ⊕ F(k_i), 0)`. Components `i` and `i + 2` are not sent but derived or fixed;
//! component `i + 1` is sent to party `i + 1` and to nobody else, and its second holder is party `i` itself. Whatever
//! the one message says, the honest parties' components thus define one value, and no second message exists that
//! could contradict it. To show: there is one message; changing it is choosing another input; and a party that then
//! goes on as if it had not changed it contradicts itself, which the checks notice.
use cenote_three::checks;

use crate::common::intercept::{Message, Spy};
use crate::common::session::{
    LANES, Outputs, Session, WIDTH, random_bits, small_answer, small_input, small_program,
};
use crate::common::tiny;
use cenote_net::PartyId;
use cenote_params::three::Variant;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Error, Parties};
use cenote_three::{ViewCheck, steps};

fn inputs_sent(spy: &Spy) -> Vec<Message> {
    spy.sent()
        .into_iter()
        .filter(|message| message.step == steps::INPUT)
        .collect()
}

/// The bits that the attacks flip: of wire 0 in lane 3, and of wire 2 in lane 49.
fn difference() -> BitMatrix {
    BitMatrix::from_fn(WIDTH, LANES, |row, lane| {
        (row, lane) == (0, 3) || (row, lane) == (2, 49)
    })
}

/// `body`, a dense packing of [`WIDTH`] rows of [`LANES`] bits, with [`difference`] added.
fn flipped(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    for bit in [3, 2 * LANES + 49] {
        body[bit / 8] ^= 1 << (bit % 8);
    }
    body
}

fn xor(a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
    BitMatrix::from_fn(a.rows(), a.lanes(), |row, lane| {
        a.get(row, lane) ^ b.get(row, lane)
    })
}

fn session() -> Session {
    Session::new(tiny(Variant::Baseline), ViewCheck::Mac, 3)
}

#[test]
fn one_message_carries_an_input_and_changing_it_is_choosing_another() {
    for owner in 0..3u8 {
        let sent = |inputs: [BitMatrix; 3]| {
            let (spy, outputs) = (Spy::listening(), Outputs::default());
            let answer = small_answer(&inputs);
            let results = session()
                .with_spy(owner, &spy)
                .run(small_program(inputs, &outputs));
            results
                .into_iter()
                .for_each(|result| result.expect("all are honest"));
            assert!(
                outputs
                    .get()
                    .iter()
                    .all(|output| output.as_ref() == Some(&answer))
            );
            inputs_sent(&spy)
        };
        let mut inputs = [0, 1, 2].map(small_input);
        let first = sent(inputs.clone());
        assert_eq!(first.len(), 1, "one message of party {owner}");
        assert_eq!(first[0].wire.to, (owner + 1) % 3);

        // With the same keys, the session of the other input differs in these bits of this message. A party that
        // sends them instead is in that session.
        let index = usize::from(owner);
        inputs[index] = xor(&inputs[index], &difference());
        let second = sent(inputs);
        assert_eq!(second[0].body, flipped(&first[0].body));
    }
}

/// The changed input, opened at once: the honest parties agree on it, if its owner opens the share that it sent.
#[test]
fn honest_parties_see_the_same_changed_input() {
    for owner in 0..3u8 {
        for consistent in [true, false] {
            let spy = Spy::corrupting(move |message| match message.step {
                steps::INPUT => Some(vec![(message.step, flipped(&message.body))]),
                steps::OUTPUT if consistent => Some(vec![(message.step, flipped(&message.body))]),
                _ => None,
            });
            let value = random_bits(50, WIDTH, LANES);
            let changed = xor(&value, &difference());
            let results = session().with_spy(owner, &spy).run(move |engine| {
                let own = (engine.me() == PartyId(owner)).then_some(&value);
                let wires = engine.input(PartyId(owner), WIDTH, LANES, own)?;
                engine.reveal(&wires, Parties::all(3))
            });
            let [previous, next] = [(owner + 2) % 3, (owner + 1) % 3].map(|i| &results[usize::from(i)]);
            assert_eq!(next.as_ref().unwrap().as_ref(), Some(&changed), "owner {owner}");
            if consistent {
                assert_eq!(
                    previous.as_ref().unwrap().as_ref(),
                    Some(&changed),
                    "owner {owner}"
                );
            } else {
                let check = previous.as_ref().err().and_then(Error::check);
                assert_eq!(check, Some(checks::OUTPUT_OPENING), "owner {owner}: {previous:?}");
            }
        }
    }
}

/// The owner computes on with the share that it did not send.
#[test]
fn an_owner_that_contradicts_its_input_is_noticed() {
    for owner in 0..3 {
        let spy = Spy::corrupting(|message| {
            (message.step == steps::INPUT).then(|| vec![(message.step, flipped(&message.body))])
        });
        let outputs = Outputs::default();
        let results = session()
            .with_spy(owner, &spy)
            .run(small_program([0, 1, 2].map(small_input), &outputs));
        for (party, result) in (0..3).zip(&results).filter(|(party, _)| *party != owner) {
            let check = result.as_ref().err().and_then(Error::check);
            assert_eq!(check, Some(checks::VIEW_COMPARISON), "party {party}: {result:?}");
            assert_eq!(outputs.get()[usize::from(party)], None);
        }
    }
}
