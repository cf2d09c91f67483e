//! Jobs that wait: those that were put off, at their meetings, and behind others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cenote_service::job::{JobId, StateName};
use cenote_service::live::Live;

use super::world::{NONE, World, person, until};
use crate::message::Message;

/// Party 0 says again and again where its jobs stand, until all parties know these.
fn wait_known(world: &World, ids: &[JobId]) {
    until("all are known", || {
        world.node(0).core.tell_again();
        std::thread::sleep(Duration::from_millis(100));
        let are_known = |party| {
            let jobs = world.node(party).jobs();
            ids.iter().all(|id| jobs.get(*id).is_ok())
        };
        (0..3).all(are_known)
    });
    for id in ids {
        world.wait_for(*id, StateName::Proposed);
    }
}

#[test]
fn jobs_whose_programs_are_too_many_at_once_come_later() {
    let world = World::new(3, NONE);
    let held = Arc::new(AtomicBool::new(true));
    let is_held = Arc::clone(&held);
    world.hub.meddle(Some(Arc::new(move |_, _, message| {
        let is_piece = matches!(Message::parse(&message), Ok(Message::Piece { .. }));
        match is_piece && is_held.load(Ordering::Relaxed) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
    let submit = |lanes: usize| {
        let mut submission = world.submission("add8", &format!("program {lanes}"));
        submission.job = submission.job.replace("lanes = 1", &format!("lanes = {lanes}"));
        let job = world.node(0).submit(submission, person());
        job.expect("submitted").proposal.id
    };
    let ids: Vec<JobId> = (1..=12).map(submit).collect();
    until("some are put off", || {
        let left_out = |party: u8| world.node(party).counts().refused.get(&0).copied();
        left_out(1) >= Some(4) && left_out(2) >= Some(4)
    });
    held.store(false, Ordering::Relaxed);
    wait_known(&world, &ids);
}

#[test]
fn jobs_that_come_too_fast_come_later() {
    let world = World::with(3, NONE, |settings| settings.proposals_a_second = 1);
    let ids: Vec<JobId> = (0..8)
        .map(|number| world.submit(0, &format!("fast {number}")).proposal.id)
        .collect();
    wait_known(&world, &ids);
}
