//! The attacker's tour: each is refused.

use std::net::TcpListener;

use cenote_service::Timestamp;
use cenote_service::audit::Actor;
use cenote_service::job::StateName;
use cenote_service::token::Scope;
use cenote_web::{Limits, Options};
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
        ("DELETE", plain("peers/1/unsettled"), Scope::Admin),
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

/// A browser with a session: its cookie, and what its page knows.
struct Browser {
    cookie: String,
    csrf: String,
}

fn log_in(world: &World, scopes: &[Scope]) -> Browser {
    let page = Client::new(world).with("origin", &world.url());
    let begun = page.post("/api/v1/session", &json!({"login": world.login(scopes)}));
    assert_eq!(begun.status, 200, "{}", begun.text);
    let cookie = begun.headers["set-cookie"].to_str().expect("text");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.split("; ").any(|found| found == part), "{cookie}");
    }
    Browser {
        cookie: cookie.split(';').next().expect("a pair").to_owned(),
        csrf: begun.json()["csrf"].as_str().expect("a token").to_owned(),
    }
}

#[test]
fn calls_that_another_site_makes_are_refused() {
    let world = World::new();
    let browser = log_in(&world, &Scope::ALL);
    let job = world.fake.proposed_by_peer("circuit");
    let path = format!("/api/v1/jobs/{}/approve", job.proposal.id);
    let approve = json!({"proposal": job.digest.to_string(), "data": {"left": "loans.csv"}});
    let cookie = Client::new(&world).with("cookie", &browser.cookie);
    let own = world.url();
    let refused = |client: Client| {
        let reply = client.post(&path, &approve);
        assert_eq!(reply.refusal(), (403, "cross-site".into()));
        assert_eq!(
            world.fake.jobs.get(job.proposal.id).expect("there").decisions,
            vec![None, None, None]
        );
    };
    refused(cookie.clone());
    refused(cookie.clone().with("origin", &own));
    refused(cookie.clone().with("x-csrf-token", &browser.csrf));
    refused(
        cookie
            .clone()
            .with("origin", &own)
            .with("x-csrf-token", &browser.csrf.replace(|_| true, "0")),
    );
    refused(cookie.clone().with("origin", &own).with("x-csrf-token", ""));
    let page = cookie.clone().with("x-csrf-token", &browser.csrf);
    for origin in [
        "null",
        "http://evil.example",
        &own.replace("http", "https"),
        "http://127.0.0.1",
        &format!("{own}.evil.example"),
    ] {
        refused(page.clone().with("origin", origin));
    }
    refused(page.clone().with("origin", &own).with("origin", &own));
    let own_page = page.with("origin", &own);
    for site in ["cross-site", "same-site"] {
        refused(own_page.clone().with("sec-fetch-site", site));
        // Not even to be read.
        let read = cookie.clone().with("sec-fetch-site", site).get("/api/v1/jobs");
        assert_eq!(read.refusal(), (403, "cross-site".into()));
    }
    // No form can send JSON, and nobody else is told that they may.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
    ] {
        let reply = own_page.clone().with("content-type", kind).post(&path, &approve);
        assert_eq!(reply.refusal(), (415, "not-json".into()), "{kind}");
    }
    let preflight = Client::new(&world)
        .with("origin", "http://evil.example")
        .with("access-control-request-method", "POST");
    let preflight = preflight.call("OPTIONS", &path, None);
    assert_eq!(preflight.status, 405);
    assert!(
        preflight
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control"))
    );
    // The page itself may.
    let done = own_page
        .with("sec-fetch-site", "same-origin")
        .post(&path, &approve);
    assert_eq!(done.status, 200, "{}", done.text);
}

/// Browsers send cookies to every port of a machine, so that whoever listens at another one has it.
#[test]
fn a_cookie_alone_opens_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let there = || Options {
        held: Some(listener.try_clone().expect("cloned")),
        ..Options::default()
    };
    let mut world = World::with(there());
    let browser = log_in(&world, &Scope::ALL);
    let stolen = Client::new(&world)
        .with("cookie", &browser.cookie)
        .with("origin", &world.url());
    for path in [
        "/api/v1/session",
        "/api/v1/jobs",
        "/api/v1/tokens",
        "/api/v1/events",
        "/metrics",
    ] {
        assert_eq!(stolen.get(path).refusal(), (403, "cross-site".into()), "{path}");
    }
    // What the page was given cannot be computed from the cookie: another service makes another secret of the same one.
    let session = browser.cookie.split_once('=').expect("a pair").1;
    let hashed = blake3::derive_key("cenote web csrf 1", session.as_bytes());
    for guess in [blake3::hash(session.as_bytes()), blake3::Hash::from_bytes(hashed)] {
        let guessed = stolen.clone().with("x-csrf-token", guess.to_hex().as_str());
        assert_eq!(guessed.get("/api/v1/jobs").refusal(), (403, "cross-site".into()));
    }
    let page = stolen.with("x-csrf-token", &browser.csrf);
    assert_eq!(page.get("/api/v1/session").status, 200);
    world.serve_again_with(there());
    assert_eq!(page.get("/api/v1/session").refusal(), (403, "cross-site".into()));
}

#[test]
fn a_kind_of_token_is_not_taken_for_another() {
    let world = World::new();
    let browser = log_in(&world, &Scope::ALL);
    let (name, session) = browser.cookie.split_once('=').expect("a pair");
    let bearer = world.token(&Scope::ALL);
    let login = world.login(&Scope::ALL);
    let refused = |client: Client| assert_eq!(client.get("/api/v1/jobs").refusal(), (401, "no-token".into()));
    refused(Client::bearer(&world, session));
    refused(Client::bearer(&world, &login));
    refused(Client::new(&world).with("cookie", &format!("{name}={bearer}")));
    refused(Client::new(&world).with("cookie", &format!("{name}={login}")));
    refused(Client::new(&world).with("authorization", &format!("Basic {bearer}")));
    refused(Client::new(&world).with("authorization", &bearer));
    let two = Client::bearer(&world, &bearer)
        .with("authorization", "Bearer x")
        .get("/api/v1/jobs");
    assert_eq!(two.refusal(), (400, "bad-request".into()));
    // A session begins no further one, and ends when its page says so.
    let own = Client::new(&world)
        .with("cookie", &browser.cookie)
        .with("origin", &world.url())
        .with("x-csrf-token", &browser.csrf);
    assert_eq!(
        own.call("POST", "/api/v1/logins", Some("{}")).refusal(),
        (403, "bearer-only".into())
    );
    let ended = own.call("DELETE", "/api/v1/session", None);
    assert_eq!(ended.status, 204);
    assert!(
        ended.headers["set-cookie"]
            .to_str()
            .expect("text")
            .contains("Max-Age=0")
    );
    refused(own);
    assert_eq!(
        Client::bearer(&world, &bearer)
            .call("DELETE", "/api/v1/session", None)
            .refusal(),
        (422, "no-session".into())
    );
    let made = Client::bearer(&world, &bearer).call("POST", "/api/v1/logins", Some("{}"));
    assert_eq!(made.status, 201);
    let page = Client::new(&world).with("origin", &world.url());
    assert_eq!(page.post("/api/v1/session", &made.json()).status, 200);
}

#[test]
fn a_session_is_not_one_that_somebody_else_chose() {
    let world = World::new();
    let attacker = log_in(&world, &[Scope::Read]);
    let login = json!({"login": world.login(&Scope::ALL)});
    // The attacker's cookie is in the victim's browser when the victim logs in.
    let page = Client::new(&world)
        .with("origin", &world.url())
        .with("cookie", &attacker.cookie);
    let begun = page.post("/api/v1/session", &login);
    let cookie = begun.headers["set-cookie"]
        .to_str()
        .expect("text")
        .split(';')
        .next()
        .expect("a pair")
        .to_owned();
    assert_ne!(cookie, attacker.cookie);
    let csrf = begun.json()["csrf"].as_str().expect("a secret").to_owned();
    let whose = |cookie: &str, csrf: &str| {
        let client = Client::new(&world)
            .with("cookie", cookie)
            .with("x-csrf-token", csrf);
        client.get("/api/v1/session")
    };
    let who = |cookie: &str| whose(cookie, &csrf);
    assert_eq!(who(&cookie).json()["scopes"].as_array().expect("scopes").len(), 4);
    assert_eq!(who(&cookie).json()["csrf"], json!(null));
    assert_eq!(
        whose(&attacker.cookie, &attacker.csrf).json()["scopes"],
        json!(["read"])
    );
    // Both at once, as another port of this machine can bring about.
    assert_eq!(
        who(&format!("{cookie}; {}", attacker.cookie)).refusal(),
        (401, "no-token".into())
    );
    // A login token is used once, and only from the service's own page.
    assert_eq!(
        page.post("/api/v1/session", &login).refusal(),
        (401, "no-token".into())
    );
    let fresh = json!({"login": world.login(&Scope::ALL)});
    for origin in ["http://evil.example", "null"] {
        let other = Client::new(&world)
            .with("origin", origin)
            .post("/api/v1/session", &fresh);
        assert_eq!(other.refusal(), (403, "cross-site".into()));
    }
    assert_eq!(
        Client::new(&world).post("/api/v1/session", &fresh).refusal(),
        (403, "cross-site".into())
    );
}

#[test]
fn another_name_for_this_machine_gets_no_answer() {
    let world = World::with(Options {
        names: vec!["party.example".into()],
        ..Options::default()
    });
    let token = world.token(&[Scope::Read]);
    let at = |host: &str| {
        let request = format!(
            "GET /api/v1/jobs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        status(&raw(world.served().address(), request.as_bytes()))
    };
    assert_eq!(
        (at("localhost"), at("127.0.0.1:9"), at("Party.Example:80")),
        (200, 200, 200)
    );
    assert_eq!(
        (at("evil.example"), at("localhost.evil.example"), at("")),
        (421, 421, 421)
    );
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
    let all = made("operator", &[Scope::Propose, Scope::Admin]);
    let keyed = ada.with("idempotency-key", "l");
    let third = keyed
        .post("/api/v1/jobs", &json!({"job": "circuit of a third"}))
        .json();
    let third = format!("/api/v1/jobs/{}", third["id"].as_str().expect("a name"));
    assert_eq!(cancel(&all, &third).status, 200);
}

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
    // Each input of this party has one source, and no other party's has.
    for data in [
        json!({}),
        json!({"middle": "loans.csv"}),
        json!({"left": "loans.csv", "right": "loans.csv"}),
    ] {
        let body = json!({"proposal": other.digest.to_string(), "data": data});
        let reply = client.post(&format!("/api/v1/jobs/{}/approve", other.proposal.id), &body);
        assert_eq!(reply.refusal(), (422, "refused".into()), "{data}");
    }
    assert_eq!(
        world
            .fake
            .jobs
            .get(other.proposal.id)
            .expect("there")
            .state
            .name(),
        StateName::Proposed
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

/// Requests that two readers could take for different ones. Nothing after them on their connection is read.
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
    let cases = [
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
    let send = |text: &str| raw(world.served().address(), [text, &hidden].concat().as_bytes());
    for (what, request) in cases {
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
