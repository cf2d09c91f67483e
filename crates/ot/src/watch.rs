//! Watch lists: one side has `n` random seeds, the other exactly `w` of them, at uniformly random positions that the first
//! side does not learn.
//!
//! **Protocol.** The sender shares a random secret by a polynomial f over GF(2^128) with `n - w` coefficients: the secret is
//! f(0), share `i`, counted from 1, is f(i). In each of `n` base OTs the receiver gets either seed `i` or share `i`: the
//! seed is the OT's first key, and the second key masks the share.
//! 1. The receiver takes the seeds at `w` positions, and the other `n - w` shares.
//! 2. It computes the secret, and commits to it by a hash with a random nonce.
//! 3. The sender opens f.
//! 4. The receiver checks all its shares against f, and opens the commitment.
//! 5. The sender checks the commitment, and that what it opens to is the secret.
//!
//! **The receiver has at most `w` seeds.** In each OT it lacks one key, and with it the seed or the share. With more than
//! `w` seeds it has fewer than `n - w` shares, given which the secret is uniform. It must commit to the secret before f
//! is opened, and is right with probability 2^-128, but for collisions of the hash. When f is opened it learns all
//! shares, but no seed depends on them.
//!
//! **The sender learns nothing of the list unless it risks being caught.** The messages of the base OTs are uniform whatever
//! is chosen. The nonce hides the commitment. When the commitment is opened the secret is f(0) for the very f that the
//! sender has opened, since the receiver's `n - w` shares lie on f and determine it. What depends on the list is only
//! whether the receiver goes on after step 3: it does if and only if all positions with a wrong share, one that is not on
//! the opened f, are watched. A sender that goes on after `t` wrong shares has guessed `t` watched positions, with
//! probability at most (w/n)^t, and has learned only that.
//!
//! **What such guesses are worth.** A protocol that uses the list checks the sender at the watched positions. A sender that
//! cheats deviates at a set D of positions and is caught unless none of D is watched; the protocol's bound is one on the
//! probability of that. Neither wrong shares nor wrong seeds raise it:
//! - A *wrong seed* is one that the sender uses in place of what the receiver may have got. It is a deviation at this
//!   position in all that the seed expands to: it is caught where that is checked if the position is watched, and
//!   else the position is one more in D.
//! - After wrong shares at a set T, success means that all of T and none of D is watched, which is at most as likely as that
//!   none of D is, also if D is chosen in the knowledge that all of T is watched.
//!
//! **Side channels.** The list steers no branch and no memory access until the last check has passed. Then the seeds are
//! returned with their positions, and who uses them reads its own memory at these positions. The sender does not see
//! that; another program on the receiver's machine might.
//!
//! **Rounds and bytes.** Those of the base OTs, then two messages each way, of 16 n and 16 (n - w) bytes to the receiver, 32
//! and 48 to the sender.

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Entropy, as_bytes, as_bytes_mut, gf128};
use cenote_session::{Error, Result};
use subtle::{ConstantTimeEq, ConstantTimeLess};
use zeroize::{Zeroize, Zeroizing};

use crate::checks::{WATCH_SECRET, WATCH_SHARES, are_zero};
use crate::{base, steps};

/// The seeds that the receiver knows. Wiped on drop; `Debug` prints the number only.
pub struct WatchList {
    /// Where they are among the sender's seeds, from 0 and ascending.
    pub positions: Vec<usize>,
    /// The seed at each of these positions.
    pub seeds: Vec<Block>,
}

/// The sender's side: `count` seeds, of which the receiver gets `watched`. `session` binds them to a session.
///
/// # Errors
///
/// [`WATCH_SECRET`] if the receiver may have taken more seeds; [`cenote_session::MESSAGE_FORM`]; those of the channel.
///
/// # Panics
///
/// If `watched` is 0, or not less than `count`.
pub fn send(
    channel: &mut dyn Channel,
    entropy: &mut Entropy,
    session: &[u8],
    count: usize,
    watched: usize,
) -> Result<Zeroizing<Vec<Block>>> {
    let session = bind(session, count, watched);
    let keys = base::send(channel, entropy, &session, count)?;
    let polynomial: Zeroizing<Vec<Block>> =
        Zeroizing::new((watched..count).map(|_| entropy.block()).collect());
    let masked = keys
        .iter()
        .enumerate()
        .map(|(i, [_, mask])| evaluate(&polynomial, point(i)) ^ *mask);
    let masked: Vec<Block> = masked.collect();
    channel.send(steps::WATCH_SHARES, as_bytes(&masked))?;
    channel.flush()?;

    let mut commitment = [0; blake3::OUT_LEN];
    channel.recv(steps::WATCH_COMMITMENT, &mut commitment)?;
    // The receiver can no longer choose its secret.
    channel.send(steps::WATCH_POLYNOMIAL, as_bytes(&polynomial))?;
    channel.flush()?;

    let mut opening = Opening::default();
    channel.recv_parts(
        steps::WATCH_OPENING,
        &mut [&mut opening.secret, &mut opening.nonce],
    )?;
    let known = opening.secret.ct_eq(&polynomial[0].to_bytes());
    if !bool::from(known & opening.commitment(&session).ct_eq(&commitment)) {
        let detail = "it is another than the shared one, or was not committed to";
        return Err(Error::cheated(
            WATCH_SECRET,
            channel.peer(),
            steps::WATCH_OPENING,
            detail,
        ));
    }
    Ok(Zeroizing::new(keys.iter().map(|[seed, _]| *seed).collect()))
}

/// The receiver's side: `watched` of the sender's `count` seeds, at uniform positions. `session` binds them to a session.
///
/// # Errors
///
/// [`WATCH_SHARES`] if the sender has sent a wrong share; [`cenote_session::MESSAGE_FORM`]; those of the channel.
///
/// # Panics
///
/// If `watched` is 0, or not less than `count`.
pub fn receive(
    channel: &mut dyn Channel,
    entropy: &mut Entropy,
    session: &[u8],
    count: usize,
    watched: usize,
) -> Result<WatchList> {
    let list = draw(entropy, count, watched);
    let session = bind(session, count, watched);
    let [keys, shares] = take(channel, entropy, &session, &list)?;
    let opening = Opening {
        secret: interpolate(&list, &shares).to_bytes(),
        nonce: entropy.bytes(),
    };
    channel.send(steps::WATCH_COMMITMENT, &opening.commitment(&session))?;
    channel.flush()?;

    let mut polynomial = vec![Block::ZERO; count - watched];
    channel.recv(steps::WATCH_POLYNOMIAL, as_bytes_mut(&mut polynomial))?;
    let shares = shares.iter().zip(&*list).enumerate();
    let differences = shares
        .map(|(i, (share, watched))| select(*watched, Block::ZERO, evaluate(&polynomial, point(i)) ^ *share));
    if !are_zero(differences) {
        // Which one is not said: it is part of the list.
        let detail = "a share is not on the polynomial";
        return Err(Error::cheated(
            WATCH_SHARES,
            channel.peer(),
            steps::WATCH_POLYNOMIAL,
            detail,
        ));
    }
    channel.send_parts(steps::WATCH_OPENING, &[&opening.secret, &opening.nonce])?;
    channel.flush()?;
    Ok(WatchList::new(&list, &keys))
}

/// For each position all ones if it is watched, else 0.
type Masks = Zeroizing<Vec<u64>>;

/// `watched` of `count` positions, uniform among all such sets: those with the smallest of random tags. Equal tags are as
/// good as none.
fn draw(entropy: &mut Entropy, count: usize, watched: usize) -> Masks {
    let mut tags = Zeroizing::new(vec![[0; 16]; count]);
    entropy.fill(tags.as_flattened_mut());
    let tags: Zeroizing<Vec<u128>> =
        Zeroizing::new(tags.iter().map(|tag| u128::from_le_bytes(*tag)).collect());
    let mask = |(i, tag): (usize, &u128)| {
        let before = |(j, other): (usize, &u128)| {
            let first = other.ct_lt(tag) | other.ct_eq(tag) & u8::from(j < i).into();
            u64::from(first.unwrap_u8())
        };
        let rank: u64 = tags.iter().enumerate().map(before).sum();
        u64::from(rank.ct_lt(&(watched as u64)).unwrap_u8()).wrapping_neg()
    };
    Zeroizing::new(tags.iter().enumerate().map(mask).collect())
}

/// The receiver's base OTs: their keys, which at watched positions are seeds, and the shares, which are some values there.
fn take(
    channel: &mut dyn Channel,
    entropy: &mut Entropy,
    session: &[u8; blake3::KEY_LEN],
    list: &Masks,
) -> Result<[Zeroizing<Vec<Block>>; 2]> {
    let mut choices = Zeroizing::new(vec![0; list.len().div_ceil(64)]);
    for (i, watched) in list.iter().enumerate() {
        choices[i / 64] |= (!watched & 1) << (i % 64);
    }
    let keys = base::receive(channel, entropy, session, &choices, list.len())?;
    let mut shares = Zeroizing::new(vec![Block::ZERO; list.len()]);
    channel.recv(steps::WATCH_SHARES, as_bytes_mut(&mut shares))?;
    for (share, key) in shares.iter_mut().zip(&*keys) {
        *share ^= *key;
    }
    Ok([keys, shares])
}

/// The secret, and what hides the commitment to it.
#[derive(Default)]
struct Opening {
    secret: [u8; 16],
    nonce: [u8; 32],
}

impl Opening {
    fn commitment(&self, session: &[u8; blake3::KEY_LEN]) -> [u8; blake3::OUT_LEN] {
        let mut hasher = blake3::Hasher::new_derive_key("Cenote 2025 watch list: commitment");
        hasher.update(session).update(&self.nonce).update(&self.secret);
        let commitment = hasher.finalize().into();
        hasher.zeroize();
        commitment
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.secret.zeroize();
        self.nonce.zeroize();
    }
}

/// What binds this module's base OTs and hashes to a session and the sizes.
fn bind(session: &[u8], count: usize, watched: usize) -> [u8; blake3::KEY_LEN] {
    assert!(0 < watched && watched < count, "{watched} of {count} seeds");
    let mut hasher = blake3::Hasher::new_derive_key("Cenote 2025 watch list: session");
    for number in [count, watched] {
        hasher.update(&(number as u64).to_le_bytes());
    }
    hasher.update(session).finalize().into()
}

/// Where the share of position `i` is taken.
fn point(i: usize) -> Block {
    Block([(i as u64 + 1).to_le(), 0])
}

/// `yes` where `mask` is all ones, `no` where it is 0.
fn select(mask: u64, yes: Block, no: Block) -> Block {
    no ^ (yes ^ no) & Block([mask; 2])
}

/// The polynomial with these coefficients, that of 1 first, at `at`.
fn evaluate(coefficients: &[Block], at: Block) -> Block {
    coefficients
        .iter()
        .rev()
        .fold(Block::ZERO, |sum, &coefficient| gf128::mul(sum, at) ^ coefficient)
}

/// The value at 0 of the polynomial through the shares of all positions that are not watched, by Lagrange's formula.
fn interpolate(list: &Masks, shares: &[Block]) -> Block {
    let mut value = Block::ZERO;
    for (i, (share, watched)) in shares.iter().zip(&**list).enumerate() {
        let [mut numerator, mut denominator] = [gf128::ONE; 2];
        for (j, &watched) in list.iter().enumerate().filter(|(j, _)| *j != i) {
            numerator = gf128::mul(numerator, select(watched, gf128::ONE, point(j)));
            denominator = gf128::mul(denominator, select(watched, gf128::ONE, point(j) ^ point(i)));
        }
        let term = gf128::mul(gf128::mul(*share, numerator), gf128::inverse(denominator));
        value ^= select(*watched, Block::ZERO, term);
    }
    value
}

impl WatchList {
    /// The list of these masks: what comes of the protocol, and the first use that depends on it.
    fn new(list: &Masks, keys: &[Block]) -> Self {
        let positions: Vec<usize> = (0..list.len()).filter(|&i| list[i] != 0).collect();
        Self {
            seeds: positions.iter().map(|&i| keys[i]).collect(),
            positions,
        }
    }
}

impl Drop for WatchList {
    fn drop(&mut self) {
        self.positions.zeroize();
        self.seeds.zeroize();
    }
}

impl fmt::Debug for WatchList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchList({})", self.seeds.len())
    }
}

#[cfg(test)]
mod tests;
