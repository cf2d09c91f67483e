//! Several parties: what they tell each other of their stock, what they claim, and what one of them lacks or cannot read.

use super::*;
use crate::offer::{MAX_ITEMS, Told};
use crate::steps::{STOCK_CLAIM, STOCK_DAMAGE, STOCK_ECHO, STOCK_ITEMS, STOCK_OFFER};

type Ends = Vec<Box<dyn Channel>>;

/// The channels of each of `count` parties to all others.
fn mesh(count: u8) -> Vec<Ends> {
    let options = ChannelOptions::with_timeout(Duration::from_secs(20));
    let mut ends: Vec<Ends> = (0..count).map(|_| Ends::new()).collect();
    for a in 0..count {
        for b in a + 1..count {
            let (for_a, for_b) = memory_pair(PartyId(a), PartyId(b), options.clone());
            ends[usize::from(a)].push(Box::new(for_a));
            ends[usize::from(b)].push(Box::new(for_b));
        }
    }
    ends
}

fn item_of(me: PartyId, id: u8) -> Item {
    Item {
        party: me,
        ..item(id)
    }
}

/// What a session tries: with this party's store, what all parties have already.
type Party<'a, T> = &'a (dyn Fn(PartyId, &Store, &mut [&mut dyn Channel]) -> T + Sync);

/// Runs `party` at `count` parties, each of which has parts 0 to 4 of item 1.
fn run<T: Send>(count: u8, party: Party<'_, T>) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(mesh(count))
            .map(|(me, mut ends)| {
                scope.spawn(move || {
                    let me = PartyId(me);
                    let path = tempfile::tempdir().unwrap();
                    let store = opened(path.path());
                    put(&store, &item_of(me, 1), 0..5);
                    let mut channels: Vec<&mut dyn Channel> = ends
                        .iter_mut()
                        .map(|end| &mut **end as &mut dyn Channel)
                        .collect();
                    party(me, &store, &mut channels)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn compared(me: PartyId, store: &Store, channels: &mut [&mut dyn Channel]) -> Result<Session> {
    let mut session = store.session(me, "some", |_| true)?;
    session.compare([me.0; 16], channels, DIFFERING)?;
    Ok(session)
}

fn names(session: &Session) -> Vec<u8> {
    session.shelves().iter().map(|shelf| shelf.item.id.0[0]).collect()
}

fn lacked_by(store: &Store, id: u8) -> Vec<PartyId> {
    let items = store.inventory().unwrap().items;
    let found = items
        .into_iter()
        .find(|stored| stored.item.id == ItemId([id; 32]));
    found.unwrap().lacked_by
}

/// Items that a peer lacks are passed over and noted, those that all have are claimed alike.
#[test]
fn what_all_have_is_claimed_at_all() {
    for count in [2, 3] {
        let bindings = run(count, &|me, store, channels| {
            // Item 2 at the first party, 3 at all but the last, 4 at all, the oldest.
            let last = PartyId(count - 1);
            if me == PartyId(0) {
                put(store, &item_of(me, 2), 0..5);
            }
            if me != last {
                put(store, &item_of(me, 3), 0..5);
            }
            put(store, &item_of(me, 4), 0..2);
            let mut session = compared(me, store, channels).unwrap();
            assert_eq!(names(&session), [4, 1]);
            if me == PartyId(0) {
                let others: Vec<_> = (1..count).map(PartyId).collect();
                assert_eq!(lacked_by(store, 2), others);
            }
            if me != last {
                assert_eq!(lacked_by(store, 3), [last]);
            }
            assert_eq!(lacked_by(store, 4), []);
            let orphans = 2 * usize::from(me == PartyId(0)) + usize::from(me != PartyId(0) && me != last);
            assert_eq!(session.orphans(), orphans);
            session.hold(1, true).unwrap();
            let claim = claim(&mut session, &parts([0, 2]), channels).unwrap();
            assert!(fetch(&claim, 2).unwrap() == contents(1, 2));
            let binding = *session.binding();
            drop(session);
            assert_eq!(serials(store, 1), [1, 3, 4]);
            binding
        });
        assert!(bindings.iter().all(|binding| *binding == bindings[0]));
    }
}

/// What one party has used is used by none, and what it says of other numbers wastes nothing.
#[test]
fn only_what_is_unused_at_all_is_left() {
    run(2, &|me, store, channels| {
        if me == PartyId(0) {
            let mut session = holding(store, 1, false);
            claimed(&mut session, [0, 3]);
        }
        let mut session = compared(me, store, channels).unwrap();
        assert_eq!(session.shelves()[0].left, parts([1, 2, 4]));
        session.hold(0, false).unwrap();
        let first = |_: &Runs, left: &Runs| Ok(left.first(1));
        let mut once = true;
        let claim = session
            .claim(
                channels,
                DIFFERING,
                |had, left| {
                    if had.is_empty() {
                        first(had, left)
                    } else {
                        Ok(Runs::default())
                    }
                },
                |_| {
                    assert!(std::mem::take(&mut once));
                    Ok(Runs::default())
                },
            )
            .unwrap();
        assert_eq!(claim.runs(), &parts([1]));
        drop(session);
        let left: &[u64] = if me == PartyId(0) { &[2, 4] } else { &[0, 2, 3, 4] };
        assert_eq!(serials(store, 1), left);
    });
}

/// A session that takes `count` parts, and the claim of them.
fn take(session: &mut Session, channels: &mut [&mut dyn Channel], count: u64) -> Result<Claim> {
    session.claim(
        channels,
        DIFFERING,
        |had, left| {
            let lacking = left.first(count - had.total());
            if had.total() + lacking.total() < count {
                return Err(Error::Exhausted("too little".into()));
            }
            Ok(lacking)
        },
        |claim| {
            let damaged = claim.parts().unwrap().into_iter();
            let damaged = damaged.filter(|(part, _)| claim.check(*part).is_err());
            Ok(damaged.map(|(part, _)| part).collect())
        },
    )
}

/// A part that one party cannot read is left out by all, and another takes its place; it is not tried again.
#[test]
fn what_one_cannot_read_is_skipped_by_all() {
    for count in [2, 3] {
        run(count, &|me, store, channels| {
            if me == PartyId(1) {
                let file = store.item_folder(&ItemId([1; 32])).join(part(1).part_name());
                let mut bytes = fs::read(&file).unwrap();
                bytes[N / 2] ^= 1;
                fs::write(&file, bytes).unwrap();
            }
            let mut session = compared(me, store, channels).unwrap();
            session.hold(0, true).unwrap();
            let claim = take(&mut session, channels, 3).unwrap();
            assert_eq!(claim.runs(), &parts([0, 2, 3]));
            for serial in [0, 2, 3] {
                assert!(fetch(&claim, serial).unwrap() == contents(1, serial));
            }
            storage_error(fetch(&claim, 1));
            drop(session);
            assert_eq!(serials(store, 1), [4]);
        });
    }
}

/// A party that finds damage trusts nothing from then on, also if a peer ends the session before they have agreed on it.
#[test]
fn damage_is_known_although_a_peer_leaves() {
    run(2, &|me, store, channels| {
        let one = ItemId([1; 32]);
        if me == PartyId(1) {
            for serial in [1, 3] {
                damage_silently(&store.item_folder(&one).join(part(serial).part_name()));
            }
            store.put_damage_aside(&one).unwrap();
            assert_eq!(serials(store, 1), [0, 1, 2, 3, 4]);
        }
        let mut session = compared(me, store, channels).unwrap();
        session.hold(0, false).unwrap();
        if me == PartyId(0) {
            return;
        }
        let error = take(&mut session, channels, 2).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Net(_)), "{error}");
        drop(session);
        assert_eq!(serials(store, 1), [2, 3, 4]);
        store.put_damage_aside(&one).unwrap();
        assert_eq!(serials(store, 1), [2, 4]);
    });
}

/// A peer that says of everything that it cannot read it ends the session soon, at all parties alike.
#[test]
fn a_peer_cannot_refuse_for_ever() {
    run(2, &|me, store, channels| {
        put(store, &item_of(me, 2), 0..9);
        let mut session = compared(me, store, channels).unwrap();
        assert_eq!(names(&session)[0], 2);
        session.hold(0, false).unwrap();
        let first = |had: &Runs, left: &Runs| Ok(left.first(1 - had.total()));
        let error = session
            .claim(channels, DIFFERING, first, |claim| {
                Ok(match me {
                    PartyId(1) => claim.runs().clone(),
                    _ => Runs::default(),
                })
            })
            .map(|_| ())
            .unwrap_err();
        assert!(matches!(error, Error::Exhausted(_)), "{error}");
        drop(session);
        assert_eq!(serials(store, 2).len(), 6);
    });
}

/// Parties that claim different things find out before either reads.
#[test]
fn different_claims_are_refused() {
    let results = run(2, &|me, store, channels| {
        let mut session = compared(me, store, channels)?;
        session.hold(0, false)?;
        claim(&mut session, &parts([u64::from(me.0)]), channels).map(|_| ())
    });
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(error.check(), Some(cenote_session::MESSAGE_FORM), "{error}");
    }
}

/// A party whose folder was put back to what it was before a session: the other knows better.
#[test]
fn one_folder_that_is_put_back_brings_nothing_back() {
    run(2, &|me, store, channels| {
        let id = ItemId([1; 32]);
        let backup = snapshot(store.path());
        for round in 0..2 {
            let mut session = compared(me, store, channels).unwrap();
            session.hold(0, true).unwrap();
            let claim = take(&mut session, channels, 2).unwrap();
            assert_eq!(claim.runs(), &parts([2 * round, 2 * round + 1]));
            drop(session);
            if me == PartyId(1) && round == 0 {
                fs::remove_dir_all(store.item_folder(&id)).unwrap();
                copy_folder(&backup.path().join(id.to_string()), &store.item_folder(&id));
                assert_eq!(serials(store, 1), [0, 1, 2, 3, 4]);
            }
        }
    });
}

/// A cheating party 0 of three, which speaks by itself: what the others' sessions end with.
fn cheated(count: u8, cheat: impl Fn(&mut [&mut dyn Channel]) -> Result<()> + Sync) -> Vec<Error> {
    let results = run(count, &|me, store, channels| {
        if me == PartyId(0) {
            // What it ends with is its own affair.
            let _ = cheat(channels);
            return None;
        }
        let mut session = match compared(me, store, channels) {
            Ok(session) => session,
            Err(error) => return Some(error),
        };
        session.hold(0, false).unwrap();
        take(&mut session, channels, 1).err()
    });
    let honest = results.into_iter().skip(1);
    honest
        .map(|error| error.expect("it does not go unnoticed"))
        .collect()
}

fn tell(channels: &mut [&mut dyn Channel], step: cenote_net::Step, bodies: &[Vec<u8>]) -> Result<()> {
    for (channel, body) in channels.iter_mut().zip(bodies) {
        channel.send(step, &(body.len() as u32).to_le_bytes())?;
        channel.send(step, body)?;
        channel.flush()?;
    }
    for channel in channels.iter_mut() {
        let mut length = [0; 4];
        channel.recv(step, &mut length)?;
        channel.recv(step, &mut vec![0; u32::from_le_bytes(length) as usize])?;
    }
    Ok(())
}

fn own_names() -> Vec<u8> {
    [[0; 16].to_vec(), vec![1; 32]].concat()
}

fn own_offer(left: &Runs) -> Vec<u8> {
    crate::offer::Offer::new([(ItemId([1; 32]), 999, left)].into_iter()).encode()
}

/// A party that tells its peers different things is found out before anything is claimed.
#[test]
fn different_offers_are_noticed() {
    for (names, offers) in [([0, 1], [0, 0]), ([0, 0], [0, 1])] {
        let errors = cheated(3, |channels| {
            let lists = [own_names(), [[5; 16].to_vec(), vec![1; 32]].concat()];
            tell(
                channels,
                STOCK_ITEMS,
                &names.map(|which: usize| lists[which].clone()),
            )?;
            let lists = [own_offer(&parts([0, 1])), own_offer(&parts([0, 2]))];
            tell(
                channels,
                STOCK_OFFER,
                &offers.map(|which: usize| lists[which].clone()),
            )?;
            for channel in channels.iter_mut() {
                let mut word = [0; 96];
                channel.recv(STOCK_ECHO, &mut word)?;
                channel.send(STOCK_ECHO, &word)?;
                channel.flush()?;
            }
            Ok(())
        });
        for error in errors {
            assert_eq!(error.check(), Some(DIFFERING), "{error}");
        }
    }
}

/// Lists that are too long or malformed, and words that are none.
#[test]
fn malformed_messages_are_refused() {
    type Cheat = Box<dyn Fn(&mut [&mut dyn Channel]) -> Result<()> + Sync>;
    let mut cases: Vec<Cheat> = Vec::new();
    for bad in [vec![0; 15], vec![0; 16 + 31], vec![1; 16 + 64], vec![0; 1 << 20]] {
        cases.push(Box::new(move |channels| {
            tell(channels, STOCK_ITEMS, std::slice::from_ref(&bad))
        }));
    }
    for bad in [
        vec![0xff; 61],
        vec![0; 44],
        vec![0; 1 + MAX_ITEMS * 44 + 17 * 65536],
    ] {
        cases.push(Box::new(move |channels| {
            tell(channels, STOCK_ITEMS, &[own_names()])?;
            tell(channels, STOCK_OFFER, std::slice::from_ref(&bad))
        }));
    }
    for (damage, list) in [
        (2, None),
        (1, Some(vec![0; 17])),
        (1, Some(vec![0; 17 * 65536 + 17])),
    ] {
        cases.push(Box::new(move |channels| {
            tell(channels, STOCK_ITEMS, &[own_names()])?;
            tell(channels, STOCK_OFFER, &[own_offer(&parts([0]))])?;
            let mut word = [0; 33];
            channels[0].recv(STOCK_CLAIM, &mut word)?;
            word[32] = damage;
            channels[0].send(STOCK_CLAIM, &word)?;
            channels[0].flush()?;
            list.as_ref().map_or(Ok(()), |list| {
                tell(channels, STOCK_DAMAGE, std::slice::from_ref(list))
            })
        }));
    }
    for (index, case) in cases.iter().enumerate() {
        for error in cheated(2, case) {
            assert_eq!(
                error.check(),
                Some(cenote_session::MESSAGE_FORM),
                "{index}: {error}"
            );
        }
    }
}

/// Numbers up to the largest that there are waste nothing.
#[test]
fn the_largest_numbers_burn_nothing() {
    let results = run(2, &|me, store, channels| {
        if me == PartyId(0) {
            tell(channels, STOCK_ITEMS, &[own_names()]).unwrap();
            let all = [
                Run::new(0, 0..u64::MAX),
                Run::new(1, 4..u64::MAX),
                Run::new(9, 0..u64::MAX),
            ];
            tell(channels, STOCK_OFFER, &[own_offer(&all.into_iter().collect())]).unwrap();
            let mut word = [0; 33];
            channels[0].recv(STOCK_CLAIM, &mut word).unwrap();
            channels[0].send(STOCK_CLAIM, &word).unwrap();
            channels[0].flush().unwrap();
            return Vec::new();
        }
        let mut session = compared(me, store, channels).unwrap();
        session.hold(0, true).unwrap();
        assert_eq!(take(&mut session, channels, 1).unwrap().runs(), &parts([4]));
        drop(session);
        serials(store, 1)
    });
    assert_eq!(results[1], [0, 1, 2, 3]);
}
