//! Plans of jobs, asked for by programs.

use std::time::{Duration, Instant};

use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;
use crate::fake::asking::{self, NOWHERE, WRONG};

/// A service that knows tables.
fn world() -> World {
    let world = World::new();
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.catalogue = asking::catalogue(&shown.names);
    }
    world
}

fn plan(client: &Client, sql: &str) -> crate::client::Reply {
    let compose = json!({"sql": sql, "receivers": ["North Bank"]});
    client.post("/api/v1/plan", &json!({ "compose": compose }))
}

#[test]
fn a_plan_tells_what_a_job_takes_or_where_it_is_wrong() {
    let world = world();
    let client = Client::bearer(&world, &world.token(&[Scope::Propose]));
    let found = plan(&client, "SELECT 1 FROM loans");
    assert_eq!(found.status, 200);
    let found = found.json();
    assert_eq!(found["data"], json!({"loans": "loans.csv"}));
    assert_eq!(found["planned"]["steps"][1]["owner"], 0);
    assert_eq!(found["fault"], json!(null));
    let job = found["job"].as_str().expect("a job").to_owned();
    let again = client.post("/api/v1/plan", &json!({ "job": job })).json();
    assert_eq!(again["planned"], found["planned"]);
    let wrong = plan(&client, &format!("SELECT\n {WRONG}")).json();
    assert_eq!(wrong["fault"]["at"], json!({"line": 2, "column": 2}));
    assert_eq!(wrong["planned"], json!(null));
    let unknown = plan(&client, &format!("SELECT 1 FROM {NOWHERE}")).json();
    assert_eq!(unknown["fault"]["at"], json!({"line": 1, "column": 15}));
    assert_eq!(unknown["job"], json!(null));
    for body in [
        json!({}),
        json!({"job": "x", "compose": {"sql": "", "receivers": []}}),
    ] {
        let refusal = client.post("/api/v1/plan", &body).refusal();
        assert_eq!(refusal, (422, "bad-plan".into()));
    }
    let long = plan(&client, &"x".repeat(70_000));
    assert_eq!(long.refusal(), (413, "too-long".into()));
}

#[test]
fn a_token_has_one_plan_at_a_time_and_others_go_on() {
    let world = world();
    world.fake.shown.lock().expect("whole").held = Some("held".into());
    let client = Client::bearer(&world, &world.token(&[Scope::Propose, Scope::Read]));
    let other = Client::bearer(&world, &world.token(&[Scope::Propose]));
    std::thread::scope(|scope| {
        let held = scope.spawn(|| plan(&client, "SELECT 'held'").status);
        let end = Instant::now() + Duration::from_secs(20);
        while world.fake.shown.lock().expect("whole").planned.is_empty() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        let second = scope.spawn(|| plan(&client, "SELECT 'second'"));
        let third = scope.spawn(|| plan(&client, "SELECT 'third'"));
        // One of the two is overtaken while the first is still held.
        while !second.is_finished() && !third.is_finished() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        assert_eq!(plan(&other, "SELECT 'other'").status, 200);
        assert_eq!(client.get("/api/v1/jobs").status, 200);
        world.fake.shown.lock().expect("whole").held = None;
        let replies = [second, third].map(|call| call.join().expect("ended"));
        let overtaken = replies.iter().filter(|reply| reply.status == 409);
        let overtaken: Vec<(u16, String)> = overtaken.map(|reply| reply.refusal()).collect();
        assert_eq!(overtaken, [(409, "overtaken".into())]);
        assert_eq!(held.join().expect("ended"), 200);
    });
    let planned = world.fake.shown.lock().expect("whole").planned.clone();
    assert_eq!(planned.len(), 3, "{planned:?}");
}
