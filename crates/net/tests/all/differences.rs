//! What parties compare, and that every one of them learns of a difference.

use std::time::{Duration, Instant};

use crate::common::{brief, configs, connect_all, labels};
use cenote_net::{Channel, Error, Listen, PartyId, agree, connect, memory_pair, step};

#[test]
fn another_session_is_told_on_both_sides() {
    for tls in [false, true] {
        let attempt = |seconds| {
            let mut configs = configs(2, tls, &brief(2000));
            configs[1].session = "another".into();
            for config in &mut configs {
                config.connect_timeout = Duration::from_secs(seconds);
            }
            connect_all(configs, &labels(&["main"]))
        };
        // Without keys it is told when the time is over: a short time, but where a busy machine needs more.
        let mut outcomes = attempt(5);
        let late = |outcome: &_| matches!(outcome, Err(Error::Timeout { .. }));
        if outcomes.iter().any(late) {
            outcomes = attempt(60);
        }
        for outcome in outcomes {
            match outcome {
                Err(Error::Mismatch {
                    field, ours, theirs, ..
                }) => {
                    assert_eq!(field, "the session");
                    assert_ne!(ours, theirs);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Parties that want different numbers of channels are told so, whichever wants more.
#[test]
fn another_number_of_channels_is_told_on_both_sides() {
    for more in [0usize, 1] {
        let configs = configs(2, true, &brief(2000));
        let outcomes = std::thread::scope(|scope| {
            let threads: Vec<_> = configs
                .into_iter()
                .enumerate()
                .map(|(index, config)| {
                    let names: &[&str] = if index == more {
                        &["main", "other"]
                    } else {
                        &["main"]
                    };
                    scope.spawn(move || connect(config, &labels(names)))
                })
                .collect();
            let join =
                |thread: std::thread::ScopedJoinHandle<'_, cenote_net::Result<_>>| thread.join().unwrap();
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        for (index, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Err(Error::Mismatch {
                    field, ours, theirs, ..
                }) => {
                    assert_eq!(field, cenote_net::CHANNELS);
                    let expected = if index == more { ("2", "1") } else { ("1", "2") };
                    assert_eq!((ours.as_str(), theirs.as_str()), expected);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The odd one of three tells both others, even one that comes late, and nobody waits for the time to be over.
#[test]
fn the_odd_one_out_is_told_to_all() {
    for odd in 0..3usize {
        for late in (0..3).filter(|&late| late != odd) {
            let start = Instant::now();
            let outcomes = std::thread::scope(|scope| {
                let threads: Vec<_> = configs(3, true, &brief(20_000))
                    .into_iter()
                    .enumerate()
                    .map(|(index, mut config)| {
                        config.connect_timeout = Duration::from_secs(60);
                        // What is not up yet does not listen either.
                        if index == late
                            && let Listen::Bound(listener) = &config.listen
                        {
                            config.listen = Listen::Address(listener.local_addr().unwrap());
                        }
                        let names: &[&str] = if index == odd {
                            &["main", "other"]
                        } else {
                            &["main"]
                        };
                        scope.spawn(move || {
                            if index == late {
                                std::thread::sleep(Duration::from_millis(300));
                            }
                            connect(config, &labels(names)).map(drop)
                        })
                    })
                    .collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
                threads.into_iter().map(join).collect::<Vec<_>>()
            });
            for (index, outcome) in outcomes.into_iter().enumerate() {
                match outcome {
                    Err(Error::Mismatch { peer, field, .. }) => {
                        assert_eq!(field, cenote_net::CHANNELS);
                        assert_eq!(
                            peer == PartyId(odd as u8),
                            index != odd,
                            "party {index} names {peer}"
                        );
                    }
                    other => panic!("odd {odd}, late {late}, party {index}: {other:?}"),
                }
            }
            assert!(
                start.elapsed() < Duration::from_secs(15),
                "the time would be over after 60"
            );
        }
    }
}

/// Runs `agree` at both ends of a channel.
fn both_agree(ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> [cenote_net::Result<()>; 2] {
    let (a, b) = memory_pair(PartyId(0), PartyId(1), brief(20_000));
    let run = |mut channel: cenote_net::MemoryChannel, fields: &[(&str, &str)]| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        agree(&mut channel, &fields)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(b, theirs));
        [run(a, ours), other.join().unwrap()]
    })
}

#[test]
fn differences_are_told_on_both_sides() {
    let same = [("version", "1"), ("protocol", "three"), ("", "")];
    assert_eq!(both_agree(&same, &same), [Ok(()), Ok(())]);
    assert_eq!(
        both_agree(&same, &[same[2], same[1], same[0]]),
        [Ok(()), Ok(())],
        "order does not matter"
    );
    assert_eq!(both_agree(&[], &[]), [Ok(()), Ok(())]);

    let mismatch = |peer, field: &str, ours: &str, theirs: &str| {
        Err(Error::Mismatch {
            peer: PartyId(peer),
            field: field.into(),
            ours: ours.into(),
            theirs: theirs.into(),
        })
    };
    for (theirs, field, a, b) in [
        (
            vec![("version", "1"), ("protocol", "lego")],
            "protocol",
            "three",
            "lego",
        ),
        (
            vec![("version", "2\u{7}"), ("protocol", "three")],
            "version",
            "1",
            "2\\u{7}",
        ),
        (vec![("version", "1")], "protocol", "three", "(missing)"),
        (
            vec![("version", "1"), ("protocol", "three"), ("circuit", "x")],
            "circuit",
            "(missing)",
            "x",
        ),
    ] {
        assert_eq!(
            both_agree(&same[..2], &theirs),
            [mismatch(1, field, a, b), mismatch(0, field, b, a)]
        );
    }
}

#[test]
fn fields_are_bounded() {
    let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), brief(500));
    b.send(step::AGREE, &u32::MAX.to_le_bytes())
        .and_then(|()| b.flush())
        .unwrap();
    assert!(matches!(
        agree(&mut a, &[]),
        Err(Error::Violation {
            peer: PartyId(1),
            step: step::AGREE,
            ..
        })
    ));
    let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), brief(500));
    b.send(step::AGREE, &3u32.to_le_bytes())
        .and_then(|()| b.send(step::AGREE, &[9; 3]))
        .unwrap();
    b.flush().unwrap();
    assert!(matches!(
        agree(&mut a, &[]),
        Err(Error::Violation {
            peer: PartyId(1),
            step: step::AGREE,
            ..
        })
    ));
}
