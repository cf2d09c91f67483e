use std::collections::HashMap;

use cenote_net::Step;
use cenote_session::MESSAGE_FORM;
use cenote_testkit::{Adversary, Perturbation, Target};

use super::*;
use crate::tests::both;

/// As for commitments with 40 bits of statistical security.
const COUNT: usize = 88;
const WATCHED: usize = 32;

/// Whether a position is one of a set.
type Choose = fn(usize) -> bool;

/// The sender against a receiver that takes the seeds at the positions that `cheat` wants, and commits and opens as it says.
fn against(cheat: &Cheat, seed: u64) -> Result<Zeroizing<Vec<Block>>> {
    both(
        None,
        |channel| send(channel, &mut Entropy::for_tests(seed), b"test", COUNT, WATCHED),
        |channel| cheat.run(channel, &mut Entropy::for_tests(!seed)),
    )
    .0
}

/// A receiver that deviates.
struct Cheat {
    /// Whether it takes the seed at a position.
    takes: Choose,
    /// The secret that it commits to, given what it has.
    commits: fn(&Masks, &[Block]) -> Block,
    /// What it opens instead, given the polynomial.
    opens: fn(&mut Opening, &[Block]),
}

impl Cheat {
    fn run(&self, channel: &mut dyn Channel, entropy: &mut Entropy) {
        let session = bind(b"test", COUNT, WATCHED);
        let list = (0..COUNT)
            .map(|i| u64::from((self.takes)(i)).wrapping_neg())
            .collect();
        let list = Zeroizing::new(list);
        let [_, shares] = take(channel, entropy, &session, &list).unwrap();
        let mut opening = Opening {
            secret: (self.commits)(&list, &shares).to_bytes(),
            nonce: entropy.bytes(),
        };
        let commitment = opening.commitment(&session);
        channel.send(steps::WATCH_COMMITMENT, &commitment).unwrap();
        let mut polynomial = vec![Block::ZERO; COUNT - WATCHED];
        let bytes = as_bytes_mut(&mut polynomial);
        channel.recv(steps::WATCH_POLYNOMIAL, bytes).unwrap();
        (self.opens)(&mut opening, &polynomial);
        let parts: [&[u8]; 2] = [&opening.secret, &opening.nonce];
        channel.send_parts(steps::WATCH_OPENING, &parts).unwrap();
        channel.flush().unwrap();
    }
}

fn is_refused<T>(result: &Result<T>, check: cenote_session::Check, step: Step) -> bool {
    matches!(result, Err(Error::Aborted { check: failed, step: at, .. }) if *failed == check && *at == step)
}

/// An honest run.
fn run(
    seed: u64,
    count: usize,
    watched: usize,
    sessions: [&[u8]; 2],
) -> (Result<Zeroizing<Vec<Block>>>, Result<WatchList>) {
    both(
        None,
        |channel| {
            let entropy = &mut Entropy::for_tests(seed);
            send(channel, entropy, sessions[0], count, watched)
        },
        |channel| {
            let entropy = &mut Entropy::for_tests(!seed);
            receive(channel, entropy, sessions[1], count, watched)
        },
    )
}

/// The receiver against a sender behind `adversary`, which sees and changes what the sender sends.
fn receiver_against(seed: u64, adversary: &Adversary) -> (Result<WatchList>, Result<Zeroizing<Vec<Block>>>) {
    both(
        Some(adversary),
        |channel| {
            let entropy = &mut Entropy::for_tests(!seed);
            receive(channel, entropy, b"test", COUNT, WATCHED)
        },
        |channel| {
            let entropy = &mut Entropy::for_tests(seed);
            send(channel, entropy, b"test", COUNT, WATCHED)
        },
    )
}

#[test]
fn exactly_the_watched_seeds_agree() {
    for (count, watched) in [(2, 1), (3, 1), (3, 2), (64, 20), (65, 64), (COUNT, WATCHED)] {
        let (sent, received) = run(count as u64, count, watched, [b"test"; 2]);
        let (sent, received) = (sent.unwrap(), received.unwrap());
        assert_eq!(
            (sent.len(), received.positions.len(), received.seeds.len()),
            (count, watched, watched)
        );
        assert!(received.positions.is_sorted_by(|a, b| a < b));
        let agree = (0..count).filter(|&i| received.seeds.contains(&sent[i]));
        assert!(agree.eq(received.positions.iter().copied()));
        for (&position, seed) in received.positions.iter().zip(&received.seeds) {
            assert_eq!(sent[position], *seed, "position {position}");
        }
        let mut all: Vec<_> = sent.iter().map(|seed| seed.to_bytes()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "a seed occurs twice");
    }
}

#[test]
fn bytes_are_as_declared() {
    let (received, sent) = both(
        None,
        |channel| {
            send(channel, &mut Entropy::for_tests(1), b"test", COUNT, WATCHED).unwrap();
            channel.meter().payload_received as usize
        },
        |channel| {
            receive(channel, &mut Entropy::for_tests(2), b"test", COUNT, WATCHED).unwrap();
            channel.meter().payload_received as usize
        },
    );
    assert_eq!(received, 64 * COUNT + 32 + 48);
    assert_eq!(sent, 32 + 16 * COUNT + 16 * (COUNT - WATCHED));
}

#[test]
fn sizes_and_sessions_must_agree() {
    let (sent, received) = run(1, 10, 4, [b"one", b"other"]);
    // The receiver's shares are of keys that fit nothing.
    assert!(is_refused(&received, WATCH_SHARES, steps::WATCH_POLYNOMIAL));
    assert!(sent.is_err());
    assert_ne!(bind(b"one", 10, 4), bind(b"one", 10, 5));
    assert_ne!(bind(b"one", 10, 4), bind(b"one", 11, 4));
}

/// All sets of positions come about as often as others.
#[test]
fn lists_are_uniform() {
    const RUNS: usize = 20_000;
    let mut entropy = Entropy::for_tests(1);
    let mut seen: HashMap<Vec<u64>, usize> = HashMap::new();
    for _ in 0..RUNS {
        let list = draw(&mut entropy, 6, 3);
        assert_eq!(list.iter().filter(|mask| **mask == u64::MAX).count(), 3);
        assert_eq!(list.iter().filter(|mask| **mask == 0).count(), 3);
        *seen.entry(list.to_vec()).or_default() += 1;
    }
    assert_eq!(seen.len(), 20);
    for (list, times) in seen {
        // 1000 ± 5 standard deviations.
        assert!((845..1155).contains(&times), "{list:?}: {times}");
    }
}

#[test]
fn shares_determine_the_secret() {
    let mut entropy = Entropy::for_tests(2);
    for (count, watched) in [(2, 1), (7, 3), (COUNT, WATCHED)] {
        let list = draw(&mut entropy, count, watched);
        let polynomial: Vec<Block> = (watched..count).map(|_| entropy.block()).collect();
        // What is at watched positions does not matter.
        let shares: Vec<Block> = (0..count)
            .map(|i| select(list[i], entropy.block(), evaluate(&polynomial, point(i))))
            .collect();
        assert_eq!(interpolate(&list, &shares), polynomial[0]);
    }
    let a = entropy.block();
    assert_eq!(gf128::mul(a, gf128::inverse(a)), gf128::ONE);
}

#[test]
fn a_receiver_that_takes_more_seeds_is_caught() {
    let honest = Cheat {
        takes: |i| i % 2 == 0 && i < 2 * WATCHED,
        commits: |list, shares| interpolate(list, shares),
        opens: |_, _| (),
    };
    against(&honest, 1).unwrap();
    let open_as_it_is: fn(&mut Opening, &[Block]) = |opening, polynomial| {
        opening.secret = polynomial[0].to_bytes();
    };
    let one_more: Choose = |i| i <= WATCHED;
    let all: Choose = |_| true;
    let of_too_few: fn(&Masks, &[Block]) -> Block = |list, shares| interpolate(list, shares);
    // As if a seed's position had a share: of the value 0, or the one that its mask makes.
    let of_a_guess: fn(&Masks, &[Block]) -> Block = |list, shares| {
        let (mut list, mut shares) = (list.clone(), shares.to_vec());
        list[0] = 0;
        shares[0] = Block::ZERO;
        interpolate(&list, &shares)
    };
    let of_its_mask: fn(&Masks, &[Block]) -> Block = |list, shares| {
        let mut list = list.clone();
        list[0] = 0;
        interpolate(&list, shares)
    };
    let zero: fn(&Masks, &[Block]) -> Block = |_, _| Block::ZERO;
    let as_committed: fn(&mut Opening, &[Block]) = |_, _| ();
    let with_another_nonce: fn(&mut Opening, &[Block]) = |opening, polynomial| {
        opening.secret = polynomial[0].to_bytes();
        opening.nonce = [7; 32];
    };
    for takes in [one_more, all] {
        for commits in [of_too_few, of_a_guess, of_its_mask, zero] {
            for opens in [as_committed, open_as_it_is, with_another_nonce] {
                let cheat = Cheat {
                    takes,
                    commits,
                    opens,
                };
                let result = against(&cheat, 3);
                assert!(
                    is_refused(&result, WATCH_SECRET, steps::WATCH_OPENING),
                    "{result:?}"
                );
            }
        }
    }
}

/// Fewer seeds are a receiver's own loss.
#[test]
fn a_receiver_may_take_fewer_seeds() {
    let cheat = Cheat {
        takes: |i| i < WATCHED - 1,
        commits: |list, shares| {
            // Any n - w shares will do.
            let mut list = list.clone();
            list[COUNT - 1] = u64::MAX;
            interpolate(&list, shares)
        },
        opens: |_, _| (),
    };
    against(&cheat, 4).unwrap();
}

/// A right secret with an opening that was not committed to, or a commitment of another session.
#[test]
fn what_is_opened_was_committed_to() {
    for opens in [
        (|opening, _| opening.nonce[0] ^= 1) as fn(&mut Opening, &[Block]),
        |opening, _| opening.secret[15] ^= 1,
    ] {
        let cheat = Cheat {
            takes: |i| i < WATCHED,
            commits: |list, shares| interpolate(list, shares),
            opens,
        };
        let result = against(&cheat, 5);
        assert!(is_refused(&result, WATCH_SECRET, steps::WATCH_OPENING));
    }
    let opening = Opening {
        secret: [1; 16],
        nonce: [2; 32],
    };
    let of = |session: &[u8]| opening.commitment(&bind(session, COUNT, WATCHED));
    assert_ne!(of(b"one"), of(b"other"));
}

/// Caught if and only if the share's position is not watched: a guess, with an end if it is wrong.
#[test]
fn a_wrong_share_is_caught_unless_its_position_is_watched() {
    let mut passed = 0;
    for seed in 0..30 {
        let watched = draw(&mut Entropy::for_tests(!seed), COUNT, WATCHED);
        let wrong = seed as usize * 13 % COUNT;
        let adversary = Adversary::new(
            Target::step(steps::WATCH_SHARES),
            Perturbation::FlipBit {
                byte: 16 * wrong + 3,
                bit: 5,
            },
        );
        let (received, sent) = receiver_against(seed, &adversary);
        assert_eq!(adversary.deviations(), 1);
        if watched[wrong] == 0 {
            assert!(is_refused(&received, WATCH_SHARES, steps::WATCH_POLYNOMIAL));
            assert!(sent.is_err());
        } else {
            let (sent, received) = (sent.unwrap(), received.unwrap());
            assert!(received.positions.contains(&wrong));
            let seeds = received.positions.iter().map(|&i| sent[i]);
            assert!(seeds.eq(received.seeds.iter().copied()));
            passed += 1;
        }
    }
    assert!((3..20).contains(&passed), "{passed} of 30 passed");
}

/// The receiver says nothing of the secret that its wrong shares make: it stops before.
#[test]
fn another_polynomial_is_caught() {
    for coefficient in [0, 1, COUNT - WATCHED - 1] {
        let adversary = Adversary::new(
            Target::step(steps::WATCH_POLYNOMIAL),
            Perturbation::FlipBit {
                byte: 16 * coefficient,
                bit: 0,
            },
        );
        let (received, sent) = receiver_against(6, &adversary);
        assert!(is_refused(&received, WATCH_SHARES, steps::WATCH_POLYNOMIAL));
        let sent = sent.unwrap_err();
        assert!(
            matches!(sent, Error::Net(cenote_net::Error::PeerLost { .. })),
            "{sent}"
        );
        assert_eq!(adversary.deviations(), 1);
    }
}

#[test]
fn malformed_messages_are_refused() {
    let perturbations = [
        Perturbation::Truncate(1),
        Perturbation::Extend(16),
        Perturbation::Relabel(Step {
            code: 0x7001,
            name: "relabelled",
        }),
        Perturbation::Duplicate,
        Perturbation::Drop,
    ];
    for &step in steps::WATCH {
        let to_receiver = matches!(step, steps::WATCH_SHARES | steps::WATCH_POLYNOMIAL);
        for perturbation in &perturbations {
            let refused = match (step, perturbation) {
                // It is seen only by the next message, or the end.
                (steps::WATCH_OPENING | steps::WATCH_POLYNOMIAL, Perturbation::Duplicate) => continue,
                (steps::WATCH_OPENING, Perturbation::Drop) => false,
                // Both wait, until the channel gives up.
                (_, Perturbation::Drop) => continue,
                _ => true,
            };
            let adversary = Adversary::new(Target::step(step), perturbation.clone());
            let failed = if to_receiver {
                receiver_against(7, &adversary).0.map(drop)
            } else {
                let sides = both(
                    Some(&adversary),
                    |channel| {
                        let entropy = &mut Entropy::for_tests(7);
                        send(channel, entropy, b"test", COUNT, WATCHED)
                    },
                    |channel| {
                        let entropy = &mut Entropy::for_tests(8);
                        receive(channel, entropy, b"test", COUNT, WATCHED).map(drop).ok()
                    },
                );
                sides.0.map(drop)
            };
            assert_eq!(adversary.deviations(), 1);
            let error = failed.unwrap_err();
            let case = format!("{perturbation:?} of \"{step}\": {error}");
            if refused {
                assert_eq!(error.check(), Some(MESSAGE_FORM), "{case}");
            } else {
                let lost = matches!(error, Error::Net(cenote_net::Error::PeerLost { .. }));
                assert!(lost, "{case}");
            }
        }
    }
}

#[test]
fn nothing_secret_is_printed() {
    let (_, received) = run(9, 5, 2, [b"test"; 2]);
    assert_eq!(format!("{:?}", received.unwrap()), "WatchList(2)");
}

#[test]
#[should_panic(expected = "0 of 5 seeds")]
fn some_seeds_must_be_watched() {
    bind(b"test", 5, 0);
}

#[test]
#[should_panic(expected = "5 of 5 seeds")]
fn some_seeds_must_not_be_watched() {
    bind(b"test", 5, 5);
}
