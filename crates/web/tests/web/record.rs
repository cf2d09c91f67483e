//! What callers are told of the record: for whom a job waits, and what the record takes.

use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;

#[test]
fn a_submitter_is_told_at_once_for_whom_the_job_waits() {
    let world = World::new();
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.peers[0].reason = Some("it can record nothing at present".into());
        shown.stuck = Some("the disk of /srv/service is full".into());
    }
    let client = Client::bearer(&world, &world.token(&[Scope::Propose, Scope::Read]));
    let keyed = client.clone().with("idempotency-key", "k");
    let made = keyed.post("/api/v1/jobs", &json!({"job": "circuit"}));
    assert_eq!(made.status, 201, "{}", made.text);
    let job = made.json();
    let detail = client.get(&format!("/api/v1/jobs/{}", job["id"].as_str().expect("a name")));
    let listed = client.get("/api/v1/jobs").json();
    for job in [&job, &detail.json()["job"], &listed["jobs"][0]] {
        let waits_for = job["waits_for"].as_str().expect("it waits");
        for part in [
            "this party, which has not decided",
            "party 1 (South Bank), which has not decided: it can record nothing at present",
            "this party: the disk of /srv/service is full",
        ] {
            assert!(waits_for.contains(part), "{part}\n{waits_for}");
        }
    }
}

#[test]
fn metrics_tell_what_waits_and_what_the_record_takes() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&[Scope::Propose, Scope::Read]));
    let metrics = || client.get("/metrics").text;
    let value = |text: &str, name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}\n{text}"))
            .parse::<f64>()
            .expect("a number")
    };
    let before = metrics();
    assert_eq!(value(&before, "cenote_proposals_waiting"), 0.0);
    assert_eq!(value(&before, "cenote_proposals_waiting_oldest_seconds"), 0.0);
    assert_eq!(value(&before, "cenote_disk_free_bytes"), 7e9);
    let keyed = client.clone().with("idempotency-key", "k");
    assert_eq!(keyed.post("/api/v1/jobs", &json!({"job": "circuit"})).status, 201);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let after = metrics();
    assert_eq!(value(&after, "cenote_proposals_waiting"), 1.0);
    assert!(value(&after, "cenote_proposals_waiting_oldest_seconds") > 0.0);
    assert!(value(&after, "cenote_audit_log_bytes") > value(&before, "cenote_audit_log_bytes"));
    assert!(value(&after, "cenote_database_bytes") >= 100_000.0, "{after}");
}
