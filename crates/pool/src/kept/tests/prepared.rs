//! What is prepared with a pool's keys.

use super::*;

/// What is prepared is there for one session, and only if both parties have it.
#[test]
fn what_is_prepared_is_taken_once_and_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [[1; 32], [2; 32]];
    let take = |party: &Party, what: &[u8; 32]| {
        let mut space = [0; 2];
        let taken = party.kept.take(what, &mut [&mut space]);
        taken.map(|taken| taken.then_some(space))
    };
    let first = session(folder.path(), |party| {
        for number in 0..6 {
            party.kept.put(&one, &[&[party.me.0], &[number]])?;
        }
        party.kept.put(&other, &[&[party.me.0, 9]])?;
        let taken = take(party, &one)?;
        assert_eq!(taken, Some([party.me.0, 0]));
        party.leave()
    });
    let [first, _] = first.map(|done| done.unwrap().0);
    assert!(state(folder.path(), 0, first, "prepared-1").exists());
    assert!(!state(folder.path(), 0, first, "prepared-0").exists());
    let done = session(folder.path(), |party| {
        assert_eq!((party.kept.prepared(&one), party.kept.prepared(&other)), (5, 1));
        // One party is cut off before it has struck the same off, and one before it has put the same.
        match party.me {
            GARBLER => assert_eq!(take(party, &one)?, Some([0, 1])),
            _ => party.kept.put(&other, &[&[1, 7]])?,
        }
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(state(folder.path(), 1, first, "prepared-7").exists());
    let done = session(folder.path(), |party| {
        // The other party may not have come so far.
        assert!(party.me == GARBLER || !state(folder.path(), 1, first, "prepared-7").exists());
        assert_eq!(take(party, &other)?, Some([party.me.0, 9]));
        assert_eq!(take(party, &other)?, None);
        assert_eq!(take(party, &one)?, Some([party.me.0, 2]));
        party.kept.put(&other, &[&[party.me.0, 8]])?;
        assert_eq!(take(party, &other)?, Some([party.me.0, 8]));
        assert_eq!(take(party, &[3; 32])?, None);
        Ok(())
    });
    assert!(
        done.iter()
            .all(|done| done.as_ref().is_ok_and(|done| done.0 == first)),
        "{done:?}"
    );
    // One that cannot be read is struck off all the same.
    let damaged = state(folder.path(), 1, first, "prepared-3");
    std::fs::write(&damaged, [0; 40]).unwrap();
    let [_, done] = session(folder.path(), |party| take(party, &one));
    assert!(matches!(done, Err(Error::Storage(_))), "{done:?}");
    let done = session(folder.path(), |party| take(party, &one));
    assert!(
        done.map(Result::unwrap)
            .iter()
            .all(|(_, taken)| taken.unwrap()[1] == 4)
    );
    used_once(folder.path());
    // It is gone with the pool, and there is room for so many only.
    let done = session(folder.path(), |party| {
        for number in party.kept.prepared(&one)..MOST_PREPARED {
            party.kept.journal().prepared.push(Prepared {
                number: (1000 + number as u64).to_le_bytes(),
                what: one,
            });
        }
        assert!(matches!(party.kept.put(&one, &[]), Err(Error::Exhausted(_))));
        party.kept.retire();
        Ok(())
    });
    assert!(done.iter().all(Result::is_ok));
    assert!(!state(folder.path(), 0, first, "prepared-5").exists());
}

/// A peer that tells of more than there are numbers for.
#[test]
fn a_list_without_a_form_is_refused() {
    // The number of the next, which is too far ahead, and how many there are.
    for byte in [3, 9] {
        let folder = tempfile::tempdir().unwrap();
        whole(folder.path());
        let lying = Adversary::with(move |_, _, mut message: Message| {
            if message.body.len() == 16 {
                message.body[byte] = 8;
            }
            vec![message]
        });
        let [_, honest] = session_with(folder.path(), Some(&lying), Party::leave);
        assert_eq!(honest.unwrap_err().check(), Some(MESSAGE_FORM));
    }
}
