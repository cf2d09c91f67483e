//! What must survive, and what must be refused.

mod examined;
mod full;
mod kill;
mod tampering;
mod tls;

use std::time::Instant;

use super::connection::Access;
use super::*;
use crate::audit::{Actor, Event, Fault};
use crate::job::JobId;
use crate::testing::{Server, World, at, open_once_free, suite};

suite![
    what_was_written_is_there_after_reopening,
    a_call_that_fails_takes_back_its_own_changes_only,
    a_call_that_panics_is_taken_back,
    a_read_cannot_write,
    what_a_record_takes_is_told,
    the_log_is_settled_while_it_grows,
    what_is_flushed_later_is_read_at_once_and_is_in_the_log_soon,
    the_log_is_never_ahead_of_what_is_on_the_disk,
];

/// Notes a number, with a line in the log.
fn note(database: &Database, number: u8) -> Result<()> {
    database.write(move |transaction| noted(transaction, number))
}

fn noted(transaction: &mut Transaction<'_>, number: u8) -> Result<()> {
    transaction.run(
        "INSERT INTO disclosure (program, data, used) VALUES ($1, 'data', $2)",
        &[
            Value::from(format!("{number:03}")),
            Value::from(i64::from(number)),
        ],
    )?;
    let cancelled = Event::Cancelled {
        job: JobId([number; 16]),
        by: Actor::Service,
    };
    transaction.audit(at(u64::from(number)), &cancelled)
}

fn notes(database: &Database) -> Vec<u64> {
    database
        .read(|connection| {
            connection
                .rows("SELECT used FROM disclosure ORDER BY program", &[])?
                .iter()
                .map(|row| row.count(0))
                .collect()
        })
        .expect("reads")
}

fn what_was_written_is_there_after_reopening(mut world: World) {
    for number in 1..=3 {
        note(&world.database(), number).expect("written");
    }
    let head = world.database().audit_head().expect("a head");
    let database = world.reopen();
    assert_eq!(notes(&database), [1, 2, 3]);
    assert_eq!(database.verify_audit().expect("whole"), head);
    assert_eq!(head.number, 4);
    assert_eq!(world.log().lines().count(), 4);
}

fn what_a_record_takes_is_told(world: World) {
    let database = world.database();
    note(&database, 1).expect("written");
    let [bytes, log] = database.bytes().expect("looked at");
    assert!(bytes > 10_000, "{bytes}");
    assert_eq!(log, world.log().len() as u64);
}

fn a_call_that_fails_takes_back_its_own_changes_only(world: World) {
    let database = world.database();
    std::thread::scope(|scope| {
        for number in 0..100 {
            let database = &database;
            scope.spawn(move || {
                let outcome = database.write(move |transaction| {
                    noted(transaction, number)?;
                    if number % 2 == 0 {
                        Err(Error::Token)
                    } else {
                        Ok(())
                    }
                });
                assert_eq!(outcome.is_ok(), number % 2 == 1);
                // A statement that the database itself refuses.
                let again = database.write(move |transaction| {
                    noted(transaction, number | 1)?;
                    noted(transaction, number | 1)
                });
                assert!(matches!(again, Err(Error::Database(_))), "{again:?}");
            });
        }
    });
    assert_eq!(
        notes(&database),
        (0..100).filter(|number| number % 2 == 1).collect::<Vec<u64>>()
    );
    assert_eq!(database.verify_audit().expect("whole").number, 51);
}

fn a_call_that_panics_is_taken_back(world: World) {
    let database = world.database();
    let outcome: Result<()> = database.write(|transaction| {
        noted(transaction, 1)?;
        std::panic::resume_unwind(Box::new(()))
    });
    assert!(matches!(outcome, Err(Error::Database(_))), "{outcome:?}");
    note(&database, 2).expect("goes on");
    assert_eq!(notes(&database), [2]);
    assert_eq!(database.verify_audit().expect("whole").number, 2);
}

fn a_read_cannot_write(world: World) {
    let database = world.database();
    let outcome = database.read(|connection| connection.run("DELETE FROM audit_head", &[]));
    assert!(matches!(outcome, Err(Error::Database(_))), "{outcome:?}");
    assert_eq!(notes(&database), [0; 0]);
    assert_eq!(database.audit_head().expect("still there").number, 1);
}

fn the_log_is_settled_while_it_grows(mut world: World) {
    let database = world.database();
    let pending = |database: &Database| {
        let sql = "SELECT COUNT(*) FROM audit_pending";
        database
            .read(move |connection| connection.one(sql, &[])?.expect("a row").count(0))
            .expect("reads")
    };
    let mut most = 0;
    for _ in 0..10 {
        database
            .write(|transaction| {
                for number in 0..100 {
                    let event = Event::Queued {
                        job: JobId([number; 16]),
                    };
                    transaction.audit(at(0), &event)?;
                }
                Ok(())
            })
            .expect("written");
        most = most.max(pending(&database));
    }
    assert!(most < 500, "{most} of 1000 lines are kept");
    assert_eq!(database.verify_audit().expect("whole").number, 1001);
    drop(database);
    assert_eq!(pending(&world.reopen()), 0);
}

/// Notes a number that may be on the disk later.
fn note_soon(database: &Database, number: u8) -> Result<()> {
    database.write_soon(move |transaction| noted(transaction, number))
}

fn what_is_flushed_later_is_read_at_once_and_is_in_the_log_soon(mut world: World) {
    let database = world.database();
    for number in 1..=3 {
        note_soon(&database, number).expect("committed");
        assert_eq!(notes(&database).len(), usize::from(number));
    }
    let start = std::time::Instant::now();
    while world.log().lines().count() < 4 {
        assert!(start.elapsed() < PATIENCE, "nothing flushes it");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The log is read whole, whatever is committed just before.
    note_soon(&database, 4).expect("committed");
    assert_eq!(database.verify_audit().expect("whole").number, 5);
    note_soon(&database, 5).expect("committed");
    drop(database);
    assert_eq!(notes(&world.reopen()), [1, 2, 3, 4, 5]);
    assert_eq!(world.log().lines().count(), 6);
}

fn the_log_is_never_ahead_of_what_is_on_the_disk(world: World) {
    let database = world.database();
    let (mut looked, mut number) = (0, 0);
    while looked < 3 && number < 200 {
        note(&database, number).expect("written");
        let (flushed, before) = (world.log(), database.work().statements);
        note_soon(&database, number + 1).expect("committed");
        let log = world.log();
        // The setting, the two statements of the transaction, the two of the savepoint, the call's two and the log's end. A flush runs more.
        if database.work().statements - before == 1 + 2 + 2 + 2 + 1 {
            assert_eq!(log, flushed);
            looked += 1;
        }
        number += 2;
    }
    assert_eq!(looked, 3, "it was always flushed at once");
}

#[test]
fn sqlite_flushes_what_it_commits() {
    let world = World::embedded();
    for (pragma, value) in [("PRAGMA synchronous", "2"), ("PRAGMA journal_mode", "wal")] {
        let found = world
            .database()
            .write(move |transaction| {
                let row = transaction.one(pragma, &[])?.expect("a row");
                row.integer(0)
                    .map(|value| value.to_string())
                    .or_else(|_| row.text(0).map(str::to_owned))
            })
            .expect("reads");
        assert_eq!(found, value, "{pragma}");
    }
    let synchronous = |transaction: &mut Transaction<'_>| {
        let row = transaction.one("PRAGMA synchronous", &[])?.expect("a row");
        row.integer(0)
    };
    let database = world.database();
    assert_eq!(database.write_soon(synchronous).expect("reads"), 1, "later");
    assert_eq!(database.write(synchronous).expect("reads"), 2, "now");
}

/// Has the writer wait, so that calls queue up behind it, until what this gives is dropped.
fn hold(database: &Database) -> SyncSender<()> {
    let (release, wait) = sync_channel::<()>(0);
    let (begun, running) = sync_channel(0);
    let call = database.begin_write(Flush::Now, move |_| {
        begun.send(()).map_err(|_| Error::Closed)?;
        let _ = wait.recv();
        Ok(())
    });
    drop(call.expect("asked"));
    running.recv().expect("waits");
    release
}

#[test]
fn calls_that_wait_are_committed_together() {
    let world = World::embedded();
    let database = world.database();
    let held = hold(&database);
    let replies: Vec<_> = (0..50)
        .map(|number| {
            let call = move |transaction: &mut Transaction<'_>| noted(transaction, number);
            database.begin_write(Flush::Now, call).expect("asked")
        })
        .collect();
    let before = database.work().statements;
    drop(held);
    for reply in replies {
        reply.wait().expect("written");
    }
    // The end of the first transaction; then one for all, with two statements between the two of each savepoint.
    assert_eq!(database.work().statements - before, 2 + 1 + 50 * 4 + 2);
    assert_eq!(notes(&database).len(), 50);
}

#[test]
fn a_call_is_refused_or_given_up_when_the_database_is_stuck() {
    let world = World::embedded();
    let database = world.database();
    let held = hold(&database);
    let call = || database.begin_write(Flush::Now, |transaction| noted(transaction, 1));
    let first = call().expect("asked");
    let outcome = answer(&first.0, Duration::ZERO);
    assert!(matches!(outcome, Err(Error::Unknown(_))), "{outcome:?}");
    for _ in 1..WAITING {
        drop(call().expect("asked"));
    }
    assert!(matches!(call(), Err(Error::Busy { waiting: WAITING })));
    drop(held);
    // What was given up has taken effect, as it may.
    first.wait().expect("written");
    assert_eq!(notes(&database), [1]);
}

#[test]
fn a_damaged_database_is_named_with_what_to_do() {
    let place = tempfile::tempdir().expect("a folder");
    drop(Database::open(place.path(), &Address::Embedded).expect("opens"));
    let file = place.path().join(SQLITE);
    let length = std::fs::metadata(&file).expect("there").len();
    std::fs::write(&file, vec![0x5a; usize::try_from(length).expect("short")]).expect("written");
    let error = Database::open(place.path(), &Address::Embedded).expect_err("damaged");
    assert!(
        matches!(&error, Error::Damaged { path, .. } if *path == file),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(&file.display().to_string()) && text.contains("empty folder"),
        "{text}"
    );
}

#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).expect("opened up");
    let database = Database::open(place.path(), &Address::Embedded).expect("opens");
    note(&database, 1).expect("written");
    crate::ResultKey::open(database.folder()).expect("made");
    let mut names = Vec::new();
    for file in std::fs::read_dir(place.path()).expect("readable").flatten() {
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", file.path());
        names.push(file.file_name().into_string().expect("text"));
    }
    names.sort();
    let expected = [
        "audit.jsonl",
        "results.key",
        "service.db",
        "service.db-shm",
        "service.db-wal",
        "service.lock",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_folder_that_another_service_uses_is_refused_by_name() {
    let world = World::embedded();
    let error = Database::open(&world.path(), &Address::Embedded).expect_err("in use");
    assert!(
        matches!(&error, Error::InUse { place, .. } if *place == world.path().display().to_string()),
        "{error}"
    );
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    let mut world = World::embedded();
    world
        .database()
        .write(|transaction| transaction.run("UPDATE cenote_service SET version = 99", &[]))
        .expect("written");
    world.close();
    let error = Database::open(&world.path(), &Address::Embedded).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 99, known: 9 }), "{error}");
}

#[test]
fn addresses_off_this_machine_are_refused_without_their_passwords() {
    for near in [
        "postgres://me:hush@localhost:5432/cenote",
        "postgresql://127.0.0.1/cenote",
        "postgres://[::1]/cenote",
        "postgres:///cenote?host=%2Frun%2Fpostgresql",
    ] {
        let address = Address::parse(near).expect(near);
        assert_eq!(format!("{address:?}"), "Postgres");
    }
    for far in [
        "postgres://me:hush@db.example.com/cenote",
        "postgres://me:hush@10.0.0.1/cenote",
        "postgres://me:hush@localhost/cenote?hostaddr=10.0.0.1",
        "postgres://me:hush@localhost,db.example.com/cenote",
        "postgres://me:hush@localhost:port/cenote",
        "mysql://me:hush@localhost/cenote",
    ] {
        let error = Address::parse(far).expect_err(far);
        assert!(matches!(error, Error::Address(_)));
        assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    }
}

/// What only PostgreSQL can do wrong.
pub(crate) fn postgres(server: &Server) {
    let mut world = World::new(server.database("own"));
    let other = tempfile::tempdir().expect("a folder");

    // Two services, each with a folder of its own, on one database.
    let error = Database::open(other.path(), &world.address).expect_err("in use");
    assert!(
        matches!(&error, Error::InUse { place, .. } if place == "the database"),
        "{error}"
    );

    // Connections that are lost are made again, and nothing is lost or doubled.
    let database = world.database();
    note(&database, 1).expect("written");
    server.run(
        "postgres",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'own'",
    );
    let start = Instant::now();
    while let Err(error) = note(&database, 2) {
        assert!(
            matches!(
                error,
                Error::Database(_) | Error::Unknown(_) | Error::InUse { .. }
            ),
            "{error}"
        );
        assert!(start.elapsed() < Duration::from_secs(60), "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let read = (0..100).find_map(|_| {
        database
            .read(|connection| connection.rows("SELECT data FROM disclosure", &[]))
            .ok()
    });
    assert_eq!(read.expect("connected again").len(), 2);
    assert_eq!(database.verify_audit().expect("whole").number, 3);
    drop(database);

    // A database with another folder's log.
    world.close();
    let error = open_once_free(other.path(), &world.address).expect_err("no log");
    assert!(matches!(error, Error::Audit(Fault::File(_))), "{error}");

    // A connection that is ending may hold the database for a moment.
    let place = Place {
        address: world.address.clone(),
        sqlite: PathBuf::new(),
        audit: PathBuf::new(),
        meter: Arc::default(),
        health: Arc::default(),
        durable: Arc::new(Mutex::new(Head::empty())),
    };
    let patience = Duration::from_secs(20);
    let connect = || place.connect(Access::Write).expect("connects");
    let (mut ending, mut next) = (connect(), connect());
    ending.claim_within(patience).expect("free");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(ending);
        });
        next.claim_within(patience).expect("free again within a moment");
    });
}
