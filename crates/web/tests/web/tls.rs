//! Over TLS.

use cenote_net::Identity;
use cenote_web::{Error, Options};

use crate::fake::World;

#[test]
fn an_address_that_others_reach_is_not_spoken_to_in_the_clear() {
    let world = World::new();
    let house = cenote_web::House {
        live: world.fake.clone(),
        jobs: world.fake.jobs.clone(),
        database: world.database.clone(),
    };
    let options = Options {
        listen: Some("0.0.0.0:0".parse().expect("an address")),
        ..Options::default()
    };
    let error = cenote_web::start(options, house.clone()).expect_err("refused");
    assert!(matches!(error, Error::Plain(_)), "{error}");
    // A port that is taken is named.
    let options = Options {
        listen: Some(world.served().address()),
        ..Options::default()
    };
    let error = cenote_web::start(options, house).expect_err("refused");
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    assert!(error.to_string().contains(&world.served().address().to_string()));
}

#[test]
fn what_is_not_tls_gets_no_answer() {
    let world = World::with(Options {
        listen: Some("0.0.0.0:0".parse().expect("an address")),
        tls: Some(Identity::generate().expect("an identity")),
        ..Options::default()
    });
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], world.served().address().port()));
    let answer = crate::client::raw(address, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
}
