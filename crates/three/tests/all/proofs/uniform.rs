//! What is seen of a proof: nothing that depends on what is proved, under pads and masks of which none is used twice; and challenges that depend on all of it.
//!
//! In sessions of gates whose shares are all zero, every value of a proof is zero, too, so what is sent is the pads, and what is opened the masks. Sums with
//! the random weights of a batch would look random without them.

use std::collections::HashSet;
use std::sync::Arc;

use cenote_primitives::{BitMatrix, Block, gf128};
use cenote_session::{Engine, Parties, WireVector};
use cenote_three::{ViewCheck, steps};
use sha2::{Digest, Sha256};

use super::workers::Workers;
use super::{BLOCK, ELEMENT, HASH, POINTS, STEPS, Trial, layers};
use crate::common::intercept::{Message, Spy, Thread};
use crate::common::proofs;
use crate::common::session::{Session, in_parallel};

/// Batches of each worker in [`zeros`], and workers.
const BATCHES: usize = 3;
const WORKERS: usize = 2;

/// What parties 0, 1 and 2 send of their proofs, by worker, in a session whose gates have shares of zero as operands.
fn zeros() -> Vec<[Vec<Message>; 3]> {
    let spies = [(); WORKERS].map(|()| [(); 3].map(|()| Spy::listening()));
    let mut workers = Workers::new(proofs(40, 1 << 10), WORKERS);
    for (worker, spies) in spies.iter().enumerate() {
        for (party, spy) in (0..).zip(spies) {
            workers = workers.with_spy(party, worker, spy);
        }
    }
    let results = workers.run(|engine| {
        let zeros = engine.constant(&BitMatrix::zeros(2, BLOCK * WORKERS))?;
        for _ in 0..BATCHES {
            let products = engine.run(&layers(1), &zeros)?;
            engine.reveal(&products, Parties::all(3))?;
        }
        engine.finish()
    });
    results.into_iter().for_each(|result| result.unwrap());
    spies.iter().map(of_provers).collect()
}

fn of_provers(spies: &[Arc<Spy>; 3]) -> [Vec<Message>; 3] {
    spies.each_ref().map(|spy| {
        let sent = spy.sent().into_iter();
        sent.filter(|message| message.wire.thread == Thread::Generator)
            .collect()
    })
}

pub(super) fn elements(body: &[u8]) -> Vec<Block> {
    let (elements, _) = body.as_chunks::<ELEMENT>();
    elements.iter().map(|bytes| Block::from_bytes(*bytes)).collect()
}

fn bytes_of(elements: &[Block]) -> Vec<[u8; ELEMENT]> {
    elements.iter().map(|element| element.to_bytes()).collect()
}

/// The one body of this step, batch and way.
fn body(sent: &[Vec<Message>; 3], step: cenote_net::Step, batch: usize, (from, to): (u8, u8)) -> &[u8] {
    let mut bodies = sent[usize::from(from)].iter();
    let place = (step, batch, to);
    let found = bodies.find(|message| (message.step, message.occurrence, message.wire.to) == place);
    &found.expect("it was sent").body
}

#[test]
fn no_pad_is_used_twice() {
    let mut messages = Vec::new();
    for sent in zeros() {
        for party in 0..3u8 {
            for batch in 0..BATCHES {
                let way = (party, (party + 2) % 3);
                let grid = elements(body(&sent, steps::PROOF_GRID, batch, way));
                assert_eq!(grid.len(), POINTS);
                let tail = elements(body(&sent, steps::PROOF_TAIL, batch, way));
                assert_eq!(tail.len(), 8 * STEPS + 4 + 1);
                messages.push(bytes_of(&grid));
                messages.extend(bytes_of(&tail[..8 * STEPS]).chunks(8).map(<[_]>::to_vec));
            }
        }
    }
    assert_eq!(messages.len(), WORKERS * 3 * BATCHES * (1 + STEPS));
    // All of them, within messages and between.
    let mut pads = HashSet::new();
    for pad in messages.iter().flatten() {
        assert!(pads.insert(pad), "a pad is used twice");
    }
    // And none differs from another as two others do.
    let mut sums = HashSet::new();
    for (at, one) in messages.iter().enumerate() {
        for other in &messages[..at] {
            for (one, other) in one.iter().zip(other) {
                let sum = Block::from_bytes(*one) ^ Block::from_bytes(*other);
                assert!(sums.insert(sum.to_bytes()), "two pads differ as two others do");
            }
        }
    }
}

/// The hash of the protocol's: of a word on what it is, and of parts, each with its length before it.
pub(super) fn hash(what: &[u8], parts: &[&[u8]]) -> [u8; HASH] {
    let mut hash = Sha256::new();
    hash.update(b"cenote three: proofs, version 1: ");
    for part in [&what].into_iter().chain(parts) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// `a^(2^128 - 2)`.
fn inverse(a: Block) -> Block {
    let (mut power, mut inverse) = (a, gf128::ONE);
    for _ in 1..128 {
        power = gf128::mul(power, power);
        inverse = gf128::mul(inverse, power);
    }
    inverse
}

/// The element whose bits are those of `number`.
pub(super) fn element(number: u64) -> Block {
    Block([number.to_le(), 0])
}

/// How a mask counts at `at`: `(at + 1)(at + 2) / 2`.
pub(super) fn weight_of_mask(at: Block) -> Block {
    let [one, two] = [1, 2].map(element);
    gf128::mul(gf128::mul(at ^ one, at ^ two), inverse(two))
}

/// The last challenge, which is made of the transcript.
pub(super) fn last_challenge(transcript: &[u8]) -> Block {
    let digest = hash(b"element", &[transcript, &0u64.to_le_bytes()]);
    Block::from_bytes(digest[..ELEMENT].try_into().unwrap())
}

/// The mask that gives an opened value, where all else is zero.
fn mask(value: Block, transcript: &[u8]) -> Block {
    gf128::mul(value, inverse(weight_of_mask(last_challenge(transcript))))
}

/// Of each proof both masks are fresh, of whichever prover, batch and worker, and each verifier opens what its prover told it.
#[test]
fn no_mask_is_used_twice() {
    let mut masks = HashSet::new();
    for sent in zeros() {
        for prover in 0..3u8 {
            let (right, left) = ((prover + 1) % 3, (prover + 2) % 3);
            for batch in 0..BATCHES {
                let tail = body(&sent, steps::PROOF_TAIL, batch, (prover, left));
                let digests = body(&sent, steps::PROOF_DIGESTS, batch, (prover, right));
                for (told, way) in [(tail, (left, right)), (digests, (right, left))] {
                    let opened = body(&sent, steps::PROOF_OPENING, batch, way);
                    assert_eq!(opened.len(), 2 * ELEMENT + HASH);
                    assert!(told.ends_with(&opened[..ELEMENT]));
                    let mask = mask(elements(opened)[0], &opened[2 * ELEMENT..]);
                    assert!(
                        mask != Block::ZERO && masks.insert(mask.to_bytes()),
                        "batch {batch}"
                    );
                }
            }
        }
    }
    assert_eq!(masks.len(), WORKERS * BATCHES * 6);
}

/// The common challenge is made of the batch, its coin, and all three digests; each proof's transcript of that and of all later digests. So no message can be
/// chosen after the challenge that it is to fit.
#[test]
fn challenges_are_made_of_everything_before_them() {
    for (worker, sent) in (0u8..).zip(zeros()) {
        for batch in 0..BATCHES {
            // Component 0 of the coin goes from party 0 to 1, component 1 from 0 to 2, component 2 from 1 to 0.
            let share = |way| elements(body(&sent, steps::COIN, batch, way))[0];
            let coin = share((0, 1)) ^ share((0, 2)) ^ share((1, 0));
            let header = |coin: Block| {
                let parts: [&[u8]; 6] = [
                    &[worker],
                    &(batch as u64).to_le_bytes(),
                    &1u64.to_le_bytes(),
                    &3u32.to_le_bytes(),
                    &64u32.to_le_bytes(),
                    &coin.to_bytes(),
                ];
                hash(b"batch", &parts)
            };
            let header = header(coin);
            let digest = |prover: u8| body(&sent, steps::PROOF_DIGEST, batch, (prover, (prover + 1) % 3));
            let digests = [0, 1, 2].map(digest).concat();
            let common = hash(b"challenge", &[&header, &digests]);
            for prover in 0..3u8 {
                let (right, left) = ((prover + 1) % 3, (prover + 2) % 3);
                for to in [right, left] {
                    assert!(body(&sent, steps::PROOF_CHALLENGE, batch, (prover, to)) == common);
                }
                let mut transcript = hash(b"proof", &[&common, &[prover]]);
                let told = body(&sent, steps::PROOF_DIGESTS, batch, (prover, right));
                let (digests, _) = told.as_chunks::<HASH>();
                assert_eq!(digests.len(), STEPS + 1);
                for digest in digests {
                    transcript = hash(b"step", &[&transcript, digest]);
                }
                for way in [(left, right), (right, left)] {
                    let opened = body(&sent, steps::PROOF_OPENING, batch, way);
                    assert!(opened[2 * ELEMENT..] == transcript);
                }
                // Digests are of more than what a verifier could guess.
                let grid = body(&sent, steps::PROOF_GRID, batch, (prover, left));
                for nonce in [&[][..], &[0; HASH]] {
                    let parts: [&[u8]; 5] = [&header, &[prover], &0u64.to_le_bytes(), nonce, grid];
                    assert!(digest(prover) != hash(b"message", &parts));
                }
            }
        }
    }
}

/// Sessions whose keys differ, and nothing else.
const RUNS: usize = 200;

/// The bodies of one step that one party sends to another, of [`RUNS`] sessions.
type Bodies = Vec<Vec<u8>>;

/// χ² of the values of all bytes, with 255 degrees of freedom; and for each bit how far the number of ones is from a half, in standard errors.
fn assert_uniform(what: &str, bodies: &Bodies) {
    let mut times = [0f64; 256];
    bodies
        .iter()
        .flatten()
        .for_each(|byte| times[usize::from(*byte)] += 1.0);
    let expected = times.iter().sum::<f64>() / 256.0;
    let squares: f64 = times
        .iter()
        .map(|times| (times - expected).powi(2) / expected)
        .sum();
    // The randomness of the parties is fixed. One in a hundred thousand seeds would exceed 360, and one in some ten thousand the other bound.
    assert!(squares < 360.0, "{what}: {squares}");
    let runs = bodies.len() as f64;
    for bit in 0..8 * bodies[0].len() {
        let is_one = |body: &&Vec<u8>| body[bit / 8] >> (bit % 8) & 1 == 1;
        let ones = bodies.iter().filter(is_one).count() as f64;
        let errors = (ones - runs / 2.0) / (runs / 4.0).sqrt();
        assert!(errors.abs() < 6.0, "{what}, bit {bit}: {ones} ones in {runs}");
    }
}

fn assert_all_uniform(session: impl Fn(u64) -> [Vec<Message>; 3] + Sync) {
    let runs = in_parallel(RUNS, 4, |run| session(run as u64));
    for step in [steps::PROOF_GRID, steps::PROOF_TAIL, steps::PROOF_OPENING] {
        for from in 0..3u8 {
            let tos = [(from + 2) % 3, (from + 1) % 3];
            let tos = &tos[..if step == steps::PROOF_OPENING { 2 } else { 1 }];
            for to in tos {
                let of = |sent| body(sent, step, 0, (from, *to)).to_vec();
                let bodies: Bodies = runs.iter().map(of).collect();
                assert_uniform(&format!("{step} from {from} to {to}"), &bodies);
                let all: HashSet<_> = bodies.iter().collect();
                assert_eq!(all.len(), RUNS);
            }
        }
    }
}

/// With the same inputs and other keys.
#[test]
fn what_a_party_hears_of_proofs_is_uniform() {
    assert_all_uniform(|seed| {
        let mut trial = Trial::small();
        trial.session.seed = 1000 + seed;
        let spies = [(); 3].map(|()| Spy::listening());
        trial
            .run_beside(0, &spies[0], &[spies[1].clone(), spies[2].clone()])
            .succeeded("all are honest");
        of_provers(&spies)
    });
}

/// Gates whose shares are zero: what is left are pads and masks.
#[test]
fn what_a_party_hears_of_nothing_is_uniform() {
    assert_all_uniform(|seed| {
        let spies = [(); 3].map(|()| Spy::listening());
        let mut session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 5000 + seed);
        session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
        let results = session.run(|engine| {
            let zeros = engine.constant(&BitMatrix::zeros(1, 70))?;
            let products = engine.run(&layers(1), &WireVector::concat(&[&zeros, &zeros]))?;
            engine.reveal(&products, Parties::NONE)?;
            engine.finish()
        });
        results.into_iter().for_each(|result| result.unwrap());
        of_provers(&spies)
    });
}
