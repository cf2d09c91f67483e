//! Requests that are too long, or whose meaning is in doubt.

use cenote_service::audit::Actor;
use cenote_service::job::StateName;
use cenote_service::token::Scope;
use cenote_web::Limits;
use serde_json::json;

use super::all;
use crate::client::{Client, raw, status};
use crate::fake::World;

#[test]
fn bodies_that_are_too_long_are_not_read() {
    let world = World::limited(Limits {
        large_body: 4000,
        body: 300,
        ..Limits::default()
    });
    let client = Client::bearer(&world, &world.token(&Scope::ALL)).with("idempotency-key", "k");
    let submit = |length: usize| {
        client.post(
            "/api/v1/jobs",
            &json!({"job": "circuit", "files": {"a": "x".repeat(length)}}),
        )
    };
    assert_eq!(submit(3000).status, 201);
    assert_eq!(submit(5000).refusal(), (413, "too-long".into()));
    let name = json!({"name": "x".repeat(400), "scopes": ["read"]});
    assert_eq!(
        client.post("/api/v1/tokens", &name).refusal(),
        (413, "too-long".into())
    );
    // A length that is announced is believed, and refused without waiting for the rest; who has no token has nothing read.
    let token = world.token(&Scope::ALL);
    let announce = |head: &str, body: &str| {
        let request = format!(
            "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}\r\n\r\n{body}"
        );
        status(&raw(world.served().address(), request.as_bytes()))
    };
    let bearer = format!("Authorization: Bearer {token}\r\nIdempotency-Key: k2");
    assert_eq!(
        announce(&format!("{bearer}\r\nContent-Length: 99999999999"), ""),
        413
    );
    assert_eq!(announce("Content-Length: 99999999999", ""), 401);
    // One that is not announced is read as far as it may go.
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(4096));
    assert_eq!(
        announce(&format!("{bearer}\r\nTransfer-Encoding: chunked"), &chunk),
        413
    );
}

#[test]
fn what_is_not_the_json_of_a_call_is_refused() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL)).with("idempotency-key", "k");
    let deep = format!("{{\"job\":{}", "[".repeat(100_000));
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"job\"",
        "{\"job\": 1}",
        "{\"job\": \"a\", \"job\": \"b\"}",
        "{\"job\": \"a\", \"other\": 1}",
        "{\"job\": \"a\", \"within\": -1}",
        "{\"job\": \"a\", \"within\": 1e99}",
        "{\"job\": \"a\"} {}",
        "{\"job\": \"\u{0}\"}",
        "{\"job\": \"\\ud800\"}",
        &deep,
    ] {
        let reply = client.call("POST", "/api/v1/jobs", Some(body));
        assert_eq!(reply.refusal(), (400, "bad-request".into()), "{body:.50}");
    }
    let request = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n\
         Content-Length: 11\r\nConnection: close\r\n\r\n{{\"job\":\"",
        world.token(&Scope::ALL)
    );
    let answer = raw(
        world.served().address(),
        &[request.as_bytes(), b"\xff\"}"].concat(),
    );
    assert_eq!(status(&answer), 400, "{answer}");
    for key in ["", &"k".repeat(129)] {
        let keyed = Client::bearer(&world, &world.token(&Scope::ALL)).with("idempotency-key", key);
        assert_eq!(
            keyed.post("/api/v1/jobs", &json!({"job": "circuit"})).refusal(),
            (400, "no-key".into())
        );
    }
    assert_eq!(
        client
            .with("idempotency-key", "l")
            .post("/api/v1/jobs", &json!({"job": "circuit"}))
            .refusal(),
        (400, "no-key".into())
    );
    for id in ["x", &"A".repeat(32), &"0".repeat(31), "%00", "..%2f"] {
        let client = Client::bearer(&world, &world.token(&Scope::ALL));
        assert_eq!(client.get(&format!("/api/v1/jobs/{id}")).refusal().0, 400, "{id}");
    }
    assert!(world.fake.jobs.list(all()).expect("listed").jobs.is_empty());
}

/// Requests that two readers could take for different ones, and what is wrong with each.
const DOUBTFUL: [(&str, &str); 21] = [
    (
        "two lengths",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
    ),
    (
        "a list of lengths",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0, 0\r\n\r\n",
    ),
    (
        "a length with a sign",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: +0\r\n\r\n",
    ),
    (
        "length and chunks",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunks and length",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    ),
    (
        "an unknown coding",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "two codings",
        "POST /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    (
        "a space before a colon",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-A : b\r\n\r\n",
    ),
    (
        "a folded header",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n",
    ),
    (
        "two hosts",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    ),
    ("no host", "GET /readyz HTTP/1.1\r\n\r\n"),
    (
        "another's address",
        "GET http://evil.example/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "its own whole address",
        "GET http://localhost/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "a tunnel",
        "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "an older version",
        "GET /readyz HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
    ),
    ("no version", "GET /readyz\r\n"),
    (
        "a version to come",
        "GET /readyz HTTP/2.0\r\nHost: localhost\r\n\r\n",
    ),
    (
        "a null byte",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-A: b\0c\r\n\r\n",
    ),
    (
        "a bare carriage return",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-A: b\rX-B: c\r\n\r\n",
    ),
    ("two spaces", "GET  /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("no method", " /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
];

/// Nothing after them on their connection is read.
#[test]
fn requests_in_doubt_are_refused_and_their_connections_closed() {
    let world = World::new();
    let token = world.token(&Scope::ALL);
    let job = world
        .fake
        .propose(0, "circuit", "k", Actor::Service)
        .expect("proposed");
    let hidden = format!(
        "POST /api/v1/jobs/{}/cancel HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        job.proposal.id
    );
    let send = |text: &str| raw(world.served().address(), [text, &hidden].concat().as_bytes());
    for (what, request) in DOUBTFUL {
        let answer = send(request);
        let code = status(&answer);
        assert!((400..=421).contains(&code), "{what}: {answer}");
        assert_eq!(answer.matches("HTTP/1.").count(), 1, "{what}: {answer}");
        assert_eq!(
            world.fake.jobs.get(job.proposal.id).expect("there").state.name(),
            StateName::Proposed,
            "{what}"
        );
    }
    let many: String = (0..100).map(|number| format!("X-{number}: a\r\n")).collect();
    let long = format!("X-A: {}\r\n", "a".repeat(100_000));
    for headers in [many, long] {
        let request = format!("GET /readyz HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        assert_eq!(status(&raw(world.served().address(), request.as_bytes())), 431);
    }
    // The same behind a request in order is read, so that the cases above show something.
    assert_eq!(
        send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .matches("HTTP/1.1 200")
            .count(),
        2
    );
}

#[test]
fn an_input_that_is_named_twice_is_refused_without_being_quoted() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let client = Client::bearer(&world, &world.token(&Scope::ALL)).with("idempotency-key", "a");
    let posted = r#"{"left": "0xdead", "left": "0xbeef"}"#;
    let approve = format!(r#"{{"proposal": "{}", "posted": {posted}}}"#, job.digest);
    let submit = format!(r#"{{"job": "circuit", "approval": {{"posted": {posted}}}}}"#);
    for (path, body) in [
        (format!("/api/v1/jobs/{}/approve", job.proposal.id), approve),
        ("/api/v1/jobs".to_owned(), submit),
    ] {
        let refused = client.call("POST", &path, Some(&body));
        assert_eq!(refused.refusal(), (400, "bad-request".into()));
        assert!(
            refused.text.contains("names a key twice") && !refused.text.contains("dead"),
            "{}",
            refused.text
        );
    }
}
