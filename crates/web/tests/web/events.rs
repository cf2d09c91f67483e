//! Events as they happen.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use cenote_service::live::Happened;
use cenote_service::token::Scope;
use cenote_web::Limits;
use serde_json::Value;

use crate::client::Client;
use crate::fake::World;

pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    pub(crate) fn open(world: &World, token: &str, path: &str) -> Self {
        Self::try_open(world, token, path).expect("opened")
    }

    fn try_open(world: &World, token: &str, path: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(world.served().address()).expect("connects");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("answered");
        if line.starts_with("HTTP/1.1 200") {
            Ok(Stream(reader))
        } else {
            Err(line)
        }
    }

    /// The next event; none when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line).expect("read") == 0 || line == "0\r\n" {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
        }
    }
}

#[test]
fn events_come_as_they_happen() {
    let world = World::new();
    let token = world.token(&[Scope::Read]);
    let mut all = Stream::open(&world, &token, "/api/v1/events");
    let job = world.fake.proposed_by_peer("circuit");
    let id = job.proposal.id;
    // Once one stream has had it, no later one is told of it.
    assert_eq!(all.next().expect("an event")["job"], id.to_string());
    let mut one = Stream::open(&world, &token, &format!("/api/v1/jobs/{id}/events"));
    assert_eq!(one.next().expect("first")["state"], "proposed");
    let other = world.fake.proposed_by_peer("circuit of another");
    assert_eq!(
        all.next().expect("an event")["job"],
        other.proposal.id.to_string()
    );
    world.fake.tell(&Happened::Stock);
    assert_eq!(all.next().expect("an event")["event"], "stock");
    let approve = serde_json::json!({"proposal": job.digest.to_string(), "data": {"left": "loans.csv"}});
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    assert_eq!(
        client
            .post(&format!("/api/v1/jobs/{id}/approve"), &approve)
            .status,
        200
    );
    world.fake.peers_approve(id);
    world.fake.run(id);
    let mut seen = Vec::new();
    while let Some(event) = one.next() {
        assert_eq!(event["job"], id.to_string());
        seen.push(event["state"].as_str().unwrap_or("progress").to_owned());
    }
    assert_eq!(
        seen,
        [
            "proposed", "proposed", "approved", "queued", "running", "progress", "done"
        ]
    );
}

#[test]
fn a_reader_that_is_far_behind_is_told_so() {
    let world = World::new();
    let mut slow = Stream::open(&world, &world.token(&[Scope::Read]), "/api/v1/events");
    // More than the connection, the hub and the buffers between hold.
    let mut missed = false;
    for _ in 0..200 {
        for _ in 0..1000 {
            world.fake.tell(&Happened::Stock);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    world.fake.tell(&Happened::Alarm);
    while let Some(event) = slow.next() {
        missed |= event["event"] == "missed";
        if event["event"] == "alarm" || missed {
            break;
        }
    }
    assert!(missed);
}

#[test]
fn a_stream_ends_with_its_token() {
    let world = World::limited(Limits {
        look_again: Duration::from_millis(50),
        ..Limits::default()
    });
    let token = world.token(&[Scope::Read]);
    let mut stream = Stream::open(&world, &token, "/api/v1/events");
    world.fake.tell(&Happened::Stock);
    assert!(stream.next().is_some());
    let id = token.split('_').nth(1).expect("a name");
    let by = cenote_service::audit::Actor::Service;
    assert!(
        world
            .tokens
            .revoke(id, by, cenote_service::Timestamp::now())
            .expect("revoked")
    );
    assert_eq!(stream.next(), None);
}

#[test]
fn streams_have_their_number() {
    let world = World::limited(Limits {
        streams: 3,
        streams_per_token: 2,
        ..Limits::default()
    });
    let (one, two) = (world.token(&[Scope::Read]), world.token(&[Scope::Read]));
    let first = Stream::open(&world, &one, "/api/v1/events");
    let _second = Stream::open(&world, &one, "/api/v1/events");
    let full = |token: &str| Client::bearer(&world, token).get("/api/v1/events").refusal();
    assert_eq!(full(&one), (503, "busy".into()));
    let _third = Stream::open(&world, &two, "/api/v1/events");
    assert_eq!(full(&two), (503, "busy".into()));
    // The place is free again once the reader has gone, which is noticed when something is to be sent.
    drop(first);
    for _ in 0..500 {
        world.fake.tell(&Happened::Stock);
        std::thread::sleep(Duration::from_millis(20));
        if Stream::try_open(&world, &one, "/api/v1/events").is_ok() {
            return;
        }
    }
    panic!("the place was not given back");
}
