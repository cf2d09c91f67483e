//! Values that are kept instead of opened, and taken by later jobs.

use cenote_service::job::{FailKind, JobId, Kept, Proposal, State, StateName};
use cenote_service::live::{AlarmKind, Live, Submission};
use cenote_service::{Error, Folder, ResultKey, Sealed, Timestamp};

use super::world::{ALL, NONE, World, person, until, with_data};
use crate::Node;
use crate::message::Message;

/// A job of `add8` with these inputs and this output.
fn submission(protocol: &str, values: &str, key: &str) -> Submission {
    Submission {
        job: format!("protocol = \"{protocol}\"\ncircuit = \"lib:add8\"\nlanes = 1\n{values}"),
        files: Default::default(),
        within: None,
        idempotency_key: key.into(),
        approval: None,
    }
}

const GIVEN: &str = "[[input]]\nparty = 0\n[[input]]\nparty = 1\n";
const TAKEN: &str = "[[input]]\nkept = \"sum\"\n[[input]]\nparty = 1\n";
const KEEP: &str = "[[output]]\nkeep = \"sum\"\ndays = 2\n";
const OPEN: &str = "[[output]]\nto = [0]\n";

fn protocol(parties: u8) -> &'static str {
    match parties {
        2 => "authenticated",
        _ => "three",
    }
}

fn submit(world: &World, party: u8, values: &str, key: &str) -> JobId {
    let submission = submission(protocol(world.nodes.len() as u8), values, key);
    let job = world.node(party).submit(submission, person());
    job.expect("submitted").proposal.id
}

fn run(world: &World, party: u8, values: &str, key: &str) -> JobId {
    let id = submit(world, party, values, key);
    world.wait_for(id, StateName::Done);
    id
}

fn refusal(world: &World, party: u8, values: &str) -> String {
    let submission = submission(protocol(world.nodes.len() as u8), values, "refused");
    let refused = world.node(party).submit(submission, person());
    refused.map(drop).expect_err("refused").to_string()
}

fn kept(world: &World, party: u8) -> Vec<Kept> {
    world.node(party).kept().expect("listed")
}

#[test]
fn a_value_is_kept_and_taken_again_and_again() {
    for parties in [3, 2] {
        let mut world = World::new(parties, ALL);
        let first = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
        for party in 0..parties {
            let nothing = world.node(party).fetch(first, "key", person());
            assert!(matches!(nothing, Err(Error::NoResult { .. })), "nobody learns it");
            let all = kept(&world, party);
            let [value] = all.as_slice() else {
                panic!("{all:?}")
            };
            assert_eq!(
                (value.name.as_str(), value.kind.as_str(), value.job),
                ("sum", "u8", first)
            );
            let days = value.expires_at.millis() - value.kept_at.millis();
            assert_eq!(days, 2 * 24 * 3600 * 1000);
        }
        (0..parties).for_each(|party| world.stop(party));
        (0..parties).for_each(|party| world.start(party));
        world.wait_ready();

        for key in ["open", "open again"] {
            let id = run(&world, 0, &(TAKEN.to_owned() + OPEN), key);
            assert_eq!(world.learnt(0, id), ["0x40"], "20 + 22 + 22");
            assert_eq!(world.job(1, id).proposal.takes[0].job, first);
        }
        // The newest of a name is taken, unless the job says which.
        let second = run(&world, 1, &(TAKEN.to_owned() + KEEP), "go on");
        let id = run(&world, 0, &(TAKEN.to_owned() + OPEN), "open the newest");
        assert_eq!(world.job(1, id).proposal.takes[0].job, second);
        assert_eq!(world.learnt(0, id), ["0x56"], "20 + 22 + 22 + 22");
        let older = TAKEN.replace("\"sum\"\n", &format!("\"sum\"\nof = \"{first}\"\n"));
        let id = run(&world, 0, &(older + OPEN), "open the older");
        assert_eq!(world.learnt(0, id), ["0x40"]);
        world.verify();
    }
}

#[test]
fn a_service_whose_key_is_lost_does_not_start_until_what_it_sealed_is_given_up() {
    let mut world = World::new(3, ALL);
    run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
    let opened = run(&world, 0, &(TAKEN.to_owned() + OPEN), "open");
    world.stop(0);
    let path = world.path(0).join("service/results.key");
    let key = std::fs::read(&path).expect("a key");
    std::fs::remove_file(&path).expect("removed");
    let settings = world.settings(0);
    let refused = Node::start(settings.clone(), |_| panic!("it joins nobody"));
    let text = refused.map(drop).expect_err("refused").to_string();
    let needed = [
        "results.key is missing",
        "1 results and 1 kept values",
        "--give-up-sealed",
    ];
    assert!(needed.iter().all(|part| text.contains(part)), "{text}");
    assert!(!path.exists());

    std::fs::write(&path, key).expect("put back");
    world.start(0);
    world.wait_ready();
    assert_eq!(world.learnt(0, opened), ["0x40"]);
    assert_eq!(kept(&world, 0).len(), 1);
    world.stop(0);
    Node::give_up_sealed(&settings).expect_err("the key is there");
    std::fs::remove_file(&path).expect("removed");
    Node::give_up_sealed(&settings).expect("given up");
    world.start(0);
    world.wait_ready();
    assert_eq!(kept(&world, 0), []);
    assert!(matches!(
        world.node(0).fetch(opened, "key", person()),
        Err(Error::NoResult { .. })
    ));
    run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep again");
    world.verify();
}

#[test]
fn what_is_not_kept_or_does_not_fit_is_refused() {
    let world = World::new(3, ALL);
    let text = refusal(&world, 0, &(TAKEN.to_owned() + OPEN));
    assert!(
        text.contains("no value \"sum\" of type u8 is kept here") && text.contains("cenote kept list"),
        "{text}"
    );
    let first = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");

    let of = |of: &str| TAKEN.replace("\"sum\"\n", &format!("\"sum\"\nof = \"{of}\"\n")) + OPEN;
    assert!(refusal(&world, 0, &of("none")).contains("is no name of a job"));
    let other = JobId::of(0, [9; 15]).to_string();
    assert!(refusal(&world, 0, &of(&other)).contains("of type u8 is kept here"));

    let wide = Submission {
        job: submission("three", &(TAKEN.to_owned() + OPEN), "wide")
            .job
            .replace("add8", "add16"),
        ..submission("three", "", "wide")
    };
    let text = world
        .node(0)
        .submit(wide, person())
        .map(drop)
        .expect_err("refused")
        .to_string();
    assert!(
        text.contains("no value \"sum\" of type u16 is kept here"),
        "{text}"
    );

    // Two of the three could open it without the third, who has approved of keeping it only.
    let two = submission("authenticated", &(TAKEN.to_owned() + OPEN), "two");
    let text = world
        .node(0)
        .submit(two, person())
        .map(drop)
        .expect_err("refused")
        .to_string();
    assert!(
        text.contains("is of 3 parties, and a job that takes it"),
        "{text}"
    );

    let safer = Submission {
        job: submission("three", &(TAKEN.to_owned() + OPEN), "safer")
            .job
            .replace("lanes", "security = 50\nlanes"),
        ..submission("three", "", "safer")
    };
    let text = world
        .node(0)
        .submit(safer, person())
        .map(drop)
        .expect_err("refused")
        .to_string();
    assert!(text.contains("was kept with 40 bits of security"), "{text}");

    // Once a holder has dropped it nobody can take it.
    world.node(1).drop_kept("sum", first, person()).expect("dropped");
    let again = world.node(1).drop_kept("sum", first, person());
    assert!(matches!(again, Err(Error::NoKept { .. })));
    let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "dropped");
    until("it is declined", || {
        world.job(0, id).state.name() == StateName::Declined
    });
    let State::Declined { by, reason } = world.job(0, id).state else {
        panic!("it is declined");
    };
    assert_eq!(by, 1);
    assert!(reason.contains("keeps no value sum"), "{reason}");
    world.verify();
}

#[test]
fn an_older_value_is_taken_only_by_its_job_s_name() {
    let world = World::new(3, ALL);
    let first = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
    let second = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep again");
    // The proposer has lost the newer one, or would rather have the other.
    world.node(0).drop_kept("sum", second, person()).expect("dropped");
    let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "older");
    until("it is declined", || {
        world.job(0, id).state.name() == StateName::Declined
    });
    let State::Declined { reason, .. } = world.job(0, id).state else {
        panic!("it is declined");
    };
    assert!(reason.contains("a newer value \"sum\" is kept here"), "{reason}");
    assert!(reason.contains(&first.to_string()), "{reason}");
    let named = TAKEN.replace("\"sum\"\n", &format!("\"sum\"\nof = \"{first}\"\n"));
    let id = run(&world, 0, &(named + OPEN), "named");
    assert_eq!(world.learnt(0, id), ["0x40"]);
    world.verify();
}

#[test]
fn a_job_whose_value_is_gone_fails_before_it_begins() {
    let world = World::new(3, NONE);
    let approve = |id: JobId| {
        for party in 0..3u8 {
            until("it is known", || world.node(party).jobs().get(id).is_ok());
            let inputs = world.job(party, id).proposal.inputs;
            let mine = inputs.iter().filter(|input| input.owner == party);
            let mine: Vec<(&str, &str)> = mine.map(|input| (input.name.as_str(), "y")).collect();
            world
                .node(party)
                .approve(id, with_data(&mine), person())
                .expect("approved");
        }
    };
    let first = submit(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
    approve(first);
    world.wait_for(first, StateName::Done);
    let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "take");
    until("it is known", || {
        (0..3).all(|party| world.node(party).jobs().get(id).is_ok())
    });
    world.node(1).drop_kept("sum", first, person()).expect("dropped");
    approve(id);
    world.wait_for(id, StateName::Failed);
    let State::Failed(failure) = world.job(1, id).state else {
        panic!("it has failed");
    };
    assert_eq!(failure.kind, FailKind::Refused, "{}", failure.reason);
    assert!(
        failure.reason.contains("keeps no value sum"),
        "{}",
        failure.reason
    );
    world.verify();
}

#[test]
fn kept_values_are_data_of_every_party_to_policies() {
    let rule = |data: &str| {
        format!("[[rule]]\nname = \"some\"\ndata = {data}\nkeeps = [\"sum\"]\nthen = \"approve\"\n")
    };
    let world = World::new(3, &rule("[\"x\", \"y\"]"));
    run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");

    let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "take");
    // Party 2 gives nothing and learns nothing, and is asked all the same.
    for party in [0, 2] {
        until("it is known", || world.node(party).jobs().get(id).is_ok());
        assert_eq!(world.job(party, id).state.name(), StateName::Proposed);
    }
    for party in [0, 2] {
        let approved = world.node(party).approve(id, with_data(&[]), person());
        approved.expect("approved");
    }
    let binding = with_data(&[(&world.input(id, 1), "y")]);
    until("it is known", || world.node(1).jobs().get(id).is_ok());
    assert_eq!(world.job(1, id).state.name(), StateName::Proposed);
    world.node(1).approve(id, binding, person()).expect("approved");
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(0, id), ["0x40"]);

    for party in 0..3 {
        std::fs::write(
            world.path(party).join("policy.toml"),
            rule("[\"x\", \"y\", \"kept:sum\"]"),
        )
        .expect("written");
        world.node(party).reload_policy().expect("read");
    }
    let id = run(&world, 0, &(TAKEN.to_owned() + OPEN), "take by the rule");
    assert_eq!(world.learnt(0, id), ["0x40"]);
    world.verify();
}

/// Bytes before the first row of a share.
const SHAPE: usize = 16;

/// Puts `change` of a party's share of "sum" in its place.
fn tamper(world: &mut World, party: u8, job: JobId, change: impl FnOnce(&mut Vec<u8>)) {
    world.stop(party);
    let folder = world.path(party).join("service");
    {
        let claimed = Folder::claim(&folder).expect("free");
        let key = ResultKey::open(&claimed).expect("a key");
        let database = rusqlite::Connection::open(folder.join("service.db")).expect("opens");
        let id = job.to_string();
        let sealed: Vec<u8> = database
            .query_row("SELECT sealed FROM kept WHERE job = ?1", [&id], |row| row.get(0))
            .expect("a share");
        let mut share = key
            .open_kept(job, "sum", &Sealed::from_bytes(sealed))
            .expect("opens");
        change(&mut share);
        let sealed = key.seal_kept(job, "sum", &share).expect("sealed");
        database
            .execute(
                "UPDATE kept SET sealed = ?1 WHERE job = ?2",
                (sealed.as_bytes(), &id),
            )
            .expect("written");
    }
    world.start(party);
    world.wait_ready();
}

#[test]
fn a_holder_that_puts_in_something_else_is_caught() {
    for parties in [2, 3] {
        let mut world = World::new(parties, ALL);
        let first = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
        // A bit of its share: one row of one lane is a byte.
        tamper(&mut world, 1, first, |share| share[SHAPE] ^= 1);
        let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "take");
        world.wait_for(id, StateName::Failed);
        for party in 0..parties {
            let State::Failed(failure) = world.job(party, id).state else {
                panic!("it has failed");
            };
            // Who found it says so, and the others may hear that first.
            assert!(
                matches!(failure.kind, FailKind::Cheating | FailKind::Peer),
                "{}",
                failure.reason
            );
            if failure.kind == FailKind::Cheating {
                assert!(failure.reason.contains("\"kept value\""), "{}", failure.reason);
                let alarms = world.node(party).alarms();
                assert!(alarms.iter().any(|alarm| alarm.kind == AlarmKind::Cheating));
            }
            let nothing = world.node(party).fetch(id, "key", person());
            assert!(matches!(nothing, Err(Error::NotDone { .. })));
        }
        // With its own share again all is well: the value is not lost to the others.
        tamper(&mut world, 1, first, |share| share[SHAPE] ^= 1);
        world.settle_all();
        let id = run(&world, 0, &(TAKEN.to_owned() + OPEN), "take again");
        assert_eq!(world.learnt(0, id), ["0x40"]);
        world.verify();
    }
}

#[test]
fn a_share_of_another_length_or_seal_fails_the_job_alone() {
    let mut world = World::new(2, ALL);
    let first = run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
    tamper(&mut world, 1, first, |share| share.truncate(3));
    let id = submit(&world, 0, &(TAKEN.to_owned() + OPEN), "take");
    world.wait_for(id, StateName::Failed);
    let State::Failed(failure) = world.job(1, id).state else {
        panic!("it has failed");
    };
    assert_eq!(failure.kind, FailKind::BadInput, "{}", failure.reason);
    assert!(world.node(0).alarms().is_empty(), "nobody has cheated");
    world.verify();
}

#[test]
fn a_proposal_that_says_other_values_than_its_program_is_refused() {
    let world = World::new(3, NONE);
    let id = submit(&world, 2, &(GIVEN.to_owned() + KEEP), "keep");
    world.wait_for(id, StateName::Proposed);
    let known = world.job(2, id).proposal;
    let before = world.node(0).counts().refused.get(&2).copied().unwrap_or(0);
    type Change = fn(&mut Proposal);
    let changes: [Change; 4] = [
        |proposal| proposal.keeps[0].name = "other".into(),
        |proposal| proposal.keeps[0].days = 3,
        |proposal| proposal.keeps.clear(),
        |proposal| {
            proposal.takes.push(cenote_service::job::Take {
                input: "z".into(),
                name: "sum".into(),
                job: proposal.id,
            });
        },
    ];
    let number = changes.len() as u64;
    for (place, change) in changes.into_iter().enumerate() {
        let mut proposal = Proposal {
            id: JobId::of(2, [place as u8; 15]),
            idempotency_key: format!("number {place}"),
            ..known.clone()
        };
        change(&mut proposal);
        let message = Message::Propose {
            proposal: Box::new(proposal),
        };
        world.hub.say(2, 0, message.to_bytes());
    }
    until("all are refused", || {
        world.node(0).counts().refused.get(&2).copied().unwrap_or(0) == before + number
    });
    world.verify();
}

#[test]
fn what_expires_is_deleted() {
    let world = World::new(3, ALL);
    run(&world, 1, &(GIVEN.to_owned() + KEEP), "keep");
    let later = Timestamp::from_millis(Timestamp::now().millis() + 3 * 24 * 3600 * 1000);
    for party in 0..3 {
        let jobs = world.node(party).jobs();
        assert_eq!(jobs.expire_kept(later).expect("swept"), 1);
        assert!(kept(&world, party).is_empty());
    }
    let text = refusal(&world, 0, &(TAKEN.to_owned() + OPEN));
    assert!(text.contains("is kept here"), "{text}");
    world.verify();
}
