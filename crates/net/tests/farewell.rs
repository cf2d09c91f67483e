//! What the end of a process would cut off can be waited for, in bounded time.

mod common;

use std::time::{Duration, Instant};

use cenote_net::wait_for_farewells;
use common::{ChannelKind, STEP, brief, pair};

/// The only test of this binary: what it waits for is the process's.
#[test]
fn farewells_are_waited_for() {
    let seconds = |limit| {
        let start = Instant::now();
        wait_for_farewells(Duration::from_secs_f64(limit));
        start.elapsed().as_secs_f64()
    };
    assert!(seconds(60.0) < 15.0, "nobody takes leave");

    // The peer receives nothing. On a busy machine the limit may be over late: some attempt must end in time.
    let ends_at_its_limit = || {
        let (mut a, b) = pair(ChannelKind::Tls, &brief(5000));
        a.send(STEP, &vec![1; 24 << 20]).unwrap();
        a.abort(3.into());
        let start = Instant::now();
        drop(a);
        let first = seconds(0.2);
        assert!(first >= 0.2, "{first}");
        let rest = seconds(60.0);
        assert!(rest < 15.0, "{rest}");
        let all = start.elapsed().as_secs_f64();
        assert!(all >= 0.7, "{all}");
        assert!(seconds(60.0) < 15.0, "all have taken leave");
        drop(b);
        first < 1.0
    };
    assert!((0..10).any(|_| ends_at_its_limit()));
}
