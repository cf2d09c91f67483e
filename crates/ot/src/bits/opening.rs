//! Opening authenticated bits, and sums of them.
//!
//! A message is any number of bits and one hash of 16 bytes: BLAKE3, keyed by session and stream, of all MACs of the message
//! in order, the number of the message in its stream, and the number of bits. The sender computes what the MACs of these
//! bits must be from its keys and Γ, hashes them, and compares. A wrong bit changes what is hashed by Γ, so that each of
//! the 2^(64 · WORDS) values of Γ gives another input; a hash that is right for several of them is a collision on 128 bits.
//! A message that was sent before, in this stream or another, or whose bits have changed places, has another hash. The
//! hash tells the sender nothing but the bits, as it can compute it.

use std::fmt;

use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result, room};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::Mac;
use crate::STRINGS;
use crate::checks::BIT_OPENING;
use crate::state::State;

/// Opens bits, or sums of bits. The messages of one opener are for one [`Verifier`], in order.
pub struct Opener<const WORDS: usize>(MacHash);

/// Takes the messages of an [`Opener`]. See [`super::BitSender`] for what becomes of it after a failure.
pub struct Verifier<const WORDS: usize>(State<Verifying<WORDS>>);

struct Verifying<const WORDS: usize> {
    hash: MacHash,
    gamma: Zeroizing<Mac<WORDS>>,
}

/// Bytes that an opening of `bits` bits takes.
pub fn opening_bytes(bits: usize) -> usize {
    bits.div_ceil(8) + PROOF_BYTES
}

/// Bytes of the proof that all bits of a message are what they are said to be.
pub const PROOF_BYTES: usize = 16;

impl<const WORDS: usize> Opener<WORDS> {
    pub(crate) fn new(session: &[u8; blake3::KEY_LEN], stream: u64) -> Self {
        Self(MacHash::new::<WORDS>(session, stream))
    }

    /// Opens bits, packed, that have these MACs, by one message of [`opening_bytes`] bytes. It is queued, not flushed.
    ///
    /// # Errors
    ///
    /// Those of the channel.
    ///
    /// # Panics
    ///
    /// If `bits` are not as many as `macs`, rounded up to words, or one beyond the last is not zero.
    pub fn open(
        &mut self,
        channel: &mut dyn Channel,
        step: Step,
        bits: &[u64],
        macs: &[Mac<WORDS>],
    ) -> Result<()> {
        assert!(is_packed(bits, macs.len()), "{} packed bits", macs.len());
        let bits: Vec<u64> = bits.iter().map(|word| word.to_le()).collect();
        let proof = self.prove(macs);
        channel.send_parts(step, &[&as_bytes(&bits)[..macs.len().div_ceil(8)], &proof])?;
        Ok(())
    }

    /// The proof for a message of bits that have these MACs, for callers who send the bits themselves. It counts as a message.
    pub fn prove(&mut self, macs: &[Mac<WORDS>]) -> [u8; PROOF_BYTES] {
        self.0.next(macs.len(), |first, rows: &mut [Mac<WORDS>]| {
            rows.copy_from_slice(&macs[first..][..rows.len()]);
        })
    }
}

impl<const WORDS: usize> Verifier<WORDS> {
    /// One that shares the fate of `set_up`.
    pub(crate) fn new<T>(
        set_up: &State<T>,
        gamma: Zeroizing<Mac<WORDS>>,
        session: &[u8; blake3::KEY_LEN],
        stream: u64,
    ) -> Self {
        let hash = MacHash::new::<WORDS>(session, stream);
        Self(set_up.sharing(Verifying { hash, gamma }))
    }

    /// Receives bits, packed, that have these keys, and verifies them. It is what [`Opener::open`] sends.
    ///
    /// # Errors
    ///
    /// [`BIT_OPENING`] if one of them is not what was authenticated; [`MESSAGE_FORM`]; those of the channel.
    pub fn receive(
        &mut self,
        channel: &mut dyn Channel,
        step: Step,
        keys: &[Mac<WORDS>],
    ) -> Result<Vec<u64>> {
        self.0.call(|verifying| {
            let mut bits: Vec<u64> = room::zeroed(STRINGS, keys.len().div_ceil(64))?;
            let mut proof = [0; PROOF_BYTES];
            let bytes = &mut as_bytes_mut(&mut bits)[..keys.len().div_ceil(8)];
            channel.recv_parts(step, &mut [bytes, &mut proof])?;
            for word in &mut bits {
                *word = u64::from_le(*word);
            }
            verifying.verify(channel.peer(), step, keys, &bits, &proof)?;
            Ok(bits)
        })
    }

    /// Verifies bits, packed, that came with this proof from `peer` in `step`. It is what [`Opener::prove`] makes.
    ///
    /// # Errors
    ///
    /// [`BIT_OPENING`] if one of them is not what was authenticated; [`MESSAGE_FORM`] if they are not as many as `keys`,
    /// rounded up to words, or one beyond the last is not zero.
    pub fn verify(
        &mut self,
        peer: PartyId,
        step: Step,
        keys: &[Mac<WORDS>],
        bits: &[u64],
        proof: &[u8; PROOF_BYTES],
    ) -> Result<()> {
        self.0
            .call(|verifying| verifying.verify(peer, step, keys, bits, proof))
    }
}

impl<const WORDS: usize> Verifying<WORDS> {
    fn verify(
        &mut self,
        peer: PartyId,
        step: Step,
        keys: &[Mac<WORDS>],
        bits: &[u64],
        proof: &[u8; PROOF_BYTES],
    ) -> Result<()> {
        if !is_packed(bits, keys.len()) {
            let detail = format!("they are no {} packed bits", keys.len());
            return Err(Error::cheated(MESSAGE_FORM, peer, step, detail));
        }
        let gamma = &self.gamma;
        let expected = self.hash.next(keys.len(), |first, rows: &mut [Mac<WORDS>]| {
            let keys = keys[first..][..rows.len()].chunks(64);
            for ((rows, keys), word) in rows.chunks_mut(64).zip(keys).zip(&bits[first / 64..]) {
                for (i, (row, key)) in rows.iter_mut().zip(keys).enumerate() {
                    let mask = (word >> i & 1).wrapping_neg();
                    *row = std::array::from_fn(|word| key[word] ^ gamma[word] & mask);
                }
            }
        });
        if bool::from(expected.ct_ne(proof)) {
            let detail = "the bits have other MACs";
            return Err(Error::cheated(BIT_OPENING, peer, step, detail));
        }
        Ok(())
    }
}

/// The hash of the MACs of messages.
struct MacHash {
    key: [u8; blake3::KEY_LEN],
    /// The number of the next message.
    next: u64,
}

/// MACs that are hashed at once: a multiple of 64, and enough of them for all lanes of the hash.
const AT_ONCE: usize = 4096;

impl MacHash {
    fn new<const WORDS: usize>(session: &[u8; blake3::KEY_LEN], stream: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("Cenote 2025 authenticated bits: opening");
        hasher.update(session);
        hasher.update(&(WORDS as u64).to_le_bytes());
        hasher.update(&stream.to_le_bytes());
        Self {
            key: hasher.finalize().into(),
            next: 0,
        }
    }

    /// The hash of `count` MACs, as `fill` writes them, from the given one on; the next message's.
    fn next<const WORDS: usize>(
        &mut self,
        count: usize,
        fill: impl Fn(usize, &mut [Mac<WORDS>]),
    ) -> [u8; PROOF_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let mut rows = Zeroizing::new(vec![[0; WORDS]; AT_ONCE.min(count)]);
        for first in (0..count).step_by(AT_ONCE) {
            let rows = &mut rows[..AT_ONCE.min(count - first)];
            fill(first, rows);
            for word in rows.as_flattened_mut() {
                *word = word.to_le();
            }
            hasher.update(as_bytes(rows.as_flattened()));
        }
        // At the end, where they do not cut the MACs in pieces that the hash's lanes cannot share.
        hasher.update(&self.next.to_le_bytes());
        hasher.update(&(count as u64).to_le_bytes());
        self.next += 1;
        let mut proof = [0; PROOF_BYTES];
        hasher.finalize_xof().fill(&mut proof);
        hasher.zeroize();
        proof
    }
}

/// Whether `words` are `count` bits, packed.
pub(super) fn is_packed(words: &[u64], count: usize) -> bool {
    let beyond = words.last().is_some_and(|last| match count % 64 {
        0 => false,
        used => last >> used != 0,
    });
    words.len() == count.div_ceil(64) && !beyond
}

impl<const WORDS: usize> fmt::Debug for Opener<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

impl<const WORDS: usize> fmt::Debug for Verifier<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}
