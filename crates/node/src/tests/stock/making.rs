//! What goes wrong in the making.

use cenote::runner::Connections;

use super::*;
use crate::tests::world::stop_clocks;

#[test]
fn a_panic_in_the_making_ends_nothing() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let sessions = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sessions);
    world.hub.spoil(Some(Arc::new(move |name, _, connections| {
        let is_first = name.starts_with("stock ") && count.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first {
            // Without a trace, which on a busy machine takes so long, while the hub delivers nothing, that peers do not wait for the word.
            std::panic::resume_unwind(Box::new("as it should"));
        }
        connections
    })));
    lose(&world);
    make_again(&world);
    until("one panics", || sessions.load(Ordering::Relaxed) > 0);
    run(&world, 0, "goes on");
    wait_full(&world);
    assert!(sessions.load(Ordering::Relaxed) > 1);
    let cuts = |party: u8| world.node(party).core.base.stock.state().pace[0].cuts;
    assert!((0..3).all(|party| cuts(party) > 0));
    // Nothing is left that the end of the service waits for.
    let start = Instant::now();
    (0..3).for_each(|party| world.stop(party));
    assert!(start.elapsed() < PATIENCE);
}

/// Else it would never fill it again.
#[test]
fn the_leader_knows_of_a_shelf_that_a_peer_has_given_up_before_all_had_agreed() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let held = Arc::new(Mutex::new(None));
    let told = Arc::new(AtomicBool::new(false));
    let (ready, is_told) = (Arc::clone(&held), Arc::clone(&told));
    // That party 2 agrees comes after what is on its shelf when it has given up.
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        let mut ready = ready.lock().expect("no panic");
        match Message::parse(&message) {
            Ok(Message::Ready { .. }) if from == 2 && !is_told.load(Ordering::Relaxed) => {
                *ready = Some(message);
                Vec::new()
            }
            Ok(Message::Levels { .. }) if (from, to) == (2, 0) && ready.is_some() => {
                is_told.store(true, Ordering::Relaxed);
                std::iter::once(message).chain(ready.take()).collect()
            }
            _ => vec![message],
        }
    })));
    lose(&world);
    make_again(&world);
    until("party 2 has agreed, and has waited too long", || {
        // Unless the leader was quicker to take it back.
        if told.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = world.node(2).core.base.stock.state();
        let making = state.making.as_mut();
        let making = making.filter(|_| held.lock().expect("no panic").is_some());
        making.map(|making| making.until = Instant::now()).is_some()
    });
    until("it has given up, and told what is there", || {
        told.load(Ordering::Relaxed)
    });
    world.hub.meddle(None);
    wait_full(&world);
}

#[test]
fn what_waited_for_the_memory_of_a_making_is_looked_at() {
    let world = World::with(3, ALL, |settings| {
        // Nobody else makes any.
        if settings.me == 1 {
            wants(settings, protocol(3), SHARE);
        }
    });
    let core = stop_clocks(&world, 1);
    let stock = core.base.stock.targets[0].digest;
    core.base.stock.hear_make(0, JobId([1; 16]), stock, 0, 1);
    assert!(core.base.stock.state().making.is_some());
    core.base.scheduler.wait_for_start(Duration::ZERO);
    core.base.stock.clear_making();
    assert!(core.base.stock.state().making.is_none() && core.base.scheduler.wait_for_start(Duration::ZERO));
}

/// One epoch has 2^16 batches at most.
#[test]
fn too_many_batches_are_refused_before_anybody_is_met() {
    let kind = kind("three", JOB);
    let most = (0..64).rev().map(|bits| 1 << bits);
    let most = most.into_iter().find(|runs| kind.traffic_bytes(*runs).is_ok());
    let too_many = 2 * most.expect("some can be made") + 1;
    assert!(too_many > 1 << 10);
    let home = tempfile::tempdir().expect("a folder");
    let (folder, key) = (home.path().join("stock"), home.path().join("key"));
    let store = shelves(&folder, &key, 1, &Default::default())
        .expect("made")
        .remove(0);
    let mut all = Connections::in_memory(&kind.protocol().topology(), PATIENCE);
    let own = all.remove(0);
    let start = Instant::now();
    let limit = 2 * PATIENCE;
    let refused = kind.make(too_many, cenote::PartyId(0), own, "too many", limit, &store);
    let error = refused.expect_err("too many").to_string();
    assert!(error.contains("at most 65536 are made at once"), "{error}");
    assert!(start.elapsed() < PATIENCE / 2, "the others were waited for");
    assert_eq!(store.inventory().expect("read"), Default::default());
}
