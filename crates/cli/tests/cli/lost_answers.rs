//! A result whose answer was lost on the way can be fetched again.

use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use cenote_service::Timestamp;
use cenote_service::audit::Actor;
use cenote_service::job::{Binding, Source};
use cenote_service::token::Scope;

use crate::common::{cenote, run};
use crate::services::fake::RESULT;
use crate::services::{Place, well};

/// An address that passes a call on to a service, and drops the answer.
fn without_answers(service: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        let (caller, _) = listener.accept().expect("called");
        let mut there = TcpStream::connect(service).expect("connects");
        let (mut asks, mut passes) = (
            caller.try_clone().expect("cloned"),
            there.try_clone().expect("cloned"),
        );
        std::thread::spawn(move || std::io::copy(&mut asks, &mut passes));
        // An answer has begun, so the service has done what it was asked.
        assert_ne!(there.read(&mut [0; 64]).expect("answered"), 0);
        caller.shutdown(Shutdown::Both).expect("open");
    });
    address
}

#[test]
fn a_result_is_fetched_again_with_the_key_that_is_told_when_its_answer_is_lost() {
    let place = Place::new();
    let fake = &place.world.fake;
    let id = fake.proposed_by_peer("circuit").proposal.id;
    let posted = vec![Binding::new("left", Source::Posted)];
    let by = Actor::Person("ada".into());
    fake.jobs
        .approve(id, posted, String::new(), by, Timestamp::now())
        .expect("approved");
    fake.peers_approve(id);
    fake.run(id);

    let id = id.to_string();
    let way = without_answers(place.world.served().address());
    let lost = run(cenote()
        .args(["job", "fetch", &id, "--service", &format!("http://{way}")])
        .env("CENOTE_TOKEN", place.world.token(&Scope::ALL)));
    lost.failed(3, &["if it was given out", "--key "]);
    let mut words = lost.stderr.split_whitespace().skip_while(|word| *word != "--key");
    let key = words.nth(1).expect("a key");
    assert_eq!(
        well(&place.run(&["job", "fetch", &id, "--key", key])),
        format!("{RESULT}\n")
    );
    // What the service refused it has not given out.
    let late = place.run(&["job", "fetch", &id]);
    late.failed(2, &["another key"]);
    assert!(!late.stderr.contains("--key"), "{}", late.stderr);
}
