//! A party whose process is halted says nothing and closes nothing: those that are left name it, and not each other.
#![cfg(target_os = "linux")]

use std::process::Child;

use crate::common::{finish, wait_until};
use crate::others::{kill, written};
use crate::world::World;

/// Long enough that no machine is done before a party is halted.
const LONG: &str = "circuit = \"lib:mult64\"\nlanes = 1000000";

/// The same with triples.
const LONG_ON_DEMAND: &str = "variant = \"on-demand\"\ncircuit = \"lib:mult64\"\nlanes = 1000000";

/// Of what stock is made for first, which takes longer than its use: 40 MB are sent then.
const STOCKED: &str = "variant = \"on-demand\"\ncircuit = \"lib:mult64\"\nlanes = 80000";

/// Starts the parties, halts one once it has sent so many bytes, and sees whom the others name.
///
/// In the ring, each party waits for the next one. The party behind the halted one has more patience than the one behind
/// that, which so learns only from what they tell each other that it waits for the wrong one.
fn halt_one(world: &World<3>, start: impl Fn(usize) -> Child, victim: usize) {
    let (patient, hasty) = ((victim + 2) % 3, (victim + 1) % 3);
    world.waits(patient, 20);
    world.waits(hasty, 6);
    let mut parties: Vec<Child> = (0..3).map(start).collect();
    wait_until("the work", || written(parties[victim].id()) > 3_000_000);
    kill(parties[victim].id(), "-STOP");
    let mut halted = parties.remove(victim);
    let ended: Vec<_> = parties.into_iter().map(finish).collect();
    halted.kill().unwrap();
    halted.wait().unwrap();
    for ended in &ended {
        ended.failed(3, &[]);
        let error = ended.stderr.rsplit("error: ").next().unwrap();
        let named = [
            format!("waiting for party {victim} in step"),
            format!("nothing has been heard from party {victim}"),
            format!("says: it lost party {victim}"),
        ];
        assert!(named.iter().any(|words| error.contains(words)), "{error}");
    }
}

#[test]
fn a_halted_party_is_named_where_gates_are_proved() {
    let world = World::three();
    let jobs = world.jobs([LONG; 3]);
    halt_one(&world, |party| world.start(party, &jobs[party], &[]), 1);
}

#[test]
fn a_halted_party_is_named_where_triples_are_made_on_demand() {
    let world = World::three();
    let jobs = world.jobs([LONG_ON_DEMAND; 3]);
    halt_one(&world, |party| world.start(party, &jobs[party], &[]), 2);
}

#[test]
fn a_halted_party_is_named_where_stock_is_made() {
    let world = World::three();
    world.add_stock();
    let jobs = world.jobs([LONG_ON_DEMAND; 3]);
    let make = |party: usize| world.start_stock(party, &jobs[party], &["--runs", "3"]);
    halt_one(&world, make, 0);
}

#[test]
fn a_halted_party_is_named_where_stock_is_used() {
    let world = World::three();
    world.add_stock();
    let jobs = world.jobs([STOCKED; 3]);
    for ended in world.make_stock(&jobs, &[]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let online = |party: usize| world.start(party, &jobs[party], &["--online"]);
    halt_one(&world, online, 1);
}
