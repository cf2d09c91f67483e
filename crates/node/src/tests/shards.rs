//! Jobs that are cut into shards, which a service runs one after another.

use cenote_service::job::{JobId, State, StateName};
use cenote_service::live::{AlarmKind, Happened, Live, RunningShards};
use serde_json::json;

use super::queries::{answer, declined_by, fails_without_answer, submit};
use super::trunks::over_sockets;
use super::unsettled::{How, VERIFYING, spoil, spoil_in, wait_idle};
use super::world::{ALL, World, person, until};

/// The sum over a join of this many rows of each of two parties, in so many shards.
pub(super) fn text(parties: u8, shards: u32, rows: u64) -> String {
    let protocol = if parties == 2 { "authenticated" } else { "three" };
    let all: Vec<u8> = (0..parties).collect();
    let table = |party: u8| {
        format!(
            "[[table]]\nname = \"bank_{party}\"\nparty = {party}\ncolumns = {{ id = \"u32 not null\", owed = \"u32 not null\" }}\n\
             max_rows = {rows}\nunique = [\"id\"]\n"
        )
    };
    format!(
        "shards = {shards}\nprotocol = \"{protocol}\"\nquery = \"SELECT COUNT(*) AS customers, SUM(a.owed + b.owed) AS joint FROM bank_0 a JOIN bank_1 b USING (id)\"\n\
         {}{}[answer]\nto = {all:?}\nmax_rows = 1\n",
        table(0),
        table(1)
    )
}

/// Gives both banks so many rows; every second customer of one is one of the other.
pub(super) fn stock(world: &World, rows: u64) {
    for party in [0, 1] {
        let mut text = String::from("id,owed\n");
        for row in 0..rows {
            text += &format!("{},{}\n", row * (u64::from(party) + 1), row + 1);
        }
        let path = world.path(party).join(format!("data/bank_{party}.csv"));
        std::fs::write(path, text).expect("written");
    }
}

/// The answer to that.
pub(super) fn expected(rows: u64) -> serde_json::Value {
    let met = (0..rows).filter(|row| row * 2 < rows);
    let (count, sum) = met.fold((0, 0), |(count, sum), row| {
        (count + 1, sum + (row * 2 + 1) + (row + 1))
    });
    json!([[format!("{count}"), format!("{sum}")]])
}

/// What shards have left on the disk of a party.
pub(super) fn left(world: &World, party: u8) -> usize {
    let folder = world.path(party).join("service/shards");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Nothing is left at the parties that are up, soon after a job has ended.
pub(super) fn nothing_is_left(world: &World) {
    let up = (0..).zip(&world.nodes).filter(|(_, node)| node.is_some());
    until("nothing is left", || {
        up.clone().all(|(party, _)| left(world, party) == 0)
    });
}

#[test]
fn three_parties_compute_shards_and_show_how_far_they_are() {
    let (world, rows) = (World::new(3, ALL), 6000);
    stock(&world, rows);
    let listener = world.node(1).listen();
    let id = submit(&world, text(3, 4, rows), "in shards");
    world.wait_for(id, StateName::Done);
    for party in 0..3 {
        assert_eq!(answer(&world, party, id)["answer"]["rows"], expected(rows));
    }
    nothing_is_left(&world);
    let summary = world.node(2).explain(id).expect("known").summary;
    for part in ["cut into 4 shards", "8 times in all", "bank_0 by id"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let happened = std::iter::from_fn(|| listener.next(std::time::Duration::ZERO));
    let shown: Vec<RunningShards> = happened
        .filter_map(|happened| match happened {
            Happened::Progress(running) => running.shards,
            _ => None,
        })
        .collect();
    assert!(!shown.is_empty());
    for shards in shown {
        assert_eq!((shards.shards, shards.attempts), (4, 8));
        assert!(shards.done <= 4 && shards.handed_out <= 5, "{shards:?}");
    }
    world.verify();
}

#[test]
fn two_parties_compute_shards_over_sockets() {
    let (mut world, rows) = (World::new(2, ALL), 12);
    (0..2).for_each(|party| world.stop(party));
    over_sockets(&mut world);
    stock(&world, rows);
    let id = submit(&world, text(2, 2, rows), "in shards");
    world.wait_for(id, StateName::Done);
    for party in 0..2 {
        assert_eq!(answer(&world, party, id)["answer"]["rows"], expected(rows));
    }
    world.verify();
}

#[test]
fn services_compute_shards_of_a_circuit() {
    let world = World::new(3, ALL);
    for (party, input) in [(0, "x"), (1, "y")] {
        let values: String = (0..300)
            .map(|lane| format!("{}\n", lane * (u64::from(party) + 1)))
            .collect();
        std::fs::write(world.path(party).join("data").join(input), values).expect("written");
    }
    let text = "shards = 5\nprotocol = \"three\"\ncircuit = \"lib:add16\"\nlanes = 300\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n\
                [[output]]\nto = [2]\n";
    let id = submit(&world, text.into(), "lanes in shards");
    world.wait_for(id, StateName::Done);
    let sums: Vec<String> = (0..300).map(|lane| format!("0x{:04x}", lane * 3)).collect();
    assert_eq!(world.learnt(2, id), sums);
    nothing_is_left(&world);
    let summary = world.node(1).explain(id).expect("known").summary;
    assert!(summary.contains("cut into 5 shards of 64 lanes"), "{summary}");
    world.verify();
}

#[test]
fn who_cheats_in_a_shard_ends_the_job_and_is_named() {
    let (world, rows) = (World::new(3, ALL), 40);
    stock(&world, rows);
    // "evaluate AND layer" of protocol three.
    let tries = spoil(&world, 0x30a, How::Flips(0));
    let id = submit(&world, text(3, 3, rows), "cheated");
    fails_without_answer(&world, id);
    wait_idle(&world);
    // One session was spoilt: a failed check ends the job, and is not tried again.
    assert_eq!(tries.count(), 1);
    // Any of them may be the first to see that proofs differ, also who sent what was changed on its way.
    let catcher = (0..3).find(|party| world.has_caught(*party, id));
    let catcher = catcher.unwrap_or_else(|| {
        let states = (0..3).map(|party| world.job(party, id).state);
        panic!("none has caught it: {:?}", states.collect::<Vec<_>>())
    });
    until("an operator is told", || {
        let alarms = world.node(catcher).alarms();
        alarms.iter().any(|alarm| alarm.kind == AlarmKind::Cheating)
    });
    nothing_is_left(&world);
    world.verify();
}

/// It has the next attempt go well: what it has tried stays on record all the same.
#[test]
fn who_falls_silent_in_a_shard_has_had_a_try_though_the_job_ends_well() {
    let (world, rows) = (World::new(3, ALL), 40);
    stock(&world, rows);
    let is_first = |name: &str| name.starts_with("job ") && name.contains("shard 1 (attempt 1)");
    let tries = spoil_in(&world, is_first, (2, VERIFYING), How::HangsUp);
    let id = submit(&world, text(3, 3, rows), "silent");
    world.wait_for(id, StateName::Done);
    assert_eq!(tries.count(), 1);
    wait_idle(&world);
    for party in [0, 1] {
        assert_eq!(answer(&world, party, id)["answer"]["rows"], expected(rows));
        let on_record = world.node(party).unsettled(2).expect("a record");
        assert!(on_record.is_some(), "party {party}");
    }
    world.hub.spoil(None);
    world.settle_all();
    let id = submit(&world, text(3, 3, rows), "well");
    world.wait_for(id, StateName::Done);
    wait_idle(&world);
    assert!(world.node(0).unsettled(2).expect("a record").is_none());
    world.verify();
}

/// A job that takes a while is under way at all parties.
fn under_way(world: &World) -> JobId {
    let rows = 60_000;
    stock(world, rows);
    let id = submit(world, text(3, 24, rows), "long");
    for party in 0..3 {
        until("a shard is done", || {
            let running = world.node(party).running();
            let mut shards = running.iter().filter_map(|running| running.shards.as_ref());
            shards.any(|shards| shards.done > 0) || world.is_over(party, id)
        });
    }
    id
}

#[test]
fn a_job_in_shards_ends_when_it_is_taken_back() {
    let world = World::new(3, ALL);
    let id = under_way(&world);
    world.node(0).cancel(id, person()).expect("cancelled");
    for party in 0..3 {
        until("it is over", || world.is_over(party, id));
        let state = world.job(party, id).state;
        assert!(matches!(state, State::Cancelled { by: 0 }), "{state:?}");
    }
    wait_idle(&world);
    nothing_is_left(&world);
}

/// The owner of a table that all shards have whole could give other rows in each.
#[test]
fn a_party_with_rules_of_its_tables_takes_no_part_beside_a_whole_table_of_another() {
    let world = World::with(3, ALL, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock(&world, 4);
    for party in 0..3 {
        let rules = format!("[[table]]\nname = \"bank_{party}\"\n");
        std::fs::write(world.path(party).join("tables.toml"), rules).expect("written");
    }
    // How often a customer comes in the large table is not promised, so it is cut anyhow, and all shards have the small one.
    let large = "max_rows = 4000\nunique = [\"id\"]\n";
    let job = text(3, 2, 4000).replacen(large, "max_rows = 4\nunique = [\"id\"]\n", 1);
    let job = job.replace(large, "max_rows = 4000\n");
    let id = submit(&world, job, "whole");
    let reason = declined_by(&world, 1, id);
    assert!(reason.contains("every shard has all of table bank_0"), "{reason}");
}
