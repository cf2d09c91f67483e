//! The record of a service that is down, looked at.

use std::collections::BTreeMap;

use super::*;

#[test]
fn a_record_is_examined_and_not_mended() {
    let place = tempfile::tempdir().expect("a folder");
    let look = || examine(place.path(), &Address::Embedded);
    let log_of = || look().expect("looked").expect("a record").log;
    assert!(matches!(look(), Ok(None)), "no service has begun one");
    let database = Database::open(place.path(), &Address::Embedded).expect("opens");
    crate::ResultKey::of(&database).expect("made");
    assert!(matches!(look(), Err(Error::InUse { .. })));
    let job = JobId([1; 16]);
    database
        .write(move |transaction| transaction.audit(at(0), &Event::Queued { job }))
        .expect("written");
    let end = database.audit_head().expect("read");
    drop(database);
    assert_eq!(log_of(), Ok(end.clone()));
    let log = place.path().join("audit.jsonl");
    let text = std::fs::read(&log).expect("there");
    std::fs::write(&log, &text[..text.len() - 1]).expect("cut");
    for _ in 0..2 {
        assert!(matches!(log_of(), Err(Fault::Short { .. })));
    }
    std::fs::write(&log, [&text[..], b"more\n"].concat()).expect("longer");
    assert!(matches!(log_of(), Err(Fault::Long { .. })));
    std::fs::write(&log, &text).expect("as before");
    assert_eq!(log_of(), Ok(end));
    assert!(matches!(look(), Ok(Some(Examined { key: Ok(()), .. }))));
}

/// The files of a folder, and what is in them.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("there").flatten();
    let named = entries.map(|entry| {
        let name = entry.file_name().into_string().expect("text");
        (name, std::fs::read(entry.path()).expect("readable"))
    });
    named.collect()
}

#[test]
fn who_examines_a_record_changes_no_file() {
    let world = World::embedded();
    note(&world.database(), 1).expect("written");
    crate::ResultKey::of(&world.database()).expect("made");
    // As a service leaves it that is killed: the last lines are in the log beside the database only.
    let killed = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files(&world.path()) {
        std::fs::write(killed.path().join(name), bytes).expect("written");
    }
    let end = world.database().audit_head().expect("read");
    let examined = || {
        let found = examine(killed.path(), &Address::Embedded).expect("looked");
        let found = found.expect("a record");
        found.key.expect("its key");
        found.log.expect("a whole log")
    };
    let mut before = files(killed.path());
    assert!(before.get("service.db-wal").is_some_and(|log| !log.is_empty()));
    assert_eq!(examined(), end);
    let mut after = files(killed.path());
    // The index of that log is made anew by whoever opens it first.
    assert!(before.remove("service.db-shm").is_some() && after.remove("service.db-shm").is_some());
    assert_eq!(after, before);

    // As one leaves it that ends.
    drop(Database::open(killed.path(), &Address::Embedded).expect("opens"));
    let before = files(killed.path());
    assert!(!before.contains_key("service.db-wal"));
    assert_eq!(examined(), end);
    assert_eq!(files(killed.path()), before);
}
