//! Base OTs that several sessions extend, one after the other, under the same differences.

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Entropy, as_bytes, as_bytes_mut};
use cenote_session::Result;
use zeroize::{Zeroize, Zeroizing};

use super::Mutual;
use super::delta::{WIDTH, fresh_delta};
use crate::base;

/// What a side keeps of base OTs both ways: its difference, both keys of each of its own OTs, and the chosen one of each of the other side's.
///
/// Wiped on drop; `Debug` prints the type only.
pub struct Base {
    delta: Zeroizing<Block>,
    own: Zeroizing<Vec<[Block; 2]>>,
    theirs: Zeroizing<Vec<Block>>,
}

impl Base {
    /// Base OTs both ways. `first` is true at one side, false at the other. `session` binds them to a session.
    ///
    /// # Errors
    /// [`cenote_session::MESSAGE_FORM`] if the peer's messages have bytes that are no point; those of the channel.
    pub fn establish(
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        first: bool,
    ) -> Result<Self> {
        let delta = fresh_delta(entropy, first);
        let way = |from_first: bool| {
            let mut bound = blake3::Hasher::new_derive_key("Cenote 2026 mutual bits: direction");
            bound.update(&[u8::from(from_first)]).update(session);
            *bound.finalize().as_bytes()
        };
        let choices = Zeroizing::new(delta.0.map(|word| !u64::from_le(word)));
        let receive = |channel: &mut dyn Channel, entropy: &mut Entropy| {
            base::receive(channel, entropy, &way(!first), &*choices, WIDTH)
        };
        let (own, theirs);
        if first {
            theirs = receive(channel, entropy)?;
            own = base::send(channel, entropy, &way(first), WIDTH)?;
        } else {
            own = base::send(channel, entropy, &way(first), WIDTH)?;
            theirs = receive(channel, entropy)?;
        }
        Ok(Self { delta, own, theirs })
    }

    /// Trees of seeds, both ways, for a session that no other is called like: nothing that is made in it is made in another. Δ is cut into so many
    /// symbols.
    ///
    /// # Errors
    /// Those of the channel.
    ///
    /// # Panics
    /// Unless there are from 16 to 128 `symbols`.
    pub fn begin(
        &self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        session: &[u8],
        symbols: u32,
    ) -> Result<Mutual> {
        let bound = blake3::derive_key("Cenote 2026 mutual bits: keys of a session", session);
        let of = |key: &Block| {
            let mut hasher = blake3::Hasher::new_keyed(&bound);
            hasher.update(&Zeroizing::new(key.to_bytes())[..]);
            let hash = Zeroizing::new(*hasher.finalize().as_bytes());
            hasher.zeroize();
            Block::from_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
        };
        let mut own = Zeroizing::new(vec![[Block::ZERO; 2]; WIDTH]);
        for (to, from) in own.iter_mut().zip(self.own.iter()) {
            *to = from.each_ref().map(of);
        }
        let mut theirs = Zeroizing::new(vec![Block::ZERO; WIDTH]);
        for (to, from) in theirs.iter_mut().zip(self.theirs.iter()) {
            *to = of(from);
        }
        Mutual::with_keys(
            channel,
            entropy,
            session,
            symbols,
            self.delta.clone(),
            (&own, &theirs),
        )
    }

    /// As bytes, always so many.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let parts = [
            as_bytes(&[*self.delta]),
            as_bytes(&self.own),
            as_bytes(&self.theirs),
        ]
        .concat();
        Zeroizing::new(parts)
    }

    /// The inverse of [`Base::encode`]; nothing if these are no keys of the `first` side, or of the other one.
    pub fn decode(bytes: &[u8], first: bool) -> Option<Self> {
        let mut blocks = Zeroizing::new(vec![Block::ZERO; 1 + 3 * WIDTH]);
        let room = as_bytes_mut(&mut blocks);
        if room.len() != bytes.len() {
            return None;
        }
        room.copy_from_slice(bytes);
        let (delta, keys) = blocks.split_first()?;
        let (own, theirs) = keys.split_at(2 * WIDTH);
        let low = if first { 3 } else { 1 };
        (u64::from_le(delta.0[0]) & 3 == low).then(|| Self {
            delta: Zeroizing::new(*delta),
            own: Zeroizing::new(own.as_chunks().0.to_vec()),
            theirs: Zeroizing::new(theirs.to_vec()),
        })
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Base")
    }
}
