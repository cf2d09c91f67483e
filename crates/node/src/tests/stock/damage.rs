//! Damage on the disks of parties with stock.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::pairs::{PAIRS, pair, run_with};
use super::*;

/// The files of material of each item on a shelf, the oldest item first.
fn material(world: &World, party: u8, shelf: usize) -> Vec<Vec<PathBuf>> {
    let store = &world.node(party).core.base.stock.stores[shelf];
    let is_material = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        name.starts_with("part-") || name.starts_with("state-") && name != "state-journal"
    };
    let files = |id: cenote::stock::ItemId| {
        let found = std::fs::read_dir(store.path().join(id.to_string())).expect("listed");
        let found = found.map(|entry| entry.expect("an entry").path());
        found.filter(is_material).collect()
    };
    let items = store.inventory().expect("read").items;
    items.into_iter().map(|stored| files(stored.item.id)).collect()
}

/// Changes a byte of a file.
fn damage(path: &PathBuf) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("there");
    let (at, mut byte) = (file.metadata().expect("there").len() - 1, [0]);
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[byte[0] ^ 1], at).expect("written");
}

/// The same, and nothing tells that it was changed.
fn damage_silently(path: &PathBuf) {
    let modified = |path: &PathBuf| File::open(path).and_then(|file| file.metadata()?.modified());
    let before = modified(path).expect("there");
    damage(path);
    let file = OpenOptions::new().write(true).open(path).expect("there");
    file.set_modified(before).expect("set");
}

/// Everything on all shelves of party 1.
fn damage_all(world: &World) {
    let shelves = (0..SHELVES.into()).flat_map(|shelf| material(world, 1, shelf));
    shelves.flatten().for_each(|path| damage(&path));
}

#[test]
fn what_is_damaged_costs_no_job_of_three() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    damage_all(&world);
    run(&world, 0, "on a shelf with nothing sound");
    assert_eq!(from_stock(&world, 0), 0);
    // What has been found counts no more, and new stock takes its place.
    make_again(&world);
    until("something is made", || from_stock_again(&world));
    world.verify();
}

/// Whether a job runs from stock.
fn from_stock_again(world: &World) -> bool {
    let before = from_stock(world, 0);
    wait_free(world);
    run(world, 0, &format!("another {:?}", std::time::Instant::now()));
    from_stock(world, 0) > before
}

#[test]
fn what_is_damaged_costs_no_job_of_two() {
    for protocol in PAIRS {
        let world = pair(protocol);
        wait_full(&world);
        make_no_more(&world);
        damage_all(&world);
        run_with(&world, protocol, 0, "on a shelf with nothing sound");
        assert_eq!(from_stock(&world, 0), 0, "{protocol}");
        assert_eq!(world.node(1).alarms(), []);
        let full = world.node(0).stock()[0].target;
        until("what was found counts no more", || {
            world.node(0).stock()[0].amount < full
        });
        lose(&world);
        make_again(&world);
        wait_full(&world);
        run_with(&world, protocol, 1, "from new stock");
        assert_eq!(from_stock(&world, 0), 1, "{protocol}");
    }
}

#[test]
fn one_damaged_item_leaves_the_others() {
    let world = world(3, 4);
    wait_full(&world);
    make_no_more(&world);
    lose(&world);
    let items = material(&world, 1, 0);
    let (_, damaged) = items.split_last().expect("items");
    assert!(!damaged.is_empty());
    damaged.iter().flatten().for_each(damage);
    run(&world, 0, "from the sound one");
    for party in 0..3 {
        assert_eq!(from_stock(&world, party), 1, "party {party}");
    }
}

/// Each party can read enough, and together they cannot.
#[test]
fn what_is_left_at_all_has_to_suffice() {
    let complete = Arc::new(AtomicBool::new(false));
    let is_complete = Arc::clone(&complete);
    let mut world = World::with(3, ALL, move |settings| {
        if settings.me < 2 || is_complete.load(Ordering::Relaxed) {
            wants(settings, "three", 4);
        }
    });
    // Half of each item is to be enough: what lies on the first shelf is made in one piece, however slowly. It is the first one that is made:
    // until all keep stock the leader has chosen nothing.
    world.node(0).core.base.stock.state().pace[0].piece = 4;
    complete.store(true, Ordering::Relaxed);
    world.stop(2);
    world.start(2);
    wait_full(&world);
    make_no_more(&world);
    lose(&world);
    assert_eq!(left(&world, 0).0, 1);
    for party in [1, 2] {
        for mut files in material(&world, party, 0) {
            files.sort();
            let (first, second) = files.split_at(files.len() / 2);
            let damaged = if party == 1 { first } else { second };
            damaged.iter().for_each(damage);
        }
    }
    run(&world, 0, "with its own material");
    assert_eq!(from_stock(&world, 0), 0);
    let each: Vec<u64> = (0..3).map(|party| left(&world, party).1).collect();
    assert!(
        each[1] > 0 && each[2] > 0 && each[0] >= each[1] + each[2],
        "{each:?}"
    );
}

/// What is found when it is used is not used again; the next job finds another way.
#[test]
fn damage_that_nothing_tells_of_costs_one_job_at_most() {
    for protocol in ["three", "authenticated", "jimu", "lego"] {
        let parties = if protocol == "three" { 3 } else { 2 };
        let world = World::with(parties, ALL, move |settings| wants(settings, protocol, SHARE));
        wait_full(&world);
        make_no_more(&world);
        // There is one shelf.
        lose(&world);
        material(&world, 1, 0).iter().flatten().for_each(damage_silently);
        let submit = |key: &str| {
            let mut submission = world.submission("add8", key);
            submission.job = submission.job.replace("authenticated", protocol);
            let submitted = world.node(0).submit(submission, crate::tests::world::person());
            submitted.expect("submitted").proposal.id
        };
        let id = submit("finds it");
        world.wait(id, "over", |state| !state.name().is_open());
        wait_free(&world);
        assert_eq!(from_stock(&world, 0), 1, "{protocol}");
        let id = submit("goes on");
        wait_done(&world, 0, id);
    }
}
