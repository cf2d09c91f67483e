//! Set-up, honest and attacked.

use std::sync::OnceLock;
use std::time::Duration;

use cenote_net::{ChannelOptions, Label, PartyId, memory_pair};
use cenote_pool::Role;
use cenote_testkit::{Adversary, Message, Perturbation, Target};

use super::*;
use crate::keys::Base;
use crate::steps;

/// Both sides, the garbler's messages behind `adversary`.
pub(crate) fn both<A: Send, B>(
    adversary: Option<&Adversary>,
    garbler: impl FnOnce(&mut dyn Channel) -> A + Send,
    evaluator: impl FnOnce(&mut dyn Channel) -> B,
) -> (A, B) {
    let options = ChannelOptions::with_timeout(Duration::from_secs(20));
    let (to_evaluator, mut to_garbler) = memory_pair(PartyId(0), PartyId(1), options);
    let mut to_evaluator: Box<dyn Channel> = Box::new(to_evaluator);
    if let Some(adversary) = adversary {
        to_evaluator = Box::new(adversary.wrap(Label::from("main"), to_evaluator));
    }
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || garbler(&mut *to_evaluator));
        let evaluated = evaluator(&mut to_garbler);
        drop(to_garbler);
        (garbler.join().unwrap(), evaluated)
    })
}

pub(crate) fn config(seed: u64) -> Config {
    let mut config = Config::new("test");
    config.entropy = Entropy::for_tests(seed);
    config
}

pub(crate) fn sizes() -> Sizes {
    Sizes::search(40, 1 << 20, None).unwrap()
}

/// What the garbler and the evaluator compute with and make gadgets with.
pub(crate) type Sides = ((GarblerKeys, GarblerMaker), (EvaluatorKeys, EvaluatorMaker));

/// A session's keys on both sides, all over one base: making it takes longer than most of what is tested over it.
pub(crate) fn keys(seed: u64) -> Sides {
    static BASES: OnceLock<(GarblerBase, EvaluatorBase)> = OnceLock::new();
    let sizes = sizes();
    let (garbler, evaluator) = BASES.get_or_init(|| {
        both(
            None,
            |channel| GarblerBase::establish(channel, &mut config(0), &sizes).unwrap(),
            |channel| EvaluatorBase::establish(channel, &mut config(1), &sizes).unwrap(),
        )
    });
    let which = Which::default();
    both(
        None,
        |channel| garbler.begin(channel, &mut config(seed), &sizes, which).unwrap(),
        |channel| {
            evaluator
                .begin(channel, &mut config(!seed), &sizes, which)
                .unwrap()
        },
    )
}

type SetUp<K, M> = Result<(K, M)>;

fn set_up(
    adversary: Option<&Adversary>,
    seed: u64,
) -> (
    SetUp<GarblerKeys, GarblerMaker>,
    SetUp<EvaluatorKeys, EvaluatorMaker>,
) {
    let sizes = sizes();
    both(
        adversary,
        |channel| {
            let mut config = config(seed);
            let base = GarblerBase::establish(channel, &mut config, &sizes)?;
            base.begin(channel, &mut config, &sizes, Which::default())
        },
        |channel| {
            let mut config = config(!seed);
            let base = EvaluatorBase::establish(channel, &mut config, &sizes)?;
            base.begin(channel, &mut config, &sizes, Which::default())
        },
    )
}

/// Why the evaluator fails.
fn failure(adversary: &Adversary, seed: u64) -> Error {
    set_up(Some(adversary), seed).1.err().expect("it is caught")
}

#[test]
fn both_sides_have_what_belongs_together() {
    let secrets = |seed| {
        let (garbler, evaluator) = set_up(None, seed);
        (garbler.unwrap().0.secrets, evaluator.unwrap().0.secrets)
    };
    let (garbler, evaluator) = secrets(1);
    assert!(colour(&garbler.delta) && garbler.delta.len() == 3);
    let mut hash = vec![Block::ZERO; 2];
    evaluator.watcher.hash(&garbler.delta, &mut hash);
    assert_eq!(hash, *evaluator.delta_hash);
    assert_eq!(garbler.start, evaluator.start);
    assert_eq!(*evaluator.gamma & 1, 1);
    let (other, _) = secrets(2);
    assert!(*other.delta != *garbler.delta && other.start != garbler.start);
}

/// A garbler whose difference ends in 0 tells last bits as if every challenge bit were 0.
#[test]
fn a_difference_that_ends_in_0_is_caught() {
    let code = code(&sizes()).unwrap();
    let seeds: Vec<Block> = (0..code.length() as u64).map(|seed| Block([seed, 5])).collect();
    let positions: Vec<usize> = (20..20 + code.watched()).collect();
    let watched: Vec<Block> = positions.iter().map(|&at| seeds[at]).collect();
    for last in [0, 1] {
        let (_, caught) = both(
            None,
            |channel| {
                let committer = Committer::new(&code, &seeds);
                let mut labels = Zeroizing::new(vec![Block::ZERO; UNIT * code.label_blocks()]);
                Entropy::for_tests(8).fill(as_bytes_mut(&mut labels));
                labels[0].0[0] = labels[0].0[0] & !1 | last;
                show_difference(channel, &code, &committer, labels)
            },
            |channel| {
                let watcher = Watcher::new(&code, &positions, &watched);
                let mut entropy = Entropy::for_tests(9);
                see_difference(channel, &code, &watcher, &mut entropy)
            },
        );
        match last {
            1 => assert_eq!(caught.unwrap().len(), code.hash_blocks()),
            _ => assert_eq!(caught.unwrap_err().check(), Some(checks::DIFFERENCE)),
        }
    }
}

#[test]
fn what_is_changed_in_set_up_is_caught() {
    let labels = sizes().labels;
    let told = (2 * labels.length() - labels.message()) as usize * 64;
    let flips = [
        // A symbol of the difference, of random labels, and what is told of their last bits.
        (HASH_DIFFERENCE, vec![0, labels.length() as usize * 64 + 5, told]),
        (OPEN_DIFFERENCE, vec![0, 64 * 48 - 1]),
    ];
    for (step, bytes) in flips {
        for byte in bytes {
            // A symbol may be one that is not watched, so all positions' are changed.
            let stride = if step == HASH_DIFFERENCE && byte < told {
                64
            } else {
                usize::MAX
            };
            let adversary = Adversary::with(move |_, _, mut message: Message| {
                if message.step == step {
                    let len = message.body.len();
                    (byte..len).step_by(stride).for_each(|at| message.body[at] ^= 1);
                }
                vec![message]
            });
            let error = failure(&adversary, 3);
            assert_eq!(
                error.check(),
                Some(checks::DIFFERENCE),
                "{step:?} {byte}: {error}"
            );
        }
    }
    let adversary = Adversary::new(
        Target::step(START).occurrence(1),
        Perturbation::FlipBit { byte: 3, bit: 1 },
    );
    let error = failure(&adversary, 3);
    assert_eq!(error.check(), Some(checks::COIN), "{error}");
}

#[test]
fn messages_of_other_lengths_are_refused() {
    for step in [HASH_DIFFERENCE, OPEN_DIFFERENCE, START] {
        for perturbation in [Perturbation::Truncate(1), Perturbation::Extend(1)] {
            let adversary = Adversary::new(Target::step(step), perturbation);
            let error = failure(&adversary, 4);
            assert_eq!(adversary.deviations(), 1);
            assert!(error.to_string().contains(step.name), "{step:?}: {error}");
        }
    }
    assert!(steps::SETUP.contains(&START));
}

#[test]
fn what_is_kept_of_a_pool_reads_back() {
    let sizes = sizes();
    let (garbler, evaluator) = both(
        None,
        |channel| GarblerBase::establish(channel, &mut config(5), &sizes).unwrap(),
        |channel| EvaluatorBase::establish(channel, &mut config(6), &sizes).unwrap(),
    );
    for (role, other, base) in [
        (Role::Garbler, Role::Evaluator, Base::Garbler(garbler)),
        (Role::Evaluator, Role::Garbler, Base::Evaluator(evaluator)),
    ] {
        let bytes = base.encode();
        let read = Base::decode(role, &bytes, &sizes).unwrap();
        assert!(*read.encode() == *bytes && read.coin() == base.coin());
        assert!(Base::decode(other, &bytes, &sizes).is_none());
        assert!(Base::decode(role, &bytes[1..], &sizes).is_none());
        assert!(Base::decode(role, &[&bytes[..], &[0]].concat(), &sizes).is_none());
    }
}

#[test]
fn sessions_over_a_pool_have_nothing_in_common_but_the_pool() {
    let base = [Block([1, 2]), Block([3, 4])];
    let which = |number: u64, nonce: u8| {
        Some(Which {
            number,
            nonce: [[nonce; 16], [0; 16]],
        })
    };
    let mut all: Vec<Block> = [None, which(0, 0), which(1, 0), which(1, 1)]
        .into_iter()
        .flat_map(|session| seeds_of(&base, session).to_vec())
        .chain(base)
        .collect();
    all.sort_by_key(|block| block.0);
    all.dedup();
    assert_eq!(all.len(), 10);
    let mut counters = [0, 1].map(|number| Counters::new("test", number));
    assert_eq!(counters[0].gates(5).unwrap(), 0);
    assert_eq!(counters[1].gates(7).unwrap(), 1 << 40);
    assert_eq!(counters[1].gates(1).unwrap(), (1 << 40) + 7);
    let error = counters[0].gates(1 << 40).unwrap_err();
    assert!(matches!(error, Error::Exhausted(_)), "{error}");
}
