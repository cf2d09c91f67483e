//! Peers that lie, flood, or send what nobody can read: each is refused, and holds up nobody but itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cenote_service::job::{Digest, FailKind, JobId, Proposal, State, StateName};
use cenote_service::live::Live;
use cenote_service::{Error, Timestamp};

use super::world::{ALL, NONE, World, person, until, with_data, with_values};
use crate::message::{JobStatus, Message, STATUSES};
use crate::wires::LONGEST;

fn refused(world: &World, at: u8, peer: u8) -> u64 {
    world.node(at).counts().refused.get(&peer).copied().unwrap_or(0)
}

/// Says something in the name of a party.
fn say(world: &World, from: u8, to: u8, message: &Message) {
    world.hub.say(from, to, message.to_bytes());
}

/// A proposal as party 2 may make it, of a program that all know.
fn proposal(world: &World, number: u8) -> Proposal {
    let known = world.submit(2, "known").proposal;
    world.wait_for(known.id, StateName::Proposed);
    Proposal {
        id: JobId::of(2, [number; 15]),
        idempotency_key: format!("number {number}"),
        ..known
    }
}

/// What a party answers to another one goes by here.
fn answers(world: &World, from: u8, to: u8) -> Arc<std::sync::Mutex<Vec<Message>>> {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    world.hub.meddle(Some(Arc::new(move |speaker, listener, message| {
        if (speaker, listener) == (from, to)
            && let Ok(message) = Message::parse(&message)
        {
            ears.lock().expect("whole").push(message);
        }
        vec![message]
    })));
    heard
}

fn declined(heard: &std::sync::Mutex<Vec<Message>>, id: JobId) -> Option<String> {
    heard
        .lock()
        .expect("whole")
        .iter()
        .find_map(|message| match message {
            Message::Decline { job, reason, .. } if *job == id => Some(reason.clone()),
            _ => None,
        })
}

#[test]
fn a_proposal_that_says_other_things_than_its_program_is_refused() {
    let world = World::new(3, NONE);
    let honest = proposal(&world, 1);
    let heard = answers(&world, 0, 2);
    type Change = fn(&mut Proposal);
    let changes: [(Change, &str); 8] = [
        (|proposal| proposal.receivers = vec![2], "receivers"),
        (|proposal| proposal.inputs[0].owner = 2, "inputs"),
        (|proposal| proposal.parties = 2, "by party 2, of 2"),
        (|proposal| proposal.protocol = "lego".into(), "protocols"),
        (|proposal| proposal.security.statistical = 1, "security"),
        (|proposal| proposal.proposer = 1, "in another party's name"),
        (
            |proposal| proposal.deadline = Timestamp::from_millis(1),
            "deadline",
        ),
        (
            |proposal| proposal.deadline = Timestamp::from_millis(u64::MAX),
            "deadline is too far",
        ),
    ];
    for (number, (change, part)) in (10..).zip(changes) {
        let mut lie = Proposal {
            id: JobId::of(2, [number; 15]),
            idempotency_key: format!("lie {number}"),
            ..honest.clone()
        };
        change(&mut lie);
        let id = lie.id;
        say(
            &world,
            2,
            0,
            &Message::Propose {
                proposal: Box::new(lie),
            },
        );
        until(part, || {
            declined(&heard, id).is_some_and(|reason| reason.contains(part))
        });
        assert!(
            matches!(world.node(0).jobs().get(id), Err(Error::NoJob(_))),
            "{part}"
        );
    }
    assert_eq!(refused(&world, 0, 2), 8);
}

#[test]
fn what_is_said_of_a_job_comes_after_its_proposal() {
    let world = World::new(3, NONE);
    let known = proposal(&world, 0);
    let heard = answers(&world, 1, 2);
    for number in 1..=60 {
        let proposal = Proposal {
            id: JobId::of(2, [number; 15]),
            idempotency_key: format!("number {number}"),
            ..known.clone()
        };
        let status = JobStatus {
            job: proposal.id,
            proposal: proposal.digest(),
            proposer: 2,
            state: StateName::Proposed,
            approved: true,
            deadline: proposal.deadline,
        };
        let id = proposal.id;
        let proposal = Box::new(proposal);
        say(&world, 2, 1, &Message::Propose { proposal });
        say(&world, 2, 1, &Message::Statuses { jobs: vec![status] });
        until("it is known", || world.node(1).jobs().get(id).is_ok());
    }
    let asked = |message: &&Message| matches!(message, Message::Ask { .. });
    assert_eq!(heard.lock().expect("whole").iter().find(asked), None);
}

#[test]
fn a_party_cannot_take_the_name_of_anothers_job() {
    let world = World::new(3, ALL);
    let own = world.submit(2, "known").proposal;
    world.wait_for(own.id, StateName::Done);
    let steal = |id: JobId, key: &str| {
        let proposal = Box::new(Proposal {
            id,
            idempotency_key: key.into(),
            ..own.clone()
        });
        say(&world, 2, 1, &Message::Propose { proposal });
    };
    // Party 2 hears of a job of party 0's before party 1 does, and proposes its own by that name.
    let heard = answers(&world, 1, 2);
    let id = JobId::of(0, cenote_service::random().expect("random"));
    steal(id, "before");
    until("it is refused", || {
        declined(&heard, id).is_some_and(|reason| reason.contains("its name is one for jobs of party 0"))
    });
    assert!(matches!(world.node(1).jobs().get(id), Err(Error::NoJob(_))));
    let theirs = Proposal {
        id,
        proposer: 0,
        idempotency_key: "theirs".into(),
        ..own.clone()
    };
    let digest = theirs.digest();
    let proposal = Box::new(theirs);
    say(&world, 0, 1, &Message::Propose { proposal });
    until("party 1 takes it", || world.node(1).jobs().get(id).is_ok());

    // Or after it does.
    steal(id, "after");
    until("it is refused", || refused(&world, 1, 2) == 2);
    assert_eq!(world.job(1, id).digest, digest);
    world.verify();
}

#[test]
fn a_program_with_another_digest_is_refused() {
    let world = World::new(3, NONE);
    let mut lie = proposal(&world, 1);
    lie.program.digest = Digest::of(b"another");
    let (id, program) = (lie.id, lie.program.digest);
    let heard = answers(&world, 0, 2);
    let wanted = |heard: &std::sync::Mutex<Vec<Message>>| {
        heard
            .lock()
            .expect("whole")
            .contains(&Message::Want { program, at: 0 })
    };
    say(
        &world,
        2,
        0,
        &Message::Propose {
            proposal: Box::new(lie),
        },
    );
    until("it is asked for", || wanted(&heard));
    let text = "{\"job\":\"\",\"files\":{}}".to_owned();
    let of = text.len() as u64;
    say(
        &world,
        2,
        0,
        &Message::Piece {
            program,
            at: 0,
            of,
            text,
        },
    );
    until("it is refused", || {
        declined(&heard, id).is_some_and(|reason| reason.contains("another digest"))
    });

    // Pieces that nobody asked for, or that are too many, are dropped.
    for (at, of) in [(0, u64::MAX), (5, 10), (0, 0)] {
        let text = "x".to_owned();
        say(
            &world,
            2,
            0,
            &Message::Piece {
                program,
                at,
                of,
                text,
            },
        );
    }
    let id = world.submit(0, "still there").proposal.id;
    world.wait_for(id, StateName::Proposed);
}

#[test]
fn an_approval_counts_for_its_proposal_and_its_sender_only() {
    let world = World::new(3, NONE);
    let first = world.submit(0, "first");
    let second = world.submit(0, "second");
    for job in [&first, &second] {
        world.wait_for(job.proposal.id, StateName::Proposed);
    }
    let approve = |world: &World, party: u8, id: JobId| {
        let input = if party < 2 {
            vec![(world.input(id, party), ["x", "y"][usize::from(party)])]
        } else {
            Vec::new()
        };
        let input: Vec<(&str, &str)> = input
            .iter()
            .map(|(input, data)| (input.as_str(), *data))
            .collect();
        world
            .node(party)
            .approve(id, with_data(&input), person())
            .expect("approved")
    };
    approve(&world, 2, first.proposal.id);
    until("it is heard", || {
        world.job(0, first.proposal.id).decisions[2].is_some()
    });
    // Party 2's approval of the first is sent again as one of the second, and again as it is.
    let replay = |job: JobId, proposal| say(&world, 2, 0, &Message::Approve { job, proposal });
    replay(second.proposal.id, first.digest);
    until("it is refused", || refused(&world, 0, 2) == 1);
    replay(first.proposal.id, first.digest);
    assert!(world.job(0, second.proposal.id).decisions[2].is_none());
    // Another party's status says nothing of party 2 or of this one.
    let status = |state| JobStatus {
        job: second.proposal.id,
        proposal: second.digest,
        proposer: 0,
        state,
        approved: true,
        deadline: second.proposal.deadline,
    };
    let jobs = vec![status(StateName::Running); STATUSES];
    say(&world, 1, 0, &Message::Statuses { jobs });
    until("it is taken for its approval", || {
        world.job(0, second.proposal.id).decisions[1].is_some()
    });
    let job = world.job(0, second.proposal.id);
    assert_eq!(job.state, State::Proposed);
    assert!(job.decisions[0].is_none() && job.decisions[2].is_none());
    // A beginning that nobody approved, by one who does not lead, or who does.
    for from in [0, 2] {
        let start = Message::Start {
            job: second.proposal.id,
            shelf: None,
            again: 0,
        };
        say(&world, from, 1, &start);
    }
    until("it is refused", || refused(&world, 1, 2) == 1);
    assert_eq!(world.job(1, second.proposal.id).state, State::Proposed);
    approve(&world, 0, first.proposal.id);
    approve(&world, 1, first.proposal.id);
    world.wait_for(first.proposal.id, StateName::Done);
    world.verify();
}

#[test]
fn what_no_one_can_read_is_refused_and_the_rest_goes_on() {
    let world = World::new(3, ALL);
    let garbage: [Vec<u8>; 6] = [
        Vec::new(),
        vec![0xff; 1000],
        b"{\"kind\":\"dance\"}".to_vec(),
        b"{\"kind\":\"cancel\",\"job\":\"..\"}".to_vec(),
        "[".repeat(LONGEST - 1).into_bytes(),
        vec![b' '; LONGEST + 1],
    ];
    for message in &garbage {
        world.hub.say(2, 0, message.clone());
    }
    until("all are counted", || {
        refused(&world, 0, 2) == garbage.len() as u64
    });
    // A hello of another version: nothing is done with it until it says this one again.
    let hello = |version| Message::Hello {
        version,
        program: "99".into(),
        jobs: 1,
        per_proposer: 1,
        memory: 1 << 30,
        names: world.settings(2).names,
    };
    say(&world, 2, 0, &hello(99));
    until("it is noticed", || world.node(0).ready().is_err());
    say(&world, 2, 0, &hello(crate::message::VERSION));
    world.wait_ready();
    let id = world.submit(1, "goes on").proposal.id;
    world.wait_for(id, StateName::Done);
}

#[test]
fn a_flood_of_proposals_is_cut_off_and_others_are_served() {
    let world = World::with(3, ALL, |settings| settings.proposals_a_second = 20);
    let first = world.submit(2, "known");
    world.wait_for(first.proposal.id, StateName::Done);
    let declines = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&declines);
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        if (from, to) == (0, 2) && matches!(Message::parse(&message), Ok(Message::Decline { .. })) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        vec![message]
    })));
    for number in 0u32..2000 {
        let mut nonce = [9; 15];
        nonce[..4].copy_from_slice(&number.to_be_bytes());
        let proposal = Proposal {
            id: JobId::of(2, nonce),
            idempotency_key: format!("flood {number}"),
            receivers: vec![2],
            ..first.proposal.clone()
        };
        say(
            &world,
            2,
            0,
            &Message::Propose {
                proposal: Box::new(proposal),
            },
        );
    }
    let id = world.submit(1, "meanwhile").proposal.id;
    world.wait_for(id, StateName::Done);
    until("the flood is refused", || refused(&world, 0, 2) >= 1900);
    assert!(declines.load(Ordering::Relaxed) <= 2000);
}

#[test]
fn words_on_jobs_that_are_not_known_are_bounded_and_change_nothing() {
    let world = World::new(3, ALL);
    let (job, proposal) = (JobId([7; 16]), Digest([7; 32]));
    let failure = FailKind::Cheating;
    let reason = "x".repeat(10_000);
    let words = [
        Message::Approve { job, proposal },
        Message::Decline {
            job,
            proposal,
            reason: reason.clone(),
        },
        Message::Cancel { job },
        Message::Fail { job, failure, reason },
        Message::Ask { job },
        Message::Want {
            program: proposal,
            at: u64::MAX,
        },
        Message::Unclear {
            what: "\u{1b}[2J".into(),
        },
        Message::Start {
            job,
            shelf: Some(255),
            again: u64::MAX,
        },
    ];
    for _ in 0..500 {
        for word in &words {
            say(&world, 0, 1, word);
        }
    }
    let id = world.submit(2, "goes on").proposal.id;
    world.wait_for(id, StateName::Done);
    assert!(world.node(1).alarms().is_empty(), "a peer's word raises no alarm");
}

#[test]
fn what_a_policy_says_is_its_own_business() {
    let world = World::new(3, NONE);
    let secret = "[[rule]]\nname = \"inner affairs\"\ndata = \"any\"\nmax_ands = 5\nthen = \"approve\"\n";
    let policy = format!("otherwise = \"decline\"\n{secret}");
    std::fs::write(world.path(1).join("policy.toml"), policy).expect("written");
    world.node(1).reload_policy().expect("read");
    let id = world.submit(0, "declined").proposal.id;
    // What party 1 knows of it, and what others are told.
    let declined = |id| {
        let mut states = world.wait_declined(id);
        let own = states.remove(1);
        let Some(State::Declined { by: 1, reason }) = own else {
            panic!("{own:?}")
        };
        for state in states.into_iter().flatten() {
            match state {
                State::Declined { by: 1, reason } => assert_eq!(reason, "it does not take part"),
                State::Failed(failure) => assert!(failure.reason.ends_with("party 1 has declined it")),
                state => panic!("{state:?}"),
            }
        }
        reason
    };
    assert!(declined(id).contains("inner affairs"));
    std::fs::write(world.path(1).join("policy.toml"), "otherwise = 1").expect("written");
    world.node(1).reload_policy().expect_err("wrong");
    let next = world.submit(0, "the one before stays").proposal.id;
    assert!(declined(next).contains("inner affairs"));
}

#[test]
fn values_that_were_posted_with_an_approval_are_not_exchanged() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "posted").proposal.id;
    world.wait_for(id, StateName::Proposed);
    let input = world.input(id, 1);
    let approve = |value| {
        world
            .node(1)
            .approve(id, with_values(&[(&input, value)]), person())
    };
    approve("1").expect("approved");
    for value in ["2", "1"] {
        assert!(
            matches!(approve(value), Err(Error::NoTransition { .. })),
            "{value}"
        );
    }
    let decided = world.job(1, id).decisions[1].clone().expect("decided");
    assert_eq!(decided.reason, "approved by tester");
    world
        .node(0)
        .approve(id, with_data(&[(&world.input(id, 0), "x")]), person())
        .expect("approved");
    world
        .node(2)
        .approve(id, with_data(&[]), person())
        .expect("approved");
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(0, id), ["0x15"]);
}
