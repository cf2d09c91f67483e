//! What other sites, other ports and other names of this machine bring about in a browser.

use std::net::TcpListener;

use cenote_service::token::Scope;
use cenote_web::Options;
use serde_json::{Value, json};

use crate::client::{Client, raw, status};
use crate::fake::World;

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
    only_json_is_taken(&own_page, &path, &approve);
    nobody_else_is_told_that_they_may(&world, &path);
    // The page itself may.
    let done = own_page
        .with("sec-fetch-site", "same-origin")
        .post(&path, &approve);
    assert_eq!(done.status, 200, "{}", done.text);
}

/// No form can send JSON.
fn only_json_is_taken(page: &Client, path: &str, approve: &Value) {
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
    ] {
        let reply = page.clone().with("content-type", kind).post(path, approve);
        assert_eq!(reply.refusal(), (415, "not-json".into()), "{kind}");
    }
}

fn nobody_else_is_told_that_they_may(world: &World, path: &str) {
    let preflight = Client::new(world)
        .with("origin", "http://evil.example")
        .with("access-control-request-method", "POST");
    let preflight = preflight.call("OPTIONS", path, None);
    assert_eq!(preflight.status, 405);
    assert!(
        preflight
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control"))
    );
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
