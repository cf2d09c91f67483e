//! Jobs in shards that are cut off and do not go on for ever.

use std::sync::Arc;
use std::time::Duration;

use cenote_service::Timestamp;
use cenote_service::job::{FailKind, StateName};

use super::going_on::under_way;
use super::queries::{failure, submit};
use super::shards::{left, nothing_is_left, stock, text};
use super::unsettled::{How, spoil_in};
use super::world::{ALL, World, until};
use crate::message::Message;
use crate::run::MOST_IDLE;

/// "the job that was begun", which coordinators say once they have shaken hands.
const JOB: u16 = 0x501;

/// Each run reads tables, and would toss another coin.
#[test]
fn a_job_that_is_cut_off_again_and_again_before_it_begins_ends() {
    let world = World::with(3, ALL, |settings| settings.pause = Duration::from_millis(1));
    let is_of_coordinators = |name: &str| name.starts_with("job ") && !name.contains(": ");
    let tries = spoil_in(&world, is_of_coordinators, (2, JOB), How::HangsUp);
    stock(&world, 40);
    let id = submit(&world, text(3, 3, 40), "cut off");
    for party in 0..3 {
        until("it is over", || world.is_over(party, id));
    }
    let reasons: Vec<String> = (0..3).map(|party| failure(&world, party, id).1).collect();
    let told = format!("cut off {MOST_IDLE} times in a row");
    assert!(reasons.iter().any(|reason| reason.contains(&told)), "{reasons:?}");
    assert!(tries.count() >= MOST_IDLE as usize, "{}", tries.count());
    nothing_is_left(&world);
    world.verify();
}

/// That a job can go on tells its folder, and no program is read for that.
#[test]
fn a_job_whose_folder_is_gone_fails_at_a_restart() {
    let mut world = World::new(3, ALL);
    let id = under_way(&world);
    world.kill_at_once(1);
    std::fs::remove_dir_all(world.path(1).join("service/shards")).expect("removed");
    world.start(1);
    for party in 0..3 {
        until("it is over", || world.is_over(party, id));
    }
    assert_eq!(failure(&world, 1, id).0, FailKind::Restarted);
    nothing_is_left(&world);
    world.verify();
}

/// A first run that was cut off while the parties met has counted nothing.
#[test]
fn a_job_is_counted_among_the_answers_of_the_day_when_it_first_computes() {
    let mut world = World::with(3, ALL, |settings| {
        settings.tables = (settings.me == 1).then(|| settings.data.with_file_name("tables.toml"));
    });
    let rules = world.path(1).join("tables.toml");
    std::fs::write(&rules, "[[table]]\nname = \"bank_1\"\nanswers_per_day = 1\n").expect("written");
    stock(&world, 30_000);
    world.hub.meddle(Some(Arc::new(|_, to, message| {
        match to == 2 && matches!(Message::parse(&message), Ok(Message::Start { .. })) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
    let id = submit(&world, text(3, 12, 30_000), "counted");
    until("it waits for party 2", || {
        let job = world.node(1).jobs().get(id);
        job.is_ok_and(|job| {
            assert!(job.state.name().is_open(), "{:?}", job.state);
            job.state.name() == StateName::Running
        })
    });
    world.kill_at_once(1);
    world.hub.meddle(None);
    // By the next day others have asked as often as they may.
    let now = Timestamp::now().millis() / 1000;
    std::fs::write(
        rules.with_file_name("tables.toml.answers"),
        format!("{now} bank_1\n"),
    )
    .expect("written");
    world.start(1);
    until("it is over", || world.is_over(1, id));
    assert_eq!(failure(&world, 1, id).0, FailKind::Refused);
    assert_eq!(world.job(1, id).runs, 2);
    nothing_is_left(&world);
    world.verify();
}

#[test]
fn what_is_left_of_a_job_that_cannot_be_read_stays() {
    let mut world = World::new(3, ALL);
    let id = under_way(&world);
    world.kill_at_once(1);
    let record = world.path(1).join("service/service.db");
    let record = rusqlite::Connection::open(record).expect("opens");
    let damage = "UPDATE job SET binding = 'damaged' WHERE id = ?1";
    assert_eq!(record.execute(damage, [id.to_string()]), Ok(1));
    drop(record);
    world.start(1);
    assert_eq!(left(&world, 1), 1);
}
