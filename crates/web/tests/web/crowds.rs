//! More connections than there may be.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cenote_service::token::Scope;
use cenote_web::Limits;

use crate::client::{Client, raw, status};
use crate::fake::World;

fn world() -> World {
    World::limited(Limits {
        connections: 32,
        connections_of_this_machine: 16,
        connections_per_token: 4,
        ..Limits::default()
    })
}

fn connect(world: &World) -> TcpStream {
    let stream = TcpStream::connect(world.served().address()).expect("connects");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    stream
}

fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0]), Ok(1))
}

/// A call on a connection that stays open; the status of its answer.
fn call(stream: &mut TcpStream, path: &str, token: &str) -> u16 {
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        answer.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&answer).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().expect("a number"));
    stream.read_exact(&mut vec![0; length]).expect("a body");
    status(&text.to_uppercase())
}

fn health(world: &World) -> u16 {
    let ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    status(&raw(world.served().address(), ask))
}

#[test]
fn idle_strangers_make_room_for_everybody_else() {
    let world = world();
    let token = world.token(&[Scope::Read]);
    let mut known = connect(&world);
    assert_eq!(call(&mut known, "/api/v1/session", &token), 200);
    let mut idle: Vec<TcpStream> = (0..100).map(|_| connect(&world)).collect();
    // Who comes now gets in: to see whether the service is well, with a token, to open the page.
    assert_eq!(health(&world), 200);
    assert_eq!(Client::bearer(&world, &token).get("/api/v1/session").status, 200);
    assert_eq!(Client::new(&world).get("/").status, 200);
    // The connection with a token has kept its place, the oldest without one has not.
    assert_eq!(call(&mut known, "/api/v1/session", &token), 200);
    assert!(idle.iter_mut().take(80).all(is_closed));
    let metrics = Client::bearer(&world, &token).get("/metrics").text;
    let turned_away = metrics
        .lines()
        .find_map(|line| line.strip_prefix("cenote_http_connections_turned_away_total "));
    assert!(
        turned_away.is_some_and(|count| count.parse::<u64>().is_ok_and(|count| count >= 85)),
        "{metrics}"
    );
}

#[test]
fn strangers_in_the_middle_of_a_request_make_room_too() {
    let world = world();
    let head = format!(
        "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        world.url()
    );
    let mut stalled = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(&world);
        stream.write_all(head.as_bytes()).expect("sent");
        stalled.push(stream);
    }
    assert_eq!(health(&world), 200);
    let token = world.token(&[Scope::Read]);
    assert_eq!(Client::bearer(&world, &token).get("/api/v1/session").status, 200);
}

#[test]
fn a_token_that_is_not_valid_holds_no_place() {
    let world = world();
    let mut wrong: Vec<TcpStream> = (0..16).map(|_| connect(&world)).collect();
    for stream in &mut wrong {
        assert_eq!(call(stream, "/api/v1/session", "cenote_wrong"), 401);
    }
    assert_eq!(health(&world), 200);
    assert!(is_closed(&mut wrong[0]));
}

#[test]
fn a_token_that_was_revoked_holds_no_place() {
    let world = world();
    let admin = Client::bearer(&world, &world.token(&[Scope::Admin]));
    let token = world.token(&[Scope::Read]);
    let mut held = connect(&world);
    assert_eq!(call(&mut held, "/api/v1/session", &token), 200);
    let id = token.split('_').nth(1).expect("a name");
    let revoked = admin.call("DELETE", &format!("/api/v1/tokens/{id}"), None);
    assert_eq!(revoked.status, 204);
    let _idle: Vec<TcpStream> = (0..20).map(|_| connect(&world)).collect();
    assert!(is_closed(&mut held));
}

#[test]
fn tokens_leave_places_for_those_who_look_whether_the_service_is_well() {
    let world = world();
    let mut held = Vec::new();
    for _ in 0..4 {
        let token = world.token(&[Scope::Read]);
        for place in 0..6 {
            let mut stream = connect(&world);
            match call(&mut stream, "/api/v1/session", &token) {
                200 => held.push(stream),
                // It says why, and closes.
                503 => assert!((place >= 4 || held.len() == 14) && is_closed(&mut stream)),
                other => panic!("{other}"),
            }
        }
    }
    assert_eq!(held.len(), 14);
    for _ in 0..20 {
        assert_eq!(health(&world), 200);
    }
    // Once one has gone, the next one of a token has its place.
    drop(held);
    let token = world.token(&[Scope::Read]);
    let start = std::time::Instant::now();
    while Client::bearer(&world, &token).get("/api/v1/session").status != 200 {
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
