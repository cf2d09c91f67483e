//! Stock that other parties lack.

use super::pairs::{pair, run_with};
use super::*;

/// A party is killed, and comes up again without what was on its shelves.
fn lose_at(world: &mut World, party: u8) {
    world.kill(party);
    for shelf in 0..SHELVES {
        let shelf = world.path(party).join("stock").join(shelf.to_string());
        for item in std::fs::read_dir(shelf).expect("listed") {
            let item = item.expect("an entry").path();
            if item.is_dir() {
                std::fs::remove_dir_all(item).expect("removed");
            }
        }
    }
    world.start(party);
    world.wait_ready();
}

/// Party 2 of three loses what was on its shelves, and party 1 hears nothing of it.
fn lose_at_two_and_tell_nobody_but_zero(world: &mut World) {
    world.hub.meddle(Some(Arc::new(|from, to, message| {
        match Message::parse(&message) {
            Ok(Message::Lacking { .. }) if (from, to) == (2, 1) => Vec::new(),
            _ => vec![message],
        }
    })));
    lose_at(world, 2);
    ask_and_wait(world, &all_shelves(1, 2));
}

/// Everybody is asked now.
fn ask(world: &World) {
    for node in world.nodes.iter().flatten() {
        let mut state = node.core.base.stock.state();
        state.words.values_mut().for_each(|words| words.asked = None);
        drop(state);
        node.core.base.stock.look_for_orphans(Instant::now());
    }
}

/// A question: who asks, who is asked, and of which shelf.
pub(super) type Question = (u8, u8, u8);

fn all_shelves(asks: u8, asked: u8) -> Vec<Question> {
    (0..SHELVES).map(|shelf| (asks, asked, shelf)).collect()
}

/// Everybody is asked until all questions that there are were answered from now on, but these, which stay open. A shelf that is in use is not
/// asked about, so that asking once may not do.
pub(super) fn ask_and_wait(world: &World, unanswered: &[Question]) {
    for node in world.nodes.iter().flatten() {
        let mut state = node.core.base.stock.state();
        state.words.values_mut().for_each(|words| words.answered.clear());
    }
    // An answer to an earlier question may still be on its way.
    let forget = |(asks, asked, shelf): &Question| {
        let mut state = world.node(*asks).core.base.stock.state();
        if let Some(words) = state.words.get_mut(asked) {
            words.answered.remove(shelf);
        }
    };
    let parties = world.nodes.len() as u8;
    let is_so = |asks: u8, asked: u8, shelf: u8| {
        let state = world.node(asks).core.base.stock.state();
        let words = state.words.get(&asked);
        let is_open = words.is_some_and(|words| words.open.contains(&shelf));
        let is_answered = words.is_some_and(|words| words.answered.contains(&shelf));
        let held = state.held[usize::from(shelf)].iter().flatten();
        let is_wanted = held.into_iter().any(|(_, parties)| asked < *parties);
        match unanswered.contains(&(asks, asked, shelf)) {
            true => is_open && !is_answered,
            false => !is_open && (is_answered || !is_wanted),
        }
    };
    let all_so = || {
        let peers = (0..parties).flat_map(|asks| (0..parties).map(move |asked| (asks, asked)));
        let mut peers = peers.filter(|(asks, asked)| asks != asked);
        peers.all(|(asks, asked)| (0..SHELVES).all(|shelf| is_so(asks, asked, shelf)))
    };
    until("all are answered", || {
        unanswered.iter().for_each(forget);
        ask(world);
        let start = Instant::now();
        while !all_so() && start.elapsed() < Duration::from_millis(500) {
            std::thread::sleep(Duration::from_millis(5));
        }
        all_so()
    });
}

/// Everybody is asked, and has a moment to answer; whoever is asked of a shelf in use does not.
fn ask_for_a_while(world: &World) {
    ask(world);
    std::thread::sleep(Duration::from_millis(50));
}

/// Lets minutes pass at party 0 until it has an alarm on what this party lacks.
fn wait_for_alarm(world: &World, who: &str) {
    let node = world.node(0);
    let now = std::cell::Cell::new(Instant::now());
    until("there is an alarm", || {
        now.set(now.get() + Duration::from_secs(61));
        node.core.base.stock.look_for_orphans(now.get());
        let alarms = node.alarms();
        alarms
            .iter()
            .any(|alarm| alarm.text.contains(who) && alarm.text.contains("lacks"))
    });
}

#[test]
fn what_the_only_peer_has_lost_is_dropped_once_a_day() {
    let mut world = pair("lego");
    wait_full(&world);
    make_no_more(&world);
    assert!(left(&world, 0).0 > 0);
    lose_at(&mut world, 1);
    until("it is dropped", || {
        ask_for_a_while(&world);
        left(&world, 0).0 == 0
    });
    make_again(&world);
    wait_full(&world);
    assert_eq!(left(&world, 0), left(&world, 1));
    run_with(&world, "lego", 1, "from new stock");
    assert_eq!(from_stock(&world, 0), 1);

    // A peer that says so again and again does not have it made again and again.
    make_no_more(&world);
    let before = left(&world, 0);
    lose_at(&mut world, 1);
    ask_and_wait(&world, &[]);
    wait_free(&world);
    assert_eq!(left(&world, 0), before);
    wait_for_alarm(&world, "Party 1");
}

/// A pool's journal tells how often one was given up.
#[test]
fn a_pool_that_the_peer_has_lost_stays_beside_the_next() {
    for protocol in ["authenticated", "jimu"] {
        let mut world = pair(protocol);
        wait_full(&world);
        make_no_more(&world);
        let ids = |world: &World, party: u8| -> Vec<cenote::stock::ItemId> {
            let of = |store: &Store| {
                let items = store.inventory().expect("read").items;
                items.into_iter().map(|stored| stored.item.id).collect::<Vec<_>>()
            };
            world
                .node(party)
                .core
                .base
                .stock
                .stores
                .iter()
                .flat_map(of)
                .collect()
        };
        let before = ids(&world, 0);
        lose_at(&mut world, 1);
        ask_and_wait(&world, &[]);
        wait_free(&world);
        assert_eq!(ids(&world, 0), before, "{protocol}");
        assert_eq!(world.node(0).stock()[0].amount, 0);
        make_again(&world);
        wait_full(&world);
        wait_free(&world);
        ask_and_wait(&world, &[]);
        wait_free(&world);
        let (here, there) = (ids(&world, 0), ids(&world, 1));
        assert!(
            before.iter().chain(&there).all(|id| here.contains(id)),
            "{protocol}"
        );
        run_with(&world, protocol, 0, "from the new pool");
        assert_eq!(from_stock(&world, 0), 1);
    }
}

#[test]
fn what_nobody_asked_for_is_not_heard() {
    let world = pair("lego");
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0);
    let items = world.node(0).core.base.stock.stores[5]
        .inventory()
        .expect("read")
        .items;
    let items = items.into_iter().map(|stored| Digest(stored.item.id.0)).collect();
    let refused = || world.node(0).counts().refused.get(&1).copied().unwrap_or(0);
    let said = refused();
    world
        .hub
        .say(1, 0, Message::Lacking { shelf: 5, items }.to_bytes());
    until("it is refused", || refused() > said);
    wait_free(&world);
    assert_eq!(left(&world, 0), before);
}

/// What is said of a shelf while it is counted, which looks at what was said before, is not forgotten.
#[test]
fn what_a_peer_says_of_a_shelf_in_use_is_counted_later() {
    let mut world = pair("lego");
    wait_full(&world);
    make_no_more(&world);
    world.hub.meddle(Some(Arc::new(|from, _, message| {
        match Message::parse(&message) {
            Ok(Message::Lacking { .. }) if from == 1 => Vec::new(),
            _ => vec![message],
        }
    })));
    lose_at(&mut world, 1);
    wait_free(&world);
    ask_and_wait(&world, &all_shelves(0, 1));
    let before = left(&world, 0);
    let stock = &world.node(0).core.base.stock;
    let held = {
        let mut state = stock.state();
        state.busy.fill(true);
        state.held.clone()
    };
    for (shelf, held) in (0..SHELVES).zip(held) {
        let items = held
            .expect("it is read")
            .into_keys()
            .map(|id| Digest(id.0))
            .collect();
        world.hub.say(1, 0, Message::Lacking { shelf, items }.to_bytes());
    }
    until("it is heard", || stock.state().words[&1].open.is_empty());
    assert_eq!(left(&world, 0), before);
    stock.state().busy.fill(false);
    until("it is dropped", || left(&world, 0).0 == 0);
}

/// The same of what another peer has heard.
#[test]
fn what_a_peer_has_heard_of_a_shelf_in_use_is_counted_later() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    lose_at_two_and_tell_nobody_but_zero(&mut world);
    wait_free(&world);
    let (before, stock) = (left(&world, 0), &world.node(0).core.base.stock);
    let lacks: Vec<Lack> = stock.state().lacks.iter().copied().collect();
    assert!(lacks.len() >= SHELVES.into());
    stock.state().busy.fill(true);
    let levels = levels(&world, 1);
    world.hub.say(1, 0, Message::Levels { levels, lacks }.to_bytes());
    until("it is heard", || stock.state().news.len() == usize::from(SHELVES));
    assert_eq!(left(&world, 0), before);
    stock.state().busy.fill(false);
    until("it is dropped", || left(&world, 0).0 == 0);
    assert_eq!(left(&world, 1), before);
}

#[test]
fn what_one_of_two_peers_has_lost_is_dropped_when_both_others_have_heard_it() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0);
    lose_at_two_and_tell_nobody_but_zero(&mut world);
    until("party 0 has heard it", || world.node(0).stock()[0].amount == 0);
    wait_free(&world);
    assert_eq!((left(&world, 0), left(&world, 1)), (before, before));
    wait_for_alarm(&world, "Party 2");

    world.hub.meddle(None);
    until("it is dropped", || {
        ask_for_a_while(&world);
        left(&world, 0).0 == 0 && left(&world, 1).0 == 0
    });
    until("the alarm is over", || {
        let alarms = world.node(0).alarms();
        !alarms.iter().any(|alarm| alarm.text.contains("lacks"))
    });
    make_again(&world);
    wait_full(&world);
    run(&world, 2, "from new stock");
    assert_eq!(from_stock(&world, 0), 1);
}

/// What must stay, although all others know that a party lacks it, is told, and nobody goes on about it.
#[test]
fn what_one_of_two_peers_loses_again_and_again_stays() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    lose_at(&mut world, 2);
    until("it is dropped", || {
        ask_for_a_while(&world);
        left(&world, 0).0 == 0 && left(&world, 1).0 == 0
    });
    make_again(&world);
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0);
    lose_at(&mut world, 2);
    let counts = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&counts);
    world.hub.meddle(Some(Arc::new(move |_, _, message| {
        if matches!(Message::parse(&message), Ok(Message::Levels { .. })) {
            told.fetch_add(1, Ordering::Relaxed);
        }
        vec![message]
    })));
    ask_and_wait(&world, &[]);
    until("nothing more is told", || {
        wait_free(&world);
        let before = counts.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(1));
        counts.load(Ordering::Relaxed) == before
    });
    assert_eq!((left(&world, 0), left(&world, 1)), (before, before));
    wait_for_alarm(&world, "Party 2");
}

#[test]
fn what_both_peers_have_lost_is_dropped() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    lose_at(&mut world, 1);
    lose_at(&mut world, 2);
    until("it is dropped", || {
        ask_for_a_while(&world);
        left(&world, 0).0 == 0
    });
}

/// A party that uses a shelf, or cannot read it, says nothing of it.
#[test]
fn what_a_peer_does_not_speak_of_stays() {
    let world = pair("lego");
    wait_full(&world);
    make_no_more(&world);
    let of = |party: u8| &world.node(party).core.base.stock;
    let items = |party: u8, shelf: usize| of(party).stores[shelf].inventory().expect("read").items;
    for (shelf, busy) in [(3, true), (4, false)] {
        for stored in items(1, shelf) {
            of(1).stores[shelf].remove(&stored.item.id).expect("removed");
        }
        of(1).count(shelf as u8);
        let mut state = of(1).state();
        state.busy[shelf] = busy;
        if !busy {
            state.held[shelf] = None;
        }
    }
    ask_and_wait(&world, &[(0, 1, 3), (0, 1, 4)]);
    until("the shelves are free", || {
        of(0).state().busy.iter().all(|busy| !busy)
    });
    assert!(!items(0, 3).is_empty() && !items(0, 4).is_empty());
    for shelf in [3, 4] {
        world.node(1).core.base.stock.put_back(shelf);
    }
    until("both are dropped", || {
        ask_for_a_while(&world);
        items(0, 3).is_empty() && items(0, 4).is_empty()
    });
    assert!(!items(0, 5).is_empty());
    assert_eq!(left(&world, 0), left(&world, 1));
}

#[test]
fn what_a_peer_lacks_is_left_out_of_the_choice() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    lose(&world);
    let store = &world.node(0).core.base.stock.stores[0];
    for stored in store.inventory().expect("read").items {
        let path = store.path().join(stored.item.id.to_string());
        std::fs::write(path.join("lacked-by-2"), "").expect("noted");
    }
    let before = left(&world, 0);
    run(&world, 1, "on a shelf of what a peer lacks");
    assert_eq!((from_stock(&world, 0), left(&world, 0)), (0, before));
}
