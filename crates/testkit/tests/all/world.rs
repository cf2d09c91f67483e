//! The test world itself: what it runs, records, changes, and how it fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cenote_net::{Channel, Error, Label, PartyId, Result, Shape, Step};
use cenote_testkit::{Adversary, Gate, Message, PartyContext, Perturbation, Target, Wire, World};

const VALUE: Step = Step {
    code: 1,
    name: "value",
};
const SUM: Step = Step { code: 2, name: "sum" };

/// Everyone tells everyone a byte, then the sum of what it knows, and checks that all sums are equal.
fn sums(mut context: PartyContext) -> std::result::Result<u8, String> {
    let mine = context.seed[0];
    let peers: Vec<_> = (0..context.parties as u8)
        .map(PartyId)
        .filter(|peer| *peer != context.me)
        .collect();
    let mut channels: Vec<_> = peers.into_iter().map(|peer| context.take(peer, "main")).collect();
    let mut tell = |step, value: u8| -> Result<Vec<u8>> {
        for channel in &mut channels {
            channel.send(step, &[value])?;
            channel.flush()?;
        }
        let mut hear = |channel: &mut Box<dyn Channel>| {
            let mut body = [0];
            channel.recv(step, &mut body).map(|()| body[0])
        };
        channels.iter_mut().map(&mut hear).collect()
    };
    let values = tell(VALUE, mine).map_err(|error| error.to_string())?;
    let sum = values.iter().fold(mine, |sum, value| sum.wrapping_add(*value));
    let others = tell(SUM, sum).map_err(|error| error.to_string())?;
    if others.iter().all(|other| *other == sum) {
        Ok(sum)
    } else {
        Err("sums differ".into())
    }
}

#[test]
fn all_wires_and_repetitions_agree() {
    let mut hashes = Vec::new();
    for wire in [Wire::Memory, Wire::Tcp, Wire::Tls] {
        let world = World::new(3, 7).wire(wire);
        let results = world.run(sums);
        assert_eq!(results.len(), 3);
        assert!(
            results
                .iter()
                .all(|result| result == &results[0] && result.is_ok()),
            "{results:?}"
        );
        hashes.push((
            results,
            (0..3)
                .map(|party| world.transcript_hash(PartyId(party)))
                .collect::<Vec<_>>(),
        ));
    }
    assert!(
        hashes.iter().all(|hash| hash == &hashes[0]),
        "same seed, same transcript"
    );
    let world = World::new(3, 8);
    let _ = world.run(sums);
    assert_ne!(
        world.transcript_hash(PartyId(0)),
        hashes[0].1[0],
        "another seed, another transcript"
    );
    let sent = world.transcript(PartyId(1));
    let seen: Vec<_> = sent
        .iter()
        .map(|sent| (sent.peer.0, sent.step, sent.length))
        .collect();
    assert_eq!(seen, [(0, VALUE, 1), (0, SUM, 1), (2, VALUE, 1), (2, SUM, 1)]);
}

/// The hash is of what the document says: fixed for a fixed protocol and seed.
#[test]
fn the_hash_of_a_transcript_is_stable() {
    let world = World::new(2, 0);
    let _ = world.run(|mut context: PartyContext| -> Result<()> {
        let mut channel = context.take(PartyId(1 - context.me.0), "main");
        channel.send(VALUE, b"abc")?;
        channel.recv(VALUE, &mut [0; 3])
    });
    use sha2::{Digest, Sha256};
    let channel = Sha256::digest([&1u16.to_le_bytes()[..], &3u64.to_le_bytes(), b"abc"].concat());
    assert_eq!(
        world.transcript_hash(PartyId(0)),
        hex::encode(Sha256::digest(hex::encode(channel)))
    );
}

/// Every deviation in every message of every party is noticed by somebody, and nobody hangs.
#[test]
fn every_deviation_is_noticed() {
    let honest = World::new(3, 1);
    assert!(honest.run(sums).iter().all(std::result::Result::is_ok));
    for party in (0..3).map(PartyId) {
        for sent in honest.transcript(party) {
            for perturbation in Perturbation::all() {
                let what = format!("{party}, {sent:?}, {perturbation:?}");
                // Behind the last message there is nothing to receive the copy.
                if matches!(perturbation, Perturbation::Duplicate) && sent.step == SUM {
                    continue;
                }
                let adversary = Adversary::new(Target::step(sent.step).to(sent.peer), perturbation);
                let world = World::new(3, 1).adversary(party, adversary.clone());
                let results = world.run(sums);
                assert!(adversary.deviations() > 0, "nothing was changed: {what}");
                let honest = results
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| *index != party.index());
                assert!(
                    honest.clone().any(|(_, result)| result.is_err()),
                    "not noticed: {what}"
                );
            }
        }
    }
}

/// One sends three messages, the other returns what it got or the error.
fn received(adversary: &Adversary, lengths: [usize; 3]) -> (Vec<Vec<u8>>, Option<Error>) {
    let world = World::new(2, 0)
        .labels(&["a", "b"])
        .adversary(PartyId(0), adversary.clone());
    let mut results = world.run(
        move |mut context: PartyContext| -> Result<(Vec<Vec<u8>>, Option<Error>)> {
            let mut channel = context.take(PartyId(1 - context.me.0), "b");
            let mut bodies = Vec::new();
            if context.me == PartyId(0) {
                for body in [[1; 2], [2; 2], [3; 2]] {
                    channel.send(VALUE, &body)?;
                }
                channel.flush()?;
                return Ok((bodies, None));
            }
            for length in lengths {
                let mut body = vec![0; length];
                match channel.recv(VALUE, &mut body) {
                    Ok(()) => bodies.push(body),
                    Err(error) => return Ok((bodies, Some(error))),
                }
            }
            Ok((bodies, None))
        },
    );
    results.remove(1).unwrap()
}

/// The second of three messages.
fn second() -> Target {
    Target::step(VALUE)
        .to(PartyId(1))
        .over(Label::from("b"))
        .occurrence(1)
}

/// The three messages as they are sent.
fn untouched() -> [Vec<u8>; 3] {
    [vec![1; 2], vec![2; 2], vec![3; 2]]
}

#[test]
fn each_perturbation_does_what_it_says() {
    let gate = Gate::new();
    let other = gate.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        other.open();
    });
    let cases = [
        (
            Perturbation::FlipBit { byte: 3, bit: 7 },
            [vec![1; 2], vec![2, 0x82], vec![3; 2]],
        ),
        (Perturbation::Truncate(1), [vec![1; 2], vec![2], vec![3; 2]]),
        (
            Perturbation::Extend(2),
            [vec![1; 2], vec![2, 2, 0, 0], vec![3; 2]],
        ),
        (Perturbation::Duplicate, [vec![1; 2], vec![2; 2], vec![2; 2]]),
        (Perturbation::SwapWithNext, [vec![1; 2], vec![3; 2], vec![2; 2]]),
        (Perturbation::Replace(vec![9]), [vec![1; 2], vec![9], vec![3; 2]]),
        (Perturbation::Delay(Duration::from_millis(50)), untouched()),
        (Perturbation::WithholdUntil(gate), untouched()),
    ];
    for (perturbation, expected) in cases {
        let adversary = Adversary::new(second(), perturbation.clone());
        let lengths = [expected[0].len(), expected[1].len(), expected[2].len()];
        let start = Instant::now();
        let (bodies, error) = received(&adversary, lengths);
        assert!(adversary.deviations() > 0);
        assert_eq!(
            (bodies.as_slice(), error),
            (&expected[..], None),
            "{perturbation:?}"
        );
        if let Perturbation::Delay(time) = perturbation {
            assert!(start.elapsed() >= time);
        }
    }
}

/// All else has been said by then.
#[test]
fn a_message_that_is_dropped_or_of_another_step_is_missed() {
    let lost = |error| {
        matches!(
            error,
            Some(Error::PeerLost {
                peer: PartyId(0),
                step: VALUE,
                ..
            })
        )
    };
    let (bodies, error) = received(&Adversary::new(second(), Perturbation::Drop), [2; 3]);
    assert!(bodies == [vec![1; 2], vec![3; 2]] && lost(error));
    let (bodies, error) = received(&Adversary::new(second(), Perturbation::Relabel(SUM)), [2; 3]);
    assert!(bodies == [vec![1; 2]] && matches!(error, Some(Error::Violation { .. })));
}

#[test]
fn a_target_that_no_message_fits_changes_nothing() {
    for missed in [
        second().to(PartyId(0)),
        second().over(Label::from("a")),
        second().occurrence(3),
    ] {
        let adversary = Adversary::new(missed, Perturbation::Drop);
        assert_eq!(received(&adversary, [2; 3]), (untouched().to_vec(), None));
        assert_eq!(adversary.deviations(), 0);
    }
}

#[test]
fn an_adversary_may_be_a_function_of_each_message() {
    let every_second = Adversary::with(|peer, label, message| {
        assert_eq!((peer, label.as_str()), (PartyId(1), "b"));
        if message.body[0] == 2 {
            vec![Message {
                body: vec![0; 2],
                ..message
            }]
        } else {
            vec![message]
        }
    });
    assert_eq!(received(&every_second, [2; 3]).0[1], [0; 2]);
    assert_eq!(every_second.deviations(), 1);
}

fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .expect("a text"),
    }
}

/// The panic of a world in which all but party 0 are late, and the limit after which they were: a longer one if on a busy machine
/// party 0 was late, too.
fn panic_of_late(run: impl Fn(Duration)) -> (String, f64) {
    [100, 2_000, 20_000]
        .map(Duration::from_millis)
        .into_iter()
        .map(|limit| (panic_of(|| run(limit)), limit.as_secs_f64()))
        .find(|(text, _)| !text.contains("party 0"))
        .expect("party 0 is not late")
}

#[test]
fn a_waiting_party_is_named() {
    let (text, limit) = panic_of_late(|limit| {
        let world = World::new(3, 0)
            .timeout(limit)
            .channel_timeout(Duration::from_secs(60));
        let _ = world.run(|mut context: PartyContext| -> Result<()> {
            if context.me == PartyId(1) {
                return context.take(PartyId(2), "main").recv(VALUE, &mut [0]);
            }
            if context.me == PartyId(2) {
                let mut channel = context.take(PartyId(1), "main");
                return channel.recv(VALUE, &mut [0]);
            }
            Ok(())
        });
    });
    assert_eq!(text, format!("after {limit:.1} s not ended: party 1, party 2"));
}

#[test]
fn an_endless_party_is_named_and_left_behind() {
    let stop = Arc::new(AtomicBool::new(false));
    let (text, limit) = panic_of_late(|limit| {
        let seen = stop.clone();
        let world = World::new(2, 0).timeout(limit);
        let _ = world.run(move |context: PartyContext| -> Result<()> {
            while context.me == PartyId(1) && !seen.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
    });
    stop.store(true, Ordering::Relaxed);
    assert_eq!(
        text,
        format!("after {limit:.1} s not ended: party 1; even with channels closed still running: party 1")
    );
}

#[test]
fn a_panic_of_a_party_is_passed_on() {
    let text = panic_of(|| {
        let _ = World::new(2, 0).run(|mut context: PartyContext| -> Result<()> {
            assert!(context.me != PartyId(0), "party 0 fails");
            context.take(PartyId(0), "main").recv(VALUE, &mut [0])
        });
    });
    assert_eq!(text, "party 0 fails");
}

#[test]
fn a_shape_slows_the_world() {
    let start = Instant::now();
    let world = World::new(3, 7).shape(Shape::new(Duration::from_millis(30), None));
    assert!(world.run(sums).iter().all(std::result::Result::is_ok));
    assert!(start.elapsed() >= Duration::from_millis(60), "two rounds");
}
