//! Logs that a power loss has left in pieces, and logs that somebody has changed.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::audit::verify;

/// A copy of a service's folder as a power loss leaves it, with some lines settled and the last three not.
struct Left {
    folder: TempDir,
    log: Vec<u8>,
    head: Head,
    settled: usize,
}

impl Left {
    fn new() -> Self {
        let mut world = World::embedded();
        for number in 1..=3 {
            note(&world.database(), number).expect("written");
        }
        let database = world.reopen();
        let settled = world.log().len();
        for number in 4..=6 {
            note(&database, number).expect("written");
        }
        let head = database.audit_head().expect("a head");
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["service.db", "service.db-wal", "audit.jsonl"] {
            fs::copy(world.path().join(name), folder.path().join(name)).expect("copied");
        }
        let log = fs::read(folder.path().join("audit.jsonl")).expect("readable");
        Left {
            folder,
            log,
            head,
            settled,
        }
    }

    /// A copy with this log.
    fn with(&self, log: &[u8]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["service.db", "service.db-wal"] {
            fs::copy(self.folder.path().join(name), folder.path().join(name)).expect("copied");
        }
        let file = folder.path().join("audit.jsonl");
        fs::write(&file, log).expect("written");
        (folder, file)
    }

    /// What is found of a log while the service is down, which stays as it is.
    fn found(folder: &TempDir) -> std::result::Result<Head, Fault> {
        let found = examine(folder.path(), &Address::Embedded).expect("looked");
        found.expect("a record").log
    }

    fn mended(&self, log: &[u8]) {
        let (folder, file) = self.with(log);
        assert_eq!(Self::found(&folder), Ok(self.head.clone()));
        assert_eq!(fs::read(&file).expect("readable"), log);
        let database = Database::open(folder.path(), &Address::Embedded).expect("mended");
        assert_eq!(database.verify_audit().expect("whole"), self.head);
        assert_eq!(fs::read(file).expect("readable"), self.log);
        note(&database, 7).expect("goes on");
        let lines = database.verify_audit().expect("whole").number;
        assert_eq!(lines, self.head.number + 1);
    }

    fn refused(&self, log: &[u8]) -> Fault {
        let (folder, file) = self.with(log);
        let found = Self::found(&folder);
        let fault = match Database::open(folder.path(), &Address::Embedded) {
            Err(Error::Audit(fault)) => fault,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("accepted"),
        };
        assert_eq!(
            fs::read(file).expect("readable"),
            log,
            "a refused log stays as it is"
        );
        assert_eq!(found, Err(fault.clone()), "the same is found before");
        fault
    }

    fn lines(&self, length: usize) -> u64 {
        self.log[..length].iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

#[test]
fn what_a_power_loss_tore_is_mended_from_the_database() {
    let left = Left::new();
    assert_eq!(left.head.number, 7);
    assert_eq!(left.lines(left.settled), 4);
    let whole = left.log.len();
    for length in [left.settled, left.settled + 1, whole - 100, whole - 1, whole] {
        left.mended(&left.log[..length]);
    }
    // Blocks that were given to the file and not written.
    let mut holes = left.log.clone();
    holes[left.settled + 7..left.settled + 99].fill(0);
    left.mended(&holes);
    holes[left.settled..].fill(0);
    left.mended(&holes);
}

#[test]
fn a_changed_log_is_refused() {
    let left = Left::new();
    // In the part that is not settled, any byte, whether or not the rest is there.
    for place in [left.settled, left.settled + 50, left.log.len() - 1] {
        let mut changed = left.log.clone();
        changed[place] ^= 1;
        let line = left.lines(place) + 1;
        for log in [&changed[..], &changed[..=place]] {
            let fault = left.refused(log);
            assert!(
                matches!(fault, Fault::Changed { line: found, .. } if found == line),
                "byte {place}: {fault}"
            );
        }
    }
    // Lines that were written once, written again.
    let mut longer = left.log.clone();
    longer.extend_from_slice(&left.log[left.settled..]);
    assert_eq!(left.refused(&longer), Fault::Long { lines: 7 });
    longer.truncate(left.log.len() + 1);
    assert_eq!(left.refused(&longer), Fault::Long { lines: 7 });
    // The last settled line.
    let mut changed = left.log.clone();
    for byte in [b'x', 0] {
        changed[left.settled - 4] = byte;
        assert!(matches!(left.refused(&changed), Fault::Changed { line: 4, .. }));
    }
}

#[test]
fn a_log_that_was_cut_off_is_refused() {
    let left = Left::new();
    let fault = left.refused(&left.log[..left.settled - 1]);
    assert!(fault.to_string().contains("was cut off"), "{fault}");
    assert_eq!(
        fault,
        Fault::Short {
            lines: 3,
            recorded: 4
        }
    );
    let (folder, file) = left.with(&left.log);
    fs::remove_file(file).expect("removed");
    let error = Database::open(folder.path(), &Address::Embedded).expect_err("no log");
    assert!(matches!(error, Error::Audit(Fault::File(_))), "{error}");
}

#[test]
fn a_database_of_an_earlier_state_is_noticed() {
    let mut world = World::embedded();
    note(&world.database(), 1).expect("written");
    world.close();
    let backup = fs::read(world.path().join("service.db")).expect("readable");
    let database = world.reopen();
    note(&database, 2).expect("written");
    drop(database);
    world.close();
    fs::write(world.path().join("service.db"), backup).expect("put back");
    let error = Database::open(&world.path(), &Address::Embedded).expect_err("behind");
    assert!(matches!(error, Error::Audit(Fault::Long { lines: 2 })), "{error}");
}

#[test]
fn verification_names_the_first_bad_line() {
    let mut world = World::embedded();
    for number in 1..=9 {
        note(&world.database(), number).expect("written");
    }
    let head = world.database().audit_head().expect("a head");
    let file = world.path().join("audit.jsonl");
    assert_eq!(verify(&file, None).expect("whole"), head);
    assert_eq!(verify(&file, Some(&head)).expect("whole"), head);
    world.close();

    let whole = world.log();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let look = |text: &[u8]| {
        fs::write(&file, text).expect("written");
        verify(&file, Some(&head)).expect_err("changed")
    };
    let line_of = |fault: Fault| match fault {
        Fault::Changed { line, .. } => line,
        other => panic!("{other}"),
    };
    // One character anywhere in line 5.
    let start: usize = lines[..4].iter().map(|line| line.len()).sum();
    for place in (start..start + lines[4].len() - 1).step_by(17) {
        let mut changed = whole.clone().into_bytes();
        changed[place] ^= 2;
        assert_eq!(line_of(look(&changed)), 5, "byte {place}");
    }
    // A line is missing, doubled, or in another place.
    let joined = |order: &[usize]| {
        order
            .iter()
            .map(|line| lines[line - 1])
            .collect::<String>()
            .into_bytes()
    };
    assert_eq!(
        look(&joined(&[1, 2, 3, 5, 6, 7, 8, 9, 10])),
        Fault::Missing { line: 4, next: 5 }
    );
    assert_eq!(
        look(&joined(&[1, 2, 6, 7, 8, 9, 10])),
        Fault::Missing { line: 3, next: 6 }
    );
    assert_eq!(
        look(&joined(&[1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10])),
        Fault::OutOfOrder { line: 4, found: 3 }
    );
    assert_eq!(
        look(&joined(&[1, 3, 2, 4, 5, 6, 7, 8, 9, 10])),
        Fault::OutOfOrder { line: 2, found: 3 }
    );
    // A line was written anew, with its own hash.
    let anew = lines[4].replace("\"job\":\"04", "\"job\":\"ff");
    let (body, _) = anew.split_once(",\"hash\"").expect("a hash");
    let hash = blake3::Hasher::new_derive_key("cenote service audit line 1")
        .update(body.as_bytes())
        .finalize();
    let anew = format!("{body},\"hash\":\"{hash}\"}}\n");
    assert_eq!(line_of(look(whole.replace(lines[4], &anew).as_bytes())), 6);
    // The end is missing.
    let short = |lines| Fault::Short { lines, recorded: 10 };
    assert_eq!(look(&joined(&[1, 2, 3, 4])), short(4));
    assert_eq!(look(whole.trim_end().as_bytes()), short(9));
    assert_eq!(look(b""), short(0));
    // Without the database, a copy that ends in the middle of a line.
    fs::write(&file, whole.trim_end()).expect("written");
    assert_eq!(verify(&file, None).expect_err("torn"), Fault::Torn { line: 10 });
}

#[test]
fn whatever_is_wrong_with_a_line_is_told_when_the_log_is_opened() {
    let left = Left::new();
    let text = String::from_utf8(left.log.clone()).expect("text");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = |line: usize| [&lines[..line - 1], &lines[line..]].concat().concat();
    // One bit in the middle, far from the end of what is settled.
    let mut changed = left.log.clone();
    changed[lines[0].len() + 60] ^= 1;
    assert!(matches!(left.refused(&changed), Fault::Changed { line: 2, .. }));
    // A line was deleted: of those that are settled, and of those that are not.
    for line in [2, 3, 5, 6] {
        let next = line as u64 + 1;
        let missing = Fault::Missing {
            line: line as u64,
            next,
        };
        assert_eq!(left.refused(without(line).as_bytes()), missing);
    }
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    let fault = left.refused(swapped.concat().as_bytes());
    assert_eq!(fault, Fault::OutOfOrder { line: 2, found: 3 });
    let error = Error::Audit(fault).to_string();
    for part in [
        "audit.jsonl",
        "line 2 is not in its place",
        "find out who could write to it",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// `cargo test --release -p cenote-service -- --ignored --nocapture the_time_to_verify` prints how long a start reads a long log.
#[test]
#[ignore = "a measurement"]
fn the_time_to_verify_a_long_log() {
    let mut world = World::embedded();
    const LINES: u64 = 100_000;
    world
        .database()
        .write(|transaction| {
            (0..LINES).try_for_each(|number| {
                let event = Event::Failed {
                    job: JobId([number as u8; 16]),
                    by: Actor::Peer(1),
                    kind: crate::job::FailKind::PeerLost,
                    reason: "the connection to party 1 was lost".into(),
                };
                transaction.audit(at(number), &event)
            })
        })
        .expect("written");
    world.close();
    let start = std::time::Instant::now();
    let head = verify(&world.path().join("audit.jsonl"), None).expect("whole");
    let read = start.elapsed();
    let database = world.reopen();
    let opened = start.elapsed() - read;
    drop(database);
    eprintln!(
        "{} lines, {} MB: read in {read:?}, opened in {opened:?}",
        head.number,
        head.length >> 20
    );
}

#[test]
fn another_services_log_does_not_fit() {
    let mut one = World::embedded();
    let mut two = World::embedded();
    for world in [&one, &two] {
        note(&world.database(), 1).expect("written");
    }
    one.close();
    two.close();
    fs::copy(one.path().join("audit.jsonl"), two.path().join("audit.jsonl")).expect("copied");
    let error = Database::open(&two.path(), &Address::Embedded).expect_err("another's");
    assert!(matches!(error, Error::Audit(_)), "{error}");
}
