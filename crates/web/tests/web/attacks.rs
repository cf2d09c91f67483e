//! The attacker's tour: each is refused.

mod requests;
mod sites;

use cenote_service::Timestamp;
use cenote_service::audit::Actor;
use cenote_service::job::StateName;
use cenote_service::token::Scope;
use serde_json::json;

use crate::client::{Client, Reply, raw, status};
use crate::fake::World;

/// Calls, and the scope that each needs.
fn calls(job: &str) -> Vec<(&'static str, String, Scope)> {
    let at = |rest: &str| format!("/api/v1/jobs/{job}{rest}");
    let plain = |path: &str| format!("/api/v1/{path}");
    vec![
        ("GET", plain("jobs"), Scope::Read),
        ("POST", plain("jobs"), Scope::Propose),
        ("POST", plain("plan"), Scope::Propose),
        ("GET", at(""), Scope::Read),
        ("POST", at("/approve"), Scope::Approve),
        ("POST", at("/decline"), Scope::Approve),
        ("POST", at("/cancel"), Scope::Propose),
        ("POST", at("/fetch"), Scope::Propose),
        ("GET", at("/events"), Scope::Read),
        ("GET", plain("events"), Scope::Read),
        ("GET", plain("about"), Scope::Read),
        ("GET", plain("data"), Scope::Read),
        ("GET", plain("peers"), Scope::Read),
        ("GET", plain("peers/1/unsettled"), Scope::Read),
        ("DELETE", plain("peers/1/unsettled"), Scope::Admin),
        ("GET", plain("parties/1/put-back"), Scope::Read),
        ("DELETE", plain("parties/1/put-back"), Scope::Admin),
        ("GET", plain("stock"), Scope::Read),
        ("GET", plain("running"), Scope::Read),
        ("GET", plain("alarms"), Scope::Read),
        ("GET", plain("history"), Scope::Read),
        ("GET", plain("audit"), Scope::Read),
        ("POST", plain("audit/verify"), Scope::Admin),
        ("GET", plain("kept"), Scope::Read),
        ("DELETE", plain(&format!("kept/{job}/balances")), Scope::Approve),
        ("GET", plain("tokens"), Scope::Admin),
        ("POST", plain("tokens"), Scope::Admin),
        ("DELETE", plain("tokens/x"), Scope::Admin),
        ("GET", "/metrics".into(), Scope::Read),
    ]
}

fn body(method: &str) -> Option<&'static str> {
    (method == "POST").then_some("{")
}

#[test]
fn a_token_without_the_scope_is_refused_before_its_body_is_read() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit").proposal.id.to_string();
    for (method, path, needed) in calls(&job) {
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(|scope| *scope != needed).collect();
        let client = Client::bearer(&world, &world.token(&others));
        let reply = client.call(method, &path, body(method));
        assert_eq!(reply.refusal(), (403, "no-scope".into()), "{method} {path}");
        for token in [
            String::new(),
            "x".into(),
            format!("cenote_{}_{}", "0".repeat(16), "0".repeat(64)),
        ] {
            let reply = Client::bearer(&world, &token).call(method, &path, body(method));
            assert_eq!(reply.refusal(), (401, "no-token".into()), "{method} {path}");
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
        }
    }
    // To approve while submitting takes both.
    let client = Client::bearer(&world, &world.token(&[Scope::Propose])).with("idempotency-key", "k");
    let both = json!({"job": "circuit", "approval": {"data": {"left": "loans.csv"}}});
    assert_eq!(
        client.post("/api/v1/jobs", &both).refusal(),
        (403, "no-scope".into())
    );
    assert_eq!(world.fake.jobs.list(all()).expect("listed").jobs.len(), 1);
}

fn all() -> cenote_service::job::PageRequest {
    cenote_service::job::PageRequest {
        state: None,
        before: None,
        limit: 200,
    }
}

#[test]
fn names_of_data_and_files_lead_nowhere_else() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    let job = world.fake.proposed_by_peer("circuit");
    let path = format!("/api/v1/jobs/{}/approve", job.proposal.id);
    for name in [
        "../service/service.db",
        "/etc/passwd",
        "..",
        "a/b",
        "..\\a",
        "a\0",
        ".ssh",
        "",
    ] {
        let approve = json!({"proposal": job.digest.to_string(), "data": {"left": name}});
        assert_eq!(
            client.post(&path, &approve).refusal(),
            (422, "bad-name".into()),
            "{name}"
        );
        let submit = json!({"job": "circuit", "approval": {"data": {"left": name}}});
        let keyed = client.clone().with("idempotency-key", "k");
        assert_eq!(
            keyed.post("/api/v1/jobs", &submit).refusal(),
            (422, "bad-name".into()),
            "{name}"
        );
    }
    for name in ["../a", "/etc/passwd", "a/../../b", "", "a\\b", "a\nb"] {
        let submit = json!({"job": "circuit", "files": {name: "text"}});
        let keyed = client.clone().with("idempotency-key", "k");
        assert_eq!(
            keyed.post("/api/v1/jobs", &submit).refusal(),
            (422, "bad-name".into()),
            "{name}"
        );
    }
    let unknown = json!({"proposal": job.digest.to_string(), "data": {"left": "other.csv"}});
    assert_eq!(client.post(&path, &unknown).refusal(), (422, "refused".into()));
    let both =
        json!({"proposal": job.digest.to_string(), "data": {"left": "loans.csv"}, "posted": {"left": "1"}});
    assert_eq!(client.post(&path, &both).refusal(), (422, "two-sources".into()));
    assert_eq!(
        world.fake.jobs.get(job.proposal.id).expect("there").decisions,
        vec![None, None, None]
    );
    for path in [
        "/page/../../etc/passwd",
        "/page/%2e%2e/%2e%2e/etc/passwd",
        "/page/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/page/style.css%00.html",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(
            status(&raw(world.served().address(), request.as_bytes())),
            404,
            "{path}"
        );
    }
}

#[test]
fn nobody_takes_what_somebody_else_asked_for() {
    let world = World::new();
    let made = |name: &str, scopes: &[Scope]| {
        let scopes = scopes.iter().copied().collect();
        let secret = world
            .tokens
            .create(name, &scopes, None, Actor::Service, Timestamp::now());
        Client::bearer(&world, secret.expect("made").reveal())
    };
    let (ada, bob) = (
        made("ada", &[Scope::Propose]),
        made("bob", &[Scope::Propose, Scope::Approve]),
    );
    let keyed = ada.clone().with("idempotency-key", "k");
    let job = keyed.post("/api/v1/jobs", &json!({"job": "circuit"})).json();
    let id = job["id"].as_str().expect("a name").to_owned();
    let path = format!("/api/v1/jobs/{id}");
    let cancel = |client: &Client, path: &str| client.call("POST", &format!("{path}/cancel"), Some("null"));
    let fetch = |client: &Client| client.post(&format!("{path}/fetch"), &json!({"key": "k"}));
    assert_eq!(cancel(&bob, &path).refusal(), (403, "not-theirs".into()));
    let approve = json!({"proposal": job["proposal"], "data": {"left": "loans.csv"}});
    assert_eq!(bob.post(&format!("{path}/approve"), &approve).status, 200);
    let parsed = id.parse().expect("a name");
    world.fake.peers_approve(parsed);
    world.fake.run(parsed);
    assert_eq!(fetch(&bob).refusal(), (403, "not-theirs".into()));
    assert_eq!(fetch(&ada).status, 200);
    // Of a job that another party proposed, those who may decide on it.
    let theirs = world.fake.proposed_by_peer("circuit of theirs").proposal.id;
    let other = format!("/api/v1/jobs/{theirs}");
    assert_eq!(cancel(&ada, &other).refusal(), (403, "not-theirs".into()));
    assert_eq!(cancel(&bob, &other).status, 200);
    let all = made("carol", &[Scope::Propose, Scope::Admin]);
    let keyed = ada.with("idempotency-key", "l");
    let third = keyed
        .post("/api/v1/jobs", &json!({"job": "circuit of a third"}))
        .json();
    let third = format!("/api/v1/jobs/{}", third["id"].as_str().expect("a name"));
    assert_eq!(cancel(&all, &third).status, 200);
}

#[test]
fn an_approval_is_of_what_was_seen_and_once() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    let job = world.fake.proposed_by_peer("circuit");
    let other = world.fake.proposed_by_peer("circuit of another kind");
    let path = format!("/api/v1/jobs/{}", job.proposal.id);
    let decide = |what: &str, digest: &str| -> Reply {
        let body = match what {
            "approve" => json!({"proposal": digest, "data": {"left": "loans.csv"}}),
            _ => json!({"proposal": digest, "reason": "no"}),
        };
        client.post(&format!("{path}/{what}"), &body)
    };
    for digest in [
        other.digest.to_string(),
        "0".repeat(64),
        String::new(),
        job.digest.to_string().to_uppercase(),
        job.proposal.program.digest.to_string(),
    ] {
        for what in ["approve", "decline"] {
            assert_eq!(
                decide(what, &digest).refusal(),
                (409, "other-proposal".into()),
                "{digest}"
            );
        }
    }
    let without = client.post(
        &format!("{path}/approve"),
        &json!({"data": {"left": "loans.csv"}}),
    );
    assert_eq!(without.refusal(), (400, "bad-request".into()));
    assert!(
        without.json()["message"]
            .as_str()
            .is_some_and(|text| text.contains("proposal"))
    );
    let digest = job.digest.to_string();
    assert_eq!(decide("approve", &digest).status, 200);
    assert_eq!(decide("approve", &digest).refusal(), (409, "wrong-state".into()));
    assert_eq!(decide("decline", &digest).refusal(), (409, "wrong-state".into()));
    // What was approved counts once.
    let used = world
        .fake
        .jobs
        .disclosures(job.proposal.program.digest, "loans.csv".into());
    assert_eq!(used.expect("counted"), 1);
}

#[test]
fn each_input_of_this_party_has_one_source_and_no_other_party_s_has() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    let job = world.fake.proposed_by_peer("circuit");
    for data in [
        json!({}),
        json!({"middle": "loans.csv"}),
        json!({"left": "loans.csv", "right": "loans.csv"}),
    ] {
        let body = json!({"proposal": job.digest.to_string(), "data": data});
        let reply = client.post(&format!("/api/v1/jobs/{}/approve", job.proposal.id), &body);
        assert_eq!(reply.refusal(), (422, "refused".into()), "{data}");
    }
    assert_eq!(
        world.fake.jobs.get(job.proposal.id).expect("there").state.name(),
        StateName::Proposed
    );
}

#[test]
fn every_answer_forbids_what_the_page_does_not_need() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    for path in [
        "/",
        "/page/main.js",
        "/page/style.css",
        "/api/v1/jobs",
        "/api/v1/jobs/x",
        "/none",
        "/healthz",
    ] {
        let headers = client.get(path).headers;
        let policy = headers["content-security-policy"].to_str().expect("text");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'),
            "{policy}"
        );
        assert_eq!(headers["x-frame-options"], "DENY");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cache-control"], "no-store");
        assert!(headers.get("server").is_none());
    }
}
