//! What a party notes and tells of a pool.

use super::*;

#[test]
fn journals_read_back() {
    let track = Track {
        first: 7,
        copied: Some(8),
        coins: vec![(Block([1, 2]), 3), (Block([4, 5]), 6)],
    };
    let journal = Journal {
        session: 9,
        ends: 2,
        cheated: true,
        checking: true,
        retired: false,
        tracks: [track, Track::default()],
        numbered: 5,
        spent: [6, 7, u64::MAX],
        prepared: vec![
            Prepared {
                number: [3; 8],
                what: [4; 32],
            };
            2
        ],
    };
    let bytes = journal.encode();
    assert_eq!(Journal::decode(&bytes), Some(journal));
    let whole = |cut: usize| bytes.len() - cut == 40 || bytes.len() - cut == 80;
    for cut in (0..bytes.len()).filter(|cut| !whole(*cut)) {
        assert_eq!(Journal::decode(&bytes[..cut]), None);
    }
    assert_eq!(Journal::decode(&[&bytes[..], &[0]].concat()), None);
}

/// What is common to two copies, and when nothing is.
#[test]
fn the_older_copy_counts_if_the_newer_journal_reaches_back() {
    let told = |first: u64, copied: u64, next: u64| Told {
        id: [1; 32],
        session: 0,
        ended: 0,
        deliveries: [[first, copied, next], [0, NONE, 0]],
    };
    let newer = told(4, 8, 12);
    assert_eq!(newer.common(&told(0, 5, 12)), Some([Some(5), None]));
    assert_eq!(told(0, 5, 12).common(&newer), Some([Some(5), None]));
    assert_eq!(
        newer.common(&told(0, 3, 12)),
        None,
        "it has no coin of delivery 3"
    );
    assert_eq!(newer.common(&told(0, 5, 13)), None);
    assert_eq!(newer.common(&told(0, NONE, 12)), None);
    assert_eq!(newer.common(&told(0, 5, 4)), None);
    for ended in [CUT_OFF, SPENT] {
        let ended = Told { ended, ..newer };
        assert_eq!(ended.common(&newer).or(newer.common(&ended)), None);
    }
    let filling = told(0, NONE, 2);
    assert_eq!(filling.common(&filling), Some([None, None]));
}

/// What people are told of a pool.
#[test]
fn settings_tell_people_what_a_pool_is() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path());
    let listed = store(folder.path(), PartyId(1)).inventory().unwrap().items;
    let identity = Identity::of(&listed[0].item).unwrap();
    assert_eq!((identity.security, identity.numbers), (7, vec![SIZE as u32]));
    assert_eq!(listed[0].item.role, "evaluator");
}
