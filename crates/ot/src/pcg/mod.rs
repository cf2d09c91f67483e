//! Authenticated bits of both sides from few others: a pseudorandom correlation generator, after which a bit costs next to no bytes.
//!
//! [`Mutual`] makes some thousands of bits, as ever. From them an iteration makes far more, under the same Δ, and keeps back as many as the next one takes. It is
//! Ferret (Yang, Weng, Lan, Zhang, Wang, CCS 2020) in both directions at once, with the trees of Half-Tree (Guo et al., EUROCRYPT 2023).
//!
//! 1. *Noise.* The bits' holder has a vector in blocks, with one 1 in each, at a place that is h authenticated bits of its own. The other side grows a tree of 2^h
//!    leaves for each block (`tree.rs`) and tells the sum of the left nodes of each level, hidden by its key of one of these bits. The left node of the first level
//!    is the key of the first bit itself, of which nothing need be told: the bit's MAC is the left node or the right one. So it has all leaves v, and
//!    the holder w = v ⊕ eΔ for the vector e: keys and MACs of bits that are nearly all 0. The holder sends nothing.
//! 2. *Check*, below.
//! 3. *Code.* With k further bits s, MACs M\[s\] and keys K\[s\], and a public random matrix A of rows with ten ones (`code.rs`), the bits are As ⊕ e, their
//!    MACs A M\[s\] ⊕ w and their keys A K\[s\] ⊕ v. They are pseudorandom to the other side if "learning parity with noise" is hard for these sizes, noise in blocks and
//!    this kind of matrix. `cenote-params` chooses the sizes and bounds attacks. No secret and no noise serves twice; A is another one in each iteration.
//!
//! **Check.** The other side can tell wrong sums. When all of them are there the holder draws χ in GF(2^128),
//! computes W = Σ χ^i w_i and the sum X of all χ^i for which e_i is 1, and tells χ and X ⊕ x for 128 more of its bits x, read as an element of the field. Let Y and Z = Y ⊕ xΔ be
//! the sums of powers of the field's generator times the keys and the MACs of these bits. Then W ⊕ Z is V ⊕ Y ⊕ (X ⊕ x)Δ, for V = Σ χ^i v_i, which the other side
//! can compute. It answers with the hash of that.
//!
//! **What a cheating grower of trees learns.** With sums that it chose, the holder's vector w ⊕ eΔ is fixed for each tree and each place in it before χ is drawn: places fall in classes
//! that have the same. Hashes of any two vectors that differ are the same with probability n · 2^-128 at most. But for that it has to answer for one class of each tree,
//! passes if and only if all places are in theirs, and knows the holder's vector then: it goes on with the probability p that they are, and learns no more than this. (An answer may be right for
//! places of other classes too, where hashes meet, and then what the holder does later tells which. That happens with probability 2^-53 in the life of Δ: `cenote-params`.)
//! Of the noise there remain all vectors but a part 1 - p. Who finds the secret with probability q from this noise, finds it with pq at least from any. So a guess makes an attack no
//! better. That it does not help to distinguish bits from random ones either is the assumption of "LPN with static leakage" that Ferret is based on. As ever that holds only as long as
//! a failed check ends the session.
//!
//! **What a cheating holder learns.** All it sends is χ and X ⊕ x. If it tells another sum, off by y, the answer is the hash of W ⊕ Z ⊕ yΔ, which
//! tells it nothing but whether one guess at the whole Δ is right for each call of the hash. Trees show Δ in hashes of nodes that are Δ plus what it knows,
//! and one such hash is under one key: `cenote-params` counts it with the other hashes of garbling. A holder may
//! know, or have chosen, the MAC that a tree begins with, so what is hashed first is that MAC plus Δ. But MACs are fixed, and were checked, before the other side
//! draws what the keys of these hashes are made from, which is why it tells that with the trees and not before.
//!
//! **Bytes** of an iteration with t trees, each way: 16 (h - 1) t + 16 for the trees, 32 for the challenge and 32 for the answer.

mod code;
mod tree;

use std::fmt;
use std::ops::Range;

use cenote_net::Channel;
use cenote_primitives::{Block, Coins, Entropy, Prg, as_bytes, as_bytes_mut, gf128};
use cenote_session::{Error, Result, room};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::checks::POINTS;
use crate::mutual::{Mutual, mask};
use crate::state::State;
use crate::{STRINGS, steps};
use code::{Code, Pair, Rows};
use tree::Number;

pub use code::WEIGHT;

/// Bits that hide the places in a check.
const HIDING: usize = 128;

/// Trees in a message.
const AT_ONCE: usize = 256;

/// Levels of a tree.
const MOST_LEVELS: usize = 16;

/// How much an iteration makes, from how much. How safe that is, `cenote-params` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The base-2 logarithm of k, the bits of the secret: up to 16.
    pub secret: u32,
    /// The base-2 logarithm of the bits in a block of the noise, one of which is 1.
    pub block: u32,
    /// t, the blocks, each with a tree of its own.
    pub blocks: u32,
}

impl Shape {
    /// Bits of the secret.
    pub fn secret(self) -> usize {
        1 << self.secret
    }

    /// All bits of an iteration.
    pub fn bits(self) -> usize {
        (self.blocks as usize) << self.block
    }

    /// Bits that an iteration takes: secret, places, and those that hide places in the check.
    pub fn seed(self) -> usize {
        self.secret() + self.places() + HIDING
    }

    /// Bits that are left of an iteration when the next one's are kept back.
    pub fn yields(self) -> usize {
        self.bits() - self.seed()
    }

    /// Bytes that a side sends in an iteration, without frames.
    pub fn bytes(self) -> usize {
        (1 + self.blocks as usize * self.told()) * size_of::<Block>() + 64
    }

    /// Bytes that a side holds.
    pub fn memory(self) -> usize {
        2 * (self.bits() + self.seed() + self.secret()) * size_of::<Block>()
    }

    fn places(self) -> usize {
        self.blocks as usize * self.block as usize
    }

    /// Levels of a tree that something is told of.
    fn told(self) -> usize {
        self.block as usize - 1
    }

    fn is_sound(self) -> bool {
        (1..=code::MOST).contains(&self.secret)
            && (2..=MOST_LEVELS as u32).contains(&self.block)
            && (1..=1 << 16).contains(&self.blocks)
            && self.seed() < self.bits()
    }
}

/// One side of a generator. After a failed call, of this or of a verifier of the set-up that it grew from, all calls of all of them fail.
///
/// Secrets are wiped on drop; `Debug` prints the type only.
pub struct Pcg {
    mutual: Mutual,
    state: State<Secrets>,
}

/// MACs of this side's bits, and keys of the other side's.
#[derive(Default)]
struct Pairs {
    macs: Zeroizing<Vec<Block>>,
    keys: Zeroizing<Vec<Block>>,
}

impl Pairs {
    fn new(count: usize) -> Result<Self> {
        Ok(Self {
            macs: room::secret(STRINGS, count)?,
            keys: room::secret(STRINGS, count)?,
        })
    }
}

struct Secrets {
    shape: Shape,
    delta: Zeroizing<Block>,
    hash_key: [u8; blake3::KEY_LEN],
    /// Where the code comes from.
    places: Prg,
    /// Starts of the hashes of trees, and challenges to come.
    coins: Coins,
    /// Iterations begun.
    iterations: u64,
    /// What the iteration was made from: secret, places, and what hides them. Empty before the first.
    seed: Pairs,
    /// The secret of the seed again, as the code reads it.
    secret: Zeroizing<Vec<Pair>>,
    noise: Pairs,
    /// The first row that was not given out. The first of all are kept back.
    next: usize,
}

impl Pcg {
    /// Grows from the bits of `mutual`, under its Δ. The other side does so too, with the same shape. `coin` was tossed by both sides once the
    /// set-up was made, so that nobody has worked on the code, or on the hash of answers, before.
    ///
    /// # Panics
    ///
    /// If an iteration of this shape makes no more bits than it takes.
    pub fn new(mutual: Mutual, entropy: &mut Entropy, shape: Shape, coin: Block) -> Self {
        assert!(shape.is_sound(), "{shape:?} makes nothing");
        let bound = [&mutual.session()[..], &coin.to_bytes()].concat();
        let places = blake3::derive_key("Cenote 2026 PCG: code", &bound);
        let (&places, _) = places.split_first_chunk().expect("a hash has 32 bytes");
        let secrets = Secrets {
            shape,
            delta: Zeroizing::new(mutual.delta()),
            hash_key: blake3::derive_key("Cenote 2026 PCG: answer", &bound),
            places: Prg::new(Block::from_bytes(places)),
            coins: Coins::new(entropy.prg()),
            iterations: 0,
            seed: Pairs::default(),
            secret: Zeroizing::default(),
            noise: Pairs::default(),
            next: shape.bits(),
        };
        Self {
            state: mutual.sharing(secrets),
            mutual,
        }
    }

    /// As [`Mutual::extend`].
    ///
    /// # Errors
    ///
    /// [`POINTS`] if the other side grew wrong trees; those of [`Mutual::extend`]; [`Error::OutOfMemory`].
    ///
    /// # Panics
    ///
    /// If there are not as many keys as MACs.
    pub fn extend(
        &mut self,
        channel: &mut dyn Channel,
        macs: &mut [Block],
        keys: &mut [Block],
    ) -> Result<()> {
        assert_eq!(macs.len(), keys.len(), "as many bits at both sides");
        let mutual = &mut self.mutual;
        self.state.call(|secrets| {
            let mut done = 0;
            while done < macs.len() {
                if secrets.next == secrets.shape.bits() {
                    secrets.iterate(mutual, channel)?;
                }
                let count = (secrets.shape.bits() - secrets.next).min(macs.len() - done);
                let rows = secrets.next..secrets.next + count;
                secrets.next = rows.end;
                let of = done..done + count;
                secrets.encode(rows, &mut macs[of.clone()], &mut keys[of]);
                done += count;
            }
            Ok(())
        })
    }
}

impl Secrets {
    /// Rows of the iteration.
    fn encode(&self, rows: Range<usize>, macs: &mut [Block], keys: &mut [Block]) {
        let code = Code {
            places: &self.places,
            iteration: self.iterations,
        };
        let noise = [&self.noise.macs[rows.clone()], &self.noise.keys[rows.clone()]];
        code.encode(&self.secret, noise, rows, Rows { macs, keys });
    }

    fn iterate(&mut self, mutual: &mut Mutual, channel: &mut dyn Channel) -> Result<()> {
        self.begin(mutual, channel)?;
        self.grow(channel)?;
        let places = self.regrow(channel)?;
        self.check(&places, channel)?;
        self.next = self.shape.seed();
        Ok(())
    }

    /// What an iteration is made from: the first rows of the one before.
    fn begin(&mut self, mutual: &mut Mutual, channel: &mut dyn Channel) -> Result<()> {
        if self.iterations == 0 {
            self.seed = Pairs::new(self.shape.seed())?;
            self.secret = room::secret(STRINGS, self.shape.secret())?;
            self.noise = Pairs::new(self.shape.bits())?;
            mutual.extend(channel, &mut self.seed.macs, &mut self.seed.keys)?;
        } else {
            let mut seed = std::mem::take(&mut self.seed);
            self.encode(0..self.shape.seed(), &mut seed.macs, &mut seed.keys);
            self.seed = seed;
        }
        let seed = self.seed.macs.iter().zip(&*self.seed.keys);
        for (pair, (&mac, &key)) in self.secret.iter_mut().zip(seed) {
            *pair = Pair { mac, key };
        }
        self.iterations += 1;
        Ok(())
    }

    /// The other side's noise.
    fn grow(&mut self, channel: &mut dyn Channel) -> Result<()> {
        let (h, secret) = (self.shape.block as usize, self.shape.secret());
        let start = self.coins.toss();
        let mut message = Vec::with_capacity(1 + AT_ONCE * self.shape.told());
        message.push(start);
        let mut sums = Zeroizing::new([Block::ZERO; MOST_LEVELS]);
        let sums = &mut sums[..h];
        let keys = &self.seed.keys[secret..];
        let trees = self.noise.keys.chunks_exact_mut(1 << h).zip(keys.chunks_exact(h));
        for (tree, (leaves, keys)) in trees.enumerate() {
            leaves[0] = keys[0];
            let number = Number {
                start,
                tree: tree as u64,
            };
            tree::grow(number, *self.delta, leaves, sums);
            message.extend(sums.iter().zip(keys).skip(1).map(|(&sum, &key)| sum ^ key));
            if (tree + 1) % AT_ONCE == 0 || tree + 1 == self.shape.blocks as usize {
                channel.send(steps::POINT_TREES, as_bytes(&message))?;
                channel.flush()?;
                message.clear();
            }
        }
        Ok(())
    }

    /// This side's noise. Returns the places.
    fn regrow(&mut self, channel: &mut dyn Channel) -> Result<Zeroizing<Vec<usize>>> {
        let (h, secret, told) = (self.shape.block as usize, self.shape.secret(), self.shape.told());
        let mut start = Block::ZERO;
        let mut places = Zeroizing::new(Vec::with_capacity(self.shape.blocks as usize));
        let mut message = vec![Block::ZERO; 1 + AT_ONCE * told];
        let mut sums = Zeroizing::new([Block::ZERO; MOST_LEVELS]);
        let sums = &mut sums[..h];
        let macs = &self.seed.macs[secret..];
        let trees = self
            .noise
            .macs
            .chunks_mut(AT_ONCE << h)
            .zip(macs.chunks(AT_ONCE * h));
        for (leaves, macs) in trees {
            let count = leaves.len() >> h;
            let head = usize::from(places.is_empty());
            let message = &mut message[..head + count * told];
            channel.recv(steps::POINT_TREES, as_bytes_mut(message))?;
            if head == 1 {
                start = message[0];
            }
            let trees = leaves.chunks_exact_mut(1 << h).zip(macs.chunks_exact(h));
            for (at, (leaves, macs)) in trees.enumerate() {
                let message = &message[head + at * told..][..told];
                sums[0] = macs[0];
                for ((sum, &told), &mac) in sums[1..].iter_mut().zip(message).zip(&macs[1..]) {
                    *sum = told ^ mac;
                }
                let number = Number {
                    start,
                    tree: places.len() as u64,
                };
                places.push(tree::regrow(number, sums, macs, leaves));
            }
        }
        Ok(places)
    }

    /// Challenges the other side on its trees, and answers its challenge.
    fn check(&mut self, places: &[usize], channel: &mut dyn Channel) -> Result<()> {
        let chi = self.coins.toss();
        let hiding = self.shape.seed() - HIDING;
        let (macs, keys) = (&self.seed.macs[hiding..], &self.seed.keys[hiding..]);
        let ours = Challenge::new(chi, self.shape);
        let bits = macs
            .iter()
            .enumerate()
            .fold(0, |bits, (at, &mac)| bits | u128::from(mask(mac, 0) & 1) << at);
        let told = ours.points(places) ^ Block::from_bytes(bits.to_le_bytes());
        channel.send(steps::POINT_CHALLENGE, as_bytes(&[chi, told]))?;
        channel.flush()?;
        let mut asked = [Block::ZERO; 2];
        channel.recv(steps::POINT_CHALLENGE, as_bytes_mut(&mut asked))?;
        let [chi, told] = asked;
        let sum = Challenge::new(chi, self.shape).fold(&self.noise.keys)
            ^ packed(keys)
            ^ gf128::mul(told, *self.delta);
        channel.send(steps::POINT_ANSWER, &self.hash(self.is_first(), sum))?;
        channel.flush()?;

        let expected = self.hash(!self.is_first(), ours.fold(&self.noise.macs) ^ packed(macs));
        let mut answer = [0; blake3::OUT_LEN];
        channel.recv(steps::POINT_ANSWER, &mut answer)?;
        match bool::from(answer.ct_eq(&expected)) {
            true => Ok(()),
            false => Err(Error::cheated(
                POINTS,
                channel.peer(),
                steps::POINT_ANSWER,
                "its trees have other leaves than the one that differs",
            )),
        }
    }

    /// Whether this side is the first one: bit 1 of its Δ.
    fn is_first(&self) -> bool {
        mask(*self.delta, 1) == u64::MAX
    }

    /// What one of the sides answers.
    fn hash(&self, first: bool, sum: Block) -> [u8; blake3::OUT_LEN] {
        let mut hasher = blake3::Hasher::new_keyed(&self.hash_key);
        hasher
            .update(&[u8::from(first)])
            .update(&self.iterations.to_le_bytes())
            .update(&sum.to_bytes());
        let hash = *hasher.finalize().as_bytes();
        hasher.zeroize();
        hash
    }
}

/// What leaves are folded with: leaf i of tree j with χ to the power of i + 1 + j 2^h.
struct Challenge {
    powers: Vec<Block>,
}

impl Challenge {
    fn new(chi: Block, shape: Shape) -> Self {
        let mut powers = vec![Block::ZERO; 1 << shape.block];
        gf128::powers(chi, &mut powers);
        Self { powers }
    }

    /// χ to the power of 2^h.
    fn step(&self) -> Block {
        self.powers[self.powers.len() - 1]
    }

    /// The sum of all leaves times their powers.
    fn fold(&self, leaves: &[Block]) -> Block {
        let trees = leaves.len() / self.powers.len();
        let mut sums = Zeroizing::new(vec![Block::ZERO; trees]);
        gf128::add_inner_products(leaves, &self.powers, &mut sums);
        self.combined(&sums)
    }

    /// The sum of the powers at one place in each tree, without telling at which.
    fn points(&self, places: &[usize]) -> Block {
        let squares = self.powers.len().trailing_zeros();
        let of_trees: Vec<Block> = places
            .iter()
            .map(|&place| {
                (0..squares).fold(self.powers[0], |power, bit| {
                    let chosen = Block([(place as u64 >> bit & 1).wrapping_neg(); 2]);
                    let one = Block([1u64.to_le(), 0]);
                    let factor = one ^ (one ^ self.powers[(1 << bit) - 1]) & chosen;
                    gf128::mul(power, factor)
                })
            })
            .collect();
        self.combined(&Zeroizing::new(of_trees))
    }

    fn combined(&self, sums: &[Block]) -> Block {
        let step = self.step();
        sums.iter()
            .rev()
            .fold(Block::ZERO, |all, &sum| gf128::mul(all, step) ^ sum)
    }
}

/// The sum of all blocks, each times the power of the field's generator with its number.
fn packed(blocks: &[Block]) -> Block {
    let generator = Block([2u64.to_le(), 0]);
    blocks
        .iter()
        .rev()
        .fold(Block::ZERO, |sum, &block| gf128::mul(sum, generator) ^ block)
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl fmt::Debug for Pcg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pcg")
    }
}

#[cfg(test)]
mod tests;
