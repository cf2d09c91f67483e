//! Services with stock, from its making to its use, with parties that lie, fail and cheat.

mod cheating;
mod damage;
mod making;
mod orphans;
mod pairs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote::stock::StockKind;
use cenote::{Protocol, Three, Variant};
use cenote_service::job::{JobId, State, StateName};
use cenote_service::live::{AlarmKind, Live};

use super::*;
use orphans::ask_and_wait;

use crate::tests::world::{ALL, PATIENCE, World, until, until_within};
use crate::{Settings, StockSettings};

/// Runs of a shelf.
const SHARE: u64 = 2;
/// AND gates of a typical job.
const JOB: u64 = 1000;

/// Has a party keep stock that suits so many parties.
fn wants(settings: &mut Settings, protocol: &str, share: u64) {
    settings.stock = StockSettings {
        targets: vec![StockTarget {
            kind: kind(protocol, JOB),
            ands: u64::from(SHELVES) * share * JOB,
            least: 0,
        }],
        ..std::mem::take(&mut settings.stock)
    };
}

/// Stock of a protocol, of three parties for jobs as [`World::submission`] has them.
fn kind(protocol: &str, job: u64) -> StockKind {
    let protocol = match protocol {
        "three" => Protocol::from(Three {
            variant: Some(Variant::OnDemand.into()),
            ..Three::default()
        }),
        other => Protocol::named(other).expect("a protocol"),
    };
    StockKind::new(protocol, job).expect("a kind")
}

fn protocol(parties: u8) -> &'static str {
    match parties {
        2 => "authenticated",
        _ => "three",
    }
}

/// So many services that all keep stock.
fn world(parties: u8, share: u64) -> World {
    World::with(parties, ALL, move |settings| {
        wants(settings, protocol(parties), share)
    })
}

fn wait_full(world: &World) {
    // It is made at a low priority.
    until_within(3 * PATIENCE, "the stock is full", || is_full(world));
}

fn is_full(world: &World) -> bool {
    let is_full = |node: &crate::Node| {
        let mut kinds = node.stock().into_iter();
        kinds.all(|stock| stock.amount == stock.target && !stock.making)
    };
    world.nodes.iter().flatten().all(is_full)
}

/// Nothing is made from here on. For a minute nobody asks either what others lack, unless the test does.
fn make_no_more(world: &World) {
    until("nothing is made", || {
        let mut nodes = world.nodes.iter().flatten();
        nodes.all(|node| {
            let mut state = node.core.base.stock.state();
            // What was just made lets the next piece begin at once.
            state.pace[0].again = Some(Instant::now() + Duration::from_secs(3600));
            state.making.is_none()
        })
    });
    ask_and_wait(world, &[]);
    wait_free(world);
}

/// It is made again. The leader is the last to know, so that no peer declines.
fn make_again(world: &World) {
    for node in world.nodes.iter().flatten().rev() {
        node.core.base.stock.state().pace[0].again = None;
    }
}

/// No shelf is in use, and none is to be counted again.
fn wait_free(world: &World) {
    let is_free = |node: &crate::Node| {
        let state = node.core.base.stock.state();
        state.news.is_empty() && state.busy.iter().all(|busy| !busy)
    };
    until("all shelves are free", || {
        world.nodes.iter().flatten().all(is_free)
    });
}

/// What lies on all shelves of a party: items, and the numbers of them that are left.
fn left(world: &World, party: u8) -> (usize, u64) {
    let stores = &world.node(party).core.base.stock.stores;
    let items: Vec<_> = stores
        .iter()
        .flat_map(|store| store.inventory().expect("read").items)
        .collect();
    (items.len(), items.iter().map(|stored| stored.left.total()).sum())
}

/// What a party would tell of its shelves.
fn levels(world: &World, party: u8) -> Vec<Level> {
    let stock = &world.node(party).core.base.stock;
    stock.levels(&stock.state()).0
}

/// All parties lose what is on all shelves but the first. They hear of it when all is lost: a making that begins at once may take any shelf.
fn lose(world: &World) {
    let stocks = || world.nodes.iter().flatten().map(|node| &node.core.base.stock);
    for store in stocks().flat_map(|stock| stock.stores.iter().skip(1)) {
        for stored in store.inventory().expect("read").items {
            store.remove(&stored.item.id).expect("removed");
        }
    }
    for stock in stocks() {
        (1..SHELVES).for_each(|shelf| stock.put_back(shelf));
    }
}

fn from_stock(world: &World, party: u8) -> u64 {
    world.node(party).counts().from_stock
}

/// Runs `add8` once, and gives its name.
fn run(world: &World, party: u8, key: &str) -> JobId {
    let id = world.submit(party, key).proposal.id;
    wait_done(world, party, id);
    id
}

fn wait_done(world: &World, party: u8, id: JobId) {
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(party, id), ["0x2a"]);
    wait_free(world);
}

#[test]
fn stock_is_filled_and_used_and_filled_again() {
    for parties in [3, 2] {
        let world = world(parties, SHARE);
        wait_full(&world);
        for party in 0..parties {
            let shown = &world.node(party).stock()[0];
            assert_eq!(shown.protocol, protocol(parties));
            assert_eq!(shown.target, u64::from(SHELVES) * SHARE * JOB);
        }
        make_no_more(&world);
        let before = left(&world, 0);
        run(&world, 1, "from stock");
        for party in 0..parties {
            assert_eq!(from_stock(&world, party), 1, "party {party} of {parties}");
            assert_eq!(left(&world, party), left(&world, 0), "party {party} of {parties}");
        }
        if parties == 3 {
            assert!(left(&world, 0).1 < before.1);
            let shown = &world.node(2).stock()[0];
            assert!(shown.amount < shown.target);
        }
        // Below three quarters it is filled again.
        lose(&world);
        assert!(world.node(0).stock()[0].amount < world.node(0).stock()[0].target / 2);
        make_again(&world);
        wait_full(&world);
        world.verify();
    }
}

/// Otherwise whoever takes it next could tell of it first, and peers would hear last what is older.
#[test]
fn what_is_on_a_shelf_is_told_before_anybody_takes_it() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let core = &world.node(1).core;
    let (known, counts) = (
        Arc::downgrade(core),
        [(); 2].map(|()| Arc::new(AtomicU64::new(0))),
    );
    let [told, free] = counts.clone();
    world.hub.meddle(Some(Arc::new(move |from, _, message| {
        if from == 1 && matches!(Message::parse(&message), Ok(Message::Levels { .. })) {
            told.fetch_add(1, Ordering::Relaxed);
            let core = known.upgrade().expect("it is up");
            free.fetch_add(core.base.stock.state.try_lock().is_ok().into(), Ordering::Relaxed);
        }
        vec![message]
    })));
    core.base.stock.put_back(0);
    core.base.stock.tell_levels(2);
    // Statuses are told by the clock, too.
    let [told, free] = counts.map(|count| count.load(Ordering::Relaxed));
    assert!(told >= 3 && free == 0, "{told} {free}");
}

#[test]
fn jobs_side_by_side_use_nothing_twice() {
    for parties in [3, 2] {
        let world = world(parties, SHARE);
        wait_full(&world);
        make_no_more(&world);
        let before = left(&world, 0).1;
        run(&world, 0, "the first");
        let each = before - left(&world, 0).1;
        let ids: Vec<JobId> = (0..12)
            .map(|number| {
                world
                    .submit(number % parties, &format!("job {number}"))
                    .proposal
                    .id
            })
            .collect();
        for id in ids {
            world.wait_for(id, StateName::Done);
            assert_eq!(world.learnt(0, id), ["0x2a"]);
        }
        wait_free(&world);
        let used = from_stock(&world, 0);
        assert!(used > 1, "{used} jobs from stock");
        for party in 0..parties {
            assert_eq!(from_stock(&world, party), used);
            // A shelf of which too little is left for a typical job is cleared.
            let gone = before - left(&world, party).1;
            assert!(
                gone >= used * each && left(&world, party) == left(&world, 0),
                "party {party}"
            );
        }
    }
}

/// The leader's word to a party names another shelf.
fn name_shelves(world: &World, name: impl Fn(u8, Option<u8>) -> Option<u8> + Send + Sync + 'static) {
    world.hub.meddle(Some(Arc::new(move |_, to, message| {
        match Message::parse(&message) {
            Ok(Message::Start { job, shelf, again }) => {
                let shelf = name(to, shelf);
                vec![Message::Start { job, shelf, again }.to_bytes()]
            }
            _ => vec![message],
        }
    })));
}

#[test]
fn what_the_parties_do_not_have_is_made_in_the_session() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    // Party 1 has lost all, and says that it has all.
    for store in &world.node(1).core.base.stock.stores {
        for stored in store.inventory().expect("read").items {
            store.remove(&stored.item.id).expect("removed");
        }
    }
    run(&world, 2, "empty shelves");
    assert_eq!(from_stock(&world, 0), 0);
    assert_eq!(left(&world, 0).0, left(&world, 2).0);

    // The leader's word names a shelf that is not there.
    name_shelves(&world, |_, shelf| shelf.map(|_| 200));
    run(&world, 0, "no such shelf");
    assert!(world.node(0).alarms().is_empty());
}

#[test]
fn what_one_party_lacks_is_dropped_by_the_word_of_both_others_only() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let store = |party: u8, shelf: u8| &world.node(party).core.base.stock.stores[usize::from(shelf)];
    let [third, fourth] = [3, 4].map(|shelf| {
        let items = store(0, shelf).inventory().expect("read").items;
        items.first().expect("an item").item.id
    });
    let is_there = |party: u8, shelf: u8, id| {
        let items = store(party, shelf).inventory().expect("read").items;
        items.iter().any(|stored| stored.item.id == id)
    };
    // As sessions note it that find that party 2 lacks an item.
    let note = |party: u8, shelf: u8, id: cenote::stock::ItemId| {
        let path = store(party, shelf).path().join(id.to_string());
        std::fs::write(path.join("lacked-by-2"), "").expect("noted");
        world.node(party).core.base.stock.put_back(shelf);
    };
    note(0, 3, third);
    note(0, 4, fourth);
    until("party 1 has heard it", || {
        let state = world.node(1).core.base.stock.state();
        state.lacks_there.get(&0).is_some_and(|lacks| lacks.len() == 2)
    });
    // Party 2 says it of itself, which is nothing new.
    let (item, levels) = (Digest(third.0), levels(&world, 2));
    let lacks = vec![Lack {
        shelf: 3,
        item,
        by: 2,
    }];
    world.hub.say(2, 0, Message::Levels { levels, lacks }.to_bytes());
    until("party 0 has heard it", || {
        let state = world.node(0).core.base.stock.state();
        state.lacks_there.get(&2).is_some_and(|lacks| lacks.len() == 1)
    });
    assert!(is_there(0, 3, third) && is_there(1, 3, third));

    note(1, 3, third);
    until("it is dropped", || {
        !is_there(0, 3, third) && !is_there(1, 3, third)
    });
    assert!(is_there(0, 4, fourth) && is_there(1, 4, fourth));
    wait_free(&world);
}

#[test]
fn a_leader_that_names_different_shelves_gets_nothing() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0);
    name_shelves(&world, |to, shelf| shelf.filter(|_| to != 1));
    let id = world.submit(0, "split").proposal.id;
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
    wait_free(&world);
    assert_eq!(left(&world, 0), before);
    world.hub.meddle(None);
    // Who hears something else than it expects takes that for a lie.
    world.settle_all();
    run(&world, 0, "goes on");
}

#[test]
fn nothing_is_made_that_one_party_does_not_want() {
    let world = World::with(3, ALL, |settings| {
        if settings.me != 2 {
            wants(settings, "three", SHARE);
        }
    });
    run(&world, 0, "without stock");
    assert_eq!((left(&world, 0).0, from_stock(&world, 0)), (0, 0));
    assert_eq!(world.node(2).stock(), []);
}

#[test]
fn a_party_that_declines_is_asked_seldom() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    for party in 0..2 {
        world.node(party).core.base.stock.state().pace[0].again = None;
    }
    lose(&world);
    until("it is asked", || {
        world.node(0).core.base.stock.state().pace[0].declined > 0
    });
    assert!(world.node(0).core.base.stock.state().pace[0].again.is_some());
    run(&world, 0, "goes on");
    assert_eq!(left(&world, 0).0, left(&world, 2).0);
    // It wants some again.
    world.node(2).core.base.stock.state().pace[0].again = None;
    wait_full(&world);
}

#[test]
fn a_leader_cannot_fill_a_disk_or_hold_a_shelf() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    world.node(1).core.base.stock.state().pace[0].again = None;
    let answers = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
    let counts = answers.clone();
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        match Message::parse(&message) {
            Ok(Message::Unready { .. }) if (from, to) == (1, 0) => counts[0].fetch_add(1, Ordering::Relaxed),
            Ok(Message::Ready { .. }) if (from, to) == (1, 0) => counts[1].fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        vec![message]
    })));
    let stock = world.node(1).core.base.stock.targets[0].digest;
    let [refused, ready] = answers.map(|count| move || count.load(Ordering::Relaxed));
    let unknown = Digest([9; 32]);
    let wrong = [
        (stock, 0, u64::MAX),
        (stock, 0, SHARE + 1),
        (stock, SHELVES, 1),
        (stock, 0, 0),
        (unknown, 0, 1),
    ];
    let make = |number: u8, stock, shelf, runs| {
        let run = JobId([number; 16]);
        let message = Message::Make {
            run,
            stock,
            shelf,
            runs,
        };
        world.hub.say(0, 1, message.to_bytes());
    };
    for (number, (stock, shelf, runs)) in (1..).zip(wrong) {
        make(number, stock, shelf, runs);
    }
    until("all are refused", || refused() == wrong.len() as u64);
    // One at a time.
    make(20, stock, 3, 1);
    make(21, stock, 4, 1);
    until("one is refused", || refused() > wrong.len() as u64);
    assert_eq!(ready(), 1);
    // The shelf is free again when the leader takes it back, and after a while without a word.
    world
        .hub
        .say(0, 1, Message::Unready { run: JobId([20; 16]) }.to_bytes());
    wait_free(&world);
    make(22, stock, 3, 1);
    until("it is agreed", || ready() == 2);
    let id = world.submit(0, "goes on").proposal.id;
    world.wait_for(id, StateName::Done);
    if let Some(making) = &mut world.node(1).core.base.stock.state().making {
        making.until = Instant::now();
    }
    wait_free(&world);
}

#[test]
fn what_a_killed_party_was_making_or_using_is_not_used_twice() {
    // A job of SHA-256 is a typical one. Many runs are long in coming on a busy machine, where each is a piece of its own.
    let mut world = World::with(3, ALL, |settings| {
        wants(settings, "three", 4);
        settings.stock.targets[0].kind = kind("three", 25_000);
        settings.stock.targets[0].ands *= 25;
    });
    until("it is made", || {
        world.node(1).stock()[0].making && left(&world, 1).0 > 0
    });
    world.kill(1);
    world.start(1);
    world.wait_ready();
    wait_full(&world);

    let id = world.submit_long(0, "killed");
    until("it runs from stock", || from_stock(&world, 2) == 1);
    world.wait_for(id, StateName::Running);
    world.kill(2);
    world.start(2);
    world.wait_ready();
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
    world.hub.slow_down(cenote::Link::default());
    wait_free(&world);
    until("party 2 has told what it has", || {
        let state = world.node(0).core.base.stock.state();
        let [one, two] = [1, 2].map(|party| state.there.get(&party).map_or(0, |levels| levels.len()));
        one == two
    });
    ask_and_wait(&world, &[]);
    wait_free(&world);
    let jobs = from_stock(&world, 0);
    run(&world, 2, "next");
    assert_eq!(from_stock(&world, 0), jobs + 1);
    world.verify();
}

#[test]
fn a_full_disk_ends_the_making_and_no_job() {
    let world = World::with(3, ALL, |settings| {
        wants(settings, "three", SHARE);
        settings.stock.margin = if settings.me == 1 { u64::MAX } else { 0 };
    });
    let disk = |party: u8| {
        let alarms = world.node(party).alarms();
        alarms.iter().any(|alarm| alarm.kind == AlarmKind::Disk)
    };
    until("there is an alarm", || disk(1));
    run(&world, 0, "goes on");
    assert!(!disk(0));
    assert_eq!(left(&world, 0).0, 0);
}
