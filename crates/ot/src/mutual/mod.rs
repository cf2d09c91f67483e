//! Authenticated bits of both sides: each has random bits that it cannot lie about to the other, under one Δ of 128 bits a side for the
//! life of a set-up.
//!
//! Of each bit b its holder gets a MAC M and the other side a key K with M = K ⊕ bΔ, Δ being the other side's. All 128 bits of the
//! relation hold: bit 0 of Δ is 1 and bit 0 of K is 0, so that bit 0 of M is b. Bit 1 of Δ is 1 at the *first* side and 0 at the second,
//! so that bit 1 of the sum of both differences is 1. What is linear in bits is linear in MACs and in keys.
//!
//! **Generation** is SoftSpoken OT (Roy, CRYPTO 2022) with the repetition code, in both directions at once. The 128 bits of Δ are cut
//! into n symbols of ⌊128/n⌋ or ⌈128/n⌉ bits. For each symbol, of k bits, the bits' holder makes a tree of 2^k seeds (Goldreich, Goldwasser, Micali), of which the other
//! side gets all but the one that is numbered by its symbol, with k base OTs. With G(x) the stream of seed x the holder computes
//! u = Σ G(x) and the columns v_j = Σ x_j G(x) for each bit j of x; the other side, which knows all G(x) but one, computes
//! w_j = Σ (x ⊕ δ)_j G(x) = v_j ⊕ δ_j u. The holder tells the difference of the u of every symbol from that of the first, x. So all
//! columns are w_j = v_j ⊕ δ_j x, and a bit takes n - 1 bits on the wire, at the price of 2^k pseudorandom bits for each
//! symbol: 4 bytes and 4 AES blocks for n = 32, 3 bytes and 8 blocks for n = 24, 2 bytes and 32 blocks for n = 16.
//!
//! **Check.** When all columns of a call are there the other side draws α; the holder answers with the hashes of x and of each
//! v_j, as described at the head of this crate. There is one equation for each bit of Δ. With r rows, any two different columns have
//! the same hash with probability at most r/128 · 2^-128.
//!
//! **What a cheating holder learns.** It can send other columns, or build a tree from wrong sums, of which the other side takes one or
//! the other by a bit of its Δ. Either way, everything that the other side computes is fixed for each value of each symbol before α is drawn,
//! and the check passes if and only if symbol c is in some set L_c. So with L the product of these sets, the holder goes on with probability
//! |L|/2^126, and Δ is uniform in L then. (Wrong sums in a tree show in the check too, so there is no check of the trees for themselves.)
//!
//! **What is authenticated then.** There are strings m_j and one x̂ such that w_j = m_j ⊕ δ_j x̂ for all Δ in L, but for hashes that meet. A symbol says from its
//! highest bit down which sums are taken. So w_j depends on the *prefix* of the symbol down to bit j alone, and there is one string for each
//! prefix q above bit j by which w_j changes with the bit: u(q) = w_j(q1) ⊕ w_j(q0). None of these may have the hash 0 unless it is 0:
//!
//! 1. u(q) ⊕ u(q') for any two prefixes, of one symbol or of two: with k = 8 there are fewer than 2^12 prefixes, and 2^23 pairs;
//! 2. w_j(p) ⊕ w_j(p') for prefixes p and p' down to the same bit j, which have the same bit j;
//! 3. w_j(p) ⊕ w_j(p') ⊕ u(q) for those with different bits j, which part after q: with 2. fewer than 2^15.5 of a symbol, 2^19.5 of all.
//!
//! With a million rows one of them has it with probability 2^23.2 · 2^13 · 2^-128, below 2^-91; 2^-88 is counted. The check asks that the hash of w_j be h_j ⊕ δ_j h,
//! with one h for all columns. Say that q *forks* if there are symbols in L that go on with 0 after it, and some with 1. Then u(q) has the hash h for all q that fork, and
//! by 1. it is the same string x̂ for all. By 2. w_j has one value in L for each value of bit j; where there are both, by 3. they differ by x̂. Where there is one,
//! m_j is made to fit. (Where nothing forks all of Δ is guessed.)
//!
//! - *MACs are fixed by the seeds*, once the trees are made. Of w_j and u(q) all is of seeds but δ_j d and d, with d
//!   what the holder tells of the symbol. If some prefix of the symbol forks, d cancels in m_j = w_j ⊕ δ_j x̂. Only in a symbol that is guessed as a
//!   whole can m_j be chosen later, where δ_j = 1.
//! - *Bits are fixed by the seeds* likewise, unless the first symbol, of which nothing is told, is guessed as a whole. With 43 symbols or more it has
//!   public bits alone, so that a cheater sets its bits as it likes. Nobody relies on a cheater's bits: what must be random is a sum of both sides' bits.
//! - *A guess tells whole bits*: L_c is what some bits of the symbol leave open, so that whatever a guess in any call or session cuts off halves L at
//!   least. For go down the levels. Where sums are right for all prefixes that are left, these fork alike. Where one is wrong, each prefix that takes it
//!   has streams of other seeds in its columns than all the others, and fits in with none. So either all go on with the bit
//!   that does not take it, or a single prefix goes on (or two, if the holder has both seeds of the first level the same; they differ in the first bit alone).
//!
//! **Why Δ is not extracted.** A guess of one bit of risk may tell a part of a whole symbol: L_c may be half of the values in many ways. So the extractor of
//! correlated strings (`extractor.rs`), whose binary code counts known *bits* of Δ, is right for k = 1 alone: for larger k distance
//! counts in symbols, and a Δ of which s guesses tell nothing takes a code such as the Reed–Solomon code [16 + s, 16, s + 1] over GF(2^8),
//! 7 bytes a bit for k = 8 and s = 40 (`cenote-params` derives it). It is not needed here. All that is asked of Δ is that it is not guessed:
//!
//! - By who forges a MAC. It must go on, with probability |L|/2^126, and then be right with one of |L| values: 2^-126, whatever L.
//! - By who tests values of Δ on hashes of strings with Δ added, for which correlation robustness of the hash asks of Δ nothing but its
//!   min-entropy (Guo, Katz, Wang, Weng, Yu, CRYPTO 2020). A failed guess ends the session, and not what was sent before: that opens under Δ, which
//!   is known to be elsewhere. A guess that cuts L down to L' fails with probability (|L| - |L'|)/2^126, and `q` tests succeed with
//!   `q/(|L| - |L'|)` at most then: `q/2^126` for each guess, and for the case that none fails. There are 126 guesses at most, so it is
//!   `127 q/2^126` in all, 7 bits less than without guesses (`cenote_params::cot`).
//!
//! This holds for all calls together, in all sessions over one [`Base`], and only as long as a failed check ends them, and with them the use of Δ.

mod base;
mod columns;
mod delta;
mod tree;

use std::fmt;
use std::ops::Range;

use cenote_net::Channel;
use cenote_primitives::{
    BLOCK_BITS, Block, Block512, Coins, Entropy, Position, as_bytes, as_bytes_mut, gf128,
};
use cenote_session::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

use crate::bits::{Opener, Verifier};
use crate::checks::{OT_CONSISTENCY, are_zero};
use crate::state::State;
use crate::steps;
pub use base::Base;
use columns::{Matrix, Shape, pieces};
pub use delta::SYMBOLS;
pub(crate) use delta::{WIDTH, mask};
use tree::{Holder, Knower};

/// Rows that a call for so many bits takes, with those that blind its check.
pub fn rows(bits: usize) -> usize {
    match bits {
        0 => 0,
        bits => BLOCK_BITS * columns::units(bits),
    }
}

/// Bytes that both sides send before they receive what the other one has sent: no more than channels hold.
const WINDOW: usize = 8 << 20;

/// One side of a set-up. After a failed call, of this or of one of its [`Verifier`]s, all calls of all of them fail.
///
/// Secrets are wiped on drop; `Debug` prints the type only.
pub struct Mutual {
    state: State<Secrets>,
    delta: Zeroizing<Block>,
    session: [u8; blake3::KEY_LEN],
}

struct Secrets {
    shape: Shape,
    /// Of this side's own bits.
    holder: Holder,
    /// Of the other side's.
    knower: Knower,
    delta: Zeroizing<Block>,
    /// Units of the seeds' streams that are used up.
    used: u64,
    /// Challenges to come.
    coins: Coins,
    /// v and w.
    own: Matrix,
    theirs: Matrix,
}

impl Mutual {
    /// Base OTs and trees, both ways. `first` is true at one side, false at the other. `session` binds all to a session. Δ is cut into
    /// so many symbols.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's messages have bytes that are no point; those of the channel.
    ///
    /// # Panics
    ///
    /// Unless there are from 16 to 128 `symbols`.
    pub fn new(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        first: bool,
        symbols: u32,
    ) -> Result<Self> {
        let base = Base::establish(channel, entropy, session, first)?;
        base.begin(channel, entropy, session, symbols)
    }

    /// With the keys of base OTs: both of each of this side's, the chosen one of each of the other side's.
    fn with_keys(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        symbols: u32,
        delta: Zeroizing<Block>,
        (own, theirs): (&[[Block; 2]], &[Block]),
    ) -> Result<Self> {
        let shape = Shape::new(symbols);
        let (holder, sums) = Holder::new(shape, own);
        channel.send(steps::TREES, as_bytes(&sums))?;
        let mut sums = vec![[Block::ZERO; 2]; shape.sums()];
        channel.recv(steps::TREES, as_bytes_mut(sums.as_flattened_mut()))?;
        let knower = Knower::new(shape, *delta, theirs, &sums);
        let secrets = Secrets {
            shape,
            holder,
            knower,
            delta: delta.clone(),
            used: 0,
            coins: Coins::new(entropy.prg()),
            own: Matrix::default(),
            theirs: Matrix::default(),
        };
        Ok(Self {
            state: State::new(secrets),
            delta,
            session: blake3::derive_key("Cenote 2026 mutual bits: session", session),
        })
    }

    /// This side's Δ: uniform but for bits 0 and 1. The other side must not learn anything else about it.
    pub fn delta(&self) -> Block {
        *self.delta
    }

    /// The MACs of so many new bits of this side, and the keys of as many of the other side's. The other side makes the same call.
    ///
    /// Bits of an honest side are uniform; a side that cheats may choose its bits and MACs.
    ///
    /// # Errors
    ///
    /// [`OT_CONSISTENCY`] if the other side used different bits in different columns, or built wrong trees; those of the channel.
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
        self.state.call(|secrets| secrets.extend(channel, macs, keys))
    }

    /// What is bound to the session.
    pub(crate) fn session(&self) -> &[u8; blake3::KEY_LEN] {
        &self.session
    }

    /// A state that fails when this set-up does, and the other way round.
    pub(crate) fn sharing<T>(&self, secrets: T) -> State<T> {
        self.state.sharing(secrets)
    }

    /// Opens bits of this side to the other side's [`Verifier`] of this `stream`.
    pub fn opener(&self, stream: u64) -> Opener<2> {
        Opener::new(&self.session, stream)
    }

    /// Takes what the other side's [`Opener`] of this `stream` opens. No two verifiers of one side may have the same stream.
    pub fn verifier(&self, stream: u64) -> Verifier<2> {
        let gamma = Zeroizing::new(self.delta.0.map(u64::from_le));
        Verifier::new(&self.state, gamma, &self.session, stream)
    }
}

impl Secrets {
    fn extend(&mut self, channel: &mut dyn Channel, macs: &mut [Block], keys: &mut [Block]) -> Result<()> {
        if macs.is_empty() {
            return Ok(());
        }
        let units = columns::units(macs.len());
        self.own.resize(units)?;
        self.theirs.resize(units)?;
        let first = self.used;
        // Counted before it is used, so that no failure makes it used again.
        self.used += units as u64;
        let at = |piece: &Range<usize>| Position {
            stream: 0,
            index: first + piece.start as u64,
        };
        let mut message = Vec::new();
        let size = |piece: &Range<usize>| (self.shape.symbols() - 1) * piece.len();
        // All that fits is sent before anything is waited for.
        let all: Vec<Range<usize>> = pieces(units).collect();
        let together = (WINDOW / size_of::<Block512>() / size(&all[0])).max(1);
        for window in all.chunks(together) {
            for piece in window {
                message.resize(size(piece), Block512::ZERO);
                let own = self.own.piece_mut(piece);
                self.holder.expand(at(piece), own, &mut message);
                channel.send(steps::COLUMNS, as_bytes(&message))?;
                channel.flush()?;
            }
            for piece in window {
                message.resize(size(piece), Block512::ZERO);
                let theirs = self.theirs.piece_mut(piece);
                self.knower.expand(at(piece), theirs.columns);
                channel.recv(steps::COLUMNS, as_bytes_mut(&mut message))?;
                self.knower.correct(theirs.columns, &message);
            }
        }
        self.check(channel, units)?;
        self.own.rows(true, macs);
        self.theirs.rows(false, keys);
        Ok(())
    }

    /// Challenges the other side on all that it has sent, and answers its challenge.
    fn check(&mut self, channel: &mut dyn Channel, units: usize) -> Result<()> {
        let alpha = self.coins.toss();
        channel.send(steps::CHALLENGE, &alpha.to_bytes())?;
        channel.flush()?;
        let mut asked = [0; 16];
        channel.recv(steps::CHALLENGE, &mut asked)?;
        let asked = hash_points(Block::from_bytes(asked), units);
        channel.send(steps::ANSWER, as_bytes(&self.own.fold(&asked)[..]))?;
        channel.flush()?;

        let folds = self.theirs.fold(&hash_points(alpha, units));
        let mut answer = Zeroizing::new([Block::ZERO; 1 + WIDTH]);
        channel.recv(steps::ANSWER, as_bytes_mut(&mut answer[..]))?;
        let (choices, told) = (answer[0], &answer[1..]);
        let folds = folds[1..].iter().zip(told).enumerate();
        let differences =
            folds.map(|(at, (&ours, &theirs))| ours ^ theirs ^ choices & Block([mask(*self.delta, at); 2]));
        if !are_zero(differences) {
            let detail = "the bits differ between columns";
            return Err(Error::cheated(
                OT_CONSISTENCY,
                channel.peer(),
                steps::ANSWER,
                detail,
            ));
        }
        Ok(())
    }
}

/// What the blocks of a column are multiplied with: the powers of α, and 1 for the last, whose rows blind the hash.
fn hash_points(alpha: Block, units: usize) -> Vec<Block> {
    let mut points = vec![Block::ZERO; 4 * units];
    let (last, powers) = points.split_last_mut().expect("a call has rows");
    gf128::powers(alpha, powers);
    *last = Block([1u64.to_le(), 0]);
    points
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl fmt::Debug for Mutual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutual")
    }
}

#[cfg(test)]
pub(crate) mod tests;
