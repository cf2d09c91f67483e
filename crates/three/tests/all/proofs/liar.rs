//! A prover that lies consistently: a wrong value of its proof, with the digest of it, and all that follows as if it were right. Nothing is left to notice it
//! by but the last equation.
//!
//! It proves gates whose shares are all zero, so that the right values are zero, too, but for those of the last step, which masks make. What it says is
//! computed here, from the keys that it has. If it tells no lie, the others accept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cenote_net::{PartyId, Step};
use cenote_primitives::{BitMatrix, Block, Block512, Position, Prg, as_bytes, as_quarters, gf128};
use cenote_session::{Check, Engine, Error, Result};
use cenote_three::{Ring, ThreeEngine, ViewCheck, checks, steps};
use sha2::{Digest, Sha256};

use super::order::take_prover;
use super::statements::wait_for;
use super::uniform::{element, elements, hash, last_challenge, weight_of_mask};
use super::{ELEMENT, HASH, POINTS, STEPS, layers};
use crate::common::intercept::{Spy, Thread};
use crate::common::proofs;
use crate::common::session::{Session, in_parallel};

/// The party that lies, and its verifiers.
const LIAR: u8 = 1;
const LEFT: u8 = 0;
const RIGHT: u8 = 2;

/// What streams of keys are for: coins, pads, nonces, and masks of both sides.
const COIN: u64 = 16;
const PAD: u64 = 17;
const NONCE: u64 = 18;
const LEFT_MASK: u64 = 19;
const RIGHT_MASK: u64 = 20;

/// Which value is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// Of the message of this step, the one at this place.
    Value(usize, usize),
    /// The value of the first half, told to the left verifier, or of the second.
    Half(usize),
    /// The last step's values are of another mask than the prover's.
    Mask,
}

/// What is added to a value.
const ERROR: Block = Block([0x8000_0000_0000_0001, 0x1234]);

struct Liar {
    lie: Lie,
    /// Listeners at all parties.
    spies: [Arc<Spy>; 3],
    /// Its prover's channels.
    ring: Ring,
    /// Whether the others are done.
    over: Arc<AtomicBool>,
    /// What it sent.
    sent: Sent,
}

impl Liar {
    /// The one message of this step and way, when it has been sent.
    fn body(&self, step: Step, from: u8, to: u8) -> Vec<u8> {
        wait_for(|| self.find(step, from, to))
    }

    fn find(&self, step: Step, from: u8, to: u8) -> Option<Vec<u8>> {
        let mut sent = self.spies[usize::from(from)].sent().into_iter();
        let found = sent.find(|message| (message.step, message.wire.to) == (step, to));
        found.map(|message| message.body)
    }

    /// The generators of its two components, that of its left verifier's first.
    fn keys(&self) -> [Prg; 2] {
        let contributions = [
            (LIAR, [(LIAR, LEFT), (LEFT, LIAR)]),
            (RIGHT, [(RIGHT, LIAR), (LIAR, RIGHT)]),
        ];
        contributions.map(|(component, ways)| {
            let name = "attacked";
            let mut secret = Sha256::new();
            secret.update(b"cenote three: pair secret, version 1");
            secret.update([component]);
            secret.update((name.len() as u64).to_le_bytes());
            secret.update(name.as_bytes());
            for (from, to) in ways {
                secret.update(self.body(steps::SETUP, from, to));
            }
            let mut key = Sha256::new();
            key.update(b"cenote three: key, version 1");
            key.update(secret.finalize());
            key.update(b"component");
            Prg::new(Block::from_bytes(key.finalize()[..ELEMENT].try_into().unwrap()))
        })
    }

    /// Its components of the coin.
    fn coin(&self) -> [Block; 2] {
        self.keys().map(|key| stretch(&key, COIN, 0, 1)[0])
    }

    fn header(&self) -> [u8; HASH] {
        let [one, two] = self.coin();
        let coin = elements(&self.body(steps::COIN, LEFT, LIAR))[0] ^ one ^ two;
        let parts: [&[u8]; 6] = [
            &[0],
            &0u64.to_le_bytes(),
            &1u64.to_le_bytes(),
            &3u32.to_le_bytes(),
            &64u32.to_le_bytes(),
            &coin.to_bytes(),
        ];
        hash(b"batch", &parts)
    }

    /// The masks, and what the prover says of them.
    fn masks(&self) -> [Block; 2] {
        let [left, right] = self.keys();
        [
            stretch(&left, LEFT_MASK, 0, 1)[0],
            stretch(&right, RIGHT_MASK, 0, 1)[0],
        ]
    }

    /// The message of this step for the left verifier, and its digest.
    fn message(&self, step: usize) -> (Vec<Block>, [u8; HASH]) {
        let (count, at) = match step {
            0 => (POINTS, 0),
            step if step <= STEPS => (8, POINTS.div_ceil(4) + 2 * (step - 1)),
            _ => (4, POINTS.div_ceil(4) + 2 * STEPS),
        };
        let mut values = vec![Block::ZERO; count];
        if step > STEPS {
            let [left, mut right] = self.masks();
            if self.lie == Lie::Mask {
                right ^= ERROR;
            }
            for (value, point) in values.iter_mut().zip([0, 2, 3, 4]) {
                let weight = weight_of_mask(element(point));
                *value = gf128::mul(gf128::mul(weight, left), gf128::mul(weight, right));
            }
        }
        if let Lie::Value(_, place) = self.lie
            && self.lie == Lie::Value(step, place)
        {
            values[place] ^= ERROR;
        }
        let [left, right] = self.keys();
        let pads = stretch(&right, PAD, at as u64, count);
        values.iter_mut().zip(pads).for_each(|(value, pad)| *value ^= pad);
        let nonce = stretch(&left, NONCE, step as u64, 2);
        let parts: [&[u8]; 5] = [
            &self.header(),
            &[LIAR],
            &(step as u64).to_le_bytes(),
            as_bytes(&nonce),
            as_bytes(&values),
        ];
        let digest = hash(b"message", &parts);
        (values, digest)
    }

    fn common(&self) -> [u8; HASH] {
        let left = self.body(steps::PROOF_DIGEST, LEFT, LIAR);
        let right = self.body(steps::PROOF_DIGEST, RIGHT, LEFT);
        let digests = [&left[..], &self.message(0).1, &right].concat();
        hash(b"challenge", &[&self.header(), &digests])
    }

    /// The values of both halves at the last challenge.
    fn halves(&self) -> [Block; 2] {
        let mut transcript = hash(b"proof", &[&self.common(), &[LIAR]]);
        for step in 1..=STEPS + 1 {
            transcript = hash(b"step", &[&transcript, &self.message(step).1]);
        }
        let weight = weight_of_mask(last_challenge(&transcript));
        let mut values = self.masks().map(|mask| gf128::mul(weight, mask));
        if let Lie::Half(half) = self.lie {
            values[half] ^= ERROR;
        }
        values
    }

    /// What it opens as the verifier of the one to the other: what that other opened, with what makes up for it. Nothing if the other opens nothing.
    fn opening(&self, prover: u8, other: u8) -> Option<Vec<u8>> {
        let told = match prover {
            RIGHT => self.body(steps::PROOF_TAIL, RIGHT, LIAR),
            _ => self.body(steps::PROOF_DIGESTS, LEFT, LIAR),
        };
        let theirs = wait_for(|| match self.find(steps::PROOF_OPENING, other, LIAR) {
            None if self.over.load(Ordering::SeqCst) => Some(None),
            found => found.map(Some),
        })?;
        let [value, product] = [0, 1].map(|at| elements(&theirs)[at]);
        let ours = Block::from_bytes(told[told.len() - ELEMENT..].try_into().unwrap());
        let share = gf128::mul(ours, value) ^ product;
        Some([&ours.to_bytes()[..], &share.to_bytes(), &theirs[2 * ELEMENT..]].concat())
    }

    fn send(&mut self, to: u8, step: Step, body: &[u8]) {
        let channel = match to {
            LEFT => &mut self.ring.previous,
            _ => &mut self.ring.next,
        };
        // The other may have stopped.
        let _ = channel.send(step, body).and_then(|()| channel.flush());
        self.sent.push((step, to, body.to_vec()));
    }

    /// Its part of one batch.
    fn prove(&mut self) {
        let (rest, word) = (1..=STEPS + 1, 1u64.to_le_bytes());
        for to in [LEFT, RIGHT] {
            self.send(to, steps::BARRIER, &word);
        }
        let [one, two] = self.coin().map(Block::to_bytes);
        self.send(LEFT, steps::COIN, &two);
        self.send(RIGHT, steps::COIN, &one);
        let (values, digest) = self.message(0);
        self.send(LEFT, steps::PROOF_GRID, as_bytes(&values));
        self.send(RIGHT, steps::PROOF_DIGEST, &digest);
        let common = self.common();
        for to in [LEFT, RIGHT] {
            self.send(to, steps::PROOF_CHALLENGE, &common);
        }
        let halves = self.halves();
        let mut values: Vec<_> = rest.clone().flat_map(|step| self.message(step).0).collect();
        values.push(halves[0]);
        self.send(LEFT, steps::PROOF_TAIL, as_bytes(&values));
        let digests: Vec<_> = rest.map(|step| self.message(step).1).collect();
        let told = [digests.as_flattened(), &halves[1].to_bytes()].concat();
        self.send(RIGHT, steps::PROOF_DIGESTS, &told);
        // The right verifier hears this party before the left one, which may have stopped.
        for (prover, other) in [(LEFT, RIGHT), (RIGHT, LEFT)] {
            if let Some(opening) = self.opening(prover, other) {
                self.send(other, steps::PROOF_OPENING, &opening);
            }
        }
        // Until then its channels are open.
        wait_for(|| self.over.load(Ordering::SeqCst).then_some(()));
    }
}

fn stretch(prg: &Prg, purpose: u64, index: u64, count: usize) -> Vec<Block> {
    let mut blocks = vec![Block512::ZERO; count.div_ceil(4)];
    let stream = purpose << 56;
    prg.fill(Position { stream, index }, &mut blocks);
    as_quarters(&blocks)[..count].to_vec()
}

/// Listeners at all parties of a session.
fn heard() -> ([Arc<Spy>; 3], Session) {
    let spies = [(); 3].map(|()| Spy::listening());
    let mut session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 61);
    session.spies = spies.each_ref().map(|spy| Some(Arc::clone(spy)));
    (spies, session)
}

/// One batch of gates; what is kept of them is not opened.
fn program(engine: &mut ThreeEngine) -> Result<()> {
    let zeros = engine.constant(&BitMatrix::zeros(2, 70))?;
    let products = engine.run(&layers(1), &zeros)?;
    engine.keep(&products).map(drop)
}

/// What was sent: its step, to whom, and its bytes.
type Sent = Vec<(Step, u8, Vec<u8>)>;

/// What the verifiers meet, and what the liar sent.
fn told(lie: Lie) -> ([Result<()>; 2], Sent) {
    let (spies, session) = heard();
    let (links, ring) = take_prover(session.links(), LIAR);
    let over = Arc::new(AtomicBool::new(false));
    let mut liar = Liar {
        lie,
        spies,
        ring,
        over: Arc::clone(&over),
        sent: Vec::new(),
    };
    let prover = std::thread::spawn(move || {
        liar.prove();
        liar.sent
    });
    let (done, both) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&over));
    let results = session.run_links(links.map(Some), move |engine| {
        if engine.me() == PartyId(LIAR) {
            let zeros = engine.constant(&BitMatrix::zeros(2, 70))?;
            engine.run(&layers(1), &zeros)?;
            wait_for(|| both.load(Ordering::SeqCst).then_some(()));
            return Ok(());
        }
        let ended = program(engine);
        if done.fetch_add(1, Ordering::SeqCst) == 1 {
            both.store(true, Ordering::SeqCst);
        }
        wait_for(|| both.load(Ordering::SeqCst).then_some(()));
        ended
    });
    let [left, _, right] = results.map(Option::unwrap);
    ([left, right], prover.join().expect("it has said everything"))
}

#[track_caller]
fn assert_both(lie: Lie, expected: Check) {
    for result in told(lie).0 {
        let met = result.as_ref().err().and_then(Error::check);
        assert_eq!(met, Some(expected), "{lie:?}: {result:?}");
    }
}

/// The proof that is made here is the protocol's, byte for byte.
#[test]
fn without_a_lie_it_is_accepted() {
    let (results, sent) = told(Lie::None);
    results.into_iter().for_each(|result| result.unwrap());
    let (spies, session) = heard();
    for result in session.run(|engine| {
        program(engine)?;
        engine.finish()
    }) {
        result.unwrap();
    }
    let honest = spies[usize::from(LIAR)].sent();
    let mut honest: Vec<_> = honest
        .into_iter()
        .filter(|message| message.wire.thread == Thread::Generator)
        .map(|message| (message.step.code, message.wire.to, message.body))
        .collect();
    let mut sent: Vec<_> = sent
        .into_iter()
        .map(|(step, to, body)| (step.code, to, body))
        .collect();
    honest.sort();
    sent.sort();
    assert_eq!(sent, honest);
}

/// Of each step, from the points of the grid to the last values.
#[test]
fn a_lie_in_any_value_has_no_proof() {
    let of_step = |step: usize| match step {
        0 => POINTS,
        step if step <= STEPS => 8,
        _ => 4,
    };
    let lies: Vec<_> = (0..STEPS + 2)
        .flat_map(|step| (0..of_step(step)).map(move |place| Lie::Value(step, place)))
        .collect();
    assert_eq!(lies.len(), POINTS + 8 * STEPS + 4);
    in_parallel(lies.len(), 4, |index| assert_both(lies[index], checks::PROOF));
}

#[test]
fn another_mask_than_the_keys_give_has_no_proof() {
    assert_both(Lie::Mask, checks::PROOF);
}

#[test]
fn a_lie_about_a_half_opens_nothing() {
    for half in [0, 1] {
        assert_both(Lie::Half(half), checks::PROOF_OPERANDS);
    }
}
