//! The folder by itself: what crashes leave, what damage does, and who may open it.

mod whole_epochs;

use std::collections::HashSet;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use cenote_net::PartyId;
use cenote_primitives::{Block512, Entropy, SecretBlocks};
use cenote_session::Error;
use zeroize::Zeroizing;

use super::*;
use crate::triple_check::zero_pair;

/// Blocks of a batch: more than two chunks of a file.
const N: usize = 5000;

fn key() -> StockKey {
    StockKey::from_bytes([7; 32])
}

fn number(serial: u32) -> BatchNumber {
    BatchNumber { worker: 1, serial }
}

fn epoch(id: u8) -> Epoch {
    Epoch {
        id: EpochId([id; 32]),
        party: PartyId(2),
        made: 1000 - u64::from(id),
        n: N as u64,
        settings: "these".into(),
        seeds: [[id; 16], [id + 1; 16]].map(Zeroizing::new),
    }
}

/// The products of a batch, different in each block.
fn products(epoch: u8, serial: u32) -> Pair {
    [0, 1].map(|component| {
        let block = |index| {
            Block512([
                component,
                index as u64,
                u64::from(epoch),
                serial.into(),
                5,
                6,
                7,
                8,
            ])
        };
        let mut blocks = SecretBlocks::zeroed(N);
        (0..N).for_each(|index| blocks[index] = block(index));
        blocks
    })
}

fn same(a: &Pair, b: &Pair) -> bool {
    a.iter().zip(b).all(|(a, b)| a[..] == b[..])
}

/// Puts a batch in stock.
fn put(folder: &StockFolder, epoch: u8, serial: u32) {
    let id = EpochId([epoch; 32]);
    folder
        .store(id, number(serial), &products(epoch, serial))
        .unwrap();
    folder.confirm(&id, &[number(serial)]).unwrap();
}

/// A folder with batches 0 to 4 of epochs 1 and 2.
fn stocked(path: &Path) -> StockFolder {
    let folder = StockFolder::open(path, &key()).unwrap();
    for id in [1, 2] {
        let making = folder.begin(&epoch(id)).unwrap();
        for serial in 0..5 {
            put(&folder, id, serial);
        }
        drop(making);
    }
    folder
}

fn serials(folder: &StockFolder, id: u8) -> Vec<u32> {
    let epochs = folder.epochs().unwrap();
    let found = epochs.iter().find(|epoch| epoch.id == EpochId([id; 32]));
    found.map_or(Vec::new(), |epoch| {
        epoch.batches.iter().map(|batch| batch.serial).collect()
    })
}

/// Copies a folder as it is, as if the machine had stopped now.
fn snapshot(from: &Path) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let to = tempfile::tempdir().unwrap();
    copy(from, to.path());
    to
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
    let folder = stocked(path.path());
    let epochs = folder.epochs().unwrap();
    // The oldest first.
    assert_eq!(
        epochs.iter().map(|epoch| epoch.made).collect::<Vec<_>>(),
        [998, 999]
    );
    assert_eq!(
        (epochs[0].party, epochs[0].settings.as_str()),
        (PartyId(2), "these")
    );
    assert_eq!(epochs[0].gates_per_batch, 512 * N as u64);
    let (described, _) = folder.contents().unwrap().epochs.remove(1);
    assert!(described.seeds == epoch(1).seeds);

    let id = EpochId([1; 32]);
    folder.claim(&id, &[number(3), number(1)]).unwrap();
    assert_eq!(serials(&folder, 1), [0, 2, 4]);
    let mut found = zero_pair(N);
    folder.fetch(id, number(3), &mut found).unwrap();
    assert!(same(&found, &products(1, 3)));
    // Neither a claimed nor a read batch can be claimed or read again, nor an unclaimed one read.
    storage_error(folder.claim(&id, &[number(3)]));
    storage_error(folder.claim(&id, &[number(1)]));
    storage_error(folder.fetch(id, number(3), &mut found));
    storage_error(folder.fetch(id, number(2), &mut found));
    // A name that is taken is not written over.
    folder.store(id, number(2), &products(9, 9)).unwrap();
    storage_error(folder.store(id, number(2), &products(9, 9)));
    storage_error(folder.confirm(&id, &[number(2)]));
    drop(folder);
    let folder = StockFolder::open(path.path(), &key()).unwrap();
    assert_eq!(serials(&folder, 1), [0, 2, 4]);
    assert_eq!(serials(&folder, 2), [0, 1, 2, 3, 4]);
    storage_error(folder.fetch(id, number(1), &mut found));
}

/// A machine that stops after any step may lose batches, but what may have been read is never in stock again.
#[test]
fn a_crash_wastes_and_never_brings_back() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let id = EpochId([1; 32]);
    let claims = [number(0), number(1)];
    let mut moments = Vec::new();
    for claim in claims {
        // In the middle of a claim.
        moments.push((snapshot(path.path()), "before or in the middle of the claim"));
        folder.claim(&id, &[claim]).unwrap();
    }
    moments.push((snapshot(path.path()), "after the claim"));
    let mut found = zero_pair(N);
    for claim in claims {
        folder.fetch(id, claim, &mut found).unwrap();
        moments.push((snapshot(path.path()), "after a batch was read"));
    }
    for (index, (moment, what)) in moments.iter().enumerate() {
        let folder = StockFolder::open(moment.path(), &key()).unwrap();
        let claimed = index.min(2) as u32;
        assert_eq!(serials(&folder, 1), Vec::from_iter(claimed..5), "{what}");
        // The claimed ones are off the disk, too.
        let files = fs::read_dir(folder.epoch_folder(&id)).unwrap().count();
        assert_eq!(files, 1 + 5 - claimed as usize, "{what}");
    }
}

#[test]
fn an_unfinished_batch_is_no_batch() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let inside = folder.epoch_folder(&EpochId([1; 32]));
    fs::copy(
        inside.join(number(0).file_name()),
        inside.join(format!("{}{DRAFT}", number(7).file_name())),
    )
    .unwrap();
    drop(folder);
    // A crash while an epoch begins.
    let begun = path.path().join(EpochId([3; 32]).to_string());
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join(format!("{EPOCH_FILE}{DRAFT}")), b"half").unwrap();
    let folder = StockFolder::open(path.path(), &key()).unwrap();
    assert_eq!(serials(&folder, 1), [0, 1, 2, 3, 4]);
    assert!(!inside.join(format!("{}{DRAFT}", number(7).file_name())).exists());
    assert!(!begun.exists());
}

/// What not all parties have confirmed is in stock for nobody, and goes with the run or after the crash that ended it.
#[test]
fn what_is_provisional_is_never_used() {
    for crash in [false, true] {
        let path = tempfile::tempdir().unwrap();
        let folder = StockFolder::open(path.path(), &key()).unwrap();
        let making = folder.begin(&epoch(1)).unwrap();
        put(&folder, 1, 0);
        for serial in [1, 2] {
            let id = EpochId([1; 32]);
            folder.store(id, number(serial), &products(1, serial)).unwrap();
        }
        let (path, folder) = if crash {
            let left = snapshot(path.path());
            let folder = StockFolder::open(left.path(), &key()).unwrap();
            (left, folder)
        } else {
            drop(making);
            (path, folder)
        };
        assert_eq!(serials(&folder, 1), [0]);
        let inside = path.path().join(EpochId([1; 32]).to_string());
        // Its description and the batch.
        assert_eq!(fs::read_dir(inside).unwrap().count(), 2, "crash: {crash}");
    }
}

#[test]
fn a_spent_epoch_goes_with_its_keys() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let id = EpochId([2; 32]);
    folder.claim(&id, &[0, 1, 2, 3, 4].map(number)).unwrap();
    folder.tidy(&id).unwrap();
    assert!(!folder.epoch_folder(&id).exists());
    folder.discard(&EpochId([1; 32])).unwrap();
    assert!(folder.epochs().unwrap().is_empty());
}

/// Every kind of damage is found, named with the file, and nothing of it used.
#[test]
fn damaged_and_foreign_files_are_refused() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let (one, two) = (EpochId([1; 32]), EpochId([2; 32]));
    let all = [0, 1, 2, 3, 4].map(number);
    folder.claim(&one, &all).unwrap();
    folder.claim(&two, &all).unwrap();
    let at = |id: &EpochId, serial| claimed_path(&folder.epoch_folder(id), number(serial));
    let target = at(&one, 3);
    let sound = fs::read(&target).unwrap();
    let chunk = (1 << 18) + 16;
    let other_key = tempfile::tempdir().unwrap();
    let other_key = {
        let folder = StockFolder::open(other_key.path(), &StockKey::from_bytes([8; 32])).unwrap();
        let _making = folder.begin(&epoch(1)).unwrap();
        put(&folder, 1, 3);
        fs::read(folder.epoch_folder(&one).join(number(3).file_name())).unwrap()
    };
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        (
            "batch 4 under the name of 3".into(),
            fs::read(at(&one, 4)).unwrap(),
        ),
        ("another epoch's".into(), fs::read(at(&two, 3)).unwrap()),
        ("under another key".into(), other_key),
        ("empty".into(), Vec::new()),
        ("one byte more".into(), [&sound[..], &[0]].concat()),
        (
            "the epoch's file".into(),
            fs::read(folder.epoch_folder(&one).join(EPOCH_FILE)).unwrap(),
        ),
        ("without its last chunk".into(), sound[..24 + 2 * chunk].to_vec()),
    ];
    let mut swapped = sound.clone();
    swapped[24..24 + 2 * chunk].rotate_left(chunk);
    cases.push(("chunks changed places".into(), swapped));
    for cut in [1, 16, 17, sound.len() - 24, sound.len() - 1] {
        cases.push((format!("{cut} bytes fewer"), sound[..sound.len() - cut].to_vec()));
    }
    for flipped in [0, 8, 23, 24, 24 + chunk - 1, 24 + chunk, sound.len() - 1] {
        let mut bytes = sound.clone();
        bytes[flipped] ^= 0x10;
        cases.push((format!("byte {flipped} changed"), bytes));
    }
    for (what, bytes) in cases {
        fs::write(&target, bytes).unwrap();
        let mut found = zero_pair(N);
        let error = storage_error(folder.fetch(one, number(3), &mut found));
        assert!(error.contains(&target.display().to_string()), "{what}: {error}");
    }
    // What does not fit the parameters of the session.
    fs::write(&target, &sound).unwrap();
    storage_error(folder.fetch(one, number(3), &mut zero_pair(N - 1)));
    let mut found = zero_pair(N);
    folder.fetch(one, number(3), &mut found).unwrap();
    assert!(same(&found, &products(1, 3)));
}

/// A batch that cannot be read leaves nothing of itself with the evaluator, and ends the session.
#[test]
fn a_damaged_batch_is_not_handed_over() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let id = EpochId([1; 32]);
    let claimed = Claimed::new(folder.clone(), N);
    folder.claim(&id, &[number(0), number(1), number(2)]).unwrap();
    claimed.put(id, &[number(0), number(1), number(2)]);
    assert!(same(&claimed.take().unwrap().products, &products(1, 0)));
    let target = claimed_path(&folder.epoch_folder(&id), number(1));
    let mut bytes = fs::read(&target).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&target, bytes).unwrap();
    storage_error(claimed.take().map(|batch| batch.serial));
    claimed.discard();
    assert!(!claimed_path(&folder.epoch_folder(&id), number(2)).exists());
    assert!(matches!(claimed.take(), Err(Error::Internal(_))));
}

/// A system that cannot promise that a rename outlasts a crash gets no stock.
#[cfg(target_os = "linux")]
#[test]
fn folders_that_cannot_be_flushed_are_refused() {
    assert!(sync_folder(Path::new("/proc/self/task")).is_err());
    assert!(sync_folder(tempfile::tempdir().unwrap().path()).is_ok());
}

#[test]
fn descriptions_are_read_strictly() {
    let bytes = epoch(1).encode();
    let id = EpochId([1; 32]);
    let back = Epoch::decode(id, &bytes).unwrap();
    assert!((back.party, back.made, back.n) == (PartyId(2), 999, N as u64));
    assert!(back.settings == "these" && back.seeds == epoch(1).seeds);
    for cut in 0..50 {
        assert!(Epoch::decode(id, &bytes[..cut]).is_err(), "{cut}");
    }
    for (at, value) in [(0, 2), (1, 3), (50, 0xff)] {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        assert!(Epoch::decode(id, &bytes).is_err(), "byte {at}");
    }
}

#[test]
fn names_are_read_strictly() {
    let number = BatchNumber {
        worker: 12,
        serial: 345,
    };
    assert_eq!(number.file_name(), "batch-012-0000000345");
    assert_eq!(BatchNumber::of_file(&number.file_name()), Some(number));
    for name in [
        "batch-12-0000000345",
        "batch-012-345",
        "batch-+12-0000000345",
        "batch-300-0000000345",
        "batch-012-0000000345.claimed",
        "epoch",
        "",
    ] {
        assert_eq!(BatchNumber::of_file(name), None, "{name}");
    }
    let id = EpochId([0xab; 32]);
    assert_eq!(EpochId::of_folder(&id.to_string()), Some(id));
    for name in [
        id.to_string().to_uppercase(),
        id.to_string()[1..].to_owned(),
        "é".repeat(32),
        format!("+{}", &id.to_string()[1..]),
    ] {
        assert_eq!(EpochId::of_folder(&name), None, "{name}");
    }
}

#[test]
fn one_process_and_one_session_at_a_time() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let error = storage_error(StockFolder::open(path.path(), &key()));
    assert!(error.contains("another process"), "{error}");
    let reservation = folder.reserve().unwrap();
    let error = storage_error(folder.clone().reserve().map(|_| ()));
    assert!(error.contains("another session"), "{error}");
    drop(reservation);
    folder.reserve().unwrap();
    drop(folder);
    StockFolder::open(path.path(), &key()).unwrap();
}

#[test]
fn another_key_opens_nothing_and_deletes_nothing() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    folder.claim(&EpochId([1; 32]), &[number(0)]).unwrap();
    drop(folder);
    let error = storage_error(StockFolder::open(path.path(), &StockKey::from_bytes([9; 32])));
    assert!(
        error.contains("key") && error.contains(&path.path().display().to_string()),
        "{error}"
    );
    assert!(claimed_path(&path.path().join(EpochId([1; 32]).to_string()), number(0)).exists());
    let folder = StockFolder::open(path.path(), &key()).unwrap();
    assert_eq!(serials(&folder, 1), [1, 2, 3, 4]);
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
        fs::read_dir(path)
            .unwrap()
            .map(|entry| check(&entry.unwrap().path()))
            .sum()
    }
    let path = tempfile::tempdir().unwrap();
    let _folder = stocked(&path.path().join("stock"));
    assert_eq!(check(&path.path().join("stock")), 2 + 2 * 6);
}

/// Nothing that is secret is on the disk in the clear, and nothing is sealed twice alike.
#[test]
fn files_show_nothing() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(path.path());
    let mut seen = HashSet::new();
    for id in [1u8, 2] {
        let inside = folder.epoch_folder(&EpochId([id; 32]));
        for entry in fs::read_dir(&inside).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            for window in bytes[8..].chunks_exact(16) {
                assert!(seen.insert(window.to_vec()), "sixteen bytes come twice");
            }
            assert!(!bytes.windows(16).any(|window| window == [id; 16]));
        }
    }
}

/// Where the child of [`kill_at_any_moment`] finds its folder.
const CHILD: &str = "CENOTE_STOCK_TEST_CHILD";

/// The child: claims, reads and only then notes what it has read, for as long as there is stock.
#[test]
fn child_that_is_killed() {
    let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let folder = StockFolder::open(&path.join("stock"), &key()).unwrap();
    let mut notes = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path.join("notes"))
        .unwrap();
    for (epoch, listing) in folder.contents().unwrap().epochs {
        for pair in listing.batches.chunks(2) {
            folder.claim(&epoch.id, pair).unwrap();
            for batch in pair {
                let mut found = zero_pair(N);
                folder.fetch(epoch.id, *batch, &mut found).unwrap();
                assert!(same(&found, &products(epoch.id.0[0], batch.serial)));
                writeln!(notes, "{} {batch:?}", epoch.id).unwrap();
            }
        }
    }
}

/// Killed again and again at random moments, a process never reads a batch that one before it has read.
#[test]
fn kill_at_any_moment() {
    let path = tempfile::tempdir().unwrap();
    let folder = stocked(&path.path().join("stock"));
    for id in 3..10 {
        let _making = folder.begin(&epoch(id)).unwrap();
        for serial in 0..10 {
            put(&folder, id, serial);
        }
    }
    drop(folder);
    let mut entropy = Entropy::for_tests(5);
    let mut killed = 0;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::child_that_is_killed"])
            .env(CHILD, path.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let [wait] = entropy.bytes::<1>();
        std::thread::sleep(Duration::from_micros(2000 + 30 * u64::from(wait)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        let folder = StockFolder::open(&path.path().join("stock"), &key()).unwrap();
        if folder.epochs().unwrap().is_empty() {
            break;
        }
        killed += 1;
        assert!(!status.success() && killed < 1000, "{status}");
    }
    let notes = fs::read_to_string(path.path().join("notes")).unwrap_or_default();
    let lines: Vec<_> = notes.lines().collect();
    assert_eq!(lines.iter().collect::<HashSet<_>>().len(), lines.len(), "{notes}");
    assert!(lines.len() <= 80);
    println!("killed {killed} times, read {} of 80 batches", lines.len());
}
