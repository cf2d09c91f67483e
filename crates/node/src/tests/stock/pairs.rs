//! Stock of each protocol of two parties.

use super::*;
use crate::tests::world::person;

/// The protocols.
pub(super) const PAIRS: [&str; 3] = ["authenticated", "jimu", "lego"];

/// Two services with stock of this protocol.
pub(super) fn pair(protocol: &'static str) -> World {
    World::with(2, ALL, move |settings| wants(settings, protocol, SHARE))
}

/// Runs `add8` once with this protocol.
pub(super) fn run_with(world: &World, protocol: &str, party: u8, key: &str) {
    let mut submission = world.submission("add8", key);
    submission.job = submission.job.replace("authenticated", protocol);
    let job = world.node(party).submit(submission, person()).expect("submitted");
    wait_done(world, party, job.proposal.id);
}

fn stock_is_made_and_used_and_made_again(protocol: &'static str) {
    let world = pair(protocol);
    wait_full(&world);
    for party in 0..2 {
        let shown = &world.node(party).stock()[0];
        assert_eq!(
            (shown.protocol.as_str(), shown.target),
            (protocol, u64::from(SHELVES) * SHARE * JOB)
        );
    }
    make_no_more(&world);
    for (number, proposer) in [0, 1, 0].into_iter().enumerate() {
        run_with(&world, protocol, proposer, &format!("job {number}"));
        for party in 0..2 {
            assert_eq!(from_stock(&world, party), number as u64 + 1, "party {party}");
        }
        assert_eq!(left(&world, 0), left(&world, 1));
    }
    lose(&world);
    assert!(world.node(0).stock()[0].amount < world.node(0).stock()[0].target / 2);
    make_again(&world);
    wait_full(&world);
    run_with(&world, protocol, 1, "from new stock");
    assert_eq!((from_stock(&world, 0), from_stock(&world, 1)), (4, 4));
    assert!(world.nodes.iter().flatten().all(|node| node.alarms().is_empty()));
    world.verify();
}

#[test]
fn stock_of_lego_is_made_and_used_and_made_again() {
    stock_is_made_and_used_and_made_again("lego");
}

#[test]
fn stock_of_jimu_is_made_and_used_and_made_again() {
    stock_is_made_and_used_and_made_again("jimu");
}

/// With these, what a job has used is not there for another.
#[test]
fn what_a_job_takes_of_lego_is_used_up() {
    let world = pair("lego");
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0).1;
    run_with(&world, "lego", 0, "from stock");
    assert!(left(&world, 0).1 < before);
    assert_eq!(left(&world, 0), left(&world, 1));
}
