//! Every step in every state, and any order of steps.

use proptest::prelude::*;

use super::*;

/// The party whose view is tested.
const ME: u8 = 0;

fn job() -> Job {
    let proposal = proposal(1);
    Job {
        number: 1,
        digest: proposal.digest(),
        state: State::Proposed,
        runs: 0,
        interrupted: None,
        decisions: vec![None; 3],
        binding: Vec::new(),
        created_at: at(0),
        changed_at: at(0),
        proposal,
    }
}

fn all_steps() -> Vec<Step> {
    let digest = proposal(1).digest();
    let reason = || String::from("because");
    let here = [
        Local::Approve {
            binding: binding(),
            reason: reason(),
        },
        Local::Decline { reason: reason() },
        Local::Queue,
        Local::Start {
            found: Default::default(),
        },
        Local::Interrupt { reason: reason() },
        Local::Finish,
        Local::Fail {
            kind: FailKind::Timeout,
            reason: reason(),
        },
        Local::Cancel,
        Local::Restart,
        Local::Expire { waited_for: None },
    ];
    let mut steps: Vec<Step> = here.into_iter().map(Step::Here).collect();
    // The honest peers, this party's own name, and one that does not take part.
    for peer in 0..4 {
        for proposal in [digest, Digest::of(b"another")] {
            steps.push(Step::Peer(peer, Remote::Approve { proposal }));
            steps.push(Step::Peer(
                peer,
                Remote::Decline {
                    proposal,
                    reason: reason(),
                },
            ));
        }
        steps.push(Step::Peer(peer, Remote::Cancel));
        steps.push(Step::Peer(
            peer,
            Remote::Fail {
                kind: FailKind::Cheating,
                reason: reason(),
                waited_for: None,
            },
        ));
    }
    steps
}

/// A job in a state, where nobody has decided if it is proposed.
fn in_state(name: StateName) -> Job {
    let mut job = job();
    job.state = match name {
        StateName::Proposed => return job,
        StateName::Approved => State::Approved,
        StateName::Queued => State::Queued,
        StateName::Running => State::Running,
        StateName::Done => State::Done,
        StateName::Declined => State::Declined {
            by: 1,
            reason: String::new(),
        },
        StateName::Failed => State::Failed(Failure {
            by: 1,
            kind: FailKind::Peer,
            reason: String::new(),
        }),
        StateName::Cancelled => State::Cancelled { by: 1 },
    };
    job
}

/// What each step leads to, written a second time, as a table.
fn expected(from: StateName, step: &Step, late: bool) -> Option<StateName> {
    use StateName::*;
    let right = proposal(1).digest();
    if let Step::Peer(0 | 3, _) = step {
        return None;
    }
    match (from, step) {
        (Done | Declined | Failed | Cancelled, _) => None,
        (Proposed, Step::Here(Local::Approve { .. })) => Some(Proposed),
        (Proposed, Step::Here(Local::Decline { .. })) => Some(Declined),
        (Proposed, Step::Peer(_, Remote::Approve { proposal })) if *proposal == right => Some(Proposed),
        (Proposed, Step::Peer(_, Remote::Decline { proposal, .. })) if *proposal == right => Some(Declined),
        (Approved, Step::Here(Local::Queue)) => Some(Queued),
        (Queued, Step::Here(Local::Start { .. })) => Some(Running),
        (Running, Step::Here(Local::Interrupt { .. })) => Some(Queued),
        (Running, Step::Here(Local::Finish)) => Some(Done),
        (Running, Step::Here(Local::Restart)) => Some(Failed),
        (_, Step::Here(Local::Fail { .. }) | Step::Peer(_, Remote::Fail { .. })) => Some(Failed),
        (_, Step::Here(Local::Cancel) | Step::Peer(_, Remote::Cancel)) => Some(Cancelled),
        (Proposed | Approved | Queued, Step::Here(Local::Expire { .. })) if late => Some(Failed),
        _ => None,
    }
}

#[test]
fn every_step_in_every_state() {
    for name in StateName::ALL {
        for step in all_steps() {
            for now in [at(99_999), at(100_000)] {
                let job = in_state(name);
                let outcome = job.step(ME, &step, now);
                match expected(name, &step, now == at(100_000)) {
                    Some(next) => assert_eq!(outcome.expect("possible").state.name(), next, "{name}: {step}"),
                    None => {
                        let error = outcome.expect_err("not possible");
                        let text = error.to_string();
                        assert!(
                            matches!(error, Error::NoTransition { .. } | Error::OtherProposal { .. }),
                            "{name}: {step}: {error}"
                        );
                        assert!(
                            text.contains(&step.to_string()) && text.contains(&job.proposal.id.to_string())
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_this_party_saw_comes_before_what_a_peer_says() {
    let step = Step::Peer(
        2,
        Remote::Fail {
            kind: FailKind::Deadline,
            reason: "x".repeat(1000),
            waited_for: Some("party 1 (south), which has not decided".into()),
        },
    );
    let State::Failed(failure) = job().step(ME, &step, at(1)).expect("failed").state else {
        panic!("not failed");
    };
    let own = "it waited for party 1 (south), which has not decided; party 2 says deadline: xxx";
    assert!(failure.reason.starts_with(own), "{}", failure.reason);
}

#[test]
fn what_a_peer_says_proves_nothing_and_is_bounded() {
    let step = Step::Peer(
        2,
        Remote::Fail {
            kind: FailKind::Cheating,
            reason: format!("it was party 1\n\u{202e}{{}}{}", "é".repeat(1000)),
            waited_for: None,
        },
    );
    let State::Failed(failure) = job().step(ME, &step, at(1)).expect("failed").state else {
        panic!("not failed");
    };
    assert_eq!((failure.by, failure.kind), (2, FailKind::Peer));
    assert!(
        failure
            .reason
            .starts_with("party 2 says cheating: it was party 1  {}é")
    );
    assert!(failure.reason.len() <= 500 && !failure.reason.contains(['\n', '\u{202e}']));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever order steps come in, from honest peers and from ones that lie about what they may say.
    #[test]
    fn any_order_of_steps(order in proptest::collection::vec((0..all_steps().len(), 0..3u8), 0..60)) {
        let steps = all_steps();
        let mut job = job();
        let mut approved = [false; 3];
        let (mut decided, mut started, mut interrupted, mut ended) = ([false; 3], 0, 0, 0);
        for (which, hurry) in order {
            // Some orders are mostly what leads on, so that they get far.
            let step = match (hurry, job.state.name()) {
                (0, StateName::Approved) => Step::Here(Local::Queue),
                (0, StateName::Queued) => Step::Here(Local::Start {
                    found: Default::default(),
                }),
                (0 | 1, StateName::Proposed) => {
                    let digest = job.digest;
                    match which % 3 {
                        0 => steps[0].clone(),
                        peer => Step::Peer(peer as u8, Remote::Approve { proposal: digest }),
                    }
                }
                _ => steps[which].clone(),
            };
            let before = job.clone();
            match job.step(ME, &step, at(1)) {
                Err(Error::NoTransition { job: id, state, event }) => {
                    prop_assert_eq!((id, state, event), (before.proposal.id, before.state.name(), step.to_string()));
                }
                Err(Error::OtherProposal { job: id, event }) => {
                    prop_assert_eq!((id, event), (before.proposal.id, step.to_string()));
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
                Ok(next) => {
                    prop_assert!(before.state.name().is_open(), "what ended changed");
                    let party = match &step { Step::Here(_) => ME, Step::Peer(peer, _) => *peer };
                    prop_assert!(party < 3 && !matches!(step, Step::Peer(ME, _)));
                    match &step {
                        Step::Here(Local::Approve { .. } | Local::Decline { .. })
                        | Step::Peer(_, Remote::Approve { .. } | Remote::Decline { .. }) => {
                            prop_assert!(!decided[party as usize], "a party decided twice");
                            decided[party as usize] = true;
                            approved[party as usize] =
                                matches!(step, Step::Here(Local::Approve { .. }) | Step::Peer(_, Remote::Approve { .. }));
                        }
                        _ => {}
                    }
                    if matches!(next.state, State::Approved | State::Queued | State::Running | State::Done) {
                        prop_assert_eq!(approved, [true; 3], "it went on without a party's own approval");
                        prop_assert_eq!(&next.binding, &binding());
                    }
                    started += u64::from(next.state == State::Running);
                    ended += u8::from(!next.state.name().is_open());
                    interrupted += u64::from(matches!(step, Step::Here(Local::Interrupt { .. })));
                    prop_assert!(started <= 1 + interrupted && ended <= 1);
                    prop_assert_eq!(next.runs, started);
                    prop_assert!(next.state != State::Done || started == 1 + interrupted);
                    prop_assert_eq!(&next.proposal, &before.proposal);
                    job = next;
                }
            }
        }
    }
}
