use tempfile::tempdir;

use super::*;
use crate::{Attempt, Piece};

fn job() -> Job {
    Job::new(vec![("query".into(), "SELECT 1".into())], 4, 20).unwrap()
}

fn begun(name: u8) -> Begun {
    Begun {
        name: JobName([name; 32]),
        coin: [2; 32],
        before: 3,
        keys: [4; 32],
    }
}

fn shard(index: u32, number: u32) -> Attempt {
    Attempt {
        piece: Piece::Shard(index),
        number,
    }
}

/// A ledger with five lines, and the file of its lines.
fn written(path: &Path) -> PathBuf {
    let mut ledger = Ledger::open(path, &job()).unwrap();
    ledger.begin(begun(1)).unwrap();
    for entry in [
        Entry::HandedOut(shard(0, 1)),
        Entry::HandedOut(shard(1, 1)),
        Entry::Done(shard(0, 1)),
        Entry::Lost(shard(1, 1)),
        Entry::HandedOut(shard(1, 2)),
    ] {
        ledger.note(&[entry]).unwrap();
    }
    ledger.lines_of(&begun(1).name)
}

fn refused(path: &Path, job: &Job, words: &str) {
    let error = Ledger::open(path, job).unwrap_err();
    assert!(matches!(error, Error::Storage(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(words) && text.contains(&path.display().to_string()),
        "{text}"
    );
}

#[test]
fn what_was_noted_is_there_again() {
    let folder = tempdir().unwrap();
    written(folder.path());
    let ledger = Ledger::open(folder.path(), &job()).unwrap();
    assert_eq!(ledger.begun(), Some(&begun(1)));
    assert_eq!(ledger.book().handed_out(), 6);
    assert_eq!(ledger.done(Piece::Shard(0)), Some(1));
    let running = ledger.book().count(Piece::Shard(1));
    assert_eq!((running.last, running.state), (2, State::Out));
}

#[test]
fn what_a_crash_left_of_the_last_line_is_dropped() {
    let folder = tempdir().unwrap();
    let path = written(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let cut = whole.len() - line::BYTES;
    let mut torn: Vec<Vec<u8>> = (cut + 1..whole.len())
        .map(|length| whole[..length].to_vec())
        .collect();
    let mut unwritten = whole.clone();
    unwritten[cut + 20..].fill(0);
    torn.extend([unwritten, [&whole[..cut], &[0; 300]].concat()]);
    for bytes in torn {
        std::fs::write(&path, &bytes).unwrap();
        let mut ledger = Ledger::open(folder.path(), &job()).unwrap();
        assert_eq!(ledger.book().count(Piece::Shard(1)).last, 1);
        // The next line is whole again.
        ledger.note(&[Entry::HandedOut(shard(1, 2))]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn other_damage_is_an_error_that_names_the_file() {
    let folder = tempdir().unwrap();
    let path = written(folder.path());
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() - line::BYTES {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        refused(folder.path(), &job(), "damaged from line");
    }
    // Lines that are left out, twice, or of another job.
    let line = |at: usize| &whole[at * line::BYTES..][..line::BYTES];
    for lines in [[0, 2, 3, 4], [0, 0, 1, 2], [1, 0, 2, 3]] {
        std::fs::write(&path, lines.map(line).concat()).unwrap();
        refused(folder.path(), &job(), "damaged from line");
    }
    std::fs::remove_file(&path).unwrap();
    refused(folder.path(), &job(), "missing");
    let mut ledger = Ledger::open(tempdir().unwrap().path(), &job()).unwrap();
    ledger.begin(begun(7)).unwrap_err();
}

#[test]
fn a_damaged_job_is_an_error() {
    let folder = tempdir().unwrap();
    written(folder.path());
    let path = folder.path().join(JOB);
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        refused(folder.path(), &job(), "");
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    refused(folder.path(), &job(), "damaged");
    std::fs::write(&path, vec![b'a'; 1 << 20]).unwrap();
    refused(folder.path(), &job(), "damaged");
}

#[test]
fn another_job_is_refused() {
    let folder = tempdir().unwrap();
    written(folder.path());
    let other = |text: &str, shards, attempts| {
        Job::new(vec![("query".into(), text.into())], shards, attempts).unwrap()
    };
    refused(folder.path(), &other("SELECT 2", 4, 20), "terms");
    refused(
        folder.path(),
        &other("SELECT 1", 5, 20),
        "shards: 4 there, 5 here",
    );
    refused(
        folder.path(),
        &other("SELECT 1", 4, 21),
        "attempts: 20 there, 21 here",
    );
}

#[test]
fn a_ledger_is_open_once() {
    let folder = tempdir().unwrap();
    let first = Ledger::open(folder.path(), &job()).unwrap();
    refused(folder.path(), &job(), "another coordinator");
    drop(first);
    assert!(Ledger::open(folder.path(), &job()).is_ok());
}

#[test]
fn a_new_name_begins_anew_and_keeps_the_old_lines() {
    let folder = tempdir().unwrap();
    let old = written(folder.path());
    let before = std::fs::read(&old).unwrap();
    let mut ledger = Ledger::open(folder.path(), &job()).unwrap();
    ledger.begin(begun(2)).unwrap();
    assert_eq!(ledger.book().handed_out(), 3);
    ledger.note(&[Entry::HandedOut(shard(0, 1))]).unwrap();
    drop(ledger);
    assert_eq!(std::fs::read(&old).unwrap(), before);
    let ledger = Ledger::open(folder.path(), &job()).unwrap();
    assert_eq!(
        (ledger.name(), ledger.book().handed_out()),
        (Some(begun(2).name), 4)
    );
}

#[test]
fn nothing_is_noted_after_a_failure() {
    struct Full;
    impl Disk for Full {
        fn append(&mut self, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
    }
    let folder = tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path(), &job())
        .unwrap()
        .over(Box::new(|_| Box::new(Full)));
    let gone = ledger.note(&[Entry::HandedOut(shard(0, 1))]).unwrap_err();
    assert!(matches!(gone, Error::Storage(_)), "no job has begun: {gone}");
    ledger.begin(begun(1)).unwrap();
    let full = ledger.note(&[Entry::HandedOut(shard(0, 1))]).unwrap_err();
    assert!(matches!(full, Error::DiskFull(_)), "{full}");
    assert!(ledger.note(&[Entry::HandedOut(shard(0, 2))]).is_err());
}
