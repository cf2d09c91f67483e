//! A service that is killed, at any point.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

const FOLDER: &str = "CENOTE_TEST_FOLDER";

/// Not a test of its own: the process that [`nothing_acknowledged_is_lost_by_kill_9`] kills. It writes, and says so, until then.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let database = Database::open(folder.as_ref(), &Address::Embedded).expect("opens");
    let first = notes(&database).len() as u8;
    for number in (first..).take(45) {
        // What may be flushed later survives this, too.
        match number % 2 {
            0 => note(&database, number).expect("written"),
            _ => note_soon(&database, number).expect("written"),
        }
        println!("\nwritten {number}");
    }
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let place = tempfile::tempdir().expect("a folder");
    let mut total = 0;
    for round in 0..5 {
        let mut child = Command::new(std::env::current_exe().expect("a name"))
            .args(["--exact", "database::tests::kill::child", "--nocapture"])
            .env(FOLDER, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = output
            .lines()
            .map_while(std::result::Result::ok)
            .filter_map(|line| {
                line.strip_prefix("written ")
                    .and_then(|number| number.parse::<u64>().ok())
            });
        let last = said.nth(3 + round).expect("it writes");
        child.kill().expect("killed");
        let last = said.last().unwrap_or(last);
        child.wait().expect("ended");

        let database = Database::open(place.path(), &Address::Embedded).expect("opens");
        let found = notes(&database);
        assert!(
            found.len() as u64 > last,
            "{last} was written, and there are {}",
            found.len()
        );
        assert_eq!(found, (0..found.len() as u64).collect::<Vec<u64>>());
        let lines = database.verify_audit().expect("whole").number;
        assert_eq!(lines, found.len() as u64 + 1);
        assert!(found.len() > total);
        total = found.len();
    }
}
