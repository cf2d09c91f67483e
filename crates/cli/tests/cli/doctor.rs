//! `cenote doctor`.

use std::path::Path;

use cenote_service::live::{Alarm, AlarmKind, LinkState};
use cenote_service::{Address, Database, Timestamp};

use crate::common::{run, write};
use crate::services::{Place, plain, private, well};

#[test]
fn the_doctor_looks_at_a_service_that_is_up() {
    let place = Place::new();
    let healthy = place.run(&["doctor"]);
    let text = well(&healthy);
    for part in [
        "this party's fingerprint is ",
        "it takes jobs",
        "South Bank is connected",
        "40000000 of 50000000",
        "as the database has them",
        "free on the disk",
        "a person decides on each job",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("FAULT"), "{text}");
    {
        let mut shown = place.world.fake.shown.lock().expect("whole");
        shown.ready = Err("West Bank is not there".into());
        shown.peers[0].clock_ahead = Some(-7000.0);
        shown.peers[0].version = Some("0.0.9".into());
        shown.peers[1].link = LinkState::Refused;
        shown.peers[1].reason = Some("it shows another key".into());
        shown.stock[0].amount = 5;
        shown.alarms = vec![Alarm {
            kind: AlarmKind::Cheating,
            text: "South Bank cheated".into(),
            advice: "speak with its operator".into(),
            since: Timestamp::now(),
        }];
    }
    private(&place.folder.path().join("identity.pem"), 0o644);
    private(&place.folder.path().join("data"), 0o755);
    let key = place.world.database.folder().path().join("results.key");
    std::fs::remove_file(key).expect("removed");
    let ill = place.run(&["doctor"]);
    ill.failed(1, &["there are 6 faults"]);
    for part in [
        "results.key is missing",
        "chmod 600 it",
        "it takes no jobs: West Bank is not there",
        "the clock of South Bank is 7.0 s behind",
        "South Bank runs 0.0.9",
        "West Bank is refused: it shows another key",
        "5 of 50000000",
        "South Bank cheated",
        "speak with its operator",
        "chmod 700",
    ] {
        assert!(ill.stdout.contains(part), "{part}\n{}", ill.stdout);
    }
    let told = run(place.command(&["doctor"]).arg("--json"));
    let findings: serde_json::Value = serde_json::from_str(&told.stdout).expect("one object");
    let findings = findings["findings"].as_array().expect("findings").clone();
    assert_eq!(
        findings
            .iter()
            .filter(|finding| finding["grade"] == "fault")
            .count(),
        6
    );
    // Each finding that is not well says what to do.
    assert!(
        findings.iter().all(|finding| finding["grade"] == "well"
            || finding["advice"].as_str().is_some_and(|text| text.len() > 5))
    );
}

/// Copies a folder of files, for its owner only.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    private(to, 0o700);
    for file in std::fs::read_dir(from).expect("there").flatten() {
        let copy = to.join(file.file_name());
        std::fs::copy(file.path(), &copy).expect("copied");
        private(&copy, 0o600);
    }
}

/// What is done to a file.
type Harm = fn(&Path);

/// A service that is down, and cannot start or would lose what it should keep: each cause is found, by its file.
#[test]
fn the_doctor_finds_what_keeps_a_service_that_is_down_from_starting() {
    let mut place = Place::new();
    place.world.served = None;
    let service = place.world.database.folder().path().to_owned();
    let text = std::fs::read_to_string(&place.config).expect("readable");
    let cases: [(&str, &str, Harm); 6] = [
        ("service.db", "is damaged", |path| {
            let length = std::fs::metadata(path).expect("there").len() as usize;
            std::fs::write(path, vec![0x5a; length]).expect("written");
        }),
        ("service.db", "the database is missing", |path| {
            std::fs::remove_file(path).expect("removed");
        }),
        ("audit.jsonl", "the file ends after line 0", |path| {
            let file = std::fs::OpenOptions::new().write(true).open(path).expect("there");
            file.set_len(10).expect("cut");
        }),
        ("results.key", "is missing", |path| {
            std::fs::remove_file(path).expect("removed");
        }),
        ("results.key", "is not the key that was here", |path| {
            std::fs::write(path, [7; 32]).expect("written");
        }),
        ("results.key", "it is no key", |path| {
            std::fs::write(path, "short").expect("written");
        }),
    ];
    for (number, (file, said, harm)) in cases.into_iter().enumerate() {
        let left = place.folder.path().join(format!("left-{number}"));
        copy(&service, &left);
        drop(Database::open(&left, &Address::Embedded).expect("opens"));
        let changed = text.replace(&service.display().to_string(), &left.display().to_string());
        std::fs::write(&place.config, changed).expect("written");
        let sound = run(plain(&["doctor", "--config"]).arg(&place.config));
        assert!(
            sound
                .stdout
                .contains("database, audit log and key go with each other"),
            "{}",
            sound.stdout
        );
        harm(&left.join(file));
        let ill = run(plain(&["doctor", "--config"]).arg(&place.config));
        assert_eq!(ill.code, Some(1), "{said}: {}", ill.stdout);
        for part in [&left.join(file).display().to_string(), said] {
            assert!(ill.stdout.contains(part), "{part}\n{}", ill.stdout);
        }
        let harmed: Vec<_> = std::fs::read_dir(&left).expect("there").flatten().collect();
        assert!(harmed.iter().all(|file| file.file_name() != "results.key.part"));
    }
}

#[test]
fn the_doctor_looks_at_a_service_that_is_down() {
    let mut place = Place::new();
    let does_not_answer = format!("does not answer at {}", place.world.served().address());
    place.world.served = None;
    let held = place.run(&["doctor"]);
    held.failed(1, &["there are 2 faults"]);
    for part in [&does_not_answer, "is in use by another service"] {
        assert!(held.stdout.contains(part), "{part}\n{}", held.stdout);
    }
    let Place {
        world,
        folder,
        config,
    } = place;
    let service = world.database.folder().path().to_owned();
    let log = std::fs::read_to_string(service.join("audit.jsonl")).expect("readable");
    // The test's own folder stands for that of a service whose process has ended.
    let left = folder.path().join("left");
    copy(&service, &left);
    drop(Database::open(&left, &Address::Embedded).expect("opens"));
    let text = std::fs::read_to_string(&config).expect("readable");
    let text = text.replace(&service.display().to_string(), &left.display().to_string());
    std::fs::write(&config, &text).expect("written");
    let doctor = |config: &Path| run(plain(&["doctor", "--config"]).arg(config));
    let down = doctor(&config);
    for part in [
        "it does not run",
        "is free",
        "party 1 connects to this one",
        "lines, each follows",
        "material is made while jobs run",
    ] {
        assert!(well(&down).contains(part), "{part}\n{}", down.stdout);
    }
    // What is wrong on the disk is found.
    std::fs::write(left.join("audit.jsonl"), log.replace("begun", "began")).expect("written");
    let policy = write(folder.path(), "policy.toml", "what = 1\n");
    std::fs::write(&config, format!("{text}policy = '{}'\n", policy.display())).expect("written");
    std::fs::remove_file(left.join("results.key")).expect("removed");
    let ill = doctor(&config);
    ill.failed(1, &["there are 3 faults"]);
    for part in [
        "audit.jsonl: line 1 was changed",
        "results.key is missing",
        "policy    ",
        "find out who could write to it",
    ] {
        assert!(ill.stdout.contains(part), "{part}\n{}", ill.stdout);
    }
}
