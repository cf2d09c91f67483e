//! The folder and other processes: who waits for whom, and what a killed one leaves.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use cenote_primitives::Entropy;

use super::*;

/// Where a child finds its folder.
const CHILD: &str = "CENOTE_STORE_TEST_CHILD";

/// Runs one of the tests here in a process of its own.
fn child(name: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tests::processes::{name}"), "--nocapture"])
        .env(CHILD, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

#[test]
fn one_session_at_a_time() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(path.path());
    let error = storage_error(Store::open_within(path.path(), &key(), Duration::ZERO));
    assert!(error.contains("another process"), "{error}");
    let session = holding(&store, 1, false);
    let error = storage_error(store.clone().session(PartyId(0), "some", |_| true).map(|_| ()));
    assert!(error.contains("another session"), "{error}");
    drop(session);
    drop(holding(&store, 1, false));
    drop(store);
    opened(path.path());
}

/// The child: holds the folder until it hears something.
#[test]
fn child_that_holds() {
    let Some(path) = folder_of_child() else { return };
    let _store = opened(&path);
    println!("holding");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Another process is waited for until it is done, if that is soon.
#[test]
fn opening_waits_for_a_process_that_is_about_to_end() {
    let path = tempfile::tempdir().unwrap();
    let mut other = child("child_that_holds", path.path());
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")));
    let error = storage_error(Store::open_within(path.path(), &key(), Duration::from_millis(50)));
    assert!(error.contains("another process"), "{error}");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| Store::open_within(path.path(), &key(), Duration::from_secs(600)));
        writeln!(other.stdin.take().unwrap(), "enough").unwrap();
        opening.join().unwrap().unwrap();
    });
    assert!(other.wait().unwrap().success());
}

/// The child: knows nothing of any folder, and lives until it hears something.
#[test]
fn child_that_waits() {
    if folder_of_child().is_some() {
        println!("waiting");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
}

/// A process that this one has started does not inherit the folder's lock, however long it lives.
#[test]
fn a_child_does_not_hold_the_folder() {
    let path = tempfile::tempdir().unwrap();
    let store = opened(path.path());
    let mut other = child("child_that_waits", path.path());
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting")));
    drop(store);
    opened(path.path());
    writeln!(other.stdin.take().unwrap(), "enough").unwrap();
    assert!(other.wait().unwrap().success());
}

/// The child: claims, reads and only then notes what it has read, for as long as there is stock.
#[test]
fn child_that_is_killed() {
    let Some(path) = folder_of_child() else { return };
    let store = opened(&path.join("stock"));
    let mut notes = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path.join("notes"))
        .unwrap();
    for stored in store.inventory().unwrap().items {
        let id = stored.item.id;
        let mut session = holding(&store, id.0[0], false);
        let serials: Vec<u64> = stored.left.numbers().map(|(_, serial)| serial).collect();
        for pair in serials.chunks(2) {
            let runs = pair.iter().copied().map(part).collect();
            let claim = claim(&mut session, &runs, &mut []).unwrap();
            for serial in pair {
                assert!(fetch(&claim, *serial).unwrap() == contents(id.0[0], *serial));
                writeln!(notes, "{id} {serial}").unwrap();
            }
        }
    }
}

/// Killed again and again at random moments, a process never reads a part that one before it has read.
#[test]
fn kill_at_any_moment() {
    let path = tempfile::tempdir().unwrap();
    let store = stocked(&path.path().join("stock"));
    (3..10).for_each(|id| put(&store, &item(id), 0..10));
    drop(store);
    let mut entropy = Entropy::for_tests(5);
    let (mut killed, mut left, mut idle) = (0, u64::MAX, 0);
    loop {
        let mut child = child("child_that_is_killed", path.path());
        let [wait] = entropy.bytes::<1>();
        // A machine that does not come to do anything in that time needs more.
        let wait = (2000 + 60 * u64::from(wait)) << (idle / 20).min(12);
        std::thread::sleep(Duration::from_micros(wait));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        let store = opened(&path.path().join("stock"));
        let items = store.inventory().unwrap().items;
        if items.is_empty() {
            break;
        }
        assert_eq!(status.signal(), Some(9), "{status}");
        killed += 1;
        let now = items.iter().map(|stored| stored.left.total()).sum();
        idle = if now < left { 0 } else { idle + 1 };
        assert!(idle < 300, "nothing moves");
        left = now;
    }
    let notes = fs::read_to_string(path.path().join("notes")).unwrap_or_default();
    let lines: Vec<_> = notes.lines().collect();
    assert_eq!(lines.iter().collect::<HashSet<_>>().len(), lines.len(), "{notes}");
    assert!(lines.len() <= 80);
    println!("killed {killed} times, read {} of 80 parts", lines.len());
}
