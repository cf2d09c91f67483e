//! Authenticated bits: random bits of one side, which it can later open, and sums of which it can open, but not lie about.
//!
//! The receiver gets bits p_i and MACs M_i, the sender keys K_i and one Γ for all, with M_i = K_i ⊕ p_i Γ; MACs, keys and Γ
//! have `64 · WORDS` bits, and bit 0 of Γ is 1. The sum of such bits is authenticated by the sum of their MACs under the sum
//! of their keys. Whoever keeps many may put p_i in bit 0 of M_i and 0 in bit 0 of K_i: the relation holds.
//! Bits are packed, bit `i` in bit `i % 64` of word `i / 64`; MACs and keys are arrays of words, of which bit `c` is bit
//! `c % 64` of word `c / 64`.
//!
//! **Generation** is the OT extension at the head of this crate, with its check: Γ is d, the sender's choices in `64 · WORDS`
//! base OTs, p_i are the receiver's choices x_i, keys and MACs the rows of Q and T. No extractor is applied to them, since
//! a MAC does not need every bit of Γ to be unknown, only Γ as a whole:
//!
//! - Who opens a sum that is 0 as 1, or 1 as 0, must know its MAC plus Γ, and thereby all of Γ.
//! - Nothing that the sender says depends on Γ but whether it accepts, and the first time it does not is the last:
//!   challenges are random, and openings go the other way. So all that a receiver learns of Γ are guesses that were right.
//! - Of the `m = 64 · WORDS - 1` bits of Γ that it does not know, it guesses any `t` in the extension, and goes on with probability 2^-t.
//!   `m - t` bits are left, uniform given all that it has seen, and must be guessed all at once by the first lie. Both guesses
//!   succeed with probability 2^-t · 2^-(m - t) = 2^-m, whatever `t` and however many calls there are. Verifiers
//!   in several threads may each be lied to once before the first of them notices. To this comes that the hash of the
//!   check collides, below 2^-106 a chunk.
//! - A column in which the receiver's choices deviate is one of those it guessed; so p_i, its choices in the other columns,
//!   are what it is committed to, and its MACs under them are those of the relation above.
//!
//! The bits themselves stay hidden from the sender, as choices of the extension do. For how they are opened see
//! [`Opener`].
//!
//! **Bytes.** For each chunk of at most 130,432 bits to the sender 8 · WORDS a bit, as many for each of 128 rows that blind
//! the check and of those that fill up a multiple of 512, and 16 + 1024 · WORDS of answer; to the receiver 16.

mod opening;

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{BLOCK_BITS, Block512, Entropy, as_bytes_mut, kernels};
use cenote_session::{Result, room};
use zeroize::{Zeroize, Zeroizing};

pub use opening::{Opener, PROOF_BYTES, Verifier, opening_bytes};

use crate::STRINGS;
use crate::columns::{Chunk, Columns};
use crate::extension;
use crate::state::State;

/// A MAC, a key, or Γ.
pub type Mac<const WORDS: usize> = [u64; WORDS];

/// The side that has the keys and Γ.
///
/// After a failed call, of this or of one of its [`Verifier`]s, all calls of all of them fail. Secrets are wiped on drop;
/// `Debug` prints the type only.
pub struct BitSender<const WORDS: usize> {
    state: State<extension::Sender>,
    /// Γ.
    gamma: Zeroizing<Mac<WORDS>>,
    session: [u8; blake3::KEY_LEN],
}

/// The side that has the bits and their MACs.
///
/// After a failed call all calls fail. Secrets are wiped on drop; `Debug` prints the type only.
pub struct BitReceiver<const WORDS: usize> {
    state: State<extension::Receiver>,
    session: [u8; blake3::KEY_LEN],
}

/// Bits at their holder. `Debug` prints the number only. They are the owner's to wipe ([`Zeroize`]).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuthenticatedBits<const WORDS: usize> {
    /// Bit `i` is bit `i % 64` of word `i / 64`. The bits beyond the last are zero.
    pub bits: Vec<u64>,
    /// The MAC of each bit.
    pub macs: Vec<Mac<WORDS>>,
}

impl<const WORDS: usize> BitSender<WORDS> {
    /// Base OTs, `64 · WORDS`. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message is no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let gamma = Self::draw_gamma(entropy);
        Self::with_gamma(channel, entropy, session, &gamma)
    }

    /// A fresh Γ.
    pub fn draw_gamma(entropy: &mut Entropy) -> Zeroizing<Mac<WORDS>> {
        let mut gamma = Zeroizing::new([0; WORDS]);
        entropy.fill(as_bytes_mut(&mut *gamma));
        gamma[0] |= 1;
        gamma
    }

    /// The same with a Γ of an earlier session, whose keys are still in use. A receiver that was caught must get no other session under it.
    ///
    /// # Errors
    ///
    /// As [`BitSender::new`].
    ///
    /// # Panics
    ///
    /// If bit 0 of `gamma` is not 1.
    pub fn with_gamma(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        gamma: &Mac<WORDS>,
    ) -> Result<Self> {
        assert!(gamma[0] & 1 == 1, "a difference");
        let session = bind(session);
        let extension = extension::Sender::with_choices(channel, entropy, &session, gamma, 64 * WORDS)?;
        Ok(Self::from_extension(extension, session))
    }

    fn from_extension(extension: extension::Sender, session: [u8; blake3::KEY_LEN]) -> Self {
        let gamma = extension.choices().try_into().expect("a bit for each column");
        Self {
            state: State::new(extension),
            gamma: Zeroizing::new(gamma),
            session,
        }
    }

    /// Γ: uniform, but that bit 0 is 1. The receiver must not learn anything else about it.
    pub fn gamma(&self) -> Mac<WORDS> {
        *self.gamma
    }

    /// The keys of `count` new bits of the receiver. They are the caller's to wipe.
    ///
    /// Memory beside the result is bounded, whatever `count`. The receiver's bits are uniform; a receiver that cheats may
    /// choose them and its MACs.
    ///
    /// # Errors
    ///
    /// [`crate::checks::OT_CONSISTENCY`] if the receiver used different bits in different columns;
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    pub fn keys(&mut self, channel: &mut dyn Channel, count: usize) -> Result<Vec<Mac<WORDS>>> {
        self.state.call(|extension| {
            let mut keys = with_room(count)?;
            extension.extend(channel, count, |_, _, chunk, columns| {
                append_rows(chunk, columns, &mut keys);
            })?;
            Ok(std::mem::take(&mut *keys))
        })
    }

    /// Takes what the receiver's [`Opener`] of this `stream` opens. Openings in several threads need a stream each; no two
    /// verifiers of one set-up may have the same.
    pub fn verifier(&self, stream: u64) -> Verifier<WORDS> {
        Verifier::new(&self.state, self.gamma.clone(), &self.session, stream)
    }
}

impl<const WORDS: usize> BitReceiver<WORDS> {
    /// Base OTs, `64 · WORDS`. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message has bytes that are no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let session = bind(session);
        let extension = extension::Receiver::new(channel, entropy, &session, 64 * WORDS)?;
        Ok(Self::from_extension(extension, session))
    }

    fn from_extension(extension: extension::Receiver, session: [u8; blake3::KEY_LEN]) -> Self {
        Self {
            state: State::new(extension),
            session,
        }
    }

    /// `count` uniform bits.
    ///
    /// Memory beside the result is bounded, whatever `count`. A sender that cheats may choose its keys and Γ, but learns
    /// nothing about the bits.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    pub fn bits(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
    ) -> Result<AuthenticatedBits<WORDS>> {
        self.extend(channel, entropy, None, count)
    }

    /// Authenticates the first `count` of these `bits`. The sender's side is the same: [`BitSender::keys`].
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    ///
    /// # Panics
    ///
    /// If `bits` are not `count` rounded up to words.
    pub fn chosen(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        bits: &[u64],
        count: usize,
    ) -> Result<AuthenticatedBits<WORDS>> {
        assert_eq!(bits.len(), count.div_ceil(64), "a word for 64 bits");
        self.extend(channel, entropy, Some(bits), count)
    }

    fn extend(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        given: Option<&[u64]>,
        count: usize,
    ) -> Result<AuthenticatedBits<WORDS>> {
        self.state.call(|extension| {
            let mut bits = room::empty(STRINGS, count.div_ceil(64))?;
            let mut macs = with_room(count)?;
            extension.extend(channel, entropy, given, count, |_, chunk, sent| {
                sent.append_choices(chunk, &mut bits);
                append_rows(chunk, &sent.columns, &mut macs);
            })?;
            Ok(AuthenticatedBits {
                bits: std::mem::take(&mut *bits),
                macs: std::mem::take(&mut *macs),
            })
        })
    }

    /// Opens bits to the sender's [`Verifier`] of this `stream`.
    pub fn opener(&self, stream: u64) -> Opener<WORDS> {
        Opener::new(&self.session, stream)
    }
}

/// What binds this module's base OTs and hashes to a session.
fn bind(session: &[u8]) -> [u8; blake3::KEY_LEN] {
    blake3::derive_key("Cenote 2025 authenticated bits: session", session)
}

/// Room for `count` rows and what [`append_rows`] needs besides, so that no copy is left behind where the array grows.
fn with_room<const WORDS: usize>(count: usize) -> Result<Zeroizing<Vec<Mac<WORDS>>>> {
    room::empty(STRINGS, count.saturating_add(BLOCK_BITS))
}

/// Appends a chunk's used rows.
fn append_rows<const WORDS: usize>(chunk: Chunk, columns: &Columns, to: &mut Vec<Mac<WORDS>>) {
    const { assert!(1 <= WORDS && WORDS <= 8, "64 to 512 columns") };
    let mut unit_of_all = Zeroizing::new(vec![Block512::ZERO; 64 * WORDS]);
    let end = to.len() + chunk.used;
    for unit in 0..chunk.used.div_ceil(BLOCK_BITS) {
        for (block, column) in unit_of_all.iter_mut().zip(columns.iter()) {
            *block = Block512(column[unit].0.map(u64::from_le));
        }
        let first = to.len();
        to.resize(first + BLOCK_BITS, [0; WORDS]);
        kernels::rows_to_columns(&unit_of_all, &mut to[first..]);
    }
    to[end..].as_flattened_mut().zeroize();
    to.truncate(end);
}

impl<const WORDS: usize> AuthenticatedBits<WORDS> {
    /// Number of bits.
    pub fn len(&self) -> usize {
        self.macs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.macs.is_empty()
    }
}

impl<const WORDS: usize> Zeroize for AuthenticatedBits<WORDS> {
    fn zeroize(&mut self) {
        self.bits.zeroize();
        self.macs.zeroize();
    }
}

impl<const WORDS: usize> fmt::Debug for AuthenticatedBits<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthenticatedBits({})", self.len())
    }
}

impl<const WORDS: usize> fmt::Debug for BitSender<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BitSender")
    }
}

impl<const WORDS: usize> fmt::Debug for BitReceiver<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BitReceiver")
    }
}

#[cfg(test)]
mod tests;
