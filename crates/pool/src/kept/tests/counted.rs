//! What ends a pool, and what is counted of the peer.

use super::*;

/// Parties that were cut off at different places, or in the middle of a check, make another pool; checks are counted.
#[test]
fn pools_of_which_one_party_knows_more_are_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = whole(folder.path());
    for (checking, ends) in [(false, 0), (true, 1), (true, 2), (false, 2)] {
        let cut = session(folder.path(), |party| {
            party.draw(10)?;
            match (party.me, checking) {
                (GARBLER, false) => party.kept.made(0, Block::ZERO, LOT, u64::MAX),
                (_, true) => party.kept.checking(),
                _ => Ok(()),
            }
        });
        assert!(cut.iter().all(Result::is_ok));
        let done = session(folder.path(), |party| {
            assert_eq!(party.kept.ends(), ends);
            assert_eq!(warning(ends).is_some(), ends > 0);
            party.leave()
        });
        let [a, b] = done.map(|done| done.unwrap().0);
        assert!(a == b && a != before);
        before = a;
    }
    used_once(folder.path());
}

/// A cheater that is caught while a pool is set up, or is gone in the middle of it, has had a try, although there is no pool yet whose journal
/// could tell of it. The evaluator counts, and the next pools have it.
#[test]
fn tries_while_a_pool_is_set_up_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let tries = 4;
    for number in 0..tries {
        let cut = Cut::never();
        let cheat = {
            let cut = cut.clone();
            Adversary::with(move |_, _, mut message: Message| {
                // The garbler's share of the coin.
                if message.body.len() != 48 {
                    return vec![message];
                }
                if number % 2 == 1 {
                    cut.now();
                    return vec![];
                }
                message.body[0] ^= 1;
                vec![message]
            })
        };
        // Whatever the settings.
        let [_, honest] = session_over(folder.path(), 7 + number % 3, &cut, Some(&cheat), Party::leave);
        let check = honest.unwrap_err().check();
        assert_eq!(check, (number % 2 == 0).then_some(COIN));
        let left = store(folder.path(), PartyId(1)).inventory().unwrap().items;
        assert_eq!(left.len(), 1, "one note tells of all tries");
    }
    for security in [7, 9] {
        let [_, honest] = session_of(folder.path(), security, None, |party| {
            party.leave()?;
            Ok(party.kept.ends())
        });
        assert_eq!(honest.unwrap().1, tries);
    }
    let left = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    assert!(left.len() == 2 && left.iter().all(|stored| Identity::of(&stored.item).is_some()));
    used_once(folder.path());
}

/// What was noted of a peer in sessions of one security is known in those of another, and in later pools.
#[test]
fn what_is_known_of_a_peer_holds_for_all_settings() {
    let folder = tempfile::tempdir().unwrap();
    let known = |security| {
        let done = session_of(folder.path(), security, None, |party| {
            party.leave()?;
            Ok((party.kept.ends(), party.kept.has_cheated()))
        });
        let [a, b] = done.map(|done| done.unwrap().1);
        assert_eq!(a.0, b.0);
        (a.0, b.1)
    };
    assert_eq!([known(7), known(8)], [(0, false); 2]);
    let cut = session_of(folder.path(), 7, None, |party| {
        if party.me != GARBLER {
            party.kept.note_end(true)?;
        }
        party.kept.checking()
    });
    assert!(cut.iter().all(Result::is_ok));
    // In a pool that was there before, and in a new one.
    assert_eq!([known(8), known(9)], [(1, true); 2]);
    let cut = session_of(folder.path(), 9, None, |party| {
        party.kept.retire();
        Ok(())
    });
    assert!(cut.iter().all(Result::is_ok));
    // Both, whichever pool has it.
    assert_eq!([7, 8, 9].map(known), [(2, true); 3]);
    used_once(folder.path());
}

/// What is used up adds up, and is noted before it is used. A pool that is spent at either party is given up at both, and that is no end of
/// the kind that is counted.
#[test]
fn a_spent_pool_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let spend = |amounts: [u64; 2], ends: bool| {
        let done = session(folder.path(), |party| {
            assert_eq!(party.kept.ends(), 0);
            let before = party.kept.before()[0];
            let amount = amounts[party.me.index()];
            (1..=amount).try_for_each(|amount| party.kept.spend(&[amount, 0, 0]))?;
            if ends {
                party.leave()?;
                party.kept.spent(&[amount, 0, 0])?;
            }
            Ok(before)
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a.0, b.0);
        (a.0, [a.1, b.1])
    };
    let (first, before) = spend([30, 30], true);
    assert_eq!(before, [0, 0]);
    assert_eq!(spend([10, 10], false), (first, [30, 30]));
    // What a session has noted that was cut off counts, up to twice what it used.
    let (same, [before, other]) = spend([30, 20], true);
    assert!(
        same == first && before == other && (40..=50).contains(&before),
        "{before}"
    );
    assert_eq!(spend([MOST_SPENT - before - 29, 0], true).0, first);
    let (second, before) = spend([0, 0], true);
    assert!(second != first && before == [0, 0]);
    let listed = [0, 1].map(|me| store(folder.path(), PartyId(me)).inventory().unwrap().items);
    assert!(listed.iter().all(|items| items.len() == 1));
    used_once(folder.path());
}

/// What was retired is gone, and its end is counted.
#[test]
fn what_is_retired_leaves_its_count() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let done = session(folder.path(), |party| {
        let storage = Error::Storage("full".into());
        party.kept.retire_after(&storage);
        assert!(state(folder.path(), party.me.0, first, "numbers").exists());
        let cheated = Error::cheated(COIN, PartyId(1 - party.me.0), STEP, "a lie");
        party.kept.retire_after(&cheated);
        assert!(!state(folder.path(), party.me.0, first, "numbers").exists());
        party.kept.retire();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    let done = session(folder.path(), |party| {
        party.leave()?;
        Ok(party.kept.ends())
    });
    let [a, b] = done.map(Result::unwrap);
    assert!(a == b && a.0 != first && a.1 == 1);
}

/// No session can use it, but what it tells of the peer is known on.
#[test]
fn a_pool_whose_settings_say_nothing_is_given_up_and_its_count_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let done = session(folder.path(), |party| {
        party.kept.checking()?;
        Err::<(), _>(Error::Storage("the party is gone".into()))
    });
    assert!(done.iter().all(Result::is_err));
    for me in [0, 1].map(PartyId) {
        let hold = store(folder.path(), me).hold().unwrap();
        let (item, living) = hold.living(me, Toy::PROTOCOL).unwrap().remove(0);
        assert_eq!(item.id, first);
        living.retire(|_| "of another version".into(), JOURNAL).unwrap();
    }
    let done = session(folder.path(), |party| Ok(party.kept.ends()));
    let [a, b] = done.map(Result::unwrap);
    assert!(a == b && a.0 != first && a.1 == 1);
    let listed = [0, 1].map(|me| store(folder.path(), PartyId(me)).inventory().unwrap().items);
    assert!(listed.iter().all(|items| items.len() == 1));
}

/// A check that failed ends the pool where nothing can be noted any more, too.
#[test]
fn a_pool_is_retired_though_its_journal_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let done = session(folder.path(), |party| {
        let place = |name| state(folder.path(), party.me.0, first, name);
        fs::remove_file(place(JOURNAL)).unwrap();
        fs::create_dir(place(JOURNAL)).unwrap();
        let cheated = Error::cheated(COIN, PartyId(1 - party.me.0), STEP, "a lie");
        party.kept.retire_after(&cheated);
        assert!(!place("numbers").exists());
        fs::remove_dir(place(JOURNAL)).unwrap();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(whole(folder.path()) != first);
}
