use cenote_primitives::Entropy;
use cenote_session::MESSAGE_FORM;
use cenote_testkit::{Adversary, Message, Perturbation, Target};

use super::*;
use crate::checks::OT_CONSISTENCY;
use crate::mutual::tests::{authentic, both, deal};

/// Small enough for tests: no security.
const TINY: Shape = Shape {
    secret: 8,
    block: 4,
    blocks: 64,
};

/// More than one message of trees, the last one of which is not full; several blocks of the hash in a level.
const WIDE: Shape = Shape {
    secret: 14,
    block: 9,
    blocks: AT_ONCE as u32 + 40,
};

/// A side of a generator without public-key cryptography.
fn dealt(first: bool, channel: &mut dyn Channel, seed: u64, shape: Shape) -> Result<Pcg> {
    let mutual = deal(first, channel, seed, 32)?;
    let mut entropy = Entropy::for_tests(seed * 2 + 5000 + u64::from(first));
    Ok(Pcg::new(mutual, &mut entropy, shape, Block([seed, 7])))
}

fn bits(pcg: &mut Pcg, channel: &mut dyn Channel, count: usize) -> Result<[Vec<Block>; 2]> {
    let (mut macs, mut keys) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
    pcg.extend(channel, &mut macs, &mut keys)?;
    Ok([macs, keys])
}

fn caught<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Aborted { check, step, .. })
        if *check == POINTS && *step == steps::POINT_ANSWER)
}

#[test]
fn bits_are_authenticated_in_all_iterations() {
    for (shape, sizes) in [
        (TINY, vec![1, 0, 383, 384, 385, 7, 8, 2000, 13]),
        (WIDE, vec![100_000, 40_000, 133, 150_000]),
    ] {
        let [first, second] = both(None, |first, channel| {
            let mut pcg = dealt(first, channel, 1, shape).unwrap();
            let sizes = sizes.iter();
            let made: Vec<_> = sizes
                .map(|&count| bits(&mut pcg, channel, count).unwrap())
                .collect();
            let iterations = pcg.state.call(|secrets| Ok(secrets.iterations)).unwrap();
            (pcg.mutual.delta(), made, iterations)
        });
        let total: usize = sizes.iter().sum();
        assert_eq!(first.2, total.div_ceil(shape.yields()) as u64);
        let mut strings = Vec::new();
        let mut ones = [[0; 128]; 2];
        for (ours, theirs) in first.1.into_iter().zip(second.1) {
            strings.extend(
                [&ours[1], &theirs[1]]
                    .into_iter()
                    .flatten()
                    .map(|key| key.to_bytes()),
            );
            for (ones, macs) in ones.iter_mut().zip([&ours[0], &theirs[0]]) {
                for (at, ones) in ones.iter_mut().enumerate() {
                    *ones += macs.iter().filter(|&&mac| mask(mac, at) != 0).count();
                }
            }
            authentic([(first.0, ours), (second.0, theirs)]);
        }
        let count = strings.len();
        strings.sort_unstable();
        strings.dedup();
        assert_eq!(strings.len(), count, "a key occurs twice");
        // Six standard deviations.
        let (half, off) = (total / 2, 3 * (total as f64).sqrt() as usize);
        for ones in ones.as_flattened() {
            assert!((half - off..half + off).contains(ones), "{ones} of {total}");
        }
    }
}

#[test]
fn an_iteration_takes_the_bytes_that_are_declared() {
    for shape in [TINY, WIDE] {
        let sent = both(None, |first, channel| {
            let mut pcg = dealt(first, channel, 2, shape).unwrap();
            bits(&mut pcg, channel, 1).unwrap();
            let before = channel.meter().payload_sent;
            let left = shape.yields() - 1;
            bits(&mut pcg, channel, left).unwrap();
            let unchanged = channel.meter().payload_sent;
            bits(&mut pcg, channel, 1).unwrap();
            [unchanged - before, channel.meter().payload_sent - unchanged]
        });
        assert_eq!(sent, [[0, shape.bytes() as u64]; 2]);
    }
}

/// What is kept back for the next iteration is given to nobody: rows of an iteration are seed, then what is given out.
#[test]
fn what_is_kept_back_is_not_given_out() {
    let made = both(None, |first, channel| {
        let mut pcg = dealt(first, channel, 3, TINY).unwrap();
        let given = [bits(&mut pcg, channel, TINY.yields()), bits(&mut pcg, channel, 1)];
        let seed = pcg.state.call(|secrets| {
            assert_eq!((secrets.iterations, secrets.next), (2, TINY.seed() + 1));
            Ok([secrets.seed.macs.to_vec(), secrets.seed.keys.to_vec()])
        });
        let given = given.map(|given| given.unwrap());
        (pcg.mutual.delta(), seed.unwrap(), given)
    });
    let [first, second] = made;
    for side in [&first, &second] {
        for (kind, seed) in side.1.iter().enumerate() {
            assert_eq!(seed.len(), TINY.seed());
            let given: Vec<_> = side.2.iter().flat_map(|given| &given[kind]).collect();
            assert!(seed.iter().all(|block| !given.contains(&block)));
        }
    }
    authentic([(first.0, first.1), (second.0, second.1)]);
}

/// The trees: each leaf but one is the other side's.
#[test]
fn leaves_are_shared_but_for_one() {
    let mut entropy = Entropy::for_tests(4);
    for h in 1..=9 {
        for tree in 0..20 {
            let number = Number {
                start: entropy.block(),
                tree,
            };
            let delta = entropy.block() ^ Block([0; 2]);
            let delta = Block([delta.0[0] | 1, delta.0[1]]);
            let mut leaves = vec![Block::ZERO; 1 << h];
            leaves[0] = entropy.block();
            let mut sums = vec![Block::ZERO; h];
            tree::grow(number, delta, &mut leaves, &mut sums);
            let macs: Vec<Block> = (0..h).map(|_| entropy.block()).collect();
            let told: Vec<Block> = sums
                .iter()
                .zip(&macs)
                .map(|(&sum, &mac)| sum ^ delta & Block([mask(mac, 0); 2]))
                .collect();
            let mut theirs = vec![entropy.block(); 1 << h];
            let place = tree::regrow(number, &told, &macs, &mut theirs);
            let expected = macs
                .iter()
                .fold(0, |place, &mac| place << 1 | (mask(mac, 0) & 1 ^ 1) as usize);
            assert_eq!(place, expected);
            for (at, (&leaf, &other)) in leaves.iter().zip(&theirs).enumerate() {
                let difference = if at == place { delta } else { Block::ZERO };
                assert!(
                    leaf ^ difference == other,
                    "leaf {at} of {}, place {place}",
                    1 << h
                );
            }
            assert!(leaves.iter().all(|&leaf| mask(leaf, 0) == 0));
        }
    }
}

/// Changes one byte of what the second side tells of its trees: of a level but the first.
fn wrong_sum(tree: usize, level: usize, byte: usize) -> Adversary {
    Adversary::with(move |_, _, mut message: Message| {
        if message.step == steps::POINT_TREES {
            let at = 16 * (1 + tree * TINY.told() + level - 1) + byte;
            message.body[at] ^= 4;
        }
        vec![message]
    })
}

/// Whichever side of a level the holder takes, it gets the wrong sum.
#[test]
fn wrong_sums_are_caught_in_all_levels_of_all_trees() {
    for seed in 0..64 {
        let adversary = wrong_sum(seed as usize, 1 + seed as usize % TINY.told(), seed as usize % 16);
        let [first, second] = both(Some(&adversary), |first, channel| {
            let mut pcg = dealt(first, channel, seed, TINY).unwrap();
            let made = bits(&mut pcg, channel, 100);
            let again = bits(&mut pcg, channel, 10);
            let verifier = pcg.mutual.verifier(0).receive(channel, steps::POINT_ANSWER, &[]);
            (made, again, verifier)
        });
        assert!(adversary.deviations() > 0);
        assert!(caught(&first.0), "run {seed}: {:?}", first.0);
        assert!(caught(&first.1), "nothing comes after a failure: {:?}", first.1);
        assert!(caught(&first.2), "of what shares its fate either: {:?}", first.2);
        // The cheater's own check is passed, and the rest of the iteration is there: it finds out when it wants more.
        assert!(second.0.is_ok());
    }
}

/// With a wrong sum of the last level both leaves of the last node are wrong: whoever guesses this node, one of eight, and changes its own leaves, passes. Then all bits are right.
#[test]
fn a_guess_of_the_place_passes_if_it_is_right() {
    let (tree, guess, level) = (5, 3, TINY.block as usize - 1);
    let mut passed = 0;
    for seed in 0..200 {
        let adversary = wrong_sum(tree, level, 9);
        let [first, second] = both(Some(&adversary), |first, channel| {
            let mut pcg = dealt(first, channel, seed, TINY).unwrap();
            if first {
                let made = bits(&mut pcg, channel, 100);
                let place = pcg.state.call(|secrets| {
                    let at = TINY.secret() + tree * TINY.block as usize;
                    let macs = &secrets.seed.macs[at..at + TINY.block as usize];
                    Ok(macs
                        .iter()
                        .fold(0, |place, &mac| place << 1 | (!mask(mac, 0) & 1)))
                });
                return (pcg.mutual.delta(), made, place.ok());
            }
            let Pcg { mutual, state } = &mut pcg;
            let made = state.call(|secrets| {
                secrets.begin(mutual, channel)?;
                secrets.grow(channel)?;
                let leaves = &mut secrets.noise.keys[tree << TINY.block..];
                for leaf in &mut leaves[2 * guess..2 * guess + 2] {
                    leaf.0[1] ^= 4 << 8;
                }
                let places = secrets.regrow(channel)?;
                secrets.check(&places, channel)?;
                secrets.next = TINY.seed();
                Ok(())
            });
            (
                mutual.delta(),
                made.and_then(|()| bits(&mut pcg, channel, 100)),
                None,
            )
        });
        match first.1 {
            Ok(made) => {
                assert_eq!(first.2.unwrap() / 2, guess as u64, "run {seed}");
                authentic([(first.0, made), (second.0, second.1.unwrap())]);
                passed += 1;
            }
            failed => assert!(caught(&failed), "{failed:?}"),
        }
    }
    assert!((8..50).contains(&passed), "{passed} of 200 passed");
}

/// What a side does otherwise than the protocol says.
type Deviation = fn(&mut Secrets);

#[test]
fn nothing_serves_twice_or_under_another_difference() {
    let deviations: [(&str, Deviation); 4] = [
        ("the seed of the iteration before", |secrets| {
            let seed = secrets.seed.keys.clone();
            // What it encodes next is what it had.
            secrets.noise.keys[..seed.len()].copy_from_slice(&seed);
            secrets.secret.iter_mut().for_each(|pair| pair.key = Block::ZERO);
        }),
        ("the places of the code of another iteration", |secrets| {
            secrets.iterations += 1
        }),
        ("the rows after those that are kept back", |secrets| {
            secrets.noise.keys.rotate_left(1);
        }),
        ("another difference in its trees", |secrets| {
            secrets.delta.0[1] ^= 16
        }),
    ];
    for (what, deviation) in deviations {
        let [first, second] = both(None, |first, channel| {
            let mut pcg = dealt(first, channel, 6, TINY).unwrap();
            let made = bits(&mut pcg, channel, TINY.yields()).unwrap();
            if !first {
                let deviated = pcg.state.call(|secrets| {
                    deviation(secrets);
                    Ok(())
                });
                deviated.unwrap();
            }
            (pcg.mutual.delta(), made, bits(&mut pcg, channel, 1))
        });
        assert!(caught(&first.2), "{what}: {:?}", first.2);
        authentic([(first.0, first.1), (second.0, second.1)]);
    }
}

/// A tree grown from something else than the key of its first bit: the holder has a MAC that belongs to neither node of the first level.
#[test]
fn a_tree_of_another_root_is_caught() {
    for tree in [0, 17, TINY.blocks as usize - 1] {
        let [first, second] = both(None, |first, channel| {
            let mut pcg = dealt(first, channel, 8, TINY).unwrap();
            let Pcg { mutual, state } = &mut pcg;
            let made = state.call(|secrets| {
                secrets.begin(mutual, channel)?;
                let at = TINY.secret() + tree * TINY.block as usize;
                let key = secrets.seed.keys[at];
                if !first {
                    secrets.seed.keys[at] = key ^ Block([0, 64]);
                }
                secrets.grow(channel)?;
                secrets.seed.keys[at] = key;
                let places = secrets.regrow(channel)?;
                secrets.check(&places, channel)
            });
            made.map(|()| mutual.delta())
        });
        assert!(caught(&first), "tree {tree}: {first:?}");
        assert!(second.is_ok());
    }
}

/// However rows are asked for, they have the same places.
#[test]
fn rows_do_not_depend_on_how_they_are_cut() {
    let count = 1500;
    let prg = Prg::new(Block([5, 6]));
    let code = Code {
        places: &prg,
        iteration: 9,
    };
    let mut entropy = Entropy::for_tests(12);
    let mut block = || entropy.block();
    let secret: Vec<Pair> = (0..256)
        .map(|_| Pair {
            mac: block(),
            key: block(),
        })
        .collect();
    let noise = [(); 2].map(|()| (0..count).map(|_| block()).collect::<Vec<_>>());
    let encoded = |rows: Range<usize>| {
        let [mut macs, mut keys] = [(); 2].map(|()| vec![Block::ZERO; rows.len()]);
        let noise = noise.each_ref().map(|noise| &noise[rows.clone()]);
        let out = Rows {
            macs: &mut macs,
            keys: &mut keys,
        };
        code.encode(&secret, noise, rows, out);
        [macs, keys]
    };
    let all = encoded(0..count);
    for first in [0, 1, 15, 16, 17, 500, 511, 512, 513] {
        for length in [0, 1, 15, 16, 31, 495, 496, 497, 512, 900] {
            let rows = first..first + length;
            let cut = all.each_ref().map(|all| all[rows.clone()].to_vec());
            assert_eq!(encoded(rows.clone()), cut, "{rows:?}");
        }
    }
    // No two have the same places: what is left without the noise differs.
    let mut sums: Vec<_> = all[0]
        .iter()
        .zip(&noise[0])
        .map(|(&sum, &noise)| (sum ^ noise).to_bytes())
        .collect();
    sums.sort_unstable();
    sums.dedup();
    assert_eq!(sums.len(), count);
}

/// Trees and answers of one iteration are none of the next.
#[test]
fn replayed_messages_are_caught() {
    for step in [steps::POINT_TREES, steps::POINT_ANSWER] {
        let mut old = None;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == step {
                match &old {
                    None => old = Some(message.body.clone()),
                    Some(old) => message.body = old.clone(),
                }
            }
            vec![message]
        });
        let [first, second] = both(Some(&adversary), |first, channel| {
            let mut pcg = dealt(first, channel, 7, TINY).unwrap();
            let made = bits(&mut pcg, channel, TINY.yields()).unwrap();
            (pcg.mutual.delta(), made, bits(&mut pcg, channel, 1))
        });
        assert!(caught(&first.2), "{step:?}: {:?}", first.2);
        authentic([(first.0, first.1), (second.0, second.1)]);
    }
}

#[test]
fn no_message_is_taken_that_was_changed() {
    for step in [steps::POINT_TREES, steps::POINT_CHALLENGE, steps::POINT_ANSWER] {
        for perturbation in Perturbation::all() {
            let adversary = Adversary::new(Target::step(step), perturbation.clone());
            let [first, second] = both(Some(&adversary), |first, channel| {
                let mut pcg = dealt(first, channel, 9, WIDE)?;
                bits(&mut pcg, channel, 20_000).map(|made| (pcg.mutual.delta(), made))
            });
            assert!(adversary.deviations() > 0);
            let told = format!("{} {perturbation:?}: {:?}", step.name, first.as_ref().err());
            match (first, &perturbation) {
                // The cheater's own loss: it answered another challenge, or said another sum than it knows the answer for.
                (Ok(_), Perturbation::FlipBit { .. }) => {
                    assert_eq!(step, steps::POINT_CHALLENGE, "{told}");
                    assert!(caught(&second), "{told}");
                }
                (Err(Error::Aborted { check, .. }), Perturbation::FlipBit { .. }) => {
                    assert_eq!(check, POINTS, "{told}");
                    assert_ne!(step, steps::POINT_CHALLENGE, "{told}");
                }
                (Err(Error::Aborted { check, .. }), _) => {
                    assert!([POINTS, MESSAGE_FORM].contains(&check), "{told}");
                }
                (Err(Error::Net(_)), _) => {}
                (Ok(_), Perturbation::Duplicate) => assert_eq!(step, steps::POINT_ANSWER, "{told}"),
                (other, _) => panic!("{told}: {}", other.is_ok()),
            }
        }
    }
}

/// The bits that an iteration is made from are checked like all others.
#[test]
fn the_first_seed_is_checked() {
    let adversary = Adversary::with(|_, _, mut message: Message| {
        if message.step == steps::COLUMNS {
            message.body.iter_mut().step_by(64).for_each(|byte| *byte ^= 1);
        }
        vec![message]
    });
    let [first, _] = both(Some(&adversary), |first, channel| {
        let mut pcg = dealt(first, channel, 10, TINY).unwrap();
        bits(&mut pcg, channel, 100)
    });
    assert!(
        matches!(&first, Err(Error::Aborted { check, .. }) if *check == OT_CONSISTENCY),
        "{first:?}"
    );
}
