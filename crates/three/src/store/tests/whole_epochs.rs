//! Epochs as wholes: damaged, stray, deleted, and lost by a peer.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};

use super::super::*;
use super::{epoch, key, number, serials, snapshot, stocked, storage_error};
use crate::ring::Ring;
use crate::triple_check::zero_pair;

/// The names of the epochs that cannot be used, and why.
fn unusable(folder: &StockFolder) -> Vec<(EpochId, String)> {
    let unusable = folder.inventory().unwrap().unusable;
    unusable
        .into_iter()
        .map(|unusable| (unusable.id, unusable.why))
        .collect()
}

/// An epoch that cannot be read is named with its file; the others can be used, and it can be removed.
#[test]
fn a_damaged_description_blocks_only_its_epoch() {
    for damage in 0..5 {
        let path = tempfile::tempdir().unwrap();
        let folder = stocked(path.path());
        let file = |id: u8| folder.epoch_folder(&EpochId([id; 32])).join(EPOCH_FILE);
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
        let found = unusable(&folder);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, EpochId([1; 32]));
        assert!(found[0].1.contains(&file(1).display().to_string()), "{found:?}");
        assert_eq!(serials(&folder, 2), [0, 1, 2, 3, 4]);

        // Damage may be repaired, but batches without a description are remains.
        drop(folder);
        let folder = StockFolder::open(path.path(), &key()).unwrap();
        assert_eq!(unusable(&folder).len(), usize::from(damage < 4));
        if damage < 4 {
            folder.remove(&EpochId([1; 32])).unwrap();
        }
        assert!(!folder.epoch_folder(&EpochId([1; 32])).exists());
        assert!(unusable(&folder).is_empty());
        assert_eq!(serials(&folder, 2), [0, 1, 2, 3, 4]);
    }
}

/// What does not belong there keeps nobody from the stock, and is not touched.
#[test]
fn strays_block_nothing() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let named = path.path().join(EpochId([7; 32]).to_string());
    let inside = folder.epoch_folder(&EpochId([1; 32]));
    fs::write(&named, b"a file").unwrap();
    fs::write(path.path().join("notes.txt"), b"mine").unwrap();
    fs::create_dir(path.path().join("old")).unwrap();
    fs::write(inside.join("notes.txt"), b"mine").unwrap();
    // What was claimed, but is a folder now, cannot be deleted as a file.
    fs::create_dir(inside.join(format!("batch-001-0000000009{CLAIMED}"))).unwrap();
    drop(folder);
    let folder = StockFolder::open(path.path(), &key()).unwrap();
    let found = unusable(&folder);
    assert!(
        found.len() == 1 && found[0].1.contains(&named.display().to_string()),
        "{found:?}"
    );
    assert_eq!(serials(&folder, 1), [0, 1, 2, 3, 4]);

    // The epoch goes, with its keys, even where its folder stays.
    let id = EpochId([1; 32]);
    folder.claim(&id, &[0, 1, 2, 3, 4].map(number)).unwrap();
    folder.tidy(&id).unwrap();
    assert_eq!(serials(&folder, 1), [] as [u32; 0]);
    let left: HashSet<_> = fs::read_dir(&inside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains("notes.txt") && !left.contains(EPOCH_FILE));
    drop(folder);
    let folder = StockFolder::open(path.path(), &key()).unwrap();
    assert_eq!(serials(&folder, 2), [0, 1, 2, 3, 4]);
    folder.remove(&EpochId([7; 32])).unwrap();
    assert!(!named.exists() && unusable(&folder).is_empty());
    for stray in [path.path().join("notes.txt"), path.path().join("old")] {
        assert!(stray.exists(), "{}", stray.display());
    }
}

/// An epoch whose making went wrong is never there in part, after whichever of its files the machine stops.
#[test]
fn a_crash_while_an_epoch_is_deleted_leaves_nothing_of_it() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let id = EpochId([1; 32]);
    folder.claim(&id, &[number(4)]).unwrap();
    folder.note_lack(&id, &[], &[PartyId(0)]);
    let (first, rest) = folder.removal(&id).unwrap();
    let order: Vec<_> = std::iter::once(first).chain(rest).collect();
    let files = fs::read_dir(folder.epoch_folder(&id)).unwrap().count();
    assert_eq!(order.len(), files);
    for steps in 1..=order.len() {
        let moment = snapshot(path.path());
        for file in &order[..steps] {
            fs::remove_file(moment.path().join(file.strip_prefix(path.path()).unwrap())).unwrap();
        }
        // While the process lives on, too.
        let folder = StockFolder::open(moment.path(), &key()).unwrap();
        assert_eq!(serials(&folder, 1), [] as [u32; 0], "{steps}");
        assert!(!folder.epoch_folder(&id).exists(), "{steps}");
        assert_eq!(serials(&folder, 2), [0, 1, 2, 3, 4], "{steps}");
    }
    // A failure to delete one of them is such a moment.
    for (failing, first) in order.iter().enumerate() {
        let moment = snapshot(path.path());
        let folder = StockFolder::open(moment.path(), &key()).unwrap();
        let file = moment.path().join(first.strip_prefix(path.path()).unwrap());
        // A folder cannot be deleted as a file.
        remove_if_there(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let outcome = folder.discard(&id);
        assert_eq!(outcome.is_err(), failing == 0, "{failing}: {outcome:?}");
        assert_eq!(serials(&folder, 1), [] as [u32; 0], "{failing}");
    }
}

#[test]
fn epochs_are_removed_on_request_only_where_nobody_uses_them() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let (one, two, three) = (EpochId([1; 32]), EpochId([2; 32]), EpochId([3; 32]));
    let reservation = folder.reserve().unwrap();
    storage_error(folder.remove(&one));
    drop(reservation);
    let making = folder.begin(&epoch(3)).unwrap();
    let error = storage_error(folder.remove(&three));
    assert!(error.contains("being made"), "{error}");
    drop(making);
    storage_error(folder.remove(&EpochId([9; 32])));
    folder.remove(&one).unwrap();
    assert_eq!(serials(&folder, 1), [] as [u32; 0]);
    assert!(folder.epoch_folder(&two).exists());
}

#[test]
fn who_lacks_an_epoch_is_noted_until_that_changes() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let id = EpochId([1; 32]);
    let lacked_by = || {
        let epochs = folder.epochs().unwrap();
        epochs.into_iter().find(|epoch| epoch.id == id).unwrap().lacked_by
    };
    assert_eq!(lacked_by(), []);
    folder.note_lack(&id, &[], &[PartyId(0), PartyId(1)]);
    assert_eq!(lacked_by(), [PartyId(0), PartyId(1)]);
    folder.note_lack(&id, &lacked_by(), &[PartyId(1)]);
    assert_eq!(lacked_by(), [PartyId(1)]);
    folder.note_lack(&id, &lacked_by(), &[]);
    assert_eq!(lacked_by(), []);
}

/// More epochs than fit into an offer, lost at both peers: what all have is found all the same.
#[test]
fn lost_epochs_do_not_fill_an_offer() {
    const LOST: u32 = 1100;
    let paths = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let batch = zero_pair(1);
    let put = |folder: &StockFolder, party: u8, index: u32| {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&index.to_be_bytes());
        let id = EpochId(id);
        let epoch = Epoch {
            id,
            party: PartyId(party),
            made: index.into(),
            n: 1,
            ..epoch(1)
        };
        let _making = folder.begin(&epoch).unwrap();
        folder.store(id, number(0), &batch).unwrap();
        folder.confirm(&id, &[number(0)]).unwrap();
        id
    };
    let options = ChannelOptions::with_timeout(Duration::from_secs(120));
    let mut ends: [Vec<Box<dyn Channel>>; 3] = Default::default();
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        let (for_a, for_b) = memory_pair(PartyId(a), PartyId(b), options.clone());
        ends[usize::from(a)].push(Box::new(for_a));
        ends[usize::from(b)].push(Box::new(for_b));
    }
    std::thread::scope(|scope| {
        for ((me, path), ends) in (0u8..).zip(&paths).zip(ends) {
            scope.spawn(move || {
                let folder = StockFolder::open(path.path(), &key()).unwrap();
                if me == 0 {
                    for index in 0..LOST {
                        put(&folder, me, index);
                    }
                }
                let common = put(&folder, me, LOST);
                let mut ends = ends;
                ends.sort_by_key(|channel| channel.peer() == PartyId((me + 1) % 3));
                let [previous, next] = ends.try_into().ok().unwrap();
                let mut ring = Ring { previous, next };
                let mut online = Online::open(PartyId(me), &folder, "these").unwrap();
                online.compare(PartyId(me), &mut ring).unwrap();
                assert_eq!(online.offered(), [common], "party {me}");
                drop(online);
                let orphans = |epoch: &StoredEpoch| !epoch.lacked_by.is_empty();
                let orphans = folder
                    .epochs()
                    .unwrap()
                    .iter()
                    .filter(|epoch| orphans(epoch))
                    .count();
                assert_eq!(orphans, if me == 0 { LOST as usize } else { 0 });
            });
        }
    });
}
