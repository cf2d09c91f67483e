//! The side with the choices.

use std::fmt;

use cenote_net::Channel;
use cenote_primitives::{Block, Entropy};
use cenote_session::{Result, room};
use zeroize::{Zeroize, Zeroizing};

use crate::STRINGS;
use crate::columns::Chunk;
use crate::extension::{self, Sent};
use crate::extractor::{self, Extractor, WIDTH};
use crate::random::RowHash;
use crate::state::State;

/// The side with the choice bits.
///
/// After a failed call all calls fail. Secrets are wiped on drop, and when a call fails; `Debug` prints the type only.
pub struct DeltaReceiver(State<Secrets>);

struct Secrets {
    extension: extension::Receiver,
    /// What becomes of the rows.
    maker: Maker,
}

struct Maker {
    extractor: Extractor,
    hash: RowHash,
}

/// Strings at the receiver, for example correlated ones: `strings[i] = r_i ^ choice_i Δ`, where the sender holds `r_i`.
///
/// `Debug` prints the number only. It is the owner's to wipe ([`Zeroize`]).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Choice bit `i` is bit `i % 64` of word `i / 64`. The bits beyond the last choice are zero.
    pub choices: Vec<u64>,
    /// `r_i ^ choice_i Δ`; its last bit is `choice_i`, since `lsb(r_i) = 0`.
    pub strings: Vec<Block>,
}

impl DeltaReceiver {
    /// Base OTs. `session` binds them to a session.
    ///
    /// # Errors
    ///
    /// [`cenote_session::MESSAGE_FORM`] if the peer's message has bytes that are no point; those of the channel.
    pub fn new(channel: &mut dyn Channel, entropy: &mut Entropy, session: &[u8]) -> Result<Self> {
        let extension = extension::Receiver::new(channel, entropy, session, WIDTH)?;
        Ok(Self::from_extension(extension, session))
    }

    pub(crate) fn from_extension(extension: extension::Receiver, session: &[u8]) -> Self {
        Self(State::new(Secrets {
            extension,
            maker: Maker {
                extractor: Extractor::new(),
                hash: RowHash::new(session),
            },
        }))
    }

    /// `count` correlated strings under uniform choices.
    ///
    /// Memory beside the result is bounded, whatever `count`. A sender that cheats may choose its strings and `Δ`, but
    /// learns nothing about the choices.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    pub fn correlated(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
    ) -> Result<Chosen> {
        self.collect(channel, entropy, count, |maker, _, chunk, sent, strings| {
            let low = Some(&*sent.choices);
            maker.extractor.strings(chunk, &sent.columns, low, strings);
        })
    }

    /// `count` random strings under uniform choices: `(choices, strings)`, packed as in [`Chosen`].
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for so many; those of the channel.
    pub fn random(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
    ) -> Result<Chosen> {
        self.collect(channel, entropy, count, |maker, first, chunk, sent, strings| {
            extractor::rows(chunk, &sent.columns, |row, own| {
                strings.push(maker.hash.string(first + row as u64, own));
            });
        })
    }

    /// Extends the base OTs by `count` rows, of which `take` makes strings.
    fn collect(
        &mut self,
        channel: &mut dyn Channel,
        entropy: &mut Entropy,
        count: usize,
        mut take: impl FnMut(&mut Maker, u64, Chunk, &Sent, &mut Vec<Block>),
    ) -> Result<Chosen> {
        self.0.call(|secrets| {
            let mut chosen = Zeroizing::new(Chosen {
                choices: room::reserved(STRINGS, count.div_ceil(64))?,
                strings: room::reserved(STRINGS, count)?,
            });
            let Secrets { extension, maker } = secrets;
            extension.extend(channel, entropy, None, count, |first, chunk, sent| {
                sent.append_choices(chunk, &mut chosen.choices);
                take(maker, first, chunk, sent, &mut chosen.strings);
            })?;
            Ok(std::mem::take(&mut *chosen))
        })
    }
}

impl Zeroize for Chosen {
    fn zeroize(&mut self) {
        self.choices.zeroize();
        self.strings.zeroize();
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chosen({})", self.strings.len())
    }
}

impl fmt::Debug for DeltaReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeltaReceiver")
    }
}
