//! Jobs in shards whose services end or lose each other in the middle: they go on, and open their answer once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_service::job::{FailKind, JobId, State, StateName};
use cenote_service::live::{Happened, Live, Submission};
use cenote_service::{Timestamp, seen};
use cenote_testkit::Gate;

use super::queries::{answer, failure, submission, submit};
use super::shards::{expected, left, nothing_is_left, stock, text};
use super::trunks::over_sockets;
use super::unsettled::{How, Tries, VERIFYING, spoil_in, wait_idle};
use super::world::{ALL, NONE, World, copy_all, person, until, with_values};

/// Rows of each of two tables.
const ROWS: u64 = 30_000;
const SHARDS: u32 = 12;

/// The names of all sessions so far.
#[derive(Clone, Default)]
struct Sessions(Arc<Mutex<BTreeSet<String>>>);

impl Sessions {
    fn of(world: &World) -> Self {
        let sessions = Sessions::default();
        let all = Arc::clone(&sessions.0);
        world.hub.spoil(Some(Arc::new(move |name, _, connections| {
            all.lock().expect("no panic").insert(name.to_owned());
            connections
        })));
        sessions
    }

    /// The attempts at this piece: their sessions have names of their own.
    fn at(&self, piece: &str) -> Vec<String> {
        let all = self.0.lock().expect("no panic");
        let attempts = all
            .iter()
            .filter_map(|name| name.split_once(": ")?.1.split_once(" of "));
        let attempts = attempts.map(|(attempt, _)| attempt.to_owned());
        attempts.filter(|attempt| attempt.starts_with(piece)).collect()
    }

    /// No attempt was made twice, and no more were made at shards than so many beyond one for each.
    fn check(&self, more: usize) {
        let all = self.at("shard ");
        let once: BTreeSet<&String> = all.iter().collect();
        assert_eq!(once.len(), all.len(), "{all:?}");
        let most = SHARDS as usize + more;
        assert!((SHARDS as usize..=most).contains(&all.len()), "{all:?}");
        assert_eq!(self.at("the merge"), ["the merge (attempt 1)"]);
    }
}

/// A job in shards, some of which are done at all parties.
pub(super) fn under_way(world: &World) -> JobId {
    begun(world, submission(text(3, SHARDS, ROWS), "long"))
}

fn begun(world: &World, submission: Submission) -> JobId {
    stock(world, ROWS);
    let job = world.node(0).submit(submission, person());
    let id = job.expect("submitted").proposal.id;
    wait_for_shards(world, id, 1);
    id
}

/// A party loses what it has kept of its job, but for the folder.
fn lose_ledger(world: &World, party: u8) {
    for folder in std::fs::read_dir(world.path(party).join("service/shards")).expect("there") {
        let folder = folder.expect("read").path();
        std::fs::remove_dir_all(&folder).expect("removed");
        std::fs::create_dir(&folder).expect("made");
    }
}

/// Waits until so many shards are done at all parties.
fn wait_for_shards(world: &World, id: JobId, count: u32) {
    for party in 0..3 {
        until("shards are done", || {
            let running = world.node(party).running();
            let mut shards = running.iter().filter_map(|running| running.shards.as_ref());
            assert!(!world.is_over(party, id), "{:?}", world.job(party, id).state);
            shards.any(|shards| shards.done >= count)
        });
    }
}

/// It waits at a party that is up, which says for whom.
fn waits(world: &World, party: u8, id: JobId, missing: &str) {
    until("it waits", || {
        let node = world.node(party);
        let view = seen(world.job(party, id), &node.peers(), None);
        assert!(!world.is_over(party, id), "{view:?}");
        view.state == "queued" && view.reason.is_some_and(|reason| reason.ends_with(missing))
    });
}

/// The events of a job in the log of a party, from its beginning on.
fn events(world: &World, party: u8, id: JobId) -> Vec<String> {
    let log = std::fs::read_to_string(world.node(party).database().audit_file()).expect("a log");
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let of_job = lines.filter(|line: &serde_json::Value| line["job"] == id.to_string());
    let events = of_job.map(|line| line["event"].as_str().expect("a name").to_owned());
    events.skip_while(|event| event != "queued").collect()
}

/// It is done at all parties, which have counted it once and have nothing left of it. Its parties were cut off so often.
fn ends_well(world: &World, id: JobId, times: usize) {
    world.wait(id, "done", |state| {
        assert!(state.name().is_open() || *state == State::Done, "{state:?}");
        *state == State::Done
    });
    nothing_is_left(world);
    wait_idle(world);
    for party in 0..3 {
        assert_eq!(
            answer(world, party, id)["answer"]["rows"],
            expected(ROWS),
            "party {party}"
        );
        let mut way = vec!["queued", "running"];
        (0..times).for_each(|_| way.extend(["interrupted", "running"]));
        way.extend(["done", "fetched"]);
        assert_eq!(events(world, party, id), way, "party {party}");
    }
    let job = world.job(0, id);
    // Disclosures are counted by the data's name.
    let of_data = |name: &str| {
        world
            .node(0)
            .jobs()
            .disclosures(job.proposal.program.digest, name.into())
    };
    assert_eq!(of_data("bank_0.csv").expect("read"), 1);
    world.verify();
}

#[test]
fn a_job_goes_on_after_a_party_was_killed() {
    for victim in [0, 2] {
        let mut world = World::new(3, ALL);
        let sessions = Sessions::of(&world);
        let id = under_way(&world);
        world.kill_at_once(victim);
        for other in (0..3).filter(|other| *other != victim) {
            waits(
                &world,
                other,
                id,
                &format!("missing: party {victim} (party-{victim})"),
            );
        }
        assert!((0..3).all(|party| left(&world, party) == 1));
        world.start(victim);
        ends_well(&world, id, 1);
        // What is lost is what was computed when the party went.
        sessions.check(1);
    }
}

#[test]
fn a_job_goes_on_after_a_service_was_stopped_in_order() {
    let mut world = World::new(3, ALL);
    let sessions = Sessions::of(&world);
    let id = under_way(&world);
    world.stop(1);
    waits(&world, 0, id, "missing: party 1 (party-1)");
    world.start(1);
    ends_well(&world, id, 1);
    sessions.check(1);
    assert_eq!(
        world.node(1).jobs().unsettled().expect("read"),
        [],
        "its own stop"
    );
}

#[test]
fn a_job_goes_on_after_a_link_was_lost() {
    for pair in [(1, 2), (0, 2)] {
        let world = World::new(3, ALL);
        let sessions = Sessions::of(&world);
        let listener = world.node(pair.1).listen();
        let id = under_way(&world);
        world.hub.cut(pair.0, pair.1);
        waits(
            &world,
            pair.1,
            id,
            &format!("missing: party {0} (party-{0})", pair.0),
        );
        if pair == (1, 2) {
            // The leader is connected to both.
            until("the leader begins it again", || world.job(0, id).runs > 1);
        }
        // It does not go on before all parties are connected.
        std::thread::sleep(Duration::from_secs(4));
        assert!(world.job(pair.1, id).is_interrupted());
        world.hub.mend(pair.0, pair.1);
        ends_well(&world, id, 1);
        sessions.check(1);
        let happened = std::iter::from_fn(|| listener.next(Duration::ZERO));
        let states = happened.filter_map(|happened| match happened {
            Happened::Job { state, .. } => Some(state),
            _ => None,
        });
        use StateName::{Approved, Done, Proposed, Queued, Running};
        let expected = [Proposed, Approved, Queued, Running, Queued, Running, Done];
        assert_eq!(states.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_job_goes_on_over_sockets() {
    let mut world = World::new(3, ALL);
    (0..3).for_each(|party| world.stop(party));
    over_sockets(&mut world);
    let id = under_way(&world);
    world.stop(1);
    for party in [0, 2] {
        waits(&world, party, id, "missing: party 1 (party-1)");
    }
    [0, 2].into_iter().for_each(|party| world.stop(party));
    over_sockets(&mut world);
    ends_well(&world, id, 1);
}

#[test]
fn a_job_goes_on_after_all_services_were_restarted_again_and_again() {
    let mut world = World::new(3, ALL);
    let sessions = Sessions::of(&world);
    let id = under_way(&world);
    for (restart, done) in [(1, 4), (2, 7)] {
        for party in 0..3 {
            match restart {
                1 => world.stop(party),
                _ => world.kill_at_once(party),
            }
        }
        (0..3).for_each(|party| world.start(party));
        wait_for_shards(&world, id, done);
    }
    ends_well(&world, id, 2);
    sessions.check(2);
}

/// What a service was given for one run, or counted for it, is there for the next.
#[test]
fn a_job_goes_on_with_posted_values_and_is_one_answer_of_the_day() {
    let mut world = World::with(3, ALL, |settings| {
        settings.tables = (settings.me == 1).then(|| settings.data.with_file_name("tables.toml"));
    });
    let rules = world.path(1).join("tables.toml");
    std::fs::write(&rules, "[[table]]\nname = \"bank_1\"\nanswers_per_day = 1\n").expect("written");
    std::fs::write(world.path(1).join("policy.toml"), NONE).expect("written");
    world.node(1).reload_policy().expect("read");
    stock(&world, ROWS);
    let table = world.path(1).join("data/bank_1.csv");
    let rows = std::fs::read_to_string(&table).expect("there");
    std::fs::remove_file(&table).expect("removed");
    let id = submit(&world, text(3, SHARDS, ROWS), "posted");
    until("it is known", || world.node(1).jobs().get(id).is_ok());
    let approval = with_values(&[("bank_1", &rows)]);
    world.node(1).approve(id, approval, person()).expect("approved");
    wait_for_shards(&world, id, 1);
    world.kill_at_once(1);
    // By the next day others have asked as often as they may.
    let mut answers = rules.into_os_string();
    answers.push(".answers");
    let now = Timestamp::now().millis() / 1000;
    std::fs::write(answers, format!("{now} bank_1\n")).expect("written");
    world.start(1);
    ends_well(&world, id, 1);
    let posted = std::fs::read_dir(world.path(1).join("service/posted")).expect("there");
    assert_eq!(posted.count(), 0, "posted values are deleted");
}

/// Party 2 keeps back a message of the merge, so that the answer may have been opened to it.
fn in_the_merge(world: &World) -> (JobId, Tries, Gate) {
    let gate = Gate::new();
    let is_merge = |name: &str| name.contains("the merge");
    let tries = spoil_in(world, is_merge, (2, VERIFYING), How::Withholds(gate.clone()));
    stock(world, 40);
    let id = submit(world, text(3, 3, 40), "merged");
    until("it is opened", || tries.count() == 1);
    (id, tries, gate)
}

#[test]
fn a_job_that_was_cut_off_in_the_merge_opens_nothing_again() {
    for (is_stopped, is_ledger_gone) in [(false, false), (false, true), (true, false)] {
        let mut world = World::new(3, ALL);
        let (id, tries, gate) = in_the_merge(&world);
        match is_stopped {
            true => world.stop(1),
            false => world.kill_at_once(1),
        }
        gate.open();
        for party in [0, 2] {
            until("it is over", || world.is_over(party, id));
        }
        let (kind, reason) = failure(&world, 0, id);
        match kind {
            // A service that stops has the time to say so.
            FailKind::Peer if is_stopped => {}
            FailKind::PeerLost => assert!(reason.ends_with("is not opened again"), "{reason}"),
            _ => panic!("{kind:?}: {reason}"),
        }
        if is_ledger_gone {
            lose_ledger(&world, 1);
        }
        world.start(1);
        world.wait_ready();
        until("it is over", || world.is_over(1, id));
        let (kind, reason) = failure(&world, 1, id);
        let expected = if is_ledger_gone {
            FailKind::Peer
        } else {
            FailKind::Restarted
        };
        assert_eq!(kind, expected, "{reason}");
        assert_eq!(tries.0.lock().expect("no panic").len(), 1, "there is one merge");
        nothing_is_left(&world);
        world.verify();
    }
}

#[test]
fn attempts_are_used_up_over_restarts() {
    let mut world = World::new(3, ALL);
    let sessions = Sessions::of(&world);
    let few = format!("attempts = {}\n{}", SHARDS + 2, text(3, SHARDS, ROWS));
    let id = begun(&world, submission(few, "few"));
    for _ in 0..2 {
        world.kill(2);
        waits(&world, 0, id, "missing: party 2 (party-2)");
        world.start(2);
        until("it goes on", || {
            world.job(0, id).state.name() != StateName::Queued
                && world.job(2, id).state.name() != StateName::Queued
        });
        if !world.is_over(0, id) {
            until("a shard is computed", || {
                sessions.at("shard ").len() as u32 > 3 || world.is_over(0, id)
            });
        }
    }
    for party in 0..3 {
        until("it is over", || world.is_over(party, id));
    }
    let reasons: Vec<String> = (0..3).map(|party| failure(&world, party, id).1).collect();
    let used_up = format!("of the job's {} attempts", SHARDS + 2);
    assert!(
        reasons.iter().any(|reason| reason.contains(&used_up)),
        "{reasons:?}"
    );
    nothing_is_left(&world);
    world.verify();
}

#[test]
fn a_job_whose_ledger_is_gone_at_one_party_begins_anew() {
    let mut world = World::new(3, ALL);
    let sessions = Sessions::of(&world);
    let id = under_way(&world);
    world.kill_at_once(1);
    let attempts = sessions.at("shard ").len();
    lose_ledger(&world, 1);
    world.start(1);
    wait_for_shards(&world, id, 1);
    // What was tried before still counts.
    let running = world.node(0).running();
    let shards = running[0].shards.as_ref().expect("in shards");
    assert!(shards.handed_out as usize > attempts, "{shards:?}");
    ends_well(&world, id, 1);
    assert_eq!(sessions.at("shard 0 ").len(), 2);
}

#[test]
fn a_job_whose_ledger_was_put_back_at_one_party_makes_no_attempt_twice() {
    let mut world = World::new(3, ALL);
    let sessions = Sessions::of(&world);
    let id = under_way(&world);
    let shards = world.path(1).join("service/shards");
    let copy = tempfile::tempdir().expect("a folder");
    copy_all(&shards, copy.path());
    wait_for_shards(&world, id, 6);
    world.kill_at_once(1);
    std::fs::remove_dir_all(&shards).expect("removed");
    copy_all(copy.path(), &shards);
    world.start(1);
    ends_well(&world, id, 1);
    assert!(
        sessions.at("shard ").len() >= SHARDS as usize + 4,
        "what party 1 has lost is computed again"
    );
    sessions.check(SHARDS as usize);
}

#[test]
fn a_job_that_waits_to_go_on_can_be_taken_back() {
    let mut world = World::new(3, ALL);
    let id = under_way(&world);
    world.kill_at_once(2);
    waits(&world, 0, id, "missing: party 2 (party-2)");
    world.node(0).cancel(id, person()).expect("cancelled");
    world.wait(id, "cancelled", |state| *state == State::Cancelled { by: 0 });
    nothing_is_left(&world);
    let orphan = world.path(2).join("service/shards/of nobody");
    std::fs::create_dir(&orphan).expect("made");
    std::fs::write(orphan.with_file_name("a file"), "").expect("written");
    assert_eq!(left(&world, 2), 3);
    world.start(2);
    assert_eq!(left(&world, 2), 1);
    until("it is over", || world.is_over(2, id));
    nothing_is_left(&world);
    world.verify();
}

#[test]
fn a_job_that_waits_to_go_on_ends_at_its_deadline() {
    let mut world = World::new(3, ALL);
    let short = Submission {
        within: Some(12),
        ..submission(text(3, SHARDS, ROWS), "short")
    };
    let id = begun(&world, short);
    world.stop(1);
    for party in [0, 2] {
        waits(&world, party, id, "missing: party 1 (party-1)");
    }
    for party in [0, 2] {
        until("it is over", || world.is_over(party, id));
        assert_eq!(failure(&world, party, id).0, FailKind::Deadline);
    }
    nothing_is_left(&world);
    assert_eq!(left(&world, 1), 1);
    world.start(1);
    until("it is over", || world.is_over(1, id));
    nothing_is_left(&world);
    world.verify();
}

#[test]
fn who_fell_silent_in_a_shard_has_had_a_try_though_this_service_was_stopped_since() {
    let mut world = World::new(3, ALL);
    let is_first = |name: &str| name.contains("shard 1 (attempt 1)");
    let tries = spoil_in(&world, is_first, (2, VERIFYING), How::HangsUp);
    let id = under_way(&world);
    until("it has tried", || tries.count() == 1);
    wait_for_shards(&world, id, 3);
    world.stop(0);
    world.start(0);
    ends_well(&world, id, 1);
    assert_eq!(
        world
            .node(0)
            .unsettled(2)
            .expect("a record")
            .map(|known| known.times),
        Some(1)
    );
}

#[test]
fn a_party_whose_table_has_changed_since_does_not_go_on() {
    let mut world = World::new(3, ALL);
    let id = under_way(&world);
    world.kill_at_once(1);
    let table = world.path(1).join("data/bank_1.csv");
    std::fs::write(&table, "id,owed\n1,1\n").expect("written");
    world.start(1);
    for party in 0..3 {
        until("it is over", || world.is_over(party, id));
    }
    assert_eq!(failure(&world, 1, id).0, FailKind::BadInput);
    nothing_is_left(&world);
    world.verify();
}
