//! Cheaters that guess the window: the bits of the honest party's difference that short leaky ANDs have.

use cenote_ot::pake;
use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha512};

use super::*;
use crate::offline::{Lot, equality};

/// Bits of a leaky AND, few enough to guess them.
const TOY: u32 = 8;

/// What the cheater adds to its block and to its bit, on their way, and to its sum.
#[derive(Clone, Copy, Default)]
struct Plan {
    block: Block,
    bit: bool,
    sum: Block,
}

/// Adds what is planned to what passes.
fn adding(plan: &Arc<Mutex<Plan>>) -> Adversary {
    let plan = plan.clone();
    Adversary::with(move |_, _, mut message: Message| {
        let plan = plan.lock().unwrap();
        match message.step {
            steps::LEAKY => {
                let block = plan.block.to_bytes();
                message
                    .body
                    .iter_mut()
                    .zip(block)
                    .for_each(|(to, byte)| *to ^= byte);
            }
            steps::PRODUCTS => message.body[0] ^= u8::from(plan.bit),
            _ => {}
        }
        vec![message]
    })
}

/// A lot of one leaky AND: whether the honest party accepts it, its x, and whether the product is wrong.
#[derive(Clone, Copy, Debug)]
struct Trial {
    passes: bool,
    x: bool,
    wrong: bool,
}

/// Plays so many lots of one leaky AND, one after the other under the same difference, however they end. The cheater plans each by the honest
/// party's public bits, its own difference, and whether the one before passed.
fn play(
    seed: u64,
    cheater: PartyId,
    count: usize,
    plans: impl Fn(&mut Entropy, Block, bool) -> Plan + Sync,
) -> Vec<Trial> {
    let plan: Arc<Mutex<Plan>> = Arc::default();
    let session = Session::cheating(seed, cheater, &adding(&plan))
        .over_bases()
        .of_bits(TOY);
    let made = session.run(|engine| {
        let is_cheater = engine.me() == cheater;
        let (party, channel) = engine.parts();
        let [mut macs, mut keys] = [(); 2].map(|()| vec![Block::ZERO; 3 * count]);
        party.keys.extend(channel, &mut macs, &mut keys)?;
        let mut entropy = Entropy::for_tests(seed);
        let mut outcomes: Vec<bool> = Vec::new();
        for at in 0..count {
            let of = 3 * at..3 * at + 3;
            let mut lot = Lot {
                count: 1,
                macs: &mut macs[of.clone()],
                keys: &mut keys[of],
            };
            let mut sums = [Block::ZERO];
            if is_cheater {
                let own = *party.keys.delta;
                *plan.lock().unwrap() = plans(&mut entropy, own, outcomes.last() != Some(&false));
            }
            let first = lot.multiply(&mut party.keys, channel, &mut sums)?;
            if is_cheater {
                sums[0] ^= plan.lock().unwrap().sum;
            }
            let outcome = lot.compare(&mut party.keys, channel, &sums, first);
            assert!(outcome.is_ok() || check(&outcome) == LEAKY_AND);
            outcomes.push(outcome.is_ok());
        }
        Ok((macs, keys, outcomes))
    });
    let made = made.map(Result::unwrap);
    let (honest, other) = match cheater == GARBLER {
        true => (&made[1], &made[0]),
        false => (&made[0], &made[1]),
    };
    let [own, keys, theirs] = [&honest.0, &honest.1, &other.0];
    let trial = |at: usize| {
        let [x, y, z] = [0, 1, 2].map(|part| {
            let at = 3 * at + part;
            // The cheater's share is what the honest party's key makes of its MAC.
            let share = theirs[at].0[1] != keys[at].0[1];
            (own[at].0[0] & 1 == 1) != share
        });
        Trial {
            passes: honest.2[at],
            x: own[3 * at].0[0] & 1 == 1,
            wrong: z != (x && y),
        }
    };
    (0..count).map(trial).collect()
}

/// Whether so many of `trials` are within three standard deviations of what happens with this probability.
fn is_about(count: usize, trials: usize, probability: f64) {
    let expected = trials as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    let off = (count as f64 - expected).abs();
    assert!(
        off <= 3.0 * deviation,
        "{count} of {trials}, expected {expected:.1} ± 3 · {deviation:.1}"
    );
}

/// A value that a window may have, to a cheater with this difference.
fn window(hidden: u64, own: Block) -> Block {
    Block([(hidden << 2 | (own.0[0] & 2 ^ 2) | 1) & 0xff, 0])
}

/// Of an AND whose product it has made wrong the cheater must guess the window: bits 2 to 7.
#[test]
fn a_window_is_guessed_as_rarely_as_it_has_hidden_bits() {
    for (seed, cheater) in [(1, GARBLER), (2, EVALUATOR)] {
        let trials = play(seed, cheater, 5000, |entropy, own, _| Plan {
            bit: true,
            sum: window(entropy.bytes::<1>()[0].into(), own),
            ..Plan::default()
        });
        let passed = trials.iter().filter(|trial| trial.passes).count();
        assert!(trials.iter().all(|trial| trial.wrong));
        is_about(passed, trials.len(), 1.0 / 64.0);
    }
}

/// Anything else that it adds to a block tells it x, if it passes: if and only if x is what it has guessed.
#[test]
fn learnt_bits_pass_half_the_time() {
    for (seed, cheater) in [(3, GARBLER), (4, EVALUATOR)] {
        let trials = play(seed, cheater, 1500, |entropy, _, _| {
            let [block, guess] = entropy.bytes::<2>();
            // Not bit 1.
            let block = Block([u64::from(block & !2 | 4), 0]);
            let sum = if guess & 1 == 1 { block } else { Block::ZERO };
            Plan {
                block,
                sum,
                ..Plan::default()
            }
        });
        let passed = trials.iter().filter(|trial| trial.passes).count();
        assert!(trials.iter().all(|trial| !trial.wrong));
        is_about(passed, trials.len(), 0.5);
    }
}

/// A block with bit 1 changed makes the product wrong where x is 1. With a guess at the window in it that is seen nowhere if the guess is right, and
/// where it is wrong it passes if x is 0. A cheater that goes on until it is caught, with another guess each time, has a wrong product as often as
/// with one guess.
#[test]
fn mixed_guesses_pass_half_the_time_and_tell_x() {
    for (seed, cheater) in [(5, GARBLER), (6, EVALUATOR)] {
        let left: Mutex<Vec<u64>> = Mutex::default();
        let trials = play(seed, cheater, 7000, |entropy, own, passed| {
            let mut left = left.lock().unwrap();
            if !passed || left.is_empty() {
                let mut all: Vec<u64> = (0..64).collect();
                all.sort_by_cached_key(|_| entropy.bytes::<8>());
                *left = all;
            }
            let guess = window(left.pop().expect("there are 64"), own);
            Plan {
                block: Block([(guess ^ own).0[0] & 0xff, 0]),
                ..Plan::default()
            }
        });
        let (mut firsts, mut at_first, mut lives, mut at_all) = ([0; 2], 0, 0, 0);
        let mut rest = &trials[..];
        while let Some(end) = rest.iter().position(|trial| !trial.passes) {
            let (life, after) = rest.split_at(end + 1);
            let won = |trial: &Trial| trial.passes && trial.wrong;
            firsts[usize::from(life[0].passes)] += 1;
            at_first += usize::from(won(&life[0]));
            at_all += usize::from(life.iter().any(won));
            lives += 1;
            rest = after;
        }
        // A right guess passes whatever x is.
        is_about(firsts[1], lives, 0.5 + 1.0 / 128.0);
        is_about(at_first, lives, 1.0 / 128.0);
        is_about(at_all, lives, 1.0 / 64.0);
        // Otherwise x is learnt.
        assert!(trials.iter().all(|trial| trial.wrong == trial.x));
    }
}

/// How a password becomes a generator.
#[derive(Clone, Copy, PartialEq)]
enum Map {
    /// By a hash to the group.
    Hashed,
    /// As a multiple of the base point, which is no hash to the group.
    OfBase,
}

/// All that a cheater has of a test in which it has made a product wrong, and what the honest party had.
struct Record {
    /// What the honest sum is but for the window.
    known: Block,
    digest: blake3::Hasher,
    run: [u8; 32],
    sides: Vec<u8>,
    cheater: usize,
    bits: u32,
    /// The cheater's share, the secret that belongs to it, and of what base it is a multiple: as if that was one of the base point.
    share: [u8; 32],
    secret: Scalar,
    base: Scalar,
    honest_share: [u8; 32],
    honest_tag: [u8; 32],
}

impl Record {
    fn password(&self, window: Block) -> [u8; 32] {
        let mut digest = self.digest.clone();
        digest.update(&(self.known ^ window).to_bytes()[..self.bits as usize / 8]);
        *digest.finalize().as_bytes()
    }

    /// What a generator is made of.
    fn hash(&self, window: Block) -> [u8; 64] {
        let password = self.password(window);
        let zeros = [0; 128 - 1 - 33 - 18];
        let parts = [
            b"CPaceRistretto255",
            &password[..],
            &zeros,
            &self.sides,
            &self.run,
        ];
        Sha512::digest(pake::strings(&parts)).into()
    }

    fn generator(&self, map: Map, window: Block) -> RistrettoPoint {
        let hash = self.hash(window);
        match map {
            Map::Hashed => RistrettoPoint::from_uniform_bytes(&hash),
            Map::OfBase => RistrettoPoint::mul_base(&Scalar::from_bytes_mod_order_wide(&hash)),
        }
    }

    /// The honest party's tag, were this what both agree on.
    fn tag(&self, agreed: &RistrettoPoint) -> [u8; 32] {
        let mut shares = [self.share, self.honest_share];
        if self.cheater == 1 {
            shares.reverse();
        }
        let [garbler, evaluator] = &shares;
        let agreed = agreed.compress();
        let parts = [
            b"CPaceRistretto255_ISK",
            &self.run[..],
            agreed.as_bytes(),
            garbler,
            equality::NAMES[0],
            evaluator,
            equality::NAMES[1],
        ];
        let session = Sha512::digest(pake::strings(&parts));
        let key = Sha512::digest([b"CPaceMac", &self.run[..], &session].concat());
        let role = equality::NAMES[1 - self.cheater];
        let key = key.first_chunk().expect("it has 64 bytes");
        *blake3::keyed_hash(key, &pake::strings(&[&self.honest_share, role])).as_bytes()
    }

    /// Plays the honest party with such generators.
    fn answered(mut self, map: Map, right: Block) -> Self {
        let secret = Scalar::from_bytes_mod_order_wide(&Entropy::for_tests(9).bytes());
        let agreed = CompressedRistretto(self.share).decompress().unwrap() * secret;
        self.honest_share = (self.generator(map, right) * secret).compress().0;
        self.honest_tag = self.tag(&agreed);
        self
    }

    /// All windows that what was sent allows for, to a cheater that has all the time that it wants: it takes each for the right one, and all
    /// generators for multiples of the base point that it knows.
    fn search(&self, own: Block) -> Vec<Block> {
        let share = CompressedRistretto(self.honest_share).decompress().unwrap();
        let all = (0..1u64 << (self.bits - 2)).map(|hidden| Block([hidden << 2 | (own.0[0] & 2 ^ 2) | 1, 0]));
        all.filter(|&window| {
            let of_base = Scalar::from_bytes_mod_order_wide(&self.hash(window));
            let agreed = share * (self.base * of_base.invert());
            self.tag(&agreed) == self.honest_tag
        })
        .collect()
    }

    /// Whether the guess is right from which the share was made.
    fn confirms(&self) -> bool {
        let share = CompressedRistretto(self.honest_share).decompress().unwrap();
        self.tag(&(share * self.secret)) == self.honest_tag
    }
}

/// A run of the protocol in which the cheater makes a product wrong, and its share from the base point, or from a guess at the window: which one, given
/// the honest party's. The record, the cheater's difference and the honest party's window.
fn recorded(
    seed: u64,
    cheater: PartyId,
    bits: u32,
    guess: impl Fn(Block) -> Option<Block> + Sync,
) -> (Record, Block, Block) {
    let plan = Arc::new(Mutex::new(Plan {
        bit: true,
        ..Plan::default()
    }));
    let mask = Block([u64::MAX >> (64 - bits), 0]);
    let told: Mutex<Option<Block>> = Mutex::default();
    let session = Session::cheating(seed, cheater, &adding(&plan))
        .over_bases()
        .of_bits(bits);
    let results = session.run(|engine| {
        let me = engine.me();
        let (party, channel) = engine.parts();
        let keys = &mut party.keys;
        let [mut macs, mut others] = [[Block::ZERO; 3]; 2];
        if me != cheater {
            *told.lock().unwrap() = Some(*keys.delta & mask);
        }
        keys.extend(channel, &mut macs, &mut others)?;
        let mut lot = Lot {
            count: 1,
            macs: &mut macs,
            keys: &mut others,
        };
        let mut sums = [Block::ZERO];
        let first = lot.multiply(keys, channel, &mut sums)?;
        if me != cheater {
            let outcome = lot.compare(keys, channel, &sums, first);
            assert!(outcome.is_err());
            return Ok(None);
        }
        let digest = keys.digest("leaky ANDs");
        let secret = Scalar::from_bytes_mod_order_wide(&keys.entropy.bytes());
        let mut record = Record {
            known: sums[0],
            digest,
            run: equality::run(keys, [first, 1]),
            sides: equality::sides(keys.role, channel.peer()),
            cheater: me.index(),
            bits,
            share: RistrettoPoint::mul_base(&secret).compress().0,
            secret,
            base: secret,
            honest_share: [0; 32],
            honest_tag: [0; 32],
        };
        let right = told.lock().unwrap().expect("the other party has sent something");
        if let Some(guess) = guess(right) {
            record.share = (record.generator(Map::Hashed, guess) * secret).compress().0;
            record.base = secret * Scalar::from_bytes_mod_order_wide(&record.hash(guess));
        }
        channel.send(steps::AGREE_EQUALITY, &record.share)?;
        channel.flush()?;
        channel.recv(steps::AGREE_EQUALITY, &mut record.honest_share)?;
        channel.send(steps::CONFIRM_EQUALITY, &[0; 32])?;
        channel.flush()?;
        channel.recv(steps::CONFIRM_EQUALITY, &mut record.honest_tag)?;
        Ok(Some((record, *keys.delta, right)))
    });
    let mut found = results.map(Result::unwrap).into_iter().flatten();
    found.next().expect("the cheater's")
}

/// Whether the cheater's share is of the base point, of a wrong guess or of the right one: all that is found is whether the guess is right.
#[test]
fn a_recorded_test_tells_nothing_offline() {
    for (seed, cheater, bits) in [(11, GARBLER, 8), (12, EVALUATOR, 8), (13, EVALUATOR, 16)] {
        let wrong = |right: Block| Some(right ^ Block([4, 0]));
        for guess in [|_| None, wrong, Some] {
            let (record, own, right) = recorded(seed, cheater, bits, guess);
            let is_right = guess(right) == Some(right);
            assert_eq!(record.search(own), if is_right { vec![right] } else { vec![] });
            assert_eq!(record.confirms(), is_right);
        }
    }
}

/// The same search finds the window if generators are multiples of the base point: so it would find what there is to find.
#[test]
fn generators_of_known_logarithms_give_the_window_away() {
    for (seed, cheater, bits) in [(11, GARBLER, 8), (13, EVALUATOR, 16)] {
        let (record, own, right) = recorded(seed, cheater, bits, |_| None);
        assert_eq!(record.answered(Map::OfBase, right).search(own), [right]);
        // Played so, the honest party of the protocol gives nothing away.
        let (record, own, right) = recorded(seed, cheater, bits, |_| None);
        assert_eq!(record.answered(Map::Hashed, right).search(own), []);
        // A share that is made of a guess, both of such generators.
        let guess = right ^ Block([8, 0]);
        let (mut record, own, right) = recorded(seed, cheater, bits, |_| None);
        record.share = (record.generator(Map::OfBase, guess) * record.secret)
            .compress()
            .0;
        record.base = record.secret * Scalar::from_bytes_mod_order_wide(&record.hash(guess));
        assert_eq!(record.answered(Map::OfBase, right).search(own), [right]);
    }
}

/// A digest that is committed to and opened, as it would do for sums that are too long to be searched for.
#[test]
fn a_digest_that_is_opened_gives_the_window_away() {
    for (seed, cheater, bits) in [(11, GARBLER, 8), (13, EVALUATOR, 16)] {
        let (record, own, right) = recorded(seed, cheater, bits, |_| None);
        let opened = record.password(right);
        let all = (0..1u64 << (bits - 2)).map(|hidden| Block([hidden << 2 | (own.0[0] & 2 ^ 2) | 1, 0]));
        let found: Vec<Block> = all.filter(|&window| record.password(window) == opened).collect();
        assert_eq!(found, [right]);
    }
}
