//! `cenote doctor`.

use std::path::Path;

use cenote_service::Timestamp;
use cenote_service::live::{Alarm, AlarmKind, LinkState};

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
    let ill = place.run(&["doctor"]);
    ill.failed(1, &["there are 5 faults"]);
    for part in [
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
        5
    );
    // Each finding that is not well says what to do.
    assert!(
        findings.iter().all(|finding| finding["grade"] == "well"
            || finding["advice"].as_str().is_some_and(|text| text.len() > 5))
    );
}

#[test]
fn the_doctor_looks_at_a_service_that_is_down() {
    let mut place = Place::new();
    let does_not_answer = format!("does not answer at {}", place.world.served().address());
    place.world.served = None;
    let held = place.run(&["doctor"]);
    held.failed(1, &["there is a fault"]);
    assert!(held.stdout.contains(&does_not_answer), "{}", held.stdout);
    let Place {
        world,
        folder,
        config,
    } = place;
    let service = world.database.folder().path().to_owned();
    let log = std::fs::read_to_string(service.join("audit.jsonl")).expect("readable");
    // The test's own folder stands for that of a service whose process has ended.
    let left = folder.path().join("left");
    std::fs::create_dir(&left).expect("made");
    private(&left, 0o700);
    std::fs::write(left.join("audit.jsonl"), &log).expect("written");
    private(&left.join("audit.jsonl"), 0o600);
    let key = write(&left, "results.key", "a key");
    private(&key, 0o600);
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
    std::fs::remove_file(key).expect("removed");
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
