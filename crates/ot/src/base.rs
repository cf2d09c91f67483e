//! Base OTs: random OTs of 128-bit keys from public-key cryptography, secure against malicious parties in the random
//! oracle model.
//!
//! **Protocol.** The one-round endemic OT of Masny and Rindal ("Endemic Oblivious Transfer", CCS 2019) from
//! Diffie–Hellman key agreement in Ristretto255, of order ℓ with generator G; all OTs of a set-up share the sender's
//! message, as in the batches of McQuoid, Rosulek and Roy ("Batching Base Oblivious Transfers", ASIACRYPT 2021, Figure 3
//! with the construction of Section 5.3): every hash takes session, OT and branch, and the keys' hash all messages of
//! the OT besides, so that equal or related messages in different OTs give unrelated keys.
//!
//! - Sender: random s, sends M = s·G.
//! - Receiver with choice b, for each OT: random t and r_{1-b}; r_b = t·G - H(b, r_{1-b}); sends (r_0, r_1).
//!   Its key is K(b, t·M).
//! - Sender: key i of the OT is K(i, s·(r_i + H(i, r_{1-i}))), for both i.
//!
//! H hashes to the group, K to 128 bits. Whatever b, the pair (r_0, r_1) is uniform: the sender learns nothing of the
//! choice, unconditionally. A receiver can know the discrete logarithm of r_i + H(i, r_{1-i}) for at most one i, since
//! one of r_0, r_1 was fixed before the hash that it goes into; it lacks the other key under the gap Diffie–Hellman
//! assumption. *Endemic* means that a malicious party has a say in the keys that it gets, which OT extension allows for:
//! a key that the other party does not have stays pseudorandom.
//!
//! **Encoding.** Ristretto encodes doubled points in batches at a tenth of the cost, so H is twice a hash to the group,
//! and s, t and r_{1-b} are twice a random value. Since ℓ is odd, doubling permutes the group and the scalars: the
//! distributions are the same.
//!
//! All operations on secrets take constant time. What comes from the peer may be any bytes.

use cenote_session::{Error, MESSAGE_FORM, Result};
use std::ops::Range;

use cenote_net::{Channel, PartyId};
use cenote_primitives::{Block, Block512, Entropy, Position, SecretBlocks, as_bytes};
use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, Zeroizing};

use crate::steps;

/// OTs per message, so that both parties work at the same time.
const BATCH: usize = 64;
/// Bytes of the encoding of a point.
const POINT: usize = 32;

/// The receiver's message for one OT: the encodings of r_0 and r_1.
type Pair = [[u8; POINT]; 2];

/// The sender's side: both keys of each of `count` OTs.
pub(crate) fn send(
    channel: &mut dyn Channel,
    entropy: &mut Entropy,
    session: &[u8],
    count: usize,
) -> Result<Zeroizing<Vec<[Block; 2]>>> {
    let half_secret = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&Zeroizing::new(
        entropy.bytes(),
    )));
    let message = double(&RistrettoPoint::mul_base(&half_secret)).compress();
    channel.send(steps::BASE_KEY, message.as_bytes())?;
    channel.flush()?;
    let (points, keys) = (PointOracle::new(session), KeyOracle::new(session, &message));
    let peer = channel.peer();
    let mut sent = Zeroizing::new(Vec::with_capacity(count));
    for batch in batches(count) {
        let mut pairs = vec![Pair::default(); batch.len()];
        channel.recv(steps::BASE_CHOICES, pairs.as_flattened_mut().as_flattened_mut())?;
        let both = in_two(batch.clone(), |part| {
            let pairs = &pairs[part.start - batch.start..part.end - batch.start];
            agree(peer, &points, &keys, &half_secret, part, pairs)
        });
        for keys in both {
            sent.extend_from_slice(&keys?);
        }
    }
    Ok(sent)
}

/// The sender's keys of the OTs `range`, of which `pairs` are the messages of the receiver, `peer`.
fn agree(
    peer: PartyId,
    points: &PointOracle,
    keys: &KeyOracle,
    half_secret: &Scalar,
    range: Range<usize>,
    pairs: &[Pair],
) -> Result<Zeroizing<Vec<[Block; 2]>>> {
    let mut halves = Zeroizing::new(Vec::with_capacity(2 * pairs.len()));
    for (index, pair) in range.clone().zip(pairs) {
        for branch in [0, 1] {
            let (own, other) = (pair[usize::from(branch)], pair[usize::from(1 - branch)]);
            let Some(point) = CompressedRistretto(own).decompress() else {
                let detail = format!("element {branch} of OT {index} is no point");
                return Err(Error::cheated(MESSAGE_FORM, peer, steps::BASE_CHOICES, detail));
            };
            halves.push((point + double(&points.half(index, branch, &other))) * half_secret);
        }
    }
    let shared = RistrettoPoint::double_and_compress_batch(halves.iter());
    let shared = range.zip(pairs).zip(shared.as_chunks::<2>().0);
    let both = shared
        .map(|((index, pair), [zero, one])| [keys.key(index, 0, pair, zero), keys.key(index, 1, pair, one)]);
    Ok(Zeroizing::new(both.collect()))
}

/// The receiver's side: the chosen key of each of `count` OTs. Choice `i` is bit `i % 64` of word `i / 64`.
pub(crate) fn receive(
    channel: &mut dyn Channel,
    entropy: &mut Entropy,
    session: &[u8],
    choices: &[u64],
    count: usize,
) -> Result<Zeroizing<Vec<Block>>> {
    let choice = |index: usize| (choices[index / 64] >> (index % 64) & 1) as u8;
    // Two blocks for each OT, each enough for a scalar or a point.
    let mut random = SecretBlocks::zeroed(2 * count);
    let start = Position { stream: 0, index: 0 };
    entropy.prg().fill(start, &mut random);
    let random = random.as_chunks::<2>().0;
    let points = PointOracle::new(session);
    let mut pairs = Vec::with_capacity(count);
    for batch in batches(count) {
        let first = batch.start;
        pairs.extend(in_two(batch, |part| mask(&points, part.clone(), &random[part], choice)).concat());
        channel.send(steps::BASE_CHOICES, pairs[first..].as_flattened().as_flattened())?;
        channel.flush()?;
    }

    let mut message = CompressedRistretto([0; POINT]);
    channel.recv(steps::BASE_KEY, &mut message.0)?;
    let point = match message.decompress() {
        Some(point) if !point.is_identity() => point,
        _ => {
            let detail = "it is no point, or the neutral one";
            return Err(Error::cheated(
                MESSAGE_FORM,
                channel.peer(),
                steps::BASE_KEY,
                detail,
            ));
        }
    };
    let table = RistrettoBasepointTable::create(&point);
    let keys = KeyOracle::new(session, &message);
    let parts = in_two(0..count, |part| {
        let halves = random[part.clone()]
            .iter()
            .map(|random| &table * &*half_exponent(random));
        let halves = Zeroizing::new(halves.collect::<Vec<_>>());
        let shared = RistrettoPoint::double_and_compress_batch(halves.iter());
        let keys = part
            .zip(shared)
            .map(|(index, shared)| keys.key(index, choice(index), &pairs[index], &shared));
        Zeroizing::new(keys.collect::<Vec<_>>())
    });
    let mut received = Zeroizing::new(Vec::with_capacity(count));
    parts.iter().for_each(|keys| received.extend_from_slice(keys));
    Ok(received)
}

/// The receiver's messages of the OTs `range`, from their randomness.
fn mask(
    points: &PointOracle,
    range: Range<usize>,
    random: &[[Block512; 2]],
    choice: impl Fn(usize) -> u8,
) -> Vec<Pair> {
    let free = random
        .iter()
        .map(|[_, random]| RistrettoPoint::from_uniform_bytes(wide(random)));
    let free = RistrettoPoint::double_and_compress_batch(&free.collect::<Vec<_>>());
    let bound = range
        .clone()
        .zip(random)
        .zip(&free)
        .map(|((index, random), free)| {
            RistrettoPoint::mul_base(&half_exponent(random))
                - points.half(index, choice(index), free.as_bytes())
        });
    let bound = RistrettoPoint::double_and_compress_batch(&bound.collect::<Vec<_>>());
    range
        .zip(bound.iter().zip(&free))
        .map(|(index, (bound, free))| {
            let chosen = Choice::from(choice(index));
            let mut pair = [bound.0, free.0];
            let [zero, one] = &mut pair;
            for (zero, one) in zero.iter_mut().zip(one) {
                u8::conditional_swap(zero, one, chosen);
            }
            pair
        })
        .collect()
}

/// Half of the exponent t of an OT, from the OT's randomness.
fn half_exponent([random, _]: &[Block512; 2]) -> Zeroizing<Scalar> {
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(wide(random)))
}

fn wide(block: &Block512) -> &[u8; 64] {
    as_bytes(std::slice::from_ref(block))
        .try_into()
        .expect("a block has 64 bytes")
}

fn double(point: &RistrettoPoint) -> RistrettoPoint {
    point + point
}

/// H, at half.
struct PointOracle(blake3::Hasher);

impl PointOracle {
    fn new(session: &[u8]) -> Self {
        Self(oracle("Cenote 2025 base OT: hash to the group", session))
    }

    /// H(branch, other)/2 in an OT, where `other` is the other branch's message.
    fn half(&self, index: usize, branch: u8, other: &[u8; POINT]) -> RistrettoPoint {
        let mut hasher = self.0.clone();
        hasher
            .update(&(index as u32).to_le_bytes())
            .update(&[branch])
            .update(other);
        let mut uniform = [0; 64];
        hasher.finalize_xof().fill(&mut uniform);
        RistrettoPoint::from_uniform_bytes(&uniform)
    }
}

/// K.
struct KeyOracle(blake3::Hasher);

impl KeyOracle {
    fn new(session: &[u8], message: &CompressedRistretto) -> Self {
        let mut hasher = oracle("Cenote 2025 base OT: key", session);
        hasher.update(message.as_bytes());
        Self(hasher)
    }

    fn key(&self, index: usize, branch: u8, pair: &Pair, shared: &CompressedRistretto) -> Block {
        let mut hasher = self.0.clone();
        hasher.update(&(index as u32).to_le_bytes()).update(&[branch]);
        hasher.update(pair.as_flattened()).update(shared.as_bytes());
        let mut key = Zeroizing::new([0; 16]);
        hasher.finalize_xof().fill(&mut *key);
        hasher.zeroize();
        Block::from_bytes(*key)
    }
}

/// A random oracle with a name of its own, of a session.
fn oracle(name: &str, session: &[u8]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key(name);
    hasher
        .update(&(session.len() as u64).to_le_bytes())
        .update(session);
    hasher
}

/// The OTs of each message.
fn batches(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(BATCH)
        .map(move |first| first..count.min(first + BATCH))
}

/// `work` on both halves of `range`, by two threads if the machine has them.
fn in_two<T: Send>(range: Range<usize>, work: impl Fn(Range<usize>) -> T + Sync) -> [T; 2] {
    let middle = range.start + range.len() / 2;
    let (first, second) = (range.start..middle, middle..range.end);
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        return [work(first), work(second)];
    }
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || work(first.clone()));
        let second = work(second);
        match other {
            Ok(other) => [
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                second,
            ],
            // Out of threads: this one does it.
            Err(_) => [work(first.clone()), second],
        }
    })
}

#[cfg(test)]
mod tests;
