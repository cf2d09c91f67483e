//! A policy that is read again while the record cannot be written.

use std::time::Duration;

use cenote_service::Policy;
use cenote_service::job::{JobId, StateName};
use cenote_service::live::Live;

use super::world::{ALL, World, person, until, until_within};

/// How soon what waits for no record is done.
const SOON: Duration = Duration::from_secs(3);

/// The database of a party, which nothing else can write until this is dropped.
fn hold(world: &World, party: u8) -> rusqlite::Connection {
    let file = world.path(party).join("service/service.db");
    let held = rusqlite::Connection::open(file).expect("opens");
    held.busy_timeout(SOON).expect("set");
    held.execute_batch("BEGIN IMMEDIATE").expect("held");
    held
}

/// Has the party's file leave everything to persons, and gives that policy.
fn write_other(world: &World, party: u8) -> Policy {
    std::fs::write(world.path(party).join("policy.toml"), "otherwise = \"ask\"\n").expect("written");
    let names = world.settings(party).names;
    Policy::read(&world.path(party).join("policy.toml"), &names).expect("read")
}

fn decides(world: &World, policy: &Policy) -> bool {
    world.node(1).core.base.policy.try_digest() == Some(policy.digest())
}

#[test]
fn neither_a_new_policy_nor_what_it_decides_waits_for_the_record() {
    let world = World::new(3, ALL);
    // With its program nothing is left to be kept but the record.
    let first = world.submit(1, "first").proposal.id;
    world.wait_for(first, StateName::Done);
    let other = write_other(&world, 1);
    let node = world.node(1);
    // Nothing is written from here on but what is submitted.
    node.database().audit_head().expect("recorded");
    let held = hold(&world, 1);
    let statements = || node.database().work().statements;
    let before = statements();
    let submit = |key| node.submit(world.submission("add8", key), person());
    let ids: [JobId; 2] = std::thread::scope(|scope| {
        let first = scope.spawn(|| submit("before"));
        // It looks for the job with three of them, and waits for the record in the next.
        std::thread::sleep(Duration::from_millis(500));
        until("it waits for the record", || statements() >= before + 4);
        let read = scope.spawn(|| node.reload_policy());
        until_within(SOON, "the other policy decides", || decides(&world, &other));
        let after = scope.spawn(|| submit("after"));
        drop(held);
        read.join().expect("no panic").expect("read");
        [first, after].map(|job| job.join().expect("no panic").expect("submitted").proposal.id)
    });
    world.wait_for(ids[0], StateName::Done);
    world.wait_for(ids[1], StateName::Proposed);
    assert!(world.job(1, ids[0]).decisions[1].is_some() && world.job(1, ids[1]).decisions[1].is_none());
    world.verify();
}

#[test]
fn a_policy_that_cannot_be_recorded_does_not_stay() {
    let world = World::new(3, ALL);
    let other = write_other(&world, 1);
    let held = hold(&world, 1);
    world.node(1).reload_policy().expect_err("it is not recorded");
    drop(held);
    assert!(!decides(&world, &other));
    let id = world.submit(1, "by the one before").proposal.id;
    world.wait_for(id, StateName::Done);
    world.verify();
}
