//! Waits that every message prolongs end with their phase, and long waits are told of.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Boxed, ChannelKind, STEP, assert_late, brief, configs, pair, raw_pair, with_later};
use cenote_net::{
    Awaited, Channel, ChannelOptions, Error, Label, Listen, OnWait, PartyId, PhaseClock, Result, Waiting,
    connect, step,
};

const PHASE: Duration = Duration::from_millis(150);

/// Options under which no single message is late.
fn patient() -> ChannelOptions {
    ChannelOptions {
        linger: Duration::ZERO,
        ..brief(60_000)
    }
}

fn over(peer: u8) -> Error {
    Error::PhaseOver {
        peer: PartyId(peer),
        step: STEP,
        phase: "the preparation".into(),
        limit: PHASE,
    }
}

/// Whether something ends by the end of the phase, and not much later.
fn in_time<T>(clock: &PhaseClock, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    clock.begin("the preparation", PHASE);
    let outcome = work();
    let took = start.elapsed();
    assert!(
        (PHASE..PHASE + Duration::from_secs(15)).contains(&took),
        "{took:?}"
    );
    outcome
}

#[test]
fn a_peer_that_sends_each_message_just_in_time_is_cut_off() {
    for kind in [ChannelKind::Memory, ChannelKind::Tcp, ChannelKind::Tls] {
        for pause in [Duration::from_millis(20), Duration::ZERO] {
            let options = patient();
            let (mut a, mut b) = pair(kind, &options);
            // The peer has no phases.
            let closer = a.closer();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    while b.send(STEP, &[1; 100]).and_then(|()| b.flush()).is_ok() {
                        std::thread::sleep(pause);
                    }
                });
                let error = in_time(&options.phase, || {
                    std::iter::repeat_with(|| a.recv(STEP, &mut [0; 100])).find_map(Result::err)
                });
                assert_eq!(error, Some(over(1)), "{kind:?}");
                assert_eq!(a.recv(STEP, &mut [0; 100]), Err(over(1)), "it is final");
                options.phase.end();
                closer.close();
            });
        }
    }
}

#[test]
fn a_peer_that_drips_bytes_is_cut_off() {
    let options = ChannelOptions {
        least_rate: 1,
        ..patient()
    };
    let (mut channel, mut raw) = raw_pair(&options);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            raw.write_all(&[0xCE, 1, 7, 0, 0xA0, 0x86, 1, 0]).unwrap();
            while raw.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let error = in_time(&options.phase, || channel.recv(STEP, &mut vec![0; 100_000]));
        assert_eq!(error, Err(over(1)));
        drop(channel);
    });
}

#[test]
fn a_peer_that_takes_bytes_slowly_is_cut_off() {
    let options = ChannelOptions {
        queue_bytes: 1 << 20,
        least_rate: 1,
        ..patient()
    };
    let (mut channel, mut raw) = raw_pair(&options);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut some = vec![0; 64 << 10];
            while matches!(std::io::Read::read(&mut raw, &mut some), Ok(1..)) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let body = vec![0; 256 << 20];
        let error = in_time(&options.phase, || channel.send(STEP, &body));
        assert_eq!(error, Err(over(1)));
        drop(channel);
    });
}

/// All channels of a session have one clock; outside of phases there is no limit.
#[test]
fn a_phase_is_shared_and_ends() {
    let options = patient();
    let (mut a, mut b) = pair(ChannelKind::Tcp, &options);
    options.phase.begin("the preparation", Duration::ZERO);
    options.phase.end();
    b.send(STEP, &[1]).and_then(|()| b.flush()).unwrap();
    a.recv(STEP, &mut [0]).unwrap();
    std::thread::scope(|scope| {
        in_time(&options.phase, || {
            let other = scope.spawn(|| b.recv(STEP, &mut [0]));
            assert_eq!(a.recv(STEP, &mut [0]), Err(over(1)));
            assert_eq!(other.join().unwrap(), Err(over(0)));
        });
    });
}

/// What was told, and options that tell of waits longer than 50 ms.
fn listening(timeout_ms: u64) -> (Arc<Mutex<Vec<Waiting>>>, ChannelOptions) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let options = ChannelOptions {
        on_wait: OnWait::new(Duration::from_millis(50), move |waiting: &Waiting| {
            sink.lock().unwrap().push(waiting.clone());
        }),
        ..brief(timeout_ms)
    };
    (told, options)
}

/// The line for the operator, as if 350 ms were left.
fn line(waiting: &Waiting) -> String {
    let left = Duration::from_millis(350);
    Waiting {
        left,
        ..waiting.clone()
    }
    .to_string()
}

/// The timeout of a wait that is told of, however late its thread is: a delay of more than 1 s prolongs the wait.
const TOLD: u64 = 1500;

/// A pair that listens, and was joined without a wait that was told of: a busy machine may need several attempts. `change`
/// is made to its options.
fn joined_at_once(
    kind: ChannelKind,
    timeout_ms: u64,
    change: fn(&mut ChannelOptions),
) -> (Arc<Mutex<Vec<Waiting>>>, ChannelOptions, Boxed, Boxed) {
    for _ in 0..50 {
        let (told, mut options) = listening(timeout_ms);
        change(&mut options);
        let (a, b) = pair(kind, &options);
        if told.lock().unwrap().is_empty() {
            return (told, options, a, b);
        }
    }
    panic!("{kind:?}: connecting always took more than 50 ms");
}

#[test]
fn a_long_wait_is_told_of_once() {
    let told_once = |kind| {
        let (told, _, mut a, _b) = joined_at_once(kind, TOLD, |_| ());
        for _ in 0..2 {
            assert_late(&a.recv(STEP, &mut [0]).unwrap_err());
        }
        let told = told.lock().unwrap();
        let [waiting] = &told[..] else {
            panic!("{kind:?}: {told:?}");
        };
        assert_eq!(
            (waiting.peer, &waiting.awaited),
            (PartyId(1), &Awaited::Message(STEP))
        );
        assert!(waiting.waited >= Duration::from_millis(50));
        assert!(waiting.left <= Duration::from_millis(TOLD - 50));
        assert_eq!(
            line(waiting),
            "waiting for party 1 (step \"test\"), at most 1 s more"
        );
    };
    std::thread::scope(|scope| {
        for kind in [ChannelKind::Memory, ChannelKind::Tcp, ChannelKind::Tls] {
            scope.spawn(move || told_once(kind));
        }
    });
}

/// What ends the wait is what is told: the phase, if it ends first.
#[test]
fn a_wait_is_told_with_its_phase() {
    let limit = Duration::from_secs(30);
    let (told, options, mut a, _b) = joined_at_once(ChannelKind::Tcp, 60_000, |_| ());
    let closer = a.closer();
    options.phase.begin("the preparation", limit);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            while told.lock().unwrap().is_empty() && start.elapsed() < limit {
                std::thread::sleep(Duration::from_millis(1));
            }
            closer.close();
        });
        assert_eq!(a.recv(STEP, &mut [0]), Err(Error::Closed { peer: PartyId(1) }));
    });
    assert!(told.lock().unwrap()[0].left < limit);
}

#[test]
fn a_full_queue_is_told_of() {
    let body = vec![0; 64 << 20];
    let attempt = || {
        let (told, _, mut a, _b) = joined_at_once(ChannelKind::Tcp, TOLD, |options| {
            options.queue_bytes = 1 << 20;
            options.least_rate = u64::MAX;
            options.linger = Duration::ZERO;
        });
        assert_late(&a.send(STEP, &body).unwrap_err());
        told.lock().unwrap().first().cloned()
    };
    // A thread that is held up until the time is over tells of nothing.
    let waiting = (0..5).find_map(|_| attempt()).expect("a wait that is told of");
    assert_eq!(waiting.awaited, Awaited::Room(STEP));
    assert_eq!(
        line(&waiting),
        "waiting for party 1 to take what was sent (step \"test\"), at most 1 s more"
    );
}

#[test]
fn short_waits_are_not_told_of() {
    let (told, mut options) = listening(60_000);
    let quick = told.clone();
    options.on_wait = OnWait::new(Duration::from_secs(20), move |waiting: &Waiting| {
        quick.lock().unwrap().push(waiting.clone());
    });
    let (mut a, mut b) = pair(ChannelKind::Tcp, &options);
    with_later(
        || b.send(STEP, &[1]).and_then(|()| b.flush()).unwrap(),
        || a.recv(STEP, &mut [0]).unwrap(),
    );
    assert_eq!(told.lock().unwrap().len(), 0);
}

/// A party tells of each peer that it dials or is dialled by in vain: where, and how much longer.
#[test]
fn missing_peers_are_told_of() {
    let (told, options) = listening(5000);
    let mut middle = configs(3, false, &options).swap_remove(1);
    let limit = Duration::from_secs(5);
    middle.connect_timeout = limit;
    // Nobody listens where the first party should be.
    let address = middle.parties[0].address.clone();
    let labels = [Label::from("main"), Label::from("other")];
    assert!(matches!(&middle.listen, Listen::Bound(_)));
    let missed = connect(middle, &labels);
    assert!(
        matches!(
            missed,
            Err(Error::Timeout {
                step: step::CONNECT,
                ..
            })
        ),
        "{missed:?}"
    );
    let mut told = told.lock().unwrap().clone();
    told.sort_by_key(|waiting| waiting.peer);
    for waiting in &told {
        assert!(waiting.waited >= Duration::from_millis(50));
        assert!((Duration::ZERO..limit).contains(&waiting.left));
    }
    let lines: Vec<String> = told.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            format!("waiting for party 0 at {address} (connecting), at most 1 s more"),
            "waiting for party 2 to connect to this party, at most 1 s more".into(),
        ]
    );
}
