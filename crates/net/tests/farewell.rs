//! What the end of a process would cut off can be waited for, in bounded time.

mod common;

use std::time::{Duration, Instant};

use cenote_net::wait_for_farewells;
use common::{Kind, STEP, brief, pair};

/// The only test of this binary: what it waits for is the process's.
#[test]
fn farewells_are_waited_for() {
    let seconds = |limit| {
        let start = Instant::now();
        wait_for_farewells(Duration::from_secs_f64(limit));
        start.elapsed().as_secs_f64()
    };
    assert!(seconds(5.0) < 0.5, "nobody takes leave");

    // The peer receives nothing.
    let (mut a, b) = pair(Kind::Tls, &brief(5000));
    a.send(STEP, &vec![1; 24 << 20]).unwrap();
    a.abort(3.into());
    drop(a);
    let first = seconds(0.2);
    assert!((0.2..1.0).contains(&first), "{first}");
    let rest = seconds(30.0);
    assert!((0.5..10.0).contains(&rest), "{rest}");
    assert!(seconds(5.0) < 0.5, "all have taken leave");
    drop(b);
}
