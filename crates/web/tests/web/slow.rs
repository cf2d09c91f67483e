//! Callers who are slow, silent or many.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cenote_net::Identity;
use cenote_service::live::Happened;
use cenote_service::token::Scope;
use cenote_web::{Limits, Options};

use crate::client::{Client, status};
use crate::events::Stream;
use crate::fake::World;

const SHORT: Duration = Duration::from_millis(300);
/// Where a caller has to be faster than the limit for once.
const LONGER: Duration = Duration::from_secs(8);

/// What comes until the other side closes; a wait for it that is far longer than any limit fails.
fn until_closed(stream: &mut TcpStream) -> String {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("not closed: {error}"),
        _ => String::from_utf8_lossy(&answer).into_owned(),
    }
}

fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.served().address()).expect("connects")
}

/// How many connections the service has, this call's own not counted.
fn open(world: &World, client: &Client) -> usize {
    let metrics = client.get("/metrics").text;
    let line = metrics
        .lines()
        .find(|line| line.starts_with("cenote_http_connections "))
        .expect("a line");
    assert!(world.served.is_some());
    line.rsplit(' ')
        .next()
        .and_then(|text| text.parse::<usize>().ok())
        .expect("a number")
        - 1
}

#[test]
fn slow_heads_and_idle_connections_are_closed() {
    let world = World::limited(Limits {
        head: LONGER,
        ..Limits::default()
    });
    let mut silent = connect(&world);
    let mut half = connect(&world);
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost: localh")
        .expect("sent");
    let mut idle = connect(&world);
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    // A byte now and then does not help.
    let mut drip = connect(&world);
    for byte in b"GET /healthz HTTP/1.1\r\nX-Long: aaaaaaaaaaaaaaaaaaaaa" {
        if drip.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(LONGER / 20);
    }
    assert!(!until_closed(&mut silent).contains(" 200 "));
    assert!(!until_closed(&mut half).contains(" 200 "));
    assert_eq!(status(&until_closed(&mut idle)), 200);
    assert!(!until_closed(&mut drip).contains(" 200 "));
    assert_eq!(Client::new(&world).get("/healthz").status, 200);
}

#[test]
fn a_slow_body_is_refused() {
    let world = World::limited(Limits {
        request: SHORT,
        ..Limits::default()
    });
    let token = world.token(&Scope::ALL);
    let mut stream = connect(&world);
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: a\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"job\":"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let answer = until_closed(&mut stream);
    assert_eq!(status(&answer), 408, "{answer}");
    assert!(answer.contains("\"too-slow\""), "{answer}");
}

#[test]
fn a_reader_that_never_reads_is_cut_off() {
    let world = World::limited(Limits {
        stall: SHORT,
        ..Limits::default()
    });
    let token = world.token(&[Scope::Read]);
    let client = Client::bearer(&world, &token);
    // One that asks for events and reads none of them, and one that asks for much and reads nothing.
    let stream = Stream::open(&world, &token, "/api/v1/events");
    let greedy = connect(&world);
    greedy.set_nonblocking(true).expect("set");
    let request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2000);
    let mut sent = 0;
    let mut turned_away = false;
    for _ in 0..2000 {
        for _ in 0..200 {
            world.fake.tell(&Happened::Stock);
        }
        if let Some(rest) = request.get(sent..)
            && let Ok(count) = (&greedy).write(rest)
        {
            sent += count;
        }
        std::thread::sleep(Duration::from_millis(5));
        if open(&world, &client) == 0 {
            turned_away = true;
            break;
        }
    }
    assert!(turned_away);
    drop((stream, greedy));
}

#[test]
fn connections_last_only_so_long() {
    let world = World::limited(Limits {
        life: LONGER,
        ..Limits::default()
    });
    let mut stream = Stream::open(&world, &world.token(&[Scope::Read]), "/api/v1/events");
    // The stream ends, since nothing else is going to.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.next()));
    assert!(!matches!(ended, Ok(Some(_))));
}

#[test]
fn a_tls_handshake_that_does_not_come_is_not_waited_for() {
    let world = World::with(Options {
        tls: Some(Identity::generate().expect("an identity")),
        limits: Limits {
            head: SHORT,
            ..Limits::default()
        },
        ..Options::default()
    });
    assert_eq!(until_closed(&mut connect(&world)), "");
}

#[test]
fn a_slow_sender_leaves_places_for_others() {
    let world = World::limited(Limits {
        large_bodies: 3,
        large_bodies_per_token: 2,
        ..Limits::default()
    });
    let slow = world.token(&Scope::ALL);
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {slow}\r\nIdempotency-Key: a\r\n\
         Content-Type: application/json\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n"
    );
    let held: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = connect(&world);
            stream.write_all(head.as_bytes()).expect("sent");
            // It is asked for its body once it has a place.
            let mut asked = [0; 25];
            stream.read_exact(&mut asked).expect("asked");
            assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
            stream.write_all(b"{").expect("sent");
            stream
        })
        .collect();
    let submit = |token: &str, text: &str, key: &str| {
        let client = Client::bearer(&world, token).with("idempotency-key", key);
        client.post("/api/v1/jobs", &serde_json::json!({"job": text}))
    };
    // Its own further large bodies wait for it, and nobody else's.
    let large = "circuit".to_owned() + &" ".repeat(100_000);
    assert_eq!(submit(&slow, &large, "b").refusal(), (503, "busy".into()));
    assert_eq!(submit(&world.token(&Scope::ALL), &large, "b").status, 201);
    // Small ones need no place.
    assert_eq!(submit(&slow, "circuit", "c").status, 201);
    drop(held);
}

#[test]
fn stalled_small_bodies_take_no_place_of_a_large_one() {
    let world = World::new();
    let token = world.token(&Scope::ALL);
    let head = |length: &str| {
        format!(
            "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: a\r\n\
             Content-Type: application/json\r\n{length}\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    let stall = |length: &str, sent: &[u8]| {
        let mut stream = connect(&world);
        stream.write_all(head(length).as_bytes()).expect("sent");
        let mut asked = [0; 25];
        stream.read_exact(&mut asked).expect("asked");
        stream.write_all(sent).expect("sent");
        stream
    };
    let mut held: Vec<TcpStream> = (0..8)
        .map(|_| stall("Content-Length: 1000", b"{\"job\":"))
        .collect();
    // So do those that do not say how long they are, until they have become long.
    held.extend((0..8).map(|_| stall("Transfer-Encoding: chunked", b"8\r\n{\"job\": \r\n")));
    let submit = |key: &str| {
        let client = Client::bearer(&world, &token).with("idempotency-key", key);
        let text = "circuit".to_owned() + &" ".repeat(100_000);
        client.post("/api/v1/jobs", &serde_json::json!({"job": text}))
    };
    assert_eq!(submit("b").status, 201);
    let chunk = format!("{:x}\r\n{}\r\n", 70_000, " ".repeat(70_000));
    for stream in held.iter_mut().skip(8).take(4) {
        stream.write_all(chunk.as_bytes()).expect("sent");
    }
    let start = std::time::Instant::now();
    while submit("c").status != 503 {
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    // A fifth is refused in the middle.
    let mut fifth = held.swap_remove(12);
    let _ = fifth.write_all(chunk.as_bytes());
    assert_eq!(status(&until_closed(&mut fifth)), 503);
}

#[test]
fn logins_that_fail_too_often_wait() {
    let world = World::limited(Limits {
        logins: 0.001,
        logins_burst: 2.0,
        ..Limits::default()
    });
    let page = Client::new(&world).with("origin", &world.url());
    let attempt = || {
        page.post("/api/v1/session", &serde_json::json!({"login": "cenote_"}))
            .refusal()
    };
    assert_eq!((attempt().0, attempt().0), (401, 401));
    assert_eq!(attempt(), (429, "too-fast".into()));
    // Who is let in already does not notice.
    assert_eq!(
        Client::bearer(&world, &world.token(&[Scope::Read]))
            .get("/api/v1/jobs")
            .status,
        200
    );
}

#[test]
fn a_token_that_calls_too_often_waits() {
    let world = World::limited(Limits {
        rate: 0.001,
        burst: 3.0,
        ..Limits::default()
    });
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    for _ in 0..3 {
        assert_eq!(client.get("/api/v1/stock").status, 200);
    }
    let refused = client.get("/api/v1/stock");
    assert_eq!(refused.refusal(), (429, "too-fast".into()));
    assert_eq!(refused.headers["retry-after"], "1");
    let other = Client::bearer(&world, &world.token(&[Scope::Read]));
    assert_eq!(other.get("/api/v1/stock").status, 200);
}

#[test]
fn a_token_and_its_sessions_are_counted_as_one() {
    let world = World::limited(Limits {
        rate: 0.001,
        burst: 3.0,
        ..Limits::default()
    });
    let bearer = Client::bearer(&world, &world.token(&[Scope::Read]));
    let made = bearer.call("POST", "/api/v1/logins", None);
    assert_eq!(made.status, 201);
    let page = Client::new(&world).with("origin", &world.url());
    let begun = page.post("/api/v1/session", &made.json());
    let cookie = begun.headers["set-cookie"].to_str().expect("text");
    let session = page
        .with("cookie", cookie.split(';').next().expect("a cookie"))
        .with("x-csrf-token", begun.json()["csrf"].as_str().expect("a secret"));
    assert_eq!(session.get("/api/v1/stock").status, 200);
    assert_eq!(bearer.get("/api/v1/stock").status, 200);
    for client in [session, bearer] {
        assert_eq!(client.get("/api/v1/stock").refusal(), (429, "too-fast".into()));
    }
}

#[test]
fn calls_that_block_leave_turns_for_those_who_end_them() {
    let world = World::new();
    let slow = [world.token(&[Scope::Read]), world.token(&[Scope::Read])];
    let other = Client::bearer(&world, &world.token(&[Scope::Propose]));
    let admin = Client::bearer(&world, &world.token(&[Scope::Admin]));
    world.fake.shown.lock().expect("whole").pause = Duration::from_secs(300);
    let address = world.served().address();
    let (tell, answers) = std::sync::mpsc::channel();
    for token in &slow {
        for _ in 0..40 {
            let head = format!(
                "GET /api/v1/data HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            );
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).expect("connects");
                stream.write_all(head.as_bytes()).expect("sent");
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer);
                let _ = tell.send(status(&String::from_utf8_lossy(&answer)));
            });
        }
    }
    // Of 80 calls, 36 have a turn, and are in it until the test has ended.
    for _ in 0..44 {
        let refused = answers.recv_timeout(Duration::from_secs(180)).expect("answered");
        assert_eq!(refused, 503);
    }
    assert_eq!(world.fake.shown.lock().expect("whole").asked, 36);
    assert_eq!(other.get("/api/v1/session").status, 200);
    for token in &slow {
        let id = token.split('_').nth(1).expect("a name");
        let revoked = admin.call("DELETE", &format!("/api/v1/tokens/{id}"), None);
        assert_eq!(revoked.status, 204);
    }
}

#[test]
fn a_large_body_keeps_its_place_until_the_call_is_done_with_it() {
    let world = World::limited(Limits {
        body: 256,
        large_bodies_per_token: 1,
        ..Limits::default()
    });
    let job = world.fake.proposed_by_peer("circuit");
    let token = world.token(&Scope::ALL);
    let path = format!("/api/v1/jobs/{}/approve", job.proposal.id);
    let body = serde_json::json!({"proposal": job.digest.to_string(), "data": {"left": "loans.csv"}, "posted": {},
        "reason": "x".repeat(300)});
    world.fake.shown.lock().expect("whole").pause = Duration::from_secs(300);
    let text = body.to_string();
    let mut slow = connect(&world);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{text}",
        text.len()
    );
    slow.write_all(head.as_bytes()).expect("sent");
    let start = std::time::Instant::now();
    while world.fake.shown.lock().expect("whole").asked == 0 {
        assert!(start.elapsed() < Duration::from_secs(180));
        std::thread::sleep(Duration::from_millis(5));
    }
    // Who has gone away leaves the body behind.
    drop(slow);
    let again = Client::bearer(&world, &token).post(&path, &body);
    assert_eq!(again.refusal(), (503, "busy".into()));
}
