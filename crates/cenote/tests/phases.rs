//! A peer that sends each message just in time is cut off when the time of a phase is over.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use cenote::runner::Connections;
use cenote::{BitMatrix, Error, Parties, Party, PartyId, Program, Protocol, Transport, circuits};
use cenote_net::{Channel, Error as NetError, Result, Step};
use cenote_session::{Error as EngineError, Reason};
use cenote_testkit::{Between, Tapped};

/// How long a message may take: far longer than any takes here.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a phase may take.
const LIMIT: Duration = Duration::from_secs(8);

/// A party that sends late what is of these steps.
#[derive(Clone)]
struct Drip {
    steps: RangeInclusive<u16>,
    delay: Duration,
}

impl Between for Drip {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        if self.steps.contains(&step.code) {
            thread::sleep(self.delay);
        }
        channel.send_parts(step, parts)
    }
}

/// How a session of `protocol` ends for each party but `slow`, which is as slow as `drip`.
fn ends(protocol: &str, slow: u8, drip: &Drip) -> Vec<EngineError> {
    let protocol = Protocol::named(protocol).unwrap();
    let circuit = circuits::by_name("add64").unwrap();
    let owners = vec![PartyId(0), PartyId(1)];
    let receivers = vec![Parties::one(PartyId(0)).with(PartyId(1))];
    let program = Program::new("add", circuit, owners, receivers, 3).unwrap();
    let input = BitMatrix::from_fn(64, 3, |wire, lane| (wire + lane) % 3 == 0);
    let all = Connections::in_memory(&protocol.topology(), TIMEOUT);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let party = |(me, connections): (u8, Connections)| {
            let (protocol, program, input) = (&protocol, &program, &input);
            let connections = match me == slow {
                true => connections.map(|channel| Box::new(Tapped::new(drip.clone(), channel))),
                false => connections,
            };
            scope.spawn(move || {
                let own = |owner: &PartyId| (owner.0 == me).then(|| input.clone());
                let inputs: Vec<_> = program.owners().iter().map(own).collect();
                let party = Party {
                    me: PartyId(me),
                    protocol,
                    program,
                    inputs: &inputs,
                    also_agree: &(),
                    transport: Transport::Memory,
                    // The slow one has all the time that it wants.
                    phase_timeout: (me != slow).then_some(LIMIT),
                };
                party.run(|| Ok(connections), &mut |_, _| ()).map(|_| ())
            })
        };
        let threads: Vec<_> = (0..).zip(all).map(party).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let honest = (0..).zip(outcomes).filter(|(me, _)| *me != slow);
    let error = |(me, outcome): (u8, cenote::Result<()>)| match outcome {
        Err(Error::Protocol { error, .. }) => error,
        other => panic!("party {me}: {other:?}"),
    };
    honest.map(error).collect()
}

/// Some honest party names the slow one and the phase, and the others hear of it, or see the same.
#[track_caller]
fn cut_off_in(phase: &str, slow: u8, errors: &[EngineError]) {
    let over = |error: &EngineError, by: Option<u8>| match error {
        EngineError::Net(NetError::PhaseOver {
            peer,
            phase: named,
            limit,
            ..
        }) => named == phase && *limit == LIMIT && by.is_none_or(|by| peer.0 == by),
        _ => false,
    };
    let heard = |error: &EngineError| {
        matches!(
            error,
            EngineError::PeerStopped {
                reason: Reason::Lost(_) | Reason::HeardLost(..),
                ..
            }
        )
    };
    assert!(errors.iter().any(|error| over(error, Some(slow))), "{errors:?}");
    assert!(
        errors.iter().all(|error| over(error, None) || heard(error)),
        "{errors:?}"
    );
    let told = errors
        .iter()
        .find(|error| over(error, Some(slow)))
        .unwrap()
        .to_string();
    let limit = format!("({} s)", LIMIT.as_secs());
    for part in [phase, "party", &limit, "phase_timeout"] {
        assert!(told.contains(part), "{told}");
    }
}

/// 64 levels of AND gates are 64 messages.
#[test]
fn a_drip_among_three_parties_ends_with_the_evaluation() {
    let code = cenote_three::steps::MULTIPLY_GATE.code;
    let drip = Drip {
        steps: code..=code,
        delay: Duration::from_millis(400),
    };
    cut_off_in("the evaluation", 1, &ends("three", 1, &drip));
}

#[test]
fn a_drip_of_the_garbler_ends_with_the_preparation() {
    let drip = Drip {
        steps: cenote_lego::steps::GATES.code..=cenote_lego::steps::PROVE_GENERATE.code,
        delay: Duration::from_secs(3),
    };
    cut_off_in("the preparation", 0, &ends("lego", 0, &drip));
}

#[test]
fn a_drip_ends_with_the_handshake() {
    let drip = Drip {
        steps: 0..=u16::MAX,
        delay: Duration::from_secs(5),
    };
    thread::scope(|scope| {
        for protocol in ["three", "lego", "jimu", "authenticated"] {
            let drip = &drip;
            scope.spawn(move || cut_off_in("the handshake", 1, &ends(protocol, 1, drip)));
        }
    });
}
