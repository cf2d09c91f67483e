//! The folder by itself: what crashes leave, what damage does, and who may open it.

mod claims;
mod processes;
mod whole_items;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_session::{Check, Error, Result};
use cenote_testkit::kept::copy_folder;
use zeroize::Zeroizing;

use super::*;
use crate::durable::DRAFT;
use crate::names::{ITEM, PROVISIONAL, USED};
use crate::seal::{CHUNK, HEADER, TAG};

/// Bytes of a part: more than two chunks of a file.
const N: usize = 530_000;

const DIFFERING: Check = Check {
    code: 9,
    name: "comparison",
};

/// Opens a folder. A process that another test starts has its lock until it begins, however long that takes.
fn opened(path: &Path) -> Store {
    Store::open_within(path, &key(), Duration::from_secs(600)).unwrap()
}

fn key() -> StoreKey {
    StoreKey::from_bytes([7; 32])
}

fn part(serial: u64) -> Run {
    Run::new(1, serial..serial + 1)
}

fn parts<const K: usize>(serials: [u64; K]) -> Runs {
    serials.map(part).into_iter().collect()
}

fn item(id: u8) -> Item {
    Item {
        id: ItemId([id; 32]),
        protocol: "some".into(),
        party: PartyId(0),
        role: String::new(),
        settings: "these".into(),
        made: 1000 - u64::from(id),
        peers: Peers::default(),
        keys: Keys(Zeroizing::new(vec![id; 32])),
    }
}

/// What a part holds, different in each.
fn contents(id: u8, serial: u64) -> Vec<u8> {
    (0..N as u64 / 8)
        .flat_map(|index| (index << 32 | u64::from(id) << 16 | serial).to_le_bytes())
        .collect()
}

fn put(store: &Store, item: &Item, serials: std::ops::Range<u64>) {
    let making = store.begin(item).unwrap();
    for serial in serials {
        let bytes = contents(item.id.0[0], serial);
        let (first, second) = bytes.split_at(N / 3);
        making.put(part(serial), &[first, second]).unwrap();
    }
    making.confirm().unwrap();
}

/// A folder with parts 0 to 4 of items 1 and 2.
fn stocked(path: &Path) -> Store {
    let store = opened(path);
    for id in [1, 2] {
        put(&store, &item(id), 0..5);
    }
    store
}

fn serials(store: &Store, id: u8) -> Vec<u64> {
    let items = store.inventory().unwrap().items;
    let found = items.iter().find(|stored| stored.item.id == ItemId([id; 32]));
    found.map_or(Vec::new(), |stored| {
        stored.left.numbers().map(|(_, serial)| serial).collect()
    })
}

/// A session of one party that has chosen an item.
fn holding(store: &Store, id: u8, marked: bool) -> Session {
    let mut session = store.session(PartyId(0), "some", |_| true).unwrap();
    let index = session.shelves().iter();
    let index = index
        .map(|shelf| shelf.item.id)
        .position(|found| found == ItemId([id; 32]));
    session.hold(index.unwrap(), marked).unwrap();
    session
}

/// Claims `runs`, at all parties the same, of which none may be damaged.
fn claim(session: &mut Session, runs: &Runs, channels: &mut [&mut dyn Channel]) -> Result<Claim> {
    session.claim(
        channels,
        DIFFERING,
        |had, left| {
            assert!(runs.iter().all(|run| had.contains(run) || left.contains(run)));
            Ok(runs.without(had))
        },
        |claim| {
            assert!(
                claim
                    .parts()
                    .unwrap()
                    .iter()
                    .all(|(part, _)| claim.check(*part).is_ok())
            );
            Ok(Runs::default())
        },
    )
}

fn claimed<const K: usize>(session: &mut Session, serials: [u64; K]) -> Claim {
    claim(session, &parts(serials), &mut []).unwrap()
}

fn fetch(claim: &Claim, serial: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; N];
    let (first, second) = bytes.split_at_mut(N / 4);
    claim.read_into(part(serial), &mut [first, second])?;
    claim.done(part(serial));
    Ok(bytes)
}

/// Copies a folder as it is, as if the machine had stopped now.
fn snapshot(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    copy_folder(from, to.path());
    to
}

/// Changes a file of stock, and nothing tells of it.
fn damage_silently(file: &Path) {
    let modified = fs::metadata(file).unwrap().modified().unwrap();
    let mut bytes = fs::read(file).unwrap();
    bytes[N / 2] ^= 1;
    let changed = fs::OpenOptions::new().write(true).open(file).unwrap();
    std::io::Write::write_all(&mut &changed, &bytes).unwrap();
    changed.set_modified(modified).unwrap();
}

fn storage_error<T>(result: Result<T>) -> String {
    match result {
        Err(Error::Storage(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn what_is_stored_is_found_and_read_once() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let items = store.inventory().unwrap().items;
    // The oldest first.
    assert_eq!(items[0].item, item(2));
    assert_eq!(items[1].item, item(1));

    let mut session = holding(&store, 1, false);
    let claim = claimed(&mut session, [3, 1]);
    assert_eq!(serials(&store, 1), [0, 2, 4]);
    assert!(fetch(&claim, 3).unwrap() == contents(1, 3));
    // Neither a claimed nor a read part can be claimed or read again, nor an unclaimed one read.
    assert!(!session.held().unwrap().left.contains(part(3)));
    storage_error(fetch(&claim, 3));
    assert!(storage_error(fetch(&claim, 2)).contains("not claimed"));
    drop(session);
    storage_error(fetch(&claim, 1));
    drop(claim);
    drop(store);
    let store = opened(path.path());
    assert_eq!(serials(&store, 1), [0, 2, 4]);
    assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4]);
    // A name that is taken is not written over.
    storage_error(store.begin(&item(1)).map(|_| ()));
    let making = store.begin(&item(3)).unwrap();
    making.put(part(0), &[b"something"]).unwrap();
    storage_error(making.put(part(0), &[b"another"]));
    making.confirm().unwrap();
    storage_error(making.put(part(0), &[b"another"]));
}

/// A machine that stops after any step may lose parts, but what may have been read is never in stock again.
#[test]
fn a_crash_wastes_and_never_brings_back() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let mut session = holding(&store, 1, false);
    let mut moments = vec![snapshot(path.path())];
    let mut claims = Vec::new();
    for serial in [0, 1] {
        claims.push(claimed(&mut session, [serial]));
        moments.push(snapshot(path.path()));
    }
    for (serial, claim) in (0..).zip(&claims) {
        assert!(fetch(claim, serial).unwrap() == contents(1, serial));
        moments.push(snapshot(path.path()));
    }
    for (index, moment) in moments.iter().enumerate() {
        let store = opened(moment.path());
        let claimed = index.min(2) as u64;
        assert_eq!(serials(&store, 1), Vec::from_iter(claimed..5), "{index}");
        // The claimed ones are off the disk, too.
        let files = fs::read_dir(store.item_folder(&ItemId([1; 32]))).unwrap().count();
        assert_eq!(files, 2 + 5 - claimed as usize, "{index}");
    }
}

/// Only what was confirmed is ever offered, whenever the machine stops.
#[test]
fn what_is_not_confirmed_is_never_there() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let making = store.begin(&item(3)).unwrap();
    for serial in 0..2 {
        making.put(part(serial), &[&contents(3, serial)]).unwrap();
    }
    let before = snapshot(path.path());
    making.confirm().unwrap();
    making.put(part(2), &[b"not yet"]).unwrap();
    let between = snapshot(path.path());
    assert_eq!(serials(&store, 3), [0; 0], "while it is being made");
    drop(making);
    assert_eq!(serials(&store, 3), [0, 1]);
    for (moment, expected) in [(before, &[][..]), (between, &[0, 1])] {
        let store = opened(moment.path());
        assert_eq!(serials(&store, 3), expected);
        let folder = store.item_folder(&ItemId([3; 32]));
        assert_eq!(folder.exists(), !expected.is_empty());
        assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);
    }
    // Given up, nothing of it is left.
    let making = store.begin(&item(4)).unwrap();
    making.put(part(0), &[b"some"]).unwrap();
    making.confirm().unwrap();
    making.discard().unwrap();
    assert!(!store.item_folder(&ItemId([4; 32])).exists());
}

#[test]
fn an_unfinished_part_is_no_part() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let inside = store.item_folder(&ItemId([1; 32]));
    let unfinished = [DRAFT, PROVISIONAL].map(|end| inside.join(format!("{}{end}", part(7).part_name())));
    for file in &unfinished {
        fs::copy(inside.join(part(0).part_name()), file).unwrap();
    }
    drop(store);
    // A crash while an item begins.
    let begun = path.path().join(ItemId([3; 32]).to_string());
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join(format!("{ITEM}{DRAFT}")), b"half").unwrap();
    let store = opened(path.path());
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);
    assert!(unfinished.iter().all(|file| !file.exists()));
    assert!(!begun.exists());
}

#[test]
fn a_spent_item_goes_with_its_keys() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let mut session = holding(&store, 2, true);
    let claim = claimed(&mut session, [0, 1, 2, 3, 4]);
    assert!(fetch(&claim, 2).unwrap() == contents(2, 2));
    drop(session);
    assert!(!store.item_folder(&ItemId([2; 32])).exists());
    assert_eq!(serials(&store, 1), [0, 1, 2, 3, 4]);
}

/// Every kind of damage is found, named with the file, and nothing of it used.
#[test]
fn damaged_and_foreign_files_are_refused() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let mut session = holding(&store, 1, false);
    let claim = claimed(&mut session, [0, 1, 2, 3, 4]);
    let at = |store: &Store, id: u8, serial| {
        store
            .item_folder(&ItemId([id; 32]))
            .join(part(serial).part_name())
    };
    let target = at(&store, 1, 3);
    let sound = fs::read(&target).unwrap();
    let chunk = CHUNK + TAG;
    let other_key = tempfile::tempdir().unwrap();
    let other_key = {
        let store = Store::open(other_key.path(), &StoreKey::from_bytes([8; 32])).unwrap();
        put(&store, &item(1), 3..4);
        fs::read(at(&store, 1, 3)).unwrap()
    };
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        (
            "part 4 under the name of 3".into(),
            fs::read(at(&store, 1, 4)).unwrap(),
        ),
        ("another item's".into(), fs::read(at(&store, 2, 3)).unwrap()),
        ("under another key".into(), other_key),
        ("empty".into(), Vec::new()),
        ("one byte more".into(), [&sound[..], &[0]].concat()),
        (
            "the item's file".into(),
            fs::read(store.item_folder(&ItemId([1; 32])).join(ITEM)).unwrap(),
        ),
        (
            "without its last chunk".into(),
            sound[..HEADER + 2 * chunk].to_vec(),
        ),
    ];
    let mut swapped = sound.clone();
    swapped[HEADER..HEADER + 2 * chunk].rotate_left(chunk);
    cases.push(("chunks changed places".into(), swapped));
    for cut in [1, 16, 17, sound.len() - HEADER, sound.len() - 1] {
        cases.push((format!("{cut} bytes fewer"), sound[..sound.len() - cut].to_vec()));
    }
    for flipped in [
        0,
        8,
        HEADER - 1,
        HEADER,
        HEADER + chunk - 1,
        HEADER + chunk,
        sound.len() - 1,
    ] {
        let mut bytes = sound.clone();
        bytes[flipped] ^= 0x10;
        cases.push((format!("byte {flipped} changed"), bytes));
    }
    for (what, bytes) in cases {
        fs::write(&target, bytes).unwrap();
        let mut found = vec![0; N];
        for error in [
            storage_error(claim.read_into(part(3), &mut [&mut found])),
            storage_error(claim.read(part(3), N)),
            storage_error(claim.check(part(3))),
        ] {
            assert!(error.contains(&target.display().to_string()), "{what}: {error}");
        }
    }
    // What does not fit the parameters of the session.
    fs::write(&target, &sound).unwrap();
    storage_error(claim.read_into(part(3), &mut [&mut vec![0; N - 1]]));
    storage_error(claim.read(part(3), N - 1));
    assert!(fetch(&claim, 3).unwrap() == contents(1, 3));
}

#[test]
fn another_key_opens_nothing_and_deletes_nothing() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let session = holding(&store, 1, true);
    std::mem::forget(session);
    let moment = snapshot(path.path());
    let error = storage_error(Store::open(moment.path(), &StoreKey::from_bytes([9; 32])));
    assert!(
        error.contains("key") && error.contains(&moment.path().display().to_string()),
        "{error}"
    );
    assert!(
        moment
            .path()
            .join(ItemId([1; 32]).to_string())
            .join(ITEM)
            .exists()
    );
    let store = opened(moment.path());
    assert_eq!(serials(&store, 2), [0, 1, 2, 3, 4]);
}

/// What an earlier form of this program has made is refused as such, whatever the key.
#[test]
fn a_folder_of_another_version_is_named_as_such() {
    for mark in [b"cnt stk1", b"cnt lgo1"] {
        let path = tempfile::tempdir().unwrap();
        let check = path.path().join("key-check");
        fs::write(&check, [&mark[..], &[5; 32]].concat()).unwrap();
        let error = storage_error(Store::open(path.path(), &key()));
        assert!(error.contains("another version"), "{error}");
        assert!(check.exists());
    }
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    fn check(path: &Path) -> usize {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        if !path.is_dir() {
            assert_eq!(mode, 0o600, "{}", path.display());
            return 1;
        }
        assert_eq!(mode, 0o700, "{}", path.display());
        let entries = fs::read_dir(path).unwrap();
        entries.map(|entry| check(&entry.unwrap().path())).sum()
    }
    let path = tempfile::tempdir().unwrap();
    let _store = stocked(&path.path().join("stock"));
    assert_eq!(check(&path.path().join("stock")), 2 + 2 * 7);
}

/// Nothing that is secret is on the disk in the clear, and nothing is sealed twice alike.
#[test]
fn files_show_nothing() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let mut seen = HashSet::new();
    for id in [1u8, 2] {
        let inside = store.item_folder(&ItemId([id; 32]));
        for entry in fs::read_dir(&inside).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            for window in bytes[8..].chunks_exact(16) {
                assert!(seen.insert(window.to_vec()), "sixteen bytes come twice");
            }
            assert!(!bytes.windows(16).any(|window| window == [id; 16]));
        }
    }
}
