//! Disks that are full.

use std::process::Command;

use super::*;

const FOLDER: &str = "CENOTE_TEST_SMALL_DISK";

#[test]
fn a_full_disk_loses_nothing() {
    let world = World::embedded();
    let database = world.database();
    note(&database, 1).expect("written");
    let full = |transaction: &mut Transaction<'_>| {
        transaction.rows("PRAGMA max_page_count = 1", &[])?;
        let event = Event::Queued { job: JobId([0; 16]) };
        (0..1000).try_for_each(|_| transaction.audit(at(0), &event))
    };
    let outcome = database.write(full);
    let file = world.path().join(SQLITE);
    let is_full =
        |error: &Error| matches!(error, Error::Full { place } if *place == file.display().to_string());
    assert!(outcome.as_ref().is_err_and(is_full), "{outcome:?}");
    assert!(database.fault().as_ref().is_some_and(is_full));
    // Trying again opens the database anew, without the test's limit.
    database.try_again().expect("written");
    assert!(database.fault().is_none());
    note(&database, 2).expect("written");
    assert_eq!(notes(&database), [1, 2]);
    assert_eq!(database.verify_audit().expect("whole").number, 3);
}

#[test]
fn a_log_that_cannot_be_written_is_completed_later() {
    let place = tempfile::tempdir().expect("a folder");
    let log = place.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &log).expect("linked");
    let error = Database::open(place.path(), &Address::Embedded).expect_err("full");
    assert!(
        matches!(&error, Error::Full { place } if *place == log.display().to_string()),
        "{error}"
    );
    std::fs::remove_file(&log).expect("removed");
    let database = Database::open(place.path(), &Address::Embedded).expect("opens");
    assert_eq!(database.verify_audit().expect("whole").number, 1);
}

/// Not a test of its own: the process that [`a_disk_that_is_full_at_the_commit_is_told_as_such`] starts where the disk is small.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let database = Database::open(&folder.join("service"), &Address::Embedded).expect("opens");
    note(&database, 1).expect("written");
    let filler = folder.join("filler");
    let mut file = std::fs::File::create(&filler).expect("made");
    let full = std::io::copy(&mut std::io::repeat(0), &mut file).expect_err("full");
    assert!(crate::error::is_full(&full), "{full}");
    // Its pages are in memory until they are committed.
    let large =
        |transaction: &mut Transaction<'_>| (2..200).try_for_each(|number| noted(transaction, number));
    for _ in 0..3 {
        let error = database.write(large).expect_err("full");
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(matches!(database.fault(), Some(Error::Full { .. })));
    }
    drop(file);
    std::fs::remove_file(filler).expect("removed");
    database.write(large).expect("written");
    assert!(database.fault().is_none());
    assert_eq!(notes(&database).len(), 199);
    database.verify_audit().expect("whole");
    println!("\nall was well");
}

#[test]
fn a_disk_that_is_full_at_the_commit_is_told_as_such() {
    let place = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o mode=700,size=16384k none \"$0\" && exec \"$1\" --exact database::tests::full::child --nocapture";
    let child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(place.path())
        .arg(std::env::current_exe().expect("a name"))
        .env(FOLDER, place.path())
        .output();
    let said = match &child {
        Ok(child) => String::from_utf8_lossy(&child.stdout),
        Err(_) => "".into(),
    };
    if !said.contains("running 1 test") {
        println!("this machine does not let its users mount a disk in memory: skipped");
        return;
    }
    assert!(said.contains("all was well"), "{child:?}");
}
