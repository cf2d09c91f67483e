//! What is logged.

use std::io::Write;
use std::sync::{Arc, Mutex};

use cenote_service::token::Scope;
use serde_json::{Value, json};

use crate::client::Client;
use crate::fake::{RESULT, World};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("whole").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The subscriber is the process's, so this is the one test that sets it; other tests' lines are in it too.
#[test]
fn the_log_names_jobs_and_holds_no_secret_value_or_body() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let world = World::new();
    let token = world.token(&Scope::ALL);
    let client = Client::bearer(&world, &token);
    let keyed = client.clone().with("idempotency-key", "KEYOFTHEJOB");
    let job = keyed.post(
        "/api/v1/jobs",
        &json!({"job": "circuit # TEXTOFTHEJOB", "files": {"a.txt": "TEXTOFAFILE"},
            "approval": {"posted": {"left": "VALUEPOSTED"}, "reason": "WHYITISGOOD"}}),
    );
    assert_eq!(job.status, 201, "{}", job.text);
    let id = job.json()["id"].as_str().expect("a name").to_owned();
    world.fake.peers_approve(id.parse().expect("a name"));
    world.fake.run(id.parse().expect("a name"));
    let fetched = client.post(&format!("/api/v1/jobs/{id}/fetch"), &json!({"key": "KEYOFFETCH"}));
    assert_eq!(fetched.text, RESULT);
    let login = world.login(&[Scope::Read]);
    let page = Client::new(&world).with("origin", &world.url());
    let session = page.post("/api/v1/session", &json!({"login": login}));
    let cookie = session.headers["set-cookie"].to_str().expect("text").to_owned();
    let csrf = session.json()["csrf"].as_str().expect("a token").to_owned();
    make_mistakes(&client);
    drop(world);
    let text = String::from_utf8(lines.0.lock().expect("whole").clone()).expect("text");
    let secrets = [
        &token[24..],
        &login[24..],
        cookie.split(['=', ';']).nth(1).expect("a value"),
        &csrf,
        "KEYOFTHEJOB",
        "TEXTOFTHEJOB",
        "TEXTOFAFILE",
        "VALUEPOSTED",
        "WHYITISGOOD",
        "KEYOFFETCH",
        "SECRETINQUERY",
        "SECRETINPATH",
        "SECRETASJOB",
        "VALUEOFWRONGTYPE",
        "SECRETHEADER",
        RESULT,
        &RESULT.replace('"', "\\\""),
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_traced(&text, &id);
}

/// Mistakes that people make: secrets in addresses, values in bodies that are refused.
fn make_mistakes(client: &Client) {
    client.get("/api/v1/jobs?token=SECRETINQUERY");
    client.get("/SECRETINPATH");
    client.get("/api/v1/jobs/SECRETASJOB");
    client.post(
        "/api/v1/tokens",
        &json!({"name": ["VALUEOFWRONGTYPE"], "scopes": []}),
    );
    client
        .clone()
        .with("x-other", "SECRETHEADER")
        .get("/api/v1/about");
}

/// Each line is an object, and the lines of a job name it.
fn assert_traced(text: &str, id: &str) {
    let answered: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let traced: Vec<&Value> = answered
        .iter()
        .filter(|line| line["span"]["trace"] == id)
        .collect();
    let routes: Vec<&str> = traced
        .iter()
        .filter_map(|line| line["span"]["route"].as_str())
        .collect();
    assert!(
        routes.contains(&"/api/v1/jobs") && routes.contains(&"/api/v1/jobs/{job}/fetch"),
        "{routes:?}"
    );
    assert!(
        traced
            .iter()
            .all(|line| line["span"]["caller"].as_str().is_some_and(|id| id.len() == 16))
    );
    assert!(traced.iter().any(|line| line["fields"]["status"] == 201));
}
