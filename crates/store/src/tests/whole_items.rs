//! Items as wholes: damaged, stray, marked, deleted, made with others.

use super::*;
use crate::files::remove_if_there;
use crate::names::IN_USE;

/// The names of the items that cannot be used, and why.
fn unusable(store: &Store) -> Vec<(ItemId, String)> {
    let unusable = store.inventory().unwrap().unusable;
    unusable
        .into_iter()
        .map(|unusable| (unusable.id, unusable.why))
        .collect()
}

/// An item that cannot be read is named with its file; the others can be used, and it can be removed.
#[test]
fn a_damaged_description_or_record_blocks_only_its_item() {
    for name in [ITEM, USED] {
        for damage in 0..5 {
            let path = tempfile::tempdir().unwrap();
            let store = stocked(path.path());
            let file = |id: u8| store.item_folder(&ItemId([id; 32])).join(name);
            let mut bytes = fs::read(file(1)).unwrap();
            match damage {
                0 => bytes[30] ^= 1,
                1 => bytes.truncate(39),
                2 => bytes = fs::read(file(2)).unwrap(),
                3 => bytes = vec![0; 5000],
                _ => fs::remove_file(file(1)).unwrap(),
            }
            if damage < 4 {
                fs::write(file(1), bytes).unwrap();
            }
            let found = unusable(&store);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].0, ItemId([1; 32]));
            assert!(found[0].1.contains(&file(1).display().to_string()), "{found:?}");
            assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4]);
            // Sessions go on with the others.
            let session = store.session(PartyId(0), "some", |_| true).unwrap();
            assert_eq!(session.shelves().len(), 1);
            drop(session);

            // Damage may be repaired, but parts without a description or record are remains.
            drop(store);
            let store = opened(path.path());
            assert_eq!(unusable(&store).len(), usize::from(damage < 4));
            if damage < 4 {
                store.remove(&ItemId([1; 32])).unwrap();
            }
            assert!(!store.item_folder(&ItemId([1; 32])).exists());
            assert!(unusable(&store).is_empty());
            assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4]);
        }
    }
}

/// What does not belong there keeps nobody from the stock, and is not touched.
#[test]
fn strays_block_nothing() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let named = path.path().join(ItemId([7; 32]).to_string());
    let inside = store.item_folder(&ItemId([1; 32]));
    fs::write(&named, b"a file").unwrap();
    fs::write(path.path().join("notes.txt"), b"mine").unwrap();
    fs::create_dir(path.path().join("old")).unwrap();
    fs::write(inside.join("notes.txt"), b"mine").unwrap();
    // A folder cannot be deleted as a file.
    fs::create_dir(inside.join(format!("{}{PROVISIONAL}", part(9).part_name()))).unwrap();
    drop(store);
    let store = opened(path.path());
    let found = unusable(&store);
    assert!(
        found.len() == 1 && found[0].1.contains(&named.display().to_string()),
        "{found:?}"
    );
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);

    // The item goes, with its keys, even where its folder stays.
    let mut session = holding(&store, 1, false);
    claimed(&mut session, [0, 1, 2, 3, 4]);
    drop(session);
    assert_eq!(serials(&store, 1), [0; 0]);
    let left: HashSet<_> = fs::read_dir(&inside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains("notes.txt") && !left.contains(ITEM));
    drop(store);
    let store = opened(path.path());
    assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4]);
    store.remove(&ItemId([7; 32])).unwrap();
    assert!(!named.exists() && unusable(&store).is_empty());
    for stray in [path.path().join("notes.txt"), path.path().join("old")] {
        assert!(stray.exists(), "{}", stray.display());
    }
}

/// A marked item that cannot be deleted is never used, and keeps no session from the others.
#[test]
fn a_marked_item_that_stays_blocks_nothing() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let inside = store.item_folder(&ItemId([1; 32]));
    fs::write(inside.join(IN_USE), b"").unwrap();
    // A folder cannot be deleted as a file.
    fs::remove_file(inside.join(ITEM)).unwrap();
    fs::create_dir(inside.join(ITEM)).unwrap();
    for _ in 0..2 {
        let session = store.session(PartyId(0), "some", |_| true).unwrap();
        let shelves: Vec<_> = session.shelves().iter().map(|shelf| shelf.item.id).collect();
        assert_eq!(shelves, [ItemId([2; 32])]);
    }
    assert!(inside.join(IN_USE).exists());
    assert_eq!(unusable(&store).len(), 1);
    fs::remove_dir(inside.join(ITEM)).unwrap();
    drop(store.session(PartyId(0), "some", |_| true).unwrap());
    assert!(!inside.exists());
}

/// An item that is given up is never there in part, after whichever of its files the machine stops.
#[test]
fn a_crash_while_an_item_is_deleted_leaves_nothing_of_it() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let id = ItemId([1; 32]);
    let mut session = holding(&store, 1, true);
    claimed(&mut session, [4]);
    store.note_lack(&id, &[], &[PartyId(0)]);
    let (first, rest) = store.removal(&id).unwrap();
    let order: Vec<_> = std::iter::once(first).chain(rest).collect();
    let files = fs::read_dir(store.item_folder(&id)).unwrap().count();
    assert_eq!(order.len(), files);
    for steps in 1..=order.len() {
        let moment = snapshot(path.path());
        for file in &order[..steps] {
            fs::remove_file(moment.path().join(file.strip_prefix(path.path()).unwrap())).unwrap();
        }
        let store = opened(moment.path());
        assert_eq!(serials(&store, 1), [0; 0], "{steps}");
        assert!(!store.item_folder(&id).exists(), "{steps}");
        assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4], "{steps}");
    }
    drop(session);
    // A failure to delete one of them is such a moment, while the process lives on.
    let (first, rest) = store.removal(&id).unwrap();
    let order: Vec<_> = std::iter::once(first).chain(rest).collect();
    for (failing, file) in order.iter().enumerate() {
        let moment = snapshot(path.path());
        let store = opened(moment.path());
        let file = moment.path().join(file.strip_prefix(path.path()).unwrap());
        // A folder cannot be deleted as a file.
        remove_if_there(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let outcome = store.discard(&id);
        match outcome {
            Err(Error::Storage(_)) => assert_eq!(failing, 0),
            Ok(()) => assert_ne!(failing, 0),
            Err(other) => panic!("{failing}: {other:?}"),
        }
        assert_eq!(serials(&store, 1), [0; 0], "{failing}");
    }
}

#[test]
fn items_are_removed_on_request_only_where_nobody_uses_them() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let (one, two, three) = (ItemId([1; 32]), ItemId([2; 32]), ItemId([3; 32]));
    let session = store.session(PartyId(0), "some", |_| true).unwrap();
    storage_error(store.remove(&one));
    drop(session);
    let making = store.begin(&item(3)).unwrap();
    let error = storage_error(store.remove(&three));
    assert!(error.contains("being made"), "{error}");
    drop(making);
    storage_error(store.remove(&ItemId([9; 32])));
    store.remove(&one).unwrap();
    assert_eq!(serials(&store, 1), [0; 0]);
    assert!(store.item_folder(&two).exists());
}

#[test]
fn who_lacks_an_item_is_noted_until_that_changes() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let id = ItemId([1; 32]);
    let lacked_by = || {
        let items = store.inventory().unwrap().items;
        let found = items.into_iter().find(|stored| stored.item.id == id);
        found.unwrap().lacked_by
    };
    assert_eq!(lacked_by(), []);
    store.note_lack(&id, &[], &[PartyId(0), PartyId(1)]);
    assert_eq!(lacked_by(), [PartyId(0), PartyId(1)]);
    store.note_lack(&id, &lacked_by(), &[PartyId(1)]);
    assert_eq!(lacked_by(), [PartyId(1)]);
    store.note_lack(&id, &lacked_by(), &[]);
    assert_eq!(lacked_by(), []);
}

/// A marked item outlives a session that ends, and no other end.
#[test]
fn a_marked_item_is_lost_with_its_session() {
    let id = ItemId([1; 32]);
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    // It ends.
    let session = holding(&store, 1, true);
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4], "while it is held");
    let moment = snapshot(path.path());
    drop(session);
    assert!(!store.item_folder(&id).join(IN_USE).exists());
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);
    // The process ends in it.
    let crashed = opened(moment.path());
    assert_eq!(serials(&crashed, 1), [0; 0]);
    assert!(!crashed.item_folder(&id).exists());
    // It panics: neither shown as usable nor offered again in this process.
    let handle = store.clone();
    let panicked = std::thread::spawn(move || {
        let _session = holding(&handle, 1, true);
        panic!("as it should");
    });
    let why = panicked.join().unwrap_err();
    assert_eq!(why.downcast_ref(), Some(&"as it should"));
    let found = unusable(&store);
    assert!(
        found[0].0 == id && found[0].1.contains("did not end"),
        "{found:?}"
    );
    let session = store.session(PartyId(0), "some", |_| true).unwrap();
    assert!(session.shelves().iter().all(|shelf| shelf.item.id != id));
    assert!(!store.item_folder(&id).exists());
    drop(session);
    // It is burnt.
    let mut session = holding(&store, 2, true);
    session.burn().unwrap();
    drop(session);
    assert!(store.inventory().unwrap().items.is_empty());
    assert!(!store.item_folder(&ItemId([2; 32])).exists());
}

/// What was made with one peer is not offered to another, and not noted as lacking there.
#[test]
fn items_are_offered_to_those_they_were_made_with() {
    let path = tempfile::tempdir().unwrap();
    let peers = |digit: &str| Peers::from_iter([(PartyId(1), digit.repeat(64).parse().unwrap())]);
    let store = opened(path.path());
    put(&store.with_peers(peers("a")), &item(1), 0..1);
    put(&store.with_peers(peers("b")), &item(2), 0..1);
    put(&store, &item(3), 0..1);
    let offered = |store: &Store| {
        let session = store.session(PartyId(0), "some", |_| true).unwrap();
        let mut ids: Vec<u8> = session.shelves().iter().map(|shelf| shelf.item.id.0[0]).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(offered(&store.with_peers(peers("a"))), [1, 3]);
    assert_eq!(offered(&store.with_peers(peers("b"))), [2, 3]);
    assert_eq!(offered(&store.with_peers(peers("c"))), [3]);
    assert_eq!(offered(&store), [1, 2, 3]);
    assert_eq!(store.inventory().unwrap().items.len(), 3);
    // Another party's, or another protocol's.
    let error = storage_error(store.session(PartyId(1), "some", |_| true).map(|_| ()));
    assert!(error.contains("stock of party 0, not of party 1"), "{error}");
    let session = store.session(PartyId(1), "other", |_| true).unwrap();
    assert!(session.shelves().is_empty());
}

/// Damaged parts are put aside before a session chooses, each read once as long as nobody touches it.
#[test]
fn damage_is_put_aside_before_a_session_chooses() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let (one, two) = (ItemId([1; 32]), ItemId([2; 32]));
    let file = |serial| store.item_folder(&one).join(part(serial).part_name());
    let damage = |serial, at: usize| {
        let mut bytes = fs::read(file(serial)).unwrap();
        bytes[at] ^= 1;
        bytes
    };
    store.put_damage_aside(&one).unwrap();
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);

    fs::write(file(1), damage(1, N)).unwrap();
    fs::write(file(2), &damage(2, 0)[..N]).unwrap();
    let session = store.session(PartyId(0), "some", |_| true).unwrap();
    storage_error(store.put_damage_aside(&one));
    drop(session);
    store.put_damage_aside(&one).unwrap();
    assert_eq!(serials(&store, 1), [0, 3, 4]);
    assert!(!file(1).exists() && !file(2).exists());

    // What nothing tells of is found when it is claimed, and nothing is trusted from then on.
    for serial in [0, 4] {
        damage_silently(&file(serial));
    }
    store.put_damage_aside(&one).unwrap();
    assert_eq!(serials(&store, 1), [0, 3, 4]);
    let mut session = holding(&store, 1, false);
    let first = |had: &Runs, left: &Runs| {
        Ok(if had.is_empty() {
            left.first(1)
        } else {
            Runs::default()
        })
    };
    let unreadable = |claim: &Claim| {
        let parts = claim.parts()?.into_iter().map(|(part, _)| part);
        Ok(parts.filter(|part| claim.check(*part).is_err()).collect())
    };
    let claim = session.claim(&mut [], DIFFERING, first, unreadable).unwrap();
    assert_eq!(claim.runs(), &parts([3]));
    drop((claim, session));
    assert_eq!(serials(&store, 1), [4]);
    store.put_damage_aside(&one).unwrap();
    assert!(!store.item_folder(&one).exists(), "nothing is left of it");
    storage_error(store.put_damage_aside(&one));
    // After a restart everything is read.
    let file = store.item_folder(&two).join(part(4).part_name());
    drop(store);
    let store = opened(path.path());
    fs::write(&file, b"short").unwrap();
    store.put_damage_aside(&two).unwrap();
    assert_eq!(serials(&store, 2), [0, 1, 2, 3]);
}
