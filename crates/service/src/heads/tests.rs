//! What is remembered of logs, and what it proves.

use super::*;
use crate::testing::{World, at, suite};

suite![
    what_peers_tell_is_remembered,
    a_log_that_goes_on_holds_what_was_told,
    what_was_never_told_proves_nothing,
    an_acknowledgement_ends_the_era_of_all_that_is_lost,
    what_has_changed_since_is_not_acknowledged,
];

fn heads(world: &World) -> Heads {
    Heads::open(world.database(), 0, Zeroizing::new([7; 32])).expect("opens")
}

fn grow(world: &World) {
    let version = "1".into();
    world
        .database()
        .audit(at(1), Event::Started { version })
        .expect("noted");
}

/// A head of a state that is not there any more.
fn lost(heads: &Heads, peer: u8, number: u64) -> Told {
    let mut told = Told {
        number,
        hash: Digest([9; 32]),
        ..heads.tell(peer)
    };
    told.place = heads.mask(&told) ^ (number * 200);
    told.mark = heads.mark(peer, &told);
    told
}

fn person() -> Actor {
    Actor::Person("tester".into())
}

fn what_peers_tell_is_remembered(mut world: World) {
    let told = |number| lost(&heads(&world), 3, number);
    let (one, two, three) = (told(1), told(2), told(3));
    heads(&world).remember(vec![(1, one), (2, two)]).expect("written");
    heads(&world).remember(vec![(1, three)]).expect("written");
    world.reopen();
    let remembered = heads(&world).remembered().expect("read");
    assert_eq!(remembered, BTreeMap::from([(1, three), (2, two)]));
}

fn a_log_that_goes_on_holds_what_was_told(mut world: World) {
    let first = heads(&world).tell(1);
    for _ in 0..3 {
        grow(&world);
    }
    let second = heads(&world).tell(1);
    assert!(second.number == 4 && second.is_possible());
    world.reopen();
    grow(&world);
    for told in [first, second] {
        assert_eq!(heads(&world).check(1, &told).expect("read"), Claim::There);
    }
    assert_eq!(
        heads(&world).check(1, &lost(&heads(&world), 1, 4)).expect("read"),
        Claim::Lost
    );
}

fn what_was_never_told_proves_nothing(world: World) {
    grow(&world);
    let heads = heads(&world);
    let told = heads.tell(1);
    let others = [
        Told { number: 9, ..told },
        Told { place: 9, ..told },
        Told {
            era: told.hash,
            ..told
        },
        Told {
            hash: told.era,
            ..told
        },
        Told {
            mark: told.era,
            ..told
        },
        // What another peer was told.
        heads.tell(2),
    ];
    for other in others {
        assert_eq!(heads.check(1, &other).expect("read"), Claim::NotOurs);
    }
    for number in [0, u64::MAX, 1 << 63] {
        assert!(!Told { number, ..told }.is_possible());
    }
}

fn an_acknowledgement_ends_the_era_of_all_that_is_lost(mut world: World) {
    let before = heads(&world);
    let all = [lost(&before, 1, 50), lost(&before, 1, 60), lost(&before, 2, 70)];
    let elsewhere = {
        let mut told = Told {
            era: Digest([1; 32]),
            ..all[0]
        };
        told.mark = before.mark(1, &told);
        told
    };
    for told in [all[0], elsewhere] {
        assert_eq!(before.check(1, &told).expect("read"), Claim::Lost);
        before.note_put_back(0, 1, told, at(2)).expect("noted");
    }
    before.note_put_back(0, 2, all[2], at(2)).expect("noted");
    let known = PutBack {
        party: 0,
        lines: 70,
        told_by: vec![1, 2],
    };
    drop(before);
    world.reopen();
    let after = heads(&world);
    assert_eq!(after.put_back().expect("read"), [known]);
    // A line in the log for each peer that told it.
    assert_eq!(world.log().matches("\"event\":\"put-back\"").count(), 2);
    assert!(after.acknowledge((0, 70), person(), at(3)).expect("written"));
    assert!(!after.acknowledge((0, 70), person(), at(3)).expect("nothing left"));
    for told in [all[0], all[1], elsewhere] {
        assert_eq!(after.check(1, &told).expect("read"), Claim::Acknowledged);
    }
    assert_eq!(after.check(2, &all[2]).expect("read"), Claim::Acknowledged);
    // What is told from then on counts, also if it is lost.
    drop(after);
    world.reopen();
    let later = heads(&world);
    assert_ne!(*later.era(), all[0].era);
    assert_eq!(later.check(1, &lost(&later, 1, 80)).expect("read"), Claim::Lost);
}

fn what_has_changed_since_is_not_acknowledged(world: World) {
    let heads = heads(&world);
    heads
        .note_put_back(1, 0, lost(&heads, 1, 5), at(1))
        .expect("noted");
    let error = heads.acknowledge((1, 4), person(), at(2)).expect_err("another");
    assert!(
        matches!(error, Error::OtherPutBack(_)) && error.to_string().contains("had 5 lines"),
        "{error}"
    );
    heads.remember(vec![(1, lost(&heads, 1, 5))]).expect("written");
    assert!(heads.acknowledge((1, 5), person(), at(2)).expect("written"));
    assert_eq!(heads.remembered().expect("read"), BTreeMap::new());
}
