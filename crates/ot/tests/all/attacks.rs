//! Whole runs, base OTs included, over channels of the network crate: what they cost, and malformed, missing, late and
//! repeated messages of either party in every step. None may panic or hang the other.
use cenote_ot::checks::OT_CONSISTENCY;
use cenote_session::{Error, MESSAGE_FORM, Result};

use cenote_net::{Error as NetError, PartyId, Step};
use cenote_ot::{Chosen, DeltaReceiver, DeltaSender, steps};
use cenote_primitives::{Block, Entropy};
use cenote_testkit::{Adversary, PartyContext, Perturbation, Target, World, perturbed};

const SENDER: PartyId = PartyId(0);
const RECEIVER: PartyId = PartyId(1);
const CORRELATED: usize = 1000;
const RANDOM: usize = 300;

/// What a party comes to.
enum Output {
    Sender(Block, Vec<Block>, Vec<[Block; 2]>),
    Receiver(Chosen, Chosen),
}

fn party(mut context: PartyContext) -> Result<Output> {
    let mut entropy = Entropy::for_tests(u64::from_le_bytes(*context.seed.first_chunk().unwrap()));
    if context.me == SENDER {
        let mut channel = context.take(RECEIVER, "main");
        let mut sender = DeltaSender::new(&mut *channel, &mut entropy, b"attacks")?;
        let correlated = sender.correlated(&mut *channel, CORRELATED)?;
        let random = sender.random(&mut *channel, RANDOM)?;
        channel.close()?;
        Ok(Output::Sender(sender.delta(), correlated, random))
    } else {
        let mut channel = context.take(SENDER, "main");
        let mut receiver = DeltaReceiver::new(&mut *channel, &mut entropy, b"attacks")?;
        let correlated = receiver.correlated(&mut *channel, &mut entropy, CORRELATED)?;
        let random = receiver.random(&mut *channel, &mut entropy, RANDOM)?;
        channel.close()?;
        Ok(Output::Receiver(correlated, random))
    }
}

fn is_right(sender: &Output, receiver: &Output) -> bool {
    let (Output::Sender(delta, own, pairs), Output::Receiver(correlated, random)) = (sender, receiver) else {
        panic!("the sender comes first");
    };
    let choice = |chosen: &Chosen, i: usize| chosen.choices[i / 64] >> (i % 64) & 1 == 1;
    let strings = own.iter().zip(&correlated.strings).enumerate();
    let pairs = pairs.iter().zip(&random.strings).enumerate();
    strings.clone().count() == CORRELATED
        && pairs.clone().count() == RANDOM
        && delta.to_bytes()[0] & 1 == 1
        && strings.into_iter().all(|(i, (&own, &theirs))| {
            theirs == if choice(correlated, i) { own ^ *delta } else { own } && own.to_bytes()[0] & 1 == 0
        })
        && pairs
            .into_iter()
            .all(|(i, (pair, theirs))| pair[usize::from(choice(random, i))] == *theirs)
}

#[test]
fn honest_parties_agree_and_pay_what_is_declared() {
    let world = World::random(2);
    let results = world.run(party);
    let [Ok(sender), Ok(receiver)] = &results[..] else {
        panic!("an honest run failed");
    };
    assert!(is_right(sender, receiver));

    let bytes = |party, step: Step| -> usize {
        let sent = world.transcript(party);
        sent.iter()
            .filter(|sent| sent.step == step)
            .map(|sent| sent.length)
            .sum()
    };
    assert_eq!(bytes(RECEIVER, steps::BASE_KEY), 32);
    assert_eq!(bytes(SENDER, steps::BASE_CHOICES), 298 * 64);
    // 1128 and 428 rows, in units of 512.
    assert_eq!(bytes(RECEIVER, steps::COLUMNS), 298 * (3 + 1) * 64);
    assert_eq!(bytes(SENDER, steps::CHALLENGE), 2 * 16);
    assert_eq!(bytes(RECEIVER, steps::ANSWER), 2 * 299 * 16);
    let all: usize = [SENDER, RECEIVER]
        .iter()
        .flat_map(|&party| steps::ALL.iter().map(move |&step| (party, step)))
        .map(|(party, step)| bytes(party, step))
        .sum();
    assert_eq!(
        all,
        32 + 298 * (64 + 256) + 2 * (16 + 299 * 16),
        "each step has one direction"
    );
}

/// A change of anything on the wire shows here.
#[test]
fn the_transcript_is_as_recorded() {
    let world = World::new(2, 2025);
    assert!(world.run(party).iter().all(Result::is_ok));
    let hashes = [SENDER, RECEIVER].map(|party| world.transcript_hash(party)[..32].to_owned());
    assert_eq!(
        hashes,
        [
            "4a6898ca0f5a2b3b04129fe5ecd59ce1",
            "d4f4a980aa3ac307df3f35dcddbbbaa4"
        ]
    );
}

/// Which party sends a step.
fn sends(step: Step) -> PartyId {
    match step {
        steps::BASE_CHOICES | steps::CHALLENGE => SENDER,
        _ => RECEIVER,
    }
}

/// Whether `error` is one that `perturbation` may cause at the honest party: what it is told by the form of messages, or,
/// if its peer noticed first, that the peer has gone.
fn is_expected(error: &Error, step: Step, perturbation: &Perturbation) -> bool {
    match (error, perturbation) {
        (Error::Aborted { check, step: at, .. }, Perturbation::FlipBit { .. }) => match step {
            steps::BASE_KEY | steps::BASE_CHOICES => *check == MESSAGE_FORM && *at == step,
            steps::COLUMNS | steps::ANSWER => *check == OT_CONSISTENCY && *at == steps::ANSWER,
            _ => false,
        },
        (
            Error::Net(NetError::Timeout { .. } | NetError::PeerLost { .. })
            | Error::Aborted {
                check: MESSAGE_FORM, ..
            },
            Perturbation::Drop | Perturbation::SwapWithNext,
        ) => true,
        // A flipped challenge is the cheater's own loss, and so is one that is taken for the next one as well: its check fails,
        // and it leaves.
        (Error::Net(NetError::PeerLost { .. }), Perturbation::FlipBit { .. } | Perturbation::Duplicate) => {
            step == steps::CHALLENGE
        }
        (Error::Aborted { check, .. }, _) => *check == MESSAGE_FORM,
        _ => false,
    }
}

#[test]
fn no_deviation_in_any_step_is_accepted_or_hangs() {
    for &step in steps::ALL {
        let cheater = sends(step);
        let honest = usize::from(1 - cheater.0);
        for perturbation in Perturbation::all() {
            let case = format!("{perturbation:?} of \"{step}\" by {cheater}");
            // The world panics if a party hangs.
            let results = perturbed(&Target::step(step), &perturbation, |adversary, patience| {
                let world = World::new(2, 4).adversary(cheater, adversary.clone());
                world.channel_timeout(patience).run(party)
            });
            match &results[honest] {
                Err(error) => assert!(is_expected(error, step, &perturbation), "{case}: {error}"),
                // A flipped bit of one column is a guess of one bit of the base choices, which may be right.
                Ok(_) => {
                    let passes =
                        step == steps::COLUMNS && matches!(perturbation, Perturbation::FlipBit { .. });
                    let [Ok(sender), Ok(receiver)] = &results[..] else {
                        panic!("{case}: only the honest party succeeded");
                    };
                    assert!(passes && is_right(sender, receiver), "{case}");
                }
            }
        }
    }
}

/// Base messages that are points, but not those of the protocol, make keys that fit nothing: the extension's check fails.
#[test]
fn keys_from_another_point_fail_the_check() {
    // The encoding of the generator (RFC 9496, Appendix A.1).
    let generator = "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76";
    let point = (0..32)
        .map(|i| u8::from_str_radix(&generator[2 * i..2 * i + 2], 16).unwrap())
        .collect();
    let adversary = Adversary::new(Target::step(steps::BASE_KEY), Perturbation::Replace(point));
    let results = World::new(2, 5).adversary(RECEIVER, adversary).run(party);
    assert!(matches!(
        &results[0],
        Err(Error::Aborted {
            check: OT_CONSISTENCY,
            ..
        })
    ));
}

/// A sender that restarts its base OTs with messages of another run gets keys that fit nothing.
#[test]
fn base_messages_of_another_run_do_not_fit() {
    let recorded = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = recorded.clone();
    let spy = Adversary::with(move |_, _, message| {
        if message.step == steps::BASE_CHOICES {
            record.lock().unwrap().push(message.body.clone());
        }
        vec![message]
    });
    assert!(
        World::new(2, 6)
            .adversary(SENDER, spy)
            .run(party)
            .iter()
            .all(Result::is_ok)
    );
    let mut old = std::mem::take(&mut *recorded.lock().unwrap()).into_iter();
    assert_eq!(old.len(), 298usize.div_ceil(64));
    let replay = Adversary::with(move |_, _, mut message| {
        if message.step == steps::BASE_CHOICES {
            message.body = old.next().unwrap();
        }
        vec![message]
    });
    let results = World::new(2, 7).adversary(SENDER, replay.clone()).run(party);
    assert_eq!(replay.deviations(), 298usize.div_ceil(64));
    // The sender, which deviated, holds wrong keys: its own check fails, and nothing comes of it at either side.
    let of = |party: PartyId| results[party.index()].as_ref().map(|_| ());
    let noticed = of(SENDER).unwrap_err();
    assert_eq!(noticed.check(), Some(OT_CONSISTENCY), "{noticed}");
    let lost = of(RECEIVER).unwrap_err();
    assert!(matches!(lost, Error::Net(NetError::PeerLost { .. })), "{lost}");
}
