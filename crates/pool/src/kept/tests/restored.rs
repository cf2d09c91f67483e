//! What is put back: the same pool at both parties, or another.

use cenote_testkit::kept::copy_folder;

use super::*;

#[test]
fn sessions_put_back_what_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let mut before = 0;
    for number in 1..6 {
        let [a, b] = session(folder.path(), |party| {
            assert!(party.pool.is_full());
            let next = party.kept.next(0);
            party.leave()?;
            Ok((party.which.number, party.which.nonce, next))
        });
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a, b);
        assert_eq!((a.0, a.1.0), (first, number));
        assert!(a.1.2 > before, "deliveries are numbered through the pool's life");
        before = a.1.2;
    }
    used_once(folder.path());
}

/// One party has made a copy where the other has not: they put back the same pool all the same, and leave out what may have been drawn
/// since the older one.
#[test]
fn copies_of_different_age_are_of_the_same_pool() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    for round in 0..6 {
        let done = session(folder.path(), |party| {
            let gaps = SIZE - party.pool.len();
            party.draw(10)?;
            if party.me.0 == round % 2 {
                party.copy()?;
            }
            party.draw(10)?;
            Ok(gaps)
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a, b);
        assert_eq!(a.0, first);
        assert!(round == 0 || a.1 > 10, "{}", a.1);
        used_once(folder.path());
    }
    assert_eq!(whole(folder.path()), first);
    used_once(folder.path());
}

/// When nearly all of a pool was touched, the copy is worth nothing: the keys are put back, and an empty pool.
#[test]
fn a_copy_that_is_too_old_is_given_up_but_not_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    // A coin is good for 20 draws, each of which touches two places at most: of 100, 40 draws leave some.
    for draws in [40, 60] {
        let cut = session(folder.path(), |party| {
            party.most = 3 * LOT as u64;
            (0..draws).try_for_each(|_| party.draw(1))
        });
        assert!(cut.iter().all(Result::is_ok));
        let done = session(folder.path(), |party| {
            let len = party.pool.len();
            Ok((len, party.leave()?, party.pool.is_full()))
        });
        let [a, b] = done.map(Result::unwrap);
        assert_eq!(a, b);
        assert_eq!((a.0, a.1.2), (first, true));
        assert_eq!(a.1.0 == 0, draws == 60, "{}", a.1.0);
        used_once(folder.path());
    }
}

fn refused(done: [Result<(ItemId, ())>; 2], who: &[u8], words: &[&str]) {
    for (party, done) in (0..).zip(done) {
        match done {
            Err(Error::Storage(told)) if who.contains(&party) => {
                assert!(words.iter().all(|word| told.contains(word)), "{told}");
            }
            other => assert!(!who.contains(&party), "{other:?}"),
        }
    }
}

/// Copies that were put back to an earlier state, changed, or are another pool's are noticed, and both parties make another pool then.
#[test]
fn copies_that_are_not_what_was_kept_are_refused() {
    let again = "run again, to make another";
    for case in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let first = whole(folder.path());
        let copy = state(folder.path(), 1, first, "numbers");
        let old = std::fs::read(&copy).unwrap();
        whole(folder.path());
        let (who, words): (&[u8], &[&str]) = match case {
            0 => {
                std::fs::write(&copy, old).unwrap();
                (&[0, 1], &["not the same at both parties", again])
            }
            1 => {
                let mut bytes = std::fs::read(&copy).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&copy, bytes).unwrap();
                (&[1], &["state-numbers", again])
            }
            _ => {
                let other = tempfile::tempdir().unwrap();
                let foreign = state(other.path(), 1, whole(other.path()), "numbers");
                std::fs::copy(foreign, &copy).unwrap();
                (&[1], &["state-numbers", again])
            }
        };
        refused(session(folder.path(), Party::leave), who, words);
        let second = whole(folder.path());
        assert!(second != first && second == whole(folder.path()));
        used_once(folder.path());
    }
}

/// The folder of one party, put back whole to an earlier state, is of no use any more: its journal ends earlier than the peer's.
#[test]
fn a_folder_that_was_put_back_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let first = whole(folder.path());
    let (of_party, saved) = (folder.path().join("0"), folder.path().join("saved"));
    copy_folder(&of_party, &saved);
    assert_eq!(whole(folder.path()), first);
    std::fs::remove_dir_all(&of_party).unwrap();
    copy_folder(&saved, &of_party);
    let second = whole(folder.path());
    assert!(second != first);
    used_once(folder.path());
}

/// A copy from which something may be drawn by a coin that was given up with the last copy is of no use, and not made.
#[test]
fn a_copy_whose_coins_are_gone_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let done = session(folder.path(), |party| {
        for number in 0..4 {
            party.kept.made(0, Block([number, 1]), LOT, 3 * LOT as u64)?;
        }
        // The third was the last that was noted for the copy.
        for (open, copied) in [(1, None), (2, None), (3, Some(3)), (2, Some(3)), (4, Some(4))] {
            party.kept.copy(0, &[&[0; 16 * SIZE]], open)?;
            assert_eq!(party.kept.copied(0), copied, "{open}");
        }
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
}

/// What was delivered since the copy counts, and not how much the last delivery has.
#[test]
fn a_copy_is_not_given_up_for_one_large_delivery() {
    let folder = tempfile::tempdir().unwrap();
    let done = session(folder.path(), |party| {
        let made = |number: u64, kept| party.kept.made(0, Block([number, 1]), kept, 1000);
        (0..4).try_for_each(|number| made(number, 10))?;
        made(4, 400)?;
        party.kept.copy(0, &[&[0; 16 * SIZE]], 1)?;
        assert_eq!(party.kept.copied(0), Some(1), "no coin is gone");
        made(5, 560)?;
        assert_eq!(party.kept.copied(0), Some(1));
        made(6, 10)?;
        assert_eq!(party.kept.copied(0), None);
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
}

/// A copy is long in writing, and more is delivered meanwhile: so much that the copy is given up before it is noted. It is none then, and the pool
/// goes on.
#[test]
fn a_copy_that_is_given_up_while_it_is_written_is_not_noted() {
    let folder = tempfile::tempdir().unwrap();
    let done = session(folder.path(), |party| {
        for number in 0..4 {
            party.kept.made(0, Block([number, 1]), LOT, 3 * LOT as u64)?;
        }
        party.kept.copy(0, &[&[0; 16 * SIZE]], 3)?;
        // The copy of delivery 4 is written, and these come before it is noted.
        for number in 4..8 {
            party.kept.made(0, Block([number, 1]), LOT, 3 * LOT as u64)?;
        }
        party.kept.note_copy(0, 4)?;
        assert_eq!((party.kept.copied(0), party.kept.next(0)), (None, 8));
        Ok(())
    });
    let [a, b] = done.map(|done| done.unwrap().0);
    assert_eq!((a, b), (whole(folder.path()), a));
}
